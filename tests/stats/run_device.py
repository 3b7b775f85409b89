#!/usr/bin/env python3
"""Transfers to and from a device (run.json, --device simulated) against numbers worked out by hand, and what a transfer left out does.

    run_device.py --bin DIR
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, expect

HERE = pathlib.Path(__file__).resolve().parent
EXTENTS = (3, 2)
BLOCKS = len(EXTENTS) ** 2
GRAIN = 256  # bytes that the smallest block takes on a device
BYTES = 8 * sum(EXTENTS) ** 2  # of all blocks of an array


def run(binary, *flags, fault="", program="device.sialx", level="-O0", failure=False, extents=EXTENTS):
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([binary, HERE / program, level, "--set", f"norb={len(extents)}", "--segments", "ao=" + ",".join(map(str, extents)), "--print-format", "plain",
                               "--results", "none", "--run-json", "run.json", "--output-dir", out, *flags], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, SIALX_FAULT=fault) if fault else None)
        if failure:
            expect(done.returncode != 0, f"{flags} {fault}: the run went well")
            return done.stdout, done.stderr
        if done.returncode != 0:
            raise SystemExit(f"FAILED: {flags} {fault}: exit code {done.returncode}\n{done.stderr}")
        statistics = json.loads((pathlib.Path(out) / "run.json").read_text())
        statistics["total"]["lines"] = {(row["line"], row["array"]): (row["in"], row["out"]) for row in statistics["device_transfers"]}
        for key in ("in", "bytes_in", "out", "bytes_out", "in_unoptimized", "bytes_out_unoptimized", "in_lower_bound", "bytes_out_lower_bound"):
            counter = "device_" + key
            by_line = sum(row[key] for row in statistics["device_transfers"])
            expect(by_line == statistics["total"][counter], f"{flags}: {key} by line and array add up to {by_line}, {counter} is {statistics['total'][counter]}")
        return done.stdout, statistics["total"]


def check(total, name, expected):
    for counter, value in expected.items():
        expect(total[counter] == value, f"{name}: {counter} is {total[counter]}, by hand {value}")


def check_chains(binary):
    """Orbital energies of 1, 5, 9 and 3001, 3004: differences of the two segments are far from zero, those within one are -8 ... 8 and
    -3 ... 3, and the shift decides whether that may be zero."""
    for omega, on_host in ((100.0, 0), (0.5, len(EXTENTS))):
        chain = {"program": "device_fused.sialx", "level": "-O2"}
        flags = ["--set", f"omega={omega}"]
        plain, _ = run(binary, *flags, **chain)
        output, total = run(binary, *flags, "--device", "simulated", **chain)
        expect(output == plain, f"chain on a device, shift {omega}: {output}\non the host: {plain}")
        size = 8 * sum(n * n for n in EXTENTS) if on_host else 0
        check(total, f"chain, shift {omega}", {
            "device_operations": 2 * BLOCKS + on_host,  # the chain and s; what comes behind the statement that the host does begins anew
            "device_out": BLOCKS + on_host, "device_bytes_out": BYTES + size,  # s is printed; t, for the host's division
            "device_in": on_host, "device_bytes_in": size,
        })
        for memory in (3 * GRAIN, GRAIN):
            again, total = run(binary, *flags, "--device", "simulated", "--device-memory", str(memory), **chain)
            expect(again == plain, f"chain with {memory} bytes: {again}")
            expect((total["device_on_host_instead"] > 0) == (memory == GRAIN), f"chain with {memory} bytes: {total['device_on_host_instead']} operations did not fit")


def check_super(binary):
    """Super instructions that are operations on blocks are done where the blocks are: nothing crosses but the static blocks that slices are taken from,
    which the host filled. Without room for their blocks they are the host's."""
    program = {"program": "device_super.sialx"}
    plain, _ = run(binary, **program)
    n = len(EXTENTS)
    for level in ("-O0", "-O2"):
        output, total = run(binary, "--device", "simulated", level=level, **program)
        expect(output == plain, f"{level}, super instructions on a device: {output}\non the host: {plain}")
        check(total, f"super instructions, {level}", {"super_instructions": n**2 + n**6 + EXTENTS[0] * n, "device_out": 0, "device_in": n})
    output, total = run(binary, "--device", "simulated", "--device-memory", str(2 * GRAIN), **program)
    expect(output == plain, f"super instructions with little memory: {output}")
    expect(total["device_on_host_instead"] > 0, "super instructions: all of them found room")


