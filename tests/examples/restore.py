#!/usr/bin/env python3
"""Results of one job taken up by another, on other numbers of ranks; orbitals of an RHF job by an MP2 job.

    restore.py --bin DIR
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy

from harness import BIN, ROOT, InFolder, main, mpirun, run

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


class Restore(InFolder):
    def job(self, name, text, ranks, *more, code=0):
        path = self.dir / f"{name}.toml"
        path.write_text(text)
        self.messages = run(*mpirun(ranks), BIN / "sialrun", path, "--output-dir", self.dir / name, *more, code=code).stderr
        return self.dir / name / "results.h5"

    def test_all_sorts(self):
        segments = "[segments]\nao = [2, 3, 1]\n"
        first = self.job("first", f'programs = ["{PROGRAMS}/saves.sialx"]\n{segments}', 3)
        with h5py.File(first) as f:
            # SIAL's d[i,j] is the transpose of what h5py shows; j runs over segments 2 and 3.
            d = f["saved/arrays/the array"][()].T
            self.assertEqual(d.shape, (6, 4))
            self.assertEqual(list(f["saved/arrays/the array"].attrs["first_segment"]), [1, 2])
            numpy.testing.assert_array_equal(d[0:2, 0:3], (120 + numpy.arange(6.0)).reshape(3, 2).T)
            numpy.testing.assert_array_equal(d[5:6, 0:3], 0.0)
            self.assertEqual(sorted(map(tuple, f["saved/blocks/the array"][()])), [(1, 2), (1, 3), (2, 2), (2, 3), (3, 3)])
            numpy.testing.assert_array_equal(f["saved/statics/s"][()], [1, 2, 2, 3, 4, 3])
            self.assertEqual(f["saved/scalars/x%2Fy"][()], 2.5)
        for ranks, more in ((1, ()), (2, ()), (4, ("--ranks-per-node", "1"))):
            with self.subTest(ranks=ranks, more=more):
                text = f'programs = ["{PROGRAMS}/restores.sialx"]\n{segments}[restore]\nfile = "first/results.h5"\n'
                second = self.job(f"second{ranks}", text, ranks, *more)
                with h5py.File(second) as f:
                    self.assertEqual(f["scalars/y"][()], 2.5)
                    self.assertEqual(f["scalars/deviation"][()], 0.0)
                    self.assertAlmostEqual(f["scalars/norm"][()], numpy.sum(d * d), delta=1e-6)
                    self.assertEqual(f["scalars/start"][()], 1 + 4 + 4 + 9 + 16 + 9)
                    numpy.testing.assert_array_equal(f["saved/arrays/the array"][()].T, d)

    def test_other_segments(self):
        self.job("first", f'programs = ["{PROGRAMS}/saves.sialx"]\n[segments]\nao = [2, 3, 1]\n', 1)
        text = f'programs = ["{PROGRAMS}/restores.sialx"]\n[segments]\nao = [3, 2, 1]\n[restore]\nfile = "first/results.h5"\n'
        self.job("second", text, 2, code=1)
        self.assertIn("do not have the same segments", self.messages)
        self.assertIn("add `--segments ao=2,3,1`", self.messages)
        self.job("second", text, 2, "--segments", "ao=2,3,1")

    def test_orbitals(self):
        molecule = f'[molecule]\nxyz = "{ROOT}/examples/molecules/water.xyz"\nbasis = "cc-pvdz"\n[segments]\nao_target = 8\nvirt_target = 7\n'
        self.job("rhf", f'programs = ["{ROOT}/examples/04_rhf/rhf.sialx"]\n{molecule}', 2)
        done = self.job("mp2", f'programs = ["{ROOT}/examples/05_mp2/mp2.sialx"]\n{molecule}[restore]\nfile = "rhf/results.h5"\n', 3)
        want = json.loads((ROOT / "examples/05_mp2/expected.json").read_text())["scalars"]["mp2_energy"]
        self.assertNotIn("another molecule", self.messages)
        with h5py.File(done) as f:
            self.assertAlmostEqual(f["scalars/mp2_energy"][()], want["value"], delta=want["tolerance"])


    def test_another_molecule(self):
        """Orbitals of a stretched molecule have the same shapes: only the file can tell."""
        atoms = "O 0 0 0\nH 0 0.76 0.59\nH 0 -0.76 {}\n"
        for name, z in (("near", "0.59"), ("far", "0.69")):
            (self.dir / f"{name}.xyz").write_text("3\n\n" + atoms.format(z))
        molecule = '[molecule]\nxyz = "{}.xyz"\nbasis = "sto-3g"\n'
        self.job("rhf", f'programs = ["{ROOT}/examples/04_rhf/rhf.sialx"]\n{molecule.format("near")}', 1)
        mp2 = f'programs = ["{ROOT}/examples/05_mp2/mp2.sialx"]\n[restore]\nfile = "rhf/results.h5"\n'
        self.job("same", mp2 + molecule.format("near"), 1)
        self.assertNotIn("another molecule", self.messages)
        self.job("other", mp2 + molecule.format("far"), 2)
        self.assertIn("warning: the results to restore are those of another molecule: atom 3 (H) lay 0.1 Angstrom from where it is now\n  hint: what is restored from `", self.messages)
        self.assertEqual(self.messages.count("another molecule"), 1)


if __name__ == "__main__":
    main()
