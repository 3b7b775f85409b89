#!/usr/bin/env python3
"""Gradients of open shells and fragments, and on several ranks, against one rank and differences of energies of separate runs; amplitudes as first guess.

    run_states.py --bin DIR
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

from gradient_jobs import REFERENCES, Runs, gradient_of, run, write_job
from harness import EXAMPLES, main

BOHR = 0.52917721092
AMIDOGEN = [["N", [0.02, 0.0, 0.15]], ["H", [0.0, 0.81, -0.49]], ["H", [0.0, -0.78, -0.52]]]
FOREIGN = """sial foreign
predefined int baocc
predefined int eaocc
predefined int bavirt
predefined int eavirt
moaindex i = baocc:eaocc
moaindex j = baocc:eaocc
moaindex a = bavirt:eavirt
moaindex b = bavirt:eavirt
distributed x[a,i,b,j]
distributed t2[a,i,b,j]
temp t[a,i,b,j]
restore_persistent t2 "t2"
sip_barrier
pardo a, i, b, j
  get t2[a,i,b,j]
  t[a,i,b,j] = -3.0*t2[a,i,b,j]
  put x[a,i,b,j] = t[a,i,b,j]
endpardo a, i, b, j
sip_barrier
set_persistent x "t2"
endsial foreign
"""


class States(Runs):
    def energy(self, job, scalar, *options):
        done = run(self.folder, job, "--results", "none", "--set", "scf_conv=1e-11", *options)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        return float(re.findall(rf"\b{scalar} = (\S+)", done.stdout)[-1])

    def difference(self, molecule, method, atoms, atom, axis, scalar, extra):
        """By energies of jobs of their own, displaced by 0.002 bohr."""
        step, energies = 0.002, []
        for sign in (1, -1):
            moved = [[symbol, list(place)] for symbol, place in atoms]
            moved[atom][1][axis] += sign * step * BOHR
            energies.append(self.energy(write_job(self.folder, molecule, method, moved, extra), scalar))
        return (energies[0] - energies[1]) / (2 * step)

    def open_shell(self, method, scalar):
        """On one, two and three ranks, and by differences of energies."""
        extra = "multiplicity = 2\n"
        one, attributes, _ = self.gradient("amidogen", method, atoms=AMIDOGEN, extra=extra)
        self.assertLess(abs(one.sum(axis=0)).max(), 1e-8)
        for ranks in (2, 3):
            several, _, _ = self.gradient("amidogen", method, atoms=AMIDOGEN, extra=extra, ranks=ranks)
            self.assertLess(abs(one - several).max(), 3e-8, (method, ranks))
        for atom, axis in ((0, 2), (1, 1), (2, 0)):
            found = self.difference("amidogen", method, AMIDOGEN, atom, axis, scalar, extra)
            self.assertAlmostEqual(one[atom, axis], found, delta=1e-6, msg=f"{method} {atom} {axis}")

    def test_uhf(self):
        self.open_shell("uhf", "scf_energy")

    def test_ump2(self):
        self.open_shell("ump2", "total_energy")

    def test_symmetry_of_open_shells(self):
        """With --gradient-symmetry on the point group of an open shell is used; the gradient is that of all displacements."""
        atoms = [["N", [0.0, 0.0, 0.15]], ["H", [0.0, 0.8, -0.5]], ["H", [0.0, -0.8, -0.5]]]
        on, attributes, _ = self.gradient("amidogen", "ump2", "--gradient-symmetry", "on", atoms=atoms, extra="multiplicity = 2\n")
        off, more, _ = self.gradient("amidogen", "ump2", "--gradient-symmetry", "off", atoms=atoms, extra="multiplicity = 2\n")
        self.assertLess(attributes["displacements"], more["displacements"])
        self.assertLess(abs(on - off).max(), 1e-6)

    def test_fragments(self):
        """Hartree-Fock of each of two fragments and the electrostatic energy between them."""
        dimer = (EXAMPLES / "molecules/water-dimer.xyz").read_text().split("\n")[2:8]
        atoms = [[words[0], [float(x) for x in words[1:4]]] for words in map(str.split, dimer)]
        extra = "fragments = [[1, 2, 3], [4, 5, 6]]\n\n[segments]\nao = \"auto\"\nao_target = 6\nocc = \"auto\"\nocc_target = 3\nvirt = \"auto\"\nvirt_target = 5\n"
        values = []
        for ranks in (1, 2):
            values.append(self.gradient("dimer", "fragments", ranks=ranks, atoms=atoms, extra=extra)[0])
        self.assertLess(abs(values[0] - values[1]).max(), 1e-7)
        self.assertLess(abs(values[0].sum(axis=0)).max(), 1e-6)
        self.assertAlmostEqual(values[0][0, 2], self.difference("dimer", "fragments", atoms, 0, 2, "total", extra), delta=1e-6)

    def cycles(self, job, *options, ranks=1):
        """Iterations of CCSD: of the undisplaced job, and of each displaced one."""
        done = run(self.folder, job, "--gradient", "cycle_number", "--gradient-symmetry", "off", *options, ranks=ranks)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        iterations = re.findall(r"^ +(\d+) +-0\.\d+ +\S+ +\S+$", done.stdout, re.M)
        return int(iterations[-1]), [float(x) for x in re.findall(r"^displacement .*: (\S+)$", done.stdout, re.M)], done.stdout

    def test_amplitudes(self):
        """Displaced jobs begin with those of the undisplaced one and need fewer iterations, on any number of ranks; the gradient is the same."""
        with_, _, printed = self.gradient("water", "ccsd")
        self.assertIn("amplitudes of the undisplaced job are the first guess", printed)
        self.assertLess(abs(with_ - np.array(REFERENCES["water"]["ccsd"])).max(), 1e-6)
        first, displaced, _ = self.cycles(write_job(self.folder, "water", "ccsd"))
        self.assertLessEqual(max(displaced), first - 3, displaced)
        for ranks in (2, 3):
            several, _, printed = self.gradient("water", "ccsd", ranks=ranks)
            self.assertIn("amplitudes of the undisplaced job are the first guess", printed)
            self.assertLess(abs(with_ - several).max(), 3e-8)
        # Loosely converged, what is left of one guess for both sides would not cancel: 3e-5 hartree/bohr.
        loose, _, printed = self.gradient("water", "ccsd", "--set", "cc_conv=1e-7")
        self.assertNotIn("are the first guess", printed)
        self.assertLess(abs(with_ - loose).max(), 1e-6)

    def test_degenerate_orbitals(self):
        """Displacements mix the pi orbitals of acetylene, and may exchange others, beside a frozen core."""
        atoms = [["C", [0.0, 0.0, 0.61]], ["C", [0.0, 0.0, -0.61]], ["H", [0.0, 0.0, 1.7]], ["H", [0.0, 0.0, -1.68]]]
        job = write_job(self.folder, "acetylene", "ccsd", atoms, "frozen_core = true\n")
        first, displaced, _ = self.cycles(job)
        self.assertLessEqual(max(displaced), first - 3, displaced)
        values, _, _ = self.gradient("acetylene", "ccsd", "--gradient-symmetry", "off", atoms=atoms, extra="frozen_core = true\n")
        found = self.difference("acetylene", "ccsd", atoms, 2, 2, "total_energy", "frozen_core = true\n")
        self.assertAlmostEqual(values[2, 2], found, delta=1e-6)

    def test_foreign_amplitudes(self):
        """What is saved as "t2" and is no guess for CCSD is dropped."""
        (self.folder / "foreign.sialx").write_text(FOREIGN)
        job = write_job(self.folder, "water", "ccsd")
        job.write_text(job.read_text().replace('ccsd.sialx"', 'ccsd.sialx", "foreign.sialx"'))
        first, displaced, _ = self.cycles(job)
        self.assertLessEqual(max(abs(x - first) for x in displaced), 2, displaced)
        done = run(self.folder, job, "--gradient", "total_energy")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(abs(gradient_of(self.folder)[0] - np.array(REFERENCES["water"]["ccsd"])).max(), 1e-6)

    def test_amplitudes_without_memory(self):
        """In about as little memory as the job can have they are left out, and it ends as before."""
        job = write_job(self.folder, "water", "ccsd")
        memory = 500_000
        while (done := run(self.folder, job, "--results", "none", "--memory", f"{memory}B")).returncode != 0:
            self.assertIn("out of memory", done.stderr)
            memory = memory * 21 // 20
        done = run(self.folder, job, "--gradient", "total_energy", "--memory", f"{memory}B")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("amplitudes", done.stdout)
        self.assertLess(abs(gradient_of(self.folder)[0] - np.array(REFERENCES["water"]["ccsd"])).max(), 1e-6)
        done = run(self.folder, job, "--gradient", "total_energy", "--memory", f"{4 * memory}B")
        self.assertIn("amplitudes", done.stdout)

    def test_plan(self):
        """--dry-run says how many jobs there will be."""
        job = write_job(self.folder, "water", "mp2")
        done = run(self.folder, job, "--gradient", "total_energy", "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("gradient of total_energy by central differences of 0.001 bohr: 4 displaced jobs; 4 symmetry operations", done.stdout)
        self.assertIn("2 more displaced jobs check the symmetry of the state", done.stdout)
        self.assertIn("the job runs 7 times", done.stdout)
        ran = run(self.folder, job, "--gradient", "total_energy")
        self.assertIn("6 displaced jobs; ", ran.stdout)
        everything = run(self.folder, job, "--gradient", "total_energy", "--dry-run", "--gradient-symmetry", "off")
        self.assertIn("the job runs 19 times", everything.stdout)
        self.assertNotIn("gradient", run(self.folder, job, "--dry-run").stdout)
        misspelt = run(self.folder, job, "--gradient", "total_enrgy", "--dry-run")
        self.assertEqual(misspelt.returncode, 2, misspelt.stdout)
        self.assertIn("did you mean `total_energy`", misspelt.stderr)


if __name__ == "__main__":
    main()
