"""Tensor equations as values: what text and readers make, what simplification and code generation use.

All classes are frozen and hashable. Two of them are equal where they mean the same text; places and sources do not count.

An Equation gives a target tensor a sum of terms. In a term, an index that stands in the target is external and occurs
once among the factors; every other index occurs twice and is summed over its whole space. Names of spaces stand for the
Space of that name in Equations.spaces."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Dict, Iterable, Iterator, Mapping, Optional, Sequence, Tuple, TypeVar

INPUT, AMPLITUDE, RESULT, INTERMEDIATE = ROLES = ("input", "amplitude", "result", "intermediate")

Generator = Tuple[Tuple[int, ...], int]
"""(p, sign): a tensor is T[x[0], ..., x[n-1]] = sign * T[x[p[0]], ..., x[p[n-1]]]; p has slots counted from 0, sign is 1 or -1."""


@dataclass(frozen=True)
class Place:
    """A part of a source: lines and columns count from 1, columns in characters, the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class Source:
    """A text that equations were read from. name: the path, or `<text>`; Place.file is that name."""

    name: str
    text: str


@dataclass(frozen=True)
class Space:
    """A range of orbitals. indices: the letters that belong to it; a letter with digits or primes appended (i1, i') belongs to the letter's space.

    parts: names of the spaces that it consists of, in this order, as ("o", "v") of a general space; () where it has none."""

    name: str
    indices: Tuple[str, ...]
    parts: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Index:
    """An index of a term. space: the name of its space."""

    name: str
    space: str

    @property
    def letter(self) -> str:
        return letter_of(self.name)

    def __str__(self) -> str:
        return self.name


def letter_of(name: str) -> str:
    """The letter of an index name: i of i, i2 and i'."""
    return name.rstrip("0123456789'")


@dataclass(frozen=True)
class Tensor:
    """A named array, or a scalar where spaces is ().

    spaces: the name of the space of each slot; an index fits where its space is the slot's or a part of it.
    symmetries: generators of the tensor's permutational symmetry, see Generator; () where it has none. An antisymmetric pair of slots 0 and 1 of a
    tensor of four is ((1, 0, 2, 3), -1); the closed-shell t2[a,b,i,j] = t2[b,a,j,i] is ((1, 0, 3, 2), 1).
    role: `input` (integrals, given), `amplitude` (what an iteration solves for), `result` (a target), `intermediate` (a target for use in later
    equations only)."""

    name: str
    spaces: Tuple[str, ...]
    symmetries: Tuple[Generator, ...] = ()
    role: str = INPUT

    @property
    def rank(self) -> int:
        return len(self.spaces)

    def group(self) -> Tuple[Generator, ...]:
        """Every permutation of slots that the symmetries generate, with its sign; the identity first."""
        return group_of(self.symmetries, self.rank)


@dataclass(frozen=True)
class Factor:
    """A tensor with an index in each slot."""

    tensor: Tensor
    indices: Tuple[Index, ...]
    place: Optional[Place] = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.tensor.name + (f"[{','.join(i.name for i in self.indices)}]" if self.indices else "")

    def renamed(self, names: Mapping[Index, Index]) -> Factor:
        return Factor(self.tensor, tuple([names.get(i, i) for i in self.indices]), self.place)


Item = Tuple[Index, ...]


@dataclass(frozen=True)
class Permutation:
    """A sum of permutations of external indices, applied to a term: P(...) with sign -1, S(...) with sign 1.

    groups holds groups of items, an item holds the indices that move together: P(i/j k) has groups (((i,),), ((j,), (k,))), and the closed-shell
    S(ai/bj) has (((a, i),), ((b, j),)). P(i j) and P(i j k) without `/` have every item in a group of its own.

    The operator is the sum over all ways of dealing the items out over the groups, each with its parity (sign -1) or with 1 (sign 1). Items that
    stay in their group keep their position, the others take the free ones in order. Thus P(i j) = 1 - (i j), P(i/j k) = 1 - (i j) - (i k),
    P(i j/k l) = 1 - (i k) - (i l) - (j k) - (j l) + (i k)(j l), and P(i j k) has all six, signed.

    Of several on one term, the last is applied first: P(i j) P(a b) x = P(i j) (P(a b) x)."""

    groups: Tuple[Tuple[Item, ...], ...]
    sign: int = -1

    @property
    def items(self) -> Tuple[Item, ...]:
        return tuple(item for group in self.groups for item in group)

    @property
    def indices(self) -> Tuple[Index, ...]:
        return tuple(index for item in self.items for index in item)

    def images(self) -> Iterator[Tuple[Dict[Index, Index], int]]:
        """Its summands as (what each index is replaced by, sign); the identity, which replaces nothing, comes first."""
        items = self.items
        for arrangement, parity in arrangements(tuple(len(g) for g in self.groups)):
            names = {old: new for position, item in enumerate(arrangement) for old, new in zip(items[position], items[item]) if old != new}
            yield names, parity if self.sign < 0 else 1

    def __str__(self) -> str:
        single = all(len(item) == 1 for item in self.items)
        words = [" ".join("".join(i.name for i in item) for item in group) for group in self.groups]
        between = " " if single and all(len(g) == 1 for g in self.groups) else "/"
        return f"{'P' if self.sign < 0 else 'S'}({between.join(words)})"


