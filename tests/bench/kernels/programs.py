#!/usr/bin/env python3
"""Whole programs on one rank: seconds per CCSD iteration and of (T), the share of block contractions in them, and what generated code costs.

    programs.py --bin DIR [--only NAME,...] [--long] [--kernels NAME,...] [--json FILE] [--repeat N] [--lines N]

An iteration is what one more takes: the job runs a second time with a loose cc_conv, and what both do once (integrals, first amplitudes)
drops out of the difference. "all/n" is all of the program by its number of iterations.

Beside each molecule stands the best hand-written code measured on another machine (CPU seconds per iteration / (T), dgemm 94 GFLOP/s per core);
`--peak G` scales those figures to a machine whose dgemm runs at G. The CCSD example then runs twice with an empty and a filled cache of generated
code. Nothing here passes or fails, except that programs must end well and energies must not
depend on the kernels.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples"
PUBLISHED_PEAK = 94.0
LOOSE = 1e-2  # cc_conv of the second run
PROGRAMS = ["04_rhf/rhf.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx", "11_ccsd_t/ccsd_t.sialx"]

# name: molecule, basis, segment targets (ao, occ, virt), reference seconds (iteration, (T)), whether it takes minutes
MOLECULES = {
    "water": ("water", "cc-pvdz", (12, 5, 10), None, False),
    "dimer": ("water-dimer", "cc-pvdz", (24, 4, 20), (0.04, 0.22), False),
    "dimer-aug": ("water-dimer", "aug-cc-pvdz", (14, 5, 24), (0.33, 1.95), True),
    "benzene-631gs": ("benzene", "6-31gs", (26, 5, 20), (1.25, 21.9), True),
    "benzene": ("benzene", "cc-pvdz", (15, 5, 24), (1.97, 42.4), True),
}
BASIS_NAMES = {"6-31gs": "6-31g*"}


def write_job(folder, molecule, basis, segments, few_iterations=False):
    job = folder / "job.toml"
    programs = ", ".join(f'"{EXAMPLES / p}"' for p in (PROGRAMS[:-1] if few_iterations else PROGRAMS))
    lines = [f"programs = [{programs}]", "[molecule]", f'xyz = "{EXAMPLES / "molecules" / (molecule + ".xyz")}"', f'basis = "{BASIS_NAMES.get(basis, basis)}"', "[segments]"]
    for kind, target in zip(("ao", "occ", "virt"), segments):
        lines += [f'{kind} = "auto"', f"{kind}_target = {target}"]
    if few_iterations:
        lines += ["[values]", f"cc_conv = {LOOSE}"]
    job.write_text("\n".join(lines) + "\n")
    return job


def run(binary, job, folder, kernels, environment):
    """The statistics of a run, what it printed, and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(binary / "sialrun"), str(job), "--output-dir", str(folder), "--kernels", kernels, "--memory", "6GB"]
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads((folder / "run.json").read_text()), done.stdout, cpu


def iterations(printed):
    """Rows of the last table of iterations: that of CCSD."""
    rows = 0
    for line in printed.splitlines():
        words = line.split()
        if words[:2] == ["iteration", "energy"]:
            rows = 0
        elif len(words) == 4 and words[0].isdigit():
            rows = int(words[0])
    return rows


def job_of(args, name, kernels, folder, few_iterations):
    """Statistics of a run, what it printed, its processor time by its wall time, wall and processor seconds."""
    molecule, basis, segments, _, _ = MOLECULES[name]
    statistics, printed, cpu = run(args.bin, write_job(folder, molecule, basis, segments, few_iterations), folder, kernels, args.environment)
    wall = statistics["total"]["wall_time"]
    # Processor seconds are counted for the process, wall seconds per line: the one scaled by the other, so that other people's load drops out.
    return statistics, printed, min(1.0, cpu / wall), wall, cpu


