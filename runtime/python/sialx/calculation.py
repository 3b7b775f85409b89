"""From a molecule to its energy, gradient and dipole moment in one call: calculate(). It runs example programs as a job."""

from __future__ import annotations

import dataclasses
import operator
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import h5py
import numpy as np

from .examples import Method, example_programs, known_methods
from .job import Job, JobError
from .molecule import Molecule, from_pyscf
from .results import Numbers, Results

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .molecule import Basis

    StrPath = Union[str, os.PathLike[str]]


@dataclass(frozen=True, repr=False)
class Calculation:
    """What calculate() gives.

    energy: the total energy in hartree. gradient: its derivatives by the coordinates of the nuclei, of shape (atoms, 3), in hartree/bohr; None where it
    was not asked for. charges: Mulliken's of the Hartree-Fock density, of shape (atoms,), in e. dipole: the dipole moment, of shape (3,), in e bohr, from the origin of the coordinates; None for methods beyond Hartree-Fock, whose
    programs have only that of the orbitals (in `scalars`). scalars: every scalar of the programs. molecule: as it was calculated. folder: where the
    job and its results are; `results` reads them."""

    method: str
    molecule: Molecule
    energy: float
    gradient: NDArray[np.float64] | None
    dipole: NDArray[np.float64] | None
    charges: NDArray[np.float64] | None
    scalars: Numbers[float]
    folder: Path
    results: Results

    def __repr__(self) -> str:
        gradient = "" if self.gradient is None else f", largest element of the gradient {np.abs(self.gradient).max():.2e}"
        return f"<Calculation: {self.method}, energy {self.energy:.10f}{gradient}; in {self.folder}>"


def calculate(
    molecule: Molecule | StrPath | Any,
    method: str = "ccsd(t)",
    basis: Basis | None = None,
    ranks: int = 1,
    gradient: bool = False,
    memory: str | int | None = None,
    folder: StrPath | None = None,
    frozen_core: bool | int | None = None,
    charge: int | None = None,
    multiplicity: int | None = None,
    values: Mapping[str, int | float] | None = None,
    segments: Mapping[str, Sequence[int] | int | str] | None = None,
    flags: Iterable[object] = (),
    guess: Calculation | StrPath | None = None,
    mpirun: Iterable[str] = ("mpirun", "--bind-to", "none"),
) -> Calculation:
    """The energy of a molecule, on `ranks` ranks; with gradient=True its gradient as well, from central differences of energies.

    molecule: a Molecule, a built pyscf.gto.Mole, or the path of an xyz file. method: "hf", "mp2", "ccsd", "ccsd(t)" of a closed shell; "uhf", "ump2" of any.
    basis: the name of a basis set, a file or shells, as of a Molecule; needed for an xyz file, and in the place of the molecule's own elsewhere; so are
    frozen_core, charge and multiplicity (2S + 1). memory: of a rank's blocks, "2GB" or bytes. folder: where the job and its results lie; a temporary one that
    stays where none is named. guess: an earlier calculation, or its folder or results file, whose orbitals the SCF begins with; with other atoms or another basis
    set it is not used. values: for the programs, for example {"scf_conv": 1e-11, "cc_iter": 100}. segments, flags, mpirun: as of Job.

    Raises ValueError for what cannot be calculated, JobError for a run that fails, as when iterations do not converge."""
    name, row = _method(method)
    molecule = as_molecule(molecule, basis, charge, multiplicity, frozen_core)
    if molecule.multiplicity != 1 and not row.unrestricted:
        hint = f'method="u{name}"' if f"u{name}" in known_methods().methods else f"there are {_listed(unrestricted=True)}"
        raise ValueError(f"`{name}` is for closed shells, and the molecule has multiplicity {molecule.multiplicity}: for open shells {hint}")
    examples = example_programs()
    kinds = ("ao", "occ", "virt", *(("beta_occ", "beta_virt") if row.unrestricted else ()))
    job = Job(
        [examples / program for program in row.programs],
        molecule,
        values=values,
        segments={**{kind: "auto" for kind in kinds}, **(segments or {})},
        memory=memory,
    )
    where = Path(tempfile.mkdtemp(prefix="sialx-") if folder is None else folder).absolute()
    where.mkdir(parents=True, exist_ok=True)
    started = ("--guess", _results_file(guess)) if guess is not None else ()
    results = job.run(where, ranks=ranks, flags=[*(("--gradient", row.energy) if gradient else ()), *started, *flags], mpirun=mpirun)
    scalars = results.scalars
    return Calculation(
        method=name,
        molecule=molecule,
        energy=_finite(float(scalars[row.energy]), "the energy"),
        gradient=_gradient(results, len(molecule.symbols)) if gradient else None,
        charges=_charges(results, len(molecule.symbols)),
        dipole=np.array([scalars[f"dipole_{x}"] for x in "xyz"]) if row.has_dipole else None,
        scalars=scalars,
        folder=where,
        results=results,
    )


