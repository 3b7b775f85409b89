#!/usr/bin/env python3
"""The network between hosts under conditions: delay, rate, loss, links that go down.

    network_test.py --bin DIR [unittest arguments]

Times are compared only where a slow machine can but lengthen them. The model in time itself is tested by frame_switch_test.cpp.
Exit code 77 where no cluster with a relay can be made.
"""
from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cluster import SKIPPED, Cluster, ClusterError, Conditions, HostProcess, unavailable
from harness import BIN, main

PYTHON = sys.executable
LIMIT = 100.0  # seconds: against hangs

# Receives on port 5000 whatever comes until the end of the connection; answers with its digest. `echo`: returns each byte at once.
SERVE = """
import hashlib, socket, sys
listener = socket.create_server(("0.0.0.0", 5000))
print("listening", flush=True)
connection, _ = listener.accept()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
digest = hashlib.sha256()
while data := connection.recv(1 << 16):
    digest.update(data)
    if sys.argv[1] == "echo":
        connection.sendall(data)
        print(data.decode(), flush=True)
connection.sendall(digest.digest())
"""
# Round trips in seconds, the connection's own first.
ROUND_TRIPS = """
import json, socket, time
start = time.monotonic()
connection = socket.create_connection(("node2", 5000))
times = [time.monotonic() - start]
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for k in range(5):
    start = time.monotonic()
    connection.sendall(b"x")
    connection.recv(1)
    times.append(time.monotonic() - start)
print(json.dumps(times))
"""
# Sends N bytes: seconds until the answer, whether it is right, TCP segments sent again.
SEND = """
import hashlib, json, random, socket, sys, time
data = random.Random(1).randbytes(int(sys.argv[1]))
start = time.monotonic()
connection = socket.create_connection(("node2", 5000))
connection.sendall(data)
connection.shutdown(socket.SHUT_WR)
right = connection.recv(100) == hashlib.sha256(data).digest()
seconds = time.monotonic() - start
names, values = [line.split()[1:] for line in open("/proc/net/snmp") if line.startswith("Tcp:")]
print(json.dumps([seconds, right, int(dict(zip(names, values))["RetransSegs"])]))
"""
# Sends a line each time one is read.
SEND_LINES = """
import socket, sys
connection = socket.create_connection(("node2", 5000))
for line in sys.stdin:
    connection.sendall(line.strip().encode())
    connection.recv(100)
"""


class Network(unittest.TestCase):
    def make(self, conditions: Conditions, hosts: int = 2) -> Cluster:
        return self.enterContext(Cluster(hosts=hosts, network=conditions, relay=BIN / "network_relay"))

    def server(self, cluster: Cluster, kind: str) -> HostProcess:
        process = self.enterContext(cluster.start([PYTHON, "-c", SERVE, kind], host=2, stdout=subprocess.PIPE))
        self.assertEqual(process.stdout.readline(), b"listening\n")
        return process

    def client(self, cluster: Cluster, script: str, *args: object) -> list:
        done = cluster.run([PYTHON, "-c", script, *map(str, args)], timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def counts(self, cluster: Cluster) -> dict[str, int]:
        words = cluster.network("count").split()
        return dict(zip(words[::2], map(int, words[1::2])))

    def test_delay(self) -> None:
        cluster = self.make(Conditions(delay=0.03))
        self.server(cluster, "echo")
        for seconds in self.client(cluster, ROUND_TRIPS):
            self.assertGreaterEqual(seconds, 0.06)

    def test_delay_is_changed(self) -> None:
        cluster = self.make(Conditions())
        cluster.network("delay 0.05")
        self.server(cluster, "echo")
        for seconds in self.client(cluster, ROUND_TRIPS):
            self.assertGreaterEqual(seconds, 0.1)

    def test_rate(self) -> None:
        cluster = self.make(Conditions(rate=20e6))
        self.server(cluster, "digest")
        sent = 2_000_000
        seconds, right, _ = self.client(cluster, SEND, sent)
        self.assertTrue(right)
        self.assertGreaterEqual(seconds, sent * 8 / 20e6)

    def test_loss(self) -> None:
        """What TCP brings is whole, and some of it was sent twice."""
        cluster = self.make(Conditions(loss=0.05, seed=3, mtu=1500))
        self.server(cluster, "digest")
        _, right, again = self.client(cluster, SEND, 1_000_000)
        self.assertTrue(right)
        self.assertGreater(again, 0)
        self.assertGreater(self.counts(cluster)["lost"], 0)

    def test_without_loss_nothing_is_lost(self) -> None:
        cluster = self.make(Conditions())
        self.server(cluster, "digest")
        self.assertTrue(self.client(cluster, SEND, 20_000_000)[1])
        self.assertEqual(self.counts(cluster)["lost"], 0)
        self.assertGreater(self.counts(cluster)["delivered"], 1000)

    def test_link_down_and_up(self) -> None:
        """What is sent over a link that is down arrives when it is up again, as TCP has it."""
        cluster = self.make(Conditions())
        server = self.server(cluster, "echo")
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as pipe:
            client = self.enterContext(cluster.start([PYTHON, "-c", SEND_LINES], stdin=pipe.stdout.fileno()))
            pipe.stdin.write(b"before\n")
            pipe.stdin.flush()
            self.assertEqual(server.stdout.readline(), b"before\n")
            cluster.link(2, up=False)
            refused = self.counts(cluster)["refused"]
            pipe.stdin.write(b"during\n")
            pipe.stdin.flush()
            end = time.monotonic() + LIMIT
            while self.counts(cluster)["refused"] <= refused:
                self.assertLess(time.monotonic(), end, "nothing was sent")
                time.sleep(0.02)
            cluster.link(2, up=True)
            self.assertEqual(server.stdout.readline(), b"during\n")
            pipe.stdin.close()
            self.assertEqual(client.wait(LIMIT), 0)

    def test_killed_host(self) -> None:
        """The others stay connected."""
        cluster = self.make(Conditions(), hosts=3)
        cluster.kill_host(3)
        self.server(cluster, "digest")
        self.assertTrue(self.client(cluster, SEND, 1_000_000)[1])

    def test_refused(self) -> None:
        cluster = self.make(Conditions())
        for line, says in (("delay -1", "-1"), ("loss 2", "2"), ("rate fast", "fast"), ("down 3", "3"), ("down x", "x"), ("jitter 1", "jitter")):
            with self.assertRaisesRegex(ClusterError, f"error.*`{says}`"):
                cluster.network(line)
        with self.assertRaisesRegex(ClusterError, "network_relay"):
            self.make(Conditions(loss=2))


if __name__ == "__main__":
    missing = unavailable(relay=True)
    if missing:
        print(f"skipped: {missing}")
        sys.exit(SKIPPED)
    main()
