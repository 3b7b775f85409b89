#!/usr/bin/env python3
"""Prefetch and copy experiments on the simulator's virtual clock, and the same under real MPI beside it.

    run.py --bin DIR [--out DIR] [--only NAME ...] [--quick] [--no-mpi]

Writes results.csv and a page with curves (results.html), and prints the ratios they are judged by. Nothing here passes or fails. An
access is one operand use of a block of another node; it hits when it need not wait. All ranks are nodes of their own.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import page

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
NETWORKS = [("10us", "7GB/s"), ("50us", "7GB/s"), ("100us", "1GB/s")]
FIELDS = ["experiment", "program", "clock", "options", "ranks", "servers", "latency", "bandwidth", "segment", "length", "look_ahead", "hit_ratio",
          "accesses", "blocked", "first_wait", "mean_wait", "total_wait", "barrier_wait", "wall", "bytes_between_ranks", "bytes_copied", "messages", "width", "prefetches", "late"]


class Bench:
    def __init__(self, args):
        self.args, self.rows = args, []
        self.bin = pathlib.Path(args.bin).resolve()
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="sialx-prefetch-"))
        self.env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                        OMP_NUM_THREADS="1")
        self.modules = {}

    def module(self, source, level):
        key = (source, level)
        if key not in self.modules:
            out = self.work / f"{pathlib.Path(source).stem}{level}.siox"
            subprocess.run([self.bin / "sialc", level, source, "-o", out], check=True, env=self.env)
            self.modules[key] = out
        return self.modules[key]

    def run(self, experiment, program, inputs, *, clock="virtual", ranks=3, servers=0, network=NETWORKS[0], look_ahead="auto", extra=(), **fields):
        """One run; its statistics as a row."""
        latency, bandwidth = network
        stats = self.work / "run.json"
        stats.unlink(missing_ok=True)
        command = [self.bin / "sialrun", *inputs, "--results", "none", "--output-dir", self.work, "--run-json", "run.json", "--look-ahead", str(look_ahead),
                   "--ranks-per-node", "1", "--simulate-network", f"latency={latency},bandwidth={bandwidth}", *extra]
        if servers:
            command += ["--servers", str(servers)]
        if clock == "virtual":
            command += ["--simulate", f"ranks={ranks},seed=1,disorder=0"]
        else:
            command = ["mpirun", "-n", str(ranks + servers), "--bind-to", "none", *command]
        done = subprocess.run([str(c) for c in command], cwd=self.work, env=self.env, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(str(c) for c in command)}\nended with {done.returncode}:\n{done.stderr}")
        run = json.loads(stats.read_text())
        total, uses = run["total"], run["remote_accesses"]
        first = [a["first_wait_seconds"] for a in uses if "first_wait_seconds" in a]
        row = {"experiment": experiment, "program": program, "clock": clock, "options": " ".join(map(str, extra)), "ranks": ranks, "servers": servers,
               "latency": latency, "bandwidth": bandwidth, "look_ahead": look_ahead, "hit_ratio": run["hit_ratio"], "accesses": total["accesses"],
               "blocked": total["blocked_accesses"], "first_wait": max(first, default=0.0),
               "mean_wait": total["fetch_wait_time"] / max(1, total["accesses"]), "total_wait": total["fetch_wait_time"],
               "barrier_wait": total["barrier_time"], "wall": total["wall_time"],
               "bytes_between_ranks": total["bytes_received"] + total["bytes_sent"], "bytes_copied": total["bytes_copied"],
               "messages": total["messages_sent"], "prefetches": total["prefetches"], "late": total["prefetches_late"], **fields}
        self.rows.append(row)
        return row

    def stream(self, experiment, *, length, segment=50, width=0, phases=12, ranks=3, servers=1, level="-O2", **more):
        """One use of each block: see stream.sialx. Servers hold all blocks, so that every access goes over the network. `width`: second
        extent of the blocks, where it is not that of the first; computation behind a block grows with its square."""
        inputs = [self.module(HERE / "stream.sialx", level), "--set", f"length={length}", "--set", f"phases={phases}", "--set", f"workers={ranks}",
                  "--segments", "ao=" + ",".join([str(segment)] * length), "--segments", f"mo={width or segment}"]
        return self.run(experiment, "stream", inputs, ranks=ranks, servers=servers, length=length, segment=segment, width=width or segment, **more)

    # --- the experiments; each prints what it is judged by

    def length(self):
        """Hit ratio and wait over the length of the index range, with and without look-ahead."""
        lengths = [1, 2, 3, 5, 7, 9, 10, 12] if self.args.quick else range(1, 13)
        for network in NETWORKS:
            worst = {"from 5": 0.0, "above 9": 0.0}
            for length in lengths:
                off = self.stream("length", length=length, network=network, look_ahead="off")
                auto = self.stream("length", length=length, network=network, look_ahead="auto")
                ratio = auto["mean_wait"] / off["mean_wait"]
                if length >= 5:
                    worst["from 5"] = max(worst["from 5"], ratio)
                if length > 9:
                    worst["above 9"] = max(worst["above 9"], ratio)
                if length == 1:
                    alone = (ratio, auto["wall"] / off["wall"])
            print(f"length, {' '.join(network)}: mean wait with/without: from 5 {worst['from 5']:.3f} (target 0.333), above 9 {worst['above 9']:.3f} "
                  f"(target 0.125); at length 1 {alone[0]:.3f}, wall {alone[1]:.3f} (target 1)")

    def depth(self):
        """Fixed look-ahead against auto; the wait for the first request."""
        for network in NETWORKS:
            for length, segment in [(12, 50), (40, 20), (12, 100)]:
                rows = {d: self.stream("depth", length=length, segment=segment, network=network, look_ahead=d) for d in ("off", 1, 2, 4, 8, 16, "auto")}
                best = min(r["wall"] for r in rows.values())
                print(f"depth, {' '.join(network)}, {length} x {segment}: wall of auto / best {rows['auto']['wall'] / best:.3f} (target 1.05); first wait of 16 / "
                      f"off {rows[16]['first_wait'] / rows['off']['first_wait']:.3f} (target 1.1); hit ratio of auto {rows['auto']['hit_ratio']:.3f}")

    def blocks(self):
        """Block sizes from 100 to 40 000 elements."""
        for segment in (10, 20, 35, 50, 100, 150, 200):
            off, auto = (self.stream("blocks", length=12, segment=segment, network=NETWORKS[1], look_ahead=d) for d in ("off", "auto"))
            print(f"blocks of {segment * segment} elements: hit ratio {off['hit_ratio']:.3f} -> {auto['hit_ratio']:.3f}, mean wait {off['mean_wait'] * 1e6:.2f} -> "
                  f"{auto['mean_wait'] * 1e6:.2f} us")

    def servers(self):
        """One to three servers, one to four ranks."""
        for ranks in (1, 2, 3, 4):
            for servers in (1, 2, 3):
                off, auto = (self.stream("servers", length=12, ranks=ranks, servers=servers, network=NETWORKS[1], look_ahead=d) for d in ("off", "auto"))
                print(f"{ranks} ranks, {servers} servers: mean wait with/without {auto['mean_wait'] / off['mean_wait']:.3f}, wall {auto['wall'] / off['wall']:.3f}")

    def examples(self):
        """RHF and CCSD: look-ahead, and as written against everything the compiler does."""
        for name, job in (("rhf", "04_rhf/job.toml"), ("ccsd", "09_ccsd/job.toml")):
            inputs = [ROOT / "examples" / job, "--segments", "ao_target=6", "--segments", "occ_target=3", "--segments", "virt_target=6"]
            for network in NETWORKS[:1] if self.args.quick else NETWORKS[:2]:
                off, auto, written = (self.run("examples", name, inputs, ranks=4, network=network, look_ahead=d, extra=[level])
                                      for d, level in (("off", "-O2"), ("auto", "-O2"), ("off", "-O0")))
                print(f"{name}, {' '.join(network)}: wait with/without look-ahead {auto['total_wait'] / off['total_wait']:.3f}, hit ratio {off['hit_ratio']:.3f} -> "
                      f"{auto['hit_ratio']:.3f}; -O2 against -O0: wall {auto['wall'] / written['wall']:.3f}, bytes between ranks 1/"
                      f"{written['bytes_between_ranks'] / max(1, auto['bytes_between_ranks']):.2f} (target 1/2), bytes copied 1/"
                      f"{written['bytes_copied'] / max(1, auto['bytes_copied']):.2f}")

    def mpi(self):
        """The stream under real MPI on this machine, delayed like the simulator: noisy, a glance beside the curves. One rank and one
        server, so that two cores are enough; behind wide blocks is computation enough to hide a fetch."""
        for width, length in ((100, 12), (400, 1), (400, 5), (400, 12)):
            runs = {d: [self.stream("mpi", clock="mpi", length=length, segment=100, width=width, ranks=1, network=NETWORKS[1], look_ahead=d) for _ in range(3)]
                    for d in ("off", "auto")}
            off, auto = (sorted(runs[d], key=lambda r: r["mean_wait"])[1] for d in ("off", "auto"))
            print(f"mpi (noisy, median of 3), {width} wide, length {length}: mean wait {off['mean_wait'] * 1e6:.0f} -> {auto['mean_wait'] * 1e6:.0f} us, hit ratio "
                  f"{off['hit_ratio']:.3f} -> {auto['hit_ratio']:.3f}, {auto['late']} of {auto['prefetches']} prefetches late, wall {auto['wall'] / off['wall']:.2f}")


EXPERIMENTS = ["length", "depth", "blocks", "servers", "examples", "mpi"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=str(ROOT / "build/release/bin"))
    parser.add_argument("--out", default=".")
    parser.add_argument("--only", nargs="*", choices=EXPERIMENTS, default=EXPERIMENTS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-mpi", action="store_true")
    bench = Bench(parser.parse_args())
    for name in bench.args.only:
        if name == "mpi" and bench.args.no_mpi:
            continue
        getattr(bench, name)()
    out = pathlib.Path(bench.args.out)
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "results.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, restval="")
        writer.writeheader()
        writer.writerows(bench.rows)
    (out / "results.html").write_text(page.render(bench.rows))
    print(f"{len(bench.rows)} runs in {out / 'results.csv'}, curves in {out / 'results.html'}")


if __name__ == "__main__":
    main()
