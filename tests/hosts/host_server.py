"""The init of a host: process 1 of its PID namespace. It runs commands for others and reaps what they leave.

With it the kernel ends all processes of the host. One thread; nothing here waits for a single command.
"""
from __future__ import annotations

import os
import pathlib
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

import host_client

PRIVATE_FOLDERS = ("/dev/shm", "/tmp")


def processes() -> list[dict[str, Any]]:
    """All processes of this PID namespace but for its init and those that have ended."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit() or folder.name == "1":
            continue
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # it has just ended
        if state not in ("Z", "X"):
            found.append({"pid": int(folder.name), "command": " ".join(words).strip()})
    return sorted(found, key=lambda p: p["pid"])


def entries() -> dict[str, list[str]]:
    return {folder: sorted(os.listdir(folder)) for folder in PRIVATE_FOLDERS}


def new_entries(before: dict[str, list[str]]) -> dict[str, list[str]]:
    """Without those that were there when the host began: what this machine lets it see, as a checkout below /tmp."""
    return {folder: [name for name in names if name not in before[folder]] for folder, names in entries().items()}


def execute(message: dict[str, Any], descriptors: list[int]) -> None:
    """In a child: becomes the command of the message."""
    for name in (signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD):
        signal.signal(name, signal.SIG_DFL)
    os.setsid()
    for stream, descriptor in enumerate(descriptors):
        os.dup2(descriptor, stream)
    os.closerange(3, 1024)
    try:
        os.chdir(message["cwd"])
        os.execvpe(message["argv"][0], message["argv"], message["env"])
    except OSError as e:
        print(f"error: {e.filename}: {e.strerror} on {socket.gethostname()}", file=sys.stderr, flush=True)


class HostServer:
    def __init__(self, path: str) -> None:
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(64)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        self.commands: dict[int, socket.socket] = {}  # by process id
        self.outlives: set[int] = set()
        before = entries()
        self.answers: dict[str, Callable[[], Any]] = {"processes": processes, "entries": lambda: new_entries(before)}
        self.wakeup, wakeup_write = os.pipe()
        os.set_blocking(self.wakeup, False)
        os.set_blocking(wakeup_write, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup_write)
        self.selector.register(self.wakeup, selectors.EVENT_READ, self.reap)

    def serve(self) -> None:
        while True:
            for key, _ in self.selector.select():
                key.data(key.fileobj)

    def accept(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        self.selector.register(connection, selectors.EVENT_READ, self.request)

    def request(self, connection: socket.socket) -> None:
        """A connection brings one request; what can be read after that is its end."""
        if connection.fileno() < 0:
            return  # closed by a function called just before, for an event of the same round
        try:
            message, descriptors = host_client.receive_message(connection)
        except ConnectionError:
            message, descriptors = None, []
        if message is None:
            self.abandon(connection)
        elif "ask" in message:
            self.reply(connection, {"answer": self.answers[message["ask"]]()})
        else:
            self.start(connection, message, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)

    def start(self, connection: socket.socket, message: dict[str, Any], descriptors: list[int]) -> None:
        pid = os.fork()
        if pid == 0:
            try:
                execute(message, descriptors)
            finally:
                os._exit(127)
        self.commands[pid] = connection
        if message["outlives"]:
            self.outlives.add(pid)

    def abandon(self, connection: socket.socket) -> None:
        """Who asked has gone: its command goes too, with its process group, but for one of another host: that hears nothing of it."""
        self.selector.unregister(connection)
        connection.close()
        for pid, asker in list(self.commands.items()):
            if asker is connection:
                del self.commands[pid]
                if pid in self.outlives:
                    continue
                try:
                    os.killpg(pid, signal.SIGKILL)
                except ProcessLookupError:
                    os.kill(pid, signal.SIGKILL)  # it has not come to setsid() yet

    def reply(self, connection: socket.socket, message: dict[str, Any]) -> None:
        self.selector.unregister(connection)
        try:
            host_client.send_message(connection, message)
        except ConnectionError:
            pass  # nobody waits for it any more
        connection.close()

    def reap(self, wakeup: int) -> None:
        os.read(wakeup, 1 << 12)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.outlives.discard(pid)
            connection = self.commands.pop(pid, None)
            if connection is not None:
                self.reply(connection, {"status": os.waitstatus_to_exitcode(status)})
