#!/usr/bin/env python3
"""Limits of a process (`ulimit`): a job runs, or ends with one message that names what it did not get; it neither hangs nor crashes. And a run that does
not come to its next barrier says how to end it.

    limits.py --bin DIR [unittest arguments]
"""
from __future__ import annotations

import pathlib
import resource
import signal
import subprocess
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ENV, main, mpirun
from in_folder import InFolder

RHF = pathlib.Path(__file__).resolve().parents[2] / "examples" / "04_rhf" / "job.toml"
MIB = 1 << 20
NO_FILES = ("--results", "none", "--run-json", "none")


def at_most(limit: int, amount: int) -> dict[str, Any]:
    return {"preexec_fn": lambda: resource.setrlimit(limit, (amount, amount))}


class Limits(InFolder):
    def test_addresses(self) -> None:
        """From a limit that leaves too little for the blocks to one that is enough: libraries, work memory of the BLAS, files, generated code."""
        messages = []
        last = -1
        for mib in (*range(220, 720, 20), 1000):
            with self.subTest(mib=mib):
                code, _, err = self.run_tool("sialrun", RHF, "--memory", "100MB", "--device", "host", **at_most(resource.RLIMIT_AS, mib * MIB))
                if "error while loading shared libraries" in err:
                    continue
                self.assertIn(code, (0, 3), err)
                if code == 3:
                    self.assertEqual(err.count("error:"), 1, err)
                    self.assertIn("ulimit -v", err)
                messages.append(err)
                last = code
        self.assertEqual(last, 0)
        if "OpenBLAS" in self.must("sialrun", "--version", "--verbose"):
            self.assertTrue(any("cannot allocate 138 MB for the work memory of OpenBLAS" in err for err in messages), messages)

    def test_threads(self) -> None:
        how = self.somebody_else()
        self.refused("sialrun", RHF, "--device", "host", code=3, says=("cannot start a thread for", "ulimit -u"), **how, **at_most(resource.RLIMIT_NPROC, 1))

    def test_open_files(self) -> None:
        for most in (8, 12, 20):
            with self.subTest(most=most):
                code, _, err = self.run_tool("sialrun", RHF, "--device", "host", **at_most(resource.RLIMIT_NOFILE, most))
                self.assertIn(code, (0, 1, 2, 3), err)
                if code:
                    self.assertIn("Too many open files", err)

    def test_open_files_of_ranks(self) -> None:
        """Open MPI would crash. It does so, or hangs, where the limit is also that of `mpirun`."""
        self.refused("sialrun", RHF, *NO_FILES, launcher=[*mpirun(2), "sh", "-c", 'ulimit -n 14 && exec "$@"', "sh"], code=3, says=("cannot open 14 files for MPI", "raise `ulimit -n`"))

    def test_stack(self) -> None:
        for kib, program, *words in ((32, "sialrun", RHF, *NO_FILES), (64, "sialrun", RHF, *NO_FILES), (32, "sialc", "--version"), (32, "sialreport", "--version")):
            with self.subTest(kib=kib, program=program):  # with less the loader itself may crash
                self.refused(program, *words, code=3, says=(f"`ulimit -s` allows {kib} KiB for a stack", "raise `ulimit -s`"), **at_most(resource.RLIMIT_STACK, kib << 10))
        self.must("sialrun", RHF, *NO_FILES, **at_most(resource.RLIMIT_STACK, 256 << 10))

    def test_a_signal_that_finds_no_barrier(self) -> None:
        loops = "".join(f"index i{n} = 1:2000\n" for n in range(3))
        self.write("long.sialx", f"sial long\n{loops}scalar x\nprintln \"begun\"\ndo i0\ndo i1\ndo i2\nx += 1.0\nenddo i2\nenddo i1\nenddo i0\nendsial long\n")
        with subprocess.Popen(self.command("sialrun", "long.sialx"), cwd=self.dir, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            assert run.stdout and run.stderr
            try:
                while "begun" not in run.stdout.readline():
                    self.assertIsNone(run.poll())
                run.send_signal(signal.SIGTERM)
                self.assertIn("note: asked to end 10 s ago", run.stderr.readline())
                self.assertIn("another signal", run.stderr.readline())
                run.send_signal(signal.SIGTERM)
                self.assertEqual(run.wait(20), -signal.SIGTERM)
            finally:
                run.kill()


if __name__ == "__main__":
    main()
