"""Jobs with gradients for the tests of this folder: molecules and analytic gradients of references.json, programs of the examples."""
from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

from harness import EXAMPLES, InFolder, sialrun

REFERENCES: dict[str, Any] = json.loads((pathlib.Path(__file__).parent / "references.json").read_text())
PROGRAMS = {
    "rhf": ["04_rhf/rhf.sialx"],
    "uhf": ["06_uhf/uhf.sialx"],
    "mp2": ["04_rhf/rhf.sialx", "05_mp2/mp2.sialx"],
    "ump2": ["06_uhf/uhf.sialx", "07_ump2/ump2.sialx"],
    "ccsd": ["04_rhf/rhf.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx"],
    "ccsd_t": ["04_rhf/rhf.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx", "11_ccsd_t/ccsd_t.sialx"],
    "fragments": ["16_fragments/frag_rhf.sialx"],
}


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
    return sialrun(*words, ranks=ranks, code=None, cwd=folder)


def gradient_of(folder: pathlib.Path) -> tuple[np.ndarray, dict[str, Any]]:
    with h5py.File(folder / "results.h5") as file:
        dataset = file["derivatives/gradient"]
        return dataset[:], dict(dataset.attrs)


class Runs(InFolder):
    @property
    def folder(self) -> pathlib.Path:
        return self.dir

    def gradient(self, molecule: str, method: str, *options: object, ranks: int = 1, atoms: Any = None, extra: str = "") -> tuple[np.ndarray, dict[str, Any], str]:
        """The gradient of a method's energy, its attributes in results.h5, and what was printed."""
        job = write_job(self.folder, molecule, method, atoms, extra)
        scalar = {"rhf": "scf_energy", "uhf": "scf_energy", "fragments": "total"}.get(method, "total_energy")
        done = run(self.folder, job, "--gradient", scalar, *options, ranks=ranks)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        values, attributes = gradient_of(self.folder)
        return values, attributes, done.stdout
