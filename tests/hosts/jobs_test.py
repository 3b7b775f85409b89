#!/usr/bin/env python3
"""Tests of other folders, and jobs of the examples, on several hosts.

    jobs_test.py --bin DIR [--long] [--only TEXT] [--list]

Each run is a command on the first host of a cluster of its own, as that folder's tests start it: values are compared by the same
scripts. Afterwards nothing may be left on any host. Exit code 77 where no cluster can be made.
"""
from __future__ import annotations

import argparse
import dataclasses
import pathlib
import sys
import time
from collections.abc import Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cluster import ROOT, SHARED, SKIPPED, Cluster, ClusterError, Conditions, unavailable, without_open_mpi
from harness import BIN, LONG

TESTS = ROOT / "tests"
LIMIT = 280.0  # seconds of one command
FLAGS = ("--bind-to", "none", "--mca", "mpi_yield_when_idle", "1")  # tests/mpi/mpi_tests.cmake


@dataclasses.dataclass
class Run:
    name: str
    layout: str  # hosts x ranks on each
    command: list[str]
    network: Conditions | None = None

    def title(self) -> str:
        changed = [f"{name} {value:g}" for name, value in dataclasses.asdict(self.network).items() if value != getattr(Conditions, name)] if self.network else []
        return ", ".join([f"{self.name} on {self.layout}", *changed])

    def hosts_and_slots(self) -> tuple[int, int]:
        hosts, _, slots = self.layout.partition("x")
        return int(hosts), int(slots)


def ranks(layout: str) -> int:
    hosts, _, slots = layout.partition("x")
    return int(hosts) * int(slots)


def mpirun(layout: str, *command: str | pathlib.Path) -> list[str]:
    return ["mpirun", "-n", str(ranks(layout)), *FLAGS, *map(str, command)]


def script(name: str, binary: pathlib.Path, *arguments: str) -> list[str]:
    return [sys.executable, str(TESTS / name), "--bin", str(binary), *arguments]


def examples(binary: pathlib.Path, layout: str, *jobs: str) -> list[str]:
    return script("run_example.py", binary, "--layouts", str(ranks(layout)), *(str(ROOT / "examples" / job) for job in jobs))


def runs(binary: pathlib.Path, long: bool) -> Iterator[Run]:
    slow = Conditions(delay=1e-3)
    energies = ["04_rhf/job.toml", "05_mp2/job.toml"]
    small = [*energies, "09_ccsd/job_sto3g.toml"]
    transport, store = binary / "mpi_suite", binary / "store_mpi_suite"
    for layout in ("3x1", "2x2"):
        yield Run("transport", layout, mpirun(layout, transport, "conform"))
        yield Run("store", layout, mpirun(layout, store, "--history", "1"))
        yield Run("examples", layout, examples(binary, layout, *(small if layout == "3x1" else energies)))
    yield Run("servers", "2x2", mpirun("2x2", store, "--servers", "2"))
    yield Run("examples", "3x1", examples(binary, "3x1", *small), slow)
    yield Run("examples", "2x2", examples(binary, "2x2", *energies), slow)
    yield Run("restart", "2x1", script("restart/restart.py", binary, "Restart.test_missing_file_of_one_rank"))
    yield Run("errors", "4x1", script("faults/faults.py", binary, "Faults.test_one_rank_fails", "Faults.test_one_rank_is_full"))
    launcher = ["--launcher", " ".join(["mpirun", "-n", "{n}", *FLAGS])]
    yield Run("random programs", "3x1", script("property/run_property.py", binary, *launcher, "--count", "20", "--seed", "1", "--config", "mpirun"))
    if not long:
        return
    for layout in ("3x1", "2x2", "4x1", "2x3"):
        for network in (None, slow, Conditions(rate=100e6), Conditions(loss=0.01, mtu=1500)):
            yield Run("long: transport", layout, mpirun(layout, transport, "conform"), network)
            for seed in range(1, 6):
                yield Run("long: store", layout, mpirun(layout, store, "--history", str(seed)), network)
            yield Run("long: examples", layout, examples(binary, layout, *small, "11_ccsd_t/job_sto3g.toml", "07_ump2/job_hydrogen.toml", "08_cis/job_fluoride.toml"), network)
    for name in ("restart", "other_ranks", "ends"):
        yield Run("long: restart", "3x1", script(f"restart/{name}.py", binary))
    faults = ["another_rank_is_full", "reason_before_stop_is_printed", "only_worker_fails_beside_a_server", "mismatched_collectives"]
    yield Run("long: faults", "4x1", script("faults/faults.py", binary, *(f"Faults.test_{name}" for name in faults)))
    yield Run("long: random programs", "3x1", script("property/run_property.py", binary, *launcher, "--count", "200", "--config", "mpirun"))
    yield Run("long: random programs", "3x1", script("property/run_property.py", binary, *launcher, "--count", "100", "--config", "mpirun"), slow)
    yield Run("long: random restarts", "3x1", script("property/run_restart.py", binary, *launcher, "--count", "20"))
    yield Run("long: references", "3x1", script("references/references.py", binary, "--layouts", "3", "--systems", "water/sto-3g,hydrogen-fluoride/6-31g"))


def failure(run: Run, binary: pathlib.Path) -> str:
    """Why a run is wrong; empty where it is right."""
    hosts, slots = run.hosts_and_slots()
    with Cluster(hosts, slots, network=run.network, relay=binary / "network_relay", visible=[binary]) as cluster:
        try:
            # Scripts make folders for jobs, which ranks on all hosts work in.
            done = cluster.run(run.command, env={"TMPDIR": str(SHARED)}, cwd=ROOT, timeout=LIMIT * (10 if run.name.startswith("long") else 1))
        except TimeoutError:
            return f"no end; on the hosts: {[cluster.processes(host) for host in range(1, hosts + 1)]}"
        if done.returncode != 0:
            return f"exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        left = cluster.leftovers()
        return f"left on the hosts: {left}" if left else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", default=LONG)
    parser.add_argument("--only", default="", help="runs with this in their name")
    parser.add_argument("--list", action="store_true", help="names and commands only")
    options = parser.parse_args()
    chosen = [run for run in runs(BIN, options.long) if options.only in run.name]
    if options.list:
        print("\n".join(f"{run.title()}: {' '.join(run.command)}" for run in chosen))
        return 0
    reason = unavailable(relay=True) or without_open_mpi()
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    wrong = []
    for run in chosen:
        start = time.monotonic()
        try:
            why = failure(run, BIN)
        except ClusterError as e:
            why = str(e)
        print(f"{run.title()}: {'FAILED' if why else 'right'}, {time.monotonic() - start:.1f} s", flush=True)
        if why:
            wrong.append(f"{run.title()}: {why}")
    print("\n".join(wrong) if wrong else f"{len(chosen)} runs")
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
