#!/usr/bin/env python3
"""Look-ahead, counted on the virtual clock: what it hides, what it never changes, what it does in the least memory.

    run_lookahead.py --bin DIR
"""
import itertools
import json
import math
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, expect

HERE = pathlib.Path(__file__).resolve().parent
DEPTHS = ["off", "2", "16", "auto"]


class Run:
    """Standard output, statistics and exit code of one run."""

    def __init__(self, binary, program, norb, extent, *flags):
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run([binary, HERE / program, "--set", f"norb={norb}", "--segments", "ao=" + ",".join([str(extent)] * norb),
                                   "--results", "none", "--run-json", "run.json", "--output-dir", out, *flags],
                                  capture_output=True, text=True, timeout=120)
            self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
            self.total, self.accesses = {}, []
            if done.returncode == 0:
                statistics = json.loads((pathlib.Path(out) / "run.json").read_text())
                self.total, self.accesses = statistics["total"], statistics["remote_accesses"]

    # Of the product's operands: behind their uses there is work enough to hide a fetch.
    def hit_ratio(self):
        return 1 - sum(a["blocked"] for a in self.accesses if a["array"] in "ab") / sum(a["accesses"] for a in self.accesses if a["array"] in "ab")

    def wait(self):
        return sum(a["wait_seconds"] for a in self.accesses if a["array"] in "ab")


def good(run, name):
    expect(run.code == 0, f"{name}: exit code {run.code}: {run.err}")
    t = run.total
    expect(t["prefetches"] == t["prefetches_useful"] + t["prefetches_late"] + t["prefetches_useless"], f"{name}: prefetches do not add up: {t}")
    expect(0 <= t["prefetch_bytes_useless"] <= t["prefetch_bytes"] and (t["prefetches"] == 0) == (t["prefetch_bytes"] == 0), f"{name}: bytes of prefetches")
    expect(t["prefetches_useful"] + t["prefetches_late"] == sum(a["prefetched"] for a in run.accesses), f"{name}: prefetched uses by line")
    return run


def network(ranks, per_node=1, servers=0, latency="20us", bandwidth="1GB/s", seed=1):
    return ["--simulate", f"ranks={ranks},seed={seed},disorder=0,ranks-per-node={per_node},servers={servers},latency={latency},bandwidth={bandwidth}"]


def hides_waiting(binary):
    """Where computation is long enough, hardly a use waits; and the first one no longer than without."""
    for ranks, servers in ((2, 0), (3, 0), (2, 1)):
        runs = {d: good(Run(binary, "product.sialx", 8, 40, *network(ranks, servers=servers), "--look-ahead", d), f"product, {ranks} ranks, depth {d}") for d in DEPTHS}
        name = f"product on {ranks} ranks and {servers} servers"
        expect(runs["off"].total["prefetches"] == 0, f"{name}: prefetches although look-ahead is off")
        expect(runs["off"].hit_ratio() < 0.95, f"{name}: nothing to hide: {runs['off'].hit_ratio()}")
        for depth in ("16", "auto"):
            # One server has hardly the time to send all that two workers use: not everything can be hidden.
            expect(runs[depth].hit_ratio() >= (0.98 if servers == 0 else 0.9), f"{name}: hit ratio {runs[depth].hit_ratio()} at depth {depth}, {runs['off'].hit_ratio()} without")
            expect(runs[depth].wait() * (3 if servers == 0 else 1.5) <= runs["off"].wait(), f"{name}: wait {runs[depth].wait()} at depth {depth}, {runs['off'].wait()} without")
            expect(runs[depth].total["wall_time"] <= 1.02 * runs["off"].total["wall_time"], f"{name}: slower with look-ahead of {depth}")
            first = {(a["line"], a["array"]): a["first_wait_seconds"] for a in runs["off"].accesses}
            for a in runs[depth].accesses:
                if a["array"] not in "ab":  # a rank may have its own copy of a block of c, or not, as the iterations fall
                    continue
                expect(a["first_wait_seconds"] <= 1.1 * first[a["line"], a["array"]] + 2e-6, f"{name}: the first wait has grown at depth {depth}: {a}, {first}")
        expect(len({r.out for r in runs.values()}) == 1, f"{name}: results differ")
        print(f"{name}: hit ratio {runs['off'].hit_ratio():.3f} without, {runs['auto'].hit_ratio():.3f} with; wait {runs['off'].wait() * 1e3:.2f} ms and {runs['auto'].wait() * 1e3:.2f} ms")


def follows_the_program(binary):
    """Only what the program gets is asked for, through where clauses, procedures, tables and exits; results are the same bits."""
    for schedule, (ranks, per_node, servers), seed in itertools.product(("dynamic", "static"), ((2, 1, 0), (4, 2, 0), (3, 2, 2)), (1, 2)):
        common = [*network(ranks, per_node, servers, seed=seed), "--schedule", schedule]
        for program in ("paths.sialx", "product.sialx"):
            runs = [good(Run(binary, program, 6, 5, *common, "--look-ahead", d), f"{program} {common} depth {d}") for d in DEPTHS]
            expect(len({r.out for r in runs}) == 1, f"{program} {common}: results differ")
            expect(runs[0].total["gets"] == runs[3].total["gets"], f"{program} {common}: gets")
            expect(runs[3].total["prefetches"] > 0, f"{program} {common}: nothing was foreseen")
            if schedule == "static":  # nothing can be taken away by others
                expect(runs[2].total["prefetches_useless"] == 0, f"{program} {common}: {runs[2].total['prefetches_useless']} blocks that the program does not get")
        checked = Run(binary, "paths.sialx", 6, 5, *common, "--check", "--look-ahead", "16")
        expect(checked.code == 0 and checked.out == Run(binary, "paths.sialx", 6, 5, *common, "--look-ahead", "off").out, f"checked {common}: {checked.err}")


