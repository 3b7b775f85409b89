#!/usr/bin/env python3
"""Evaluates SIAL programs, given as `sialc --emit=ast-json` prints them, as one worker; prints what they print (plain format).

    oracle.py first.json [second.json ...] --set norb=3 --segments ao=2,3,1 [--scalars] [--statics]

Several programs are one job: persistent items pass between them. An error the language defines ends the job: one line on
stderr, exit code 1.
"""
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from machine import Machine, Persistence, digits
from model import Array, Block, JobData, Json, LanguageError


def run_job(programs: Iterable[Json], data: JobData, write: Callable[[str], object] | None = None, exact_limit: float | None = None) -> list[Machine]:
    """Runs parsed programs in order; returns their machines."""
    persistence = Persistence()
    machines = []
    for program in programs:
        machines.append(Machine(program, data, persistence, write or sys.stdout.write, exact_limit))
        machines[-1].run()
    return machines


def kept_arrays(machines: Iterable[Machine]) -> dict[str, Any]:
    """The arrays that a job leaves, as results.h5 names them: static ones of each program and saved ones."""
    kept = {}
    for number, machine in enumerate(machines, 1):
        kept.update({f"programs/{number}/{a.name}": a.dense for a in machine.entities("array") if a.array_kind == "static"})
        for array, label in machine.marked:
            if array.kind == "array":
                kept[f"saved/{label}"] = array.dense if array.array_kind == "static" else dense(array)
    return kept


def dense(array: Array) -> Block:
    """A remote array as a whole, with zeros for absent blocks."""
    result: Block = np.zeros([d.total() for d in array.dims], order="F")
    for key, block in array.remote.items():
        at = [d.offset(segment) for d, segment in zip(array.dims, key)]
        result[tuple(slice(o, o + n) for o, n in zip(at, block.shape))] = block
    return result


def job_data(sets: Iterable[str], segments: Iterable[str]) -> JobData:
    values = dict(item.split("=", 1) for item in sets)
    tables = {k: [int(n) for n in v.split(",")] for k, v in (item.split("=", 1) for item in segments)}
    return JobData(values, tables)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--segments", action="append", default=[], metavar="KIND=E1,E2,...")
    parser.add_argument("--scalars", action="store_true", help="print the scalars and ints of the last program")
    parser.add_argument("--statics", action="store_true", help="print its static arrays, in memory order")
    options = parser.parse_args()
    try:
        machine = run_job([json.load(open(p)) for p in options.programs], job_data(options.set, options.segments))[-1]
    except LanguageError as error:
        sys.stdout.flush()
        sys.exit(f"oracle: {error}")
    if options.scalars:
        for entity in machine.entities("scalar") + machine.entities("int"):
            print(f"{entity.name} = {digits(entity.value)}")
    if options.statics:
        for array in machine.entities("array"):
            if array.array_kind == "static":
                print(f"{array.name}:", *(digits(float(v)) for v in array.dense.flatten(order="F")))


if __name__ == "__main__":
    main()
