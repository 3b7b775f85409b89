#!/usr/bin/env python3
"""Simplified equations are worth what they were, have fewer terms, and come out alike however they are written.  simplification.py [unittest arguments]"""
import itertools
import random
import time
import unittest
from dataclasses import replace
from fractions import Fraction

import numpy as np

from equation_oracle import ROOT, same_values
from sialx.equations import (
    Equation,
    Equations,
    Factor,
    Index,
    Permutation,
    Space,
    Tensor,
    Term,
    collect_permutations,
    expand_permutations,
    from_text,
    simplify,
    to_text,
)
from sialx.equations.canonical import canonical_term
from sialx.equations.model import Generator, exchanges, group_of
from sialx.equations.symmetry import SlotSymmetry

SPACES = (Space("o", tuple("ijklmn")), Space("v", tuple("abcdef")), Space("g", tuple("pqrs"), ("o", "v")))
SIZES = {"o": 3, "v": 2}
LETTERS = {s.name: s.indices for s in SPACES}

DECLARATIONS = """space o = i j k l m n
space v = a b c d e f
space g = o + v : p q r s
input f[g,g]
input s[g,g] symmetric (1,2)
input u[g,g,g,g] antisymmetric (1,2) (3,4)
input w[g,g,g,g] antisymmetric (1,2) (3,4) symmetric (1 3, 2 4)
input x[v,v] antisymmetric (1,2)
amplitude t1[v,o]
amplitude t2[v,v,o,o] antisymmetric (1,2) (3,4)
amplitude t3[v,v,v,o,o,o] antisymmetric (1,2,3) (4,5,6)
amplitude t4[v,v,v,v,o,o,o,o] antisymmetric (1,2,3,4) (5,6,7,8)
amplitude y4[v,v,v,v,o,o,o,o] antisymmetric (1,2,3,4) (5,6,7,8)
amplitude c2[v,v,o,o] symmetric (1 3, 2 4)
amplitude c4[v,v,v,v,o,o,o,o] symmetric (1 5, 2 6, 3 7, 4 8)
input y[o]
input y3[o,o,o] symmetric (1,2,3)
input z3[o,o,o] antisymmetric (1,2,3)
disconnected *
"""


def read(*equations):
    return from_text(DECLARATIONS + "\n".join(equations))


def terms(equations, n=0):
    return [str(t) for t in equations.equations[n].terms]


def random_symmetry(rng, spaces):
    """Generators that do not contradict each other."""
    out: tuple[Generator, ...] = ()
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        k = rng.choice((1, 1, 2))
        blocks = rng.sample(range(len(spaces)), 2 * k) if 2 * k <= len(spaces) else []
        if blocks and [spaces[x] for x in blocks[:k]] == [spaces[x] for x in blocks[k:]]:
            more = out + exchanges(len(spaces), (tuple(blocks[:k]), tuple(blocks[k:])), rng.choice((1, -1, -1)))
            if not SlotSymmetry(more, len(spaces)).zero:
                out = more
    return out


def random_tensor(rng, n, ranks=(1, 2, 2, 3, 4, 4, 5, 6, 8)):
    rank = rng.choice(ranks)
    kinds = "oovvg" if rank <= 4 else "ov"
    spaces = tuple(rng.choice(kinds) for _ in range(rank))
    if rng.random() < 0.6:
        spaces = tuple(sorted(spaces))
    return Tensor(f"x{n}", spaces, random_symmetry(rng, spaces), rng.choice(("input", "amplitude")))


def random_term(rng, tensors, joined=0.85, most=6):
    """Factors, and the external indices that they leave; None where these are more than `most`. joined: how often two slots that fit share an index."""
    chosen = [rng.choice(tensors) for _ in range(rng.choice((1, 2, 2, 3, 4)))]
    slots = [(f, s) for f, t in enumerate(chosen) for s in range(t.rank)]
    rng.shuffle(slots)
    names = {s: list(LETTERS[s]) + [f"{x}{n}" for n in range(1, 9) for x in LETTERS[s]] for s in LETTERS}
    at, external = {}, []
    while slots:
        f, s = slots.pop()
        space = chosen[f].spaces[s]
        partners = [p for p in slots if fitting(space, chosen[p[0]].spaces[p[1]])]
        partner = rng.choice(partners) if partners and rng.random() < joined else None
        kind = fitting(space, chosen[partner[0]].spaces[partner[1]]) if partner else (rng.choice("ov") if space == "g" else space)
        index = Index(names[kind].pop(0), kind)
        at[(f, s)] = index
        if partner:
            slots.remove(partner)
            at[partner] = index
        else:
            external.append(index)
    if len(external) > most or sum(t.rank for t in chosen) > 18:
        return None
    rng.shuffle(external)
    return [Factor(t, tuple(at[(f, s)] for s in range(t.rank))) for f, t in enumerate(chosen)], external


