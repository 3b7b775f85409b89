#!/usr/bin/env python3
"""A cluster of hosts made of namespaces on this machine, for as long as one command runs.

    cluster.py --hosts 3 -- mpirun -n 6 build/release/bin/sialrun job.toml

Each host has its own network, host name (node1, node2, ...), processes, IPC, mounts, /dev/shm, /tmp and /run/private; /run/shared is one
folder of all, and everything else is this machine's. The command runs on node1, where plain `mpirun` uses all hosts. Its exit code is
that of the command; hosts, and what lies in their own folders, go when it ends. See README.md.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cluster_init  # noqa: E402
import host_client  # noqa: E402

ROOT = HERE.parents[1]
SHARED = pathlib.Path(cluster_init.SHARED)
PRIVATE = pathlib.Path(cluster_init.PRIVATE)
SKIPPED = 77  # the exit code by which CTest knows

# Plain `mpirun` of Open MPI: ranks on all hosts, between them TCP.
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_plm": "rsh",
    "OMPI_MCA_plm_rsh_agent": cluster_init.REMOTE_SHELL,
    "OMPI_MCA_orte_default_hostfile": cluster_init.HOSTFILE,
    "OMPI_MCA_orte_tmpdir_base": "/tmp",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_btl_tcp_if_include": cluster_init.INTERFACE,
    "OMPI_MCA_oob_tcp_if_include": cluster_init.INTERFACE,
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


# Connects to a port that nobody listens on: a host that is reached refuses at once.
AWAIT_HOST = """
import socket, sys, time
for _ in range(200):
    try:
        socket.create_connection((sys.argv[1], 9), 1).close()
        break
    except ConnectionRefusedError:
        break
    except OSError:
        time.sleep(0.05)
