#!/usr/bin/env python3
"""The calculator for ASE: units, forces beside PySCF's analytic gradients, optimisations that are interrupted, and what is refused.

    ase_calculator.py --bin DIR [unittest arguments]

Exits with 77 where ASE is missing.
"""
import copy
import pathlib
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

from harness import InFolder, main
from needed import need, use
from reference_gradients import AMIDOGEN, DIPOLE_OF_WATER, MINIMA, OF_AMIDOGEN, OF_WATER, WATER

need("ase", "h5py")
import ase.calculators.calculator as errors  # noqa: E402
from ase import Atoms  # noqa: E402
from ase.io import read  # noqa: E402
from ase.optimize import BFGS  # noqa: E402
from ase.units import Bohr, Hartree  # noqa: E402


def atoms(of, **calculator):
    made = Atoms(of["symbols"], positions=of["positions"])
    made.calc = SIALX(**calculator)
    return made


class Counted:
    """Counts calculations, and fails at one of them."""

    def __init__(self, fails_at=None):
        self.number, self.fails_at, self.original = 0, fails_at, sialx.ase.calculate

    def __call__(self, *arguments, **options):
        self.number += 1
        if self.number == self.fails_at:
            raise sialx.JobError(9, "error: stopped from outside")
        return self.original(*arguments, **options)


