#!/usr/bin/env python3
"""Whole jobs on one core beside other programs: processor seconds of RHF, transformation, CCSD (with its iterations) and (T).

    run.py --bin DIR [--only NAME,...] [--repeat N] [--scf] [--pyscf PYTHON] [--psi4 PSI4] [--json FILE]

All converge alike. RHF: energies are converged to 1e-10; the largest element of the commutator FDS - SDF is below 1e-7 (ours), its root mean square below
1e-8 (Psi4), the norm of the orbital gradient below 1e-5 (PySCF). RHF before CCSD: below 1e-9 (ours). CCSD: to 1e-8 in energy and 1e-6 in the norm of
what the equations leave (ours; it is two to four times larger than that of the change) or of the amplitudes' change (PySCF, Psi4). No core is frozen. The programs take turns, and medians of the rounds count; nothing passes or fails, but energies that differ
by more than 1e-6 are said.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples"
MOLECULES = EXAMPLES / "molecules"
JOBS = {
    "dimer": (MOLECULES / "water-dimer.xyz", "cc-pvdz"),
    "benzene-631gs": (MOLECULES / "benzene.xyz", "6-31g*"),
    "benzene": (MOLECULES / "benzene.xyz", "cc-pvdz"),
    "biphenyl": (HERE / "biphenyl.xyz", "sto-3g"),
}
PARTS = ["scf", "transformation", "ccsd", "triples"]
ENV = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
for name in ("OPENBLAS_CORETYPE",):
    ENV.pop(name, None)


class Failure(Exception):
    pass


def run(command, folder, text=None):
    """What it printed, and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=ENV, input=text, stdin=subprocess.DEVNULL if text is None else None, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-500:]}\n{done.stderr[-1000:]}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def geometry(path):
    return [line.split() for line in path.read_text().splitlines()[2:] if line.strip()]


def ours(args, xyz, basis, folder, more=()):
    programs = ["04_rhf/rhf.sialx"] if args.scf else ["04_rhf/rhf.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx", "11_ccsd_t/ccsd_t.sialx"]
    job = folder / "job.toml"
    job.write_text(f'programs = {json.dumps([str(EXAMPLES / p) for p in programs])}\nmemory = "6GB"\n[molecule]\nxyz = "{xyz}"\nbasis = "{basis}"\n[values]\ncc_conv = 1e-8\n{"scf_conv = 1e-8" if args.scf else ""}\n')
    out, cpu = run([args.bin / "sialrun", job, "--output-dir", folder, "--run-json", "run.json", *more], folder)
    times: dict = {}
    for line in json.loads((folder / "run.json").read_text())["lines"]:
        times[line["program"]] = times.get(line["program"], 0.0) + line["seconds"]
    scalar = lambda name: float(re.findall(rf"\b{name} = *(\S+)", out)[-1])
    result = {"cpu": cpu, "scf_energy": scalar("scf_energy")}
    if not args.scf:
        result |= {"iterations": len([row for row in out.split("iteration")[-1].splitlines() if re.match(r"\s+\d+\s+-?\d+\.\d+", row)]), "energy": scalar("total_energy")}
    total = sum(times.values())
    names = {"rhf": "scf", "tran": "transformation", "ccsd": "ccsd", "ccsd_t": "triples"}
    for program, seconds in times.items():
        result[names[program]] = cpu * seconds / total if total else 0.0
    return result


PYSCF = """
import json, sys, time
from pyscf import gto, scf, cc, lib
lib.num_threads(1)
job = json.load(sys.stdin)
mol = gto.M(atom=job["atoms"], basis=job["basis"], verbose=0, max_memory=6000)
t = [time.process_time()]
mf = scf.RHF(mol)
mf.conv_tol = 1e-10
mf.kernel()
t.append(time.process_time())
r = {"scf": t[1] - t[0], "scf_energy": mf.e_tot, "cpu": t[1] - t[0]}
if not job["only_scf"]:
    mycc = cc.CCSD(mf)
    mycc.conv_tol, mycc.conv_tol_normt = 1e-8, 1e-6
    eris = mycc.ao2mo()
    t.append(time.process_time())
    mycc.kernel(eris=eris)
    t.append(time.process_time())
    et = mycc.ccsd_t(eris=eris)
    t.append(time.process_time())
    r |= {"transformation": t[2] - t[1], "ccsd": t[3] - t[2], "triples": t[4] - t[3], "iterations": mycc.cycles, "energy": mycc.e_tot + et, "cpu": t[4] - t[0]}
print(json.dumps(r))
"""


