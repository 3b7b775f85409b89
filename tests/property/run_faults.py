#!/usr/bin/env python3
"""The net holds: with any one check of legality left out (runtime/core/base/fault_injection.def, SIALX_FAULT), random programs must find it.

    run_faults.py --bin DIR [--fault NAME] [--update] [--count N]

faults.json records for each check a seed and a configuration of run_property.py that notice, so that this takes a second per check, or a test,
where random programs notice only by the timing of messages. A
record that no longer does (the generator has changed) is looked for again among the first seeds (--count; run_property.py takes part of them);
--update does so for all and writes the file. A new check needs a row in faults.def and one run of this with --update.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from batches import MPIRUN, Runner, make_jobs
from harness import BIN, ENV
from run_property import CHUNK, COUNT, FAKE_CUDA, configurations

HERE = pathlib.Path(__file__).resolve().parent
RECORDS = HERE / "faults.json"
TABLE = HERE.parents[1] / "runtime/core/base/fault_injection.def"
TIMEOUT = 120  # of one batch: a wrong program may hang


def faults():
    return re.findall(r"^FAULT\((\w+),", TABLE.read_text(), re.M)


class Field:
    """Jobs and runners in one folder: without a fault, and with each."""

    def __init__(self, options):
        self.options = options
        self.scratch = tempfile.TemporaryDirectory()
        self.made = None

    def runner(self, fault=""):
        return Runner(pathlib.Path(self.scratch.name), self.options.launcher, fault)

    def jobs(self, seeds):
        if self.made is None or self.made[0] != seeds:
            self.made = seeds, make_jobs(self.runner(), seeds)[0]
        return self.made[1]

    def notices(self, fault, number, seeds, names=None):
        """(configuration, seed) that disagrees with this fault; None where nothing does. A compiler that stops counts: its verifier."""
        jobs = self.jobs(seeds)
        runner = self.runner(fault)
        if messages := runner.compile(jobs):
            if "names no check" in messages:
                sys.exit(f"the programs under test do not know {fault}: build them anew")
            return next((("compiler", job.seed) for job in jobs if runner.compile([job])), None)
        for configuration in configurations(number, False, FAKE_CUDA):
            if names is not None and configuration.name not in names:
                continue
            if names is None and configuration.optimisation:
                continue
            outputs, _ = runner.batch(configuration, jobs, TIMEOUT)
            for job in jobs:
                if not job.agrees(outputs.get(job.name)):
                    return configuration.name, job.seed
        return None


def hunt(field, wanted, count):
    """Records of the checks found missing within `count` seeds."""
    found = {}
    for number, first in enumerate(range(1, count + 1, CHUNK)):
        for fault in [p for p in wanted if p not in found]:
            start = time.monotonic()
            if noticed := field.notices(fault, number, range(first, first + CHUNK)):
                found[fault] = {"configuration": noticed[0], "seed": noticed[1]}
                print(f"{fault}: seed {noticed[1]}, {noticed[0]}, {time.monotonic() - start:.1f} s", flush=True)
        if len(found) == len(wanted):
            break
    return found


def switch_is_loud():
    """The switch says that it is set, and refuses a name it does not know."""
    complaints = []
    for program, arguments in (("sialc", ["--syntax-only", "none.sialx"]), ("sialrun", ["none.sialx"])):
        for fault, word in ((faults()[0], "RESULTS MAY BE WRONG ON PURPOSE"), ("no_such_check", "names no check")):
            p = subprocess.run([BIN / program, *arguments], env={"SIALX_FAULT": fault, "PATH": ""}, capture_output=True, text=True)
            if word not in p.stderr or p.returncode == 0:
                complaints.append(f"{program} with SIALX_FAULT={fault} does not say `{word}`: {p.stderr}")
    return complaints


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", default="")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--count", type=int, default=COUNT, help="seeds to look through for a check without a good record")
    parser.add_argument("--launcher", default=MPIRUN)
    options = parser.parse_args()
    records = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    wanted = [p for p in faults() if options.fault in p]
    complaints = switch_is_loud()
    field = Field(options)
    stale = []
    for fault in wanted:
        record = records.get(fault)
        record = record if record and (not options.update or "test" in record) else None
        if record is None:
            stale.append(fault)
            continue
        start = time.monotonic()
        if test := record.get("test"):
            if subprocess.run([BIN / test], env={**ENV, "SIALX_FAULT": fault}, capture_output=True).returncode == 0:
                complaints.append(f"{test} passes with {fault}")
            print(f"{fault}: {test}, {time.monotonic() - start:.1f} s", flush=True)
            continue
        seed, names = record["seed"], [record["configuration"]]
        if "cuda" in names[0] and not FAKE_CUDA:
            print(f"{fault}: left out, the fake CUDA driver is not built", flush=True)
            continue
        jobs = field.jobs(range(seed, seed + 1))
        if not field.notices(fault, (seed - 1) // CHUNK, range(seed, seed + 1), names):
            stale.append(fault)
            continue
        clean = [c for c in configurations((seed - 1) // CHUNK, False, FAKE_CUDA) if c.name in names]
        field.runner().compile(jobs)
        for configuration in clean:
            if not jobs[0].agrees(field.runner().batch(configuration, jobs, TIMEOUT)[0].get(jobs[0].name)):
                complaints.append(f"seed {seed} disagrees without {fault} too, {configuration.name}")
        print(f"{fault}: seed {seed} notices, {names[0]}, {time.monotonic() - start:.1f} s", flush=True)
    if stale:
        print(f"looking for seeds that notice: {' '.join(stale)}", flush=True)
        found = hunt(field, stale, options.count)
        complaints += [f"{fault}: no random program among {options.count} notices that this check is missing" for fault in stale if fault not in found]
        records.update(found)
    if options.update:
        RECORDS.write_text(json.dumps({p: records[p] for p in faults() if p in records}, indent=1) + "\n")
    print("\n".join([*complaints, f"{len(wanted) - sum(c.endswith('is missing') for c in complaints)} of {len(wanted)} checks are watched"]))
    sys.exit(1 if complaints or not wanted else 0)


if __name__ == "__main__":
    main()
