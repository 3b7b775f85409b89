#!/usr/bin/env python3
"""Overhead of the interpreter, one rank: `run.py --bin build/release/bin`. Times come from the difference of a long and a short
run of the same program, the best of three each, so that start-up cancels. Prints a JSON line at the end."""
import argparse
import json
import pathlib
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGET_NS = 200  # a no-data instruction
# program, what is counted, how many of it per inner iteration
CASES = [("no_data", "no-data instruction", 7), ("block", "block statement on one element", 3), ("get", "get and one use", 1)]


def seconds(sialrun, program, outer, flags):
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        subprocess.run([sialrun, HERE / f"{program}.sialx", "--set", f"outer={outer}", "--segments", "ao=1", "--results", "none", *flags],
                       check=True, stderr=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - begin)
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    options = parser.parse_args()
    sialrun = options.bin.resolve() / "sialrun"
    result = {}
    for program, what, per_iteration in CASES:
        for flags in ([], ["--store=copy"]) if program == "get" else ([],):
            short, long = seconds(sialrun, program, 1, flags), seconds(sialrun, program, 1001, flags)
            ns = (long - short) / (1e6 * per_iteration) * 1e9
            name = " ".join([what, *flags])
            result[name] = round(ns, 1)
            print(f"{name:<40} {ns:8.1f} ns")
    ratio = result["no-data instruction"] / TARGET_NS
    print(f"{'no-data instruction / 200 ns target':<40} {ratio:8.3f}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
