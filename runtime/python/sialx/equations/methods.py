"""From equations to energies: method() and Method.run()."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from ..filled import fill
from ..job import Job, program_path
from ..molecule import Molecule
from ..results import Results
from .iterating import iterations, residuals
from .model import INPUT, Equations, Tensor
from .planning import Plan, plan
from .sial import Program, basic_spaces
from .text import from_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    StrPath = Union[str, "os.PathLike[str]"]

SPIN_ORBITALS = "spin-orbital"


@dataclass(frozen=True, repr=False)
class MethodResults:
    """What a method leaves.

    energy: in hartree, that of the reference and the correlation energy together. cycles: iterations until the amplitudes were converged;
    residual: the norm of what is left of the equations. arrays: converged amplitudes by name, read from the results file when they are asked for; spin
    orbitals are alpha before beta within the occupied and within the virtual ones."""

    energy: float
    reference_energy: float
    correlation_energy: float
    cycles: int
    residual: float
    results: Results
    folder: Path

    @property
    def arrays(self) -> Mapping[str, Any]:
        return self.results.arrays

    def __repr__(self) -> str:
        return f"<MethodResults: energy {self.energy:.10f}, correlation {self.correlation_energy:.10f}, {self.cycles} cycles>"


class Method:
    """Equations as a method that runs. equations: as given. plan: its products and phases. sial: the program, readable SIAL with a comment per product.

    Made by method()."""

    def __init__(self, equations: Equations, amplitudes: Sequence[str], energy: str, name: str, extents: Optional[Mapping[str, float]]) -> None:
        spaces = basic_spaces(equations)
        if spaces != ("o", "v"):
            raise ValueError(f"a method over spin orbitals has the spaces `o` (occupied) and `v` (virtual), in this order; the equations have {', '.join(spaces)}")
        self.equations = equations
        self.plan: Plan = plan(equations, extents)
        self.amplitudes = tuple(residuals(equations, amplitudes))
        self.program: Program = iterations(self.plan, self.amplitudes, energy, name)
        self.sial = self.program.text
        self._energy, self._name = energy, name
        self._given = self._tensors()

    def __repr__(self) -> str:
        barriers = len(self.plan.phases)
        return f"<Method: {', '.join(self.amplitudes)}; {sum(map(len, self.plan.phases))} products in {barriers} phases; .sial is the program>"

    def _tensors(self) -> Dict[str, Tensor]:
        """The Fock matrix and the integrals: the given tensors with two and with four indices."""
        given: Dict[str, Tensor] = {}
        for t in self.equations.of_role(INPUT):
            if t.name not in self.program.arrays:
                continue
            if t.rank == 2 and not any(o.rank == 2 for o in given.values()):
                given[t.name] = t
            elif t.rank == 4 and len(t.symmetries) and not any(o.rank == 4 for o in given.values()):
                given[t.name] = t
            else:
                raise ValueError(
                    f"`{t.name}` is given, and a method over spin orbitals has one Fock matrix with two indices and one tensor of integrals "
                    "<pq||rs>, antisymmetric in the first two and in the last two of four indices"
                )
        return given

    def run(
        self,
        molecule: Union[Molecule, StrPath],
        basis: Optional[str] = None,
        ranks: int = 1,
        folder: Optional[StrPath] = None,
        convergence: float = 1e-10,
        cycles: int = 100,
        memory: Union[str, int, None] = None,
        segment: int = 8,
        flags: Sequence[object] = (),
    ) -> MethodResults:
        """RHF, all integrals over orbitals, and the method, on `ranks` ranks.

        molecule: of a closed shell: a Molecule, or the path of an xyz file with the name of a basis set. folder: where the jobs and their results
        lie; a temporary one that stays where none is named. convergence: of the energy, in hartree; the norm of the residuals falls below 100 times that.
        segment: orbitals of one spin in a block, about. memory: of a rank's blocks.

        The integrals over spin orbitals are made from those over orbitals: n**4 elements over orbitals on every rank, and 16 n**4 over all ranks. Raises
        JobError where a job fails, as when the amplitudes do not converge."""
        if not isinstance(molecule, Molecule):
            if basis is None:
                raise ValueError("a molecule from a file needs the name of a basis set")
            molecule = Molecule.from_xyz(molecule, basis)
        elif basis is not None:
            raise ValueError("a Molecule has its basis set")
        if molecule.multiplicity != 1:
            raise ValueError(f"the molecule has multiplicity {molecule.multiplicity}; methods start from a closed shell")
        if molecule.frozen_core:
            raise ValueError("methods from equations correlate all electrons: leave out frozen_core")
        where = Path(tempfile.mkdtemp(prefix="sialx-method-") if folder is None else folder).absolute()
        where.mkdir(parents=True, exist_ok=True)
        programs = example_programs()
        first = Job(
            [programs / "04_rhf" / "rhf.sialx", programs / "19_equations" / "integrals.sialx"],
            molecule,
            segments={"ao": "auto", "ao_target": segment, "occ": "auto", "occ_target": segment, "virt": "auto", "virt_target": segment},
            memory=memory,
        ).run(where / "orbitals", ranks=ranks, flags=flags)
        spatial = np.asarray(first.arrays["integrals"][...])
        energies = np.diag(first.saved_static("fock_mo")).copy()
        occupied = first.ints["nalpha_occupied"]
        orbitals = SpinOrbitals(spatial, energies, occupied, segment)
        (where / f"{self._name}.sialx").write_text(self.sial)
        arrays: Dict[str, Any] = {}
        for name, tensor in self._given.items():
            maker = orbitals.fock if tensor.rank == 2 else orbitals.integrals
            arrays[self.program.arrays[name]] = orbitals.filled(self.equations, tensor, maker)
        for name in self.amplitudes:
            tensor = self.equations.tensor(name)
            arrays[f"{self.program.results[name]}_denominators"] = orbitals.filled(self.equations, tensor, orbitals.denominators(tensor))
        done = Job(
            where / f"{self._name}.sialx",
            values={**self.program.values(orbitals.segments), "cc_conv": convergence, "cc_iter": cycles},
            segments=dict(self.program.segments(orbitals.segments)),
            arrays=arrays,
            memory=memory,
            save=[self.program.results[a] for a in self.amplitudes],
        ).run(where / self._name, ranks=ranks, flags=flags)
        reference, correlation = first.scalars["scf_energy"], done.scalars[self.program.results[self._energy]]
        return MethodResults(reference + correlation, reference, correlation, int(done.scalars["cycles"]), done.scalars["residual"], done, where)


class SpinOrbitals:
    """Spin orbitals of a closed shell: within the occupied ones and within the virtual ones alpha before beta, each cut into segments.

    spatial: (pq|rs) over orbitals, occupied before virtual; energies: of the orbitals, in hartree."""

    def __init__(self, spatial: NDArray[np.float64], energies: NDArray[np.float64], occupied: int, segment: int) -> None:
        n = len(energies)
        if not 0 < occupied < n:
            raise ValueError(f"{occupied} of {n} orbitals are occupied: there is nothing to correlate")
        self.spatial, self.energies = spatial, energies
        of_space = {"o": np.arange(occupied), "v": np.arange(occupied, n)}
        self.orbital = {s: np.concatenate((x, x)) for s, x in of_space.items()}
        self.spin = {s: np.repeat((0, 1), len(x)) for s, x in of_space.items()}
        self.segments: Dict[str, List[int]] = {}
        for space, x in of_space.items():
            parts = -(-len(x) // segment)
            self.segments[space] = 2 * [len(part) for part in np.array_split(x, parts)]

    def filled(self, equations: Equations, tensor: Tensor, make: Any) -> fill:
        """The tensor as an array that is made part by part."""
        orbital = [np.concatenate([self.orbital[b] for b in equations.basic(s)]) for s in tensor.spaces]
        spin = [np.concatenate([self.spin[b] for b in equations.basic(s)]) for s in tensor.spaces]

        def part(*grid: Any) -> Any:
            return make([o[g] for o, g in zip(orbital, grid)], [s[g] for s, g in zip(spin, grid)])

        return fill(part, [len(o) for o in orbital])

    def fock(self, orbital: Sequence[Any], spin: Sequence[Any]) -> Any:
        return np.where((orbital[0] == orbital[1]) & (spin[0] == spin[1]), self.energies[orbital[0]], 0.0)

    def integrals(self, orbital: Sequence[Any], spin: Sequence[Any]) -> Any:
        """<pq||rs> = (pr|qs) - (ps|qr), each where the spins agree."""
        (p, q, r, s), (sp, sq, sr, ss) = orbital, spin
        coulomb = np.where((sp == sr) & (sq == ss), self.spatial[p, r, q, s], 0.0)
        return coulomb - np.where((sp == ss) & (sq == sr), self.spatial[p, s, q, r], 0.0)

    def denominators(self, tensor: Tensor) -> Any:
        """Energies of the occupied less those of the virtual orbitals of an amplitude's indices."""
        signs = [1.0 if space == "o" else -1.0 for space in tensor.spaces]

        def make(orbital: Sequence[Any], spin: Sequence[Any]) -> Any:
            total: Any = 0.0
            for sign, o in zip(signs, orbital):
                total = total + sign * self.energies[o]
            return total

        return make


