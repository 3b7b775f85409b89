"""Runs statements as one worker, rank 0 of 1, in program order."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import model
import supers
from expressions import Reference, block_value, number, readable, reference, region_view, relation, stored, super_shape
from model import Array, Block, Index, JobData, Json, Key, LanguageError, Module, Ranges, Segment, Subindex
from pragmas import fragment_filter


class LeaveLoop(Exception):
    pass


class LeaveProcedure(Exception):
    pass


class Persistence:
    """What set_persistent keeps for the later programs of a job, one label space per sort of item."""

    scalars: dict[str, float]
    statics: dict[str, Block]
    remotes: dict[str, tuple[list[list[int]], dict[Key, Block]]]

    def __init__(self) -> None:
        self.scalars, self.statics, self.remotes = {}, {}, {}


class Machine:
    def __init__(self, json: Json, data: JobData, persistence: Persistence, write: Callable[[str], object], exact_limit: float | None = None) -> None:
        """Above `exact_limit` a number is an error of kind `magnitude`: below, sums of integers are exact in any order. With a limit,
        `largest` is the largest number seen."""
        self.modules = model.load(json, data)
        self.persistence, self.write = persistence, write
        self.scopes: list[list[tuple[Array, Key]]] = [[]]  # per loop iteration in progress: (array, key) created in it
        self.busy: set[Index | Subindex] = set()
        self.marked: list[tuple[Any, str]] = []
        self.line: int | None = None
        self.exact_limit, self.largest = exact_limit, 0.0
        for module in self.modules:
            for entity in module.own.values():
                if entity.kind == "array" and entity.array_kind == "static":
                    entity.dense = np.zeros(tuple(d.total() for d in entity.dims), order="F")

    def run(self) -> None:
        try:
            for module in self.modules:
                self.body(module, module.statements)
        except LanguageError as error:
            error.line = error.line or self.line
            raise
        for entity, label in self.marked:
            if entity.kind == "scalar":
                self.persistence.scalars[label] = entity.value
            elif entity.array_kind == "static":
                self.persistence.statics[label] = entity.dense.copy(order="F")
            else:
                self.persistence.remotes[label] = layout(entity), {k: v.copy() for k, v in entity.remote.items()}

    def entities(self, kind: str) -> list[Any]:
        return [e for module in self.modules for e in module.own.values() if e.kind == kind]

    # ---- statements
    def body(self, module: Module, statements: Iterable[Json]) -> None:
        for statement in statements:
            self.line = statement["line"]
            getattr(self, "do_" + statement["kind"])(module, statement)

    def iterate(self, module: Module, loop: Iterable[Json], index_values: Iterable[tuple[Index | Subindex, int]],
                keep: Callable[[], bool] = lambda: True) -> Iterator[None]:
        """One iteration with the indices bound: temps and fetched blocks made in it end with it."""
        for index, value in index_values:
            index.value = value
        if not all(relation(self, module, w) for w in loop) or not keep():
            return
        self.scopes.append([])
        try:
            yield
        finally:
            for array, key in self.scopes.pop():
                array.blocks.pop(key, None)

    def loop(self, module: Module, statement: Json, indices: Sequence[Any], tuples: Iterable[tuple[int, ...]], wheres: Iterable[Json],
             keep: Callable[[], bool] = lambda: True) -> None:
        for index in indices:
            if index in self.busy:
                raise LanguageError("busy", f"index `{index.name}` is bound already")
            if index.kind == "index":
                index.check_segments()
        self.busy.update(indices)
        try:
            for values in tuples:
                for _ in self.iterate(module, wheres, list(zip(indices, values)), keep):
                    self.body(module, statement["body"])
        except LeaveLoop:
            pass
        finally:
            self.busy.difference_update(indices)
            for index in indices:
                index.value = None

    def do_DoLoop(self, module: Module, s: Json) -> None:
        index = module.find(s["index"])
        self.loop(module, s, [index], ((v,) for v in range(index.lo, index.hi + 1)), s["wheres"])

    def do_SubLoop(self, module: Module, s: Json) -> None:
        index = module.find(s["index"])
        self.loop(module, s, [index], ((v,) for v in range(1, model.SUBSEGMENTS + 1)), s["wheres"])

    def do_PardoLoop(self, module: Module, s: Json) -> None:
        indices = [module.find(n) for n in s["indices"]]

        def tuples(n: int) -> Iterator[tuple[int, ...]]:
            if n == 0:
                yield ()
                return
            for value in range(indices[n - 1].lo, indices[n - 1].hi + 1):
                for first in tuples(n - 1):
                    yield (*first, value)
        keep, replaces = fragment_filter(module, indices, s["pragma"])
        self.loop(module, s, indices, tuples(len(indices)), [] if replaces else s["wheres"], keep)

    def do_Section(self, module: Module, s: Json) -> None:
        self.body(module, s["body"])
        self.barrier()

    def do_GpuSection(self, module: Module, s: Json) -> None:
        self.body(module, s["body"])

    def do_If(self, module: Module, s: Json) -> None:
        self.body(module, s["then"] if relation(self, module, s["condition"]) else s["else"] or [])

    def do_Call(self, module: Module, s: Json) -> None:
        proc = module.find(s["proc"])
        try:
            self.body(proc.module, proc.body)
        except LeaveProcedure:
            pass

    def do_Return(self, module: Module, s: Json) -> None:
        raise LeaveProcedure

    def do_Exit(self, module: Module, s: Json) -> None:
        raise LeaveLoop

    def do_Stop(self, module: Module, s: Json) -> None:
        raise LanguageError("stop", "stop")

    def do_GpuOp(self, module: Module, s: Json) -> None:
        pass

    def do_Barrier(self, module: Module, s: Json) -> None:
        self.barrier()

    def barrier(self) -> None:
        for array in self.entities("array"):
            if array.is_remote:
                array.drop_copies()

    def do_Create(self, module: Module, s: Json) -> None:
        pass

    def do_Delete(self, module: Module, s: Json) -> None:
        array = module.find(s["array"])
        array.drop_copies()
        array.remote.clear()

    def do_AssertSame(self, module: Module, s: Json) -> None:
        pass

    # ---- blocks
    def create(self, ref: Reference, zero: bool = False) -> Block:
        """A new whole block. A temp belongs to the iteration in progress, a copy of a remote block lives until the barrier."""
        data = np.zeros(super_shape(ref), order="F")
        if not zero:
            data[...] = np.nan
        (ref.array.private if ref.array.is_remote else ref.array.blocks)[ref.key] = data
        if ref.array.array_kind == "temp":
            self.scopes[-1].append((ref.array, ref.key))
        return data

    def target(self, ref: Reference, op: str) -> Block:
        """The elements to be changed."""
        fetched = ref.array.blocks.get(ref.key)
        if ref.array.is_remote and fetched is not None:
            ref.array.private.setdefault(ref.key, fetched)
        if op != "=":
            return readable(ref)
        block = stored(ref)
        if block is None:
            block = self.create(ref, zero=ref.box is not None)
        return block if ref.box is None else block[ref.box]

    def check_exact(self, value: float) -> None:
        if not self.exact_limit:
            return
        if not abs(value) <= self.exact_limit:
            raise LanguageError("magnitude", f"{value} is beyond {self.exact_limit}")
        self.largest = max(self.largest, abs(value))

    def update(self, target: Block, op: str, value: Block | float) -> None:
        if op == "=":
            target[...] = value
        elif op == "+=":
            target += value
        elif op == "-=":
            target -= value
        else:
            target *= value
        if self.exact_limit and target.size:
            self.check_exact(np.abs(target).max())

    def do_AssignName(self, module: Module, s: Json) -> None:
        entity = module.find(s["target"])
        value = number(self, module, s["value"])
        if s["op"] != "=":
            op = s["op"][0]
            value = {"+": entity.value + value, "-": entity.value - value, "*": entity.value * value}[op]
        self.check_exact(value)
        entity.value = model.check_int(value) if entity.kind == "int" else float(value)

    def do_AssignBlock(self, module: Module, s: Json) -> None:
        ref = reference(module, s["target"])
        value = block_value(self, module, s["value"], ref)
        self.update(self.target(ref, s["op"]), s["op"], value)

    def do_AssignRegion(self, module: Module, s: Json) -> None:
        _, _, view = region_view(self, module, s["target"])
        source = s["value"]
        if source["kind"] == "Block":
            ref = reference(module, source)
            value = readable(ref)
            if value.shape != view.shape:
                if not ref.all_simple:
                    raise LanguageError("shape", f"{ref.text()} has shape {value.shape}, the region {view.shape}")
                value = number(self, module, source)
        else:
            value = number(self, module, source)
        view[...] = value

    def do_Allocate(self, module: Module, s: Json) -> None:
        array = module.find(s["array"])
        selector = s["selector"] or ["*"] * len(array.dims)
        keys: list[Key] = [()]
        numbers: Iterable[Segment]
        for dim, entry in zip(array.dims, selector):
            if entry != "*":
                numbers = [module.find(entry).value]
            elif dim.kind == "subindex":
                numbers = [(p, n) for p in range(dim.parent.lo, dim.parent.hi + 1) for n in range(1, model.SUBSEGMENTS + 1)]
            else:
                numbers = range(dim.lo, dim.hi + 1)
            keys = [(*k, n) for k in keys for n in numbers]
        if s["deallocate"]:
            for key in keys:
                if key not in array.blocks:
                    raise LanguageError("absent", f"deallocate of `{array.name}`: block {key} does not exist")
                del array.blocks[key]
            return
        for key in keys:
            for dim, n in zip(array.dims, key):
                if dim.kind == "index" and not dim.lo <= n <= dim.hi:
                    raise LanguageError("range", f"segment {n} of `{array.name}` is outside {dim.lo}:{dim.hi}")
            shape = tuple(model.subsegment(d.parent.extent(n[0]), n[1])[1] if isinstance(n, tuple) else d.extent(n)
                          for d, n in zip(array.dims, key))
            array.blocks[key] = np.zeros(shape, order="F")

    def do_AllocateRegion(self, module: Module, s: Json) -> None:
        array = module.find(s["region"]["array"])
        ranges = tuple((number(self, module, r["lo"]), number(self, module, r["hi"])) for r in s["region"]["ranges"])
        if s["deallocate"]:
            if ranges not in array.regions:
                raise LanguageError("region", f"`{array.name}` has no region {ranges}")
            del array.regions[ranges]
            return
        for (lo, hi), dim in zip(ranges, array.dims):
            if lo > hi or lo < dim.lo or hi > dim.hi:
                raise LanguageError("region", f"{lo}:{hi} is not inside the declared range of `{array.name}`")
        for other in array.regions:
            if all(lo <= b and a <= hi for (lo, hi), (a, b) in zip(ranges, other)):
                raise LanguageError("region", f"regions {ranges} and {other} of `{array.name}` overlap")
        shape = tuple(dim.offset(hi + 1) - dim.offset(lo) for dim, (lo, hi) in zip(array.dims, ranges))
        array.regions[ranges] = np.zeros(shape, order="F")

    # ---- remote data
    def do_Get(self, module: Module, s: Json) -> None:
        ref = reference(module, s["block"])
        fetched = ref.key in ref.array.blocks
        if (fetched or ref.key in ref.array.private) and ref.key not in ref.array.stale:
            return
        if ref.key not in ref.array.remote and not ref.array.sparse:
            raise LanguageError("absent", f"get of {ref.text()}, which was never put")
        ref.array.blocks[ref.key] = ref.array.remote[ref.key].copy(order="F") if ref.key in ref.array.remote else np.zeros(ref.shape, order="F")
        ref.array.private.pop(ref.key, None)
        ref.array.stale.discard(ref.key)
        if not fetched:
            self.scopes[-1].append((ref.array, ref.key))

    def do_Put(self, module: Module, s: Json) -> None:
        ref = reference(module, s["block"])
        value = block_value(self, module, s["value"], ref)
        if ref.key in ref.array.blocks or ref.key in ref.array.private:
            ref.array.stale.add(ref.key)  # the value held stays what it was, the next get sees the put
        held = ref.array.remote.get(ref.key)
        if held is None:
            if s["op"] == "*=":
                raise LanguageError("absent", f"scaling of {ref.text()}, which was never put")
            held = ref.array.remote[ref.key] = np.zeros(ref.shape, order="F")
        self.update(held, s["op"], value)

    def do_Collective(self, module: Module, s: Json) -> None:
        module.find(s["target"]).value += number(self, module, s["value"])

    def do_Broadcast(self, module: Module, s: Json) -> None:
        source = number(self, module, s["source"])
        if source != 0:
            raise LanguageError("rank", f"broadcast_from {source} with one worker")

    def do_Persistent(self, module: Module, s: Json) -> None:
        entity, label = module.find(s["item"]), s["label"]
        if not s["restore"]:
            if entity.kind == "array" and entity.is_remote and any(e is entity and l != label for e, l in self.marked):
                raise LanguageError("persistent", f"`{entity.name}` is marked twice")
            self.marked.append((entity, label))
            return
        kind = "scalars" if entity.kind == "scalar" else "statics" if entity.array_kind == "static" else "remotes"
        saved = getattr(self.persistence, kind)
        if label not in saved:
            raise LanguageError("label", f"nothing is saved under \"{label}\"")
        if kind == "scalars":
            entity.value = saved[label]
        elif kind == "statics":
            if saved[label].shape != entity.dense.shape:
                raise LanguageError("shape", f"\"{label}\" has shape {saved[label].shape}, `{entity.name}` {entity.dense.shape}")
            entity.dense[...] = saved[label]
        else:
            extents, blocks = saved[label]
            if extents != layout(entity):
                raise LanguageError("shape", f"\"{label}\" has segments {extents}, `{entity.name}` {layout(entity)}")
            entity.remote = {k: v.copy() for k, v in blocks.items()}

    # ---- output and super instructions
    def do_Print(self, module: Module, s: Json) -> None:
        for text in self.printed(module, s["value"]):  # rows of elements end their own lines
            self.write(text + "\n" if s["newline"] and not text.endswith("\n") else text)

    def printed(self, module: Module, expr: Json) -> list[str]:
        """The texts of one print statement."""
        if expr["kind"] == "StringLit":
            return [expr["value"]]
        if expr["kind"] == "Name":
            entity = module.find(expr["name"])
            if entity.kind == "array":
                return [elements(name, values) for name, values in whole(entity)]
            return [f"{entity.name} = {digits(number(self, module, expr))}"]
        if expr["kind"] == "Block":
            ref = reference(module, expr)
            return [elements(ref.text(), readable(ref))]
        if expr["kind"] == "Region":
            array, ranges, view = region_view(self, module, expr)
            return [elements(region_name(array, ranges), view)]
        return [digits(number(self, module, expr))]

    def do_Inspect(self, module: Module, s: Json) -> None:
        """Norms, largest elements and labelled elements."""
        def show(text: str, rows: bool = False) -> None:
            self.write(text + "\n" if s["newline"] or rows else text)

        options = [number(self, module, e) for e in s["options"]]
        for name, array, indices, first, values in self.inspected(module, s["operand"]):
            flat = values.reshape(-1, order="F")

            def place(k: int) -> str:
                at = np.unravel_index(k, values.shape, order="F")
                return f"{array}[{','.join(f'{i}={f + int(a)}' for i, f, a in zip(indices, first, at))}]"

            if s["function"] == "norm":
                show(f"norm({name}) = {digits(float(np.sqrt(np.sum(flat * flat))))}")
            elif s["function"] == "max":
                k = int(np.argmax(np.abs(flat)))
                show(f"max({name}) = {digits(float(flat[k]))} at {place(k)}")
            else:
                threshold = options[0] if options else 0.0
                chosen = [k for k in range(flat.size) if abs(flat[k]) >= threshold]
                head = f"elements({name}): {len(chosen)} of {flat.size}" + (f" of at least {digits(threshold)}" if threshold > 0 else "")
                if len(options) > 1 and 0 <= options[1] < len(chosen):
                    head += f", the {options[1]} largest"
                    chosen = sorted(chosen, key=lambda k: -abs(flat[k]))[: options[1]]
                show(head, rows=True)
                for k in chosen:
                    show(f"{place(k)} = {digits(float(flat[k]))}", rows=True)

    def inspected(self, module: Module, operand: Json) -> list[tuple[str, str, list[str], list[int], Block]]:
        """(text, array, index names, global numbers of the first elements, values) of the operand or its regions."""
        if operand["kind"] == "Block":
            ref = reference(module, operand)
            names = [i["name"] for i in operand["indices"]]
            return [(ref.text(), ref.array.name, names, [first_element(*x) for x in zip(ref.array.dims, ref.key)], readable(ref))]
        if operand["kind"] == "Region":
            array, ranges, view = region_view(self, module, operand)
            parts = [(region_name(array, ranges), ranges, view)]
        else:
            array = module.find(operand["name"])
            everything = [(d.lo, d.hi) for d in array.dims]
            if array.dense is not None:
                parts = [(array.name, everything, array.dense)]
            else:
                parts = [(name, ranges, values) for (name, values), ranges in zip(whole(array), array.regions)]
        return [(name, array.name, [d.name for d in array.dims], [first_element(d, lo) for d, (lo, _) in zip(array.dims, ranges)], values)
                for name, ranges, values in parts]

    def do_Execute(self, module: Module, s: Json) -> None:
        special = module.find(s["special"])
        if special.name not in supers.TABLE:
            raise LanguageError("special", f"`{special.name}` has no body")
        arguments = [self.argument(module, a, letter) for a, letter in zip(s["args"], special.signature.lower())]
        supers.TABLE[special.name](*arguments)

    def argument(self, module: Module, arg: Json, letter: str) -> supers.Cell | supers.View | supers.Literal:
        if arg["kind"] in ("RealLit", "IntLit"):
            return supers.Literal(float(arg["value"]))
        if arg["kind"] == "Block":
            ref = reference(module, arg)
            result: supers.Cell | supers.View = supers.View(readable(ref) if letter == "r" else self.target(ref, "=" if letter == "w" else "+="))
        elif arg["kind"] == "Region":
            result = supers.View(region_view(self, module, arg)[2])
        else:
            entity = module.find(arg["name"])
            result = supers.Cell(entity) if entity.kind == "scalar" else supers.View(entity.dense)
        if letter == "w":
            result.set(0.0)
        return result


def layout(array: Array) -> list[list[int]]:
    return [d.layout() if d.kind == "index" else d.parent.layout() for d in array.dims]


def digits(value: float) -> str:
    """Shortest digits that read back exactly; whole numbers without a point."""
    if isinstance(value, int):
        return str(value)
    text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text


def first_element(dim: Any, segment: Any) -> int:
    """The number of a segment's first element among all of its kind, from 1."""
    if dim.kind == "subindex":
        parent, sub = segment
        return first_element(dim.parent, parent) + model.subsegment(dim.parent.extent(parent), sub)[0]
    return segment if dim.simple else sum(dim.extents[:segment - 1]) + 1


def region_name(array: Array, ranges: Ranges) -> str:
    return f"{array.name}[{','.join(str(a) if a == b else f'{a}:{b}' for a, b in ranges)}]"


def whole(array: Array) -> list[tuple[str, Block]]:
    """(name, elements) of a static array, or of every region of a contiguous local one."""
    if array.dense is not None:
        return [(array.name, array.dense)]
    if not array.regions:
        raise LanguageError("region", f"`{array.name}` has no allocated region")
    return [(array.name if len(array.regions) == 1 else region_name(array, ranges), values) for ranges, values in array.regions.items()]


def elements(name: str, values: Block) -> str:
    if values.size == 1:
        return f"{name} = {digits(float(values.reshape(-1)[0]))}"
    rows: Any = values.reshape((values.shape[0], -1), order="F").T if values.size else []
    return "".join([f"{name}:\n", *(" ".join(digits(float(v)) for v in row) + "\n" for row in rows)])
