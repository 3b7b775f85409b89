"""Faults at random: kind, host and moment. Each trial has a cluster of its own, and can be repeated by its seed and number.

A lost rank, host, link or launcher must end the job in time, on every host, and say why. A full disk or memory, or too few file
descriptors, may leave it unharmed. Nothing may be left, and the job must go on to the right value. See README.md.
"""
from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import math
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import statistics
import tempfile
import time
from typing import IO, Any

from cluster import ROOT, SHARED, Cluster, ClusterError, Conditions, HostProcess

PROGRAM = ROOT / "tests/hosts/programs/counted.sialx"
LAYOUTS = {"3x1": 80, "2x2": 60, "3x2": 20}  # phases, for a run of about 3 s on two cores
LOST_AFTER = 5  # seconds
START_LIMIT = 6  # seconds
WANTED = 15.0  # seconds from the fault to the end: those that took longer are counted
ENDED = 90.0  # seconds, at most, from the fault to the end of all processes: far more than it takes, so that only a hang is one
# What makes mpirun itself notice a daemon that is cut off before the ranks have met.
KEEPALIVE = ("--mca", "oob_tcp_keepalive_time", "4", "--mca", "oob_tcp_keepalive_intvl", "2", "--mca", "oob_tcp_keepalive_probes", "2")
# The last one is all that Open MPI says of a /tmp that becomes full while it starts.
FULL = r"[Nn]o space left|is full|too small|not enough|out of space|OUT-OF-RESOURCE"


@dataclasses.dataclass(frozen=True)
class Kind:
    says: str = ""  # a pattern of what a job that has been ended says; HOST is the host's name
    passes: bool = False  # it must
    lasts: float = 0.0  # seconds; of the network: until the job's end
    leaves_folder: bool = False  # Open MPI's, in /tmp, and its files in /dev/shm: nobody is left to remove them
    network: str = ""  # a command to the relay


# Before the ranks have met, Open MPI alone can say what is wrong, and it does not always know the host.
# Of a rank that is killed then, mpirun sometimes says only that a process has ended.
LOST = r"nothing has been heard of rank|HOST|lost communication|unable to reliably start one or more daemons|has ended without a word|have not met"
KINDS = {
    "rank_killed": Kind(r"HOST|has ended without a word|1 process returned\s+a non-zero exit code"),
    "rank_stopped": Kind(r"nothing has been heard of rank|stopped by a signal|no sign of life|have not met", leaves_folder=True),
    "link_down": Kind(LOST, leaves_folder=True),
    "daemon_killed": Kind(LOST, leaves_folder=True),
    "launcher_killed": Kind(leaves_folder=True),
    "host_killed": Kind(LOST, leaves_folder=True),
    # Open MPI 4.1 touches memory for its messages without having it.
    "full_shared_memory": Kind(FULL + "|Bus error"),
    "full_disk": Kind(FULL),
    "full_tmp": Kind(FULL),
    "few_descriptors": Kind(r"[Tt]oo many open files|descriptor|EMFILE"),
}
PASSING = {
    "link_down_5s": Kind(passes=True, lasts=5),
    "rank_stopped_20s": Kind(passes=True, lasts=20),
    "loss_1%": Kind(passes=True, network="loss 0.01"),
    "delay_1ms": Kind(passes=True, network="delay 0.001"),
    "rate_100Mbit": Kind(passes=True, network="rate 1e8"),
}


@dataclasses.dataclass
class Plan:
    """All that is drawn for a trial."""

    seed: int
    number: int
    kind: str
    layout: str
    host: int
    slot: int
    fraction: float  # of an undisturbed run's time
    number_of_descriptors: int

    @property
    def hosts(self) -> int:
        return int(self.layout[0])

    @property
    def slots(self) -> int:
        return int(self.layout[2])


def drawn(seed: int, number: int, only: str, passing: bool) -> Plan:
    draw = random.Random(f"{seed}/{number}/{passing}")
    kinds = [name for name in (PASSING if passing else KINDS) if only in name]
    kind, layout = draw.choice(kinds), draw.choice(list(LAYOUTS))
    hosts, slots = int(layout[0]), int(layout[2])
    host = {"launcher_killed": 1, "daemon_killed": draw.randint(2, hosts)}.get(kind, draw.randint(1, hosts))
    where = draw.random()
    fraction = draw.uniform(0, 0.35) if where < 0.2 else draw.uniform(0.85, 1.05) if where < 0.4 else draw.random()
    return Plan(seed, number, kind, layout, host, draw.randint(0, slots - 1), fraction, draw.randint(8, 60))


