#!/usr/bin/env python3
"""The cluster itself: what hosts see of each other and of this machine, faults, and that nothing stays behind, however it ends.

    cluster_test.py --bin DIR [unittest arguments]

Exit code 77 where no cluster can be made.
"""
from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterable, Iterator
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cluster import PRIVATE, ROOT, SHARED, SKIPPED, Cluster, ClusterError, unavailable, without_open_mpi
from cluster_init import REMOTE_SHELL
from harness import main

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = sys.executable
LIMIT = 60.0  # seconds: against hangs
NOBODY = 65534

# Listens on port 5000; says so, and what the first connection sent.
LISTEN = """
import socket
s = socket.create_server(("0.0.0.0", 5000))
print("listening", flush=True)
c, _ = s.accept()
print(c.recv(100).decode(), flush=True)
"""
SEND = """
import socket, sys
s = socket.create_connection((sys.argv[1], 5000), timeout=float(sys.argv[2]))
s.sendall(socket.gethostname().encode())
"""


def wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def started(pid: int) -> str:
    """When a process started, with which its number names it for ever; empty where there is none, or only what its parent has to read."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def family(ancestor: int) -> dict[int, str]:
    """A process and its descendants, those in PID namespaces of their own too."""
    parents = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = {ancestor}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return {pid: started(pid) for pid in found}
        found |= more


def namespaces(pids: Iterable[int]) -> set[str]:
    """Networks and mount tables that processes are in."""
    found = set()
    for pid in pids:
        for kind in ("net", "mnt"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/ns/{kind}"))
    return found


def machine() -> set[str]:
    """What a cluster could leave on this machine outside processes: network devices and mounts."""
    return {*os.listdir("/sys/class/net"), *pathlib.Path("/proc/self/mountinfo").read_text().splitlines()}


class Hosts(unittest.TestCase):
    """One cluster for tests that leave it as it was."""
    cluster: Cluster

    @classmethod
    def setUpClass(cls) -> None:
        cls.cluster = cls.enterClassContext(Cluster(hosts=3, slots=2, shm_size="1m"))

    def python(self, script: str, *args: str, host: int = 1) -> str:
        done = self.cluster.run([PYTHON, "-c", script, *args], host=host, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_names_and_namespaces(self) -> None:
        script = 'import os, socket; print(socket.gethostname(), *(os.readlink(f"/proc/self/ns/{n}") for n in ("net", "uts", "ipc", "pid", "mnt")))'
        lines = [self.python(script, host=host).split() for host in (1, 2, 3)]
        lines.append([os.uname().nodename, *(os.readlink(f"/proc/self/ns/{n}") for n in ("net", "uts", "ipc", "pid", "mnt"))])
        self.assertEqual([words[0] for words in lines[:3]], ["node1", "node2", "node3"])
        for kind in zip(*lines):
            self.assertEqual(len(set(kind)), 4, kind)

    def test_hosts_reach_each_other_by_name(self) -> None:
        for sender, receiver in ((1, 2), (2, 1), (3, 1), (2, 3)):
            with self.subTest(sender=sender, receiver=receiver), self.cluster.start([PYTHON, "-c", LISTEN], host=receiver, stdout=subprocess.PIPE) as process:
                self.assertEqual(process.stdout.readline(), b"listening\n")
                self.python(SEND, f"node{receiver}", str(LIMIT), host=sender)
                self.assertEqual(process.stdout.readline().decode().strip(), f"node{sender}")
                self.assertEqual(process.wait(LIMIT), 0)

    def test_this_machine_is_out_of_reach(self) -> None:
        """A listener of this machine is no host's, neither by loopback nor otherwise."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            script = "import socket, sys\ntry:\n  socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=5)\nexcept ConnectionRefusedError:\n  print('refused')"
            self.assertEqual(self.python(script, str(listener.getsockname()[1])), "refused\n")

    def test_folders(self) -> None:
        for folder, common in ((SHARED, True), (PRIVATE, False), ("/tmp", False), ("/dev/shm", False)):
            with self.subTest(folder=folder):
                file = pathlib.Path(folder) / "file"
                self.python("import pathlib, sys; pathlib.Path(sys.argv[1]).write_text('of node2')", str(file), host=2)
                self.assertEqual(self.cluster.path(2, file).read_text(), "of node2")
                for other in (1, 3):
                    self.assertEqual(self.cluster.path(other, file).exists(), common)
                self.assertFalse(file.exists(), "it is on this machine too")
                self.python("import os, sys; os.remove(sys.argv[1])", str(file), host=2)

    def test_size_of_shared_memory(self) -> None:
        script = "import errno\ntry:\n  open('/dev/shm/large', 'wb').write(bytes(2 << 20))\nexcept OSError as e:\n  print(errno.errorcode[e.errno])\nimport os; os.remove('/dev/shm/large')"
        self.assertEqual(self.python(script, host=2), "ENOSPC\n")

    def test_working_folder_below_tmp_is_seen(self) -> None:
        with tempfile.TemporaryDirectory(prefix="sialx-hosts-") as folder:
            (pathlib.Path(folder) / "file").write_text("seen")
            with Cluster(hosts=2, visible=[folder]) as cluster:
                for host in (1, 2):
                    self.assertEqual(cluster.run(["cat", "file"], host=host, cwd=folder, timeout=LIMIT).stdout, "seen")

    def test_exit_codes(self) -> None:
        for command, code in ((["true"], 0), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -TERM $$"], -signal.SIGTERM), (["no-such-program"], 127)):
            self.assertEqual(self.cluster.run(command, host=2, timeout=LIMIT).returncode, code, command)

    def test_a_command_out_of_time_is_killed(self) -> None:
        with self.assertRaises(TimeoutError):
            self.cluster.run(["sh", "-c", "sleep 1000 & sleep 1000"], host=3, timeout=0.5)
        self.assertTrue(wait_until(lambda: self.cluster.processes(3) == []))

    def test_leftovers_are_found(self) -> None:
        script = "import subprocess; open('/dev/shm/segment', 'w'); open('/tmp/file', 'w'); print(subprocess.Popen(['sleep', '1000'], stdout=subprocess.DEVNULL).pid)"
        pid = self.python(script, host=2).strip()
        self.assertEqual(self.cluster.leftovers(within=0), {"node2": {"processes": [{"pid": int(pid), "command": "sleep 1000"}], "/dev/shm": ["segment"], "/tmp": ["file"]}})
        self.python("import os, sys; os.kill(int(sys.argv[1]), 9); os.remove('/dev/shm/segment'); os.remove('/tmp/file')", pid, host=2)
        self.assertEqual(self.cluster.leftovers(), {})

    @unittest.skipIf(without_open_mpi(), without_open_mpi())
    def test_mpirun(self) -> None:
        """Ranks fill the slots of all hosts; variables of the environment reach them all; nothing stays on the hosts."""
        for ranks, names in ((3, "node1 node1 node2"), (6, "node1 node1 node2 node2 node3 node3")):
            done = self.cluster.run(["mpirun", "-n", str(ranks), "sh", "-c", 'echo "$(hostname) $VALUE"'], env={"VALUE": "sent"}, timeout=LIMIT)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(done.stdout.splitlines()), [f"{name} sent" for name in names.split()])
            self.assertEqual(self.cluster.leftovers(), {})


