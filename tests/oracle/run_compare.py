#!/usr/bin/env python3
"""Runs language programs through the oracle and through sialrun and compares what they print.

    run_compare.py --bin DIR [--filter TEXT] [PROGRAM ...]

Without programs: all of tests/oracle/programs and tests/lang/run. A program states its data like a language test (`# args:`
lines; further .sialx words there are the job's later programs). A run that one side ends with an error must end so on the
other, after the same output. Programs that need super instructions or options the oracle does not know are counted and left out.
"""
from __future__ import annotations

import argparse
import difflib
import io
import json
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ENV
from model import Json, LanguageError
from oracle import job_data, run_job

HERE = pathlib.Path(__file__).resolve().parent
ROOMS = [HERE / "programs", HERE.parent / "lang" / "run"]


class OutsideOracle(Exception):
    """A test about something that the oracle does not model."""


def normalised(text: str) -> str:
    """The sign of a zero depends on the order of operations, which is the kernels' business."""
    return re.sub(r"(?<![\w.])-0(?![\w.])", "0", text)


def arguments(path: pathlib.Path) -> tuple[list[pathlib.Path], list[str]]:
    """(programs, options of the job)"""
    words = " ".join(re.findall(r"^#\s*args:\s*(.*)$", path.read_text(), re.M)).split()
    return [path] + [path.parent / w for w in words if w.endswith(".sialx")], [w for w in words if not w.endswith(".sialx")]


def compiled(bin_dir: pathlib.Path, programs: Iterable[pathlib.Path]) -> list[Json]:
    parsed = []
    for program in programs:
        p = subprocess.run([str(bin_dir / "sialc"), "--emit=ast-json", program.name], cwd=program.parent, capture_output=True, text=True)
        if p.returncode:
            raise RuntimeError(f"sialc refuses {program.name}: {p.stderr.strip()}")
        parsed.append(json.loads(p.stdout))
    return parsed


def split_options(options: Sequence[str]) -> tuple[list[str], list[str]]:
    pairs = list(zip(options[::2], options[1::2]))
    known = ("--set", "--segments")
    if any(flag not in known for flag, _ in pairs):
        raise OutsideOracle(f"options beyond {known}: {options}")
    return [v for f, v in pairs if f == "--set"], [v for f, v in pairs if f == "--segments"]


def evaluate(bin_dir: pathlib.Path, path: pathlib.Path) -> tuple[str, LanguageError | None]:
    """(output, error or None) of the oracle."""
    programs, options = arguments(path)
    out = io.StringIO()
    try:
        run_job(compiled(bin_dir, programs), job_data(*split_options(options)), out.write)
    except LanguageError as error:
        return out.getvalue(), error
    return out.getvalue(), None


def compare(bin_dir: pathlib.Path, path: pathlib.Path) -> list[str] | None:
    """A list of complaints; None where the oracle cannot say."""
    want, error = evaluate(bin_dir, path)
    programs, options = arguments(path)
    env = dict(ENV)
    p = subprocess.run([str(bin_dir / "sialrun"), "--print-format", "plain", "--results", "none", *(x.name for x in programs), *options],
                       cwd=path.parent, env=env, capture_output=True, text=True, timeout=120)
    if error and error.kind == "special" and (p.returncode == 0 or f":{error.line}:" not in p.stderr):
        return None  # sialrun went on past the super instruction that the oracle does not know
    complaints = []
    if (p.returncode != 0) != (error is not None):
        complaints.append(f"sialrun exits with {p.returncode}: {p.stderr.strip() or 'no message'}; oracle: {error or 'no error'}")
    if normalised(want) != normalised(p.stdout):
        complaints += difflib.unified_diff(normalised(want).splitlines(), normalised(p.stdout).splitlines(), "oracle", "sialrun", lineterm="", n=2)
    if error and error.line and p.returncode and f":{error.line}" not in p.stderr:
        complaints.append(f"the oracle stops in line {error.line}, sialrun says: {p.stderr.strip()}")
    return complaints


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", default="")
    parser.add_argument("programs", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    bin_dir = BIN
    programs = [p.resolve() for p in options.programs] or [p for room in ROOMS for p in sorted(room.glob("*.sialx"))]
    programs = [p for p in programs if options.filter in p.name and not p.name.startswith("_")]
    failed = left_out = 0
    for path in programs:
        try:
            complaints = compare(bin_dir, path)
        except OutsideOracle:
            complaints = None
        except (RuntimeError, subprocess.TimeoutExpired) as e:
            complaints = [str(e)]
        if complaints is None:
            left_out += 1
        elif complaints:
            failed += 1
            print(f"FAILED {path.parent.name}/{path.name}", *("    " + c for c in complaints), sep="\n")
    print(f"{len(programs) - failed - left_out} of {len(programs)} programs agree, {left_out} left out")
    sys.exit(1 if failed or not programs else 0)


if __name__ == "__main__":
    main()
