#!/usr/bin/env python3
"""Equations from wickd and from JSON lines.  generators.py [unittest arguments]

wickd is not needed: what it printed for CCSD is kept, and read through objects with its methods. Where it is installed, it derives the kept equations anew."""
import importlib.util
import json
import pathlib
import re
import tempfile
import unittest
from fractions import Fraction

import numpy as np

from equation_oracle import ROOT, difference, evaluate, random_tensors, same_values
from sialx.equations import EquationError, expand_permutations, from_pdaggerq_ir, from_text, from_wickd, simplify, to_text

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = ROOT / "examples" / "19_equations"


class Rational:
    def __init__(self, text):
        self.value = Fraction(text)

    def numerator(self):
        return self.value.numerator

    def denominator(self):
        return self.value.denominator


class WickdTensor:
    def __init__(self, label, upper, lower):
        self._label, self._upper, self._lower = label, upper, lower

    def label(self):
        return self._label

    def upper(self):
        return self._upper

    def lower(self):
        return self._lower


class WickdProduct:
    def __init__(self, text):
        split = lambda names: [n for n in names.split(",") if n]
        found = re.findall(r"(\w+)\^\{([^}]*)\}_\{([^}]*)\}", text)
        self._tensors = [WickdTensor(label, split(upper), split(lower)) for label, upper, lower in found if upper or lower]

    def tensors(self):
        return self._tensors


class WickdEquation:
    """What wickd prints as `r^{o0}_{v0} += -1/2 H^{..}_{..} T^{..}_{..}`."""

    def __init__(self, text):
        left, right = text.split("+=")
        factor, product = re.fullmatch(r"\s*(-?\s*[\d/]*)\s*(.*)", right).groups()
        factor = factor.replace(" ", "")
        self._left, self._right = WickdProduct(left), WickdProduct(product)
        self._factor = Rational(factor + "1" if factor in ("", "-") else factor)

    def lhs(self):
        return self._left

    def rhs(self):
        return self._right

    def rhs_factor(self):
        return self._factor


