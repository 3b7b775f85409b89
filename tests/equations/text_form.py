#!/usr/bin/env python3
"""The text form of equations: what is read, that it is written back, and every message with its place.  text_form.py [unittest arguments]"""
import pathlib
import pickle
import random
import sys
import tempfile
import unittest
import warnings
from fractions import Fraction

from equation_oracle import ROOT
from sialx.equations import EquationError, EquationWarning, Place, from_text, method, to_text
from sialx.equations.diagnostics import CODES

DECLARATIONS = """space o = i j k l m n
space v = a b c d e f
space g = o + v : p q r s
input f[g,g] symmetric (1,2)
input u[g,g,g,g] antisymmetric (1,2) (3,4)
input h
amplitude t1[v,o]
amplitude t2[v,v,o,o] antisymmetric (1,2) (3,4)
amplitude c3[v,v,v,o,o,o] symmetric (1 4, 2 5, 3 6)
"""
LINES = DECLARATIONS.count("\n")

# (code, declarations and equations after DECLARATIONS, line counted from there, column, part of the message, part of the hint)
MISTAKES = [
    ("E-SYNTAX", "e = f[i,a t1[a,i]", 1, 11, "`,` or `]` was expected, found `t1`", ""),
    ("E-SYNTAX", "e = f[i,a] \u2212 t1[a,i]", 1, 12, "unexpected character", "minus is written `-`"),
    ("E-SYNTAX", "e = f[i,a] (t1[a,i])", 1, 12, "a factor was expected, found `(`", "multiply sums out"),
    ("E-SYNTAX", "e = f(i,a) t1[a,i]", 1, 6, "a factor was expected, found `(`", "square brackets"),
    ("E-SYNTAX", "r(i,j) = f[i,j]", 1, 2, "`=` or `+=` was expected, found `(`", "square brackets"),
    ("E-SYNTAX", "e = f[i,a] t1[a,i] +", 1, 21, "a factor was expected, found the end", ""),
    ("E-SYNTAX", "e = t1[a,i] P(i j) f[i,a]", 1, 13, "a factor was expected, found `P`", "operators stand before"),
    ("E-SYNTAX", "inptu w[o]", 1, 7, "`=` or `+=` was expected", "did you mean `input`?"),
    ("E-SYNTAX", "input w[o,o] antisymetric (1,2)", 1, 14, "`symmetric` or `antisymmetric`", "as in `antisymmetric (1,2)"),
    ("E-SYNTAX", "disconnected", 1, 13, "the name of a target", ""),
    ("E-SYNTAX", "0 = f[a,i] + f[a,b] t1[b,i]", 1, 1, "the target of an equation was expected, found `0`", "a residual is a new one, `r2[a,b,i,j] = ...`"),
    ("E-SYNTAX", "f[a,i] + f[a,b] t1[b,i] = 0", 1, 8, "`=` or `+=` was expected, found `+`", "a residual is a new one, `r2[a,b,i,j] = ...`"),
    ("E-SYNTAX", "f[i,i] t1[a,i] = f[a,i]", 1, 8, "`=` or `+=` was expected, found `t1`", "on the left is one name"),
    ("E-SYNTAX", "r[a,i] = f[a,i] + f[a,b] t1[b,i] = 0", 1, 34, "a factor was expected, found `=`", "a residual is not set to 0"),
    ("E-SYNTAX", "e = f[i,a] t1[a,i];", 1, 19, "unexpected character `;`", "a statement ends with its line"),
    ("E-SYNTAX", "e = u[i,j||a,b] t2[a,b,i,j]", 1, 10, "unexpected character `|`", "as in `u[i,j,a,b]`"),
    ("E-NOTATION", "r[a,b,i,j] = t2_{ij}^{ab}", 1, 14, "`t2_{ij}^{ab}` has its indices as in LaTeX", "in square brackets, as `t2[a,b,i,j]`"),
    ("E-NOTATION", "r_{ij}^{ab} = t2[a,b,i,j]", 1, 1, "`r_{ij}^{ab}` has its indices as in LaTeX", "as `r[a,b,i,j]`"),
    ("E-NOTATION", "e = f^i_a t1[a,i] + t1[a1,i] f[i,a1]", 1, 5, "`f^i_a` has its indices as in LaTeX", "as `f[i,a]`"),
    ("E-NOTATION", "e = \\frac{1}{4} u[i,j,a,b] t2[a,b,i,j]", 1, 5, "`\\frac{1}{4}` is LaTeX", "write `1/4`"),
    ("E-NOTATION", "e = 1/4 \\sum_{ijab} u[i,j,a,b] t2[a,b,i,j]", 1, 9, "`\\sum_{ijab}` is a sign for a sum", "stands twice is summed"),
    ("E-NOTATION", "e = sum(i,a) f[i,a] t1[a,i]", 1, 5, "`sum(i,a)` is a sign for a sum", "leave it out"),
    ("E-NOTATION", "e = f[i,a] \\cdot t1[a,i]", 1, 12, "`\\cdot` is LaTeX", "plain text"),
    ("E-NOTATION", "e = 1/4 <ij||ab> t2[a,b,i,j]", 1, 9, "`<ij||ab>` is no tensor: integrals have a name", "write `u[i,j,a,b]`, declared as `input u[g,g,g,g] antisymmetric (1,2) (3,4)`"),
    ("E-NOTATION", "e = < i1,j | a,b > t2[a,b,i1,j]", 1, 5, "integrals have a name", "write `u[i1,j,a,b]`, declared as `input u[g,g,g,g] symmetric (1 3, 2 4) (1,3) (2,4)`"),
    ("E-NOTATION", "e = (ia|jb) t2[a,b,i,j]", 1, 5, "`(ia|jb)` is no tensor", "write `u[i,j,a,b]` for it"),
    ("E-NOTATION", "e = <i|f|a> t1[a,i]", 1, 5, "`<i|f|a>` is no tensor", "`f[i,a]`"),
    ("E-NOTATION", "r[a,b,i,j] = u[a,b,i,j] + P-(ij) f[a,c] t2[c,b,i,j]", 1, 27, "`P-(ij)` is no operator", "`P(i j)` is 1 - (i j)"),
    ("E-NOTATION", "r[a,b,i,j] = P_(ij) t2[a,b,i,j]", 1, 14, "`P_(ij)` is no operator", "`P(i j)` is 1 - (i j)"),
    ("E-NOTATION", "r[a,b,i,j] = P^{+}(ij) t2[a,b,i,j]", 1, 14, "`P^{+}(ij)` is no operator", "`S(i j)` is 1 + (i j)"),
    ("E-NOTATION", "r[a,b,i,j] = A(ij) t2[a,b,i,j]", 1, 14, "`A(ij)` is no operator", "`P(i j)`"),
    ("E-NOTATION", "r[a,b,i,j] = P_{ij}^{ab} t2[a,b,i,j]", 1, 14, "`P_{ij}^{ab}` has its indices as in LaTeX", "`P(a b)` `P(i j)`"),
    ("E-NOTATION", "e = h^2", 1, 5, "`h^2` is no word", "`h h`"),
    ("E-COEFFICIENT", "e = 2j f[i,a] t1[a,i]", 1, 5, "`2j` is no fraction", "0.25"),
    ("E-COEFFICIENT", "e = 1/0 f[i,a] t1[a,i]", 1, 7, "division by 0", ""),
    ("E-COEFFICIENT", "e = f[i,a] t1[a,i] / h", 1, 22, "a number was expected", "only numbers divide"),
    ("E-DUP", "input f[o,o]\ne = h", 1, 7, "the tensor `f` is declared already", ""),
    ("E-DUP", "space o = x\ne = h", 1, 7, "the space `o` is declared already", ""),
    ("E-DUP", "space w = x i\ne = h", 1, 13, "the letter `i` belongs to the space `o`", ""),
    ("E-UNDECLARED", "e = f[i,a] tt1[a,i]", 1, 12, "there is no tensor `tt1`", "did you mean `t1`?"),
    ("E-UNDECLARED", "input w[o,x]\ne = h", 1, 11, "there is no space `x`", ""),
    ("E-UNDECLARED", "space w = o + x : y z\ne = h", 1, 15, "there is no space `x`", ""),
    ("E-UNDECLARED", "disconnected r\ne = h", 1, 14, "there is no target `r`", ""),
    ("E-UNDECLARED", "space w = w + o : y z\ne = h", 1, 11, "there is no space `w`", ""),
    ("E-DUP", "space w = g + v : y z\ne = h", 1, 15, "`v` overlaps a part before it", "no orbitals in common"),
    ("E-UNDECLARED", "r[a,b,i,j] = P[i,j] t2[a,b,i,j]", 1, 14, "there is no tensor `P`", "round brackets, `P(i j)`"),
    ("E-UNDECLARED", "e = x h", 1, 5, "there is no tensor `x`", "as in `input x`"),
    ("E-INDEX", "e = f[i,z] t1[z,i]", 1, 9, "the letter `z` of the index `z` belongs to no space", "letters are o: i j k l m n"),
    ("E-INDEX", "space w = x yz\ne = h", 1, 13, "`yz` is no letter", "`y z`"),
    ("E-RANK", "e = f[i,a,j] t1[a,i]", 1, 5, "`f` has 2 indices, here are 3", "its spaces are g, g"),
    ("E-RANK", "e = h[i] t1[a,i] f[a,i]", 1, 5, "`h` has 0 indices, here are 1", "it is a scalar"),
    ("E-SPACE", "e = f[i,a] t1[i,a]", 1, 15, "the index `i` is of the space `o`, slot 1 of `t1` is of `v`", "letters of `v` are a b"),
    ("E-SPACE", "e = f[i,q] t1[q,i]", 1, 15, "the index `q` is of the space `g`", ""),
    ("E-SYMMETRY", "input w[o,v] symmetric (1,2)\ne = h", 1, 24, "slots of different spaces of `w`", "its spaces are o, v"),
    ("E-SYMMETRY", "input w[o,o] symmetric (1,3)\ne = h", 1, 24, "there is no slot 3", "counted from 1"),
    ("E-SYMMETRY", "input w[o,o] symmetric (1,1)\ne = h", 1, 24, "a slot occurs twice", ""),
    ("E-SYMMETRY", "input w[o,o,o] symmetric (1 2, 3)\ne = h", 1, 26, "blocks of slots", "`(1 3, 2 4)`"),
    ("E-SYMMETRY", "input w[o,o] symmetric (1,2) antisymmetric (1,2)\ne = h", 1, 7, "contradict each other", ""),
    ("E-TARGET", "f[i,a] = t1[a,i]", 1, 1, "`f` is declared as input", ""),
    ("E-TARGET", "t1[a,i] = f[a,i]", 1, 1, "`t1` is declared as amplitude", "that of a residual, `r[a,i] = ...`"),
    ("E-TARGET", "r[a,a] = t1[a,i]", 1, 5, "the index `a` stands in the target twice", ""),
    ("E-REDEFINED", "e = h\ne = h", 2, 1, "`e` has an equation already", "write `+=`"),
    ("E-REDEFINED", "r[a,i] = f[a,i]\nr[a,i] = 0", 2, 1, "`r` has an equation already", "a method makes residuals 0"),
    ("E-REDEFINED", "e += h", 1, 1, "`+=` to `e`, which has no equation", "write `=`"),
    ("E-ORDER", "e = w[a,i] f[i,a]\nw[a,i] = t1[a,i]", 1, 5, "`w` is used before it is defined", "in order"),
    ("E-ORDER", "r[a,i] = t1[a,i]\nr[a,i] += r[a,i]", 2, 11, "`r` is used before it is defined", ""),
    ("E-ONCE", "r[a] = t1[a,j] f[i,i]", 1, 13, "the index `j` occurs once", "the target has a"),
    ("E-MANY", "e = f[i,a] t1[a,i] f[i,i]", 1, 24, "the index `i` occurs 4 times", "that is summed stands twice"),
    ("E-MANY", "r[a] = f[a,i] t1[a,i]", 1, 18, "the index `a` occurs twice", "once in each term"),
    ("E-MANY", "r[j] = f[i,a] t1[a,i] f[i,j]", 1, 25, "the index `i` occurs three times", "that is summed stands twice"),
    ("E-EXTERNAL", "r[a,i] = t1[b,i]", 1, 13, "the external indices of the term are b, i, those of the target a, i", "`a` is missing"),
    ("E-EXTERNAL", "r[a,i] = h", 1, 10, "the external indices of the term are none", "`a` is missing"),
    ("E-PERMUTATION", "r[a,i] = P(i j) f[i,j] t1[a,j]", 1, 14, "the index `j` is not external", "the target has a, i"),
    ("E-PERMUTATION", "r[a,i] = P(a i) t1[a,i]", 1, 10, "indices of different spaces", "single indices"),
    ("E-PERMUTATION", "r[a,i] = S(a i) t1[a,i]", 1, 10, "indices of different spaces", "`S(ai/bj)`"),
    ("E-PERMUTATION", "r[a,i] = P(i) t1[a,i]", 1, 10, "nothing to exchange", ""),
    ("E-PERMUTATION", "r[a,b,i,j] = P(i j i) t2[a,b,i,j]", 1, 14, "stands in the operator twice", ""),
    ("W-DISCONNECTED", "e = f[i,a] t1[a,i] f[j,b] t1[b,j]", 1, 5, "`f[j,b]` shares no summed index with `f[i,a]`", "`disconnected e` allows"),
    ("W-SYMMETRY", "result r[v,v,o,o] antisymmetric (1,2) (3,4)\nr[a,b,i,j] = P(i j) f[a,c] t2[c,b,i,j]", 2, 14, "not antisymmetric in `a` and `b`", "`P(a b)` may be missing"),
    ("W-SYMMETRY", "result r[v,v,o,o] antisymmetric (1,2) (3,4)\nr[a,b,i,j] = t2[a,b,i,j]\nr[c,d,k,l] +=\n P(k l) f[k,i] f[l,j] u[c,d,i,j] - u[c,b,k,j] u[b,d,j,l]",
     4, 34, "not antisymmetric in `a` and `b` and antisymmetric in `i` and `j`", "`P(a b)` `P(i j)` may be missing"),
    ("W-SYMMETRY", "result r[v,v,o,o] antisymmetric (1,2) (3,4)\nr[a,b,i,j] = S(a b) f[a,c] t2[c,b,i,j]", 2, 14, "not antisymmetric in `a` and `b`", ""),
    ("W-SYMMETRY", "result r[v,v,v] antisymmetric (1,2,3)\nr[a,b,c] = P(a/b c) u[a,b,c,d] f[i,d] z[i]\ninput z[o]",
     2, 12, "not antisymmetric in `a` and `b` and antisymmetric in `b` and `c`", "`P(a b)` `P(b c)` may be missing"),
    ("W-SYMMETRY", "result r[v,v,o,o] symmetric (1 3, 2 4)\nr[a,b,i,j] = u[a,b,i,j] + t2[a,b,i,j] + f[a,c] t2[c,b,i,j]", 2, 39, "symmetric in `ai` and `bj`", "`S(ai/bj)` may be missing"),
]  # fmt: skip


