"""The programs that a wheel carries beside this package: what its commands `sialc`, `sialrun` and `sialreport` start."""

from __future__ import annotations

import os
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parent / "installed"  # only in a wheel


def bundled(name: str) -> Path | None:
    """The program of a wheel; None where this package is not from one."""
    program = TREE / "bin" / name
    return program if program.is_file() else None


def _become(name: str) -> None:
    program = bundled(name)
    if program is None:
        sys.exit(f"error: {name} is not part of this installation of the Python package\n  hint: build sialx and put the bin folder of the build on the PATH, or install its wheel")
    os.execv(program, [name, *sys.argv[1:]])


def sialc() -> None:
    _become("sialc")


def sialrun() -> None:
    _become("sialrun")


def sialreport() -> None:
    _become("sialreport")
