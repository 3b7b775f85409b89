#!/usr/bin/env python3
"""sialrun --qcschema: energies and gradients beside references, basis sets in the input, one and two ranks, and failures in the schema's form.

    run_schema.py --bin DIR
"""
import json
import pathlib
import subprocess
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

from harness import BIN, ENV, EXAMPLES, ROOT, InFolder, main

REFERENCES = json.loads((ROOT / "tests" / "gradient" / "references.json").read_text())
BOHR = 0.52917721092
GHOST = {"scf": -75.98441468693608, "mp2": -76.11389998295348, "ump2": -75.671526244237}  # water and the functions of a hydrogen atom, 6-31G
METHODS = {"hf": "rhf", "mp2": "mp2", "ccsd": "ccsd", "ccsd(t)": "ccsd_t"}  # names in the references


def given(method="hf", driver="energy", of="water", basis="6-31g", **changes):
    """An input of QCSchema 1; changes replace parts of the input, of the molecule those that it has and those in `more`."""
    atoms = REFERENCES[of]["atoms"]
    molecule = {"schema_name": "qcschema_molecule", "schema_version": 2, "symbols": [a[0] for a in atoms], "geometry": [x / BOHR for a in atoms for x in a[1]]}
    parts = {"charge": "molecular_charge", "multiplicity": "molecular_multiplicity", "geometry": "geometry", "symbols": "symbols", "real": "real"}
    for name, key in parts.items():
        if name in changes:
            molecule[key] = changes.pop(name)
    molecule.update(changes.pop("more", {}))
    return {"schema_name": "qcschema_input", "schema_version": 1, "id": "number 7", "molecule": molecule, "driver": driver,
            "model": {"method": method, "basis": basis}, "keywords": {}, **changes}  # fmt: skip


def second(data, **changes):
    """The same input in the layout of QCSchema 2."""
    moved = ("driver", "model", "keywords", "protocols", "extras")
    return {"schema_name": "qcschema_atomic_input", "schema_version": 2, "id": data["id"], "molecule": {**data["molecule"], "schema_version": 3},
            "specification": {"schema_name": "qcschema_atomic_specification", "program": "sialx", **{k: data[k] for k in moved if k in data}, **changes}}  # fmt: skip


def shells_of(path):
    """Electron shells of each element in a Gaussian 94 file, as a BasisSet of QCSchema has them; without potentials."""
    found: dict[str, list] = {}
    element = None
    lines = iter(path.read_text().splitlines())
    for line in lines:
        words = line.split()
        if not words or line.startswith("!"):
            continue
        if words[0].upper().endswith("-ECP"):
            return found
        if line.startswith("****"):
            element = None
        elif element is None:
            element = words[0].upper()
            found.setdefault(element, [])
        else:
            rows = [[float(x.upper().replace("D", "E")) for x in next(lines).split()] for _ in range(int(words[1]))]
            columns = list(zip(*rows))
            found[element].append({"harmonic_type": "spherical", "angular_momentum": ["SPDFGH".index(c) for c in words[0].upper()],
                                   "exponents": list(columns[0]), "coefficients": [list(c) for c in columns[1:]]})  # fmt: skip
    return found


