#!/usr/bin/env python3
"""sialx.run on the ranks of an mpi4py communicator gives what it gives on one rank; what is wrong is said, and nothing is left behind.

    ranks.py --bin DIR --native MODULE [unittest arguments]     starts mpirun for each test
    ranks.py --mode NAME                                        what the ranks of a test do

Exits with 77 where there is no module, or no mpi4py of its MPI.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

from harness import BIN, ENV, ROOT, main, skip, taken

sys.path.insert(0, str(ROOT / "runtime" / "python"))
import sialx  # noqa: E402

PRODUCT = """sial product
predefined int n
aoindex i = 1:n
aoindex j = 1:n
aoindex k = 1:n
predefined distributed a[i,j]
predefined static s[i,j]
static own[i,j]
distributed c[i,j]
sparse served d[i,j]
temp t[i,j]
temp u[i,j]
scalar trace
scalar part
pardo i, j
  t[i,j] = 0.0
  do k
    get a[i,k]
    get a[k,j]
    u[i,j] = a[i,k]*a[k,j]
    t[i,j] += u[i,j]
  enddo k
  put c[i,j] = t[i,j]
  part += t[i,j]*s[i,j]
endpardo i, j
pardo i, j
  where i < j
  get a[i,j]
  t[i,j] = a[i,j]
  prepare d[i,j] = t[i,j]
endpardo i, j
collective trace += part
sip_barrier
println trace
set_persistent d "upper"
do i
  do j
    own[i,j] = s[i,j]
  enddo j
