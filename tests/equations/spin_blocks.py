#!/usr/bin/env python3
"""Equations divided into blocks of spins are worth what those over spin orbitals are, for random tensors that conserve spin, with different numbers of alpha and
beta orbitals.  spin_blocks.py [unittest arguments]"""
import itertools
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

from equation_oracle import ROOT, evaluate, parity
from harness import LONG

# isort: split
from sialx.equations import from_text, simplify, to_text, unrestricted

EXAMPLE = ROOT / "examples" / "19_equations"


def spins_of(space, sizes):
    """0 (alpha) or 1 of each spin orbital of a space."""
    return np.concatenate([np.repeat((0, 1), (sizes[f"{s}a"], sizes[f"{s}b"])) for s in space])


class Tensors:
    """Random tensors over spin orbitals, alpha before beta within `o` and within `v`, that vanish where spin is not conserved; and their blocks."""

    def __init__(self, equations, sizes, seed):
        self.sizes, self.whole, self.rng = sizes, {}, np.random.default_rng(seed)
        self.spins = {"o": spins_of("o", sizes), "v": spins_of("v", sizes), "g": spins_of("ov", sizes)}
        targets = {e.target.tensor.name for e in equations.equations}
        for t in equations.tensors:
            if t.name not in targets:
                self.whole[t.name] = self.integrals() if t.name == "u" else self.antisymmetric(t.spaces)

    def conserving(self, x, spaces):
        """x, zero where the numbers of upper and lower beta indices differ."""
        n = len(spaces) // 2
        total = sum((1 if k < n else -1) * self.spins[s].reshape([-1 if m == k else 1 for m in range(2 * n)]) for k, s in enumerate(spaces))
        return np.where(np.broadcast_to(total, x.shape) == 0, x, 0.0)

    def antisymmetric(self, spaces):
        n = len(spaces) // 2
        x = self.rng.normal(size=[len(self.spins[s]) for s in spaces])
        for half in (range(n), range(n, 2 * n)):
            x = sum(parity([k - half[0] for k in p]) * x.transpose([*range(half[0]), *p, *range(half[-1] + 1, 2 * n)]) for p in itertools.permutations(half))
        return self.conserving(x, spaces) / np.sqrt(x.size)

    def integrals(self):
        """<pq||rs> of real integrals (pr|qs), which differ between the spins."""
        n = len(self.spins["g"])
        x = self.rng.normal(size=(n,) * 4)
        x = x + x.transpose(1, 0, 2, 3)
        x = x + x.transpose(0, 1, 3, 2)
        x = x + x.transpose(2, 3, 0, 1)
        same = self.spins["g"][:, None] == self.spins["g"][None, :]
        x = x * same[:, :, None, None] * same[None, None, :, :]
        return x.transpose(0, 2, 1, 3) - x.transpose(0, 2, 3, 1)

    def block(self, x, spaces, spins):
        """The part of x with these spins of its indices."""
        return x[np.ix_(*(np.flatnonzero(self.spins[s] == spin) for s, spin in zip(spaces, spins)))] if spaces else x

    def blocks(self, name, x, spaces):
        """All blocks by their names."""
        n = len(spaces) // 2
        if not n:
            return {name: x}
        return {f"{name}_{'a' * k + 'b' * (n - k)}": self.block(x, spaces, 2 * (k * (0,) + (n - k) * (1,))) for k in range(n + 1)}


class SpinBlocks(unittest.TestCase):
    def compare(self, equations, sizes, seed=3):
        given = Tensors(equations, sizes, seed)
        divided = unrestricted(equations)
        arrays = {}
        for name, x in given.whole.items():
            arrays.update(given.blocks(name, x, equations.tensor(name).spaces))
        for t in divided.tensors:  # what is declared of the blocks is so
            for p, sign in t.symmetries if t.name in arrays else ():
                np.testing.assert_allclose(arrays[t.name], sign * arrays[t.name].transpose(p), atol=1e-13, err_msg=f"{t.name} {p}")
        expected = evaluate(equations, given.whole, {s: len(given.spins[s]) for s in "ov"})
        found = evaluate(divided, arrays, sizes)
        names = set()
        for name, x in expected.items():
            spaces = equations.tensor(name).spaces
            np.testing.assert_allclose(x, given.conserving(x, spaces) if spaces else x, atol=1e-11)
            for block, part in given.blocks(name, x, spaces).items():
                if self.possible(block, equations.tensor(name), sizes):
                    self.assertGreater(np.abs(part).max(), 1e-3, block)
                np.testing.assert_allclose(found[block], part, rtol=0, atol=1e-11 * max(1.0, np.abs(x).max()), err_msg=block)
                names.add(block)
        self.assertEqual(names, set(found))
        return divided

    def possible(self, block, tensor, sizes):
        """Whether there are as many orbitals of each space and spin as antisymmetric indices."""
        spins = 2 * block.rpartition("_")[2] if tensor.rank else ""
        half = tensor.rank // 2
        slots = [s + spin for s, spin in zip(tensor.spaces, spins)]
        return all(part.count(x) <= sizes[x] for part in (slots[:half], slots[half:]) for x in part)

    def example(self, name, sizes, **options):
        return self.compare(from_text(EXAMPLE / f"{name}.txt"), sizes, **options)

    def test_ccsd(self):
        divided = self.example("ccsd", {"oa": 3, "va": 2, "ob": 2, "vb": 4})
        self.assertEqual(divided, simplify(divided))
        self.assertEqual(from_text(to_text(divided)), divided)

    def test_ccsdt(self):
        self.example("ccsdt", {"oa": 4, "va": 3, "ob": 3, "vb": 3})

    def test_ccsdtq(self):
        self.example("ccsdtq", {"oa": 3, "va": 3, "ob": 2, "vb": 2})
        if LONG:  # four electrons of one spin as well
            self.example("ccsdtq", {"oa": 1, "va": 1, "ob": 4, "vb": 4})

    def test_left_and_excited(self):
        for name in ("lambda_ccsd", "eom_ccsd"):
            with self.subTest(name=name):
                self.example(name, {"oa": 3, "va": 2, "ob": 2, "vb": 3})

    def test_cheaper_methods(self):
        for name in ("mp3", "cc2", "ccsd_t"):
            with self.subTest(name=name):
                self.example(name, {"oa": 3, "va": 3, "ob": 3, "vb": 4})


if __name__ == "__main__":
    unittest.main()
