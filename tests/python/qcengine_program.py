#!/usr/bin/env python3
"""sialx as a program of QCEngine: methods beside PySCF's and QCEngine's reference values, both schemas, the configuration of tasks, and failures.

    qcengine_program.py --bin DIR [unittest arguments]

Exits with 77 where QCEngine is missing. Its own tests run in qcengine_canonical.py.
"""
import json
import pathlib
import stat
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

from harness import InFolder, main
from needed import need, use
from reference_gradients import AMIDOGEN, DIPOLE_OF_WATER, MINIMA, OF_AMIDOGEN, OF_WATER, WATER

need("qcengine", "qcelemental", "h5py")
import qcelemental  # noqa: E402
import qcengine  # noqa: E402
from qcelemental.models import v2  # noqa: E402

BOHR = 0.52917721092
TASK = {"ncores": 1, "memory": 1.0}
# Energies of hydrogen fluoride in cc-pVDZ, of QCEngine's standard suite: computed by several programs that agree.
NAMES = {"mp2": "mp2_correlation_energy", "ccsd": "ccsd_correlation_energy", "ccsd(t)": "ccsd_prt_pr_correlation_energy"}


def molecule(of, multiplicity=1, **more):
    return {"symbols": of["symbols"], "geometry": (np.array(of["positions"]) / BOHR).flatten().tolist(), "molecular_multiplicity": multiplicity,
            "fix_com": True, "fix_orientation": True, **more}  # fmt: skip


def given(method, driver="energy", of=WATER, basis="3-21g", multiplicity=1, keywords=None, **more):
    """Input of QCSchema 2."""
    specification = {"driver": driver, "model": {"method": method, "basis": basis}, "keywords": keywords or {}}
    return v2.AtomicInput(molecule=molecule(of, multiplicity, **more), specification=specification)


def compute(*arguments, task=None, **options):
    return qcengine.compute(given(*arguments, **options), "sialx", task_config={**TASK, **(task or {})})


