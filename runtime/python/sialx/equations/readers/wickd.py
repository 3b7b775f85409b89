"""Equations from wickd (PyPI package `wickd`), which derives them by Wick's theorem: from_wickd."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ..model import AMPLITUDE, INPUT, RESULT, Equation, Equations, Factor, Generator, Index, Permutation, Space, Tensor, Term, exchanges
from ..simplify import simplify

_Half = Tuple[str, ...]  # labels of spaces
_Sites = Dict[Tuple[str, int], Set[Tuple[_Half, _Half]]]

INTEGRALS: Mapping[str, Tuple[str, ...]] = {"H": ("f", "u", "w")}


def from_wickd(
    equations: Any,
    *,
    residual: str = "r",
    energy: str = "energy",
    integrals: Mapping[str, Sequence[str]] = INTEGRALS,
    blocks: Optional[Sequence[str]] = None,
    occupied: str = "o",
    virtual: str = "v",
    letters: Optional[Mapping[str, str]] = None,
    real: bool = False,
    simplified: bool = True,
) -> Equations:
    """Equations of a wickd Expression, or of what its to_manybody_equation() gives: lists of equations by block, as "oo|vv".

    Spin-orbital theory over one determinant. Tensors have the indices of creation operators first, then those of annihilation operators: the operator
    H of two particles is u[p,q,r,s] = <pq||rs>, T is t1[a,i], t2[a,b,i,j], ...; the residual of "oo|vv" is r2[a,b,i,j], the block "|" the energy.

    integrals: names by rank of operators over all spaces; others are amplitudes, called by their label and rank. blocks: which to read; else the energy
    and the excitations, from `occupied` to `virtual`. letters: of the indices of each space; else those that wickd was told. real: orbitals
    are real, f[p,q] = f[q,p] and u[p,q,r,s] = u[r,s,p,q]: fewer blocks of integrals occur. simplified=False leaves one
    term for each equation of wickd, with the permutations that make the residual antisymmetric."""
    by_block = equations.to_manybody_equation(residual) if hasattr(equations, "to_manybody_equation") else equations
    if not isinstance(by_block, Mapping):
        raise TypeError(f"from_wickd takes an Expression or equations by block, not {type(by_block).__name__}")
    chosen: List[Tuple[str, Sequence[Any]]] = []
    for block in blocks if blocks is not None else sorted(by_block, key=lambda b: (len(b), b)):
        if block not in by_block:
            raise KeyError(f"there is no block `{block}`, there are {', '.join(f'`{b}`' for b in by_block)}")
        upper, _, lower = block.partition("|")
        if blocks is not None or len(upper) == len(lower) and set(upper) <= {occupied} and set(lower) <= {virtual}:
            chosen.append((block, by_block[block]))
    return _Reader(chosen, residual, energy, integrals, occupied, virtual, letters, real).equations(simplified)


def _half(indices: Sequence[Any]) -> List[Tuple[str, int]]:
    """(space, number) of wickd's indices, which are written o0, o1, v0, ..."""
    texts = [str(i) for i in indices]
    return [(t.rstrip("0123456789"), int(t[len(t.rstrip("0123456789")) :])) for t in texts]


