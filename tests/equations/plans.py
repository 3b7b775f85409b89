#!/usr/bin/env python3
"""The statements of a plan are worth what the equations are, and what a plan leaves out follows from what it computes.  plans.py [--seeds N] [unittest arguments]"""
import math
import random
import sys
import unittest
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np

from equation_oracle import ROOT, evaluate, random_tensors, size, value
from simplification import DECLARATIONS, random_equations

# isort: split
from sialx.equations import Equation, Factor, Tensor, Term, closed_shell, from_text, plan
from sialx.equations.combinations import with_combinations
from sialx.equations.statements import summed_pairs

EXAMPLE = ROOT / "examples" / "19_equations"
SIZES = {"o": 3, "v": 2}
SEEDS = 100


def as_equations(planned):
    """The statements as equations in the order in which they run."""
    out, seen = [], set()
    for s in (s for phase in planned.phases for s in phase):
        name = s.target.tensor.name
        out.append(Equation(s.target, name in seen, (Term(s.coefficient, s.factors, s.permutations),)))
        seen.add(name)
    return replace(planned.equations, tensors=planned.tensors, equations=tuple(out))


def helpers(planned, sizes):
    out = {}
    for name, kind in planned.helpers.items():
        n = size(planned.equations, next(t for t in planned.tensors if t.name == name).spaces[0], sizes)
        out[name] = np.eye(n) if kind == "unit" else np.ones(n)
    return out


def products(planned, o, v):
    """How many products of two tensors run over o occupied and v virtual indices."""
    found = [{i for f in s.factors for i in f.indices} for phase in planned.phases for s in phase if len(s.factors) > 1]
    return sum(sum(i.space == "o" for i in f) == o and sum(i.space == "v" for i in f) == v for f in found)


