#!/usr/bin/env python3
"""Random programs on arrays of 1 to 8 dimensions give what NumPy gives: through files on 1, 2 and 3 ranks, and in process.

    random_programs.py --bin DIR [--native MODULE] [--seeds N]

NumPy computes with whole arrays and knows nothing of segments. --seeds: how many programs (12, each on one number of ranks in turn and in
process; with 50 or more on all of them).
"""
from __future__ import annotations

import argparse
import os
import pathlib
import random
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

from harness import BIN, ENV, ROOT

sys.path.insert(0, str(ROOT / "runtime" / "python"))
import sialx  # noqa: E402

KINDS = ("ao", "mo", "moa", "la", "")
GET = {"distributed": "get", "served": "request"}
PUT = {"distributed": "put", "served": "prepare"}
LETTERS = "abcdefghijklmnopq"


@dataclass
class Index:
    name: str
    kind: str  # empty: a simple index, whose segments have one element
    low: int
    high: int
    sizes: list[int]  # of its segments

    @property
    def extent(self) -> int:
        return sum(self.sizes)

    def declaration(self) -> str:
        return f"{self.kind}index {self.name} = {self.low}:{self.high}"

    def segment_of(self) -> Any:
        """The number of the segment of each element."""
        return np.repeat(np.arange(self.low, self.high + 1), self.sizes)


@dataclass
class Array:
    name: str
    kind: str
    dims: list[Index]
    values: Any
    given: bool = False
    sparse: bool = False

    def block(self) -> str:
        return f"{self.name}[{','.join(d.name for d in self.dims)}]"

    def declaration(self) -> str:
        return f"{'predefined ' if self.given else ''}{'sparse ' if self.sparse else ''}{self.kind} {self.block()}"

    def get(self) -> list[str]:
        return [f"{GET[self.kind]} {self.block()}"] if self.kind in GET else []


