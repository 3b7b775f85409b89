#!/usr/bin/env python3
"""sialx.optimize() with geomeTRIC: minima beside those of PySCF, constraints, a transition state, and what cannot be optimised.

    geometry.py --bin DIR [unittest arguments]

Exits with 77 where geomeTRIC is missing.
"""
import logging
import pathlib
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

from harness import InFolder, main
from needed import need, use
from reference_gradients import MINIMA, WATER

need("geometric", "h5py")

BOHR = 0.52917721092


def distance(geometry, a, b):
    return float(np.linalg.norm(geometry[a] - geometry[b])) * BOHR


def angle(geometry, a, b, c):
    u, v = geometry[a] - geometry[b], geometry[c] - geometry[b]
    return float(np.degrees(np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))))


class Heard(logging.Handler):
    """Names of the loggers that were heard of."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.names.append(record.name)


class Geometries(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.water = sialx.Molecule(WATER["symbols"], np.array(WATER["positions"]) / BOHR, "sto-3g")

    def test_minimum(self):
        handler = Heard()
        logging.getLogger().addHandler(handler)
        self.addCleanup(logging.getLogger().removeHandler, handler)
        done = sialx.optimize(self.water, "hf", folder=self.dir / "opt", options={"convergence_set": "GAU_TIGHT"})
        energy, bond, bend = MINIMA["sto-3g"]
        self.assertTrue(done.converged)
        # PySCF's digits of the basis set differ.
        self.assertAlmostEqual(done.energy, energy, delta=1e-7)
        for hydrogen in (1, 2):
            self.assertAlmostEqual(distance(done.molecule.coordinates, 0, hydrogen), bond, delta=2e-5)
        self.assertAlmostEqual(angle(done.molecule.coordinates, 1, 0, 2), bend, delta=5e-3)
        self.assertEqual(done.geometries.shape, (len(done.energies), 3, 3))
        np.testing.assert_allclose(done.geometries[0], self.water.coordinates, atol=1e-12)
        np.testing.assert_array_equal(done.geometries[-1], done.molecule.coordinates)
        self.assertEqual(done.energy, done.energies[-1])
        self.assertLess(done.energies[-1], done.energies[0])
        self.assertGreaterEqual(done.calculations, len(done.energies))
        self.assertEqual(done.molecule.basis, "sto-3g")
        self.assertEqual((self.dir / "opt" / "path.xyz").read_text().count("\n"), 5 * len(done.energies))
        self.assertIn("Converged!", (self.dir / "opt" / "log.txt").read_text())
        self.assertEqual([r for r in handler.names if r.startswith("geometric")], [])
        self.assertIn("converged, energy -74.96590", repr(done))
        # Energies along the path are those of the geometries.
        again = sialx.calculate(done.molecule, "hf", folder=self.dir / "again")
        self.assertAlmostEqual(again.energy, done.energy, delta=1e-9)

    def test_not_converged(self):
        done = sialx.optimize(self.water, "hf", folder=self.dir / "two", steps=2)
        self.assertFalse(done.converged)
        self.assertIn("not converged", repr(done))
        self.assertEqual(len(done.energies), 3)

    def test_first_guess(self):
        """Where it is asked for, each step begins with the orbitals of the one before."""
        iterations, original = [], sialx.optimization.calculate

        def recording(*arguments, **options):
            done = original(*arguments, **options)
            iterations.append((options["guess"] is not None, done.scalars["iterations"]))
            return done

        with unittest.mock.patch.object(sialx.optimization, "calculate", recording):
            sialx.optimize(self.water, "hf", folder=self.dir / "guess")
            self.assertEqual([guess for guess, _ in iterations], [False] * len(iterations))
            iterations.clear()
            sialx.optimize(self.water, "hf", folder=self.dir / "guess", keep_orbitals=True)
        self.assertEqual([guess for guess, _ in iterations], [False] + [True] * (len(iterations) - 1))
        self.assertLess(iterations[-1][1], iterations[0][1])

    def test_constraints(self):
        done = sialx.optimize(self.water, "hf", folder=self.dir / "fixed", constraints="$set\nangle 2 1 3 120.0\n")
        self.assertTrue(done.converged)
        self.assertAlmostEqual(angle(done.molecule.coordinates, 1, 0, 2), 120.0, delta=0.05)
        self.assertGreater(done.energy, MINIMA["sto-3g"][0] + 1e-3)

    def test_transition_state(self):
        """Ammonia passes through a plane: of D3h symmetry, above the pyramid."""
        corners = [[1.0, 0.0, 0.1], [-0.5, np.sqrt(0.75), 0.1], [-0.5, -np.sqrt(0.75), 0.1]]
        ammonia = sialx.Molecule(["N", "H", "H", "H"], np.array([[0, 0, 0], *corners]) / BOHR, "sto-3g")
        done = sialx.optimize(ammonia, "hf", folder=self.dir / "top", transition=True, coordinates="dlc")
        self.assertTrue(done.converged)
        angles = [angle(done.molecule.coordinates, a, 0, b) for a, b in ((1, 2), (2, 3), (3, 1))]
        np.testing.assert_allclose(angles, 120.0, atol=0.1)

    def refused(self, pattern, molecule, error=ValueError, **options):
        with self.assertRaisesRegex(error, pattern):
            sialx.optimize(molecule, folder=self.dir / "refused", **options)

    def test_refusals(self):
        self.refused("a single atom", sialx.Molecule(["He"], [[0, 0, 0]], "sto-3g"))
        self.refused("coordinates `zmat` are not known.*tric", self.water, coordinates="zmat")
        self.refused("ask for a scan", self.water, constraints="$scan\ndistance 1 2 0.9 1.1 3\n")
        self.refused('need coordinates "tric"', self.water, coordinates="cart", constraints="$freeze\ndistance 1 2\n")
        self.refused("0 steps", self.water, steps=0)
        self.refused("the method `pbe` is not known", self.water, method="pbe")
        self.refused("unexpected keyword argument 'functional'", self.water, TypeError, functional="pbe")
        self.refused("the SCF did not converge", self.water, sialx.JobError, values={"scf_iter": 2})
        with unittest.mock.patch.dict(sys.modules, geometric=None):
            self.refused("needs geomeTRIC: pip install geometric", self.water, ImportError)


if __name__ == "__main__":
    use()
    import sialx

    main()
