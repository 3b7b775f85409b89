#!/usr/bin/env python3
"""Jobs that go wrong under mpirun: each ends promptly, non-zero, with one message, and leaves nothing in /dev/shm.

    mpi_failures.py MPI_SUITE MPIRUN [FLAGS...]
"""
import glob
import os
import subprocess
import sys
import time
import unittest

PROGRAM, MPIRUN = None, None
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")


class Failures(unittest.TestCase):
    def run_job(self, ranks, *args, messages=1):
        before = set(glob.glob("/dev/shm/sialx-*"))
        start = time.monotonic()
        p = subprocess.run([MPIRUN[0], "-n", str(ranks), *MPIRUN[1:], PROGRAM, *args], env=ENV, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=60)
        self.assertLess(time.monotonic() - start, 15)
        self.assertNotEqual(p.returncode, 0)
        errors = [line for line in p.stderr.splitlines() if line.startswith("error:")]
        self.assertEqual(len(errors), messages, p.stderr)
        self.assertEqual(set(glob.glob("/dev/shm/sialx-*")) - before, set())
        return p.returncode, p.stderr

    def on_nodes(self, ranks, scenario, messages=1):
        for extra in ([], ["--ranks-per-node", "1"]):
            with self.subTest(extra=extra):
                yield self.run_job(ranks, *extra, scenario, messages=messages)

    def test_mismatch(self):
        for _, err in self.on_nodes(3, "mismatch"):
            self.assertIn("rank 0 is at a barrier (program.sialx:10), rank 2 is at a `collective` sum (program.sialx:8)", err)

    def test_rank_ends_early(self):
        for _, err in self.on_nodes(3, "ends-early"):
            self.assertIn("rank 0 is at a barrier (program.sialx:10), rank 1 is at the end of the job", err)

    def test_abort_of_one(self):
        for code, err in self.on_nodes(4, "aborts"):
            self.assertEqual(code, 7)
            self.assertIn("error: rank one gives up", err)

    def test_abort_of_all(self):
        for code, _ in self.on_nodes(4, "both-abort"):
            self.assertEqual(code, 7)

    def test_killed_rank(self):
        for _ in self.on_nodes(4, "dies", messages=0):
            pass

    def test_small_shared_memory(self):
        for _, err in self.on_nodes(2, "commit"):
            self.assertIn("/dev/shm is too small", err)
            self.assertIn("--shm-size", err)
            self.assertIn("remount,size=", err)

    def test_service_throws(self):
        _, err = self.run_job(2, "--ranks-per-node", "1", "helper-throws")
        self.assertIn("this request is refused", err)

    def test_launcher_of_another_mpi(self):
        """Each of its processes would run the whole job by itself. The first one says so."""
        for rank, says in (("0", True), ("1", False)):
            alone = {k: v for k, v in ENV.items() if not k.startswith(("OMPI_COMM", "PMI", "SLURM"))}
            p = subprocess.run([PROGRAM, "conform"], env={**alone, "PMI_SIZE": "2", "PMI_RANK": rank}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            self.assertEqual((p.returncode, "error: 2 processes were started, but they do not find each other" in p.stderr), (3, says), p.stderr)

    def test_no_worker_left(self):
        _, err = self.run_job(2, "--servers", "2", "conform")
        self.assertIn("--servers 2", err)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    PROGRAM, MPIRUN = sys.argv[1], sys.argv[2:]
    unittest.main(argv=sys.argv[:1], verbosity=2)
