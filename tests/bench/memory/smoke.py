#!/usr/bin/env python3
"""The benchmark of memory on a tiny job: its results are right, its JSON and page complete; times are not looked at.

    smoke.py --bin DIR
"""
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any

import cgroups
import swap
from jobs import Failure

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "report"))
import run_page  # noqa: E402
from harness import BIN, expect  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FILL = "import sys; b = bytearray(int(sys.argv[1])); b[::4096] = b'1' * len(b[::4096]); sys.exit(b[::4096].count(b'1') != len(b[::4096]))"


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
    check_swap(result["swap"])
    for words in ("190,521", "all values right", swap.SWAP + ": ", swap.FILE + ": ", "memory of other nodes: ", "useless"):
        expect(words in text, f"`{words}` is missing: {text}")


def check_page(page: pathlib.Path, job: str) -> str:
    """The page in a headless browser. Returns why that was not possible."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not program:
        return "no headless browser"
    with tempfile.TemporaryDirectory(prefix="sialx-memory-page-") as work:
        browser = run_page.Browser(program, page, work)
        for tab in ("original", "user", "explore"):
            dom = browser.dom(f"tab={tab}")
            for other in ("original", "user", "explore"):
                expect(("hidden" not in dom.by_id(other)) == (other == tab), f"{tab}: {other}")
        titles = [e["text"] for e in dom.all("text", **{"class": "title"})]
        expect(len(titles) == 6 and titles[0].startswith("Share of time") and titles[-1] == "Predicted wall time", titles)
        lines = [e["points"] for e in dom.all("polyline")]
        expect(len(lines) >= 10 and all(len(points.split()) > 1 and "NaN" not in points for points in lines), lines)
        expect("190,521" in dom.by_id("published")["text"] and "published, 25 %" in dom.by_id("shares")["text"], "published points")
        expect(job in dom.by_id("user")["text"] and "kernel's swap" in dom.by_id("user")["text"], "this run")
        answers = {at: dom_answer(browser, at) for at in ("cap=50&bandwidth=2&latency=0", "cap=50&bandwidth=-1.3&latency=0", "cap=50&bandwidth=2&latency=4", "cap=100&bandwidth=2&latency=0")}
        fast, narrow, late, ample = answers.values()
        expect(narrow[1] > fast[1] and late[1] > fast[1] and all(0 < hidden <= none_hidden for hidden, none_hidden in answers.values()), answers)
        expect(ample != fast, answers)
    return ""


def dom_answer(browser: Any, at: str) -> tuple[float, float]:
    """The least and the most time of the page's prediction."""
    words = browser.dom(f"tab=explore&{at}").by_id("answer")["text"].split()
    return float(words[0]), float(words[2])


def check_swap(result: dict[str, Any]) -> None:
    reason = cgroups.hierarchy()
    if isinstance(reason, str):
        expect(result == {"skipped": reason}, result)
        return
    rows = {row["name"]: row for row in result["rows"]}
    expect(list(rows) == [swap.SPILL, *(name + keep for name in (swap.SWAP, swap.FILE) for keep in ("", swap.WITHOUT))], rows)
    for name, row in rows.items():
        expect("skipped" in row or (row["difference"] <= 1e-9 and row["wall"] > 0 and ("ratio" in row or name == swap.SPILL)), row)
        if "skipped" in row:
            print(f"{name}: skipped: {row['skipped']}")
    expect("skipped" not in rows[swap.SPILL] and (shutil.which("cc") is None or "skipped" not in rows[swap.FILE]), rows)


def check_cgroups(folder: pathlib.Path) -> str:
    """That a cap is kept: without swap a process that needs more is killed, with it the process goes on and has written to swap. Returns why that is not known."""
    if isinstance(reason := cgroups.hierarchy(), str):
        return reason
    fill = [sys.executable, "-c", FILL, str(96 << 20)]
    with cgroups.capped(200 << 20, swap=False) as enter:
        expect(subprocess.run([*enter, *fill], capture_output=True).returncode == 0, "a process that fits runs")
    with cgroups.capped(48 << 20, swap=False) as enter:
        expect(subprocess.run([*enter, *fill], capture_output=True).returncode != 0, "a process that does not fit is ended")
    try:
        with cgroups.swap_file(folder, 256 << 20), cgroups.capped(48 << 20, swap=True) as enter:
            before = cgroups.swapped_out()
            done = subprocess.run([*enter, *fill], capture_output=True, text=True)
            expect(done.returncode == 0, done.stderr)
            expect(cgroups.swapped_out() - before >= 30 << 20, "a process that does not fit is swapped")
    except (Failure, OSError) as failure:
        return str(failure)
    return ""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sialx-memory-smoke-") as folder:
        out = pathlib.Path(folder)
        if reason := check_cgroups(out):
            print(f"memory cgroups and swap: skipped: {reason}")
        command = [sys.executable, str(HERE / "measure.py"), "--bin", str(BIN), "--out", folder, "--smoke"]
        done = subprocess.run(command, capture_output=True, text=True)
        expect(done.returncode == 0, done.stdout + done.stderr)
        result = json.loads((out / "memory.json").read_text())
        check(result, done.stdout)
        page = (out / "memory.html").read_text()
        for words in ("Original", "User", "Explore", result["caps"][0]["job"]):
            expect(words in page, f"the page lacks {words}")
        if reason := check_page(out / "memory.html", result["caps"][0]["job"]):
            print(f"page: skipped: {reason}")
        expect("/*RESULT*/null" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", ""), "the page needs nothing else")
        expect(sorted(p.name for p in out.iterdir()) == ["memory.html", "memory.json"], "blocks leave nothing in their directory")
        command = [*command, "--only", "nothing"]
        expect(subprocess.run(command, capture_output=True).returncode == 2, "an unknown part is refused")
    print("results are right, JSON and page are complete")


if __name__ == "__main__":
    main()
