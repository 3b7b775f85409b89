"""A plan as the text of a SIAL program: to_sial()."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Sequence, Set, Tuple

import numpy as np

from ..filled import fill
from .functions import batches
from .memory import SEGMENT, Footprint, footprint, lives, shown
from .model import AMPLITUDE, INPUT, RESULT, Equations, Factor, Index, Place, Tensor
from .planning import UNIT, plan_products
from .statements import Exchange, Plan, Statement, summed_pairs

# The reserved words of the language, which letters and tensors of equations may be as well.
_WORDS = frozenset(
    "allocate aoindex assert_same broadcast_from call collective contiguous create deallocate delete destroy distributed do else enddo endif endpardo "
    "endproc endsection endsial execute exit get gpu_allocate gpu_free gpu_get gpu_off gpu_on gpu_put if import in index int laindex local moaindex "
    "mobindex moindex of pardo predefined prepare print println proc put request restore_persistent return scalar section served server_barrier "
    "set_persistent sial sip_barrier sparse special sqrt static stop subindex temp where cycle prequest print_index print_scalar print_int".split()
)


@dataclass(frozen=True)
class Program:
    """text: the program. arrays: names of its `predefined distributed` arrays by the tensors that they are. values: its predefined ints, by name: where each
    basic space begins and ends among the segments of kind moa, which are those of all basic spaces, one after the other.
    results: names of its distributed arrays and scalars by the tensors that they are. lines: the term's place of each line that computes one.
    bounds: predefined ints with the first and last segment of each basic space. labels: of a solver, where `energy`, `cycles` and `residual` are found.
    footprint: the memory that its arrays will take with the orbitals that the plan was made for, in segments of 8."""

    text: str
    plan: Plan
    arrays: Mapping[str, str]
    results: Mapping[str, str]
    lines: Mapping[int, Tuple[Place, ...]]
    bounds: Mapping[str, Tuple[str, str]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    footprint: Footprint = Footprint(0.0, (), "")

    @property
    def predicted_peak(self) -> float:
        """Bytes of all blocks, over all ranks, when most are there."""
        return self.footprint.peak

    def values(self, segments: Mapping[str, Sequence[int]]) -> Dict[str, int]:
        """The predefined ints, with these segments of each basic space."""
        out, end = {}, 0
        for space in basic_spaces(self.plan.equations):
            first, last = self.bounds[space]
            out[first], end = end + 1, end + len(segments[space])
            out[last] = end
        return out

    def helpers(self, segments: Mapping[str, Sequence[int]]) -> Dict[str, fill]:
        """Arrays that the program takes besides the tensors, for example a unit matrix for a trace."""
        out = {}
        for name, kind in self.plan.helpers.items():
            tensor = next(t for t in self.plan.tensors if t.name == name)
            shape = [sum(sum(segments[b]) for b in self.plan.equations.basic(s)) for s in tensor.spaces]
            out[self.arrays[name]] = fill(_unit if kind == UNIT else _ones, shape)
        return out

    def segments(self, segments: Mapping[str, Sequence[int]]) -> Dict[str, List[int]]:
        """Those of the job: of kind moa."""
        return {"moa": [int(n) for space in basic_spaces(self.plan.equations) for n in segments[space]]}


def basic_spaces(equations: Equations) -> Tuple[str, ...]:
    """The spaces without parts, in the order of their declaration."""
    return tuple(s.name for s in equations.spaces if not s.parts)


def to_sial(equations: Equations | Plan, name: str = "equations", extents: Optional[Mapping[str, float]] = None) -> Program:
    """A program that evaluates all equations once: from the given tensors and amplitudes, `predefined distributed`, it makes the results, distributed
    arrays and scalars. The same equations give the same text. extents: see plan()."""
    return Writer(equations if isinstance(equations, Plan) else plan_products(equations, extents), name).program()


@dataclass(frozen=True)
class Left:
    """A given tensor that an earlier program of the job left under a label, as an array with the slots in this order: u[p,q,r,s] of order (0, 2, 1, 3) is
    array[p,r,q,s]. static: whole on every rank. computed: by this super instruction, block by block, and not left at all."""

    label: str
    order: Tuple[int, ...]
    static: bool = False
    computed: str = ""


@dataclass
class _Loop:
    """The statements of a phase that add to one target, under the same names of its indices."""

    target: Factor
    statements: List[Statement] = field(default_factory=list)


class _Names:
    def __init__(self) -> None:
        self.taken: Set[str] = set(_WORDS)

    def new(self, wanted: str) -> str:
        wanted = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_p" if c == "'" else "_" for c in wanted.lower())
        if not wanted[:1].isalpha():
            wanted = "x" + wanted
        name = wanted
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


class Writer:
    reserved: FrozenSet[str] = frozenset()  # names that have to stay as they are

    def __init__(self, of: Plan, name: str, left: Optional[Mapping[str, Left]] = None, bounds: Optional[Mapping[str, Tuple[str, str]]] = None,
                 kinds: Optional[Mapping[str, str]] = None) -> None:
        """left: given tensors that are restored, by name. bounds: predefined ints that say where a basic space begins and ends. kinds: of segments, by basic
        space: `moa` where nothing is said, or `mob`, whose indices have a `b` appended to their names."""
        self.plan = of
        self.left = dict(left or {})
        self.kinds = dict(kinds or {})
        self.equations = of.equations
        self.names = _Names()
        self.names.taken |= self.reserved
        self.name = self.names.new(name)
        self.basic = basic_spaces(self.equations)
        stated = bounds or {s: (f"b_{s}", f"e_{s}") for s in self.basic}
        self.bounds = {s: (self.bound(stated[s][0]), self.bound(stated[s][1])) for s in self.basic}
        self.arrays = {t.name: self.names.new(t.name) for t in of.tensors}
        self.indices: Dict[Index, str] = {}
        self.temps: Dict[Tuple[str, Tuple[str, ...]], str] = {}
        self.sums: Dict[str, Tuple[str, ...]] = {}  # local arrays
        self.partial, self.product = self.names.new("part"), self.names.new("product")
        self.slots: Dict[str, str] = {}  # the index that declarations have for a space
        self.solved: FrozenSet[str] = frozenset()  # amplitudes that the program makes itself
        self.scalar_sums = False
        self.prepared = 0  # lines of the body that compute constants
        self.head: List[str] = []
        self.body: List[str] = []
        self.places: Dict[int, Tuple[Place, ...]] = {}
        self.written: Set[str] = set()
        self.unread: List[str] = []  # deletes constants that only other constants are made of

    def program(self) -> Program:
        self.roles = {t.name: t for t in self.plan.tensors}
        constants = self.constants()
        parts = lives(self.plan, constants)
        self.unread = self.in_order(parts.once, parts.dead_once)
        self.prepared = len(self.body)
        unread = self.in_order(parts.repeated, parts.dead)
        for t in self.plan.tensors:  # results that are 0
            if t.role == RESULT and t.name not in self.written and t.rank:
                self.zero(t)
        self.line("", "sip_barrier", *unread)
        needed = footprint(self.plan, constants, self.more())
        self.head = head = self.declarations(needed)
        text = "\n".join(head + self.body + [f"endsial {self.name}", ""])
        lines = {n + len(head) + 1: places for n, places in self.places.items()}
        used = {f.tensor.name for phase in self.plan.phases for s in phase for f in s.factors}
        given = {t.name: self.arrays[t.name] for t in self.plan.tensors if t.role in (INPUT, AMPLITUDE) and t.name in used and t.name not in self.left}
        results = {t.name: self.arrays[t.name] for t in self.plan.tensors if t.role == RESULT}
        return Program(text, self.plan, given, results, lines, self.bounds, footprint=needed)

    def constants(self) -> FrozenSet[str]:
        """Targets that are computed before all others, once."""
        return frozenset()

    def more(self) -> Dict[str, float]:
        """Bytes of arrays besides those of the plan."""
        return {}

    def bound(self, name: str) -> str:
        return name if name.isdigit() else self.names.new(name)

    def in_order(self, phases: Sequence[Sequence[Statement]], dead: Sequence[Sequence[str]]) -> List[str]:
        """dead: what is deleted after each phase. Returns the lines that do so after the last one."""
        deletes: List[str] = []
        for number, phase in enumerate(phases):
            if number:
                self.line("", "sip_barrier", *deletes, "")
            self.phase(phase)
            deletes = [f"delete {self.arrays[name]}" for name in dead[number]]
        return deletes

    def line(self, *lines: str) -> None:
        self.body += lines

    # Names

    def index(self, index: Index) -> str:
        if index not in self.indices:
            self.indices[index] = self.names.new(f"{index.name}b" if self.kind(index.space) == "mob" else index.name)
        return self.indices[index]

    def kind(self, space: str) -> str:
        """Of the segments of a space."""
        found = {self.kinds.get(basic, "moa") for basic in self.equations.basic(space)}
        if len(found) > 1:
            raise ValueError(f"the parts of space `{space}` have segments of different kinds: {', '.join(sorted(found))}")
        return found.pop()

    def block(self, name: str, indices: Sequence[Index]) -> str:
        return f"{name}[{','.join(self.index(i) for i in indices)}]"

    def reference(self, factor: Factor) -> str:
        name, left = self.arrays[factor.tensor.name], self.left.get(factor.tensor.name)
        indices = [factor.indices[x] for x in left.order] if left else factor.indices
        return self.block(name, indices) if indices else name

    def fetched(self, factor: Factor) -> List[str]:
        """What brings its block here; nothing where it is here."""
        left = self.left.get(factor.tensor.name)
        return [] if left and left.static else [f"get {self.reference(factor)}"]

    def temp(self, use: str, indices: Sequence[Index]) -> str:
        key = use, tuple(self.index(i) for i in indices)
        if key not in self.temps:
            of = key[1] if use == "image" else tuple(i.space for i in indices)
            self.temps[key] = self.names.new(f"{use}_{('' if all(len(x) == 1 for x in of) else '_').join(of)}")
        return self.block(self.temps[key], indices)

    def renamed(self, s: Statement) -> Statement:
        """The same statement with the first letters of each space, those of the target first: targets of equal spaces are alike."""
        old = (*s.target.indices, *s.summed)
        names = dict(zip(old, self.equations.first_indices(i.space for i in old)))
        permutations = tuple(replace(p, groups=tuple(tuple(tuple(names[i] for i in item) for item in group) for group in p.groups)) for p in s.permutations)
        return replace(s, target=s.target.renamed(names), factors=tuple(f.renamed(names) for f in s.factors), permutations=permutations)

    # Declarations

    def declarations(self, needed: Footprint) -> List[str]:
        head = [f"sial {self.name}"]
        if self.equations.source is not None:
            head.append(f"# Made from {self.equations.source.name}.")
        orbitals = ", ".join(f"{n:g} of {space}" for space, n in self.plan.extents.items())
        head.append(f"# Memory of all arrays, over all ranks: {shown(needed.peak)}, with {orbitals} in segments of {SEGMENT}; most {needed.where}.")
        head += [f"special {left.computed} w" for left in self.left.values() if left.computed and self.uses(left)]
        head += [f"predefined int {bound}" for s in self.basic for bound in self.bounds[s] if not bound.isdigit()]
        slots = self.slots
        used = {f.tensor.name for phase in self.plan.phases for s in phase for f in s.factors} | self.written
        declared = [t for t in self.plan.tensors if t.name in used or t.role == RESULT]
        for tensor in declared:
            for space in tensor.spaces:
                if space not in slots:
                    slots[space] = self.index(Index(self.equations.space(space).indices[0], space))
        for index, name in sorted(self.indices.items(), key=lambda item: (self.basic_range(item[0].space), item[1])):
            low, high = self.basic_range(index.space)
            head.append(f"{self.kind(index.space)}index {name} = {self.bounds[low][0]}:{self.bounds[high][1]}")
        for tensor in declared:
            name = self.arrays[tensor.name]
            left = self.left.get(tensor.name)
            given = "predefined " if tensor.role in (INPUT, AMPLITUDE) and tensor.name not in self.solved else ""
            if left and left.computed:
                continue
            if left:
                head.append(f"{'static' if left.static else 'distributed'} {name}[{','.join(slots[tensor.spaces[x]] for x in left.order)}]")
            elif tensor.rank:
                head.append(f"{given}distributed {name}[{','.join(slots[s] for s in tensor.spaces)}]")
            else:
                head.append(f"{given}scalar {name}")
        head += [f"local {name}[{','.join(indices)}]" for name, indices in self.sums.items()]
        for (_, indices), name in self.temps.items():
            head.append(f"temp {name}[{','.join(indices)}]")
        if self.scalar_sums:
            head += [f"scalar {self.partial}", f"scalar {self.product}"]
        return head

    def basic_range(self, space: str) -> Tuple[str, str]:
        parts = self.equations.basic(space)
        places = [self.basic.index(p) for p in parts]
        if places != list(range(places[0], places[0] + len(places))):
            raise ValueError(f"the parts of space `{space}` do not follow each other in the order of the declarations")
        return parts[0], parts[-1]

    def uses(self, left: Left) -> bool:
        """Whether a statement reads what was left."""
        names = {name for name, other in self.left.items() if other is left}
        return any(f.tensor.name in names for phase in self.plan.phases for s in phase for f in s.factors)

    def restored(self) -> List[str]:
        """Statements that bring what earlier programs left."""
        used = {f.tensor.name for phase in self.plan.phases for s in phase for f in s.factors}
        out = [f'restore_persistent {self.arrays[name]} "{left.label}"' for name, left in self.left.items() if name in used and not left.computed]
        return [*out, "sip_barrier"] if out else []

    # Statements

    def phase(self, phase: Sequence[Statement]) -> None:
        loops: Dict[str, _Loop] = {}
        for s in phase:
            named = self.renamed(s)
            loops.setdefault(s.target.tensor.name, _Loop(named.target)).statements.append(named)
        for loop in loops.values():
            if loop.target.indices:
                self.array_loop(loop)
            else:
                self.scalar_loop(loop)
            self.written.add(loop.target.tensor.name)

    def comment(self, statement: Statement) -> None:
        self.line(f"  # {statement}{_marked(statement.places)}")

    def array_loop(self, loop: _Loop) -> None:
        target = loop.target
        computed = batches(loop.statements[0], self.plan.functions)
        if computed is not None:
            self.computed_loop(loop.statements[0], computed)
            return
        inside = ", ".join(self.index(i) for i in target.indices)
        total = self.temp("sum", target.indices)
        halves = self.plan.exchanges.get(target.tensor.name, ())
        self.line("", f"pardo {inside}")
        for exchange in halves:
            firsts = [self.index(target.indices[slots[0]]) for slots in exchange.sets]
            self.line(*(f"  where {one} <= {other}" for one, other in zip(firsts, firsts[1:])))
        self.line(f"  {total} = 0.0")
        for s in loop.statements:
            self.statement(s, total)
        places = tuple(p for s in loop.statements for p in s.places)
        if places:
            self.line(f"  # into {target}{_marked(places)}")
        sign = "+=" if target.tensor.name in self.written else "="
        self.images(target, list(target.indices), 1, () if target.tensor.name in self.plan.unique else halves, sign, "  ")
        self.line(f"endpardo {inside}")

    def computed_loop(self, s: Statement, integrals: Factor) -> None:
        """A product with integrals over basis functions, each block of which is computed once for all other indices of the target."""
        left, target, functions = self.left[integrals.tensor.name], s.target, self.plan.functions
        assert functions is not None and left.computed
        other = next(f for f in s.factors if f is not integrals)
        outer = [i for i in target.indices if i.space == functions.space]
        rest, summed = [i for i in target.indices if i not in outer], [i for i in integrals.indices if i not in outer]
        inside, halves = ", ".join(self.index(i) for i in outer), self.plan.exchanges.get(target.tensor.name, ())
        whole = self.block(self.names.new(f"sums_{self.arrays[target.tensor.name]}"), target.indices)
        self.sums[whole.split("[")[0]] = tuple(self.index(i) for i in target.indices)
        some = f"{whole.split('[')[0]}[{','.join([*(self.index(i) for i in outer), *('*' for _ in rest)])}]"
        batch = self.temp("batch", [integrals.indices[x] for x in left.order])
        self.line("", f"pardo {inside}")
        for exchange in halves:
            self.line(f"  where {' <= '.join(self.index(target.indices[slots[0]]) for slots in exchange.sets)}")
        self.comment(s)
        if s.places:
            self.places[len(self.body) - 1] = s.places
        self.line(f"  allocate {some}")
        pad = "  "
        for i in summed:
            self.line(f"{pad}do {self.index(i)}")
            pad += "  "
        self.line(f"{pad}execute {left.computed} {batch}")
        inner = [i for i in other.indices if i not in summed]
        for n, i in enumerate(inner):
            self.line(f"{pad}{n * '  '}do {self.index(i)}")
        deep = pad + len(inner) * "  "
        self.line(*(f"{deep}{get}" for get in self.fetched(other)), f"{deep}{whole} += {batch}*{self.reference(other)}")
        for n, i in reversed(list(enumerate(inner))):
            self.line(f"{pad}{n * '  '}enddo {self.index(i)}")
        for i in reversed(summed):
            pad = pad[2:]
            self.line(f"{pad}enddo {self.index(i)}")
        for n, i in enumerate(rest):
            self.line(f"{pad}{n * '  '}do {self.index(i)}")
        deep = pad + len(rest) * "  "
        total = self.temp("sum", target.indices)
        self.line(f"{deep}{total} = {whole}")
        self.images(target, list(target.indices), 1, halves, "=", deep)
        for n, i in reversed(list(enumerate(rest))):
            self.line(f"{pad}{n * '  '}enddo {self.index(i)}")
        self.line(f"  deallocate {some}", f"endpardo {inside}")

    def images(self, target: Factor, indices: List[Index], factor: int, halves: Sequence[Exchange], sign: str, pad: str) -> None:
        """Puts the block that was computed, and those that follow from it by exchanges; segments on the diagonal are one block."""
        if not halves:
            total, image = self.temp("sum", target.indices), Factor(target.tensor, tuple(indices))
            if image.indices != target.indices:
                total, source = self.temp("image", image.indices), total
                self.line(f"{pad}{total} = {source}", *([f"{pad}{total} *= -1.0"] if factor < 0 else []))
            self.line(f"{pad}put {self.reference(image)} {sign} {total}")
            return
        for names, parity, apart in halves[0].permutations():
            conditions = [f"if {self.index(target.indices[x])} < {self.index(target.indices[y])}" for x, y in apart]
            for n, condition in enumerate(conditions):
                self.line(f"{pad}{n * '  '}{condition}")
            permuted = [indices[names.get(x, x)] for x in range(len(indices))]
            self.images(target, permuted, factor * parity, halves[1:], sign, pad + len(conditions) * "  ")
            self.line(*(f"{pad}{n * '  '}endif" for n in reversed(range(len(conditions)))))

    def statement(self, s: Statement, total: str) -> None:
        self.comment(s)
        if s.places:
            self.places[len(self.body) - 1] = s.places
        scalars = [f for f in s.factors if not f.indices]
        factors = [f for f in s.factors if f.indices]
        factor = _number(s.coefficient) + "".join(f"*{self.reference(f)}" for f in scalars)
        if not factors:
            self.line(f"  {total} += {factor}")
            return
        if s.permutations:
            self.permuted(s, factors[0], total, factor)
            return
        pad = "  "
        pairs = [(self.index(x), self.index(y)) for x, y in summed_pairs(s, self.plan.exchanges)]
        for i in s.summed:
            self.line(f"{pad}do {self.index(i)}")
            pad += "  "
        self.line(*(f"{pad}where {x} <= {y}" for x, y in pairs))
        self.line(*(f"{pad}{get}" for f in factors for get in self.fetched(f)))
        piece = self.temp("product", s.target.indices)
        self.line(f"{pad}{piece} = {'*'.join(self.reference(f) for f in factors)}")
        for x, y in pairs:  # the others are equal
            self.line(f"{pad}if {x} < {y}", f"{pad}  {piece} *= 2.0", f"{pad}endif")
        self.add(pad, total, factor, piece)
        for i in reversed(s.summed):
            pad = pad[2:]
            self.line(f"{pad}enddo {self.index(i)}")

    def add(self, pad: str, total: str, factor: str, piece: str) -> None:
        if factor == "1.0":
            self.line(f"{pad}{total} += {piece}")
        elif factor == "-1.0":
            self.line(f"{pad}{total} -= {piece}")
        else:
            self.line(f"{pad}{total} += {factor}*{piece}")

    def permuted(self, s: Statement, source: Factor, total: str, factor: str) -> None:
        images: List[Tuple[Factor, int]] = [(source, 1)]
        for permutation in reversed(s.permutations):
            images = [(f.renamed(names), sign * other) for names, sign in permutation.images() for f, other in images]
        piece = self.temp("product", s.target.indices)
        for image, sign in images:
            self.line(f"  get {self.reference(image)}", f"  {piece} = {self.reference(image)}")
            signed = factor if sign > 0 else factor[1:] if factor.startswith("-") else f"-{factor}"
            self.add("  ", total, signed, piece)

    def scalar_loop(self, loop: _Loop) -> None:
        name = self.arrays[loop.target.tensor.name]
        if loop.target.tensor.name not in self.written:
            self.line("", f"{name} = 0.0")
        by_indices: Dict[Tuple[str, ...], List[Statement]] = defaultdict(list)
        for s in loop.statements:
            by_indices[tuple(sorted(self.index(i) for i in s.summed))].append(s)
        for indices, statements in by_indices.items():
            if not indices:
                for s in statements:
                    self.comment(s)
                    self.line(f"{name} += {_number(s.coefficient)}" + "".join(f"*{self.reference(f)}" for f in s.factors))
                continue
            self.scalar_sums = True
            inside = ", ".join(indices)
            self.line("", f"{self.partial} = 0.0", f"pardo {inside}")
            for s in statements:
                self.comment(s)
                if s.places:
                    self.places[len(self.body) - 1] = s.places
                factors = [f for f in s.factors if f.indices]
                self.line(*(f"  {get}" for f in factors for get in self.fetched(f)))
                scale = _number(s.coefficient) + "".join(f"*{self.reference(f)}" for f in s.factors if not f.indices)
                self.line(f"  {self.product} = {'*'.join(self.reference(f) for f in factors)}", f"  {self.partial} += {scale}*{self.product}")
            self.line(f"endpardo {inside}", f"collective {name} += {self.partial}")

    def zero(self, tensor: Tensor) -> None:
        indices = self.equations.first_indices(tensor.spaces)
        inside = ", ".join(self.index(i) for i in indices)
        self.line("", f"pardo {inside}", f"  put {self.block(self.arrays[tensor.name], indices)} = 0.0", f"endpardo {inside}")
        self.written.add(tensor.name)


def _marked(places: Sequence[Place]) -> str:
    """The end of a comment that says where the statements below it come from; sialreport shows it with these lines."""
    if not places:
        return ""
    lines = sorted({p.line for p in places})
    return f" @{Path(places[0].file).name.strip('<>')}:{','.join(map(str, lines))}"


def _unit(i: Any, j: Any) -> Any:
    return np.equal(i, j)


def _ones(i: Any) -> Any:
    return 1.0


def _number(value: Fraction) -> str:
    """Exact where it is a binary fraction, else the quotient of two numbers, to the last digit."""
    if value.denominator in (1, 2, 4, 8, 16):
        return f"{value.numerator}.0" if value.denominator == 1 else np.format_float_positional(float(value), trim="0")
    return f"({value.numerator}.0/{value.denominator}.0)"
