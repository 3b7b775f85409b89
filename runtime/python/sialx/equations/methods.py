"""From equations to energies: method() and Method.run()."""

from __future__ import annotations

import copy
import math
import os
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ..examples import example_programs
from ..hamiltonian import Hamiltonian
from ..job import Job
from ..molecule import Molecule
from ..results import Results
from .bounded import plan_within
from .forms import with_tensors
from .iterating import history_of, iterations, residuals, with_symmetries
from .memory import Footprint, Sizes, bytes_of, footprint, solver_arrays
from .model import AMPLITUDE, INPUT, RESULT, Equations, Tensor
from .planning import plan_products
from .sial import Left, Program, basic_spaces
from .spin import check_antisymmetry, check_orbitals, closed_shell
from .spin_orbitals import SpinOrbitals
from .statements import Plan
from .text import from_text, symmetry_text
from .unrestricted import blocks_of, extents_of_spins, unrestricted, without_space

if TYPE_CHECKING:
    StrPath = Union[str, "os.PathLike[str]"]

SPINS = CLOSED_SHELL, UNRESTRICTED, ORBITALS, SPIN_ORBITALS = "closed-shell", "unrestricted", "orbitals", "spin-orbital"
VVVV = STORED, AO = "stored", "ao"  # integrals over four virtual orbitals
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_BOUNDS = {"o": ("baocc", "eaocc"), "v": ("bavirt", "eavirt")}  # predefined ints of a job with a molecule
_BOUNDS_OF_SPINS = {"oa": ("baocc", "eaocc"), "va": ("bavirt", "eavirt"), "ob": ("bbocc", "ebocc"), "vb": ("bbvirt", "ebvirt")}
_KINDS = {"oa": "moa", "va": "moa", "ob": "mob", "vb": "mob"}  # of segments


@dataclass(frozen=True, repr=False)
class MethodResults:
    """What a method leaves.

    energy: in hartree, that of the reference and the correlation energy together. cycles: iterations until the amplitudes were converged;
    residual: the norm of what is left of the equations. arrays: converged amplitudes by name, read from the results file when they are asked for. Of a
    closed shell they are the elements that closed_shell() keeps; with unrestricted orbitals there is one for each block of unrestricted(), as `t2_ab`; over spin
    orbitals alpha comes before beta within the occupied and within the virtual ones."""

    energy: float
    reference_energy: float
    correlation_energy: float
    cycles: int
    residual: float
    results: Results
    folder: Path
    names: Mapping[str, str]  # of the arrays in `results`, by amplitude
    orbitals: Results  # of the job that made or took the integrals over orbitals

    @property
    def arrays(self) -> Mapping[str, Any]:
        return {amplitude: self.results.arrays[array] for amplitude, array in self.names.items()}

    def hamiltonian(self) -> Hamiltonian:
        """That of the run over the orbitals of its RHF, for example for an FCIDUMP file. ValueError where orbitals are those of UHF."""
        return Hamiltonian.from_results(self.orbitals)

    def __repr__(self) -> str:
        return f"<MethodResults: energy {self.energy:.10f}, correlation {self.correlation_energy:.10f}, {self.cycles} cycles>"


@dataclass(frozen=True)
class _Options:
    ranks: int
    convergence: float
    cycles: int
    memory: Union[str, int, None]
    segment: int
    flags: Sequence[object]


