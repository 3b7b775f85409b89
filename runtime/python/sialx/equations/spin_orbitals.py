"""Fock matrix, integrals and energy denominators over the spin orbitals of a closed shell: SpinOrbitals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Sequence

import numpy as np

from ..filled import fill
from .model import Equations, Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
