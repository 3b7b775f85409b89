#!/usr/bin/env python3
"""Molecules and segmentations at the edge of what RHF and MP2 are for: right numbers, or one clear error of the program or the job.

    scf_edges.py --bin DIR

Reference values are PySCF 2.14's, SCF converged to 1e-13; the nearly dependent basis with the smallest eigenvalue of the overlap dropped.
"""
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py

from harness import ROOT, main, sialrun

HERE = pathlib.Path(__file__).resolve().parent
WATER = {"scf_energy": -74.9629282708, "mp2_energy": -0.0354926446}


class Edges(unittest.TestCase):
    def run_job(self, molecule, basis, more="", segments="", values="", ranks=1):
        """(exit code, both streams, scalars of results.h5) of RHF and MP2."""
        with tempfile.TemporaryDirectory(prefix="sialx-edges-") as name:
            folder = pathlib.Path(name)
            xyz = ROOT / f"examples/molecules/{molecule}.xyz"
            if not xyz.exists():
                xyz = folder / "atom.xyz"
                xyz.write_text(f"1\n\n{molecule} 0 0 0\n")
            (folder / "job.toml").write_text(
                f'programs = ["{ROOT}/examples/04_rhf/rhf.sialx", "{ROOT}/examples/05_mp2/mp2.sialx"]\n'
                f'[molecule]\nxyz = "{xyz}"\nbasis = "{basis}"\n{more}\n[segments]\n{segments}\n[values]\n{values}\n')
            done = sialrun("job.toml", ranks=ranks, code=None, cwd=folder)
            scalars = {}
            if (folder / "results.h5").exists():
                with h5py.File(folder / "results.h5") as f:
                    scalars = {n: float(f["scalars"][n][()]) for n in f["scalars"]}
            return done.returncode, done.stdout + done.stderr, scalars

    def right(self, want, *args, **more):
        code, text, scalars = self.run_job(*args, **more)
        self.assertEqual(code, 0, text)
        for name, value in want.items():
            self.assertAlmostEqual(scalars[name], value, delta=1e-9, msg=name)
        return text

    def test_convergence_threshold(self):
        """scf_conv says when to stop: fewer iterations, and energies as near as it asks for."""
        table = r"(?m)^\s+(\d+)\s+-\d+\.\d+\s+\S+\s+(\S+)$"
        rows = {}
        for conv in ("1e-10", "1e-6"):
            code, text, scalars = self.run_job("water", "sto-3g", values=f"scf_conv = {conv}")
            self.assertEqual(code, 0, text)
            rows[conv] = [(int(n), float(x)) for n, x in re.findall(table, text)]
            self.assertAlmostEqual(scalars["scf_energy"], WATER["scf_energy"], delta=max(1e-9, float(conv)))
            self.assertLess(rows[conv][-1][1], 10 * float(conv))
        self.assertLess(len(rows["1e-6"]), len(rows["1e-10"]))

    def refused(self, messages, *args, **more):
        code, text, _ = self.run_job(*args, **more)
        self.assertIn(code, (1, 2), text)
        for m in messages:
            self.assertIn(m, text)
        self.assertEqual(text.count("error:"), 1, text)
        return text

    def test_one_segment(self):
        self.right(WATER, "water", "sto-3g")

    def test_one_orbital_per_segment(self):
        one_each = "ao = [1, 1, 3, 1, 1]\nocc = [1, 1, 1, 1, 1]\nvirt = [1, 1]"
        self.right(WATER, "water", "sto-3g", segments=one_each)
        self.right(WATER, "water", "sto-3g", segments=one_each, ranks=3)

    def test_one_orbital_in_all(self):
        text = self.refused(["no virtual orbitals", "mp2.sialx"], "He", "sto-3g")
        self.assertIn("-2.8077839566", text)  # RHF before it is fine

    def test_near_linear_dependence(self):
        # The three highest occupied orbitals have positive energies: what is dropped must not come before them.
        basis = str(HERE / "dependent.g94")
        want = {"scf_energy": -74.05629827114825, "mp2_energy": -0.01642929236260379}
        for more in ({}, {"ranks": 2, "segments": "ao = [1, 1, 3, 2]\nocc = [2, 3]"}):
            text = self.right(want, "hydroxide", basis, "charge = -1", values="lindep_tol = 5", **more)
            self.assertIn("functions dropped", text)
        self.assertNotIn("functions dropped", self.run_job("hydroxide", basis, "charge = -1", values="lindep_tol = 12")[1])

    def test_electrons(self):
        def not_computed(text):
            self.assertNotIn("iteration", text)

        not_computed(self.refused(["multiplicity 1", "9 electrons", "job.toml"], "amidogen", "sto-3g"))
        not_computed(self.refused(["multiplicity 2", "even number", "job.toml"], "water", "sto-3g", "multiplicity = 2"))
        not_computed(self.refused(["unpaired electrons", "uhf.sialx"], "amidogen", "sto-3g", "multiplicity = 2"))
        not_computed(self.refused(["unpaired electrons"], "hydrogen", "cc-pvdz", "multiplicity = 2", ranks=2))
        not_computed(self.refused(["no electrons"], "hydrogen", "cc-pvdz", "charge = 1"))
        not_computed(self.refused(["do not fit into 1 basis functions"], "He", "sto-3g", "charge = -2"))
        not_computed(self.refused(["do not fit"], "hydrogen", "cc-pvdz", "charge = 2"))

    def test_frozen(self):
        self.refused(["all occupied ones are frozen", "mp2.sialx"], "water", "sto-3g", "frozen_core = 5")
        self.refused(["freezes 6 orbitals", "job.toml"], "water", "sto-3g", "frozen_core = 6")


if __name__ == "__main__":
    main()