@dataclass
class Program:
    """A random program with its data, and what NumPy finds."""

    seed: int
    arrays: list[Array] = field(default_factory=list)
    temps: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    scalars: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)  # sums of the amounts of what the scalars sum up

    def __post_init__(self) -> None:
        self.random = r = random.Random(self.seed)
        self.numbers = np.random.default_rng(self.seed)
        self.segments = {kind: [r.randint(1, 3) for _ in range(r.randint(2, 4))] for kind in KINDS if kind}
        self.indices = [self.index(n) for n in range(9)]
        first = next((i for i in self.indices if len(i.sizes) > 1), self.indices[0])
        self.same_range = [first, Index("x9", first.kind, first.low, first.high, first.sizes)]
        self.indices.append(self.same_range[1])
        for rank in r.sample(range(1, 9), 3) + [r.randint(1, 3)]:
            self.give(r.sample(self.indices, rank))
        for _ in range(r.randint(5, 8)):
            r.choice([self.contract, self.contract, self.permute, self.add, self.accumulate, self.half, self.trace])()
        self.to_static()

    def index(self, n: int) -> Index:
        r, kind = self.random, self.random.choice(KINDS)
        if not kind:
            low = r.randint(-2, 3)
            count = r.randint(1, 3)
            return Index(f"x{n}", "", low, low + count - 1, [1] * count)
        all_sizes = self.segments[kind]
        low = r.randint(1, len(all_sizes))
        high = r.randint(low, min(low + 1, len(all_sizes)))
        return Index(f"x{n}", kind, low, high, all_sizes[low - 1:high])

    # ---- arrays
    def shape(self, dims: list[Index]) -> tuple[int, ...]:
        return tuple(d.extent for d in dims)

    def give(self, dims: list[Index]) -> None:
        kind = self.random.choice(["static", "distributed", "served"])
        values = self.numbers.normal(size=self.shape(dims))
        cut = [d for d in range(len(dims)) if len(dims[d].sizes) > 1]
        sparse = kind != "static" and bool(cut) and self.random.random() < 0.4
        if sparse:  # whole blocks of zeros
            keep = np.ones(self.shape(dims), dtype=bool)
            axis = self.random.choice(cut)
            gone = self.random.randint(dims[axis].low, dims[axis].high)
            keep[tuple(dims[axis].segment_of() == gone if d == axis else slice(None) for d in range(len(dims)))] = False
            values = values * keep
        self.arrays.append(Array(f"in{len(self.arrays)}", kind, dims, values, True, sparse))

    def new(self, dims: list[Index], values: Any, sparse: bool = False) -> Array:
        array = Array(f"r{len(self.arrays)}", self.random.choice(["distributed", "served"]), dims, values, sparse=sparse)
        self.arrays.append(array)
        return array

    def temp(self, dims: list[Index]) -> str:
        block = f"t{len(self.temps)}[{','.join(d.name for d in dims)}]"
        self.temps.append(f"temp {block}")
        return block

    def loop(self, dims: list[Index], lines: list[str], where: str = "") -> None:
        names = ", ".join(d.name for d in dims)
        self.body += [f"pardo {names}", *([f"  where {where}"] if where else []), *(f"  {line}" for line in lines), f"endpardo {names}", "sip_barrier"]

    def scaled(self, values: Any) -> tuple[float, Any]:
        """A factor that keeps numbers near 1, and the result."""
        largest = float(np.abs(values).max()) if values.size else 0.0
        factor = 1.0 if largest < 4 else round(2 / largest, 6) or 1e-6
        return factor, values * factor

    # ---- statements
    def contract(self) -> None:
        pairs = [(a, b) for a in self.arrays for b in self.arrays if 1 <= len(self.free(a, b)) <= 8 and len({d.name for d in a.dims + b.dims}) <= 11]
        if not pairs:
            return self.permute()
        a, b = self.random.choice(pairs)
        free, common = self.free(a, b), [d for d in a.dims if d in b.dims]
        self.random.shuffle(free)
        letter = {d.name: LETTERS[i] for i, d in enumerate(self.indices)}
        text = ["".join(letter[d.name] for d in dims) for dims in (a.dims, b.dims, free)]
        factor, values = self.scaled(np.einsum(f"{text[0]},{text[1]}->{text[2]}", a.values, b.values, optimize=True))
        t, u = self.temp(free), self.temp(free)
        lines = [f"{t} = 0.0", *(f"do {d.name}" for d in common), *a.get(), *(b.get() if b is not a else []), f"{u} = {a.block()}*{b.block()}", f"{t} += {u}",
                 *(f"enddo {d.name}" for d in reversed(common)), f"{t} *= {factor}"]
        result = self.new(free, values)
        self.loop(free, [*lines, f"{PUT[result.kind]} {result.block()} = {t}"])

    @staticmethod
    def free(a: Array, b: Array) -> list[Index]:
        return [d for d in a.dims if d not in b.dims] + [d for d in b.dims if d not in a.dims]

    def permuted(self, a: Array, dims: list[Index]) -> Any:
        return a.values.transpose([a.dims.index(d) for d in dims])

    def permute(self) -> None:
        a = self.random.choice(self.arrays)
        dims = self.random.sample(a.dims, len(a.dims))
        t = self.temp(dims)
        factor = round(self.random.uniform(-2, 2), 3)
        result = self.new(dims, self.permuted(a, dims) * factor)
        self.loop(dims, [*a.get(), f"{t} = {a.block()}", f"{t} *= {factor}", f"{PUT[result.kind]} {result.block()} = {t}"])

    def add(self) -> None:
        a = self.random.choice(self.arrays)
        alike = [b for b in self.arrays if b is not a and {d.name for d in b.dims} == {d.name for d in a.dims}]
        if not alike:
            return self.permute()
        b, sign = self.random.choice(alike), self.random.choice([1, -1])
        dims = self.random.sample(a.dims, len(a.dims))
        t = self.temp(dims)
        result = self.new(dims, self.permuted(a, dims) + sign * self.permuted(b, dims))
        self.loop(dims, [*a.get(), *b.get(), f"{t} = {a.block()}", f"{t} {'+' if sign > 0 else '-'}= {b.block()}", f"{PUT[result.kind]} {result.block()} = {t}"])

    def accumulate(self) -> None:
        """Every iteration over one more index adds to the block."""
        a = self.random.choice(self.arrays)
        more = self.random.choice([d for d in self.indices if d not in a.dims])
        if len(a.dims) > 7:
            return self.permute()
        t = self.temp(a.dims)
        result = self.new(a.dims, a.values * len(more.sizes))
        self.loop([*a.dims, more], [*a.get(), f"{t} = {a.block()}", f"{PUT[result.kind]} {result.block()} += {t}"])

    def half(self) -> None:
        """Blocks where one segment is before the other; the rest of the array is not there, and zero."""
        others = [d for d in self.indices if d not in self.same_range]
        dims = [*self.same_range, *self.random.sample(others, self.random.randint(0, 4))]
        self.random.shuffle(dims)
        values = self.numbers.normal()
        grid = np.meshgrid(*[d.segment_of() for d in dims], indexing="ij")
        before = grid[dims.index(self.same_range[0])] < grid[dims.index(self.same_range[1])]
        t = self.temp(dims)
        result = self.new(dims, before * values, sparse=True)
        self.loop(dims, [f"{t} = {values!r}", f"{PUT[result.kind]} {result.block()} = {t}"], f"{self.same_range[0].name} < {self.same_range[1].name}")

    def trace(self) -> None:
        a = self.random.choice(self.arrays)
        alike = [b for b in self.arrays if {d.name for d in b.dims} == {d.name for d in a.dims}]
        b = self.random.choice(alike)
        name = f"sum{len(self.scalars)}"
        products = a.values * self.permuted(b, a.dims)
        self.scalars[name], self.sizes[name] = float(products.sum()), float(np.abs(products).sum())
        self.body.append("part = 0.0")
        self.loop(a.dims, [*a.get(), *(b.get() if b is not a else []), f"part += {a.block()}*{b.block()}"])
        self.body.append(f"collective {name} += part")

    def to_static(self) -> None:
        a = self.random.choice([x for x in self.arrays if x.kind != "static"] or self.arrays)
        dims = self.random.sample(a.dims, len(a.dims))
        static = Array("copied", "static", dims, self.permuted(a, dims))
        self.arrays.append(static)
        self.body += [*(f"do {d.name}" for d in dims), *a.get(), f"{static.block()} = {a.block()}", *(f"enddo {d.name}" for d in reversed(dims))]

    # ---- as a job
    def text(self) -> str:
        lines = [f"sial p{self.seed}", *(d.declaration() for d in self.indices), *(a.declaration() for a in self.arrays), *self.temps, "scalar part",
                 *(f"scalar {name}" for name in self.scalars), *self.body, f"endsial p{self.seed}"]
        return "\n".join(lines) + "\n"

    def job(self) -> dict[str, Any]:
        return {"arrays": {a.name: a.values for a in self.arrays if a.given}, "segments": self.segments,
                "save": [a.name for a in self.arrays if not a.given and a.kind != "static"]}

    def differences(self, scalars: Any, arrays: Any) -> list[str]:
        found = []
        for name, value in self.scalars.items():
            if not abs(scalars[name] - value) <= 1e-12 * max(1.0, self.sizes[name]):  # NaN, too
                found.append(f"{name}: {scalars[name]!r}, NumPy: {value!r}")
        for a in self.arrays:
            if a.given:
                continue
            values = np.asarray(arrays[a.name])
            if values.shape != a.values.shape:
                found.append(f"{a.name}: shape {values.shape}, NumPy: {a.values.shape}")
            elif values.size and not np.abs(values - a.values).max() <= 1e-12 * max(1.0, float(np.abs(a.values).max())):
                found.append(f"{a.name}: differs by {np.abs(values - a.values).max():.2g}")
        return found


