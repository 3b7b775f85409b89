"""The canonical form of a term: one of all that differ by names of summed indices, order of factors and the symmetry of tensors.

Indices are told apart by where they stand (refinement of colours); where that leaves several alike, each is tried in turn, except those that a known
automorphism of the term takes to one tried already. An automorphism that changes the sign makes the term 0."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from .model import AMPLITUDE, INPUT, Factor, Index, Space, Term
from .symmetry import KIND_BITS, SlotSymmetry, slot_symmetry

FactorKey = Tuple[int, int, str, Tuple[int, ...]]
Key = Tuple[FactorKey, ...]
_SPACE, _SUMMED = 1 << KIND_BITS, 1 << 10  # label = number of the space * _SPACE + (external: its position in the target; summed: _SUMMED + number)


class Canonical(NamedTuple):
    """key: the same of two terms exactly where they are equal up to the sign and coefficient. term: has this form; coefficient is signed."""

    key: Key
    term: Term


class Canonicaliser:
    """Finds canonical forms of terms, without permutations, of a target with these indices."""

    def __init__(self, target: Factor, spaces: Sequence[Space]) -> None:
        self.target = target
        self.spaces = spaces
        self.order = {space.name: n for n, space in enumerate(spaces)}
        self.external = {index: self.order[index.space] * _SPACE + n for n, index in enumerate(target.indices)}
        self.names: Dict[Tuple[str, int], Index] = {}

    def form(self, term: Term) -> Optional[Canonical]:
        """None where the term is 0."""
        if term.coefficient == 0:
            return None
        numbers: Dict[Index, int] = {}
        fixed: List[int] = []
        for factor in term.factors:
            for index in factor.indices:
                if index not in numbers:
                    numbers[index] = len(numbers)
                    fixed.append(self.external.get(index, -1 - self.order[index.space]))
        parts = tuple((_kind(f), tuple(numbers[i] for i in f.indices), slot_symmetry(f.tensor.symmetries, f.tensor.rank)) for f in term.factors)
        found = _searched(tuple(fixed), parts)
        if found is None:
            return None
        factors, sign = found
        return Canonical(factors, Term(sign * term.coefficient, self.factors(factors, term), (), term.place))

    def factors(self, key: Key, term: Term) -> Tuple[Factor, ...]:
        """The factors that a key stands for; summed indices get the letters that the target leaves, in the order in which they occur."""
        tensors = {f.tensor.name: f.tensor for f in term.factors}
        given: Dict[int, Index] = {label: index for index, label in self.external.items()}
        used = [0] * len(self.spaces)
        out = []
        for _, _, name, labels in key:
            for label in labels:
                if label not in given:
                    space = label // _SPACE
                    given[label] = self.name(self.spaces[space], used[space])
                    used[space] += 1
            out.append(Factor(tensors[name], tuple(given[x] for x in labels)))
        return tuple(out)

    def name(self, space: Space, n: int) -> Index:
        """The n-th index of a space that is not in the target."""
        known = self.names.get((space.name, n))
        if known is None:
            taken = {i.name for i in self.target.indices}
            names = [x for x in space.indices if x not in taken]
            number = 1
            while len(names) <= n:
                names += [f"{x}{number}" for x in space.indices or (f"{space.name}_",) if f"{x}{number}" not in taken]
                number += 1
            known = self.names[(space.name, n)] = Index(names[n], space.name)
        return known


def _kind(factor: Factor) -> Tuple[int, int, str]:
    role = {INPUT: 0, AMPLITUDE: 2}.get(factor.tensor.role, 1)
    return role, factor.tensor.rank, factor.tensor.name


_Part = Tuple[Tuple[int, int, str], Tuple[int, ...], SlotSymmetry]  # of a factor: its kind, the numbers of its indices, its symmetry


@lru_cache(maxsize=1 << 15)
def _searched(fixed: Tuple[int, ...], parts: Tuple[_Part, ...]) -> Optional[Tuple[Key, int]]:
    """The canonical form's key and sign, None where the term is 0. Plans ask for the same terms many times."""
    search = _Search(fixed, parts)
    return None if search.zero or search.best is None else (search.best, search.sign)


