#!/usr/bin/env python3
"""Energies of methods with spin="unrestricted": open shells against independent codes, and against full configuration interaction where the method is exact.

    energies_unrestricted.py --bin DIR [--long] [unittest arguments]

References: PySCF 2.14 with the basis sets of this repository (UHF to 1e-13 and stable, UCCSD to 1e-12, full CI of the same spin to 1e-13)."""
import tempfile
import unittest

import numpy as np

from equation_oracle import ROOT, set_programs, takes_long

# isort: split
import sialx
from sialx import method

EXAMPLE = ROOT / "examples" / "19_equations"
MOLECULES = ROOT / "examples" / "molecules"
ANGSTROM = 1 / 0.52917721092
LONG = False

RECTANGLE = (("H", 0, 0, 0), ("H", 0, 0, 1.0), ("H", 0, 1.2, 0), ("H", 0, 1.2, 1.0))


def molecule(basis, multiplicity, *atoms):
    return sialx.Molecule([a[0] for a in atoms], np.array([a[1:] for a in atoms], float) * ANGSTROM, basis, multiplicity=multiplicity)


def amidogen(basis):
    return sialx.Molecule.from_xyz(MOLECULES / "amidogen.xyz", basis, multiplicity=2)


def unrestricted(file, **options):
    return method(EXAMPLE / f"{file}.txt", spin="unrestricted", **options)


