#!/usr/bin/env python3
"""Unrestricted Hartree-Fock energies of atoms with n_beta = Z // 2, n_alpha = Z - n_beta, for a4_scf_atom. Needs PySCF (2.14 was used).

    python3 make_atoms.py > atoms.json

The occupation of equivalent functions is fixed in the guess (the first ones first), as a4_scf_atom does.
"""
import json
import pathlib

import numpy as np
from pyscf import gto, scf
from pyscf.gto.basis import parse_gaussian

BASIS = pathlib.Path(__file__).resolve().parents[5] / "runtime" / "chemistry" / "basis" / "sets"


def energy(symbol, basis):
    z = gto.charge(symbol)
    beta, alpha = z // 2, z - z // 2
    atom = gto.M(atom=f"{symbol} 0 0 0", basis={symbol: parse_gaussian.load(str(BASIS / f"{basis}.g94"), symbol)}, spin=alpha - beta, verbose=0)
    mf = scf.UHF(atom)
    mf.conv_tol, mf.conv_tol_grad, mf.max_cycle = 1e-12, 1e-8, 200
    h, s = mf.get_hcore(), mf.get_ovlp()
    position = {"x": 0, "y": 1, "z": 2}
    for i, label in enumerate(atom.ao_labels(fmt=None)):
        h[i, i] += 1e-3 * position.get(label[3], 0)
    _, c = mf.eig(np.array([h, h]), s)
    e = mf.kernel(dm0=np.array([c[0][:, :alpha] @ c[0][:, :alpha].T, c[1][:, :beta] @ c[1][:, :beta].T]))
    assert mf.converged, (symbol, basis)
    return e


print(json.dumps({basis: {a: energy(a, basis) for a in ("H", "He", "Li", "B", "C", "N", "O", "F", "P")} for basis in ("sto-3g", "6-31g", "cc-pvdz")
                  }, indent=1))