class Program(InFolder):
    def good(self, result):
        self.assertTrue(result.success, getattr(result, "error", None))
        return result

    def test_registered(self):
        self.assertIn("sialx", qcengine.list_available_programs())
        sialx.qcengine.register()  # again
        self.assertEqual(qcengine.get_program("sialx").get_version(), "0.1.0")

    def test_gradients(self):
        for of, references, multiplicity in ((WATER, {m: OF_WATER[m] for m in ("hf", "mp2")}, 1), (AMIDOGEN, {"hf": OF_AMIDOGEN["uhf"]}, 2)):
            for method, (energy, gradient) in references.items():
                with self.subTest(method=method, symbols=of["symbols"]):
                    keywords = {"reference": "uhf"} if multiplicity == 2 else {}
                    result = self.good(compute(method, "gradient", of=of, multiplicity=multiplicity, keywords=keywords))
                    np.testing.assert_allclose(result.return_result, gradient, rtol=0, atol=1e-6)
                    np.testing.assert_array_equal(result.properties.return_gradient, result.return_result)
                    self.assertAlmostEqual(result.properties.return_energy, energy, delta=3e-7)
                    self.assertEqual(result.properties.calcinfo_natom, 3)

    def test_standard_values(self):
        from qcengine.programs.tests.standard_suite_ref import answer_hash, std_molecules, std_suite

        fluoride = qcelemental.models.v2.Molecule.from_data(std_molecules["hf-xyz"])
        of = {"symbols": fluoride.symbols, "positions": fluoride.geometry * BOHR}
        for frozen in (False, True):
            key = answer_hash(system="hf", basis="cc-pvdz", fcae="fc" if frozen else "ae", scf_type="pk", reference="rhf", corl_type="conv", sdsc="sd")
            for method, name in NAMES.items():
                with self.subTest(method=method, frozen=frozen):
                    result = self.good(compute(method, of=of, basis="cc-pvdz", keywords={"freeze_core": frozen}))
                    self.assertAlmostEqual(getattr(result.properties, name), std_suite[key][f"{method.upper()} CORRELATION ENERGY"], delta=2e-7)
                    self.assertAlmostEqual(result.return_result, std_suite[key]["HF TOTAL ENERGY"] + std_suite[key][f"{method.upper()} CORRELATION ENERGY"], delta=2e-7)
                    self.assertEqual(result.return_result, result.properties.return_energy)

    def test_properties(self):
        result = self.good(compute("hf", "properties"))
        np.testing.assert_allclose(result.properties.scf_dipole_moment, DIPOLE_OF_WATER, rtol=0, atol=3e-6)
        self.assertIn("scf_dipole_moment", {key.lower() for key in result.return_result})

    def test_dictionaries_of_schema_1(self):
        plain = {"molecule": molecule(WATER), "driver": "energy", "model": {"method": "hf", "basis": "3-21g"}}
        result = qcengine.compute(plain, "sialx", task_config=TASK, return_dict=True, raise_error=True)
        self.assertEqual((result["success"], result["schema_version"]), (True, 1))
        self.assertAlmostEqual(result["return_result"], OF_WATER["hf"][0], delta=3e-7)
        self.assertEqual(result["provenance"]["creator"], "sialx")
        json.dumps(result["properties"])

    def test_ranks_and_memory(self):
        result = self.good(compute("ccsd", task={"ncores": 2, "memory": 1.5}))
        self.assertAlmostEqual(result.return_result, OF_WATER["ccsd"][0], delta=3e-7)
        command = result.stdout.splitlines()[0]
        self.assertRegex(command, rf"^mpirun --bind-to none -n 2 \S+sialrun --qcschema in.json out.json --memory {int(1.5 * 2**29)}$")
        result = self.good(compute("hf", task={"ncores": 2, "cores_per_rank": 2, "memory": 1.5}))
        self.assertRegex(result.stdout.splitlines()[0], rf"^\S+sialrun --qcschema in.json out.json --memory {int(1.5 * 2**30)}$")

    def test_several_nodes(self):
        """A launcher of a cluster is called as it is described."""
        launcher = self.dir / "launch"
        launcher.write_text(f'#!/bin/sh\necho "$@" >> {self.dir}/called\nshift 3\nexec mpirun -n 4 "$@"\n')
        launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR)
        task = {"ncores": 4, "cores_per_rank": 2, "nnodes": 2, "memory": 1.0, "mpiexec_command": f"{launcher} {{total_ranks}} {{ranks_per_node}} {{nnodes}}"}
        result = self.good(compute("hf", basis="sto-3g", task=task))
        self.assertRegex((self.dir / "called").read_text(), rf"^4 2 2 \S+sialrun --qcschema in.json out.json --memory {2**29}\n$")
        self.assertEqual(result.provenance.model_dump()["nnodes"], 2)
        failed = compute("hf", task={"ncores": 1, "cores_per_rank": 2})
        self.assertIn("1 cores are fewer than the 2 of a rank", failed.error.error_message)

    def test_scratch(self):
        self.good(compute("hf", basis="sto-3g", task={"scratch_directory": str(self.dir)}))
        self.assertEqual(list(self.dir.iterdir()), [])
        self.good(compute("hf", basis="sto-3g", task={"scratch_directory": str(self.dir), "scratch_messy": True}))
        (folder,) = self.dir.iterdir()
        self.assertTrue(json.loads((folder / "out.json").read_text())["success"])

    def failed(self, kind, pattern, *arguments, **options):
        result = compute(*arguments, **options)
        self.assertFalse(result.success, result)
        self.assertIn(result.error.error_type, kind if isinstance(kind, tuple) else (kind,))
        self.assertRegex(result.error.error_message, pattern)
        self.assertNotIn("Traceback", result.error.error_message)

    def test_failures(self):
        self.failed("input_error", "b3lyp", "b3lyp")
        self.failed("input_error", "hessian", "hf", "hessian")
        self.failed("input_error", "no-such-basis", "hf", basis="no-such-basis")
        self.failed("input_error", "no_such_keyword", "hf", keywords={"no_such_keyword": 1})
        self.failed("input_error", "fragment_charges", "hf", fragments=[[0], [1, 2]], fragment_charges=[1, 0], molecular_charge=0, validated=True)
        with self.assertRaises(qcengine.exceptions.InputError):
            qcengine.compute(given("b3lyp"), "sialx", task_config=TASK, raise_error=True)

    def test_optimisation(self):
        """QCEngine's geomeTRIC calls sialx."""
        need("geometric")
        inputs = {
            "schema_name": "qcschema_optimization_input",
            "schema_version": 1,
            "keywords": {"program": "sialx", "convergence_set": "GAU_TIGHT"},
            "input_specification": {"driver": "gradient", "model": {"method": "hf", "basis": "sto-3g"}},
            "initial_molecule": {**molecule(WATER), "fix_com": False, "fix_orientation": False},
        }
        result = qcengine.compute(inputs, "geometric", task_config=TASK, return_dict=True, raise_error=True)
        self.assertAlmostEqual(result["energies"][-1], MINIMA["sto-3g"][0], delta=1e-7)


if __name__ == "__main__":
    use()
    import sialx
    import sialx.qcengine

    main()
