#!/usr/bin/env python3
"""A job that needs several time slices on Slurm: examples/cluster/job.sbatch hands it in again until it is done.

    slurm_test.py --bin DIR

Slurm's daemons run on three hosts made of namespaces. Exit code 77 where no cluster can be made, or Slurm and munge are not installed
(Debian: slurmctld, slurmd, slurm-client, munge).
"""
from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from typing import IO

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cluster import PRIVATE, ROOT, SHARED, SKIPPED, Cluster, ClusterError, HostProcess, unavailable
from harness import BIN

HOSTS = 3
PHASES = 15000
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")
CONFIGURATION = f"""ClusterName=test
SlurmctldHost=node1
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={PRIVATE}/munge.socket,cred_expire=2
CredType=cred/munge
MpiDefault=pmix
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation={PRIVATE}/state
SlurmdSpoolDir={PRIVATE}/spool
SlurmctldPidFile={PRIVATE}/slurmctld.pid
SlurmdPidFile={PRIVATE}/slurmd.pid
ReturnToService=2
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=batch_sched_delay=1,sched_interval=2,bf_interval=2
NodeName=node[1-{HOSTS}] NodeAddr=10.0.0.[1-{HOSTS}] CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
JOB = f"""programs = ["{ROOT}/tests/watch/programs/uneven.sialx"]
[values]
norb = 2
rounds = 1
phases = {PHASES}
[segments]
ao = [60, 60]
[output]
results = "none"
[run]
checkpoint_every = "1s"
"""


def start_slurm(cluster: Cluster, log: IO[bytes], stack: contextlib.ExitStack) -> None:
    """Its processes end with the cluster."""
    shared = cluster.path(1, SHARED)
    (shared / "slurm.conf").write_text(CONFIGURATION)
    (shared / "munge.key").write_bytes(os.urandom(1024))
    (shared / "munge.key").chmod(0o400)
    munge = f"munged --force --key-file={SHARED}/munge.key --socket={PRIVATE}/munge.socket --pid-file={PRIVATE}/munged.pid --log-file={PRIVATE}/munged.log --seed-file={PRIVATE}/munge.seed"
    for host in range(1, HOSTS + 1):
        done = cluster.run(["sh", "-c", f"mkdir -p {PRIVATE}/spool {PRIVATE}/state && chmod 755 {PRIVATE} && {munge}"], host=host, timeout=30)
        if done.returncode != 0:
            raise ClusterError(f"munged: {done.stderr}")

    def daemon(host: int, *command: str) -> HostProcess:
        return stack.enter_context(cluster.start(command, host=host, env=slurm(), stdout=log.fileno(), stderr=log.fileno()))

    daemon(1, "slurmctld", "-D")
    for host in range(1, HOSTS + 1):
        daemon(host, "slurmd", "-D", "-N", f"node{host}")


def slurm() -> dict[str, str]:
    return {"SLURM_CONF": f"{SHARED}/slurm.conf"}


def ask(cluster: Cluster, *command: str) -> str:
    done = cluster.run(command, env=slurm(), timeout=60)
    return done.stdout if done.returncode == 0 else f"failed: {done.stderr}"


def wait_for(what: str, seconds: float, seen: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while not seen():
        if time.monotonic() > end:
            raise ClusterError(f"{what}: not after {seconds} s")
        time.sleep(0.3)


def run_in_slices(cluster: Cluster, binary: pathlib.Path) -> tuple[str, int]:
    """The job's output, and how often Slurm started it. Slices are ended by the signal of Slurm's warning; in one a rank is killed, and it goes on."""
    shared = cluster.path(1, SHARED)
    (shared / "job.toml").write_text(JOB)
    script = ROOT / "examples/cluster/job.sbatch"
    path = {"PATH": f"{binary}:{os.environ['PATH']}", **slurm()}
    done = cluster.run(["sbatch", f"--nodes={HOSTS}", "--ntasks-per-node=1", f"--output={SHARED}/job.out", str(script), f"{SHARED}/job.toml", f"{SHARED}/job"],
                       env=path, cwd=SHARED, timeout=30)
    number = re.search(r"Submitted batch job (\d+)", done.stdout)
    if not number:
        raise ClusterError(f"sbatch: {done.stdout}{done.stderr}")
    output = shared / "job.out"
    pending_since: list[float] = []
    begun, killed, since = 0, False, 0.0  # runs, and when the last one began

    def completed() -> bool:
        state = ask(cluster, "scontrol", "show", "job", number[1])
        if "JobState=FAILED" in state:
            raise ClusterError(f"the job has failed: {output.read_text()}{state}")
        nonlocal begun, killed, since
        text = output.read_text() if output.exists() else ""
        if (now := text.count("begins") + text.count("continuing from")) > begun:
            begun, since = now, time.monotonic()
        elif since and time.monotonic() - since > 2.5 and "JobState=RUNNING" in state:  # it has a checkpoint of its own
            if begun == 2:
                killed = cluster.run(["pkill", "-KILL", "-x", "sialrun"], host=2).returncode == 0
            else:
                ask(cluster, "scancel", "--signal=USR1", "--batch", number[1])
            since = 0.0
        # Slurm lets a job that was queued again wait for two minutes. Its daemons need only a few seconds to forget the earlier one.
        if "JobState=PENDING" not in state:
            pending_since.clear()
        elif not pending_since:
            pending_since.append(time.monotonic())
        elif time.monotonic() - pending_since[0] > 8:
            ask(cluster, "scontrol", "update", f"JobId={number[1]}", "StartTime=now")
        return "JobState=COMPLETED" in state

    wait_for("the job's end", 400, completed)
    if not killed:
        raise ClusterError("no rank was killed")
    restarts = re.search(r"Restarts=(\d+)", ask(cluster, "scontrol", "show", "job", number[1]))
    return output.read_text(), int(restarts[1]) + 1 if restarts else 0


def main() -> int:
    binary = BIN
    missing = [p for p in PROGRAMS if not shutil.which(p, path=f"{os.environ['PATH']}:/usr/sbin")]
    if reason := unavailable() or (f"not installed: {', '.join(missing)}" if missing else ""):
        print(f"skipped: {reason}")
        return SKIPPED
    os.environ["PATH"] += ":/usr/sbin"
    with tempfile.TemporaryFile() as log:
        try:
            with Cluster(HOSTS, 1, visible=[binary]) as cluster, contextlib.ExitStack() as stack:
                start_slurm(cluster, log, stack)
                wait_for("nodes", 60, lambda: f"{HOSTS}   idle" in ask(cluster, "sinfo"))
                said, slices = run_in_slices(cluster, binary)
        except (ClusterError, TimeoutError) as e:
            log.seek(0)
            print(f"FAILED: {e}\n{log.read().decode(errors='replace')[-3000:]}")
            return 1
    right = said.count(f"sum = {PHASES}") == 1 and said.count("begins") == 1 and "stopped by SIGUSR1" in said and "the job is started again" in said
    print(f"{slices} slices{'' if right else ': ' + said}")
    return 0 if right and slices >= 3 else 1  # one ended by the signal, one by the killed rank, and the last


if __name__ == "__main__":
    sys.exit(main())
