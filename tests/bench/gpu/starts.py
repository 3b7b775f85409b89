#!/usr/bin/env python3
"""Kernels and products started for the example jobs, where small work waits for its like and where each piece is started by itself.

    starts.py --bin DIR --out DIR [--only JOB ...]

On the GPU where there is one, else on the fake driver if that was built beside the programs: it counts as a GPU does. Exits 1 when
the two disagree by more than 1e-9 in what a job prints last.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
JOBS = {"scf": "04_rhf/job", "transformation": "03_four_index/job", "mp2": "05_mp2/job", "ccsd, segments of 3": "09_ccsd/job_321g", "ccsd, segments of 7": "09_ccsd/job_631gs",
        "ccsd, segments of 10": "09_ccsd/job", "ccsd(t)": "11_ccsd_t/job"}


def run(binary, job, batch, env):
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([binary / "sialrun", ROOT / "examples" / f"{job}.toml", "--output-dir", out, "--results", "none", "--run-json", "run.json", "--device", "cuda",
                               "--device-batch", batch], capture_output=True, text=True, env=env)
        if done.returncode != 0:
            sys.exit(f"{job}: exit code {done.returncode}\n{done.stderr}")
        total = json.loads((pathlib.Path(out) / "run.json").read_text())["total"]
    return float(done.stdout.split()[-1]), {key: int(total[f"device_{key}"]) for key in ("operations", "starts", "waited", "batches", "batched", "out")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", choices=JOBS, default=list(JOBS))
    options = parser.parse_args()
    binary = options.bin.resolve()
    env = dict(os.environ)
    found = subprocess.run([binary / "sialrun", "--version", "--verbose"], capture_output=True, text=True, env=env).stdout
    if "cuda: not used" in found:
        if not (binary / "fake-cuda").is_dir():
            print("starts of kernels: left out, there is no GPU and no fake driver")
            return
        env.update(SIALX_CUDA_LIBRARIES=str(binary / "fake-cuda"), SIALX_FAKE_CUDA="memory=4000000000")
    results, wrong = [], 0
    print("job                   operations   each by itself  per operation   with others  per operation    fewer  groups  pieces in them  copies out")
    for name in options.only:
        (value, alone), (same, together) = (run(binary, JOBS[name], batch, env) for batch in ("off", "auto"))
        wrong += abs(value - same) > 1e-9
        n = max(1, alone["operations"])
        print(f"{name:<21} {n:10} {alone['starts']:16} {alone['starts'] / n:14.2f} {together['starts']:13} {together['starts'] / n:14.2f} {1 - together['starts'] / max(1, alone['starts']):8.1%} "
              f"{together['batches']:7} {together['batched']:15} {together['out']:11}", flush=True)
        results.append({"job": name, "alone": alone, "together": together, "difference": value - same})
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "starts.json").write_text(json.dumps({"results": results}, indent=1) + "\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
