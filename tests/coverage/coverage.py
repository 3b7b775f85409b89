#!/usr/bin/env python3
"""Every row of every table is exercised by a test.

    coverage.py --bin DIR

diagnostics.def          each code stands in a golden message (tests/lang/**/*.expected)
opcodes.def              each opcode is in the code of a program under tests/lang/run or examples, which run with expectations, or of one
                         of the local plans in tests/lang/plan, which run beside the program as written
super_instructions.def   each name is executed by such a program or by a unit test of runtime/chemistry/super
counters.def             each counter is checked by a unit test, by tests/stats, tests/restart, tests/lookahead or tests/spill
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ROOT


def rows(glob, macro, pattern):
    return set(re.findall(rf"^{macro}\({pattern}", all_text(glob), re.M))


def all_text(*globs):
    return "\n".join(p.read_text(errors="replace") for g in globs for p in ROOT.glob(g))


def opcodes_in_programs(sialc):
    used = set()
    with tempfile.TemporaryDirectory() as tmp:
        module = pathlib.Path(tmp) / "m.siox"
        for program in [*ROOT.glob("tests/lang/run/*.sialx"), *ROOT.glob("tests/lang/plan/local_*.sialx"), *ROOT.glob("examples/*/*.sialx")]:
            done = subprocess.run([sialc, "-w", "-o", module, program.name], cwd=program.parent, capture_output=True)
            if done.returncode != 0:
                continue  # negative tests
            listing = subprocess.run([sialc, "--disassemble", module], capture_output=True, text=True, check=True).stdout
            used.update(re.findall(r"\b[a-z_]+\b", listing))
    return used


def main():
    missing = []

    goldens = all_text("tests/lang/**/*.expected")
    for code in sorted(rows("compiler/diag/diagnostics_*.def", "DIAGNOSTIC", r"\s*\w+,\s*\"([EW]-[A-Z0-9-]+)\"")):
        if f"[{code}]" not in goldens:
            missing.append(f"diagnostic {code}: no golden message under tests/lang shows it")

    used = opcodes_in_programs(BIN / "sialc")
    for name in sorted(rows("runtime/core/bytecode/opcodes.def", "OPCODE", r"\d+,\s*(\w+)")):
        if name not in used:
            missing.append(f"opcode {name}: no program under tests/lang/run or examples contains it")

    programs = all_text("tests/lang/run/*.sialx", "examples/*/*.sialx").lower()
    super_tests = all_text("tests/unit/chemistry/super/*.cpp")
    tables = ("runtime/core/super/super_instructions.def", "runtime/chemistry/super/super_instructions.def")
    for name in sorted(name for table in tables for name in rows(table, "SUPER", r"\s*\d+,\s*(?:\"?)(\w+)")):
        if not re.search(rf"\bexecute\s+{name}\b", programs) and f'"{name}"' not in super_tests:
            missing.append(f"super instruction {name}: executed by no test")

    unit_tests = all_text("tests/unit/**/*.cpp", "tests/stats/*.py", "tests/restart/*.py", "tests/lookahead/*.py", "tests/spill/*.py")
    for name in sorted(rows("runtime/core/stats/counters.def", "COUNTER", r"\s*\d+,\s*(\w+)")):
        if not re.search(rf"\b{name}\b", unit_tests):
            missing.append(f"counter {name}: checked by no test")

    print("\n".join(missing) or "every row is exercised")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
