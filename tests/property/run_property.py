#!/usr/bin/env python3
"""Random programs: what the oracle computes is what sialrun must print, whatever the optimisation, ranks, transport, schedule, memory
and kernels. Bitwise for data of small integers, to rounding for reals.

    run_property.py --bin DIR [--count N] [--seed S] [--reals N] [--long] [--config TEXT] [--keep DIR] [--workers N]

Programs are generated from consecutive seeds (those whose numbers grow beyond exactness are passed over), evaluated by the
oracle, and run in batches. There are 100 in the gate, 450 with --all, ten times as many with --long. Without --long and --seed, after the first chunk only every other seed is taken and those that faults.json
records; a costly configuration (processes, blocks outside memory, a driver) takes every other program. A program that disagrees is made smaller while it still disagrees, and printed with its seed. `generate.py SEED` prints a
program again.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

from batches import BASELINE, MPIRUN, Configuration, Runner, make_jobs, without_warnings
from harness import ALL, BIN, LONG

CHUNK = 50
COUNT = 450
GATE = 100
SHRINK = 3  # more failures mostly repeat the cause
ARRAYS = [f"{name}{number}" for name in ("q", "g", "half") for number in range(2, 10)]  # remote ones of programs that are generated
MEMORY_FOLDER = pathlib.Path("/dev/shm")
RECORDS = pathlib.Path(__file__).resolve().parent / "faults.json"
FAKE_CUDA = BIN / "fake-cuda" if (BIN / "fake-cuda/libcublas.so.13").exists() else None


def block_folder(seed):
    """Where a chunk's blocks go that leave memory. Such small writes mostly wait for a disk: one chunk in eight has one, the others memory."""
    in_memory = seed % 8 != 0 and MEMORY_FOLDER.is_dir() and shutil.disk_usage(MEMORY_FOLDER).free > 1e9
    return str(MEMORY_FOLDER) if in_memory else tempfile.gettempdir()


def seeds_of(first, beyond, every):
    """The seeds of a chunk: most faults are noticed by the first chunk, the configurations of the others need fewer programs."""
    if every or first == 1:
        return range(first, beyond)
    recorded = {record["seed"] for record in json.loads(RECORDS.read_text()).values() if "seed" in record}
    return [seed for seed in range(first, beyond) if seed % 2 or seed in recorded]


def programs_of(configuration, position, jobs, long):
    """The jobs of a chunk that a configuration runs; `position`: its number, so that neighbours of two costly ones take different jobs."""
    costly = configuration.ranks or {"--spill", "cuda"} & set(configuration.flags)
    return jobs[position % 2 :: 2] if costly and not long else jobs


def memory_nodes(seed):
    """Another machine than this one, and where blocks lie on it."""
    r = random.Random(f"{seed} of memory nodes")
    arrays = [f"{name}={r.choice(['interleave', 'bind:0', 'bind:1', 'local'])}" for name in ARRAYS if r.random() < 0.3]
    policy = r.choice(["auto", "auto", "local", "interleave", "off", "bind:1"])
    return ["--simulate-machine", r.choice(["numa:2 pu:2", "numa:2 core:2 pu:1", "numa:4 pu:1", "numa:8 pu:1"]), "--numa", ",".join([policy, *arrays])]


