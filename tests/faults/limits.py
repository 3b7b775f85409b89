#!/usr/bin/env python3
"""Limits of a process (`ulimit`): a job runs, or ends with one message that names what it did not get; it neither hangs nor crashes.

    limits.py --bin DIR [unittest arguments]
"""
from __future__ import annotations

import pathlib
import resource
from typing import Any

import in_folder
from in_folder import InFolder

RHF = pathlib.Path(__file__).resolve().parents[2] / "examples" / "04_rhf" / "job.toml"
MIB = 1 << 20


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


if __name__ == "__main__":
    in_folder.main(__doc__)
