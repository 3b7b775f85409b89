"""Terms that differ by the exchange of two indices of a factor, written with fewer terms: with_combinations().

Sums over spin leave such terms behind, as 2 t2[a,c,i,k] - t2[a,c,k,i]. With T[a,c,i,k] = 2 t2[a,c,i,k] - t2[a,c,k,i] and L likewise of the integrals

    2 t2[a,c,i,k] u[k,j,c,b] - t2[a,c,i,k] u[k,j,b,c] - t2[a,c,k,i] u[k,j,c,b] = 1/2 T[a,c,i,k] L[k,j,c,b] - 1/2 t2[a,c,k,i] u[k,j,b,c]

which is the form of H. Koch et al., J. Chem. Phys. 104, 4157 (1996) for the doubles of closed-shell CCSD."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .canonical import Canonicaliser, Key, merged
from .model import AMPLITUDE, INPUT, INTERMEDIATE, Equation, Equations, Factor, Tensor, Term, group_of
from .simplify import simplify

Slots = Tuple[int, ...]
_MOST_VARIANTS = 32  # of a term, by exchanges in its factors
_TWO, _HALF = Fraction(2), Fraction(1, 2)


def with_combinations(equations: Equations) -> Equations:
    """The same equations, in which combinations 2 x - x' of tensors of four indices and their exchanged form take the places of both where that makes terms
    fewer; the combinations are intermediates. Only tensors that are given or solved for are combined."""
    made: Dict[Tuple[str, Tuple[str, ...], Slots], Tensor] = {}
    taken = {t.name.lower() for t in equations.tensors}
    rewritten = [replace(e, terms=tuple(_Rewriting(e, equations, made, taken).terms())) for e in equations.equations]
    if not made:
        return equations
    sums = tuple(_combination(equations, tensor, name, exchange) for (name, _, exchange), tensor in made.items())
    return simplify(replace(equations, tensors=(*equations.tensors, *made.values()), equations=(*sums, *rewritten)))


def _combination(equations: Equations, tensor: Tensor, name: str, exchange: Slots) -> Equation:
    """tensor = 2 x - x with its slots exchanged"""
    indices = equations.first_indices(tensor.spaces)
    source = equations.tensor(name)
    plain, exchanged = Factor(source, indices), Factor(source, tuple(indices[x] for x in exchange))
    return Equation(Factor(tensor, indices), False, (Term(_TWO, (plain,)), Term(Fraction(-1), (exchanged,))))


class _Choice(NamedTuple):
    """What a factor becomes. number: of the factor in its term."""

    number: int
    exchange: Slots


class _Rewriting:
    """Of one equation, term after term."""

    def __init__(self, equation: Equation, equations: Equations, made: Dict[Tuple[str, Tuple[str, ...], Slots], Tensor], taken: set[str]) -> None:
        self.equation, self.equations, self.made, self.taken = equation, equations, made, taken
        self.canonicaliser = Canonicaliser(equation.target, equations.spaces)
        self.left = merged(equation.terms, equation.target, equations.spaces)
        self.keys: Dict[Term, Optional[Tuple[Key, int]]] = {}
        self.exchanges: Dict[Tensor, Tuple[Slots, ...]] = {}

    def terms(self) -> Iterator[Term]:
        for key in sorted(self.left):
            if key not in self.left:
                continue
            best: Optional[Tuple[Tuple[int, int], List[Key], List[Term]]] = None
            for choices in self.choices(self.left[key]):
                consumed, terms = self.rewritten(self.left[key], choices)
                merit = len(consumed) - len(terms), len(choices)  # terms of other forms meet the same combinations where all factors have them
                if best is None or merit > best[0]:
                    best = merit, consumed, terms
            if best is not None and best[0][0] > 0:
                for other in best[1]:
                    del self.left[other]
                yield from (self.named(t) for t in best[2])
        yield from self.left.values()

    def choices(self, term: Term) -> Iterator[List[_Choice]]:
        """Ways of combining its factors: each with one exchange of slots, or not."""
        options: List[List[Optional[Slots]]] = [[None, *self.exchanges_of(f)] for f in term.factors]
        for chosen in itertools.product(*options):
            found = [_Choice(n, x) for n, x in enumerate(chosen) if x is not None]
            if found and 2 ** len(found) <= _MOST_VARIANTS:
                yield found

    def exchanges_of(self, factor: Factor) -> List[Slots]:
        """Exchanges of two slots that make another tensor of it, one of each kind, which the spaces allow."""
        tensor = factor.tensor
        if tensor.rank != 4 or tensor.role not in (INPUT, AMPLITUDE):
            return []
        if tensor not in self.exchanges:
            group = {p for p, _ in group_of(tensor.symmetries, 4)}
            out: List[Slots] = []
            for x, y in ((2, 3), (1, 2), (1, 3), (0, 1), (0, 2), (0, 3)):
                p = list(range(4))
                p[x], p[y] = y, x
                if tensor.spaces[x] == tensor.spaces[y] and not any(tuple(p[q] for q in g) in out for g in group) and tuple(p) not in group:
                    out.append(tuple(p))
            self.exchanges[tensor] = tuple(out)
        return list(self.exchanges[tensor])

    def key_of(self, term: Term) -> Optional[Tuple[Key, int]]:
        if term not in self.keys:
            form = self.canonicaliser.form(replace(term, coefficient=Fraction(1)))
            self.keys[term] = None if form is None else (form.key, 1 if form.term.coefficient > 0 else -1)
        return self.keys[term]

    def rewritten(self, term: Term, choices: Sequence[_Choice]) -> Tuple[List[Key], List[Term]]:
        """Keys of the terms that differ from this one by exchanges, and what they become together."""
        coefficients: Dict[Tuple[int, ...], Fraction] = {}
        consumed: Dict[Key, int] = {}
        signs: Dict[Tuple[int, ...], Tuple[Key, int]] = {}
        variants = list(itertools.product((0, 1), repeat=len(choices)))
        for variant in variants:
            key = self.key_of(self.variant(term, choices, variant))
            if key is not None and key[0] in self.left:
                signs[variant] = key
                consumed[key[0]] = consumed.get(key[0], 0) + 1
        for variant in variants:
            coefficients[variant] = Fraction(0)
            if variant in signs:
                found, sign = signs[variant]
                coefficients[variant] = self.left[found].coefficient * sign / consumed[found]
        for n in range(len(choices)):  # x = (X + x')/2 with X = 2 x - x'
            for variant in variants:
                if variant[n] == 0:
                    other = (*variant[:n], 1, *variant[n + 1 :])
                    coefficients[variant] *= _HALF
                    coefficients[other] += coefficients[variant]
        terms = merged([self.combined(term, choices, v, c) for v, c in coefficients.items() if c], self.equation.target, self.equations.spaces)
        return list(consumed), list(terms.values())

    @staticmethod
    def variant(term: Term, choices: Sequence[_Choice], variant: Sequence[int]) -> Term:
        factors = list(term.factors)
        for choice, exchanged in zip(choices, variant):
            if exchanged:
                f = factors[choice.number]
                factors[choice.number] = replace(f, indices=tuple(f.indices[x] for x in choice.exchange))
        return replace(term, factors=tuple(factors))

    def combined(self, term: Term, choices: Sequence[_Choice], variant: Sequence[int], coefficient: Fraction) -> Term:
        """The term with combinations where the variant has 0. Their tensors are as named() finds them."""
        factors = list(self.variant(term, choices, variant).factors)
        for choice, exchanged in zip(choices, variant):
            if not exchanged:
                f = factors[choice.number]
                factors[choice.number] = replace(f, tensor=_provisional(f, choice.exchange))
        return replace(term, coefficient=coefficient, factors=tuple(factors))

    def named(self, term: Term) -> Term:
        """The same with tensors of their own for the combinations."""
        factors = []
        for f in term.factors:
            name, *marks = f.tensor.name.split(_MARK)
            if marks:
                key = name, tuple(i.space for i in f.indices), tuple(int(x) for x in marks[0])
                if key not in self.made:
                    self.made[key] = replace(f.tensor, name=self.new(f"{name}_{''.join(key[1])}"), spaces=key[1])
                f = replace(f, tensor=self.made[key])
            factors.append(f)
        return replace(term, factors=tuple(factors))

    def new(self, wanted: str) -> str:
        while wanted.lower() in self.taken:
            wanted += "_"
        self.taken.add(wanted.lower())
        return wanted


_MARK = "~"


def _provisional(factor: Factor, exchange: Slots) -> Tensor:
    """The combination of a tensor, with the symmetry that both of its terms have in the spaces of these indices."""
    tensor, spaces = factor.tensor, tuple(i.space for i in factor.indices)
    group = dict(group_of(tensor.symmetries, 4))
    kept = []
    for p, sign in group.items():
        moved = tuple(exchange[p[exchange[x]]] for x in range(4))
        if p != tuple(range(4)) and all(spaces[p[x]] == spaces[x] for x in range(4)) and group.get(moved) == sign:
            kept.append((p, sign))
    return replace(tensor, name=_MARK.join((tensor.name, "".join(map(str, exchange)), *spaces)), spaces=spaces, symmetries=tuple(kept), role=INTERMEDIATE)
