#!/usr/bin/env python3
"""Pardos that depend on what an earlier program saved: drawn from the work queue where all ranks saved the same, else dealt in turn.

    run_schedule.py --bin DIR
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN

HERE = pathlib.Path(__file__).resolve().parent
SEGMENTS = 6


def run(binary, ranks, differs, *more):
    """How often `endpardo` was executed, and how many iterations the ranks counted together."""
    world = ("--simulate", f"ranks={ranks},seed=5") if ranks > 1 else ()
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([binary, HERE / "saves.sialx", HERE / "restores.sialx", "--set", f"norb={SEGMENTS}", "--set", f"differs={differs}",
                               "--segments", "ao=" + ",".join(["2"] * SEGMENTS), "--results", "none", "--run-json", "run.json", "--output-dir", out,
                               *world, *more], check=True, timeout=60, capture_output=True, text=True)
        lines = json.loads((pathlib.Path(out) / "run.json").read_text())["lines"]
    source = (HERE / "restores.sialx").read_text().splitlines()
    end = next(n for n, text in enumerate(source, 1) if text.strip().startswith("endpardo"))
    executed = sum(l["executions"] for l in lines if l["program"] == "restores" and l["line"] == end)
    return executed, float(done.stdout.split("=")[1])


def main():
    binary = BIN / "sialrun"
    tuples = SEGMENTS**2
    for ranks in (1, 3, 4):
        for differs in (0, 1, 2, 3):
            for more in ((), ("--schedule", "static")):
                in_turn = ranks > 1 and (differs > 0 or more)
                # In turn every rank walks all iterations.
                wanted = (tuples * ranks, float(tuples)) if in_turn else (tuples, float(tuples))
                if differs == 3:  # rank 0 passes the pardo by, and its iterations with it
                    wanted = (tuples * (ranks - 1), tuples - tuples / ranks)
                found = run(binary, ranks, differs, *more)
                if found != wanted:
                    raise SystemExit(f"FAILED: {ranks} ranks, differs={differs} {' '.join(more)}: endpardo ran {found[0]} times, {found[1]:g} "
                                     f"iterations were counted, not {wanted}")


if __name__ == "__main__":
    main()
