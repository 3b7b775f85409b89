"""Plans whose arrays fit into memory: plan()."""

from __future__ import annotations

import math
from typing import Callable, Iterator, Mapping, Optional, Union

from .functions import NotOverFunctions
from .memory import Footprint, bytes_of, footprint, within
from .model import INTERMEDIATE, Equations
from .planning import plan_products, spaces_of
from .statements import Plan

_MOST_BOUNDS = 3  # of the largest intermediate, that plans are made for
_REMEDY = "Allow more memory, take more ranks, or fewer orbitals"


def plan(equations: Equations, extents: Optional[Mapping[str, float]] = None, most_elements: float = math.inf, memory: Union[str, float, None] = None) -> Plan:
    """Statements for one evaluation of all equations.

    extents: orbitals of each basic space, by its name; where they are not given 10 of `o` and 50 of all others, which is what decides between
    orders of products. most_elements: an intermediate that has more is not made, where another way of computing its terms has smaller ones. memory: of all
    arrays of to_sial(plan), as "2GB" or a number of bytes, over all ranks: of the ways of computing that need no more the cheapest is taken. ValueError where
    there is none."""
    if memory is None:
        return plan_products(equations, extents, most_elements)
    return plan_within(memory, equations, extents, most_elements, footprint, solver=False)


def plan_within(memory: Union[str, float], equations: Equations, extents: Optional[Mapping[str, float]], most_elements: float, measure: Callable[[Plan], Footprint],
                solver: bool, integrals: Optional[str] = None, stored: bool = True, remedy: str = _REMEDY) -> Plan:
    """plan() with another measure. solver: of a program that evaluates the equations many times. integrals: those that may go over basis functions, where that is
    cheaper than what else would fit. stored: False where they have to."""

    def plans() -> Iterator[Plan]:
        free: Optional[Plan] = None
        if stored:
            free = plan_products(equations, extents, most_elements)
            yield free
        over: Optional[Plan] = None
        if integrals is not None:
            try:
                over = plan_products(equations, extents, most_elements, integrals)
                yield over
            except NotOverFunctions:
                if not stored:
                    raise
        orbitals = spaces_of(equations, dict(extents or {}))
        for first, name in ((free, None), (over, integrals)):
            if first is None:
                continue
            sizes = {math.prod(orbitals.get(s, math.inf) for s in t.spaces) for t in first.tensors if t.role == INTERMEDIATE and t.rank}
            for bound in sorted((x for x in sizes if 1 < x < math.inf), reverse=True)[:_MOST_BOUNDS]:
                try:
                    yield plan_products(equations, extents, math.nextafter(min(bound, most_elements), 0.0), name)
                except NotOverFunctions:
                    pass

    return within(bytes_of(memory), plans(), measure, solver, remedy)
