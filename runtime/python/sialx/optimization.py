"""Geometries of minima and transition states: optimize(), with the optimiser geomeTRIC (L.-P. Wang and C. Song, J. Chem. Phys. 144, 214108 (2016))."""

from __future__ import annotations

import dataclasses
import logging
import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Union

import numpy as np

from .calculation import Calculation, as_molecule, calculate
from .molecule import ELEMENTS, Molecule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .molecule import Basis

    StrPath = Union[str, os.PathLike[str]]

# Names of internal coordinates by geomeTRIC: the class, whether fragments are connected, whether all Cartesian coordinates are added.
_COORDINATES = {
    "cart": ("CartesianCoordinates", False, False),
    "prim": ("PrimitiveInternalCoordinates", True, False),
    "dlc": ("DelocalizedInternalCoordinates", True, False),
    "hdlc": ("DelocalizedInternalCoordinates", False, True),
    "tric-p": ("PrimitiveInternalCoordinates", False, False),
    "tric": ("DelocalizedInternalCoordinates", False, False),
}


@dataclass(frozen=True, repr=False)
class Optimization:
    """What optimize() gives.

    molecule: at the last geometry. converged: whether that is a stationary point by the criteria. energy: there, in hartree; energies: of all steps,
    the first geometry included. geometries: of all steps, of shape (steps, atoms, 3), in bohr. calculations: how many energies and gradients were needed.
    folder: log.txt of geomeTRIC, path.xyz with the geometries (angstrom) and energies, and the job of the last calculation."""

    molecule: Molecule
    converged: bool
    energy: float
    energies: NDArray[np.float64]
    geometries: NDArray[np.float64]
    calculations: int
    folder: Path

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        return f"<Optimization: {state}, energy {self.energy:.10f} after {len(self.energies) - 1} steps; in {self.folder}>"


def optimize(
    molecule: Molecule | StrPath | Any,
    method: str = "hf",
    basis: Basis | None = None,
    ranks: int = 1,
    memory: str | int | None = None,
    folder: StrPath | None = None,
    frozen_core: bool | int | None = None,
    charge: int | None = None,
    multiplicity: int | None = None,
    transition: bool = False,
    constraints: str | None = None,
    coordinates: str = "tric",
    steps: int = 300,
    options: dict[str, Any] | None = None,
    keep_orbitals: bool = False,
    **calculation: Any,
) -> Optimization:
    """The geometry of a minimum next to the one given, or of a transition state (transition=True, which computes a matrix of second derivatives first: 6
    gradients per atom).

    molecule, method, basis, ranks, memory, frozen_core, charge, multiplicity, and others by name (values, segments, flags, guess, mpirun): as of sialx.calculate().
    constraints: text in the format of geomeTRIC, for example "$freeze\\ndistance 1 2\\n" (atoms count from 1). coordinates: "tric", "dlc", "hdlc",
    "cart", "prim" or "tric-p". steps: allowed ones; more make a result that is not converged. options: more of geomeTRIC's, for example
    {"convergence_set": "GAU_TIGHT"}. folder: a temporary one that stays where none is named. keep_orbitals: each SCF begins with the orbitals of the step
    before, in fewer iterations; RHF may then stay in a state that has become an excited one.

    Raises ImportError where geomeTRIC is missing, ValueError for what cannot be optimised, JobError where a calculation fails."""
    geometric = _geometric()
    from geometric import internal, params, prepare
    from geometric import optimize as driver

    start = as_molecule(molecule, basis, charge, multiplicity, frozen_core)
    if len(start.symbols) < 2:
        raise ValueError("a single atom has no geometry to optimise")
    if coordinates not in _COORDINATES:
        raise ValueError(f"the coordinates `{coordinates}` are not known; there are: {', '.join(_COORDINATES)}")
    if steps < 1:
        raise ValueError(f"{steps} steps cannot optimise a geometry")
    where = Path(tempfile.mkdtemp(prefix="sialx-optimize-") if folder is None else folder).absolute()
    where.mkdir(parents=True, exist_ok=True)
    job = {"method": method, "ranks": ranks, "memory": memory, **calculation}

    system = geometric.molecule.Molecule()
    system.elem = [ELEMENTS[int(symbol) - 1] if symbol.isdigit() else symbol.capitalize() for symbol in start.symbols]
    system.xyzs = [start.coordinates * geometric.nifty.bohr2ang]
    system.build_topology()
    engine = _engine(geometric, system, start, where / "calculation", job, keep_orbitals)
    given: dict[str, Any] = {"transition": transition, "maxiter": steps, "xyzout": str(where / "path.xyz"), **(options or {})}
    with _log(where / "log.txt", geometric.nifty.RawFileHandler):
        constrained, targets = prepare.parse_constraints(system, constraints) if constraints else (None, None)
        if targets is not None and len(targets) > 1:
            raise ValueError("the constraints ask for a scan, of more than one geometry; optimize them one by one, with `$set`")
        if constraints and coordinates in ("cart", "prim", "tric-p"):
            raise ValueError(f'constraints need coordinates "tric", "dlc" or "hdlc", not "{coordinates}"')
        kind, connected, with_cartesian = _COORDINATES[coordinates]
        internals = getattr(internal, kind)(
            system, build=True, connect=connected, addcart=with_cartesian, constraints=constrained, cvals=targets[0] if targets is not None else None
        )
        optimizer = driver.Optimizer(start.coordinates.flatten(), system, internals, engine, str(where / "calculation"), params.OptParams(**given))
        try:
            optimizer.optimizeGeometry()
            converged = True
        except geometric.errors.GeomOptNotConvergedError:
            converged = False
    path = optimizer.progress
    geometries = np.array(path.xyzs) / geometric.nifty.bohr2ang
    energies = np.array(path.qm_energies, dtype=float)
    return Optimization(
        molecule=dataclasses.replace(start, coordinates=geometries[-1]),
        converged=converged,
        energy=float(energies[-1]),
        energies=energies,
        geometries=geometries,
        calculations=engine.calculations,
        folder=where,
    )


def _geometric() -> Any:
    try:
        import geometric
        import geometric.engine
        import geometric.errors
        import geometric.molecule
        import geometric.nifty
    except ImportError as error:
        raise ImportError(f"sialx.optimize needs geomeTRIC: pip install geometric ({error})") from error
    return geometric


def _engine(geometric: Any, system: Any, start: Molecule, folder: Path, job: dict[str, Any], keep_orbitals: bool) -> Any:
    """What gives geomeTRIC energies (hartree) and gradients (hartree/bohr, of one dimension)."""
    first_guess = job.pop("guess", None)

    class Engine(geometric.engine.Engine):  # type: ignore[misc]
        calculations = 0
        guess: Calculation | StrPath | None = first_guess

        def calc_new(self, coords: NDArray[np.float64], dirname: str) -> dict[str, Any]:
            at = dataclasses.replace(start, coordinates=np.reshape(coords, (-1, 3)))
            done = calculate(at, gradient=True, folder=folder, guess=self.guess, **job)
            self.guess = done if keep_orbitals else None
            assert done.gradient is not None
            self.calculations += 1
            return {"energy": done.energy, "gradient": done.gradient.flatten()}

        def detect_dft(self) -> bool:
            return False

    return Engine(system)


@contextmanager
def _log(path: Path, handler_class: Any) -> Iterator[None]:
    """What geomeTRIC says goes to a file, and not to the handlers of the caller."""
    logger = logging.getLogger("geometric")
    handler = handler_class(str(path), "w")
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
        logger.setLevel(level)
        logger.propagate = propagate
