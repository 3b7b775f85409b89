#!/usr/bin/env python3
"""Gradients by central differences against analytic ones (references.json), on one and two ranks, and what is refused.

    run_gradients.py --bin DIR
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

from gradient_jobs import REFERENCES, Runs, gradient_of, run, write_job
from harness import EXAMPLES, main


class Gradients(Runs):
    def test_analytic(self):
        for molecule, displaced in (("water", 6), ("formaldehyde", 8)):
            for method in ("rhf", "uhf", "mp2", "ccsd", "ccsd_t"):
                if (molecule, method) == ("formaldehyde", "uhf"):
                    continue  # its closed shell is not the minimum of UHF
                with self.subTest(molecule=molecule, method=method):
                    values, attributes, printed = self.gradient(molecule, method)
                    reference = np.array(REFERENCES[molecule]["rhf" if method == "uhf" else method])
                    worst = abs(values - reference).max()
                    print(f"{molecule} {method}: {worst:.1e}", flush=True)
                    self.assertLess(worst, 1e-6)
                    self.assertEqual(attributes["displacements"], displaced)
                    self.assertEqual(attributes["units"].decode() if isinstance(attributes["units"], bytes) else attributes["units"], "hartree/bohr")
                    self.assertIn(f"{displaced} displaced jobs; ", printed)
                    self.assertIn("scf_conv = 1e-11", printed)

    def test_ranks_and_symmetry(self):
        one, _, _ = self.gradient("water", "mp2")
        two, _, _ = self.gradient("water", "mp2", ranks=2)
        self.assertLess(abs(one - two).max(), 2e-8)
        alone, attributes, printed = self.gradient("water", "mp2", "--gradient-symmetry", "off")
        self.assertEqual(attributes["displacements"], 18)
        self.assertIn("symmetry is not used", printed)
        self.assertLess(abs(one - alone).max(), 5e-7)

    def test_states_without_the_symmetry_of_the_nuclei(self):
        """Two electrons too many for the degenerate orbitals of a square: RHF takes one of these."""
        square = [["H", [x, y, 0.0]] for x in (0.7, -0.7) for y in (0.7, -0.7)]
        job = write_job(self.folder, "square", "rhf", square)
        done = run(self.folder, job, "--gradient", "scf_energy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("less symmetry than the nuclei", done.stderr)
        values, attributes = gradient_of(self.folder)
        self.assertGreater(attributes["displacements"], 6)
        self.assertLess(abs(values - self.gradient("square", "rhf", "--gradient-symmetry", "off", atoms=square)[0]).max(), 1e-6)

    def test_nearly_symmetric(self):
        """Ammonia in any orientation, rounded as xyz files are: symmetric to about the tolerance."""
        axis, around = np.array([1.0, 2.0, 2.0]) / 3, np.array([2.0, 1.0, -2.0]) / 3
        other = np.cross(axis, around)
        places = [np.zeros(3)] + [0.38 * axis + 0.94 * (np.cos(t) * around + np.sin(t) * other) for t in np.radians([0, 120, 240])]
        for digits in (5, 6):
            atoms = [[symbol, list(np.round(place + 0.123, digits))] for symbol, place in zip("NHHH", places, strict=True)]
            auto, off = (self.gradient("ammonia", "rhf", "--gradient-symmetry", s, atoms=atoms)[0] for s in ("auto", "off"))
            self.assertLess(abs(auto - off).max(), 2e-6)

    def test_two_kinds_of_orbitals(self):
        """Programs after one another that start from orbitals of their own."""
        job = write_job(self.folder, "water", "rhf")
        job.write_text(job.read_text().replace("rhf.sialx\"", f"rhf.sialx\", \"{EXAMPLES / '06_uhf/uhf.sialx'}\""))
        done = run(self.folder, job, "--gradient", "scf_energy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(abs(gradient_of(self.folder)[0] - np.array(REFERENCES["water"]["rhf"])).max(), 1e-6)

    def test_batch(self):
        """Jobs of a batch in one world keep nothing of each other's molecules."""
        atoms = [[symbol, [x, 1.1 * y, z]] for symbol, (x, y, z) in REFERENCES["water"]["atoms"]]
        lines = []
        for name, places in (("one", REFERENCES["water"]["atoms"]), ("two", atoms)):
            folder = self.folder / name
            folder.mkdir()
            lines.append(str(write_job(folder, "water", "rhf", places)))
        (self.folder / "list").write_text("\n".join(lines) + "\n")
        energies = [re.findall(r"scf_energy = (\S+)", run(self.folder, *a).stdout) for a in (["--transport", "mpi", "--batch", "list"], ["--batch", "list"])]
        self.assertEqual(len(energies[0]), 2)
        for together, alone in zip(*energies, strict=True):
            self.assertAlmostEqual(float(together), float(alone), delta=1e-9)

    def test_open_shell_and_frozen_core(self):
        """Translation and rotation leave one direction of a diatomic molecule, and the sum of forces vanishes."""
        atoms = [["O", [0.0, 0.0, 0.0]], ["H", [0.0, 0.6, 0.8]]]
        values, attributes, _ = self.gradient("hydroxyl", "uhf", atoms=atoms, extra="multiplicity = 2\nfrozen_core = true\n")
        self.assertEqual(attributes["displacements"], 2)
        self.assertLess(abs(values.sum(axis=0)).max(), 1e-10)
        self.assertLess(abs(values[0][0]), 1e-10)
        self.assertLess(abs(values[0][1] * 0.8 - values[0][2] * 0.6), 1e-10)

    def test_orbital_files(self):
        """They are those of the molecule as it was given, not of the last displaced one."""
        files = ["--molden", "m.molden", "--trexio", "t.h5"]
        job = write_job(self.folder, "water", "rhf")
        plain = run(self.folder, job, *files)
        if "built without TREXIO" in plain.stderr:
            files = files[:2]
            plain = run(self.folder, job, *files)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        whole = (self.folder / "m.molden").read_text()
        self.gradient("water", "rhf", *files)
        atoms = whole[whole.index("[Atoms]") : whole.index("[GTO]")]
        self.assertIn(atoms, (self.folder / "m.molden").read_text())
        if "t.h5" in files:
            with h5py.File(self.folder / "t.h5") as file:
                places = np.array(file["nucleus/nucleus_coord"]).reshape(-1, 3)
            np.testing.assert_allclose(places * 0.52917721092, [place for _, place in REFERENCES["water"]["atoms"]], rtol=0, atol=1e-9)

    def test_loose_convergence_and_other_scalars(self):
        job = write_job(self.folder, "water", "rhf")
        done = run(self.folder, job, "--gradient", "scf_energy", "--set", "scf_conv=1e-6")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("scf_conv = 1e-06 is loose", done.stderr)
        done = run(self.folder, job, "--gradient", "dipole_z")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("loose", done.stderr)
        values, attributes = gradient_of(self.folder)
        self.assertIn("scalar's own unit", str(attributes["units"]))
        self.assertLess(abs(values.sum(axis=0)).max(), 1e-3)  # translation does not change the dipole of a neutral molecule
        self.assertEqual(attributes["displacements"], 18)

    def test_refused(self):
        job = write_job(self.folder, "water", "rhf")
        for arguments, code, words in (
            ([job, "--gradient", "scf_enrgy"], 2, "did you mean `scf_energy`"),
            ([job, "--gradient", "scf_energy", "--gradient-step", "3"], 2, "a step of 3 bohr"),
            ([job, "--gradient", "scf_energy", "--restart"], 2, "do not go together"),
            ([job, "--gradient", "scf_energy", "--set", "scf_iter=3"], 1, "did not converge"),
            ([EXAMPLES / "01_hello/hello.sialx", "--gradient", "x"], 2, "no [molecule]"),
            ([job, "--gradient-step", "0.01"], 2, "no scalar"),
        ):
            with self.subTest(arguments=arguments):
                done = run(self.folder, *arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(words, done.stdout + done.stderr)
                self.assertNotIn("gradient of scf_energy, hartree/bohr", done.stdout)
                if code == 2:
                    self.assertEqual(done.stdout, "")  # nothing has run

    def test_job_file(self):
        job = write_job(self.folder, "water", "rhf", extra='\n[gradient]\nscalar = "scf_energy"\nstep = 0.002\n')
        done = run(self.folder, job)
        self.assertEqual(done.returncode, 0, done.stderr)
        values, attributes = gradient_of(self.folder)
        self.assertEqual(attributes["step"], 0.002)
        self.assertLess(abs(values - np.array(REFERENCES["water"]["rhf"])).max(), 4e-6)
        job.write_text(job.read_text().replace('scalar = "scf_energy"\n', ""))
        self.assertEqual(run(self.folder, job, "--gradient", "scf_energy").returncode, 0)  # the command line completes it
        (self.folder / "list").write_text(f"{job}\n")
        job.write_text(job.read_text().replace("[gradient]\n", '[gradient]\nscalar = "scf_energy"\n'))
        done = run(self.folder, "--batch", "list")
        self.assertEqual(done.returncode, 2)
        self.assertIn("a job of a batch has no gradient", done.stderr)


if __name__ == "__main__":
    main()