def as_molecule(
    given: Molecule | StrPath | Any, basis: Basis | None = None, charge: int | None = None, multiplicity: int | None = None, frozen_core: bool | int | None = None
) -> Molecule:
    """A Molecule from what calculate() takes, with the changes named. ValueError for an xyz file without a basis set."""
    if isinstance(given, (str, os.PathLike)):
        if basis is None:
            raise ValueError("a molecule from a file needs the name of a basis set: basis=\"cc-pvdz\"")
        molecule = Molecule.from_xyz(given, basis, charge, multiplicity)
    elif isinstance(given, Molecule):
        molecule = given
    elif hasattr(given, "atom_coords"):
        molecule = from_pyscf(given)
    else:
        raise TypeError(f"a molecule is a sialx.Molecule, a pyscf.gto.Mole or the path of an xyz file, not a {type(given).__name__}")
    changes: dict[str, Any] = {"basis": basis, "frozen_core": frozen_core}
    for key, value in (("charge", charge), ("multiplicity", multiplicity)):
        try:
            changes[key] = None if value is None else operator.index(value)
        except TypeError:
            raise ValueError(f"{key} is a whole number, not {value!r}") from None
    return dataclasses.replace(molecule, **{key: value for key, value in changes.items() if value is not None})


def _method(given: str) -> tuple[str, Method]:
    table = known_methods()
    name = given.strip().lower()
    name = table.other_names.get(name, name)
    if name not in table.methods:
        raise ValueError(f"the method `{given}` is not known: for closed shells there are {_listed(unrestricted=False)}; for open ones {_listed(unrestricted=True)}")
    return name, table.methods[name]


def _listed(unrestricted: bool) -> str:
    return ", ".join(f"`{name}`" for name, row in known_methods().methods.items() if row.unrestricted == unrestricted)


def _gradient(results: Results, atoms: int) -> NDArray[np.float64]:
    with h5py.File(results.path, "r") as file:
        if "derivatives/gradient" not in file:
            raise JobError(0, f"`{results.path}` has no gradient: is this sialrun older than the package?")
        values = np.array(file["derivatives/gradient"], dtype=float)
    if values.shape != (atoms, 3) or not np.isfinite(values).all():
        raise JobError(0, f"the gradient in `{results.path}` has shape {values.shape} or elements that are no numbers; {atoms} atoms have ({atoms}, 3)")
    return values


def _charges(results: Results, atoms: int) -> NDArray[np.float64] | None:
    with h5py.File(results.path, "r") as file:
        if "properties/mulliken_charges" not in file:
            return None
        values = np.array(file["properties/mulliken_charges"], dtype=float)
    return values if values.shape == (atoms,) and bool(np.isfinite(values).all()) else None


def _results_file(guess: Calculation | StrPath) -> Path:
    path = guess.folder if isinstance(guess, Calculation) else Path(guess)
    return (path / "results.h5" if path.is_dir() else path).absolute()


def _finite(value: float, what: str) -> float:
    if not np.isfinite(value):
        raise JobError(0, f"{what} is {value}")
    return value