class _Reader:
    def __init__(
        self,
        blocks: Sequence[Tuple[str, Sequence[Any]]],
        residual: str,
        energy: str,
        integrals: Mapping[str, Sequence[str]],
        occupied: str,
        virtual: str,
        letters: Optional[Mapping[str, str]],
        real: bool,
    ) -> None:
        self.blocks, self.residual, self.energy, self.integrals = blocks, residual, energy, integrals
        self.occupied, self.virtual, self.real = occupied, virtual, real
        self.sites: _Sites = {}
        labels = {occupied: None, virtual: None}
        for _, lines in blocks:
            for line in lines:
                for tensor in line.rhs().tensors():
                    lower, upper = _half(tensor.lower()), _half(tensor.upper())
                    labels.update({space: None for space, _ in (*lower, *upper)})
                    site = (tuple(s for s, _ in lower), tuple(s for s, _ in upper))
                    self.sites.setdefault((tensor.label(), len(upper)), set()).add(site)
        self.letters = {label: _letters(label, occupied, virtual, letters) for label in labels}
        self.general = next(n for n in ("g", "all", "general") if n not in labels)
        used = set("".join(self.letters.values()))
        free = "".join(x for x in "pqrstuwxyz" if x not in used)
        self.spaces = (*(Space(s, tuple(x)) for s, x in self.letters.items()), Space(self.general, tuple(free[:4]), tuple(labels)))
        self.tensors = {key: self.tensor(key) for key in sorted(self.sites, key=lambda k: (k[0] not in integrals, k))}

    def equations(self, simplified: bool) -> Equations:
        found = [self.equation(block, lines) for block, lines in self.blocks]
        tensors = (*self.tensors.values(), *(e.target.tensor for e in found))
        out = Equations(self.spaces, tensors, tuple(found))
        return simplify(out) if simplified else out

    def tensor(self, key: Tuple[str, int]) -> Tensor:
        label, rank = key
        if label in self.integrals:
            names = self.integrals[label]
            if rank > len(names):
                raise ValueError(f"`integrals` has no name for the operator {label} of rank {rank}")
            half = (self.general,) * rank
            bra_ket = exchanges(2 * rank, (tuple(range(rank)), tuple(range(rank, 2 * rank))), 1) if self.real else ()
            return Tensor(names[rank - 1], half + half, _antisymmetry(half, half) + bra_ket, INPUT)
        sites = self.sites[key]
        lower, upper = next(iter(sites)) if len(sites) == 1 else ((self.general,) * rank, (self.general,) * rank)
        return Tensor(f"{label.lower()}{rank}", lower + upper, _antisymmetry(lower, upper), AMPLITUDE)

    def equation(self, block: str, lines: Sequence[Any]) -> Equation:
        upper, _, lower = block.partition("|")
        excitation = len(upper) == len(lower) and set(upper) <= {self.occupied} and set(lower) <= {self.virtual}
        name = self.energy if block == "|" else f"{self.residual}{len(lower)}" if excitation else f"{self.residual}_{lower}_{upper}"
        tensor = Tensor(name, (*lower, *upper), _antisymmetry(tuple(lower), tuple(upper)), RESULT)
        target = Factor(tensor, self.numbered([*_places(lower), *_places(upper, lower)]))
        return Equation(target, False, tuple(self.term(line, target, len(lower)) for line in lines))

    def numbered(self, indices: Sequence[Tuple[str, int]]) -> Tuple[Index, ...]:
        out = []
        for space, n in indices:
            letters = self.letters[space]
            out.append(Index(letters[n % len(letters)] + (str(n // len(letters)) if n >= len(letters) else ""), space))
        return tuple(out)

    def term(self, line: Any, target: Factor, lower: int) -> Term:
        result = line.lhs().tensors()
        place = [*_half(result[0].lower()), *_half(result[0].upper())] if result else []
        names = dict(zip(self.numbered(place), target.indices))
        taken = set(target.indices)
        factors = []
        for tensor in line.rhs().tensors():
            if getattr(tensor, "is_complex_conjugate", bool)():
                raise ValueError(f"the conjugate of {tensor.label()} cannot be read")
            indices = self.numbered([*_half(tensor.lower()), *_half(tensor.upper())])
            for index in indices:
                if index not in names:
                    names[index] = self.free(index.space, taken)
                taken.add(names[index])
            factors.append(Factor(self.tensors[(tensor.label(), len(tensor.upper()))], tuple(names[i] for i in indices)))
        factor = line.rhs_factor()
        operators = []
        for half in (target.indices[:lower], target.indices[lower:]):
            for space in dict.fromkeys(i.space for i in half):
                alike = [i for i in half if i.space == space]
                if len(alike) > 1:
                    operators.append(Permutation(tuple(((i,),) for i in alike)))
        return Term(Fraction(int(str(factor.numerator())), int(str(factor.denominator()))), tuple(factors), tuple(operators))

    def free(self, space: str, taken: Set[Index]) -> Index:
        n = 0
        while True:
            index = self.numbered([(space, n)])[0]
            if index not in taken:
                return index
            n += 1


def _places(labels: str, before: str = "") -> List[Tuple[str, int]]:
    """(space, number) of the indices of a block, counted for each space."""
    whole = before + labels
    return [(label, whole[:n].count(label)) for n, label in enumerate(whole)][len(before) :]


def _antisymmetry(lower: _Half, upper: _Half) -> Tuple[Generator, ...]:
    rank = len(lower) + len(upper)
    out: List[Generator] = []
    for half, first in ((lower, 0), (upper, len(lower))):
        for space in dict.fromkeys(half):
            out += exchanges(rank, tuple((first + n,) for n, s in enumerate(half) if s == space), -1)
    return tuple(out)


def _letters(label: str, occupied: str, virtual: str, given: Optional[Mapping[str, str]]) -> str:
    if given is not None and label in given:
        return given[label]
    told = _told().get(label, "")
    if told:
        return told
    try:
        return {occupied: "ijklmn", virtual: "abcdef"}[label]
    except KeyError:
        raise ValueError(f'`letters` has no letters for the space `{label}`: give them as letters={{"{label}": "xyz"}}') from None


def _told() -> Dict[str, str]:
    """The letters that wickd was told, where it is installed and all are single ones."""
    try:
        import wickd
    except ImportError:
        return {}
    spaces = wickd.osi().to_dict()
    return {label: "".join(x for x in letters if len(x) == 1) for label, letters in spaces.items()}