TIMES = ("kernel", "in", "out", "copy", "overlap", "wait")


def check_times(binary):
    """Times of the device's work are there when they were taken, and then add up; a zero never stands for what nobody measured."""
    for flags in ([], ["--device", "simulated"]):
        _, total = run(binary, *flags)
        expect(total["device_timed"] == 0 and not any(f"device_{t}_time" in total for t in TIMES), f"{flags}: times of a device that nobody took: {total}")
    for flags in ([], ["--simulate", "ranks=3,seed=2"], ["--device-copies", "staged", "--device-memory", str(4 * GRAIN)]):
        _, total = run(binary, "--device", "simulated", "--device-times", *flags, "--device-batch", "off")
        kernels, to, back, copies, beside, wait = (total[f"device_{t}_time"] for t in TIMES)
        expect(total["device_timed"] >= total["device_operations"] - total["device_on_host_instead"] + total["device_in"] + total["device_out"], f"{flags}: {total['device_timed']} pieces were timed")
        expect(kernels > 0 and back > 0 and to >= 0 and wait >= 0, f"{flags}: {kernels} s at kernels, {to} s and {back} s at copies, waited {wait} s")
        expect((to > 0) == (total["device_in"] > 0), f"{flags}: {to} s for {total['device_in']} transfers")
        expect(max(to, back) <= copies <= (to + back) * (1 + 1e-9) and 0 <= beside <= min(copies, kernels), f"{flags}: copies {copies} s, beside kernels {beside} s")


def check_hints(binary):
    """Where gpu_* statements move blocks, and that they move no others. Fetched blocks are what was put, which the device has, but for a
    store that copies all it gets."""
    hints = {"program": "device_hints.sialx"}
    plain, _ = run(binary, **hints)
    for store, fetched in (("share", 0), ("copy", BLOCKS)):
        output, total = run(binary, "--device", "simulated", "--store", store, **hints)
        expect(output == plain, f"with statements about the device: {output}\non the host: {plain}")
        lines = total["lines"]
        for line, array, moved in ((15, "t", (0, BLOCKS)), (19, "s", (BLOCKS, 0)), (24, "a", (fetched, 0)), (28, "s", (0, BLOCKS)), (29, "s", (BLOCKS, 0))):
            expect(lines.get((line, array), (0, 0)) == moved, f"--store {store}: line {line} moved {lines.get((line, array))} of {array}, by hand {moved}")
        check(total, f"hints, --store {store}", {"device_in": 2 * BLOCKS + fetched, "device_out": 3 * BLOCKS, "device_evictions": 0})  # s is printed
    for memory in (GRAIN, 3 * GRAIN):
        again, _ = run(binary, "--device", "simulated", "--device-memory", str(memory), **hints)
        expect(again == plain, f"hints with {memory} bytes: {again}")
    wrong, _ = run(binary, "--device", "simulated", fault="device_evicted", **hints)
    expect("nan" in wrong.lower(), f"given up without a copy: {wrong}")