@dataclass(frozen=True)
class Term:
    """coefficient * permutations applied to the product of factors. permutations act on external indices only."""

    coefficient: Fraction
    factors: Tuple[Factor, ...]
    permutations: Tuple[Permutation, ...] = ()
    place: Optional[Place] = field(default=None, compare=False)

    @property
    def indices(self) -> Tuple[Index, ...]:
        """Its indices in the order in which they first occur."""
        return tuple(dict.fromkeys(i for f in self.factors for i in f.indices))

    def summed(self, target: Factor) -> Tuple[Index, ...]:
        """The indices that do not stand in the target, over which the term is summed."""
        return tuple(i for i in self.indices if i not in target.indices)

    def expanded(self) -> Tuple[Term, ...]:
        """The terms without permutations that this one stands for."""
        terms = [replace(self, permutations=())]
        for permutation in reversed(self.permutations):
            terms = [
                replace(t, coefficient=sign * t.coefficient, factors=tuple(f.renamed(names) for f in t.factors))
                for names, sign in permutation.images()
                for t in terms
            ]
        return tuple(terms)

    def __str__(self) -> str:
        parts = [] if abs(self.coefficient) == 1 and self.factors else [str(abs(self.coefficient))]
        return ("-" if self.coefficient < 0 else "") + " ".join(parts + [str(p) for p in self.permutations] + [str(f) for f in self.factors])


@dataclass(frozen=True)
class Equation:
    """target = the sum of terms, or target += them where adds is True, which goes with an earlier equation of the same tensor.

    The target's indices all differ; its tensor is a result or an intermediate. terms may be (): the target is 0."""

    target: Factor
    adds: bool
    terms: Tuple[Term, ...]
    place: Optional[Place] = field(default=None, compare=False)


@dataclass(frozen=True)
class Equations:
    """Equations in the order in which they are evaluated: targets of earlier ones may be factors in later ones.

    tensors: every tensor that is declared or a target, by unique names. disconnected: names of the targets whose terms may consist of parts that share
    no summed index, `*` for all."""

    spaces: Tuple[Space, ...]
    tensors: Tuple[Tensor, ...]
    equations: Tuple[Equation, ...]
    source: Optional[Source] = field(default=None, compare=False)
    disconnected: Tuple[str, ...] = ()

    def space(self, name: str) -> Space:
        return _named(self.spaces, name)

    def tensor(self, name: str) -> Tensor:
        return _named(self.tensors, name)

    def basic(self, space: str) -> Tuple[str, ...]:
        """The names of the spaces without parts that a space consists of, in order: ("o", "v") of g, ("o",) of o."""
        parts = self.space(space).parts
        return tuple(b for p in parts for b in self.basic(p)) if parts else (space,)

    def first_indices(self, spaces: Iterable[str]) -> Tuple[Index, ...]:
        """Different indices of these spaces: the first letters of each."""
        used: Dict[str, int] = {}
        out = []
        for space in spaces:
            letters, n = self.space(space).indices, used.get(space, 0)
            used[space] = n + 1
            out.append(Index(letters[n] if n < len(letters) else f"{letters[n % len(letters)]}{n // len(letters)}", space))
        return tuple(out)

    def of_role(self, *roles: str) -> Tuple[Tensor, ...]:
        return tuple(t for t in self.tensors if t.role in roles)


_Named = TypeVar("_Named", Space, Tensor)


def _named(things: Tuple[_Named, ...], name: str) -> _Named:
    for thing in things:
        if thing.name == name:
            return thing
    raise KeyError(name)


def exchanges(rank: int, blocks: Tuple[Tuple[int, ...], ...], sign: int) -> Tuple[Generator, ...]:
    """Generators that exchange neighbouring blocks of slots: blocks ((0,), (1,), (2,)) make three slots (anti)symmetric, ((0, 2), (1, 3)) exchange pairs jointly."""
    out = []
    for one, other in zip(blocks, blocks[1:]):
        p = list(range(rank))
        for x, y in zip(one, other):
            p[x], p[y] = y, x
        out.append((tuple(p), sign))
    return tuple(out)


@lru_cache(maxsize=None)
def group_of(generators: Tuple[Generator, ...], rank: int) -> Tuple[Generator, ...]:
    """The group that permutations with signs generate. ValueError where one permutation gets both signs: such a tensor is 0."""
    identity = tuple(range(rank))
    signs = {identity: 1}
    new = [identity]
    while new:
        found = []
        for q in new:
            for p, sign in generators:
                product = tuple(q[x] for x in p)
                if product not in signs:
                    signs[product] = sign * signs[q]
                    found.append(product)
                elif signs[product] != sign * signs[q]:
                    raise ValueError("the symmetries contradict each other")
        new = found
    return tuple(signs.items())


@lru_cache(maxsize=None)
def arrangements(sizes: Tuple[int, ...]) -> Tuple[Tuple[Tuple[int, ...], int], ...]:
    """The ways of dealing items out over groups of these sizes as (item at each position, parity); see Permutation."""
    n = sum(sizes)
    home = [g for g, size in enumerate(sizes) for _ in range(size)]
    out = []
    for groups in sorted(set(itertools.permutations(home)), key=lambda dealt: (dealt != tuple(home), dealt)):  # groups[item]: where it goes
        at = [item if groups[item] == home[item] else -1 for item in range(n)]
        for g in range(len(sizes)):
            free = [p for p in range(n) if home[p] == g and at[p] < 0]
            for p, item in zip(free, [x for x in range(n) if groups[x] == g and home[x] != g]):
                at[p] = item
        out.append((tuple(at), parity_of(at)))
    return tuple(out)


def parity_of(p: Sequence[int]) -> int:
    """1 of an even permutation, -1 of an odd one."""
    inversions = sum(p[i] > p[j] for i in range(len(p)) for j in range(i + 1, len(p)))
    return -1 if inversions % 2 else 1