class Calculator(InFolder):
    def counted(self, **options):
        counted = Counted(**options)
        patch = unittest.mock.patch.object(sialx.ase, "calculate", counted)
        patch.start()
        self.addCleanup(patch.stop)
        return counted

    def test_closed_shells(self):
        for method in ("hf", "mp2"):
            with self.subTest(method=method):
                water = atoms(WATER, method=method, basis="3-21g")
                energy, gradient = OF_WATER[method]
                np.testing.assert_allclose(water.get_forces() * Bohr / Hartree, -np.array(gradient), rtol=0, atol=1e-6)
                self.assertAlmostEqual(water.get_potential_energy() / Hartree, energy, delta=3e-7)
                self.assertEqual(water.get_potential_energy(force_consistent=True), water.get_potential_energy())
        with self.assertRaises(errors.PropertyNotImplementedError):
            water.get_dipole_moment()
        with self.assertRaises(errors.PropertyNotImplementedError):
            water.get_stress()

    def test_dipole(self):
        water = atoms(WATER, method="hf", basis="3-21g", ranks=2)
        np.testing.assert_allclose(water.get_dipole_moment() / Bohr, DIPOLE_OF_WATER, rtol=0, atol=3e-6)

    def test_open_shells(self):
        radical = atoms(AMIDOGEN, method="uhf", basis="3-21g")
        radical.set_initial_magnetic_moments([1.0, 0.0, 0.0])
        self.assertAlmostEqual(radical.get_potential_energy() / Hartree, OF_AMIDOGEN["uhf"][0], delta=3e-7)
        radical.set_initial_magnetic_moments(None)
        radical.calc.set(multiplicity=2, method="ump2")
        self.assertAlmostEqual(radical.get_potential_energy() / Hartree, OF_AMIDOGEN["ump2"][0], delta=3e-7)

    def test_charges(self):
        proton_moved = Atoms("OHHH", positions=[[0, 0, 0], [0.95, 0, 0.2], [-0.5, 0.8, 0.2], [-0.5, -0.8, 0.2]])
        proton_moved.calc = SIALX(basis="sto-3g", charge=1)
        energy = proton_moved.get_potential_energy()
        proton_moved.calc = SIALX(basis="sto-3g")
        proton_moved.set_initial_charges([0.25, 0.25, 0.25, 0.25])
        self.assertAlmostEqual(proton_moved.get_potential_energy(), energy, delta=1e-7)
        proton_moved.set_initial_charges([0.5, 0, 0, 0])
        with self.assertRaisesRegex(errors.InputError, "initial charges of the atoms add up to 0.5.*give `charge`"):
            proton_moved.get_potential_energy()

    def test_charges_of_the_result(self):
        for method in ("hf", "mp2"):
            water = atoms(WATER, method=method, basis="3-21g")
            charges = water.get_charges()
            self.assertAlmostEqual(charges.sum(), 0.0, delta=1e-7)
            self.assertLess(charges[0], -0.5)
            self.assertGreater(charges[1:].min(), 0.3)

    def test_first_guess(self):
        """Where it is asked for, the SCF begins with the orbitals of the calculation before: of the same atoms and basis set."""
        counted = self.counted()
        iterations = []

        def recording(*arguments, **options):
            done = counted(*arguments, **options)
            iterations.append((options["guess"] is not None, done.scalars["iterations"]))
            return done

        with unittest.mock.patch.object(sialx.ase, "calculate", recording):
            for directory in (None, self.dir / "kept"):
                iterations.clear()
                water = atoms(WATER, method="hf", basis="3-21g", directory=directory)
                water.get_potential_energy()
                water.positions[0, 2] -= 1e-4
                water.get_potential_energy()
                self.assertEqual([guess for guess, _ in iterations], [False, False])
                iterations.clear()
                water = atoms(WATER, method="hf", basis="3-21g", directory=directory, keep_orbitals=True)
                water.get_potential_energy()
                water.positions[0, 2] += 1e-4
                moved = water.get_potential_energy()
                self.assertEqual([guess for guess, _ in iterations], [False, True])
                self.assertLess(iterations[1][1], iterations[0][1])
                alone = water.copy()
                alone.calc = SIALX(method="hf", basis="3-21g")
                self.assertAlmostEqual(alone.get_potential_energy(), moved, delta=1e-7)
                water.calc.set(basis="sto-3g")
                water.get_potential_energy()
                self.assertEqual(iterations[-1][0], False)
                copied = copy.deepcopy(water.calc)
                water.positions[0, 2] += 1e-4
                copied.get_potential_energy(water)
                self.assertEqual(iterations[-1][0], False)  # a copy has nothing of its own yet
            again = SIALX(restart=self.dir / "kept")
            water.calc = again
            water.positions[0, 2] += 1e-4
            water.get_potential_energy()
            self.assertEqual(iterations[-1][0], True)

    def test_what_is_calculated_again(self):
        counted = self.counted()
        water = atoms(WATER, basis="sto-3g")
        water.get_potential_energy()
        water.get_potential_energy()
        water.get_dipole_moment()
        self.assertEqual(counted.number, 1)
        water.calc.set(basis="sto-3g")
        water.get_potential_energy()
        self.assertEqual(counted.number, 1)
        first = water.get_potential_energy()
        water.calc.set(basis="3-21g")
        self.assertEqual(water.calc.results, {})
        self.assertNotAlmostEqual(water.get_potential_energy(), first, delta=1)
        water.positions[0, 0] += 0.01
        water.get_potential_energy()
        self.assertEqual(counted.number, 3)

    def test_optimisation(self):
        water = atoms(WATER, method="hf", basis="sto-3g")
        self.assertTrue(BFGS(water, logfile=None).run(fmax=0.0005, steps=30))
        energy, distance, angle = MINIMA["sto-3g"]
        self.assertAlmostEqual(water.get_potential_energy() / Hartree, energy, delta=1e-7)
        for hydrogen in (1, 2):
            self.assertAlmostEqual(water.get_distance(0, hydrogen), distance, delta=2e-4)
        self.assertAlmostEqual(water.get_angle(1, 0, 2), angle, delta=0.03)

    def test_interrupted_optimisation(self):
        """It goes on from the files of optimiser and calculator, without a calculation done twice, on the path of one that was not interrupted."""
        whole = atoms(WATER, method="hf", basis="sto-3g")
        counted = self.counted()
        BFGS(whole, logfile=None, trajectory=str(self.dir / "whole.traj")).run(fmax=0.02)
        needed = counted.number
        files = {"restart": str(self.dir / "bfgs.json"), "trajectory": str(self.dir / "part.traj"), "logfile": None}
        first = atoms(WATER, method="hf", basis="sto-3g", directory=self.dir / "calculation")
        counted.number, counted.fails_at = 0, 4
        with self.assertRaisesRegex(errors.CalculationFailed, "stopped from outside"):
            BFGS(first, **files).run(fmax=0.02)
        counted.fails_at = None
        second = read(self.dir / "part.traj")
        second.calc = SIALX(restart=self.dir / "calculation")
        self.assertEqual((second.calc.parameters["method"], second.calc.parameters["basis"]), ("hf", "sto-3g"))
        self.assertTrue(BFGS(second, **{**files, "append_trajectory": True}).run(fmax=0.02))
        self.assertLessEqual(counted.number, needed + 2)  # the one that failed, and at most one more step
        self.assertAlmostEqual(second.get_potential_energy(), whole.get_potential_energy(), delta=2e-5)

    def test_kept_files(self):
        counted = self.counted()
        water = atoms(WATER, method="hf", basis="sto-3g", directory=self.dir / "kept")
        forces, energy = water.get_forces(), water.get_potential_energy()
        again = SIALX(restart=self.dir / "kept")
        other = again.get_atoms()
        before = counted.number
        self.assertEqual(other.get_potential_energy(), energy)
        np.testing.assert_array_equal(other.get_forces(), forces)
        self.assertEqual(counted.number, before)
        self.assertAlmostEqual(sialx.Results(self.dir / "kept").scalars["scf_energy"] * Hartree, energy, delta=1e-9)
        with self.assertRaisesRegex(errors.ReadError, "no calculation to go on from"):
            SIALX(restart=self.dir / "nowhere")

    def test_failures(self):
        water = atoms(WATER, method="hf", basis="3-21g", values={"scf_iter": 2})
        with self.assertRaisesRegex(errors.CalculationFailed, "the SCF did not converge: allow more iterations"):
            water.get_potential_energy()
        self.assertEqual(water.calc.results, {})
        water.calc.set(values=None)
        self.assertLess(water.get_potential_energy(), -2000)

    def refused(self, pattern, of=None, error=errors.InputError, **options):
        water = of or Atoms(WATER["symbols"], positions=WATER["positions"])
        with self.assertRaisesRegex(error, pattern):
            water.calc = SIALX(**options)
            water.get_potential_energy()

    def test_refusals(self):
        self.refused("`functional` is no parameter.*method, basis", basis="sto-3g", functional="pbe")
        self.refused("name a basis set")
        self.refused("the method `b3lyp` is not known", method="b3lyp", basis="sto-3g")
        self.refused("`ccsd` is for closed shells", method="ccsd", basis="sto-3g", multiplicity=3)
        self.refused("charge is a whole number", basis="sto-3g", charge=0.5)
        for pbc in (True, (False, False, True)):
            self.refused("periodic cell.*atoms.pbc = False", Atoms("He", cell=[5, 5, 5], pbc=pbc), basis="sto-3g")
        self.refused("atom 1 \\(`X`\\) is no element", Atoms("HeX", positions=[[0, 0, 0], [0, 0, 1]]), basis="sto-3g")
        with unittest.mock.patch.dict("os.environ", SIALRUN="", PATH=""):
            self.refused("sialrun is not on the PATH", basis="sto-3g", error=errors.CalculatorSetupError)


if __name__ == "__main__":
    use()
    import sialx
    import sialx.ase
    from sialx.ase import SIALX

    main()
