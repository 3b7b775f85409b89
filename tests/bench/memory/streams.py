"""Arrays far larger than the memory: one stream at the speed of the disk, and blocks that are read again and again."""
from __future__ import annotations

import json
import statistics
import subprocess
from typing import Any

from jobs import ENV, HERE, ROOT, Failure, Runner


def blocks(count: int, extent: int) -> list[str]:
    """Arguments for `count` times `count` blocks of `extent` times `extent` elements."""
    return ["--set", f"norb={count}", "--segments", "ao=" + ",".join([str(extent)] * count)]


def plain_disk(runner: Runner, mebibytes: int) -> dict[str, float]:
    """Bytes per second of plain reads and writes of the directory's disk."""
    done = subprocess.run([str(runner.binaries / "bench_disk"), str(runner.spill), str(mebibytes), "plain"], env=ENV, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"bench_disk: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure_stream(runner: Runner, count: int, extent: int, repeat: int) -> dict[str, Any]:
    """The time that plain writes and reads of the same bytes would take, over the time of the program; the disk is measured before each run.
    The program writes a new file, and so does `ratio`; `ratio_again` is with the speed of writing a file once more."""
    array = count * count * extent * extent * 8
    wanted = sum(extent * extent * (p + 100 * q) ** 2 for p in range(1, count + 1) for q in range(1, count + 1))
    rounds = []
    for _ in range(repeat):
        disk = plain_disk(runner, max(4, array >> 20))
        run = runner.run([HERE / "stream.sialx", *blocks(count, extent), "--memory", f"{array // 8}B", "--spill", runner.spill])
        if abs(run.value("all_sum") - wanted) > 1e-11 * wanted:
            raise Failure(f"stream: the sum is {run.value('all_sum')}, not {wanted}")
        written, read, seconds = (run.total[name] for name in ("tier_bytes_written", "tier_bytes_read", "wall_time"))
        plain, again = (written / disk[how] + read / disk["read"] for how in ("first_write", "write"))
        rounds.append({"disk_first_write": disk["first_write"], "disk_write": disk["write"], "disk_read": disk["read"], "written": written, "read": read, "seconds": seconds, "cpu": run.cpu, "speed": (written + read) / seconds,
                       "plain_speed": (written + read) / plain, "ratio": plain / seconds, "ratio_again": again / seconds,
                       "waits": run.total["tier_wait_time"], "peak": run.peak})
    middle = {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}
    return {"array": array, "memory": array // 8, "block": extent * extent * 8, "repeat": repeat, "bar": 0.8, "ratios": [r["ratio"] for r in rounds], **middle}


def measure_again(runner: Runner, count: int, extent: int, memory: int, times: int) -> dict[str, Any]:
    """Every block filled with numbers of its own, and compared `times` times."""
    run = runner.run([ROOT / "tests/spill/programs/touch.sialx", *blocks(count, extent), "--set", f"times={times}", "--memory", f"{memory}B", "--spill", runner.spill])
    right = run.value("all_seen") == times * count * count and run.value("all_wrong") == 0
    return {"array": count * count * extent * extent * 8, "memory": memory, "times": times, "right": right, "wall": run.wall, "cpu": run.cpu, "peak": run.peak,
            "written": run.total["tier_bytes_written"], "read": run.total["tier_bytes_read"], "waits": run.total["tier_wait_time"], "demand_reads": run.total["tier_demand_reads"]}
