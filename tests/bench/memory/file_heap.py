"""The shared object that puts the memory of blocks into a mapped file, see file_heap.c."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

from jobs import HERE, Failure

FOUND = "file heap: "  # how the line begins that a run with it prints


def build(folder: pathlib.Path) -> pathlib.Path:
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise Failure("no C compiler")
    library = folder / "file_heap.so"
    done = subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(HERE / "file_heap.c"), "-ldl"], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{compiler}: {done.stderr.strip()}")
    return library


def launcher(library: pathlib.Path, folder: pathlib.Path, size: int) -> list[str]:
    """What starts a program with `size` bytes of its blocks in a file of this folder."""
    return ["env", f"LD_PRELOAD={library}", f"FILE_HEAP_FOLDER={folder}", f"FILE_HEAP_BYTES={size}"]
