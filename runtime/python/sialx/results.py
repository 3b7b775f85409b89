"""What a run leaves: results.h5 and run.json. Arrays come with their indices in the order of the SIAL program."""

import difflib
import json
import re
from pathlib import Path

import h5py
import numpy as np

# Labels are any text; HDF5 names may not hold a slash, and sialx keeps dots for blocks.


def _encode(name):
    return "".join(f"%{ord(c):02X}" if c in "/%." or ord(c) < 32 or ord(c) == 127 else c for c in name) or "%"


def _decode(name):
    return "" if name == "%" else re.sub("%([0-9A-F]{2})", lambda m: chr(int(m.group(1), 16)), name)


class UnknownName(KeyError):
    """A result that is not there. Says which names are close, and which there are."""

    def __init__(self, name, names, kind):
        close = difflib.get_close_matches(str(name), names, n=3)
        listed = ", ".join(sorted(names)[:40]) + (", ..." if len(names) > 40 else "")
        hint = f" (did you mean {' or '.join(f'`{c}`' for c in close)}?)" if close else ""
        super().__init__(f"{kind} `{name}` is not there{hint}; there are: {listed or 'none'}")

    def __str__(self):
        return self.args[0]  # KeyError shows it as a quoted literal


class Numbers(dict):
    """Results by name. A name that is not there is an UnknownName."""

    def __init__(self, kind, *args):
        super().__init__(*args)
        self.kind = kind

    def __missing__(self, name):
        raise UnknownName(name, list(self), self.kind)

    def __reduce__(self):
        return Numbers, (self.kind, dict(self))


class Results:
    """Results of the run in `folder` (or of the results file given). `text` is what the programs printed, when known."""

    def __init__(self, folder=".", text=None, results="results.h5", run_json="run.json"):
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

    def static(self, name):
        """A static array at the end of the last program that has it."""
        return self._dataset("statics", name, self.static_names, "the static array")

    def saved_static(self, label):
        """A static array that set_persistent saved."""
        return self._dataset("saved/statics", label, self.saved_static_labels, "the saved static array")

    def saved_array(self, label):
        """A distributed or served array that set_persistent saved; blocks never written are zero."""
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

    def segments(self, label):
        """Extents of all segments of a saved array, a list per dimension."""
        self._known(label, self.saved_array_labels, "the saved array")
        with h5py.File(self.path, "r") as f:
            return self._extents(f["saved/arrays"][_encode(label)])

    def indices(self, label):
        """Names of the indices of a saved array, as its program declared it; None where the file does not say."""
        self._known(label, self.saved_array_labels, "the saved array")
        with h5py.File(self.path, "r") as f:
            names = self._attributes(f["saved/arrays"][_encode(label)]).get("indices")
            return names and names.split(",")

    def program(self, name):
        """Every scalar, int and static array at the end of one of `programs`, by name."""
        self._known(name, self.programs, "the program")
        with h5py.File(self.path, "r") as f:
            items = {_decode(item): values[()] for item, values in f["programs"][name].items()}
        return {item: values.item() if values.ndim == 0 else np.asfortranarray(values.T) for item, values in items.items()}

    @property
    def statistics(self):
        """run.json as a dictionary."""
        with open(self.run_json_path) as f:
            return json.load(f)

    def costs(self, n=10):
        """The n dearest lines: (seconds, executions, "file:line"), dearest first."""
        lines = sorted(self.statistics["lines"], key=lambda row: -row["seconds"])[:n]
        return [(row["seconds"], row["executions"], f"{row['file']}:{row['line']}") for row in lines]

    @staticmethod
    def _attributes(item):
        return {name: value.decode() if isinstance(value, bytes) else value for name, value in item.attrs.items()}

    @classmethod
    def _molecule(cls, f):
        """Symbols, coordinates in bohr, nuclear charges, charge, multiplicity, basis; None without a molecule."""
        if "molecule" not in f:
            return None
        group = f["molecule"]
        symbols = [symbol.decode() for symbol in group["symbols"][()]]
        return {"symbols": symbols, "coordinates": group["coordinates"][()], "charges": group["charges"][()], **cls._attributes(group)}

    @staticmethod
    def _extents(item):
        counts = [int(n) for n in item.attrs["n_segments"]]
        ends = np.cumsum(counts)[:-1]
        return [[int(x) for x in part] for part in np.split(np.asarray(item.attrs["segment_extents"]), ends)]

    @staticmethod
    def _numbers(f, group, convert, kind):
        return Numbers(kind, {_decode(name): convert(item[()]) for name, item in f[group].items()} if group in f else {})

    @staticmethod
    def _names(f, group):
        return sorted(map(_decode, f.get(group, ())))

    @staticmethod
    def _known(name, names, kind):
        if name not in names:
            raise UnknownName(name, names, kind)

    def _dataset(self, group, name, names, kind):
        self._known(name, names, kind)
        with h5py.File(self.path, "r") as f:
            return np.asfortranarray(f[group][_encode(name)][()].T)
