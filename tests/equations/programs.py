#!/usr/bin/env python3
"""Programs made from equations give what NumPy gives, on 1, 2 and 3 ranks.

    programs.py --bin DIR --native MODULE [--seeds N] [--first N] [unittest arguments]

--seeds: random programs, from number --first.

Exits with 77 where there is no module of sialx.run."""
import os
import pathlib
import random
import re
import sys
import tempfile
import unittest
import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

from equation_oracle import evaluate, random_tensors
from harness import BIN, ENV, ROOT, main, skip, taken
from simplification import DECLARATIONS, random_equations, random_tensor

# isort: split
import sialx
from sialx.equations import Tensor, closed_shell, from_text, plan, simplify, to_sial, unrestricted
from sialx.equations.model import exchanges

SEGMENTS = {"o": [2, 1], "v": [1, 2]}
EXAMPLE = ROOT / "examples" / "19_equations"
SEEDS, FIRST = 60, 0


def given(equations, program, arrays, segments):
    """What a run takes."""
    named = {program.arrays[t]: x for t, x in arrays.items() if t in program.arrays}
    return {
        "arrays": {**named, **program.helpers(segments)},
        "values": program.values(segments),
        "segments": program.segments(segments),
        "save": [name for t, name in program.results.items() if equations.tensor(t).rank],
    }


def excitation(rng, n):
    """A tensor with upper and lower indices, up to eight, and a symmetry as amplitudes, residuals and integrals have."""
    pairs = rng.choice((2, 3, 4))
    rank, upper, lower = 2 * pairs, rng.choice("ov"), rng.choice("ov")
    halves = [tuple((pairs * half + x,) for x in range(pairs)) for half in (0, 1)]
    joint = exchanges(rank, tuple((x, pairs + x) for x in range(pairs)), 1)
    if upper == lower and rng.random() < 0.6:  # an operator and its adjoint
        return Tensor(f"x{n}", (upper,) * rank, exchanges(rank, (tuple(range(pairs)), tuple(range(pairs, rank))), rng.choice((1, -1))))
    symmetries = rng.choice((
        exchanges(rank, halves[0], -1) + exchanges(rank, halves[1], -1), joint, exchanges(rank, halves[0], 1) + exchanges(rank, halves[1], -1),
        exchanges(rank, halves[0][:2], -1) + exchanges(rank, halves[1][:2], -1), exchanges(rank, halves[0], 1) + joint,
    ))  # fmt: skip
    return Tensor(f"x{n}", (upper,) * pairs + (lower,) * pairs, symmetries, "amplitude")


def numbered(equations, number):
    """The same equations with the number in the names of all tensors."""
    name = lambda t: replace(t, name=f"{t.name}_{number}")
    factor = lambda f: replace(f, tensor=name(f.tensor))
    terms = lambda e: tuple(replace(t, factors=tuple(map(factor, t.factors))) for t in e.terms)
    return replace(equations, tensors=tuple(map(name, equations.tensors)), equations=tuple(replace(e, target=factor(e.target), terms=terms(e)) for e in equations.equations))


def random_program(seed):
    """Random equations of one target, its name and those of the tensors with the number in them. All kinds of ranks, spaces and symmetries."""
    rng = random.Random(seed)
    while True:
        tensors = [excitation(rng, 0) if rng.random() < 0.6 else random_tensor(rng, 0), *(random_tensor(rng, n, (1, 2, 2, 3, 4, 4, 5, 6, 7, 8)) for n in (1, 2))]
        equations = random_equations(rng, tensors, rng.choice((0.85, 0.6, 0.3)), 8)
        equations = numbered(equations, seed)
        try:
            return equations, to_sial(simplify(equations) if seed % 3 == 2 else equations, f"random_{seed}")
        except ValueError as error:
            if "arrays have 8 at most" not in str(error):  # in between
                raise