def kept():
    """The equations by block that wickd printed."""
    out: dict[str, list[WickdEquation]] = {}
    block = ""
    for line in (HERE / "wickd_ccsd.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            out[block].append(WickdEquation(line))
        elif not line.startswith("#"):
            block = line
            out[block] = []
    return out


class Wickd(unittest.TestCase):
    def test_ccsd(self):
        self.assertEqual(from_wickd(kept()), from_text(EXAMPLES / "ccsd.txt"))

    def test_as_it_comes(self):
        plain = from_wickd(kept(), simplified=False)
        self.assertEqual([len(e.terms) for e in plain.equations], [3, 14, 31])
        self.assertEqual(str(plain.equations[2].terms[0]), "1/4 P(a b) P(i j) u[a,b,i,j]")
        self.assertLess(same_values(plain, simplify(plain), {"o": 2, "v": 3}, np.random.default_rng(2))[0], 1e-12)
        self.assertEqual(from_text(to_text(plain)), plain)

    def test_real_orbitals(self):
        real, other = from_wickd(kept(), real=True), from_text(EXAMPLES / "ccsd.txt")
        self.assertEqual(real.tensor("u").symmetries[-1], ((2, 3, 0, 1), 1))
        self.assertEqual(from_text(to_text(real)), real)
        sizes = {"o": 3, "v": 2}
        arrays = random_tensors(real, sizes, np.random.default_rng(4))
        self.assertLess(float(np.max(np.abs(arrays["u"] - arrays["u"].transpose(2, 3, 0, 1)))), 1e-12)
        self.assertLess(difference(evaluate(other, arrays, sizes), evaluate(real, arrays, sizes)), 1e-12)
        blocks = lambda e: {"".join(i.space for i in f.indices) for q in e.equations for t in q.terms for f in t.factors if f.tensor.name in "fu"}
        self.assertEqual(blocks(real), {"oo", "ov", "vv", "oooo", "ooov", "oovv", "ovov", "ovvv", "vvvv"})
        self.assertGreater(len(blocks(other)), len(blocks(real)))

    def test_choices(self):
        chosen = from_wickd(kept(), blocks=["o|v"], residual="z", integrals={"H": ("h", "g2")}, letters={"o": "xyz", "v": "ABCD"})
        self.assertEqual([str(e.target) for e in chosen.equations], ["z1[A,x]"])
        self.assertEqual([t.name for t in chosen.tensors], ["h", "g2", "t1", "t2", "z1"])
        other = from_wickd(kept(), blocks=["|", "o|o"], energy="e")
        self.assertEqual([str(e.target) for e in other.equations], ["e", "r_o_o[i,j]"])

    def test_what_it_does_not_take(self):
        with self.assertRaisesRegex(KeyError, r"there is no block `vvv\|o`, there are `\|`, `o\|v`"):
            from_wickd(kept(), blocks=["vvv|o"])
        with self.assertRaisesRegex(ValueError, "no name for the operator H of rank 2"):
            from_wickd(kept(), integrals={"H": ("f",)})
        with self.assertRaisesRegex(TypeError, "not int"):
            from_wickd(3)

    @unittest.skipUnless(importlib.util.find_spec("wickd"), "skipped: wickd is not installed (pip install wickd)")
    def test_derived_anew(self):
        for name in ("ccsd", "ccsdt", "eom_ccsd", "lambda_ccsd"):
            self.assertEqual(derive().derived(name), (EXAMPLES / f"{name}.txt").read_text())

    def test_made_anew(self):
        """What derive.py makes of other files of the folder."""
        self.assertEqual(derive().derived("dcsd"), (EXAMPLES / "dcsd.txt").read_text())


def derive():
    spec = importlib.util.spec_from_file_location("derive", EXAMPLES / "derive.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tensor(factor, intermediate=False):
    out = {"name": factor.tensor.name, "indices": [i.name for i in factor.indices], "classes": [i.space for i in factor.indices]}
    return {**out, "is_intermediate": True} if intermediate else out


def json_lines(equations):
    """Equations as statements: one line for a term, its permutations as that form has them, or written out where it has not."""
    out = []
    for equation in equations.equations:
        assignment = not equation.adds
        for term in equation.terms:
            kind = permutation_of(term)
            for one in [term] if kind else term.expanded():
                perm = kind or {"type": 0, "pairs": []}
                order: object = 0
                for n in range(1, len(one.factors)):
                    order = [order, n]
                out.append(json.dumps({
                    "target": tensor(equation.target, equation.target.tensor.role == "intermediate"), "is_assignment": assignment, "coeff": float(one.coefficient),
                    "perm": perm, "operands": [tensor(f) for f in one.factors], "pairing": order,
                }))  # fmt: skip
                assignment = False
    return out


def permutation_of(term):
    items = [[[i.name for i in item] for item in p.items] for p in term.permutations]
    sizes = [[len(g) for g in p.groups] for p in term.permutations]
    if not items:
        return None
    if all(p.sign < 0 and s == [1, 1] for p, s in zip(term.permutations, sizes)):
        return {"type": 1, "pairs": [[x[0][0], x[1][0]] for x in items]}
    if len(items) == 1 and term.permutations[0].sign > 0 and all(len(i) == 2 for i in items[0]):
        kinds = {(1, 1): 2, (1, 2): 3, (1, 1, 1): 6}
        return {"type": kinds[tuple(sizes[0])], "pairs": items[0]} if tuple(sizes[0]) in kinds else None
    return None


class JsonLines(unittest.TestCase):
    def same(self, equations, sizes, **options):
        """Read from lines they have the values that they have, and simplified the same number of terms."""
        read = from_pdaggerq_ir(json_lines(equations), **options)
        rng = np.random.default_rng(3)
        arrays = random_tensors(equations, sizes, rng)
        self.assertLess(difference(evaluate(equations, arrays, sizes), evaluate(read, arrays, sizes)), 1e-12)
        one, other = expand_permutations(equations), expand_permutations(read)
        self.assertEqual([len(e.terms) for e in one.equations], [len(e.terms) for e in other.equations])
        self.assertEqual(from_text(to_text(read)), read)
        return read

    def test_ccsd(self):
        ccsd = from_text(EXAMPLES / "ccsd.txt")
        read = self.same(ccsd, {"o": 2, "v": 3}, antisymmetric={"u": ((1, 2), (3, 4)), "t2": ((1, 2), (3, 4))})
        self.assertEqual([(t.name, t.role) for t in read.tensors if t.role == "amplitude"], [("t1", "amplitude"), ("t2", "amplitude")])
        self.assertEqual(read.tensor("u").spaces, ("g",) * 4)
        self.assertEqual(read.tensor("t2").symmetries, ccsd.tensor("t2").symmetries)
        self.assertEqual(read.equations[0].place.line, 1)
        self.assertIn('"pairs": [["i", "j"]]', read.source.text)

    def test_joint_permutations_and_intermediates(self):
        equations = from_text("""
            space o = i j k l
            space v = a b c d
            input w[o,o]
            amplitude c2[v,v,o,o]
            amplitude c3[v,v,v,o,o,o]
            intermediate x[o,o]
            disconnected *
            x[i,j] = 1/3 w[i,k] w[k,j]
            x[i,j] += 0.1 w[i,j]
            r[a,b,i,j] = S(ai/bj) c2[a,b,i,k] x[k,j] - S(ai/bj) P(i j) w[i,j] c2[a,b,k,k]
            q[a,b,c,i,j,k] = S(ai/bj/ck) c3[a,b,c,i,j,l] x[l,k] + 2 S(ai/bj ck) c3[a,b,c,i,j,l] w[l,k] - P(i j) P(a b) c3[a,b,c,i,j,k]
        """)
        read = self.same(equations, {"o": 2, "v": 2}, amplitudes=("c2", "c3"))
        self.assertEqual(read.tensor("x").role, "intermediate")
        self.assertEqual(read.tensor("r").role, "result")
        self.assertEqual(read.disconnected, ("r",))

    def test_names_of_indices(self):
        """Letters of two classes, and names that are no letters with a number, get names of their own."""
        x = {"name": "x", "indices": ["p", "p1", "occ_1"], "classes": ["oa", "va", "oa"]}
        y = {"name": "y", "indices": ["occ_1", "p", "p1"], "classes": ["oa", "oa", "va"]}
        read = from_pdaggerq_ir([json.dumps({"target": {"name": "r"}, "operands": [x, y]})])
        term = read.equations[0].terms[0]
        self.assertEqual([i.space for i in term.factors[0].indices], ["oa", "va", "oa"])
        self.assertEqual(len(set(term.indices)), 3)
        self.assertEqual(term.coefficient, 1)
        self.assertEqual(from_text(to_text(read)), read)

    def test_mistakes(self):
        good = {"target": {"name": "r", "indices": ["i", "j"], "classes": ["o", "o"]}, "operands": [{"name": "w", "indices": ["i", "j"], "classes": ["o", "o"]}]}
        part = lambda **more: json.dumps({**good, **more})
        w = lambda indices, classes: [{"name": "w", "indices": indices, "classes": classes}]
        for line, code, column, message in (
            ('  {"target": }', "E-FORM", 14, "the line is no JSON: Expecting value"),
            ("[1]", "E-FORM", 1, "the line is no JSON object"),
            ("{}", "E-FORM", 1, "the line has no `target`"),
            (part(target={"indices": []}), "E-FORM", 1, "the target has no `name`"),
            (part(target={"name": "2x"}), "E-FORM", 1, 'the name "2x" of the target'),
            (part(coeff=0.1234567891), "E-COEFFICIENT", 1, "the coefficient 0.1234567891 is no fraction"),
            (part(coeff="1/0"), "E-COEFFICIENT", 1, 'the coefficient "1/0" is no fraction'),
            (part(coeff=True), "E-COEFFICIENT", 1, "the coefficient true is no fraction"),
            (part(operands=w(["i"], ["o", "o"])), "E-FORM", 1, "`w` has 1 indices and 2 classes"),
            (part(operands=w([1, 2], ["o", "o"])), "E-FORM", 1, "`w` has 2 indices and 2 classes"),
            (part(operands=3), "E-FORM", 1, "operands are no JSON array"),
            (part(perm={"type": 7, "pairs": [["i", "j"]]}), "E-FORM", 1, "the type 7 of `perm` is not known"),
            (part(perm={"type": 2, "pairs": [["i", "j"]]}), "E-FORM", 1, "`perm` of type 2 has 1 pairs"),
            (part(perm={"type": 1, "pairs": ["ij"]}), "E-FORM", 1, "the pairs of `perm` are no pairs"),
            (part(perm={"type": 1}), "E-FORM", 1, "`perm` has no `pairs`"),
            (part(perm={"type": 1, "pairs": [["i", "k"]]}), "E-INDEX", 1, "the letter `k`"),
            (part(operands=w(["i", "k"], ["o", "o"])), "E-EXTERNAL", 1, "the external indices of the term are i, k"),
            (part(operands=[*w(["i", "j"], ["o", "o"]), *w(["k"], ["o"])]), "E-RANK", 1, "`w` occurs with different numbers"),
        ):  # fmt: skip
            with self.subTest(line=line), self.assertRaises(EquationError) as caught:
                from_pdaggerq_ir(["", line])
            (d,) = caught.exception.diagnostics
            self.assertEqual((d.code, d.line, d.column), (code, 2, column), caught.exception)
            self.assertIn(message, d.message)
        with self.assertRaises(EquationError) as caught:
            from_pdaggerq_ir(["{}", json.dumps(good), "[]", part(coeff="x")])
        self.assertEqual([d.line for d in caught.exception.diagnostics], [1, 3, 4])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "r.jsonl"
            path.write_text("\n".join(json_lines(from_text("space o = i j\ninput w[o,o]\nr[i,j] = w[j,i]"))) + "\n", encoding="utf-8")
            self.assertEqual(to_text(from_pdaggerq_ir(path)), to_text(from_pdaggerq_ir(str(path))))
            for name, why in ((path.with_name("none"), "No such file"), (folder, "directory")):
                with self.assertRaises(EquationError) as caught:
                    from_pdaggerq_ir(name)
                self.assertEqual(caught.exception.diagnostics[0].code, "E-FILE")
                self.assertIn(why, str(caught.exception))
            path.write_text("", encoding="utf-8")
            with self.assertRaises(EquationError) as caught:
                from_pdaggerq_ir(path)
            self.assertEqual([d.code for d in caught.exception.diagnostics], ["E-EMPTY"])


if __name__ == "__main__":
    unittest.main()