def fitting(one, other):
    """The space of an index that can stand in slots of both."""
    return one if one == other or other == "g" else other if one == "g" else None


def scrambled(rng, term, target):
    """The same term written in another way, and without its permutations if it has any."""
    names: dict[Index, Index] = {}
    for space in LETTERS:
        old = [i for i in term.summed(target) if i.space == space]
        names.update(zip(old, rng.sample(old, len(old))))
    sign, factors = 1, []
    for factor in term.factors:
        p, parity = rng.choice(group_of(factor.tensor.symmetries, factor.tensor.rank))
        sign *= parity
        indices = factor.renamed(names).indices
        factors.append(Factor(factor.tensor, tuple(indices[x] for x in p)))
    rng.shuffle(factors)
    return replace(term, coefficient=sign * term.coefficient, factors=tuple(factors))


def random_operators(rng, indices):
    out = []
    for space in "ov":
        items = [(i,) for i in indices if i.space == space]
        if len(items) > 1 and rng.random() < 0.6:
            items = rng.sample(items, rng.randint(2, min(len(items), 3)))
            cut = rng.randint(1, len(items) - 1)
            groups = (tuple(items[:cut]), tuple(items[cut:])) if rng.random() < 0.5 else tuple((i,) for i in items)
            out.append(Permutation(groups, rng.choice((1, -1))))
    return tuple(out)


def random_equations(rng, tensors=None, joined=0.85, most=6):
    tensors = tensors or [random_tensor(rng, n) for n in range(3)]
    made = None
    while made is None:
        made = random_term(rng, tensors, joined, most)
    factors, external = made
    target = Factor(Tensor("r", tuple(i.space for i in external), (), "result"), tuple(external))
    base, out = Term(Fraction(rng.randint(1, 5), rng.randint(1, 4)), tuple(factors)), []
    for _ in range(rng.randint(1, 5)):
        same = {s: [i for i in external if i.space == s] for s in LETTERS}
        names = {old: new for s in LETTERS for old, new in zip(same[s], rng.sample(same[s], len(same[s])))}
        summed = [i for i in base.indices if i not in external]
        term = replace(base, factors=tuple(f.renamed({**names, **{i: i for i in summed}}) for f in base.factors), coefficient=Fraction(rng.choice((-2, -1, -1, 1, 1, 3)), 2))
        out.append(replace(scrambled(rng, term, target), permutations=random_operators(rng, external)))
    declared = tuple(dict.fromkeys((*tensors, target.tensor)))
    return Equations(SPACES, declared, (Equation(target, False, tuple(out)),), None, ("*",))


class Random(unittest.TestCase):
    def test_values_are_kept(self):
        rng, numbers = random.Random(5), np.random.default_rng(5)
        before = after = zeros = operators = 0
        for n in range(200):
            equations = random_equations(rng)
            with self.subTest(n=n, text=to_text(equations)):
                self.assertEqual(from_text(to_text(equations)), equations)
                simple = simplify(equations)
                expanded = expand_permutations(equations)
                error, largest = same_values(equations, simple, SIZES, numbers)
                self.assertLess(error, 1e-12)
                self.assertLess(same_values(equations, expanded, SIZES, numbers)[0], 1e-12)
                self.assertEqual(simplify(simple), simple)
                self.assertEqual(simplify(expanded), simple)
                self.assertEqual(expand_permutations(simple), expanded)
                self.assertEqual(from_text(to_text(simple)), simple)
                before += len(equations.equations[0].terms)
                after += len(simple.equations[0].terms)
                operators += sum(bool(t.permutations) for t in simple.equations[0].terms)
                if not simple.equations[0].terms:
                    zeros += 1
                    self.assertLess(largest, 1e-9)
        self.assertLess(after, 0.8 * before)
        self.assertGreater(zeros, 5)
        self.assertLess(zeros, 100)
        self.assertGreater(operators, 20)

    def test_a_term_less_the_same_is_nothing(self):
        rng = random.Random(6)
        for n in range(300):
            equations = random_equations(rng)
            equation = equations.equations[0]
            term = replace(equation.terms[0], permutations=random_operators(rng, equation.target.indices))
            other = scrambled(rng, term, equation.target)
            other = replace(other, coefficient=-other.coefficient)
            both = replace(equations, equations=(replace(equation, terms=(term, other)),))
            with self.subTest(n=n, text=to_text(both)):
                self.assertEqual(simplify(both).equations[0].terms, ())


