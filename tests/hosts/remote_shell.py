#!/usr/bin/env python3
"""What mpirun gets in place of ssh: remote_shell.py NODE COMMAND...

The command line is joined by blanks and read by a shell of the other host, as ssh does it. nsenter cannot do this: a process may enter
PID namespaces below its own, not those beside it. Variables of the environment go along, but for those by which MPI processes are told
who they are. When the other host is killed, nothing is heard of it: this program then waits as long as who started it lives.
"""
from __future__ import annotations

import os
import sys
import time

import host_client

NOT_SENT = ("OMPI_", "PMIX_", "ORTE_", "OPAL_")


def main() -> int:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    parent = os.getppid()
    node, command = sys.argv[1], " ".join(sys.argv[2:])
    env = {name: value for name, value in os.environ.items() if not name.startswith(NOT_SENT)}
    try:
        connection = host_client.start(f"{host_client.CLUSTER_FOLDER}/{node}", ["/bin/sh", "-c", command], env, "/", (0, 1, 2), outlives=True)
    except OSError as e:
        print(f"error: no connection to {node}: {e.strerror}", file=sys.stderr)
        return 255
    code = host_client.status(connection)
    if code is None:
        while os.getppid() == parent:
            time.sleep(0.2)
        return 255
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