def check_messages(binary):
    """Each of three puts per block is sent by the way that is forced or, where the target is on the rank's own node, by the host; a block
    sent straight is a transfer to the host less. Static: the same puts go to other nodes in all runs."""
    messages = {"program": "device_messages.sialx"}
    plain, _ = run(binary, **messages)
    flags = ["--device", "simulated", "--schedule", "static", "--simulate", "ranks=3,seed=2", "--ranks-per-node", "1"]
    totals = {}
    for way in ("direct", "staged", "auto"):
        output, total = run(binary, *flags, "--device-messages", way, **messages)
        expect(output == plain, f"--device-messages {way}: {output}\non the host: {plain}")
        straight, pieces = total["device_sent_direct"], total["device_sent_pipelined"]
        sent = straight + pieces
        expect((straight == 0) == (way == "staged") and (pieces == 0) == (way != "staged"), f"--device-messages {way}: {straight} straight, {pieces} in pieces")
        check(total, f"--device-messages {way}", {"device_out": 3 * BLOCKS - straight, "device_in": 0})
        totals[way] = sent, total["device_bytes_sent_direct"] + total["device_bytes_sent_pipelined"]
        expect(sent * 8 * min(EXTENTS) ** 2 <= totals[way][1] <= sent * 8 * max(EXTENTS) ** 2, f"--device-messages {way}: {totals[way][1]} bytes of {sent} blocks")
    expect(totals["direct"] == totals["staged"] == totals["auto"], f"sent: {totals}")
    for level in ("-O0", "-O2"):
        for more in (["--device-memory", str(4 * GRAIN)], ["--deterministic"], ["--check"], ["--store", "copy"], ["--device-copies", "staged"], ["--simulate-network", "latency=50us,bandwidth=1MB/s"]):
            for way in ("direct", "staged"):
                again, total = run(binary, *flags, "--device-messages", way, *more, level=level, **messages)
                expect(again == plain, f"{level} {more} --device-messages {way}: {again}")
                if more[0] in ("--check", "--store"):
                    check(total, f"{more}", {"device_sent_direct": 0, "device_sent_pipelined": 0})
    _, total = run(binary, "--device", "simulated", "--device-messages", "direct", "--simulate", "ranks=3,seed=2", **messages)
    check(total, "one node", {"device_sent_direct": 0, "device_sent_pipelined": 0, "device_bytes_sent_direct": 0, "device_bytes_sent_pipelined": 0})


def check_puts(binary):
    """Ten puts per block of what only the device has: none is waited for at its statement, and each puts what its source held there, though that is written again."""
    puts = {"program": "device_puts.sialx"}
    late = 10 * BLOCKS
    plain, _ = run(binary, **puts)
    output, waits = run(binary, "--device", "simulated", "--device-puts", "wait", **puts)
    expect(output == plain, f"--device-puts wait: {output}\non the host: {plain}")
    check(waits, "--device-puts wait", {"device_deferred_puts": 0, "device_deferred_puts_awaited": 0})
    output, total = run(binary, "--device", "simulated", **puts)
    expect(output == plain, f"--device-puts defer: {output}\non the host: {plain}")
    check(total, "--device-puts defer", {"device_deferred_puts": late} | {f"device_{key}": waits[f"device_{key}"] for key in ("operations", "in", "bytes_in", "out", "bytes_out", "out_lower_bound")})
    # A rank's next statement about the block, three times, a change of the source in place, the barrier of each block's first phase, a deletion, or less.
    expect(0 < total["device_deferred_puts_awaited"] < late, f"{total['device_deferred_puts_awaited']} of {late} puts had to be waited for")
    for level in ("-O0", "-O2"):
        for flags in (["--device-batch", "off"], ["--device-copies", "staged"], ["--check"], ["--store", "copy"], ["--deterministic"], ["--memory", "1MB"], ["--self-check", "2"],
                      ["--device-memory", str(16 * GRAIN)], ["--device-memory", str(4 * GRAIN)], ["--device-memory", str(2 * GRAIN)],
                      *(["--schedule", "static", "--simulate", f"ranks=3,seed={seed}", "--ranks-per-node", nodes, "--device-messages", way]
                        for seed, nodes, way in ((1, "3", "auto"), (2, "1", "direct"), (3, "1", "staged"), (4, "2", "staged")))):
            results = {way: run(binary, "--device", "simulated", "--device-puts", way, *flags, level=level, **puts) for way in ("wait", "defer")}
            for way, (output, _) in results.items():
                expect(output == plain, f"{level} {flags} --device-puts {way}: {output}\non the host: {plain}")
            expect(results["defer"][1]["device_deferred_puts"] > 0, f"{level} {flags}: no put was deferred")
    # Sources may take an eighth of the device's memory: 64 bytes hold all blocks but those of 9 elements.
    _, total = run(binary, "--device", "simulated", "--device-memory", str(2 * GRAIN), **puts)
    check(total, "room for two blocks", {"device_deferred_puts": late - 10})
    wrong, _ = run(binary, "--device", "simulated", fault="device_deferred_put", **puts)
    expect(wrong != plain, f"device_deferred_put left out: {wrong}")

    small = {"program": "device_puts_small.sialx"}
    equal = ["--segments", f"ao={EXTENTS[0]},{EXTENTS[0]}", "--device", "simulated"]
    plain, _ = run(binary, *equal[:2], **small)
    starts = {}
    for way in ("wait", "defer"):
        output, total = run(binary, *equal, "--device-puts", way, **small)
        expect(output == plain, f"small work, --device-puts {way}: {output}")
        check(total, f"small work, --device-puts {way}", {"device_operations": 4 * BLOCKS, "device_out": 3 * BLOCKS, "device_deferred_puts": 3 * BLOCKS if way == "defer" else 0})
        starts[way] = total["device_starts"]
    # Each by itself, or those of all blocks together but where this device marks memory that it takes again as without a value.
    expect(starts["wait"] == 4 * BLOCKS and 4 <= starts["defer"] <= 2 * BLOCKS, f"small work beside puts: {starts}")
    many = 400  # blocks
    for batch in ("auto", "off", "100000"):
        output, total = run(binary, "--device", "simulated", "--device-batch", batch, extents=(1,) * 20, **small)
        check(total, f"many puts, --device-batch {batch}", {"device_deferred_puts": 3 * many, "device_out": 3 * many})
        expect(output == run(binary, extents=(1,) * 20, **small)[0], f"many puts, --device-batch {batch}: {output}")

    # Blocks of 80 kB, of which eight are made: what puts hold makes room for them, and where memory is short there are fewer such puts.
    large = {"extents": (100, 100), **small}
    plain, _ = run(binary, **large)
    for size in ("2MB", "1500KB", "1200KB", "1MB", "850KB", "750KB"):
        output, total = run(binary, "--device", "simulated", "--memory", size, **large)
        expect(output == plain, f"--memory {size}: {output}")
        late = total["device_deferred_puts"]
        expect(late == 3 * BLOCKS if size == "2MB" else 0 < late < 3 * BLOCKS, f"--memory {size}: {late} puts were left for later")

    for flags in ([], ["--device", "simulated"], ["--device", "simulated", "--device-puts", "wait"]):
        _, errors = run(binary, "--check", *flags, program="device_puts_wrong.sialx", failure=True)
        expect("device_puts_wrong.sialx:13:1: infinity put into block a[1,1]" in errors, f"{flags}: {errors}")
    run(binary, "--device", "simulated", "--device-puts", "never", failure=True)


