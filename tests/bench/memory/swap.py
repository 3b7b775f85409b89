"""One job in a memory cgroup of one cap, moved by three: by sialrun (--spill), by the kernel to swap, and by the kernel to a mapped file."""
from __future__ import annotations

import contextlib
import pathlib
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import cgroups
import file_heap
from caps import TOLERANCE, difference
from jobs import Failure, Job, Measured, Runner
from table import amount, show

BAR = 3.0  # times as long as with --spill, at 25 %
BESIDE = 100_000_000  # of the cap: what a process may have beside its blocks
PATIENCE = 8  # times as long as with --spill, and 10 s, before a run is ended
SPILL, SWAP, FILE = "--spill", "kernel's swap", "file-backed heap"
WITHOUT = ", --keep-integrals off"


@dataclass
class Way:
    """Of moving blocks: `arguments` of sialrun. Those of the kernel are tried with and without kept integrals; the slower ones end after a round."""
    name: str
    arguments: list[str]
    swap: bool = False
    file: bool = False
    runs: list[Measured] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)  # bytes written to swap, by run
    failed: str = ""
    ended: float = 0  # seconds after which it was ended, where it was

    def wall(self) -> float:
        return statistics.median(r.wall for r in self.runs)


def enough(need: int) -> list[str]:
    """The dry run rounds."""
    return ["--memory", f"{need * 5 // 4}B"]


def ways(need: int, share: int, spill: pathlib.Path) -> list[Way]:
    alone = enough(need)
    return [Way(SPILL, ["--memory", f"{need * share // 100}B", "--spill", str(spill)]),
            *(Way(name + suffix, [*alone, *keep], swap=name == SWAP, file=name == FILE)
              for name in (SWAP, FILE) for suffix, keep in (("", []), (WITHOUT, ["--keep-integrals", "off"])))]


def run_once(runner: Runner, job: list[str], way: Way, limit: int, swap_size: int, library: pathlib.Path | None, file_size: int, seconds: float) -> None:
    begin = time.monotonic()
    try:
        with contextlib.ExitStack() as stack:
            if way.swap:
                stack.enter_context(cgroups.swap_file(runner.spill, swap_size))
            enter = stack.enter_context(cgroups.capped(limit, way.swap))
            launcher = [*enter, "timeout", "-k", "5", str(seconds)]
            if way.file:
                assert library
                launcher += file_heap.launcher(library, runner.spill, file_size)
            before = cgroups.swapped_out()
            run = runner.run([*job, *way.arguments], launcher)
            if way.file and runner.errors().count(file_heap.FOUND) != 1:
                raise Failure("the memory of blocks was not found in the process")
            way.moved.append(cgroups.swapped_out() - before)
            way.runs.append(run)
    except (Failure, OSError) as failure:
        text = str(failure)
        if time.monotonic() - begin >= seconds:
            way.failed, way.ended = f"not done after {seconds:.0f} s", seconds
        else:
            way.failed = "ended by the kernel: it needs more than the cap" if "exit code 137" in text else text
    print(f"  {way.name}: " + (way.failed or f"{way.runs[-1].wall:.2f} s"), flush=True)


def faster(one: list[Way]) -> Way:
    """Of the ways that went well; if none did, the first."""
    return min(one, key=lambda w: w.wall() if w.runs and not w.failed else float("inf"))


def measure_swap(runner: Runner, job: Job, share: int, repeat: int, beside: int = BESIDE) -> dict[str, Any]:
    """All in cgroups of the same limit: `share` percent of the need, and `beside`."""
    found = cgroups.hierarchy()
    if isinstance(found, str):
        return {"skipped": found}
    arguments = job.write(runner.folder)
    need = runner.need(arguments)
    limit = need * share // 100 + beside
    all_ways = ways(need, share, runner.spill)
    library = None
    try:
        library = file_heap.build(runner.folder)
    except Failure as failure:
        for way in all_ways:
            way.failed = str(failure) if way.file else ""
    wanted = runner.run([*arguments, *enough(need)])
    ours = all_ways[0]
    print(f"\n{SWAP} and {FILE}: {job.name}, {share} % of {amount(need)}, all in memory cgroups (version {found[0]}) of {amount(limit)}; in turns", flush=True)
    for n in range(repeat):
        for way in all_ways:
            seconds = PATIENCE * (ours.wall() if ours.runs else wanted.wall) + 10
            rivals = [w for w in all_ways if (w.swap, w.file) == (way.swap, way.file)]
            if not way.failed and (n == 0 or way is faster(rivals)):
                run_once(runner, arguments, way, limit, 2 * need + (256 << 20), library, need, seconds)
    rows = []
    for way in all_ways:
        row: dict[str, Any] = {"name": way.name}
        if way.failed or not way.runs:
            row["skipped"] = way.failed or "not run"
            if way.ended and ours.runs:
                row["at_least"] = way.ended / ours.wall()
        else:
            row |= {name: statistics.median(getattr(r, name) for r in way.runs) for name in ("wall", "cpu", "peak", "major_faults", "read")}
            row |= {"repeat": len(way.runs), "swapped_out": statistics.median(way.moved), "difference": difference(job, way.runs, wanted)}
            if way is not ours and not ours.failed and row["difference"] <= TOLERANCE:  # else a ratio means nothing
                row["ratio"] = statistics.median(a.wall / b.wall for a, b in zip(way.runs, ours.runs, strict=False))
        rows.append(row)
    best = {}
    for name in (SWAP, FILE):
        same = [row for row in rows if row["name"] in (name, name + WITHOUT)]
        ratios = [(row.get("ratio", row.get("at_least")), "ratio" not in row) for row in same if "ratio" in row or "at_least" in row]
        if ratios:
            ratio, ended = min(ratios)
            best[name] = {"ratio": ratio, "at_least": ended}
    return {"job": job.name, "share": share, "need": need, "limit": limit, "cgroup": found[0], "bar": BAR, "rows": rows, "best": best}


def print_swap(result: dict[str, Any]) -> None:
    if "skipped" in result:
        print(f"\n{SWAP}: skipped: {result['skipped']}\n{FILE}: skipped: {result['skipped']}", flush=True)
        return
    cells = [["blocks are moved by", "wall s", "of --spill", "cpu s", "major faults", "read from the disk", "written to swap", "VmHWM", "runs"]]
    for row in result["rows"]:
        if "skipped" in row:
            continue
        cells.append([row["name"], f"{row['wall']:.2f}", f"{row['ratio']:.2f}" if "ratio" in row else "", f"{row['cpu']:.2f}", f"{row['major_faults']:.0f}", amount(row["read"]), amount(row["swapped_out"]),
                      amount(row["peak"]), str(row["repeat"])])
    show(cells)
    for row in result["rows"]:
        if "skipped" in row:
            print(f"{row['name']}: skipped: {row['skipped']}")
        elif row["difference"] > TOLERANCE:
            print(f"{row['name']}: energies differ by {row['difference']:.1e}")
    for name, best in result["best"].items():
        print(f"{name}: {'more than ' * best['at_least']}{best['ratio']:.2f} times as long as --spill (goal at least {result['bar']})", flush=True)
