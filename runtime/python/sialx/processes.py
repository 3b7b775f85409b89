"""Programs that the package starts: their environment, and their end when nobody waits for them any more."""

from __future__ import annotations

import functools
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Union

if TYPE_CHECKING:
    StrPath = Union[str, os.PathLike[str]]

# What tells a process that it is a rank, of Open MPI, MPICH, PALS and Slurm; and how a rank finds the others.
_OF_RANKS = re.compile(
    r"OMPI_(?!ALLOW_|MCA_)|OMPI_MCA_(ess|orte|pmix|initial_wdir|shmem_RUNTIME|hwloc_base_binding)|ORTE_|PRTE_(?!MCA_)|PMI_|PMIX_(?!MCA_)|PMI2_|PALS_|HYDI_|MPI_LOCAL"
    r"|SLURM_(PROCID|LOCALID|NODEID|GTIDS|TASK_PID|STEP|SRUN|LAUNCH|PMI|UMASK)"
)
_RANK_NUMBERS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID", "SLURM_PROCID")


def environment() -> dict[str, str]:
    """That of this process. Where it is a rank of an MPI job, without what says so: what it starts is a job of its own, which must not join that one. Nor does what the
    MPI of mpi4py has added since Python began, which os.environ does not show."""
    own = dict(os.environ)
    return {name: value for name, value in own.items() if not _OF_RANKS.match(name)} if any(name in own for name in _RANK_NUMBERS) else own


def run(
    command: Sequence[str], folder: StrPath, messages: IO[str] | None = None, said: Callable[[str], object] | None = None, settings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end. `said` gets each line of its output. Its error stream goes to the file `messages`, else to the result. `settings`: more of its environment.
    What a handler of signals raises meanwhile, and Ctrl-C, ends the command with all that it has started; so does the end of this process."""
    text: list[str] = []
    process = subprocess.Popen(
        [*_ending_with_us("KILL" if _is_one_rank(command) else "TERM"), *command], cwd=folder, env={**environment(), **(settings or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=messages or subprocess.PIPE, text=True
    )
    try:
        if messages is None:
            out, err = process.communicate()
            return subprocess.CompletedProcess(command, process.returncode, out, err)
        assert process.stdout is not None  # a pipe
        for line in process.stdout:
            text.append(line)
            if said is not None:
                said(line)
        process.wait()
    except BaseException:
        _end(process, at_once=_is_one_rank(command))
        raise
    finally:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    return subprocess.CompletedProcess(command, process.returncode, "".join(text))


def _is_one_rank(command: Sequence[str]) -> bool:
    return Path(command[0]).name == "sialrun"  # else mpirun


@functools.lru_cache
def _ending_with_us(signal_name: str) -> list[str]:
    """What is written before a command that is to get a signal when this process ends, killed or not; nothing where the system has no such program."""
    words = ["setpriv", "--pdeathsig", signal_name]
    try:
        return words if subprocess.run([*words, "true"], capture_output=True).returncode == 0 else []
    except OSError:
        return []


def _end(process: subprocess.Popen[str], at_once: bool) -> None:
    """The ranks end at once, also those that mpirun is still starting: it has them in process groups of their own. It puts away what it made for them and ends by
    itself, in a second; a signal beside that would make it crash and leave ranks."""
    if at_once:
        process.kill()

    def wait() -> None:
        for _ in range(40):
            for pid, children in _family(process.pid).items():
                if pid != process.pid and not children:
                    _kill(pid)
            try:
                process.wait(0.05)
                return
            except subprocess.TimeoutExpired:
                pass
        for pid in {process.pid, *_family(process.pid)}:
            _kill(pid)
        process.wait()

    waiting = threading.Thread(target=wait)
    waiting.start()
    waiting.join(0.6)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _family(pid: int) -> dict[int, list[int]]:
    """A process and those that come from it on this host, each with its children."""
    try:
        children = [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()]
    except OSError:
        return {}
    family = {pid: children}
    for child in children:
        family.update(_family(child))
    return family
