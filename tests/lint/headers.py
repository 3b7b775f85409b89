#!/usr/bin/env python3
"""Every header compiles by itself: whoever includes it needs to include nothing before it.

    headers.py BUILD_FOLDER [HEADER...]

Takes the compiler and the folders of headers from the build's compile_commands.json. Prints the first error of each header that does not
compile. Before the first include of a file is nothing, so a header that is the first include of what the build compiles, or of the first
file of a unity build's unit, was compiled by the build. Headers that compiled, and have not changed since with what they include, are not
compiled again.

The others are compiled in chains: behind some headers a header may follow that includes all of these and all that they include, itself or
through others. Then nothing is there that it lacks, if its own includes stand before its first code, so that their order does not matter."""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

import sources
from sources import ROOT

AVX512 = ["-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mfma"]
# For files that are compiled for one processor each.
PROCESSOR = [(re.compile("avx512"), AVX512), (re.compile("avx2"), ["-mavx2", "-mfma"])]
INCLUDE = re.compile(r'^\s*#\s*include\s+(<[^>]+>|"[^"]+")', re.M)
KNOWN = ROOT / "build/lint-cache/headers.json"  # hashes of what compiled


def settings(build):
    """The compiler, and the options that the headers of all targets need together."""
    compiler = "c++"
    options: dict[tuple[str, ...], bool] = {}
    for entry in sources.entries(build):
        words = sources.words(entry)
        compiler = words[0]
        for i, word in enumerate(words):
            if word == "-isystem":
                options[("-isystem", words[i + 1])] = True
            elif word.startswith(("-I", "-D", "-std=")):
                options[(word,)] = True
    return [compiler, *(word for group in options for word in group)]


@functools.cache
def includes(header):
    """The project's files that a header includes, None for one of the system, in order."""
    found = []
    for name in INCLUDE.findall((ROOT / header).read_text()):
        beside = pathlib.Path(header).parent / name[1:-1]
        path = next((p for p in (pathlib.Path(name[1:-1]), beside) if name[0] == '"' and (ROOT / p).is_file()), None)
        found.append(str(path) if path else None)
    return found


def with_included(header):
    return sorted(sources.closure([header], lambda name: filter(None, includes(name))))


def state(command, header):
    """A hash of everything that decides whether the header compiles, but for the headers of the system."""
    parts = [*command, *(f"{name} {hashlib.sha256((ROOT / name).read_bytes()).hexdigest()}" for name in with_included(header))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@functools.cache
def included_first(header):
    """What a header includes before its first code, in order: the project's files by their paths, the others as written."""
    names: list[str] = []
    for line in map(str.strip, (ROOT / header).read_text().splitlines()):
        if found := INCLUDE.match(line):
            names.append(found[1])
        elif line and not line.startswith(("//", "#pragma once")):
            break
    return [path or name for path, name in zip(includes(header), names)]


@functools.cache
def read_first(header):
    """All that has been read when a header's first code is: the project's headers, and names as in <vector>."""
    of = lambda name: included_first(name) if name.endswith(".h") and name[0] not in '<"' else []
    return frozenset(sources.closure(of(header), of))


def includes_later(header):
    """Whether a header includes others behind its first code; a table (.def) is code."""
    return any(name is None or not name.endswith(".def") for name in includes(header)[len(included_first(header)) :])


def chains(headers):
    """The headers in lists that are each compiled at once, few and such that the long headers end them.

    A matching: each header gets at most one that follows it, costly ones first, which others make room for (Kuhn's algorithm)."""
    here = {header: read_first(header) for header in headers}
    alone = {header for header in headers if special(header) or includes_later(header)}
    behind = {h: [g for g in headers if g not in alone and h in here[g] and here[h] <= here[g]] for h in headers if not special(h)}
    before: dict[str, str] = {}

    def follows(header, seen):
        for other in behind.get(header, ()):
            if other not in seen:
                seen.add(other)
                if other not in before or follows(before[other], seen):
                    before[other] = header
                    return True
        return False

    for header in sorted(headers, key=lambda h: (-len(here[h]), h)):
        follows(header, set())
    after = {first: second for second, first in before.items()}
    result = []
    for header in headers:
        if header not in before:
            chain = [header]
            while chain[-1] in after:
                chain.append(after[chain[-1]])
            result.append(chain)
    return result


def compiled_by_build(build):
    """The project's headers before which a unit of the build has nothing."""
    first = (sources.files(entry)[:1] for entry in sources.entries(build))
    inside = [str(file.relative_to(ROOT)) for files in first for file in files if file.is_relative_to(ROOT) and not file.is_relative_to(build)]
    names = (included_first(file)[:1] for file in inside)
    return {name for found in names for name in found if name[0] not in '<"' and not special(name)}


def special(header):
    return next((flags for pattern, flags in PROCESSOR if pattern.search(header)), [])


def check(command, chain):
    """The first error of each header of a chain, or None."""
    text = "".join(f'#include "{header}"\n' for header in chain)
    done = subprocess.run([*command, *special(chain[0]), "-fsyntax-only", "-x", "c++", "-"], cwd=ROOT, input=text, capture_output=True, text=True)
    if done.returncode == 0:
        return dict.fromkeys(chain)
    if len(chain) > 1:  # which of them
        return {header: error for one in chain for header, error in check(command, [one]).items()}
    return {chain[0]: next((line for line in done.stderr.splitlines() if "error:" in line), done.stderr.strip().splitlines()[-1])}


def known_states():
    try:
        return set(json.loads(KNOWN.read_text()))
    except (OSError, ValueError):
        return set()


def main():
    build, headers = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    asked = bool(headers)
    if not headers:
        headers = sources.headers("*.h")
        if headers is None:
            print("headers: skipped, this is no git checkout")
            return 0
    command = settings(build)
    version = subprocess.run([command[0], "--version"], capture_output=True, text=True).stdout.splitlines()[:1]
    known = known_states()
    compiled = sorted(set(headers) - (set() if asked else compiled_by_build(build)))
    states = {header: state([*version, *command], header) for header in compiled}
    changed = [header for header in compiled if states[header] not in known]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = {header: error for found in pool.map(lambda chain: check(command, chain), chains(changed)) for header, error in found.items()}
    problems = list(dict.fromkeys(error for error in results.values() if error))
    KNOWN.parent.mkdir(parents=True, exist_ok=True)
    KNOWN.write_text(json.dumps(sorted(states[header] for header in compiled if not results.get(header))))
    print("\n".join(problems) if problems else f"headers: {len(headers)} compile by themselves")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
