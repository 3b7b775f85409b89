"""Whether the terms of a target have the symmetry that it is declared with: a permutation operator that was forgotten shows here."""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Sequence, Set, Tuple

from .canonical import Canonicaliser, Key, merged
from .diagnostics import Messages
from .model import INTERMEDIATE, RESULT, Equation, Equations, Factor, Index, Space, Term
from .simplify import to_target
from .symmetry import slot_symmetry


def check_targets(equations: Equations, messages: Messages) -> None:
    """Warns of terms that do not have the symmetry of their target, and have no other terms that make up for it."""
    for tensor in dict.fromkeys(e.target.tensor for e in equations.equations if e.target.tensor.symmetries):
        mine = [e for e in equations.equations if e.target.tensor == tensor]
        found: Dict[int, List[Tuple[str, str]]] = {}
        target, terms = _terms(mine)
        for p, sign in tensor.symmetries:
            exchange = {old: target.indices[x] for old, x in zip(target.indices, p) if old != target.indices[x]}
            for n in _without(terms, target, exchange, sign, equations.spaces):
                found.setdefault(n, []).append(_described(target, p, sign))
        for n, exchanges in found.items():
            operators = [e for _, e in exchanges if e]
            hint = f"{' '.join(operators)} may be missing" if operators else "or the declaration promises too much"
            hint = undeclared([terms[n]]) or hint
            message = f"the term is not {' and '.join(what for what, _ in exchanges)}, as `{tensor.name}` is declared"
            messages.report("W-SYMMETRY", terms[n].place, message, hint)


def undeclared(terms: Sequence[Term]) -> str:
    """What to do where factors are computed, and have no declared symmetry: they may have one, which nobody knows then."""
    names = dict.fromkeys(f.tensor.name for t in terms for f in t.factors if f.tensor.role in (RESULT, INTERMEDIATE) and f.tensor.rank > 1 and not f.tensor.symmetries)
    if not names:
        return ""
    which = ", ".join(f"`{name}`" for name in names)
    return f"the symmetry of {which} is not declared: if it is antisymmetric, say so, as in `intermediate w[v,v,o,o] antisymmetric (1,2) (3,4)`; else a permutation operator may be missing"


def _terms(equations: Sequence[Equation]) -> Tuple[Factor, List[Term]]:
    target = equations[0].target
    return target, [to_target(t, e.target, target) for e in equations for t in e.terms]


def _described(target: Factor, p: Tuple[int, ...], sign: int) -> Tuple[str, str]:
    one = [target.indices[x].name for x in range(len(p)) if x < p[x]]
    other = [target.indices[p[x]].name for x in range(len(p)) if x < p[x]]
    what = f"{'anti' if sign < 0 else ''}symmetric in `{''.join(one)}` and `{''.join(other)}`"
    if sign < 0:
        return what, f"`P({one[0]} {other[0]})`" if len(one) == 1 else ""
    return what, f"`S({''.join(one)}/{''.join(other)})`"


def _without(terms: Sequence[Term], target: Factor, exchange: Dict[Index, Index], sign: int, spaces: Sequence[Space]) -> List[int]:
    """Which terms do not have the symmetry, though all of them together should."""
    left = [n for n, term in enumerate(terms) if not (sign < 0 and len(exchange) == 2 and _antisymmetric(term, set(exchange)))]
    whole = merged([terms[n] for n in left], target, spaces)
    canonicaliser = Canonicaliser(target, spaces)
    wrong = {key for key, term in whole.items() if not _has_partner(term, whole, canonicaliser, exchange, sign)}
    return [n for n in left if wrong and wrong & set(merged([terms[n]], target, spaces))]


def _has_partner(term: Term, whole: Dict[Key, Term], canonicaliser: Canonicaliser, exchange: Dict[Index, Index], sign: int) -> bool:
    form = canonicaliser.form(replace(term, factors=tuple(f.renamed(exchange) for f in term.factors)))
    partner = whole.get(form.key) if form is not None else None
    return form is not None and partner is not None and partner.coefficient == sign * form.term.coefficient


def _antisymmetric(term: Term, pair: Set[Index]) -> bool:
    """Whether that can be seen without writing permutations out: both indices in one operator that has all it needs, or in one factor and no operator."""
    indices = [i for p in term.permutations for i in p.indices]
    if len(set(indices)) < len(indices):
        return False
    for permutation in term.permutations:
        if pair & set(permutation.indices):
            groups = [[item[0] for item in group] for group in permutation.groups if all(len(item) == 1 for item in group)]
            whole = permutation.sign < 0 and len(groups) == len(permutation.groups) and pair <= set(permutation.indices)
            return whole and all(_in_one_factor(term, set(group)) for group in groups)
    return _in_one_factor(term, pair)


def _in_one_factor(term: Term, indices: Set[Index]) -> bool:
    if len(indices) < 2:
        return True
    for factor in term.factors:
        for slots, sign in slot_symmetry(factor.tensor.symmetries, factor.tensor.rank).sets:
            if sign < 0 and indices <= {factor.indices[x] for x in slots}:
                return True
    return False
