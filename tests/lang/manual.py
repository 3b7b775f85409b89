#!/usr/bin/env python3
"""Compiles every program and fragment of the language manual.

    manual.py --bin DIR [--manual FILE]

A ```sial fence is a complete program, unless its info string says otherwise:
  define=NAME           declarations that other fences stand on (compiled by themselves, too)
  prologue=NAME         a program body, or more declarations, below the declarations NAME (`none`: no declarations)
  file=NAME             a complete program under this file name, for imports
  error=CODE            must be refused with this code, and with no other
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ROOT


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--manual", type=pathlib.Path, default=ROOT / "grammar" / "README.md")
    options = parser.parse_args()
    sialc = str(BIN / "sialc")
    text = options.manual.read_text()
    fence = r"^```sial([^\n]*)\n(.*?)^```"
    prologues = {"none": ""}
    for info, body in re.findall(fence, text, re.M | re.S):
        if name := re.search(r"define=(\w+)", info):
            prologues[name.group(1)] = body
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for match in re.finditer(fence, text, re.M | re.S):
            flags = dict((word.split("=") + [""])[:2] for word in match.group(1).split())
            body, line = match.group(2), text.count("\n", 0, match.start()) + 1
            if "define" in flags or "prologue" in flags:
                declarations = prologues[flags["prologue"]] if "prologue" in flags else ""
                body = f"sial manual\n{declarations}{body}endsial manual\n"
            count += 1
            path = pathlib.Path(folder) / flags.get("file", f"line_{line}.sialx")
            path.write_text(body)
            done = subprocess.run([sialc, "-w", "-o", path.with_suffix(".siox"), path.name], cwd=folder, capture_output=True, text=True)
            codes = set(re.findall(r" error: .*\[(E-[A-Z0-9-]+)\]$", done.stderr, re.M))
            wanted = {flags["error"]} if "error" in flags else set()
            if codes != wanted or done.returncode != (1 if wanted else 0):
                failed += 1
                print(f"{options.manual.name}:{line}: expected {', '.join(wanted) or 'no error'}, found exit code {done.returncode}\n{done.stderr}")
    print(f"{count - failed} of {count} snippets of the manual behave as it says")
    sys.exit(1 if failed or count < 30 else 0)


if __name__ == "__main__":
    main()
