"""What a run leaves: results.h5 and run.json. Arrays come with their indices in the order of the SIAL program."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, TypeVar

import h5py
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Number = TypeVar("_Number", bound=float)

# Labels are any text; HDF5 names may not hold a slash, and sialx keeps dots for blocks.


def _encode(name: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in "/%." or ord(c) < 32 or ord(c) == 127 else c for c in name) or "%"


def _decode(name: str) -> str:
    return "" if name == "%" else re.sub("%([0-9A-F]{2})", lambda m: chr(int(m.group(1), 16)), name)


class UnknownName(KeyError):
    """A result that is not there. Says which names are close, and which there are."""

    def __init__(self, name: str, names: Collection[str], kind: str) -> None:
        close = difflib.get_close_matches(str(name), names, n=3)
        listed = ", ".join(sorted(names)[:40]) + (", ..." if len(names) > 40 else "")
        hint = f" (did you mean {' or '.join(f'`{c}`' for c in close)}?)" if close else ""
        super().__init__(f"{kind} `{name}` is not there{hint}; there are: {listed or 'none'}")
        self._made_of = (name, list(names), kind)

    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, list[str], str]]:
        return UnknownName, self._made_of

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError shows it as a quoted literal


class Numbers(Dict[str, _Number]):
    """Results by name. A name that is not there is an UnknownName."""

    def __init__(self, kind: str, items: Mapping[str, _Number] | None = None) -> None:
        super().__init__(items or {})
        self.kind = kind

    def __missing__(self, name: str) -> _Number:
        raise UnknownName(name, list(self), self.kind)

    def __reduce__(self) -> tuple[type[Numbers[_Number]], tuple[str, dict[str, _Number]]]:
        return Numbers, (self.kind, dict(self))


class Results:
    """Results of the run in `folder` (or of the results file given). `text` is what the programs printed, when known.

    Numbers and arrays are in the units of their program: atomic units (hartree, bohr) throughout sialx, as `about["units"]` says.
    `molecule` has symbols, coordinates of shape (atoms, 3) in bohr, nuclear charges of shape (atoms,), charge, multiplicity and basis.
    """

    path: Path
    run_json_path: Path
    text: str | None
    scalars: Numbers[float]
    ints: Numbers[int]
    saved_scalars: Numbers[float]
    static_names: list[str]
    saved_static_labels: list[str]
    saved_array_labels: list[str]
    about: dict[str, Any]
    programs: list[str]
    molecule: dict[str, Any] | None

    def __init__(self, folder: str | os.PathLike[str] = ".", text: str | None = None, results: str = "results.h5", run_json: str = "run.json") -> None:
        folder = Path(folder)
        self.path = folder if folder.is_file() else folder / results
        self.run_json_path = self.path.parent / run_json
        self.text = text
        if not self.path.is_file():
            raise FileNotFoundError(f"there is no results file `{self.path}`: did the run finish, and without --results none?")
        with h5py.File(self.path, "r") as f:
            self.scalars = self._numbers(f, "scalars", float, "the scalar")
            self.ints = self._numbers(f, "ints", int, "the int")
            self.saved_scalars = self._numbers(f, "saved/scalars", float, "the saved scalar")
            self.static_names = self._names(f, "statics")
            self.saved_static_labels = self._names(f, "saved/statics")
            self.saved_array_labels = self._names(f, "saved/arrays")
            self.about = self._attributes(f)  # version, date, units; nothing in files of format 1
            self.programs = sorted(f.get("programs", ()), key=lambda name: int(name.split("_")[0]))
            self.molecule = self._molecule(f)

    def static(self, name: str) -> NDArray[np.float64]:
        """A static array at the end of the last program that has it: shape (extent of i, extent of j, ...) for x[i,j,...]."""
        return self._dataset("statics", name, self.static_names, "the static array")

    def saved_static(self, label: str) -> NDArray[np.float64]:
        """A static array that set_persistent saved: shape as of `static`."""
        return self._dataset("saved/statics", label, self.saved_static_labels, "the saved static array")

    def saved_array(self, label: str) -> NDArray[np.float64]:
        """A distributed or served array that set_persistent saved: shape as of `static`; blocks never written are zero."""
        self._known(label, self.saved_array_labels, "the saved array")
        with h5py.File(self.path, "r") as f:
            item = f["saved/arrays"][_encode(label)]
            if isinstance(item, h5py.Dataset):
                return np.asfortranarray(item[()].T)
            first = [int(n) for n in item.attrs["first_segment"]]
            extents = self._extents(item)
            starts = [np.concatenate([[0], np.cumsum(e)]) for e in extents]
            whole = np.zeros([int(s[-1]) for s in starts], order="F")
            for name in item:
                at = [int(n) - f0 for n, f0 in zip(name.split("."), first)]
                where = tuple(slice(int(s[k]), int(s[k + 1])) for s, k in zip(starts, at))
                whole[where] = item[name][()].T
            return whole

    def segments(self, label: str) -> list[list[int]]:
        """Extents of all segments of a saved array, a list per dimension."""
        self._known(label, self.saved_array_labels, "the saved array")
        with h5py.File(self.path, "r") as f:
            return self._extents(f["saved/arrays"][_encode(label)])

    def indices(self, label: str) -> list[str] | None:
        """Names of the indices of a saved array, as its program declared it; None where the file does not say."""
        self._known(label, self.saved_array_labels, "the saved array")
        with h5py.File(self.path, "r") as f:
            names = self._attributes(f["saved/arrays"][_encode(label)]).get("indices")
            return names.split(",") if names else None

    def program(self, name: str) -> dict[str, int | float | NDArray[np.float64]]:
        """Every scalar, int and static array at the end of one of `programs`, by name."""
        self._known(name, self.programs, "the program")
        with h5py.File(self.path, "r") as f:
            items = {_decode(item): values[()] for item, values in f["programs"][name].items()}
        return {item: values.item() if values.ndim == 0 else np.asfortranarray(values.T) for item, values in items.items()}

    @property
    def statistics(self) -> dict[str, Any]:
        """run.json as a dictionary; times in seconds, sizes in bytes."""
        with open(self.run_json_path) as f:
            read: dict[str, Any] = json.load(f)
        return read

    def costs(self, n: int = 10) -> list[tuple[float, int, str]]:
        """The n dearest lines: (seconds, executions, "file:line"), dearest first."""
        lines = sorted(self.statistics["lines"], key=lambda row: -row["seconds"])[:n]
        return [(row["seconds"], row["executions"], f"{row['file']}:{row['line']}") for row in lines]

    @staticmethod
    def _attributes(item: h5py.HLObject) -> dict[str, Any]:
        return {name: value.decode() if isinstance(value, bytes) else value for name, value in item.attrs.items()}

    @classmethod
    def _molecule(cls, f: h5py.File) -> dict[str, Any] | None:
        """Symbols, coordinates in bohr, nuclear charges, charge, multiplicity, basis; None without a molecule."""
        if "molecule" not in f:
            return None
        group = f["molecule"]
        symbols = [symbol.decode() for symbol in group["symbols"][()]]
        return {"symbols": symbols, "coordinates": group["coordinates"][()], "charges": group["charges"][()], **cls._attributes(group)}

    @staticmethod
    def _extents(item: h5py.HLObject) -> list[list[int]]:
        counts = [int(n) for n in item.attrs["n_segments"]]
        ends = np.cumsum(counts)[:-1]
        return [[int(x) for x in part] for part in np.split(np.asarray(item.attrs["segment_extents"]), ends)]

    @staticmethod
    def _numbers(f: h5py.File, group: str, convert: Callable[[Any], _Number], kind: str) -> Numbers[_Number]:
        return Numbers(kind, {_decode(name): convert(item[()]) for name, item in f[group].items()} if group in f else {})

    @staticmethod
    def _names(f: h5py.File, group: str) -> list[str]:
        return sorted(map(_decode, f.get(group, ())))

    @staticmethod
    def _known(name: str, names: Collection[str], kind: str) -> None:
        if name not in names:
            raise UnknownName(name, names, kind)

    def _dataset(self, group: str, name: str, names: Collection[str], kind: str) -> NDArray[np.float64]:
        self._known(name, names, kind)
        with h5py.File(self.path, "r") as f:
            return np.asfortranarray(f[group][_encode(name)][()].T)
