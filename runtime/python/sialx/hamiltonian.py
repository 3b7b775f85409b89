"""Electrons in orbitals, without a molecule: Hamiltonian, from arrays, FCIDUMP and TREXIO files or results, and its RHF."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import fcidump, trexio_file
from .equations.diagnostics import stacklevel
from .results import Results

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    StrPath = Union[str, "os.PathLike[str]"]

CANONICAL = 1e-8  # orbitals are those of RHF where no other element of the Fock matrix is larger
SYMMETRIC = 1e-9  # up to which arrays have their symmetries, absolute, or relative to the largest element where that is above 1
_CLOSE = 1e-2  # orbitals whose Fock matrix has smaller elements between occupied and virtual ones, by the difference of energies, are where RHF begins
_AGREES = 1e-5  # within this, h over basis functions and h of the Fock matrix are the same
_DEGENERATE = 1e-6  # the least difference of the energies of virtual and occupied orbitals
_HISTORY = 8  # Fock matrices that DIIS remembers
_STABLE = 1500  # products of occupied and virtual orbitals up to which RHF is checked for stability


@dataclass(frozen=True)
class HartreeFock:
    """RHF of a Hamiltonian. energy: in hartree, with that of the core. coefficients: [p,q], an orbital per column, occupied ones first and by energy.
    orbital_energies: [q], in hartree. cycles: iterations; 0 where the orbitals of the Hamiltonian are those of RHF."""

    energy: float
    coefficients: NDArray[np.float64]
    orbital_energies: NDArray[np.float64]
    cycles: int


class Hamiltonian:
    """Electrons in n orthonormal real orbitals:

        H = sum h[p,q] E(pq) + 1/2 sum (pq|rs) (E(pq) E(rs) - delta(qr) E(ps)) + core energy

    one_electron: h[p,q], of shape (n, n), symmetric. two_electron: (pq|rs) in chemists' notation, of shape (n, n, n, n), equal under the exchange of p and q, of r
    and s, and of pq and rs. electrons: their number. multiplicity: 2S + 1. core_energy: what is added, as the repulsion of nuclei. symmetries: the number of
    an irreducible representation per orbital, as ORBSYM of an FCIDUMP file; kept for such files, and not used otherwise. symmetry: that of the state (ISYM).
    orbital_energies: where they are known. All in one unit of energy, which is hartree where nothing else is said.

    A Hubbard chain of six sites with hopping t and repulsion u:

        h = -t*(np.eye(6, k=1) + np.eye(6, k=-1))
        v = np.zeros((6, 6, 6, 6))
        v[range(6), range(6), range(6), range(6)] = u
        chain = sialx.Hamiltonian(h, v, electrons=6)

    ValueError where arrays or numbers do not fit."""

    one_electron: NDArray[np.float64]
    two_electron: NDArray[np.float64]
    electrons: int
    multiplicity: int
    core_energy: float
    symmetries: Tuple[int, ...]
    symmetry: int
    orbital_energies: Optional[NDArray[np.float64]]

    def __init__(
        self,
        one_electron: ArrayLike,
        two_electron: ArrayLike,
        electrons: int,
        core_energy: float = 0.0,
        multiplicity: int = 1,
        symmetries: Optional[Sequence[int]] = None,
        symmetry: int = 1,
        orbital_energies: Optional[ArrayLike] = None,
    ) -> None:
        h, v = _real("one_electron", one_electron), _real("two_electron", two_electron)
        n = len(h) if h.ndim else 0
        if n == 0 or h.shape != (n, n):
            raise ValueError(f"one_electron has the shape {h.shape}; it is h[p,q], of shape (n, n) for n orbitals")
        if v.shape != (n, n, n, n):
            raise ValueError(f"two_electron has the shape {v.shape}; it is (pq|rs), of shape {(n, n, n, n)} for the {n} orbitals of one_electron")
        _symmetric("one_electron", h, (((1, 0), "h[q,p]"),))
        _symmetric("two_electron", v, (((1, 0, 2, 3), "(qp|rs)"), ((0, 1, 3, 2), "(pq|sr)"), ((2, 3, 0, 1), "(rs|pq)")))
        for name, number, least in (("electrons", electrons, 0), ("multiplicity", multiplicity, 1)):
            if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < least:
                raise ValueError(f"{name}={number!r}: it is an integer from {least} on")
        unpaired = multiplicity - 1
        if electrons > 2 * n:
            raise ValueError(f"{electrons} electrons do not fit {n} orbitals, which hold two each")
        if unpaired > electrons or (electrons - unpaired) % 2 or (electrons + unpaired) // 2 > n:
            raise ValueError(f"{electrons} electrons in {n} orbitals cannot have multiplicity {multiplicity}, which is the number of unpaired electrons and 1")
        if not np.isfinite(core_energy):
            raise ValueError(f"core_energy={core_energy!r} is not finite")
        self.one_electron, self.two_electron = h, v
        self.electrons, self.multiplicity, self.core_energy = int(electrons), int(multiplicity), float(core_energy)
        self.symmetries, self.symmetry = fcidump.as_symmetries(symmetries, n), int(symmetry)
        self.orbital_energies = None if orbital_energies is None else _real("orbital_energies", orbital_energies)
        if self.orbital_energies is not None and self.orbital_energies.shape != (n,):
            raise ValueError(f"orbital_energies has the shape {self.orbital_energies.shape}; it has one number for each of the {n} orbitals")

    @property
    def orbitals(self) -> int:
        return len(self.one_electron)

    def __repr__(self) -> str:
        return f"<Hamiltonian: {self.electrons} electrons in {self.orbitals} orbitals, multiplicity {self.multiplicity}, core energy {self.core_energy:.10g}>"

    @classmethod
    def from_fcidump(cls, path: StrPath) -> Hamiltonian:
        """What an FCIDUMP file says (P. J. Knowles, N. C. Handy, Comput. Phys. Commun. 54, 75 (1989)). ValueError with the file and the line where it is none,
        and for integrals that are complex or differ between alpha and beta orbitals. Keys of the namelist that are not known are left out with a UserWarning."""
        d = fcidump.read(path)
        return cls(d.one, d.two, d.electrons, d.core, d.multiplicity, d.symmetries, d.symmetry, d.energies)

    def to_fcidump(self, path: StrPath, threshold: float = 1e-15) -> None:
        """Writes an FCIDUMP file. Integrals up to the threshold are left out; of those that are equal by symmetry it has one."""
        if threshold < 0.0:
            raise ValueError(f"threshold={threshold!r} is negative")
        dump = fcidump.Dump(
            self.electrons, self.multiplicity, self.symmetries, self.symmetry, self.core_energy, self.one_electron, self.two_electron, self.orbital_energies
        )
        fcidump.write(path, dump, threshold)

    @classmethod
    def from_trexio(cls, path: StrPath) -> Hamiltonian:
        """What a TREXIO file says of its molecular orbitals: core Hamiltonian, two-electron integrals, electrons, and the repulsion of nuclei as the energy of the core.
        ValueError with the file where something is missing or does not fit, and for orbitals that are complex or differ between the spins. ImportError without the
        package `trexio`."""
        d = trexio_file.read(path)
        return cls(d.one, d.two, d.electrons, d.core, d.multiplicity, orbital_energies=d.energies)

    def to_trexio(self, path: StrPath) -> None:
        """Writes a TREXIO file, HDF5, or a folder of texts where the name ends in `.text`: of integrals that are equal by symmetry it has one. FileExistsError where something
        is there already. ImportError without the package `trexio`."""
        trexio_file.write(
            path,
            fcidump.Dump(self.electrons, self.multiplicity, self.symmetries, self.symmetry, self.core_energy, self.one_electron, self.two_electron, self.orbital_energies),
        )

    @classmethod
    def from_results(cls, results: Results) -> Hamiltonian:
        """That of a molecule over the orbitals of RHF, from what a job with examples/04_rhf/rhf.sialx and examples/19_equations/integrals.sialx left: also one
        of a method from equations. Functions that RHF left out as linearly dependent are left out. All electrons are in it, also where programs froze some."""
        if "integrals" not in results.saved_array_labels or "fock_mo" not in results.saved_static_labels:
            other = "; orbitals of UHF differ between the spins, which a Hamiltonian has no place for" if "integrals_aa" in results.saved_array_labels else ""
            raise ValueError(f"{results.path}: there are no integrals over orbitals of RHF, which examples/19_equations/integrals.sialx makes after rhf.sialx{other}")
        fock, v = results.saved_static("fock_mo"), np.ascontiguousarray(results.saved_array("integrals"))
        occupied, c = results.ints["nalpha_occupied"], None
        if "c" in results.saved_static_labels:
            c = results.saved_static("c")
            there = np.max(np.abs(c), axis=0) > 0.0
            c, fock, v = c[:, there], fock[np.ix_(there, there)], v[np.ix_(there, there, there, there)]
        v = _averaged(v)
        fock = (fock + fock.T) / 2
        h = fock - (2 * np.einsum("pqii->pq", v[:, :, :occupied, :occupied]) - np.einsum("piiq->pq", v[:, :occupied, :occupied, :]))
        # That is h but for what the density still changed in the last iteration. Where RHF left h over basis functions, it is exact.
        of_functions = _one_electron(results, c) if c is not None else None
        if of_functions is not None and np.max(np.abs(of_functions - h)) < _AGREES:
            h = of_functions
        return cls((h + h.T) / 2, v, 2 * occupied, results.saved_scalars["nuclear_energy"], orbital_energies=np.diag(fock))

    def transformed(self, coefficients: ArrayLike) -> Hamiltonian:
        """The same over other orbitals. coefficients: c[p,q], orthogonal, a new orbital per column."""
        c, n = _real("coefficients", coefficients), self.orbitals
        if c.shape != (n, n) or np.max(np.abs(c.T @ c - np.eye(n))) > SYMMETRIC:
            raise ValueError(f"coefficients are an orthogonal matrix of shape {(n, n)}, a new orbital per column")
        h, v = c.T @ self.one_electron @ c, self.two_electron
        for _ in range(4):  # the first index goes last
            v = np.tensordot(v, c, (0, 0))
        return Hamiltonian((h + h.T) / 2, _averaged(v), self.electrons, self.core_energy, self.multiplicity, symmetry=self.symmetry)

    def fock(self, density: NDArray[np.float64]) -> NDArray[np.float64]:
        """The Fock matrix of a density of one spin, d[p,q]; of either spin."""
        f = self.one_electron + 2 * np.tensordot(self.two_electron, density, ((2, 3), (0, 1))) - np.tensordot(self.two_electron, density, ((1, 2), (0, 1)))
        out: NDArray[np.float64] = (f + f.T) / 2
        return out

    def hartree_fock(self, cycles: int = 200, convergence: float = 1e-12) -> HartreeFock:
        """RHF of a closed shell.

        Where the orbitals are those of RHF already (no element of their Fock matrix beside the diagonal is above 1e-8, and the orbitals of lowest energy are
        occupied), they are taken as they are. Where they are nearly so, iterations begin with them, else with the eigenvectors of h. Extrapolated by DIIS (P. Pulay,
        J. Comput. Chem. 3, 556 (1982)). convergence: of the commutator of Fock matrix and density, its largest element, relative to the largest of the Fock matrix where
        that is above 1. RuntimeError where it is not reached within so many cycles; ValueError where electrons are unpaired, where no orbital is occupied or none is
        virtual, and where occupied and virtual orbitals have equal energies. A solution that is no minimum among those of closed shells is a UserWarning
        (with up to 1500 pairs of an occupied and a virtual orbital)."""
        n, occupied = self.orbitals, self.electrons // 2
        if self.multiplicity != 1:
            raise ValueError(f"the Hamiltonian has multiplicity {self.multiplicity}; RHF is for closed shells")
        if not 0 < occupied < n:
            raise ValueError(f"{self.electrons} electrons in {n} orbitals: there is nothing to correlate; RHF needs an occupied and a virtual orbital")
        places, f = self._occupied(occupied)
        mask = np.zeros(n, dtype=bool)
        mask[places] = True
        energies = np.diag(f)
        if np.max(np.abs(f - np.diag(energies)), initial=0.0) <= CANONICAL and np.max(energies[mask]) < np.min(energies[~mask]):
            order = np.argsort(energies, kind="stable")
            c, cycle = np.eye(n)[:, order], 0
        else:
            close = np.max(np.abs(f[np.ix_(mask, ~mask)])) <= _CLOSE * max(0.0, float(np.min(energies[~mask]) - np.max(energies[mask])))
            density = np.diag(mask.astype(float)) if close else _density(_ordered(self.one_electron)[1], occupied)
            c, cycle = self._iterated(density, occupied, cycles, convergence)
        density = _density(c, occupied)
        f = self.fock(density)
        energies = np.diag(c.T @ f @ c).copy()
        gap = energies[occupied] - energies[occupied - 1]
        if gap < _DEGENERATE:
            raise ValueError(
                f"the highest occupied and the lowest virtual orbital of RHF have energies {energies[occupied - 1]:.6f} and {energies[occupied]:.6f}: the {self.electrons} "
                "electrons have no closed shell; take another number of electrons, or another chain or boundary of a model"
            )
        left = float(np.max(np.abs(c[:, :occupied].T @ f @ c[:, occupied:])))
        if left > 1e-6 * max(1.0, float(np.max(np.abs(f)))):  # another choice of occupied orbitals than the lowest ones was converged
            raise RuntimeError(f"RHF of the Hamiltonian did not converge to a solution with the lowest orbitals occupied: their Fock matrix has elements of {left:.1e} to virtual ones")
        energy = self.core_energy + float(np.sum(density * (self.one_electron + f)))
        found = HartreeFock(energy, c, energies, cycle)
        self._check_stability(found, occupied)
        return found

    def _occupied(self, occupied: int) -> Tuple[List[int], NDArray[np.float64]]:
        """The orbitals, as they are, that RHF most likely occupies, and their Fock matrix: those of the lowest energies, or the first ones."""
        starts = [np.arange(occupied), np.argsort(np.diag(self.one_electron), kind="stable")[:occupied]]
        if self.orbital_energies is not None:
            starts.insert(0, np.argsort(self.orbital_energies, kind="stable")[:occupied])
        best: Tuple[float, List[int], NDArray[np.float64]] = (np.inf, [], self.one_electron)
        for places in starts:
            for _ in range(10):
                mask = np.zeros(self.orbitals, dtype=bool)
                mask[places] = True
                f = self.fock(np.diag(mask.astype(float)))
                between = float(np.max(np.abs(f[np.ix_(mask, ~mask)])))
                lowest = np.argsort(np.diag(f), kind="stable")[:occupied]
                aufbau = set(lowest.tolist()) == set(places.tolist())
                if aufbau and between < best[0]:
                    best = between, sorted(places.tolist()), f
                if aufbau:
                    break
                places = lowest
        if not best[1]:  # no such choice keeps itself
            return sorted(starts[0].tolist()), self.fock(np.diag(np.isin(np.arange(self.orbitals), starts[0]).astype(float)))
        return best[1], best[2]

    def _iterated(self, density: NDArray[np.float64], occupied: int, cycles: int, convergence: float) -> Tuple[NDArray[np.float64], int]:
        focks: List[NDArray[np.float64]] = []
        errors: List[NDArray[np.float64]] = []
        error, bare, f = np.inf, _ordered(self.one_electron)[0], self.one_electron
        for cycle in range(1, cycles + 1):
            f = self.fock(density)
            commutator = f @ density - density @ f
            error = float(np.max(np.abs(commutator))) / max(1.0, float(np.max(np.abs(f))))
            if error < convergence:
                return _ordered(f)[1], cycle
            focks, errors = [*focks, f][-_HISTORY:], [*errors, commutator][-_HISTORY:]
            density = _density(_ordered(_extrapolated(focks, errors))[1], occupied)
        energies = _ordered(f)[0]
        raise RuntimeError(
            f"RHF of the Hamiltonian did not converge in {cycles} cycles: the largest element of the commutator of Fock matrix and density is {error:.1e}, and has to fall "
            f"below {convergence:.1e}; the highest occupied and the lowest virtual orbital have energies {energies[occupied - 1]:.4f} and {energies[occupied]:.4f}. "
            f"Without repulsion these are {bare[occupied - 1]:.4f} and {bare[occupied]:.4f}: where they are equal, {self.electrons} electrons have no closed shell; "
            "else give the Hamiltonian over orbitals that are nearer to those of RHF (Hamiltonian.transformed), or allow more cycles"
        )

    def _check_stability(self, found: HartreeFock, occupied: int) -> None:
        if occupied * (self.orbitals - occupied) > _STABLE:
            return
        lowest = float(np.linalg.eigvalsh(self._second_derivatives(found, occupied))[0])
        if lowest < -1e-6:
            warnings.warn(
                f"RHF of the Hamiltonian is no minimum: among closed shells there is one of lower energy (the lowest second derivative is {lowest:.6f})", stacklevel=stacklevel()
            )

    def _second_derivatives(self, found: HartreeFock, occupied: int) -> NDArray[np.float64]:
        """A quarter of those of the energy of closed shells, by rotations of a and i, of b and j: J. Cizek, J. Paldus, J. Chem. Phys. 47, 3976 (1967)."""
        pairs = occupied * (self.orbitals - occupied)
        o, u = found.coefficients[:, :occupied], found.coefficients[:, occupied:]
        half = np.tensordot(self.two_electron, o, (3, 0))  # (pq|rj)
        ai = np.einsum("pqrj,pa,qi->airj", half, u, o, optimize=True)
        matrix = 4 * np.einsum("airj,rb->aibj", ai, u, optimize=True)
        matrix -= np.einsum("airj,rb->ajbi", ai, u, optimize=True)
        ab = np.einsum("pqrj,pa,qb->abrj", half, u, u, optimize=True)
        matrix -= np.einsum("abrj,ri->aibj", ab, o, optimize=True)
        differences = found.orbital_energies[occupied:, None] - found.orbital_energies[None, :occupied]
        out: NDArray[np.float64] = matrix.reshape(pairs, pairs) + np.diag(differences.ravel())
        return out


def _one_electron(results: Results, c: NDArray[np.float64]) -> Optional[NDArray[np.float64]]:
    """h over the orbitals c[mu,p], from h over basis functions that rhf.sialx left; None where no program has it."""
    for name in results.programs:
        if name.endswith("_rhf"):
            h = results.program(name).get("h")
            if isinstance(h, np.ndarray) and h.shape == (len(c), len(c)):
                out: NDArray[np.float64] = c.T @ h @ c
                return out
    return None


def _real(name: str, given: ArrayLike) -> NDArray[np.float64]:
    found = np.asarray(given)
    if np.iscomplexobj(found):
        raise ValueError(f"{name} is complex: orbitals are real here")
    try:
        out = np.array(found, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{name} is no array of numbers") from None
    if not np.all(np.isfinite(out)):
        raise ValueError(f"{name} has elements that are not finite, the first at {[int(x) for x in np.argwhere(~np.isfinite(out))[0]]}")
    return out


def _symmetric(name: str, array: NDArray[np.float64], permutations: Sequence[Tuple[Tuple[int, ...], str]]) -> None:
    for axes, image in permutations:
        apart = np.abs(array - array.transpose(axes))
        if np.max(apart) > SYMMETRIC * max(1.0, float(np.max(np.abs(array)))):
            at = np.unravel_index(int(np.argmax(apart)), array.shape)
            other = tuple(at[x] for x in axes)
            shown = [f"[{','.join(str(int(x)) for x in where)}] = {array[where]:.10g}" for where in (at, other)]
            raise ValueError(f"{name} is not equal to {image}: {shown[0]}, {shown[1]}" + ("; is it <pq|rs>, in physicists' notation?" if array.ndim == 4 else ""))


def _averaged(v: NDArray[np.float64]) -> NDArray[np.float64]:
    """(pq|rs) with its symmetries to the last digit."""
    for axes in ((1, 0, 2, 3), (0, 1, 3, 2), (2, 3, 0, 1)):
        v = (v + v.transpose(axes)) / 2
    return v


def _ordered(matrix: NDArray[np.float64]) -> Tuple[NDArray[np.float64], NDArray[np.float64]]:
    energies, c = np.linalg.eigh(matrix)
    return energies, c


def _density(c: NDArray[np.float64], occupied: int) -> NDArray[np.float64]:
    out: NDArray[np.float64] = c[:, :occupied] @ c[:, :occupied].T
    return out


def _extrapolated(focks: Sequence[NDArray[np.float64]], errors: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The combination whose error is smallest; the coefficients add up to 1."""
    m = len(focks)
    products = np.array([[np.sum(a * b) for b in errors] for a in errors])
    scale = products[-1, -1] if products[-1, -1] > 0.0 else 1.0
    matrix = np.ones((m + 1, m + 1))
    matrix[:m, :m], matrix[m, m] = products / scale, 0.0
    weights = np.linalg.lstsq(matrix, np.append(np.zeros(m), 1.0), rcond=None)[0][:m]
    out: NDArray[np.float64] = np.tensordot(weights, np.array(focks), (0, 0))
    return out