class Schema(InFolder):
    def run_text(self, text, *arguments, ranks=1, out="out.json", code=0):
        """The result of an input, and what was printed."""
        (self.dir / "in.json").write_text(text)
        launch = ["mpirun", "-n", str(ranks), "--bind-to", "none"] if ranks > 1 else []
        done = subprocess.run([*launch, BIN / "sialrun", "--qcschema", "in.json", *([out] if out else []), *arguments], cwd=self.dir, env=ENV,
                              capture_output=True, text=True, timeout=200)  # fmt: skip
        self.assertEqual(done.returncode, code, done.stdout[-2000:] + done.stderr)
        result = json.loads((self.dir / out).read_text() if out else done.stdout)
        self.assertEqual(result["success"], code == 0)
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["in.json", "out.json"] if out else ["in.json"])
        return result, done

    def run_input(self, data, *arguments, **options):
        return self.run_text(json.dumps(data), *arguments, **options)[0]

    def test_methods(self):
        for method, name in METHODS.items():
            with self.subTest(method):
                data = given(method, "gradient")
                result = self.run_input(data)
                self.assertAlmostEqual(result["properties"]["return_energy"], REFERENCES["water"]["energies"][name], delta=1e-8)
                np.testing.assert_allclose(np.reshape(result["return_result"], (3, 3)), REFERENCES["water"][name], rtol=0, atol=1e-6)
                self.assertEqual(result["properties"]["return_gradient"], result["return_result"])
                for key, value in data.items():
                    if key != "schema_name":
                        self.assertEqual(result[key], value)
                self.assertEqual(result["schema_name"], "qcschema_output")
                upper = method.upper()
                self.assertEqual(result["extras"]["qcvars"][f"{upper} TOTAL GRADIENT"], result["return_result"])
                self.assertAlmostEqual(result["extras"]["qcvars"][f"{upper} TOTAL ENERGY"], result["properties"]["return_energy"], delta=1e-12)

    def test_energy_and_ranks(self):
        one = self.run_input(given("ccsd(t)", extras={"mine": 1}, protocols={"stdout": False}))
        two = self.run_input(given("ccsd(t)"), ranks=2)
        self.assertAlmostEqual(one["return_result"], two["return_result"], delta=1e-9)
        self.assertNotIn("stdout", one)
        self.assertEqual(one["extras"]["mine"], 1)
        self.assertIn("scf_energy", two["stdout"])
        self.assertEqual((one["provenance"]["ranks"], two["provenance"]["ranks"], one["provenance"]["creator"]), (1, 2, "sialx"))
        p = one["properties"]
        self.assertEqual([p[f"calcinfo_{n}"] for n in ("natom", "nbasis", "nalpha", "nbeta")], [3, 13, 5, 5])
        self.assertAlmostEqual(p["scf_total_energy"] + p["ccsd_prt_pr_correlation_energy"], one["return_result"], delta=1e-10)
        self.assertAlmostEqual(p["ccsd_total_energy"] + one["extras"]["qcvars"]["(T) CORRECTION ENERGY"], p["ccsd_prt_pr_total_energy"], delta=1e-10)

    def test_properties(self):
        result = self.run_input(given("hf", "properties"))
        self.assertEqual(result["return_result"], result["properties"])
        dipole = result["properties"]["scf_dipole_moment"]
        np.testing.assert_allclose(dipole[:2], [0, 0], rtol=0, atol=1e-9)
        self.assertLess(dipole[2], -0.9)  # towards the hydrogen atoms

    def test_open_shells(self):
        unrestricted = self.run_input(given("ump2", charge=1, multiplicity=2))
        self.assertEqual(unrestricted["return_result"], self.run_input(given("mp2", charge=1))["return_result"])
        spins = unrestricted["properties"]
        self.assertAlmostEqual(spins["mp2_same_spin_correlation_energy"] + spins["mp2_opposite_spin_correlation_energy"], spins["mp2_correlation_energy"], delta=1e-12)
        closed = self.run_input(given("hf", keywords={"reference": "uhf"}))
        self.assertAlmostEqual(closed["return_result"], REFERENCES["water"]["energies"]["rhf"], delta=1e-8)

    def test_version_2(self):
        data = second(given("mp2", "gradient", keywords={"freeze_core": True}, extras={"mine": 1}))
        result = self.run_input(data)
        first = self.run_input(given("mp2", "gradient", keywords={"freeze_core": True}))
        self.assertEqual((result["return_result"], result["properties"]), (first["return_result"], first["properties"]))
        self.assertEqual((result["schema_name"], result["schema_version"], result["id"]), ("qcschema_atomic_result", 2, "number 7"))
        self.assertEqual((result["input_data"], result["molecule"]), (data, data["molecule"]))
        self.assertNotIn("specification", result)

    def test_what_changes_nothing(self):
        """Parts of the schema that say nothing of the energy."""
        more = {"name": "water", "comment": "c", "identifiers": {"smiles": "O"}, "masses": [16.0, 2.0, None], "mass_numbers": [16, 2, -1], "atom_labels": ["", "a", ""],
                "atomic_numbers": [8, 1, 1], "real": [True, True, True], "connectivity": [[0, 1, 1.0]], "fix_com": True, "fix_orientation": False, "fix_symmetry": "c1",
                "provenance": {"creator": "me", "any": 1}, "validated": True, "id": 3, "extras": {"any": {}}, "molecular_charge": 0.0, "molecular_multiplicity": 1.0,
                "fragments": [[0], [1, 2]], "fragment_charges": [-1, 1.0], "fragment_multiplicities": [3, 3.0]}  # fmt: skip
        protocols = {"stdout": True, "wavefunction": "none", "native_files": None, "error_correction": {"default_policy": True}}
        for data in (given(more=more, protocols=protocols, provenance={"creator": "me"}, keywords=None), second(given(more=more, protocols=protocols))):
            self.assertAlmostEqual(self.run_input(data)["return_result"], REFERENCES["water"]["energies"]["rhf"], delta=1e-8)

    def test_ghosts(self):
        """Energies of PySCF 2.14."""
        molecule = {"symbols": ["O", "H", "H", "H"], "geometry": [*given()["molecule"]["geometry"], 0, 0, 2.0 / BOHR], "real": [True, True, True, False]}
        result = self.run_input(given("mp2", **molecule))
        self.assertAlmostEqual(result["properties"]["scf_total_energy"], GHOST["scf"], delta=1e-8)
        self.assertAlmostEqual(result["return_result"], GHOST["mp2"], delta=1e-7)
        self.assertEqual((result["properties"]["calcinfo_nbasis"], result["properties"]["calcinfo_nalpha"]), (15, 5))
        self.assertAlmostEqual(self.run_input(given("mp2", charge=1, **molecule))["return_result"], GHOST["ump2"], delta=1e-7)

    def test_standard_streams(self):
        (self.dir / "in.json").write_text(json.dumps(given()))
        for arguments in (["-"], ["-", "-"]):
            with open(self.dir / "in.json") as stream:
                done = subprocess.run([BIN / "sialrun", "--qcschema", *arguments], cwd=self.dir, env=ENV, stdin=stream, capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertAlmostEqual(json.loads(done.stdout)["return_result"], REFERENCES["water"]["energies"]["rhf"], delta=1e-8)
        self.assertAlmostEqual(self.run_input(given(), out=None)["return_result"], REFERENCES["water"]["energies"]["rhf"], delta=1e-8)

    def test_basis_in_the_input(self):
        shells = shells_of(ROOT / "runtime" / "chemistry" / "basis" / "sets" / "6-31gs.g94")
        centers: dict[str, Any] = {"oxygen": {"electron_shells": shells["O"]}, "H": {"electron_shells": shells["H"]}}
        basis: dict[str, Any] = {"schema_name": "qcschema_basis", "name": "mine", "atom_map": ["oxygen", "H", "H"], "center_data": centers}
        named = self.run_input(given("mp2", basis="6-31G*"))
        self.assertAlmostEqual(self.run_input(given("mp2", basis=basis))["return_result"], named["return_result"], delta=1e-10)
        for shell in centers["oxygen"]["electron_shells"]:
            shell["harmonic_type"] = "cartesian"
            shell["exponents"] = [str(x) for x in shell["exponents"]]  # as the Basis Set Exchange writes them
        basis["nbf"] = 19
        cartesian = self.run_input(given("mp2", basis=basis))
        self.assertEqual((named["properties"]["calcinfo_nbasis"], cartesian["properties"]["calcinfo_nbasis"]), (18, 19))
        self.assertAlmostEqual(cartesian["return_result"], self.run_input(given("mp2", basis="6-31G*", keywords={"spherical": False}))["return_result"], delta=1e-10)
        for stated in (True, False):  # the keyword says nothing of such a set
            said = self.run_input(given("hf", basis={**basis, "nbf": 19}, keywords={"spherical": stated}))
            self.assertEqual("`keywords.spherical`" in said.get("stderr", ""), stated)
        self.failure(given(basis=basis, keywords={"spherical": "no"}), "input_error", "`keywords.spherical`", "true or false")
        swapped = {**basis, "center_data": {**centers, "O": centers["oxygen"]}, "nbf": None}
        self.assertIn("atom 1 (H) has the functions of `O`", self.run_input(given(basis={**swapped, "atom_map": ["O", "O", "H"]}))["stderr"])
        self.assertIn("atom 1 (H) has the functions of `oxygen`", self.run_input(given(basis={**swapped, "atom_map": ["oxygen", "oxygen", "H"]}))["stderr"])

    def test_potential_in_the_input(self):
        folder = ROOT / "tests" / "examples" / "ecp"
        lines = (folder / "hcl.xyz").read_text().splitlines()[2:]
        symbols = [line.split()[0] for line in lines if line.split()]
        geometry = [float(x) / BOHR for line in lines if line.split() for x in line.split()[1:4]]
        shells = shells_of(folder / "hcl.g94")
        named = self.run_input(given(symbols=symbols, geometry=geometry, basis=str(folder / "hcl.g94")))
        centers = {element: {"electron_shells": shells[element.upper()]} for element in set(symbols)}
        centers["Cl"].update(potential_of((folder / "hcl.g94").read_text(), "CL"))
        basis = {"name": "mine", "atom_map": symbols, "center_data": centers}
        result = self.run_input(given(symbols=symbols, geometry=geometry, basis=basis))
        self.assertAlmostEqual(result["return_result"], named["return_result"], delta=1e-9)
        centers["Cl"]["ecp_potentials"][0]["r_exponents"][0] = 1.5
        self.failure(given(symbols=symbols, geometry=geometry, basis=basis), "input_error", "power 1.5")
        del centers["Cl"]["ecp_potentials"]
        self.failure(given(symbols=symbols, geometry=geometry, basis=basis), "input_error", "`ecp_electrons` are replaced")

    def test_keywords(self):
        full, frozen = (self.run_input(given("mp2", keywords={"freeze_core": f}))["return_result"] for f in (False, True))
        self.assertGreater(frozen, full + 1e-4)
        self.assertEqual(self.run_input(given("mp2", keywords={"freeze_core": 1}))["return_result"], frozen)
        other = self.run_input(given("mp2", keywords={"segments": {"ao_target": 6, "occ": [2, 3]}, "memory": "500MB", "scf_conv": 1e-11, "scf_iter": 60}))
        self.assertAlmostEqual(other["return_result"], full, delta=1e-9)
        step = self.run_input(given("hf", "gradient", keywords={"gradient_step": 0.01}))
        exact = REFERENCES["water"]["rhf"][0][2]
        self.assertTrue(2e-6 < abs(step["return_result"][2] - exact) < 1e-4, step["return_result"])

    def failure(self, data, kind, *words, code=2, **options):
        text = data if isinstance(data, str) else json.dumps(data)
        result, done = self.run_text(text, code=code, **options)
        self.assertEqual(result["error"]["error_type"], kind)
        for word in words:
            self.assertIn(word, result["error"]["error_message"])
            self.assertIn(word, done.stdout + done.stderr + result["error"]["error_message"])
        if not isinstance(data, str):
            self.assertEqual(result["input_data"], data)
            self.assertEqual(result["id"], data["id"])

    def test_failures(self):
        self.failure("{", "input_error", "no JSON")
        self.failure("[1]", "input_error", "no object")
        self.failure(json.dumps(given(extras=0)).replace('"extras": 0', '"extras": ' + "[" * 200000 + "]" * 200000), "input_error", "no JSON", "256 deep")
        without = given()
        del without["driver"]
        cases: list[Any] = [
            (without, "`driver`"),
            (given(driver="hessian"), "`driver`", "hessian", "gradient"),
            (given("b3lyp"), "`model.method`", "ccsd(t)"),
            (given("ccsd", charge=1), "`model.method`", "closed shells"),
            (given("rhf", charge=1), "`model.method`"),
            (given("ccsd", keywords={"reference": "uhf"}), "`model.method`"),
            (given(basis="no-such"), "`model.basis`", "no-such"),
            (given(basis={"center_data": {}, "atom_map": ["O"]}), "`model.basis.atom_map`"),
            (given(keywords={"scf_konv": 1e-9}), "`keywords.scf_konv`", "scf_conv"),
            (given(keywords={"scf_iter": 1.5}), "`keywords.scf_iter`", "1.5"),
            (given(keywords={"memory": "much"}), "`keywords.memory`"),
            (given(keywords={"memory": 4}), "`keywords.memory`", "unit"),
            (given(real=[True, True]), "`molecule.real`", "2 values for 3 atoms"),
            (given(geometry=[0.0, 1.0]), "`molecule.geometry`", "2 numbers"),
            (given(geometry=[0.0] * 9), "`molecule.geometry`", "same place"),
            (given(geometry=[0.0] * 8 + [1e30]), "`molecule.geometry`", "no place"),
            (given(charge=10), "electrons"),
            (given("mp2", keywords={"freeze_core": 9}), "frozen_core"),
            (given(symbols=["O", "Hh", "H"]), "`molecule.symbols[1]`", "Hh"),
            (given(multiplicity=2), "multiplicity"),
            (given(schema_version=3), "`schema_version`", "versions 1 and 2"),
            (given(schema_version=2), "`schema_name`", "qcschema_atomic_input"),
            (given(schema_name="qcschema_output"), "`schema_name`"),
            (given(specification={}), "`specification`"),
            ({**second(given()), "driver": "energy"}, "`driver`"),
            (second(given(), driver="hessian"), "`specification.driver`", "hessian"),
            (second(given(), protocols={"wavefunction": "all"}), "`specification.protocols.wavefunction`"),
            (second(given(keywords={"scf_konv": 1})), "`specification.keywords.scf_konv`", "scf_conv"),
            ({**second(given()), "molecule": given()["molecule"]}, "`molecule.schema_version`: 2 is not known", "have 3 here, and molecules the same keys in both: state that"),
        ]
        basis = {"name": "mine", "atom_map": ["O", "H", "H"], "center_data": {e: {"electron_shells": [
            {"harmonic_type": "spherical", "angular_momentum": [0], "exponents": [1.0], "coefficients": [[1.0]]}]} for e in "OH"}}  # fmt: skip
        for path in (["nbff"], ["center_data", "O", "ecp"], ["center_data", "O", "electron_shells", 0, "scale"]):
            changed = json.loads(json.dumps(basis))
            at = changed
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = 1
            cases.append((given(basis=changed), f"`model.basis.{'.'.join(map(str, path)).replace('.0', '[0]')}`", "is not known"))
        cases.append((given(basis={**basis, "nbf": 4}), "`model.basis.nbf`", "have 3"))
        # What nobody reads would change the calculation.
        for more, *words in [
            ({"charge": 1}, "`molecule.charge`", "molecular_charge"),
            ({"multiplicity": 2}, "`molecule.multiplicity`", "molecular_multiplicity"),
            ({"molecular_multiplicty": 3}, "`molecule.molecular_multiplicty`", "`molecular_multiplicity`"),
            ({"units": "angstrom"}, "`molecule.units`", "bohr"),
            ({"atomic_numbers": [7, 1, 1]}, "`molecule.atomic_numbers`", "8, not 7"),
            ({"atomic_numbers": [8, 1]}, "`molecule.atomic_numbers`", "2 values"),
            ({"fragments": [[0], [1]]}, "`molecule.fragments`", "atom 2 is in 0"),
            ({"fragments": [[0], [1, 2, 3]]}, "`molecule.fragments`", "no atom 3"),
            ({"fragments": [[0], [1, 2]], "fragment_charges": [1, 0]}, "`molecule.fragment_charges`", "sum is 1"),
            ({"fragment_charges": [0, 0]}, "`molecule.fragment_charges`", "2 values for 1 fragments"),
            ({"fragments": [[0], [1, 2]], "fragment_multiplicities": [3, 1]}, "`molecule.fragment_multiplicities`", "3, 1"),
            ({"fragments": [[0], [1, 2]], "fragment_multiplicities": [3, 3]}, "`molecule.fragment_multiplicities`", "state `molecular_multiplicity`"),
            ({"fragment_multiplicities": [3], "molecular_multiplicity": 1}, "`molecule.fragment_multiplicities`"),
            ({"identifiers": {"name": "water"}}, "`molecule.identifiers.name`"),
        ]:
            cases.append((given(more=more), *words))
        wrong: list[Any] = [
            ({"keyword": {"freeze_core": True}}, "`keyword`", "`keywords`"),
            ({"model": {"method": "mp2", "basis": "6-31g", "keywords": {}}}, "`model.keywords`"),
            ({"protocols": {"wavefunction": "all"}}, "`protocols.wavefunction`", "`all`"),
            ({"protocols": {"native_files": "input"}}, "`protocols.native_files`"),
            ({"protocols": {"stderr": True}}, "`protocols.stderr`"),
        ]
        for changes, *words in wrong:
            cases.append(({**given(), **changes}, *words))
        for data, *words in cases:
            with self.subTest(words[0]):
                self.failure(data, "input_error", *words)
        self.assertIn("schema_name", self.run_input(second(given("b3lyp")), code=2))
        self.failure(given("b3lyp"), "input_error", "`model.method`", ranks=2)

    def test_no_convergence(self):
        for ranks in (1, 2):
            self.failure(given("ccsd", keywords={"cc_iter": 2}), "convergence_error", "CCSD did not converge", code=1, ranks=ranks)
            out = json.loads((self.dir / "out.json").read_text())["error"]["error_message"]
            self.assertTrue(out.startswith("CCSD did not converge"), out)
            self.assertNotIn("segments ao", out)
        self.failure(given("hf", "gradient", keywords={"scf_iter": 3}), "convergence_error", "did not converge", code=1)

    def test_folder_of_examples(self):
        ENV["SIAL_EXAMPLES_PATH"] = str(EXAMPLES)
        self.addCleanup(ENV.pop, "SIAL_EXAMPLES_PATH")
        self.run_input(given())
        ENV["SIAL_EXAMPLES_PATH"] = str(self.dir)
        self.failure(given(), "input_error", "SIAL_EXAMPLES_PATH")

    def test_command_line(self):
        (self.dir / "in.json").write_text(json.dumps(given()))
        for arguments, word in ((["none.json", "out.json"], "none.json"), (["in.json", "in.json"], "replace"), (["in.json", "a", "b"], "takes an input"),
                                (["in.json", "out.json", "--dry-run"], "--dry-run")):  # fmt: skip
            done = subprocess.run([BIN / "sialrun", "--qcschema", *arguments], cwd=self.dir, env=ENV, capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(word, done.stderr)
        self.assertEqual(json.loads((self.dir / "in.json").read_text()), given())

    def test_models(self):
        """By the schema's own models, where they are installed."""
        venv = ROOT / "build" / "python-venv" / "bin" / "python"
        python = next((p for p in (sys.executable, str(venv)) if pathlib.Path(p).is_file() and
                       subprocess.run([p, "-c", "import qcelemental.models"], capture_output=True).returncode == 0), None)  # fmt: skip
        if python is None:
            self.skipTest("qcelemental is not installed")
        self.run_input(given("mp2", "gradient"))
        good = (self.dir / "out.json").read_text()
        self.run_input(given("b3lyp"), code=2)
        bad = (self.dir / "out.json").read_text()
        new = json.dumps([self.run_input(second(given("mp2", "gradient"))), self.run_input(second(given("b3lyp")), code=2)])
        check = """import json, sys; from qcelemental.models import v1, v2; good, bad, new = json.load(sys.stdin)
v1.AtomicResult(**good); v1.FailedOperation(**bad); v2.AtomicResult(**new[0]); v2.FailedOperation(**new[1])"""
        done = subprocess.run([python, "-c", check], input=f"[{good},{bad},{new}]", capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)


def potential_of(text, element):
    """The potential of an element in a Gaussian 94 file, as QCSchema has it."""
    lines = text.upper().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(f"{element}-ECP"))
    _, highest, electrons = lines[begin].split()
    at, parts = begin + 1, []
    for l in [int(highest), *range(int(highest))]:
        count = int(lines[at + 1])
        rows = [line.replace("D", "E").split() for line in lines[at + 2 : at + 2 + count]]
        parts.append({"ecp_type": "scalar", "angular_momentum": [l], "r_exponents": [int(r[0]) for r in rows], "gaussian_exponents": [float(r[1]) for r in rows],
                      "coefficients": [[float(r[2]) for r in rows]]})  # fmt: skip
        at += 2 + count
    return {"ecp_electrons": int(electrons), "ecp_potentials": parts}


if __name__ == "__main__":
    main()
