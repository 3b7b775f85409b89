#!/usr/bin/env python3
"""The benchmark of the heap on small mixes, through all allocators that are here: blocks hold what was written to them, and the figures
are complete. Times are not looked at.

    heap_smoke.py --bin DIR
"""
from __future__ import annotations

import argparse
import pathlib

import allocator_tables


def expect(condition: object, text: object) -> None:
    if not condition:
        raise SystemExit(f"FAILED: {text}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    runner = allocator_tables.Runner(parser.parse_args().bin)
    names = []
    for allocator in runner.allocators():
        why = runner.why_unavailable(allocator["name"])
        if why:
            print(f"skipped: {why}")
        else:
            names.append(allocator["name"])
    expect({"node_heap", "node_heap_spill", "glibc", "tlsf_from_paper", "dmrt_policy_from_paper"} <= set(names), names)

    mix = ("--mix", "150", "--capacity", str(64 << 20), "--load", "0.8")
    for name in names:
        for ranks in ("1", "2"):
            expect(runner.bench(*mix, "--ranks", ranks, "--allocator", name, "--pass", "check") == {"intact": True}, (name, ranks))
        memory = runner.bench(*mix, "--allocator", name, "--pass", "memory", "--samples", "3")
        expect(memory and memory["requests"] == 150 and memory["satisfied"] > 75 and len(memory["samples"]) == 3, (name, memory))
        external, internal = allocator_tables.fragmentation(memory or {})
        expect(0 <= external < 100 and 0 <= internal < 100, (name, external, internal))
    phase = runner.bench("--phase", str(640 << 20), "--allocator", "node_heap", "--pass", "memory")
    expect(phase and phase["last_satisfied"], phase)
    threads = runner.bench("--allocator", "node_heap", "--pass", "threads", "--rounds", "2")
    expect(threads and threads["mean"] > 0, threads)
    print(f"{len(names)} allocators")


if __name__ == "__main__":
    main()
