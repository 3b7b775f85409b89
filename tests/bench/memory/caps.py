"""Jobs with less memory than they use, in turns with the same job with enough; and what --spill costs a job that never needs it."""
from __future__ import annotations

import statistics
from typing import Any

from jobs import AMPLE, Failure, Job, Measured, Runner, predicted
from table import amount, show

BARS = {100: 1.00, 75: 1.05, 50: 1.10, 25: 1.20}
TOLERANCE = 1e-9  # of energies
COUNTERS = ["tier_bytes_written", "tier_bytes_read", "tier_reads", "tier_demand_reads", "tier_prefetches", "tier_prefetches_useful", "tier_prefetches_late",
            "tier_prefetches_useless", "tier_dropped_clean", "tier_wait_time", "tier_bookkeeping_time", "tier_bytes_high_water", "buffer_bytes_high_water"]


def summary(runs: list[Measured]) -> dict[str, Any]:
    """Medians of the rounds."""
    row: dict[str, Any] = {name: statistics.median(getattr(r, name) for r in runs) for name in ("wall", "cpu", "peak")}
    for name in COUNTERS:
        row[name] = statistics.median(r.total.get(name, 0) for r in runs)
    row["waiting_reads"] = row["tier_demand_reads"] + row["tier_prefetches_late"]
    row["mean_wait"] = row["tier_wait_time"] / row["waiting_reads"] if row["waiting_reads"] else 0.0
    row["wait_share"] = row["tier_wait_time"] / row["wall"]
    row["bookkeeping_share"] = row["tier_bookkeeping_time"] / row["wall"]
    return row


def difference(job: Job, runs: list[Measured], wanted: Measured) -> float:
    return max(abs(r.value(name) - wanted.value(name)) for r in runs for name in job.energies)