def check_small(binary):
    """Operations of one shape that share no memory are one start, and not where that is off, or the blocks are too large for it."""
    small = {"program": "device_small.sialx"}
    equal = ["--segments", f"ao={EXTENTS[0]},{EXTENTS[0]}"]
    plain, _ = run(binary, *equal, **small)
    size = 2 * EXTENTS[0] ** 2  # elements of a copy
    for flags, batching in (([], True), (["--device-batch", str(size)], True), (["--device-batch", "off"], False), (["--device-batch", str(EXTENTS[0] ** 2 - 1)], False)):
        output, total = run(binary, *equal, "--device", "simulated", *flags, **small)
        expect(output == plain, f"small work, {flags}: {output}\non the host: {plain}")
        check(total, f"small work, {flags}", {
            "device_operations": 3 * BLOCKS,  # inner products of statics are the host's
            "device_waited": 3 * BLOCKS if batching else 0, "device_batches": 3 if batching else 0, "device_batched": 3 * BLOCKS if batching else 0,
            "device_starts": 3 if batching else 3 * BLOCKS,
        })
    _, total = run(binary, "--device", "simulated", **small)  # blocks of 9, 6, 6, 4 elements in their order: those of 6 are 2 x 3 and 3 x 2
    check(total, "small work, blocks of several shapes", {"device_waited": 3 * BLOCKS, "device_batches": 0, "device_starts": 3 * BLOCKS})
    for setting in ("off", "12", "auto", "x", "0", "-1"):
        if setting in ("x", "0", "-1"):
            run(binary, *equal, "--device-batch", setting, failure=True, **small)
            continue
        for memory in (2 * GRAIN, 5 * GRAIN):
            for way in ("direct", "staged"):
                output, total = run(binary, *equal, "--device", "simulated", "--device-batch", setting, "--device-memory", str(memory), "--device-copies", way, "--self-check", "3", **small)
                expect(output == plain, f"small work, --device-batch {setting}, {memory} bytes, {way}: {output}")


