#!/usr/bin/env python3
"""sialx.calculate(): energies, gradients and dipole moments of every method beside PySCF's, and what cannot be calculated.

    calculation.py --bin DIR [unittest arguments]
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

from harness import EXAMPLES, InFolder, main
from needed import use
from reference_gradients import AMIDOGEN, DIPOLE_OF_AMIDOGEN, DIPOLE_OF_WATER, OF_AMIDOGEN, OF_WATER, WATER

BOHR = 0.52917721092
# A process of an MPI job: a molecule of its own, in a folder with results of a shorter bond.
OWN = f"""import os, pathlib, sys
sys.path.insert(0, {str(pathlib.Path(__file__).resolve().parents[2] / "runtime" / "python")!r})
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
import sialx
for length, ranks in ((1.2, 1), (1.4 + 0.2 * rank, 1), (1.4 + 0.2 * rank, 2)):
    if ranks == 2:
        try:
            from mpi4py import MPI
        except ImportError:
            pass
    h2 = sialx.Molecule(["H", "H"], [[0, 0, 0], [0, 0, length]], "sto-3g")
    energy = sialx.calculate(h2, "hf", ranks=ranks, folder=pathlib.Path(sys.argv[1]) / str(rank)).energy
    plan = sialx.Job(sialx.examples.example_programs() / "04_rhf" / "rhf.sialx", h2).dry_run()
    assert plan.fits and plan.peak_bytes, plan.text
