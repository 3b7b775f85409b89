"""A cgroup, of version 1 or 2, that caps the memory of a process: anonymous pages and page cache. And a swap file."""
from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Iterator

from jobs import Failure

JOIN = 'echo $$ > "$0" && exec "$@"'  # a shell that enters the cgroup and becomes the program


def mounted(kind: str, option: str = "") -> pathlib.Path | None:
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, where, found, options, *_ = line.split()
        if found == kind and (not option or option in options.split(",")):
            return pathlib.Path(where)
    return None


def hierarchy() -> tuple[int, pathlib.Path] | str:
    """The version of the cgroups that can cap memory here and where they are mounted, or why none can."""
    if os.geteuid() != 0:
        return "not root"
    if old := mounted("cgroup", "memory"):
        return (1, old) if os.access(old, os.W_OK) else f"{old} cannot be written"
    root = mounted("cgroup2")
    if root is None:
        return "no cgroup hierarchy is mounted"
    if "memory" not in (root / "cgroup.controllers").read_text().split():
        return f"the cgroups at {root} have no memory controller"
    return (2, root) if os.access(root / "cgroup.subtree_control", os.W_OK) else f"{root} cannot be written"


@contextlib.contextmanager
def capped(limit: int, swap: bool) -> Iterator[list[str]]:
    """A command line that starts the rest of it in a new cgroup of `limit` bytes, which may use swap or not."""
    found = hierarchy()
    if isinstance(found, str):
        raise Failure(found)
    version, root = found
    group = root / f"sialx-memory-{os.getpid()}"
    if version == 2:
        (root / "cgroup.subtree_control").write_text("+memory")
    group.mkdir()
    try:
        if version == 1:
            (group / "memory.limit_in_bytes").write_text(str(limit))
            if not swap:
                (group / "memory.swappiness").write_text("0")
                with contextlib.suppress(OSError):  # a kernel may keep no account of swap
                    (group / "memory.memsw.limit_in_bytes").write_text(str(limit))
        else:
            (group / "memory.max").write_text(str(limit))
            if not swap:
                (group / "memory.swap.max").write_text("0")
        yield ["sh", "-c", JOIN, str(group / "cgroup.procs")]
    finally:
        remove(group)


def remove(group: pathlib.Path) -> None:
    """With what still runs in it: a benchmark that is ended leaves nothing."""
    for _ in range(100):
        for number in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(number), signal.SIGKILL)
        with contextlib.suppress(OSError):
            return group.rmdir()
        time.sleep(0.1)
    group.rmdir()


@contextlib.contextmanager
def swap_file(folder: pathlib.Path, size: int) -> Iterator[None]:
    """In use by the system inside of the context."""
    file = folder / f"swap-{os.getpid()}"
    try:
        with open(file, "wb") as f:
            os.chmod(file, 0o600)
            os.posix_fallocate(f.fileno(), 0, size)
        for program in ("mkswap", "swapon"):
            done = subprocess.run([program, str(file)], capture_output=True, text=True)
            if done.returncode:
                raise Failure(f"{program}: {done.stderr.strip()}")
        try:
            yield
        finally:
            subprocess.run(["swapoff", str(file)], check=True)
    finally:
        file.unlink(missing_ok=True)


def swapped_out() -> int:
    """Bytes that the system has written to swap since it was started."""
    words = pathlib.Path("/proc/vmstat").read_text().split()
    return int(words[words.index("pswpout") + 1]) * os.sysconf("SC_PAGESIZE")
