#!/usr/bin/env python3
"""Jobs whose integrals come from an FCIDUMP file: against exact energies and the same molecule by itself, and files that are refused.  hamiltonian.py --bin DIR [unittest arguments]"""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

from harness import BIN, ENV, EXAMPLES, ROOT, InFolder, main

sys.path.insert(0, str(ROOT / "runtime" / "python"))

import sialx  # noqa: E402

CCSD = ["04_rhf/rhf.sialx", "05_mp2/mp2.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx"]
HEAD = "&FCI NORB=2,NELEC=2,MS2=0,\n ORBSYM=1,1,\n ISYM=1,\n&END\n"
ARRAYS = """sial arrays
predefined int eavirt
predefined scalar given_core_energy
moaindex p = 1:eavirt
moaindex q = 1:eavirt
moaindex r = 1:eavirt
moaindex s = 1:eavirt
predefined static given_one_electron[p,q]
predefined static given_orbital_energies[p]
predefined distributed given_integrals[p,q,r,s]
static h[p,q]
static e[p]
distributed v[p,q,r,s]
scalar core
core = given_core_energy
do p
  e[p] = given_orbital_energies[p]
  do q
    h[p,q] = given_one_electron[p,q]
  enddo q
enddo p
pardo p, q, r, s
  get given_integrals[p,q,r,s]
  put v[p,q,r,s] = given_integrals[p,q,r,s]
endpardo p, q, r, s
sip_barrier
set_persistent v "v"
endsial arrays
"""


def random_hamiltonian(n: int, electrons: int, seed: int) -> "sialx.Hamiltonian":
    """With repulsion that is weak beside the distances of the levels."""
    random = np.random.default_rng(seed)
    factors = random.normal(size=(4, n, n)) * 0.2
    factors = factors + factors.transpose(0, 2, 1) + 0.5 * np.eye(n)
    h = 0.1 * random.normal(size=(n, n))
    return sialx.Hamiltonian((h + h.T) / 2 + np.diag(np.arange(n) * 1.5 - 3.0), 0.25 * np.einsum("apq,ars->pqrs", factors, factors), electrons, core_energy=0.75)


def two_electrons(h: "sialx.Hamiltonian") -> float:
    """Full configuration interaction: the lowest eigenvalue over products of orbitals of the two electrons."""
    n, one = h.orbitals, np.eye(h.orbitals)
    matrix = np.einsum("pr,qs->pqrs", h.one_electron, one) + np.einsum("pr,qs->pqrs", one, h.one_electron) + h.two_electron.transpose(0, 2, 1, 3)
    return float(np.linalg.eigvalsh(matrix.reshape(n * n, n * n))[0]) + h.core_energy


