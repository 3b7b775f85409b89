#!/usr/bin/env python3
"""Energies, excitation energies and dipole moments of whole chains of programs against values of another code (values.json).

    references.py --bin DIR [--systems "water/sto-3g,neon/cc-pvdz"|all] [--methods "scf,mp2,ccsd"] [--layouts "1 2 3 2x1"]
                  [--segments N] [--seed S] [--times]

One job per system, layout and segmentation: all the methods that values.json has numbers for and that the examples hold. A layout is a
number of ranks, or NxK: N ranks on pretended nodes of K. --segments N adds N random segmentations (on the first layout; the seed is
printed) to the automatic one, one with a single segment per kind and, where that is not too slow, one with an orbital per segment.
Layouts and segmentations must agree among themselves more closely than with the reference: to 1e-9.
"""
import argparse
import json
import os
import pathlib
import random
import sys
import tempfile
import time
from typing import Any, cast

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ENV, EXAMPLES, ROOT

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "runtime" / "python"))
import sialx  # noqa: E402
from sialx.job import JobError  # noqa: E402

os.environ.update(ENV)

# method: programs it adds to the chain, in order; numbers: (key in values.json, where to find it, tolerance)
PROGRAMS = {
    "scf": ["04_rhf/rhf.sialx"],
    "mp2": ["05_mp2/mp2.sialx"],
    "ccsd": ["09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx"],
    "t": ["11_ccsd_t/ccsd_t.sialx"],
    "hbar": ["12_lambda/hbar.sialx"],
    "dipole": ["12_lambda/lambda.sialx", "12_lambda/dipole.sialx"],
    "cis": ["08_cis/cis.sialx"],
    "eom": ["13_eom/eom.sialx"],
    "uhf": ["06_uhf/uhf.sialx"],
    "ump2": ["07_ump2/ump2.sialx"],
}
NEEDS = {"mp2": ["scf"], "ccsd": ["scf"], "t": ["ccsd"], "hbar": ["ccsd"], "dipole": ["hbar"], "cis": ["scf"], "eom": ["hbar"], "ump2": ["uhf"]}
ORDER = ["scf", "mp2", "ccsd", "t", "cis", "hbar", "dipole", "eom", "uhf", "ump2"]
KEYS = {"scf": "scf", "mp2": "mp2", "ccsd": "ccsd", "t": "t", "dipole": "ccsd_dipole", "cis": "cis", "eom": "eom", "uhf": "uhf", "ump2": "ump2"}
# The suite of CI, least first.
SMALL = ["water/sto-3g", "hydrogen-fluoride/6-31g", "neon/cc-pvdz", "hydrogen/cc-pvdz", "amidogen/6-31g*"]


def chain(methods):
    wanted = set()

    def add(method):
        for needed in NEEDS.get(method, ()):
            add(needed)
        wanted.add(method)

    for method in methods:
        add(method)
    return [EXAMPLES / p for m in ORDER if m in wanted for p in PROGRAMS[m]]


def measured(method, results):
    saved = results.saved_scalars
    if method in ("scf", "uhf"):
        return {"nuclear": (saved["nuclear_energy"], 1e-10), method: (saved["scf_energy"], 1e-9)} | (
            {"s2": (results.scalars["s_squared"], 1e-7)} if method == "uhf" else {})
    if method in ("mp2", "ump2"):
        return {method: (saved["mp2_energy"], 1e-9)}
    if method == "ccsd":
        return {"ccsd": (saved["ccsd_energy"], 1e-8)}
    if method == "t":
        return {"t": (saved["t_energy"], 1e-8)}
    if method == "dipole":
        return {"ccsd_dipole": ([saved[f"dipole_{x}"] for x in "xyz"], 1e-6)}
    return {method: (list(results.saved_static(f"{method}_energies").ravel()), 1e-6)}


def distance(found, expected):
    """Of numbers, or of the leading ones of a list; a NaN is far from everything."""
    if not isinstance(expected, list):
        found, expected = [found], [expected]
    if len(found) < len(expected):
        return float("inf")
    return max((abs(f - e) if abs(f - e) == abs(f - e) else float("inf")) for f, e in zip(found, expected))


def pieces(n, rng):
    sizes = []
    while n:
        sizes.append(rng.randint(1, min(n, 6)))
        n -= sizes[-1]
    return sizes


def orbital_counts(system):
    """Occupied (frozen ones not counted) and virtual, of alpha and beta, assuming that no function is dropped."""
    charges = {"h": 1, "n": 7, "o": 8, "f": 9, "ne": 10, "c": 6}
    lines = (EXAMPLES / "molecules" / f"{system['molecule']}.xyz").read_text().splitlines()
    electrons = sum(charges[line.split()[0].lower()] for line in lines[2:] if line.strip()) - system.get("charge", 0)
    unpaired = system.get("multiplicity", 1) - 1
    alpha, beta, frozen = (electrons + unpaired) // 2, (electrons - unpaired) // 2, system.get("frozen_core", 0)
    n = system["functions"]
    return alpha - frozen, n - alpha, beta - frozen, n - beta