def configurations(seed, long, fake_cuda=None):
    """Those of one chunk; `seed` varies schedules, memory and look-ahead from chunk to chunk. `fake_cuda`: the folder of the fake
    driver, where it was built."""
    r = random.Random(seed)
    memory = r.choice(["", "", "3MB", "1MB", "400KiB"])
    small = ["--memory", memory] if memory else []
    spills = random.Random(f"{seed} of tiers")
    folder = block_folder(seed)
    disk = ["--spill", folder, "--memory", spills.choice(["2MB", "200kB", "100kB"])]
    look = lambda: ["--look-ahead", spills.choice(["off", "2", "16", "auto"])]
    leaves = lambda: ["--spill-every", str(spills.choice([1, 1, 2, 3, 7]))]
    ahead = lambda: ["--look-ahead", r.choice(["off", "1", "2", "5", "16", "auto"])]
    network = ["", ",latency=20us,bandwidth=50kB/s", ",latency=500us,bandwidth=1GB/s"][seed % 3]  # slow lines let small messages overtake
    result = [
        Configuration("as written, copies, one rank", BASELINE, optimisation="-O0"),
        Configuration("optimised, checked, one rank", ["--check", "--look-ahead", ["auto", "3", "off"][seed % 3]]),
        Configuration("optimised, 3 simulated ranks, each its node", ["--simulate", f"ranks=3,seed={seed}{network}", "--ranks-per-node", "1", *ahead(), *small]),
        Configuration("optimised, simulated ranks of one node, checked", ["--simulate", f"ranks={2 + seed % 4},seed={seed + 1}", "--check", "--look-ahead", ["5", "1", "auto"][seed % 3], *memory_nodes(seed)]),
    ]
    if seed % 2 or long:
        result.append(Configuration("optimised, pardos in other orders, one rank", ["--pardo-order", "shuffled"]))
    if seed % 2 == 0 or long:
        result.append(Configuration("optimised, pardos in other orders, 3 simulated ranks, 2 per node", ["--pardo-order", "shuffled", "--simulate", f"ranks=3,seed={seed},ranks-per-node=2", *small]))
    room = ["--device", "simulated", "--device-copies", r.choice(["direct", "staged"]), *r.choice([[], ["--device-memory", "64KiB"], ["--device-memory", "8KiB"], ["--device-memory", "3KiB"]])]
    # Small work waits for its like, or it does not, or that of a few elements does; puts wait for their blocks, or mostly not.
    together = lambda: ["--device-batch", random.Random(f"{seed} of small work, {len(result)}").choice(["auto", "auto", "off", "16"]),
                        "--device-puts", random.Random(f"{seed} of puts, {len(result)}").choice(["defer", "defer", "defer", "wait"])]
    messages = ["--device-messages", "direct" if seed % 8 in (0, 3) else "staged"]
    if seed % 4 == 0 or long:
        result.append(Configuration("optimised, simulated device, 3 simulated ranks", [*room, *together(), *messages, "--simulate", f"ranks=3,seed={seed}", "--ranks-per-node", "2", *ahead()]))
    slow = random.Random(f"{seed} of lines")  # over which blocks go on to the device in pieces
    line = ["--simulate-network", slow.choice(["latency=20us,bandwidth=200kB/s", "latency=20us,bandwidth=1MB/s"])]
    if seed % 8 == 1 or long:
        result.append(Configuration("optimised, simulated device, slow lines, 3 simulated ranks",
                                    ["--device", "simulated", *slow.choice([[], ["--device-memory", "64KiB"], ["--device-memory", "8KiB"]]), *together(), "--device-messages", "staged", *line,
                                     "--simulate", f"ranks=3,seed={seed}", "--ranks-per-node", "1", "--look-ahead", slow.choice(["off", "1", "4", "auto"])]))
    if seed % 4 == 2 or long:
        result.append(Configuration("optimised, simulated device, one rank", [*room, *together()]))
    if seed % 4 == 3 or long:
        result.append(Configuration("optimised, simulated device, mpirun 3, each its node", [*room, *together(), *messages, *(line if seed % 8 == 7 else []), "--ranks-per-node", "1"], 3))
    if fake_cuda and (seed % 4 == 1 or long):
        device_memory = r.choice([[], ["--device-memory", "64KiB"], ["--device-memory", "8KiB"]])
        result.append(Configuration("optimised, cuda on the fake driver, 2 simulated ranks", ["--device", "cuda", "--device-copies", r.choice(["direct", "staged"]), *device_memory, *together(), "--device-messages", "staged", "--ranks-per-node", "1", "--simulate", f"ranks=2,seed={seed}", *ahead()],
                                    env={"SIALX_CUDA_LIBRARIES": str(fake_cuda), "SIALX_FAKE_CUDA": f"gpus={1 + seed % 2},seed={seed + 1}"}))
    if seed % 2 or long:
        result += [Configuration("optimised, mpirun 3, each its node", ["--ranks-per-node", "1", *ahead()], 3),
                   Configuration("optimised, 4 simulated ranks on 2 nodes", ["--simulate", f"ranks=4,seed={seed + 2},ranks-per-node=2", *ahead(), *small, *memory_nodes(seed + 1)])]
    else:
        result += [Configuration("optimised, mpirun 2", [], 2),
                   Configuration("optimised, 2 simulated ranks and a server", ["--simulate", f"ranks=2,seed={seed + 3},servers=1{network}", *ahead(), *small])]
    if seed % 8 == 3 or long:
        result += [Configuration("as written, checked, 3 simulated ranks", ["--check", "--simulate", f"ranks=3,seed={seed}", "--ranks-per-node", "1"], optimisation="-O0"),
                   Configuration("optimised, mpirun 4, static schedule, 2 per node", ["--schedule=static", "--ranks-per-node", "2", *ahead()], 4)]
    if seed % 2 or long:
        result += [Configuration("optimised, blocks on a disk, one rank", [*leaves(), *spills.choice([[], ["--check"], ["--store=copy"]]), *look(), *disk]),
                   Configuration("optimised, blocks on a disk, 4 simulated ranks on 2 nodes", [*leaves(), "--simulate", f"ranks=4,seed={seed},ranks-per-node=2", *spills.choice([[], ["--deterministic"]]), *look(), *disk])]
    else:
        result += [Configuration("optimised, blocks on a disk, 3 simulated ranks", [*leaves(), "--simulate", f"ranks=3,seed={seed}", *look(), *disk, *memory_nodes(seed)]),
                   Configuration("optimised, blocks on a disk, 2 simulated ranks and a server", [*leaves(), "--simulate", f"ranks=2,seed={seed},servers=1", *look(), *disk])]
    if seed % 4 == 2 or long:
        result.append(Configuration("optimised, blocks on a disk, mpirun 3, 2 per node", [*leaves(), "--ranks-per-node", "2", *look(), *disk], 3))
    # Where nodes have no more, a disk takes the rest.
    choice = random.Random(f"{seed} of lenders")
    remote_tier = ["--spill", f"nodes:{choice.choice(['2MB', '20kB', '200kB'])},{folder}", "--memory", choice.choice(["2MB", "400kB", "200kB"])]  # half of it is provided
    often = lambda: ["--spill-every", str(choice.choice([1, 1, 2, 3, 7])), "--look-ahead", choice.choice(["off", "2", "16", "auto"])]
    if seed % 2 or long:
        result.append(Configuration("optimised, blocks at other nodes, 3 simulated ranks, each its node", [*often(), *remote_tier, "--simulate", f"ranks=3,seed={seed},ranks-per-node=1{network}"]))
    else:
        result.append(Configuration("optimised, blocks at other nodes, 4 simulated ranks on 2 nodes, a server", [*often(), *remote_tier, "--simulate", f"ranks=4,seed={seed},ranks-per-node=2,servers=1", "--homes", choice.choice(["servers", "workers"])]))
    if seed % 4 == 1 or long:
        result.append(Configuration("optimised, blocks on a disk, simulated device, 2 simulated ranks", [*leaves(), "--device", "simulated", "--simulate", f"ranks=2,seed={seed}", "--ranks-per-node", str(1 + seed // 4 % 2), *disk]))
    return result


def run_chunk(number, seeds, reals, options):
    """One chunk through all its configurations: what happened, as text, and how much."""
    lines, counts, failures = [], {}, []
    with tempfile.TemporaryDirectory() as scratch:
        work = options.keep / f"chunk{number}" if options.keep else pathlib.Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        runner = Runner(work, options.launcher, os.environ.get("SIALX_FAULT", ""))
        start = time.monotonic()
        jobs, passed_over = make_jobs(runner, seeds, reals)
        counts["made and evaluated"] = (len(jobs), passed_over, time.monotonic() - start)
        for position, configuration in enumerate(configurations(number, options.long, FAKE_CUDA)):
            if options.config not in configuration.name:
                continue
            start = time.monotonic()
            mine = programs_of(configuration, position, jobs, options.long)
            outputs, err = runner.batch(configuration, mine, 240)
            bad = [j for j in mine if not j.agrees(outputs.get(j.name))]
            counts[configuration.name] = (len(mine) - len(bad), len(bad), time.monotonic() - start)
            if bad:
                failures.append((configuration.name, len(bad)))
            if not bad or len(failures) > SHRINK:
                continue
            lines.append(f"{configuration.name} ({' '.join(configuration.flags)}): seeds {' '.join(str(j.seed) for j in bad[:20])} disagree{' (reals)' if reals else ''}")
            alone = Runner(work / "alone", runner.launcher, os.environ.get("SIALX_FAULT", ""))  # not on the modules of the batch
            alone.work.mkdir(exist_ok=True)
            culprit = next((j for j in bad[:10] if alone.disagrees(configuration, j)), None)
            if culprit is None:
                lines.append("  alone, each of them agrees; the batch said:\n" + without_warnings(err))
            elif options.no_shrink:
                lines.append(alone.disagrees(configuration, culprit))
            else:
                small = alone.shrink(configuration, culprit)
                lines.append(small.text() + (alone.disagrees(configuration, small) or "(agrees now)"))
    return lines, counts, failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, help="programs on integers")
    parser.add_argument("--reals", type=int, help="programs on reals (a tenth of --count)")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--long", action="store_true", default=LONG)
    parser.add_argument("--config", default="", help="only configurations with this in their name")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the programs instead of a temporary one")
    parser.add_argument("--launcher", default=MPIRUN)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time()) if options.long else 1
    count = options.count or (10 * COUNT if options.long else COUNT if ALL else GATE)
    reals = options.reals if options.reals is not None else count // 10
    every = options.long or options.seed is not None or options.count is not None
    chunks = [(n, seeds_of(seed + at, seed + min(at + CHUNK, count), every), False) for n, at in enumerate(range(0, count, CHUNK))]
    chunks += [(n, range(seed + at, seed + min(at + CHUNK, reals)), True) for n, at in enumerate(range(0, reals, CHUNK), len(chunks))]
    start = time.monotonic()
    totals: dict = {}
    failed = shown = 0
    with concurrent.futures.ProcessPoolExecutor(options.workers) as pool:
        for lines, counts, failures in pool.map(run_chunk, *zip(*chunks), [options] * len(chunks)):
            failed += sum(n for _, n in failures)
            if failures and shown < 2 * SHRINK:
                print("\n".join(lines), flush=True)
                shown += 1
            for name, numbers in counts.items():
                totals[name] = tuple(a + b for a, b in zip(totals.get(name, (0, 0, 0.0)), numbers))
    for name, (good, bad, seconds) in totals.items():
        print(f"{name}: {good} good, {bad} {'passed over' if name.startswith('made') else 'disagree'}, {seconds:.0f} s")
    print(f"{sum(len(seeds) for _, seeds, real in chunks if not real)} seeds on integers and {reals} on reals from {seed}: {failed} disagreements, {time.monotonic() - start:.0f} s")
    sys.exit(1 if failed or not totals else 0)


if __name__ == "__main__":
    main()
