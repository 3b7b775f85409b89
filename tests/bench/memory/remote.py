"""Two computing ranks, each a node of its own, and one whose memory they borrow (`--spill nodes`): time on the simulator's clock. Loads of the machine do not change it; kernels take the time that the
simulator charges for their operations, and super instructions, integrals among them, take none."""
from __future__ import annotations

from typing import Any

from jobs import AMPLE, Failure, Job, Runner
from table import amount, show

BARS = {75: 1.05, 50: 1.10, 25: 1.20}
TOLERANCE = 1e-9  # of energies
NETWORK = "latency=10us,bandwidth=7GB/s"
RANKS = ("--simulate", "ranks=2,ranks-per-node=1,servers=1,disorder=0", "--simulate-network", NETWORK, "--homes", "workers", "--server-memory", AMPLE)  # where arrays live, also without --spill
COUNTERS = ("tier_bytes_written", "tier_bytes_read", "tier_reads", "tier_demand_reads", "tier_prefetches_useful", "tier_prefetches_late", "tier_prefetches_useless", "tier_wait_time", "fetch_wait_time")


def measure_remote(runner: Runner, job: Job, shares: list[int]) -> dict[str, Any]:
    """Rows by share of the memory that the dry run says each rank uses; 0 is the run with enough."""
    arguments = [*job.write(runner.folder), "--keep-integrals", "off"]
    need = runner.need([*arguments, "--ranks", "2", "--ranks-per-node", "1"])
    wanted = runner.run([*arguments, *RANKS, "--memory", AMPLE])
    rows: list[dict[str, Any]] = [{"share": 0, "seconds": wanted.total["wall_time"], "fetch_wait_time": wanted.total["fetch_wait_time"]}]
    for share in shares:
        limit = need * share // 100
        try:
            run = runner.run([*arguments, *RANKS, "--memory", f"{limit}B", "--spill", "nodes"])
        except Failure as failure:
            rows.append({"share": share, "limit": limit, "failed": str(failure)})
            continue
        row = {"share": share, "limit": limit, "bar": BARS.get(share), "seconds": run.total["wall_time"], **{name: run.total[name] for name in COUNTERS}}
        row["difference"] = max(abs(run.value(name) - wanted.value(name)) for name in job.energies)
        if row["difference"] <= TOLERANCE:  # else a ratio means nothing
            row["ratio"] = row["seconds"] / rows[0]["seconds"]
        rows.append(row)
    return {"job": job.name, "need": need, "network": NETWORK, "rows": rows}


def print_remote(result: dict[str, Any]) -> None:
    print(f"\nmemory of other nodes: {result['job']}, two ranks and a memory node, {result['network']}; the dry run says {amount(result['need'])} for each rank; simulated time")
    cells = [["memory", "s", "ratio", "bar", "written", "read", "reads", "demand reads", "useful", "late", "useless", "tier waits s", "get waits s"]]
    for row in result["rows"]:
        if "failed" in row:
            cells.append([f"{row['share']} %", "failed"])
        elif row["share"] == 0:
            cells.append(["enough", f"{row['seconds']:.3f}", *[""] * 9, f"{row['fetch_wait_time']:.3f}"])
        else:
            ratio = f"{row['ratio']:.3f}" if "ratio" in row else f"energies differ by {row['difference']:.1e}"
            cells.append([f"{row['share']} %", f"{row['seconds']:.3f}", ratio, f"{row['bar']:.2f}" if row["bar"] else "", amount(row["tier_bytes_written"]), amount(row["tier_bytes_read"]),
                          *(f"{row[name]:.0f}" for name in COUNTERS[2:7]), f"{row['tier_wait_time']:.3f}", f"{row['fetch_wait_time']:.3f}"])
    show(cells)
    for row in result["rows"]:
        if "failed" in row:
            print(f"{row['share']} %: {row['failed']}")
