#!/usr/bin/env python3
"""What a finished SCF leaves for others: integrals over its orbitals as FCIDUMP, Mulliken charges, orbitals as the first guess of another job.

    after_scf.py --bin DIR [unittest arguments]"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

from harness import EXAMPLES, ROOT, InFolder, main

RHF, UHF = "04_rhf/rhf.sialx", "06_uhf/uhf.sialx"
CCSD_T = [RHF, "05_mp2/mp2.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx", "11_ccsd_t/ccsd_t.sialx"]
ENERGIES = ("scf_energy", "mp2_energy", "ccsd_energy", "t_energy")
TIGHT = "[values]\nscf_conv = 1e-12\ncc_conv = 1e-12\n"


class AfterScf(InFolder):
    def job(self, of, programs=(RHF,), more="", name="job.toml"):
        listed = ", ".join(f'"{EXAMPLES / program}"' for program in programs)
        (self.dir / name).write_text(f"programs = [{listed}]\n{of}\n{more}\n")
        return name

    def molecule(self, name="water", basis="cc-pvdz", more=""):
        return f'[molecule]\nxyz = "{EXAMPLES}/molecules/{name}.xyz"\nbasis = "{basis}"\n{more}\n'

    def scalars(self, *names):
        with h5py.File(self.dir / "results.h5") as f:
            return [float(f["scalars"][name][()]) for name in names]

    # --- integrals

    def test_fcidump(self):
        """The same energies from the file, with pure and Cartesian functions, a frozen core, potentials, and functions that the SCF left out."""
        ecp = ROOT / "tests" / "examples" / "ecp"
        cases = {
            "pure": (self.molecule(basis="6-31g**"), (), 1),
            "cartesian": (self.molecule(basis="6-31g*", more="spherical = false"), (), 1),
            "frozen": (self.molecule(basis="6-31g", more="frozen_core = true"), (), 2),
            "ecp": (f'[molecule]\nxyz = "{ecp}/hcl.xyz"\nbasis = "{ecp}/hcl.g94"\n', (), 1),
            "left out": (self.molecule(basis="6-31g*"), ("--set", "lindep_tol=1"), 1),
        }
        # From orbitals of one electron RHF of N2 ends 0.7 hartree higher.
        (self.dir / "n2.xyz").write_text("2\n\nN 0 0 0\nN 0 0 1.1\n")
        cases["n2"] = (f'[molecule]\nxyz = "{self.dir}/n2.xyz"\nbasis = "sto-3g"\n', (), 1)
        for name, (molecule, options, ranks) in cases.items():
            with self.subTest(case=name):
                self.said(self.job(molecule, CCSD_T, TIGHT), "--fcidump", "integrals", *options, ranks=ranks)
                expected = self.scalars(*ENERGIES)
                self.said(self.job('[hamiltonian]\nfcidump = "integrals"', CCSD_T, TIGHT))
                np.testing.assert_allclose(self.scalars(*ENERGIES), expected, rtol=0, atol=1e-10)
                # Once more, from orbitals of these orbitals.
                self.said("job.toml", "--fcidump", "again")
                self.said(self.job('[hamiltonian]\nfcidump = "again"', CCSD_T, TIGHT))
                np.testing.assert_allclose(self.scalars(*ENERGIES), expected, rtol=0, atol=1e-10)
                if name == "frozen":
                    self.assertIn("NORB=12,NELEC=8,MS2=0", (self.dir / "integrals").read_text())
                if name == "left out":
                    self.assertIn("NORB=17,", (self.dir / "integrals").read_text())

    def test_fcidump_in_pyscf(self):
        try:
            from pyscf import cc, tools
        except ImportError:
            self.skipTest("PySCF is not installed")
        self.said(self.job(self.molecule(basis="6-31g", more="frozen_core = true"), CCSD_T, TIGHT + '[output]\nfcidump = "integrals"\n'))
        mf = tools.fcidump.to_scf(str(self.dir / "integrals"))
        mf.verbose, mf.conv_tol = 0, 1e-12
        mf.kernel()
        scf, ccsd = self.scalars("scf_energy", "ccsd_energy")
        self.assertAlmostEqual(mf.e_tot, scf, delta=1e-9)
        self.assertAlmostEqual(cc.RCCSD(mf).run(verbose=0, conv_tol=1e-11).e_corr, ccsd, delta=1e-8)

    def test_fcidump_refused(self):
        job = self.job(self.molecule(basis="sto-3g", more="charge = 1\nmultiplicity = 2"), (UHF,))
        self.assertRegex(self.said(job, "--fcidump", "o", code=2), "orbitals of a closed shell, and no program of the job saves them\n.*UHF")
        (self.dir / "plain.sialx").write_text("sial plain\nscalar x\nx = 1.0\nendsial plain\n")
        self.assertRegex(self.said("plain.sialx", "--fcidump", "o", code=2), "neither .molecule. nor .hamiltonian.")
        (self.dir / "mine.txt").write_text("my notes\n")
        job = self.job(self.molecule(basis="sto-3g"))
        self.assertRegex(self.said(job, "--fcidump", "mine.txt", code=2), "would replace `./mine.txt`, which no job has written\n.*`--fcidump`")
        self.assertEqual((self.dir / "mine.txt").read_text(), "my notes\n")
        self.said(job, "--fcidump", "integrals")
        self.said(job, "--fcidump", "integrals")  # an earlier one is replaced

    # --- charges

    def test_mulliken(self):
        """Against the overlap that the program has, of both spins; none for orbitals that are not the molecule's."""
        cases = ((self.molecule(), RHF), (self.molecule("amidogen", "6-31g*", "multiplicity = 2"), UHF), (self.molecule(basis="6-31g*", more="spherical = false"), RHF))
        for molecule, program in cases:
            self.said(self.job(molecule, (program,)))
            with h5py.File(self.dir / "results.h5") as f:
                charges, z, saved = f["properties/mulliken_charges"][...], f["molecule/charges"][...], f["saved/statics"]
                self.assertEqual(f["properties/mulliken_charges"].attrs["units"].decode(), "e")
                s, c = f["statics/s"][...], [saved["c"][...]] * 2 if "c" in saved else [saved["ca"][...], saved["cb"][...]]
                odd = f["molecule"].attrs["multiplicity"] - 1
                electrons = int(z.sum() - f["molecule"].attrs["charge"])
                heavy = z > 1
            occupied = ((electrons + odd) // 2, (electrons - odd) // 2)
            density = sum(x[:n].T @ x[:n] for x, n in zip(c, occupied))
            self.assertAlmostEqual(charges.sum(), 0.0, delta=1e-8)
            populations = (density * s).sum(axis=1)
            functions = populations.size - 2 * {"cc-pvdz": 5, "6-31g*": 2}[re.findall('basis = "(.*)"', molecule)[0]]
            of_heavy = populations[:functions].sum() if heavy[0] else populations[-functions:].sum()
            self.assertAlmostEqual(float(charges[heavy][0]), float(z[heavy][0] - of_heavy), delta=1e-9)
        (self.dir / "other.sialx").write_text(
            "sial other\npredefined int norb\naoindex m = 1:norb\naoindex n = 1:norb\nstatic c[m,n]\ndo m\ndo n\nc[m,n] = 1.0\nenddo n\nenddo m\nset_persistent c \"c\"\nendsial other\n")
        (self.dir / "job.toml").write_text('programs = ["other.sialx"]\n' + self.molecule(basis="sto-3g"))
        self.said("job.toml")
        with h5py.File(self.dir / "results.h5") as f:
            self.assertNotIn("properties", f)
        self.assertRegex(self.said("job.toml", "--fcidump", "integrals", code=1), "saved as \"c\" is not orthonormal orbitals")

    # --- first guess

    def test_guess(self):
        """Converged orbitals need one iteration to be found so, of both spins; those of another basis set or other atoms are left out, and it is said."""
        for program, molecule, iterations in ((RHF, self.molecule(), "iterations"), (UHF, self.molecule(more="charge = 1\nmultiplicity = 2"), "count")):
            self.said(self.job(molecule, (program,)))
            first, energy = self.scalars(iterations, "scf_energy")
            self.said("job.toml", "--guess", "results.h5", ranks=2)
            again, same = self.scalars(iterations, "scf_energy")
            self.assertLess(again, first / 2)
            self.assertAlmostEqual(same, energy, delta=1e-9)
            self.said(self.job(molecule, (program,), '[run]\nguess = "results.h5"\n'))
            self.assertEqual(self.scalars(iterations), [again])
            (self.dir / "elsewhere").mkdir(exist_ok=True)
            self.said("../job.toml", cwd=self.dir / "elsewhere")  # a name in the job file is relative to that
            with h5py.File(self.dir / "elsewhere" / "results.h5") as f:
                self.assertEqual(float(f["scalars"][iterations][()]), again)
        self.said(self.job(self.molecule(basis="6-31g"), name="other.toml"), "--results", "other.h5")
        self.said(self.job(self.molecule()))
        first = self.scalars("iterations")
        said = self.said("job.toml", "--guess", "other.h5")
        self.assertRegex(said, "warning: the orbitals in `other.h5` are no first guess for this job: its basis was 6-31g, not cc-pvdz")
        self.assertEqual(self.scalars("iterations"), first)
        self.said(self.job(self.molecule("neon"), name="other.toml"), "--results", "other.h5")
        self.assertRegex(self.said("job.toml", "--guess", "other.h5"), "no first guess for this job: it had 1 atoms, not 3")
        self.assertRegex(self.said("job.toml", "--guess", "missing.h5", code=2), "missing.h5")

    # --- names

    def test_names_of_basis_sets(self):
        for star, name in (("6-31g*", "6-31G(d)"), ("6-31g**", "6-31G(d,p)"), ("6-311g**", "6-311G(d, p)")):
            energies = []
            for basis in (star, name):
                self.said(self.job(self.molecule(basis=basis)))
                energies += self.scalars("scf_energy")
            self.assertEqual(*energies)
        self.assertRegex(self.said(self.job(self.molecule(basis="3-21G(d)")), code=2), "unknown basis `3-21G.d.`")
        self.assertRegex(self.said(self.job(self.molecule(basis="6-31G(2df)")), code=2), "unknown basis")


if __name__ == "__main__":
    main()
