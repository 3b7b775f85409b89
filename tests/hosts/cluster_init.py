"""The init of a cluster: process 1 of a PID namespace that holds all its hosts, in a network namespace with their switch.

    cluster_init.py SETTINGS    (JSON; `cluster.py` starts it, with one end of a socket pair as descriptor `control`)

It ends with its parent: by the kernel's signal, and at the end of the control connection. With it the kernel ends the hosts, and with
their processes all namespaces, devices and mounts go, for nothing else holds them.
"""
from __future__ import annotations

import json
import os
import pathlib
import shlex
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import host_client
import kernel_calls
from host_server import PRIVATE_FOLDERS, HostServer

INTERFACE = "eth0"
SHARED, PRIVATE = "/run/shared", "/run/private"
REMOTE_SHELL = f"{host_client.CLUSTER_FOLDER}/remote_shell"
HOSTFILE = f"{host_client.CLUSTER_FOLDER}/hostfile"


def address(host: int) -> str:
    return f"10.0.{host >> 8}.{host & 255}"


def hardware_address(host: int) -> str:
    """The relay reads the port from the last two bytes."""
    return f"02:00:00:00:{host >> 8:02x}:{host & 255:02x}"


def ip_commands(*lines: str) -> None:
    done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"ip: {done.stderr.strip()}; commands: {'; '.join(lines)}")


def cover(folders: Sequence[str], visible: Sequence[str], mounts: Callable[[], None]) -> None:
    """Mounts over `folders`; what is `visible` below them stays where it was."""
    below = [path for path in visible if any(pathlib.PurePath(path).is_relative_to(folder) for folder in folders)]
    handles = [(path, os.open(path, os.O_PATH)) for path in below]
    mounts()
    for path, handle in handles:
        os.makedirs(path, exist_ok=True)
        kernel_calls.bind(f"/proc/self/fd/{handle}", path)
        os.close(handle)


def report(connection: socket.socket, error: Exception, where: str = "") -> None:
    """To who waits at the other end; what no operating system has refused is a mistake of ours."""
    if not isinstance(error, OSError):
        traceback.print_exc()
    host_client.send_message(connection, {"error": f"{where}{error}"})


class Host:
    """As the cluster's init sees it: the process id of its init, and a connection on which both wait for each other's steps."""

    def __init__(self, number: int, settings: dict[str, Any], control: socket.socket) -> None:
        self.number = number
        self.steps, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        own = os.open("/proc/self/ns/pid", os.O_RDONLY)
        kernel_calls.unshare(kernel_calls.CLONE_NEWPID)
        self.pid = os.fork()
        if self.pid == 0:
            control.close()
            self.steps.close()
            try:
                self.become_host(settings, theirs)
            except Exception as e:
                report(theirs, e, f"node{number}: ")
            finally:
                os._exit(1)
        kernel_calls.set_namespace(own, kernel_calls.CLONE_NEWPID)
        os.close(own)
        theirs.close()
        self.wait_for("namespaces")

    def wait_for(self, step: str) -> None:
        message, _ = host_client.receive_message(self.steps)
        if message != {"done": step}:
            raise OSError((message or {}).get("error", f"node{self.number} ended before its {step}"))

    def become_host(self, settings: dict[str, Any], steps: socket.socket) -> None:
        kernel_calls.private_mounts()
        kernel_calls.unshare(kernel_calls.CLONE_NEWNET | kernel_calls.CLONE_NEWUTS | kernel_calls.CLONE_NEWIPC)
        kernel_calls.set_host_name(f"node{self.number}")
        cover(PRIVATE_FOLDERS, settings["visible"], lambda: self.mount_private(settings))
        for name in ("all", "default"):  # one address for each host, and no messages that nobody asked for
            try:
                pathlib.Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
            except OSError:
                pass  # a kernel without IPv6
        host_client.send_message(steps, {"done": "namespaces"})
        message, _ = host_client.receive_message(steps)
        if message is None:
            return
        ip_commands("link set lo up", f"link set {INTERFACE} {message['device']}", f"address add {address(self.number)}/16 dev {INTERFACE}", f"link set {INTERFACE} up")
        server = HostServer(f"{host_client.CLUSTER_FOLDER}/{host_client.socket_name(self.number)}")
        host_client.send_message(steps, {"done": "server"})
        steps.close()
        server.serve()

    def mount_private(self, settings: dict[str, Any]) -> None:
        kernel_calls.mount_processes()
        kernel_calls.mount_tmpfs("/dev/shm", settings["shm_size"])
        kernel_calls.mount_tmpfs("/tmp", settings["tmp_size"])
        kernel_calls.mount_tmpfs(PRIVATE)
        kernel_calls.bind(f"{host_client.CLUSTER_FOLDER}/etc_hosts", "/etc/hosts")
        os.chdir("/")

    def finish(self, device: str) -> None:
        """`device`: further properties of the interface, as `ip link set` takes them."""
        host_client.send_message(self.steps, {"device": device})
        self.wait_for("server")
        self.steps.close()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)  # returns when all processes of the host have ended