def parts_of(statistics, program, running):
    """Processor seconds of a program by what its lines do, and its floating-point operations in contractions."""
    parts, flops = {"contractions": 0.0, "super instructions": 0.0, "element-wise": 0.0, "rest": 0.0}, 0.0
    for line in statistics["lines"]:
        if line["program"] != program:
            continue
        text = source_line(line)
        kind = "contractions" if line["flops"] > 0 else "super instructions" if text.startswith("execute ") else "element-wise" if "[" in text and "=" in text else "rest"
        parts[kind] += running * line["seconds"]
        flops += line["flops"]
    return parts, flops


def measure(args, name, kernels, folder):
    molecule, basis, segments, reference, _ = MOLECULES[name]
    best = None
    for _ in range(args.repeat):
        statistics, printed, running, wall, cpu = job_of(args, name, kernels, folder, False)
        few, few_printed, few_running, _, _ = job_of(args, name, kernels, folder, True)
        steps, few_steps = iterations(printed), iterations(few_printed)
        if not 0 < few_steps < steps:
            raise RuntimeError(f"{steps} iterations, {few_steps} with cc_conv = {LOOSE}: there is no difference to measure")
        ccsd_parts, ccsd_flops = parts_of(statistics, "ccsd", running)
        few_parts, few_flops = parts_of(few, "ccsd", few_running)
        triples_parts, triples_flops = parts_of(statistics, "ccsd_t", running)
        step_parts = {k: max(0.0, ccsd_parts[k] - few_parts[k]) / (steps - few_steps) for k in ccsd_parts}
        step_flops = (ccsd_flops - few_flops) / (steps - few_steps)
        step, ccsd, triples = sum(step_parts.values()), sum(ccsd_parts.values()), sum(triples_parts.values())
        lines = sorted((line for line in statistics["lines"] if line["program"] in ("ccsd", "ccsd_t")), key=lambda line: -line["seconds"])[:args.lines]
        row = {"name": name, "molecule": molecule, "basis": basis, "segments": segments, "kernels": kernels, "iterations": steps,
               "iteration_seconds": step, "all_by_iterations_seconds": ccsd / steps, "triples_seconds": triples,
               "ccsd_shares": {k: v / step for k, v in step_parts.items()}, "triples_shares": {k: v / triples for k, v in triples_parts.items()},
               "ccsd_gflops": 1e-9 * step_flops / step_parts["contractions"] if step_parts["contractions"] else 0.0,
               "triples_gflops": 1e-9 * triples_flops / triples_parts["contractions"] if triples_parts["contractions"] else 0.0,
               "wall_seconds": wall, "cpu_seconds": cpu, "generated": statistics.get("kernels", {}).get("code"),
               "energies": energies(printed), "lines": [{"program": line["program"], "file": pathlib.Path(line["file"]).name, "line": line["line"], "executions": line["executions"],
                          "seconds": running * line["seconds"], "flops": line["flops"], "text": source_line(line)} for line in lines]}
        if best is None or row["iteration_seconds"] + row["triples_seconds"] < best["iteration_seconds"] + best["triples_seconds"]:
            best = row
    best["reference"] = reference
    return best


def energies(printed):
    """Scalars that the last two programs print, the latest of each name."""
    found = re.findall(r"^ *\d+: +(scf_energy|ccsd_energy|t_energy) = (\S+)", printed, re.M)
    return {name: float(value) for name, value in found}


def source_line(line):
    try:
        return pathlib.Path(line["file"]).read_text().splitlines()[line["line"] - 1].strip()
    except (OSError, IndexError):
        return ""


def show(row, peak):
    text = f"{row['name']:14} {row['kernels']:6} {row['iteration_seconds']:10.3f} {row['all_by_iterations_seconds']:7.3f} {row['triples_seconds']:9.2f}"
    for shares in (row["ccsd_shares"], row["triples_shares"]):
        text += "  " + "/".join(f"{100 * x:2.0f}" for x in shares.values())
    text += f" {row['ccsd_gflops']:7.1f} {row['triples_gflops']:7.1f} {row['cpu_seconds'] / row['wall_seconds']:8.2f}"
    if row["reference"]:
        scale = PUBLISHED_PEAK / peak if peak else 1.0
        step, triples = (scale * x for x in row["reference"])
        text += f"   {step:6.2f} / {triples:6.2f}  {row['iteration_seconds'] / step:5.1f}x / {row['triples_seconds'] / triples:4.1f}x"
    print(text, flush=True)
    for line in row["lines"]:
        print(f"    {line['seconds']:8.3f} s {line['executions']:9} x {1e-9 * line['flops'] / max(line['seconds'], 1e-9):6.1f} GFLOP/s  {line['file']}:{line['line']} {line['text']}")


