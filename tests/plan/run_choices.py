#!/usr/bin/env python3
"""A dry run and the run itself choose the same segments, and predict the same time.

    run_choices.py --bin DIR
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py

from harness import BIN, ENV, EXAMPLES
from slow_processor import slow_processor

RHF, MP2, TRAN, CCSD = (str(EXAMPLES / path) for path in ("04_rhf/rhf.sialx", "05_mp2/mp2.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx"))
# Name, programs, basis, job whose results it restores from, more arguments.
JOBS = [
    ("rhf", [RHF], "6-31g*", None, []),
    ("chain", [RHF, TRAN, CCSD], "6-31g*", None, []),
    ("little_memory", [RHF, TRAN, CCSD], "6-31g*", None, ["--memory", "3MB"]),
    ("blas", [RHF, TRAN, CCSD], "6-31g*", None, ["--kernels", "blas"]),
    ("occ_stated", [RHF, TRAN, CCSD], "6-31g*", None, ["--segments", "occ=2,3"]),
    ("open_shell", [str(EXAMPLES / "06_uhf/uhf.sialx")], "6-31g*", None, []),
    ("restored", [MP2], "6-31g*", "rhf", []),
    ("restored_occ_stated", [MP2], "6-31g*", "rhf", ["--segments", "occ=5"]),
]
LAYOUTS = [(1, []), (2, []), (2, ["--ranks-per-node", "1"])]


def seconds_of(text):
    """Of the line of a dry run: what it adds up to, with two digits."""
    found = re.search(r"^predicted time: ([\d.]+) (s|min|h)", text, re.M)
    return float(found[1]) * {"s": 1, "min": 60, "h": 3600}[found[2]] if found else None


def compare(binary, folder, env, job, ranks, layout):
    name, programs, basis, earlier, more = job
    where = folder / f"{name}-{ranks}{'-nodes' if layout else ''}"
    where.mkdir()
    restore = f'[restore]\nfile = "{folder}/{earlier}-1/results.h5"\n' if earlier else ""
    charge = "charge = 1\nmultiplicity = 2\n" if name == "open_shell" else ""
    (where / "job.toml").write_text(f'programs = {json.dumps(programs)}\n[molecule]\nxyz = "{EXAMPLES}/molecules/water.xyz"\nbasis = "{basis}"\n{charge}{restore}')
    command = [binary, "job.toml", *more, *layout]
    dry = subprocess.run([*command, "--dry-run", "--ranks", str(ranks)], cwd=where, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
    prefix = ["mpirun", "-n", str(ranks), "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"] if ranks > 1 else []
    run = subprocess.run([*prefix, *command], cwd=where, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
    assert dry.returncode == 0 and run.returncode == 0, f"{where.name}: {dry.stdout}{dry.stderr}{run.stderr}"
    lines, wanted = ([line for line in done.stderr.splitlines() if line.startswith("segments ")] for done in (run, dry))
    assert lines == wanted and lines, f"{where.name}: the run chose\n{lines}\nand the dry run\n{wanted}"
    predicted, wanted = sum(p["predicted_seconds"] for p in json.loads((where / "run.json").read_text())["programs"]), seconds_of(dry.stdout)
    assert abs(predicted - wanted) <= 0.06 * wanted, f"{where.name}: the run predicted {predicted} s, and the dry run {wanted} s"
    with h5py.File(where / "results.h5") as results:
        return lines, {kind: data[()].tolist() for kind, data in results["segments"].items()}


def main():
    binary = BIN / "sialrun"
    with tempfile.TemporaryDirectory(prefix="sialx-choices-") as name:
        folder = pathlib.Path(name)
        env = {**ENV, **slow_processor(binary, folder / "cache")}
        chosen = {}
        for job in JOBS:
            for ranks, layout in LAYOUTS:
                lines, segments = chosen[job[0], ranks, len(layout)] = compare(binary, folder, env, job, ranks, layout)
                if job[3]:
                    assert "those of `" in lines[0] and segments == chosen[job[3], 1, 0][1], f"{job[0]} on {ranks}: {lines}, {segments}"
        searched = [key for key, (lines, _) in chosen.items() if "for the least predicted time" in "".join(lines)]
        assert ("chain", 1, 0) in searched and ("chain", 2, 0) in searched, f"only {searched} were searched for"
        assert chosen["chain", 1, 0][1] != chosen["chain", 2, 0][1], "one and two ranks have the same segments"
        print(f"{len(chosen)} choices are the same, {len(searched)} of them searched for")


if __name__ == "__main__":
    main()
