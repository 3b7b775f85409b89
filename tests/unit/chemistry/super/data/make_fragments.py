#!/usr/bin/env python3
"""Numbers for molecules of several fragments: hydrogen fluoride, a water cation, helium. Needs PySCF (2.14 was used).

    python3 make_fragments.py > fragments.json

STO-3G, where PySCF's order of functions is ours. Matrices are lists of rows; they are symmetric.
"""
import json
import pathlib

import numpy as np
from pyscf import gto, scf
from pyscf.gto.basis import parse_gaussian

BASIS = str(pathlib.Path(__file__).resolve().parents[5] / "runtime" / "chemistry" / "basis" / "sets" / "sto-3g.g94")
FRAGMENTS = [
    [("F", (0.0, 0.0, 0.0)), ("H", (0.1, -0.2, 1.7))],
    [("O", (5.0, 0.5, -0.3)), ("H", (5.9, 2.0, -0.2)), ("H", (6.1, -0.9, 0.1))],
    [("He", (0.3, 12.0, 1.0))],
]
ELECTRONS = [(5, 5), (5, 4), (1, 1)]


def molecule(atoms, charge=0, spin=0):
    basis = {symbol: parse_gaussian.load(BASIS, symbol) for symbol, _ in atoms}
    return gto.M(atom=atoms, unit="bohr", basis=basis, charge=charge, spin=spin, verbose=0)


def repulsion(first, second):
    return sum(gto.charge(a) * gto.charge(b) / np.linalg.norm(np.subtract(p, q)) for a, p in first for b, q in second)


whole = molecule([a for f in FRAGMENTS for a in f])
kinetic = whole.intor("int1e_kin")


def attraction(fragments):
    matrix = np.zeros_like(kinetic)
    for symbol, position in (a for f in fragments for a in FRAGMENTS[f]):
        with whole.with_rinv_origin(position):
            matrix -= gto.charge(symbol) * whole.intor("int1e_rinv")
    return matrix


def solve(f):
    alpha, beta = ELECTRONS[f]
    charge = sum(gto.charge(symbol) for symbol, _ in FRAGMENTS[f]) - alpha - beta
    mf = scf.UHF(molecule(FRAGMENTS[f], charge, alpha - beta))
    mf.conv_tol, mf.conv_tol_grad = 1e-13, 1e-9
    mf.kernel()
    assert mf.converged
    return {"energies": [e.tolist() for e in mf.mo_energy], "densities": [d.tolist() for d in mf.make_rdm1()]}


print(json.dumps({
    "atoms": [[[symbol, *position] for symbol, position in f] for f in FRAGMENTS],
    "electrons": ELECTRONS,
    "overlap": whole.intor("int1e_ovlp").tolist(),
    "h1_moi": [(kinetic + attraction([f])).tolist() for f in range(3)],
    "attraction": [attraction([f]).tolist() for f in range(3)],
    "within": [0.5 * sum(repulsion([a], [b]) for a in f for b in f if a is not b) for f in FRAGMENTS],
    "between": [[repulsion(f, g) if f is not g else 0.0 for g in FRAGMENTS] for f in FRAGMENTS],
    "distance": [[min(float(np.linalg.norm(np.subtract(p, q))) for _, p in f for _, q in g) for g in FRAGMENTS] for f in FRAGMENTS],
    "scf": [solve(f) for f in range(3)],
}))