class Reading(unittest.TestCase):
    def test_terms(self):
        e = from_text(DECLARATIONS + "e = f[i,a] t1[a,i] + 1/4*u[ijab] t2[a b i j] - 0.5 h/3\nr2[a,b,i,j] = -P(ij) S(a b) 2 h t2[a,b,i,j]\ndisconnected r2")
        first, second, third = e.equations[0].terms
        self.assertEqual([t.coefficient for t in (first, second, third)], [1, Fraction(1, 4), Fraction(-1, 6)])
        self.assertEqual(str(second), "1/4 u[i,j,a,b] t2[a,b,i,j]")
        self.assertEqual(second.place, Place("<text>", LINES + 1, 20, LINES + 1, 45))
        self.assertEqual(second.factors[1].place, Place("<text>", LINES + 1, 34, LINES + 1, 45))
        self.assertEqual([str(p) for p in e.equations[1].terms[0].permutations], ["P(i j)", "S(a b)"])
        self.assertEqual(e.tensor("e").role, "result")
        self.assertEqual(e.tensor("c3").symmetries, (((1, 0, 2, 4, 3, 5), 1), ((0, 2, 1, 3, 5, 4), 1)))
        self.assertEqual(e.basic("g"), ("o", "v"))

    def test_operators(self):
        head = DECLARATIONS + "disconnected *\nr[a,b,c,i,j,k] = "
        for text, printed, count in (
            ("P(i/jk)", "P(i/j k)", 3), ("P(ij/k)", "P(i j/k)", 3), ("P(i j k)", "P(i j k)", 6), ("P(ijk)", "P(i j k)", 6), ("P(i/j/k) P(a b)", "P(i j k) P(a b)", 12),
            ("S(ai/bj)", "S(ai/bj)", 2), ("S(ai bj ck)", "S(ai/bj/ck)", 6), ("S(ai/bj ck)", "S(ai/bj ck)", 3), ("S(i j)", "S(i j)", 2),
        ):  # fmt: skip
            term = from_text(head + text + " c3[a,b,c,i,j,k]").equations[0].terms[0]
            self.assertEqual(" ".join(map(str, term.permutations)), printed)
            self.assertEqual(len(term.expanded()), count)
        signs = [str(t) for t in from_text(head + "P(i/j k) c3[a,b,c,i,j,k]").equations[0].terms[0].expanded()]
        self.assertEqual(signs, ["c3[a,b,c,i,j,k]", "-c3[a,b,c,j,i,k]", "-c3[a,b,c,k,j,i]"])

    def test_looking_up(self):
        e = from_text(DECLARATIONS + "e = h")
        self.assertEqual((e.space("v").indices[0], e.tensor("h").rank, [t.name for t in e.of_role("amplitude")]), ("a", 0, ["t1", "t2", "c3"]))
        for find in (e.space, e.tensor, e.basic):
            self.assertRaises(KeyError, find, "nothing")

    def test_lines(self):
        one = from_text(DECLARATIONS + "e = f[i,a] t1[a,i] + h\nr[a,i] = t1[a,i]")
        for text in (
            "e = f[i,a]\n  t1[a,i] + h\nr[a,i] = t1[a,i]", "e = f[i,a] *\nt1[a,i] # why\n\n# more\n+ h\nr[a,i]\n  = t1[a,\n i]", "e =\nf[i,\na] t1[a,i] +\nh\nr[a,i] = t1[a,i]"
        ):  # fmt: skip
            self.assertEqual(from_text(DECLARATIONS + text), one)
        indented = "\n".join("    " + line for line in (DECLARATIONS + "e = f[i,a] t1[a,i]\n  + h\nr[a,i] = t1[a,i]").splitlines())
        self.assertEqual(from_text(indented), one)

    def test_round_trip(self):
        more = """intermediate tau[v,v,o,o] antisymmetric (1,2) (3,4)
result r2[v,v,o,o] antisymmetric (1,2) (3,4)
input x[o,o,o,o,v] antisymmetric (1,2) symmetric (1 3, 2 4)
disconnected e
tau[a,b,i,j] = t2[a,b,i,j] + P(i j) t1[a,i] t1[b,j]
e = 1/4 u[i,j,a,b] tau[a,b,i,j] - 7/3 h h + 2
r2[a,b,i',j2] = u[a,b,i',j2] + 1/2 u[a,b,c,d] tau[c,d,i',j2]
r2[c,d,k,l] += P(c/d) S(ck/dl) f[p,c] u[p,d,k,l]
z = 0
"""
        e = from_text(DECLARATIONS + more)
        text = to_text(e)
        self.assertEqual(from_text(text), e)
        self.assertEqual(to_text(from_text(text)), text)
        for name in ("ccsd", "ccsdt"):
            e = from_text(ROOT / "examples" / "19_equations" / f"{name}.txt")
            self.assertEqual(from_text(to_text(e)), e)
            self.assertEqual(hash(e), hash(from_text(to_text(e))))
            self.assertTrue(e.equations[0].place.file.endswith(f"{name}.txt"))

    def test_order_of_declarations(self):
        """A result that is declared, but needs no declaration, stays where it is."""
        e = from_text("space o = i j\nresult r[o]\ninput f[o]\nq = f[i] f[i]\nr[i] = f[i]")
        self.assertEqual([t.name for t in e.tensors], ["r", "f", "q"])
        self.assertEqual(from_text(to_text(e)), e)


