"""A job: programs, values, segments, molecule and arrays, written as a folder with job.toml, and run from there."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import h5py
import numpy as np

from . import processes
from .doubles import doubles
from .filled import fill
from .molecule import Molecule
from .plan import Plan
from .programs import bundled
from .results import Results

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    StrPath = Union[str, os.PathLike[str]]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]*\Z")


class JobError(RuntimeError):
    """A run that did not end well; its text is what sialrun wrote to the error stream, after the last line that a program printed which stopped itself.
    `code` is the exit code, `output` what the programs had printed."""

    def __init__(self, code: int, text: str, output: str = "") -> None:
        printed = output.rstrip().rsplit("\n", 1)[-1].strip()
        if printed and "reached a `stop` statement" in text and not text.startswith(printed):
            text = f"{printed}\n{text}"
        super().__init__(text.strip() or f"sialrun ended with exit code {code}")
        self.code = code
        self.output = output

    def __reduce__(self) -> tuple[Any, ...]:
        return JobError, (self.code, str(self), self.output)


class JobWarning(UserWarning):
    """A warning of sialrun or of the compiler in it, for example about an array of the job that no program has."""


class Job:
    """Programs in the order they run (paths as seen from here), and their data.

    values: predefined ints and scalars; the type decides (3 or 3.0). segments: lists of extents, "auto", or targets, as in job.toml.
    arrays: predefined static, distributed and served arrays, NumPy arrays with indices in the order of the SIAL program: x[i,j] there has the shape
    (extent of i, extent of j), each the sum over the index's segments; kept as float64, in the units that the program expects
    (atomic units throughout sialx), or what fill() makes of a function. Arrays over basis functions are in the order of sialx: ao_order() brings those of PySCF into it. restore: results of earlier jobs. memory: per rank, "2GB" or a number of bytes.
    include: folders of imported programs. save: distributed and served arrays that the results are to have, though no program says
    `set_persistent`: `results.arrays["t2"]`. output: the table of job.toml, for example {"dir": "out"}.
    """

    programs: list[StrPath]
    molecule: Molecule | None
    values: dict[str, int | float]
    segments: dict[str, Sequence[int] | int | str]
    arrays: dict[str, NDArray[np.float64] | fill]
    memory: str | int | None
    include: list[StrPath]
    restore: list[StrPath]
    output: dict[str, str]
    save: list[str]

    def __init__(
        self,
        programs: StrPath | Iterable[StrPath],
        molecule: Molecule | None = None,
        values: Mapping[str, int | float] | None = None,
        segments: Mapping[str, Sequence[int] | int | str] | None = None,
        arrays: Mapping[str, ArrayLike | fill] | None = None,
        memory: str | int | None = None,
        include: StrPath | Iterable[StrPath] = (),
        restore: StrPath | Iterable[StrPath] = (),
        output: Mapping[str, str] | None = None,
        save: str | Iterable[str] = (),
    ) -> None:
        self.programs = _paths(programs)
        if not self.programs:
            raise ValueError("a job needs at least one program")
        self.molecule = molecule
        self.values = dict(values or {})
        self.segments = dict(segments or {})
        self.arrays = {name: a if isinstance(a, fill) else doubles(f'arrays["{name}"]', a) for name, a in (arrays or {}).items()}
        self.memory = memory
        self.include = _paths(include)
        self.restore = _paths(restore)
        self.output = dict(output or {})
        self.save = [save] if isinstance(save, str) else list(save)
        for name in [*self.values, *self.arrays, *self.save]:
            if not _NAME.match(name):
                raise ValueError(f"`{name}` is not a name of a SIAL program")

    def write(self, folder: StrPath) -> Path:
        """Writes job.toml and the files it names into `folder` (made when missing) and returns the path of job.toml."""
        return self._write(folder)

    def _write(self, folder: StrPath, stamp: str | None = None) -> Path:
        """stamp: goes into the results, and shows from which run they are."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        top: dict[str, Any] = {"programs": [self._path(p) for p in self.programs]}
        if self.include:
            top["include"] = [self._path(p) for p in self.include]
        if self.memory is not None:
            top["memory"] = self.memory
        tables: dict[str, Mapping[str, Any]] = {"values": self.values, "segments": self.segments, "output": {**self.output, **({"arrays": self.save} if self.save else {}), **({"stamp": stamp} if stamp else {})}}
        if self.molecule is not None:
            tables["molecule"] = self.molecule.write(folder)
        if self.arrays:
            with h5py.File(folder / "arrays.h5", "w") as f:
                for name, a in self.arrays.items():
                    if isinstance(a, fill):
                        _write_filled(f, name, a)
                    else:
                        f.create_dataset(name, data=np.ascontiguousarray(a.T))
            tables["arrays"] = {name: {"file": "arrays.h5", "dataset": name} for name in self.arrays}
        if self.restore:
            tables["restore"] = {"file": [self._path(p) for p in self.restore]}
        lines = [f"{key} = {_toml(value)}" for key, value in top.items()]
        for name, table in tables.items():
            if table:
                lines += ["", f"[{name}]", *(f"{_key(key)} = {_toml(value)}" for key, value in table.items())]
        path = folder / "job.toml"
        path.write_text("\n".join(lines) + "\n")
        return path

    def run(
        self,
        folder: StrPath,
        ranks: int = 1,
        flags: Iterable[object] = (),
        sialrun: StrPath | None = None,
        mpirun: Iterable[str] = ("mpirun", "--bind-to", "none"),
        echo: bool = False,
    ) -> Results:
        """Writes the job into `folder`, runs it there and returns its Results. Raises JobError when the run fails.

        flags: more of sialrun's command line. sialrun: the program; without it $SIALRUN, then the PATH. mpirun: what starts more than one
        rank, before `-n`.
        What the programs print is in the results' `text`; `echo` shows it while it comes. What sialrun writes to the error stream is in the
        folder's messages.txt; its warnings are also given as `JobWarning`s, through Python's `warnings`."""
        if ranks < 1:
            raise ValueError(f"{ranks} ranks cannot run a job")
        stamp = secrets.token_hex(8)
        path = self._write(folder, stamp)
        command = [program_path(sialrun), path.name, *map(str, flags)]
        if ranks > 1:
            command = [*mpirun, "-n", str(ranks), *command]
        with open(Path(folder) / "messages.txt", "w+") as messages:
            done = processes.run(command, folder, messages, (lambda line: print(line, end="", flush=True)) if echo else None)
            messages.seek(0)
            said = messages.read()
        if done.returncode != 0:
            raise JobError(done.returncode, said, done.stdout)
        for warning in _warnings(said):
            warnings.warn(warning, JobWarning, stacklevel=2)
        where = Path(folder) / self.output.get("dir", ".")
        results = Results(where, text=done.stdout, results=self.output.get("results", "results.h5"), run_json=self.output.get("run_json", "run.json"))
        if results.about.get("stamp") != stamp:
            raise JobError(0, f"`{results.path}` was not written by this run: give each run that goes on at the same time a folder of its own, and name results by `output=`, not by `flags=`", done.stdout)
        return results

    def dry_run(self, ranks: int = 1, ranks_per_node: int | None = None, flags: Iterable[object] = (), sialrun: StrPath | None = None) -> Plan:
        """What the job will need on so many ranks: memory and predicted time. Nothing runs, and no file stays. Raises JobError for a job that cannot
        be read."""
        layout = ["--ranks", str(ranks), *(["--ranks-per-node", str(ranks_per_node)] if ranks_per_node else [])]
        with tempfile.TemporaryDirectory(prefix="sialx-") as folder:
            command = [program_path(sialrun), self.write(folder).name, "--dry-run", *layout, *map(str, flags)]
            done = processes.run(command, folder)
        fits = done.returncode == 0
        if not fits and not re.search("^does not fit|^ *peak ", done.stdout, re.M):
            raise JobError(done.returncode, done.stderr)
        return Plan.of(done.stdout, fits)

    def predict(self, ranks: int = 1, ranks_per_node: int | None = None, sialrun: StrPath | None = None) -> float:
        """Predicted seconds of the job on so many ranks of this kind of machine. Raises JobError where there is no prediction."""
        plan = self.dry_run(ranks, ranks_per_node, sialrun=sialrun)
        if plan.seconds is None:
            raise JobError(0, f"there is no prediction for this job:\n{plan.text}")
        return plan.seconds

    @staticmethod
    def _path(p: StrPath) -> str:
        return str(Path(p).resolve())


