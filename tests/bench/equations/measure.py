#!/usr/bin/env python3
"""Programs made from equations beside a program written by hand, and beside NumPy, on one core.

    measure.py --bin DIR [--only hand,numpy,vvvv] [--basis NAME,...] [--orbitals O,V] [--segment N] [--repeat N]

hand: CCSD of benzene, by examples/09_ccsd and from examples/19_equations/ccsd.txt summed over spin; seconds of the CCSD programs over their iterations,
and the largest resident memory of the job. numpy: one evaluation of ccsd.txt over spin orbitals with random tensors, each term by einsum in its optimal order. vvvv: integrals
over four virtual orbitals stored, or not.
Programs take turns, and the least of the rounds counts."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "runtime" / "python"), str(ROOT / "tests" / "equations")]
EXAMPLES = ROOT / "examples"
BENZENE = EXAMPLES / "molecules" / "benzene.xyz"
EQUATIONS = EXAMPLES / "19_equations" / "ccsd.txt"
ENV = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def timed(programs, basis, folder, args, segments):
    """(seconds per iteration of the last program, energy, MB) of a job."""
    job = {"programs": [str(p) for p in programs], "memory": "12GB"}
    lines = [f"{key} = {json.dumps(value)}" for key, value in job.items()]
    lines += ["[molecule]", f'xyz = "{BENZENE}"', f'basis = "{basis}"', "[values]", "cc_conv = 1e-7", "[segments]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in segments.items()]
    (folder / "job.toml").write_text("\n".join(lines) + "\n")
    child = subprocess.Popen([args.bin / "sialrun", "job.toml", "--run-json", "run.json"], cwd=folder, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(out[-2000:])
    rows = re.findall(r"^\s+(\d+)\s+(-\d+\.\d+)", out.split("iteration")[-1], re.M)
    name = pathlib.Path(programs[-1]).stem
    seconds = sum(line["seconds"] for line in json.loads((folder / "run.json").read_text())["lines"] if line["program"] == name)
    return seconds / int(rows[-1][0]), float(rows[-1][1]), usage.ru_maxrss / 1e3


def beside_hand(args):
    import sialx

    print(f"CCSD of benzene, one core, segments of {args.segment} orbitals: seconds per iteration")
    print(f"{'basis':10s} {'o':>3s} {'v':>4s} {'by hand':>9s} {'generated':>9s} {'ratio':>6s} {'MB':>7s} {'MB':>7s}")
    for basis in args.basis.split(","):
        virtual = {"6-31g": 45, "6-31g*": 81, "cc-pvdz": 93}.get(basis, 80)
        segments = {"ao": "auto", "ao_target": args.segment, "occ": "auto", "occ_target": args.segment, "virt": "auto", "virt_target": args.segment}
        with tempfile.TemporaryDirectory(prefix="sialx-bench-") as name:
            folder = pathlib.Path(name)
            (folder / "generated.sialx").write_text(sialx.method(EQUATIONS, name="generated", extents={"o": 21, "v": virtual}).sial)
            hand = [EXAMPLES / "04_rhf" / "rhf.sialx", EXAMPLES / "09_ccsd" / "tran.sialx", EXAMPLES / "09_ccsd" / "ccsd.sialx"]
            made = [hand[0], EXAMPLES / "19_equations" / "integrals.sialx", folder / "generated.sialx"]
            rounds = [[timed(programs, basis, folder, args, segments) for programs in (hand, made)] for _ in range(args.repeat)]
        one, other = (min(r[n][0] for r in rounds) for n in (0, 1))
        energies = [rounds[0][n][1] for n in (0, 1)]
        if abs(energies[0] - energies[1]) > 1e-6:
            raise SystemExit(f"energies differ: {energies}")
        print(f"{basis:10s} {21:3d} {virtual:4d} {one:9.3f} {other:9.3f} {other / one:6.2f} {rounds[0][0][2]:7.0f} {rounds[0][1][2]:7.0f}", flush=True)


def stored_or_computed(args):
    import sialx

    print(f"CCSD of benzene, one core, segments of {args.segment} orbitals: seconds per iteration, and MB of blocks")
    for basis in args.basis.split(","):
        benzene = sialx.Molecule.from_xyz(BENZENE, basis)
        methods = {vvvv: sialx.method(EQUATIONS, name="generated", vvvv=vvvv, extents={"o": 21, "v": benzene.functions - 21}) for vvvv in ("stored", "ao")}
        best: dict = {}
        for _ in range(args.repeat):
            for vvvv, made in methods.items():
                with tempfile.TemporaryDirectory(prefix="sialx-bench-") as name:
                    found = made.run(benzene, folder=name, memory="12GB", segment=args.segment, convergence=1e-9)
                    run = json.loads((pathlib.Path(name) / "generated" / "run.json").read_text())
                    seconds = sum(line["seconds"] for line in run["lines"] if line["program"] == "generated") / found.cycles
                    if vvvv not in best or seconds < best[vvvv][0]:
                        best[vvvv] = seconds, max(p["memory_high_water"] for p in run["programs"]) / 1e6, found.correlation_energy
        for vvvv, (seconds, memory, energy) in best.items():
            print(f"{basis:10s} {vvvv:8s} {seconds:9.3f} s {memory:9.0f} MB   predicted {methods[vvvv].predicted_peak / 1e6:.0f} MB in segments of 8   {energy:.10f}", flush=True)


def beside_numpy(args):
    import numpy as np

    import sialx
    from equation_oracle import evaluate, random_tensors
    from sialx.equations import from_text, to_sial

    o, v = (int(x) for x in args.orbitals.split(","))
    equations = from_text(EQUATIONS)
    program = to_sial(equations, extents={"o": o, "v": v})
    sizes = {"o": o, "v": v}
    segments = {s: [n // parts + (k < n % parts) for k in range(parts)] for s, n in sizes.items() for parts in [-(-n // args.segment)]}
    arrays = random_tensors(equations, sizes, np.random.default_rng(1))
    print(f"CCSD over spin orbitals, {o} occupied and {v} virtual, one evaluation on one core")
    best = []
    for _ in range(args.repeat):
        start = time.perf_counter()
        expected = evaluate(equations, arrays, sizes)
        best.append(time.perf_counter() - start)
    print(f"NumPy einsum, optimal order of each term   {min(best):9.2f} s", flush=True)
    with tempfile.TemporaryDirectory(prefix="sialx-bench-") as name:
        folder = pathlib.Path(name)
        (folder / "evaluate.sialx").write_text(program.text)
        options: dict = {
            "arrays": {**{program.arrays[t]: x for t, x in arrays.items() if t in program.arrays}, **program.helpers(segments)},
            "values": program.values(segments),
            "segments": program.segments(segments),
            "save": [n for t, n in program.results.items() if equations.tensor(t).rank],
        }
        seconds = []
        for _ in range(args.repeat):
            done = sialx.Job(folder / "evaluate.sialx", memory="12GB", **options).run(folder, flags=("--run-json", "run.json"))
            seconds.append(sum(line["seconds"] for line in json.loads((folder / "run.json").read_text())["lines"]))
        for tensor, array in program.results.items():
            found = done.arrays[array][...] if equations.tensor(tensor).rank else done.scalars[array]
            scale = max(1.0, float(np.abs(expected[tensor]).max()))
            if float(np.abs(found - expected[tensor]).max()) > 1e-10 * scale:
                raise SystemExit(f"`{tensor}` differs")
    print(f"generated program                          {min(seconds):9.2f} s   {min(best) / min(seconds):.1f} times as fast")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="hand,vvvv,numpy")
    parser.add_argument("--basis", default="6-31g,6-31g*")
    parser.add_argument("--orbitals", default="20,60")
    parser.add_argument("--segment", type=int, default=18)
    parser.add_argument("--repeat", type=int, default=2)
    args = parser.parse_args()
    args.bin = args.bin.resolve()
    os.environ.update(ENV, SIALRUN=str(args.bin / "sialrun"))
    if "hand" in args.only:
        beside_hand(args)
    if "vvvv" in args.only:
        stored_or_computed(args)
    if "numpy" in args.only:
        beside_numpy(args)


if __name__ == "__main__":
    main()
