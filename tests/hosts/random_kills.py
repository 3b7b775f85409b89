"""One job that loses a rank again and again, and goes on each time on other hosts and another number of ranks. See README.md."""
from __future__ import annotations

import collections
import os
import pathlib
import random
import tempfile
import time

from cluster import SHARED, Cluster
from random_faults import ENDED, PROGRAM, ended, programs

HOSTS, SLOTS = 3, 2
PHASES = 100_000  # three hosts come to 20 to 100 in a second, a single one to thousands: it is drawn less often
SEGMENT = 2  # orbitals: the sum stays a whole number that a float holds


def launch(binary: pathlib.Path, places: list[int], more: list[str]) -> list[str]:
    """The job with `places[k]` ranks on host k + 1."""
    hosts = ",".join(f"node{host}:{ranks}" for host, ranks in enumerate(places, 1) if ranks)
    return ["mpirun", "-n", str(sum(places)), "--host", hosts, "--bind-to", "none", str(binary / "sialrun"), str(PROGRAM), "--set", "norb=2", "--set", f"phases={PHASES}", "--segments", f"ao={SEGMENT},{SEGMENT}",
            "--results", "none", "--output-dir", f"{SHARED}/job", "--checkpoint-every", "0.3s", "--start-limit", "60s", *more]


def layout_of(draw: random.Random, hosts: int) -> list[int]:
    """Ranks of each host, on `hosts` of them at least."""
    while True:
        places = [draw.randint(0, SLOTS) for _ in range(HOSTS)]
        if sum(ranks > 0 for ranks in places) >= hosts:
            return places


class Kills:
    def __init__(self, cluster: Cluster, binary: pathlib.Path, seed: int) -> None:
        self.cluster, self.binary, self.draw = cluster, binary, random.Random(seed)
        self.index = pathlib.Path(cluster.path(1, f"{SHARED}/job/checkpoint/index.json"))

    def more(self) -> list[str]:
        return ["--restart"] if self.index.exists() else []

    def one(self, places: list[int]) -> tuple[str, str]:
        """Starts the job and kills one of its ranks: what came of it, and what is wrong."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            with self.cluster.start(launch(self.binary, places, self.more()), cwd=SHARED, stdout=out.fileno(), stderr=err.fileno()) as launcher:
                host = self.draw.choice([h for h, ranks in enumerate(places, 1) if ranks])
                until = time.monotonic() + 60
                while not (found := programs(self.cluster, host, "sialrun")) and time.monotonic() < until and not ended(launcher, 0.02):
                    pass
                killed = not ended(launcher, self.draw.uniform(0, 3)) and bool(found) and self.cluster.run(["kill", "-KILL", str(self.draw.choice(found))], host=host).returncode == 0
                begin = time.monotonic()
                if not ended(launcher, ENDED):
                    there = {name: [str(p)[:70] for p in what.get("processes", [])] for name, what in self.cluster.leftovers(within=0).items()}
                    said = os.pread(out.fileno(), 1 << 16, 0) + os.pread(err.fileno(), 1 << 16, 0)
                    return "hangs", f"still there {ENDED} s after a rank of node{host} was killed: {there} {said.decode(errors='replace')}"
            took = time.monotonic() - begin
            text = os.pread(out.fileno(), 1 << 16, 0).decode(errors="replace") + os.pread(err.fileno(), 1 << 16, 0).decode(errors="replace")
        left = {name: kept for name, what in self.cluster.leftovers(within=20).items() if (kept := what.get("processes", []) + what.get("/dev/shm", []))}
        if left:
            return "ended", f"left: {left}"
        if not killed:
            return "done", "" if launcher.returncode == 0 else f"exit code {launcher.returncode} without a kill: {text}"
        return f"ended in {took:.1f} s", "" if launcher.returncode != 0 else f"exit code 0 though a rank was killed: {text}"


def run(binary: pathlib.Path, count: int, seed: int) -> bool:
    """Kills `count` times, then lets the job go to its end; true where its value is right."""
    seen: collections.Counter[str] = collections.Counter()
    with Cluster(HOSTS, SLOTS) as cluster:
        kills = Kills(cluster, binary, seed)
        for number in range(count):
            places = layout_of(kills.draw, 1 if number % 10 == 0 else 2)
            restarted = bool(kills.more())
            what, wrong = kills.one(places)
            layout = "+".join(map(str, places))
            seen[layout] += 1
            print(f"kill {number}: {layout} ranks, {'restarted' if restarted else 'from the beginning'}: {what}" + (f"\n  FAILED: {wrong}" if wrong else ""), flush=True)
            if wrong:
                return False
            if what == "done":
                print(f"  FAILED: the job had ended after {number} kills: it needs more phases than {PHASES}")
                return False
        done = cluster.run(launch(binary, [SLOTS], kills.more()), cwd=SHARED, timeout=1200)
    energy = 4 * SEGMENT**2 * PHASES * (PHASES + 1) * (2 * PHASES + 1) // 6
    right = done.returncode == 0 and f"energy = {energy}.0000" in done.stdout
    print(f"{count} kills on {len(seen)} layouts, then to the end: " + ("the right value" if right else f"FAILED: exit code {done.returncode}, {done.stdout}{done.stderr}"))
    return right
