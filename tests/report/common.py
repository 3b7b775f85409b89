"""What the tests of the report share: a module with known remarks, runs of it, and the tools."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import expect

HERE = pathlib.Path(__file__).resolve().parent
EXTENTS = (4, 3, 2)
StrPath = str | os.PathLike[str]


class Tools:
    def __init__(self, bin_dir: StrPath, work: StrPath) -> None:
        self.bin, self.work = pathlib.Path(bin_dir).resolve(), pathlib.Path(work)
        self.source = self.work / "remarked.sialx"
        self.source.write_text((HERE / "remarked.sialx").read_text())
        self.module = self.work / "remarked.siox"
        subprocess.run([self.bin / "make_remarked", self.source, self.module], check=True)

    def run(self, name: str, *flags: StrPath, program: StrPath | None = None) -> pathlib.Path:
        """Runs the program and returns the path of its run.json."""
        program = program or self.module
        subprocess.run([self.bin / "sialrun", program, "--set", "norb=3", "--segments", "ao=" + ",".join(map(str, EXTENTS)), "--results", "none",
                        "--run-json", name, "--output-dir", self.work, *flags], check=True, timeout=120, stdout=subprocess.DEVNULL)
        return self.work / name

    def report(self, *arguments: StrPath) -> str:
        done = subprocess.run([self.bin / "sialreport", *arguments], capture_output=True, timeout=60)
        expect(done.returncode == 0, f"sialreport {arguments}: exit code {done.returncode}: {done.stderr.decode()}")
        return done.stdout.decode()

    def refused(self, code: int, message: str, *arguments: StrPath) -> None:
        done = subprocess.run([self.bin / "sialreport", *arguments], capture_output=True, text=True, timeout=60)
        expect(done.returncode == code and message in done.stderr and not done.stdout,
               f"sialreport {[str(a) for a in arguments]}: exit code {done.returncode}, not {code} with `{message}`: {done.stdout[:200]}{done.stderr}")


def edited(path: pathlib.Path, new: pathlib.Path, change: Callable[[Any], object]) -> pathlib.Path:
    """A copy of a JSON file with something changed."""
    j = json.loads(path.read_text())
    change(j)
    new.write_text(json.dumps(j))
    return new
