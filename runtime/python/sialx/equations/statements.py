"""What a plan consists of: Statement, Plan."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .model import INPUT, INTERMEDIATE, Equations, Factor, Generator, Index, Permutation, Place, Tensor, Term, exchanges, group_of, parity_of

if TYPE_CHECKING:
    from .functions import Functions

MOST_EXCHANGED = 3  # sets of slots that are exchanged with each other: of eight indices 36 permutations, not 576


class Exchange(NamedTuple):
    """Sets of slots, any two of which may be exchanged, slot by slot, and the sign of the tensor then: ((0,), (1,)) of an antisymmetric pair, ((0, 2), (1, 3))
    of pairs. Of the blocks that so follow from each other one is computed: that whose segments in the first slots of the sets ascend."""

    sets: Tuple[Tuple[int, ...], ...]
    sign: int

    @property
    def share(self) -> float:
        """Of blocks that are computed, where segments are many."""
        return 1.0 / math.factorial(len(self.sets))

    def generators(self, rank: int) -> Tuple[Generator, ...]:
        return exchanges(rank, self.sets, self.sign)

    def permutations(self) -> Iterator[Tuple[Dict[int, int], int, List[Tuple[int, int]]]]:
        """What each slot is replaced by, the sign, and the first slots whose segments must differ, first < second, for this to be another block."""
        for order in itertools.permutations(range(len(self.sets))):
            names = {old: new for n, m in enumerate(order) for old, new in zip(self.sets[n], self.sets[m])}
            apart = [(self.sets[x][0], self.sets[y][0]) for x, y in itertools.combinations(range(len(order)), 2) if order.index(x) > order.index(y)]
            yield names, parity_of(order) if self.sign < 0 else 1, apart


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
    blocks are read, not those that follow by exchanges. largest: elements of the largest intermediate.

    extents: orbitals of each basic space that the plan was made for. released: whether intermediates are deleted after their last use. again: of
    constants(), those that every evaluation makes again, and deletes. functions: where integrals over four virtual orbitals are not stored."""

    equations: Equations
    tensors: Tuple[Tensor, ...]
    phases: Tuple[Tuple[Statement, ...], ...]
    multiplications: float
    helpers: Mapping[str, str] = field(default_factory=dict)
    exchanges: Mapping[str, Tuple[Exchange, ...]] = field(default_factory=dict)
    unique: FrozenSet[str] = frozenset()
    largest: float = 0.0
    extents: Mapping[str, float] = field(default_factory=dict)
    released: bool = False
    again: FrozenSet[str] = frozenset()
    functions: Optional[Functions] = None

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
    """Of symmetries those that exchange sets of slots: the sets that are exchanged among each other together, as long as others share no slot with them."""
    out: List[Exchange] = []
    for p, sign in generators:
        moved = [x for x in range(len(p)) if p[x] != x]
        if not moved or any(p[p[x]] != x for x in moved):
            continue
        one = tuple(x for x in moved if x < p[x])
        other = tuple(p[x] for x in one)
        for n, known in enumerate(out):
            grown = known.sets + tuple(s for s in (one, other) if s not in known.sets)
            if known.sign == sign and len(grown) == len(known.sets) + 1 <= MOST_EXCHANGED and not _overlap(grown[-1], (*known.sets, *(s for e in out if e is not known for s in e.sets))):
                out[n] = Exchange(tuple(sorted(grown)), sign)
                break
        else:
            if not _overlap(one, (other, *(s for e in out for s in e.sets))) and not _overlap(other, tuple(s for e in out for s in e.sets)):
                out.append(Exchange((one, other), sign))
    return tuple(out)


def _overlap(slots: Tuple[int, ...], sets: Sequence[Tuple[int, ...]]) -> bool:
    return any(x in other for other in sets for x in slots)


def share_of(exchanges: Sequence[Exchange]) -> float:
    """Of the blocks of a tensor with these exchanges that are computed."""
    return math.prod(e.share for e in exchanges)


def multiplications_of(statement: Statement, known: Mapping[str, Sequence[Exchange]], orbitals: Mapping[str, float]) -> float:
    """Of its product, with the blocks that follow from others left out, of the target and of what is summed. orbitals: of each space."""
    share = share_of(known.get(statement.target.tensor.name, ())) * 0.5 ** len(summed_pairs(statement, known))
    return math.prod(orbitals[i.space] for i in {i for f in statement.factors for i in f.indices}) * share


def summed_pairs(statement: Statement, known: Mapping[str, Sequence[Exchange]]) -> Tuple[Tuple[Index, Index], ...]:
    """Summed indices of a product of two factors that may be exchanged without a change, as c and d in u[a,b,c,d] t2[c,d,i,j] of antisymmetric tensors: of
    their segments the sum takes those with c <= d, and the ones with c < d twice. known: exchanges of computed tensors, as in Plan."""
    factors = [f for f in statement.factors if f.indices]
    if len(factors) != 2 or statement.permutations:
        return ()
    out: List[Tuple[Index, Index]] = []
    for x, y in itertools.combinations(statement.summed, 2):
        if x.space != y.space or any(i in pair for pair in out for i in (x, y)):
            continue
        signs = [sign_of_exchanges(f, ((x, y),), known.get(f.tensor.name, ())) for f in factors]
        if signs[0] * signs[1] > 0:
            out.append((x, y))
    return tuple(out)


def sign_of_exchanges(factor: Factor, pairs: Sequence[Tuple[Index, Index]], known: Sequence[Exchange]) -> int:
    """What exchanging the indices of each pair multiplies a factor by; 0 where it makes another one, or where an index is not there once."""
    if any(factor.indices.count(i) != 1 for pair in pairs for i in pair):
        return 0
    rank = factor.tensor.rank
    p = list(range(rank))
    for x, y in pairs:
        one, other = factor.indices.index(x), factor.indices.index(y)
        p[one], p[other] = other, one
    generators = factor.tensor.symmetries + tuple(g for e in known for g in e.generators(rank))
    return dict(group_of(generators, rank)).get(tuple(p), 0)
