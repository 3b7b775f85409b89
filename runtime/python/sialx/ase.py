"""A calculator for ASE, the Atomic Simulation Environment (A. H. Larsen et al., J. Phys.: Condens. Matter 29, 273002 (2017)). Needs the package `ase`.

    from ase.build import molecule
    from ase.optimize import BFGS
    from sialx.ase import SIALX

    water = molecule("H2O")
    water.calc = SIALX(method="mp2", basis="cc-pvdz", ranks=2)
    BFGS(water).run(fmax=0.01)
"""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from ase import Atoms
from ase.calculators.calculator import CalculationFailed, Calculator, CalculatorSetupError, InputError, ReadError, all_changes
from ase.io.jsonio import read_json, write_json
from ase.units import Bohr, Hartree

from .calculation import calculate
from .job import JobError
from .molecule import Molecule

if TYPE_CHECKING:
    from typing import Union

    StrPath = Union[str, os.PathLike[str]]

_KEPT = "ase.json"  # the last calculation, in its folder


class SIALX(Calculator):  # type: ignore[misc]  # ase has no types where it is not installed
    """Energy (eV), forces (eV/angstrom), Mulliken charges of the Hartree-Fock density (e) and, of Hartree-Fock, dipole moment (e angstrom, from the origin of
    the coordinates) of molecules.

    method: "hf", "mp2", "ccsd", "ccsd(t)"; "uhf", "ump2" for open shells. basis: the name of a basis set, or a file; there is no usual one. charge: without
    it the sum of the atoms' initial charges. multiplicity: 2S + 1, without it 1 + the sum of their initial magnetic moments. frozen_core, ranks, memory,
    values, segments, flags, mpirun: as of sialx.calculate(). spherical: functions are pure. Any change of a parameter forgets the results.
    directory: a folder, not the current one, where the job of the last calculation stays, with its results; without it nothing stays. restart: such a
    folder, from which atoms, parameters and results are taken, so that an optimisation goes on without a calculation done twice. keep_orbitals: the SCF begins
    with the orbitals of the last calculation where that had the same atoms and basis set; it takes fewer iterations, and energies then depend on where the
    atoms came from: RHF may stay in a state that has become an excited one.

    Forces are the gradient that `sialrun --gradient` gives. Raises CalculationFailed with the words of sialrun for a run that fails; InputError for
    what cannot be calculated, as periodic cells."""

    implemented_properties = ["energy", "free_energy", "forces", "dipole", "charges"]
    default_parameters = {
        "method": "hf",
        "basis": None,
        "charge": None,
        "multiplicity": None,
        "frozen_core": False,
        "spherical": True,
        "keep_orbitals": False,
        "ranks": 1,
        "memory": None,
        "values": None,
        "segments": None,
        "flags": (),
        "mpirun": ("mpirun", "--bind-to", "none"),
    }
    discard_results_on_any_change = True

    def __init__(self, restart: StrPath | None = None, atoms: Atoms | None = None, directory: StrPath | None = None, **parameters: Any) -> None:
        where = directory or restart or "."
        self._scratch: str | None = None  # a folder that goes with this object
        self._orbitals: tuple[list[Any], Path] | None = None  # what they belong to, and the results file that has them
        super().__init__(restart=None if restart is None else os.fspath(restart), atoms=atoms, directory=os.fspath(where), **parameters)

    def set(self, **parameters: Any) -> dict[str, Any]:
        """Changes parameters and forgets the results; gives what has changed. InputError for a name that is none."""
        unknown = sorted(set(parameters) - set(self.default_parameters))
        if unknown:
            raise InputError(f"`{unknown[0]}` is no parameter of this calculator; there are: {', '.join(self.default_parameters)}")
        changed: dict[str, Any] = super().set(**parameters)
        return changed

    def calculate(self, atoms: Atoms | None = None, properties: Sequence[str] = ("energy",), system_changes: Sequence[str] = all_changes) -> None:
        """Runs the job; ASE calls this where a property is needed that is not there."""
        super().calculate(atoms, list(properties), list(system_changes))
        molecule, charge, multiplicity = self._molecule()
        kept = self.directory != "."
        if not kept and self._scratch is None:
            self._scratch = tempfile.mkdtemp(prefix="sialx-ase-")
            weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
        where = Path(self._scratch if self._scratch and not kept else self.directory)
        functions = self._functions()
        wanted = self.parameters["keep_orbitals"]
        guess = self._orbitals[1] if wanted and self._orbitals and self._orbitals[0] == functions and self._orbitals[1].exists() else None
        options = {key: self.parameters[key] for key in ("method", "ranks", "memory", "values", "segments", "flags", "mpirun")}
        try:
            done = calculate(molecule, charge=charge, multiplicity=multiplicity, gradient="forces" in properties, folder=where, guess=guess, **options)
        except JobError as error:
            raise CalculationFailed(str(error)) from error
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from error
        except FileNotFoundError as error:
            raise CalculatorSetupError(str(error)) from error
        self._orbitals = (functions, Path(done.results.path).absolute())
        self.results = {"energy": done.energy * Hartree, "free_energy": done.energy * Hartree}
        if done.gradient is not None:
            self.results["forces"] = -done.gradient * (Hartree / Bohr)
        if done.dipole is not None:
            self.results["dipole"] = done.dipole * Bohr
        if done.charges is not None:
            self.results["charges"] = done.charges
        if kept:
            write_json(where / _KEPT, {"atoms": self.atoms.todict(), "parameters": dict(self.parameters), "results": self.results})

    def read(self, label: str) -> None:
        """Atoms, parameters and results of the last calculation in a folder."""
        path = Path(label) / _KEPT
        try:
            kept = read_json(path)
            self.atoms = Atoms.fromdict(kept["atoms"])
            self.parameters = self.get_default_parameters()
            self.parameters.update({key: tuple(value) if isinstance(value, list) else value for key, value in kept["parameters"].items()})
            self.results = dict(kept["results"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ReadError(f"`{path}` has no calculation to go on from: {error}") from error
        self._orbitals = (self._functions(), (Path(label) / "results.h5").absolute())

    def __getstate__(self) -> dict[str, Any]:
        """A copy has files of its own."""
        return {**self.__dict__, "_scratch": None, "_orbitals": None}

    def _functions(self) -> list[Any]:
        """What orbitals belong to."""
        return [self.atoms.get_chemical_symbols(), copy.deepcopy(self.parameters["basis"]), bool(self.parameters["spherical"])]

    def _molecule(self) -> tuple[Molecule, int, int]:
        """The molecule, its charge and its multiplicity."""
        atoms, given = self.atoms, self.parameters
        if atoms.pbc.any():
            raise InputError("sialx calculates molecules, and the atoms are in a periodic cell: set atoms.pbc = False")
        if given["basis"] is None:
            raise InputError('name a basis set: SIALX(method="mp2", basis="cc-pvdz")')
        if (atoms.numbers < 1).any():
            raise InputError(f"atom {int(np.argmax(atoms.numbers < 1))} (`X`) is no element")
        charge, multiplicity = given["charge"], given["multiplicity"]
        if charge is None:
            charge = _whole(atoms.get_initial_charges().sum(), "initial charges", "charge")
        if multiplicity is None:
            multiplicity = 1 + abs(_whole(atoms.get_initial_magnetic_moments().sum(), "initial magnetic moments", "multiplicity"))
        try:
            molecule = Molecule(
                atoms.get_chemical_symbols(), atoms.positions / Bohr, given["basis"], spherical=bool(given["spherical"]), frozen_core=given["frozen_core"]
            )
        except ValueError as error:
            raise InputError(str(error)) from error
        return molecule, charge, multiplicity


def _whole(total: float, what: str, parameter: str) -> int:
    if abs(total - round(total)) > 1e-6:
        raise InputError(f"the {what} of the atoms add up to {total:g}, which is no whole number: give `{parameter}`")
    return int(round(total))
