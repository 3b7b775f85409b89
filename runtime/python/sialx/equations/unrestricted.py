"""Equations over spin orbitals divided into blocks of spins, for orbitals that differ between alpha and beta spin: unrestricted()."""

from __future__ import annotations

import itertools
import string
from dataclasses import replace
from typing import Dict, Iterator, Mapping, Optional, Sequence, Set, Tuple

from .model import INPUT, Equation, Equations, Factor, Generator, Index, Space, Tensor, Term, exchanges, group_of, letter_of, parity_of
from .planning import USUAL_EXTENTS
from .simplify import simplify
from .spin import check_antisymmetry

SPINS = ALPHA, BETA = ("a", "b")
_MOST_PAIRS = 4  # of indices of a tensor


def unrestricted(equations: Equations) -> Equations:
    """The same equations over alpha and beta orbitals, of which there are different ones (J. A. Pople, R. K. Nesbet, J. Chem. Phys. 22, 571 (1954)).

    Each space becomes two: `o` of spin orbitals those of alpha orbitals, `oa`, with the letters of `o`, and of beta orbitals, `ob`, with capital letters.
    All alpha spaces come before the beta ones. A tensor with n upper indices (the first half of its slots) and n lower ones becomes one for each number of alpha
    indices, as many of them upper as lower: `t2_aa`, `t2_ab`, `t2_bb`. Others are zero, because nothing here changes Sz. In a block alpha indices come before
    beta ones; it is antisymmetric in those of one spin. x[a,B,i,J] of `x_ab` is the element of the spin orbitals a, B, i, J; with other orders of
    spins it has the sign of the permutation. Scalars stay as they are.

    Integrals <pq||rs> of alpha p, r and beta q, s have no exchange part: `u_ab` is <pq|rs>. Orbitals are real: u_ab[p,Q,r,S] = u_ab[r,Q,p,S] = u_ab[p,S,r,Q], and
    u_aa[p,q,r,s] = u_aa[r,s,p,q]."""
    used = {f.tensor.name for e in equations.equations for f in (e.target, *(f for t in e.terms for f in t.factors))}
    spaces = _Spaces(equations)
    taken = {t.name for t in equations.tensors}
    blocks = {t.name: _Blocks(t, spaces, taken) for t in equations.tensors if t.name in used}
    out = [made for e in equations.equations for made in _divided(e, blocks)]
    tensors = tuple(t for b in blocks.values() for t in b.tensors.values())
    disconnected = tuple(d for name in equations.disconnected for d in (blocks[name].names() if name in blocks else (name,)))
    return simplify(replace(equations, spaces=spaces.made, tensors=tensors, equations=tuple(out), disconnected=disconnected))


def without_space(equations: Equations, name: str) -> Equations:
    """What is left of equations where a space without parts has no orbitals: no terms, equations and tensors with indices of it."""
    spaces = [replace(s, parts=tuple(p for p in s.parts if p != name)) for s in equations.spaces if s.name != name]
    gone = {name} | {s.name for s in spaces if not s.parts and equations.space(s.name).parts}
    out = []
    for e in equations.equations:
        if not any(i.space in gone for i in e.target.indices):
            out.append(replace(e, terms=tuple(t for t in e.terms if not any(i.space in gone for i in t.indices))))
    used = {f.tensor.name for e in out for f in (e.target, *(f for t in e.terms for f in t.factors))}
    tensors = tuple(t for t in equations.tensors if t.name in used)
    needed = {s for t in tensors for s in t.spaces} | {i.space for e in out for t in e.terms for i in t.indices}
    kept = tuple(s for s in spaces if s.name not in gone and needed & {s.name, *(other.name for other in spaces if s.name in equations.basic(other.name))})
    return replace(equations, spaces=kept, tensors=tensors, equations=tuple(out))


def blocks_of(equations: Equations, name: str) -> Tuple[str, ...]:
    """The names of the blocks of a tensor of spin orbitals, those of the most alpha indices first, as unrestricted() gives them."""
    return _Blocks(equations.tensor(name), _Spaces(equations), {t.name for t in equations.tensors}).names()


def extents_of_spins(equations: Equations, extents: Optional[Mapping[str, float]]) -> Dict[str, float]:
    """Numbers of orbitals of the spaces that unrestricted() makes: those of `oa` or else of `o`, where `extents` has neither the usual ones."""
    given = dict(extents or {})
    out = {}
    for space in (s.name for s in equations.spaces if not s.parts):
        both = given.pop(space, USUAL_EXTENTS.get(space, USUAL_EXTENTS["v"]))
        out.update({space + spin: given.pop(space + spin, both) for spin in SPINS})
    return {**out, **given}


class _Spaces:
    """The alpha and the beta space of each space, and their indices."""

    def __init__(self, equations: Equations) -> None:
        taken = {letter for s in equations.spaces for letter in s.indices}
        others = (x for x in string.ascii_uppercase + string.ascii_lowercase if x not in taken)
        self.capital: Dict[str, str] = {}
        for space in equations.spaces:
            for letter in space.indices:
                wanted = letter.upper()
                found = wanted if wanted not in taken else next(others, None)
                while found is not None and found in taken:
                    found = next(others, None)
                if found is not None:
                    taken.add(found)
                    self.capital[letter] = found
        alpha = [Space(s.name + ALPHA, s.indices, tuple(p + ALPHA for p in s.parts)) for s in equations.spaces]
        beta = [
            Space(s.name + BETA, tuple(self.capital[x] for x in s.indices if x in self.capital), tuple(p + BETA for p in s.parts)) for s in equations.spaces
        ]
        self.made = (*alpha, *beta)
        if len({s.name for s in self.made}) < len(self.made):
            raise ValueError(f"spaces of two spins have the same name: {', '.join(s.name for s in self.made)}")
        for space in beta:
            if not space.indices and not space.parts:
                raise ValueError(f"there are no letters left for the indices of the space `{space.name}`")

    def index(self, index: Index, spin: str) -> Index:
        if spin == ALPHA:
            return Index(index.name, index.space + ALPHA)
        letter = letter_of(index.name)
        return Index(self.capital.get(letter, letter) + index.name[len(letter) :], index.space + BETA)


