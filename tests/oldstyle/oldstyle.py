#!/usr/bin/env python3
"""Programs in the style of old jobs: they iterate on after convergence, restart DIIS, diagonalise tiny or singular matrices, loop over
empty ranges. Whatever the number of ranks and however often they run, they end, with the numbers they state.

    oldstyle.py --bin DIR [--runs N] [--layouts "1 2 3x1"] [--long] [NAME ...]

Each program runs N times on each layout (a number of ranks, or NxK: N ranks on pretended nodes of K); the repeats of a layout alternate
between plain runs and `-O0`. `--long` is `--runs 50 --layouts "1 2 3 2x1 3x1"`; run.sh --long five runs of these. Comments at the head of a program say how it runs:

    # job: [molecule] lines of a job file; \\n between them   a data file of that molecule is made, and the program runs on it (--dat)
    # first: scf_rhf_coreh                                programs of examples/14_legacy that run before it, in the same job
    # then: tran_rhf_no4v                                 and after it
    # args: --set n=2                                     more options
    # check: scalar value tolerance                       what the scalar is at the end
    # spread: scalar width                                by how much its values in all runs may differ
"""
import argparse
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py

from harness import BIN, ENV, LONG, ROOT

HERE = pathlib.Path(__file__).resolve().parent


class Program:
    def __init__(self, path, binary, folder):
        text = path.read_text()
        head = lambda key: re.findall(rf"^# {key}: (.*)$", text, re.M)
        self.path, self.name = path, path.stem
        self.args = [word for line in head("args") for word in line.split()]
        self.checks = [(name, float(value), float(tolerance)) for name, value, tolerance in (line.split()[:3] for line in head("check"))]
        self.spreads = [(name, float(width)) for name, width in (line.split() for line in head("spread"))]
        self.seen: dict[str, list] = {name: [] for name, _ in self.spreads}
        if not self.checks:
            sys.exit(f"{path} checks nothing")
        legacy = lambda key: [ROOT / "examples" / "14_legacy" / f"{name}.sialx" for line in head(key) for name in line.split()]
        self.programs = legacy("first") + [path] + legacy("then")
        self.data = None
        for job in head("job"):
            self.data = folder / f"{self.name}.dat"
            lines = job.replace("\\n", "\n").replace("MOLECULES", str(ROOT / "examples" / "molecules"))
            toml = folder / f"{self.name}.toml"
            toml.write_text(f'programs = ["{self.path}"]\n{lines}\n')
            done = subprocess.run([binary / "sialrun", toml, "--write-dat", self.data], env=ENV, cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{path}: {done.stderr}")

    def command(self, binary, layout, repeat):
        ranks, _, per_node = layout.partition("x")
        words = [str(binary / "sialrun"), *(["--dat", str(self.data)] if self.data else []), *map(str, self.programs), *self.args]
        if repeat % 2:
            words.append("-O0")
        if per_node:
            words += ["--ranks-per-node", per_node]
        if ranks != "1" or per_node:
            words = ["mpirun", "-n", ranks, "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", *words]
        return words

    def run(self, binary, layout, repeat):
        """What went wrong, or nothing."""
        with tempfile.TemporaryDirectory(prefix="sialx-oldstyle-") as folder:
            command = self.command(binary, layout, repeat)
            try:
                done = subprocess.run(command, env=ENV, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
            except subprocess.TimeoutExpired:
                return f"{' '.join(command)}: no end after 250 s"
            if done.returncode != 0:
                return f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}"
            with h5py.File(pathlib.Path(folder) / "results.h5", "r") as f:
                values = {name: float(f["scalars"][name][()]) for name in f["scalars"]}
        for name, _ in self.spreads:
            self.seen[name].append(values.get(name, math.nan))
        wrong = [f"{name} is {values.get(name, math.nan):.15g}, not {value:.15g} to {tolerance:g}" for name, value, tolerance in self.checks
                 if not abs(values.get(name, math.nan) - value) <= tolerance]  # a comparison that a NaN fails
        wrong += [f"{name} is between {min(self.seen[name]):.15g} and {max(self.seen[name]):.15g}" for name, width in self.spreads
                  if max(self.seen[name]) - min(self.seen[name]) > width]
        return f"{' '.join(command)}: {', '.join(wrong)}" if wrong else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--layouts")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    runs = options.runs or (50 if options.long else 5 if LONG else 1)
    layouts = (options.layouts or ("1 2 3 2x1 3x1" if options.long or LONG else "1 3x1")).split()
    paths = sorted(HERE.glob("*.sialx"))
    if unknown := set(options.names) - {p.stem for p in paths}:
        sys.exit(f"no such program: {', '.join(sorted(unknown))}")
    total = failed = 0
    with tempfile.TemporaryDirectory(prefix="sialx-oldstyle-data-") as folder:
        for program in [Program(p, BIN, pathlib.Path(folder)) for p in paths if not options.names or p.stem in options.names]:
            for layout in layouts:
                begin, bad = time.time(), 0
                for repeat in range(runs):
                    if wrong := program.run(BIN, layout, repeat):
                        bad += 1
                        print(f"FAILED {wrong}", flush=True)
                print(f"{program.name} on {layout}: {runs} runs, {bad} failed, {time.time() - begin:.1f} s", flush=True)
                total, failed = total + runs, failed + bad
    print(f"{total} runs, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
