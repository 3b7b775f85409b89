#!/usr/bin/env python3
"""What crosses between host and device in the example jobs, counted on the simulated device: as written, made, and at least.

    transfers.py --bin DIR --out DIR [--only JOB ...] [--ranks N]

Device memory is all that is wanted, and then parts of what was in use at most. `least`: of unlimited memory, what one side makes of a
block crosses once if the other wants it.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
JOBS = {"scf": "04_rhf", "transformation": "03_four_index", "mp2": "05_mp2", "ccsd": "09_ccsd", "ccsd(t)": "11_ccsd_t"}
PARTS = (1.0, 0.5, 0.25, 0.1)


def run(binary, job, ranks, memory=None):
    with tempfile.TemporaryDirectory() as out:
        command = [binary / "sialrun", ROOT / "examples" / job / "job.toml", "--output-dir", out, "--results", "none", "--run-json", "run.json", "--device", "simulated"]
        if ranks > 1:
            command += ["--simulate", f"ranks={ranks},seed=1"]
        if memory:
            command += ["--device-memory", str(memory)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{job}: exit code {done.returncode}\n{done.stderr}")
        total = json.loads((pathlib.Path(out) / "run.json").read_text())["total"]
    moved = lambda which: {way: {"transfers": int(total[f"device_{way}{which}"]), "bytes": int(total[f"device_bytes_{way}{which}"])} for way in ("in", "out")}
    return {"as_written": moved("_unoptimized"), "made": moved(""), "least": moved("_lower_bound"), "high_water": int(total["device_memory_high_water"]),
            "evictions": int(total["device_evictions"]), "on_host_instead": int(total["device_on_host_instead"]),
            "ahead": int(total["device_prefetches"]), "ahead_used": int(total["device_prefetches_used"]),
            "allocations": int(total["device_allocations"]), "allocation_hits": int(total["device_allocation_hits"])}


def size(moved):
    return moved["in"]["bytes"] + moved["out"]["bytes"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--ranks", type=int, default=1)
    options = parser.parse_args()
    results = []
    print("job             memory   as written    made in   made out      least  made/least  evictions  on host  hits  ahead   used")
    for name in options.only:
        free = run(options.bin.resolve(), JOBS[name], options.ranks)
        least = size(free["least"])
        for part in (None, *PARTS):
            r = free if part is None else run(options.bin.resolve(), JOBS[name], options.ranks, max(256, int(part * free["high_water"])))
            r.update(job=name, part=part, ratio=size(r["made"]) / least if least else 1.0)
            results.append(r)
            print(f"{name:<15} {'all' if part is None else f'{part:.0%}':>6} {size(r['as_written']) / 1e6:9.1f} MB {r['made']['in']['bytes'] / 1e6:7.2f} MB "
                  f"{r['made']['out']['bytes'] / 1e6:7.2f} MB {least / 1e6:7.2f} MB {r['ratio']:11.3f} {r['evictions']:10} {r['on_host_instead']:8} "
                  f"{r['allocation_hits'] / max(1, r['allocations']):5.3f} {r['ahead']:6} {r['ahead_used']:6}", flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "transfers.json").write_text(json.dumps({"ranks": options.ranks, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