def _write_filled(file: h5py.File, name: str, array: fill) -> None:
    """In pieces of at most 64 MB, or of one value of the last index."""
    dataset = file.create_dataset(name, shape=array.shape[::-1], dtype=np.float64)
    *others, last = array.shape or (1,)
    step = max(1, (64 << 20) // max(8 * int(np.prod(others)), 1))
    for begin in range(0, last, step):
        n = min(step, last - begin)
        dataset[begin : begin + n] = array.part([0] * len(others) + [begin], [*others, n]).T


def program_path(stated: StrPath | None, name: str = "sialrun") -> str:
    """The program: as stated, $SIALRUN (or what lies beside it), that of the wheel which this package is from, or from the PATH."""
    known = os.environ.get("SIALRUN")
    beside = str(Path(known).with_name(name)) if known else None
    program = stated or beside or bundled(name) or shutil.which(name)
    if not program:
        raise FileNotFoundError(f"{name} is not on the PATH: put the bin folder of the build there, or set SIALRUN to the program")
    return str(Path(program).resolve())


def _paths(given: StrPath | Iterable[StrPath]) -> list[StrPath]:
    """One path, or any number of them."""
    return [given] if isinstance(given, (str, os.PathLike)) else list(given)


def _warnings(text: str) -> list[str]:
    """Each warning with what belongs to it: the indented lines below (its place in the program, its hint), and its notes."""
    found: list[str] = []
    inside = False
    for line in text.splitlines():
        more = line.startswith(" ") or re.match(r"\S+:\d+:\d+: note: ", line) is not None
        inside = re.search(r"(^|: )warning: ", line) is not None or (inside and more)
        if inside and more:
            found[-1] += "\n" + line
        elif inside:
            found.append(line)
    return found


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _toml(value: object) -> str:
    """A value in TOML's words: numbers, texts and paths, tables, lists and arrays of them."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        if not np.isfinite(value):
            raise ValueError(f"{value} cannot be a value of a job")
        text = repr(float(value))
        return text if any(c in text for c in ".e") else text + ".0"
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(str(value), ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    raise TypeError(f"a {type(value).__name__} cannot be a value of a job")
