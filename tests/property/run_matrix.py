#!/usr/bin/env python3
"""A few fixed programs, the same output everywhere: 1 to 4 ranks, one or several ranks per node, every transport, and schedules of the
simulator: 8 in the gate, where three layouts are MPI's, 40 with --all (random programs take others), 1000 with --long.

    run_matrix.py --bin DIR [--long] [--seed S]

The programs are tests/property/matrix/*.sialx; what they must print is what the oracle computes.
"""
import argparse
import pathlib
import sys
import tempfile
import time
from typing import Any, cast

from batches import MPIRUN, Configuration, Job, Runner
from harness import ALL, LONG

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "oracle"))

from run_compare import arguments  # noqa: E402


class Fixed:
    """A program from a file, with the interface of a generated one."""

    def __init__(self, path):
        self.name, self.path, self.seed, self.followers = path.stem, path, 0, []
        self.arguments = arguments(path)[1]

    def text(self):
        return self.path.read_text()


def configurations(seed, long):
    result = [Configuration("1 rank", []), Configuration("1 rank, as written, reference, copying store", ["--store=copy", "--kernels=reference"], optimisation="-O0")]
    for n in (2, 3, 4):
        for per_node in (None, 1, 2):
            if per_node == n or not (ALL or (n, per_node) in ((2, None), (3, 2), (4, 1))):
                continue
            flags = ["--ranks-per-node", str(per_node)] if per_node else []
            result.append(Configuration(f"mpi, {n} ranks, per node {per_node or 'all'}", flags, n))
    if ALL:
        result.append(Configuration("mpi, 4 ranks, static schedule", ["--schedule=static"], 4))
        result.append(Configuration("mpi, 4 ranks, copying store", ["--store=copy"], 4))
    for n in range(1000 if long else 40 if ALL else 8):
        ranks = 2 + n % 3
        flags = ["--simulate", f"ranks={ranks},seed={seed + n}"]
        flags += ["--ranks-per-node", str(1 + n // 3 % 2)] if n % 2 else []
        flags += ["--check"] if n % 5 == 0 else []
        result.append(Configuration(f"simulated, {' '.join(flags[1:])}", flags))
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true", default=LONG)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--launcher", default=MPIRUN)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time()) if options.long else 1
    failures = runs = 0
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(pathlib.Path(scratch), options.launcher)
        jobs = [Job(cast(Any, Fixed(p))) for p in sorted((HERE / "matrix").glob("*.sialx"))]
        trees, messages = runner.parse(jobs)
        if trees is None or (messages := runner.compile(jobs)):
            sys.exit(messages)
        for job, tree in zip(jobs, trees):
            if reason := runner.expect(job, [tree]):
                sys.exit(f"{job.name}: {reason}")
        for configuration in configurations(seed, options.long):
            outputs, err = runner.batch(configuration, jobs, 120)
            for job in jobs:
                runs += 1
                if not job.agrees(outputs.get(job.name)):
                    failures += 1
                    if failures <= 10:
                        print(f"{job.name}, {configuration.name}: {outputs.get(job.name)!r} instead of {job.want!r}\n{err[-2000:]}")
    print(f"{runs - failures} of {runs} runs agree (seed {seed})")
    sys.exit(1 if failures or not runs else 0)


if __name__ == "__main__":
    main()