print(f"{{rank}}:{{energy:.7f}}", flush=True)
"""


class Calculations(InFolder):
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

    def test_table_of_methods(self):
        """The table beside the example programs is the only one: what is added there is known to calculate() and to `sialrun --qcschema`."""
        self.assertEqual(sialx.METHODS, ("hf", "mp2", "ccsd", "ccsd(t)", "uhf", "ump2"))
        self.assertRaisesRegex(AttributeError, "no attribute `METHOD`", getattr, sialx, "METHOD")
        examples = self.dir / "examples"
        examples.mkdir()
        for program in EXAMPLES.glob("[0-9]*"):
            (examples / program.name).symlink_to(program)
        rows = json.loads((EXAMPLES / "methods.json").read_text())
        table = examples / "methods.json"
        row = next(row for row in rows if row["full_name"] == "rhf")
        table.write_text(json.dumps([*rows, {**row, "full_name": "mean-field"}]))
        with unittest.mock.patch.dict(os.environ, SIAL_EXAMPLES_PATH=str(examples)):
            self.assertAlmostEqual(sialx.calculate(self.molecule(WATER), "mean-field", folder=self.dir / "mean").energy, OF_WATER["hf"][0], delta=3e-7)
            schema = {"schema_name": "qcschema_input", "schema_version": 1, "driver": "energy", "model": {"method": "mean-field", "basis": "3-21g"},
                      "molecule": {"symbols": WATER["symbols"], "geometry": (np.array(WATER["positions"]) / BOHR).flatten().tolist()}}  # fmt: skip
            told = subprocess.run([sys.executable, "-m", "sialx"], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True)
            self.assertEqual(told.stdout.strip(), str(examples), told.stderr)
            done = subprocess.run([os.environ["SIALRUN"], "--qcschema", "-"], input=json.dumps(schema), cwd=self.dir, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertAlmostEqual(json.loads(done.stdout)["return_result"], OF_WATER["hf"][0], delta=3e-7)
            table.write_text("[{}]")
            done = subprocess.run([os.environ["SIALRUN"], "--qcschema", "-"], input=json.dumps(schema), cwd=self.dir, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn("no table of methods", json.loads(done.stdout)["error"]["error_message"])
            self.refused("no table of methods", self.molecule(WATER), method="hf")

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

    def test_charges_and_guess(self):
        water = self.molecule(WATER)
        first = sialx.calculate(water, "mp2", folder=self.dir / "first")
        self.assertAlmostEqual(first.charges.sum(), 0.0, delta=1e-8)
        self.assertLess(first.charges[0], -0.5)
        for guess in (first, first.folder, first.folder / "results.h5"):
            again = sialx.calculate(water, "mp2", folder=self.dir / "again", guess=guess)
            self.assertLess(again.scalars["iterations"], first.scalars["iterations"] / 2)
            self.assertAlmostEqual(again.energy, first.energy, delta=1e-9)
        with self.assertWarnsRegex(sialx.JobWarning, "no first guess for this job: its basis was 3-21g, not sto-3g"):
            sialx.calculate(water, "hf", "sto-3g", folder=self.dir / "other", guess=first)
        with self.assertRaisesRegex(sialx.JobError, "nowhere"):
            sialx.calculate(water, "hf", folder=self.dir / "other", guess=self.dir / "nowhere")

    def test_frozen_core(self):
        everything, valence = (sialx.calculate(self.molecule(WATER), "mp2", frozen_core=frozen, folder=self.dir / str(frozen)) for frozen in (False, True))
        self.assertLess(everything.energy, valence.energy - 1e-4)
        self.assertAlmostEqual(everything.scalars["scf_energy"], valence.scalars["scf_energy"], delta=1e-9)

    def test_changed_basis(self):
        molecule = self.molecule(WATER)
        other = sialx.calculate(molecule, "hf", "sto-3g", folder=self.dir / "other")
        self.assertGreater(other.energy, -75)
        self.assertEqual(molecule.basis, "3-21g")

    def test_processes_of_one_mpi_job(self):
        """Each starts a job of its own, also where mpi4py has begun MPI, and none reads what an earlier run has left."""
        script = self.dir / "own.py"
        script.write_text(OWN)
        mpirun = ["mpirun", "-n", "2", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        done = subprocess.run([*mpirun, sys.executable, str(script), str(self.dir)], capture_output=True, text=True, timeout=100)
        self.assertEqual(sorted(done.stdout.split()), ["0:-1.1167143", "1:-1.1031410"], done.stdout + done.stderr)

    def test_results_of_another_run(self):
        h2 = sialx.Molecule(["H", "H"], [[0, 0, 0], [0, 0, 1.4]], "sto-3g")
        first = sialx.calculate(h2, "hf", folder=self.dir)
        self.assertAlmostEqual(first.energy, -1.1167140, delta=1e-6)
        for flags in (["--results", "other.h5"], ["--results", "none"], ["--output-dir", "elsewhere"]):
            with self.assertRaisesRegex(sialx.JobError, "`.*results.h5` was not written by this run"):
                sialx.calculate(h2, "hf", folder=self.dir, flags=flags)

    def test_interrupts(self):
        """What a handler of signals raises ends the run and its ranks at once."""
        program = self.dir / "slow.sialx"
        program.write_text('sial slow\nindex i = 1:30000\nindex j = 1:30000\nscalar x\ndo i\ndo j\nx += 1.0\nenddo j\nenddo i\nendsial slow\n')

        def expire(*_):
            raise TimeoutError

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, expire))
        for ranks in (1, 2):
            signal.setitimer(signal.ITIMER_REAL, 1.5)
            begin = time.monotonic()
            self.assertRaises(TimeoutError, sialx.Job(program).run, self.dir, ranks=ranks)
            self.assertLess(time.monotonic() - begin, 2.4)
            while self.left():  # mpirun may have been starting them
                self.assertLess(time.monotonic() - begin, 3.0)
        command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {sys.path[0]!r}); import sialx; sialx.Job({str(program)!r}).run({str(self.dir)!r})"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as p:
            while not self.left():
                time.sleep(0.05)
            p.send_signal(signal.SIGINT)
            self.assertIn("KeyboardInterrupt", p.communicate(timeout=5)[1])
        self.assertEqual(self.left(), [])
        for ranks, number in ((1, signal.SIGKILL), (2, signal.SIGTERM)):
            with subprocess.Popen([*command[:2], command[2][:-1] + f", ranks={ranks})"], text=True) as p:
                while len(self.left()) < ranks:
                    time.sleep(0.05)
                p.send_signal(number)
            begin = time.monotonic()
            while self.left():
                self.assertLess(time.monotonic() - begin, 5.0)
                time.sleep(0.05)

    def left(self):
        """Ranks in the folder."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                found += [process.name] * (os.readlink(process / "cwd") == str(self.dir) and (process / "comm").read_text().strip() == "sialrun")
        return found

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
    use()
    import sialx

    main()
