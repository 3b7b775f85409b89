#!/usr/bin/env python3
"""The gate notices faults: each mutation of mutations.toml is made in the sources, built, and must fail one of the tests that its row names.

    mutations.py [--build build/release] [--only NAME ...] [--check]

All tests named must pass before the first mutation is made.
--check, a test of the gate, only looks whether each text is there once and each test is one of the gate, so that the table does not rot. The sources are
restored after each mutation, also after an interruption; files that have changes are refused. At the end the build is that of the sources again.
"""
import argparse
import pathlib
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ENV, ROOT

TABLE = pathlib.Path(__file__).with_name("mutations.toml")
PROGRAMS = ["sialrun", "sialc", "sialreport"]  # what the tests need that are no programs of their own
HANGS = "300"  # seconds after which a test has noticed, too


class Mutation(NamedTuple):
    name: str
    file: pathlib.Path
    old: str
    new: str
    tests: list[str]


def mutations() -> list[Mutation]:
    return [Mutation(name, ROOT / file, old, new, tests.split()) for name, (file, old, new, tests) in tomllib.loads(TABLE.read_text()).items()]


def mistakes(table: list[Mutation], build: pathlib.Path) -> list[str]:
    listed = subprocess.run(["ctest", "--test-dir", build, "-N", "-LE", "^all$"], capture_output=True, text=True).stdout
    gate = set(re.findall(r"Test +#\d+: (\S+)", listed))
    found = []
    for m in table:
        count = m.file.read_text().count(m.old) if m.file.is_file() else 0
        if count != 1:
            found.append(f"{m.name}: `{m.old}` is {count} times in {m.file.relative_to(ROOT)}, not once")
        found += [f"{m.name}: the gate has no test `{test}`" for test in m.tests if test not in gate]
    return found


def changed(table: list[Mutation]) -> str:
    return subprocess.run(["git", "status", "--porcelain", "--", *{m.file for m in table}], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def make(build: pathlib.Path, table: list[Mutation]) -> str:
    """Builds what the tests of these mutations run; what the compiler says where it fails."""
    targets = {target for m in table if m.file.suffix != ".py" for test in m.tests for target in ([test] if (build / "bin" / test).exists() else PROGRAMS)}
    if not targets:
        return ""
    done = subprocess.run(["cmake", "--build", build, "--target", *sorted(targets), "--", "-k", "0"], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout[-3000:] + done.stderr[-1000:]


def failing(build: pathlib.Path, tests: Iterable[str]) -> str:
    """The first of these tests that fails, empty where all pass."""
    env = {**ENV, "PYTHONDONTWRITEBYTECODE": "1"}
    call = ["ctest", "--test-dir", str(build), "-R", f"^({'|'.join(sorted(tests))})$", "--timeout", HANGS, "--stop-on-failure"]
    said = subprocess.run(call, env=env, capture_output=True, text=True).stdout
    return " ".join(re.findall(r"Test +#\d+: (\S+) (?!.*(?:Passed|Skipped|Not Run))", said))


def attempt(build: pathlib.Path, m: Mutation) -> str:
    source = m.file.read_bytes()
    try:
        m.file.write_text(m.file.read_text().replace(m.old, m.new))
        if said := make(build, [m]):
            print(said, flush=True)
            return "ERROR: does not compile"
        by = failing(build, m.tests)
        return f"noticed by {by}" if by else "NOT NOTICED"
    finally:
        m.file.write_bytes(source)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=BIN.parent)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    build, table = options.build.resolve(), mutations()
    if found := [*mistakes(table, build), *(f"there is no mutation `{name}`" for name in options.only if name not in {m.name for m in table})]:
        sys.exit("\n".join(found))
    if options.check:
        return
    table = [m for m in table if not options.only or m.name in options.only]
    if dirty := changed(table):
        sys.exit(f"these files have changes, and mutations would be mixed with them:\n{dirty}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if said := make(build, table) or failing(build, {test for m in table for test in m.tests}):
        sys.exit(f"without a mutation, this fails: {said}")
    failed = False
    try:
        for m in table:
            start = time.monotonic()
            result = attempt(build, m)
            failed |= not result.startswith("noticed")
            print(f"{m.name:28} {result:60} {time.monotonic() - start:5.0f} s", flush=True)
    finally:
        make(build, table)
    sys.exit(failed)


if __name__ == "__main__":
    main()
