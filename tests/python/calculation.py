#!/usr/bin/env python3
"""sialx.calculate(): energies, gradients and dipole moments of every method beside PySCF's, and what cannot be calculated.

    calculation.py --bin DIR [unittest arguments]
"""
import pathlib
import sys
import tempfile
import unittest

import numpy as np

from needed import use
from reference_gradients import AMIDOGEN, DIPOLE_OF_AMIDOGEN, DIPOLE_OF_WATER, OF_AMIDOGEN, OF_WATER, WATER

BOHR = 0.52917721092


class Calculations(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="sialx-calculation-")
        self.addCleanup(temporary.cleanup)
        self.dir = pathlib.Path(temporary.name)

    def molecule(self, of, **options):
        return sialx.Molecule(of["symbols"], np.array(of["positions"]) / BOHR, options.pop("basis", "3-21g"), **options)

    def compare(self, molecule, references, dipole):
        for method, (energy, gradient) in references.items():
            with self.subTest(method=method):
                done = sialx.calculate(molecule, method, gradient=True, folder=self.dir / method)
                # PySCF's digits of the basis set differ: 1e-7 hartree.
                self.assertAlmostEqual(done.energy, energy, delta=3e-7)
                np.testing.assert_allclose(done.gradient, gradient, rtol=0, atol=1e-6)
                self.assertEqual(done.energy, done.results.scalars["scf_energy" if method.endswith("hf") else "total_energy"])
                if method.endswith("hf"):
                    np.testing.assert_allclose(done.dipole, dipole, rtol=0, atol=3e-6)
                else:
                    self.assertIsNone(done.dipole)

    def test_closed_shells(self):
        self.compare(self.molecule(WATER), OF_WATER, DIPOLE_OF_WATER)

    def test_open_shells(self):
        self.compare(self.molecule(AMIDOGEN, multiplicity=2), OF_AMIDOGEN, DIPOLE_OF_AMIDOGEN)

    def test_ranks_and_files(self):
        xyz = self.dir / "water.xyz"
        xyz.write_text(self.molecule(WATER).xyz())
        done = sialx.calculate(xyz, "CCSD(T)", "3-21g", ranks=2, memory="500MB", folder=self.dir / "two")
        self.assertAlmostEqual(done.energy, OF_WATER["ccsd(t)"][0], delta=3e-7)
        self.assertIsNone(done.gradient)
        self.assertEqual(done.folder, self.dir / "two")
        self.assertIn("energy -75.716", repr(done))
        alone = sialx.calculate(xyz, "uhf", "sto-3g", charge=1, multiplicity=2, folder=self.dir / "cation")
        self.assertEqual((alone.results.molecule["charge"], alone.results.molecule["multiplicity"]), (1, 2))

    def test_frozen_core(self):
        everything, valence = (sialx.calculate(self.molecule(WATER), "mp2", frozen_core=frozen, folder=self.dir / str(frozen)) for frozen in (False, True))
        self.assertLess(everything.energy, valence.energy - 1e-4)
        self.assertAlmostEqual(everything.scalars["scf_energy"], valence.scalars["scf_energy"], delta=1e-9)

    def test_changed_basis(self):
        molecule = self.molecule(WATER)
        other = sialx.calculate(molecule, "hf", "sto-3g", folder=self.dir / "other")
        self.assertGreater(other.energy, -75)
        self.assertEqual(molecule.basis, "3-21g")

    def refused(self, pattern, molecule, error=ValueError, **options):
        with self.assertRaisesRegex(error, pattern):
            sialx.calculate(molecule, folder=self.dir / "refused", **options)

    def test_refusals(self):
        water = self.molecule(WATER)
        self.refused("the method `b3lyp` is not known.*`hf`, `mp2`, `ccsd`, `ccsd\\(t\\)`.*`uhf`, `ump2`", water, method="b3lyp")
        self.refused('`mp2` is for closed shells.*multiplicity 3.*method="ump2"', water, method="mp2", multiplicity=3)
        self.refused("`ccsd` is for closed shells.*there are `uhf`, `ump2`", water, method="ccsd", multiplicity=3)
        self.refused("charge is a whole number, not 0.5", water, charge=0.5)
        self.refused("needs the name of a basis set", "water.xyz")
        self.refused("not a int", 3, error=TypeError)
        self.refused("multiplicity", water, method="hf", charge=1, error=sialx.JobError)  # an odd number of electrons
        self.refused("no-such-basis", water, method="hf", basis="no-such-basis", error=(ValueError, sialx.JobError))
        self.refused("did not converge", water, method="hf", values={"scf_iter": 3}, error=sialx.JobError)
        self.refused("0 ranks", water, ranks=0)


if __name__ == "__main__":
    at = sys.argv.index("--bin")
    use(sys.argv[at + 1])
    del sys.argv[at:at + 2]
    import sialx

    unittest.main()