class Canonical(unittest.TestCase):
    HARD = (
        "r[a,b,c,d,i,j,k,l] = u[m,n,e,f] t1[e,i] t1[a,m] t2[f,b,n,j] t2[c,d,k,l]",
        "e = t4[a,b,c,d,i,j,k,l] y4[a,b,c,d,i,j,k,l]",
        "e = t4[a,b,c,d,i,j,k,l] c4[a,b,c,d,i,j,k,l]",
        "e = c4[a,b,c,d,i,j,k,l] c4[a,b,c,d,i,j,k,l]",
        "e = y4[a,b,c,d,i,j,k,l] t1[a,i] t1[b,j] t1[c,k] t1[d,l]",
        "e = y4[a,b,c,d,i,j,k,l] t2[a,b,i,j] t2[c,d,k,l]",
        "e = w[i,j,a,b] w[a,b,c,d] w[c,d,k,l] w[k,l,i,j]",
        "e = s[i,j] s[j,k] s[k,l] s[l,m] s[m,i]",
        "r[a,b,c,d,i,j,k,l] = u[m,n,e,f] t2[e,f,k1,k2] f[k1,m] f[k2,n] t4[a,b,c,d,i,j,k,l]",
    )

    def test_the_way_of_writing_does_not_matter(self):
        rng = random.Random(7)
        for text in self.HARD:
            e = read(text)
            term, target = e.equations[0].terms[0], e.equations[0].target
            start = time.process_time()
            form = canonical_term(term, target, e.spaces)
            self.assertLess(time.process_time() - start, 0.2, text)  # some ms; machines may be busy
            for _ in range(20):
                self.assertEqual(canonical_term(scrambled(rng, term, target), target, e.spaces), form)

    def graph(self, tensor, edges):
        """A full contraction: tensors with three slots at the corners, an index for each edge."""
        letters = [f"{x}{n}" for n in range(1, 6) for x in "ijklmn"]
        corners = sorted({c for edge in edges for c in edge})
        factors = [f"{tensor}[{','.join(letters[n] for n, edge in enumerate(edges) if corner in edge)}]" for corner in corners]
        return read("e = " + " ".join(factors)).equations[0]

    def test_graphs(self):
        """Contractions whose indices all look alike until one is chosen."""
        rng = random.Random(9)
        ring = lambda n, first=0: [(first + x, first + (x + 1) % n) for x in range(n)]
        petersen = ring(5) + [(x, x + 5) for x in range(5)] + [(5 + x, 5 + (x + 2) % 5) for x in range(5)]
        five_prism = ring(5) + [(x, x + 5) for x in range(5)] + ring(5, 5)
        moebius = ring(8) + [(x, x + 4) for x in range(4)]
        cube = ring(4) + ring(4, 4) + [(x, x + 4) for x in range(4)]
        bipartite = [(x, y) for x in range(3) for y in range(3, 6)]
        prism = ring(3) + ring(3, 3) + [(x, x + 3) for x in range(3)]
        twisted = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 4), (2, 5), (3, 6), (3, 7), (4, 6), (4, 8), (5, 7), (5, 9), (6, 9), (7, 8), (8, 9)]
        keys = set()
        graphs = (petersen, five_prism, moebius, cube, bipartite, prism, twisted)
        for edges in graphs:
            equation = self.graph("y3", edges)
            term, target = equation.terms[0], equation.target
            form = canonical_term(term, target, SPACES)
            keys.add(form.key)
            for _ in range(25):
                self.assertEqual(canonical_term(scrambled(rng, term, target), target, SPACES), form)
        self.assertEqual(len(keys), len(graphs))
        for edges in graphs:  # antisymmetric corners: 0 or not, but the same however it is written
            equation = self.graph("z3", edges)
            term, target = equation.terms[0], equation.target
            form = canonical_term(term, target, SPACES)
            for _ in range(10):
                self.assertEqual(canonical_term(scrambled(rng, term, target), target, SPACES), form)

    def test_zeros(self):
        for text in (
            "e = u[i,i,a,b] t2[a,b,j,j]", "e = s[i,j] u[i,j,k,l] u[k,l,m,m]", "e = t1[a,i] t1[b,i] x[a,b]", "e = x[a,b] s[a,b]",
            "e = x[a,b] x[b,c] x[c,a]", "r[a,i] = t1[b,j] t1[c,j] x[b,c] f[a,i]",
            "e = 0 f[i,i]",
        ):  # fmt: skip
            with self.subTest(text=text):
                e = read(text)
                self.assertEqual(simplify(e).equations[0].terms, ())
                self.assertLess(same_values(e, simplify(e), SIZES, np.random.default_rng(1))[0], 1e-12)

    def test_not_zeros(self):
        for text in ("e = u[i,j,a,b] c2[a,b,i,j]", "e = x[a,b] x[a,b]", "e = x[a,b] x[b,c] x[c,d] x[d,a]", "e = s[i,j] t1[a,i] t1[b,j] x[a,c] x[c,b]", "e = f[a,i] t1[b,i] x[a,b]"):
            self.assertEqual(len(simplify(read(text)).equations[0].terms), 1, text)

    def test_symmetry_of_slots(self):
        """Against all permutations of the group."""
        rng = random.Random(8)
        contradictions = zeros = 0
        for _ in range(1500):
            rank = rng.randint(2, 6)
            generators: list[Generator] = []
            for _ in range(rng.randint(0, 3)):
                k = rng.randint(1, rank // 2)
                slots = rng.sample(range(rank), 2 * k)
                generators += exchanges(rank, (tuple(slots[:k]), tuple(slots[k:])), rng.choice((1, -1, -1)))
            if rng.random() < 0.2:
                generators.append((tuple(rng.sample(range(rank), rank)), 1))
            symmetry = SlotSymmetry(tuple(generators), rank)
            try:
                group = group_of(tuple(generators), rank)
            except ValueError:
                contradictions += 1
                self.assertTrue(symmetry.zero, generators)
                continue
            self.assertFalse(symmetry.zero, generators)
            labels = tuple(rng.randint(0, rank) for _ in range(rank))
            forms: dict[tuple[int, ...], set[int]] = {}
            for p, sign in group:
                forms.setdefault(tuple(labels[x] for x in p), set()).add(sign)
            least, sign = symmetry.least(labels)
            if any(len(signs) == 2 for signs in forms.values()):
                zeros += 1
                self.assertEqual(sign, 0)
            else:
                self.assertEqual((least, {sign}), (min(forms), forms[min(forms)]))
        self.assertGreater(contradictions, 50)
        self.assertGreater(zeros, 50)


class Rules(unittest.TestCase):
    def test_merging(self):
        e = simplify(read("e = u[i,j,a,b] t1[a,i] t1[b,j] - 1/2 u[j,i,a,b] t1[b,j] t1[a,i] + f[i,a] t1[a,i]", "e += -f[j,b] t1[b,j]"))
        self.assertEqual(len(e.equations), 1)
        self.assertEqual(terms(e), ["3/2 u[i,j,a,b] t1[a,i] t1[b,j]"])

    def test_additions(self):
        """`+=` goes into the equation right before, with the indices of that; not past an equation that may use the first value."""
        e = simplify(read("r[a,i] = t1[a,i]", "r[b,j] += f[j,a] c2[b,a,j1,i] f[i,j1]", "z = r[a,i] f[i,a]", "r[a,i] += t1[a,i]"))
        self.assertEqual([(str(q.target), q.adds, terms(e, n)) for n, q in enumerate(e.equations)], [
            ("r[a,i]", False, ["t1[a,i]", "f[i,b] f[j,k] c2[a,b,k,j]"]), ("z", False, ["f[i,a] r[a,i]"]), ("r[a,i]", True, ["t1[a,i]"])])  # fmt: skip

    def test_operators_that_do_nothing(self):
        e = simplify(read("r[a,b,i,j] = 1/4 P(i j) P(a b) u[a,b,c,d] t2[c,d,i,j]", "z[a,b] = S(a b) x[a,b]"))
        self.assertEqual(terms(e), ["u[a,b,c,d] t2[c,d,i,j]"])
        self.assertEqual(terms(e, 1), [])

    def test_collecting(self):
        for text in (
            "P(i j) P(a b) f[k,c] t2[a,c,i,k] t1[b,j]", "S(ai/bj) f[a,c] c2[c,b,i,j]", "P(a b) f[b,c] t2[a,c,i,j]", "S(i j) t1[a,i] t1[b,j]",
        ):  # fmt: skip
            e = read("r[a,b,i,j] = " + text)
            self.assertGreater(len(expand_permutations(e).equations[0].terms), 1)
            (term,) = collect_permutations(expand_permutations(e)).equations[0].terms
            self.assertEqual(term.permutations and str(term.permutations[0])[0], text[0])
        for text in ("P(a/b c) P(k/i j) u[b,c,d,k] t2[a,d,i,j]", "P(a/b c) P(i j k) t2[b,c,l,k] t1[a,i] f[l,j]", "S(ai/bj ck) f[a,d] c2[d,b,i,j] t1[c,k]"):
            e = read("r[a,b,c,i,j,k] = " + text)
            (term,) = collect_permutations(expand_permutations(e)).equations[0].terms
            self.assertEqual(len(term.expanded()), len(expand_permutations(e).equations[0].terms))

    def test_many_indices(self):
        """Where there are too many operators to try all, what is tried is enough for the usual ones, and no time is lost."""
        for n, space in ((5, "ov"), (6, "ov"), (8, "v")):
            names = {"o": "i2 j2 k2 l2 m2 n2".split()[:n], "v": "a2 b2 c2 d2 e2 f2 a3 b3".split()[:n]}
            first, *rest = names["v"]
            occupied = names["o"] if "o" in space else []
            slots = ",".join(["v"] * n + ["o"] * len(occupied))
            operator = f"P({first}/{' '.join(rest)})"
            symmetry = f"({','.join(str(x) for x in range(1, n + 1))})"
            e = read(
                f"amplitude big[{slots}] antisymmetric {symmetry}",
                f"r[{','.join([first, *rest, *occupied])}] = {operator} f[{first},a] big[{','.join(['a', *rest, *occupied])}]",
            )
            start = time.process_time()
            (term,) = simplify(e).equations[0].terms
            self.assertLess(time.process_time() - start, 10)
            self.assertEqual([str(p) for p in term.permutations], [operator])

    def test_operators_of_the_same_indices(self):
        """The last is applied first: P(i j) P(j k) is not P(j k) P(i j)."""
        numbers = np.random.default_rng(9)
        one = read("r[i,j,k] = P(i j) P(j k) f[i,j] s[k,l] u[l,m,n,m] y[n]")
        other = read("r[i,j,k] = P(j k) P(i j) f[i,j] s[k,l] u[l,m,n,m] y[n]")
        for e in (one, other):
            self.assertLess(same_values(e, simplify(e), SIZES, numbers)[0], 1e-12)
        self.assertNotEqual(expand_permutations(one).equations, expand_permutations(other).equations)

    def test_names_of_summed_indices(self):
        """They are the letters that the target leaves, then numbered ones."""
        e = simplify(read("r[j,k,l,m,n] = f[j,n1] f[k,n2] f[l,n3] f[m,n4] f[n,n5] f[n1,n2] f[n3,n4] f[n5,a] t1[a,n6] y[n6]"))
        names = [i.name for t in e.equations[0].terms for i in t.summed(e.equations[0].target)]
        self.assertEqual(sorted(names), ["a", "i", "i1", "j1", "k1", "l1", "m1"])
        self.assertEqual(from_text(to_text(e)), e)

    def test_methods_are_simple_already(self):
        for name, most in (("ccsd", 2), ("ccsdt", 5)):
            e = from_text(ROOT / "examples" / "19_equations" / f"{name}.txt")
            start = time.process_time()
            simple = simplify(e)
            self.assertLess(time.process_time() - start, most)
            self.assertEqual(simple, e)
            self.assertEqual(simplify(expand_permutations(e)), e)
            self.assertTrue(all(t.place is not None for q in simple.equations for t in q.terms))

    def test_arrangements(self):
        """P(i j/k l) and its like have the number of images of a multinomial, each one once."""
        letters = [Index(x, "o") for x in "ijklmn"]
        for sizes in ((1, 1), (1, 2), (2, 2), (1, 1, 1), (1, 2, 1), (2, 2, 2), (3, 1)):
            items = iter(letters)
            groups = tuple(tuple((next(items),) for _ in range(n)) for n in sizes)
            images = [tuple(sorted((a.name, b.name) for a, b in names.items())) for names, _ in Permutation(groups).images()]
            count = len(set(itertools.permutations([g for g, n in enumerate(sizes) for _ in range(n)])))
            self.assertEqual((len(images), len(set(images)), images[0]), (count, count, ()))


if __name__ == "__main__":
    unittest.main()