class Faults(unittest.TestCase):
    def test_killed_host(self) -> None:
        with Cluster(hosts=3) as cluster:
            with cluster.start([PYTHON, "-c", LISTEN], host=2, stdout=subprocess.PIPE) as process:
                self.assertEqual(process.stdout.readline(), b"listening\n")
                init = cluster.host_pid(2)
                of_host = family(init)
                self.assertEqual(len(of_host), 2)
                cluster.kill_host(2)
                for pid, start in of_host.items():
                    self.assertNotEqual(started(pid), start)
                with self.assertRaises(ClusterError):
                    process.wait(LIMIT)
            with self.assertRaises(ClusterError):
                cluster.run(["true"], host=2)
            done = cluster.run([PYTHON, "-c", SEND, "node2", "0.5"], host=1, timeout=LIMIT)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(cluster.run(["true"], host=3, timeout=LIMIT).returncode, 0)
            self.assertEqual(cluster.leftovers(), {})

    def test_remote_shell(self) -> None:
        """It returns exit codes, and is silent about a host that is killed, as ssh is."""
        with Cluster(hosts=2) as cluster:
            for command, code in (("hostname; exit 3", 3), ("kill -KILL $$", 128 + signal.SIGKILL)):
                self.assertEqual(cluster.run([REMOTE_SHELL, "node2", command], timeout=LIMIT).returncode, code)
            self.assertEqual(cluster.run([REMOTE_SHELL, "node3", "true"], timeout=LIMIT).returncode, 255)
            with cluster.start([REMOTE_SHELL, "node2", "echo", "there;", "sleep", "1000"], stdout=subprocess.PIPE) as process:
                self.assertEqual(process.stdout.readline(), b"there\n")
                cluster.kill_host(2)
                with self.assertRaises(TimeoutError):
                    process.wait(0.5)
            self.assertEqual(cluster.leftovers(), {})

    def test_remote_shell_of_killed_host(self) -> None:
        """What it has started elsewhere hears nothing of the end of its host."""
        with Cluster(hosts=2) as cluster:
            with cluster.start([REMOTE_SHELL, "node2", "echo", "there;", "exec", "sleep", "1000"], stdout=subprocess.PIPE) as process:
                self.assertEqual(process.stdout.readline(), b"there\n")
                cluster.kill_host(1)
            time.sleep(0.5)
            self.assertEqual([p["command"] for p in cluster.processes(2)], ["sleep 1000"])

    def test_link(self) -> None:
        with Cluster(hosts=2) as cluster, cluster.start([PYTHON, "-c", LISTEN], host=2, stdout=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b"listening\n")
            cluster.link(2, up=False)
            self.assertNotEqual(cluster.run([PYTHON, "-c", SEND, "node2", "0.5"], timeout=LIMIT).returncode, 0)
            cluster.link(2, up=True)
            self.assertEqual(cluster.run([PYTHON, "-c", SEND, "node2", str(LIMIT)], timeout=LIMIT).returncode, 0)
            self.assertEqual(process.stdout.readline(), b"node1\n")

    def test_refused(self) -> None:
        with self.assertRaisesRegex(ClusterError, "0 hosts"):
            Cluster(hosts=0)
        with self.assertRaisesRegex(ClusterError, "mount"):
            with Cluster(hosts=2, shm_size="many"):
                self.fail("a host with a size that is none")