def min_memory(binary):
    """Found by bisection without look-ahead; with it the program runs in two blocks more, and as well with more:
    puts of other nodes arrive at any time, and blocks that are being fetched cannot be given back for them."""
    under_way = math.ceil(2 * 20 * 20 * 8 / 1024)
    for ranks, per_node, servers in ((2, 1, 0), (4, 2, 0), (2, 2, 1)):
        common = [*network(ranks, per_node, servers), "--schedule", "static"]
        runs = lambda kib, depth: Run(binary, "product.sialx", 6, 20, *common, "--memory", f"{kib}KiB", "--look-ahead", depth)
        low, high = 1, 4096
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if runs(middle, "off").code == 0 else (middle, high)
        expect(low > 1, "the program runs in no memory at all")
        out = runs(high, "off").out
        for kib, depth in itertools.product((high + under_way, high + 8, high + 40, high + 100), ("2", "16", "auto")):
            run = good(runs(kib, depth), f"{kib} KiB, depth {depth}, {common}")
            expect(run.out == out, f"{kib} KiB, depth {depth}: results differ")
        print(f"least memory on {ranks} ranks, {per_node} per node, {servers} servers: {high} KiB")


def nothing_to_gain(binary):
    off, deep = (Run(binary, "single.sialx", 4, 30, *network(2), "--look-ahead", d) for d in ("off", "16"))
    expect(deep.total["prefetches_useless"] == 0 and deep.total["wall_time"] <= 1.01 * off.total["wall_time"], "look-ahead costs where there is nothing to gain")
    one_node = good(Run(binary, "product.sialx", 4, 10, *network(3, 0), "--look-ahead", "16"), "one node")
    expect(one_node.total["prefetches"] == 0, "prefetches on one node")


def too_large(binary):
    """Blocks that can have no room ahead: the run says so, and the report beside the line, with a remedy that is one."""
    gets = [n for n, line in enumerate((HERE / "large.sialx").read_text().splitlines(), 1) if line.split()[:1] == ["get"]]

    def report(memory):
        with tempfile.TemporaryDirectory() as out:
            module, statistics = pathlib.Path(out) / "large.siox", pathlib.Path(out) / "run.json"
            subprocess.run([binary.with_name("sialc"), HERE / "large.sialx", "-o", module], check=True, timeout=60)
            subprocess.run([binary, module, "--set", "norb=6", "--segments", "ao=" + ",".join(["100"] * 6), "--memory", memory, "--results", "none", "--run-json", statistics,
                            "--output-dir", out, *network(3)], check=True, capture_output=True, timeout=120)
            remarks = json.loads(subprocess.run([binary.with_name("sialreport"), "--format=json", module, statistics], check=True, capture_output=True, text=True, timeout=60).stdout)["remarks"]
            text = subprocess.run([binary.with_name("sialreport"), module, statistics], check=True, capture_output=True, text=True, timeout=60).stdout
            run = json.loads(statistics.read_text())
            return run["total"], [a for a in run["remote_accesses"] if a["too_large"]], [r for r in remarks if r["pass"] == "look-ahead"], text

    total, rows, remarks, text = report("600KiB")
    expect(total["prefetches"] == 0, f"prefetches of blocks that have no room: {total}")
    expect([a["line"] for a in rows] == gets and all(a["too_large_bytes"] == 80000 for a in rows), f"what was too large: {rows}")
    expect([(r["line"], r["array"], r["kind"]) for r in sorted(remarks, key=lambda r: r["line"])] == [(a["line"], a["array"], "missed") for a in rows], f"remarks: {remarks}")
    expect(all(r["executions"]["value"] == a["too_large"] for r, a in zip(sorted(remarks, key=lambda r: r["line"]), rows)), f"how often: {remarks}, {rows}")
    expect("blocks of `a` (80 kB) were not fetched ahead" in text, f"the report does not say so:\n{text}")
    enough = remarks[0]["advice"].split("--memory ")[1].split()[0]
    less = f"{int(enough.removesuffix('KiB')) - 2}KiB"
    expect(len(report(less)[1]) > 0, f"{less} would have been enough, not {enough}")
    total, rows, remarks, _ = report(enough)
    expect(total["prefetches"] > 0 and not rows and not remarks, f"with {enough}: {total['prefetches']} prefetches, {rows}")
    print(f"blocks of 80 kB: too large in 600 KiB, fetched ahead in {enough}")


def refuses(binary):
    for value in ("-1", "many", "2x", "5000"):
        run = Run(binary, "product.sialx", 2, 2, "--look-ahead", value)
        expect(run.code != 0 and "look-ahead" in run.err and "auto, off" in run.err, f"--look-ahead {value}: {run.err}")


def main():
    binary = BIN / "sialrun"
    for test in (hides_waiting, follows_the_program, min_memory, nothing_to_gain, too_large, refuses):
        test(binary)
    print("look-ahead: all tests passed")


main()