def through_files(program: Program, folder: pathlib.Path, ranks: int) -> list[str]:
    source = folder / "program.sialx"
    source.write_text(program.text())
    results = sialx.Job(source, **program.job()).run(folder / f"on{ranks}", ranks=ranks)
    statics = {name: results.static(name) for name in results.static_names}
    return program.differences(results.scalars, {**statics, **{label: array[...] for label, array in results.arrays.items()}})


def in_process(program: Program) -> list[str]:
    results = sialx.run(program.text(), **program.job())
    return program.differences(results.scalars, results.arrays)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--native", default="", help="empty: there is no module for sialx.run")
    parser.add_argument("--seeds", type=int, default=12)
    options = parser.parse_args()
    os.environ.update(ENV, SIALRUN=str(BIN / "sialrun"))
    warnings.simplefilter("ignore", sialx.JobWarning)
    wrong = runs = 0
    with tempfile.TemporaryDirectory(prefix="sialx-random-") as folder:
        for seed in range(1, options.seeds + 1):
            program = Program(seed)
            ways: list[tuple[str, Callable[[], list[str]]]] = [
                (f"{ranks} ranks", lambda ranks=ranks: through_files(program, pathlib.Path(folder), ranks))  # type: ignore[misc]
                for ranks in ((1, 2, 3) if options.seeds >= 50 else (1 + seed % 3,))
            ]
            if options.native:
                ways.append(("in process", lambda: in_process(program)))
            for where, run in ways:
                runs += 1
                try:
                    found = run()
                except sialx.JobError as error:
                    found = [str(error)]
                if found:
                    wrong += 1
                    print(f"seed {seed}, {where}:", *found, program.text(), sep="\n", flush=True)
    print(f"{options.seeds} programs, {runs} runs: {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
