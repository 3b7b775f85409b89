"""The same job without --spill, in a memory cgroup of the same cap: the kernel moves its pages to a swap file on the same disk."""
from __future__ import annotations

import contextlib
import os
import pathlib
import statistics
import subprocess
from collections.abc import Iterator
from typing import Any

from caps import TOLERANCE, difference
from jobs import AMPLE, Failure, Job, Runner

JOIN = 'echo $$ > "$0" && exec "$@"'  # a shell that enters the cgroup and becomes the program
BAR = 3.0  # times as long as with --spill, at 25 %


def hierarchy() -> pathlib.Path | None:
    """Where cgroup v2 is mounted."""
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2":
            return pathlib.Path(where)
    return None


def reason_against() -> str:
    """Why no cgroup can cap memory here; empty when one can."""
    root = hierarchy()
    if os.geteuid() != 0:
        return "not root"
    if root is None:
        return "cgroup v2 is not mounted"
    if "memory" not in (root / "cgroup.controllers").read_text().split():
        return f"cgroup v2 at {root} has no memory controller"
    return "" if os.access(root / "cgroup.subtree_control", os.W_OK) else f"{root} cannot be written"


@contextlib.contextmanager
def swap_file(folder: pathlib.Path, size: int) -> Iterator[None]:
    file = folder / f"swap-{os.getpid()}"
    try:
        with open(file, "wb") as f:
            os.chmod(file, 0o600)
            os.posix_fallocate(f.fileno(), 0, size)
        for program in ("mkswap", "swapon"):
            done = subprocess.run([program, str(file)], capture_output=True, text=True)
            if done.returncode:
                raise Failure(f"{program}: {done.stderr.strip()}")
        try:
            yield
        finally:
            subprocess.run(["swapoff", str(file)], check=True)
    finally:
        file.unlink(missing_ok=True)


@contextlib.contextmanager
def capped(limit: int) -> Iterator[pathlib.Path]:
    """The file that takes the numbers of processes."""
    root = hierarchy()
    assert root is not None
    (root / "cgroup.subtree_control").write_text("+memory")
    group = root / f"sialx-memory-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.max").write_text(str(limit))
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def measure_swap(runner: Runner, job: Job, share: int, spilled: dict[str, Any], repeat: int) -> dict[str, Any]:
    """`spilled`: what measure_caps() found. The process may have beside the cap what it has beside the blocks when memory is ample."""
    reason = reason_against()
    if reason:
        return {"skipped": reason}
    rows = {row["cap"]: row for row in spilled["rows"]}
    need, ample = spilled["need"], rows[0]
    limit = need * share // 100 + max(0, round(ample["peak"]) - need)
    arguments = [*job.write(runner.folder), "--memory", AMPLE]
    try:
        with swap_file(runner.spill, 2 * need + (256 << 20)), capped(limit) as processes:
            runs = [runner.run(arguments, ["sh", "-c", JOIN, str(processes)]) for _ in range(repeat)]
    except (Failure, OSError) as failure:
        return {"skipped": str(failure)}
    result: dict[str, Any] = {"share": share, "limit": limit, "bar": BAR, "wall": statistics.median(r.wall for r in runs), "cpu": statistics.median(r.cpu for r in runs),
                              "peak": statistics.median(r.peak for r in runs), "difference": difference(job, runs, runner.run(arguments))}
    if result["difference"] <= TOLERANCE and "wall" in rows.get(share, {}):
        result["ratio"] = result["wall"] / rows[share]["wall"]
    return result
