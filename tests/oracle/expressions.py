"""Values of expressions and the block algebra: references, contraction by names, the right sides of block assignments."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from model import Array, Block, Index, Json, Key, LanguageError, Module, Ranges, Subindex, check_int

if TYPE_CHECKING:
    from machine import Machine

Label = tuple[Index | Subindex, bool]  # an index, and whether its segments have one element

COMPARE: dict[str, Callable[[float, float], bool]] = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
           "==": lambda a, b: a == b, "!=": lambda a, b: a != b}


class Reference:
    """A block reference evaluated: array, key, labels, shape, and the box of a subindex reference within the super block."""

    def __init__(self, array: Array, key: Key, labels: list[Label], shape: tuple[int, ...], box: tuple[slice, ...] | None) -> None:
        self.array, self.key, self.labels, self.shape, self.box = array, key, labels, shape, box

    @property
    def all_simple(self) -> bool:
        return all(simple for _, simple in self.labels)

    def text(self) -> str:
        numbers = ",".join(f"{k[0]}.{k[1]}" if isinstance(k, tuple) else str(k) for k in self.key)
        return f"{self.array.name}[{numbers}]"


def strip(expr: Json) -> Json:
    while expr["kind"] == "Paren":
        expr = expr["inner"]
    return expr


def resolved(module: Module, block: Json) -> tuple[Array, list[Label], list[tuple[Any, Any]]]:
    """(array, labels, (dimension, index) pairs) of a block as written: names mean the same each time, so they are looked up once."""
    known = module.resolved.get(id(block))
    if known is None:
        array = module.find(block["array"])
        indices = [module.find(written["name"]) for written in block["indices"]]
        labels = [(index, written["as_simple"] or index.simple) for index, written in zip(indices, block["indices"])]
        known = module.resolved[id(block)] = array, labels, list(zip(array.dims, indices))
    return known


def reference(module: Module, block: Json) -> Reference:
    array, labels, pairs = resolved(module, block)
    key, shape, box = [], [], []
    partial = False
    for dim, index in pairs:
        number = index.value
        if number is None:
            raise LanguageError("unbound", f"index `{index.name}` has no value")
        if index.kind == "subindex" and dim.kind == "index":
            partial = True
            first, extent = index.bounds()
            number = index.parent.value
            box.append(slice(first, first + extent))
            shape.append(extent)
        elif index.kind == "subindex":
            number = (index.parent.value, index.value)
            box.append(slice(None))
            shape.append(index.bounds()[1])
        else:
            if not dim.lo <= number <= dim.hi:
                raise LanguageError("range", f"segment {number} of `{array.name}` is outside {dim.lo}:{dim.hi}")
            box.append(slice(None))
            shape.append(dim.extent(number))
        key.append(number)
    return Reference(array, tuple(key), labels, tuple(shape), tuple(box) if partial else None)


def super_shape(ref: Reference) -> tuple[int, ...]:
    """Shape of the whole block that the reference is (a part of)."""
    return tuple(extent if isinstance(n, tuple) else dim.extent(n) for dim, n, extent in zip(ref.array.dims, ref.key, ref.shape))


def static_view(array: Array, key: Sequence[Any]) -> Block:
    return array.dense[tuple(slice(d.offset(n), d.offset(n) + d.extent(n)) for d, n in zip(array.dims, key))]


def stored(ref: Reference) -> Block | None:
    """The whole stored block, or None."""
    if ref.array.array_kind == "static":
        return static_view(ref.array, ref.key)
    if ref.array.contiguous:
        raise LanguageError("region", f"`{ref.array.name}` is contiguous: only regions of it can be used")
    return ref.array.private.get(ref.key, ref.array.blocks.get(ref.key))


def readable(ref: Reference) -> Block:
    block = stored(ref)
    if block is None:
        raise LanguageError("absent", f"block {ref.text()} does not exist here")
    return block if ref.box is None else block[ref.box]


def region_view(machine: Machine, module: Module, region: Json, line: int | None = None) -> tuple[Array, Ranges, Block]:
    array = module.find(region["array"])
    ranges = [(number(machine, module, r["lo"]), number(machine, module, r["hi"])) for r in region["ranges"]]
    for (lo, hi), dim in zip(ranges, array.dims):
        if lo > hi or lo < dim.lo or hi > dim.hi:
            raise LanguageError("region", f"{lo}:{hi} is not inside the declared range of `{array.name}`", line)
    for outer, data in array.regions.items():
        if all(a <= lo and hi <= b for (lo, hi), (a, b) in zip(ranges, outer)):
            box = tuple(slice(dim.offset(lo) - dim.offset(a), dim.offset(hi + 1) - dim.offset(a))
                        for dim, (lo, hi), (a, _) in zip(array.dims, ranges, outer))
            return array, ranges, data[box]
    raise LanguageError("region", f"no allocated region of `{array.name}` contains {ranges}", line)


def contract(machine: Machine, left: list[Label], a: Block, right: list[Label], b: Block) -> tuple[list[Label], Block]:
    """Free labels and values of the contraction of two blocks."""
    if machine.exact_limit and a.size and b.size:
        machine.check_exact(np.abs(a).max() * np.abs(b).max() * max(a.size, b.size))
    letters: dict[Label, str] = {}
    for label in left + right:
        letters.setdefault(label, chr(ord("a") + len(letters)))
    free = [x for x in left if x not in right] + [x for x in right if x not in left]
    spell = lambda labels: "".join(letters[x] for x in labels)
    return free, np.einsum(f"{spell(left)},{spell(right)}->{spell(free)}", a, b)


def permuted(labels: list[Label], values: Block, order: list[Label]) -> Block:
    return np.transpose(values, [labels.index(x) for x in order])


def is_block_product(machine: Machine, module: Module, expr: Json) -> tuple[Json, Json] | None:
    """A product of two block references: (left, right), or None."""
    if expr["kind"] == "Binary" and expr["op"] in ("*", "^"):
        left, right = strip(expr["left"]), strip(expr["right"])
        if left["kind"] == "Block" and right["kind"] == "Block":
            return left, right
    return None


def number(machine: Machine, module: Module, expr: Json) -> Any:
    """Value of an int (Python int) or scalar (Python float) expression."""
    kind = expr["kind"]
    if kind == "IntLit":
        return check_int(expr["value"])
    if kind == "RealLit":
        return float(expr["value"])
    if kind == "Paren":
        return number(machine, module, expr["inner"])
    if kind == "Name":
        entity = module.find(expr["name"])
        if entity.value is None:
            raise LanguageError("unbound", f"index `{entity.name}` has no value")
        return entity.value
    if kind == "Block":
        ref = reference(module, expr)
        if not ref.all_simple:
            raise LanguageError("type", f"{ref.text()} is not a single number")
        return float(readable(ref).reshape(-1)[0])
    if kind == "Unary":
        value = number(machine, module, expr["operand"])
        if expr["op"] == "-":
            return check_int(-value) if isinstance(value, int) else -value
        if value < 0.0:
            raise LanguageError("domain", f"sqrt of {value}")
        return math.sqrt(value)
    if kind == "Cast":
        value = number(machine, module, expr["operand"])
        if expr["type"] == "scalar":
            return float(value)
        if expr["type"] == "int" and isinstance(value, float):
            if math.isnan(value) or math.isinf(value):
                raise LanguageError("overflow", f"(int) of {value}")
            return check_int(round(value))
        return value
    product = is_block_product(machine, module, expr)
    if product:
        left, right = (reference(module, x) for x in product)
        if set(left.labels) == set(right.labels):
            return float(contract(machine, left.labels, readable(left), right.labels, readable(right))[1])
    return arithmetic(expr["op"], number(machine, module, expr["left"]), number(machine, module, expr["right"]))


def arithmetic(op: str, a: Any, b: Any) -> Any:
    integers = isinstance(a, int)
    if op == "+":
        result = a + b
    elif op == "-":
        result = a - b
    elif op in ("*", "^"):
        result = a * b
    elif op == "/":
        if b == 0:
            raise LanguageError("division", "division by zero")
        if not integers:
            return a / b
        result = abs(a) // abs(b)
        result = result if (a < 0) == (b < 0) else -result
    else:
        try:
            result = math.pow(a, b)
        except (ValueError, OverflowError) as e:
            raise LanguageError("domain", f"{a} ** {b}: {e}") from None
        return result
    return check_int(result) if integers else result


def relation(machine: Machine, module: Module, rel: Json) -> bool:
    return COMPARE[rel["op"]](number(machine, module, rel["left"]), number(machine, module, rel["right"]))


def trailing_simple(left: list[Label], right: list[Label]) -> bool:
    """The lists agree but for simple indices at the end of one of them."""
    n = min(len(left), len(right))
    return left[:n] == right[:n] and all(simple for _, simple in left[n:] + right[n:])


def block_value(machine: Machine, module: Module, expr: Json, lhs: Reference) -> Block | float:
    """The right side of an assignment to block `lhs`: an array of its shape, or a float to be used for every element."""
    kind = expr["kind"]
    labels = lhs.labels
    if kind == "Block":
        ref = reference(module, expr)
        if set(ref.labels) == set(labels) and len(set(labels)) == len(labels) == len(ref.labels):
            return permuted(ref.labels, readable(ref), labels).copy()
        if ref.labels == labels or trailing_simple(labels, ref.labels):
            return readable(ref).reshape(lhs.shape, order="F").copy()
        if ref.all_simple:
            return number(machine, module, expr)
        if set(labels) <= set(ref.labels):  # repeated names on the left: a flat copy
            values = readable(ref)
            if values.shape != lhs.shape:
                raise LanguageError("shape", f"{ref.text()} has shape {values.shape}, the target {lhs.shape}")
            return values.copy()
        raise LanguageError("labels", f"indices of {ref.text()} do not fit the target")
    if kind == "Region":
        _, _, values = region_view(machine, module, expr)
        if values.shape != lhs.shape:
            raise LanguageError("shape", f"the region has shape {values.shape}, the block {lhs.shape}")
        return values.copy()
    if kind == "Binary" and expr["op"] in ("+", "-", "*", "^"):
        left, right = strip(expr["left"]), strip(expr["right"])
        refs: list[Any] = [reference(module, x) if x["kind"] == "Block" else None for x in (left, right)]
        if expr["op"] in ("+", "-") and all(refs) and all(set(r.labels) == set(labels) for r in refs):
            a, b = (permuted(r.labels, readable(r), labels) for r in refs)
            return a + b if expr["op"] == "+" else a - b
        if expr["op"] in ("*", "^") and all(refs):
            free, values = contract(machine, refs[0].labels, readable(refs[0]), refs[1].labels, readable(refs[1]))
            if not free:
                return float(values)
            if set(free) == set(labels) and len(labels) == len(free):
                return permuted(free, values, labels)
            raise LanguageError("labels", "the product's free indices are not those of the target")
        if expr["op"] == "*" and any(refs):
            ref, factor = (refs[0], right) if refs[0] else (refs[1], left)
            if ref.labels == labels:
                return readable(ref) * number(machine, module, factor)
    return number(machine, module, expr)
