#!/usr/bin/env python3
"""`sialc format` on every program there is and on random ones: the meaning, the comments and the names stay, a second time changes nothing.

    run_format.py --bin DIR [--random N] [--seed S]

Without --random: every program of the repository as it is, and a third of them with random layout. With it: N random programs with random layout.
With run.sh --long all of them, and 20 N.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, LONG, ROOT

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "property")]

from generate import generate  # noqa: E402
from layouts import code, comments, scramble  # noqa: E402

PLACES = {"line", "column", "file"}
BATCH = 100


def without_places(value):
    if isinstance(value, dict):
        return {k: without_places(v) for k, v in value.items() if k not in PLACES}
    return [without_places(v) for v in value] if isinstance(value, list) else value


def read(path):
    return path.read_bytes().decode()


class Check:
    def __init__(self, sialc):
        self.sialc, self.failures, self.count = sialc, 0, 0

    def fail(self, path, why, before):
        self.failures += 1
        print(f"{path}: {why}\n--- before\n{before[:3000]}")
        if self.failures > 5:
            sys.exit("too many failures")

    def run(self, arguments, paths):
        return subprocess.run([str(self.sialc), *arguments, *(p.name for p in paths)], cwd=paths[0].parent, capture_output=True, text=True, timeout=120)

    def trees(self, paths):
        """Tree of each program, those of imported files with it. What cannot be read has none."""
        text, out, decoder = self.run(["-w", "--emit=ast-json"], paths).stdout, [], json.JSONDecoder()
        while text.strip():
            value, end = decoder.raw_decode(text.lstrip())
            text = text.lstrip()[end:]
            out.append(without_places(value))
        return out

    def batch(self, paths):
        """Formats valid programs of one folder, in place."""
        before = {p: read(p) for p in paths}
        trees = self.trees(paths)
        done = self.run(["format"], paths)
        if done.returncode or done.stdout or done.stderr:
            self.fail(paths[0], f"exit code {done.returncode}: {done.stderr}", "")
        if trees != self.trees(paths):
            for p in paths:
                first = self.trees([p])
                p.write_bytes(before[p].encode())
                if first != self.trees([p]):
                    self.fail(p, "another tree", before[p])
        if (again := self.run(["format", "--check", "--diff"], paths)).returncode:
            self.fail(paths[0], f"changed a second time:\n{again.stderr}{again.stdout[:2000]}", "")
        for p in paths:
            self.texts(p, before[p], read(p))
        self.count += len(paths)

    def texts(self, path, before, after):
        if code(before) != code(after):
            self.fail(path, "other tokens", before)
        if comments(before) != comments(after):
            self.fail(path, "other comments", before)
        if re.search(r"[ \t\f](\r|\n|$)", after):
            self.fail(path, "blanks at the end of a line", before)
        ends = set(re.findall(r"\r\n|\r|\n", after))
        if len(ends) > 1 or not after.endswith(tuple(ends)):
            self.fail(path, f"line ends {ends}", before)
        end = ends.pop()
        if end * 3 in after or after.endswith(end * 2) or after.startswith(end):
            self.fail(path, "blank lines", before)
        names = [[w for w in line if w.lower() != w] for line in code(after, keep_case=True)]
        written = {w for line in code(before, keep_case=True) for w in line}
        if not {w for line in names for w in line} <= written:
            self.fail(path, "names with other letters", before)


def repository(check, work, r):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.sialx"], cwd=ROOT, capture_output=True, text=True)
    paths = [ROOT / p for p in listed.stdout.splitlines()] if listed.returncode == 0 else sorted([*ROOT.glob("examples/**/*.sialx"), *ROOT.glob("tests/**/*.sialx")])
    good, refused = 0, 0
    for folder in sorted({p.parent for p in paths}):
        here = work / folder.relative_to(ROOT)
        here.mkdir(parents=True)
        valid = []
        for p in sorted(p for p in paths if p.parent == folder):
            copy = here / p.name
            copy.write_bytes(p.read_bytes())
            done = check.run(["format", "--check"], [copy])
            syntax = done.returncode == 1 and "not in the usual style" not in done.stderr
            if syntax != (": error: " in done.stderr):
                check.fail(p, f"exit code {done.returncode}: {done.stderr}", "")
            if not syntax:
                valid.append(copy)
                continue
            refused += 1
            check.run(["format"], [copy])
            if copy.read_bytes() != p.read_bytes():
                check.fail(p, "changed although it has errors", "")
        if valid:
            check.batch(valid)
            good += len(valid)
        shared = valid if LONG else [p for p in valid if r.randrange(3) == 0]
        for p in shared:  # formatted by now: other layouts of it become the same
            formatted = read(p)
            for number, letters in enumerate([True, False, False]):
                other = here / f"layout{number}_{p.name}"
                other.write_bytes(scramble(formatted, r, remarks=letters, letters=letters).encode())
        layouts = [here / f"layout{n}_{p.name}" for p in shared for n in range(3)]
        for i in range(0, len(layouts), BATCH):
            check.batch(layouts[i:i + BATCH])
        for p in shared:
            if len({canonical(here / f"layout{n}_{p.name}") for n in range(1, 3)}) > 1:
                check.fail(p, "the result depends on the layout", "")
    print(f"{good} programs, {refused} with syntax errors left as they were, {check.count} files formatted")
    if good < 300 or refused < 30:
        sys.exit("too few programs were found")


def canonical(path):
    """Without what a layout may choose: blank lines, line ends, the mark at the beginning."""
    return re.sub(r"[\r\n]+", "\n", read(path).removeprefix("\ufeff"))


def randomly(check, work, r, count):
    while check.count < count:
        paths = []
        for i in range(BATCH // 4):
            program = generate(r.randrange(1 << 40), reals=r.random() < 0.3).text()
            for layout in range(4):
                path = work / f"p{i}_{layout}.sialx"
                path.write_bytes(scramble(program, r, remarks=layout < 2, letters=layout < 2).encode())
                paths.append(path)
        check.batch(paths)
        for i in range(BATCH // 4):
            if canonical(work / f"p{i}_2.sialx") != canonical(work / f"p{i}_3.sialx"):
                check.fail(work / f"p{i}_2.sialx", "the result depends on the layout", "")
    print(f"{check.count} random programs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    check = Check(BIN / "sialc")
    r = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        if options.random:
            randomly(check, pathlib.Path(folder), r, options.random * (20 if LONG else 1))
        else:
            repository(check, pathlib.Path(folder), r)
    sys.exit(1 if check.failures else 0)


if __name__ == "__main__":
    main()
