"""What a plan consists of: Statement, Plan."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from fractions import Fraction
from typing import FrozenSet, List, Mapping, Sequence, Tuple

from .model import INPUT, INTERMEDIATE, Equations, Factor, Generator, Index, Permutation, Place, Tensor, Term, group_of

Exchange = Tuple[Tuple[int, ...], Tuple[int, ...], int]
"""Slots, those that they are exchanged with, and the sign of a tensor when that is done: of such blocks one of two is computed."""


@dataclass(frozen=True)
class Statement:
    """target += coefficient * permutations applied to the product of factors, summed over the indices that the target has not.

    factors: none, one or two that are no scalars, and any number of scalars. places: of the terms that it computes."""

    target: Factor
    coefficient: Fraction
    factors: Tuple[Factor, ...]
    permutations: Tuple[Permutation, ...] = ()
    places: Tuple[Place, ...] = ()

    @property
    def summed(self) -> Tuple[Index, ...]:
        return tuple(dict.fromkeys(i for f in self.factors for i in f.indices if i not in self.target.indices))

    def __str__(self) -> str:
        return f"{self.target} += {Term(self.coefficient, self.factors, self.permutations)}"


@dataclass(frozen=True)
class Plan:
    """equations: as given; tensors: those and the intermediates that the plan adds. phases: the statements, in the order in which they run.

    multiplications: of one evaluation, with the extents that the plan was made for. helpers: names of tensors that are given besides those of the
    equations: UNIT, a unit matrix, or ONES, a vector of ones. exchanges: of targets by name, see Exchange. unique: names of targets of which only the computed
    blocks are read, not those that follow by exchanges."""

    equations: Equations
    tensors: Tuple[Tensor, ...]
    phases: Tuple[Tuple[Statement, ...], ...]
    multiplications: float
    helpers: Mapping[str, str] = field(default_factory=dict)
    exchanges: Mapping[str, Tuple[Exchange, ...]] = field(default_factory=dict)
    unique: FrozenSet[str] = frozenset()

    def constants(self) -> FrozenSet[str]:
        """Names of the intermediates that are the same in every evaluation: those of given tensors only."""
        changing = {t.name for t in self.tensors if t.role not in (INPUT, INTERMEDIATE) or not t.rank}
        targets = set()
        for s in (s for phase in self.phases for s in phase):
            targets.add(s.target.tensor.name)
            if any(f.tensor.name in changing for f in s.factors):
                changing.add(s.target.tensor.name)
        return frozenset(targets - changing)

    def __str__(self) -> str:
        return "\n".join(f"phase {n}\n" + "\n".join(f"  {s}" for s in phase) for n, phase in enumerate(self.phases, 1))


def exchanges_of(generators: Sequence[Generator]) -> Tuple[Exchange, ...]:
    """Of symmetries those that exchange slots, as long as they share none: they commute."""
    out: List[Exchange] = []
    for p, sign in generators:
        moved = [x for x in range(len(p)) if p[x] != x]
        if all(p[p[x]] == x for x in moved) and not any(set(moved) & {*a, *b} for a, b, _ in out):
            first = tuple(x for x in moved if x < p[x])
            out.append((first, tuple(p[x] for x in first), sign))
    return tuple(out)


def summed_pairs(statement: Statement, exchanges: Mapping[str, Sequence[Exchange]]) -> Tuple[Tuple[Index, Index], ...]:
    """Summed indices of a product of two factors that may be exchanged without a change, as c and d in u[a,b,c,d] t2[c,d,i,j] of antisymmetric tensors: of
    their segments the sum takes those with c <= d, and the ones with c < d twice. exchanges: of computed tensors, as in Plan."""
    factors = [f for f in statement.factors if f.indices]
    if len(factors) != 2 or statement.permutations:
        return ()
    out: List[Tuple[Index, Index]] = []
    for x, y in itertools.combinations(statement.summed, 2):
        if x.space != y.space or any(i in pair for pair in out for i in (x, y)):
            continue
        signs = [sign_of_exchanges(f, ((x, y),), exchanges.get(f.tensor.name, ())) for f in factors]
        if signs[0] * signs[1] > 0:
            out.append((x, y))
    return tuple(out)


def sign_of_exchanges(factor: Factor, pairs: Sequence[Tuple[Index, Index]], exchanges: Sequence[Exchange]) -> int:
    """What exchanging the indices of each pair multiplies a factor by; 0 where it makes another one, or where an index is not there once."""
    if any(factor.indices.count(i) != 1 for pair in pairs for i in pair):
        return 0
    rank = factor.tensor.rank
    p = list(range(rank))
    for x, y in pairs:
        one, other = factor.indices.index(x), factor.indices.index(y)
        p[one], p[other] = other, one
    generators = factor.tensor.symmetries + tuple(_generator(e, rank) for e in exchanges)
    return dict(group_of(generators, rank)).get(tuple(p), 0)


def _generator(exchange: Exchange, rank: int) -> Generator:
    p = list(range(rank))
    for x, y in zip(exchange[0], exchange[1]):
        p[x], p[y] = y, x
    return tuple(p), exchange[2]
