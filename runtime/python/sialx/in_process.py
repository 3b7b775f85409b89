"""SIAL programs inside this process, or inside those of an MPI communicator, without files: run(). See README.md."""

from __future__ import annotations

import html
import importlib.machinery
import importlib.util
import json
import operator
import os
import shutil
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Tuple, Union

import numpy as np

from .doubles import doubles
from .filled import fill
from .job import _NAME, JobError, JobWarning, _key, _toml, _warnings
from .results import Numbers, UnknownName

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    StrPath = Union[str, os.PathLike[str]]

_Raw = Tuple[Tuple[int, ...], Any]  # extents, and a buffer of doubles
_Part = Tuple[Tuple[slice, ...], "NDArray[np.float64]"]


class Diagnostic(dict):  # type: ignore[type-arg]
    """What the compiler says of one place: `code`, `severity`, `message`, `hint`, `file`, `line`, `column`, `endLine`, `endColumn` (exclusive), `notes`.

    As sialc's JSON has it; items are also attributes. Lines and columns count from 1."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class CompileError(JobError):
    """A program that does not compile. Its text is what sialc writes, with the lines of the source; `diagnostics` has it in parts."""

    def __init__(self, text: str, diagnostics: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(1, text)
        self.diagnostics = [Diagnostic(d) for d in diagnostics]

    def __reduce__(self) -> tuple[Any, ...]:
        return CompileError, (str(self), [dict(d) for d in self.diagnostics])


class Arrays(dict):  # type: ignore[type-arg]
    """NumPy arrays by name. A name that is not there is an UnknownName."""

    def __missing__(self, name: str) -> NDArray[np.float64]:
        raise UnknownName(name, list(self), "the array")


@dataclass(frozen=True)
class Progress:
    """How far the loop is that runs. what: which loop. fraction: from 0 to 1. elapsed, left: in seconds; left is None where it is not known."""

    what: str
    fraction: float
    elapsed: float
    left: float | None


@dataclass(repr=False)
class RunResults:
    """What the programs of a run leave.

    scalars, ints: every variable at the end of the last program that has it; saved scalars by their labels as well. static: every static array
    likewise, by name. saved: arrays of any kind that `set_persistent` kept, by label, whole; blocks that were never made are 0. arrays: both of
    them, a saved array where names agree. Indices are in the order of the program, memory has the first index fastest. The arrays are this
    object's own. output: what the programs printed, empty where a callback took it.

    On several ranks scalars, ints and static are every rank's own, which are alike where the program says so; saved and what programs print are
    rank 0's only. parts: of every distributed or served array that is saved the blocks that are this rank's, as (slices, block):
    `whole[slices] = block` on all ranks together gives the array. On one rank that is one part, the array."""

    scalars: Numbers[float]
    ints: Numbers[int]
    static: dict[str, NDArray[np.float64]]
    saved: dict[str, NDArray[np.float64]]
    saved_scalars: Numbers[float]
    arrays: dict[str, NDArray[np.float64]]
    parts: dict[str, list[_Part]]
    output: str

    def __repr__(self) -> str:
        numbers = [f"{name} = {value!r}" for name, value in [*self.scalars.items(), *self.ints.items()]]
        return f"<RunResults: {', '.join(numbers + [self._shape(name) for name in self.arrays]) or 'nothing'}>"

    def _repr_html_(self) -> str:
        rows = [(name, repr(value)) for name, value in [*self.scalars.items(), *self.ints.items()]] + [(name, self._shape(name)) for name in self.arrays]
        return "<table>" + "".join(f"<tr><td>{html.escape(name)}</td><td>{html.escape(text)}</td></tr>" for name, text in rows) + "</table>"

    def _shape(self, name: str) -> str:
        return f"{name}: array of {'x'.join(map(str, self.arrays[name].shape))}"


@dataclass
class _Compiled:
    module: bytes
    warnings: list[str]
    files: list[tuple[str, tuple[int, int, int] | None]]  # that were read, with what tells whether they have changed


_MOST_PROGRAMS = 256  # that are kept compiled
_compiled: dict[tuple[object, ...], _Compiled] = {}
_lock = threading.RLock()
_modules: dict[str, Any] = {}


def _places(name: str) -> list[Path]:
    """Where a compiled module may be: $SIALX_NATIVE (which names _native; the others lie beside it), beside this file, beside the folder of sialrun as it is built and installed."""
    given = os.environ.get("SIALX_NATIVE")
    if given:
        return [Path(given).with_name(Path(given).name.replace("_native", name))]
    folders = [Path(__file__).resolve().parent]
    program = os.environ.get("SIALRUN") or shutil.which("sialrun")
    if program:
        folders.append(Path(program).resolve().parent.parent / "lib" / "sialx")
    return [folder / f"{name}{suffix}" for folder in folders for suffix in importlib.machinery.EXTENSION_SUFFIXES]


def _native(name: str = "_native") -> Any:
    with _lock:
        if name not in _modules:
            places = _places(name)
            found = next((p for p in places if p.is_file()), None)
            if found is None:
                raise ImportError(
                    "the compiled module of sialx.run is missing: build sialx where this Python's headers are (python3-dev), and put the bin folder of "
                    f"the build on the PATH, or set SIALRUN to its sialrun, or SIALX_NATIVE to the module; there is none of {', '.join(map(str, places))}"
                )
            loader = importlib.machinery.ExtensionFileLoader(f"sialx.{name}", str(found))
            spec = importlib.util.spec_from_loader(f"sialx.{name}", loader)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
            os.register_at_fork(before=module.rest)  # the thread that generates code would be missing in the child
            _modules[name] = module
    return _modules[name]


def _native_of(comm: Any) -> Any:
    """The module for the ranks of a communicator of mpi4py, which must be of the MPI that the module is linked with."""
    if comm is None or comm.Get_size() == 1:
        return _native()
    from mpi4py import MPI

    module = _native("_native_mpi")
    ours, theirs = module.mpi(), MPI.Get_library_version()
    if not theirs.replace("\t", " ").startswith(ours):
        raise ImportError(f"sialx is built with {ours}, and mpi4py with {theirs.splitlines()[0]}: build one of them with the MPI of the other")
    return module


def _state_of(path: str) -> tuple[int, int, int] | None:
    try:
        s = os.stat(path)
    except OSError:
        return None
    return (s.st_mtime_ns, s.st_size, s.st_ino)


def _compile(source: StrPath, number: int, several: bool, include: list[str], optimisation: int, saved: tuple[str, ...] = ()) -> tuple[str, _Compiled]:
    """`saved`: arrays that the program keeps at its end, though it does not say so."""
    native = _native()
    is_text = isinstance(source, str) and "\n" in source
    text = str(source) if is_text else None
    name = (f"<text {number}>" if several else "<text>") if is_text else os.fspath(source)
    key = (name, text, tuple(include), optimisation, saved)
    with _lock:
        known = _compiled.get(key)
        if known is not None and all(_state_of(path) == state for path, state in known.files):
            return name, known
        if not is_text and not os.path.isfile(name):
            raise FileNotFoundError(f"there is no program `{name}`: a program is a path, or its text, which has more than one line")
        if name.endswith(".siox"):  # sialc's
            return name, _Compiled(Path(name).read_bytes(), [], [])
        module, said, lines, files = native.compile(name, text, include, optimisation, saved)
        diagnostics = [json.loads(line) for line in lines]
        if not module:
            raise CompileError(said, diagnostics)
        compiled = _Compiled(module, _warnings(said), [(path, _state_of(path)) for path in files])
        if len(_compiled) >= _MOST_PROGRAMS:
            del _compiled[next(iter(_compiled))]
        _compiled[key] = compiled
        return name, compiled


def _segment_option(kind: str, sizes: Sequence[int] | int | str) -> str:
    if isinstance(sizes, (str, int, np.integer)):
        return f"{kind}={sizes}"
    if len(sizes) == 0:
        raise ValueError(f"`{kind}` lists no segments")
    return f"{kind}={','.join(str(operator.index(n)) for n in sizes)}"


def _part_of(array: fill) -> Callable[..., Any]:
    def part(first: Sequence[int], count: Sequence[int]) -> Any:
        return array.part(first, count).reshape(-1, order="F").view(np.uint8)

    return part


def _told(function: Callable[..., Any] | None, comm: Any) -> Callable[..., Any] | None:
    """On several ranks what a function raises ends the process: it is printed before."""
    if function is None or comm is None or comm.Get_size() == 1:
        return function

    def telling(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except BaseException:
            traceback.print_exc()
            raise

    return telling


def _array(raw: _Raw) -> NDArray[np.float64]:
    extents, data = raw
    return np.frombuffer(data, dtype=np.float64).reshape(extents, order="F")


def run(
    source: StrPath | Iterable[StrPath],
    arrays: Mapping[str, ArrayLike | fill] | None = None,
    values: Mapping[str, int | float] | None = None,
    segments: Mapping[str, Sequence[int] | int | str] | None = None,
    memory: str | int | None = None,
    include: StrPath | Iterable[StrPath] = (),
    optimisation: int = 2,
    output: Callable[[str], object] | None = None,
    save: str | Iterable[str] = (),
    progress: Callable[[Progress], object] | None = None,
    comm: Any = None,
) -> RunResults:
    """Compiles SIAL programs and runs them inside this process, or the processes of `comm`. No file is written.

    source: the text of a program (more than one line), the path of one, or a list of these, which run one after the other as those of a job do:
    later ones restore what earlier ones saved. A program that was compiled before with the same options is not compiled again; paths are, when
    the file or one that it imports has changed.
    arrays: for `predefined` static, distributed and served arrays: x[i,j] of the program has the shape (extent of i, extent of j), each the sum
    over the index's segments; basis functions in the order of sialx, see ao_order(). They are copied, as float64; or what fill() makes of a function. values: predefined ints and scalars; the type decides (3 or 3.0). segments: lists of
    extents by kind, `{"ao": [8, 8, 4]}`. memory: of block data, "2GB" or a number of bytes. include: folders of imported programs.
    output: called with what the programs print, piece by piece, instead of keeping it; what it raises ends the run and is raised here.
    save: distributed and served arrays that the results are to have, though no program says `set_persistent`. progress: called twice a second while
    a loop runs that takes longer than a second, with what it has done.
    comm: a communicator of mpi4py. Its ranks run the programs together: all call this with the same programs, values, segments, options, and names
    and shapes of arrays. Of a distributed or served array each rank brings in a share, from its own argument; static ones are every rank's own. output and
    progress are called on rank 0.

    Raises CompileError for programs with errors, JobError for runs that fail (`code` as sialrun's exit code, `output` what was printed), and what a handler of signals
    raises, KeyboardInterrupt for Ctrl-C: the run ends between two statements then. The process can go on in all cases; but an error while several
    ranks run ends all processes, with a message. Warnings of compiler and runtime come as JobWarning.
    """
    sources: list[StrPath] = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if not sources:
        raise ValueError("a run needs at least one program")
    folders = [include] if isinstance(include, (str, os.PathLike)) else list(include)
    saved = (save,) if isinstance(save, str) else tuple(save)
    for name in [*(values or {}), *(arrays or {}), *saved]:
        if not _NAME.match(name):
            raise ValueError(f"`{name}` is not a name of a SIAL program")
    for names in (values or {}, arrays or {}):
        if len({name.lower() for name in names}) < len(names):
            raise ValueError(f"names that differ in upper and lower case only are one: {', '.join(names)}")
    given: list[tuple[str, tuple[int, ...], Any]] = []
    for name, a in (arrays or {}).items():
        if isinstance(a, fill):
            given.append((name.lower(), a.shape, _told(_part_of(a), comm)))
            continue
        data = np.ascontiguousarray(doubles(f'arrays["{name}"]', a).T)
        given.append((name.lower(), data.shape[::-1], data.reshape(-1).view(np.uint8)))
    where = [os.fspath(f) for f in folders]
    programs = [_compile(s, i + 1, len(sources) > 1, where, optimisation) for i, s in enumerate(sources)]
    by_name = {name: (s, i + 1) for i, (s, (name, _)) in enumerate(zip(sources, programs))}

    def recompiled(name: str, names: list[str]) -> bytes:
        s, number = by_name[name]
        return _compile(s, number, len(sources) > 1, where, optimisation, tuple(names))[1].module

    tell = None if progress is None else lambda what, fraction, elapsed, left: progress(Progress(what, fraction, elapsed, left if left >= 0 else None))
    said = [w for _, compiled in programs for w in compiled.warnings]
    code, messages, text, scalars, ints, static, saved_scalars, whole, blocks = _native_of(comm).run(
        [(name, compiled.module) for name, compiled in programs],
        [f"{_key(name)}={_toml(value)}" for name, value in (values or {}).items()],
        [_segment_option(kind, sizes) for kind, sizes in (segments or {}).items()],
        given,
        "" if memory is None else str(memory),
        _told(output, comm),
        _told(tell, comm),
        saved,
        recompiled,
        0 if comm is None else comm.py2f(),
    )
    if comm is not None and code != 0:
        messages = comm.bcast(messages)  # rank 0 says what is wrong
    for warning in said + (_warnings(messages) if code == 0 else []):
        warnings.warn(warning, JobWarning, stacklevel=2)
    if code != 0:
        raise JobError(code, messages, text)
    statics = Arrays({name: _array(raw) for name, raw in static.items()})
    kept = Arrays({label: _array(raw) for label, raw in whole.items()})
    parts: dict[str, list[_Part]] = {}
    for label, items in blocks.items():
        if comm is None or comm.Get_size() == 1:
            parts[label] = [(tuple(slice(0, n) for n in kept[label].shape), kept[label])]
        else:
            parts[label] = [(tuple(slice(f, f + n) for f, n in zip(first, raw[0])), _array(raw)) for first, raw in items]
    return RunResults(
        scalars=Numbers("the scalar", {**scalars, **saved_scalars}),
        ints=Numbers("the int", ints),
        static=statics,
        saved=kept,
        saved_scalars=Numbers("the saved scalar", saved_scalars),
        arrays=Arrays({**statics, **kept}),
        parts=parts,
        output=text,
    )