class Mistakes(unittest.TestCase):
    def test_each(self):
        for code, text, line, column, message, hint in MISTAKES:
            with self.subTest(text=text), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    from_text(DECLARATIONS + text)
                    (entry,) = caught
                    self.assertIs(entry.category, EquationWarning)
                    self.assertEqual(entry.filename, __file__)
                    found = str(entry.message)
                    self.assertTrue(found.startswith(f"<text>:{LINES + line}:{column}: warning: "), found)
                    self.assertIn(f"[{code}]", found.splitlines()[0])
                except EquationError as error:
                    found = str(error)
                    (d,) = error.diagnostics
                    self.assertEqual((d.code, d.line - LINES, d.column, d.severity, d.file), (code, line, column, "error", "<text>"), found)
                    self.assertIn(message, d.message)
                    self.assertIn(hint, d.hint)
                self.assertIn(message, found)

    def test_where_warnings_point(self):
        """At the line that called the package, however deep the text is read."""
        odd = DECLARATIONS + "result energy\ndisconnected r2\nresult r2[v,v,o,o] antisymmetric (1,2) (3,4)\nenergy = h\nr2[a,b,i,j] = P(a b) P(i j) u[k,b,c,j] t2[a,c,i,k] + f[a,i] f[b,j]"
        for call in (from_text, lambda text: method(text, amplitudes=["t2"])):
            with self.subTest(call=call), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                here = sys._getframe().f_lineno + 2
                try:
                    call(odd)
                except ValueError:
                    pass
            self.assertTrue(caught)
            self.assertEqual({c.filename for c in caught}, {__file__})
            if call is from_text:
                self.assertEqual({c.lineno for c in caught}, {here})

    def test_every_code(self):
        elsewhere = {"E-EMPTY", "E-FILE", "E-FORM"}  # below, and generators.py
        self.assertEqual({m[0] for m in MISTAKES} | elsewhere, set(CODES))

    def test_page(self):
        page = (ROOT / "runtime" / "python" / "EQUATIONS.md").read_text(encoding="utf-8")
        for code in CODES:
            self.assertIn(f"`{code}`", page)

    def test_look(self):
        with self.assertRaises(EquationError) as caught:
            from_text("space o = i j k\ninput fock[o,o]\ne = fok[i,i] +\n    fock[i,j]\n")
        self.assertEqual(
            str(caught.exception),
            "3 errors in <text>\n"
            "<text>:3:5: error: there is no tensor `fok` [E-UNDECLARED]\n"
            "    e = fok[i,i] +\n"
            "        ^~~\n"
            "    hint: did you mean `fock`?\n"
            "<text>:4:10: error: the index `i` occurs once and is not in the target [E-ONCE]\n"
            "        fock[i,j]\n"
            "             ^\n"
            "    hint: the target has no indices\n"
            "<text>:4:12: error: the index `j` occurs once and is not in the target [E-ONCE]\n"
            "        fock[i,j]\n"
            "               ^\n"
            "    hint: the target has no indices",
        )
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((str(again), again.diagnostics), (str(caught.exception), caught.exception.diagnostics))
        self.assertEqual(again.diagnostics[0].endColumn, 8)

    def test_one_mistake_is_one_error(self):
        for text in ("e = f[i,z] t1[z,i] + f[j,z] t1[z,j]", "e = tt[a,i] f[i,a] + tt[b,j] f[j,b]", "input w[x]\ne = w[i] w[i]", "e = f[i,a\nr[a,i] = t1[a,i]"):
            with self.subTest(text=text), self.assertRaises(EquationError) as caught:
                from_text(DECLARATIONS + text)
            self.assertEqual(len(caught.exception.diagnostics), 1, caught.exception)

    def test_any_text(self):
        """Texts with parts left out, doubled or put in end with an EquationError, or can be written and read again."""
        pieces = ["[", "]", "(", ")", "/", "+", "-", "+=", "=", "P(", "S(ai/bj) ", "0", "*", "space ", "input ", "symmetric (1,2)", "\n", " ", ",", ":", "#", "'", "t2", "\u00e9", "\t", "1e400"]
        good = "disconnected *\nr[a,b,i,j] = P(i j) f[k,i] t2[a,b,j,k] - S(ai/bj) u[k,l,c,d] t1[a,k] t1[c,i] t2[b,d,j,l]\nr[a,b,i,j] += t2[abij]/3 h"
        rng = random.Random(10)
        readable = 0
        for n in range(1500):
            text = DECLARATIONS + (good if n % 2 else rng.choice(MISTAKES)[1])
            for _ in range(rng.randint(1, 2)):
                at = rng.randrange(len(text))
                text = text[:at] + rng.choice((rng.choice(pieces), "", text[at : at + 9] * 2)) + text[at + rng.choice((0, 1, 5)) :]
            with self.subTest(text=text), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    e = from_text(text)
                except EquationError as error:
                    self.assertTrue(error.diagnostics)
                    continue
                readable += 1
                self.assertEqual(from_text(to_text(e)), e)
        self.assertGreater(readable, 50)

    def test_notes(self):
        with self.assertRaises(EquationError) as caught:
            from_text(DECLARATIONS + "input f[o,o]\ne = h")
        (note,) = caught.exception.diagnostics[0].notes
        self.assertEqual((note["message"], note["line"], note["column"]), ("declared here", 4, 7))

    def test_empty(self):
        for text in ("", "\n\n", "# nothing\n", DECLARATIONS):
            with self.subTest(text=text), self.assertRaises(EquationError) as caught:
                from_text(text)
            (d,) = caught.exception.diagnostics
            self.assertEqual((d.code, d.line, d.column), ("E-EMPTY", 1, 1))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bad.txt"
            path.write_bytes(b"space o = \xff\n")
            for name, why in ((path, "no UTF-8"), (path.with_name("none.txt"), "No such file"), (str(path.parent), "directory")):
                with self.subTest(name=name), self.assertRaises(EquationError) as caught:
                    from_text(name)
                (d,) = caught.exception.diagnostics
                self.assertEqual(d.code, "E-FILE")
                self.assertIn(why, d.message)
                self.assertNotIn("line", d)
            path.write_text("\ufeffspace o = i\r\ne = f[i,i]\r\n", encoding="utf-8")
            with self.assertRaises(EquationError) as caught:
                from_text(path)
            self.assertTrue(str(caught.exception).splitlines()[1].startswith(f"{path}:2:5: error:"))

    def test_symmetry_of_targets(self):
        """What makes it up is found: operators, factors, other terms, names of summed indices, both signs."""
        result = "result r[v,v,o,o] antisymmetric (1,2) (3,4)\nr[a,b,i,j] = "
        triples = "result r[v,v,v,o,o,o] antisymmetric (1,2,3) (4,5,6)\nr[a,b,c,i,j,k] = "
        for text in (
            result + "t2[a,b,i,j] + P(a b) f[a,c] t2[c,b,i,j] + P(i j) t1[a,i] t1[b,j] + P(i j) P(a b) f[a,i] t1[b,j]",
            result + "f[a,c] t2[c,b,i,j] - f[b,c] t2[c,a,i,j]",
            result + "f[a,c] t2[c,b,i,j]\nr[b,a,i,j] += f[a,c] t2[c,b,j,i]",
            result + "P(a b) P(i j) P(a b) f[a,c] t2[c,b,i,j]",
            triples + "P(a/b c) P(k/i j) t2[b,c,i,j] f[a,k] + P(a b c) P(i j k) f[a,i] f[b,j] f[c,k] + P(a b c) f[a,i] f[b,j] f[c,k] + P(a/b c) P(i j k) t2[b,c,i,l] f[l,j] f[a,k]",
            "result r[v,v,o,o] symmetric (1 3, 2 4)\nr[a,b,i,j] = S(ai/bj) f[a,c] t1[c,i] f[b,j] + t1[a,i] t1[b,j] + u[a,b,i,j] + f[a,j] f[b,i]",
        ):
            with self.subTest(text=text), warnings.catch_warnings():
                warnings.simplefilter("error")
                from_text(DECLARATIONS + "disconnected *\n" + text)
        for name in ("ccsd", "ccsdt"):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                from_text(ROOT / "examples" / "19_equations" / f"{name}.txt")
                text = (ROOT / "examples" / "19_equations" / f"{name}.txt").read_text(encoding="utf-8")
            for operator in ("P(a b) ", "P(i j) ") + (("P(i/j k) ", "P(a b/c) ") if name == "ccsdt" else ()):
                at = text.index(operator, text.index("r2[a,b,i,j] =" if len(operator) == 7 else "r3[a,b,c,i,j,k] ="))
                with self.assertWarnsRegex(EquationWarning, r"(?s)W-SYMMETRY.*\^"):
                    from_text(text[:at] + text[at + len(operator) :])

    def test_disconnected(self):
        term = "t2[a,b,i,j] f[k,c] t1[c,k]"
        for text in (f"disconnected r\nr[a,b,i,j] = {term}", f"disconnected *\nr[a,b,i,j] = {term}", f"intermediate r[v,v,o,o]\nr[a,b,i,j] = {term}"):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(from_text(DECLARATIONS + text), from_text(to_text(from_text(DECLARATIONS + text))))


if __name__ == "__main__":
    unittest.main()
