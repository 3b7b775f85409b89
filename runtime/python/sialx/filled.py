"""Arrays whose values a function makes: fill()."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .doubles import doubles

if TYPE_CHECKING:
    from numpy.typing import NDArray


class fill:
    """An array for `arrays=` whose values are made when they are needed, part by part: no rank ever holds the whole of a distributed or served one.

    function(i, j, ...): gets an integer array per index, which count from 0 and have one dimension each that is longer than 1, as those of
    `np.ogrid`; gives the values, or what NumPy broadcasts to the part. It is called by each rank for the parts that it brings in, any number of
    times and in any order, and must give the same value for the same indices everywhere. shape: of the whole array, in the order of the program.

        arrays={"h": sialx.fill(lambda i, j: 1.0 / (i + j + 1), (n, n))}
    """

    def __init__(self, function: Callable[..., Any], shape: Sequence[int] | int) -> None:
        if not callable(function):
            raise TypeError("fill takes a function of indices, and the shape of the array")
        self.function = function
        self.shape: tuple[int, ...] = tuple(int(n) for n in ((shape,) if isinstance(shape, (int, np.integer)) else shape))
        if any(n < 0 for n in self.shape):
            raise ValueError(f"{self.shape} is no shape")

    def part(self, first: Sequence[int], count: Sequence[int]) -> NDArray[np.float64]:
        """`count` elements in each direction from `first` on; the first index is the fastest in memory."""
        ndim = len(count)
        grid = [np.arange(f, f + n).reshape([-1 if e == d else 1 for e in range(ndim)]) for d, (f, n) in enumerate(zip(first, count))]
        values = doubles("what the function of an array gives", self.function(*grid))
        try:
            whole = np.broadcast_to(values, tuple(count))
        except ValueError:
            raise ValueError(f"the function of an array gives values of shape {values.shape} for a part of shape {tuple(count)}") from None
        return np.asfortranarray(whole)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.asarray(self.part([0] * len(self.shape), self.shape), dtype=dtype)

    def __repr__(self) -> str:
        return f"<array of shape {self.shape}, filled by {getattr(self.function, '__name__', self.function)!s}>"