def check_ahead(binary):
    """The look-ahead brings what comes after the first use: all blocks of `a` but the first, twice, for they change in between; none of `b`, which
    only the host uses. Nothing crosses that would not have, and nothing is brought where look-ahead is off, a get would copy the block, or
    no room is to spare."""
    ahead = {"program": "device_ahead.sialx", "level": "-O2"}
    plain, _ = run(binary, **ahead)
    first = 8 * EXTENTS[0] ** 2
    made = {"device_in": 2 * BLOCKS, "device_bytes_in": 2 * BYTES, "device_out": 2 * BLOCKS}  # a; s, which is summed up by the host
    none = {"device_prefetches": 0, "device_bytes_prefetched": 0, "device_prefetches_used": 0, "device_bytes_prefetched_used": 0}
    fires = {"device_prefetches": 2 * (BLOCKS - 1), "device_bytes_prefetched": 2 * (BYTES - first), "device_prefetches_used": 2 * (BLOCKS - 1), "device_bytes_prefetched_used": 2 * (BYTES - first)}
    for flags, expected in (([], fires), (["--look-ahead", "3"], fires), (["--device-memory", str(16 * GRAIN)], fires), (["--device-copies", "staged"], fires), (["--check"], fires),
                            (["--look-ahead", "off"], none), (["--store", "copy"], none), (["--device-memory", str(2 * GRAIN)], none)):
        output, total = run(binary, "--device", "simulated", *flags, **ahead)
        expect(output == plain, f"ahead, {flags}: {output}\non the host: {plain}")
        check(total, f"ahead, {flags}", expected | ({} if "--device-memory" in flags else made))
        moved = {line: row for line, row in total["lines"].items() if line[1] in "ab" and row != (0, 0)}
        expect(moved == ({(21, "a"): (BLOCKS - 1, 0), (22, "a"): (1, 0), (32, "a"): (BLOCKS - 1, 0), (33, "a"): (1, 0)} if expected is fires else {(22, "a"): (BLOCKS, 0), (33, "a"): (BLOCKS, 0)}),
               f"ahead, {flags}, by line: {moved}")
    many = {"extents": (4, 3, 2, 4, 1, 2), **ahead}
    plain, _ = run(binary, **many)
    for nodes in ("1", "2"):
        network = ["--device", "simulated", "--schedule", "static", "--simulate", "ranks=3,seed=4", "--ranks-per-node", nodes, "--device-messages", "staged"]
        off, without = run(binary, *network, "--look-ahead", "off", **many)
        output, total = run(binary, *network, "--look-ahead", "6", **many)
        expect(output == off == plain, f"ahead on nodes of {nodes}: {output}, {off}\non the host: {plain}")
        expect(total["device_prefetches"] == total["device_prefetches_used"] > 0, f"ahead on nodes of {nodes}: {total['device_prefetches']} blocks, {total['device_prefetches_used']} of them used")
        check(total, f"ahead on nodes of {nodes}", {way: without[way] for way in ("device_in", "device_bytes_in", "device_out", "device_bytes_out")})


