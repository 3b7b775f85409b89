#!/usr/bin/env python3
"""Equations summed over spin are worth what those over spin orbitals are, for random tensors of a closed shell.  spin_sums.py [unittest arguments]"""
import itertools
import unittest
import warnings

import numpy as np

from equation_oracle import ROOT, evaluate, without_places

# isort: split
from sialx.equations import closed_shell, from_text, method, simplify, to_text

EXAMPLE = ROOT / "examples" / "19_equations"
O, V = 2, 2  # orbitals
SIGNS = {p: round(np.linalg.det(np.eye(3)[list(p)])) for p in itertools.permutations(range(3))}


def orbitals(space):
    """(orbital, spin) of each spin orbital: alpha first."""
    return [(p, spin) for spin in (0, 1) for p in range({"o": O, "v": V}[space])]


def general():
    return orbitals("o") + [(O + p, spin) for p, spin in orbitals("v")]


def filled(element, *spaces):
    out = np.zeros([len(s) for s in spaces])
    for place in itertools.product(*(range(len(s)) for s in spaces)):
        chosen = [s[x] for s, x in zip(spaces, place)]
        out[place] = element([p for p, _ in chosen], [s for _, s in chosen])
    return out


def antisymmetrised(x):
    """The spin-orbital tensor of an operator x[p,q,r,s] E_pr E_qs / 2, or of its like with three pairs: the sum over the ways of pairing spins, with signs."""
    n = x.ndim // 2
    ways = {(0,): 1} if n == 1 else {(0, 1): 1, (1, 0): -1} if n == 2 else SIGNS

    def element(p, s):
        return sum(sign * x[tuple(p[:n]) + tuple(p[n + k] for k in way)] for way, sign in ways.items() if all(s[m] == s[n + k] for m, k in enumerate(way)))

    return element


