#!/usr/bin/env python3
"""The reference numbers of examples/16_fragments: each water of a dimer by itself, and the electrostatic energy between the two.

    reference_fragments.py [basis]          needs pyscf and numpy; the tests do not run it. Prints expected.json.
"""
import json
import pathlib
import sys

import numpy as np
from pyscf import __version__, gto, scf, tdscf
from pyscf.gto.basis import parse_gaussian

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASIS = sys.argv[1] if len(sys.argv) > 1 else "6-31g"
FRAGMENTS = [(0, 1, 2), (3, 4, 5)]
ROOTS = 3

lines = (ROOT / "examples/molecules/water-dimer.xyz").read_text().strip().split("\n")[2:]
file = str(ROOT / f"runtime/chemistry/basis/sets/{BASIS}.g94")
basis = {e: parse_gaussian.load(file, e) for e in {line.split()[0] for line in lines}}
water = [gto.M(atom="\n".join(lines[a] for a in atoms), basis=basis, verbose=0) for atoms in FRAGMENTS]
dimer = gto.M(atom="\n".join(lines), basis=basis, verbose=0)

values, densities = {}, []


def solved(molecule):
    mf = scf.RHF(molecule)
    mf.conv_tol, mf.conv_tol_grad, mf.max_cycle = 1e-12, 1e-9, 200
    mf.kernel()
    assert mf.converged
    return mf


for f, m in enumerate(water, 1):
    mf = solved(m)
    values[f"scf_{f}"] = mf.e_tot
    densities.append(mf.make_rdm1())
    a = tdscf.TDA(mf).get_ab()[0]  # singlets
    size = a.shape[0] * a.shape[1]
    for k, root in enumerate(np.linalg.eigvalsh(a.reshape(size, size))[:ROOTS], 1):
        values[f"cis_{f}_{k}"] = root

values["scf_sum"] = values["scf_1"] + values["scf_2"]
values["nuclei"] = sum(p * q / np.linalg.norm(a - b)
                       for p, a in zip(water[0].atom_charges(), water[0].atom_coords()) for q, b in zip(water[1].atom_charges(), water[1].atom_coords()))
# Functions of the dimer: those of the first water, then those of the second.
n = water[0].nao
own = [slice(0, n), slice(n, None)]
attraction = 0.0
for f in (0, 1):
    for charge, position in zip(water[1 - f].atom_charges(), water[1 - f].atom_coords()):
        with water[f].with_rinv_origin(position):
            attraction -= charge * np.einsum("mn,mn", densities[f], water[f].intor("int1e_rinv"))
values["attraction"] = attraction
repulsion = dimer.intor("int2e")[own[0], own[0], own[1], own[1]]
values["coulomb"] = np.einsum("mn,mnls,ls", densities[0], repulsion, densities[1])
values["electrostatic"] = values["nuclei"] + values["attraction"] + values["coulomb"]
values["total"] = values["scf_sum"] + values["electrostatic"]
print(f"SCF of the dimer: {solved(dimer).e_tot:.12f}", file=sys.stderr)

source = f"PySCF {__version__}, tests/examples/reference_fragments.py"
rows = [f'  "{name}": {{"value": {float(value):.12f}, "tolerance": {1e-7 if name.startswith("cis") else 1e-9:g}, "source": "{source}"}}' for name, value in values.items()]
rows += [f'  "{name}": {{"value": 0.0, "tolerance": 1e-7, "source": "two ways to the same matrices"}}' for name in ("density_difference", "fock_difference")]
text = '{"scalars": {\n' + ",\n".join(rows) + "\n}}"
json.loads(text)
print(text)
