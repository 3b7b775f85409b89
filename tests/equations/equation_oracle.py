"""What equations are worth for given tensors, computed with einsum and no more: the reference that rewritten equations are compared with.

Permutation operators are written out here once more, from their definition, on arrays."""

import itertools
import os
import pathlib
import re
import sys
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "runtime" / "python")]
from harness import BIN, ENV, LONG  # noqa: E402
from sialx.equations import Equations, Factor, Permutation, Tensor, Term  # noqa: E402

Arrays = Dict[str, Any]
Sizes = Mapping[str, int]  # of the spaces without parts


def set_programs() -> None:
    """The programs that methods run."""
    os.environ.update(ENV, SIALRUN=str(BIN / "sialrun"))


def takes_long() -> bool:
    """Takes `--long` from the command line, which run.sh --long says, too."""
    given = "--long" in sys.argv
    sys.argv[:] = [a for a in sys.argv if a != "--long"]
    return given or LONG


def without_places(program: str) -> List[str]:
    """The lines of a program without what says which file, and which lines of it, they were made from."""
    return [re.sub(r" @\S+$", "", line) for line in program.split("\n") if not line.startswith("# Made from")]


def size(equations: Equations, space: str, sizes: Sizes) -> int:
    return sum(sizes[s] for s in equations.basic(space))


def section(equations: Equations, space: str, part: str, sizes: Sizes) -> slice:
    """Where a part lies in a space."""
    start = 0
    if space == part:
        return slice(0, size(equations, space, sizes))
    for candidate in equations.space(space).parts:
        if part == candidate or set(equations.basic(part)) <= set(equations.basic(candidate)):
            inner = section(equations, candidate, part, sizes)
            return slice(start + inner.start, start + inner.stop)
        start += size(equations, candidate, sizes)
    raise AssertionError(f"{part} is no part of {space}")


def random_tensor(equations: Equations, tensor: Tensor, sizes: Sizes, rng: np.random.Generator) -> Any:
    """Random numbers with the tensor's symmetry."""
    x = rng.normal(size=[size(equations, s, sizes) for s in tensor.spaces])
    group = tensor.group()
    return sum(sign * np.transpose(x, p) for p, sign in group) / np.sqrt(len(group))


def random_tensors(equations: Equations, sizes: Sizes, rng: np.random.Generator) -> Arrays:
    """Of all tensors that are no target."""
    targets = {e.target.tensor.name for e in equations.equations}
    return {t.name: random_tensor(equations, t, sizes, rng) for t in equations.tensors if t.name not in targets}


def evaluate(equations: Equations, arrays: Arrays, sizes: Sizes) -> Arrays:
    """The targets by name, computed in order."""
    known = dict(arrays)
    out: Arrays = {}
    for equation in equations.equations:
        name = equation.target.tensor.name
        total = np.zeros([size(equations, i.space, sizes) for i in equation.target.indices])
        for term in equation.terms:
            total = total + value(equations, term, equation.target, known, sizes)
        known[name] = out[name] = known[name] + total if equation.adds else total
    return out


def value(equations: Equations, term: Term, target: Factor, arrays: Arrays, sizes: Sizes) -> Any:
    """One term, with its permutations."""
    numbers = {i: n for n, i in enumerate(dict.fromkeys((*target.indices, *term.indices)))}
    operands: List[Any] = []
    for factor in term.factors:
        parts = tuple(section(equations, s, i.space, sizes) for s, i in zip(factor.tensor.spaces, factor.indices))
        operands += [arrays[factor.tensor.name][parts], [numbers[i] for i in factor.indices]]
    out = np.einsum(*operands, [numbers[i] for i in target.indices], optimize=True) if operands else np.array(1.0)
    for permutation in reversed(term.permutations):
        out = permuted(out, permutation, {i: n for n, i in enumerate(target.indices)})
    return float(term.coefficient) * out


def permuted(x: Any, permutation: Permutation, axes: Mapping[Any, int]) -> Any:
    items = [item for group in permutation.groups for item in group]
    group_of = [n for n, group in enumerate(permutation.groups) for _ in group]
    total = np.zeros_like(x)
    for p in itertools.permutations(range(len(items))):
        if all(in_place(p, group_of, g) for g in range(len(permutation.groups))):
            order = list(range(x.ndim))
            for position, item in enumerate(p):
                for old, new in zip(items[position], items[item]):
                    order[axes[old]] = axes[new]
            sign = 1 if permutation.sign > 0 else parity(p)
            total = total + sign * np.einsum(x, order, list(range(x.ndim)))
    return total


def in_place(p: Sequence[int], group_of: Sequence[int], group: int) -> bool:
    """Whether a group's own items keep their places and others come in order: one permutation for each way of dealing the items out."""
    places = [n for n, g in enumerate(group_of) if g == group]
    others = [p[n] for n in places if group_of[p[n]] != group]
    return all(p[n] == n for n in places if group_of[p[n]] == group) and others == sorted(others)


def parity(p: Sequence[int]) -> int:
    cycles, seen = 0, set()
    for n in range(len(p)):
        cycles += n not in seen
        while n not in seen:
            seen.add(n)
            n = p[n]
    return -1 if (len(p) - cycles) % 2 else 1


def difference(one: Arrays, other: Arrays) -> float:
    """The largest, relative to the largest number of each target."""
    assert one.keys() == other.keys(), (list(one), list(other))
    return max(float(np.max(np.abs(one[n] - other[n]), initial=0.0)) / max(1.0, float(np.max(np.abs(one[n]), initial=0.0))) for n in one)


def same_values(one: Equations, other: Equations, sizes: Sizes, rng: np.random.Generator) -> Tuple[float, float]:
    """(largest difference of the targets, largest number among them)."""
    arrays = random_tensors(one, sizes, rng)
    first, second = evaluate(one, arrays, sizes), evaluate(other, arrays, sizes)
    return difference(first, second), max(float(np.max(np.abs(x), initial=0.0)) for x in first.values())
