"""The few super instructions that tests of the language need. Arguments are flat views in memory order, or scalar cells."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from model import Block, Scalar


class Cell:
    """A scalar argument."""

    def __init__(self, entity: Scalar) -> None:
        self.entity = entity

    def get(self) -> float:
        return self.entity.value

    def set(self, value: float) -> None:
        self.entity.value = float(value)


class View:
    """A block, region or static argument."""

    def __init__(self, values: Block) -> None:
        self.values = values

    def get(self) -> float:
        return float(self.values.flatten(order="F")[-1])

    def set(self, value: float) -> None:
        self.values[...] = value


class Literal:
    def __init__(self, value: float) -> None:
        self.value = value

    def get(self) -> float:
        return self.value


def fill(argument: Cell | View, values: Callable[[int], list[float]]) -> None:
    if isinstance(argument, Cell):
        argument.set(values(1)[0])
    else:
        shape = argument.values.shape
        argument.values[...] = np.array(values(argument.values.size), dtype=float).reshape(shape, order="F")


def sequential(start: float, n: int) -> list[float]:
    counter, out = np.float32(start), []
    for _ in range(n):
        out.append(float(counter))
        counter = np.float32(counter + np.float32(1.0))
    return out


def cyclic(start: float, n: int) -> list[float]:
    counter, out = np.float32(start), []
    for _ in range(n):
        out.append(float(counter))
        counter = np.float32(1.0) if counter == 20 else np.float32(counter + np.float32(1.0))
    return out


def check_dconf(block: View, result: Cell) -> None:
    result.set(float(np.max(np.abs(block.values))) if block.values.size else 0.0)


def swap(a: View, b: View) -> None:
    kept = a.values.copy()
    a.values[...] = b.values
    b.values[...] = kept


TABLE: dict[str, Callable[..., Any]] = {
    "fill_block_sequential": lambda block, start: fill(block, lambda n: sequential(start.get(), n)),
    "fill_block_cyclic": lambda block, start: fill(block, lambda n: cyclic(start.get(), n)),
    "get_my_rank": lambda rank: rank.set(0.0),
    "return_sval": lambda block, value: value.set(block.get()),
    "one_arg_no_op": lambda block: None,
    "check_dconf": check_dconf,
    "swap_blocks": swap,
    "get_first_block_element": lambda block, value: value.set(block.values.flatten(order="F")[0]),
}
