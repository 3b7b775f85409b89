#!/usr/bin/env python3
"""Jobs on three hosts that lose a rank, a daemon, a link or a host: they end in time, say why, leave nothing, and go on from their checkpoint.

    faults_test.py --bin DIR [--long] [--only TEXT] [--list] [--verbose]
    faults_test.py --bin DIR --random N | --random-passing N [--seed S] [--first K] [--at-once J] [--only KIND]
    faults_test.py --bin DIR --random-kills N [--seed S]

The second form draws kind, host and moment of N faults (random_faults.py), the third kills ranks of one job (random_kills.py). Exit code 77 where no cluster can be made.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import pathlib
import re
import sys
import time
from collections.abc import Callable
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import random_faults
import random_kills
from cluster import ROOT, SHARED, SKIPPED, Cluster, ClusterError, unavailable, without_open_mpi
from harness import BIN, LONG

PROGRAM = ROOT / "tests/watch/programs/uneven.sialx"
PHASES = 9000
LOST_AFTER = 5  # seconds
ENDED = 45.0  # seconds, at most, from the fault to the end of mpirun: far more than it takes, so that only a hang is one
# What makes mpirun itself notice a daemon that is cut off.
KEEPALIVE = ("--mca", "oob_tcp_keepalive_time", "8", "--mca", "oob_tcp_keepalive_intvl", "2", "--mca", "oob_tcp_keepalive_probes", "3")


def named(cluster: Cluster, host: int, word: str) -> int:
    """The process of a host whose program is called so."""
    for process in cluster.processes(host):
        command: Any = process["command"]
        words = command.split() if isinstance(command, str) else command
        if words and pathlib.Path(words[0]).name == word:  # a process that begins or ends has no words
            return int(process["pid"])
    raise AssertionError(f"node{host} runs no {word}: {cluster.processes(host)}")


def await_process(cluster: Cluster, host: int, word: str) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with contextlib.suppress(AssertionError):
            named(cluster, host, word)
            return
    raise AssertionError(f"node{host} runs no {word} after 60 s")


def send(cluster: Cluster, host: int, word: str, signal: str) -> None:
    cluster.run(["kill", f"-{signal}", str(named(cluster, host, word))], host=host)


@dataclasses.dataclass
class Fault:
    name: str
    does: Callable[[Cluster], None]
    says: str  # a pattern that the error stream must have; empty: anything
    passes: Callable[[Cluster], None] | None = None  # ends the fault after a while: the job must end right
    after: float = 0.0
    gone: tuple[int, ...] = ()  # hosts that are not looked at afterwards
    keepalive: bool = True
    at_start: bool = False  # as soon as there is the process of a rank, which waits for the others in MPI
    long: bool = True  # left out unless all are wanted


SILENT = r"error: nothing has been heard of rank 2 \(node3\) for \d+ s\n  hint: the host is down, cut off from the network, or its processes are stopped; continue from the checkpoint of"
FAULTS = [
    Fault("host_killed", lambda c: c.kill_host(3), SILENT + "|node3", gone=(3,)),
    Fault("link_down", lambda c: c.link(3, up=False), SILENT, gone=(3,)),
    Fault("link_down_without_keepalive", lambda c: c.link(3, up=False), SILENT, gone=(3,), keepalive=False, long=False),
    Fault("link_down_first", lambda c: c.link(1, up=False), r"error: nothing has been heard of rank [12] \(node[23]\)", gone=(2, 3)),
    Fault("rank_stopped", lambda c: send(c, 2, "sialrun", "STOP"), r"error: nothing has been heard of rank 1 \(node2\)", long=False),
    Fault("rank_stopped_at_start", lambda c: send(c, 2, "sialrun", "STOP"), r"error: node[123]: the ranks have not met in 2[02] s|error: node2: a rank has been stopped by a signal for 2 s|error: nothing has been heard of rank 1 \(node2\)", at_start=True, long=False),
    Fault("rank_killed", lambda c: send(c, 2, "sialrun", "KILL"), "node2"),
    Fault("daemon_killed", lambda c: send(c, 2, "orted", "KILL"), ""),
    Fault("launcher_killed", lambda c: send(c, 1, "mpirun", "KILL"), ""),
    Fault("link_down_for_a_while", lambda c: c.link(2, up=False), "", passes=lambda c: c.link(2, up=True), after=3.5, keepalive=False, long=False),
    Fault("rank_stopped_for_a_while", lambda c: send(c, 3, "sialrun", "STOP"), "", passes=lambda c: send(c, 3, "sialrun", "CONT"), after=3.5, keepalive=False),
]


def job(binary: pathlib.Path, keepalive: bool, *more: str) -> list[str]:
    return ["mpirun", "-n", "3", "--bind-to", "none", *(KEEPALIVE if keepalive else ()), str(binary / "sialrun"), str(PROGRAM), "--set", "norb=2", "--set", "rounds=1", "--set", f"phases={PHASES}",
            "--segments", "ao=60,60", "--results", "none", "--output-dir", f"{SHARED}/job", *more]


def restarted(binary: pathlib.Path, cluster: Cluster) -> str:
    """What the job prints when it goes on on hosts that are new."""
    done = cluster.run(job(binary, False, "--restart"), cwd=SHARED, timeout=120)
    return "" if done.returncode == 0 and f"sum = {PHASES}" in done.stdout else done.stdout + done.stderr


def trial(binary: pathlib.Path, fault: Fault, verbose: bool) -> list[str]:
    """What is wrong."""
    wrong = []
    with Cluster(hosts=3, slots=1) as cluster:
        out, err = (pathlib.Path(cluster.path(1, f"{SHARED}/{name}")) for name in ("out", "err"))
        with out.open("w") as out_file, err.open("w") as err_file:
            with cluster.start(job(binary, fault.keepalive, "--lost-after", f"{30 if fault.passes else 2 if fault.at_start else LOST_AFTER}s", "--checkpoint-every", "1s"), cwd=SHARED, stdout=out_file.fileno(), stderr=err_file.fileno()) as launcher:
                if fault.at_start:
                    await_process(cluster, 2, "sialrun")
                index = pathlib.Path(cluster.path(1, f"{SHARED}/job/checkpoint/index.json"))
                end = time.monotonic() + 60
                while not (fault.at_start or index.exists()):
                    if time.monotonic() > end:
                        return [f"no checkpoint after 60 s: {out.read_text()}{err.read_text()}"]
                    time.sleep(0.05)
                time.sleep(0 if fault.at_start else 1.5)  # so that all hosts have heard of each other
                fault.does(cluster)
                begin = time.monotonic()
                if fault.passes:
                    time.sleep(fault.after)
                    fault.passes(cluster)
                try:
                    code = launcher.wait(90 if fault.passes else ENDED)
                except TimeoutError:
                    return [f"hangs {ENDED} s after the fault: {err.read_text()}{ {h: cluster.processes(h) for h in (1, 2, 3) if h not in fault.gone} }"]
                took = time.monotonic() - begin
        said = err.read_text()
        if verbose:
            print(f"exit code {code} after {took:.1f} s\n{said}")
        if fault.passes:
            if code != 0 or f"sum = {PHASES}" not in out.read_text():
                wrong.append(f"exit code {code}: {out.read_text()}{said}")
            if "error" in said or "note:" in said:
                wrong.append(f"a false alarm: {said}")
        else:
            if code == 0:
                wrong.append("exit code 0")
            if not re.search(fault.says, said):
                wrong.append(f"does not say {fault.says!r}: {said}")
        left = {}
        for host, what in cluster.leftovers(within=20).items():
            # Open MPI's daemons leave their folder where they have lost mpirun.
            ours = {kind: [entry for entry in entries if kind != "/tmp" or not str(entry).startswith("ompi.")] for kind, entries in what.items()}
            if int(host[-1]) not in fault.gone and any(ours.values()):
                left[host] = ours
        if left:
            wrong.append(f"left: {left}")
        if not fault.passes and not fault.gone and not fault.at_start and (trouble := restarted(binary, cluster)):
            wrong.append(f"does not go on: {trouble}")
    return wrong


def full_folder(binary: pathlib.Path) -> list[str]:
    """A host whose /tmp is full: Open MPI 4.1 does not say so, and may hang."""
    with Cluster(hosts=2, slots=2, tmp_size="16m") as cluster:
        cluster.run(["sh", "-c", "cat /dev/zero > /tmp/filler"], host=2)
        try:
            done = cluster.run(["mpirun", "-n", "4", "--bind-to", "none", str(binary / "sialrun"), str(PROGRAM), "--set", "norb=2", "--set", "rounds=1", "--set", "phases=1", "--segments", "ao=60,60",
                                "--results", "none"], cwd=SHARED, timeout=60)
        except TimeoutError:
            return ["hangs"]
    said = re.search(r"error: /tmp\S* \(\d+ KiB free\) is full on node2: MPI cannot start", done.stderr)
    return [] if done.returncode != 0 and said else [f"exit code {done.returncode}, and does not say that /tmp is full: {done.stderr}"]


def equal_bridges(binary: pathlib.Path) -> list[str]:
    """Hosts that have a bridge of the same address, and an Open MPI that is not told which network to use: it hangs, but says what may be wrong."""
    with Cluster(hosts=2, slots=1) as cluster:
        for host in (1, 2):
            cluster.run(["sh", "-c", "ip link add docker0 type dummy && ip addr add 172.17.0.1/16 dev docker0 && ip link set docker0 up"], host=host)
        unset = [f for name in ("btl", "oob") for f in ("-u", f"OMPI_MCA_{name}_tcp_if_include")]
        done = cluster.run(["env", *unset, "timeout", "30", "mpirun", "-n", "2", str(binary / "sialrun"), str(PROGRAM), "--set", "norb=2", "--set", "rounds=1", "--set", "phases=1",
                            "--segments", "ao=60,60", "--results", "none"], cwd=SHARED, timeout=60)
    if done.returncode == 0 or "this host has docker0 (172.17.0.1)" in done.stderr:
        return []
    return [f"exit code {done.returncode}, and nothing about docker0: {done.stderr}"]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true", default=LONG)
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N faults of random kind, host and moment")
    parser.add_argument("--random-passing", type=int, default=0, metavar="N", help="N faults that pass, of which a job must not take notice")
    parser.add_argument("--random-kills", type=int, default=0, metavar="N", help="kills a rank of one job N times; it goes on on other hosts and ranks")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, metavar="K", help="number of the first of them")
    parser.add_argument("--at-once", type=int, default=1, metavar="J", help="trials at a time")
    arguments = parser.parse_args()
    os.environ["SIALX_BIN"] = str(BIN)
    chosen = [f for f in FAULTS if (arguments.long or arguments.only or not f.long) and arguments.only in f.name and (arguments.only not in {g.name for g in FAULTS} or arguments.only == f.name)]
    if arguments.list:
        print("\n".join(f.name for f in chosen))
        return 0
    if reason := unavailable(relay=arguments.random_passing > 0) or without_open_mpi():
        print(f"skipped: {reason}")
        return SKIPPED
    try:
        if arguments.random_kills:
            return 0 if random_kills.run(BIN, arguments.random_kills, arguments.seed) else 1
        if count := arguments.random or arguments.random_passing:
            good = random_faults.run(BIN, count, arguments.seed, arguments.first, arguments.only, arguments.random == 0, arguments.at_once)
            return 0 if good else 1
        failed = []
        for fault in chosen:
            wrong = trial(BIN, fault, arguments.verbose)
            print(f"{fault.name}: {'; '.join(wrong) or 'ended as it should'}", flush=True)
            failed += [fault.name] * bool(wrong)
        for name, function, wanted in (("full folder", full_folder, True), ("equal bridges", equal_bridges, arguments.long)):
            if wanted and not arguments.only:
                wrong = function(BIN)
                print(f"{name}: {'; '.join(wrong) or 'explained'}", flush=True)
                failed += [name] * bool(wrong)
    except ClusterError as e:
        print(f"FAILED: {e}")
        return 1
    print(f"FAILED: {', '.join(failed)}" if failed else f"{len(chosen)} faults, all ended as they should")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