class Plans(unittest.TestCase):
    def check(self, equations, seed, extents=None, most_elements=math.inf):
        planned = plan(equations, extents, most_elements)
        arrays = random_tensors(equations, SIZES, np.random.default_rng(seed))
        expected = evaluate(equations, arrays, SIZES)
        statements = as_equations(planned)
        known = {**arrays, **helpers(planned, SIZES)}
        found = evaluate(statements, known, SIZES)
        for name, array in expected.items():
            np.testing.assert_allclose(found.get(name, 0.0 * array), array, rtol=0, atol=1e-11 * max(1.0, np.abs(array).max(initial=0)), err_msg=name)
        for name, exchanges in planned.exchanges.items():
            generators = [g for e in exchanges for g in e.generators(found[name].ndim)] if name in found else []
            for order, sign in generators:
                scale = max(1.0, np.abs(found[name]).max(initial=0))
                np.testing.assert_allclose(found[name], sign * found[name].transpose(order), rtol=0, atol=1e-11 * scale, err_msg=f"{name} {order}")
        everything = {**known, **found}
        pairs = 0
        for s in (s for phase in planned.phases for s in phase):
            for x, y in summed_pairs(s, planned.exchanges):
                pairs += 1
                wide = Factor(Tensor("wide", (*s.target.tensor.spaces, x.space, y.space)), (*s.target.indices, x, y))
                each = value(statements, Term(Fraction(1), s.factors), wide, everything, SIZES)
                np.testing.assert_allclose(each, each.swapaxes(-1, -2), rtol=0, atol=1e-11 * max(1.0, np.abs(each).max(initial=0)), err_msg=str(s))
        return planned, pairs

    def test_random(self):
        pairs = sum(self.check(random_equations(random.Random(seed)), seed)[1] for seed in range(SEEDS))
        self.assertGreater(pairs, 0)

    def test_coupled_cluster(self):
        for name in ("ccsd", "cc2", "mp3", "eom_ccsd", "lambda_ccsd"):
            with self.subTest(name=name):
                equations = from_text(EXAMPLE / f"{name}.txt")
                self.check(equations, 1)
                self.check(closed_shell(equations), 2, {"o": 21, "v": 81})

    def test_closed_shell_ccsd(self):
        """Rings: two products that make what amplitudes meet, two with amplitudes, and integrals with three virtual indices; the ladder in two parts."""
        equations = closed_shell(from_text(EXAMPLE / "ccsd.txt"))
        planned = plan(equations, {"o": 20, "v": 80})
        self.assertEqual((products(planned, 3, 3), products(planned, 2, 4)), (5, 2))
        self.assertEqual({t.name for t in planned.tensors} & {"t2_vvoo", "u_oovv"}, {"t2_vvoo", "u_oovv"})

    def test_most_elements(self):
        """Intermediates stay below what is allowed, and the plan is worth the same."""
        equations = closed_shell(from_text(EXAMPLE / "ccsd.txt"))
        extents = {"o": 10, "v": 50}
        free = plan(equations, extents)
        self.assertEqual(free.largest, 50.0**4)  # parts of the integrals that the ladder takes
        planned, _ = self.check(equations, 5, extents, 3e5)
        self.assertEqual(planned.largest, 10.0**2 * 50.0**2)
        self.assertGreater(planned.multiplications, free.multiplications)

    def test_combinations(self):
        """They take the place of both forms where terms become fewer, and only there."""
        head = "space o = i j k l\nspace v = a b c d\ninput u[o,o,v,v] symmetric (1 3, 2 4)\namplitude t[v,v,o,o] symmetric (1 3, 2 4)\n"
        for right, combined in (
            ("2 u[i,j,a,b] t[a,b,i,j] - u[i,j,a,b] t[a,b,j,i]", True),
            ("-u[i,j,a,b] t[a,b,i,j] + 1/2 u[i,j,a,b] t[a,b,j,i]", True),
            ("u[i,j,a,b] t[a,b,i,j] - u[i,j,a,b] t[a,b,j,i]", False),
            ("u[i,j,a,b] t[a,b,i,j]", False),
        ):
            equations = from_text(head + f"e = {right}")
            rewritten = with_combinations(equations)
            self.assertEqual(rewritten != equations, combined, right)
            arrays = random_tensors(equations, SIZES, np.random.default_rng(1))
            values = [float(evaluate(e, arrays, SIZES)["e"]) for e in (equations, rewritten)]
            self.assertAlmostEqual(values[0], values[1], delta=1e-11)
            self.check(equations, 2)
        antisymmetric = from_text(DECLARATIONS + "e = 2 u[i,j,a,b] t2[a,b,i,j] - u[j,i,a,b] t2[a,b,i,j]")
        self.assertEqual(with_combinations(antisymmetric), antisymmetric)

    def test_products_under_other_indices(self):
        """A sum that a target has twice, with indices exchanged, is computed once; one that differs in a coefficient is not."""
        head = "space o = i j k l\nspace v = a b c d\ninput x[v,o,o,v]\ninput y[v,o,o,v]\namplitude t[v,o,v,o]\nresult r[v,o,v,o]\nr[a,i,b,j] = "
        both = "x[a,i,k,c] t[c,k,b,j] + 2 y[a,i,k,c] t[c,k,b,j]"
        for right, made in (
            (f"{both} + 3 x[b,i,k,c] t[c,k,a,j] + 6 y[b,i,k,c] t[c,k,a,j]", 1),
            (f"{both} + 3 x[b,i,k,c] t[c,k,a,j] + 5 y[b,i,k,c] t[c,k,a,j]", 2),
            (f"{both} + 3 x[b,i,k,c] t[c,k,a,j] + 6 x[b,j,k,c] t[c,k,a,i]", 3),
        ):
            planned, _ = self.check(from_text(head + right), 3)
            self.assertEqual(sum(len(s.factors) > 1 for phase in planned.phases for s in phase), made, str(planned))

    def test_signs_of_sums_that_come_twice(self):
        """Antisymmetric factors written both ways: what their exchange changes is no other sum."""
        head = "space v = a b c d\ninput x[v,v] antisymmetric (1,2)\ninput y[v,v]\ninput z[v,v]\n"
        self.check(from_text(head + "r[a,b] = x[a,c] y[c,b] - x[a,c] z[c,b] + 3 x[b,c] y[c,a] - 3 x[c,b] z[c,a]"), 1, {"v": 80})

    def test_symmetry_of_what_lacks_it(self):
        """A target has no symmetry for the reason that a tensor declares one which its equation lacks."""
        head = "space v = a b c d\ninput f[v,v]\nintermediate w[v,v] symmetric (1,2)\nresult r[v,v] symmetric (1,2)\n"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            equations = from_text(head + "w[a,b] = f[a,b]\nr[a,b] = w[a,b]")
        self.check(equations, 1)

    def test_halves_of_sums(self):
        """Summed indices that both factors have antisymmetric, or both symmetric."""
        for right, count in (
            ("u[i,j,k,l] t2[a,b,k,l]", 1),
            ("w[a,b,c,d] t2[c,d,i,j]", 1),
            ("u[i,j,k,l] c2[a,b,k,l]", 0),
            ("u[i,k,j,c] t2[a,b,k,l] f[l,c]", 1),  # of the product of u and f, the antisymmetric part
            ("t3[a,b,c,i,j,k] u[k,l,c,d] f[d,l]", 0),
        ):
            self.assertEqual(self.check(from_text(DECLARATIONS + f"r[a,b,i,j] = {right}"), 4)[1], count, right)
        one = "r[a,b,i,j] = u[i,k,j,c] t2[a,b,k,l] f[l,c]"
        self.assertEqual(self.check(from_text(DECLARATIONS + one), 4, {"o": 2, "v": 2})[1], 0)
        self.assertEqual(self.check(from_text(DECLARATIONS + "e = u[i,j,a,b] t2[a,b,i,j]"), 4)[1], 2)
        self.assertEqual(self.check(from_text(DECLARATIONS + "e = y3[i,j,k] y3[i,j,k]"), 4)[1], 1)


if __name__ == "__main__":
    if "--seeds" in sys.argv:
        at = sys.argv.index("--seeds")
        SEEDS = int(sys.argv[at + 1])
        del sys.argv[at : at + 2]
    unittest.main()
