"""Jobs with gradients for the tests of this folder: molecules and analytic gradients of references.json, programs of the examples."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any

import h5py
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
REFERENCES: dict[str, Any] = json.loads((pathlib.Path(__file__).parent / "references.json").read_text())
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
PROGRAMS = {
    "rhf": ["04_rhf/rhf.sialx"],
    "uhf": ["06_uhf/uhf.sialx"],
    "mp2": ["04_rhf/rhf.sialx", "05_mp2/mp2.sialx"],
    "ump2": ["06_uhf/uhf.sialx", "07_ump2/ump2.sialx"],
    "ccsd": ["04_rhf/rhf.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx"],
    "ccsd_t": ["04_rhf/rhf.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx", "11_ccsd_t/ccsd_t.sialx"],
    "fragments": ["16_fragments/frag_rhf.sialx"],
}
PROGRAM_FOLDER: list[pathlib.Path] = []  # of sialrun; arguments() fills it


def arguments() -> list[str]:
    """Those for unittest.main(), without `--bin DIR`, the folder of sialrun."""
    at = sys.argv.index("--bin")
    PROGRAM_FOLDER.append(pathlib.Path(sys.argv[at + 1]))
    return [*sys.argv[:at], *sys.argv[at + 2 :]]


def write_job(folder: pathlib.Path, molecule: str, method: str, atoms: Any = None, extra: str = "") -> pathlib.Path:
    """A job file for atoms (symbol, place in angstrom) of the references, in `folder`; its path."""
    atoms = atoms or REFERENCES[molecule]["atoms"]
    lines = [str(len(atoms)), molecule] + [f"{symbol} {x:.10f} {y:.10f} {z:.10f}" for symbol, (x, y, z) in atoms]
    (folder / "molecule.xyz").write_text("\n".join(lines) + "\n")
    programs = ", ".join(f'"{EXAMPLES / p}"' for p in PROGRAMS[method])
    job = folder / "job.toml"
    job.write_text(f'programs = [{programs}]\n\n[molecule]\nxyz = "molecule.xyz"\nbasis = "6-31g"\n{extra}')
    return job


def run(folder: pathlib.Path, *words: object, ranks: int = 1) -> subprocess.CompletedProcess[str]:
    launch = ["mpirun", "-n", str(ranks), "--bind-to", "none"] if ranks > 1 else []
    return subprocess.run([*launch, str(PROGRAM_FOLDER[0] / "sialrun"), *map(str, words)], cwd=folder, env=ENV, capture_output=True, text=True, timeout=300)


def gradient_of(folder: pathlib.Path) -> tuple[np.ndarray, dict[str, Any]]:
    with h5py.File(folder / "results.h5") as file:
        dataset = file["derivatives/gradient"]
        return dataset[:], dict(dataset.attrs)


class Runs(unittest.TestCase):
    """Tests with a folder of their own."""

    folder: pathlib.Path

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def gradient(self, molecule: str, method: str, *options: object, ranks: int = 1, atoms: Any = None, extra: str = "") -> tuple[np.ndarray, dict[str, Any], str]:
        """The gradient of a method's energy, its attributes in results.h5, and what was printed."""
        job = write_job(self.folder, molecule, method, atoms, extra)
        scalar = {"rhf": "scf_energy", "uhf": "scf_energy", "fragments": "total"}.get(method, "total_energy")
        done = run(self.folder, job, "--gradient", scalar, *options, ranks=ranks)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        values, attributes = gradient_of(self.folder)
        return values, attributes, done.stdout