class Hamiltonian(InFolder):
    def job(self, programs, more="", segments="ao_target = 3\nocc_target = 1\nvirt_target = 2\n"):
        lines = ", ".join(f'"{EXAMPLES / p}"' for p in programs)
        job = self.dir / "job.toml"
        job.write_text(f'programs = [{lines}]\n[hamiltonian]\nfcidump = "FCIDUMP"\n{more}\n[segments]\n{segments}')
        return job

    def scalars(self):
        with h5py.File(self.dir / "results.h5", "r") as f:
            return {name: float(f["scalars"][name][()]) for name in f["scalars"]}

    def test_models(self):
        """The script writes the files of the example, and says how it is called."""
        script = [sys.executable, str(EXAMPLES / "20_hamiltonian" / "make_models.py")]
        with tempfile.TemporaryDirectory() as folder:
            said = subprocess.run([*script, "--help"], cwd=folder, capture_output=True, text=True, check=True)
            self.assertRegex(said.stdout, "(?s)usage: make_models.py.*existing folder")
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
            subprocess.run([*script, folder], check=True)
            for name in ("hubbard.FCIDUMP", "benzene.FCIDUMP"):
                self.assertEqual((pathlib.Path(folder) / name).read_text(), (EXAMPLES / "20_hamiltonian" / name).read_text())
            wrong = subprocess.run([*script, "nowhere"], cwd=folder, capture_output=True, text=True)
            self.assertEqual(wrong.returncode, 2)
            self.assertIn("`nowhere` is no folder", wrong.stderr)

    def test_two_electrons(self) -> None:
        """CCSD is exact."""
        for seed in (1, 2):
            h = random_hamiltonian(5, 2, seed)
            h.to_fcidump(self.dir / "FCIDUMP")
            for ranks in (1, 2, 4):
                self.said(self.job(CCSD), "--set", "cc_conv=1e-11", ranks=ranks)
                found = self.scalars()
                self.assertAlmostEqual(found["scf_energy"], h.hartree_fock().energy, delta=1e-9)
                self.assertAlmostEqual(found["scf_energy"] + found["ccsd_energy"], two_electrons(h), delta=1e-8)

    def test_hubbard_dimer(self) -> None:
        (self.dir / "FCIDUMP").write_text("$FCI\n NORB = 2 NELEC=2\n/\n 6.0 1 1 1 1\n 6.D0 2 2 2 2\n 1.0-101 2 1 1 1\n\n-1 1 2 0 0\n0 0 0 0 0\n")
        self.said(self.job(CCSD, segments=""))
        found = self.scalars()
        self.assertAlmostEqual(found["scf_energy"] + found["ccsd_energy"], (6.0 - np.sqrt(36.0 + 16.0)) / 2, delta=1e-9)

    def test_arrays(self) -> None:
        h = random_hamiltonian(4, 2, 3)
        h.orbital_energies = np.array([-1.0, 0.5, 0.25, 2.0])
        h.to_fcidump(self.dir / "FCIDUMP")
        (self.dir / "arrays.sialx").write_text(ARRAYS)
        for ranks in (1, 2):
            self.said(self.job([self.dir / "arrays.sialx"]), ranks=ranks)
            with h5py.File(self.dir / "results.h5", "r") as f:
                statics = f["statics"]
                np.testing.assert_allclose(np.array(statics["h"]), h.one_electron, atol=1e-14)
                np.testing.assert_allclose(np.array(statics["e"]), h.orbital_energies, atol=1e-14)
                self.assertEqual(f["scalars"]["core"][()], 0.75)
            saved = sialx.Results(self.dir / "results.h5").saved_array("v")
            np.testing.assert_allclose(saved, h.two_electron, atol=1e-14)

    def molecule(self, programs, more=""):
        job = self.dir / "molecule.toml"
        lines = ", ".join(f'"{EXAMPLES / p}"' for p in programs)
        job.write_text(f'programs = [{lines}]\n[molecule]\nxyz = "{EXAMPLES}/molecules/water.xyz"\nbasis = "sto-3g"\n{more}')
        self.said(job)
        return self.scalars()

    def test_water(self) -> None:
        """A molecule's integrals over its orbitals: the same energies, all electrons or some frozen, of closed shells and of open ones."""
        integrals = [EXAMPLES / "04_rhf/rhf.sialx", EXAMPLES / "19_equations/integrals.sialx"]
        self.molecule(integrals)
        h = sialx.Hamiltonian.from_results(sialx.Results(self.dir / "results.h5"))
        h.to_fcidump(self.dir / "FCIDUMP")
        triples = [*CCSD, "11_ccsd_t/ccsd_t.sialx"]
        for more in ("", "frozen_core = 1"):
            known = self.molecule(triples, more)
            self.said(self.job(triples, more))
            found = self.scalars()
            for name in ("scf_energy", "mp2_energy", "ccsd_energy", "t_energy", "nuclear_energy"):
                self.assertAlmostEqual(found[name], known[name], delta=1e-9, msg=f"{name} {more}")
        text = (self.dir / "FCIDUMP").read_text()
        (self.dir / "FCIDUMP").write_text(text.replace("NELEC=10,MS2=0", "NELEC=9,MS2=1"))
        known = self.molecule(["06_uhf/uhf.sialx", "07_ump2/ump2.sialx"], "charge = 1\nmultiplicity = 2")
        self.said(self.job(["06_uhf/uhf.sialx", "07_ump2/ump2.sialx"]), ranks=2)
        found = self.scalars()
        for name in ("scf_energy", "s_squared", "mp2_energy"):
            self.assertAlmostEqual(found[name], known[name], delta=1e-8, msg=name)

    def test_first_orbitals(self) -> None:
        """From orbitals of one electron RHF of N2 ends 0.7 hartree above that of the file's orbitals."""
        (self.dir / "n2.xyz").write_text("2\n\nN 0 0 0\nN 0 0 1.1\n")
        known = sialx.calculate(self.dir / "n2.xyz", "hf", "sto-3g", folder=self.dir / "n2", flags=["--fcidump", "FCIDUMP"])
        h = sialx.Hamiltonian.from_fcidump(self.dir / "n2" / "FCIDUMP")
        h.transformed(np.eye(10)[:, np.random.default_rng(0).permutation(10)]).to_fcidump(self.dir / "FCIDUMP")
        self.said(self.job(CCSD[:1]))
        self.assertAlmostEqual(self.scalars()["scf_energy"], known.energy, delta=1e-9)

    def test_restart(self) -> None:
        """On another number of ranks: segments that are left to us are those of the checkpoint."""
        random_hamiltonian(8, 4, 2).to_fcidump(self.dir / "FCIDUMP")
        job = self.job(CCSD[:2], segments="")
        self.said(job)
        known = self.scalars()
        self.said(job, "--checkpoint-every", "0", "--stop-after", "9", code=4)
        self.assertIn("segments ao, mo, moa, mob = auto: those of the checkpoint", self.said(job, "--restart", ranks=2))
        found = self.scalars()
        for name in ("scf_energy", "mp2_energy"):
            self.assertAlmostEqual(found[name], known[name], delta=1e-9)

    def test_warnings(self) -> None:
        (self.dir / "FCIDUMP").write_text("&FCI NORB=2,NELEC=2,ORBSYN=1\n&END\n6.0 1 1 1 1\n6.0 2 2 2 2\n-1 1 2 0 0\n0.0 0 0 0 0")
        said = self.said(self.job(CCSD[:1], segments=""))
        self.assertRegex(said, r"warning: \S*FCIDUMP:1:21: `ORBSYN` of the namelist is not known and left out \(did you mean ORBSYM\?\)")
        self.assertRegex(said, r"warning: \S*FCIDUMP:6:11: the last line has no end")

    def test_refused(self) -> None:
        for text, pattern in (
            ("", r"FCIDUMP: error: the FCIDUMP file is empty|the FCIDUMP file is empty"),
            ("3\nwater\nO 0 0 0\n", r"FCIDUMP:1:1: .*begins with the namelist &FCI"),
            ("&FCI NORB=2,NELEC=2,\n1.0 1 1 1 1\n", "FCIDUMP:1:1: the namelist &FCI has no end"),
            ("&FCI NORB=2,NELEC=2 &END 1.0 1 1 1 1\n", "FCIDUMP:1:26: there is text after the end"),
            ("&FCI water NORB=2 &END\n", "FCIDUMP:1:6: `water` is no key"),
            ("&FCI NELEC=2 /\n", "FCIDUMP:1:1: the namelist has no NORB"),
            ("&FCI NORB=2 /\n", "the namelist has no NELEC"),
            ("&FCI NORB=2,\n NORB=2,NELEC=2 /\n", "FCIDUMP:2:2: NORB is there twice"),
            ("&FCI NORB=two,NELEC=2 /\n", "FCIDUMP:1:6: NORB=two is no integer"),
            ("&FCI NORB=0,NELEC=0 /\n", "NORB=0 is not within"),
            ("&FCI NORB=5000,NELEC=2 /\n", "the integrals of NORB=5000 take"),
            ("&FCI NORB=2,NELEC=3 /\n", "FCIDUMP:1:13: NELEC=3 and MS2=0 do not fit"),
            ("&FCI NORB=2,NELEC=2,MS2=-2 /\n", "MS2=-2 is not within"),
            ("&FCI NORB=2,NELEC=2,ORBSYM=1 /\n", "ORBSYM has 1 numbers, and NORB=2"),
            ("&FCI NORB=2,NELEC=2,ORBSYM=A1,B1 /\n", "FCIDUMP:1:28: `A1` in ORBSYM is no integer"),
            ("&FCI NORB=2,NELEC=2,UHF=.TRUE. /\n", r"FCIDUMP:1:21: UHF=\.TRUE\.\n.*six groups of integrals"),
            ("&FCI NORB=2,NELEC=2,IUHF=1 /\n", "IUHF=1"),
            ("&FCI NORB=2,NELEC=2,TREL=T /\n", "spinors cannot be read"),
            (HEAD + "(1.0,0.0) 1 1 1 1\n", "FCIDUMP:5:1: complex integrals cannot be read"),
            (HEAD + "1.0 0.0 1 1 1 1\n", "6 words.*\n.*the complex form"),
            (HEAD + "1.0 1 1 1 1\n  1.0 1 1\n", "FCIDUMP:6:3: 3 words where a value and four indices"),
            (HEAD + "1,0 1 1 1 1\n", "FCIDUMP:5:1: `1,0` is no finite number"),
            (HEAD + "nan 1 1 1 1\n", "`nan` is no finite number"),
            (HEAD + "1.0 1 1 1 1.5\n", "FCIDUMP:5:11: `1.5` is no index"),
            (HEAD + "1.0 1 1 1 3\n", "FCIDUMP:5:11: the index 3 is outside 1 to NORB=2"),
            (HEAD + "1.0 1 1 1 -1\n", "the index -1 is outside"),
            (HEAD + "1.0 1 1 1 0\n", "FCIDUMP:5:5: indices of no integral"),
            (HEAD + "1.0 0 0 1 1\n", "indices of no integral"),
            (HEAD + "0.5 2 1 1 1\n0.25 1 1 0 0\n0.5 1 2 1 1\n0.6 1 1 2 1\n", r"FCIDUMP:8:1: the element has another value at \S*FCIDUMP:5:1, 0.5"),
            (HEAD + "0.0 0 0 0 0\n0.71 0 0 0 0\n", "FCIDUMP:6:1: the element has another value"),
            (HEAD + "1.0 1 1 1 1\n0.25 1 2 0 0\n", "FCIDUMP:6:13: there is no energy of the core"),
        ):
            with self.subTest(pattern=pattern):
                (self.dir / "FCIDUMP").write_text(text)
                self.assertRegex(self.said(self.job(CCSD[:1], segments=""), code=2), pattern)
        (self.dir / "FCIDUMP").unlink()
        self.assertRegex(self.said(self.job(CCSD[:1]), code=2), r"job.toml:3:11: cannot read the FCIDUMP file `\S*FCIDUMP`: No such file")

    def test_jobs_that_are_refused(self) -> None:
        random_hamiltonian(4, 2, 3).to_fcidump(self.dir / "FCIDUMP")
        for more, pattern, code in (
            ("fcidumps = 1", "unknown key `fcidumps` in .hamiltonian.", 2),
            ("frozen_core = 2", "`frozen_core` freezes 2 orbitals, and only 1", 2),
            (f'[molecule]\nxyz = "{EXAMPLES}/molecules/water.xyz"\nbasis = "sto-3g"', "the job has a .molecule. and a .hamiltonian.", 2),
        ):
            with self.subTest(pattern=pattern):
                self.assertRegex(self.said(self.job(CCSD[:1], more, ""), code=code), pattern)
        self.assertRegex(self.said(self.job(CCSD[:1]), "--segments", "ao=3,2", code=2), "segments `ao` add up to 5")
        self.assertRegex(self.said(self.job(CCSD[:1]), "--molden", "o.molden", code=2), "the job has no molecule")
        dipole = self.dir / "dipole.sialx"
        dipole.write_text("sial dipole\nspecial compute_dipole_integrals wur\npredefined int norb\naoindex m = 1:norb\ntemp t[m,m]\nscalar n\nscalar k\nk = 1.0\ndo m\n  execute compute_dipole_integrals t[m,m] n k\nenddo m\nendsial dipole\n")
        self.assertRegex(self.said(self.job([dipole]), code=1), "this job has no molecule\n.*integrals over orbitals")


if __name__ == "__main__":
    os.environ.update(ENV, SIALRUN=str(BIN / "sialrun"))
    main()
