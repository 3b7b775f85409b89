#!/usr/bin/env python3
"""The benchmark of the heap on a tiny job and a small mix, through all allocators that are here: blocks hold what was written to them, a recorded
trace has the peak that run.json states, and the figures are complete. Times are not looked at.

    heap_smoke.py --bin DIR
"""
from __future__ import annotations

import argparse
import dataclasses
import pathlib
import tempfile

import allocator_tables
import recorded


def expect(condition: object, text: object) -> None:
    if not condition:
        raise SystemExit(f"FAILED: {text}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    runner = recorded.Runner(parser.parse_args().bin)
    names = []
    for allocator in runner.allocators():
        why = runner.why_unavailable(allocator["name"])
        if why:
            print(f"skipped: {why}")
        else:
            names.append(allocator["name"])
    expect({"node_heap", "node_heap_spill", "glibc", "tlsf_from_paper", "dmrt_policy_from_paper"} <= set(names), names)

    with tempfile.TemporaryDirectory(prefix="sialx-heap-") as folder:
        trace = pathlib.Path(folder) / "trace"
        run = runner.record(dataclasses.replace(recorded.TINY, memory="256MB"), trace)
        about = runner.bench("--trace", str(trace), "--describe")
        expect(about and about["peaks"] == [run["total"]["buffer_bytes_high_water"]], (about, run["total"]))
        expect(about and about["operations"] > 500 and about["ranks"] == 1 and about["capacity"] >= 256_000_000, about)

        both = pathlib.Path(folder) / "both"
        ranks = dataclasses.replace(recorded.TINY, memory="256MB", ranks=2)
        runner.record(ranks, both)
        shared = runner.bench("--trace", str(both), "--describe")
        expect(shared and shared["ranks"] == 2 and len(shared["peaks"]) == 2 and min(shared["peaks"]) > 0, shared)

        for name in names:
            for words in (("--trace", str(trace)), ("--trace", str(both)), ("--mix", "150", "--capacity", str(64 << 20), "--load", "0.8", "--ranks", "2")):
                expect(runner.bench(*words, "--allocator", name, "--pass", "check") == {"intact": True}, (name, words))
            memory = runner.bench("--trace", str(trace), "--allocator", name, "--pass", "memory", "--samples", "3")
            expect(memory and memory["satisfied"] == memory["requests"] > 0, (name, memory))
            expect(memory and memory["peak_live"] == (about or {})["peak_live"] and len(memory["samples"]) == 3, (name, memory))
            external, internal = allocator_tables.fragmentation(memory or {})
            expect(0 <= external < 100 and 0 <= internal < 100, (name, external, internal))
        phase = runner.bench("--phase", str(640 << 20), "--allocator", "node_heap", "--pass", "memory")
        expect(phase and phase["last_satisfied"], phase)
    print(f"{len(names)} allocators")


if __name__ == "__main__":
    main()
