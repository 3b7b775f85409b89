#!/usr/bin/env python3
"""Follows every advice of the examples' reports about orders of indices, mechanically: none may make the job slower by the cost model, change a
number, or be undone by the next report.

    run_declarations.py --bin DIR [--only NAME]
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ROOT, expect
from redeclare import SourceTree

# Larger segments than the examples' tests have, so that block operations are worth something.
SEGMENTS = {"ao_target": 10, "occ_target": 5, "virt_target": 8}
JOBS = {
    "mp2": "examples/05_mp2/job_cartesian.toml",
    "ump2": "examples/07_ump2/job_amidogen.toml",
    "cis_d": "examples/08_cis/job_d.toml",
    "ccsd": "examples/09_ccsd/job_321g.toml",
    "lcc": "examples/10_lcc/job_321g.toml",
    "ccsd_t": "examples/11_ccsd_t/job_321g.toml",
    "lambda": "examples/12_lambda/job_321g.toml",
    "eom": "examples/13_eom/job_321g.toml",
}


class Job:
    """A job of the examples on copies of its sources."""

    def __init__(self, tools, name, work, toml):
        self.bin, self.name, self.work = tools, name, pathlib.Path(work) / name
        self.job = tomllib.loads((ROOT / toml).read_text())
        folder = (ROOT / toml).parent
        self.tree = SourceTree(ROOT, self.work / "sources", [folder / p for p in self.job["programs"]])
        self.job["molecule"]["xyz"] = str((folder / self.job["molecule"]["xyz"]).resolve())
        self.job["segments"].update({k: v for k, v in SEGMENTS.items() if k in self.job["segments"]})
        self.runs = 0

    def toml(self):
        lines = ["programs = " + json.dumps([str(p) for p in self.tree.job_programs()])]
        for section, values in self.job.items():
            if isinstance(values, dict):
                lines += [f"[{section}]"] + [f"{k} = {json.dumps(v)}" for k, v in values.items()]
        return "\n".join(lines) + "\n"

    def run(self):
        """Printed numbers with their names, and run.json."""
        self.runs += 1
        folder = self.work / f"run{self.runs}"
        folder.mkdir(parents=True)
        (folder / "job.toml").write_text(self.toml())
        done = subprocess.run([self.bin / "sialrun", folder / "job.toml", "--output-dir", folder, "--results", "none", "--run-json", "run.json"], capture_output=True, text=True, timeout=500)
        expect(done.returncode == 0, f"{self.name}: {done.stderr[-1000:]}")
        numbers = [(name, float(number)) for name, number in re.findall(r"(\w+) = (-?\d+\.\d+(?:[eE][-+]\d+)?)", done.stdout)]
        expect(any("energy" in name for name, _ in numbers), f"{self.name} prints no energies: {done.stdout[-300:]}")
        return numbers, folder / "run.json"

    def report(self, run):
        """Of a run in which nothing but block operations took time: what is worth a change does not depend on the load of this machine then."""
        j = json.loads(run.read_text())
        kernels: dict = {}
        for k in j["kernels"]["choices"]:
            at = (k["program"], k["file"], k["line"])
            kernels[at] = kernels.get(at, 0) + k["calls"] * 1e-6
            k["seconds"] = k["calls"] * 1e-6
        for l in j["lines"]:
            l["seconds"] = l["compute_seconds"] = l["slowest_rank_seconds"] = kernels.get((l["program"], l["file"], l["line"]), 0)
        run.write_text(json.dumps(j))
        done = subprocess.run([self.bin / "sialreport", run, "--format=json"], capture_output=True, text=True, timeout=300)
        expect(done.returncode == 0, f"{self.name}: {done.stderr[-1000:]}")
        return json.loads(done.stdout)["job"]


def declarations(report):
    return [a for a in report["advice"] if a["kind"] == "declaration"]


def follow(job, package, energies, before, asked):
    """One package of redeclarations, alone or with those before it."""
    job.tree.apply(package)
    now, run = job.run()
    same = len(now) == len(energies) and all(a[0] == b[0] and abs(a[1] - b[1]) < 1e-8 for a, b in zip(now, energies))
    expect(same, f"{job.name}: {package} changes numbers: {energies} {now}")
    report = job.report(run)
    names = ", ".join(f"{r['from']} -> {r['to']} ({r['program']})" for r in package)
    print(f"  {names}: model {before['model_seconds'] * 1e3:.3f} ms -> {report['model_seconds'] * 1e3:.3f} ms", flush=True)
    expect(report["model_seconds"] < before["model_seconds"], f"{job.name}: following `{names}` makes the job slower by the model")
    for a in declarations(report):
        for r in a["redeclarations"]:
            expect((r["program"], r["array"]) not in asked, f"{job.name}: after `{names}` the next report asks for {r['from']} -> {r['to']}")
    return report


def check(job):
    energies, run = job.run()
    first = report = job.report(run)
    expect(not report["undecided"], f"{job.name}: {report['undecided']}")
    print(f"{job.name}: {report['opening']}", flush=True)
    expect(report["opening"].count("%") >= 2 and report["costliest"]["reason"], f"{job.name}: {report['opening']}")
    asked = set()
    for a in declarations(first):
        asked |= {(r["program"], r["array"]) for r in a["redeclarations"]}
        report = follow(job, a["redeclarations"], energies, report, asked)
    return len(declarations(first))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    options = parser.parse_args()
    followed = 0
    with tempfile.TemporaryDirectory() as work:
        for name, toml in JOBS.items():
            if options.only in (None, name):
                followed += check(Job(BIN, name, work, toml))
    expect(followed > 0 or options.only, "no report asked for another declaration: nothing was tested")
    print(f"{followed} changes of declarations followed: none made a job slower by the model, none was undone")


if __name__ == "__main__":
    main()
