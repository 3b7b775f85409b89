#!/usr/bin/env python3
"""Runs jobs of the examples on several layouts of ranks and compares results.h5 with the expected values.

    run_example.py [--bin DIR] [--layouts "1 2 4 2x1 4x1"] [--variants "-O0 --store copy | --check"] examples/05_mp2/job.toml ...

A layout is a number of ranks, or NxK: N ranks on pretended nodes of K. A variant is more flags for a run of its own, on one
rank. In the gate each job takes one of the layouts, the first one the first, and the first of the variants. Expected values stand beside job.toml in expected.json
(job_x.toml: expected_x.json): {"scalars": {"name": {"value": v, "tolerance": t, "source": "..."}}}.
"""
import argparse
import json
import pathlib
import sys
import tempfile

import h5py

from harness import ALL, ROOT, run, sialrun_on


def scalars(job, layout, flags, folder):
    run(*sialrun_on(layout), job, "--output-dir", folder, *flags, cwd=folder)
    with h5py.File(folder / "results.h5", "r") as f:
        return {name: float(f["scalars"][name][()]) for name in f["scalars"]}


def check(job, runs):
    expected_file = job.with_name(job.stem.replace("job", "expected", 1) + ".json")
    expected = json.loads(expected_file.read_text())["scalars"]
    wrong = []
    for layout, flags in runs:
        where = " ".join([layout, *flags])
        with tempfile.TemporaryDirectory(prefix="sialx-example-") as folder:
            try:
                values = scalars(job, layout, flags, pathlib.Path(folder))
            except (AssertionError, OSError) as e:
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
    parser.add_argument("--layouts", default="")
    parser.add_argument("--variants", default="")
    parser.add_argument("jobs", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    variants = [("1", v.split()) for v in options.variants.split("|") if v.strip()]
    layouts = options.layouts.split() or ([] if variants else ["1", "2", "4", "2x1", "4x1"])
    wrong = []
    for number, job in enumerate(options.jobs):
        mine = layouts if ALL or not layouts else [layouts[number % len(layouts)]]
        wrong += check(job.resolve(), [(layout, []) for layout in mine] + (variants if ALL else variants[:1]))
    for w in wrong:
        print(f"FAILED {w}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
