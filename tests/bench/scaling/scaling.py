#!/usr/bin/env python3
"""Strong scaling on simulated ranks, kernels charged from the cost model.

Times are differences between two runs: of CCSD one iteration, from three and one; of (T) its program, from the job with and without it.
"""
import argparse
import json
import pathlib
import re
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
NETWORKS = {"fast": ("latency=2us,bandwidth=12GB/s", "2 us, 12 GB/s"), "slow": ("latency=50us,bandwidth=1GB/s", "50 us, 1 GB/s")}
RANKS_PER_NODE = 16


def segments(ao, occ, virt):
    return ["--segments", f"ao_target={ao}", "--segments", f"occ_target={occ}", "--segments", f"virt_target={virt}"]


# Example, program, basis set, sizes of segments of basis functions, occupied and virtual orbitals.
JOBS = {
    "ccsd": ("09_ccsd", "ccsd", "cc-pvdz", (16, 7, 12)),
    "triples": ("11_ccsd_t", "ccsd_t", "cc-pvdz", (16, 5, 10)),
    "ccsd_large": ("09_ccsd", "ccsd", "cc-pvtz", (24, 5, 20)),
    "triples_large": ("11_ccsd_t", "ccsd_t", "cc-pvtz", (24, 4, 20)),
}
USUAL = "ccsd,triples"


def write_job(folder, example, basis, last):
    """The example's job for benzene; without its last program unless `last`."""
    own = ROOT / "examples" / example
    text = (own / "job.toml").read_text()
    found = re.search(r"^programs = \[(.*)\]$", text, re.M)
    programs = [(own / p.strip().strip('"')).resolve() for p in found.group(1).split(",")]
    if not last:
        programs.pop()
    text = text.replace(found.group(0), "programs = [" + ", ".join(f'"{p}"' for p in programs) + "]")
    text = text.replace("../molecules/water.xyz", str(ROOT / "examples/molecules/benzene.xyz")).replace("cc-pvdz", basis)
    path = folder / f"{example}.toml"
    path.write_text(text)
    return path


def run(bin_dir, out, job, ranks, network, sizes, *settings):
    """Seconds of the job, its facts, and processor seconds of the simulation. All ranks together have the memory to keep the integrals of CCSD."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [str(bin_dir / "sialrun"), str(job), "--results", "none", "--output-dir", str(out), "--run-json", "run.json", "--memory", f"{max(200, 100_000 // ranks)}MB",
               *segments(*sizes), *settings, "--simulate",
               f"ranks={ranks},ranks-per-node={RANKS_PER_NODE},disorder=0,kernels=model,iterations=3,{network}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    facts = json.loads((out / "run.json").read_text())
    return facts["total"]["wall_time"], facts, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used


def measure(args, out, name, ranks, network, sizes):
    example, program, basis, _ = JOBS[name]
    if program == "ccsd":  # two iterations more
        job = write_job(out, example, basis, True)
        less, before, used = run(args.bin, out, job, ranks, network, sizes, "--set", "cc_iter=1")
        more, facts, used_too = run(args.bin, out, job, ranks, network, sizes, "--set", "cc_iter=3")
        seconds = (more - less) / 2
        predicted = (predicted_of(facts, program) - predicted_of(before, program)) / 2
    else:  # one program more
        less, _, used = run(args.bin, out, write_job(out, example, basis, False), ranks, network, sizes, "--set", "cc_iter=1")
        more, facts, used_too = run(args.bin, out, write_job(out, example, basis, True), ranks, network, sizes, "--set", "cc_iter=1")
        seconds, predicted = more - less, predicted_of(facts, program)
    return {"job": name, "ranks": ranks, "segments": sizes, "seconds": seconds, "predicted": predicted, "blocks": blocks(facts),
            "processor_seconds": used + used_too}


def predicted_of(facts, program):
    return next(p["predicted_seconds"] for p in facts["programs"] if p["program"] == program)


def blocks(facts):
    """Numbers of segments of basis functions, occupied and virtual orbitals."""
    return {kind: len(extents) for kind, extents in facts["job"]["segments"].items()}


def table(title, rows):
    print(f"\n{title}\n\n| ranks | seconds | speed-up | efficiency | predicted | deviation | processor time of the simulation |\n|---|---|---|---|---|---|---|")
    first = rows[0]
    for r in rows:
        gain = first["seconds"] / r["seconds"]
        efficiency = gain * first["ranks"] / r["ranks"]
        print(f"| {r['ranks']} | {r['seconds']:.4g} | {gain * first['ranks']:.1f} | {100 * efficiency:.0f} % | {r['predicted']:.4g} | "
              f"{100 * (r['predicted'] / r['seconds'] - 1):+.0f} % | {r['processor_seconds']:.0f} s |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", default=USUAL, help=", ".join(JOBS))
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--ranks", default="16,64,256,1024")
    args = parser.parse_args()
    args.bin, args.out = args.bin.resolve(), args.out.resolve()
    ranks = [int(r) for r in args.ranks.split(",") if not args.quick or int(r) <= 64]
    found = []
    for name in args.jobs.split(","):
        for network in args.networks.split(","):
            text, shown = NETWORKS[network]
            rows = [measure(args, args.out, name, r, text, JOBS[name][3]) for r in ranks]
            found += [dict(row, network=network, kind="strong") for row in rows]
            table(f"{name}, benzene in {JOBS[name][2]}, {shown}, segments {rows[0]['blocks']}", rows)
            (args.out / "scaling.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