def pyscf(args, xyz, basis, folder):
    job = {"atoms": "; ".join(" ".join(atom) for atom in geometry(xyz)), "basis": basis, "only_scf": args.scf}
    out, _ = run([args.pyscf, "-c", PYSCF], folder, json.dumps(job))
    return json.loads(out.splitlines()[-1])


def psi4(args, xyz, basis, folder):
    atoms = "\n".join(" ".join(a) for a in geometry(xyz))
    method = "scf" if args.scf else "ccsd(t)"
    (folder / "in.dat").write_text(f"""memory 6000 mb
set_num_threads(1)
molecule {{
0 1
{atoms}
units angstrom
symmetry c1
no_reorient
no_com
}}
set {{
  basis {basis}
  puream true
  scf_type pk
  guess core
  e_convergence 1e-10
  d_convergence 1e-8
  qc_module fnocc
  nat_orbs false
}}
set fnocc e_convergence 1e-8
set fnocc r_convergence 1e-6
energy('{method}')
""")
    _, cpu = run([args.psi4, "-n", "1", "in.dat", "out.dat"], folder)
    text = (folder / "out.dat").read_text()
    value = lambda pattern: float(re.findall(pattern, text)[-1])
    result = {"cpu": cpu, "scf_energy": value(r"@RHF Final Energy:\s+(\S+)")}
    if not args.scf:
        result["energy"] = value(r"\* CCSD\(T\) total energy\s*:?=?\s+(-\d+\.\d+)")
        result["iterations"] = len(re.findall(r"^\s+\d+\s+\d+\s+\d+\s+-?\d+\.\d+\s+-?\d+\.\d+\s+\d+\.\d+", text, re.M))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--only", default=",".join(JOBS))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scf", action="store_true")
    parser.add_argument("--pyscf", default="")
    parser.add_argument("--psi4", default="")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    programs: dict[str, Callable] = {"sialx": ours}
    if args.scf:
        programs["sialx, direct"] = lambda a, x, b, f: ours(a, x, b, f, ["--keep-integrals", "off"])
    if args.psi4 and shutil.which(args.psi4):
        programs["Psi4"] = psi4
    if args.pyscf and subprocess.run([args.pyscf, "-c", "import pyscf"], capture_output=True).returncode == 0:
        programs["PySCF"] = pyscf
    about = subprocess.run([args.bin / "sialrun", "--version", "--verbose"], env=ENV, capture_output=True, text=True).stdout
    report = {"processor": re.findall(r"^processor: (.*)$", about, re.M)[0]}
    print("processor:", report["processor"])
    for job in args.only.split(","):
        if job not in JOBS:
            sys.exit(f"there is no job {job}: {', '.join(JOBS)}")
        rounds: dict[str, list] = {name: [] for name in programs}
        for _ in range(args.repeat):
            for name, call in programs.items():
                with tempfile.TemporaryDirectory(prefix="sialx-jobs-") as folder:
                    try:
                        rounds[name].append(call(args, *JOBS[job], pathlib.Path(folder)))
                    except Failure as failure:
                        print(f"{job}: {name}: {failure}", file=sys.stderr, flush=True)
        xyz, basis = JOBS[job]
        print(f"\n{job}: {basis}, processor seconds, medians of {args.repeat}")
        print(f"{'':16s}" + "".join(f"{p:>15s}" for p in PARTS) + f"{'iterations':>12s}{'all':>10s}{'sialx is':>10s}")
        report[job] = {}
        for name, results in rounds.items():
            if not results:
                continue
            middle = {key: statistics.median(r[key] for r in results) for key in results[0]}
            report[job][name] = middle
            mine = report[job].get("sialx")
            print(f"{name:16s}" + "".join(f"{middle[p]:15.2f}" if p in middle else f"{'':15s}" for p in PARTS) + f"{middle.get('iterations', 0) or '':>12}{middle['cpu']:10.2f}" +
                  (f"{mine['cpu'] / middle['cpu']:9.2f}x" if mine and name != "sialx" else ""), flush=True)
            for key in ("scf_energy", "energy"):
                if key in middle and abs(middle[key] - mine[key]) > 1e-6:
                    print(f"  {key} {middle[key]:.9f}, ours {mine[key]:.9f}")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
