#!/usr/bin/env python3
"""A target includes headers of the components that it links, and its headers those that it links publicly.

    linkage.py BUILD_FOLDER

The whole source tree is one folder of headers: without this check a file could include what its target does not link. The files of
targets come from the build's compile_commands.json, their links from CMake's graph. Prints one line per include that may not be."""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import sources
from sources import ROOT

INCLUDE = re.compile(r'^\s*#\s*include "((?:runtime|compiler)/[^"]+)"')
# The tables of super instructions use no component, and modules refer to them.
TABLES = re.compile(r"runtime/chemistry/super/[a-z_]+\.def$")


def links(build):
    """target -> those it links; and the same without private links."""
    with tempfile.TemporaryDirectory() as folder:
        dot = pathlib.Path(folder) / "targets.dot"
        subprocess.run(["cmake", f"--graphviz={dot}", str(build)], check=True, capture_output=True)
        text = dot.read_text()
    every, public = collections.defaultdict(set), collections.defaultdict(set)
    for style, source, target in re.findall(r'^ *"\w+" -> "\w+"(.*?)// (\S+) -> (\S+)$', text, re.M):
        every[source].add(target)
        if "dotted" not in style:
            public[source].add(target)
    return every, public


def reach(first, public):
    return sources.closure(first, lambda target: public[target])


def target_sources(build):
    """target -> the files of this repository that it compiles."""
    found = collections.defaultdict(set)
    for entry in sources.entries(build):
        target = re.search(r" -o \S*CMakeFiles/(\S+?)\.dir/", entry["command"])
        for file in sources.files(entry):
            if target and file.is_relative_to(ROOT) and not file.is_relative_to(build):
                found[target[1]].add(str(file.relative_to(ROOT)))
    return found


def component(path):
    return "/".join(path.split("/")[:2]) if path.count("/") > 1 else path.split("/")[0]


def included(path):
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match and not TABLES.match(match[1]):
            yield number, match[1]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    every, public = links(build)
    compiled = target_sources(build)
    owners = collections.defaultdict(set)  # the targets of a component
    for target, files in compiled.items():
        for file in files:
            if not file.startswith("tests/"):
                owners[component(file)].add(target)
    problems = set()

    def check(path, allowed, what):
        for number, name in included(path):
            if component(name) != component(path) and not owners[component(name)] & allowed:
                problems.add(f"{path}:{number}: includes {name}, but {what}")

    for target, files in compiled.items():
        allowed = reach(every[target], public) | {target}
        for file in files:
            check(file, allowed, f"the target {target} does not link its component")
    linked = set().union(*every.values())
    for header in sources.headers("runtime/*.h", "compiler/*.h") or []:
        own = owners[component(header)]
        seen = (reach({target} if target in linked else every[target], public) for target in own)  # a program's headers are its own
        check(header, own.union(*seen), f"no target of {component(header)} links its component publicly")
    print("\n".join(sorted(problems)) if problems else f"targets: {len(compiled)} link what they include")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