class _Blocks:
    """What a tensor of spin orbitals becomes: tensors by the number of alpha indices, upper as lower."""

    def __init__(self, tensor: Tensor, spaces: _Spaces, taken: Set[str]) -> None:
        """taken: names that are not free; those of the blocks are added."""
        self.of, self.spaces, self.pairs = tensor, spaces, tensor.rank // 2
        if tensor.rank % 2 or self.pairs > _MOST_PAIRS:
            raise ValueError(f"`{tensor.name}` has {tensor.rank} indices: blocks of spins are made of tensors with one to {_MOST_PAIRS} pairs of indices")
        check_antisymmetry(tensor)
        self.tensors: Dict[int, Tensor] = {}
        if not tensor.rank:
            self.tensors[0] = tensor
            return
        for alpha in range(self.pairs, -1, -1):
            spins = self.spins(alpha)
            name = f"{tensor.name}_{''.join(spins[: self.pairs])}"
            while name in taken:
                name += "_"
            taken.add(name)
            self.tensors[alpha] = Tensor(name, tuple(s + spin for s, spin in zip(tensor.spaces, spins)), self.symmetries(spins), tensor.role)

    def names(self) -> Tuple[str, ...]:
        return tuple(t.name for t in self.tensors.values())

    def spins(self, alpha: int) -> Tuple[str, ...]:
        """Those of the slots of the block with so many alpha indices."""
        return 2 * (alpha * (ALPHA,) + (self.pairs - alpha) * (BETA,))

    def symmetries(self, spins: Sequence[str]) -> Tuple[Generator, ...]:
        """Exchanges of slots of one spin, those of real orbitals where the tensor is integrals, and what else of the tensor's symmetry leaves spins as they are."""
        n, rank = self.pairs, self.of.rank
        if n == 1:
            return self.of.symmetries
        out: Tuple[Generator, ...] = ()
        for half, spin in itertools.product((range(n), range(n, rank)), SPINS):
            out += exchanges(rank, tuple((x,) for x in half if spins[x] == spin), -1)
        if n == 2 and self.of.role == INPUT and len(set(self.of.spaces)) == 1:
            out += exchanges(4, ((0, 2), (1, 3)), 1) if spins[0] == spins[1] else exchanges(4, ((0,), (2,)), 1) + exchanges(4, ((1,), (3,)), 1)
        for p, sign in self.of.group() if len(self.of.symmetries) > 2 * (n - 1) else ():
            if all(spins[x] == spins[y] for x, y in enumerate(p)) and (p, sign) not in group_of(out, rank):
                out += ((p, sign),)
        return out

    def element(self, indices: Sequence[Index], spins: Sequence[str]) -> Optional[Tuple[int, Factor]]:
        """The element with these spins: a sign and that of a block. None where it is zero."""
        n, sign, chosen = self.pairs, 1, []
        if sum(s == ALPHA for s in spins[:n]) != sum(s == ALPHA for s in spins[n:]):
            return None
        for half in (range(n), range(n, 2 * n)):
            order = sorted(half, key=lambda x: spins[x])  # alpha first, else as they are
            sign *= parity_of(order)
            chosen += [self.spaces.index(indices[x], spins[x]) for x in order]
        return sign, Factor(self.tensors[sum(s == ALPHA for s in spins[:n])], tuple(chosen))


def _divided(equation: Equation, blocks: Mapping[str, _Blocks]) -> Iterator[Equation]:
    """The equations of the blocks of its target."""
    whole = blocks[equation.target.tensor.name]
    terms = [(t, t.summed(equation.target)) for term in equation.terms for t in term.expanded()]
    for alpha in whole.tensors:
        spins = whole.spins(alpha)
        found = whole.element(equation.target.indices, spins)
        assert found is not None
        target = replace(found[1], place=equation.target.place)
        external = dict(zip(equation.target.indices, spins))
        yield Equation(target, equation.adds, tuple(made for t, summed in terms for made in _of_spins(t, summed, external, blocks)), equation.place)


def _of_spins(term: Term, summed: Sequence[Index], external: Mapping[Index, str], blocks: Mapping[str, _Blocks]) -> Iterator[Term]:
    """A term without permutations, for each choice of spins of the summed indices that leaves it."""
    for chosen in itertools.product(SPINS, repeat=len(summed)):
        spins = {**external, **dict(zip(summed, chosen))}
        coefficient, factors = term.coefficient, []
        for f in term.factors:
            found = blocks[f.tensor.name].element(f.indices, [spins[i] for i in f.indices])
            if found is None:
                break
            coefficient *= found[0]
            factors.append(found[1])
        else:
            yield Term(coefficient, tuple(factors), (), term.place)
