"""From equations to statements of one or two factors: plan_products(). The cheapest order of products for a term, intermediates that several terms share,
and sums of tensors that meet the same amplitude taken together.

Statements of one phase are independent of each other: what they read was finished in earlier phases. A barrier between phases is all that runs need."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from .canonical import Canonicaliser, Key, merged
from .forms import has_symmetry, signs_of
from .functions import Functions, NotOverFunctions, over_functions
from .model import INPUT, INTERMEDIATE, Equation, Equations, Factor, Generator, Index, Permutation, Place, Source, Space, Tensor, Term
from .parts import Parts
from .preparation import Prepared, prepare
from .statements import Exchange, Plan, Statement, exchanges_of, multiplications_of

UNIT, ONES = "unit", "ones"
USUAL_EXTENTS = {"o": 10.0, "v": 50.0}
_MOST_IMAGES = 48  # of a factor by its symmetries, of which each may be what another product has
MOST_RANK, _MOST_FACTORS = 8, 10  # of an array; of a term
_MOST_EXCHANGES = 12  # of one or two pairs of indices, that a sum is tried for
_MOST_ORDERS = 150  # of external indices, of which an intermediate takes the least

_Image = Tuple[Dict[Index, Index], int]  # what each index is replaced by, and the sign


def plan_products(equations: Equations, extents: Optional[Mapping[str, float]] = None, most_elements: float = math.inf, over_functions: Optional[str] = None) -> Plan:
    """Statements for one evaluation of all equations.

    extents: orbitals of each basic space, by its name; where they are not given 10 of `o` and 50 of all others, which is what decides between
    orders of products. most_elements: an intermediate that has more is not made, where another way of computing its terms has smaller ones. over_functions:
    the name of integrals over all orbitals, of which those over four virtual ones are contracted over basis functions (see functions.py); NotOverFunctions
    where that cannot be."""
    places = tuple(t.place for e in equations.equations for t in e.terms)
    return _plan(equations, places, equations.source, tuple(sorted((extents or {}).items())), most_elements, over_functions)


@lru_cache(maxsize=16)
def _plan(equations: Equations, _places: Tuple[Optional[Place], ...], _source: Optional[Source], stated: Tuple[Tuple[str, float], ...], most_elements: float,
          over_functions: Optional[str]) -> Plan:
    """plan_products(), which several methods and bounds of memory may ask for. Places do not count where equations are compared, and are part of a plan."""
    extents = dict(stated)
    if not most_elements >= 1:
        raise ValueError(f"an intermediate has at least one element, not {most_elements}")
    wrong = [f"{name}={n}" for name, n in extents.items() if not 0 < n < math.inf]
    if wrong:
        raise ValueError(f"{wrong[0]}: a space has a number of orbitals above 0")
    basic = {b for space in equations.spaces for b in equations.basic(space.name)}
    for name in extents:
        if name not in basic:
            raise ValueError(f"`{name}` is no basic space; there are: {', '.join(sorted(basic))}")
    prepared = prepare(equations, _places, _source, over_functions)
    equations, functions = prepared.equations, prepared.functions
    if functions is not None:
        extents.setdefault(functions.space, spaces_of(equations, extents)[functions.source.spaces[0]])
    cheapest = lambda bound: _cheapest(prepared, tuple(sorted(extents.items())), bound)
    best = cheapest(most_elements)
    if best.largest > most_elements:  # out of reach: the least bound that is not
        extent = spaces_of(equations, extents)
        sizes = {math.prod(extent[s] for s in t.spaces) for t in (*best.tensors, *cheapest(math.inf).tensors)}
        for bound in [*sorted(x for x in sizes if x > most_elements), math.inf]:
            best = cheapest(bound)
            if best.largest <= bound:
                break
    best = replace(best, equations=equations, extents={b: spaces_of(equations, extents)[b] for b in (s.name for s in equations.spaces if not s.parts)}, functions=functions)
    for tensor in best.tensors:
        if tensor.rank > MOST_RANK:
            raise ValueError(f"`{tensor.name}` has {tensor.rank} indices, and arrays have {MOST_RANK} at most: {_maker(best, tensor.name)}")
    return best


@lru_cache(maxsize=64)
def _cheapest(prepared: Prepared, stated: Tuple[Tuple[str, float], ...], bound: float) -> Plan:
    """The cheapest plan whose intermediates keep the bound; where there is none, the cheapest. Plans with other bounds ask for the same."""
    trees: _Trees = {}
    plans, refused = [], ""
    for e, nested in itertools.product(prepared.forms, (False, True)):
        try:
            plans.append(_Planner(e, dict(stated), bound, nested, prepared.declared, trees, prepared.functions).plan())
        except NotOverFunctions as error:
            refused = str(error)
    if not plans:
        raise NotOverFunctions(refused)
    return min(plans, key=lambda p: (p.largest > bound, p.multiplications))


def spaces_of(equations: Equations, extents: Mapping[str, float]) -> Dict[str, float]:
    """Orbitals of every space, the usual ones where `extents` has none."""
    basic = {b for space in equations.spaces for b in equations.basic(space.name)}
    given = {b: float(extents.get(b, USUAL_EXTENTS.get(b, 50.0))) for b in basic}
    return {s.name: sum(given[b] for b in equations.basic(s.name)) for s in equations.spaces}


@dataclass
class _Tree:
    cost: float
    parts: Optional[Tuple[FrozenSet[int], FrozenSet[int]]] = None


_Trees = Dict[Tuple[Tuple[Factor, ...], FrozenSet[Index]], Dict[FrozenSet[int], _Tree]]  # what plans of the same term share


@dataclass
class _Product:
    """A term without permutations: its factors that are no scalars, and the cheapest products of every subset of them."""

    coefficient: Fraction
    factors: List[Factor]
    scalars: Tuple[Factor, ...]
    places: Tuple[Place, ...]
    trees: Dict[FrozenSet[int], _Tree]

    @property
    def all(self) -> FrozenSet[int]:
        return frozenset(range(len(self.factors)))


@dataclass
class _Division:
    """A product as `common` times the product of `rest`, which has the indices `others`; cost: of that product."""

    common: Factor
    others: FrozenSet[Index]
    rest: FrozenSet[int]
    factors: List[Factor]
    sign: int
    cost: float


@dataclass
class _Intermediate:
    tensor: Tensor
    order: Tuple[Index, ...]
    uses: int = 0
    statements: List[Statement] = field(default_factory=list)


@dataclass
class _Sum:
    """A sum of terms with what they have in common taken out. statement: the product that computes it. made: the intermediate that holds it, if any."""

    statement: Statement
    made: Optional[Factor] = None


class _Shared:
    """Sums of terms of one target, of which one may be another under other external indices."""

    def __init__(self, target: Factor, spaces: Sequence[Space]) -> None:
        self.target, self.spaces = target, spaces
        self.known: Dict[FrozenSet[Tuple[Key, Fraction]], Tuple[_Sum, Fraction]] = {}
        self.kinds: Set[Tuple[Tuple[str, ...], ...]] = set()

    def add(self, terms: Sequence[Term], statement: Statement) -> None:
        form, scale = self.form(terms, {})
        if form:
            self.kinds.add(_kinds(terms))
            self.known.setdefault(form, (_Sum(statement), scale))

    def find(self, terms: Sequence[Term]) -> Optional[Tuple[_Sum, Tuple[Index, ...], Fraction]]:
        """A sum whose value under these indices, times the number, is that of the terms."""
        if _kinds(terms) not in self.kinds:
            return None
        indices = self.target.indices
        groups = [[i for i in indices if i.space == s] for s in dict.fromkeys(i.space for i in indices)]
        for images in itertools.islice(itertools.product(*(itertools.permutations(g) for g in groups)), _MOST_IMAGES):
            names = {old: new for group, image in zip(groups, images) for old, new in zip(group, image)}
            form, scale = self.form(terms, {new: old for old, new in names.items()})
            if form in self.known:
                found, other = self.known[form]
                return found, tuple(names[i] for i in indices), scale / other
        return None

    def form(self, terms: Sequence[Term], names: Mapping[Index, Index]) -> Tuple[FrozenSet[Tuple[Key, Fraction]], Fraction]:
        """The terms under other indices, the least with coefficient 1, and what it was before."""
        whole = merged([replace(t, factors=tuple(f.renamed(names) for f in t.factors)) for t in terms], self.target, self.spaces)
        if not whole:
            return frozenset(), Fraction(1)
        scale = whole[min(whole)].coefficient
        return frozenset((k, t.coefficient / scale) for k, t in whole.items()), scale


def _kinds(terms: Sequence[Term]) -> Tuple[Tuple[str, ...], ...]:
    return tuple(sorted(tuple(sorted(f.tensor.name for f in t.factors)) for t in terms))


class _Planner:
    def __init__(self, equations: Equations, extents: Mapping[str, float], most_elements: float, nested: bool, declared: Mapping[str, Tuple[Generator, ...]], trees: _Trees,
                 functions: Optional[Functions] = None) -> None:
        """declared: symmetries of targets, whether their equations have them or not. nested: sums of products that a product meets are factorised, too, instead
        of being made of intermediates that several terms share. functions: where integrals over four virtual orbitals are not stored."""
        self.equations = equations
        self.functions = functions
        self.nested = nested
        self.exchanges = {e.target.tensor.name: exchanges_of(e.target.tensor.symmetries) for e in equations.equations}
        self.known_trees, self.declared = trees, declared
        self.most_elements = most_elements
        self.extent = spaces_of(equations, extents)
        self.order = {s.name: n for n, s in enumerate(equations.spaces)}
        self.taken = {t.name.lower() for t in equations.tensors}
        self.known: Dict[Tuple[str, ...], Dict[Key, _Intermediate]] = defaultdict(dict)
        self.made: Dict[str, _Intermediate] = {}
        self.statements: List[Statement] = []
        self.number = 0
        self.added: List[Tensor] = []
        self.helpers: Dict[Tuple[str, str], Tensor] = {}

    def plan(self) -> Plan:
        for equation in self.equations.equations:
            self.equation(equation)
        self.inline()
        if self.functions is not None:
            self.through_functions(self.functions)
        unique = self.in_parts()
        phases = self.phases()
        targets = {s.target.tensor.name for phase in phases for s in phase}
        tensors = self.equations.tensors + tuple(t for t in self.added if t.name in targets)
        cost = sum(multiplications_of(s, self.exchanges, self.extent) for phase in phases for s in phase if len(s.factors) > 1)
        helpers = {t.name: kind for (kind, _), t in self.helpers.items()}
        given = {t.name for t in self.equations.tensors if t.role != INTERMEDIATE}
        largest = max((self.cost(set(s.target.indices)) for phase in phases for s in phase if s.target.tensor.name not in given), default=0.0)
        return Plan(self.equations, tensors + tuple(self.helpers.values()), phases, cost, helpers, self.exchanges, unique, largest)

    # One equation

    def equation(self, equation: Equation) -> None:
        groups: Dict[Tuple[Permutation, ...], List[Term]] = defaultdict(list)
        for term in equation.terms:
            groups[term.permutations].append(term)
        for permutations, terms in groups.items():
            target = equation.target
            if permutations:  # what all of them permute is summed up first
                target = Factor(self.tensor(tuple(i.space for i in target.indices)), target.indices)
                self.exchanges[target.tensor.name] = self.exchanges_of_sum(terms, permutations, target, self.declared.get(equation.target.tensor.name, ()))
                places = tuple(t.place for t in terms if t.place)
                self.statements.append(Statement(equation.target, Fraction(1), (target,), permutations, places))
            self.factorised([self.product(term, target) for term in terms], target, 0, _images(permutations))

    def exchanges_of_sum(self, terms: Sequence[Term], permutations: Sequence[Permutation], target: Factor, generators: Sequence[Generator]) -> Tuple[Exchange, ...]:
        """Of what operators act on. Where factorised() may replace a product by its image, only those of indices that no operator touches: operators of other
        indices give the same for a product and its image, block by block."""
        touched = {target.indices.index(i) for p in permutations for i in p.indices} if _images(permutations) else set()
        free = [(p, sign) for p, sign in generators if not any(p[x] != x for x in touched)]
        whole = merged([replace(t, permutations=()) for t in terms], target, self.equations.spaces) if free else {}
        return exchanges_of([g for g in free if has_symmetry(whole, g, target, self.equations.spaces)])

    def found_exchanges(self, terms: Sequence[Term], target: Factor) -> Tuple[Exchange, ...]:
        """The exchanges of one or two pairs of indices under which a sum stays as it is, or changes its sign."""
        slots = range(target.tensor.rank)
        pairs = [(x, y) for x, y in itertools.combinations(slots, 2) if target.indices[x].space == target.indices[y].space]
        candidates = [(pair,) for pair in pairs] + [both for both in itertools.combinations(pairs, 2) if not set(both[0]) & set(both[1])]
        if not candidates or len(candidates) > _MOST_EXCHANGES:
            return ()
        whole = merged(terms, target, self.equations.spaces)
        found: List[Generator] = []
        for chosen in candidates:
            p = list(slots)
            for x, y in chosen:
                p[x], p[y] = y, x
            found += [(tuple(p), sign) for sign in signs_of(whole, p, target, self.equations.spaces)]
        return exchanges_of(found)

    def product(self, term: Term, target: Factor) -> _Product:
        factors = self.without_traces([f for f in term.factors if f.indices], target)
        scalars = tuple(f for f in term.factors if not f.indices)
        return _Product(term.coefficient, factors, scalars, (term.place,) if term.place else (), self.trees(factors, set(target.indices)))

    def alone(self, product: _Product, target: Factor) -> Statement:
        """The last product of a term in its cheapest order; what it multiplies is made before."""
        factors, coefficient, operands = product.factors, product.coefficient, list(product.factors)
        if len(factors) > 2:
            parts = product.trees[product.all].parts
            assert parts is not None
            operands = []
            for part in parts:
                sign, operand = self.node(part, factors, product.trees, set(target.indices), product.places)
                coefficient *= sign
                operands.append(operand)
        return Statement(target, coefficient, tuple(operands) + product.scalars, (), product.places)

    def without_traces(self, factors: List[Factor], target: Factor) -> List[Factor]:
        """The same product in which no factor has an index twice, and no index is summed over that one factor has alone: with unit matrices, and ones."""
        out, used = [], {i.name for f in factors for i in f.indices} | {i.name for i in target.indices}
        for f in factors:
            indices: List[Index] = []
            for i in f.indices:
                if i in indices:
                    new = _unused(i.space, used, self.equations)
                    out.append(Factor(self.helper(UNIT, i.space), (i, new)))
                    i = new
                indices.append(i)
            out.append(replace(f, indices=tuple(indices)))
        counts = Counter(i for f in out for i in f.indices)
        alone = [i for i, n in counts.items() if n == 1 and i not in target.indices]
        return out + [Factor(self.helper(ONES, i.space), (i,)) for i in alone]

    def helper(self, kind: str, space: str) -> Tensor:
        known = self.helpers.get((kind, space))
        if known is None:
            name = f"{kind}_{space}".lower()
            while name in self.taken:
                name += "_"
            self.taken.add(name)
            known = self.helpers[(kind, space)] = Tensor(name, (space, space) if kind == UNIT else (space,), (), INPUT)
        return known

    def trees(self, factors: Sequence[Factor], external: Set[Index]) -> Dict[FrozenSet[int], _Tree]:
        """The cheapest product of every subset of the factors."""
        form = tuple(factors), frozenset(external)
        if form in self.known_trees:
            return self.known_trees[form]
        if len(factors) > _MOST_FACTORS:
            raise ValueError(f"a term of {len(factors)} factors has too many orders of products, {_MOST_FACTORS} factors are the most: {Term(Fraction(1), tuple(factors))}")
        trees = {frozenset((n,)): _Tree(0.0) for n in range(len(factors))}
        trees[frozenset()] = _Tree(0.0)
        everything = frozenset(range(len(factors)))
        for size in range(2, len(factors) + 1):
            for members in itertools.combinations(range(len(factors)), size):
                whole = frozenset(members)
                best = _Tree(math.inf)
                for parts in _splits(members):
                    kept = [self.external(part, factors, external) for part in parts]
                    cost = self.cost(kept[0] | kept[1]) + sum(trees[part].cost for part in parts)
                    made = self.external(whole, factors, external)
                    if whole != everything and (self.cost(made) > self.most_elements or len(made) > MOST_RANK):
                        cost *= 1e30
                    if cost < best.cost:
                        best = _Tree(cost, parts)
                trees[whole] = best
        self.known_trees[form] = trees
        return trees

    @staticmethod
    def external(part: FrozenSet[int], factors: Sequence[Factor], external: Set[Index]) -> Set[Index]:
        inside = {i for n in part for i in factors[n].indices}
        outside = {i for n, f in enumerate(factors) if n not in part for i in f.indices}
        return inside & (outside | external)

    def cost(self, indices: Set[Index]) -> float:
        return math.prod(self.extent[i.space] for i in indices)

    # Intermediates

    def node(self, part: FrozenSet[int], factors: Sequence[Factor], trees: Dict[FrozenSet[int], _Tree], external: Set[Index], places: Tuple[Place, ...]) -> Tuple[int, Factor]:
        """The product of a part of a term as one factor, and its sign; made where it is not known yet."""
        if len(part) == 1:
            return 1, factors[next(iter(part))]
        key, order, sign = self.least([factors[n] for n in sorted(part)], self.external(part, factors, external))
        spaces = tuple(i.space for i in order)
        found = self.known[spaces].get(key)
        if found is None:
            found = _Intermediate(self.tensor(spaces), order)
            self.made[found.tensor.name] = found
            parts = trees[part].parts
            assert parts is not None
            coefficient, operands = Fraction(sign), []
            for child in parts:
                other, operand = self.node(child, factors, trees, external, places)
                coefficient *= other
                operands.append(operand)
            self.known[spaces][key] = found
            found.statements.append(Statement(Factor(found.tensor, order), coefficient, tuple(operands), (), places))
        found.uses += 1
        return sign, Factor(found.tensor, order)

    def least(self, factors: Sequence[Factor], external: Set[Index]) -> Tuple[Key, Tuple[Index, ...], int]:
        """Of all orders of the external indices the one with the least canonical form."""
        groups = [sorted((i for i in external if i.space == s), key=str) for s in sorted({i.space for i in external}, key=self.order.__getitem__)]
        best: Optional[Tuple[Key, Tuple[Index, ...], int]] = None
        orders = itertools.product(*(itertools.permutations(group) for group in groups))
        for chosen in itertools.islice(orders, _MOST_ORDERS):
            order = tuple(itertools.chain(*chosen))
            target = Factor(Tensor("", tuple(i.space for i in order)), order)
            form = Canonicaliser(target, self.equations.spaces).form(Term(Fraction(1), tuple(factors)))
            if form is not None and (best is None or form.key < best[0]):
                best = form.key, order, 1 if form.term.coefficient > 0 else -1
        if best is None:  # zero by symmetry: made all the same, where simplification has not been
            order = tuple(itertools.chain(*groups))
            return ((0, 0, str(self.number), ()),), order, 1
        return best

    def tensor(self, spaces: Tuple[str, ...]) -> Tensor:
        while True:
            self.number += 1
            name = f"x{self.number}"
            if name not in self.taken:
                self.added.append(Tensor(name, spaces, (), INTERMEDIATE))
                return self.added[-1]

    # Sums of products that meet the same tensor

    def factorised(self, products: List[_Product], target: Factor, depth: int, images: Sequence[_Image] = ()) -> None:
        """Adds the statements of one target; products that have a factor in common become one product with the sum of the others where that is cheaper.

        Greedy: the sum that saves most comes first. images: any of which a product may take the place of."""
        groups: Dict[Factor, Dict[FrozenSet[Index], Dict[int, _Division]]] = {}
        for n, product in enumerate(products):
            for division in self.divisions(product, target, depth, images):
                by_indices = groups.setdefault(division.common, {})
                by_indices.setdefault(division.others, {}).setdefault(n, division)
        shared = _Shared(target, self.equations.spaces)
        candidates = [(common, others, members) for common, by in groups.items() for others, members in by.items() if len(members) > 1 and self.cost(set(others)) <= self.most_elements]
        rest = set(range(len(products)))
        while True:
            best, saved = None, 0.0
            for common, others, members in candidates:
                chosen = {n: d for n, d in members.items() if n in rest}
                if len(chosen) < 2:
                    continue
                together = self.cost(set(common.indices) | others) + sum(d.cost + self.cost(set(others)) for d in chosen.values())
                saving = sum(products[n].trees[products[n].all].cost for n in chosen) - together
                if saving > saved:
                    best, saved = (common, others, chosen), saving
            if best is None:
                break
            rest -= set(best[2])
            summands = [Term(products[n].coefficient * d.sign, (*(d.factors[m] for m in sorted(d.rest)), *products[n].scalars)) for n, d in best[2].items()]
            terms = [replace(t, factors=(best[0], *t.factors)) for t in summands]
            places = tuple(p for n in best[2] for p in products[n].places)
            known = shared.find(terms)
            if known is not None:
                self.again(*known, target, places)
                continue
            self.sum_of(*best, summands, products, target, depth, places)
            shared.add(terms, self.statements[-1])
        self.statements += [self.alone(products[n], target) for n in sorted(rest)]

    def sum_of(self, common: Factor, others: FrozenSet[Index], members: Dict[int, _Division], summands: Sequence[Term], products: List[_Product], target: Factor, depth: int,
               places: Tuple[Place, ...]) -> None:
        """target += common * (the sum of what it meets in the members, which are the summands)"""
        order = tuple(sorted(others, key=lambda i: (self.order[i.space], i.name)))
        total = _Intermediate(self.tensor(tuple(i.space for i in order)), order, 1)
        self.made[total.tensor.name] = total
        whole = Factor(total.tensor, order)
        self.exchanges[total.tensor.name] = self.found_exchanges(summands, whole)
        if not self.nested:
            for n, d in members.items():
                product = products[n]
                sign, operand = self.node(d.rest, d.factors, product.trees, set(target.indices), product.places)
                coefficient = product.coefficient * d.sign * sign
                total.statements.append(Statement(whole, coefficient, (operand, *product.scalars), (), product.places))
        inner = []
        for n, d in members.items() if self.nested else ():
            product = products[n]
            factors = [d.factors[m] for m in sorted(d.rest)]
            inner.append(_Product(product.coefficient * d.sign, factors, product.scalars, product.places, self.trees(factors, set(order))))
        before = len(self.statements)
        self.factorised(inner, whole, depth + 1)
        total.statements += self.statements[before:]
        del self.statements[before:]
        self.statements.append(Statement(target, Fraction(1), (Factor(total.tensor, order), common), (), places))

    def again(self, sum_: _Sum, indices: Tuple[Index, ...], coefficient: Fraction, target: Factor, places: Tuple[Place, ...]) -> None:
        """target += coefficient * a product that the target has already, under other indices: it is computed once, as an intermediate."""
        if sum_.made is None:
            made = _Intermediate(self.tensor(tuple(i.space for i in target.indices)), target.indices, 2)
            self.made[made.tensor.name] = made
            whole = sum_.made = Factor(made.tensor, made.order)
            made.statements.append(replace(sum_.statement, target=whole))
            at = next(n for n, s in enumerate(self.statements) if s is sum_.statement)
            self.statements[at] = Statement(target, Fraction(1), (whole,), (), sum_.statement.places)
        self.statements.append(Statement(target, coefficient, (replace(sum_.made, indices=indices),), (), places))

    def divisions(self, product: _Product, target: Factor, depth: int, images: Sequence[_Image]) -> Iterator[_Division]:
        """The ways of writing a product as a factor times the rest, with summed indices named by their places in that factor, and the depth of the sum
        within sums."""
        if len(product.factors) < 2:
            return
        for (exchange, parity), n in itertools.product([({}, 1), *images], range(len(product.factors))):
            leaf, rest = product.factors[n].renamed(exchange), product.all - {n}
            if self.functions is not None and len(rest) == 1 and self.functions.needed_by(product.factors[next(iter(rest))]):
                continue  # a sum of integrals that are not there
            group = leaf.tensor.group() if len(leaf.tensor.symmetries) <= 3 else ((tuple(range(leaf.tensor.rank)), 1),)
            for p, sign in group if len(group) <= _MOST_IMAGES else group[:1]:
                image = tuple(leaf.indices[x] for x in p)
                names = {i: Index(f"{self.letter(i.space)}~{10 * depth + slot}", i.space) for slot, i in enumerate(image) if i not in target.indices}
                factors = [f.renamed(exchange).renamed(names) for f in product.factors]
                others = frozenset(self.external(rest, factors, set(target.indices)))
                yield _Division(Factor(leaf.tensor, tuple(names.get(i, i) for i in image)), others, rest, factors, sign * parity, product.trees[rest].cost)

    def letter(self, space: str) -> str:
        return self.equations.space(space).indices[0]

    # The end

    def inline(self) -> None:
        """A product that only one sum takes is added to it where it is made."""
        for made in list(self.made.values()):
            statements = []
            for s in made.statements:
                source = self.made.get(s.factors[0].tensor.name) if len(s.factors) == 1 else None
                if source is not None and source.uses == 1 and not s.permutations:
                    for inner in source.statements:
                        statements.append(_moved(inner, s, self.equations))
                    source.statements = []
                else:
                    statements.append(s)
            made.statements = statements

    def through_functions(self, functions: Functions) -> None:
        for made in list(self.made.values()):
            made.statements = over_functions(made.statements, functions, self.exchanges, self.tensor)
        self.statements = over_functions(self.statements, functions, self.exchanges, self.tensor)

    def in_parts(self) -> FrozenSet[str]:
        """Products in symmetric and antisymmetric parts, where that is cheaper. The names of tensors of which not all blocks are there."""
        given = [t.name for t in self.equations.tensors if t.role == INPUT]
        parts = Parts(self.exchanges, given, self.cost, self.tensor, self.most_elements)
        for made in self.made.values():
            made.statements = [t for s in made.statements for t in parts.of(s)]
        self.statements = [t for s in self.statements for t in parts.of(s)]
        self.statements = parts.made + self.statements
        return frozenset(parts.unique)

    def phases(self) -> Tuple[Tuple[Statement, ...], ...]:
        everything = [s for m in self.made.values() for s in m.statements] + self.statements
        by_target: Dict[str, List[Statement]] = defaultdict(list)
        for s in everything:
            by_target[s.target.tensor.name].append(s)
        level: Dict[str, int] = {}

        def level_of(name: str) -> int:
            if name not in level:
                level[name] = max((1 + max((level_of(f.tensor.name) for f in s.factors), default=0) for s in by_target.get(name, [])), default=0)
            return level[name]

        phases: Dict[int, List[Statement]] = defaultdict(list)
        for s in everything:
            phases[1 + max((level_of(f.tensor.name) for f in s.factors), default=0)].append(s)
        return tuple(tuple(phases[n]) for n in sorted(phases))


def _images(permutations: Sequence[Permutation]) -> List[_Image]:
    """The permutations of indices that take an operator to itself with a sign: those of operators that are sums over a whole group, as P(i j) and S(ai/bj).
    A term and its image give the same, then."""
    if any(len(group) > 1 for p in permutations for group in p.groups):
        return []
    if len({i for p in permutations for i in p.indices}) < sum(len(p.indices) for p in permutations):
        return []  # they share indices: not each is a factor of the whole
    out: List[_Image] = [({}, 1)]
    for p in permutations:
        out = [({**names, **more}, sign * other) for names, sign in out for more, other in p.images()]
    return out[1:]


def _maker(made: Plan, name: str) -> str:
    return next((f"`{s}`" for phase in made.phases for s in phase if s.target.tensor.name == name), "no statement makes it")


def _splits(members: Tuple[int, ...]) -> List[Tuple[FrozenSet[int], FrozenSet[int]]]:
    """The ways of dividing members into two parts."""
    first, others = members[0], members[1:]
    out = []
    for size in range(len(others)):
        for chosen in itertools.combinations(others, size):
            one = frozenset((first, *chosen))
            out.append((one, frozenset(members) - one))
    return out


def _moved(inner: Statement, outer: Statement, equations: Equations) -> Statement:
    """`inner`, which makes the only factor of `outer`, adding to the target of `outer` instead."""
    names = dict(zip(inner.target.indices, outer.factors[0].indices))
    used = {i.name for i in outer.target.indices} | {i.name for f in outer.factors for i in f.indices}
    for i in inner.summed:
        names[i] = _unused(i.space, used, equations) if i.name in used else i
        used.add(i.name)
    factors = tuple(f.renamed(names) for f in inner.factors)
    return replace(inner, target=outer.target, coefficient=inner.coefficient * outer.coefficient, factors=factors)


def _unused(space: str, used: Set[str], equations: Equations) -> Index:
    """An index of a space that has a name of its own from now on."""
    letters = equations.space(space).indices
    index = next(Index(f"{x}{n}", space) for n in itertools.count(1) for x in letters if f"{x}{n}" not in used)
    used.add(index.name)
    return index


