"""Equations over spin orbitals summed over spin, for closed shells: closed_shell()."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from .model import INPUT, Equation, Equations, Factor, Generator, Index, Tensor, Term, exchanges, group_of, parity_of
from .simplify import simplify
from .symmetry import slot_symmetry
from .text import symmetry_text

Spins = Tuple[int, ...]  # 0 alpha, 1 beta, of each slot
_MOST_PAIRS = 3  # of indices of an amplitude


def closed_shell(equations: Equations) -> Equations:
    """The same equations over orbitals, each of which has one electron of either spin or none.

    A tensor of spin orbitals with n upper indices (the first half of its slots) and n lower ones becomes one of orbitals, under its name:

    - one pair (Fock matrix, single excitations): the element of either spin;
    - two pairs: x[p,q,r,s] of alpha p, r and beta q, s. Integrals <pq||rs> become <pq|rs>, which is real and has its eight symmetries; the element of equal
      spins is x[p,q,r,s] - x[p,q,s,r];
    - three pairs: x[a,b,c,i,j,k] of alpha a, b, i, j and beta c, k, antisymmetric in (a,b) and in (i,j). That of equal spins is
      x[a,b,c,i,j,k] + x[a,b,c,j,k,i] + x[a,b,c,k,i,j].

    These relations hold for all amplitudes of a singlet (see T. Helgaker, P. Jorgensen, J. Olsen, Molecular Electronic-Structure Theory, 2000, 13.7 and 2.3). A result becomes that
    of the same spins, so that equations of residuals stay as many as amplitudes."""
    used = {f.tensor.name for e in equations.equations for f in (e.target, *(f for t in e.terms for f in t.factors))}
    tensors = {t.name: _Spatial(t) for t in equations.tensors if t.name in used}
    out = [Equation(_target(e.target, tensors), e.adds, tuple(_summed(e, tensors)), e.place) for e in equations.equations]
    return simplify(replace(equations, tensors=tuple(t.tensor for t in tensors.values()), equations=tuple(out)))


def _joint(pairs: int) -> Tuple[Generator, ...]:
    """Pairs of an upper and a lower index are exchanged as a whole."""
    return exchanges(2 * pairs, tuple((n, pairs + n) for n in range(pairs)), 1)


_TWO_OF_A_SPIN = exchanges(6, ((0,), (1,)), -1) + exchanges(6, ((3,), (4,)), -1)
_INTEGRALS = _joint(2) + exchanges(4, ((0,), (2,)), 1) + exchanges(4, ((1,), (3,)), 1)  # <pq|rs> of real orbitals


def _is_integral(tensor: Tensor) -> bool:
    return tensor.role == INPUT and tensor.rank == 4 and len(set(tensor.spaces)) == 1


class _Spatial:
    """What a tensor of spin orbitals becomes."""

    def __init__(self, tensor: Tensor) -> None:
        self.pairs = tensor.rank // 2
        if tensor.rank % 2 or self.pairs > _MOST_PAIRS:
            raise ValueError(f"`{tensor.name}` has {tensor.rank} indices: sums over spin know tensors with one, two or three pairs of indices; spin=\"unrestricted\" takes up to four, \"spin-orbital\" the equations as they are")
        check_antisymmetry(tensor)
        self.tensor = replace(tensor, symmetries=self.symmetries(tensor))

    def symmetries(self, tensor: Tensor) -> Tuple[Generator, ...]:
        if self.pairs < 2:
            return tensor.symmetries
        if self.pairs == 3:
            return _TWO_OF_A_SPIN
        return _INTEGRALS if _is_integral(tensor) else _joint(2)

    def target_spins(self) -> Spins:
        """Those of the element that the spatial tensor holds."""
        half = (0,) * (self.pairs - 1) + (1,) if self.pairs > 1 else (0,) * self.pairs
        return half + half

    def element(self, indices: Sequence[Index], spins: Spins) -> List[Tuple[int, Factor]]:
        """The element of these spins as a sum of spatial elements with signs."""
        n = self.pairs
        upper, lower = spins[:n], spins[n:]
        if sum(upper) != sum(lower):
            return []
        if n == 0:
            return [(1, Factor(self.tensor, ()))]
        if n == 1:
            return [(1, Factor(self.tensor, tuple(indices)))]
        p, q = indices[:n], indices[n:]
        if n == 2:
            out = []
            if upper == lower:
                out.append((1, Factor(self.tensor, (*p, *q))))
            if upper == lower[::-1]:
                out.append((-1, Factor(self.tensor, (*p, *q[::-1]))))
            return out
        if len(set(upper)) == 1:
            return [(1, Factor(self.tensor, (*p, *(q[x] for x in turn)))) for turn in ((0, 1, 2), (1, 2, 0), (2, 0, 1))]
        sign, order = 1, []
        for half in (upper, lower):
            odd = next(x for x in range(n) if half.count(half[x]) == 1)
            permuted = tuple(x for x in range(n) if x != odd) + (odd,)
            sign *= parity_of(permuted)
            order.append(permuted)
        return [(sign, Factor(self.tensor, (*(p[x] for x in order[0]), *(q[x] for x in order[1]))))]


def check_antisymmetry(tensor: Tensor) -> None:
    """ValueError where a tensor is not as those of spin orbitals are."""
    n = tensor.rank // 2
    upper, lower = tuple(range(n)), tuple(range(n, tensor.rank))
    antisymmetric = {slots for slots, sign in slot_symmetry(tensor.symmetries, tensor.rank).sets if sign < 0}
    if n > 1 and not {upper, lower} <= antisymmetric:
        declared = " ".join(f"({','.join(str(x + 1) for x in half)})" for half in (upper, lower))
        raise ValueError(
            f"`{tensor.name}` is not antisymmetric in its first {n} and in its last {n} indices, as tensors of spin orbitals are: declare it "
            f"`antisymmetric {declared}`" + ("; tensors over orbitals take spin=\"orbitals\"" if set(group_of(_joint(n), tensor.rank)) <= set(tensor.group()) else "")
        )


def check_orbitals(tensor: Tensor) -> None:
    """ValueError where a given tensor or an amplitude does not have the symmetries of those over the orbitals of a closed shell."""
    pairs, odd = divmod(tensor.rank, 2)
    if odd:
        raise ValueError(f"`{tensor.name}` has {tensor.rank} indices: tensors over orbitals have as many upper as lower ones")
    what, allowed = f"amplitudes with {tensor.rank} indices are", [_joint(pairs)]
    if pairs == 3:
        allowed.append(_TWO_OF_A_SPIN)
    elif _is_integral(tensor):
        what, allowed = "the integrals <pq|rs> are", [_INTEGRALS]
    elif tensor.role == INPUT and pairs == 1:
        what, allowed = "the Fock matrix is", [(), exchanges(2, ((0,), (1,)), 1)]
    found = set(tensor.group())
    if found not in [set(group_of(symmetries, tensor.rank)) for symmetries in allowed]:
        declared = f"is declared{symmetry_text(tensor.symmetries)}" if tensor.symmetries else "has no symmetry"
        rule = " or ".join(f"`{symmetry_text(symmetries).strip()}`" for symmetries in allowed if symmetries)
        hint = "; tensors of spin orbitals take spin=\"closed-shell\"" if any(sign < 0 for _, sign in found) else ""
        raise ValueError(f"`{tensor.name}` {declared}: over orbitals, {what} {rule}{hint}")


def _target(target: Factor, tensors: Dict[str, _Spatial]) -> Factor:
    return Factor(tensors[target.tensor.name].tensor, target.indices, target.place)


def _summed(equation: Equation, tensors: Dict[str, _Spatial]) -> Iterator[Term]:
    """The terms of the spatial element, each with its permutations written out."""
    external = dict(zip(equation.target.indices, tensors[equation.target.tensor.name].target_spins()))
    for term in equation.terms:
        for one in term.expanded():
            summed = one.summed(equation.target)
            for chosen in itertools.product((0, 1), repeat=len(summed)):
                spins = {**external, **dict(zip(summed, chosen))}
                elements: Optional[List[List[Tuple[int, Factor]]]] = []
                for f in one.factors:
                    found = tensors[f.tensor.name].element(f.indices, tuple(spins[i] for i in f.indices))
                    if not found:
                        elements = None
                        break
                    elements.append(found)  # type: ignore[union-attr]
                for product in itertools.product(*elements) if elements is not None else ():
                    coefficient: Fraction = one.coefficient
                    for sign, _ in product:
                        coefficient *= sign
                    yield Term(coefficient, tuple(f for _, f in product), (), one.place)


