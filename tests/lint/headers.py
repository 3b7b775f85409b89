#!/usr/bin/env python3
"""Every header compiles by itself: whoever includes it needs to include nothing before it.

    headers.py BUILD_FOLDER [HEADER...]

Takes the compiler and the folders of headers from the build's compile_commands.json, but not its compiled headers. Prints the first error of
each header that does not compile. Where there is ccache, it remembers what compiled.

Headers are compiled in chains: after some headers a header may follow that includes all of these and all that they include, itself or through
others. Then nothing is there that it lacks, if its own includes stand before its first code, so that their order does not matter."""
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys

import sources
from sources import ROOT

# For files that are compiled for one processor each.
PROCESSOR = {"avx512": ["-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mfma"], "avx2": ["-mavx2", "-mfma"]}
INCLUDE = re.compile(r'#\s*include\s+(<[^>]+>|"[^"]+")')


def settings(build):
    """The compiler, and the folders of headers of all targets together."""
    compiler = ""
    options: dict[tuple[str, ...], bool] = {}
    for entry in sources.entries(build):
        compiler, *words = sources.words(entry)
        for i, word in enumerate(words):
            if word.startswith(("-I", "-D", "-std=", "-isystem")) and "CODE_STATE" not in word:  # which changes with every source
                options[(word, words[i + 1]) if word == "-isystem" else (word,)] = True
    ccache = shutil.which("ccache")
    return [*([ccache] if ccache else []), compiler, *(word for group in options for word in group)]


@functools.cache
def included(header):
    """What a header includes before its first code, the project's files by their paths; and whether it includes others after that. A table
    (.def) is code."""
    first: list[str] = []
    code = later = False
    for line in map(str.strip, (ROOT / header).read_text().splitlines()):
        if found := INCLUDE.match(line):
            beside = pathlib.Path(header).parent / found[1][1:-1]
            name = next((str(p) for p in (pathlib.Path(found[1][1:-1]), beside) if found[1][0] == '"' and (ROOT / p).is_file()), found[1])
            later = later or code and not name.endswith(".def")
            first += [] if code else [name]
        elif line and not line.startswith(("//", "#pragma once")):
            code = True
    return first, later


@functools.cache
def read_first(header):
    """All that has been read when a header's first code is: the project's headers, and names as in <vector>."""
    of = lambda name: included(name)[0] if name.endswith(".h") and name[0] not in '<"' else []
    return frozenset(sources.closure(of(header), of))


def chains(headers):
    """The headers in lists that are each compiled at once. A header follows the one that has read most of what it reads."""
    result: list[list[str]] = []
    for header in sorted(headers, key=lambda h: (len(read_first(h)), h)):
        here = read_first(header)
        fit = [chain for chain in result if chain[-1] in here and read_first(chain[-1]) <= here and not special(chain[-1])]
        if fit and not special(header) and not included(header)[1]:
            max(fit, key=lambda chain: len(read_first(chain[-1]))).append(header)
        else:
            result.append([header])
    return result


def special(header):
    return next((flags for name, flags in PROCESSOR.items() if name in header), [])


def check(command, folder, chain):
    """The first error of each header of a chain that does not compile."""
    path = folder / (chain[-1].replace("/", "_") + ".cpp")
    path.write_text("".join(f'#include "{header}"\n' for header in chain))
    done = subprocess.run([*command, *special(chain[0]), "-c", path, "-o", path.with_suffix(".o")], cwd=ROOT, text=True, capture_output=True)
    if done.returncode == 0:
        return []
    if len(chain) > 1:  # which of them
        return [error for header in chain for error in check(command, folder, [header])]
    return [next((line for line in done.stderr.splitlines() if "error:" in line), done.stderr.strip().splitlines()[-1])]


def main():
    build, headers = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:] or sources.headers("*.h")
    if headers is None:
        print("headers: skipped, this is no git checkout")
        return 0
    command, folder = settings(build), build / "headers"
    folder.mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = pool.map(lambda chain: check(command, folder, chain), chains(headers))
    problems = dict.fromkeys(error for errors in found for error in errors)
    print("\n".join(problems) if problems else f"headers: {len(headers)} compile by themselves")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
