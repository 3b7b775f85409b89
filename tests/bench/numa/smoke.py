#!/usr/bin/env python3
"""The benchmark of memory nodes on tiny arrays: its JSON and table are complete and agree; times are not looked at.

    smoke.py BENCH_NUMA
"""
import json
import math
import statistics
import subprocess
import sys
from typing import Any

PATTERNS = ["cached words", "words in order", "lines of a page at random", "cycle, page by page", "cycle over all lines"]
ONE_NODE = "The machine has one memory node: there is nothing to compare."
PUBLISHED = [[3.0e-10, 3.1e-10, 3.2e-10], [8.4e-9, 9.7e-9, 1.19e-8], [2.37e-8, 3.05e-8, 3.78e-8], [7.6e-8, 9.1e-8, 1.07e-7], [9.2e-8, 1.24e-7, 1.52e-7]]


def expect(condition: object, text: object) -> None:
    if not condition:
        raise SystemExit(f"FAILED: {text}")


def run(*options: str) -> tuple[str, dict[str, Any]]:
    done = subprocess.run([sys.argv[1], "--smoke", *options], capture_output=True, text=True, timeout=60)
    expect(done.returncode == 0 and not done.stderr, done)
    return done.stdout, json.loads(done.stdout.splitlines()[-1])


def check(text: str, result: dict[str, Any], rounds: int) -> None:
    """What holds on every machine."""
    measured = [p["name"] for p in result["placements"] if p["measured"]]
    expect(measured[0] == "local" and len(result["placements"]) == (1 if result["nodes"] == 1 else 3), result)
    expect([p["name"] for p in result["patterns"]] == PATTERNS and [p["published"] for p in result["patterns"]] == PUBLISHED, result)
    expect((ONE_NODE in text) == (result["nodes"] == 1), text)
    for pattern in result["patterns"]:
        seconds = pattern["seconds"]
        expect(sorted(seconds) == sorted(measured), pattern)
        row = next(line for line in text.splitlines() if line.startswith(pattern["name"]))
        for name, value in seconds.items():
            times = pattern["all_rounds"][name]
            expect(len(times) == rounds and min(times) > 0 and math.isclose(value, statistics.median(times)), pattern)
            expect(math.isclose(pattern["ratio_to_local"][name], value / seconds["local"]), pattern)
            expect(f"{value:.2e}" in row, row)


def main() -> None:
    text, here = run()
    check(text, here, 2)
    expect(not here["described"], here)

    text, one = run("--machine", "numa:1 core:2 pu:1", "--repeat", "1")
    check(text, one, 1)

    text, four = run("--machine", "numa:4 core:2 pu:1")
    check(text, four, 2)
    pages = four["array_bytes"] // 4096
    asked = [("local", [0], [pages]), ("interleaved", [0, 1, 2, 3], [pages // 4] * 4), ("remote", [1], [0, pages])]
    expect([(p["name"], p["nodes"], p["pages_by_node"]) for p in four["placements"]] == asked and not any(p["problems"] for p in four["placements"]), four)
    expect("only described" in text and "interleaved over nodes 0-3" in text, text)

    for options in (["--repeat", "0"], ["--mib"], ["--mib", "many"], ["--nodes", "2"], ["--machine", "no machine"], ["--mib", "600", "--machine", "numa:2 core:1 pu:1"]):
        refused = subprocess.run([sys.argv[1], *options], capture_output=True, text=True, timeout=60)
        expect(refused.returncode == 2 and refused.stderr.startswith("bench_numa: ") and not refused.stdout, refused)
    print("bench_numa: three machines, all patterns")


main()
