#!/usr/bin/env python3
"""The order of components: a file may include headers of its own component and of those before it. Prints one line per include that may not be."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A file may include headers of its own component and of those before it. Of two folders of a component only one may include the other.
RUNTIME = [
    "core/base", "program/manual", "core/bytecode", "program/version", "core/stats", "core/memory", "core/numa", "core/tier", "core/kernels", "core/device", "core/watch", "core/transport",
    "core/store", "core/job", "core/super", "core/checkpoint", "core/interp", "core/model",
    "chemistry/molecule", "chemistry/basis", "chemistry/segments", "chemistry/files", "chemistry/legacy", "chemistry/integrals", "chemistry/super", "chemistry/gradient", "chemistry/schema",
    "chemistry/domain", "program/job", "program/session", "chemistry/runs", "program/sialrun", "python/native",
]  # fmt: skip
COMPILER = ["source", "diag", "ast", "sema", "ir", "analysis", "plan", "emit", "report", "pipeline", "program", "tools/format", "tools/facts", "tools/lsp", "tools/program"]

# What the two halves share: the compiler sees no more of the runtime, and the runtime nothing of the compiler.
SHARED = re.compile(r"runtime/(core/(base|bytecode)|program/(manual|version))/")
# Command lines put both halves together, and so does the module for Python.
BOTH_HALVES = re.compile(r"(runtime/program/sialrun/|compiler/program/sialreport|compiler/tools/program/hints|runtime/python/native/)[a-z_]*\.(cpp|h)$")
# A report reads modules and run.json, never programs: it uses no other component of the compiler.
REPORT_ALONE = re.compile(r"compiler/(source|diag|ast|sema|ir|analysis|plan|emit|pipeline|tools)/")
# Bodies of super instructions see block views only.
BODIES_NEVER = re.compile(r"runtime/core/(store|transport|interp)/")


def component(path):
    half, *folders = path.split("/")[:-1]
    deep = half == "runtime" or folders[:1] == ["tools"]
    return half, "/".join(folders[: 2 if deep else 1])


def problem(path, included):
    half, own = component(path)
    other_half, other = component(included)
    if half != other_half:
        if BOTH_HALVES.search(path) or (half == "compiler" and SHARED.match(included)):
            return None
        return f"the {half} includes the {other_half}"
    if path.startswith(("runtime/core/super/", "runtime/chemistry/super/", "runtime/chemistry/integrals/")) and BODIES_NEVER.match(included):
        return "super instruction bodies see block views only"
    if path.startswith("compiler/report/") and REPORT_ALONE.match(included):
        return "reports use modules, not the compiler's parts"
    if own == other:
        return None
    if included.startswith("runtime/chemistry/") and not path.startswith("runtime/chemistry/"):
        return "only chemistry includes chemistry; others ask runtime/core/job/domain.h"
    order = RUNTIME if half == "runtime" else COMPILER
    for name in (own, other):
        if name not in order:
            return f"component {name} has no place in the order of tests/lint/layers.py"
    if order.index(other) > order.index(own):
        return f"{other} comes after {own} in the order of components"
    return None


def main():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", "runtime/*.h", "runtime/*.cpp", "compiler/*.h", "compiler/*.cpp"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    include = re.compile(r'^\s*#\s*include "((?:runtime|compiler)/[^"]+)"')
    between: dict[tuple[str, str], str] = {}  # an include for each pair of folders
    for path in listed.stdout.splitlines():
        if not (ROOT / path).exists():
            continue
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
            match = include.match(line)
            why = problem(path, match[1]) if match else None
            if why:
                print(f"{path}:{number}: includes {match[1]}: {why}")
            if match:
                between.setdefault((path.rpartition("/")[0], match[1].rpartition("/")[0]), f"{path}:{number}: includes {match[1]}")
    for (own, other), place in sorted(between.items()):
        if own < other and (other, own) in between:
            print(f"{place}: the folders include each other: {between[other, own]}")


if __name__ == "__main__":
    main()
