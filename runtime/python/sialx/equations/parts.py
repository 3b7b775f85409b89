"""Products over two indices that are exchanged together with others, in symmetric and antisymmetric parts: Parts.

The ladder of closed-shell theory, r[a,b,i,j] = sum over c, d of u[a,b,c,d] t[c,d,i,j], stays as it is where (a, c) and (b, d), or (c, i) and (d, j), are
exchanged. With u+ and u- = u[a,b,c,d] +- u[a,b,d,c], and t+ and t- likewise, it is a quarter of the sum of both u+ t+ and u- t-. Each of these has the parts with
a <= b, i <= j, and c <= d only: together a quarter of the multiplications (S. Saebo, P. Pulay, J. Chem. Phys. 86, 914 (1987), and others before).

Where one factor is antisymmetric in c and d as it is, only the antisymmetric part of the other counts, and half of the sum is left out."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from .model import Factor, Index, Tensor
from .statements import Exchange, Statement, share_of, sign_of_exchanges, summed_pairs

_ELEMENT = 64  # multiplications that take as long as bringing an element here, adding it and putting it away


@dataclass(frozen=True)
class _Pairs:
    """Two summed indices, and the external ones of either factor that are exchanged with them; the signs of the factors then."""

    summed: Tuple[Index, Index]
    external: Tuple[Tuple[Index, Index], Tuple[Index, Index]]
    signs: Tuple[int, int]


class Parts:
    """Replaces such products. exchanges: of computed tensors, to which those of the parts are added. unique: names of tensors of which only blocks are read
    that are not those of others exchanged. given: names of tensors that do not change from one evaluation to the next. most_elements: of a part."""

    def __init__(self, exchanges: Dict[str, Tuple[Exchange, ...]], given: Sequence[str], cost: Callable[[set[Index]], float], tensor: Callable[[Tuple[str, ...]], Tensor],
                 most_elements: float) -> None:
        self.exchanges, self.given, self.cost, self.tensor, self.most_elements = exchanges, set(given), cost, tensor, most_elements
        self.unique: List[str] = []
        self.made: List[Statement] = []
        self.known: Dict[Tuple[object, ...], Factor] = {}  # by all that a part is made of

    def of(self, s: Statement) -> List[Statement]:
        """The statements that take the place of one; those that make the parts are in `made`."""
        factors = [f for f in s.factors if f.indices]
        if len(factors) != 2 or not s.target.indices or s.permutations or summed_pairs(s, self.exchanges):
            return [s]
        one = self.one_part(s, factors)
        if one is not None:
            return [one]
        pairs = self.pairs(s, factors)
        if pairs is None:
            return [s]
        scalars = tuple(f for f in s.factors if not f.indices)
        out = []
        for sign in (1, -1):
            whole = Factor(self.tensor(s.target.tensor.spaces), s.target.indices)
            self.exchanges[whole.tensor.name] = tuple(_exchange(whole, *pair, sign * parity) for pair, parity in zip(pairs.external, pairs.signs))
            both = tuple(self.part(f, s, pairs.summed, sign, n, (pairs.external[n], pairs.signs[n])) for n, f in enumerate(factors))
            self.made.append(Statement(whole, Fraction(1), both, (), s.places))
            out.append(Statement(s.target, s.coefficient / 4, (whole, *scalars), (), s.places))
        return out

    def one_part(self, s: Statement, factors: Sequence[Factor]) -> Optional[Statement]:
        """The statement with the part of one factor that the other, symmetric or antisymmetric in two summed indices, leaves."""
        for x, y in itertools.combinations(s.summed, 2):
            signs = [sign_of_exchanges(f, ((x, y),), self.exchanges.get(f.tensor.name, ())) for f in factors]
            both = x.space == y.space and all(f.indices.count(i) == 1 for f in factors for i in (x, y))
            if both and signs.count(0) == 1 and self.pays(s, 0.5, [factors[signs.index(0)]]):
                number = signs.index(0)
                part = self.part(factors[number], s, (x, y), signs[1 - number], number)
                return replace(s, coefficient=s.coefficient / 2, factors=tuple(part if f is factors[number] else f for f in s.factors))
        return None

    def pairs(self, s: Statement, factors: Sequence[Factor]) -> Optional[_Pairs]:
        left = 0.25 / share_of(self.exchanges.get(s.target.tensor.name, ()))
        if not self.pays(s, left, [*factors, s.target]):
            return None
        order = s.target.indices
        for x, y in itertools.combinations(s.summed, 2):
            if x.space != y.space or not all(f.indices.count(x) == f.indices.count(y) == 1 for f in factors):
                continue
            found: List[Tuple[Tuple[Index, Index], int]] = []
            for f in factors:
                alone = [i for i in order if f.indices.count(i) == 1]
                for a, b in itertools.combinations(alone, 2):
                    sign = sign_of_exchanges(f, ((x, y), (a, b)), self.exchanges.get(f.tensor.name, ()))
                    if a.space == b.space and sign:
                        found.append(((a, b), sign))
                        break
            if len(found) == 2 and not set(found[0][0]) & set(found[1][0]):
                return _Pairs((x, y), (found[0][0], found[1][0]), (found[0][1], found[1][1]))
        return None

    def pays(self, s: Statement, left: float, moved: Sequence[Factor]) -> bool:
        """Whether what is saved, where a share of the multiplications is left, takes longer than making parts of these tensors."""
        if any(self.cost(set(f.indices)) > self.most_elements for f in moved):
            return False
        share = share_of(self.exchanges.get(s.target.tensor.name, ()))
        saved = self.cost({i for f in s.factors for i in f.indices}) * share * (1.0 - left)
        return saved > _ELEMENT * sum(self.cost(set(f.indices)) for f in moved if f.tensor.name not in self.given)

    def part(self, factor: Factor, s: Statement, pair: Tuple[Index, Index], sign: int, number: int, external: Optional[Tuple[Tuple[Index, Index], int]] = None) -> Factor:
        """factor + sign times the factor with the pair exchanged. number: of the factor in the statement. external: two indices that are exchanged together with
        the pair, and the sign of the factor then.

        Indices come as in the target, and as they are summed: so the blocks that are read are those with the first of two exchanged indices not after the second."""
        outer = [i for i in s.target.indices if i in factor.indices]
        summed = [*pair, *(i for i in s.summed if i in factor.indices and i not in pair)]
        order = tuple(outer + summed if number == 0 else summed + outer)
        key = factor, order, sign, pair, external
        if key not in self.known:
            x, y = pair
            part = self.known[key] = Factor(self.tensor(tuple(i.space for i in order)), order)
            also = (_exchange(part, *external[0], sign * external[1]),) if external else ()
            self.exchanges[part.tensor.name] = (_exchange(part, x, y, sign), *also)
            self.unique.append(part.tensor.name)
            self.made += [Statement(part, Fraction(1), (factor,), (), s.places), Statement(part, Fraction(sign), (factor.renamed({x: y, y: x}),), (), s.places)]
        return self.known[key]


def _exchange(factor: Factor, one: Index, other: Index, sign: int) -> Exchange:
    slots = sorted((factor.indices.index(one), factor.indices.index(other)))
    return Exchange(((slots[0],), (slots[1],)), sign)