class Job:
    """The job of a trial: its runs, and what one of them has left."""

    def __init__(self, cluster: Cluster, binary: pathlib.Path, plan: Plan) -> None:
        self.cluster, self.binary, self.plan = cluster, binary, plan
        self.folder = pathlib.Path(cluster.path(plan.hosts if plan.host == 1 else 1, f"{SHARED}/job"))

    def command(self, *more: str) -> list[str]:
        keepalive = () if self.plan.kind in PASSING else KEEPALIVE  # its two probes can both fall into 5 s without a link
        return ["mpirun", "-n", str(self.plan.hosts * self.plan.slots), "--bind-to", "none", *keepalive, str(self.binary / "sialrun"), str(PROGRAM), "--set", "norb=2", "--set", f"phases={LAYOUTS[self.plan.layout]}",
                "--segments", "ao=60,60", "--results", "none", "--memory", "32MiB", "--output-dir", f"{SHARED}/job", "--checkpoint-every", "0.3s", *more]

    def restarted(self) -> str:
        """What is wrong with a run that goes on, or begins anew where there is no checkpoint."""
        more = ["--restart"] * (self.folder / "checkpoint/index.json").exists()
        try:
            done = self.cluster.run(self.command(*more), cwd=SHARED, timeout=240)
        except TimeoutError:
            return f"hangs with {more}"
        return "" if done.returncode == 0 and right(done.stdout, self.plan.layout) else f"exit code {done.returncode} with {more}: {done.stdout}{done.stderr}"

    def files(self) -> list[str]:
        return sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*"))


def right(output: str, layout: str) -> bool:
    energy = 4 * 60 * 60 * sum(s * s for s in range(1, LAYOUTS[layout] + 1))
    return f"energy = {energy}.0000" in output


def programs(cluster: Cluster, host: int, word: str) -> list[int]:
    found = []
    for process in cluster.processes(host):
        words = str(process["command"]).split()
        if words and pathlib.Path(words[0]).name == word:
            found.append(int(process["pid"]))
    return found


class Fault:
    """What a trial does to its job."""

    def __init__(self, cluster: Cluster, plan: Plan, output: IO[bytes]) -> None:
        self.cluster, self.plan, self.output = cluster, plan, output
        self.filler: pathlib.Path | None = None

    def await_process(self, word: str, launcher: HostProcess) -> int:
        """Process id of the program; 0 where the job ends before it is there."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if found := programs(self.cluster, self.plan.host, word):
                return found[min(self.plan.slot, len(found) - 1)]
            if ended(launcher, 0.01):
                break
        return 0

    def await_beginning(self, launcher: HostProcess) -> bool:
        """Whether the program has begun: all ranks have met in MPI."""
        while not os.pread(self.output.fileno(), 100, 0):
            if ended(launcher, 0.02):
                return False
        return True

    def signal(self, word: str, signal: str, launcher: HostProcess) -> bool:
        process = self.await_process(word, launcher)
        return process != 0 and self.cluster.run(["kill", f"-{signal}", str(process)], host=self.plan.host).returncode == 0

    def fill(self, folder: str) -> bool:
        """Takes all that a file system has."""
        self.filler = pathlib.Path(self.cluster.path(self.plan.host, f"{folder}/filler"))
        with self.filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
            except OSError:
                return True

    def strike(self, launcher: HostProcess) -> bool:
        """False where the job ended before."""
        cluster, host = self.cluster, self.plan.host
        if not self.await_process("sialrun", launcher):  # before there are ranks the launcher is alone with a fault
            return False
        match self.plan.kind:
            case "rank_killed":
                return self.signal("sialrun", "KILL", launcher)
            case "rank_stopped" | "rank_stopped_20s":
                return self.signal("sialrun", "STOP", launcher)
            case "daemon_killed":
                return self.signal("orted", "KILL", launcher)
            case "launcher_killed":
                return self.signal("mpirun", "KILL", launcher)
            case "link_down" | "link_down_5s":
                cluster.link(host, up=False)
            case "host_killed":
                cluster.kill_host(host)
            case "full_shared_memory":
                return self.fill("/dev/shm")
            case "full_disk":
                return self.fill(str(SHARED))
            case "full_tmp":
                # Open MPI 4.1 may hang where this comes while it starts: its daemon and ranks exchange what they know there.
                return self.await_beginning(launcher) and self.fill("/tmp")
            case "few_descriptors":
                process = self.await_process("sialrun", launcher)
                limit = f"--nofile={self.plan.number_of_descriptors}"
                return process != 0 and cluster.run(["prlimit", "--pid", str(process), limit], host=host).returncode == 0
            case _:
                cluster.network(PASSING[self.plan.kind].network)
        return True

    def end(self) -> None:
        """What hosts have again before a restart, or after a while."""
        if self.filler:
            self.filler.unlink(missing_ok=True)
        if "link_down" in self.plan.kind:
            self.cluster.link(self.plan.host, up=True)
        if self.plan.kind == "rank_stopped_20s":
            for process in programs(self.cluster, self.plan.host, "sialrun"):
                self.cluster.run(["kill", "-CONT", str(process)], host=self.plan.host)


def ended(launcher: HostProcess, within: float) -> bool:
    try:
        launcher.wait(within)
    except TimeoutError:
        return False
    except ClusterError:  # with its host
        launcher.returncode = -9
    return True


def cluster_of(plan: Plan) -> Cluster:
    kind = {**KINDS, **PASSING}[plan.kind]
    sizes = {"full_shared_memory": {"shm_size": "96m"}, "full_disk": {"shared_size": "8m"}, "full_tmp": {"tmp_size": "32m"}}
    return Cluster(plan.hosts, plan.slots, network=Conditions(mtu=1500) if kind.network else None, **sizes.get(plan.kind, {}))  # type: ignore[arg-type]


@dataclasses.dataclass
class Result:
    wrong: list[str]
    what: str = ""
    took: float = 0.0  # seconds from the fault to the end


def left_on_hosts(cluster: Cluster, kind: Kind, daemons: bool, until: float) -> dict[str, dict[str, list[Any]]]:
    """What is left, but for what Open MPI's daemons cannot remove, and `daemons` that are cut off; waits for it to go."""
    excused = ("ompi.", "vader_segment.") if kind.leaves_folder else ()

    def is_excused(entry: object) -> bool:
        if isinstance(entry, dict):
            return daemons and "orted " in str(entry["command"])
        return str(entry).startswith(excused)

    while True:
        left = {}
        for host, what in cluster.leftovers(within=0).items():
            kept = {where: [e for e in entries if not is_excused(e)] for where, entries in what.items()}
            if any(kept.values()):
                left[host] = kept
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.1)