def method(equations: Union[Equations, StrPath], spin: str = SPIN_ORBITALS, amplitudes: Sequence[str] = (), energy: str = "energy", name: str = "method", extents: Optional[Mapping[str, float]] = None) -> Method:
    """A method from equations, or their text, or the path of a file with it.

    spin: what the equations are written for: "spin-orbital". amplitudes: those that are solved for, all where none is named; each has one result with
    its spaces, which is zero at the end. energy: the scalar result that is the correlation energy. extents: orbitals of each space, which decide between
    orders of products; see plan()."""
    if spin != SPIN_ORBITALS:
        raise ValueError(f'spin="{spin}" is not known; there is: "{SPIN_ORBITALS}"')
    return Method(equations if isinstance(equations, Equations) else from_text(equations), amplitudes, energy, name, extents)


def example_programs() -> Path:
    """The folder of the example programs: of this checkout, or of that of sialrun."""
    folders = [Path(__file__).resolve().parents[4] / "examples"]
    try:
        folders.append(Path(program_path(None)).resolve().parents[3] / "examples")
    except FileNotFoundError:
        pass
    for folder in folders:
        if (folder / "19_equations" / "integrals.sialx").is_file():
            return folder
    raise FileNotFoundError(f"the example programs, of which methods take RHF and integrals, are in none of {', '.join(map(str, folders))}")