class End(unittest.TestCase):
    """After each way to end: no process, no namespace, no device, no mount, no file."""

    def setUp(self) -> None:
        self.before = machine()

    def family(self, ancestor: int) -> dict[int, str]:
        """Of the cluster's first process; keeps its namespaces for assert_nothing_left()."""
        processes = family(ancestor)
        self.namespaces = namespaces(processes) - namespaces([os.getpid(), 1])
        self.assertGreaterEqual(len(self.namespaces), 6, "two hosts and their switch")
        return processes

    def assert_nothing_left(self, processes: dict[int, str]) -> None:
        self.assertGreaterEqual(len(processes), 3)
        self.assertTrue(wait_until(lambda: not any(start and started(pid) == start for pid, start in processes.items())),
                        [pid for pid, start in processes.items() if started(pid) == start])
        self.assertEqual(machine() - self.before, set())
        everybody = [int(folder.name) for folder in pathlib.Path("/proc").iterdir() if folder.name.isdigit()]
        self.assertEqual(namespaces(everybody) & self.namespaces, set())

    def test_end_of_block(self) -> None:
        with Cluster(hosts=2) as cluster:
            self.assertEqual(cluster.run(["sh", "-c", "sleep 1000 >/dev/null & touch /tmp/file /dev/shm/file"], host=2, timeout=LIMIT).returncode, 0)
            processes = self.family(cluster.init.pid)
            self.assertEqual(len(processes), 5)
        self.assert_nothing_left(processes)

    def test_exception(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "of the block"):
            with Cluster(hosts=2) as cluster:
                processes = self.family(cluster.init.pid)
                raise RuntimeError("of the block")
        self.assert_nothing_left(processes)

    def test_killed_init(self) -> None:
        with Cluster(hosts=2) as cluster:
            processes = self.family(cluster.init.pid)
            cluster.init.kill()
            self.assert_nothing_left(processes)

    @contextlib.contextmanager
    def command(self, *options: str, **how: Any) -> Iterator[tuple[subprocess.Popen[str], dict[int, str]]]:
        """cluster.py with a command that says when it is there, and all processes of both."""
        command = [PYTHON, str(HERE / "cluster.py"), "--hosts", "2", *options, "--", "sh", "-c", "hostname; sleep 1000 & sleep 1000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **how) as process:
            try:
                self.assertEqual(process.stdout.readline(), "node1\n")
                # cluster.py, two processes of the cluster, the inits of two hosts, two that sleep.
                self.assertTrue(wait_until(lambda: len(family(process.pid)) >= 7))
                yield process, self.family(process.pid)
            finally:
                process.kill()

    def test_signals(self) -> None:
        for number, code in ((signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, 128 + signal.SIGINT), (signal.SIGKILL, -signal.SIGKILL)):
            with self.subTest(number=number), self.command() as (process, processes):
                process.send_signal(number)
                self.assertEqual(process.wait(LIMIT), code)
                self.assert_nothing_left(processes)

    def test_command_line(self) -> None:
        """Exit codes of commands, their streams, and options that are none."""
        for script, code, out in (('read line; echo "$(hostname) $line"', 0, "node1 input\n"), ("exit 5", 5, ""), ("kill -KILL $$", 128 + signal.SIGKILL, "")):
            done = subprocess.run([PYTHON, str(HERE / "cluster.py"), "--hosts", "2", "--", "sh", "-c", script], input="input\n", capture_output=True, text=True, timeout=LIMIT)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (code, out, ""))
        for options in (("--delay", "5"), ("--rate", "fast"), ("--hosts", "0"), ("--visible", "/tmp/no such folder")):
            done = subprocess.run([PYTHON, str(HERE / "cluster.py"), *options, "--", "true"], capture_output=True, text=True, timeout=LIMIT)
            self.assertNotIn(done.returncode, (0, SKIPPED))
            self.assertIn("error:", done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_without_root(self) -> None:
        """In a user namespace; skipped where another user may make none, or may not read these files."""
        if os.geteuid() != 0:
            self.skipTest("all tests are without root")
        other: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/"}
        script = f"import sys; sys.path.insert(0, {str(HERE)!r}); import cluster; print(cluster.unavailable())"
        try:
            probe = subprocess.run([PYTHON, "-B", "-c", script], capture_output=True, text=True, **other)
        except PermissionError as e:
            self.skipTest(f"another user may not run Python: {e}")
        reason = probe.stdout.strip() or probe.stderr.strip()
        if reason:
            self.skipTest(f"another user may not: {reason}")
        with self.command(**other) as (process, processes):
            process.terminate()
            self.assertEqual(process.wait(LIMIT), 128 + signal.SIGTERM)
            self.assert_nothing_left(processes)


if __name__ == "__main__":
    missing = unavailable()
    if missing:
        print(f"skipped: {missing}")
        sys.exit(SKIPPED)
    os.chdir(ROOT)
    main()
