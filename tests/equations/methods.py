#!/usr/bin/env python3
"""The kept equations of CCSD and CCSDT against ways to compute the residuals that know nothing of them.  methods.py [unittest arguments]"""
import unittest

import numpy as np

import reference_ccsd
from equation_oracle import ROOT, difference, evaluate, random_tensors
from sialx.equations import Term, closed_shell, from_text, simplify

EXAMPLES = ROOT / "examples" / "19_equations"


def amplitudes(arrays, most):
    """t1, t2, ... as they go to the references; smaller than the integrals, so that no term hides the others."""
    for n in range(1, most + 1):
        arrays[f"t{n}"] = 0.4 * arrays[f"t{n}"]
    return [arrays[f"t{n}"] for n in range(1, most + 1)]


class Methods(unittest.TestCase):
    def test_ccsd_as_published(self):
        """Stanton, Gauss, Watts and Bartlett, JCP 94, 4334 (1991), real orbitals."""
        ccsd = from_text(EXAMPLES / "ccsd.txt")
        for seed, sizes in enumerate(({"o": 3, "v": 4}, {"o": 4, "v": 3}, {"o": 1, "v": 2})):
            arrays = random_tensors(ccsd, sizes, np.random.default_rng(seed))
            amplitudes(arrays, 2)
            arrays["f"] = arrays["f"] + arrays["f"].T
            arrays["u"] = arrays["u"] + arrays["u"].transpose(2, 3, 0, 1)
            published = reference_ccsd.stanton(arrays["f"], arrays["u"], arrays["t1"], arrays["t2"])
            self.assertGreater(float(np.max(np.abs(published["r1"]))), 0.1)
            self.assertLess(difference(published, evaluate(ccsd, arrays, sizes)), 1e-12)

    def exact(self, name, most, sizes):
        """exp(-T) H exp(T) over all determinants, orbitals that are not real and not optimal."""
        equations = from_text(EXAMPLES / f"{name}.txt")
        arrays = random_tensors(equations, sizes, np.random.default_rng(most))
        exact = reference_ccsd.fock(arrays["f"], arrays["u"], amplitudes(arrays, most))
        self.assertGreater(min(float(np.max(np.abs(x))) for x in exact.values()), 0.1)
        self.assertLess(difference(exact, evaluate(equations, arrays, sizes)), 1e-12)
        return equations, arrays, exact

    def test_ccsd_is_exact(self):
        equations, arrays, exact = self.exact("ccsd", 2, {"o": 3, "v": 3})
        # Every term counts: without one of them the residual is another.
        for n, equation in enumerate(equations.equations):
            for left_out in range(len(equation.terms)):
                fewer = equation.terms[:left_out] + equation.terms[left_out + 1 :]
                changed = [*equations.equations]
                changed[n] = type(equation)(equation.target, equation.adds, fewer)
                other = type(equations)(equations.spaces, equations.tensors, tuple(changed))
                self.assertGreater(difference(exact, evaluate(other, arrays, {"o": 3, "v": 3})), 1e-6, str(equation.terms[left_out]))

    def test_ccsdt_is_exact(self):
        self.exact("ccsdt", 3, {"o": 3, "v": 3})

    def test_cc2(self):
        equations, sizes = from_text(EXAMPLES / "cc2.txt"), {"o": 3, "v": 3}
        arrays = random_tensors(equations, sizes, np.random.default_rng(5))
        amplitudes(arrays, 2)
        # [F,T2] with singles is not among the equations, which are for orbitals of Hartree-Fock: there f has no occupied-virtual elements.
        arrays["f"][:3, 3:] = arrays["f"][3:, :3] = 0.0
        exact, found = reference_ccsd.cc2(arrays["f"], arrays["u"], arrays["t1"], arrays["t2"]), evaluate(equations, arrays, sizes)
        self.assertGreater(min(float(np.max(np.abs(x))) for x in exact.values()), 0.1)
        self.assertLess(difference(exact, found), 1e-12)

    def compare_products(self, name, reference, *given):
        equations, sizes = from_text(EXAMPLES / f"{name}.txt"), {"o": 3, "v": 3}
        arrays = random_tensors(equations, sizes, np.random.default_rng(7))
        exact = reference(arrays["f"], arrays["u"], *amplitudes(arrays, 2), *(arrays[x] for x in given))
        self.assertGreater(min(float(np.max(np.abs(x))) for x in exact.values()), 0.1)
        self.assertLess(difference(exact, evaluate(equations, arrays, sizes)), 1e-11)

    def test_eom(self):
        self.compare_products("eom_ccsd", reference_ccsd.eom, "c1", "c2")

    def test_left(self):
        self.compare_products("lambda_ccsd", reference_ccsd.left, "l1", "l2")

    def test_mp3(self):
        equations, sizes = from_text(EXAMPLES / "mp3.txt"), {"o": 3, "v": 3}
        arrays = random_tensors(equations, sizes, np.random.default_rng(6))
        arrays["f"] = np.diag([-5.0, -4.0, -3.5, 1.0, 2.0, 2.5])
        arrays["u"] = arrays["u"] + arrays["u"].transpose(2, 3, 0, 1)
        e = np.diag(arrays["f"])
        d = e[None, None, :3, None] + e[None, None, None, :3] - e[3:, None, None, None] - e[None, 3:, None, None]
        arrays["t2"] = arrays["u"][3:, 3:, :3, :3] / d
        exact, found = reference_ccsd.mp3(arrays["f"], arrays["u"], arrays["t2"]), evaluate(equations, arrays, sizes)
        self.assertLess(float(np.max(np.abs(exact["r2"]))), 1e-12)
        self.assertGreater(abs(float(exact["energy"])), 0.1)
        self.assertLess(difference(exact, found), 1e-12)

    def test_over_orbitals(self):
        """CCSD summed over spin, and DCSD, against integrals transformed with t1; the Fock matrix is not diagonal."""
        differences = []
        for equations, distinguishable in ((closed_shell(from_text(EXAMPLES / "ccsd.txt")), False), (from_text(EXAMPLES / "dcsd.txt"), True)):
            for seed, sizes in enumerate(({"o": 3, "v": 4}, {"o": 4, "v": 3}, {"o": 1, "v": 2})):
                arrays = random_tensors(equations, sizes, np.random.default_rng(seed))
                t1, t2 = amplitudes(arrays, 2)
                expected = reference_ccsd.closed_shell(arrays["f"], arrays["u"], t1, t2, distinguishable)
                self.assertGreater(min(float(np.max(np.abs(x))) for x in expected.values()), 0.01)
                self.assertLess(difference(expected, evaluate(equations, arrays, sizes)), 1e-12)
                other = reference_ccsd.closed_shell(arrays["f"], arrays["u"], t1, t2, not distinguishable)
                differences.append(float(np.max(np.abs(expected["r2"] - other["r2"]))))
        self.assertLess(max(differences[2::3]), 1e-12, "of one pair of electrons the methods are the same")
        self.assertGreater(min(differences[0:2] + differences[3:5]), 0.1)

    def test_numbers_of_terms(self):
        """One for each diagram of the methods."""
        counts = {name: [len(e.terms) for e in from_text(EXAMPLES / f"{name}.txt").equations] for name in ("ccsd", "ccsdt")}
        self.assertEqual(counts, {"ccsd": [3, 14, 31], "ccsdt": [3, 15, 37, 47]})

    def test_by_hand(self):
        """CCD as text books write it is what remains of CCSD without t1."""
        lines = (EXAMPLES / "ccsd.txt").read_text(encoding="utf-8").splitlines()
        head = "\n".join(line for line in lines if line.startswith(("space", "input", "amplitude")))
        ccd = from_text(
            head
            + """
            result r2[v,v,o,o] antisymmetric (1,2) (3,4)
            r2[a,b,i,j] = u[a,b,i,j] + P(ab) f[b,e] t2[a,e,i,j] - P(ij) f[m,j] t2[a,b,i,m]
                + 1/2 u[a,b,e,f] t2[e,f,i,j] + 1/2 u[m,n,i,j] t2[a,b,m,n] + P(ij) P(ab) u[m,b,e,j] t2[a,e,i,m]
                + 1/4 u[m,n,e,f] t2[e,f,i,j] t2[a,b,m,n] - 1/2 P(ij) P(ab) u[m,n,e,f] t2[a,e,i,m] t2[f,b,j,n]
                - 1/2 P(ab) u[m,n,e,f] t2[a,e,i,j] t2[b,f,m,n] - 1/2 P(ij) u[m,n,e,f] t2[a,b,i,m] t2[e,f,j,n]
            """.replace("\n            ", "\n")
        )
        ccsd = from_text(EXAMPLES / "ccsd.txt")
        without = [t for t in ccsd.equations[2].terms if all(f.tensor.name != "t1" for f in t.factors)]
        self.assertEqual([Term(t.coefficient, t.factors, t.permutations) for t in simplify(ccd).equations[0].terms], without)


if __name__ == "__main__":
    unittest.main()
