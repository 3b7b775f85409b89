"""Values of a caller as the float64 that programs compute with, or an error where they are none: doubles()."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST = 2**53 - 1  # doubles hold all integers up to it


def doubles(name: str, values: Any) -> NDArray[np.float64]:
    """The values of `arrays[name]`. Complex numbers and integers that would be rounded are a ValueError."""
    given = np.asarray(values)
    if given.dtype.kind == "c":
        raise ValueError(f'arrays["{name}"] is complex, and programs compute with real numbers: give `.real` and `.imag` as two arrays')
    if given.dtype.kind in "iu" and given.dtype.itemsize == 8:
        wide = np.argwhere((given > _MOST) | (given < -_MOST))
        if wide.size:
            place = tuple(int(i) for i in wide[0])
            raise ValueError(
                f'arrays["{name}"] holds {given[place]} at {list(place)}, and integers of 2^53 and more are not exact in programs: '
                "give the array as float64, if its values may be rounded"
            )
    return np.asarray(given, dtype=np.float64)