"""


class ClusterError(Exception):
    """The cluster cannot be made, or cannot do what is asked of it."""


@dataclasses.dataclass
class Conditions:
    """Of the network, by a relay in place of a bridge."""

    delay: float = 0.0  # seconds, one way
    rate: float = 0.0  # bits per second of each link and direction; 0: as fast as the relay is
    loss: float = 0.0  # probability that a frame is lost
    seed: int = 1  # of the losses
    mtu: int = 9000  # bytes


def unavailable(relay: bool = False) -> str:
    """Why this machine can make no cluster; empty where it can. Other programs are asked, so that a mistake here is no reason."""
    as_root = [] if os.geteuid() == 0 else ["-r"]
    devices = ["ip link add first type veth peer name second", "ip link add third type bridge"]
    if relay:
        devices.append("ip tuntap add dev fourth mode tap")
    script = " && ".join(["mount -t tmpfs tmpfs /run", *devices])
    command = ["unshare", *as_root, "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--mount-proc", "sh", "-c", script]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
    except OSError as e:
        return f"no {e.filename} here"
    return "" if done.returncode == 0 else f"no namespaces with networks here: {done.stderr.strip()}"


def without_open_mpi() -> str:
    """Why `mpirun` cannot be told of the hosts; empty where it can."""
    try:
        version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
    except OSError:
        return "no mpirun here"
    return "" if "Open MPI" in version else f"not Open MPI: {version.strip()[:100]}"


def find_relay() -> pathlib.Path:
    for folder in [os.environ.get("SIALX_BIN", ""), *sorted(str(p) for p in (ROOT / "build").glob("*/bin"))]:
        if folder and (pathlib.Path(folder) / "network_relay").exists():
            return pathlib.Path(folder) / "network_relay"
    raise ClusterError("network conditions need the program network_relay: build it, or name its folder by SIALX_BIN")


class HostProcess:
    """A command on a host. It is killed when this object is closed or its process ends."""

    def __init__(self, connection: socket.socket, stdout: IO[bytes] | None) -> None:
        self.connection, self.stdout = connection, stdout
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, -N after signal N. Raises TimeoutError, and ClusterError where its host has gone."""
        if self.returncode is None:
            self.connection.settimeout(timeout)
            code = host_client.status(self.connection)
            if code is None:
                raise ClusterError("the host of the command has gone")
            self.returncode = code
        return self.returncode

    def close(self) -> None:
        self.connection.close()
        if self.stdout:
            self.stdout.close()

    def __enter__(self) -> HostProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Cluster:
    """Hosts 1 to `hosts`. The thread that makes the cluster must live as long as it does: the kernel ends the hosts with it."""

    def __init__(self, hosts: int = 2, slots: int = 1, shm_size: str = "", tmp_size: str = "", network: Conditions | None = None,
                 visible: Sequence[str | os.PathLike[str]] = (), relay: pathlib.Path | None = None, shared_size: str = "") -> None:
        """`slots`: ranks that mpirun puts on a host; sizes as tmpfs takes them, `shared_size` that of /run/shared; `visible`: folders below /tmp or /run of this machine
        that all hosts are to see. The working folder and this repository always are."""
        if not 1 <= hosts <= 1000:
            raise ClusterError(f"{hosts} hosts: a cluster has 1 to 1000")
        folders = [os.path.realpath(p) for p in (os.getcwd(), ROOT, sys.prefix, *visible)]
        self.hosts = hosts
        self.settings: dict[str, Any] = {"hosts": hosts, "slots": slots, "shm_size": shm_size, "tmp_size": tmp_size, "shared_size": shared_size, "visible": sorted(set(folders)),
                                         "parent": os.getpid(), "network": None}
        if network:
            self.settings["network"] = {**dataclasses.asdict(network), "program": str(relay or find_relay())}
        self.control: socket.socket | None = None
        self.init: subprocess.Popen[bytes] | None = None
        self.init_pid = 0

    # ---- beginning and end
    def __enter__(self) -> Cluster:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            settings = json.dumps({**self.settings, "control": theirs.fileno()})
            # A session of its own: Ctrl-C ends the command, which ends the cluster.
            self.init = subprocess.Popen([sys.executable, "-B", str(HERE / "cluster_init.py"), settings], pass_fds=[theirs.fileno()],
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            self.control.settimeout(60)
            for _ in ("pid", "done"):  # the init's process id and the cluster's start come from two processes, in any order
                message = self.receive("start")
                self.init_pid = message.get("pid", self.init_pid)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all hosts and what runs on them."""
        if self.control:
            self.control.close()
        if self.init:
            try:
                self.init.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.init.kill()  # the kernel kills what it has made
                self.init.wait()
        self.control = self.init = None

    def receive(self, what: str) -> dict[str, Any]:
        if not self.control:
            raise ClusterError("the cluster has ended")
        try:
            message, _ = host_client.receive_message(self.control)
        except OSError as e:
            raise ClusterError(f"{what}: {e}") from e
        if message is None or "error" in message:
            raise ClusterError(f"{what}: {message['error'] if message else 'the init of the cluster has ended'}")
        return message

    def request(self, what: str, **arguments: Any) -> str:
        if self.control:
            host_client.send_message(self.control, {"do": what, **arguments})
        return self.receive(what)["done"]

    # ---- commands
    def socket_path(self, host: int) -> str:
        """The socket of a host's init as this process sees it: by way of the mount table of the cluster's init."""
        if not self.init:
            raise ClusterError("the cluster has ended")
        return f"/proc/{self.init_pid}/root{host_client.CLUSTER_FOLDER}/{host_client.socket_name(host)}"

    def environment(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Of commands: this process's, what makes mpirun use the hosts, and `env`. TMPDIR is not handed on: its folder may be hidden."""
        inherited = {name: value for name, value in os.environ.items() if name not in ("TMPDIR", "XDG_RUNTIME_DIR")}
        return {**inherited, **MPI_ENVIRONMENT, **(env or {})}

    def start(self, argv: Sequence[str | os.PathLike[str]], host: int = 1, env: Mapping[str, str] | None = None, cwd: str | os.PathLike[str] | None = None,
              stdin: int | None = None, stdout: int | None = None, stderr: int | None = None) -> HostProcess:
        """Starts a command. Streams are descriptors, None: empty input, or this process's outputs; stdout=subprocess.PIPE is read
        from the `stdout` of what is returned."""
        with contextlib.ExitStack() as stack:
            reader = None
            if stdout == subprocess.PIPE:
                read_end, stdout = os.pipe()
                stack.callback(os.close, stdout)
                reader = os.fdopen(read_end, "rb")
            empty = stack.enter_context(open(os.devnull, "rb"))
            streams = (empty.fileno() if stdin is None else stdin, 1 if stdout is None else stdout, 2 if stderr is None else stderr)
            try:
                connection = host_client.start(self.socket_path(host), [os.fspath(a) for a in argv], self.environment(env), os.fspath(cwd or os.getcwd()), streams)
            except OSError as e:
                raise ClusterError(f"node{host} cannot be reached: {e.strerror}") from e
            return HostProcess(connection, reader)

    def run(self, argv: Sequence[str | os.PathLike[str]], host: int = 1, env: Mapping[str, str] | None = None, cwd: str | os.PathLike[str] | None = None,
            timeout: float | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a command and returns its outputs. Raises TimeoutError, after which the command is killed."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            with self.start(argv, host, env, cwd, stdout=out.fileno(), stderr=err.fileno()) as process:
                code = process.wait(timeout)
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read().decode(errors="replace"))
        return subprocess.CompletedProcess([os.fspath(a) for a in argv], code, *texts)

    # ---- faults and conditions
    def kill_host(self, host: int) -> None:
        """As if its power failed: first its link is gone, then all its processes. It does not come back."""
        self.request("kill", host=host)

    def link(self, host: int, up: bool) -> None:
        """Takes the link of a host down, or up again; then waits until another host reaches it: the kernel may take a second to notice."""
        self.request("link", host=host, up=up)
        if up and self.hosts > 1:
            self.run([sys.executable, "-c", AWAIT_HOST, f"node{2 if host == 1 else 1}"], host=host, timeout=60)

    def network(self, line: str) -> str:
        """A command to the relay: `delay SECONDS`, `rate BITS_PER_SECOND`, `loss PROBABILITY`, `count`."""
        return self.request("network", line=line)

    # ---- what there is
    def host_pid(self, host: int) -> int:
        """Process id of a host's init in the PID namespace of this process."""
        with host_client.connect(self.socket_path(host)) as connection:
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return struct.unpack("3i", credentials)[0]

    def path(self, host: int, path: str | os.PathLike[str]) -> pathlib.Path:
        """A file of a host as this process sees it, while the host lives."""
        return pathlib.Path(f"/proc/{self.host_pid(host)}/root") / os.fspath(path).lstrip("/")

    def processes(self, host: int) -> list[dict[str, Any]]:
        """`pid` (in the host's namespace) and `command` of all processes but the init."""
        return host_client.ask(self.socket_path(host), "processes")

    def leftovers(self, within: float = 10.0) -> dict[str, dict[str, list[Any]]]:
        """Per host, what is there beyond the init: `processes`, and entries of /dev/shm and /tmp. Waits for up to `within` seconds
        until nothing is: daemons of MPI may end a little later than mpirun."""
        end = time.monotonic() + within
        while True:
            found = {}
            for host in range(1, self.hosts + 1):
                try:
                    of_host = {"processes": self.processes(host), **host_client.ask(self.socket_path(host), "entries")}
                except (ConnectionError, FileNotFoundError):
                    continue  # killed
                of_host = {kind: values for kind, values in of_host.items() if values}
                if of_host:
                    found[f"node{host}"] = of_host
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.05)


