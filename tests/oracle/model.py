"""What a program declares and the data a job gives: scopes, entities, segment tables. Written from the language reference."""

KINDS = {"aoindex": "ao", "moindex": "mo", "moaindex": "moa", "mobindex": "mob", "laindex": "la", "index": "simple"}
SUBSEGMENTS = 4
INT_MIN, INT_MAX = -2**31, 2**31 - 1


class LanguageError(Exception):
    """An error that the language defines at run time. `kind` is a short word, `line` the statement's line."""

    def __init__(self, kind, message, line=None):
        super().__init__(message)
        self.kind, self.line = kind, line

    def __str__(self):
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.kind}: {self.args[0]}"


def check_int(value):
    if not INT_MIN <= value <= INT_MAX:
        raise LanguageError("overflow", f"{value} does not fit an int")
    return value


class JobData:
    """Initialisation data: values by name, extents per index kind."""

    def __init__(self, values=None, segments=None):
        self.values = {k.lower(): v for k, v in (values or {}).items()}
        self.segments = {k.lower(): list(v) for k, v in (segments or {}).items()}

    def integer(self, name):
        if name not in self.values:
            raise LanguageError("missing", f"predefined int `{name}` has no value")
        return check_int(int(self.values[name]))

    def real(self, name):
        if name not in self.values:
            raise LanguageError("missing", f"predefined scalar `{name}` has no value")
        return float(self.values[name])


class Entity:
    def __init__(self, kind, name, module):
        self.kind, self.name, self.module = kind, name, module


class Scalar(Entity):
    def __init__(self, name, module, value):
        super().__init__("scalar", name, module)
        self.value = value


class Int(Entity):
    def __init__(self, name, module, value, predefined):
        super().__init__("int", name, module)
        self.value, self.predefined, self.initial = value, predefined, value


class Index(Entity):
    """`value` is the current segment number, None while no loop binds the index."""

    def __init__(self, name, module, segment_kind, lo, hi, data):
        super().__init__("index", name, module)
        self.segment_kind, self.lo, self.hi, self.value, self.parent = segment_kind, lo, hi, None, None
        self.simple = segment_kind == "simple"
        self.extents = data.segments.get(segment_kind, [])

    def check_segments(self):
        """To be called where the range is used: an index that nobody uses may lack segments."""
        if not self.simple and self.lo <= self.hi and (self.lo < 1 or self.hi > len(self.extents)):
            raise LanguageError("segments", f"index `{self.name}` covers {self.lo}:{self.hi}, but `{self.segment_kind}` has {len(self.extents)} segments")

    def layout(self):
        """Extents over the declared range."""
        return [self.extent(n) for n in range(self.lo, self.hi + 1)]

    def extent(self, segment):
        return 1 if self.simple else self.extents[segment - 1]

    def offset(self, segment):
        """Elements of the declared range before a segment."""
        return segment - self.lo if self.simple else sum(self.extents[self.lo - 1:segment - 1])

    def total(self):
        self.check_segments()
        return self.offset(self.hi + 1) if self.hi >= self.lo else 0


class Subindex(Entity):
    def __init__(self, name, module, parent):
        super().__init__("subindex", name, module)
        self.parent, self.value, self.simple = parent, None, False

    def bounds(self):
        """First element (from 0) and extent of the current subsegment within its parent's current segment."""
        return subsegment(self.parent.extent(self.parent.value), self.value)


def subsegment(extent, number):
    q, r = divmod(extent, SUBSEGMENTS)
    before = (number - 1) * q + min(number - 1, r)
    return before, q + (1 if number <= r else 0)


class Array(Entity):
    """Blocks by key. Temps and fetched remote blocks are in `blocks` as well; `remote` holds what the servers have, `private`
    the copies of remote blocks that the worker has changed since the last barrier; `stale` are those it has put since it got them."""

    def __init__(self, name, module, array_kind, contiguous, dims, predefined):
        super().__init__("array", name, module)
        self.array_kind, self.contiguous, self.dims, self.predefined = array_kind, contiguous, dims, predefined
        self.blocks, self.remote, self.private, self.regions, self.dense, self.stale = {}, {}, {}, {}, None, set()

    def drop_copies(self):
        for copies in (self.blocks, self.private, self.stale):
            copies.clear()

    @property
    def is_remote(self):
        return self.array_kind in ("distributed", "served")


class Named(Entity):
    """Procedures and specials."""

    def __init__(self, kind, name, module, **fields):
        super().__init__(kind, name, module)
        self.__dict__.update(fields)


class Module:
    """A program file: its own names, then those of the files it imports directly."""

    def __init__(self, json):
        self.name, self.file, self.statements = json["name"], json["file"], json["statements"]
        self.import_files = [i["file"] for i in json["imports"]]
        self.own, self.imports = {}, []
        self.resolved = {}  # by id of a block as written: see expressions.resolved

    def find(self, name):
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


def declare(module, declaration, data):
    """One declaration to an entity, entered into the module's scope."""
    kind, name = declaration["kind"], declaration["name"]
    if kind == "ScalarDecl":
        value = data.real(name) if declaration["predefined"] else float(declaration["initial"] or 0.0)
        entity = Scalar(name, module, value)
    elif kind == "IntDecl":
        value = data.integer(name) if declaration["predefined"] else int(declaration["initial"] or 0)
        entity = Int(name, module, value, declaration["predefined"])
    elif kind == "IndexDecl":
        def bound(b):
            return module.find(b).initial if isinstance(b, str) else b
        entity = Index(name, module, KINDS[declaration["index_kind"]], bound(declaration["lo"]), bound(declaration["hi"]), data)
    elif kind == "SubindexDecl":
        entity = Subindex(name, module, module.find(declaration["parent"]))
    elif kind == "ArrayDecl":
        dims = [module.find(d) for d in declaration["dims"]]
        entity = Array(name, module, declaration["array_kind"], declaration["contiguous"], dims, declaration["predefined"])
    elif kind == "ProcDecl":
        entity = Named("proc", name, module, body=declaration["body"])
    else:
        entity = Named("special", name, module, signature=declaration["signature"] or "")
    module.own[name] = entity


def load(json, data):
    """The modules of a compilation, imports first, everything declared."""
    modules, by_file = [], {}
    for source in json["modules"]:
        module = Module(source)
        module.imports = [by_file[f] for f in module.import_files]
        for declaration in source["declarations"]:
            declare(module, declaration, data)
        by_file[module.file] = module
        modules.append(module)
    return modules