class Programs(unittest.TestCase):
    def compare(self, equations, seed, segments=None, ranks=1, what=None, extents=None):
        segments = segments or SEGMENTS
        program = to_sial(equations, extents=extents)
        sizes = {s: sum(x) for s, x in segments.items()}
        arrays = random_tensors(equations, sizes, np.random.default_rng(seed))
        expected = evaluate(equations, arrays, sizes)
        options = given(equations, program, arrays, segments)
        if ranks == 1:
            done = sialx.run(program.text, **options)
            found, scalars = dict(done.arrays), dict(done.scalars)
        else:
            with tempfile.TemporaryDirectory(prefix="sialx-equations-") as folder:
                path = pathlib.Path(folder, "program.sialx")
                path.write_text(program.text)
                left = sialx.Job(path, **options).run(folder, ranks=ranks)
                found, scalars = {n: left.arrays[n][...] for n in options["save"]}, dict(left.scalars)
        for tensor, name in program.results.items():
            values = found[name] if equations.tensor(tensor).rank else scalars[name]
            np.testing.assert_allclose(values, expected[tensor], rtol=0, atol=1e-11 * max(1.0, np.abs(expected[tensor]).max()), err_msg=str(what or tensor))

    def test_coupled_cluster(self):
        for name, most_phases in (("ccsd", 10), ("ccsdt", 30)):
            equations = from_text(EXAMPLE / f"{name}.txt")
            self.assertLess(len(plan(equations).phases), most_phases, "each phase ends with a barrier")
            self.compare(equations, 1, {"o": [2, 1], "v": [1, 1]})
        for name in ("eom_ccsd", "lambda_ccsd"):
            self.compare(from_text(EXAMPLE / f"{name}.txt"), 3)
            self.compare(closed_shell(from_text(EXAMPLE / f"{name}.txt")), 4, ranks=2)
        self.compare(unrestricted(from_text(EXAMPLE / "ccsd.txt")), 5, {"oa": [2, 1], "va": [1, 2], "ob": [2], "vb": [1, 1, 2]}, ranks=2)
        self.compare(from_text(EXAMPLE / "ccsd.txt"), 2, {"o": [2, 3], "v": [2, 1, 2]}, ranks=2)

    def test_random(self):
        """Programs of one job for each number of ranks; every third of simplified equations."""
        made = {seed: random_program(seed) for seed in range(FIRST, FIRST + SEEDS)}
        sizes = {s: sum(x) for s, x in SEGMENTS.items()}
        options: dict[str, Any] = {"arrays": {}, "save": []}
        expected = {}
        for seed, (equations, program) in made.items():
            arrays = random_tensors(equations, sizes, np.random.default_rng(seed))
            (expected[seed],) = evaluate(equations, arrays, sizes).values()
            for key, value in given(equations, program, arrays, SEGMENTS).items():
                if key == "save":
                    options[key] += value
                elif key == "arrays":
                    options[key].update(value)
                else:
                    self.assertEqual(options.setdefault(key, value), value)
        for ranks in (1, 2, 3):
            with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="sialx-equations-") as folder:
                warnings.simplefilter("ignore")  # a space may have no index
                warnings.filterwarnings("error", r"(?s).*\[W-UNUSED-INDEX\]")
                if ranks == 1:
                    done: Any = sialx.run([program.text for _, program in made.values()], **options)
                    arrays = done.arrays
                else:
                    paths = [pathlib.Path(folder, f"random_{seed}.sialx") for seed in made]
                    for path, (_, program) in zip(paths, made.values()):
                        path.write_text(program.text)
                    done = sialx.Job(paths, **options).run(folder, ranks=ranks)
                    arrays = {name: done.arrays[name][...] for name in options["save"]}
                for seed, (equations, program) in made.items():
                    ((tensor, name),) = program.results.items()
                    values = arrays[name] if equations.tensor(tensor).rank else done.scalars[name]
                    with self.subTest(seed=seed, ranks=ranks, equation=str(equations.equations[0])):
                        np.testing.assert_allclose(values, expected[seed], rtol=0, atol=1e-11 * max(1.0, np.abs(expected[seed]).max()))

    def test_kinds(self):
        """The random programs have tensors of all ranks to eight, targets of large ranks, and symmetries of all kinds."""
        counts: dict[str, Counter[int]] = {what: Counter() for what in ("ranks", "targets", "groups", "signs", "blocks")}
        ranks, targets, groups, signs, blocks = counts.values()
        for seed in range(60):
            (equation,) = random_program(seed)[0].equations
            targets[equation.target.tensor.rank] += 1
            for tensor in {f.tensor for t in equation.terms for f in t.factors}:
                ranks[tensor.rank] += 1
                groups[len(tensor.group())] += 1
                signs.update({sign for _, sign in tensor.symmetries})
                blocks.update({sum(x < y for x, y in enumerate(p)) for p, _ in tensor.symmetries})
        for rank in range(1, 9):
            self.assertGreaterEqual(ranks[rank], 5 if rank in (7, 8) else 3, ranks)
        self.assertGreaterEqual(sum(n for rank, n in targets.items() if rank > 4), 5, targets)
        self.assertGreaterEqual(targets[0], 5, targets)
        self.assertGreaterEqual(min(signs[-1], signs[1]), 15, signs)
        self.assertTrue({1, 2, 3, 4} <= set(blocks), blocks)
        self.assertGreaterEqual(max(groups), 576, groups)

    def test_forms(self):
        """Traces, sums over one tensor, numbers, products of numbers, results that are used later, results that are zero."""
        for number, lines in enumerate((
            ["result r", "r = f[i,i] + 1/3 u[i,j,i,j]"],
            ["result r[v,o]", "r[a,i] = u[k,a,k,b] t1[b,i]", "result e", "e = r[a,i] t1[a,i] + 2"],
            ["result e", "e = f[i,i]", "result r[o]", "r[i] = e y[i] - 3/7 e e y[i]"],
            ["result r[v,v]", "r[a,b] = x[a,b] - P(a b) 1/2 x[a,b]"],
            ["result r[v,o]", "r[a,i] = 0.5 t1[a,i]", "r[a,i] += f[a,b] t1[b,i]"],
            ["result e", "e = f[i,a] t1[a,i] f[j,b] t1[b,j]"],
        )):
            with self.subTest(lines=lines):
                self.compare(from_text(DECLARATIONS + "\n".join(lines)), number)

    def test_halves(self):
        """Blocks that follow from others are not computed, where the equation has the symmetry that its target declares, and only there."""
        lines = "result r[v,v] antisymmetric (1,2)\nr[a,b] = {}"
        for number, (right, halved) in enumerate((("x[a,b]", True), ("f[a,b] - f[b,a]", True), ("P(a b) f[a,c] f[c,b]", True), ("f[a,b]", False), ("x[a,b] + f[a,b]", False))):
            equations = from_text(DECLARATIONS + lines.format(right))
            text = to_sial(equations).text
            self.assertEqual("where a <= b" in text, halved, text)
            self.compare(equations, number)
        # What an operator acts on is not halved in the operator's own indices: a product there may stand for its image.
        head = "space o = i j k l\nspace v = a b c d\ninput x[v,v,o]\ninput y[v,v,o]\ninput z[v,v,o]\nresult r[v,v,o,o] antisymmetric (1,2) (3,4)\nr[a,b,i,j] = "
        pair = "P(a b) {0}[a,c,i] y[c,b,j] - P(a b) {0}[b,c,i] y[c,a,j]"
        four = "P(a b) x[a,c,i] y[c,b,j] + P(a b) z[b,c,i] y[c,a,j] - P(a b) z[b,c,j] y[c,a,i] - P(a b) x[a,c,j] y[c,b,i]"
        for number, right in enumerate((pair.format("x"), f"{pair.format('x')} + {pair.format('z')}", four)):
            for more in ("", "\nr[a,b,i,j] += x[a,c,i] x[c,b,j]"):
                self.compare(from_text(head + right + more), number)
        # What an operator acts on may have symmetries of its own; an addition without them takes them away.
        sums = "result r[v,v,o,o] antisymmetric (1,2) (3,4)\nr[a,b,i,j] = P(a b) f[a,c] t2[c,b,i,j]"
        for more, count in (("", 3), ("\nr[a,b,i,j] += x[a,b] f[i,j]", 2), ("\nr[a,b,i,j] += f[a,i] f[b,j]", 1)):
            equations = from_text(DECLARATIONS + sums + more)
            self.assertEqual(sum(map(len, plan(equations).exchanges.values())), count, more)
            self.compare(equations, count)

    def test_blocks_of_three(self):
        """Of blocks that follow from each other by exchanges of three indices, or of three pairs, one is computed."""
        head = "space o = i j k l\nspace v = a b c d\ninput f[v,v]\ninput g[o,o]\namplitude t3[v,v,v,o,o,o] {0}\nresult r3[v,v,v,o,o,o] {0}\nr3[a,b,c,i,j,k] = "
        antisymmetric, pairs = "antisymmetric (1,2,3) (4,5,6)", "symmetric (1 4, 2 5, 3 6)"
        segments = {"o": [1, 1, 1, 1], "v": [1, 2, 1]}
        for number, (declared, right, where) in enumerate((
            (antisymmetric, "P(a/b c) f[a,d] t3[d,b,c,i,j,k]", ("where a <= b", "where b <= c", "where i <= j", "where j <= k")),
            (antisymmetric.replace("anti", ""), "S(a/b c) S(i/j k) f[a,d] t3[d,b,c,l,j,k] g[l,i]", ("where a <= b", "where b <= c", "where i <= j", "where j <= k")),
            (pairs, "S(ai/bj ck) f[a,d] t3[d,b,c,i,j,k]", ("where a <= b", "where b <= c")),
            (antisymmetric, "P(a/b c) P(i/j k) f[a,d] t3[d,b,c,l,j,k] g[l,i]", ("where b <= c", "where j <= k")),
        )):
            with self.subTest(right=right):
                equations = from_text(head.format(declared) + right)
                text = to_sial(equations).text
                self.assertEqual([w for w in where if w in text], list(where))
                self.compare(equations, number, segments, 1 + number % 3)

    def test_parts(self):
        """Symmetric and antisymmetric parts of what a ladder multiplies, of which only blocks in order are there."""
        head = "space o = i j k l\nspace v = a b c d\ninput u[v,v,v,v] symmetric (1 3, 2 4)\namplitude t[v,v,o,o] symmetric (1 3, 2 4)\n"
        plain, signs = "r[a,b,i,j] = u[a,b,c,d] t[c,d,i,j]", "input w[v,v,v,v] antisymmetric (1 3, 2 4)\nr[j,b,a,i] = w[b,a,c,d] t[c,d,i,j]"
        for number, (lines, ranks) in enumerate(((plain, 1), ("result r[v,v,o,o] symmetric (1 3, 2 4)\n" + plain, 2), (signs, 3))):
            equations = from_text(head + lines)
            self.assertTrue(to_sial(equations, extents={"o": 20, "v": 80}).plan.unique, lines)
            for segments in ({"o": [2, 1], "v": [1, 2]}, {"o": [2, 2, 1], "v": [1, 2, 1, 2]}):
                self.compare(equations, number, segments, ranks, extents={"o": 20, "v": 80})
        one = "input w[v,v,v,v]\nr[a,b,i,j] = w[a,b,c,d] x[c,d,i,j]"
        for number, kind in enumerate(("symmetric", "antisymmetric")):
            equations = from_text(f"{head}amplitude x[v,v,o,o] {kind} (1,2)\n{one}")
            self.assertEqual(len(to_sial(equations, extents={"o": 20, "v": 80}).plan.unique), 1)
            self.compare(equations, number, {"o": [2, 1], "v": [1, 2, 1, 2]}, 1 + number, extents={"o": 20, "v": 80})
        self.assertFalse(to_sial(from_text(head + plain), extents={"o": 2, "v": 3}).plan.unique)

    def test_parts_that_are_read_otherwise(self):
        """Parts of which only blocks in order are there, where a sum of numbers reads all, another product reads all of a pair, or exchanges another pair."""
        head = "space o = i j k l\nspace v = a b c d\namplitude t[v,v,o,o] {0}\n"
        for number, (kind, lines) in enumerate((
            ("antisymmetric (1,2)", "input w[v,v,o,o]\ne = t[a,b,i,j] w[a,b,i,j]"),
            ("symmetric (1 3, 2 4)", "input u[v,v,v,v] symmetric (1 3, 2 4)\ninput w[v,v,v,v] antisymmetric (3,4)\nr[a,b,i,j] = u[a,b,c,d] t[c,d,i,j]\nq[a,b,i,j] = w[a,b,c,d] t[c,d,i,j]"),
            ("antisymmetric (1,2)", "input f[v,v,v,v]\nr[a,b,i,j] = f[a,b,c,d] t[c,d,i,j]\nq[c,d,i,j] = t[a,b,i,j] f[a,b,c,d]"),
        )):  # fmt: skip
            for segments in ({"o": [3], "v": [4]}, {"o": [1, 2], "v": [2, 1, 1]}):
                with self.subTest(lines=lines, segments=segments):
                    self.compare(from_text(head.format(kind) + lines), number, segments, extents={"o": 20, "v": 80})

    def test_targets_that_combinations_make_zero(self):
        head = "space o = i j k l\nspace v = a b c d\ninput x[o,o,v,v]\ninput y[o,o,v,v]\n"
        zero = "w[i,j] = x[i,k,a,b] x[k,j,a,b] - x[i,k,b,a] x[k,j,b,a]\n"
        self.compare(from_text(head + zero + "r[i,j] = 2 x[i,k,a,b] y[k,j,a,b] - x[i,k,b,a] y[k,j,a,b] + w[i,k] w[k,j]"), 1)

    def test_what_is_used_between(self):
        """Results that are zero, or lack the symmetry that they declare, and are used later; letters with numbers; spaces that differ by case."""
        for number, lines in enumerate((
            ["result r[v,o]", "r[a,i] = t1[a,i] - t1[a,i]", "e = r[a,i] t1[a,i] + 2"],
            ["r[a,i] = 0 t1[a,i]", "z[a,i] = r[b,i] f[a,b] + t1[a,i]"],
            ["intermediate w0[v,o]", "w0[a,i] = 0 f[a,i]", "z[a,i] = w0[a,i] + f[a,i]", "e = w0[a,i] f[i,a]"],
            ["result r[v,v] antisymmetric (1,2)", "r[a,b] = f[a,b]", "z[a,b] = r[a,c] f[c,b] + r[c,a] f[c,b]"],
            ["r[a91,i] = f[a91,b] t1[b,i] + f[a91,b] t1[b,j] f[j,i]", "z[a92,i93] = f[a92,b90] t1[b90,j91] f[j91,i93] + f[a92,b] t1[b,i93]"],
            ["e = 1/65536 f[i,i] + 100000000000000000 f[a,a] + 123456789012345678901234567890/7 f[i,i]"],
        )):
            with self.subTest(lines=lines):
                self.compare(from_text(DECLARATIONS + "\n".join(lines)), number)
        spaces = "space o = i j\nspace O = k l\ninput x[o,O]\nr[i,j] = x[i,k] x[j,k]\n"
        self.compare(from_text(spaces), 1, {"o": [2, 1], "O": [1, 3]})

    def test_refused(self):
        head = DECLARATIONS + "result r[v,o]\nr[a,i] = f[a,i]\n"
        for pattern, text in (
            ("`r` is added to after `e` has used it", "e = r[a,i] t1[a,i]\nr[a,i] += t1[a,i]"),
            ("a term of 12 factors has too many orders of products", "e = " + " ".join(f"f[{'ijklmnijklmn'[n]}{n // 6 + 1},{'jklmnijklmni'[n]}{(n + 1) % 12 // 6 + 1}]" for n in range(12))),
        ):
            with self.subTest(pattern=pattern), self.assertRaisesRegex(ValueError, pattern):
                plan(from_text(head + text))
        with self.assertRaisesRegex(ValueError, "`g` is no basic space; there are: o, v"):
            plan(from_text(head), {"g": 3})

    def test_the_same_text(self):
        text = (EXAMPLE / "ccsd.txt").read_text()
        self.assertEqual(to_sial(from_text(text)).text, to_sial(from_text(text)).text)

    def test_lines_lead_back(self):
        """A line of the program names the terms that it computes."""
        equations = from_text(EXAMPLE / "ccsd.txt")
        program = to_sial(equations)
        lines = program.text.split("\n")
        self.assertTrue(program.lines)
        for line, places in program.lines.items():
            self.assertRegex(lines[line - 1], r"^ *# .* \+= ")
            self.assertTrue(all(p.file.endswith("ccsd.txt") for p in places))
        solver = sialx.method(equations).program  # with constants in a procedure of their own
        self.assertIn("proc prepare", solver.text)
        for line, places in solver.lines.items():
            self.assertTrue(solver.text.split("\n")[line - 1].endswith(f" @ccsd.txt:{','.join(str(n) for n in sorted({p.line for p in places}))}"))
        named = {p.line for places in program.lines.values() for p in places}
        self.assertEqual(named, {t.place.line for e in equations.equations for t in e.terms})

    def test_names(self):
        """Letters and tensors that the language reserves, or that meet each other."""
        text = "space o = i j\nspace v = a b c\ninput a[v,v]\ninput sqrt[v,o]\nresult get[v,o]\nget[a,i] = a[a,b] sqrt[b,i]\n"
        program = to_sial(from_text(text))
        self.assertFalse(re.search(r"^distributed get\b", program.text, re.M))
        self.compare(from_text(text), 3)


if __name__ == "__main__":
    SEEDS, FIRST = int(taken("--seeds", str(SEEDS))), int(taken("--first", str(FIRST)))
    native = taken("--native", "")
    if not native:
        skip("there is no compiled module of Python here")
    os.environ.update(ENV, SIALX_NATIVE=native, SIALRUN=str(BIN / "sialrun"))
    main()
