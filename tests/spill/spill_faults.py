#!/usr/bin/env python3
"""The places where blocks go fail or are too small: one message with the statement, the array and the place, and nothing left behind.

    spill_faults.py --bin DIR [unittest arguments]

Tests that need a small disk or another user are skipped where they cannot be had.
"""
import os
import pathlib
import random
import re
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ENV, main, mpirun
from in_scratch import NO_FILES, PROGRAMS, SMALL, InScratch, blocks, private_mounts, shm_files

KILLS = 30
TWO_ARRAYS = [PROGRAMS / "second_array.sialx", *SMALL, *NO_FILES]


class SpillFaults(InScratch):
    # ---- places that cannot be used
    def test_no_such_directory(self):
        self.refused("sialrun", PROGRAMS / "touch.sialx", *SMALL, "--set", "times=1", "--spill", "nowhere", *NO_FILES, code=3, says=("nowhere", "No such file or directory"))

    def test_file_instead_of_a_directory(self):
        self.write("file", "")
        self.refused("sialrun", PROGRAMS / "touch.sialx", *SMALL, "--set", "times=1", "--spill", "file", *NO_FILES, code=3, says=("file", "Not a directory", "this is a file: name a folder"))

    def test_directory_that_cannot_be_written(self):
        how = self.somebody_else()
        self.scratch.chmod(0o555)
        self.refused("sialrun", PROGRAMS / "touch.sialx", *SMALL, "--set", "times=1", "--spill", "scratch", *NO_FILES, code=3, says=("scratch", "Permission denied"), **how)

    def test_memory_of_other_nodes(self):
        self.refused("sialrun", PROGRAMS / "touch.sialx", *SMALL, "--set", "times=1", "--spill", "nodes", *NO_FILES, code=3, says=("nodes", "--spill"))

    def test_several_ranks_say_it_once(self):
        self.refused("sialrun", PROGRAMS / "touch.sialx", *SMALL, "--set", "times=1", "--spill", "nowhere", *NO_FILES, launcher=mpirun(3), code=3, says=("nowhere",))

    # ---- places that are too small
    def assert_names_all(self, err):
        """The statement, the array, the directory."""
        self.assertRegex(err, r"second_array\.sialx:\d+:\d+: ")
        self.assertRegex(err, r"`?(one|two)(`|\[)")
        self.assertIn("scratch", err)

    def test_limit_of_the_directory(self):
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                small = ("--memory", f"{8 // max(1, ranks)}MB", "--spill", "scratch:20MB")
                self.assert_names_all(self.refused("sialrun", *TWO_ARRAYS, *small, launcher=mpirun(ranks), code=3, says=("scratch",)))
                self.assert_nothing_left()

    def test_last_checkpoint_is_good(self):
        code, out, err = self.run_tool("sialrun", *TWO_ARRAYS, "--memory", "8MB", "--spill", "scratch:20MB", "--checkpoint-every", "0")
        self.assertEqual(code, 3, err)
        self.assertIn("one is filled", out)
        self.assert_names_all(err)
        out = self.must("sialrun", *TWO_ARRAYS, "--memory", "8MB", "--spill", "scratch:60MB", "--restart")
        self.assertNotIn("one is filled", out)
        self.assertEqual(float(re.search(r"total = (\S+)", out)[1]), 64 * 200 * 200 * 6)

    def test_full_disk(self):
        mounts = private_mounts()
        if not mounts:
            self.skipTest("no private mounts here")
        program = shlex.join(self.command("sialrun", *TWO_ARRAYS, "--memory", "8MB", "--spill", "scratch"))
        for size in ("1M", "20M", "60M"):
            with self.subTest(size=size):
                script = f"mount -t tmpfs -o size={size} tmpfs scratch && {{ {program}; c=$?; ls -A scratch >left; exit $c; }}"
                p = subprocess.run([*mounts, "sh", "-c", script], cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
                self.assertEqual(self.read("left"), b"")
                if size == "60M":
                    self.assertEqual(p.returncode, 0, p.stderr)
                    continue
                self.assertEqual(p.returncode, 3, p.stderr)
                self.assertEqual(p.stderr.count("error:"), 1, p.stderr)
                self.assertRegex(p.stderr, "is full|No space left on device")
                self.assert_names_all(p.stderr)

    def test_memory_below_one_iteration(self):
        """The message says how much is enough, and so it is."""
        args = [PROGRAMS / "touch.sialx", *blocks(3, 900), "--set", "times=1", "--spill", "scratch", *NO_FILES]
        err = self.refused("sialrun", *args, "--memory", "10MB", code=3, says=("out of memory for ",))
        self.assertRegex(err, r"touch\.sialx:\d+:\d+: ")
        least = re.search(r"--memory (\d+(?:\.\d+)? ?[kMG]i?B)", err)
        self.assertIsNotNone(least, err)
        self.must("sialrun", *args, "--memory", least[1])

    def test_block_that_cannot_be_read(self):
        """The file has become too short: the message names block, statement and place."""
        command = self.command("sialrun", PROGRAMS / "touch.sialx", *SMALL, "--set", "times=100000", "--memory", "3MB", "--spill", "scratch", *NO_FILES)
        p = subprocess.Popen(command, cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            self.assertEqual(p.stdout.readline().strip().split()[-1], "filled")
            time.sleep(0.1)
            for link in pathlib.Path(f"/proc/{p.pid}/fd").iterdir():
                if os.readlink(link).startswith(f"{self.scratch}/"):
                    os.truncate(link, 0)
            _, err = p.communicate(timeout=60)
        finally:
            p.kill()
        self.assertEqual(p.returncode, 3, err)
        self.assertEqual(err.count("error:"), 1, err)
        self.assertRegex(err, r"touch\.sialx:\d+:\d+: ")
        self.assertRegex(err, r"block `?a(`|\[).*: cannot read blocks from \S*scratch \(\w+\): Input/output error")
        self.assertIn("--spill", err)
        self.assert_nothing_left()

    # ---- jobs that end early
    def test_killed_at_random(self):
        """Nothing is left in the directory, whatever the job was doing."""
        before, rng, in_use = shm_files(), random.Random(28), 0
        for kill in range(KILLS):
            ranks = 2 if kill % 10 == 9 else 0
            command = [*mpirun(ranks), *self.command("sialrun", PROGRAMS / "grow.sialx", *SMALL, "--set", "steps=100000", "--memory", "3MB", "--spill", "scratch", *NO_FILES)]
            p = subprocess.Popen(command, cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                time.sleep(rng.uniform(0.01, 0.4) + (0.5 if ranks else 0))
                ran = self.ranks_of(p, ranks)
                in_use += any(self.uses_scratch(pid) for pid in ran)
                for pid in ran[:1]:
                    os.kill(pid, signal.SIGKILL)
                p.wait(timeout=30)
            finally:
                p.kill()
            self.assertNotEqual(p.returncode, 0)
            self.assert_nothing_left()
        self.assertGreater(in_use, KILLS // 2)
        self.assertEqual(shm_files(), before)

    def ranks_of(self, p, ranks):
        if not ranks:
            return [p.pid]
        return [int(pid) for pid in subprocess.run(["pgrep", "-P", str(p.pid), "sialrun"], capture_output=True, text=True).stdout.split()]

    def uses_scratch(self, pid):
        """Whether the process has a file in the scratch directory."""
        found = False
        for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            try:
                found = found or os.readlink(link).startswith(f"{self.scratch}/")
            except OSError:
                pass  # closed meanwhile
        return found


if __name__ == "__main__":
    main()