def measure_caps(runner: Runner, job: Job, caps: list[int], repeat: int) -> dict[str, Any]:
    """Rows by cap in percent of the need; 0 is the run with enough memory and without --spill."""
    arguments = job.write(runner.folder)
    need = runner.need(arguments)
    runs: dict[int, list[Measured]] = {cap: [] for cap in [0, *caps]}
    limits = {cap: ["--memory", f"{need * cap // 100}B", "--spill", str(runner.spill)] if cap else ["--memory", AMPLE] for cap in runs}
    failed: dict[int, str] = {}
    for _ in range(repeat):
        for cap, rounds in runs.items():
            if cap in failed:
                continue
            try:
                rounds.append(runner.run([*arguments, *limits[cap]]))
            except Failure as failure:
                if not cap:
                    raise
                failed[cap] = str(failure)
    base = summary(runs[0])
    rows = [dict(base, cap=0, difference=difference(job, runs[0], runs[0][0]))]
    for cap in caps:
        if cap in failed:
            rows.append({"cap": cap, "failed": failed[cap]})
            continue
        row = summary(runs[cap])
        row |= {"cap": cap, "limit": need * cap // 100, "bar": BARS.get(cap), "difference": difference(job, runs[cap], runs[0][0])}
        row["predicted"] = predicted(runner.dry_run([*arguments, *limits[cap]]))
        if row["difference"] <= TOLERANCE:  # else a ratio means nothing
            row["wall_ratio"] = statistics.median(a.wall / b.wall for a, b in zip(runs[cap], runs[0], strict=True))
            row["cpu_ratio"] = statistics.median(a.cpu / b.cpu for a, b in zip(runs[cap], runs[0], strict=True))
        rows.append(row)
    return {"job": job.name, "segments": job.segments, "values": list(job.values), "need": need, "repeat": repeat, "rows": rows, "predictions": predictions(runner, arguments, need, min(caps))}


def predictions(runner: Runner, arguments: list[str], need: int, least: int) -> list[dict[str, int]]:
    """What the dry run says of memories in steps of 5 %, where the job fits into them."""
    rows = []
    for cap in range(100, least - 1, -5):
        said = predicted(runner.dry_run([*arguments, "--memory", f"{need * cap // 100}B", "--spill", str(runner.spill)]))
        if "written" in said:
            rows.append({"cap": cap, **{name: said.get(name, 0) for name in ("written", "read", "reads", "optimum")}})
    return rows


def moved_ratio(row: dict[str, Any], of: str) -> str:
    """Bytes moved to and from the tier, as a share of those of the dry run."""
    moved = row["tier_bytes_written"] + row["tier_bytes_read"]
    said = row["predicted"]
    wanted = said.get("optimum", 0) if of == "optimum" else said.get("written", 0) + said.get("read", 0)
    return f"{moved / wanted:.2f}" if wanted and moved else "-"


def print_caps(result: dict[str, Any]) -> None:
    print(f"\n{result['job']}, segments {result['segments']}, {', '.join(result['values'])}: the dry run says {amount(result['need'])}; medians of {result['repeat']}, in turns")
    cells = [["memory", "wall s", "cpu s", "wall ratio", "bar", "cpu ratio", "written", "read", "/predicted", "/optimum", "demand reads", "wait ms", "waits %", "bookkeeping %",
              "prefetched", "useful", "late", "useless", "VmHWM"]]
    for row in result["rows"]:
        if "failed" in row:
            cells.append([f"{row['cap']} %", "failed"])
            continue
        line = [f"{row['cap']} %" if row["cap"] else "enough", f"{row['wall']:.2f}", f"{row['cpu']:.2f}"]
        if row["cap"]:
            line += [f"{row['wall_ratio']:.3f}", f"{row['bar'] or 0:.2f}", f"{row['cpu_ratio']:.3f}"] if "wall_ratio" in row else ["energies", "differ", f"{row['difference']:.1e}"]
            line += [amount(row["tier_bytes_written"]), amount(row["tier_bytes_read"]), moved_ratio(row, "predicted"), moved_ratio(row, "optimum"), f"{row['tier_demand_reads']:.0f}",
                     f"{1e3 * row['mean_wait']:.2f}", f"{100 * row['wait_share']:.1f}", f"{100 * row['bookkeeping_share']:.1f}"]
            line += [f"{row[name]:.0f}" for name in ("tier_prefetches", "tier_prefetches_useful", "tier_prefetches_late", "tier_prefetches_useless")]
        else:
            line += [""] * 15
        cells.append([*line, amount(row["peak"])])
    show(cells)
    for row in result["rows"]:
        if "failed" in row:
            print(f"{row['cap']} %: {row['failed']}")


def measure_overhead(runner: Runner, job: Job, repeat: int) -> dict[str, Any]:
    """Processor time of a job that fits, with --spill over without, in turns."""
    arguments = [*job.write(runner.folder), "--memory", AMPLE]
    pairs = []
    for n in range(repeat):
        order = [False, True] if n % 2 == 0 else [True, False]
        pair = {spill: runner.run([*arguments, *(["--spill", runner.spill] if spill else [])]) for spill in order}
        if difference(job, [pair[True]], pair[False]) > TOLERANCE or pair[True].total.get("tier_writes", 0):
            raise Failure(f"{job.name}: --spill changed the result of a job that fits, or moved blocks")
        pairs.append(pair)
    cpu = {spill: statistics.median(p[spill].cpu for p in pairs) for spill in (False, True)}
    return {"job": job.name, "repeat": repeat, "cpu_without": cpu[False], "cpu_with": cpu[True], "ratio": statistics.median(p[True].cpu / p[False].cpu for p in pairs),
            "ratios": [p[True].cpu / p[False].cpu for p in pairs], "bar": 1.01}


def measure_order(runner: Runner, job: Job, share: int) -> dict[str, Any]:
    """Bytes that the four-index transformation moves in a part of its memory, in the chosen order of pardos and as written."""
    transformation = Job(job.name, job.programs[:2], job.molecule, job.basis, job.segments, job.energies[:1], ())
    arguments = transformation.write(runner.folder)
    need = runner.need(arguments)
    moved = {}
    for order in ("written", "auto"):
        total = runner.run([*arguments, "--memory", f"{need * share // 100}B", "--spill", runner.spill, "--pardo-order", order]).total
        moved[order] = total["tier_bytes_written"] + total["tier_bytes_read"]
    return {"job": job.name, "share": share, "need": need, "written": moved["written"], "auto": moved["auto"], "ratio": moved["auto"] / moved["written"] if moved["written"] else None,
            "bar": 0.5}

