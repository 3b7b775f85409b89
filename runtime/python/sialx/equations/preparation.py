"""What plans of the same equations share, whatever their extents and bounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Mapping, Optional, Tuple

from .combinations import with_combinations
from .forms import check_order, permuted, with_true_symmetries, without_zeros
from .functions import Functions, with_functions
from .model import Equations, Generator, Place, Source


@dataclass(frozen=True, eq=False)
class Prepared:
    """Equations as they are planned, and the forms of them that are tried. declared: symmetries of targets, whether their equations have them or not.
    functions: where integrals over four virtual orbitals are not stored."""

    equations: Equations
    functions: Optional[Functions]
    declared: Mapping[str, Tuple[Generator, ...]]
    forms: Tuple[Equations, ...]


@lru_cache(maxsize=16)
def prepare(equations: Equations, _places: Tuple[Optional[Place], ...], _source: Optional[Source], over_functions: Optional[str]) -> Prepared:
    """Prepared equations, over_functions as plan_products() has it. Places do not count where equations are compared, and are part of a plan."""
    check_order(equations)
    equations = without_zeros(equations)
    declared = {e.target.tensor.name: e.target.tensor.symmetries for e in equations.equations}
    equations, functions = with_true_symmetries(equations), None
    if over_functions is not None:
        equations, functions = with_functions(equations, over_functions)
    forms = [form for e in dict.fromkeys((equations, without_zeros(with_combinations(equations)))) for form in (e, permuted(e))]
    return Prepared(equations, functions, declared, tuple(dict.fromkeys(forms)))