class SpinSums(unittest.TestCase):
    def compare(self, equations, seed):
        rng = np.random.default_rng(seed)
        n = O + V
        f = rng.normal(size=(n, n))
        u = rng.normal(size=(n,) * 4)
        for turn in ((2, 1, 0, 3), (0, 3, 2, 1), (1, 0, 3, 2)):
            u = u + u.transpose(turn)
        t1, t2, t3 = rng.normal(size=(V, O)), rng.normal(size=(V, V, O, O)), rng.normal(size=(V, V, V, O, O, O))
        t2 = t2 + t2.transpose(1, 0, 3, 2)
        t3 = sum(t3.transpose(p + tuple(3 + k for k in p)) for p in SIGNS)
        general_, o, v = general(), orbitals("o"), orbitals("v")
        spin = {"f": filled(antisymmetrised(f), general_, general_), "u": filled(antisymmetrised(u), *[general_] * 4)}
        spin.update(t1=filled(antisymmetrised(t1), v, o), t2=filled(antisymmetrised(t2), v, v, o, o), t3=filled(antisymmetrised(t3), v, v, v, o, o, o))
        spatial = {"f": f, "u": u, "t1": t1, "t2": t2, "t3": t3 - t3.transpose(0, 1, 2, 4, 3, 5)}
        closed = closed_shell(equations)
        expected = evaluate(equations, spin, {"o": 2 * O, "v": 2 * V})
        found = evaluate(closed, spatial, {"o": O, "v": V})
        a, b = slice(0, V), slice(V, None)
        i, j = slice(0, O), slice(O, None)
        for name, x in expected.items():
            part = {0: x, 2: x[a, i] if x.ndim == 2 else 0, 4: x[a, b, i, j] if x.ndim == 4 else 0, 6: x[a, a, b, i, i, j] if x.ndim == 6 else 0}[x.ndim]
            np.testing.assert_allclose(found[name], part, rtol=0, atol=1e-11 * max(1, np.abs(part).max()), err_msg=name)
        return closed

    def test_coupled_cluster(self):
        for name in ("ccsd", "ccsdt"):
            closed = self.compare(from_text(EXAMPLE / f"{name}.txt"), 3)
            self.assertEqual(closed, simplify(closed))

    def test_cheaper_methods(self):
        for name in ("mp3", "cc2"):
            self.compare(from_text(EXAMPLE / f"{name}.txt"), 4)

    def test_integrals_alone(self):
        """Sums over pairs, exchanges, and more than one result."""
        head = (EXAMPLE / "ccsd.txt").read_text().split("energy =")[0]
        for n, lines in enumerate((
            "energy = 1/4 u[i,j,a,b] t2[a,b,i,j] t2[c,d,k,l] u[k,l,c,d]",
            "r1[a,i] = u[j,a,b,i] t1[b,j] + u[j,a,j,i]",
            "r2[a,b,i,j] = P(a b) P(i j) u[k,b,c,j] t2[a,c,i,k]\nr1[a,i] = r2[a,b,i,j] f[j,b]",
        )):
            self.compare(from_text(head + "disconnected *\n" + lines), n)

    def test_refused(self):
        head = (EXAMPLE / "ccsd.txt").read_text().split("energy =")[0]
        for pattern, lines in (
            ("`x` has 3 indices", "input x[v,o,o]\ninput y[o]\nr1[a,i] = x[a,i,j] y[j]"),
            ("`x` is not antisymmetric in its first 2", "input x[v,v,o,o] antisymmetric (1,2)\nr2[a,b,i,j] = x[a,b,i,j]"),
        ):
            with self.assertRaisesRegex(ValueError, pattern):
                closed_shell(from_text(head + lines))

    def test_over_orbitals(self):
        """Equations over orbitals are the same method as those that they are the sums of; also where one takes the amplitudes of the other."""
        body = lambda program: without_places(program.sial)
        spatial = {name: to_text(closed_shell(from_text(EXAMPLE / f"{name}.txt"))) for name in ("ccsd", "ccsd_t")}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(body(method(spatial["ccsd"], spin="orbitals")), body(method(EXAMPLE / "ccsd.txt")))
            ccsd = {"closed-shell": method(EXAMPLE / "ccsd.txt"), "orbitals": method(spatial["ccsd"], spin="orbitals")}
            triples = {"closed-shell": str(EXAMPLE / "ccsd_t.txt"), "orbitals": spatial["ccsd_t"]}
            texts = {tuple(body(method(triples[second], spin=second, after=ccsd[first]))) for first in ccsd for second in ccsd}
        self.assertEqual(len(texts), 1)

    def test_symmetries_over_orbitals(self):
        """Tensors are declared as they are over orbitals: not as over spin orbitals, and not as (pq|rs)."""
        spatial = to_text(closed_shell(from_text(EXAMPLE / "ccsd.txt")))
        chemists = "`u` is declared symmetric (1,2) (3,4) (1 3, 2 4): over orbitals, the integrals <pq|rs> are `symmetric (1 3, 2 4) (1,3) (2,4)`"
        for message, old, new in (
            ("`u` is declared antisymmetric (1,2) (3,4): over orbitals, the integrals <pq|rs> are", "", ""),
            (chemists, "symmetric (1 3, 2 4) (1,3) (2,4)", "symmetric (1,2) (3,4) (1 3, 2 4)"),
            ("`u` has no symmetry: over orbitals", " symmetric (1 3, 2 4) (1,3) (2,4)", ""),
            ("`f` is declared antisymmetric (1,2): over orbitals, the Fock matrix is `symmetric (1,2)`", "input f[g,g]", "input f[g,g] antisymmetric (1,2)"),
            ("`t2` is declared antisymmetric (1,2) (3,4): over orbitals, amplitudes with 4 indices are `symmetric (1 3, 2 4)`; tensors of spin orbitals take",
             "t2[v,v,o,o] symmetric (1 3, 2 4)", "t2[v,v,o,o] antisymmetric (1,2) (3,4)"),
            ("no term has the integrals <pq|rs>, with four indices", "input u[g,g,g,g] symmetric (1 3, 2 4) (1,3) (2,4)", "amplitude u[g,g,g,g]"),
        ):  # fmt: skip
            with self.subTest(message=message), warnings.catch_warnings(), self.assertRaises(ValueError) as caught:
                warnings.simplefilter("ignore")
                self.assertIn(old, spatial)
                method(spatial.replace(old, new, 1) if old else EXAMPLE / "ccsd.txt", spin="orbitals")
            self.assertIn(message, str(caught.exception))
        with self.assertRaisesRegex(ValueError, '`u` is not antisymmetric .* `antisymmetric .1,2. .3,4.`; tensors over orbitals take spin="orbitals"'):
            method(spatial)
        # Amplitudes of a method before this one are the same tensors: triples of two kinds are not.
        head, triples = (EXAMPLE / "ccsdt.txt").read_text().split("energy =")[0], "t3[v,v,v,o,o,o] symmetric (1 4, 2 5, 3 6)"
        after = to_text(closed_shell(from_text(head + "energy = f[i,a] t1[a,i] + 1/4 u[i,j,a,b] t2[a,b,i,j]"))).replace("amplitude", "input")
        more = f"input {triples}\ndisconnected energy\n\nenergy = u[i,j,a,b] f[k,c] t3[a,b,c,i,j,k] + "
        with self.assertRaisesRegex(ValueError, r"`t3` is another tensor here than .* has `t3.v,v,v,o,o,o. antisymmetric \(1,2\) \(4,5\)` over orbitals; here it is"):
            method(after.replace("\n\nenergy = ", "\n" + more), spin="orbitals", after=method(EXAMPLE / "ccsdt.txt"))


if __name__ == "__main__":
    unittest.main()