class _Search:
    def __init__(self, fixed: Tuple[int, ...], parts: Tuple[_Part, ...]) -> None:
        """fixed: of each index, by its number, the label of an external one, or -1 - space of a summed one."""
        self.best: Optional[Key] = None
        self.sign, self.zero = 1, False
        self.fixed = fixed
        self.slots = [slots for _, slots, _ in parts]
        self.kinds = [kind for kind, _, _ in parts]
        self.symmetries = [symmetry for _, _, symmetry in parts]
        self.summed = [x for x, label in enumerate(self.fixed) if label < 0]
        self.automorphisms: List[List[int]] = []
        self.best_labels: List[int] = []
        self.twins()
        if not self.zero:
            distinct = sorted(set(self.fixed))
            self.node(self.refined([distinct.index(label) for label in self.fixed]), [])

    def twins(self) -> None:
        """Summed indices that stand in the same sets of exchangeable slots: exchanging them is an automorphism."""
        homes: List[List[Tuple[int, int]]] = [[] for _ in self.fixed]
        signs: Dict[Tuple[int, int], int] = {}
        for f, (slots, symmetry) in enumerate(zip(self.slots, self.symmetries)):
            for s, (members, sign) in enumerate(symmetry.sets):
                signs[(f, s)] = sign
                for x in members:
                    homes[slots[x]].append((f, s))
        found: Dict[Tuple[int, Tuple[Tuple[int, int], ...]], int] = {}
        for x in self.summed:
            if len(homes[x]) != 2:
                continue
            where = (self.fixed[x], tuple(sorted(homes[x])))
            if where in found:
                y = found[where]
                if signs[homes[x][0]] != signs[homes[x][1]]:
                    self.zero = True
                exchange = list(range(len(self.fixed)))
                exchange[x], exchange[y] = y, x
                self.automorphisms.append(exchange)
            found[where] = x

    def refined(self, colours: List[int]) -> List[int]:
        count = len(set(colours))
        while count < len(colours):
            patterns = []
            for kind, slots, symmetry in zip(self.kinds, self.slots, self.symmetries):
                form, places = symmetry.pattern([colours[x] for x in slots])
                patterns.append(((kind, form), places))
            seen: List[List[Tuple[object, ...]]] = [[] for _ in colours]
            for (signature, places), slots in zip(patterns, self.slots):
                for x, place in zip(slots, places):
                    seen[x].append((signature, place))
            marks = [(colours[x], sorted(seen[x])) for x in range(len(colours))]  # type: ignore[type-var]
            rank: List[Tuple[int, list[Tuple[object, ...]]]] = []
            for mark in sorted(marks):  # type: ignore[type-var]
                if not rank or rank[-1] != mark:
                    rank.append(mark)
            if len(rank) == count:
                break
            count = len(rank)
            colours = [rank.index(mark) for mark in marks]
        return colours

    def node(self, colours: List[int], prefix: List[int]) -> None:
        cells: Dict[int, List[int]] = {}
        for x in self.summed:
            cells.setdefault(colours[x], []).append(x)
        open_cells = [(len(cell), colour) for colour, cell in cells.items() if len(cell) > 1]
        if not open_cells:
            self.leaf(colours)
            return
        _, colour = min(open_cells)
        tried: List[int] = []
        for x in cells[colour]:
            if self.zero:
                return
            if not self.reaches(x, tried, prefix):
                child = [2 * c + 1 for c in colours]
                child[x] = 2 * colour
                order = {c: n for n, c in enumerate(sorted(set(child)))}
                self.node(self.refined([order[c] for c in child]), [*prefix, x])
            tried.append(x)

    def reaches(self, x: int, tried: List[int], prefix: List[int]) -> bool:
        """Whether automorphisms that leave the prefix in place take one of the tried to x."""
        usable = [a for a in self.automorphisms if all(a[p] == p for p in prefix)]
        reached, new = set(tried), list(tried)
        while new:
            y = new.pop()
            for a in usable:
                if a[y] not in reached:
                    reached.add(a[y])
                    new.append(a[y])
        return x in reached

    def leaf(self, colours: List[int]) -> None:
        labels = list(self.fixed)
        for n, x in enumerate(sorted(self.summed, key=lambda x: colours[x])):
            labels[x] = (-1 - self.fixed[x]) * _SPACE + _SUMMED + n
        total, factors = 1, []
        for (role, rank, name), slots, symmetry in zip(self.kinds, self.slots, self.symmetries):
            form, sign = symmetry.least([labels[x] for x in slots])
            if sign == 0:
                self.zero = True
                return
            total *= sign
            factors.append((role, rank, name, form))
        key = tuple(sorted(factors))
        if self.best is None or key < self.best:
            self.best, self.sign, self.best_labels = key, total, labels
        elif key == self.best:
            if total != self.sign:
                self.zero = True
            at = {label: x for x, label in enumerate(labels)}
            self.automorphisms.append([at[label] for label in self.best_labels])  # takes the best form's index of a label to this form's


def canonical_term(term: Term, target: Factor, spaces: Sequence[Space]) -> Optional[Canonical]:
    """The canonical form of a term without permutations, or None where it is 0. spaces: those of the Equations; their order orders indices."""
    return Canonicaliser(target, spaces).form(term)


def merged(terms: Sequence[Term], target: Factor, spaces: Sequence[Space]) -> Dict[Key, Term]:
    """Terms with their permutations written out, in canonical form, with those that coincide added up and those that are 0 left out."""
    canonicaliser = Canonicaliser(target, spaces)
    out: Dict[Key, Term] = {}
    for term in terms:
        for one in term.expanded():
            form = canonicaliser.form(one)
            if form is None:
                continue
            before = out.get(form.key)
            coefficient = form.term.coefficient + (before.coefficient if before else Fraction(0))
            out[form.key] = Term(coefficient, form.term.factors, (), before.place if before else form.term.place)
    return {key: term for key, term in out.items() if term.coefficient}
