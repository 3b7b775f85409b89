#!/usr/bin/env python3
"""Files in the Molden format: orbitals that are orthonormal over the basis set of the file, in its own order and norms.  molden.py --bin DIR [unittest arguments]

The overlap of the file's functions is computed here, from what the file says alone: products of Cartesian Gaussians, and real solid harmonics as
sums of them (H. B. Schlegel, M. J. Frisch, Int. J. Quantum Chem. 54, 83 (1995))."""
import itertools
import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

from harness import ROOT, InFolder, main

MOLECULES = ROOT / "examples" / "molecules"
PROGRAMS = ROOT / "examples"
CARTESIAN = {
    "s": ["000"],
    "p": ["100", "010", "001"],
    "d": ["200", "020", "002", "110", "101", "011"],
    "f": ["300", "030", "003", "120", "210", "201", "102", "012", "021", "111"],
    "g": ["400", "040", "004", "310", "301", "130", "031", "103", "013", "220", "202", "022", "211", "121", "112"],
}


def double_factorial(n):
    return math.prod(range(n, 0, -2)) if n > 0 else 1


def overlap_1d(i, j, a, b, x, y):
    """Of (t - x)^i exp(-a (t - x)^2) and (t - y)^j exp(-b (t - y)^2), by moments about their common centre."""
    p = a + b
    c = (a * x + b * y) / p
    total = 0.0
    for k, m in itertools.product(range(i + 1), range(j + 1)):
        if (k + m) % 2 == 0:
            total += math.comb(i, k) * math.comb(j, m) * (c - x) ** (i - k) * (c - y) ** (j - m) * double_factorial(k + m - 1) / (2 * p) ** ((k + m) // 2)
    return total * math.sqrt(math.pi / p) * math.exp(-a * b / p * (x - y) ** 2)


def overlap(one, other):
    """Of two sums of Gaussians: (centre, [(exponent, coefficient)], {powers: factor})."""
    total = 0.0
    for (a, ca), (b, cb) in itertools.product(one[1], other[1]):
        for (p, fp), (q, fq) in itertools.product(one[2].items(), other[2].items()):
            total += ca * cb * fp * fq * math.prod(overlap_1d(p[k], q[k], a, b, one[0][k], other[0][k]) for k in range(3))
    return total


def solid_harmonic(l, m):
    """Powers of x, y, z with factors, up to the norm: the real solid harmonic, cos(m phi) for m >= 0 and sin(|m| phi) for m < 0."""
    out: dict[tuple[int, int, int], float] = {}
    n = abs(m)
    for t in range((l - n) // 2 + 1):
        radial = (-1) ** t * math.comb(l, t) * math.comb(2 * l - 2 * t, l) * math.factorial(l - 2 * t) / math.factorial(l - 2 * t - n)
        for u, w in itertools.product(range(t + 1), repeat=2):  # (x^2 + y^2 + z^2)^t
            if u + w > t:
                continue
            square = math.factorial(t) // (math.factorial(u) * math.factorial(w) * math.factorial(t - u - w))
            for v in range(int(m < 0), n + 1, 2):  # the real, or imaginary, part of (x + i y)^n
                powers = (2 * u + n - v, 2 * w + v, 2 * (t - u - w) + l - 2 * t - n)
                out[powers] = out.get(powers, 0.0) + radial * square * math.comb(n, v) * (-1) ** (v // 2)
    return out


class File:
    def __init__(self, path):
        text = path.read_text()
        assert text.startswith("[Molden Format]\n"), text[:100]
        self.sections = dict((name, body) for name, body in re.findall(r"^\[(\w+)\][^\n]*\n(.*?)(?=^\[|\Z)", text, re.M | re.S))
        atoms = [line.split() for line in self.sections["Atoms"].splitlines()]
        self.symbols, self.numbers = [a[0] for a in atoms], [int(a[2]) for a in atoms]
        self.positions = [[float(x) for x in a[3:]] for a in atoms]
        pure = {"d": "5D7F" in self.sections or "5D10F" in self.sections, "f": "5D7F" in self.sections or "7F" in self.sections, "g": "9G" in self.sections}
        self.functions = []
        for block in self.sections["GTO"].strip("\n").split("\n\n"):
            lines = [line.split() for line in block.splitlines()]
            centre, rest = self.positions[int(lines[0][0]) - 1], lines[1:]
            while rest:
                letter, count = rest[0][0], int(rest[0][1])
                l = "spdfg".index(letter)
                primitives = []
                for e, c in ((float(x), float(y)) for x, y in rest[1 : 1 + count]):  # of normalised primitives: as x^l is
                    norm = (2 * e / math.pi) ** 0.75 * (4 * e) ** (l / 2) / math.sqrt(double_factorial(2 * l - 1))
                    primitives.append((e, c * norm))
                rest = rest[1 + count :]
                kinds = [solid_harmonic(l, m) for m in sorted(range(-l, l + 1), key=lambda m: (abs(m), -m))] if pure.get(letter) else [
                    {tuple(int(x) for x in powers): 1.0} for powers in CARTESIAN[letter]
                ]
                for kind in kinds:
                    f = (centre, primitives, kind)
                    scale = overlap(f, f) ** -0.5
                    self.functions.append((centre, primitives, {p: factor * scale for p, factor in kind.items()}))
        self.energies, self.spins, self.occupations, coefficients = [], [], [], []
        for orbital in re.split(r"^ Sym=.*\n", self.sections["MO"], flags=re.M)[1:]:
            head = dict(re.findall(r"^ (\w+)= +(\S+)$", orbital, re.M))
            self.energies.append(float(head["Ene"]))
            self.spins.append(head["Spin"])
            self.occupations.append(float(head["Occup"]))
            rows = re.findall(r"^ +(\d+) +(\S+)$", orbital, re.M)
            assert [int(k) for k, _ in rows] == list(range(1, len(self.functions) + 1)), len(rows)
            coefficients.append([float(x) for _, x in rows])
        self.coefficients = np.array(coefficients).T

    def overlap(self):
        n = len(self.functions)
        s = np.zeros((n, n))
        for i in range(n):
            for j in range(i + 1):
                s[i, j] = s[j, i] = overlap(self.functions[i], self.functions[j])
        return s


class Molden(InFolder):
    def job(self, molecule, basis, program="04_rhf/rhf.sialx", more="", output='molden = "orbitals.molden"', beta=""):
        (self.dir / "job.toml").write_text(
            f'programs = ["{PROGRAMS / program}"]\n[molecule]\nxyz = "{MOLECULES / molecule}.xyz"\nbasis = "{basis}"\n{more}\n[output]\n{output}\n'
            f'[segments]\nao = "auto"\nocc = "auto"\nvirt = "auto"\n{beta}'
        )
        return "job.toml"

    def test_restricted(self):
        """Pure functions up to f, and Cartesian ones."""
        sto = (ROOT / "runtime" / "chemistry" / "basis" / "sets" / "sto-3g.g94").read_text()
        steep = "".join(f"{letter}   1   1.00\n  {exponent}  1.0\n" for letter, exponent in (("D", 0.9), ("F", 1.3), ("G", 1.1)))
        oxygen = sto.index("****", sto.index("\nO  "))
        (self.dir / "to-g.g94").write_text(sto[:oxygen] + steep + sto[oxygen:])
        for molecule, basis, more, found in (("water", "to-g.g94", "", "9G"), ("water", "to-g.g94", "spherical = false", "GTO"), ("water", "cc-pvtz", "", "5D7F"), ("water", "cc-pvdz", "spherical = false", "GTO"), ("nitrogen", "6-31g", "", "GTO")):
            with self.subTest(molecule=molecule, basis=basis):
                self.said(self.job(molecule, basis, more=more))
                file = File(self.dir / "orbitals.molden")
                self.assertIn(found, file.sections)
                c = file.coefficients
                self.assertEqual(c.shape, (len(file.functions),) * 2)
                np.testing.assert_allclose(c.T @ file.overlap() @ c, np.eye(len(c)), rtol=0, atol=2e-8)
                with h5py.File(self.dir / "results.h5") as results:
                    np.testing.assert_allclose(file.energies, np.diag(results["saved/statics/fock_mo"][...]), rtol=0, atol=1e-12)
                    self.assertEqual(sum(file.occupations), sum(results["molecule/charges"][...]) - results["molecule"].attrs["charge"])
                self.assertEqual(set(file.spins), {"Alpha"})
                self.assertEqual(set(file.occupations), {2.0, 0.0})

    def test_unrestricted(self):
        self.said(self.job("amidogen", "6-31g*", "06_uhf/uhf.sialx", "multiplicity = 2", beta='beta_occ = "auto"\nbeta_virt = "auto"\n'))
        file = File(self.dir / "orbitals.molden")
        n = len(file.functions)
        self.assertEqual(file.spins, n * ["Alpha"] + n * ["Beta"])
        self.assertEqual((sum(file.occupations[:n]), sum(file.occupations[n:])), (5.0, 4.0))
        s = file.overlap()
        for c in (file.coefficients[:, :n], file.coefficients[:, n:]):
            np.testing.assert_allclose(c.T @ s @ c, np.eye(n), rtol=0, atol=2e-8)
        with h5py.File(self.dir / "results.h5") as results:
            both = [np.diag(results[f"saved/statics/fock_{spin}"][...]) for spin in "ab"]
        np.testing.assert_allclose(file.energies, np.concatenate(both), rtol=0, atol=1e-12)

    def test_refused(self):
        """Before anything is computed."""
        (self.dir / "plain.sialx").write_text('sial plain\nscalar x\nx = 1.0\nset_persistent x "c"\nendsial plain\n')  # a scalar, no orbitals
        self.assertRegex(self.said("plain.sialx", "--molden", "o.molden", code=2), "`--molden` asks for orbitals, and the job has no molecule")
        job = self.job("water", "sto-3g", output="")
        (self.dir / job).write_text((self.dir / job).read_text().replace(str(PROGRAMS / "04_rhf/rhf.sialx"), "plain.sialx"))
        self.assertRegex(self.said(job, "--molden", "o.molden", code=2), "no program of the job saves any")
        (self.dir / "mine.txt").write_text("my notes\n")
        self.assertRegex(self.said(self.job("water", "sto-3g", output=""), "--molden", "mine.txt", code=2), "would replace `./mine.txt`, which no job has written")
        self.assertEqual((self.dir / "mine.txt").read_text(), "my notes\n")
        self.assertFalse((self.dir / "o.molden").exists())
        self.said(self.job("water", "sto-3g"))
        before = (self.dir / "orbitals.molden").read_text()
        self.said(self.job("water", "sto-3g"), "--simulate", "ranks=3,seed=1")  # replaces its own file
        self.assertEqual(before[: before.index("[MO]")], (self.dir / "orbitals.molden").read_text().split("[MO]")[0])


if __name__ == "__main__":
    main()