class Unrestricted(unittest.TestCase):
    def run_method(self, of, *given, **options):
        folder = tempfile.TemporaryDirectory(prefix="sialx-energies-")
        self.addCleanup(folder.cleanup)
        return of.run(*given, folder=folder.name, **options)

    def test_amidogen(self):
        """CCSD and (T) of a doublet; ranks and segments do not matter."""
        ccsd = unrestricted("ccsd", name="ccsd")
        both = unrestricted("ccsd_t", after=ccsd, name="triples")
        for basis, ranks, segment in (("6-31g*", 1, 8), ("6-31g*", 2, 3), ("6-31g", 2, 4)):
            reference, doubles, triples = {
                "6-31g*": (-55.55673340051793, -0.1521956104295642, -0.0017877741390770825),
                "6-31g": (-55.532310342522635, -0.10158852182121765, -0.0009201872413455906),
            }[basis]
            found = self.run_method(both, amidogen(basis), ranks=ranks, segment=segment)
            self.assertAlmostEqual(found.reference_energy, reference, delta=1e-9)
            self.assertAlmostEqual(found.results.saved_scalars["ccsd_correlation_energy"], doubles, delta=1e-9)
            self.assertAlmostEqual(found.results.saved_scalars["triples_correlation_energy"], triples, delta=1e-9)
            self.assertAlmostEqual(found.energy, reference + doubles + triples, delta=2e-9)
            self.assertEqual(list(found.arrays), ["t1_a", "t1_b", "t2_aa", "t2_ab", "t2_bb", "t3_aaa", "t3_aab", "t3_abb", "t3_bbb"])
            t2 = {b: np.asarray(found.arrays[f"t2_{b}"][...]) for b in ("aa", "ab", "bb")}
            n = {"6-31g*": 18, "6-31g": 13}[basis]
            self.assertEqual(t2["ab"].shape, (n - 5, n - 4, 5, 4))
            for b in ("aa", "bb"):
                np.testing.assert_allclose(t2[b], -t2[b].swapaxes(0, 1), atol=1e-9)
                np.testing.assert_allclose(t2[b], -t2[b].swapaxes(2, 3), atol=1e-9)

    def test_oxygen(self):
        found = self.run_method(unrestricted("ccsd"), sialx.Molecule.from_xyz(MOLECULES / "oxygen.xyz", "sto-3g", multiplicity=3))
        self.assertAlmostEqual(found.reference_energy, -147.63523001514062, delta=1e-9)
        self.assertAlmostEqual(found.correlation_energy, -0.10696870918304245, delta=1e-9)

    def test_closed_shell(self):
        """Orbitals of both spins are alike, and so are amplitudes and energy."""
        given = MOLECULES / "water.xyz", "sto-3g"
        found, closed = (self.run_method(method(EXAMPLE / "ccsd.txt", spin=spin), *given) for spin in ("unrestricted", "closed-shell"))
        self.assertAlmostEqual(found.energy, closed.energy, delta=1e-9)
        self.assertAlmostEqual(found.correlation_energy, -0.049359076681165, delta=1e-9)
        for block, name in (("t1_a", "t1"), ("t1_b", "t1"), ("t2_ab", "t2")):  # up to the signs of orbitals
            np.testing.assert_allclose(np.abs(found.arrays[block][...]), np.abs(closed.arrays[name][...]), atol=1e-7)

    def test_three_electrons(self):
        """CCSDT is exact."""
        ccsdt = unrestricted("ccsdt")
        for given, exact in (
            (molecule("6-31g", 2, ("Li", 0, 0, 0)), -7.431554228082691),
            (molecule("6-31g", 2, ("H", 0, 0, 0), ("H", 0, 0, 0.95), ("H", 0, 0.1, 2.1)), -1.6244001620208144),
            (molecule("6-31g", 2, ("He", 0, 0, 0), ("H", 0, 0, 1.5)), -3.348249111232752),
        ):
            with self.subTest(atoms=given.symbols):
                found = self.run_method(ccsdt, given, convergence=1e-11)
                self.assertAlmostEqual(found.energy, exact, delta=1e-9)
                self.assertLess(found.correlation_energy, -1e-4)

    def test_four_electrons(self):
        """CCSDTQ is exact, where the orbitals of both spins are alike and where they are not."""
        if not LONG:
            self.skipTest("takes two minutes: --long")
        ccsdtq = unrestricted("ccsdtq")
        for given, exact in (
            (molecule("sto-3g", 1, ("Li", 0, 0, 0), ("H", 0, 0, 1.6)), -7.882324392925434),
            (molecule("sto-3g", 1, ("Li", 0, 0, 0), ("H", 0, 0, 3.2)), -7.793274330479825),
            (molecule("sto-3g", 1, *RECTANGLE), -2.0168487558188777),
            (molecule("6-31g", 1, *RECTANGLE), -2.103134578103137),
            (molecule("6-31g", 1, ("Be", 0, 0, 0)), -14.613545285318567),
            (molecule("6-31g", 3, ("Be", 0, 0, 0)), -14.508386425492782),
        ):
            with self.subTest(atoms=given.symbols, basis=given.basis, multiplicity=given.multiplicity):
                found = self.run_method(ccsdtq, given, convergence=1e-11)
                self.assertAlmostEqual(found.energy, exact, delta=1e-9)
                self.assertLess(found.correlation_energy, -1e-3)

    def test_without_beta_electrons(self):
        """Blocks with beta indices are left out."""
        ccsd = unrestricted("ccsd", name="ccsd")
        found = self.run_method(ccsd, molecule("6-31g", 2, ("H", 0, 0, 0)))
        self.assertAlmostEqual(found.energy, -0.498232909, delta=1e-8)
        self.assertEqual(found.correlation_energy, 0.0)
        triplet = sialx.Molecule(["H", "H"], np.array([[0, 0, 0], [0, 0, 2.0]]), "6-31g", multiplicity=3)
        for of, blocks in ((ccsd, ["t1_a", "t2_aa"]), (unrestricted("ccsd_t", after=ccsd), ["t1_a", "t2_aa", "t3_aaa"])):
            found = self.run_method(of, triplet)
            self.assertAlmostEqual(found.reference_energy, -0.8827970401209422, delta=1e-9)
            self.assertAlmostEqual(found.energy, -0.8831761220302925, delta=1e-9)
            self.assertEqual(list(found.arrays), blocks)
        self.assertEqual(list(self.run_method(ccsd, MOLECULES / "water.xyz", "sto-3g").arrays), ["t1_a", "t1_b", "t2_aa", "t2_ab", "t2_bb"])

    def test_what_is_refused(self):
        ccsd, closed = unrestricted("ccsd"), method(EXAMPLE / "ccsd.txt")
        for error, pattern, what in (
            (ValueError, 'multiplicity 2; .* those with spin="unrestricted"', lambda: closed.run(amidogen("sto-3g"))),
            (ValueError, 'or both have spin="unrestricted"', lambda: unrestricted("ccsd_t", after=closed)),
            (ValueError, "`t1` is solved for by the method before this one", lambda: unrestricted("ccsd", after=ccsd)),
            (ValueError, "`x` is no basic space; there are: .*oa, ob, va, vb", lambda: unrestricted("ccsd", extents={"x": 5})),
            (sialx.JobError, "no orbitals in the space va: take a larger basis", lambda: ccsd.run(molecule("6-31g", 3, ("He", 0, 0, 0)))),
            (sialx.JobError, "the amplitudes did not converge", lambda: ccsd.run(amidogen("sto-3g"), cycles=2)),
        ):
            with self.subTest(pattern=pattern), self.assertRaisesRegex(error, pattern):
                what()


if __name__ == "__main__":
    set_programs()
    LONG = takes_long()
    unittest.main()
