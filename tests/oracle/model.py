"""What a program declares and the data a job gives: scopes, entities, segment tables. Written from the language reference."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

KINDS = {"aoindex": "ao", "moindex": "mo", "moaindex": "moa", "mobindex": "mob", "laindex": "la", "index": "simple"}
SUBSEGMENTS = 4
INT_MIN, INT_MAX = -2**31, 2**31 - 1

Json = dict[str, Any]  # a node of the syntax tree
Block: TypeAlias = NDArray[np.float64]
Segment = int | tuple[int, int]  # of an index, or of a subindex: (segment of its parent, subsegment)
Key = tuple[Segment, ...]
Ranges = Sequence[tuple[int, int]]  # first and last segment per dimension


class LanguageError(Exception):
    """An error that the language defines at run time. `kind` is a short word, `line` the statement's line."""

    def __init__(self, kind: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.kind, self.line = kind, line

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.kind}: {self.args[0]}"


def check_int(value: int) -> int:
    if not INT_MIN <= value <= INT_MAX:
        raise LanguageError("overflow", f"{value} does not fit an int")
    return value


class JobData:
    """Initialisation data: values by name, extents per index kind."""

    def __init__(self, values: Mapping[str, str | int | float] | None = None, segments: Mapping[str, Iterable[int]] | None = None) -> None:
        self.values = {k.lower(): v for k, v in (values or {}).items()}
        self.segments = {k.lower(): list(v) for k, v in (segments or {}).items()}

    def integer(self, name: str) -> int:
        if name not in self.values:
            raise LanguageError("missing", f"predefined int `{name}` has no value")
        return check_int(int(self.values[name]))

    def real(self, name: str) -> float:
        if name not in self.values:
            raise LanguageError("missing", f"predefined scalar `{name}` has no value")
        return float(self.values[name])


class Entity:
    def __init__(self, kind: str, name: str, module: Module) -> None:
        self.kind, self.name, self.module = kind, name, module


class Scalar(Entity):
    def __init__(self, name: str, module: Module, value: float) -> None:
        super().__init__("scalar", name, module)
        self.value = value


class Int(Entity):
    def __init__(self, name: str, module: Module, value: int, predefined: bool) -> None:
        super().__init__("int", name, module)
        self.value, self.predefined, self.initial = value, predefined, value


class Index(Entity):
    """`value` is the current segment number, None while no loop binds the index."""

    value: Any

    def __init__(self, name: str, module: Module, segment_kind: str, lo: int, hi: int, data: JobData) -> None:
        super().__init__("index", name, module)
        self.segment_kind, self.lo, self.hi, self.value, self.parent = segment_kind, lo, hi, None, None
        self.simple = segment_kind == "simple"
        self.extents = data.segments.get(segment_kind, [])

    def check_segments(self) -> None:
        """To be called where the range is used: an index that nobody uses may lack segments."""
        if not self.simple and self.lo <= self.hi and (self.lo < 1 or self.hi > len(self.extents)):
            raise LanguageError("segments", f"index `{self.name}` covers {self.lo}:{self.hi}, but `{self.segment_kind}` has {len(self.extents)} segments")

    def layout(self) -> list[int]:
        """Extents over the declared range."""
        return [self.extent(n) for n in range(self.lo, self.hi + 1)]

    def extent(self, segment: int) -> int:
        return 1 if self.simple else self.extents[segment - 1]

    def offset(self, segment: int) -> int:
        """Elements of the declared range before a segment."""
        return segment - self.lo if self.simple else sum(self.extents[self.lo - 1:segment - 1])

    def total(self) -> int:
        self.check_segments()
        return self.offset(self.hi + 1) if self.hi >= self.lo else 0


class Subindex(Entity):
    value: Any

    def __init__(self, name: str, module: Module, parent: Index) -> None:
        super().__init__("subindex", name, module)
        self.parent, self.value, self.simple = parent, None, False

    def bounds(self) -> tuple[int, int]:
        """First element (from 0) and extent of the current subsegment within its parent's current segment."""
        return subsegment(self.parent.extent(self.parent.value), self.value)


