"""The fragment pragmas of pardo loops, which filter iterations (language reference 4.1.1)."""
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from expressions import static_view
from model import Index, Module


def parse(text: str | None) -> tuple[bool, bool, bool, bool, str, str] | None:
    """(keeps where clauses, N, R, pair, g1, g2), or None for a pragma without meaning."""
    match = re.match(r"(Where)?Frag\{(N?)(R?)(i|ij)\}((?:\{[aopv]*\})*)$", text or "")
    if not match:
        return None
    groups = re.findall(r"\{([aopv]*)\}", match.group(5)) + ["", ""]
    return bool(match.group(1)), bool(match.group(2)), bool(match.group(3)), match.group(4) == "ij", groups[0], groups[1]


def element(module: Module, name: str, *position: int) -> float:
    return float(static_view(module.find(name), position).reshape(-1)[0])


def fragment_filter(module: Module, indices: Sequence[Index], pragma: str | None) -> tuple[Callable[[], bool], bool]:
    """(a test of the iteration with its indices bound, whether the pragma replaces the where clauses)."""
    parsed = parse(pragma)
    if not parsed:
        return (lambda: True), False
    keeps_wheres, differ, by_cut, pair, first_group, second_group = parsed
    f1: Index = indices[0]
    f2: Any = indices[1] if pair else None
    rest = indices[2 if pair else 1:]

    def keep() -> bool:
        if differ and f1.value == f2.value:
            return False
        if pair and element(module, "rcut_dist" if by_cut else "elst_dist", f1.value, f2.value) != f1.value:
            return False
        for letter, index, fragment in zip(first_group + second_group, rest, [f1] * len(first_group) + [f2] * len(second_group)):
            if element(module, "swao_frag" if letter == "a" else "swmoa_frag", index.value) != fragment.value:
                return False
        return True
    return keep, not keeps_wheres
