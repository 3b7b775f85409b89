#!/usr/bin/env python3
"""Every header compiles by itself: whoever includes it needs to include nothing before it.

    headers.py BUILD_FOLDER [HEADER...]

Takes the compiler and the folders of headers from the build's compile_commands.json. Prints the first error of each header that does not
compile. What is before a header's first include is nothing, so a header that is the first include of another is compiled with that,
and one that is the first include of what the build compiles, or of the first file of a unity build's unit, was compiled by the build.
Headers that compiled, and have not changed since with what they include, are not compiled again."""
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


def first_include(header):
    """The project's header before which a header has nothing but comments."""
    lines = (line.strip() for line in (ROOT / header).read_text().splitlines())
    first = next((line for line in lines if line and not line.startswith(("//", "#pragma once"))), "")
    return includes(header)[0] if INCLUDE.match(first) else None


def compiled_with_others(headers):
    return {first_include(h) for h in headers if not special(h)} - {h for h in headers if special(h)}


def compiled_by_build(build):
    """The project's headers before which a unit of the build has nothing."""
    first = (sources.files(entry)[:1] for entry in sources.entries(build))
    inside = [str(file.relative_to(ROOT)) for files in first for file in files if file.is_relative_to(ROOT) and not file.is_relative_to(build)]
    return {header for header in map(first_include, inside) if header and not special(header)}


def special(header):
    return next((flags for pattern, flags in PROCESSOR if pattern.search(header)), [])


def check(command, header):
    done = subprocess.run([*command, *special(header), "-fsyntax-only", "-x", "c++", header], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    return next((line for line in done.stderr.splitlines() if "error:" in line), done.stderr.strip().splitlines()[-1])


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
    elsewhere = compiled_with_others(headers) | (set() if asked else compiled_by_build(build))
    compiled = sorted(set(headers) - elsewhere)
    states = {header: state([*version, *command], header) for header in compiled}
    changed = [header for header in compiled if states[header] not in known]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = dict(zip(changed, pool.map(lambda h: check(command, h), changed)))
    problems = list(dict.fromkeys(error for error in results.values() if error))
    KNOWN.parent.mkdir(parents=True, exist_ok=True)
    KNOWN.write_text(json.dumps(sorted(states[header] for header in compiled if not results.get(header))))
    print("\n".join(problems) if problems else f"headers: {len(headers)} compile by themselves")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
