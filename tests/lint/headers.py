#!/usr/bin/env python3
"""Every header compiles by itself: whoever includes it needs to include nothing before it.

    headers.py BUILD_FOLDER [HEADER...]

Takes the compiler and the folders of headers from the build's compile_commands.json. Prints the first error of each header that does not compile."""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
AVX512 = ["-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mfma"]
# For files that are compiled for one processor each.
PROCESSOR = [(re.compile("avx512"), AVX512), (re.compile("avx2"), ["-mavx2", "-mfma"])]


def settings(build):
    """The compiler, and the options that the headers of all targets need together."""
    compiler, options = "c++", {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        words = words[1:] if words[0].endswith("ccache") else words
        compiler = words[0]
        for i, word in enumerate(words):
            if word == "-isystem":
                options[("-isystem", words[i + 1])] = True
            elif word.startswith(("-I", "-D", "-std=")):
                options[(word,)] = True
    return [compiler, *(word for group in options for word in group)]


def check(command, header):
    extra = next((flags for pattern, flags in PROCESSOR if pattern.search(header)), [])
    done = subprocess.run([*command, *extra, "-fsyntax-only", "-x", "c++", header], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    return next((line for line in done.stderr.splitlines() if "error:" in line), done.stderr.strip().splitlines()[-1])


def main():
    build, headers = pathlib.Path(sys.argv[1]), sys.argv[2:]
    if not headers:
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", "runtime/*.h", "compiler/*.h"], cwd=ROOT, capture_output=True, text=True)
        if listed.returncode:
            print("headers: skipped, this is no git checkout")
            return 0
        headers = [h for h in listed.stdout.split() if (ROOT / h).exists()]
    command = settings(build)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        problems = [p for p in pool.map(lambda h: check(command, h), headers) if p]
    print("\n".join(problems) if problems else f"headers: {len(headers)} compile by themselves")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
