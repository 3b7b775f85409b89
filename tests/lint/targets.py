#!/usr/bin/env python3
"""A target includes headers of the components that it links, and its headers those that it links publicly.

    targets.py BUILD_FOLDER

The whole source tree is one folder of headers: without this check a file could include what its target does not link. The files of
targets come from the build's compile_commands.json, their links from CMake's graph. Prints one line per include that may not be."""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include "((?:runtime|compiler)/[^"]+)"')
# The tables of super instructions use no component, and modules refer to them.
TABLES = re.compile(r"runtime/super/[a-z_]+\.def$")


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
    seen, open_ = set(first), list(first)
    while open_:
        new = public[open_.pop()] - seen
        seen |= new
        open_ += new
    return seen


def target_sources(build):
    """target -> the files of this repository that it compiles."""
    found = collections.defaultdict(set)
    for entry in json.loads((build / "compile_commands.json").read_text()):
        target = re.search(r" -o \S*CMakeFiles/(\S+?)\.dir/", entry["command"])
        files = [entry["file"]]
        if "/Unity/" in entry["file"]:
            files = re.findall(r'^#include "(.+\.cpp)"$', pathlib.Path(entry["file"]).read_text(), re.M)
        for file in map(pathlib.Path, files):
            if target and file.is_relative_to(ROOT) and not file.is_relative_to(build):
                found[target[1]].add(str(file.relative_to(ROOT)))
    return found


def component(path):
    return "/".join(path.split("/")[:2]) if path.count("/") > 1 else path.split("/")[0]


def headers():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", "runtime/*.h", "compiler/*.h"], cwd=ROOT, capture_output=True, text=True)
    return [name for name in listed.stdout.split() if (ROOT / name).exists()]


def included(path):
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match and not TABLES.match(match[1]):
            yield number, match[1]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    every, public = links(build)
    sources = target_sources(build)
    owners = collections.defaultdict(set)  # the targets of a component
    for target, files in sources.items():
        for file in files:
            if not file.startswith("tests/"):
                owners[component(file)].add(target)
    problems = set()

    def check(path, allowed, what):
        for number, name in included(path):
            if component(name) != component(path) and not owners[component(name)] & allowed:
                problems.add(f"{path}:{number}: includes {name}, but {what}")

    for target, files in sources.items():
        allowed = reach(every[target], public) | {target}
        for file in files:
            check(file, allowed, f"the target {target} does not link its component")
    linked = set().union(*every.values())
    for header in headers():
        own = owners[component(header)]
        seen = (reach({target} if target in linked else every[target], public) for target in own)  # a program's headers are its own
        check(header, own.union(*seen), f"no target of {component(header)} links its component publicly")
    print("\n".join(sorted(problems)) if problems else f"targets: {len(sources)} link what they include")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
