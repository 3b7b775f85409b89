"""How much memory the arrays of a plan take, and plans that take less: footprint(), within()."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Callable, Dict, FrozenSet, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

from .model import AMPLITUDE, INPUT, INTERMEDIATE, RESULT, Tensor
from .statements import Plan, Statement, multiplications_of

SEGMENT = 8  # orbitals in a segment, about
_NUMBER = 8  # bytes
_BLOCK = 200  # bytes of the directory of blocks for each of them
_MOVED = 64  # multiplications that take as long as making and bringing an element
_INTEGRAL = 50  # multiplications that take as long as computing one over basis functions
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def bytes_of(memory: Union[str, float]) -> float:
    """ "2GB", "500 MB", "1.5GiB" or a number of bytes as that number. ValueError for anything else, and for none at all."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?(?:e\d+)?)\s*([kmgt]i?)?b?\s*", str(memory), re.I)
    value = float(found.group(1)) * _UNITS[(found.group(2) or "").lower()] if found else math.nan
    if not 0 < value < math.inf:
        raise ValueError(f"memory={memory!r} is no amount of memory, as \"2GB\" or \"500MB\" is")
    return value


def shown(number: float) -> str:
    """Bytes, to three digits."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number:.0f} bytes"


class Lives(NamedTuple):
    """What runs once and what every evaluation repeats, each in phases; and after each phase the names of the intermediates that nothing reads any more."""

    once: Tuple[Tuple[Statement, ...], ...]
    repeated: Tuple[Tuple[Statement, ...], ...]
    dead_once: Tuple[Tuple[str, ...], ...]
    dead: Tuple[Tuple[str, ...], ...]


def lives(plan: Plan, constants: FrozenSet[str]) -> Lives:
    """constants: targets that are made once, before the evaluations."""
    parts = []
    for wanted in (True, False):
        phases = (tuple(s for s in phase if (s.target.tensor.name in constants) == wanted) for phase in plan.phases)
        parts.append(tuple(p for p in phases if p))
    once, repeated = parts
    read_later = {f.tensor.name for phase in repeated for s in phase for f in s.factors}

    def dead(phases: Sequence[Sequence[Statement]], but: Set[str]) -> Tuple[Tuple[str, ...], ...]:
        last: Dict[str, int] = {}
        made: Set[str] = set()
        for n, phase in enumerate(phases):
            for s in phase:
                if s.target.tensor.role == INTERMEDIATE and s.target.tensor.rank:
                    made.add(s.target.tensor.name)
                for name in (s.target.tensor.name, *(f.tensor.name for f in s.factors)):
                    last[name] = n
        out: Dict[int, List[str]] = defaultdict(list)
        for name in sorted(made - but) if plan.released else ():
            out[last[name]].append(name)
        return tuple(tuple(out[n]) for n in range(len(phases)))

    return Lives(once, repeated, dead(once, read_later), dead(repeated, set()))


@dataclass(frozen=True)
class Footprint:
    """peak: bytes over all ranks, when most are taken. arrays: what takes them then, largest first. where: when that is."""

    peak: float
    arrays: Tuple[Tuple[str, float], ...]
    where: str


class Sizes:
    """Bytes of arrays, with segments of about the same length."""

    def __init__(self, plan: Plan, segment: float = SEGMENT) -> None:
        equations = plan.equations
        self.plan = plan
        self.orbitals: Dict[str, float] = {}
        self.segments: Dict[str, float] = {}
        for space in equations.spaces:
            basic = equations.basic(space.name)
            self.orbitals[space.name] = sum(plan.extents[b] for b in basic)
            self.segments[space.name] = sum(math.ceil(plan.extents[b] / segment) for b in basic)

    def of(self, tensor: Tensor) -> float:
        """All blocks that are put."""
        share = 1.0
        for exchange in self.plan.exchanges.get(tensor.name, ()) if tensor.name in self.plan.unique else ():
            n, k = self.segments[tensor.spaces[exchange.sets[0][0]]], len(exchange.sets)
            share *= math.comb(int(n) + k - 1, k) / n**k
        elements, blocks = (math.prod(by[s] for s in tensor.spaces) for by in (self.orbitals, self.segments))
        virtual = self.plan.functions
        if virtual is not None and tensor == virtual.source:
            elements -= self.orbitals[virtual.virtual] ** 4
            blocks -= self.segments[virtual.virtual] ** 4
        return share * (elements * _NUMBER + blocks * _BLOCK)

    def block(self, spaces: Sequence[str]) -> float:
        """The largest."""
        return _NUMBER * math.prod(math.ceil(self.orbitals[s] / self.segments[s]) if len(self.plan.equations.basic(s)) == 1 else SEGMENT for s in spaces)


def footprint(plan: Plan, constants: FrozenSet[str] = frozenset(), more: Optional[Mapping[str, float]] = None, ranks: int = 1, segment: float = SEGMENT) -> Footprint:
    """Of the arrays of a program with this plan. constants: what is made once, as a solver does. more: bytes of arrays besides those of the plan."""
    sizes, parts = Sizes(plan, segment), lives(plan, constants)
    used = {f.tensor.name for phase in plan.phases for s in phase for f in s.factors}
    standing = {t.name: sizes.of(t) for t in plan.tensors if t.rank and (t.role == RESULT or (t.role in (INPUT, AMPLITUDE) and t.name in used))}
    if plan.functions is not None:
        standing.pop(plan.functions.integrals.name, None)  # a block at a time
    standing.update(more or {})
    shapes = {s.target.tensor.spaces for phase in plan.phases for s in phase}
    standing["blocks at work"] = 3.0 * ranks * sum(sizes.block(shape) for shape in shapes)
    alive: Dict[str, float] = {}
    best: Tuple[float, Dict[str, float], str] = (sum(standing.values()), {}, "at the end of each iteration")
    if not plan.released:
        made = {s.target.tensor for phase in plan.phases for s in phase}
        alive.update({t.name: sizes.of(t) for t in made if t.role == INTERMEDIATE and t.rank})
    for phases, dead, what in ((parts.once, parts.dead_once, "before the iterations"), (parts.repeated, parts.dead, "in phase")):
        for n, phase in enumerate(phases):
            for s in phase:
                if s.target.tensor.role == INTERMEDIATE and s.target.tensor.rank:
                    alive[s.target.tensor.name] = sizes.of(s.target.tensor)
            total = sum(standing.values()) + sum(alive.values())
            if total > best[0]:
                best = total, dict(alive), f"{what} {n + 1}" if what == "in phase" else what
            for name in dead[n]:
                del alive[name]
    arrays = sorted({**standing, **best[1]}.items(), key=lambda item: (-item[1], item[0]))
    return Footprint(best[0], tuple(arrays), best[2])


def solver_arrays(plan: Plan, amplitudes: Sequence[str], history: int, denominators: bool) -> Dict[str, float]:
    """Bytes of what a solver for these amplitudes has besides the arrays of the plan. denominators: as arrays."""
    sizes, tensors, out = Sizes(plan), {t.name: t for t in plan.tensors}, {}
    for name in amplitudes:
        here = sizes.of(tensors[name])
        out.update({name: here, f"{name}_changes": history * here, f"{name}_vectors": history * here})
        if denominators:
            out[f"{name}_denominators"] = here
    return out


def one_by_one(plan: Plan, constants: FrozenSet[str]) -> Plan:
    """The same statements in more phases: after each the one that takes the least memory, or gives most of it back. Intermediates are deleted."""
    sizes = Sizes(plan)
    sizes_of = {t.name: sizes.of(t) if t.rank else 0.0 for t in plan.tensors}
    phases: List[Tuple[Statement, ...]] = []
    readable = {f.tensor.name for phase in plan.phases for s in phase for f in s.factors}
    waiting = [s for phase in plan.phases for s in phase]
    for wanted in (True, False):  # what is made once comes first
        todo = [s for s in waiting if (s.target.tensor.name in constants) == wanted]
        reads = {id(s): {f.tensor.name for f in s.factors} for s in todo}
        started: Set[str] = set()
        while todo:
            pending = {s.target.tensor.name for s in todo}
            groups: Dict[str, List[Statement]] = defaultdict(list)
            for s in todo:
                if not reads[id(s)] & pending:
                    groups[s.target.tensor.name].append(s)

            def balance(name: str) -> Tuple[float, str]:
                chosen = {id(s) for s in groups[name]}
                taken = 0.0 if name in started or name not in readable else sizes_of[name]
                left = {n for s in todo if id(s) not in chosen for n in reads[id(s)]}
                freed = {n for i in chosen for n in reads[i] if n not in left and n in started}
                return taken - sum(sizes_of[n] for n in freed), name

            name = min(groups, key=balance)
            started.add(name)
            phases.append(tuple(groups[name]))
            done = {id(s) for s in groups[name]}
            todo = [s for s in todo if id(s) not in done]
    return replace(plan, phases=tuple(phases), released=True)


def with_fewer_phases(plan: Plan, fits: Callable[[Plan], bool]) -> Plan:
    """Neighbouring phases that do not depend on each other as one, where the plan still fits."""
    phases = list(plan.phases)
    n = 1
    while n < len(phases):
        one, other = phases[n - 1], phases[n]
        made = {s.target.tensor.name for s in one}
        if not any(f.tensor.name in made for s in other for f in s.factors):
            fewer = replace(plan, phases=(*phases[: n - 1], one + other, *phases[n + 1 :]))
            if fits(fewer):
                phases = list(fewer.phases)
                continue
        n += 1
    return replace(plan, phases=tuple(phases))


def cost_of(plan: Plan, constants: FrozenSet[str]) -> float:
    """Of an evaluation, in multiplications: with constants that are made again, elements that are brought, and integrals over basis functions."""
    sizes = Sizes(plan)
    total = 0.0
    for s in (s for phase in plan.phases for s in phase if s.target.tensor.name not in constants):
        total += multiplications_of(s, plan.exchanges, sizes.orbitals) if len(s.factors) > 1 else 0.0
        total += _MOVED * math.prod(sizes.orbitals[i.space] for i in s.target.indices)
        if plan.functions is not None and any(f.tensor == plan.functions.integrals for f in s.factors):
            total += _INTEGRAL * sizes.orbitals[plan.functions.space] ** 4
    return total


def closed(plan: Plan, names: Set[str], constants: FrozenSet[str]) -> FrozenSet[str]:
    """With them the constants that are made of them."""
    out = set(names)
    for s in (s for phase in plan.phases for s in phase if s.target.tensor.name in constants):
        if any(f.tensor.name in out for f in s.factors):
            out.add(s.target.tensor.name)
    return frozenset(out)


def variants(plan: Plan, solver: bool) -> Iterator[Plan]:
    """The same products with less memory, and mostly more work: intermediates are deleted, made one after the other, and those of given tensors made again."""
    yield plan
    constants = plan.constants() if solver else frozenset()
    yield replace(plan, released=True)
    yield one_by_one(plan, constants)
    sizes = Sizes(plan)
    tensors = {t.name: t for t in plan.tensors}
    chosen: Set[str] = set()
    most = sum(sizes.of(tensors[n]) for n in constants)
    for name in sorted(constants, key=lambda n: (-sizes.of(tensors[n]), n)):
        if name in chosen or sizes.of(tensors[name]) < 0.01 * most:
            continue
        chosen |= closed(plan, {name}, constants)
        again = frozenset(chosen)
        yield replace(plan, released=True, again=again)
        yield one_by_one(replace(plan, again=again), constants - again)


class Choice(NamedTuple):
    cost: float
    peak: float
    plan: Plan


def within(memory: float, plans: Iterable[Plan], measure: Callable[[Plan], Footprint], solver: bool, remedy: str) -> Plan:
    """The plan of least cost whose footprint, as `measure` says, is below `memory`. plans: with other products each, the cheapest first. ValueError where none is small enough, which names the largest arrays of the smallest. remedy: what else would help."""
    best: Optional[Choice] = None
    smallest: Optional[Choice] = None
    for n, plan in enumerate(plans):
        for variant in variants(plan, solver):
            constants = variant.constants() - variant.again if solver else frozenset()
            found = Choice(cost_of(variant, constants), measure(variant).peak, variant)
            if smallest is None or found.peak < smallest.peak:
                smallest = found
            if found.peak <= memory and (best is None or found.cost < best.cost):
                best = found
        if best is not None and n == 0 and best.plan.multiplications == plan.multiplications and not best.plan.again:
            break  # nothing is made again: no other products are cheaper
    if best is None:
        assert smallest is not None
        needed = measure(smallest.plan)
        largest = ", ".join(f"`{name}` {shown(size)}" for name, size in needed.arrays[:4])
        raise ValueError(f"the smallest plan needs {shown(needed.peak)} of memory over all ranks, {needed.where}, and {shown(memory)} are allowed; the largest arrays are {largest}. {remedy}")
    return with_fewer_phases(best.plan, lambda p: measure(p).peak <= memory) if best.plan.released else best.plan
