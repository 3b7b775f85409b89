"""What the tests of spilled blocks share: a folder with a scratch directory in it, jobs whose blocks do not fit, and what such a job must leave."""
from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from faults import private_mounts, shm_files
from harness import mpirun
from in_folder import InFolder

__all__ = ["NO_FILES", "PROGRAMS", "SMALL", "SMALL_BYTES", "InScratch", "blocks", "private_mounts", "shm_files"]

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
NO_FILES = ("--results", "none")


def blocks(count: int, extent: int) -> list[str]:
    """Arguments for `count` times `count` blocks of `extent` times `extent` elements."""
    return ["--set", f"norb={count}", "--segments", "ao=" + ",".join([str(extent)] * count)]


# Of 20.5 MB, in 64 blocks of 320 kB: several times the memory that the tests give.
SMALL = blocks(8, 200)
SMALL_BYTES = 8 * 8 * 200 * 200 * 8


class InScratch(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.scratch = self.dir / "scratch"
        self.scratch.mkdir()

    def job(self, program: str, *args: object, ranks: int = 0, code: int = 0, **how: Any) -> tuple[str, str]:
        """Runs a program of this folder; what it printed and said."""
        got, out, err = self.run_tool("sialrun", PROGRAMS / program, *args, launcher=mpirun(ranks), **how)
        self.assertEqual(got, code, f"{out}{err}")
        return out, err

    def total(self, folder: str = ".") -> dict[str, Any]:
        """Counters of the run, over all ranks."""
        return json.loads((self.dir / folder / "run.json").read_text())["total"]

    def assert_nothing_left(self) -> None:
        self.assertEqual(self.names("scratch"), [])
