#!/usr/bin/env python3
"""The world goes wrong: each fault must end the job promptly, non-zero, with one clear message and nothing left behind.

    faults.py --bin DIR [unittest arguments]

Tests that need a private mount table (a small /dev/shm, a full disk) are skipped where `unshare` may not make one.
"""
import glob
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy

from harness import BIN, ENV, InFolder, main, mpirun

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"


def sialrun(*args):
    return [str(BIN / "sialrun"), *map(str, args)]


def private_mounts():
    """Command prefix that runs a shell command in its own mount table, or None."""
    for prefix in (["unshare", "-m"], ["unshare", "-rm"]):
        probe = subprocess.run([*prefix, "sh", "-c", "mount -t tmpfs -o size=1M tmpfs /mnt"], capture_output=True)
        if probe.returncode == 0:
            return prefix
    return None


def shm_files():
    return set(glob.glob("/dev/shm/*sialx*"))


class Faults(InFolder):
    def run_job(self, command, timeout=60):
        start = time.monotonic()
        p = subprocess.run(command, cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
        return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace"), time.monotonic() - start

    def assert_one_message(self, err, text):
        self.assertIn(text, err)
        self.assertEqual(err.count("error:"), 1, f"not exactly one error line:\n{err}")

    def test_killed_rank(self):
        before = shm_files()
        p = subprocess.Popen([*mpirun(4), *sialrun("--results", "none", "--segments", "ao=4,4,4", "--set", "norb=3",
                                                   PROGRAMS / "endless.sialx")],
                             cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.assertIn(b"running", p.stdout.readline())
            children = subprocess.run(["pgrep", "-P", str(p.pid), "sialrun"], capture_output=True, text=True).stdout.split()
            self.assertEqual(len(children), 4)
            os.kill(int(children[2]), signal.SIGKILL)
            p.communicate(timeout=30)
        finally:
            p.kill()
        self.assertNotEqual(p.returncode, 0)
        for c in children:
            self.assertFalse(os.path.exists(f"/proc/{c}/exe"), "a rank is still there")
        self.assertEqual(shm_files(), before, "shared memory was left behind")

    def test_one_rank_fails(self):
        for n, extra in ((4, []), (3, ["--ranks-per-node", "1"])):
            with self.subTest(ranks=n, extra=extra):
                code, _, err, seconds = self.run_job([*mpirun(n), *sialrun("--results", "none", *extra, PROGRAMS / "one_rank_fails.sialx")])
                self.assertNotEqual(code, 0)
                self.assert_one_message(err, "one_rank_fails.sialx:9")
                self.assertIn("division by zero", err)
                self.assertLess(seconds, 30)

    def test_one_rank_is_full(self):
        """Whichever rank it is, on one node and on several, in the simulator too: its message, and what rank 0 has said before."""
        full = sialrun("--results", "none", "--set", "norb=4", "--segments", "ao=100,100,100,100", "--memory", "400KiB", PROGRAMS / "one_rank_full.sialx")
        worlds = [["--simulate", f"ranks=3,seed={seed}", "--ranks-per-node", "1"] for seed in (1, 2, 3)] + [["--simulate", "ranks=2,seed=1,servers=1"]]
        for launcher, extra in [([], w) for w in worlds] + [(mpirun(3), ["--ranks-per-node", "1"])]:
            with self.subTest(extra=extra, mpi=bool(launcher)):
                code, out, err, seconds = self.run_job([*launcher, *full, *extra])
                self.assertEqual(code, 3, err)
                self.assert_one_message(err, "one_rank_full.sialx:")
                for text in ("local `big`", "more are needed", "rank 1", "--memory"):
                    self.assertIn(text, err)
                self.assertNotIn("deadlock", err)
                self.assertEqual(out.split(), ["before"])
                self.assertLess(seconds, 30)

    def test_another_rank_is_full(self):
        """A block that its owner has no room for: the message is about the statement that put it."""
        job = sialrun("--results", "none", "--set", "norb=2", "--segments", "ao=100,100", "--memory", "620KiB", HERE.parent / "lookahead/product.sialx")
        # Under MPI several times: both ranks fail, their helpers too, in any order.
        for launcher, extra in (([], ["--simulate", "ranks=2,seed=1", "--ranks-per-node", "1"]), *[(mpirun(2), ["--ranks-per-node", "1"])] * 4):
            with self.subTest(mpi=bool(launcher)):
                code, _, err, seconds = self.run_job([*launcher, *job, *extra])
                self.assertEqual(code, 3, err)
                self.assertRegex(err, r"product\.sialx:\d+:\d+: out of memory for ")
                self.assertIn("--memory", err)
                place = int(re.search(r"product\.sialx:(\d+)", err)[1])
                if "sent it" in err:
                    self.assertTrue((HERE.parent / "lookahead/product.sialx").read_text().splitlines()[place - 1].strip().startswith("put"), err)
                self.assertLess(seconds, 30)

    def test_reason_before_stop_is_printed(self):
        program = self.dir / "stops.sialx"
        program.write_text('sial stops\nscalar x\nsip_barrier\nprintln "the reason"\nstop\nendsial stops\n')
        for _ in range(3):
            code, out, err, seconds = self.run_job([*mpirun(4), *sialrun(program)])
            self.assertEqual(code, 1)
            self.assertIn("the reason", out)
            self.assert_one_message(err, "stops.sialx:5")

    def test_only_worker_fails_beside_a_server(self):
        program = self.dir / "fails.sialx"
        program.write_text("sial fails\nint i\nint j\ni = 0\nj = 1/i\nendsial fails\n")
        code, _, err, seconds = self.run_job([*mpirun(2), *sialrun(program, "--servers", 1)])
        self.assertEqual(code, 1)
        self.assert_one_message(err, "fails.sialx:5")
        self.assertLess(seconds, 20)

    def test_mismatched_collectives(self):
        code, _, err, seconds = self.run_job([*mpirun(3), *sialrun("--results", "none", PROGRAMS / "mismatch.sialx")])
        self.assertNotEqual(code, 0)
        self.assert_one_message(err, "mismatch.sialx:8")
        self.assertIn("mismatch.sialx:10", err)
        self.assertLess(seconds, 30)

    def test_full_disk(self):
        mounts = private_mounts()
        if not mounts:
            self.skipTest("no private mounts here")
        disk = self.dir / "disk"
        disk.mkdir()
        inner = " ".join(sialrun("--output-dir", disk, "--set", "norb=4", "--segments", "ao=40,40,40,40", PROGRAMS / "large.sialx"))
        code, out, err, _ = self.run_job([*mounts, "sh", "-c", f"mount -t tmpfs -o size=64k tmpfs {disk} && {inner}; c=$?; ls {disk}; exit $c"])
        self.assertIn("computed", out)
        self.assertNotIn(code, (0, -signal.SIGBUS, -signal.SIGSEGV, -signal.SIGABRT))
        self.assert_one_message(err, "results.h5")
        self.assertNotIn("results.h5", out, "a broken results file was left under its final name")

    def test_no_place_for_results(self):
        """Found out before the job computes, not after."""
        (self.dir / "file").write_text("not a folder")
        for n in (1, 2):
            code, out, err, _ = self.run_job([*(mpirun(n) if n > 1 else []), *sialrun(
                "--output-dir", self.dir / "file", "--set", "norb=1", "--segments", "ao=2", PROGRAMS / "large.sialx")])
            self.assertEqual(code, 3, err)
            self.assertNotIn("computed", out)
            self.assert_one_message(err, "results.h5")

    def test_small_shared_memory(self):
        mounts = private_mounts()
        if not mounts:
            self.skipTest("no private mounts here")
        run = " ".join([*mpirun(2), *sialrun("--results", "none", "--set", "norb=4", "--segments", "ao=400,400,400,400", PROGRAMS / "large.sialx")])
        code, _, err, _ = self.run_job([*mounts, "sh", "-c", f"mount -t tmpfs -o size=2M tmpfs /dev/shm && {run}"])
        self.assertNotEqual(code, 0)
        self.assert_one_message(err, "/dev/shm")
        self.assertNotIn("Bus error", err)
        self.assertLess(int(re.search(r"remount,size=(\d+)M", err)[1]), 100, err)  # of 8192 that `--memory` allows

    def test_truncated_data_file(self):
        path = self.dir / "data.h5"
        with h5py.File(path, "w") as f:
            f["h"] = numpy.arange(16.0).reshape(4, 4)
        (self.dir / "job.toml").write_text(f'programs = ["{PROGRAMS}/reads_array.sialx"]\n[segments]\nao = [2, 2]\n'
                                           '[arrays]\nh = {file = "data.h5", dataset = "h"}\n')
        code, out, err, _ = self.run_job(sialrun("job.toml", "--results", "none"))
        self.assertEqual(code, 0, err)
        self.assertIn("1240.0", out)
        whole = path.read_bytes()
        for keep in (0, 10, len(whole) // 2, len(whole) - 8):
            path.write_bytes(whole[:keep])
            code, _, err, _ = self.run_job(sialrun("job.toml", "--results", "none"))
            self.assertIn(code, (1, 2, 3), f"{keep} bytes kept: {err}")
            self.assert_one_message(err, "data.h5")

    def test_unreadable_basis(self):
        (self.dir / "h2.xyz").write_text("2\nH2\nH 0 0 0\nH 0 0 0.74\n")
        for basis, says in (("no-such-basis", "no-such-basis"), ("./broken.g94", "broken.g94"), ("./empty.g94", "empty.g94")):
            (self.dir / "broken.g94").write_text("****\nH     0\nS   3   1.00\n      0.3425250914D+01  0.15")
            (self.dir / "empty.g94").write_text("")
            (self.dir / "job.toml").write_text(f'programs = ["{PROGRAMS}/large.sialx"]\n[molecule]\nxyz = "h2.xyz"\nbasis = "{basis}"\n')
            for command in (sialrun("job.toml"), [*mpirun(2), *sialrun("job.toml")]):
                with self.subTest(basis=basis, command=command[0]):
                    code, _, err, _ = self.run_job(command)
                    self.assertNotEqual(code, 0)
                    self.assert_one_message(err, says)

    def test_bad_input(self):
        for args, says in ((["missing.toml"], "missing.toml"), (["missing.sialx"], "missing.sialx"),
                           ([PROGRAMS / "large.sialx"], "norb"), ([HERE / "faults.py"], "faults.py"),
                           (["--set", "norb", PROGRAMS / "large.sialx"], "norb"),
                           (["--segments", "ao=3,x", PROGRAMS / "large.sialx"], "ao=3,x"),
                           (["--memory", "lots", PROGRAMS / "large.sialx"], "lots")):
            with self.subTest(args=args):
                code, _, err, _ = self.run_job(sialrun("--results", "none", *args))
                self.assertIn(code, (1, 2, 3), err)
                self.assertIn(says, err)


if __name__ == "__main__":
    main()
