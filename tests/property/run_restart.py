#!/usr/bin/env python3
"""Random programs, stopped at each of their barriers and continued: together the pieces print and leave what the oracle computes.

    run_restart.py --bin DIR [--count N] [--seed S] [--long]

A rank's program counter, loops, scalars, blocks and all remote arrays go through a checkpoint between any two phases. In one
configuration each piece has another number of ranks; where that is refused, it has that of the piece before.
"""
import argparse
import difflib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from batches import Runner, left, make_jobs, normalised
from harness import ALL, LONG

STOPPED = 4
MOST = 500


def configurations(seed):
    three, four = ["--simulate", f"ranks=3,seed={seed}"], ["--simulate", f"ranks=4,seed={seed + 1},ranks-per-node=2"]
    two = ["--simulate", f"ranks=2,seed={seed + 2},servers=2"]
    return [("one rank", [[]]), ("simulated 3 ranks", [three]), ("simulated 4 ranks on 2 nodes", [four]),
            ("simulated 2 ranks and 2 servers, checked", [[*two, "--check"]]),
            ("another number of ranks each time", [three, [], four, two, ["--simulate", f"ranks=1,seed={seed}"]])]


def in_pieces(runner, job, layouts, refused):
    """What all pieces print and the last leaves, how many there were, and what went wrong. `refused`: layouts that a checkpoint was not continued with are added."""
    folder = runner.work / "pieces"
    shutil.rmtree(folder, ignore_errors=True)
    output = ""
    flags: list[str] = []
    for piece in range(MOST):
        def run(flags, piece=piece):
            command = [str(runner.bin / "sialrun"), *(f"{p.name}.siox" for p in job.programs), *job.arguments, *flags, "--print-format", "plain",
                       "--output-dir", folder.name, "--checkpoint-every", "0", "--stop-after", "1", *(["--restart"] if piece else [])]
            return subprocess.run(command, cwd=runner.work, env=runner.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        before, flags = flags, layouts[piece % len(layouts)]
        p = run(flags)
        if p.returncode == 2 and "was taken inside a program" in p.stderr:
            refused.append(p.stderr)
            flags = before
            p = run(flags)
        output += p.stdout
        if p.returncode == 0:
            return normalised(output) + left(folder / "results.h5"), piece, ""
        if p.returncode != STOPPED:
            return normalised(output), piece, p.stderr
    return normalised(output), MOST, "no end"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--long", action="store_true", default=LONG)
    parser.add_argument("--launcher", default="")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time()) if options.long else 1
    count = options.count or (200 if options.long else 8 if ALL else 2)
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(pathlib.Path(scratch), options.launcher)
        jobs, _ = make_jobs(runner, range(seed, seed + count))
        for position, (name, layouts) in enumerate(configurations(seed)):
            start, pieces = time.monotonic(), 0
            refused: list[str] = []
            mine = jobs[position % 2 :: 2] if position and not options.long else jobs  # several ranks: every other program
            for job in mine:
                output, stops, err = in_pieces(runner, job, layouts, refused)
                pieces += stops
                if output == job.want and not err:
                    continue
                failed += 1
                print(f"{name}: seed {job.seed} disagrees after {stops} stops\n{job.text()}")
                print("\n".join(difflib.unified_diff(job.want.splitlines(), output.splitlines(), "oracle", name, lineterm="", n=1)), err)
            print(f"{name}: {len(mine)} programs from seed {seed}, {pieces} stops, {len(refused)} refused, {time.monotonic() - start:.1f} s", flush=True)
            if len(refused) > pieces // 2:
                print("\n".join(sorted(set(refused))))
                sys.exit("other numbers of ranks were refused too often")
            if pieces < len(mine):
                sys.exit("hardly any barrier was stopped at")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