def trial(binary: pathlib.Path, plan: Plan, length: float, files: list[str]) -> Result:
    kind = {**KINDS, **PASSING}[plan.kind]
    result = Result([])
    with cluster_of(plan) as cluster, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        job, fault = Job(cluster, binary, plan), Fault(cluster, plan, out)
        more = () if kind.passes else ("--lost-after", f"{LOST_AFTER}s", "--start-limit", f"{START_LIMIT}s")
        with cluster.start(job.command(*more), cwd=SHARED, stdout=out.fileno(), stderr=err.fileno()) as launcher:
            before = ended(launcher, plan.fraction * length) or not fault.strike(launcher)
            struck = time.monotonic()
            if kind.lasts and not before:
                time.sleep(kind.lasts)
                fault.end()
            if not ended(launcher, ENDED * (2 if kind.passes else 1)):
                err.seek(0)
                running = {host: [str(p)[:60] for p in what.get("processes", [])] for host, what in cluster.leftovers(within=0).items()}
                result.wrong.append(f"hangs: {running} {err.read().decode(errors='replace')}")
            code = launcher.returncode
        if fault.filler:
            fault.end()
        # A daemon that loses its connection once its ranks have ended has nobody to watch it: it waits until TCP gives up.
        work_done = right(os.pread(out.fileno(), 1 << 16, 0).decode(errors="replace"), plan.layout)
        if left := left_on_hosts(cluster, kind, plan.kind == "link_down" and work_done, max(struck + ENDED, time.monotonic() + 20)):
            result.wrong.append(f"left: {left}")
        result.took = time.monotonic() - struck
        for stream in (out, err):
            stream.seek(0)
        printed, said = out.read().decode(errors="replace"), err.read().decode(errors="replace")
        result.what = "before" if before else "unharmed" if code == 0 else "ended"
        if code == 0:
            if not right(printed, plan.layout):
                result.wrong.append(f"exit code 0, and not the right value: {printed}{said}")
            # While a rank is stopped that the others have not met yet, the note about that is true.
            alarms = said.replace("note: MPI has not connected", "") if plan.kind == "rank_stopped_20s" else said
            if kind.passes and re.search("error|warning|note:", alarms):
                result.wrong.append(f"a false alarm: {said}")
        elif kind.passes or before:
            result.wrong.append(f"exit code {code}: {printed}{said}")
        elif right(printed, plan.layout) or (plan.kind == "host_killed" and plan.host == 1):
            pass  # its work was done; or who would have passed on what others say went with the host
        elif not re.search(kind.says.replace("HOST", f"node{plan.host}"), said):
            result.wrong.append(f"exit code {code}; does not say {kind.says!r}: {said}")
        if code != 0 and not result.wrong:
            result.wrong += [f"does not go on: {w}" for w in restarted(job, fault, binary, plan, files) if w]
    return result


