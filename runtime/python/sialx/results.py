"""What a run leaves: results.h5 and run.json. Arrays come with their indices in the order of the SIAL program."""

import json
import re
from pathlib import Path

import h5py
import numpy as np

# Labels are any text; HDF5 names may not hold a slash, and sialx keeps dots for blocks.


def _encode(name):
    return "".join(f"%{ord(c):02X}" if c in "/%." else c for c in name) or "%"


def _decode(name):
    return "" if name == "%" else re.sub("%([0-9A-F]{2})", lambda m: chr(int(m.group(1), 16)), name)


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
            self.scalars = self._numbers(f, "scalars", float)
            self.ints = self._numbers(f, "ints", int)
            self.saved_scalars = self._numbers(f, "saved/scalars", float)
            self.static_names = self._names(f, "statics")
            self.saved_static_labels = self._names(f, "saved/statics")
            self.saved_array_labels = self._names(f, "saved/arrays")

    def static(self, name):
        """A static array at the end of the last program that has it."""
        return self._dataset("statics", name, self.static_names)

    def saved_static(self, label):
        """A static array that set_persistent saved."""
        return self._dataset("saved/statics", label, self.saved_static_labels)

    def saved_array(self, label):
        """A distributed or served array that set_persistent saved; blocks never written are zero."""
        self._known(label, self.saved_array_labels)
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
        self._known(label, self.saved_array_labels)
        with h5py.File(self.path, "r") as f:
            return self._extents(f["saved/arrays"][_encode(label)])

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
    def _extents(item):
        counts = [int(n) for n in item.attrs["n_segments"]]
        ends = np.cumsum(counts)[:-1]
        return [[int(x) for x in part] for part in np.split(np.asarray(item.attrs["segment_extents"]), ends)]

    @staticmethod
    def _numbers(f, group, kind):
        return {_decode(name): kind(item[()]) for name, item in f[group].items()} if group in f else {}

    @staticmethod
    def _names(f, group):
        return sorted(map(_decode, f.get(group, ())))

    @staticmethod
    def _known(name, names):
        if name not in names:
            raise KeyError(f"`{name}` is not there; there are: {', '.join(names) or 'none'}")

    def _dataset(self, group, name, names):
        self._known(name, names)
        with h5py.File(self.path, "r") as f:
            return np.asfortranarray(f[group][_encode(name)][()].T)
