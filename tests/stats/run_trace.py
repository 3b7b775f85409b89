#!/usr/bin/env python3
"""Timelines (`sialrun --trace`) loaded as a viewer would: spans of a lane nest, and add up to the counters of the same run; and the
times of run.json by line add up to the wall time.

    run_trace.py --bin DIR
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, expect

HERE = pathlib.Path(__file__).resolve().parent
LANES = {1: "program", 2: "compute", 3: "communication", 4: "barrier"}
TOLERANCE = 0.0015  # us: times are whole nanoseconds


def run(binary, *flags, program="counted.sialx", segments="ao=300,280"):
    with tempfile.TemporaryDirectory() as out:
        trace = pathlib.Path(out) / "trace.json"
        subprocess.run([binary, "-O0", HERE / program, "--set", "norb=2", "--segments", segments, "--results", "none", "--run-json", "run.json",
                        "--output-dir", out, "--trace", trace, *flags], check=True, timeout=120)
        return json.loads(trace.read_text())["traceEvents"], json.loads((pathlib.Path(out) / "run.json").read_text())


def stopped(binary, *flags):
    """The timeline of a run that ends before its end."""
    with tempfile.TemporaryDirectory() as out:
        trace = pathlib.Path(out) / "trace.json"
        done = subprocess.run([binary, "-O0", HERE / "counted.sialx", "--set", "norb=2", "--segments", "ao=30,28", "--results", "none", "--output-dir", out,
                               "--trace", trace, *flags], capture_output=True, text=True, timeout=120)
        expect(done.returncode == 4, f"{flags}: exit code {done.returncode}: {done.stderr}")
        expect(trace.exists(), f"{flags}: a run that was stopped leaves no timeline")
        return json.loads(trace.read_text())["traceEvents"]


def check_stopped(events, ranks, name):
    """As far as the run came: to its first barrier."""
    for rank in range(ranks):
        spans = [e for e in events if e["ph"] == "X" and e["pid"] == rank]
        for lane in LANES:
            check_nesting([s for s in spans if s["tid"] == lane], f"{name}, rank {rank}, {LANES[lane]}")
        program = [s for s in spans if s["cat"] == "program"]
        expect(len(program) == 1, f"{name}, rank {rank}: {len(program)} programs")
        end = program[0]["ts"] + program[0]["dur"]
        expect(all(s["ts"] + s["dur"] <= end + TOLERANCE for s in spans), f"{name}, rank {rank}: the program's span ends before what is in it")
        expect(sum(s["cat"] == "barrier" for s in spans) >= 1, f"{name}, rank {rank}: no barrier")
    # A rank may have found nothing to do in the pardo.
    expect({"pardo", "compute", "put"} <= {e["cat"] for e in events if e["ph"] == "X"} and "get" not in {e.get("cat") for e in events}, f"{name}: what was done")


def check_nesting(spans, name):
    """Spans of one lane lie side by side or inside each other."""
    stack: list = []
    for s in sorted(spans, key=lambda s: (s["ts"], -s["dur"])):
        begin, end = s["ts"], s["ts"] + s["dur"]
        expect(s["dur"] >= 0, f"{name}: {s} ends before it begins")
        while stack and stack[-1] <= begin + TOLERANCE:
            stack.pop()
        expect(not stack or end <= stack[-1] + TOLERANCE, f"{name}: {s} overlaps the end of another span")
        stack.append(end)


def check(events, statistics, name):
    ranks = statistics["ranks"]
    expect({e["args"]["name"] for e in events if e["name"] == "process_name"} == {f"rank {r}" for r in range(ranks)}, f"{name}: processes")
    for rank in range(ranks):
        lanes = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == rank}
        expect(lanes == LANES, f"{name}: lanes of rank {rank}: {lanes}")
        spans = [e for e in events if e["ph"] == "X" and e["pid"] == rank]
        for lane in LANES:
            check_nesting([s for s in spans if s["tid"] == lane], f"{name}, rank {rank}, {LANES[lane]}")
        left_out = [e for e in events if e["name"] == "left_out" and e["pid"] == rank]

        def seconds(*kinds):
            return (sum(s["dur"] for s in spans if s["cat"] in kinds) + sum(e["args"]["microseconds"] for e in left_out if e["cat"] in kinds)) * 1e-6

        counters = statistics["per_rank"][rank]
        for counter, kinds in {"compute_time": ("compute",), "fetch_wait_time": ("fetch wait",), "barrier_time": ("barrier", "collective")}.items():
            error = abs(seconds(*kinds) - counters[counter])
            expect(error <= 1e-6 + 1e-9 * len(spans) * 2, f"{name}, rank {rank}: {kinds} add up to {seconds(*kinds)}, {counter} is {counters[counter]}")
        expect(seconds("program") <= counters["wall_time"] + 1e-6, f"{name}, rank {rank}: the program took longer than the job")
        expect(seconds("pardo") <= seconds("program") + 1e-6, f"{name}, rank {rank}: pardos took longer than the program")
        expect(name == "ten spans" or {"program", "pardo", "compute", "put", "get", "barrier"} <= {s["cat"] for s in spans}, f"{name}, rank {rank}: a kind of span is missing")


def check_lines(events, statistics, name):
    """Each instruction's time is measured by itself: that they add up is no tautology."""
    wall = sum(r["wall_time"] for r in statistics["per_rank"])
    lines = statistics["lines"]
    total = sum(l["seconds"] for l in lines)
    # Outside of lines are the collectives after the last statement.
    programs = {e["pid"]: e["ts"] + e["dur"] for e in events if e["ph"] == "X" and e["cat"] == "program"}
    outside = sum(e["dur"] for e in events if e["ph"] == "X" and e["cat"] == "barrier" and e["ts"] >= programs[e["pid"]] - TOLERANCE) * 1e-6
    expect(abs(total + outside - wall) <= 0.02 * wall + 5e-4 * statistics["ranks"], f"{name}: lines add up to {total}, ends of programs to {outside}, all ranks were there for {wall}")
    compute = sum(l["compute_seconds"] for l in lines)
    expect(abs(compute - statistics["total"]["compute_time"]) <= 1e-6 + 1e-6 * compute, f"{name}: lines computed for {compute}, the job for {statistics['total']['compute_time']}")
    for l in lines:
        expect(l["compute_seconds"] <= l["seconds"] * (1 + 1e-6) + 1e-9, f"{name}: line {l['line']} computed longer than it took")
        expect(l["slowest_rank_seconds"] <= l["seconds"] * (1 + 1e-9), f"{name}: line {l['line']}: one rank took longer than all")
    expect(sum(l["flops"] for l in lines) == statistics["total"]["flops"] > 0, f"{name}: flops by line")
    accesses = statistics["remote_accesses"]
    expect(abs(sum(a["wait_seconds"] for a in accesses) - statistics["total"]["fetch_wait_time"]) <= 1e-9, f"{name}: waits by line")
    expect(sum(a["bytes_in_place"] for a in accesses) == statistics["total"]["bytes_leased"], f"{name}: bytes in place by line")
    for a in accesses:
        expect(a["first_wait_seconds"] <= a["wait_seconds"] + 1e-12, f"{name}: the first wait at line {a['line']} is longer than all together")