def cold_and_warm(args, kernels, folder):
    """The CCSD example with an empty and a filled cache of generated code."""
    environment = dict(args.environment, XDG_CACHE_HOME=str(folder / "cache"))
    rows = []
    for state in ("empty", "filled", "filled again"):
        statistics, _, cpu = run(args.bin, EXAMPLES / "09_ccsd" / "job.toml", folder, kernels, environment)
        rows.append({"cache": state, "kernels": kernels, "wall_seconds": statistics["total"]["wall_time"], "cpu_seconds": cpu, "generated": statistics.get("kernels", {}).get("code")})
        print(f"{kernels:6} cache {state:13} wall {rows[-1]['wall_seconds']:7.3f} s, processor {cpu:7.3f} s; " +
              (", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in statistics["kernels"]["code"].items())
               if "kernels" in statistics else "no counters of generated code in run.json"), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="of " + " ".join(MOLECULES))
    parser.add_argument("--long", action="store_true", help="also the molecules that take minutes")
    parser.add_argument("--kernels", default="blas,auto")
    parser.add_argument("--peak", type=float, default=0.0, help="GFLOP/s of this machine's dgemm: scales the reference figures")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--lines", type=int, default=0, help="also the N lines of CCSD and (T) that take longest")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    args.environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
    wanted = [n for n in args.only.split(",") if n] or [n for n, m in MOLECULES.items() if args.long or not m[4]]
    unknown = [n for n in wanted if n not in MOLECULES]
    if unknown:
        parser.error(f"unknown molecule `{unknown[0]}`; there are {', '.join(MOLECULES)}")
    kernels = args.kernels.split(",")
    document = {"format": "sialx-bench-programs", "version": 1, "peak_gflops": args.peak, "molecules": [], "cache": []}
    scaled = f"scaled by {PUBLISHED_PEAK:.0f}/{args.peak:.1f}, the ratio of the dgemm" if args.peak else "as measured there"
    print(f"One rank. Processor seconds per CCSD iteration and of (T); where the time goes, in percent: contractions/super instructions "
          f"(integrals)/element-wise lines/rest; GFLOP/s of contractions; reference {scaled}.")
    print(f"{'molecule':14} {'kernels':6} {'s/iterat.':>10} {'all/n':>7} {'(T) s':>9} {'% CCSD':>12} {'% (T)':>12} {'GF CCSD':>7} {'GF (T)':>7} {'cpu/wall':>8}   {'reference':>15}  ours/reference")
    failed = False
    with tempfile.TemporaryDirectory(prefix="sialx-bench-") as name_of_folder:
        folder = pathlib.Path(name_of_folder)
        for name in wanted:
            if not (HERE.parents[2] / "runtime/chemistry/basis/sets" / (MOLECULES[name][1] + ".g94")).exists():
                print(f"{name:14} left out: no basis {MOLECULES[name][1]}")
                continue
            for k in kernels:
                try:
                    row = measure(args, name, k, folder)
                except RuntimeError as e:
                    failed = True
                    print(f"{name:14} {k:6} {e}")
                    continue
                document["molecules"].append(row)
                show(row, args.peak)
                first = next(r for r in document["molecules"] if r["name"] == name)
                differing = [e for e, value in row["energies"].items() if not abs(value - first["energies"][e]) < 1e-8]
                if differing:
                    failed = True
                    print(f"WRONG: {', '.join(differing)} of {name} with {k} and with {first['kernels']} differ: {row['energies']}, {first['energies']}")
        print("\nThe CCSD example, water in cc-pVDZ, with a cache of generated code of its own:")
        for k in kernels:
            with tempfile.TemporaryDirectory(prefix="sialx-bench-") as own:
                document["cache"] += cold_and_warm(args, k, pathlib.Path(own))
    if args.json:
        args.json.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