def restarted(job: Job, fault: Fault, binary: pathlib.Path, plan: Plan, files: list[str]) -> list[str]:
    """On the same hosts; where one has gone, on new ones that have the job's folder."""
    if plan.kind != "host_killed":
        if not fault.filler:
            fault.end()
        return [job.restarted(), *unlike(job, files)]
    with Cluster(plan.hosts, plan.slots) as fresh:
        again = Job(fresh, binary, plan)
        if job.folder.exists():
            shutil.copytree(job.folder, again.folder)
        return [again.restarted(), *unlike(again, files)]


def unlike(job: Job, files: list[str]) -> list[str]:
    found = job.files()
    return [] if found == files else [f"files {found} instead of {files}"]


def undisturbed(binary: pathlib.Path, layout: str) -> tuple[float, list[str]]:
    """Time of a job without a fault, and the files that it writes."""
    plan = Plan(0, 0, "", layout, 0, 0, 0, 0)
    with Cluster(plan.hosts, plan.slots) as cluster:
        job = Job(cluster, binary, plan)
        begin = time.monotonic()
        done = cluster.run(job.command(), cwd=SHARED, timeout=120)
        if done.returncode != 0 or not right(done.stdout, layout):
            raise ClusterError(f"a job without a fault on {layout}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return time.monotonic() - begin, job.files()


def one(binary: pathlib.Path, plan: Plan, length: float, files: list[str]) -> Result:
    try:
        return trial(binary, plan, length, files)
    except (ClusterError, OSError) as e:
        return Result([f"the trial itself: {type(e).__name__}: {e}"])


def run(binary: pathlib.Path, count: int, seed: int, first: int, only: str, passing: bool, at_once: int) -> bool:
    """Prints a line per trial, and a table; true where all are as they should be."""
    known = {layout: undisturbed(binary, layout) for layout in LAYOUTS}
    print("; ".join(f"{layout}: {time:.1f} s" for layout, (time, _) in known.items()), flush=True)
    table: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    times: dict[str, list[float]] = collections.defaultdict(list)
    # Processes, as a cluster ends with the thread that made it.
    with concurrent.futures.ProcessPoolExecutor(at_once, multiprocessing.get_context("fork")) as pool:
        plans = [drawn(seed, number, only, passing) for number in range(first, first + count)]
        futures = {pool.submit(one, binary, plan, *known[plan.layout]): plan for plan in plans}
        for future in concurrent.futures.as_completed(futures):
            plan, result = futures[future], future.result()
            row = table[plan.kind]
            row.update(["trials", result.what, *["failed"] * bool(result.wrong)])
            if result.what == "ended":
                times[plan.kind].append(result.took)
            print(f"trial {plan.number}: {plan.kind} of node{plan.host}.{plan.slot}, {plan.layout}, at {plan.fraction:.2f} of the job: {result.what}, {result.took:.1f} s"
                  + (f"\n  FAILED: {'; '.join(result.wrong)}\n  again: faults_test.py --bin {binary} --random{'-passing' * passing} 1 --seed {seed} --first {plan.number}" + f" --only '{only}'" * bool(only) if result.wrong else ", right"), flush=True)
    columns = ("trials", "before", "unharmed", "ended", "failed")
    print(f"{'fault':20}" + "".join(f"{c:>10}" for c in columns) + f"{'median':>10}{'95 %':>10}{'longest':>10}{f'> {WANTED:.0f} s':>10}")
    for name, row in sorted(table.items()):
        print(f"{name:20}" + "".join(f"{row[c]:10}" for c in columns) + summary(times[name]))
    print(f"{'all':20}" + "".join(f"{sum(row[c] for row in table.values()):10}" for c in columns) + summary([t for of_kind in times.values() for t in of_kind]))
    return sum(row["failed"] for row in table.values()) == 0


def summary(times: list[float]) -> str:
    """Median, the time that 95 % keep, longest, and how many took longer than is wanted."""
    if not times:
        return ""
    ordered = sorted(times)
    return f"{statistics.median(ordered):8.1f} s{ordered[math.ceil(0.95 * len(ordered)) - 1]:8.1f} s{ordered[-1]:8.1f} s{sum(t > WANTED for t in ordered):10}"
