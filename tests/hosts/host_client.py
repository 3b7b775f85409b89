"""How a process asks the init of a host to run a command there: one message over a Unix socket, with the descriptors of the streams."""
from __future__ import annotations

import array
import json
import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any

CLUSTER_FOLDER = "/run/hosts"  # on every host: sockets of the inits, the hostfile, the remote shell
MESSAGE_LIMIT = 1 << 20


def socket_name(host: int) -> str:
    return f"node{host}"


def send_message(connection: socket.socket, message: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    connection.sendmsg([json.dumps(message).encode()], ancillary)


def receive_message(connection: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """The message, or None at the end of the connection; the descriptors that came along."""
    data, ancillary, _, _ = connection.recvmsg(MESSAGE_LIMIT, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    descriptors = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[:len(content) - len(content) % descriptors.itemsize])
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    return (json.loads(data) if data else None), list(descriptors)


def connect(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MESSAGE_LIMIT)
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def start(path: str, argv: Sequence[str], env: Mapping[str, str], cwd: str, streams: Sequence[int], outlives: bool = False) -> socket.socket:
    """Starts a command on the host of socket `path`. Its exit status arrives on the connection; closing that earlier kills the command, unless it
    `outlives` who asked for it."""
    connection = connect(path)
    send_message(connection, {"argv": list(argv), "env": dict(env), "cwd": cwd, "outlives": outlives}, streams)
    return connection


def status(connection: socket.socket) -> int | None:
    """Exit code of the command, -N after signal N; None when the host has gone."""
    try:
        message, _ = receive_message(connection)
    except ConnectionError:
        return None
    return None if message is None else message["status"]


def ask(path: str, question: str) -> Any:
    with connect(path) as connection:
        send_message(connection, {"ask": question})
        message, _ = receive_message(connection)
    if message is None:
        raise ConnectionError(f"the host of {path} has gone")
    return message["answer"]
