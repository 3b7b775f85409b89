#!/usr/bin/env python3
"""Nearly right inputs of every kind, read by the real programs. Whatever they hold: an exit code from 0 to 3 (4: stopped), no signal, no internal
error, no control character on the terminal, an end in time and within the memory, and every file but the output as it was.

    fuzz.py --bin DIR [--seconds N] [--long] [--target NAME] [--case N] [--keep DIR]

Case N of a target is always the same input: `--target xyz --case 17 --keep /tmp/case` makes it again and keeps its folder. The targets take turns
until the time is over. `--long` goes on for an hour from a case that no run before has begun with.
"""
import argparse
import hashlib
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from targets import targets  # noqa: E402

MEMORY = 6 << 30       # bytes of addresses: libraries take most of them
TIME = 30              # seconds for what reads and prints
RUN_TIME = 3           # ... until a program that runs is ended; that is no failure
CODES = {0, 1, 2, 3, 4}
WORDS = (b"internal error", b"terminate called", b"Assertion", b"AddressSanitizer", b"runtime error:", b"HDF5-DIAG")


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))


def contents(folder, but=()):
    return {p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.rglob("*"))
            if p.is_file() and not any(b in p.parents or b == p for b in but)}


def run(bin_dir, command, option, folder):
    """(complaint or None) of one command in the case's folder."""
    arguments = [option if a == "@option" else a for a in command.arguments]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "ASAN_OPTIONS": "abort_on_error=1", "XDG_CACHE_HOME": str(folder.parent / "cache")}
    process = subprocess.Popen([bin_dir / command.tool, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                               start_new_session=True, preexec_fn=None if "asan" in str(bin_dir) else limits)
    try:
        out, err = process.communicate(timeout=RUN_TIME if command.runs else TIME)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None if command.runs else f"no end within {TIME} s"
    if process.returncode < 0:
        return f"ended by {signal.Signals(-process.returncode).name}: {err[-500:]!r}"
    if process.returncode not in CODES:
        return f"exit code {process.returncode}: {err[-500:]!r}"
    for word in WORDS:
        if word in err:
            return f"`{word.decode()}`: {err[-500:]!r}"
    odd = sorted({b for b in err if (b < 32 and b not in b"\n\t") or b == 127})
    if odd:
        return f"control characters {odd} on the terminal: {err[-500:]!r}"
    if process.returncode != 0 and not err.strip() and b"fit" not in out:
        return f"exit code {process.returncode} without a word"
    return None


def case(bin_dir, name, target, number, work):
    """Runs one case; a complaint, or None."""
    rng = random.Random(f"{name} {number}")
    data = target.make(rng)
    folder = work / "case"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "inner").mkdir(parents=True)
    folder = folder / "inner"  # so that `../` leads to a place that is looked after
    for file, content in target.files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
    option = ""
    if target.name == "@option":
        option = data.decode("utf-8", "surrogateescape").replace("\x00", "")
    else:
        for file, content in (data if isinstance(data, dict) else {target.name: data}).items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(content)
    inputs, outside = set(contents(folder)), contents(work, but=(work / "case" / "inner", work / "cache"))
    before = contents(folder)
    for command in target.commands:
        complaint = run(bin_dir, command, option, folder)
        if complaint:
            return f"{command.tool} {' '.join(option if a == '@option' else a for a in command.arguments)}: {complaint}"
        now = contents(folder)
        lost = [f for f in inputs if now.get(f) != before[f] and not replaceable(f)]
        if lost:
            return f"{command.tool}: {', '.join(lost)} is lost or changed"
    if contents(work, but=(work / "case" / "inner", work / "cache")) != outside:
        return "files outside the folder have changed"
    return None


def replaceable(name):
    """What a run replaces by design: the results and statistics of the run before, and its checkpoint."""
    return name in ("results.h5", "run.json") or name.startswith("checkpoint/")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=25)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--target")
    parser.add_argument("--case", type=int)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="sialx-fuzz-"))
    failures: list = []
    done = 0
    try:
        bin_dir = BIN
        chosen = {n: t for n, t in targets(bin_dir, work).items() if options.target in (None, n)}
        if not chosen:
            raise SystemExit(f"there is no target `{options.target}`")
        first = int(time.time()) * 1000 if options.long else 0
        end = time.monotonic() + (3600 if options.long and options.seconds == 25 else options.seconds)
        number = options.case if options.case is not None else first
        while time.monotonic() < end and len(failures) < 20:
            for name, target in chosen.items():
                complaint = case(bin_dir, name, target, number, work)
                done += 1
                if complaint:
                    print(f"FAILED: {name}, case {number}: {complaint}\n  again: fuzz.py --bin {BIN} --target {name} --case {number} --keep FOLDER", flush=True)
                    failures.append((name, number))
                if time.monotonic() > end:
                    break
            if options.case is not None:
                if options.keep:
                    shutil.copytree(work / "case" / "inner", options.keep)
                break
            number += 1
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{done} cases of {len(chosen)} targets, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