def quantity(text: str, units: Mapping[str, float]) -> float:
    match = re.fullmatch(r"([0-9.]+(?:e[-+]?[0-9]+)?)\s*(\S*)", text)
    if not match or match[2] not in units:
        raise argparse.ArgumentTypeError(f"`{text}` is no number with a unit of {', '.join(u for u in units if u)}")
    return float(match[1]) * units[match[2]]


def seconds(text: str) -> float:
    return quantity(text, {"s": 1, "ms": 1e-3, "us": 1e-6})


def bits_per_second(text: str) -> float:
    return quantity(text, {"bit": 1, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9})


def probability(text: str) -> float:
    return quantity(text, {"": 1, "%": 1e-2})


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--slots", type=int, default=1, help="ranks that mpirun puts on each host")
    parser.add_argument("--shm-size", default="", help="of each /dev/shm, such as 64m")
    parser.add_argument("--tmp-size", default="", help="of each /tmp, such as 64m")
    parser.add_argument("--visible", action="append", default=[], metavar="FOLDER", help="below /tmp or /run of this machine, to be seen on all hosts")
    parser.add_argument("--delay", type=seconds, help="one way, such as 1ms")
    parser.add_argument("--rate", type=bits_per_second, help="of each link and direction, such as 1Gbit")
    parser.add_argument("--loss", type=probability, help="of frames, such as 0.1%%")
    parser.add_argument("--seed", type=int, default=1, help="of the losses")
    parser.add_argument("command", nargs="+", help="after `--`")
    return parser.parse_args(arguments)


def end_at_signal(number: int, _: object) -> None:
    sys.exit(128 + number)


def main() -> int:
    options = parse(sys.argv[1:])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end_at_signal)
    given = {name: value for name in ("delay", "rate", "loss") if (value := getattr(options, name)) is not None}
    network = Conditions(**given, seed=options.seed) if given else None
    reason = unavailable(relay=bool(given))
    if reason:
        print(f"skipped: {reason}", file=sys.stderr)
        return SKIPPED
    try:
        with Cluster(options.hosts, options.slots, options.shm_size, options.tmp_size, network, options.visible) as cluster:
            with cluster.start(options.command, stdin=0) as process:
                code = process.wait()
    except ClusterError as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
