#!/usr/bin/env python3
"""Jobs at the edges: the smallest molecules, where iterations end exactly and error vectors depend on each other, a basis
set that is nearly linearly dependent, and jobs that cannot go on: they end with the reason and an exit code, and later programs do not run.

    edges.py --bin DIR
"""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py

from harness import BIN, EXAMPLES, InFolder, main

SMALL = """programs = ["{examples}/04_rhf/rhf.sialx", "{examples}/09_ccsd/tran.sialx", "{examples}/09_ccsd/ccsd.sialx", "{examples}/11_ccsd_t/ccsd_t.sialx"]
[molecule]
xyz = "small.xyz"
basis = "{basis}"
"""


class Edges(InFolder):
    def small(self, xyz, basis):
        (self.dir / "small.xyz").write_text(xyz)
        (self.dir / "job.toml").write_text(SMALL.format(examples=EXAMPLES, basis=basis))
        return self.dir / "job.toml"

    def test_two_electrons(self):
        # CCSD is exact; source: full CI of PySCF 2.14.
        for basis, scf, correlation in (("sto-3g", -1.1167593075, -0.0205245271), ("3-21g", -1.1229402588, -0.0248728759)):
            with self.subTest(basis=basis):
                self.check(self.small("2\nhydrogen\nH 0 0 0\nH 0 0 0.74\n", basis), scf, correlation, 0.0)

    def test_functions_dropped(self):
        # A coarse threshold drops a function of water in 6-31G*; its orbital is zero. Source: SCF in the remaining space by NumPy, the
        # rest with its orbitals by PySCF 2.14.
        job = self.small((EXAMPLES / "molecules/water.xyz").read_text(), "6-31g*")
        job.write_text(job.read_text() + "[values]\nlindep_tol = 1\n[segments]\nao_target = 8\nocc_target = 2\nvirt_target = 4\n")
        self.check(job, -75.9927477809, -0.1918377554, -0.0015054201)

    def check(self, job, scf, ccsd, triples):
        done = subprocess.run([str(BIN / "sialrun"), str(job), "--output-dir", str(self.dir)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with h5py.File(self.dir / "results.h5", "r") as f:
            for name, value in (("scf_energy", scf), ("ccsd_energy", ccsd), ("t_energy", triples)):
                self.assertAlmostEqual(float(f["saved/scalars"][name][()]), value, delta=1e-9, msg=name)

    def test_uhf_below_rhf(self):
        # Hydrogen pulled apart: the restricted solution is no minimum. The cyano radical: heavy spin contamination, and iterations that
        # swing. Formaldehyde: the restricted solution is a saddle so flat that a small turn of the orbitals already crosses the valley.
        # Source: second-order UHF with stability analysis of PySCF 2.14 (formaldehyde: with the basis set of runtime/chemistry/basis/sets, whose
        # numbers have more digits, 3e-9 hartree; begun with pi and pi* mixed).
        for xyz, multiplicity, energy, s_squared in (("2\n\nH 0 0 0\nH 0 0 2.0\n", 1, -1.0009352373, 0.9061375),
                                                     ("2\n\nC 0 0 0\nN 0 0 1.17\n", 2, -92.1624960593, 1.2547720),
                                                     ("4\n\nC 0 0 -0.5296\nO 0 0 0.677\nH 0 0.9366 -1.1188\nH 0 -0.9366 -1.1188\n", 1, -113.8076092977, 0.0369309)):
            with self.subTest(energy=energy):
                (self.dir / "small.xyz").write_text(xyz)
                (self.dir / "job.toml").write_text(f'''programs = ["{EXAMPLES}/06_uhf/uhf.sialx"]
[molecule]
xyz = "small.xyz"
basis = "6-31g"
multiplicity = {multiplicity}
''')
                done = subprocess.run([str(BIN / "sialrun"), str(self.dir / "job.toml"), "--output-dir", str(self.dir)],
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                with h5py.File(self.dir / "results.h5", "r") as f:
                    self.assertAlmostEqual(float(f["scalars/scf_energy"][()]), energy, delta=1e-9)
                    self.assertAlmostEqual(float(f["scalars/s_squared"][()]), s_squared, delta=1e-6)

    def minimum(self, program, xyz, basis, more="", flags=(), given=None):
        """Output, and scalars of a program that must end well; `given` replaces the molecule."""
        rows = xyz.split("; ")
        (self.dir / "small.xyz").write_text(f"{len(rows)}\n\n" + "\n".join(rows) + "\n")
        given = given or f'[molecule]\nxyz = "small.xyz"\nbasis = "{basis}"\n'
        (self.dir / "job.toml").write_text(f'programs = ["{EXAMPLES}/{program}.sialx"]\n{given}{more}\n')
        done = subprocess.run([str(BIN / "sialrun"), str(self.dir / "job.toml"), "--output-dir", str(self.dir), *flags],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with h5py.File(self.dir / "results.h5", "r") as f:
            return done.stdout, {name: float(f["scalars"][name][()]) for name in f["scalars"]}

    def test_minima(self):
        # Where iterations swing, end at saddle points or at states whose occupied orbitals are not the lowest, and where what they end at
        # depends on the start. Source: second-order SCF with stability analysis of PySCF 2.14, the lowest of five starts.
        one_each = "[segments]\nao_target = 1\nocc_target = 1\nvirt_target = 1\nbeta_occ_target = 1\nbeta_virt_target = 1"
        uhf, rhf = "06_uhf/uhf", "04_rhf/rhf_minimum"
        for name, program, xyz, basis, more, energy in (
                ("H3", uhf, "H 0 0 0; H 0 0 10; H 0 0 20", "sto-3g", "multiplicity = 2", -1.3997455511),
                ("H2 far away", uhf, "H 0 0 0; H 0 0 1000", "sto-3g", "", -0.9331637008),
                ("CO", uhf, "C 0 0 0; O 0 0 1.6", "sto-3g", "", -111.0678454022),
                ("CO far away: its atoms", uhf, "C 0 0 0; O 0 0 4", "sto-3g", "", -111.0026944972),
                ("CO, the triplet", uhf, "C 0 0 0; O 0 0 1.5", "sto-3g", "multiplicity = 3", -111.0546539825),
                ("N2", uhf, "N 0 0 0; N 0 0 1.5", "sto-3g", one_each, -107.4606413664),
                ("NO", uhf, "N 0 0 0; O 0 0 1.9", "sto-3g", "multiplicity = 2", -127.5195307828),
                ("NO, where the first start leads to the lowest minimum", uhf, "N 0 0 0; O 0 0 2.18", "sto-3g", "multiplicity = 2", -127.5225330911),
                ("F2, a saddle point that is nearly flat", uhf, "F 0 0 0; F 0 0 2.5", "sto-3g", "", -195.9731504211),
                ("CN", uhf, "C 0 0 0; N 0 0 1.172", "6-31g*", "multiplicity = 2", -92.2041824757),
                ("C2-, where the lowest eigenvector of a saddle point leads astray", uhf, "C 0 0 0; C 0 0 1.27", "6-31g", "charge = -1\nmultiplicity = 2", -75.4982672968),
                ("SiO+", uhf, "Si 0 0 0; O 0 0 1.52", "6-31g", "charge = 1\nmultiplicity = 2", -363.3308936437),
                ("H2 far away, closed", rhf, "H 0 0 0; H 0 0 1000", "sto-3g", "", -0.5461253173),
                ("C2, closed", rhf, "C 0 0 0; C 0 0 1.24", "6-31g", "", -75.3642163921),
                ("HF far apart, closed, three ranks", rhf, "H 0 0 0; F 0 0 3", "sto-3g", "", -98.1160399750),
                ("HF far apart, closed, segments of a spin", rhf, "H 0 0 0; F 0 0 3", "sto-3g", "[segments]\nocc_target = 1\nbeta_virt_target = 1", -98.1160399750)):
            with self.subTest(name):
                flags = ("--simulate", "ranks=3,seed=5") if "ranks" in name else ()
                out, scalars = self.minimum(program, xyz, basis, more, flags)
                self.assertAlmostEqual(scalars["scf_energy"], energy, delta=2e-9)
                if "closed" in name:
                    self.assertIn("is a minimum among closed shells only", out)
                else:
                    self.assertGreater(scalars["lowest"], -1e-5)

    def test_lowest_eigenvalue(self):
        # Of the orbital Hessian, whatever ranks and segments are. Source: all its eigenvalues, with orbitals of PySCF 2.14.
        methylene = "C 0 0 0; H 0 0.98 0.4; H 0 -0.98 0.4"
        segments = "ao = [1, 1, 3, 1, 3, 1, 1, 1, 1]\nocc = [1, 4]\nvirt = [1, 1, 1, 1, 1, 1, 1, 1]"
        for flags in ((), ("--simulate", "ranks=2,seed=1"), ("--simulate", "ranks=3,seed=1")):
            with self.subTest(flags=flags):
                more = f"frozen_core = true\nmultiplicity = 3\n[segments]\n{segments}"
                self.assertAlmostEqual(self.minimum("06_uhf/uhf", methylene, "6-31g", more, flags)[1]["lowest"], 0.31935429, delta=1e-6)
        out, scalars = self.minimum("06_uhf/uhf", "H 0 0 0; H 0 0 10; H 0 0 20", "sto-3g", "multiplicity = 2")
        self.assertAlmostEqual(scalars["lowest"], 0.72168822, delta=1e-6)
        self.assertIn("WARNING: <S^2> is far above that of a pure spin", out)
        (self.dir / "SITES").write_text("&FCI NORB=2,NELEC=2,MS2=0,\n ORBSYM=1,1,\n ISYM=1,\n&END\n 4.0 1 1 1 1\n 4.0 2 2 2 2\n 0.0 0 0 0 0\n")
        scalars = self.minimum("06_uhf/uhf", "H 0 0 0", "", given='[hamiltonian]\nfcidump = "SITES"\n')[1]
        self.assertAlmostEqual(scalars["scf_energy"], 0.0, delta=1e-9)
        self.assertAlmostEqual(scalars["lowest"], 4.0, delta=1e-6)

    def test_minimum_of_a_model(self):
        # Hubbard rings of eight sites. u = 4 t: the energy falls along two eigenvectors, and the second leads further. u = 8 t: the lowest root is
        # one that only the last trial knows of. Sources: as of the minima; the dense Hessian.
        for u, name, value in ((4.0, "scf_energy", -3.7485620330), (8.0, "lowest", 5.9747676382)):
            ring = [f" {u} {n} {n} {n} {n}\n -1.0 {n} {n % 8 + 1} 0 0\n" for n in range(1, 9)]
            (self.dir / "RING").write_text("&FCI NORB=8,NELEC=8,MS2=0,\n ORBSYM=1,1,1,1,1,1,1,1,\n ISYM=1,\n&END\n" + "".join(ring) + " 0.0 0 0 0 0\n")
            scalars = self.minimum("06_uhf/uhf", "H 0 0 0", "", given='[hamiltonian]\nfcidump = "RING"\n')[1]
            self.assertAlmostEqual(scalars[name], value, delta=2e-9)

    def test_said_of_a_solution(self):
        # No minimum, perhaps no minimum, a core that ends within a shell, and a threshold that is none.
        self.assertIn("WARNING: a virtual orbital is lower than an occupied one", self.minimum("04_rhf/rhf", "H 0 0 0; H 0 0 1000", "sto-3g")[0])
        self.assertIn("the gap between occupied and virtual orbitals is small", self.minimum("04_rhf/rhf", "C 0 0 0; C 0 0 1.24", "6-31g")[0])
        for program, frozen in (("04_rhf/rhf", 1), ("06_uhf/uhf", 1), ("04_rhf/rhf", 2)):
            out, scalars = self.minimum(program, "N 0 0 0; N 0 0 1.1", "sto-3g", f"frozen_core = {frozen}\n[values]\nscf_conv = 1.0")
            self.assertEqual("the frozen core ends between orbitals of nearly the same energy" in out, frozen == 1)
            self.assertNotIn("gap", out)
            self.assertIn("WARNING: scf_conv is too large", out)
            self.assertAlmostEqual(scalars["scf_energy"], -107.4965005, delta=1e-3)

    def test_functions_dropped_from_anions(self):
        # Nearly dependent functions are left out; their orbitals, which are zero, must not be occupied even when occupied ones have
        # positive energies, as in these anions. Source: SCF in NumPy in the remaining space, integrals from PySCF 2.14.
        for program, charge, multiplicity, energy in (("04_rhf/rhf", -2, 1, -75.0670963659), ("06_uhf/uhf", -2, 1, -75.0670963659),
                                                      ("06_uhf/uhf", -1, 2, -75.6967726858)):
            with self.subTest(program=program, charge=charge):
                (self.dir / "job.toml").write_text(f'''programs = ["{EXAMPLES}/{program}.sialx"]
[values]
lindep_tol = 1
[molecule]
xyz = "{EXAMPLES}/molecules/water.xyz"
basis = "6-31g*"
charge = {charge}
multiplicity = {multiplicity}
''')
                done = subprocess.run([str(BIN / "sialrun"), str(self.dir / "job.toml"), "--output-dir", str(self.dir)],
                                      stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("nearly linearly dependent", done.stdout)
                with h5py.File(self.dir / "results.h5", "r") as f:
                    self.assertAlmostEqual(float(f["saved/scalars/scf_energy"][()]), energy, delta=1e-9)

    def stopped(self, job, *more):
        """Output and diagnostics of a job that must fail."""
        done = subprocess.run([str(BIN / "sialrun"), str(job), "--output-dir", str(self.dir), *more], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def test_ccsd_that_does_not_converge(self):
        out, err = self.stopped(EXAMPLES / "11_ccsd_t/job_sto3g.toml", "--set", "cc_iter=3")
        self.assertIn("CCSD did not converge: allow more iterations with [values] cc_iter", out)
        self.assertRegex(err, r"ccsd\.sialx:\d+:\d+: program `ccsd` reached a `stop` statement")
        # The last table; the SCF prints one too, and println leaves empty lines.
        table = [line for line in out.split(" iteration ")[-1].splitlines()[1:] if line]
        self.assertEqual([line.split()[0] for line in table[:-1]], ["1", "2", "3"], out)
        self.assertNotIn("ccsd_energy", out)
        self.assertNotIn("t_energy", out)
        self.assertFalse((self.dir / "results.h5").exists())

    def test_linear_equations_that_do_not_converge(self):
        out, err = self.stopped(EXAMPLES / "10_lcc/job_321g.toml", "--set", "cc_iter=3")
        self.assertIn("LCCD\n", out)
        self.assertIn("not converged: allow more iterations with [values] cc_iter", out)
        self.assertNotIn("LCCSD", out)
        self.assertIn("program `lcc` reached a `stop` statement", err)

    def test_uhf_that_does_not_converge(self):
        out, err = self.stopped(EXAMPLES / "06_uhf/job_amidogen.toml", "--set", "scf_iter=3")
        self.assertIn("steps of second order", out)
        self.assertIn("a different start", out)
        self.assertIn("the SCF did not converge: allow more iterations with [values] scf_iter", out)
        self.assertRegex(err, r"uhf\.sialx:\d+:\d+: program `uhf` reached a `stop` statement")
        self.assertNotIn("scf_energy", out)

    def test_excited_states_asked_for(self):
        for roots, message in ((0, "how many states?"), (61, "up to 60 states"), (41, "more states asked for than there are single excitations")):
            out, err = self.stopped(EXAMPLES / "08_cis/job.toml", "--set", f"eom_roots={roots}")
            self.assertIn(message, out)
            self.assertIn("program `cis` reached a `stop` statement", err)

    def excited(self, xyz, basis, *options):
        job = self.small(xyz, basis)
        job.write_text(job.read_text().replace("11_ccsd_t/ccsd_t.sialx", f'12_lambda/hbar.sialx", "{EXAMPLES}/13_eom/eom.sialx'))
        return job, *options

    def test_excited_states_of_coupled_clusters(self):
        # Two electrons in two orbitals: one single excitation. Few vectors, as old jobs state them, give the same roots: those of many.
        out, err = self.stopped(*self.excited("2\n\nH 0 0 0\nH 0 0 0.7\n", "sto-3g", "--set", "eom_roots=2"))
        self.assertIn("fewer excited states with single excitations than eom_roots", out)
        self.assertIn("program `eom` reached a `stop` statement", err)
        job, = self.excited("2\n\nLi 0 0 0\nH 0 0 1.6\n", "sto-3g")
        found = []
        for vectors in ("40", "6"):
            done = subprocess.run([str(BIN / "sialrun"), str(job), "--set", "eom_roots=2", "--set", f"eom_subspc={vectors}", "--output-dir", str(self.dir)],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with h5py.File(self.dir / "results.h5", "r") as f:
                found.append([float(f["scalars"][name][()]) for name in ("eom_1", "eom_2")])
        for many, few in zip(*found):
            self.assertAlmostEqual(many, few, delta=1e-8)

    def test_nothing_to_correlate(self):
        job = (EXAMPLES / "09_ccsd/job_sto3g.toml").read_text().replace('"../molecules', f'"{EXAMPLES}/molecules').replace('"../04', f'"{EXAMPLES}/04')
        job = job.replace('"tran.sialx", "ccsd.sialx"', f'"{EXAMPLES}/09_ccsd/tran.sialx"').replace("[segments]", "frozen_core = 5\n[segments]")
        (self.dir / "job.toml").write_text(job)
        out, err = self.stopped(self.dir / "job.toml")
        self.assertIn("no orbitals to correlate: all occupied ones are frozen", out)
        self.assertIn("program `tran` reached a `stop` statement", err)

    def test_no_virtual_orbitals(self):
        # The one orbital makes the SCF exact at once.
        out, err = self.stopped(self.small("1\nhelium\nHe 0 0 0\n", "sto-3g"))
        self.assertIn("scf_energy = -2.80778395661", out)
        self.assertIn("no virtual orbitals: take a larger basis", out)
        self.assertIn("program `tran` reached a `stop` statement", err)


if __name__ == "__main__":
    main()