class Bridge:
    """A bridge of the kernel, and a pair of virtual Ethernet devices for each host."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        lines = ["link set lo up", "link add bridge0 type bridge", "link set bridge0 up"]
        for host in hosts:
            port = f"port{host.number}"
            lines += [f"link add {port} type veth peer name {INTERFACE} netns {host.pid}", f"link set {port} master bridge0", f"link set {port} up"]
        ip_commands(*lines)

    def device(self, host: Host) -> str:
        return f"address {hardware_address(host.number)}"

    def link(self, host: int, up: bool) -> None:
        ip_commands(f"link set port{host} {'up' if up else 'down'}")

    def command(self, line: str) -> str:
        raise OSError(f"`{line}`: only a cluster with network conditions has a relay")


class Relay:
    """The program network_relay between TAP devices: delay, rate and loss."""

    def __init__(self, hosts: Sequence[Host], settings: dict[str, Any]) -> None:
        self.mtu = settings["mtu"]
        options = [word for name in ("delay", "rate", "loss", "seed", "mtu") for word in (f"--{name}", str(settings[name]))]
        self.process = subprocess.Popen([settings["program"], "--ports", str(len(hosts)), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer("start")
        ip_commands(*(f"link set dev tap{host.number} netns {host.pid} name {INTERFACE}" for host in hosts))

    def answer(self, line: str) -> str:
        text = (self.process.stdout.readline() if self.process.stdout else "").strip()
        if not text.startswith("ok"):
            raise OSError(f"network_relay, `{line}`: {text or 'it has ended'}")
        return text[2:].strip()

    def device(self, host: Host) -> str:
        # A TAP device drops what its queue has no room for, where other devices let the sender wait.
        return f"address {hardware_address(host.number)} mtu {self.mtu} txqueuelen 10000"

    def link(self, host: int, up: bool) -> None:
        self.command(f"{'up' if up else 'down'} {host}")

    def command(self, line: str) -> str:
        if self.process.stdin:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        return self.answer(line)


def write_cluster_folder(settings: dict[str, Any]) -> None:
    folder = pathlib.Path(host_client.CLUSTER_FOLDER)
    for path in (folder, SHARED, PRIVATE):
        os.makedirs(path)
    if settings["shared_size"]:
        kernel_calls.mount_tmpfs(SHARED, settings["shared_size"])
    os.chmod(SHARED, 0o1777)
    numbers = range(1, settings["hosts"] + 1)
    (folder / "etc_hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{address(k)} node{k}\n" for k in numbers))
    (folder / "hostfile").write_text("".join(f"node{k} slots={settings['slots']}\n" for k in numbers))
    script = pathlib.Path(__file__).resolve().with_name("remote_shell.py")
    shell = pathlib.Path(REMOTE_SHELL)
    shell.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -B {shlex.quote(str(script))} "$@"\n')
    shell.chmod(0o755)


def serve(control: socket.socket, hosts: dict[int, Host], switch: Bridge | Relay) -> None:
    """Requests about hosts and links, until the control connection ends."""
    while True:
        message, _ = host_client.receive_message(control)
        if message is None:
            return
        answer: dict[str, Any] = {"done": ""}
        try:
            if message["do"] == "link":
                switch.link(message["host"], message["up"])
            elif message["do"] == "network":
                answer = {"done": switch.command(message["line"])}
            elif message["do"] == "kill":
                host = hosts.pop(message["host"])
                switch.link(host.number, False)  # first: the others hear nothing of the sockets that close
                host.kill()
        except OSError as e:
            answer = {"error": str(e)}
        host_client.send_message(control, answer)


def run_cluster(settings: dict[str, Any], control: socket.socket) -> None:
    kernel_calls.private_mounts()
    kernel_calls.unshare(kernel_calls.CLONE_NEWNET)

    def mounts() -> None:
        kernel_calls.mount_processes()
        kernel_calls.mount_tmpfs("/run")

    cover(["/run"], settings["visible"], mounts)
    os.chdir("/")
    write_cluster_folder(settings)
    hosts = [Host(number, settings, control) for number in range(1, settings["hosts"] + 1)]
    switch = Relay(hosts, settings["network"]) if settings["network"] else Bridge(hosts)
    for host in hosts:
        host.finish(switch.device(host))
    host_client.send_message(control, {"done": "start"})
    serve(control, {host.number: host for host in hosts}, switch)


def end_with_parent(parent: int) -> None:
    """`parent`: its process id, 0 where it is in another PID namespace."""
    kernel_calls.signal_at_parents_death(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it ended before the kernel knew


def main() -> None:
    settings = json.loads(sys.argv[1])
    control = socket.socket(fileno=settings["control"])
    control.set_inheritable(False)
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    try:
        if os.geteuid() != 0:
            kernel_calls.become_root_of_user_namespace()
        end_with_parent(settings["parent"])  # credentials that change may cancel the signal
        kernel_calls.unshare(kernel_calls.CLONE_NEWPID)
        pid = os.fork()
    except OSError as e:
        host_client.send_message(control, {"error": str(e)})
        sys.exit(1)
    if pid:
        host_client.send_message(control, {"pid": pid})
        control.close()
        os.waitpid(pid, 0)
        return
    end_with_parent(0)
    try:
        run_cluster(settings, control)
    except Exception as e:
        report(control, e)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