def check_receives(binary):
    """A block that a get from another node brings straight to the device is a transfer less, and there are none of them where the host uses what
    the get brings, or where the way is through the host. It comes back to the host where that asks for it, or the room is wanted. Through the host it
    goes on in pieces while the rest comes, where the line is slow enough for that, without a byte more or less."""
    receives = {"program": "device_ahead.sialx", "level": "-O2", "extents": (4, 3, 2, 4, 1, 2)}
    plain, _ = run(binary, **receives)
    flags = ["--device", "simulated", "--schedule", "static", "--simulate", "ranks=3,seed=4"]
    for depth in ("off", "2", "auto"):
        nodes = [*flags, "--ranks-per-node", "1", "--look-ahead", depth]
        output, staged = run(binary, *nodes, "--device-messages", "staged", **receives)
        expect(output == plain, f"received through the host, look-ahead {depth}: {output}")
        check(staged, f"staged, look-ahead {depth}", {"device_received_direct": 0, "device_bytes_received_direct": 0})
        slow = [*nodes, "--simulate-network", "latency=50us,bandwidth=400kB/s"]
        output, pieces = run(binary, *slow, "--device-messages", "staged", **receives)
        expect(output == plain, f"received in pieces, look-ahead {depth}: {output}")
        expect(0 < pieces["device_received_pipelined"] <= pieces["device_pieces_early"] and pieces["device_bytes_received_pipelined"] > 6 * 8 * pieces["device_received_pipelined"],
               f"look-ahead {depth}: {pieces['device_received_pipelined']} blocks in pieces, {pieces['device_pieces_early']} of those early")
        check(pieces, f"in pieces, look-ahead {depth}", {key: staged[key] for key in ("device_out", "device_in", "device_bytes_in", "device_in_lower_bound")})
        expect(pieces["device_prefetches"] == pieces["device_prefetches_used"], f"look-ahead {depth}: {pieces['device_prefetches']} blocks ahead, {pieces['device_prefetches_used']} used")
        expect(not any(array == "b" for _, array in pieces["lines"]), f"in pieces, `b` is the host's: {pieces['lines']}")
        for more in (["--device-messages", "direct"], ["--device-messages", "staged", "--device-copies", "staged"]):
            output, total = run(binary, *slow, *more, **receives)
            expect(output == plain, f"a slow line, {more}, look-ahead {depth}: {output}")
            check(total, f"a slow line, {more}, look-ahead {depth}", {"device_received_pipelined": 0, "device_bytes_received_pipelined": 0, "device_pieces_early": 0})
        for way in ("direct", "auto"):
            output, total = run(binary, *nodes, "--device-messages", way, **receives)
            expect(output == plain, f"received straight, look-ahead {depth}: {output}")
            expect(total["device_received_direct"] > 0, f"--device-messages {way}, look-ahead {depth}: nothing was received straight")
            check(total, f"--device-messages {way}, look-ahead {depth}", {"device_out": staged["device_out"], "device_in": staged["device_in"] - total["device_received_direct"],
                                                                           "device_bytes_in": staged["device_bytes_in"] - total["device_bytes_received_direct"]})
            expect(not any(array == "b" for _, array in total["lines"]), f"`b` is the host's: {total['lines']}")
    for level in ("-O0", "-O2"):
        for more in (["--device-memory", str(20 * GRAIN)], ["--device-memory", str(4 * GRAIN)], ["--deterministic"], ["--check"], ["--store", "copy"], ["--device-copies", "staged"], ["--simulate-network", "latency=50us,bandwidth=1MB/s"]):
            output, _ = run(binary, *flags, "--ranks-per-node", "1", "--device-messages", "direct", *more, **{**receives, "level": level})
            expect(output == plain, f"received straight, {level} {more}: {output}")
            output, _ = run(binary, *flags, "--ranks-per-node", "1", "--device-messages", "staged", "--simulate-network", "latency=50us,bandwidth=400kB/s",
                            *(more if "--simulate-network" not in more else ["--memory", "100KiB"]), **{**receives, "level": level})
            expect(output == plain, f"received in pieces, {level} {more}: {output}")
    for way in ("direct", "staged"):
        _, total = run(binary, *flags, "--device-messages", way, **receives)
        check(total, "one node", {"device_received_direct": 0, "device_bytes_received_direct": 0, "device_received_pipelined": 0})
    wrong = {"program": "device_received.sialx", "level": "-O0", "extents": receives["extents"]}
    right, _ = run(binary, **wrong)
    output, total = run(binary, *flags, "--ranks-per-node", "1", "--device-messages", "direct", **wrong)
    expect(output == right and total["device_received_direct"] > 0, f"used on the device, then by the host: {output}, on the host {right}; {total['device_received_direct']} received straight")
    output, _ = run(binary, *flags, "--ranks-per-node", "1", "--device-messages", "direct", fault="device_received_on_host", **wrong)
    expect(output != right, f"device_received_on_host left out: {output}")
    output, total = run(binary, *flags, "--ranks-per-node", "1", "--device-messages", "staged", "--simulate-network", "latency=50us,bandwidth=400kB/s", **wrong)
    expect(output == right and total["device_received_pipelined"] > 0, f"in pieces, then by the host: {output}, on the host {right}; {total['device_received_pipelined']} in pieces")
    # Whether anything is left for a last piece depends on the order in which ranks take turns.
    outputs = [run(binary, *flags[:-1], f"ranks=3,seed={seed}", "--ranks-per-node", "1", "--device-messages", "staged", "--simulate-network", "latency=50us,bandwidth=400kB/s",
                   fault="device_last_piece", **receives)[0] for seed in range(1, 6)]
    expect(any("nan" in output.lower() for output in outputs), f"device_last_piece left out: {outputs}")


