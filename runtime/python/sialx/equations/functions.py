"""Integrals over four virtual orbitals that are never stored: what meets them is taken to basis functions, contracted there with integrals that are computed
on the way, and taken back: over_functions().

    r[a,b,i,j] = sum over c, d of u[a,b,c,d] t[c,d,i,j]

    x[la,d,i,j]  = sum over c of       C[la,c] t[c,d,i,j]
    y[la,si,i,j] = sum over d of       C[si,d] x[la,d,i,j]
    z[mu,nu,i,j] = sum over la, si of  (mu la|nu si) y[la,si,i,j]
    w[a,nu,i,j]  = sum over mu of      C[mu,a] z[mu,nu,i,j]
    r[a,b,i,j]   = sum over nu of      C[nu,b] w[a,nu,i,j]

(P. Pulay, S. Saebo and W. Meyer, J. Chem. Phys. 81, 1901 (1984); H. Koch et al., Chem. Phys. Lett. 228, 233 (1994)), and likewise where one or three indices
are summed over."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Callable, List, MutableMapping, Optional, Sequence, Tuple

from .model import INPUT, Equations, Factor, Index, Space, Tensor
from .statements import Exchange, Statement, sign_of_exchanges

FUNCTIONS = ("mu", "nu", "la", "si")  # letters of basis functions


class NotOverFunctions(ValueError):
    """Integrals over four virtual orbitals are needed by themselves."""


@dataclass(frozen=True)
class Functions:
    """space: of basis functions. coefficients[mu,p]: of orbitals, all of them. integrals[mu,nu,la,si] = <mu nu|la si>, computed where they are read. source: the
    integrals over orbitals, of which those over four orbitals of the space `virtual` are not read."""

    space: str
    coefficients: Tensor
    integrals: Tensor
    source: Tensor
    virtual: str

    def needed_by(self, factor: Factor) -> bool:
        """Whether it is a block of integrals over four virtual orbitals."""
        return factor.tensor == self.source and all(i.space == self.virtual for i in factor.indices)


def with_functions(equations: Equations, integrals: str) -> Tuple[Equations, Functions]:
    """The equations with basis functions as one more space, and their tensors. integrals: the name of <pq|rs> over all orbitals."""
    source = equations.tensor(integrals)
    basic = equations.basic(source.spaces[0])
    virtual = basic[-1]
    for e in equations.equations:
        for t in e.terms:
            for f in t.factors:
                if f.tensor == source and any(len(equations.basic(i.space)) > 1 for i in f.indices) and all(virtual in equations.basic(i.space) for i in f.indices):
                    where = f"{t.place.file}:{t.place.line}: " if t.place else ""
                    raise NotOverFunctions(f"{where}`{f}` is over all orbitals: integrals over four virtual ones are among them. Write sums over o and v each")
    taken = {s.name.lower() for s in equations.spaces} | {t.name.lower() for t in equations.tensors}

    def new(name: str) -> str:
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    space = new("ao")
    made = Functions(space, Tensor(new("orbitals"), (space, source.spaces[0])), Tensor(new(f"{integrals.lower()}_ao"), (space,) * 4, source.symmetries), source, virtual)
    assert made.coefficients.role == INPUT
    return replace(equations, spaces=(*equations.spaces, Space(space, FUNCTIONS)), tensors=(*equations.tensors, made.coefficients, made.integrals)), made


def over_functions(statements: Sequence[Statement], functions: Functions, exchanges: MutableMapping[str, Tuple[Exchange, ...]], tensor: Callable[[Tuple[str, ...]], Tensor]) -> List[Statement]:
    """The statements without integrals over four virtual orbitals. exchanges: of computed tensors; those of new ones are added. tensor: makes an intermediate.
    NotOverFunctions where that cannot be."""
    out: List[Statement] = []
    for s in statements:
        out += _Rewriting(s, functions, exchanges, tensor).statements() if any(functions.needed_by(f) for f in s.factors) else [s]
    return out


class _Rewriting:
    def __init__(self, s: Statement, functions: Functions, exchanges: MutableMapping[str, Tuple[Exchange, ...]], tensor: Callable[[Tuple[str, ...]], Tensor]) -> None:
        self.statement, self.functions, self.exchanges, self.tensor = s, functions, exchanges, tensor
        self.out: List[Statement] = []

    def statements(self) -> List[Statement]:
        s, functions = self.statement, self.functions
        factors = [f for f in s.factors if f.indices]
        scalars = tuple(f for f in s.factors if not f.indices)
        integrals = next(f for f in factors if functions.needed_by(f))
        others = [f for f in factors if f is not integrals]
        summed = [i for i in integrals.indices if i not in s.target.indices]
        outer = [i for i in integrals.indices if i in s.target.indices]
        if s.permutations or len(others) != 1 or functions.needed_by(others[0]) or not summed or not outer:
            raise NotOverFunctions(f"`{s}` needs integrals over four virtual orbitals by themselves")
        names = dict(zip(integrals.indices, (Index(letter, functions.space) for letter in FUNCTIONS)))
        other = others[0]
        moved = other
        for i in summed:
            moved = self.transformed(moved, i, names[i])
        rest = [i for i in other.indices if i in s.target.indices]
        order = (*(names[i] for i in outer), *rest)
        product = Factor(self.tensor(tuple(i.space for i in order)), order)
        self.exchanges[product.tensor.name] = self.exchanges_of(integrals, other, outer, rest)
        self.out.append(Statement(product, Fraction(1), (Factor(functions.integrals, tuple(names[i] for i in integrals.indices)), moved), (), s.places))
        for i in outer[:-1]:
            product = self.transformed(product, names[i], i)
        last = Factor(functions.coefficients, (names[outer[-1]], outer[-1]))
        self.out.append(Statement(s.target, s.coefficient, (last, product, *scalars), (), s.places))
        return self.out

    def transformed(self, factor: Factor, old: Index, new: Index) -> Factor:
        """The factor with an index taken from orbitals to functions, or back."""
        order = tuple(new if i == old else i for i in factor.indices)
        made = Factor(self.tensor(tuple(i.space for i in order)), order)
        pair = (old, new) if old.space == self.functions.space else (new, old)
        self.out.append(Statement(made, Fraction(1), (Factor(self.functions.coefficients, pair), factor), (), self.statement.places))
        return made

    def exchanges_of(self, integrals: Factor, other: Factor, outer: Sequence[Index], rest: Sequence[Index]) -> Tuple[Exchange, ...]:
        """Both electrons of the integrals are exchanged together with two indices of what they meet."""
        p, q, r, s = integrals.indices
        pairs = [((p, q), (r, s)), ((p, s), (r, q)), ((r, q), (p, s)), ((r, s), (p, q))]
        found = next((inner for ends, inner in pairs if set(ends) == set(outer)), None)
        if found is None or len(outer) != 2:
            return ()
        known = self.exchanges.get(other.tensor.name, ())
        sign = sign_of_exchanges(other, (found,), known)
        if sign:
            return (Exchange(((0,), (1,)), sign),)
        for i, j in itertools.combinations(rest, 2):
            sign = sign_of_exchanges(other, (found, (i, j)), known) if i.space == j.space else 0
            if sign:
                return (Exchange(((0, 2 + rest.index(i)), (1, 2 + rest.index(j))), sign),)
        return ()


def batches(statement: Statement, functions: Optional[Functions]) -> Optional[Factor]:
    """The factor whose blocks a statement computes, if it has one."""
    return next((f for f in statement.factors if functions is not None and f.tensor == functions.integrals), None)