def subsegment(extent: int, number: int) -> tuple[int, int]:
    q, r = divmod(extent, SUBSEGMENTS)
    before = (number - 1) * q + min(number - 1, r)
    return before, q + (1 if number <= r else 0)


class Array(Entity):
    """Blocks by key. Temps and fetched remote blocks are in `blocks` as well; `remote` holds what the servers have, `private`
    the copies of remote blocks that the worker has changed since the last barrier; `stale` are those it has put since it got them."""

    blocks: dict[Key, Block]
    remote: dict[Key, Block]
    private: dict[Key, Block]
    regions: dict[tuple[tuple[int, int], ...], Block]
    dense: Any
    stale: set[Key]

    def __init__(self, name: str, module: Module, array_kind: str, contiguous: bool, dims: list[Any], predefined: bool, sparse: bool = False) -> None:
        super().__init__("array", name, module)
        self.array_kind, self.contiguous, self.dims, self.predefined, self.sparse = array_kind, contiguous, dims, predefined, sparse
        self.blocks, self.remote, self.private, self.regions, self.dense, self.stale = {}, {}, {}, {}, None, set()

    def drop_copies(self) -> None:
        for copies in (self.blocks, self.private, self.stale):
            copies.clear()

    @property
    def is_remote(self) -> bool:
        return self.array_kind in ("distributed", "served")


class Named(Entity):
    """Procedures and specials."""

    def __init__(self, kind: str, name: str, module: Module, **fields: Any) -> None:
        super().__init__(kind, name, module)
        self.__dict__.update(fields)


class Module:
    """A program file: its own names, then those of the files it imports directly."""

    def __init__(self, json: Json) -> None:
        self.name, self.file, self.statements = json["name"], json["file"], json["statements"]
        self.import_files = [i["file"] for i in json["imports"]]
        self.own: dict[str, Any] = {}
        self.imports: list[Module] = []
        self.resolved: dict[int, Any] = {}  # by id of a block as written: see expressions.resolved

    def find(self, name: str) -> Any:
        if "." in name:
            owner, simple = name.split(".", 1)
            for module in [self, *self.imports]:
                if module.name == owner:
                    return module.own[simple]
        if name in self.own:
            return self.own[name]
        for module in self.imports:
            if name in module.own:
                return module.own[name]
        raise LanguageError("name", f"`{name}` is not visible in `{self.name}`")


def declare(module: Module, declaration: Json, data: JobData) -> None:
    """One declaration to an entity, entered into the module's scope."""
    kind, name = declaration["kind"], declaration["name"]
    entity: Entity
    if kind == "ScalarDecl":
        value = data.real(name) if declaration["predefined"] else float(declaration["initial"] or 0.0)
        entity = Scalar(name, module, value)
    elif kind == "IntDecl":
        value = data.integer(name) if declaration["predefined"] else int(declaration["initial"] or 0)
        entity = Int(name, module, value, declaration["predefined"])
    elif kind == "IndexDecl":
        def bound(b: str | int) -> int:
            return module.find(b).initial if isinstance(b, str) else b
        entity = Index(name, module, KINDS[declaration["index_kind"]], bound(declaration["lo"]), bound(declaration["hi"]), data)
    elif kind == "SubindexDecl":
        entity = Subindex(name, module, module.find(declaration["parent"]))
    elif kind == "ArrayDecl":
        dims = [module.find(d) for d in declaration["dims"]]
        entity = Array(name, module, declaration["array_kind"], declaration["contiguous"], dims, declaration["predefined"], declaration["sparse"])
    elif kind == "ProcDecl":
        entity = Named("proc", name, module, body=declaration["body"])
    else:
        entity = Named("special", name, module, signature=declaration["signature"] or "")
    module.own[name] = entity


def load(json: Json, data: JobData) -> list[Module]:
    """The modules of a compilation, imports first, everything declared."""
    modules: list[Module] = []
    by_file: dict[str, Module] = {}
    for source in json["modules"]:
        module = Module(source)
        module.imports = [by_file[f] for f in module.import_files]
        for declaration in source["declarations"]:
            declare(module, declaration, data)
        by_file[module.file] = module
        modules.append(module)
    return modules
