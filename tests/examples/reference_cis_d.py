#!/usr/bin/env python3
"""The reference numbers of examples/08_cis: singlet CIS roots and CIS(D) energies over spin orbitals, with integrals from PySCF.

    reference_cis_d.py            needs pyscf and numpy; the tests do not run it

First the formulas of CIS(D) (M. Head-Gordon, R. J. Rico, M. Oumi, T. J. Lee, Chem. Phys. Lett. 219, 21 (1994)) are checked for H4
against their definition, with creation operators as matrices in Fock space: direct = - sum over doubly excited determinants of
|<D|H|CIS>|^2 / (energy of D - root), indirect = <CIS|H T2|CIS> - E(MP2).
"""
import itertools
import pathlib

import numpy as np
from pyscf import ao2mo, gto, scf
from pyscf.gto.basis import parse_gaussian

ROOT = pathlib.Path(__file__).resolve().parents[2]


def molecule(name, basis):
    atoms = (ROOT / f"examples/molecules/{name}.xyz").read_text().split("\n", 2)[2]
    elements = {line.split()[0] for line in atoms.strip().split("\n")}
    file = str(ROOT / f"runtime/chemistry/basis/sets/{basis}.g94")
    return gto.M(atom=atoms, basis={e: parse_gaussian.load(file, e) for e in elements}, verbose=0)


class SpinOrbitals:
    """RHF of a molecule, CIS roots and vectors, and <pq||rs> over spin orbitals (even numbers: alpha), occupied ones first."""

    def __init__(self, m):
        mf = scf.RHF(m)
        mf.conv_tol, mf.conv_tol_grad = 1e-14, 1e-10
        mf.kernel()
        c, self.o, e = mf.mo_coeff, m.nelectron // 2, mf.mo_energy
        self.n = c.shape[1]
        self.energy, self.h = mf.e_tot - m.energy_nuc(), c.T @ mf.get_hcore() @ c
        g = ao2mo.restore(1, ao2mo.kernel(m, c), self.n)
        occ, virt = slice(0, self.o), slice(self.o, self.n)
        a = 2 * g[occ, virt, occ, virt] - g[occ, occ, virt, virt].transpose(0, 2, 1, 3)
        size = self.o * (self.n - self.o)
        self.roots, self.vectors = np.linalg.eigh(a.reshape(size, size) + np.diag((e[None, virt] - e[occ, None]).ravel()))
        self.spin, self.space = np.arange(2 * self.n) % 2, np.arange(2 * self.n) // 2
        same = self.spin[:, None] == self.spin[None]
        g = g[np.ix_(self.space, self.space, self.space, self.space)] * same[:, :, None, None] * same[None, None]
        self.coulomb = g.transpose(0, 2, 1, 3)
        self.g = self.coulomb - self.coulomb.transpose(0, 1, 3, 2)
        self.e = e[self.space]

    def state(self, root):
        x = self.vectors[:, root].reshape(self.o, self.n - self.o) / np.sqrt(2)
        b = np.zeros((2 * self.o, 2 * (self.n - self.o)))
        b[0::2, 0::2] = b[1::2, 1::2] = x
        return b

    def cis_d(self, root):
        g, b = self.g, self.state(root)
        o, v = slice(0, 2 * self.o), slice(2 * self.o, None)
        gap = self.e[None, None, v, None] + self.e[None, None, None, v] - self.e[o, None, None, None] - self.e[None, o, None, None]
        a = -g[o, o, v, v] / gap
        u = np.einsum("abcj,ic->ijab", g[v, v, v, o], b)
        u = u - u.transpose(1, 0, 2, 3)
        w = np.einsum("kaij,kb->ijab", g[o, v, o, o], b)
        u += w - w.transpose(0, 1, 3, 2)
        direct = -0.25 * np.sum(u * u / (gap - self.roots[root]))
        indirect = 0.5 * (np.einsum("jkbc,ib,jkca,ia", g[o, o, v, v], b, a, b, optimize=True)
                          + np.einsum("jkbc,ja,ikcb,ia", g[o, o, v, v], b, a, b, optimize=True)
                          + 2 * np.einsum("jkbc,jb,ikac,ia", g[o, o, v, v], b, a, b, optimize=True))
        return direct, indirect


def check_definition():
    s = SpinOrbitals(gto.M(atom="H 0 0 0; H 0 0.2 1.0; H 0.9 0.1 2.1; H 0.3 0 3.3", basis="sto-3g", verbose=0))
    n, occupied = 2 * s.n, 2 * s.o

    def annihilator(p):
        matrix = np.eye(1)
        for q in range(n):
            matrix = np.kron(matrix, np.diag([1.0, -1.0]) if q < p else np.array([[0, 1.0], [0, 0]]) if q == p else np.eye(2))
        return matrix

    a = [annihilator(p) for p in range(n)]
    c = [m.T for m in a]
    hamiltonian = sum(s.h[s.space[p], s.space[q]] * c[p] @ a[q] for p in range(n) for q in range(n) if s.spin[p] == s.spin[q])
    for p, q, r, t in itertools.product(range(n), repeat=4):
        if abs(s.coulomb[p, q, r, t]) > 1e-14:
            hamiltonian += 0.5 * s.coulomb[p, q, r, t] * (c[p] @ c[q] @ a[t] @ a[r])
    reference = np.zeros(2**n)
    reference[0] = 1
    for i in reversed(range(occupied)):
        reference = c[i] @ reference
    assert abs(reference @ hamiltonian @ reference - s.energy) < 1e-10
    for root in range(2):
        b = s.state(root)
        cis = sum(b[i, v - occupied] * c[v] @ a[i] @ reference for i in range(occupied) for v in range(occupied, n))
        assert abs(cis @ hamiltonian @ cis - s.energy - s.roots[root]) < 1e-8
        image, direct, mp2, doubles = hamiltonian @ cis, 0.0, 0.0, np.zeros_like(hamiltonian)
        for (i, j), (k, l) in itertools.product(itertools.combinations(range(occupied), 2), itertools.combinations(range(occupied, n), 2)):
            gap = s.e[k] + s.e[l] - s.e[i] - s.e[j]
            excite = c[k] @ c[l] @ a[j] @ a[i]
            direct -= (excite @ reference @ image) ** 2 / (gap - s.roots[root])
            doubles -= s.g[i, j, k, l] / gap * excite
            mp2 -= s.g[i, j, k, l] ** 2 / gap
        indirect = cis @ hamiltonian @ doubles @ cis - mp2
        assert np.allclose([direct, indirect], s.cis_d(root), rtol=0, atol=1e-9), (direct, indirect, s.cis_d(root))


def main():
    check_definition()
    print("formulas agree with their definition")
    for name, basis, roots in (("water", "3-21g", 3), ("hydrogen-fluoride", "6-31g", 2)):
        s = SpinOrbitals(molecule(name, basis))
        for root in range(roots):
            correction = sum(s.cis_d(root))
            print(f"{name} {basis} state {root + 1}: CIS {s.roots[root]:.9f}, CIS(D) {s.roots[root] + correction:.9f}")


if __name__ == "__main__":
    main()
