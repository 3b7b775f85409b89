#!/usr/bin/env python3
"""No block copy of the examples is left without a reason: every line and array at which a run at -O2 copies blocks has a missed
remark there that says why, with its cost and what to change, and one remark only.

    run_copies.py --bin DIR
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ROOT, expect

JOBS = ("04_rhf/job.toml", "05_mp2/job.toml", "06_uhf/job.toml", "09_ccsd/job_sto3g.toml", "11_ccsd_t/job_sto3g.toml", "12_lambda/job_sto3g.toml")


def check(binaries, job, work):
    out = work / job.replace("/", "_")
    folder = ROOT / "examples" / pathlib.Path(job).parent
    subprocess.run([binaries / "sialrun", "-O2", folder.parent / job, "--simulate", "ranks=2,seed=1,ranks-per-node=1", "--results", "none", "--run-json", "run.json",
                    "--output-dir", out], check=True, timeout=300, stdout=subprocess.DEVNULL)
    copied = 0
    for program in tomllib.loads((folder.parent / job).read_text())["programs"]:
        module = work / "program.siox"
        subprocess.run([binaries / "sialc", "-O2", (folder / program).resolve(), "-o", module], cwd=folder, check=True, timeout=60, stderr=subprocess.DEVNULL)
        report = json.loads(subprocess.run([binaries / "sialreport", module, out / "run.json", "--format=json"], cwd=folder, check=True, timeout=60, capture_output=True).stdout)
        for row in report["run"]["block_copies"]:
            if row["copied"] == 0:
                continue
            copied += 1
            place = f"{job}: {row['file']}:{row['line']}: {row['copied']} copies of `{row['array']}`"
            reasons = [r for r in report["remarks"] if r["kind"] == "missed" and pathlib.Path(r["file"]).name == pathlib.Path(row["file"]).name
                       and r["line"] == row["line"] and r["array"] == row["array"]]
            expect(len(reasons) == 1, f"{place} have {len(reasons)} reasons: {[r['name'] for r in reasons]}")
            expect(reasons[0]["advice"], f"{place}: `{reasons[0]['name']}` does not say what to change")
            expect(reasons[0]["total_bytes"], f"{place}: `{reasons[0]['name']}` does not say what it costs")
        for r in report["remarks"]:
            expect(r["kind"] != "missed" or r["advice"], f"{job}: {r['file']}:{r['line']}: `{r['name']}` does not say what to change")
    return copied


def main():
    binaries = BIN
    with tempfile.TemporaryDirectory() as work:
        counts = {job: check(binaries, job, pathlib.Path(work)) for job in JOBS}
    expect(counts["09_ccsd/job_sto3g.toml"] > 0, "no copy was counted at all")
    print("reasons for all copies:", ", ".join(f"{job} {n} places" for job, n in counts.items()))


if __name__ == "__main__":
    main()
