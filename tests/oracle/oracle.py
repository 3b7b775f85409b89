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

from machine import Machine, Persistence, digits
from model import JobData, Json, LanguageError


def run_job(programs: Iterable[Json], data: JobData, write: Callable[[str], object] | None = None, exact_limit: float | None = None) -> Machine:
    """Runs parsed programs in order; returns the machine of the last one."""
    persistence = Persistence()
    machine: Any = None
    for program in programs:
        machine = Machine(program, data, persistence, write or sys.stdout.write, exact_limit)
        machine.run()
    return machine


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
        machine = run_job([json.load(open(p)) for p in options.programs], job_data(options.set, options.segments))
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
