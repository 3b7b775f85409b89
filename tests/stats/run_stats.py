#!/usr/bin/env python3
"""The counters of run.json against numbers worked out by hand, on one rank, on one node and between nodes.

    run_stats.py --bin DIR
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ENV, expect

HERE = pathlib.Path(__file__).resolve().parent
EXTENTS = (3, 2)
BLOCKS = len(EXTENTS) ** 2
ELEMENTS = sum(EXTENTS) ** 2
BYTES = 8 * ELEMENTS


def run(binary, *flags, program="counted", level="-O0"):
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([binary, level, HERE / f"{program}.sialx", "--set", "norb=2", "--segments", "ao=" + ",".join(map(str, EXTENTS)),
                        "--results", "none", "--run-json", "run.json", "--output-dir", out, *flags], check=True, timeout=60)
        return json.loads((pathlib.Path(out) / "run.json").read_text())


def check_counts(total, name):
    fixed = {
        "iterations": 4 * BLOCKS,                            # four pardos over all blocks
        "super_instructions": BLOCKS,
        "gets": BLOCKS, "puts": BLOCKS, "accumulates": BLOCKS,
        "scalar_puts": 3 * BLOCKS,                           # fill, increment, scale
        "accesses": BLOCKS,                                  # t = d
        "flops": 2 * sum(EXTENTS) ** 3,                      # 2 m n k over all block triples
    }
    for counter, value in fixed.items():
        expect(total[counter] == value, f"{name}: {counter} is {total[counter]}, by hand {value}")
    # fills of t, copies of d, two puts of blocks, and per (i,j,k) two fills and a contraction
    block_statements = 4 * BLOCKS + 3 * BLOCKS * len(EXTENTS)
    expect(total["block_operations"] == block_statements, f"{name}: block_operations {total['block_operations']}, by hand {block_statements}")
    expect(total["instructions"] > block_statements, f"{name}: instructions {total['instructions']}")
    expect(0 <= total["blocked_accesses"] <= total["accesses"], f"{name}: blocked_accesses {total['blocked_accesses']}")
    expect(total["buffer_requests"] > 0 and 0 < total["buffer_cache_hits"] < total["buffer_requests"], f"{name}: buffers")
    expect(total["buffer_bytes_high_water"] >= 8 * max(EXTENTS) ** 2, f"{name}: buffer_bytes_high_water")
    # two remote arrays in all; a rank has its share of them and a temp
    expect(total["memory_high_water"] >= 2 * BYTES / (4 if name == "four nodes" else 3), f"{name}: memory_high_water {total['memory_high_water']}")


def check_times(statistics, name):
    for rank, s in enumerate(statistics["per_rank"]):
        parts = sum(s[c] for c in ("compute_time", "fetch_wait_time", "lock_time", "barrier_time", "overhead_time"))
        expect(abs(parts - s["wall_time"]) <= 0.02 * s["wall_time"] + 1e-4,
               f"{name}: rank {rank}: the parts add up to {parts}, wall_time is {s['wall_time']}")
        expect(all(s[c] >= 0 for c in ("compute_time", "fetch_wait_time", "lock_time", "barrier_time", "overhead_time", "handler_time")),
               f"{name}: rank {rank}: a time is negative")


def check_copies_by_line(binary):
    """Copies are counted at the statement that makes them, for the array of the block that is made, whether made or spared."""
    source = (HERE / "copies.sialx").read_text().splitlines()
    at = {text: next(n for n, line in enumerate(source, 1) if line.strip().startswith(text)) for text in ("put d", "t[i,j] =", "put e")}
    by_hand = [(at["put d"], "d"), (at["t[i,j] ="], "t"), (at["put e"], "e")]
    for level, made in (("-O0", 1), ("-O2", 0)):
        for flags in ((), ("--simulate", "ranks=3,seed=3,ranks-per-node=1")):
            statistics = run(binary, *flags, program="copies", level=level)
            rows = {(c["line"], c["array"]): c for c in statistics["block_copies"]}
            expect(sorted(rows) == sorted(by_hand), f"copies by line {level}: {sorted(rows)}, by hand {by_hand}")
            for where, c in rows.items():
                found = tuple(c[key] for key in ("copied", "bytes_copied", "elided", "bytes_elided"))
                want = (made * BLOCKS, made * BYTES, (1 - made) * BLOCKS, (1 - made) * BYTES)
                expect(found == want, f"copies by line {level}: {where} has {found}, by hand {want}")
            for row, counter in (("copied", "block_copies"), ("bytes_copied", "block_bytes_copied"), ("elided", "block_copies_elided"), ("bytes_elided", "block_bytes_elided")):
                expect(sum(c[row] for c in rows.values()) == statistics["total"][counter], f"copies by line {level}: {counter} is not their sum")


def check_elided(binary):
    """What the counters say was saved is the difference to the program as written."""
    four = ("--simulate", "ranks=4,seed=3,ranks-per-node=1", "--schedule", "static")
    written, planned = (run(binary, *four, program="elided", level=level)["total"] for level in ("-O0", "-O2"))
    for counter in ("combined_accumulates", "kept_copies", "shared_puts", "bytes_elided"):
        expect(written[counter] == 0, f"as written: {counter} is {written[counter]}")
        expect(counter == "shared_puts" or planned[counter] > 0, f"four nodes: {counter} is 0")
    expect(planned["combined_accumulates"] < planned["accumulates"] == written["accumulates"] == 3 * BLOCKS * len(EXTENTS), "accumulates")
    moved = [t["bytes_sent"] + t["bytes_received"] for t in (written, planned)]
    expect(moved[0] - moved[1] == planned["bytes_elided"], f"{moved[0]} bytes as written, {moved[1]} as planned, {planned['bytes_elided']} elided")
    expect(2 * moved[1] < moved[0], f"{moved[0]} bytes as written, {moved[1]} as planned")
    expect(planned["messages_sent"] < written["messages_sent"], "messages_sent")
    shared = run(binary, "--simulate", "ranks=2,seed=1", program="elided", level="-O2")["total"]["shared_puts"]
    expect(shared == BLOCKS, f"one node: shared_puts is {shared}")
    for oracle in ("--check", "--store=copy"):
        kept = run(binary, *four, oracle, program="elided", level="-O2")["total"]["bytes_elided"]
        expect(kept == 0, f"{oracle}: {kept} bytes elided")


def check_near(binary):
    """Every get but the first of a rank is foreseen and its block named to the kernels, where look-ahead is asked for; not as written, not before a
    copy is made, where gets copy, not for blocks of few lines, and by itself only where a cache does not hold the arrays."""
    def near(*flags, segments="ao=32,24", level="-O2"):
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run([binary, level, HERE / "near.sialx", "--set", "norb=2", "--segments", segments, "--results", "none", "--run-json", "run.json", "--output-dir", out,
                                   *flags], check=True, timeout=60, capture_output=True, text=True)
            return done.stdout, json.loads((pathlib.Path(out) / "run.json").read_text())["total"]["cache_prefetches"]

    gets = 2 * len(EXTENTS) ** 3
    plain, none = near("--look-ahead", "off")
    expect(none == 0, f"look-ahead off: {none} blocks near")
    for flags, segments, level, by_hand in ((["4"], "ao=32,24", "-O2", gets - 1), (["4"], "ao=32,24", "-O0", 0), (["4", "--store=copy"], "ao=32,24", "-O2", gets // 2),
                                            (["auto"], "ao=32,24", "-O2", 0), (["4"], "ao=20,19", "-O2", 0), (["4"], "ao=200,190", "-O2", 0),
                                            (["4", "--memory", "2600KB"], "ao=170,160", "-O2", gets - 1)):
        output, found = near("--look-ahead", *flags, segments=segments, level=level)
        expect(found == by_hand, f"look-ahead {flags}, {segments}, {level}: {found} blocks near, by hand {by_hand}")
        expect(segments != "ao=32,24" or output == plain, f"look-ahead {flags} {level} prints {output}, off {plain}")


# Text of the lines of kernels.sialx: executions, floating-point operations and bytes of the operands over all blocks, as written.
N = sum(EXTENTS)
PAIRS = len(EXTENTS) ** 2
KERNELS = {
    "b[j,i] = a[i,j]": (PAIRS, 0, 16 * N**2),
    "b[j,i] = d[i,j]": (PAIRS**2, 0, 16 * N**2 * PAIRS),
    "c[i,k] = d[i,j] * d[j,k]": (PAIRS**2, 2 * N**3 * len(EXTENTS), 24 * N**2 * len(EXTENTS)**2),
    "o[i,j,k,l] = d[i,j] * d[k,l]": (PAIRS**2, 2 * N**4, 16 * N**2 * PAIRS + 8 * N**4),
    "x += b[j,i] * d[i,j]": (PAIRS**2, 2 * N**2 * PAIRS, 16 * N**2 * PAIRS),
    "p[k,l] = d[k,l]": (PAIRS**2, 0, 16 * N**2 * PAIRS),
    "p[k,l] += d[k,l]": (PAIRS**2, 0, 24 * N**2 * PAIRS),
    "x += p[k,l] * d[k,l]": (PAIRS**2, 2 * N**2 * PAIRS, 16 * N**2 * PAIRS),
    "x += c[i,k] * c[i,k]": (PAIRS**2, 2 * N**2 * PAIRS, 16 * N**2 * PAIRS),
    "x += o[i,j,k,l] * o[i,j,k,l]": (PAIRS**2, 2 * N**4, 16 * N**4),
}
WAYS = {"c[i,k]": {"tiles", "blas", "plain loops"}, "o[i,j": {"tiles", "outer product", "blas", "plain loops"}, "x +=": {"inner product"}, "b[": {"copy"}, "p[": {"copy"}}


def check_kernel_rows(kernels, name):
    source = (HERE / "kernels.sialx").read_text().splitlines()
    found: dict = {}
    for row in kernels["choices"]:
        text = source[row["line"] - 1].strip()
        expect(any(text.startswith(begin) and row["strategy"] in ways for begin, ways in WAYS.items()), f"{name}: `{text}` went by {row['strategy']}")
        expect(row["program"] == "kernels" and row["file"].endswith("kernels.sialx") and row["why"] and row["seconds"] > 0, f"{name}: {row}")
        calls, flops, moved = found.get(text, (0, 0, 0))
        found[text] = (calls + row["calls"], flops + row["flops"], moved + row["bytes"])
    expect(found == KERNELS, f"{name}: {found}, by hand {KERNELS}")
    code = kernels["code"]
    expect(all(code[key] >= 0 for key in ("asked", "compiled", "from_disk", "failed", "compile_seconds")), f"{name}: {code}")
    whys = {source[row["line"] - 1].strip(): row["why"] for row in kernels["choices"]}
    expect(whys["b[j,i] = d[i,j]"] == "permutation of 3x3: the target's dimensions are the source's 2,1", f"{name}: {whys}")
    expect("different orders" in whys["x += b[j,i] * d[i,j]"] and whys["x += o[i,j,k,l] * o[i,j,k,l]"].startswith("81 products"), f"{name}: {whys}")


def check_kernels(binary):
    """Block operations by line and way, which no number of ranks and no restart changes in sum."""
    for name, flags in (("one rank", ()), ("three ranks", ("--simulate", "ranks=3,seed=2")), ("four nodes", ("--simulate", "ranks=4,seed=3,ranks-per-node=1"))):
        check_kernel_rows(run(binary, *flags, program="kernels")["kernels"], name)
    off = run(binary, "--jit", "off", program="kernels")["kernels"]
    check_kernel_rows(off, "--jit=off")
    expect(off["code"]["state"] == "off" and off["code"]["asked"] == off["code"]["compiled"] == 0, f"--jit=off: {off['code']}")
    # An engine that ranks of one process share is counted once.
    alone, shared = (run(binary, *flags, program="kernels", level="-O2")["kernels"]["code"]["asked"] for flags in ((), ("--simulate", "ranks=3,seed=2")))
    expect(alone == shared, f"{alone} pieces of code asked for by one rank, {shared} by three in a process")
    for kernels in ("blas", "reference"):
        ways = {row["strategy"] for row in run(binary, "--kernels", kernels, program="kernels")["kernels"]["choices"]}
        expect(ways == {"copy", "inner product", kernels}, f"--kernels {kernels}: {ways}")
    chains = [row for row in run(binary, program="kernels", level="-O2")["kernels"]["choices"] if row["strategy"] == "chain"]
    expect(len(chains) == 1 and chains[0]["calls"] == PAIRS**2 and "in one pass" in chains[0]["why"], f"-O2: chains {chains}")

    example = [HERE.parents[1] / "examples" / "02_matrix_product" / "job.toml", "--results", "none", "--run-json", "run.json"]
    with tempfile.TemporaryDirectory() as out:
        command = [binary, "-O0", HERE / "kernels.sialx", "--set", "norb=2", "--segments", "ao=3,2", "--results", "none", "--output-dir", out]

        def text(*flags, launcher=(), good=(0,)):
            environment = dict(ENV)
            done = subprocess.run([*launcher, *command, *flags], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
            expect(done.returncode in good, f"{flags}: ended with {done.returncode}: {done.stderr}")
            return done.stdout, done.stderr

        def statistics():
            return json.loads((pathlib.Path(out) / "run.json").read_text())

        # Two processes, and a job that ends at its barrier and goes on.
        text("--run-json", "run.json", launcher=("mpirun", "-n", "2", "--bind-to", "none"))
        check_kernel_rows(statistics()["kernels"], "two processes")
        text("--run-json", "run.json", "--checkpoint-every", "0", "--stop-after", "1", good=range(1, 256))
        text("--run-json", "run.json", "--restart")
        check_kernel_rows(statistics()["kernels"], "restarted")

        # What people read.
        place = {line.strip(): f"kernels.sialx:{n}: " for n, line in enumerate((HERE / "kernels.sialx").read_text().splitlines(), 1)}
        printed, said = text("--explain-kernels", "--jit", "off")
        expect("block kernels, line by line; generated code: off" in said and "block kernels" not in printed, f"--explain-kernels: {said}")
        for line, (calls, flops, _) in KERNELS.items():
            rows = [row for row in said.splitlines() if place[line] in row]
            expect(rows and all(("GFLOP/s: " if flops else "GB/s: ") in row for row in rows), f"--explain-kernels: `{line}`: {rows}")
            expect(sum(int(row.split(" call")[0].split()[-1]) for row in rows) == calls, f"--explain-kernels: `{line}`: {rows}")
        planned, _ = text("--explain-kernels", "--dry-run")
        for line in KERNELS:
            expect(place[line] in planned, f"--explain-kernels --dry-run: nothing about `{line}`: {planned}")
        expect("permutation of 3x3" in planned and "inner product" in planned and "done" not in planned, f"--explain-kernels --dry-run: {planned}")
        expect("kernels that would be chosen" not in text("--dry-run")[0], "--dry-run explains unasked")
        expect("generated code: " in text("--stats")[1] and "block kernels by time" in text("--stats")[1], "--stats")

        subprocess.run([binary, *map(str, example), "--output-dir", out], check=True, timeout=120, stdout=subprocess.DEVNULL)
        found = statistics()
        products = [row for row in found["kernels"]["choices"] if row["flops"] > 0 and row["strategy"] != "inner product"]
        inner = sum(row["flops"] for row in found["kernels"]["choices"] if row["strategy"] == "inner product")
        expect(products and sum(row["flops"] for row in products) + inner == found["total"]["flops"] > 0, f"02_matrix_product: {found['kernels']['choices']}")


def check_blas(binary):
    """Kernels for narrower vectors than the processor has are cured, or remarked on where the user asks for them."""
    def named(core):
        environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
        if core:
            environment["OPENBLAS_CORETYPE"] = core
        said = subprocess.run([binary, "--version", "--verbose"], check=True, capture_output=True, text=True, timeout=60, env=environment).stdout
        return next(line for line in said.splitlines() if line.startswith("BLAS: "))
    expect("warning" not in named(None), named(None))
    slow = named("Prescott")
    if "Prescott" not in slow or "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        print(f"skipped: another BLAS, or a processor without AVX2 ({slow})")
        return
    expect("warning: OPENBLAS_CORETYPE asks for these" in slow, slow)


def check_orders(binary):
    """Orders of pardos in a memory of 24 bytes: blocks of 24 and 16 bytes that come in turn, or each once."""
    def rows(*flags):
        programs = run(binary, *flags, program="orders")["programs"]
        return [(r["line"], r["order"], r["refusal"], r["bytes"], r["bytes_as_written"]) for r in programs[0].get("pardo_orders", [])]

    each, once = 2 * (24 + 16), 24 + 16
    expect(rows() == rows("--pardo-order", "written") == rows("--pardo-order", "1MB") == [], "orders: nothing is said where memory is not short")
    other = "j, i, the first one fastest"
    written = [(9, "as written", "", 24, 24), (23, "as written", "", once, once)]
    for flags in ((), ("--simulate", "ranks=1,seed=1"), ("--schedule", "static")):
        found = rows("--pardo-order", "24B", *flags)
        expect(found == [written[0], (13, other, "", once, each), (18, other, "its body prints", once, each), written[1]], f"orders {flags}: {found}")
    found = rows("--pardo-order", "24B", "--deterministic")
    why = "`--deterministic` fixes the order"
    expect(found == [written[0], (13, other, why, once, each), (18, other, why, once, each), written[1]], f"orders, deterministic: {found}")


def main():
    binary = BIN / "sialrun"

    for name, flags in (("one rank", ()), ("one node", ("--simulate", "ranks=3,seed=1"))):
        statistics = run(binary, *flags)
        total = statistics["total"]
        check_counts(total, name)
        check_times(statistics, name)
        expect(total["bytes_leased"] == BYTES, f"{name}: bytes_leased {total['bytes_leased']}: every block is used where it lies")
        for counter in ("messages_sent", "requests_served", "bytes_sent", "bytes_received", "combined_accumulates", "kept_copies", "shared_puts",
                        "bytes_elided"):
            expect(total[counter] == 0, f"{name}: {counter} is {total[counter]} on one node")

    copied = run(binary, "--store", "copy")["total"]
    expect(copied["bytes_leased"] == 0, f"--store=copy: bytes_leased {copied['bytes_leased']}")
    expect(copied["bytes_copied"] > run(binary)["total"]["bytes_copied"], "--store=copy copies more")

    statistics = run(binary, "--simulate", "ranks=4,seed=3,ranks-per-node=1")
    total = statistics["total"]
    check_counts(total, "four nodes")
    check_times(statistics, "four nodes")
    expect(total["messages_sent"] == total["requests_served"] > 0, f"four nodes: {total['messages_sent']} sent, {total['requests_served']} served")
    expect(total["bytes_sent"] > 0 and total["bytes_received"] > 0, "four nodes: bytes_sent, bytes_received")
    for level, made in (("-O0", 3), ("-O2", 0)):
        for flags in ((), ("--simulate", "ranks=3,seed=3,ranks-per-node=1")):
            total = run(binary, *flags, program="copies", level=level)["total"]
            for counter, each, times in (("block_copies", BLOCKS, made), ("block_bytes_copied", BYTES, made),
                                         ("block_copies_elided", BLOCKS, 3 - made), ("block_bytes_elided", BYTES, 3 - made)):
                expect(total[counter] == times * each, f"copies {level}: {counter} is {total[counter]}, by hand {times * each}")
    check_copies_by_line(binary)
    check_elided(binary)
    check_kernels(binary)
    check_blas(binary)
    check_near(binary)
    check_orders(binary)
    print("counters agree with what was worked out by hand")


if __name__ == "__main__":
    main()
