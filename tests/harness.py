"""What all test scripts share: the programs under test, the environment of ranks, runs with an expectation, layouts of ranks, a folder per test.

A script takes `--bin DIR`, the folder of the programs, before or after its own arguments; without it build/release/bin is meant.
How much it does is said by SIALX_TEST_LEVEL: `gate` (unset), `all` or `long`, see tests/run.sh.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

ROOT = pathlib.Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
SKIPPED = 77  # SKIP_RETURN_CODE of CTest

LEVEL = os.environ.get("SIALX_TEST_LEVEL", "gate")
ALL, LONG = LEVEL in ("all", "long"), LEVEL == "long"

ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
HANGS = 300  # seconds after which a run of a test hangs: no test fails because a machine is slow

T = TypeVar("T")


def taken(option: str, default: str) -> str:
    """The value of an option of every script, which is taken off the command line."""
    if option not in sys.argv[1:-1]:
        return default
    at = sys.argv.index(option)
    value = sys.argv[at + 1]
    del sys.argv[at : at + 2]
    return value


BIN = pathlib.Path(taken("--bin", str(ROOT / "build/release/bin"))).resolve()


def all_only(test: T) -> T:
    """A test that only `run.sh --all` runs; of a class all tests but those that are marked with @gate."""
    if isinstance(test, type):
        for name in unittest.TestLoader().getTestCaseNames(test):
            if not hasattr(getattr(test, name), "in_gate"):
                setattr(test, name, all_only(getattr(test, name)))
        return test
    return unittest.skipUnless(ALL, "only with run.sh --all")(test)  # type: ignore[type-var]


def gate(test: T) -> T:
    test.in_gate = True  # type: ignore[attr-defined]
    return test


def mpirun(ranks: int) -> list[str]:
    """Nothing for 0: the job then runs without MPI."""
    return ["mpirun", "-n", str(ranks), "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"] if ranks else []


def sialrun_on(layout: str) -> list[str]:
    """The command for a layout: N ranks, or NxK: N ranks on pretended nodes of K."""
    ranks, _, per_node = layout.partition("x")
    alone = ranks == "1" and not per_node
    return [*mpirun(0 if alone else int(ranks)), str(BIN / "sialrun"), *(["--ranks-per-node", per_node] if per_node else [])]


def skip(reason: str) -> NoReturn:
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def expect(condition: object, text: object) -> None:
    if not condition:
        raise SystemExit(f"FAILED: {text}")


def run(*command: object, code: int | None = 0, says: str | Iterable[str] = (), **how: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, which must be with this exit code (None: any), and its error stream must have all of `says`."""
    how = {"stdin": None if "input" in how else subprocess.DEVNULL, "env": ENV, "timeout": HANGS, "text": True, **how}
    try:
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
    except subprocess.TimeoutExpired as hanging:
        raise AssertionError(f"{' '.join(map(str, command))}: no end after {hanging.timeout} s") from None
    wanted = [says] if isinstance(says, str) else says
    missing = [text for text in wanted if text not in str(done.stderr)]
    if missing or code not in (None, done.returncode):
        raise AssertionError(f"{' '.join(map(str, command))}\nexit code {done.returncode}, wanted {code}; not said: {missing}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done


def sialrun(*arguments: object, ranks: int = 1, **how: Any) -> subprocess.CompletedProcess[str]:
    """A job on this number of ranks: one runs without mpirun."""
    return run(*mpirun(ranks if ranks > 1 else 0), BIN / "sialrun", *arguments, **how)


class InFolder(unittest.TestCase):
    """Each test has a folder of its own, `self.dir`, in which it runs the programs."""

    def setUp(self) -> None:
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="sialx-test-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def write(self, name: str, text: str) -> str:
        (self.dir / name).write_text(text)
        return name

    def sialrun(self, *arguments: object, **how: Any) -> subprocess.CompletedProcess[str]:
        return sialrun(*arguments, **{"cwd": self.dir, **how})

    def said(self, *arguments: object, **how: Any) -> str:
        """What a job writes to its error stream."""
        return self.sialrun(*arguments, **how).stderr


def main() -> None:
    unittest.main(verbosity=2)
