"""Terms that coincide merged, those that are 0 dropped, permutation operators written out and found again."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cached_property, lru_cache
from math import prod
from typing import Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from .canonical import Canonicaliser, Key, merged
from .model import Equation, Equations, Factor, Index, Permutation, Space, Term, parity_of
from .symmetry import slot_symmetry

Operator = Tuple[Permutation, ...]
_MOST_CANDIDATES = 50000
Rewrite = Callable[[Dict[Key, Term], Factor], Iterable[Term]]


def simplify(equations: Equations) -> Equations:
    """The same equations with fewer terms: each in canonical form, coinciding ones merged, those that cancel or are 0 by symmetry left out.

    `+=` that follows the equation it adds to becomes part of it. Permutation operators are written out for that and found again; terms come in a fixed
    order, those of fewer factors first."""
    return collect_permutations(equations)


def expand_permutations(equations: Equations) -> Equations:
    """Simplified equations without permutation operators: each permutation is a term of its own."""
    return _each(equations, lambda terms, target: _ordered(terms))


def collect_permutations(equations: Equations) -> Equations:
    """Simplified equations in which terms that differ by permutations of external indices are one term with permutation operators, as far as they are found."""
    return _each(equations, lambda terms, target: _collected(terms, target, equations.spaces))


def _each(equations: Equations, rewrite: Rewrite) -> Equations:
    out = []
    for equation in _with_additions(equations.equations):
        terms = merged(equation.terms, equation.target, equations.spaces)
        out.append(replace(equation, terms=tuple(rewrite(terms, equation.target))))
    return replace(equations, equations=tuple(out))


def _with_additions(equations: Sequence[Equation]) -> List[Equation]:
    out: List[Equation] = []
    for equation in equations:
        if equation.adds and out and out[-1].target.tensor == equation.target.tensor:
            terms = [to_target(t, equation.target, out[-1].target) for t in equation.terms]
            out[-1] = replace(out[-1], terms=(*out[-1].terms, *terms))
        else:
            out.append(equation)
    return out


def to_target(term: Term, old: Factor, new: Factor) -> Term:
    """The term with the external indices of another target; summed indices step aside."""
    names = dict(zip(old.indices, new.indices))
    taken = {i.name for i in (*term.indices, *new.indices, *old.indices)}
    for index in term.summed(old):
        if index in new.indices:
            name = next(n for n in (f"{index.letter}{k}" for k in itertools.count(1)) if n not in taken)
            taken.add(name)
            names[index] = Index(name, index.space)
    permutations = tuple(
        Permutation(tuple(tuple(tuple(names.get(i, i) for i in item) for item in group) for group in p.groups), p.sign) for p in term.permutations
    )
    return replace(term, factors=tuple(f.renamed(names) for f in term.factors), permutations=permutations)


def _rank(key: Key, term: Term) -> Tuple[object, ...]:
    return (len(key), [f[2] for f in key], key)


def _ordered(terms: Dict[Key, Term]) -> List[Term]:
    return [terms[key] for key in sorted(terms, key=lambda k: _rank(k, terms[k]))]  # type: ignore[arg-type]


# --- finding permutation operators


def _collected(terms: Dict[Key, Term], target: Factor, spaces: Sequence[Space]) -> List[Term]:
    left = {key: terms[key] for key in sorted(terms, key=lambda k: _rank(k, terms[k]))}  # type: ignore[arg-type]
    canonicaliser = Canonicaliser(target, spaces)
    candidates = _candidates(target.indices)
    out = []
    for key in list(left):
        if key in left:
            term = left[key]
            images = _Images(term, key, canonicaliser)
            found = next((c for c in candidates if _fits(c, images, left)), _Candidate((), target.indices))
            for permutation, _sign in found.summands:
                image = images.of(permutation)
                if image is not None:
                    del left[image[0]]
            out.append(replace(term, permutations=found.operator))
    return out


Places = Tuple[int, ...]
"""A permutation of external indices: for each position in the target, the position of the index that replaces it."""


class _Images:
    """Canonical forms of a term with permuted external indices, made when they are asked for."""

    def __init__(self, term: Term, key: Key, canonicaliser: Canonicaliser) -> None:
        self.term, self.canonicaliser = term, canonicaliser
        self.indices = canonicaliser.target.indices
        position = {index: n for n, index in enumerate(self.indices)}
        self.alike: List[Tuple[Places, int]] = []  # positions whose exchange takes the term to itself with this sign: slots of one factor
        for factor in term.factors:
            for slots, sign in slot_symmetry(factor.tensor.symmetries, factor.tensor.rank).sets:
                members = tuple(sorted(position[factor.indices[x]] for x in slots if factor.indices[x] in position))
                for space in dict.fromkeys(self.indices[m].space for m in members):
                    same = tuple(m for m in members if self.indices[m].space == space)
                    if len(same) > 1:
                        self.alike.append((same, sign))
        self.known: Dict[Places, Optional[Tuple[Key, int]]] = {tuple(range(len(self.indices))): (key, 1)}

    def of(self, permutation: Places) -> Optional[Tuple[Key, int]]:
        """(key, sign relative to the term's own form), or None where it is 0."""
        least, total = list(permutation), 1
        for members, sign in self.alike:
            values = [least[m] for m in members]
            if sign < 0:
                total *= parity_of(values)
            for m, value in zip(members, sorted(values)):
                least[m] = value
        name = tuple(least)
        if name not in self.known:
            names = {self.indices[n]: self.indices[to] for n, to in enumerate(name)}
            form = self.canonicaliser.form(replace(self.term, factors=tuple(f.renamed(names) for f in self.term.factors)))
            self.known[name] = None if form is None else (form.key, 1 if form.term.coefficient == self.term.coefficient else -1)
        image = self.known[name]
        return None if image is None else (image[0], total * image[1])


class _Candidate:
    """Permutation operators of different indices that are tried together. summands: what their product consists of. home: the group of each position."""

    def __init__(self, operator: Operator, indices: Tuple[Index, ...]) -> None:
        self.operator, self.indices = operator, indices
        self.size = _size(operator)
        self.home = [-1] * len(indices)
        groups = [group for permutation in operator for group in permutation.groups]
        self.joint = any(len(item) > 1 for group in groups for item in group)
        for n, group in enumerate(groups):
            for item in group:
                for index in item:
                    self.home[indices.index(index)] = n

    @cached_property
    def summands(self) -> List[Tuple[Places, int]]:
        out: List[Tuple[Dict[Index, Index], int]] = [({}, 1)]
        for permutation in self.operator:
            out = [({**names, **more}, sign * other) for names, sign in out for more, other in permutation.images()]
        position = {index: n for n, index in enumerate(self.indices)}
        return [(tuple(position[names.get(i, i)] for i in self.indices), sign) for names, sign in out]


def _fits(candidate: _Candidate, images: _Images, left: Dict[Key, Term]) -> bool:
    """Whether all images are different terms that are there with the coefficient they need."""
    if candidate.size > len(left):
        return False
    for members, _sign in images.alike:
        if len({candidate.home[m] for m in members if candidate.home[m] >= 0}) > 1:
            return False  # two of the images coincide
    seen = set()
    for permutation, sign in candidate.summands:
        image = images.of(permutation)
        if image is None or image[0] in seen or image[0] not in left:
            return False
        if left[image[0]].coefficient != sign * image[1] * images.term.coefficient:
            return False
        seen.add(image[0])
    return True


@lru_cache(maxsize=16)
def _candidates(indices: Tuple[Index, ...]) -> Tuple[_Candidate, ...]:
    """What is tried, those of the most summands first: products of one operator for each space, and exchanges of pairs of indices of two spaces."""
    by_space: Dict[str, List[Index]] = {}
    for index in indices:
        by_space.setdefault(index.space, []).append(index)
    choices: List[List[Operator]] = []
    for signs, shortest in (((-1, 1), 0), ((-1,), 0), ((-1,), len(indices)), ((), 0)):  # fewer kinds where many indices make too many
        choices = []
        for members in by_space.values():
            groupings = _groupings([(i,) for i in members], min(shortest, len(members))) if signs else []
            choices.append([(), *((Permutation(groups, sign),) for groups in groupings for sign in signs)])
        if prod(len(choice) for choice in choices) <= _MOST_CANDIDATES:
            break
    products = [tuple(p for operator in choice for p in operator) for choice in itertools.product(*choices)]
    lengths = {len(members) for members in by_space.values()}
    if len(by_space) > 1 and len(lengths) == 1:
        products += [(Permutation(groups, 1),) for groups in _groupings(list(zip(*by_space.values())))]
    found = [_Candidate(p, indices) for p in products if p]
    return tuple(sorted(found, key=lambda c: (-c.size, c.joint, c.home.count(-1), len(c.operator), max(c.home), [p.sign for p in c.operator])))


def _size(operator: Operator) -> int:
    size = 1
    for permutation in operator:
        n = 0
        for group in permutation.groups:
            for k in range(1, len(group) + 1):
                n += 1
                size = size * n // k
    return size


def _groupings(items: Sequence[Tuple[Index, ...]], fewest: int = 2) -> List[Tuple[Tuple[Tuple[Index, ...], ...], ...]]:
    """The ways of putting two or more of the items, and no fewer than said, in two or more groups."""
    out = []
    for n in range(max(fewest, 2), len(items) + 1):
        for chosen in itertools.combinations(items, n):
            out += [tuple(tuple(g) for g in partition) for partition in _partitions(list(chosen)) if len(partition) > 1]
    return out


def _partitions(items: List[Tuple[Index, ...]]) -> List[List[List[Tuple[Index, ...]]]]:
    if not items:
        return [[]]
    first, rest = items[0], items[1:]
    out = []
    for partition in _partitions(rest):
        out.append([[first], *partition])
        out += [[*partition[:n], [first, *group], *partition[n + 1 :]] for n, group in enumerate(partition)]
    return out