def check_waits(binary):
    """Small work is started when its rank is about to wait for a block of another one, and for no other reason."""
    flags = {"program": "device_waits.sialx"}
    nodes = ["--schedule", "static", "--simulate", "ranks=3,seed=1", "--ranks-per-node", "1", "--look-ahead", "off"]
    plain, _ = run(binary, **flags)
    counts = {}
    for name, more in (("alone", []), ("nodes", nodes), ("one by one", [*nodes, "--device-batch", "off"])):
        output, total = run(binary, "--device", "simulated", *more, **flags)
        expect(output == plain, f"small work and waits, {name}: {output}\non the host: {plain}")
        counts[name] = total["device_started_at_waits"]
    expect(counts["alone"] == 0 and counts["one by one"] == 0 and 0 < counts["nodes"] <= BLOCKS, f"starts at waits: {counts}, of {BLOCKS} blocks")


def check_deleted(binary):
    """What an array had on the device is free when it is deleted, not at the barrier behind: the second one fits where the first was."""
    flags = {"program": "device_deleted.sialx", "level": "-O2"}
    plain, _ = run(binary, **flags)
    expect(8 * max(EXTENTS) ** 3 <= GRAIN, "blocks take more than the smallest part")
    memory = GRAIN * (len(EXTENTS) ** 3 + 1)  # the second array, and a temp
    for room in ([], ["--device-memory", str(memory)]):
        output, total = run(binary, "--device", "simulated", "--device-puts", "wait", *room, **flags)  # else a source may be held beside the next one
        expect(output == plain, f"an array deleted: {output}\non the host: {plain}")
        check(total, f"an array deleted {room}", {"device_evictions": 0, "device_in": 0, "device_memory_high_water": memory})


