#!/usr/bin/env python3
"""Makes ecp.json and hcl.g94: integrals over effective core potentials from PySCF 2.x, for ecp_test.cpp and the ECP job of tests/examples.

    pip install pyscf && python3 make_ecp.py

ecp.json: iodine with the 28-electron potential of def2-SVP (projectors up to f), chlorine with LANL2DZ's (powers r^-2, r^-1, r^0) and
hydrogen, off one line, with made-up functions of l = 0 to 3: the complete matrix, spherical and Cartesian. Potentials are lists of
[l, n, exponent, coefficient] for coefficient r^(n-2) exp(-exponent r^2), l = -1 for the local part. hcl.g94: LANL2DZ of H and Cl with
the potential, in Gaussian 94 format. Its energies stand in tests/examples/ecp/expected.json.
"""
import json

import numpy as np
from pyscf import gto, mp, scf

from make_integrals import HERE, matrices, pyscf_molecule, shell


def terms(potential):
    return [[l, n, e, c] for l, powers in potential[1] for n, rows in enumerate(powers) for e, c in rows]


def case(cartesian):
    atoms = [{"symbol": "I", "position": [0.1, -0.2, 0.3]}, {"symbol": "Cl", "position": [1.2, 3.9, -0.5]}, {"symbol": "H", "position": [-0.6, 0.7, 2.9]}]
    shells = [shell(0, 0, [4.1, 0.35], [[-0.4, 1.0]]), shell(0, 1, [1.7, 0.3], [[0.5, 0.6]]), shell(0, 2, [0.8], [[1.0]]), shell(0, 3, [0.6], [[1.0]]),
              shell(1, 0, [2.2, 0.5], [[0.3, 0.8]]), shell(1, 1, [0.6], [[1.0]]), shell(1, 2, [0.7], [[1.0]]),
              shell(2, 0, [13.0, 2.0, 0.4], [[0.05, 0.3, 0.7]]), shell(2, 1, [0.8], [[1.0]])]
    ecps = {"I0": gto.basis.load_ecp("def2-svp", "I"), "Cl1": gto.basis.load_ecp("lanl2dz", "Cl")}
    mol = pyscf_molecule(atoms, shells, cartesian, ecps)
    data = [{"atom": atom, "electrons": ecps[label][0], "terms": terms(ecps[label])} for atom, label in enumerate(ecps)]
    return {"atoms": [{"charge": gto.charge(a["symbol"]) - (ecps[f"{a['symbol']}{i}"][0] if i < 2 else 0), "position": a["position"]} for i, a in enumerate(atoms)],
            "shells": shells, "spherical": not cartesian, "potentials": data, **matrices(mol, shells, cartesian, ["ecp"])}


def g94(path):
    text = "! LANL2DZ of H and Cl: P. J. Hay and W. R. Wadt, J. Chem. Phys. 82, 284 (1985); the data are PySCF's.\n"
    for symbol in ("H", "Cl"):
        text += f"{symbol} 0\n"
        for l, *rows in gto.basis.load("lanl2dz", symbol):
            for k in range(1, len(rows[0])):
                used = [r for r in rows if r[k] != 0.0]
                text += f"{'SPDF'[l]} {len(used)} 1.00\n" + "".join(f"  {r[0]!r} {r[k]!r}\n" for r in used)
        text += "****\n"
    electrons, potential = gto.basis.load_ecp("lanl2dz", "Cl")
    letters = "spdf"
    top = max(l for l, _ in potential) + 1
    text += f"\nCL 0\nCL-ECP {top} {electrons}\n"
    for l, powers in potential:
        rows = [(n, e, c) for n, p in enumerate(powers) for e, c in p]
        text += (f"{letters[top]} potential" if l < 0 else f"{letters[l]}-{letters[top]} potential") + f"\n {len(rows)}\n"
        text += "".join(f"{n} {e!r} {c!r}\n" for n, e, c in rows)
    path.write_text(text)


def energies():
    mol = gto.M(atom="H 0 0 0; Cl 0 0 1.2746", basis="lanl2dz", ecp={"Cl": "lanl2dz"}, verbose=0)
    mf = scf.RHF(mol)
    mf.conv_tol = 1e-13
    mf.kernel()
    print("nuclear_energy", mol.energy_nuc(), "scf_energy", repr(mf.e_tot), "dipole_z", repr(mf.dip_moment(unit="AU", verbose=0)[2]), "mp2_energy", repr(mp.MP2(mf).kernel()[0]))


def chlorine():
    """An unrestricted SCF of the atom, 4 alpha and 3 beta electrons; the first of equivalent functions are occupied first."""
    atom = gto.M(atom="Cl 0 0 0", basis="lanl2dz", ecp="lanl2dz", spin=1, verbose=0)
    alpha, beta = atom.nelec
    mf = scf.UHF(atom)
    mf.conv_tol, mf.conv_tol_grad, mf.max_cycle = 1e-12, 1e-8, 200
    h, s = mf.get_hcore(), mf.get_ovlp()
    for i, label in enumerate(atom.ao_labels(fmt=None)):
        h[i, i] += 1e-3 * {"x": 0, "y": 1, "z": 2}.get(label[3], 0)
    _, c = mf.eig(np.array([h, h]), s)
    e = mf.kernel(dm0=np.array([c[0][:, :alpha] @ c[0][:, :alpha].T, c[1][:, :beta] @ c[1][:, :beta].T]))
    assert mf.converged
    print("energy of the chlorine atom", repr(float(e)))


def main():
    (HERE / "ecp.json").write_text(json.dumps({"spherical": case(False), "cartesian": case(True)}, separators=(",", ":")).replace("],[", "],\n[") + "\n")
    g94(HERE.parents[3] / "examples/ecp/hcl.g94")
    energies()
    chlorine()


if __name__ == "__main__":
    main()
