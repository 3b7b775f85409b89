#!/usr/bin/env python3
"""Runs the language tests: small SIAL programs that carry their expectation.

    run_lang.py --bin DIR [--update] [--room parse|check|ir|analysis|plan|run] [--filter TEXT] [--launcher 'mpirun ... -n {n}']

Rooms under tests/lang:
  parse/  NAME.sialx + NAME.expected   stderr of `sialc --syntax-only NAME.sialx`, byte for byte; fail_* must exit 1
  check/  NAME.sialx + NAME.expected   stderr of `sialc -o /dev/null NAME.sialx`; fail_* must exit 1, others 0
  ir/     NAME.sialx + NAME.expected   stdout of `sialc --emit=ir NAME.sialx`
  analysis/ NAME.sialx + NAME.expected stdout of `sialc NAME.sialx` with the flags of its `# args:` (--emit=intent, ...)
  plan/   NAME.sialx                   comments of the program about what `sialc --emit=plan NAME.sialx` prints (slices and remarks of
                                       the optimisation passes; runs of blanks count as one):
            # plan: text                               some line contains it
            # no-plan: text                            no line contains it
            # args: -O1                                flags for sialc
            # run: --segments ao=2,3 --set norb=2      runs as written (-O0 --store=copy) and as planned, with these flags: output, exit
                                                       code and error, with its place, must be the same (several allowed)
  run/    NAME.sialx                   expectations in comments of the program:
            # args: --segments ao=2,3 --set norb=2     flags for sialrun
            # ranks: 1 2 4                             rank counts (default 1); above 1 through mpirun
            # expect: text                             lines of stdout that are not empty, in this order, nothing else between
            # expect-error: text                       must exit non-zero and say this on stderr (several allowed)
            # expect-warning: text                     must exit with 0 and say this on stderr, once on all ranks together (several allowed)
            # expect-no-warning: text                  must not say this on stderr (several allowed)
          lines of stdout are compared after stripping trailing blanks; program start and end banners go to stderr.
          Where there is a NAME.expected, stdout must also be that, byte for byte.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

from harness import BIN, ENV, HANGS

HERE = pathlib.Path(__file__).resolve().parent / "lang"


def run(command, cwd):
    try:
        p = subprocess.run(command, cwd=cwd, env={**ENV, "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL, capture_output=True, timeout=HANGS)
    except subprocess.TimeoutExpired:
        return None, "", f"no end after {HANGS} s"
    return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")


def golden(path, text, update):
    expected = path.with_suffix(".expected")
    if update:
        expected.write_text(text)
        return []
    if not expected.exists():
        return [f"no {expected.name}: run with --update and read it"]
    want = expected.read_text()
    if want == text:
        return []
    return ["output differs from " + expected.name, "--- expected", want.rstrip("\n"), "--- found", text.rstrip("\n")]


def compile_test(path, room, options):
    sialc = str(BIN / "sialc")
    flags = {"parse": ["--syntax-only"], "check": ["-o", os.devnull], "ir": ["--emit=ir"], "analysis": []}[room]
    extra = re.search(r"^#\s*args:\s*(.*)$", path.read_text(errors="replace"), re.M)
    if extra and "--emit=h" in extra.group(1) and not (BIN / "sialc-tools").exists():  # built without the tools
        return []
    code, out, err = run([sialc, *flags, *(extra.group(1).split() if extra else []), path.name], path.parent)
    failures = []
    must_fail = path.name.startswith("fail_")
    if code != (1 if must_fail else 0):
        failures.append(f"exit code {code}, expected {1 if must_fail else 0}")
    return failures + golden(path, out if room in ("ir", "analysis") else err, options.update)


def plan_test(path, options):
    text = path.read_text()
    wanted = [" ".join(x.split()) for x in re.findall(r"^#\s*plan:\s*(.*)$", text, re.M)]
    unwanted = [" ".join(x.split()) for x in re.findall(r"^#\s*no-plan:\s*(.*)$", text, re.M)]
    if not wanted and not unwanted:
        return ["the program carries no expectation"]
    args = " ".join(re.findall(r"^#\s*args:\s*(.*)$", text, re.M)).split()
    code, out, err = run([str(BIN / "sialc"), "-w", "--emit=plan", *args, path.name], path.parent)
    if code != 0:
        return [f"exit code {code}: {err.strip()}"]
    lines = [" ".join(line.split()) for line in out.splitlines()]
    failures = [f"no line says {x!r}" for x in wanted if not any(x in line for line in lines)]
    failures += [f"a line says {x!r}" for x in unwanted if any(x in line for line in lines)]
    # What the compiler plans it must also be able to write.
    code, _, err = run([str(BIN / "sialc"), "-w", "-o", os.devnull, *args, path.name], path.parent)
    if code != 0:
        failures.append(f"not compiled, exit code {code}: {err.strip()}")
    for flags in re.findall(r"^#\s*run:\s*(.*)$", text, re.M):
        failures += same_unoptimized(path, flags.split(), options)
    return failures + (["--- found", *out.splitlines()] if failures else [])


def same_unoptimized(path, flags, options):
    def result(*more):
        code, out, err = run([str(BIN / "sialrun"), "--results", "none", *more, *flags, path.name], path.parent)
        first = next((line for line in err.splitlines() if line.startswith("error:")), "")
        return code, out, first

    written, planned = result("-O0", "--store=copy"), result()
    return [] if written == planned else [f"runs differ with {' '.join(flags)}", "--- as written", *map(str, written), "--- as planned", *map(str, planned)]


def run_test(path, options):
    text = path.read_text()
    args = " ".join(re.findall(r"^#\s*args:\s*(.*)$", text, re.M)).split()
    ranks = [int(n) for n in " ".join(re.findall(r"^#\s*ranks:\s*(.*)$", text, re.M)).split()] or [1]
    expected = [line.rstrip() for line in re.findall(r"^#\s*expect: ?(.*)$", text, re.M) if line.strip()]
    errors = re.findall(r"^#\s*expect-error:\s*(.*?)\s*$", text, re.M)
    warnings = re.findall(r"^#\s*expect-warning:\s*(.*?)\s*$", text, re.M)
    unwanted = re.findall(r"^#\s*expect-no-warning:\s*(.*?)\s*$", text, re.M)
    exact = path.with_suffix(".expected")
    if not expected and not errors and not warnings and not exact.exists():
        return ["the program carries no expectation"]
    failures = []
    for n in ranks:
        command = [str(BIN / "sialrun"), "--results", "none", path.name, *args]
        if n > 1:
            command = options.launcher.format(n=n).split() + command
        code, out, err = run(command, path.parent)
        lines = [line.rstrip() for line in out.splitlines() if line.strip()]
        where = f"{n} rank{'s' if n > 1 else ''}: "
        if errors:
            if code in (0, None):
                failures.append(where + f"exit code {code}, expected a failure")
            failures += [where + f"stderr does not say {e!r}: {err.strip()}" for e in errors if e not in err]
        elif code != 0:
            failures.append(where + f"exit code {code}: {err.strip()}")
        failures += [where + f"stderr says {w!r} {err.count(w)} times: {err.strip()}" for w in warnings if err.count(w) != 1]
        failures += [where + f"stderr says {w!r}: {err.strip()}" for w in unwanted if w in err]
        if exact.exists():
            failures += golden(path, out, options.update)
            if not expected:
                continue
        if expected != lines[:len(expected)] if errors else expected != lines:
            failures += [where + "output differs", "--- expected", *expected, "--- found", *lines]
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--room", action="append")
    parser.add_argument("--filter", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--launcher", default="mpirun -n {n} --bind-to none --mca mpi_yield_when_idle 1")
    options = parser.parse_args()
    tests = []
    for room in options.room or ["parse", "check", "ir", "analysis", "plan", "run"]:
        tests += [(room, p) for p in sorted((HERE / room).glob("*.sialx"))
                  if options.filter in p.name and not p.name.startswith("_")]
    if not tests:
        sys.exit("no tests match")

    def one(test):
        room, path = test
        if room == "plan":
            return plan_test(path, options)
        return run_test(path, options) if room == "run" else compile_test(path, room, options)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (room, path), failures in zip(tests, pool.map(one, tests)):
            if failures:
                failed += 1
                print(f"FAILED {room}/{path.name}", *("    " + line for f in failures for line in f.splitlines()), sep="\n")
    print(f"{len(tests) - failed} of {len(tests)} language tests passed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
