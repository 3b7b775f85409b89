#!/usr/bin/env python3
"""clang-tidy over compiler/ and runtime/ with the checks of .clang-tidy. Findings are printed, exit 1.

    tidy.py BUILD_FOLDER [FOLDER...]     only targets of these folders, e.g. runtime/core/store

Reading headers takes most of the time. What a unity build compiles together is read together, all files of a target at once: their
names in unnamed namespaces differ. Options are those of the build's compile_commands.json."""
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import sources
from sources import ROOT

# Optimization and warnings are the compiler's business; g++ has options that clang does not know.
LEFT_OUT = re.compile(r"-O\d|-W.*|-g\d?|-f(no-)?sanitize.*|-mprefer-vector-width.*")
HALVES = (ROOT / "compiler", ROOT / "runtime")


def commands(build):
    """Folder, target, options and files of each run, in the build's order."""
    together: dict[tuple, list[pathlib.Path]] = collections.defaultdict(list)
    alone = []
    for entry in sources.entries(build):
        words = sources.words(entry)
        target = re.match(r"(.*)/CMakeFiles/(.*)\.dir/", words[words.index("-o") + 1])
        if not target or not target[1].startswith(("compiler", "runtime")):
            continue
        options = tuple(option for option in words[1 : words.index("-o")] if not LEFT_OUT.fullmatch(option))
        files = [file for file in sources.files(entry) if own(file, build)]
        if sources.is_unity(entry):
            together[target[1], target[2], options] += files
        elif files:
            alone.append((target[1], target[2], options, files))
    return [(*key, files) for key, files in together.items()] + alone


def own(file, build):
    return not file.is_relative_to(build) and any(file.is_relative_to(half) for half in HALVES)


def check(path, options):
    """What clang-tidy found in a file, as text; its own words where it could not read the file."""
    command = ["clang-tidy", "--quiet", f"--config-file={ROOT / '.clang-tidy'}", str(path), "--", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout or (done.stderr if done.returncode else "")


def main():
    build, wanted = pathlib.Path(sys.argv[1]).resolve(), [folder.rstrip("/") for folder in sys.argv[2:]]
    folder = build / "tidy"
    folder.mkdir(exist_ok=True)

    def run(number, command):
        _, target, options, files = command
        path = folder / f"{number}_{target}.cpp"
        path.write_text("".join(f'#include "{file}"\n' for file in files))
        return check(path, options), len(files)

    chosen = [command for command in commands(build) if not wanted or command[0] in wanted]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = list(pool.map(run, range(len(chosen)), chosen))
    findings = [text.replace(f"{ROOT}/", "") for text, _ in results if text]
    for text in dict.fromkeys(findings):  # a header may be read by several targets
        print(text, end="")
    if not findings:
        print(f"tidy: {sum(count for _, count in results)} files have no findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