def main():
    binary = BIN / "sialrun"
    network = ("--simulate-network", "latency=5ms,bandwidth=1GB/s")
    for name, flags in {"one rank": (), "one node": ("--simulate", "ranks=3,seed=1"),
                        "three nodes": ("--simulate", "ranks=3,seed=2,ranks-per-node=1", *network)}.items():
        events, statistics = run(binary, *flags)
        check(events, statistics, name)
        check_lines(events, statistics, name)
        if name == "three nodes":
            expect(statistics["total"]["fetch_wait_time"] > 0.005, "three nodes: nobody waited")
            expect(sum(a["bytes_moved"] for a in statistics["remote_accesses"]) >= statistics["total"]["bytes_received"] > 0, "three nodes: bytes moved")
    # A record of few spans stays small, and its totals true.
    events, statistics = run(binary, "--trace-limit", "10", "--simulate", "ranks=2,seed=1")
    check(events, statistics, "ten spans")
    for rank in range(2):
        expect(sum(e["ph"] == "X" and e["pid"] == rank for e in events) <= 10, "ten spans: too many are kept")
        expect(any(e["name"] == "left_out" and e["pid"] == rank for e in events), "ten spans: nothing was left out")

    every = ("--checkpoint-every", "0", "--stop-after", "1")
    check_stopped(stopped(binary, *every), 1, "stopped after a checkpoint")
    check_stopped(stopped(binary, *every, "--simulate", "ranks=3,seed=1,ranks-per-node=1"), 3, "three nodes stopped")
    check_stopped(stopped(binary, "--time-limit", "0.000001", "--simulate", "ranks=2,seed=1"), 2, "stopped by the time limit")

    def refused(text, *flags):
        done = subprocess.run([binary, "-O0", HERE / "counted.sialx", "--set", "norb=2", "--segments", "ao=3,2", "--results", "none", *flags], capture_output=True, text=True, timeout=60)
        expect(done.returncode != 0 and text in done.stderr, f"{flags}: exit code {done.returncode}, {done.stderr}")

    refused("cannot write `/proc/no/trace.json`", "--trace", "/proc/no/trace.json")
    refused("--trace-limit", "--trace", "t.json", "--trace-limit", "1")
    refused("a trace holds one job", "--batch", "/dev/null", "--trace", "t.json")
    print("timelines nest and agree with the counters; lines add up to the wall time")


if __name__ == "__main__":
    main()