class Method:
    """Equations as a method that runs. equations: over what `spin` says. plan: its products and phases. sial: the program, readable SIAL with a comment per
    product. Made by method()."""

    def __init__(
        self, equations: Equations, spin: str, amplitudes: Sequence[str], energy: str, name: str, extents: Optional[Mapping[str, float]], after: Optional[Method] = None,
        most_elements: float = math.inf, memory: Union[str, float, None] = None, vvvv: Optional[str] = None,
    ) -> None:
        self.spin: str = spin
        spaces = basic_spaces(equations)
        if spaces != ("o", "v"):
            raise ValueError(f"a method over spin orbitals has the spaces `o` (occupied) and `v` (virtual), in this order; the equations have {', '.join(spaces)}")
        if after is not None and not any({spin, after.spin} <= alike for alike in ({CLOSED_SHELL, ORBITALS}, {UNRESTRICTED})):
            raise ValueError(f'a method after another has spin="{CLOSED_SHELL}" or "{ORBITALS}", and so has the other, or both have spin="{UNRESTRICTED}"')
        known = after.solved() if after is not None else []
        if not _NAME.match(name):
            raise ValueError(f"`{name}` cannot be the name of a program: letters, digits, `_` and `-`, a letter first")
        residual_spaces = {t.spaces for t in equations.of_role(RESULT)}
        left = [t for t in equations.of_role(AMPLITUDE) if t.name in known and (t.name not in amplitudes if amplitudes else t.spaces not in residual_spaces)]
        equations = with_tensors(equations, {t: replace(t, role=INPUT) for t in left})
        fock, integrals = _given(equations, known, spin)
        pairs = residuals(equations, amplitudes)
        equations = with_symmetries(equations, pairs, fock)
        used = {f.tensor.name for e in equations.equations for t in e.terms for f in t.factors}
        unsolved = [t.name for t in equations.of_role(AMPLITUDE) if t.name in used and t.name not in pairs and t.name not in known]
        if unsolved:
            raise ValueError(f"`{unsolved[0]}` is an amplitude that nothing solves for: name it in `amplitudes=`, or solve for it with a method before (`after=`)")
        if after is not None and name in after.names():
            name = f"{name}_{len(after.names()) + 1}"
        self.after = after
        both = [a for a in pairs if a in known]
        if both:
            raise ValueError(f"`{both[0]}` is solved for by the method before this one: it is `input` here")
        self.equations = in_spins(equations, spin)
        for tensor in after._solved_tensors() if after is not None else ():
            _check_same(tensor, self.equations)
        self._extents = extents_of_spins(equations, extents) if spin == UNRESTRICTED else dict(extents or {})
        self._stated = bool(extents)
        self._most_elements, self._memory, self._vvvv = most_elements, None if memory is None else bytes_of(memory), vvvv
        self._solved = tuple(pairs)
        self.amplitudes = tuple(b for a in pairs for b in blocks_of(equations, a)) if spin == UNRESTRICTED else self._solved
        self._fock, self._integrals, self._name = fock, integrals, name
        scalars = [t for t in equations.of_role(RESULT) if not t.rank]
        self._energy = energy if scalars or after is None or energy != "energy" else None
        self._blocks = {t: blocks_of(equations, t) for t in (fock, integrals)} if spin == UNRESTRICTED else {}
        self._plan()

    def _plan(self, over_functions: bool = True) -> None:
        """Makes plan and program. over_functions: whether there are basis functions. A bound of memory counts where the numbers of orbitals are known."""
        most, integrals = self._most_elements, self._integrals if over_functions and self._vvvv != STORED and self.spin in (CLOSED_SHELL, ORBITALS) else None
        if self._vvvv == AO and integrals is None:
            raise ValueError(f'vvvv="{AO}" takes a molecule, whose basis functions a Hamiltonian does not have')
        if self._memory is not None and self._stated:
            self.plan: Plan = plan_within(self._memory, self.equations, self._extents, most, self._footprint, True, integrals, self._vvvv != AO, self._remedy())
        else:
            self.plan = plan_products(self.equations, self._extents, most, integrals if self._vvvv == AO else None)
        self.program: Program = self._program()
        self.sial = self.program.text

    def _footprint(self, made: Plan) -> Footprint:
        """The memory of the program with this plan, or of the transformation before it where that takes more."""
        more = solver_arrays(made, self.amplitudes, history_of(made, self.amplitudes), self.spin == SPIN_ORBITALS)
        own, before = footprint(made, made.constants() - made.again, more), self._transformation(made)
        return own if own.peak >= sum(before.values()) else Footprint(sum(before.values()), tuple(before.items()), "in the transformation of the integrals")

    def _transformation(self, made: Plan) -> Dict[str, float]:
        """Bytes of the arrays that integrals.sialx, or the program in its place, has at its end."""
        sizes, blocks = Sizes(made), self._blocks.get(self._integrals, (self._integrals,))
        stored = {name: sizes.of(t) for name in blocks for t in made.equations.tensors if t.name == name}
        if self.spin == SPIN_ORBITALS:
            return {self._integrals: stored[self._integrals]}
        n = max(sizes.orbitals[t.spaces[0]] for t in made.equations.tensors if t.name in stored)
        first = sizes.orbitals[made.equations.basic(made.equations.tensor(self._integrals).spaces[0])[0]] if made.functions is not None else n / 2 if self.spin != UNRESTRICTED else 4 * n
        return {**stored, "half-transformed integrals": 8.0 * first * n**3 / 2}

    def _remedy(self) -> str:
        kept = f', leave out vvvv="{STORED}"' if self._vvvv == STORED and self.spin in (CLOSED_SHELL, ORBITALS) else ""
        return f"Allow more memory (`memory=`, `--memory`), take a smaller basis{kept}, or run without a bound and with flags=[\"--spill\", FOLDER], which keeps on a disk what does not fit"

    def _of(self, orbitals: Mapping[str, float], over_functions: bool = True) -> Method:
        """The same method, planned for these orbitals where there is a bound for its memory."""
        fits = self._memory is None or self._stated and all(self._extents.get(s) == max(n, 1) for s, n in orbitals.items())
        if over_functions and fits and (self.after is None or self.after._of(orbitals) is self.after):
            return self
        out = copy.copy(self)
        out.after = self.after._of(orbitals, over_functions) if self.after is not None else None
        if self._memory is not None:
            out._extents, out._stated = {**self._extents, **{s: float(max(n, 1)) for s, n in orbitals.items()}}, True
        if self._memory is not None or self._vvvv == AO or out.after is not self.after:
            out._plan(over_functions)
        return out

    @property
    def predicted_peak(self) -> float:
        """Bytes of all blocks over all ranks when most are there, with the orbitals that the plan was made for; of the transformation of the integrals, too."""
        return self._footprint(self.plan).peak

    def _program(self) -> Program:
        earlier = self.after.left() if self.after is not None else {}
        if self.spin == SPIN_ORBITALS:
            return iterations(self.plan, self.amplitudes, self._energy, self._name)
        if self.spin in (CLOSED_SHELL, ORBITALS):
            left = {self._fock: Left("fock_mo", (0, 1), static=True), self._integrals: Left("integrals", (0, 2, 1, 3)), **earlier}
            functions, bounds, kinds = self.plan.functions, dict(_BOUNDS), {}
            if functions is not None:
                left[functions.coefficients.name] = Left("c", (0, 1), static=True)
                left[functions.integrals.name] = Left("", (0, 2, 1, 3), computed="compute_integral_batch")
                bounds[functions.space], kinds[functions.space] = ("1", "norb"), "ao"
            return iterations(self.plan, self.amplitudes, self._energy, self._name, fock=[self._fock], left=left, bounds=bounds, kinds=kinds)
        left = {name: Left(f"fock_{spin}", (0, 1), static=True) for name, spin in zip(self._blocks[self._fock], ("a", "b"))}
        for name, spins in zip(self._blocks[self._integrals], ("aa", "ab", "bb")):
            left[name] = Left(f"integrals_{spins}", (0, 2, 1, 3) if spins == "ab" else (0, 1, 2, 3))
        there = {t.name for t in self.equations.tensors}
        fock = [name for name in self._blocks[self._fock] if name in there]
        return iterations(self.plan, self.amplitudes, self._energy, self._name, fock=fock, left={**left, **earlier}, bounds=_BOUNDS_OF_SPINS, kinds=_KINDS)

    def _of_alpha_electrons(self) -> Method:
        """The same method for molecules without beta electrons."""
        out = copy.copy(self)
        out.after = self.after._of_alpha_electrons() if self.after is not None else None
        out.equations = without_space(self.equations, "ob")
        there = {t.name for t in out.equations.tensors}
        out.amplitudes = tuple(a for a in self.amplitudes if a in there)
        out._extents = {s: n for s, n in self._extents.items() if s in basic_spaces(out.equations)}
        out._plan()
        return out

    def left(self) -> Dict[str, Left]:
        """The amplitudes of this method, and of those before it, as later methods take them."""
        own = {a: Left(self.program.results[a], tuple(range(self.equations.tensor(a).rank))) for a in self.amplitudes}
        return {**(self.after.left() if self.after else {}), **own}

    def solved(self) -> List[str]:
        """The amplitudes of the equations that this method and those before it solve for."""
        return [*(self.after.solved() if self.after else []), *self._solved]

    def _solved_tensors(self) -> List[Tensor]:
        return [*(self.after._solved_tensors() if self.after else []), *map(self.equations.tensor, self.amplitudes)]

    def names(self) -> List[str]:
        return [*(self.after.names() if self.after else []), self._name]

    def labels(self) -> List[str]:
        """Where the correlation energies of this method and of those before it are saved."""
        return [*(self.after.labels() if self.after else []), self.program.labels["energy"]]

    def kept(self) -> Dict[str, str]:
        """Names of arrays by the amplitudes that they are."""
        return {**(self.after.kept() if self.after else {}), **{a: self.program.results[a] for a in self.amplitudes}}

    def _written(self, folder: Path) -> List[StrPath]:
        """The programs of this method and of those before it, in order."""
        path = folder / f"{self._name}.sialx"
        path.write_text(self.sial)
        return [*(self.after._written(folder) if self.after else []), path]

    def __repr__(self) -> str:
        return f"<Method: {self.spin}, {', '.join(self.amplitudes)}; {sum(map(len, self.plan.phases))} products in {len(self.plan.phases)} phases; .sial is the program>"

    def run(
        self,
        molecule: Union[Molecule, Hamiltonian, StrPath],
        basis: Optional[str] = None,
        ranks: int = 1,
        folder: Optional[StrPath] = None,
        convergence: float = 1e-10,
        cycles: int = 100,
        memory: Union[str, int, None] = None,
        segment: int = 8,
        flags: Sequence[object] = (),
    ) -> MethodResults:
        """RHF or UHF, all integrals over orbitals, and the method, on `ranks` ranks.

        molecule: of a closed shell where orbitals are not unrestricted: a Molecule, the path of an xyz file with the name of a basis set, or a
        Hamiltonian, whose orbitals are those of Hamiltonian.hartree_fock(). folder: where the jobs and their results lie; a temporary one that stays where
        none is named. convergence: of the energy, in hartree; the norm of the residuals falls below 100 times that. segment: orbitals of one spin in a
        block, about. memory: of a rank's blocks.

        All arrays are distributed, n**4 integrals of n orbitals among them; of unrestricted orbitals 3 n**4, and 5 n**4 while they are made. Methods over spin
        orbitals take 16 n**4 besides, and n**4 on every rank.
        Raises JobError where a job fails, as when the amplitudes do not converge."""
        if isinstance(molecule, Hamiltonian):
            if basis is not None:
                raise ValueError("a Hamiltonian has no basis set")
            if self.spin == UNRESTRICTED:
                raise ValueError(f'methods with spin="{UNRESTRICTED}" take a molecule; a Hamiltonian runs with the others')
        elif not isinstance(molecule, Molecule):
            if basis is None:
                raise ValueError("a molecule from a file needs the name of a basis set")
            molecule = Molecule.from_xyz(molecule, basis)
        elif basis is not None:
            raise ValueError("a Molecule has its basis set")
        if not isinstance(molecule, Hamiltonian) and molecule.multiplicity != 1 and self.spin != UNRESTRICTED:
            raise ValueError(f'the molecule has multiplicity {molecule.multiplicity}; methods start from a closed shell, those with spin="{UNRESTRICTED}" from UHF of any')
        options = _Options(ranks, convergence, cycles, memory, segment, flags)
        if isinstance(molecule, Hamiltonian):
            occupied = molecule.electrons // 2
            planned = self._of(self._counts(occupied, molecule.orbitals - occupied), over_functions=False)
            return planned._run_hamiltonian(molecule, folder, options)
        if self.spin == UNRESTRICTED and "ob" in basic_spaces(self.equations) and molecule.electrons == molecule.multiplicity - 1:
            return self._of_alpha_electrons().run(molecule, None, ranks, folder, convergence, cycles, memory, segment, flags)
        if molecule.frozen_core:
            raise ValueError("methods from equations correlate all electrons: leave out frozen_core")
        planned = self
        if any(m._memory is not None for m in self._methods()):
            alpha = (molecule.electrons + molecule.multiplicity - 1) // 2
            planned = self._of(self._counts(alpha, molecule.functions - alpha, molecule.multiplicity - 1))
        return planned._run_molecule(molecule, folder, options)

    def _counts(self, occupied: int, virtual: int, unpaired: int = 0) -> Dict[str, float]:
        """Orbitals of each space, from those of alpha spin and the unpaired ones among them."""
        if self.spin == UNRESTRICTED:
            both = {"oa": occupied, "va": virtual, "ob": occupied - unpaired, "vb": virtual + unpaired}
        else:
            n = 2 if self.spin == SPIN_ORBITALS else 1
            both = {"o": n * occupied, "v": n * virtual}
        return {s: float(n) for s, n in both.items() if s in basic_spaces(self.equations)}

    def _rank_memory(self, options: _Options) -> Union[str, int, None]:
        """For the blocks of a rank: what is stated, or its share of the bound with what gaps between blocks may take."""
        bounds = [m._memory for m in self._methods() if m._memory is not None]
        return options.memory if options.memory is not None or not bounds else int(1.125 * max(bounds) / options.ranks) + 2**26

    def _methods(self) -> List[Method]:
        return [*(self.after._methods() if self.after is not None else []), self]

    def _run_molecule(self, molecule: Molecule, folder: Optional[StrPath], options: _Options) -> MethodResults:
        where = _folder(folder)
        programs = self._written(where)
        if self.spin != SPIN_ORBITALS:
            done = first = self._job(where / self._name, molecule, options, programs)
        else:
            first = self._job(where / "orbitals", molecule, options, [])
            spatial, energies = np.asarray(first.arrays["integrals"][...]), np.diag(first.saved_static("fock_mo")).copy()
            done = self._spin_orbitals(where, SpinOrbitals(spatial, energies, first.ints["nalpha_occupied"], options.segment), options)
        return self._results(where, first, done)

    def _run_hamiltonian(self, hamiltonian: Hamiltonian, folder: Optional[StrPath], options: _Options) -> MethodResults:
        """run() over the orbitals of RHF of a Hamiltonian. Programs restore what examples/19_equations/hamiltonian.sialx was given."""
        scf = hamiltonian.hartree_fock()
        over, occupied, where = hamiltonian.transformed(scf.coefficients), hamiltonian.electrons // 2, _folder(folder)
        integrals, fock = over.two_electron, over.fock(np.diag((np.arange(over.orbitals) < occupied).astype(float)))
        segments = {"o": _cut(occupied, options.segment), "v": _cut(hamiltonian.orbitals - occupied, options.segment)}
        spin_orbital = self.spin == SPIN_ORBITALS
        programs = [] if spin_orbital else self._chain()
        values: Dict[str, Union[int, float]] = {"cc_conv": options.convergence, "cc_iter": options.cycles} if programs else {}
        arrays: Dict[str, Any] = {"given_fock": fock, "given_integrals": integrals}
        for program in programs:
            values.update(program.values(segments))
            arrays.update(program.helpers(segments))
        values.update(eavirt=sum(map(len, segments.values())), nalpha_occupied=occupied, given_scf_energy=scf.energy, given_core_energy=hamiltonian.core_energy)
        written = self._written(where)
        first = Job(
            [example_programs() / "19_equations" / "hamiltonian.sialx", *([] if spin_orbital else written)],
            values=values,
            segments={"moa": [*segments["o"], *segments["v"]]},
            arrays=arrays,
            memory=self._rank_memory(options),
        ).run(where / ("orbitals" if spin_orbital else self._name), ranks=options.ranks, flags=options.flags)
        if not spin_orbital:
            return self._results(where, first, first)
        return self._results(where, first, self._spin_orbitals(where, SpinOrbitals(integrals, scf.orbital_energies, occupied, options.segment), options))

    def _chain(self) -> List[Program]:
        """The programs of the methods before this one, and its own."""
        return [*(self.after._chain() if self.after is not None else []), self.program]

    def _results(self, where: Path, first: Results, done: Results) -> MethodResults:
        """first: of the job with the orbitals; done: of that with the method."""
        labels = self.program.labels
        reference, correlation = first.saved_scalars["scf_energy"], sum(done.saved_scalars[label] for label in self.labels())
        return MethodResults(reference + correlation, reference, correlation, int(done.scalars[labels["cycles"]]), done.scalars[labels["residual"]], done, where, self.kept(), first)

    def _job(self, folder: Path, molecule: Molecule, options: _Options, programs: List[StrPath]) -> Results:
        """RHF or UHF, the integrals, and programs that take both."""
        examples = example_programs()
        without_virtual = all(m.plan.functions is not None for m in self._methods()) and programs
        integrals = f"19_equations/integrals{'_occupied' if without_virtual else ''}.sialx"
        first = ("04_rhf/rhf.sialx", integrals) if self.spin != UNRESTRICTED else ("06_uhf/uhf.sialx", "19_equations/integrals_uhf.sialx")
        segments: Dict[str, Union[Sequence[int], int, str]] = {}
        for kind in ("ao", "occ", "virt", *(("beta_occ", "beta_virt") if self.spin == UNRESTRICTED else ())):
            segments.update({kind: "auto", f"{kind}_target": options.segment})
        return Job(
            [*(examples / path for path in first), *programs],
            molecule,
            values={"cc_conv": options.convergence, "cc_iter": options.cycles} if programs else {},
            segments=segments,
            memory=self._rank_memory(options),
        ).run(folder, ranks=options.ranks, flags=options.flags)

    def _spin_orbitals(self, where: Path, orbitals: SpinOrbitals, options: _Options) -> Results:
        """The method over spin orbitals."""
        arrays: Dict[str, Any] = {}
        for name, maker in ((self._fock, orbitals.fock), (self._integrals, orbitals.integrals)):
            if name in self.program.arrays:
                arrays[self.program.arrays[name]] = orbitals.filled(self.equations, self.equations.tensor(name), maker)
        for name in self.amplitudes:
            tensor = self.equations.tensor(name)
            arrays[f"{self.program.results[name]}_denominators"] = orbitals.filled(self.equations, tensor, orbitals.denominators(tensor))
        return Job(
            where / f"{self._name}.sialx",
            values={**self.program.values(orbitals.segments), "cc_conv": options.convergence, "cc_iter": options.cycles},
            segments=dict(self.program.segments(orbitals.segments)),
            arrays={**arrays, **self.program.helpers(orbitals.segments)},
            memory=self._rank_memory(options),
        ).run(where / self._name, ranks=options.ranks, flags=options.flags)


