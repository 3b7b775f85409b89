#!/usr/bin/env python3
"""The heap of a node beside other allocators: see README.md.

    allocator_tables.py --bin DIR --out DIR [--only mix,phase,threads] [--allocators NAME,...] [--repeat N]
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
from typing import Any

OURS = "node_heap"
PARTS = ("mix", "phase", "threads")
REQUESTS = (100, 1000, 2000)
LOADS = (0.9, 1.0)
THREADS = (1, 2)
SEEDS = (1, 2, 3)
MIX_CAPACITY = 512 << 20
PHASE_CAPACITY = 1 << 30
PUBLISHED = {"DmRT": {100: (93.7, 10.4), 1000: (87.5, 15.0), 2000: (82.7, 19.1)}, "TLSF": {100: (86.9, 17.5), 1000: (79.9, 22.9), 2000: (73.9, 30.8)}}
UNAVAILABLE = 77
Result = dict[str, Any]


class Failure(Exception):
    pass


class Runner:
    """What bench_heap says about one allocator."""

    def __init__(self, binaries: pathlib.Path):
        self.program = str(binaries.resolve() / "bench_heap")

    def bench(self, *words: str) -> Result | None:
        """One measurement; None: the allocator cannot be had."""
        done = subprocess.run([self.program, *words], capture_output=True, text=True)
        if done.returncode == UNAVAILABLE:
            return None
        if done.returncode:
            raise Failure(f"bench_heap {' '.join(words)}: {done.stderr.strip()}")
        result: Result = json.loads(done.stdout)
        return result

    def allocators(self) -> list[Result]:
        done = subprocess.run([self.program, "--list"], capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def why_unavailable(self, name: str) -> str:
        done = subprocess.run([self.program, "--mix", "1", "--allocator", name, "--pass", "check"], capture_output=True, text=True)
        return done.stderr.strip() if done.returncode == UNAVAILABLE else ""


def processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def fragmentation(memory: Result) -> tuple[float, float]:
    """External and internal, in percent: means over the samples."""
    external, internal = [], []
    for _, live, taken, _, largest in memory["samples"]:
        free = memory["largest_at_first"] - taken
        external.append(1 - min(1.0, largest / free) if free > 0 else 0.0)
        internal.append(1 - live / taken if taken else 0.0)
    return 100 * statistics.mean(external), 100 * statistics.mean(internal)


def table(rows: list[list[str]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip())
    print(flush=True)


class Benchmark:
    def __init__(self, runner: Runner, out: pathlib.Path, names: list[str], repeat: int):
        self.runner, self.out, self.names, self.repeat = runner, out, names, repeat
        self.kinds = {a["name"]: a for a in runner.allocators()}
        self.skipped: dict[str, str] = {}
        for name in list(names):
            if why := runner.why_unavailable(name):
                self.skipped[name] = why
                names.remove(name)
                print(f"{name} is skipped: {why}")
        self.result: Result = {"processor": processor(), "cores": len(os.sched_getaffinity(0)), "repeat": repeat, "skipped": self.skipped}

    def must(self, *words: str) -> Result:
        result = self.runner.bench(*words)
        if result is None:
            raise Failure("an allocator that was there is missing")
        return result

    def mix(self) -> None:
        self.result["mix"] = {}
        for load in LOADS:
            rows: Result = {}
            for name in self.names:
                rows[name] = {}
                for n in REQUESTS:
                    runs = [self.must("--mix", str(n), "--load", str(load), "--seed", str(seed), "--capacity", str(MIX_CAPACITY), "--allocator", name, "--pass", "memory", "--samples", "6") for seed in SEEDS]
                    both = [fragmentation(m) for m in runs]
                    rows[name][n] = {"satisfied": statistics.mean(100 * m["satisfied"] / m["requests"] for m in runs), "external": statistics.mean(b[0] for b in both), "internal": statistics.mean(b[1] for b in both),
                                     "committed": max(m["peak_committed"] for m in runs) / MIX_CAPACITY, "first_refused": statistics.median(m["first_refused"] for m in runs)}
            self.result["mix"][load] = rows
            print(f"mix in {MIX_CAPACITY >> 20} MiB, at most {load:.0%} in use: % satisfied / external fragmentation % at 100, 1000, 2000 requests; at 2000: internal %, peak committed / capacity, request first refused")
            body = [[name, *(f"{row[n]['satisfied']:.2f} / {row[n]['external']:.1f}" for n in REQUESTS), f"{row[2000]['internal']:.2f}", f"{row[2000]['committed']:.3f}", f"{row[2000]['first_refused']:.0f}"] for name, row in rows.items()]
            published = [[f"published: {name}", *(f"{values[n][0]:.1f} / {values[n][1]:.1f}" for n in REQUESTS), "", "", ""] for name, values in PUBLISHED.items()]
            table([["", "100", "1000", "2000", "internal", "committed", "refused"], *body, *published])

    def phase(self) -> None:
        rows: Result = {name: self.must("--phase", str(PHASE_CAPACITY), "--allocator", name, "--pass", "memory") for name in self.names}
        self.result["phase"] = rows
        print("after blocks of 72 sizes in 93 % of 1 GiB, of which one in 64 stays: is a block of 90 % to be had")
        table([["", "all of the phase", "90 %", "peak committed"]] + [[name, "yes" if m["satisfied"] + (not m["last_satisfied"]) == m["requests"] else f"{m['satisfied']} of {m['requests'] - 1}", "yes" if m["last_satisfied"] else "no", f"{m['peak_committed'] / PHASE_CAPACITY:.3f}"] for name, m in rows.items()])

    def threads(self) -> None:
        names = [name for name in self.names if self.kinds[name]["threads"]]
        rows: Result = {name: {n: [] for n in THREADS} for name in names}
        for _ in range(self.repeat):
            for name in names:
                for n in THREADS:
                    rows[name][n].append(self.must("--allocator", name, "--pass", "threads", "--threads", str(n))["mean"])
        self.result["threads"] = {name: {n: statistics.median(times) for n, times in row.items()} for name, row in rows.items()}
        print("one and two threads with 256 blocks of 72 sizes each, half of which change hands in each round: ns of processor time per call")
        table([["", *(str(n) for n in THREADS)]] + [[name, *(f"{row[n]:.1f}" for n in THREADS)] for name, row in self.result["threads"].items()])

    def bars(self) -> None:
        rows = [["goal", "ours", "met"]]
        if "mix" in self.result:
            ours = self.result["mix"][0.9][OURS][2000]
            best = max(r[2000]["satisfied"] for name, r in self.result["mix"][0.9].items() if self.kinds[name]["real"] and not name.startswith(OURS))
            rows.append([f"2000 requests of the mix: >= 95 % satisfied, and more than the others ({best:.2f})", f"{ours['satisfied']:.2f}", "yes" if ours["satisfied"] >= 95 and ours["satisfied"] > best else "no"])
            rows.append(["external fragmentation there <= 10 %", f"{ours['external']:.1f}", "yes" if ours["external"] <= 10 else "no"])
        if "phase" in self.result:
            had = self.result["phase"][OURS]["last_satisfied"]
            rows.append(["after a large phase a block of 90 % can be had", "yes" if had else "no", "yes" if had else "no"])
        if theirs := self.result.get("threads", {}).get("mimalloc"):
            ours = self.result["threads"][OURS]
            rows.append([f"one thread: ns per call <= mimalloc's {theirs[1]:.1f}", f"{ours[1]:.1f}", "yes" if ours[1] <= theirs[1] else "no"])
        if len(rows) > 1:
            table(rows)
            self.result["bars"] = rows[1:]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--allocators", default="")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    parts = options.only.split(",")
    runner = Runner(options.bin)
    known = [a["name"] for a in runner.allocators()]
    names = options.allocators.split(",") if options.allocators else known
    if OURS not in names or not set(names) <= set(known) or not set(parts) <= set(PARTS):
        parser.error(f"--allocators are of {', '.join(known)}, {OURS} among them; --only is of {', '.join(PARTS)}")
    try:
        bench = Benchmark(runner, options.out, names, options.repeat)
        print(f"{bench.result['processor']}, {bench.result['cores']} cores; medians of {options.repeat} rounds\n")
        if "mix" in parts:
            bench.mix()
        if "phase" in parts:
            bench.phase()
        if "threads" in parts:
            bench.threads()
        bench.bars()
        (options.out / "heap.json").write_text(json.dumps(bench.result, indent=1) + "\n")
    except Failure as failure:
        raise SystemExit(str(failure)) from None


if __name__ == "__main__":
    main()
