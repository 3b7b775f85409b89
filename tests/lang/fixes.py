#!/usr/bin/env python3
"""Applies each fix of each diagnostic of the language tests alone, and compiles again.

    fixes.py --bin DIR [--filter TEXT] [--update]

Behind a fix the same diagnostic is gone from its place, and behind an automatic one there are no more errors than
before. A file that did not parse is checked for the first time once it does: then errors of the parser are compared with
errors of the parser. The table at the end of the output says how many fixes each code had.

Programs of tests/lang/fix are also given to `sialc --fix`, in a copy of the folder: NAME.fixed is what becomes of NAME.sialx,
byte for byte; other files stay as they are, and a second `--fix` changes nothing.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ROOT

HERE = pathlib.Path(__file__).resolve().parent
# Imports are looked for once a file is well formed.
SYNTAX = set(re.findall(r'"(E-[A-Z-]+)"', (ROOT / "compiler/diag/diagnostics_syntax.def").read_text())) - {"E-IMPORT", "E-IMPORT-CYCLE", "E-FILE"}


class Compiler:
    def __init__(self, sialc: pathlib.Path) -> None:
        self.sialc = sialc

    def diagnostics(self, path: pathlib.Path) -> list[dict]:
        p = subprocess.run([self.sialc, "-Wstrict", "--error-format=json", "-o", os.devnull, path.name], cwd=path.parent,
                           capture_output=True, timeout=60)
        if p.returncode not in (0, 1):
            raise RuntimeError(f"{path}: exit code {p.returncode}: {p.stderr.decode(errors='replace')}")
        return [json.loads(line) for line in p.stderr.decode(errors="replace").splitlines()]


def offset(lines: list[bytes], line: int, column: int) -> int:
    return sum(len(x) for x in lines[: line - 1]) + column - 1


def lines_of(text: bytes) -> list[bytes]:
    return re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text) + [b""]


def applied(text: bytes, edits: list[dict], place: int) -> tuple[bytes, int, int]:
    """The new text, and where the text around `place` has come to: first and last offset that may stand for it."""
    lines = lines_of(text)
    out, at, first, last = b"", 0, place, place
    for edit in sorted(edits, key=lambda e: (e["line"], e["column"])):
        begin, end = offset(lines, edit["line"], edit["column"]), offset(lines, edit["endLine"], edit["endColumn"])
        if begin < at or end < begin or end > len(text):
            raise ValueError(f"edits overlap or leave the file: {edit}")
        new = edit["text"].encode()
        out += text[at:begin] + new
        if end <= place:
            first += len(new) - (end - begin)
            last = first
        elif begin <= place:
            first, last = len(out) - len(new), len(out)
        at = end
    return out + text[at:], first, last


def slice_of(text: bytes, place: dict) -> bytes:
    lines = lines_of(text)
    return text[offset(lines, place["line"], place["column"]):offset(lines, place["endLine"], place["endColumn"])]


def errors(diagnostics: list[dict]) -> tuple[list[dict], bool]:
    found = [d for d in diagnostics if d["severity"] == "error"]
    return found, any(d["code"] in SYNTAX for d in found)


def check_program(path: pathlib.Path, compiler: Compiler) -> tuple[list[str], collections.Counter[str], set[str]]:
    before = compiler.diagnostics(path)
    failures: list[str] = []
    fixed: collections.Counter[str] = collections.Counter()
    seen = {d["code"] for d in before}
    text = path.read_bytes()
    for d in before:
        for fix in d["fixes"]:
            files = {e["file"] for e in fix["edits"]}
            if files != {path.name}:
                continue  # of an imported file: it has its own test
            where = f"{path.parent.name}/{path.name}:{d.get('line')}: {d['code']}: {fix['title']}"
            fixed[d["code"]] += 1
            place = offset(lines_of(text), d["line"], d["column"])
            try:
                new, first, last = applied(text, fix["edits"], place)
            except ValueError as problem:
                failures.append(f"{where}: {problem}")
                continue
            with tempfile.TemporaryDirectory() as folder:
                copy = pathlib.Path(folder) / path.parent.name
                shutil.copytree(path.parent, copy)
                (copy / path.name).write_bytes(new)
                after = compiler.diagnostics(copy / path.name)
            lines = lines_of(new)
            same = [x for x in after if x["code"] == d["code"] and x.get("file") == path.name and x["message"] == d["message"]
                    and first <= offset(lines, x["line"], x["column"]) <= last and slice_of(new, x) == slice_of(text, d)]
            if same:
                failures.append(f"{where}: it is still there: {same[0]['message']}")
            if not fix["automatic"]:
                continue  # what is only offered may lead on to the next mistake
            (old, old_syntax), (now, now_syntax) = errors(before), errors(after)
            if old_syntax and not now_syntax:
                continue  # the checks have seen the program for the first time
            if len(now) > len(old):
                known = {(x["code"], x["message"]) for x in old}
                fresh = [x for x in now if (x["code"], x["message"]) not in known] or now
                failures.append(f"{where}: {len(now)} errors instead of {len(old)}: line {fresh[0].get('line')}: {fresh[0]['message']}")
    return failures, fixed, seen


def check_fixed(path: pathlib.Path, compiler: Compiler, update: bool) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "fix"
        shutil.copytree(path.parent, copy)
        first = b""
        for again in (False, True):
            p = subprocess.run([compiler.sialc, "--fix", path.name], cwd=copy, capture_output=True, timeout=60)
            if p.returncode not in (0, 1):
                return [f"{path.name}: exit code {p.returncode}: {p.stderr.decode()}"]
            text = (copy / path.name).read_bytes()
            if again and (p.stdout or text != first):
                return [f"{path.name}: a second --fix changes something: {p.stdout.decode()}"]
            first = text
        changed = [f.name for f in copy.rglob("*.sialx") if f.name != path.name and f.read_bytes() != (path.parent / f.relative_to(copy)).read_bytes()]
        if changed:
            return [f"{path.name}: {changed} changed as well"]
    expected = path.with_suffix(".fixed")
    if update:
        expected.write_bytes(first)
    elif not expected.exists() or expected.read_bytes() != first:
        return [f"{path.name}: --fix leaves something else than {expected.name}:", first.decode()]
    return []


def check_elsewhere(compiler: Compiler) -> list[str]:
    """Files outside of the program's folder belong to others: they stay as they are, and it is said."""
    with tempfile.TemporaryDirectory() as folder:
        own = pathlib.Path(folder) / "own"
        own.mkdir()
        other = pathlib.Path(folder) / "other.sialx"
        other.write_text("sial other\npredefined int norb\naoindex mu = 1,norb\nendsial other\n")
        (own / "beside.sialx").write_text("sial beside\nscalar y = 1\nendsial beside\n")
        (own / "p.sialx").write_text('import "../other.sialx"\nimport "beside.sialx"\nsial p\nscalar x\nx = 1.0e1\nendsial p\n')
        (own / "p.sialx").chmod(0o640)
        before = other.read_bytes()
        p = subprocess.run([compiler.sialc, "--fix", "p.sialx"], cwd=own, capture_output=True, text=True, timeout=60)
        problems = []
        if p.returncode != 1 or other.read_bytes() != before or "is outside the folder of" not in p.stderr:
            problems.append(f"a file of another folder: exit code {p.returncode}: {other.read_text()}{p.stderr}")
        if "y = 1.0\n" not in (own / "beside.sialx").read_text() or "x = 10.0\n" not in (own / "p.sialx").read_text():
            problems.append(f"an import in the folder was not changed: {p.stdout}{p.stderr}")
        if p.stdout.splitlines() != ["p.sialx:5: write `10.0` [E-EXPONENT]", "beside.sialx:2: write `1.0` [E-INITIAL]"]:
            problems.append(f"what was changed is not said: {p.stdout}")
        if (own / "p.sialx").stat().st_mode & 0o777 != 0o640:
            problems.append("the permissions changed")
        p = subprocess.run([compiler.sialc, "--fix", "-o", "p.siox", "p.sialx"], cwd=own, capture_output=True, text=True, timeout=60)
        if p.returncode != 2:
            problems.append(f"--fix with -o: exit code {p.returncode}")
    return problems