enddo i
set_persistent own "own"
endsial product
"""
SEGMENTS = [20, 7, 13]
N = sum(SEGMENTS)


def hilbert(i: Any, j: Any) -> Any:
    return 1.0 / (1 + i + 2 * j)


A = np.fromfunction(hilbert, (N, N))
S = np.random.default_rng(3).normal(size=(N, N))
UPPER = A * np.triu(np.repeat(np.repeat(np.triu(np.ones((3, 3)), 1), SEGMENTS, 0), SEGMENTS, 1))


def product(comm: Any, **changed: Any) -> sialx.RunResults:
    stated: dict[str, Any] = {"arrays": {"a": A, "s": S}, "segments": {"ao": SEGMENTS}, "save": "c", **changed}
    return sialx.run(stated.pop("source", PRODUCT), comm=comm, **stated)


def check(comm: Any, r: sialx.RunResults) -> None:
    np.testing.assert_allclose(r.scalars["trace"], ((A @ A) * S).sum(), rtol=1e-12)
    np.testing.assert_array_equal(r.static["s"], S)
    np.testing.assert_array_equal(r.saved["own"], S)
    assert sorted(r.parts) == ["c", "upper"], r.parts.keys()
    for label, expected in (("c", A @ A), ("upper", UPPER)):
        mine, elements = np.zeros((N, N)), 0
        for where, block in r.parts[label]:
            mine[where] = block
            elements += block.size
        np.testing.assert_allclose(comm.allreduce(mine), expected, rtol=1e-12, err_msg=label)
        if label == "c":
            assert comm.allreduce(elements) == N * N, "each block is one rank's"
        assert (label in r.arrays) == (comm.rank == 0)
        if comm.rank == 0:
            np.testing.assert_allclose(r.arrays[label], expected, rtol=1e-12)
    assert bool(r.output) == (comm.rank == 0), r.output


def results(comm: Any) -> None:
    check(comm, product(comm))
    check(comm, product(comm, arrays={"a": sialx.fill(hilbert, (N, N)), "s": S}))
    half = comm.Split(comm.rank % 2, -comm.rank)
    check(half, product(half))
    check(comm, product(comm))


def errors(comm: Any) -> None:
    """Errors before programs run come to all ranks, which go on."""
    for changed, kind, text in (
        ({"source": PRODUCT.replace("put c", "put q")}, sialx.CompileError, "`q` is not declared"),
        ({"segments": {"ao": [-2]}}, sialx.JobError, "-2 is not a segment size"),
        ({"save": "w"}, sialx.JobError, "saves the array `w`, and no program has it"),
    ):
        try:
            product(comm, **changed)
        except kind as error:
            assert text in str(error), error
        else:
            raise AssertionError(text)
    check(comm, product(comm))


def differ(comm: Any) -> None:
    product(comm, segments={"ao": SEGMENTS if comm.rank == 0 else SEGMENTS[::-1]})


def raises(comm: Any) -> None:
    def value(i: Any, j: Any) -> Any:
        if comm.rank == comm.size - 1:
            raise LookupError("no value here")
        return i + j

    product(comm, arrays={"a": sialx.fill(value, (N, N)), "s": S})


def absent(comm: Any) -> None:
    product(comm, source=PRODUCT.replace("  t[i,j] = 0.0\n", "  get c[i,j]\n  t[i,j] = c[i,j]\n"))


def repeated(comm: Any) -> None:
    def state() -> tuple[int, int, int]:
        lines = pathlib.Path("/proc/self/status").read_text().splitlines()
        memory = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
        return memory, len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

    for i in range(120):
        product(comm)
        if i == 20:
            before = state()
    after = state()
    assert after[0] < before[0] + 2000, (before, after)  # kB
    assert after[1:] == before[1:], (before, after)


MODES = {f.__name__: f for f in (results, errors, differ, raises, absent, repeated)}


class Ranks(unittest.TestCase):
    def start(self, mode: str, ranks: int, *mpirun: str) -> subprocess.CompletedProcess[str]:
        command = ["mpirun", "-n", str(ranks), "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", *mpirun, sys.executable, __file__, "--mode", mode]
        with tempfile.TemporaryDirectory(prefix="sialx-ranks-") as folder:
            done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
            self.assertEqual(os.listdir(folder), [])
        return done

    def check_ends_well(self, mode: str, ranks: int) -> None:
        done = self.start(mode, ranks)
        self.assertEqual(done.returncode, 0, f"{mode} on {ranks}: {done.stderr}")

    def test_results(self) -> None:
        for ranks in (1, 2, 3):
            self.check_ends_well("results", ranks)

    def test_errors(self) -> None:
        self.check_ends_well("errors", 2)

    def test_nothing_is_left(self) -> None:
        self.check_ends_well("repeated", 2)

    def test_errors_that_end_all(self) -> None:
        for mode, text in (
            ("differ", r"error: ranks 0 and 1 state different segments"),
            ("raises", r"(?s)LookupError: no value here\n.*error: an exception on one rank ends the run of all \(on rank 1 of 2\)"),
            ("absent", r"error: <text>:17:3: block c\[\d,\d\] does not exist: it was never written .* \(on rank \d of 2\)"),
        ):
            done = self.start(mode, 2)
            self.assertNotEqual(done.returncode, 0, mode)
            self.assertRegex(done.stderr, text)


if __name__ == "__main__":
    if "--mode" in sys.argv:
        from mpi4py import MPI

        MODES[sys.argv[-1]](MPI.COMM_WORLD)
        sys.exit()

    os.environ.update(ENV, SIALRUN=str(BIN / "sialrun"))
    if not taken("--native", ""):
        skip("sialx was built without Python's headers (python3-dev), or with sanitizers")
    try:
        # A process of its own: loading mpi4py's MPI starts it.
        code = f"import sys; sys.path.insert(0, {str(ROOT / 'runtime/python')!r}); from mpi4py import MPI; from sialx import in_process; print(in_process._native('_native_mpi').mpi()); print(MPI.Get_library_version())"
        asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    except subprocess.CalledProcessError as error:
        skip(f"no mpi4py: {error.stderr}")
    if not asked[1].startswith(asked[0]):
        skip(f"mpi4py is of {asked[1]}")
    main()
