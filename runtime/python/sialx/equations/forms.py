"""Equations as plans take them: without targets that are 0, with the symmetries that they have, in other forms of the same value."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Dict, FrozenSet, Mapping, Sequence, Set, Tuple

from .canonical import Canonicaliser, Key, merged
from .model import Equation, Equations, Factor, Generator, Index, Permutation, Space, Tensor, Term


def check_order(equations: Equations) -> None:
    """An addition to a target that was used before would need both of its values."""
    used: Dict[str, Equation] = {}
    for e in equations.equations:
        name = e.target.tensor.name
        factors = {f.tensor.name for t in e.terms for f in t.factors}
        if e.adds and (name in used or name in factors):
            reader = used.get(name, e).target
            place = f"{e.place.file}:{e.place.line}: " if e.place else ""
            raise ValueError(f"{place}`{name}` is added to after `{reader}` has used it: give the sum so far a name of its own, as an intermediate")
        for factor in factors:
            used.setdefault(factor, e)


def without_zeros(equations: Equations) -> Equations:
    """Without the terms that have a target of no terms as a factor."""
    while True:
        sums = {e.target.tensor.name for e in equations.equations if e.terms}
        zero = {e.target.tensor.name for e in equations.equations} - sums
        kept = [replace(e, terms=tuple(t for t in e.terms if not any(f.tensor.name in zero for f in t.factors))) for e in equations.equations]
        if kept == list(equations.equations):
            return equations
        equations = replace(equations, equations=tuple(kept))


def with_true_symmetries(equations: Equations) -> Equations:
    """Targets without the declared symmetries that their equations do not have: what reads them shall not rely on these."""
    while True:  # what one target lacks, those that are made of it may lack, too
        lacking: Dict[Tensor, Set[Generator]] = defaultdict(set)
        for e in equations.equations:
            if e.target.tensor.symmetries:
                whole = merged(e.terms, e.target, equations.spaces)
                lacking[e.target.tensor] |= {g for g in e.target.tensor.symmetries if not has_symmetry(whole, g, e.target, equations.spaces)}
        tensors = {t: replace(t, symmetries=tuple(g for g in t.symmetries if g not in wrong)) for t, wrong in lacking.items() if wrong}
        if not tensors:
            return equations
        equations = with_tensors(equations, tensors)


def with_tensors(equations: Equations, tensors: Mapping[Tensor, Tensor]) -> Equations:
    """The same equations with other tensors in the places of some."""

    def of(factor: Factor) -> Factor:
        return replace(factor, tensor=tensors.get(factor.tensor, factor.tensor))

    if all(old == new for old, new in tensors.items()):
        return equations
    made = [replace(e, target=of(e.target), terms=tuple(replace(t, factors=tuple(of(f) for f in t.factors)) for t in e.terms)) for e in equations.equations]
    return replace(equations, equations=tuple(made), tensors=tuple(tensors.get(t, t) for t in equations.tensors))


def has_symmetries(terms: Sequence[Term], target: Factor, generators: Sequence[Generator], spaces: Sequence[Space]) -> bool:
    """Whether a sum of terms has all of these symmetries in the indices of its target."""
    whole = merged(terms, target, spaces) if generators else {}
    return all(has_symmetry(whole, g, target, spaces) for g in generators)


def signs_of(whole: Mapping[Key, Term], p: Sequence[int], target: Factor, spaces: Sequence[Space]) -> Tuple[int, ...]:
    """Those of 1 and -1 with which a sum of terms stays as it is under a permutation of the target's slots; both of a sum that is 0."""
    names = {target.indices[x]: target.indices[y] for x, y in enumerate(p) if x != y}
    image = merged([replace(t, factors=tuple(f.renamed(names) for f in t.factors)) for t in whole.values()], target, spaces)
    if image.keys() != whole.keys():
        return ()
    return tuple(sign for sign in (1, -1) if all(t.coefficient == sign * whole[k].coefficient for k, t in image.items()))


def has_symmetry(whole: Mapping[Key, Term], generator: Generator, target: Factor, spaces: Sequence[Space]) -> bool:
    """Whether a sum of terms stays as it is under a permutation of the target's slots with this sign."""
    return generator[1] in signs_of(whole, generator[0], target, spaces)


def permuted(equations: Equations) -> Equations:
    """The same equations, in which terms that permutation operators of other terms leave as they are have these operators, too: m t = P t of m summands.
    More terms can then be summed before they are permuted. Terms stay whose factors the operator leaves as they are, one by one: of these half the blocks do."""
    out = []
    for e in equations.equations:
        canonicaliser = Canonicaliser(e.target, equations.spaces)
        operators = list(dict.fromkeys(t.permutations for t in e.terms if t.permutations))
        terms = []
        for term in e.terms:
            for operator in operators if not term.permutations else ():
                if _keeps_factors(term, operator, e.target):
                    continue
                forms = [canonicaliser.form(image) for image in replace(term, permutations=operator).expanded()]
                if len({(f.key, f.term.coefficient) if f else None for f in forms}) == 1:
                    term = replace(term, coefficient=term.coefficient / len(forms), permutations=operator)
                    break
            terms.append(term)
        out.append(replace(e, terms=tuple(terms)))
    return replace(equations, equations=tuple(out))


def _keeps_factors(term: Term, operator: Tuple[Permutation, ...], target: Factor) -> bool:
    """Whether the images of the term have factors with the same external indices, and one factor has two or more of them in all images."""

    def external(t: Term) -> Counter[Tuple[str, FrozenSet[Index]]]:
        return Counter((f.tensor.name, frozenset(i for i in f.indices if i in target.indices)) for f in t.factors)

    images = [external(image) for image in replace(term, permutations=operator).expanded()]
    kept = set.intersection(*(set(image) for image in images))
    moved = {i for p in operator for i in p.indices}
    return all(image == images[0] for image in images) and any(len(indices & moved) > 1 and _closed(indices, operator) for _, indices in kept)


def _closed(indices: FrozenSet[Index], operator: Tuple[Permutation, ...]) -> bool:
    """Whether every permutation of an operator takes the indices to themselves."""
    return all({names.get(i, i) for i in indices} == indices for p in operator for names, _ in p.images())