def check_links(compiler: Compiler) -> list[str]:
    """A file that is changed stays the file that its other names, and links to it, lead to, and nothing is left beside it."""
    with tempfile.TemporaryDirectory() as folder:
        own = pathlib.Path(folder)
        text, fixed = "sial p\nscalar x\nx = 1.0e1\nendsial p\n", "sial p\nscalar x\nx = 10.0\nendsial p\n"
        program, problems = own / "p.sialx", []
        for links in (["symbolic"], ["hard"], ["symbolic", "hard"]):
            for path in own.iterdir():
                path.unlink()
            program.write_text(text)
            program.chmod(0o640)
            for link in links:
                os.symlink("p.sialx", own / "symbolic") if link == "symbolic" else os.link(program, own / "hard")
            if os.geteuid() == 0:
                os.chown(program, 4711, 4712)
            before = program.stat()
            for command in (["--fix"], *([["format"]] if compiler.sialc.with_name("sialc-tools").exists() else [])):
                if command == ["format"]:
                    (own / "hard" if "hard" in links else program).write_text(fixed.replace("x = ", "x="))
                p = subprocess.run([compiler.sialc, *command, links[0]], cwd=own, capture_output=True, text=True, timeout=60)
                after = program.stat()
                same = [s.st_ino == before.st_ino or "hard" not in links for s in (after,)] + [getattr(after, m) == getattr(before, m) for m in ("st_mode", "st_uid", "st_gid", "st_nlink")]
                texts = {path.read_text() for path in own.iterdir()}
                if p.returncode != 0 or not all(same) or texts != {fixed} or ("symbolic" in links and not (own / "symbolic").is_symlink()):
                    problems.append(f"sialc {command[0]} of a file with {links} links: exit code {p.returncode}, {same}, {sorted(texts)}, {sorted(x.name for x in own.iterdir())}: {p.stderr}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--filter", default="")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    compiler = Compiler(BIN / "sialc")
    programs = [p for room in ("parse", "check", "fix") for p in sorted((HERE / room).glob("*.sialx")) if options.filter in str(p)]
    failures: list[str] = []
    fixed: collections.Counter[str] = collections.Counter()
    seen: set[str] = set()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for bad, counts, codes in pool.map(lambda p: check_program(p, compiler), programs):
            failures += bad
            fixed += counts
            seen |= codes
    failures += check_elsewhere(compiler) + check_links(compiler)
    for path in programs:
        if path.parent.name == "fix":
            failures += check_fixed(path, compiler, options.update)
    for line in failures:
        print(line)
    print(f"{len(programs)} programs, {sum(fixed.values())} fixes of {len(fixed)} codes, {len(failures)} failures")
    print("fixes:", ", ".join(f"{code} {n}" for code, n in sorted(fixed.items())))
    print("shown without a fix:", ", ".join(sorted(seen - set(fixed))))
    return 1 if failures or not fixed else 0


if __name__ == "__main__":
    sys.exit(main())
