"""The jobs of the memory benchmarks, their dry runs, and one measured run of them."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
EXAMPLES = ROOT / "examples"
ENV = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
COUPLED_CLUSTER = ("04_rhf/rhf.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx", "11_ccsd_t/ccsd_t.sialx")
AMPLE = "6GB"  # of memory: what no job here needs
UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZE = r"([\d.]+) ([kMGT]?B)"


class Failure(Exception):
    pass


@dataclass(frozen=True)
class Job:
    """Energies by these scalars; segments are fixed, so that all runs do the same operations."""
    name: str
    programs: tuple[str, ...]
    molecule: str
    basis: str
    segments: str
    energies: tuple[str, ...]
    values: tuple[str, ...] = ("cc_conv=1e-8", "keep_quartets=1")

    def write(self, folder: pathlib.Path) -> list[str]:
        programs = json.dumps([str(EXAMPLES / p) for p in self.programs])
        values = "[values]\n" * bool(self.values) + "".join(v.replace("=", " = ") + "\n" for v in self.values)
        file = folder / "job.toml"
        file.write_text(f'programs = {programs}\n[molecule]\nxyz = "{EXAMPLES}/molecules/{self.molecule}"\nbasis = "{self.basis}"\n{values}')
        return [str(file), "--segments", self.segments]


# With small virtual segments one work item of (T), 16 blocks of six indices, fits into a quarter of the memory.
DIMER = Job("water dimer aug-cc-pVDZ", COUPLED_CLUSTER, "water-dimer.xyz", "aug-cc-pvdz", "ao_target=20,occ_target=5,virt_target=15", ("scf_energy", "ccsd_energy", "total_energy"))
BENZENE = Job("benzene 6-31G*", COUPLED_CLUSTER, "benzene.xyz", "6-31g*", "ao_target=20,occ_target=5,virt_target=14", ("scf_energy", "ccsd_energy", "total_energy"))
TINY = Job("water cc-pVDZ", COUPLED_CLUSTER[:3], "water.xyz", "cc-pvdz", "ao_target=8,occ_target=5,virt_target=10", ("scf_energy", "ccsd_energy"))


@dataclass
class Measured:
    """One run: seconds from its start to its end and of the processor, the largest resident memory in bytes, and what it said."""
    wall: float
    cpu: float
    peak: int
    major_faults: int  # page faults that waited for a disk
    read: int  # bytes from disks, also by page faults
    out: str
    total: dict[str, Any] = field(default_factory=dict)
    programs: list[dict[str, Any]] = field(default_factory=list)

    def value(self, name: str) -> float:
        return float(re.findall(rf"\b{name} *= *(\S+)", self.out)[-1])


def number_of_bytes(number: str, unit: str) -> int:
    return round(float(number) * UNITS[unit])


class Runner:
    """Runs sialrun in a folder of its own; spilled blocks go to the directory `spill`."""

    def __init__(self, binaries: pathlib.Path, spill: pathlib.Path):
        self.binaries, self.spill = binaries.resolve(), spill.resolve()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sialx-memory-"))

    def close(self) -> None:
        shutil.rmtree(self.folder)

    def run(self, arguments: Sequence[object], launcher: Sequence[str] = ()) -> Measured:
        """`launcher`: a command that becomes sialrun."""
        stats, out, err = (self.folder / name for name in ("run.json", "out.txt", "err.txt"))
        stats.unlink(missing_ok=True)
        command = [*launcher, str(self.binaries / "sialrun"), *map(str, arguments), "--results", "none", "--output-dir", str(self.folder), "--run-json", "run.json"]
        begin = time.perf_counter()
        with open(out, "w") as to, open(err, "w") as errors:
            process = subprocess.Popen(command, cwd=self.folder, env=ENV, stdin=subprocess.DEVNULL, stdout=to, stderr=errors)
            _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise Failure(f"{' '.join(command)}: exit code {process.returncode}\n{err.read_text()[-1500:]}")
        report = json.loads(stats.read_text())
        return Measured(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, used.ru_majflt, used.ru_inblock * 512, out.read_text(), report["total"], report.get("programs", []))

    def errors(self) -> str:
        """What the last run wrote to its standard error."""
        return (self.folder / "err.txt").read_text()

    def dry_run(self, arguments: Sequence[object]) -> str:
        """Its text, also where it says that the job does not fit."""
        command = [str(self.binaries / "sialrun"), "--dry-run", *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise Failure(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-1500:]}")
        return done.stdout

    def need(self, arguments: Sequence[object]) -> int:
        """Bytes that the dry run says the job uses."""
        found = re.search(rf"^fits: {SIZE} of ", self.dry_run([*arguments, "--memory", AMPLE]), re.M)
        if not found:
            raise Failure(f"the dry run names no memory that {arguments} needs")
        return number_of_bytes(*found.groups())


def predicted(text: str) -> dict[str, int]:
    """What a dry run with --spill says: bytes written and read, and those of the offline optimum. Empty where it says nothing."""
    found: dict[str, int] = {}
    for name, pattern in (("written", f"{SIZE} written"), ("read", f"{SIZE} read"), ("optimum", f"offline optimum {SIZE}"), ("bound", f"less than {SIZE}"), ("needs", f"needs --memory {SIZE.replace(' ', ' ?')}")):
        matches = re.findall(pattern, text)
        if matches:
            found[name] = number_of_bytes(*matches[-1])
    arrays = re.findall(rf"^  \S.*? +(\d+) +{SIZE} +{SIZE} +(\d+) +{SIZE}$", text, re.M)  # array, writes, written, in vain, reads, read
    if arrays:
        found["reads"] = sum(int(row[5]) for row in arrays)
    return found