def check_quarter(binary):
    """With a quarter of what it would use, the four-index transformation moves at most 1.74 times the lower bound of unlimited memory."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([sys.executable, HERE.parent / "bench" / "gpu" / "transfers.py", "--bin", binary.parent, "--out", out, "--only", "transformation"],
                       check=True, capture_output=True, text=True, timeout=300)
        rows = json.loads((pathlib.Path(out) / "transfers.json").read_text())["results"]
    ratio = {row["part"]: row["ratio"] for row in rows}
    expect(ratio[None] <= 1.05 and ratio[0.25] <= 1.74, f"the transformation moves {ratio} of the lower bound")


def check_self_check(binary, plain):
    """A device that computes wrongly is found out, by statement and block; one that does not is only slower."""
    for level, program in (("-O0", "device.sialx"), ("-O2", "device_fused.sialx")):
        flags = ["--device", "simulated", *(["--set", "omega=100"] if level == "-O2" else [])]
        for every in (1, 3):
            output, total = run(binary, *flags, "--self-check", str(every), program=program, level=level)
            expect(total["device_self_checks"] >= 2 * BLOCKS // every and (every > 1 or total["device_self_checks"] >= total["device_operations"]),
                   f"{program}: {total['device_self_checks']} of {total['device_operations']} operations were compared")
            expect(level == "-O2" or output == plain, f"compared every {every}: {output}")
        _, errors = run(binary, *flags, "--self-check", "1", fault="device_result", program=program, level=level, failure=True)
        first = next(line for line in errors.splitlines() if line.startswith("error:"))
        expect(f"{program}:" in first and "--self-check, rank 0: block " in first and "the device computed" in first, f"{program}: {errors}")
        expect("hint: results of this device cannot be trusted" in errors, f"{program}: {errors}")
        expect("the device computed" in run(binary, *flags, "--self-check", "2", "--simulate", "ranks=3,seed=1", fault="device_result", program=program, level=level, failure=True)[1],
               f"{program}: not noticed on three ranks")


def main():
    binary = BIN / "sialrun"
    plain, total = run(binary)
    check(total, "without a device", {"device_operations": 0, "device_in": 0, "device_bytes_in_unoptimized": 0})
    output, total = run(binary, "--device", "simulated")
    expect(output == plain, f"on a device: {output}\non the host: {plain}")
    operands = 1 + 2 + 1 + 2 + 2 + 1 + 2 + 2  # t=, u=a, u*=, u+=a, v=u, v+=, s=v, x=u*v
    check(total, "one rank", {
        "device_operations": 8 * BLOCKS,
        "device_in_unoptimized": operands * BLOCKS, "device_bytes_in_unoptimized": operands * BYTES,
        "device_out_unoptimized": operands * BLOCKS, "device_bytes_out_unoptimized": operands * BYTES,
        "device_in": 0, "device_bytes_in": 0,                     # a is what was put, and that is there
        "device_in_lower_bound": 0, "device_bytes_in_lower_bound": 0,
        "device_out": 2 * BLOCKS, "device_bytes_out": 2 * BYTES,  # t to put it; s to print it
        "device_out_lower_bound": 2 * BLOCKS, "device_bytes_out_lower_bound": 2 * BYTES,
        "device_evictions": 0, "device_on_host_instead": 0,
        "device_memory_high_water": (2 * BLOCKS + 2) * GRAIN,     # a, s; u and v of an iteration
        "device_allocations": 4 * BLOCKS, "device_allocation_hits": 4 * BLOCKS - 1,  # t, u, v, s; one piece holds all
    })
    again, total = run(binary, "--device", "simulated", "--device-memory", str(4 * GRAIN))
    expect(again == plain, f"with room for four blocks: {again}")
    expect(total["device_evictions"] > 0 and total["device_on_host_instead"] == 0 and total["device_memory_high_water"] == 4 * GRAIN, "room for four blocks is not what was used")
    again, total = run(binary, "--device", "simulated", "--device-memory", str(GRAIN))
    expect(again == plain, f"with room for one block: {again}")
    expect(total["device_on_host_instead"] == 4 * BLOCKS, f"{total['device_on_host_instead']} operations did not fit, by hand {4 * BLOCKS}: u=a, u+=a, v=u, x=u*v")
    for flags in (["--device-memory", "1KiB"], ["--device-copies", "staged"], ["--simulate", "ranks=3,seed=2"], ["--simulate", "ranks=4,seed=5,ranks-per-node=2"], ["--store", "copy"], ["--memory", "1MB", "--deterministic"]):
        again, total = run(binary, "--device", "simulated", *flags)
        expect(again == plain, f"{flags}: {again}\non the host: {plain}")
        expect(total["device_in_lower_bound"] <= total["device_in"] <= total["device_in_unoptimized"], f"{flags}: {total['device_in_lower_bound']}, {total['device_in']}")
        expect(total["device_out_lower_bound"] <= total["device_out"] <= total["device_out_unoptimized"], f"{flags}: {total['device_out_lower_bound']}, {total['device_out']}")
    check_chains(binary)
    check_super(binary)
    check_times(binary)
    check_hints(binary)
    check_messages(binary)
    check_ahead(binary)
    check_receives(binary)
    check_self_check(binary, plain)
    check_small(binary)
    check_waits(binary)
    check_deleted(binary)
    check_quarter(binary)
    check_puts(binary)
    for fault in ("device_copy_in", "device_copy_out"):
        wrong, _ = run(binary, "--device", "simulated", "--store", "copy", fault=fault)
        expect("nan" in wrong.lower(), f"{fault} left out: {wrong}")
    print("transfers are as counted by hand")


if __name__ == "__main__":
    main()
