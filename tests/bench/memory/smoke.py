#!/usr/bin/env python3
"""The benchmark of memory on a tiny job: its results are right, its JSON and page complete; times are not looked at.

    smoke.py --bin DIR
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent


def expect(condition: object, text: object) -> None:
    if not condition:
        raise SystemExit(f"FAILED: {text}")


def check_caps(result: dict[str, Any]) -> None:
    rows = {row["cap"]: row for row in result["rows"]}
    expect(list(rows) == [0, 100, 50] and result["need"] > 0, result)
    for cap in (100, 50):
        row = rows[cap]
        expect(row["difference"] <= 1e-9 and row["wall_ratio"] > 0 and row["cpu_ratio"] > 0, row)
        expect(row["limit"] == result["need"] * cap // 100 and row["buffer_bytes_high_water"] <= row["limit"], row)
        expect(row["waiting_reads"] == row["tier_demand_reads"] + row["tier_prefetches_late"] and row["peak"] > 0, row)
    expect(rows[0]["tier_reads"] == 0, rows[0])
    half = rows[50]
    expect(half["tier_bytes_written"] > 0 and half["tier_bytes_read"] > 0 and half["predicted"]["written"] > 0 and half["predicted"]["read"] > 0, half)


def check(result: dict[str, Any], text: str) -> None:
    check_caps(result["caps"][0])
    stream, again, overhead = (result[name] for name in ("stream", "again", "overhead"))
    expect(stream["array"] == 8 * stream["memory"] and stream["written"] >= stream["array"] * 7 // 8 and stream["read"] > 0, stream)
    remote = result["remote"]["rows"][1]
    expect(remote["difference"] <= 1e-9 and remote["ratio"] > 0 and remote["tier_bytes_written"] > 0 and remote["tier_bytes_read"] > 0, remote)
    expect(math.isclose(stream["ratio"], stream["speed"] / stream["plain_speed"], rel_tol=1e-9), stream)
    expect(again["right"] and again["read"] >= 3 * (again["array"] - again["memory"]), again)
    expect(overhead["ratio"] > 0 and result["order"]["written"] > 0, result["order"])
    expect("skipped" in result["swap"], result["swap"])
    for words in ("190,521", "all values right", "kernel's swap: skipped: ", "file-backed heap: skipped: ", "memory of other nodes: ", "useless"):
        expect(words in text, f"`{words}` is missing: {text}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    binaries = parser.parse_args().bin
    with tempfile.TemporaryDirectory(prefix="sialx-memory-smoke-") as folder:
        out = pathlib.Path(folder)
        command = [sys.executable, str(HERE / "measure.py"), "--bin", str(binaries), "--out", folder, "--smoke"]
        done = subprocess.run(command, capture_output=True, text=True)
        expect(done.returncode == 0, done.stdout + done.stderr)
        result = json.loads((out / "memory.json").read_text())
        check(result, done.stdout)
        page = (out / "memory.html").read_text()
        for words in ("Original", "User", "Explore", result["caps"][0]["job"]):
            expect(words in page, f"the page lacks {words}")
        expect("/*RESULT*/null" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", ""), "the page needs nothing else")
        expect(sorted(p.name for p in out.iterdir()) == ["memory.html", "memory.json"], "blocks leave nothing in their directory")
        command = [*command, "--only", "nothing"]
        expect(subprocess.run(command, capture_output=True).returncode == 2, "an unknown part is refused")
    print("results are right, JSON and page are complete")


if __name__ == "__main__":
    main()
