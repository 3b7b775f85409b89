"""What a run leaves: results.h5 and run.json. Arrays come with their indices in the order of the SIAL program."""

from __future__ import annotations

import difflib
import html
import json
import math
import operator
import os
import re
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping
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


class SavedArray:
    """A distributed or served array in a results file. Only what is asked for is read: `results.arrays["t2"][0:10, :]`, `np.asarray(results.arrays["t2"])`.

    Indices are in the order of the SIAL program, and an element that no block holds is zero. `segments` has the extents of all segments, a list per dimension;
    `indices` the names of the indices as the program declares them, None where the file does not say.
    """

    shape: tuple[int, ...]
    segments: list[list[int]]
    indices: list[str] | None
    dtype = np.dtype(np.float64)

    def __init__(self, path: Path, label: str) -> None:
        self._path, self._place, self.label = path, f"saved/arrays/{_encode(label)}", label
        with h5py.File(path, "r") as f:
            item = f[self._place]
            counts = [int(n) for n in item.attrs["n_segments"]]
            ends = np.cumsum(counts)[:-1]
            self.segments = [[int(x) for x in part] for part in np.split(np.asarray(item.attrs["segment_extents"]), ends)]
            names = item.attrs.get("indices")
            self.indices = (names.decode() if isinstance(names, bytes) else str(names)).split(",") if names else None
        self.shape = tuple(sum(extents) for extents in self.segments)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Of all elements."""
        return 8 * math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """Integers, slices with a step of 1 or more, and `...`, as of a NumPy array."""
        where, squeezed = self._box(key)
        with h5py.File(self._path, "r") as f:
            item = f[self._place]
            if isinstance(item, h5py.Dataset):
                values = np.asfortranarray(item[tuple(reversed(where))].T)
            else:
                values = self._of_blocks(item, where)
        for axis in reversed(squeezed):
            values = np.take(values, 0, axis=axis)
        return values if values.ndim else values.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("an array of a file cannot be had without a copy")
        return np.asarray(self[...], dtype=dtype)

    def __repr__(self) -> str:
        names = f"[{','.join(self.indices)}]" if self.indices else ""
        return f"<array {self.label}{names} of shape {self.shape} in {self._path}, {self.nbytes / 1e6:.1f} MB; [...] reads it>"

    def _box(self, key: Any) -> tuple[list[slice], list[int]]:
        """A slice per dimension, and the dimensions that an integer picks from."""
        keys = list(key) if isinstance(key, tuple) else [key]
        if sum(k is Ellipsis for k in keys) > 1:
            raise IndexError("only one `...`")
        if not any(k is Ellipsis for k in keys):
            keys.append(Ellipsis)
        at = next(i for i, k in enumerate(keys) if k is Ellipsis)
        keys[at:at + 1] = [slice(None)] * (self.ndim - len(keys) + 1)
        if len(keys) != self.ndim:
            raise IndexError(f"`{self.label}` has {self.ndim} dimensions, and {len(keys)} are indexed")
        where, squeezed = [], []
        for axis, (k, extent) in enumerate(zip(keys, self.shape)):
            if isinstance(k, slice):
                start, stop, step = k.indices(extent)
                if step < 1:
                    raise IndexError("slices need a step of 1 or more: read the part, and turn it around")
                where.append(slice(start, max(start, stop), step))
                continue
            number = operator.index(k)
            if not -extent <= number < extent:
                raise IndexError(f"{number} is out of bounds for dimension {axis} of `{self.label}`, of extent {extent}")
            where.append(slice(number % extent, number % extent + 1, 1))
            squeezed.append(axis)
        return where, squeezed

    def _of_blocks(self, group: h5py.Group, where: list[slice]) -> NDArray[np.float64]:
        """Out of a dataset per block."""
        first = [int(n) for n in group.attrs["first_segment"]]
        starts = [np.concatenate([[0], np.cumsum(e)]) for e in self.segments]
        box = [(w.start, w.stop) for w in where]
        whole = np.zeros([stop - start for start, stop in box], order="F")
        for name in group:
            at = [int(n) - f0 for n, f0 in zip(name.split("."), first)]
            begins = [int(s[k]) for s, k in zip(starts, at)]
            ends = [int(s[k + 1]) for s, k in zip(starts, at)]
            low = [max(b, start) for b, (start, _) in zip(begins, box)]
            high = [min(e, stop) for e, (_, stop) in zip(ends, box)]
            if any(lo >= hi for lo, hi in zip(low, high)):
                continue
            from_block = tuple(slice(lo - b, hi - b) for lo, hi, b in zip(low, high, begins))
            whole[tuple(slice(lo - start, hi - start) for lo, hi, (start, _) in zip(low, high, box))] = group[name][tuple(reversed(from_block))].T
        return np.asfortranarray(whole[tuple(slice(None, None, w.step) for w in where)])


class SavedArrays(Mapping[str, SavedArray]):
    """Distributed and served arrays of a results file, by label. A name that is not there is an UnknownName."""

    def __init__(self, path: Path, labels: list[str]) -> None:
        self._path, self._labels = path, labels

    def __getitem__(self, label: str) -> SavedArray:
        if label not in self._labels:
            raise UnknownName(label, self._labels, "the saved array")
        return SavedArray(self._path, label)

    def __iter__(self) -> Iterator[str]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def __repr__(self) -> str:
        return "\n".join(repr(self[label]) for label in self) or "no saved arrays"


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

    @property
    def arrays(self) -> SavedArrays:
        """Distributed and served arrays that set_persistent saved, or that the job asked for (`save=`), by label."""
        return SavedArrays(self.path, self.saved_array_labels)

    def saved_array(self, label: str) -> NDArray[np.float64]:
        """The whole of one of `arrays`: shape as of `static`; blocks never written are zero."""
        whole: NDArray[np.float64] = self.arrays[label][...]
        return whole

    def segments(self, label: str) -> list[list[int]]:
        """Extents of all segments of a saved array, a list per dimension."""
        return self.arrays[label].segments

    def indices(self, label: str) -> list[str] | None:
        """Names of the indices of a saved array, as its program declared it; None where the file does not say."""
        return self.arrays[label].indices

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

    def report(self, *options: str, sialreport: str | os.PathLike[str] | None = None) -> str:
        """The optimisation report, `sialreport run.json OPTIONS`: where time went, what was optimised, what was missed and why."""
        from .job import program_path

        done = subprocess.run([program_path(sialreport, "sialreport"), str(self.run_json_path.resolve()), *options], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return done.stdout

    def __repr__(self) -> str:
        return f"<Results in {self.path}: {', '.join(f'{name} = {value!r}' for name, value in self._listed()) or 'no numbers'}>"

    def _repr_html_(self) -> str:
        rows = [(name, repr(value)) for name, value in self._listed()]
        rows += [(f"{name} (static)", "x".join(map(str, self.static_shape(name)))) for name in self.static_names]
        rows += [(label, repr(array)) for label, array in self.arrays.items()]
        cells = "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(text)}</td></tr>" for name, text in rows)
        return f"<table><caption>{html.escape(str(self.path))}</caption>{cells}</table>"

    def static_shape(self, name: str) -> tuple[int, ...]:
        """Of a static array, without reading it."""
        self._known(name, self.static_names, "the static array")
        with h5py.File(self.path, "r") as f:
            return tuple(reversed(f["statics"][_encode(name)].shape))

    def _listed(self) -> list[tuple[str, int | float]]:
        return [*self.scalars.items(), *self.ints.items()]

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
