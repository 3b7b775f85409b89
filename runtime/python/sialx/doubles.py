"""Values of a caller as the float64 that programs compute with, or an error where they are none: doubles()."""

from __future__ import annotations

import decimal
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST = 2**53 - 1  # doubles hold all integers up to it
_OTHER_KINDS = {"M": "dates", "m": "differences of times", "U": "texts", "S": "texts", "T": "texts", "V": "records"}


def doubles(name: str, values: Any) -> NDArray[np.float64]:
    """The values of `name`, as `arrays["h"]`. What is no real number, and integers that would be rounded, are a ValueError."""
    if np.ma.is_masked(values):
        place = tuple(int(i) for i in np.argwhere(np.ma.getmaskarray(values))[0])
        raise ValueError(f"{name} has masked elements, the first at {list(place)}, and programs have no value for them: give `.filled(...)` with the value that is meant")
    given = np.asarray(values)
    kind = given.dtype.kind
    if kind == "c":
        raise ValueError(f"{name} is complex, and programs compute with real numbers: give `.real` and `.imag` as two arrays")
    if kind in _OTHER_KINDS:
        raise ValueError(f"{name} holds {_OTHER_KINDS[kind]}, and programs compute with real numbers: give numbers, in atomic units")
    if kind == "O":
        for place, value in np.ndenumerate(given):
            if not isinstance(value, (numbers.Real, decimal.Decimal)):
                raise ValueError(f"{name} holds {value!r} at {list(place)}, which is no real number: give an array of float64")
    if kind == "O" or (kind in "iu" and given.dtype.itemsize == 8):
        whole = given if kind != "O" else np.where(np.frompyfunc(lambda x: isinstance(x, numbers.Integral), 1, 1)(given).astype(bool), given, 0)
        wide = np.argwhere((whole > _MOST) | (whole < -_MOST))
        if wide.size:
            place = tuple(int(i) for i in wide[0])
            raise ValueError(
                f"{name} holds {given[place]} at {list(place)}, and integers of 2^53 and more are not exact in programs: "
                "give the array as float64, if its values may be rounded"
            )
    return np.asarray(given, dtype=np.float64)