def _folder(folder: Optional[StrPath]) -> Path:
    where = Path(tempfile.mkdtemp(prefix="sialx-method-") if folder is None else folder).absolute()
    where.mkdir(parents=True, exist_ok=True)
    return where


def _cut(orbitals: int, segment: int) -> List[int]:
    """Segments of about equal lengths, none longer than `segment`."""
    return [len(part) for part in np.array_split(np.arange(orbitals), -(-orbitals // segment))]


def _check_same(tensor: Tensor, equations: Equations) -> None:
    """ValueError where equations declare an amplitude of an earlier method as another tensor than that."""
    for mine in equations.tensors:
        if mine.name == tensor.name and (mine.spaces != tensor.spaces or set(mine.group()) != set(tensor.group())):
            raise ValueError(f"`{tensor.name}` is another tensor here than in the method before this one, which has {_shown(tensor)} over orbitals; here it is {_shown(mine)}")


def _shown(tensor: Tensor) -> str:
    return f"`{tensor.name}[{','.join(tensor.spaces)}]{symmetry_text(tensor.symmetries)}`"


def in_spins(equations: Equations, spin: str) -> Equations:
    """The equations over what `spin` says."""
    return closed_shell(equations) if spin == CLOSED_SHELL else unrestricted(equations) if spin == UNRESTRICTED else equations


def _given(equations: Equations, earlier: Sequence[str], spin: str) -> Tuple[str, str]:
    """The names of the Fock matrix and of the integrals: of the given tensors with two and with four indices that no earlier method leaves."""
    used = {f.tensor.name for e in equations.equations for t in e.terms for f in t.factors}
    given = [t for t in equations.of_role(INPUT) if t.name in used and t.name not in earlier]
    fock, integrals = ([t.name for t in given if t.rank == rank and len(set(t.spaces)) == 1] for rank in (2, 4))
    others = [t.name for t in given if t.name not in (fock[:1] + integrals[:1])]
    if others:
        raise ValueError(
            f"{', '.join(f'`{name}`' for name in others)}: given besides the Fock matrix and the integrals; what the method solves for is declared `amplitude`, and "
            "amplitudes of another method are there with `after=`"
        )
    symbol = "<pq|rs>" if spin == ORBITALS else "<pq||rs>"
    for found, what in ((fock, "the Fock matrix, with two indices of all orbitals"), (integrals, f"the integrals {symbol}, with four indices of all orbitals")):
        if not found:
            raise ValueError(f"no term has {what}, declared `input`: residuals are as `r2[a,b,i,j] = u[a,b,i,j] + P(a b) f[b,c] t2[a,c,i,j] ...`")
    if spin == ORBITALS:
        for tensor in equations.of_role(INPUT, AMPLITUDE):
            check_orbitals(tensor)
    else:
        check_antisymmetry(equations.tensor(integrals[0]))
    return fock[0], integrals[0]


def method(
    equations: Union[Equations, StrPath],
    spin: str = CLOSED_SHELL,
    amplitudes: Sequence[str] = (),
    energy: str = "energy",
    name: str = "method",
    extents: Optional[Mapping[str, float]] = None,
    after: Optional[Method] = None,
    most_elements: float = math.inf,
    memory: Union[str, float, None] = None,
    vvvv: Optional[str] = None,
) -> Method:
    """A method from equations, or their text, or the path of a file with it.

    spin: "closed-shell" sums equations over spin orbitals over spin (see closed_shell(); up to triple excitations); "unrestricted" divides them into blocks of
    spins (see unrestricted()), on orbitals of UHF; "spin-orbital" runs them as they are; "orbitals" takes equations over the orbitals of a closed shell, with
    the tensors that closed_shell() makes. amplitudes: those that are solved for, all where none is named; each has one result with its spaces, which is zero
    at the end. energy: the scalar result that is the correlation energy. extents: orbitals of each space, which decide between orders of products, and
    most_elements: of an intermediate; see plan(). after: a method that runs before this one in the same job; its amplitudes are `input` of these equations,
    and its energy is part of the energy; equations without an energy, as those of Lambda, add none. memory: of all blocks over all ranks, as "2GB" or a number of bytes: of the plans that need no more, by what is
    predicted, the cheapest is taken, for these `extents`; run() plans again where it has other orbitals. vvvv: "stored", as all integrals are, or "ao": no array over four virtual orbitals
    is stored, and what meets such integrals is contracted over basis functions, with closed-shell orbitals; where nothing is said, what `memory` needs."""
    if vvvv is not None and vvvv not in VVVV:
        raise ValueError(f'vvvv="{vvvv}" is not known; there are: {", ".join(map(repr, VVVV))}'.replace("'", '"'))
    if vvvv == AO and spin not in (CLOSED_SHELL, ORBITALS):
        raise ValueError(f'vvvv="{AO}" is for methods with spin="{CLOSED_SHELL}" or "{ORBITALS}", not for spin="{spin}"')
    if after is not None and not isinstance(after, Method):
        raise TypeError(f"after= takes a method, as sialx.method() makes it, not {after!r}")
    if isinstance(amplitudes, str):
        amplitudes = [amplitudes]
    if spin not in SPINS:
        raise ValueError(f'spin="{spin}" is not known; there are: {", ".join(map(repr, SPINS))}'.replace("'", '"'))
    return Method(equations if isinstance(equations, Equations) else from_text(equations), spin, amplitudes, energy, name, extents, after, most_elements, memory, vvvv)
