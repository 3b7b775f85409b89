"""Basis functions of other programs in the order and norms of sialx: ao_order()."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from .molecule import Molecule, basis_momenta

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class AOOrder(NamedTuple):
    """permutation: of PySCF's functions, in the order of sialx. scale: what multiplies each of them then; 1 but for Cartesian functions from d on, which have norm 1 in
    sialx. apply() does both: `order.apply(mol.intor("int1e_ovlp"))`, `order.apply(b, axes=(1, 2))` of an array b[Q,mu,nu]. Coefficients of orbitals are divided by the
    scale: `c[order.permutation] / order.scale[:, None]`."""

    permutation: NDArray[np.intp]
    scale: NDArray[np.float64]

    def apply(self, array: ArrayLike, axes: Union[int, tuple[int, ...], None] = None) -> NDArray[Any]:
        """The array with integrals over functions along these axes, all where none are named."""
        values = np.asarray(array)
        for axis in range(values.ndim) if axes is None else np.atleast_1d(axes):
            if values.shape[axis] != len(self.permutation):
                raise ValueError(f"axis {axis} of an array of shape {values.shape} does not run over {len(self.permutation)} functions: name the `axes` that do")
            shape = [1] * values.ndim
            shape[axis] = -1
            values = np.take(values, self.permutation, axis=axis) * self.scale.reshape(shape)
        return values


def ao_order(of: Any) -> AOOrder:
    """How PySCF's basis functions become those of sialx, where PySCF has m = -l .. l in a shell, and other norms of Cartesian functions.

    of: a built pyscf.gto.Mole, for jobs with from_pyscf(mol); or a sialx.Molecule, or a Job with one: PySCF then has the shells of each atom by rising angular momentum, as it
    has for basis sets that it knows by name, and sialx those of the basis set's file as they are there."""
    if hasattr(of, "bas_angular"):
        momenta = [int(of.bas_angular(b)) for b in range(of.nbas) for _ in range(int(of.bas_nctr(b)))]
        return _order([(l, place) for place, l in enumerate(momenta)], bool(of.cart))
    molecule = of if isinstance(of, Molecule) else getattr(of, "molecule", None)
    if not isinstance(molecule, Molecule):
        raise TypeError(f"ao_order takes a pyscf.gto.Mole, a sialx.Molecule or a Job that has one, not a {type(of).__name__}")
    of_elements = basis_momenta(molecule.basis, molecule.symbols)
    shells: list[tuple[int, int]] = []
    for symbol in molecule.symbols:
        momenta = of_elements[symbol.capitalize()]
        places = sorted(range(len(momenta)), key=momenta.__getitem__)
        shells += [(l, len(shells) + places.index(n)) for n, l in enumerate(momenta)]
    return _order(shells, not molecule.spherical)


def _order(shells: list[tuple[int, int]], cartesian: bool) -> AOOrder:
    """From the shells of sialx, in order: the angular momentum of each, and its place among those of PySCF."""
    size = {l: (l + 1) * (l + 2) // 2 if cartesian else 2 * l + 1 for l, _ in shells}
    begin, at = {}, 0
    for l, place in sorted(shells, key=lambda shell: shell[1]):
        begin[place] = at
        at += size[l]
    permutation: list[int] = []
    scale: list[float] = []
    for l, place in shells:
        inside = range(size[l]) if cartesian or l < 2 else reversed(range(size[l]))
        permutation += [begin[place] + k for k in inside]
        scale += [_scale(l, x, y) for x in range(l, -1, -1) for y in range(l - x, -1, -1)] if cartesian else [1.0] * size[l]
    return AOOrder(np.array(permutation, dtype=np.intp), np.array(scale))


def _scale(l: int, x: int, y: int) -> float:
    """Of x^x y^y z^(l-x-y), which libcint multiplies by no factor of the angles from d on: 1 by its norm."""
    if l < 2:
        return 1.0

    def odd(n: int) -> int:
        return math.prod(range(2 * n - 1, 1, -2))

    return math.sqrt(odd(l) * (2 * l + 1) / (4 * math.pi * odd(x) * odd(y) * odd(l - x - y)))
