"""Jobs whose heaps are recorded, and what bench_heap says about one allocator."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
ENV = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
UNAVAILABLE = 77
SCF = ("04_rhf/rhf.sialx",)
CCSD = (*SCF, "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx")
TRIPLES = (*CCSD, "11_ccsd_t/ccsd_t.sialx")
EOM = (*CCSD, "12_lambda/hbar.sialx", "13_eom/eom.sialx")


class Failure(Exception):
    pass


@dataclass(frozen=True)
class Job:
    """Runs in `memory` per rank; `ranks` above 1 under MPI, `batch`: one line for each of these segments."""
    name: str
    about: str
    programs: tuple[str, ...]
    molecule: str
    basis: str
    segments: tuple[str, ...]
    values: tuple[str, ...] = ("cc_conv = 1e-7",)
    ranks: int = 1
    memory: str = "2GB"

    def write(self, folder: pathlib.Path) -> list[str]:
        programs = json.dumps([str(EXAMPLES / p) for p in self.programs])
        (folder / "job.toml").write_text(f'programs = {programs}\n[molecule]\nxyz = "{EXAMPLES}/molecules/{self.molecule}"\nbasis = "{self.basis}"\n[values]\n' + "".join(v + "\n" for v in self.values))
        if len(self.segments) == 1:
            return [str(folder / "job.toml"), "--segments", self.segments[0], "--memory", self.memory]
        lines = [f"{folder}/job.toml --segments {s} --name job{i}" for i, s in enumerate(self.segments)]
        (folder / "batch").write_text("\n".join(lines) + "\n")
        return ["--batch", str(folder / "batch"), "--memory", self.memory, "--transport", "mpi"]


WATER = "ao_target=8,occ_target={},virt_target={}"
JOBS = (
    Job("rhf", "RHF of the water dimer, aug-cc-pVDZ", SCF, "water-dimer.xyz", "aug-cc-pvdz", ("ao_target=10",)),
    Job("ccsd", "CCSD of the water dimer, cc-pVDZ", CCSD, "water-dimer.xyz", "cc-pvdz", ("ao_target=12,occ_target=4,virt_target=9",)),
    Job("ccsd_t", "CCSD(T) of the water dimer, cc-pVDZ", TRIPLES, "water-dimer.xyz", "cc-pvdz", ("ao_target=20,occ_target=5,virt_target=14",)),
    Job("eom", "EOM-CCSD of water, cc-pVDZ", EOM, "water.xyz", "cc-pvdz", ("ao_target=8,occ_target=3,virt_target=7",), ("cc_conv = 1e-7", "eom_roots = 3")),
    Job("batch", "six CCSD jobs with other segments each, one after the other", CCSD, "water.xyz", "cc-pvdz", tuple(WATER.format(o, v) for o, v in ((2, 5), (3, 6), (5, 7), (2, 9), (3, 10), (5, 19)))),
    Job("remote", "CCSD of the water dimer on two ranks of a node", CCSD, "water-dimer.xyz", "cc-pvdz", ("ao_target=12,occ_target=4,virt_target=9",), ranks=2),
)
TINY = Job("tiny", "RHF of water, cc-pVDZ", SCF, "water.xyz", "cc-pvdz", ("ao_target=6",), ())


class Runner:
    def __init__(self, binaries: pathlib.Path):
        self.binaries = binaries.resolve()

    def record(self, job: Job, trace: pathlib.Path) -> dict[str, Any]:
        """Records FILE.RANK; what run.json says, nothing for a batch."""
        with tempfile.TemporaryDirectory(prefix="sialx-heap-") as name:
            folder = pathlib.Path(name)
            start = ["mpirun", "-n", str(job.ranks)] if job.ranks > 1 else []
            command = [*start, str(self.binaries / "sialrun"), *job.write(folder), "--results", "none", "--run-json", "run.json", "--output-dir", name, "--record-heap", str(trace.resolve())]
            done = subprocess.run(command, cwd=folder, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if done.returncode:
                raise Failure(f"{job.name}: exit code {done.returncode}\n{done.stdout[-500:]}\n{done.stderr[-1000:]}")
            result: dict[str, Any] = json.loads((folder / "run.json").read_text()) if len(job.segments) == 1 else {}
            return result

    def bench(self, *words: str) -> dict[str, Any] | None:
        """One measurement; None: the allocator cannot be had."""
        done = subprocess.run([str(self.binaries / "bench_heap"), *words], env=ENV, capture_output=True, text=True)
        if done.returncode == UNAVAILABLE:
            return None
        if done.returncode:
            raise Failure(f"bench_heap {' '.join(words)}: {done.stderr.strip()}")
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def allocators(self) -> list[dict[str, Any]]:
        done = subprocess.run([str(self.binaries / "bench_heap"), "--list"], env=ENV, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def why_unavailable(self, name: str) -> str:
        done = subprocess.run([str(self.binaries / "bench_heap"), "--mix", "1", "--allocator", name, "--pass", "check"], env=ENV, capture_output=True, text=True)
        return done.stderr.strip() if done.returncode == UNAVAILABLE else ""
