"""Jobs with arrays from HDF5 files, run in a folder of their own on several kinds of ranks."""
from __future__ import annotations

import pathlib
import subprocess
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

from harness import InFolder, sialrun

KINDS = ("ao", "mo", "moa", "mob", "la")
Worlds = list[tuple[int, tuple[str, ...]]]
ONE: Worlds = [(1, ())]
SHARED: Worlds = [*ONE, (2, ())]
WORLDS: Worlds = [*SHARED, (3, ("--ranks-per-node", "1")), (1, ("--simulate", "ranks=4,servers=2,seed=3")), (3, ("--servers", "1")),
          (2, ("--deterministic", "--check")), (1, ("-O0", "--store", "copy"))]


def copy_program(kind: str, indices: list[str], name: str = "given") -> str:
    """Every rank gets all blocks of `a`; the static array `s` of rank 0 is what results.h5 has."""
    get = {"distributed": "get", "served": "request", "static": ""}[kind]
    names = [d.split()[1] for d in indices]
    block = f"[{','.join(names)}]"
    loops, ends = "".join(f"do {n}\n" for n in names), "".join(f"enddo {n}\n" for n in reversed(names))
    return (f"sial {name}\n" + "".join(d + "\n" for d in indices) + f"predefined {kind} a{block}\nstatic s{block}\n"
            + f"{loops}{get and f'{get} a{block}'}\ns{block} = a{block}\n{ends}endsial {name}\n")


class ArrayJobs(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.toml = ""

    def write_array(self, data: Any, **options: Any) -> None:
        with h5py.File(self.dir / "data.h5", "w") as f:
            f.create_dataset("group/a", data=data, **options)

    def job(self, programs: list[str], segments: dict[str, list[int]], arrays: str = 'a = {file = "data.h5", dataset = "group/a"}') -> None:
        for i, text in enumerate(programs):
            (self.dir / f"p{i}.sialx").write_text(text)
        names = ", ".join(f'"p{i}.sialx"' for i in range(len(programs)))
        cuts = "".join(f"{k} = {v}\n" for k, v in segments.items())
        (self.dir / "job.toml").write_text(f"programs = [{names}]\n[segments]\n{cuts}[arrays]\n{arrays}\n")

    def job_on(self, ranks: int = 1, *more: str) -> subprocess.CompletedProcess[str]:
        return sialrun("job.toml", *more, ranks=ranks, code=None, cwd=self.dir)

    def run_ok(self, ranks: int = 1, *more: str) -> str:
        done = self.job_on(ranks, *more)
        self.assertEqual(done.returncode, 0, f"{more} {done.stdout}\n{done.stderr}")
        return done.stdout

    def static(self, name: str) -> Any:
        with h5py.File(self.dir / "results.h5") as f:
            return f[f"statics/{name}"][()]

    def compare(self, expected: Any, worlds: Worlds, what: object) -> None:
        """`expected` as HDF5 has it: the statics of results.h5 are in the same order."""
        for ranks, more in worlds:
            self.run_ok(ranks, *more)
            np.testing.assert_array_equal(self.static("s"), np.asarray(expected, dtype=float), f"{what} on {ranks} {more}")