def segmentations(system, extra, seed):
    o, v, bo, bv = orbital_counts(system)
    open_shell = system.get("multiplicity", 1) != 1
    yield "automatic", {}

    def both(occ, virt, beta_occ, beta_virt, **ao):
        beta = {"beta_occ": beta_occ, "beta_virt": beta_virt} if open_shell else {}
        return {"ao": "auto", **ao, "occ": occ, "virt": virt} | {k: s for k, s in beta.items() if s}

    for k in range(extra):
        rng = random.Random(seed * 1000 + k)
        yield f"random {seed}.{k}", both(pieces(o, rng), pieces(v, rng), pieces(bo, rng), pieces(bv, rng), ao_target=rng.randint(1, 9))
    if extra:
        yield "single", both(*([n] if n else [] for n in (o, v, bo, bv)), ao_target=1000)
        if system["functions"] <= 7:
            yield "one each", both([1] * o, [1] * v, [1] * bo, [1] * bv, ao_target=1)


def run(system, methods, layout, segments, binary, folder):
    molecule = {"xyz": EXAMPLES / "molecules" / f"{system['molecule']}.xyz", "basis": system["basis"], "charge": system.get("charge", 0),
                "multiplicity": system.get("multiplicity", 1), "spherical": not system.get("cartesian", False)}
    if "frozen_core" in system:
        molecule["frozen_core"] = system["frozen_core"]

    class Given:
        """The molecule's table as it stands."""

        @staticmethod
        def write(_):
            return molecule

    roots = max([len(system["values"][k]) for k in ("cis", "eom") if k in system["values"]] or [1])
    values = ({"eom_roots": roots} if {"cis", "eom"} & set(methods) else {}) | ({"eom_subspc": 12 * roots} if "eom" in methods else {})
    job = sialx.Job(chain(methods), molecule=cast(Any, Given), segments=segments, values=values)
    ranks, _, per_node = layout.partition("x")
    flags = ["--ranks-per-node", per_node] if per_node else []
    mpirun = ("mpirun", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1")
    return job.run(folder, ranks=int(ranks), flags=flags, sialrun=binary / "sialrun", mpirun=mpirun)


def check_system(system, options):
    available = [m for m in ORDER if KEYS.get(m) in system["values"] and all(p.exists() for p in chain([m]))]
    methods = [m for m in available if not options.methods or m in options.methods]
    if not methods:
        return [f"{system['name']}: no program of the examples computes {options.methods}"]
    wrong: list[str] = []
    first: dict = {}
    runs: list[tuple[str, str, dict]] = [(layout, "automatic", {}) for layout in options.layouts]
    runs += [(options.layouts[0], name, s) for name, s in segmentations(system, options.segments, options.seed) if s]
    for layout, name, segments in runs:
        where = f"{system['name']} on {layout}, segments {name}"
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="sialx-references-") as folder:
            try:
                results = run(system, methods, layout, segments, BIN, pathlib.Path(folder))
                found: dict = {}
                for method in methods:
                    found |= measured(method, results)
            except (JobError, OSError, KeyError) as e:
                wrong.append(f"{where}: {e}")
                continue
        line = []
        for key, (value, tolerance) in found.items():
            if key not in system["values"]:
                continue
            off = distance(value, system["values"][key])
            line.append(f"{key} {off:.0e}")
            if not off <= tolerance:
                wrong.append(f"{where}: {key} = {value}, reference {system['values'][key]}, tolerance {tolerance:g}")
            # Roots and dipoles are converged no further than their tolerance.
            among = distance(value, first.setdefault(key, value))
            if not among <= max(1e-9, tolerance / 10):
                wrong.append(f"{where}: {key} = {value}, on the first layout {first[key]}")
        print(f"{where}: off by {', '.join(line)}" + (f"; {time.monotonic() - start:.1f} s" if options.times else ""), flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default=",".join(SMALL))
    parser.add_argument("--methods", default="")
    parser.add_argument("--layouts", default="1")
    parser.add_argument("--segments", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", action="store_true")
    options = parser.parse_args()
    options.layouts = options.layouts.split()
    options.methods = [m for m in options.methods.split(",") if m]
    systems = {s["name"]: s for s in json.loads((HERE / "values.json").read_text())["systems"]}
    names = list(systems) if options.systems == "all" else options.systems.split(",")
    for what, known, given in (("system", systems, names), ("method", PROGRAMS, options.methods)):
        for name in given:
            if name not in known:
                sys.exit(f"no {what} `{name}`; there are: {', '.join(known)}")
    wrong = [w for name in names for w in check_system(systems[name], options)]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
