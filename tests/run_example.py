#!/usr/bin/env python3
"""Runs jobs of the examples on several layouts of ranks and compares results.h5 with the expected values.

    run_example.py --bin DIR [--layouts "1 2 4 2x1 4x1"] [--variants "-O0 --store copy | --check"] examples/05_mp2/job.toml ...

A layout is a number of ranks, or NxK: N ranks on pretended nodes of K. A variant is more flags for a run of its own, on one
rank. Expected values stand beside job.toml in expected.json
(job_x.toml: expected_x.json): {"scalars": {"name": {"value": v, "tolerance": t, "source": "..."}}}.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py

ROOT = pathlib.Path(__file__).resolve().parents[1]
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")


def run(binary, job, layout, flags, folder, timeout):
    ranks, _, per_node = layout.partition("x")
    command = [str(binary / "sialrun"), str(job), "--output-dir", str(folder), *flags]
    if ranks != "1" or per_node:
        command = ["mpirun", "-n", ranks, "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", *command]
    if per_node:
        command += ["--ranks-per-node", per_node]
    done = subprocess.run(command, env=ENV, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    with h5py.File(folder / "results.h5", "r") as f:
        return {name: float(f["scalars"][name][()]) for name in f["scalars"]}


def check(job, runs, binary, timeout):
    expected_file = job.with_name(job.stem.replace("job", "expected", 1) + ".json")
    expected = json.loads(expected_file.read_text())["scalars"]
    wrong = []
    for layout, flags in runs:
        where = " ".join([layout, *flags])
        with tempfile.TemporaryDirectory(prefix="sialx-example-") as folder:
            try:
                values = run(binary, job, layout, flags, pathlib.Path(folder), timeout)
            except (RuntimeError, subprocess.TimeoutExpired, OSError) as e:
                wrong.append(f"{job} on {where}: {e}")
                continue
        for name, want in expected.items():
            if name not in values:
                wrong.append(f"{job} on {where}: no scalar `{name}` in results.h5")
            # A comparison that a NaN fails.
            elif not abs(values[name] - want["value"]) <= want["tolerance"]:
                wrong.append(f"{job} on {where}: {name} = {values[name]:.12f}, expected {want['value']:.12f} +- {want['tolerance']:g} ({want['source']})")
        print(f"{job.relative_to(ROOT)} on {where}: " + ", ".join(f"{n} {values.get(n, float('nan')):.10f}" for n in expected), flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--layouts", default="1 2 4 2x1 4x1")
    parser.add_argument("--variants", default="")
    parser.add_argument("--timeout", type=float, default=280)
    parser.add_argument("jobs", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    runs = [(layout, []) for layout in options.layouts.split()] + [("1", v.split()) for v in options.variants.split("|") if v.strip()]
    wrong = []
    for job in options.jobs:
        wrong += check(job.resolve(), runs, options.bin.resolve(), options.timeout)
    for w in wrong:
        print(f"FAILED {w}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
