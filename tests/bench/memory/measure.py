#!/usr/bin/env python3
"""Jobs whose blocks do not fit into memory: how long they take and what they move, beside what was promised and what others published.

    measure.py --bin DIR --out DIR [--only caps,benzene,order,swap,remote,stream,again,overhead] [--repeat N] [--all] [--spill DIR] [--smoke]

Writes memory.json and memory.html. Nothing here passes or fails by time, but no ratio is printed of runs whose energies differ.
"""
import argparse
import datetime
import json
import pathlib
import re
import signal
import subprocess
import sys
from typing import Any

import caps
import curves
import published
import remote
import streams
import swap
from jobs import BENZENE, DIMER, ENV, TINY, Failure, Runner
from table import amount

PARTS = ["caps", "order", "swap", "remote", "stream", "again", "overhead"]
SMOKE_BESIDE = 60_000_000  # bytes of a process beside its blocks


def machine(runner: Runner) -> dict[str, str]:
    about = subprocess.run([str(runner.binaries / "sialrun"), "--version", "--verbose"], env=ENV, capture_output=True, text=True).stdout
    disk = subprocess.run(["df", "--output=source,fstype", str(runner.spill)], capture_output=True, text=True).stdout.splitlines()[-1]
    return {"processor": "".join(re.findall(r"^processor: (.*)$", about, re.M)[:1]), "disk": " ".join(disk.split())}


def print_published() -> None:
    print(f"\npublished: {published.SOURCE}")
    for name, value in published.FIGURES:
        print(f"  {name:62s} {value}")


def print_stream(r: dict[str, Any]) -> None:
    print(f"\nstream: {amount(r['array'])} in {amount(r['memory'])}, blocks of {amount(r['block'])}, written once and read once in order; medians of {r['repeat']}\n"
          f"  {amount(r['written'])} written and {amount(r['read'])} read in {r['seconds']:.2f} s: {amount(r['speed'])}/s; plain writes of a new file and reads {amount(r['plain_speed'])}/s "
          f"(write {amount(r['disk_first_write'])}/s, again {amount(r['disk_write'])}/s, read {amount(r['disk_read'])}/s)\n"
          f"  ratio {r['ratio']:.2f} (goal at least {r['bar']}), {r['ratio_again']:.2f} with the speed of writing a file again; cpu {r['cpu']:.2f} s, waits {r['waits']:.2f} s", flush=True)


def print_again(r: dict[str, Any]) -> None:
    print(f"\nagain: {amount(r['array'])} in {amount(r['memory'])}, read {r['times']} times: {'all values right' if r['right'] else 'VALUES ARE WRONG'}; {r['wall']:.2f} s, cpu {r['cpu']:.2f} s, "
          f"waits {r['waits']:.2f} s, {amount(r['written'])} written, {amount(r['read'])} read, VmHWM {amount(r['peak'])}", flush=True)


def print_overhead(r: dict[str, Any]) -> None:
    print(f"\noverhead: {r['job']}, --spill given and not needed: cpu {r['cpu_with']:.2f} s, without {r['cpu_without']:.2f} s, ratio {r['ratio']:.3f} (goal at most {r['bar']}), "
          f"of {r['repeat']} pairs from {min(r['ratios']):.3f} to {max(r['ratios']):.3f}", flush=True)


def print_order(r: dict[str, Any]) -> None:
    ratio = f"{r['ratio']:.2f}" if r["ratio"] is not None else "none: nothing moved"
    print(f"\norder of pardos: RHF and four-index transformation of the {r['job']} in {r['share']} % of {amount(r['need'])}: {amount(r['auto'])} moved, {amount(r['written'])} as written, "
          f"ratio {ratio} (goal at most {r['bar']})", flush=True)


def measure(runner: Runner, args: argparse.Namespace) -> dict[str, Any]:
    job = TINY if args.smoke else DIMER
    shares = [100, 50] if args.smoke else list(caps.BARS)
    result: dict[str, Any] = {"made": datetime.date.today().isoformat(), "machine": machine(runner), "smoke": args.smoke, "caps": [], "published": published.FIGURES, "source": published.SOURCE,
                              "shares": published.SHARES}
    print(f"processor: {result['machine']['processor']}\ndisk: {result['machine']['disk']}, {args.spill}", flush=True)
    for one in [job] * ("caps" in args.only) + [BENZENE] * ("benzene" in args.only):
        result["caps"].append(caps.measure_caps(runner, one, shares, 1 if one is BENZENE else args.repeat))
        caps.print_caps(result["caps"][-1])
        sys.stdout.flush()
    if "swap" in args.only:
        result["swap"] = swap.measure_swap(runner, job, shares[-1], args.repeat, *[SMOKE_BESIDE] * args.smoke)
        swap.print_swap(result["swap"])
    if "remote" in args.only:
        result["remote"] = remote.measure_remote(runner, job, [50] if args.smoke else [100, *remote.BARS])
        remote.print_remote(result["remote"])
    if "order" in args.only:
        result["order"] = caps.measure_order(runner, job, 50 if args.smoke else 25)
        print_order(result["order"])
    if "stream" in args.only:
        result["stream"] = streams.measure_stream(runner, *((8, 100) if args.smoke else (16, 700)), args.repeat)
        print_stream(result["stream"])
    if "again" in args.only:
        result["again"] = streams.measure_again(runner, *((8, 200, 3_000_000) if args.smoke else (9, 900, 70_000_000)), times=3)
        print_again(result["again"])
    if "overhead" in args.only:
        result["overhead"] = caps.measure_overhead(runner, job, 1 if args.smoke else 5)
        print_overhead(result["overhead"])
    print_published()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", type=lambda text: text.split(","), default=PARTS)
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--spill", type=pathlib.Path)
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    if unknown := set(args.only) - {*PARTS, "benzene"}:
        parser.error(f"there is no part {', '.join(sorted(unknown))}: benzene, {', '.join(PARTS)}")
    if args.all:
        args.only = ["benzene", *args.only]
    args.repeat = args.repeat or (1 if args.smoke else 3)
    args.spill = args.spill or args.out
    args.out.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # cgroups and swap files are removed
    runner = Runner(args.bin, args.spill)
    try:
        result = measure(runner, args)
    except Failure as failure:
        sys.exit(f"error: {failure}")
    finally:
        runner.close()
    (args.out / "memory.json").write_text(json.dumps(result, indent=1) + "\n")
    (args.out / "memory.html").write_text(curves.render(result))
    print(f"\nJSON and a page of curves: {args.out}/memory.json, memory.html")


if __name__ == "__main__":
    main()
