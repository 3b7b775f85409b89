#!/usr/bin/env python3
"""Makes integrals.json: integrals over Gaussian functions from libcint (PySCF 2.x), for integral_data_test.cpp.

    pip install pyscf && python3 make_integrals.py

Two molecules: one with a shell each of s, p, d and f functions on three centres, spherical and Cartesian; and OH in cc-pVDZ with
its general contractions kept. One-electron matrices are complete. Of the repulsion integrals each unique quartet of shells (ab|cd)
has two numbers: the sum of squares, and the sum of element k (fastest index first) times cos(k). Functions are ordered and
normalised as runtime/chemistry/super/CONVENTIONS.md says: PySCF's m = -l .. +l is turned round for l >= 2, Cartesian functions get unit norm.
"""
import json
import pathlib

import numpy as np
from pyscf import gto

HERE = pathlib.Path(__file__).resolve().parent


def shell(atom, l, exponents, contractions):
    """A shell of ours: coefficients of unit-normalised primitives, every contraction normalised."""
    e = np.array(exponents, dtype=float)
    c = np.array(contractions, dtype=float)
    overlap = (2 * np.sqrt(np.outer(e, e)) / np.add.outer(e, e)) ** (l + 1.5)
    c = c / np.sqrt(np.einsum("kp,pq,kq->k", c, overlap, c))[:, None]
    return {"atom": atom, "l": l, "exponents": e.tolist(), "coefficients": c.tolist()}


def pyscf_molecule(atoms, shells, cartesian, ecp=None):
    basis: dict[str, list] = {f"{a['symbol']}{i}": [] for i, a in enumerate(atoms)}
    for s in shells:
        rows = [[e, *[c[p] for c in s["coefficients"]]] for p, e in enumerate(s["exponents"])]
        basis[f"{atoms[s['atom']]['symbol']}{s['atom']}"].append([s["l"], *rows])
    geometry = [(f"{a['symbol']}{i}", a["position"]) for i, a in enumerate(atoms)]
    electrons = sum(gto.charge(a["symbol"]) for a in atoms)
    return gto.M(atom=geometry, basis=basis, ecp=ecp or {}, unit="Bohr", cart=cartesian, spin=electrons % 2, verbose=0)


def order(shells, cartesian):
    """Ours from PySCF's: PySCF sorts each atom's shells by l, so do we in this file."""
    positions, at = [], 0
    for s in shells:
        for _ in s["coefficients"]:
            n = (s["l"] + 1) * (s["l"] + 2) // 2 if cartesian else 2 * s["l"] + 1
            positions += list(range(at, at + n)) if cartesian or s["l"] < 2 else list(range(at + n - 1, at - 1, -1))
            at += n
    return np.array(positions)


def sizes(shells, cartesian):
    return [len(s["coefficients"]) * ((s["l"] + 1) * (s["l"] + 2) // 2 if cartesian else 2 * s["l"] + 1) for s in shells]


def matrices(mol, shells, cartesian, names):
    positions = order(shells, cartesian)
    norm = 1 / np.sqrt(np.diag(mol.intor("int1e_ovlp")))
    def ours(m):
        return (m * np.outer(norm, norm))[np.ix_(positions, positions)]
    out = {}
    for name in names:
        if name == "h1":
            m = mol.intor("int1e_kin") + mol.intor("int1e_nuc")
        elif name in "xyz":
            m = mol.intor("int1e_r")["xyz".index(name)]
        else:
            m = mol.intor({"overlap": "int1e_ovlp", "ecp": "ECPscalar"}[name])
        out[name] = ours(m).ravel().tolist()
    return out


def repulsion(mol, shells, cartesian):
    positions = order(shells, cartesian)
    norm = 1 / np.sqrt(np.diag(mol.intor("int1e_ovlp")))
    eri = np.einsum("abcd,a,b,c,d->abcd", mol.intor("int2e"), norm, norm, norm, norm)[np.ix_(*[positions] * 4)]
    ends = np.cumsum(sizes(shells, cartesian))
    parts = [slice(e - s, e) for e, s in zip(ends, sizes(shells, cartesian))]
    quartets = []
    n = len(parts)
    for i in range(n):
        for j in range(i + 1):
            for k in range(i + 1):
                for l in range((j if k == i else k) + 1):
                    block = eri[parts[i], parts[j], parts[k], parts[l]].ravel(order="F")
                    quartets.append([i, j, k, l, float(block @ block), float(block @ np.cos(np.arange(block.size)))])
    return quartets


def case(atoms, shells, cartesian):
    mol = pyscf_molecule(atoms, shells, cartesian)
    return {"atoms": [{"charge": gto.charge(a["symbol"]), "position": a["position"]} for a in atoms], "shells": shells, "spherical": not cartesian,
            **matrices(mol, shells, cartesian, ["overlap", "h1", "x", "y", "z"]), "repulsion": repulsion(mol, shells, cartesian)}


def read_contractions(path, element, atom):
    """The element's shells with equal exponents joined into one general contraction; single primitives of that set join too."""
    shells: list[dict] = []
    lines = iter(path.read_text().splitlines())
    for line in lines:
        if line.split()[:1] == [element]:
            break
    for line in lines:
        if line.startswith("****"):
            break
        letter, count, _ = line.split()
        rows = [[float(x.replace("D", "e")) for x in next(lines).split()] for _ in range(int(count))]
        l, table = "SPDF".index(letter), {e: c for e, c in rows}
        for s in shells:
            if s["l"] == l and set(table) <= set(s["exponents"]):
                s["contractions"].append([table.get(e, 0.0) for e in s["exponents"]])
                break
        else:
            shells.append({"l": l, "exponents": list(table), "contractions": [list(table.values())]})
    return [shell(atom, s["l"], s["exponents"], s["contractions"]) for s in shells]


def spdf():
    atoms = [{"symbol": "C", "position": [0.1, -0.2, 0.3]}, {"symbol": "N", "position": [1.9, 0.4, -0.5]}, {"symbol": "O", "position": [-0.6, 1.3, 1.1]}]
    shells = [shell(0, 0, [13.5, 2.1, 0.45], [[0.2, 0.6, 0.4]]), shell(0, 3, [0.9], [[1.0]]), shell(1, 1, [3.2, 0.7], [[0.4, 0.7]]),
              shell(2, 2, [1.7, 0.5], [[0.3, 0.8]])]
    return atoms, shells


def main():
    atoms = [{"symbol": "O", "position": [0.0, 0.0, 0.1]}, {"symbol": "H", "position": [0.3, -0.2, 1.9]}]
    basis = HERE.parents[4] / "runtime/chemistry/basis/sets/cc-pvdz.g94"
    mixed, shells = spdf()
    cases = {"spdf_spherical": case(mixed, shells, False), "spdf_cartesian": case(mixed, shells, True),
             "general": case(atoms, read_contractions(basis, "O", 0) + read_contractions(basis, "H", 1), False)}
    (HERE / "integrals.json").write_text(json.dumps(cases, separators=(",", ":")).replace("],[", "],\n[") + "\n")


if __name__ == "__main__":
    main()
