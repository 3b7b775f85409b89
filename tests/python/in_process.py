#!/usr/bin/env python3
"""sialx.run: programs inside this process give what sialrun gives, errors are exceptions, and nothing is left behind.

    in_process.py --bin DIR --native MODULE [--runs N] [unittest arguments]

--runs: how many runs must leave memory, threads and descriptors as they were (500).
Exits with 77 where there is no module: it was built without Python's headers.
"""
import contextlib
import gc
import io
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

from harness import BIN, ROOT, main, skip, taken

sys.path.insert(0, str(ROOT / "runtime" / "python"))
import sialx  # noqa: E402
from sialx import in_process, magic  # noqa: E402

RUNS = 500

ARRAYS = """sial arrays
aoindex i = 1:2
moindex p = 1:2
index k = 1:3
predefined static a[i,p,k]
predefined distributed b[i,p,k]
predefined served s[p,i]
predefined int shift
predefined scalar factor
distributed d[i,p,k]
served v[p,i]
static copy[i,p,k]
temp t[i,p,k]
temp u[p,i]
scalar total
scalar part
pardo i, p, k
  get b[i,p,k]
  t[i,p,k] = a[i,p,k]
  t[i,p,k] *= factor
  t[i,p,k] += (scalar)shift
  t[i,p,k] += b[i,p,k]
  put d[i,p,k] = t[i,p,k]
endpardo i, p, k
pardo i, p
  request s[p,i]
  u[p,i] = s[p,i]
  prepare v[p,i] = u[p,i]
  part += s[p,i]*s[p,i]
endpardo i, p
sip_barrier
collective total += part
do i
  do p
    do k
      get d[i,p,k]
      copy[i,p,k] = d[i,p,k]
    enddo k
  enddo p
enddo i
println total
set_persistent d "label/with. odd % signs"
set_persistent v "v"
set_persistent copy "copy"
set_persistent total "kept"
endsial arrays
"""
SQUARES = """sial squares
aoindex i = 1:2
aoindex j = 1:2
predefined static h[i,j]
predefined int norb
predefined scalar x
static c[i,j]
scalar energy
do i
  do j
    c[i,j] = h[i,j]
    c[i,j] *= x
    energy += h[i,j]*c[i,j]
  enddo j
enddo i
energy += (scalar)norb
println "done"
endsial squares
"""
LONG = """sial long
index i = 1:2000
index j = 1:2000
index k = 1:2000
scalar x
do i
  do j
    do k
      x += 1.0
    enddo k
  enddo j
enddo i
endsial long
"""
SUMS = """sial sums
aoindex i = 1:1
aoindex j = 1:1
index n = 1:6000
predefined static a[i,j]
temp t[i,j]
temp u[i,j]
scalar x
do n
  do i
    do j
      t[i,j] = a[i,j]
      t[i,j] *= 2.0
      u[i,j] = t[i,j] + a[i,j]
      u[i,j] *= 0.5
      x += u[i,j]*t[i,j]
    enddo j
  enddo i
enddo n
endsial sums
"""
LARGE = """sial large
aoindex i = 1:4
aoindex j = 1:4
distributed d[i,j]
temp t[i,j]
pardo i, j
  t[i,j] = 1.0
  put d[i,j] = t[i,j]
endpardo i, j
endsial large
"""


def descriptors():
    return sorted(os.listdir("/proc/self/fd"))


def resident():
    """Bytes."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def threads():
    return len(os.listdir("/proc/self/task"))


class InProcess(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="sialx-in-process-")
        self.addCleanup(self.temporary.cleanup)
        self.dir = pathlib.Path(self.temporary.name)
        rng = np.random.default_rng(11)
        self.h = rng.normal(size=(5, 5))
        self.squares: dict[str, Any] = {"arrays": {"h": self.h}, "values": {"norb": 4, "x": 0.5}, "segments": {"ao": [2, 3]}}

    def check_squares(self):
        r = sialx.run(SQUARES, **self.squares)
        self.assertAlmostEqual(r.scalars["energy"], 0.5 * float((self.h**2).sum()) + 4, places=12)
        np.testing.assert_array_equal(r.arrays["c"], 0.5 * self.h)
        self.assertEqual((r.output, r.ints["norb"]), ("done\n\n", 4))
        return r

    def test_results_are_those_of_a_job(self):
        rng = np.random.default_rng(12)
        a, b, s = rng.normal(size=(5, 4, 3)), rng.normal(size=(5, 4, 3)), rng.normal(size=(4, 5)).astype(np.float32)
        given: dict[str, Any] = {
            "values": {"shift": 2, "factor": 1e-3},
            "segments": {"ao": [2, 3], "mo": [3, 1]},
            "arrays": {"a": a, "b": b, "s": s},
            "memory": "64MB",
        }
        program = self.dir / "arrays.sialx"
        program.write_text(ARRAYS)
        file = sialx.Job(program, **given).run(self.dir / "job")
        for source in (ARRAYS, program, str(program)):
            r = sialx.run(source, **given)
            self.assertEqual(dict(r.scalars), dict(file.scalars))
            self.assertEqual(dict(r.ints), dict(file.ints))
            self.assertEqual(dict(r.saved_scalars), dict(file.saved_scalars))
            self.assertEqual(sorted(r.static), sorted(file.static_names))
            for name in file.static_names:
                np.testing.assert_array_equal(r.static[name], file.static(name))
            for label in file.saved_array_labels:
                np.testing.assert_array_equal(r.saved[label], file.saved_array(label))
            np.testing.assert_array_equal(r.saved["copy"], file.saved_static("copy"))
            self.assertEqual(r.output, file.text)
        np.testing.assert_allclose(r.arrays["copy"], a * 1e-3 + 2 + b, rtol=1e-14)
        np.testing.assert_array_equal(r.saved["v"], s)
        np.testing.assert_array_equal(r.saved["label/with. odd % signs"], r.static["copy"])
        r.arrays["copy"][0, 0, 0] = 7  # the caller's own

    def test_programs_one_after_the_other(self):
        again = """sial again
aoindex i = 1:2
moindex p = 1:2
index k = 1:3
distributed d[i,p,k]
scalar x
scalar kept
restore_persistent d "label/with. odd % signs"
restore_persistent kept "kept"
sip_barrier
do i
  do p
    do k
      get d[i,p,k]
      x += d[i,p,k]*d[i,p,k]
    enddo k
  enddo p
enddo i
endsial again
"""
        a, b, s = np.ones((5, 4, 3)), np.zeros((5, 4, 3)), np.ones((4, 5))
        r = sialx.run([ARRAYS, again], {"a": a, "b": b, "s": s}, values={"shift": 1, "factor": 1.0}, segments={"ao": [2, 3], "mo": [3, 1]})
        self.assertEqual((r.scalars["x"], r.scalars["kept"]), (240.0, 20.0))
        # The next run knows nothing of it.
        with self.assertRaisesRegex(sialx.JobError, "label/with"):
            sialx.run(again, segments={"ao": [2, 3], "mo": [3, 1]})

    def test_compile_errors(self):
        with self.assertRaises(sialx.CompileError) as caught:
            sialx.run("sial p\nscalar x\ny = 1.0\nendsial p\n")
        error = caught.exception
        self.assertIsInstance(error, sialx.JobError)
        first = error.diagnostics[0]
        self.assertEqual((first.file, first.line, first.column, first.severity), ("<text>", 3, 1, "error"))
        self.assertIn("`y`", first.message)
        self.assertTrue(first.code.startswith("E-"))
        self.assertIn("<text>:3:1: error: ", str(error))
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), str(again), again.diagnostics), (sialx.CompileError, str(error), error.diagnostics))
        with self.assertRaisesRegex(FileNotFoundError, "there is no program `nowhere.sialx`"):
            sialx.run("nowhere.sialx")
        self.check_squares()

    def test_errors_leave_the_process_usable(self):
        def given(**other):
            return {**self.squares, **other}

        for wrong, text in (
            (given(arrays={"h": self.h[:4]}), r"`h` have extents \(4,5\), and the program declares \(5,5\)"),
            (given(values={"norb": 4}), "the predefined scalar `x`"),
            (given(segments={"ao": [2, 3], "a0": [2]}), "did you mean `ao`"),
            (given(memory="lots"), "not an amount of memory"),
        ):
            with self.subTest(text):
                with self.assertRaisesRegex(sialx.JobError, text) as caught:
                    sialx.run(SQUARES, **wrong)
                self.assertIn(caught.exception.code, (1, 2))
                self.assertNotIsInstance(caught.exception, sialx.CompileError)
                self.check_squares()
        # What is said of an array's place names it as the caller gave it.
        stated: dict[str, Any] = {"arrays": {"a": np.ones((5, 4, 3)), "b": np.ones((5, 4, 2)), "s": np.ones((4, 5))}, "values": {"shift": 1, "factor": 1.0}}
        with self.assertRaisesRegex(sialx.JobError, r'arrays\["b"\] has the shape \(5, 4, 2\), .* takes \(5, 4, 3\)'):
            sialx.run(ARRAYS, **stated, segments={"ao": [2, 3], "mo": [3, 1]})
        with self.assertRaises(sialx.JobError) as caught:
            sialx.run(LARGE, segments={"ao": [500] * 4}, memory="4MB")
        self.assertEqual(caught.exception.code, 3)
        self.assertRegex(str(caught.exception), r"<text>:\d+:\d+: .*memory")
        with self.assertRaisesRegex(sialx.JobError, "<text>:3:1: ") as caught:
            sialx.run('sial stops\nprintln "did not converge"\nstop\nendsial stops\n')
        self.assertEqual((caught.exception.code, caught.exception.output.strip()), (1, "did not converge"))
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((again.code, str(again), again.output), (1, str(caught.exception), caught.exception.output))
        for wrong_call, kind in (
            (lambda: sialx.run([]), ValueError),
            (lambda: sialx.run(SQUARES, values={"a b": 1}), ValueError),
            (lambda: sialx.run(SQUARES, values={"x": float("nan")}), ValueError),
            (lambda: sialx.run(SQUARES, values={"x": 1.0, "X": 2.0}), ValueError),
            (lambda: sialx.run(SQUARES, segments={"ao": []}), ValueError),
        ):
            with self.assertRaises(kind):
                wrong_call()
        r = self.check_squares()
        with self.assertRaisesRegex(sialx.UnknownName, "the array `d` is not there.*: c, h"):
            r.arrays["d"]

    def test_warnings(self):
        with self.assertWarnsRegex(sialx.JobWarning, "the job gives the array `ha`"):
            sialx.run(SQUARES, **{**self.squares, "arrays": {"h": self.h, "ha": self.h}})
        with self.assertWarnsRegex(sialx.JobWarning, "no data for the predefined static array `h`; it starts as zeros"):
            r = sialx.run(SQUARES, **{**self.squares, "arrays": {}})
        self.assertEqual(r.scalars["energy"], 4.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.check_squares()
        share = "sial share\npredefined int norb\naoindex i = 1:norb\nscalar mine\npardo i\n  mine += 1.0\nendpardo i\nprint mine\nendsial share\n"
        for _ in range(2):  # from the compiler, and again for what is compiled already
            with self.assertWarnsRegex(sialx.JobWarning, r"(?s)<text>:8:7: warning: `mine` is printed.*<text>:6:3: note: "):
                sialx.run(share, segments={"ao": [1, 1]})

    def test_compiled_once(self):
        sialx.run(SQUARES, **self.squares)
        program, other = self.dir / "main.sialx", self.dir / "other.sialx"
        program.write_text('import "other.sialx"\nsial main\nscalar y\ny = x + 1.0\nendsial main\n')
        other.write_text("sial other\nscalar x = 2.0\nendsial other\n")
        self.assertEqual(sialx.run(program).scalars["y"], 3.0)
        real, calls = in_process._native(), []

        class Counted:
            run = staticmethod(real.run)

            @staticmethod
            def compile(*arguments):
                calls.append(arguments)
                return real.compile(*arguments)

        self.addCleanup(in_process._modules.update, _native=real)
        in_process._modules["_native"] = Counted
        self.check_squares()
        sialx.run(program)
        self.assertEqual(calls, [])
        other.write_text("sial other\nscalar x = 20.0\nendsial other\n")
        self.assertEqual(sialx.run(program).scalars["y"], 21.0)
        self.assertEqual(len(calls), 1)
        text = program.read_text()
        self.assertEqual(sialx.run(text, include=self.dir).scalars["y"], 21.0)
        self.assertEqual(sialx.run(text, include=self.dir, optimisation=0).scalars["y"], 21.0)
        self.assertEqual(len(calls), 3)

    def test_output(self):
        pieces: list[str] = []
        r = sialx.run(SQUARES, **self.squares, output=pieces.append)
        self.assertEqual(("".join(pieces), r.output), ("done\n\n", ""))

        def refuse(_):
            raise LookupError("no more")

        with self.assertRaisesRegex(LookupError, "no more"):
            sialx.run(SQUARES, **self.squares, output=refuse)
        # A run inside a run.
        inner = []
        sialx.run(SQUARES, **self.squares, output=lambda _: inner.append(self.check_squares().output))
        self.assertEqual(inner, ["done\n\n"])

    def test_fill(self):
        """Arrays of a function: those of any kind, whole and in parts, here and through files."""
        asked: list[tuple[int, ...]] = []

        def value(i, p, k):
            self.assertEqual((i.ndim, p.ndim, k.ndim), (3, 3, 3))
            asked.append(np.broadcast_shapes(i.shape, p.shape, k.shape))
            return 100 * i + 10 * p + k

        shape = (5, 4, 3)
        arrays: dict[str, Any] = {"a": sialx.fill(value, shape), "b": sialx.fill(lambda i, p, k: 0.5, shape), "s": sialx.fill(lambda p, i: p - i, (4, 5))}
        given: dict[str, Any] = {"values": {"shift": 0, "factor": 1.0}, "segments": {"ao": [2, 3], "mo": [3, 1]}, "arrays": arrays}
        program = self.dir / "arrays.sialx"
        program.write_text(ARRAYS)
        expected = np.fromfunction(lambda i, p, k: 100 * i + 10 * p + k + 0.5, shape)
        r = sialx.run(ARRAYS, **given)
        file = sialx.Job(program, **given).run(self.dir / "job")
        for copy in (r.arrays["copy"], file.static("copy")):
            np.testing.assert_array_equal(copy, expected)
        np.testing.assert_array_equal(r.saved["v"], np.fromfunction(lambda p, i: p - i, (4, 5)))
        # Of a distributed array no piece is larger than a few blocks.
        many = SQUARES.replace("1:2", "1:norb").replace("aoindex", "predefined int norb\naoindex", 1).replace("predefined int norb\npredefined", "predefined", 1)
        many = many.replace("predefined static h", "predefined distributed h").replace("    c[i,j] = h", "    get h[i,j]\n    c[i,j] = h")
        largest: list[int] = []

        def count(i, j):
            largest.append(i.size * j.size)
            return i * j

        big = sialx.run(many, arrays={"h": sialx.fill(count, (2000, 2000))}, values={"x": 1.0}, segments={"ao": [100] * 20})
        np.testing.assert_array_equal(big.arrays["c"], np.fromfunction(lambda i, j: i * j, (2000, 2000)))
        self.assertEqual(sum(largest), 4_000_000)
        self.assertLessEqual(max(largest), 600_000)
        with self.assertRaisesRegex(ValueError, r"gives values of shape \(7,\) for a part of shape"):
            sialx.run(SQUARES, **{**self.squares, "arrays": {"h": sialx.fill(lambda i, j: np.ones(7), (5, 5))}})
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            sialx.run(SQUARES, **{**self.squares, "arrays": {"h": sialx.fill(self.fails, (5, 5))}})
        with self.assertRaisesRegex(sialx.JobError, r"`h` have extents \(5,6\), and the program declares \(5,5\)"):
            sialx.run(SQUARES, **{**self.squares, "arrays": {"h": sialx.fill(lambda i, j: 1.0, (5, 6))}})
        self.check_squares()

    @staticmethod
    def fails(*_):
        raise ZeroDivisionError("mine")

    def test_save(self):
        """Arrays that no program saves."""
        plain = ARRAYS.replace('set_persistent d "label/with. odd % signs"\n', "").replace('set_persistent v "v"\n', "")
        self.assertNotEqual(plain, ARRAYS)
        a = np.random.default_rng(5).normal(size=(5, 4, 3))
        given: dict[str, Any] = {"arrays": {"a": a, "b": a, "s": np.ones((4, 5))}, "values": {"shift": 0, "factor": 1.0}, "segments": {"ao": [2, 3], "mo": [3, 1]}}
        self.assertNotIn("d", sialx.run(plain, **given).arrays)
        for _ in range(2):
            r = sialx.run(plain, **given, save=["d", "v"])
            np.testing.assert_allclose(r.arrays["d"], 2 * a, rtol=1e-14)
            np.testing.assert_array_equal(r.arrays["v"], np.ones((4, 5)))
            where, block = r.parts["d"][0]
            self.assertEqual((where, block.shape), (tuple(slice(0, n) for n in a.shape), a.shape))
        with self.assertRaisesRegex(sialx.JobError, "(?s)saves the array `dd`, and no program has it.*did you mean `d`"):
            sialx.run(plain, **given, save="dd")
        self.assertRegex(repr(r), r"total = .*, copy: array of 5x4x3")
        self.assertIn("<tr><td>copy</td><td>copy: array of 5x4x3</td></tr>", r._repr_html_())

    def test_progress(self):
        """What a long loop has done, twice a second; what the function raises ends the run."""
        told: list[sialx.Progress] = []

        def tell(progress):
            told.append(progress)
            if len(told) == 2:
                self.fails()

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            sialx.run(LONG.replace("do i", "pardo i"), progress=tell)
        self.assertIn("pardo", told[0].what)
        self.assertTrue(all(0 <= p.fraction < 1 and (p.left is None or p.left > 0) for p in told), told)
        self.check_squares()

    def test_magic(self):
        """What `%%sial` does with a cell, and in IPython where it is installed."""
        names: dict[str, Any] = {"h": self.h, "half": 0.5}
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            magic.sial("r --arrays h --values norb=4 x=half --segments ao=2,3", SQUARES, names)
        self.assertEqual(said.getvalue(), "done\n\n")
        np.testing.assert_array_equal(names["r"].arrays["c"], 0.5 * self.h)
        for wrong, text in (("r --arrays g", "no array `g`"), ("--values x", "not NAME=VALUE"), ("--values x=y", "neither a number nor a name"), ("--what", "unrecognized")):
            with self.assertRaisesRegex(ValueError, text):
                magic.sial(wrong, SQUARES, names)
        try:
            from IPython.core.interactiveshell import InteractiveShell
        except ImportError:
            return
        shell = InteractiveShell()
        shell.user_ns.update(names)
        shell.run_line_magic("load_ext", "sialx")
        with contextlib.redirect_stdout(said):
            shell.run_cell(f"%%sial again --arrays h --values norb=4 x=half --segments ao=2,3\n{SQUARES}").raise_error()
            self.assertEqual(shell.run_cell("again.scalars['energy'] == r.scalars['energy']").result, True)
            failed = shell.run_cell(f"%%sial\n{SQUARES.replace('scalar energy', '')}")
        self.assertIn("`energy` is not declared", str(failed.error_in_exec))

    def test_interrupted(self):
        begin = time.monotonic()
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            sialx.run(LONG)
        self.assertLess(time.monotonic() - begin, 10)
        timer.join()
        # Signals of a caller's own, too; one that raises nothing ends nothing.
        seen = []
        before = signal.signal(signal.SIGALRM, lambda number, _: seen.append(number))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        short = LONG.replace("index i = 1:2000", "index i = 1:4")
        self.assertEqual(sialx.run(short).scalars["x"], 16e6)
        self.assertEqual(seen, [signal.SIGALRM])
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        self.check_squares()

    def test_several_threads(self):
        found, wrong = [], []

        def work():
            try:
                for _ in range(20):
                    found.append(self.check_squares().scalars["energy"])
            except BaseException as e:
                wrong.append(e)

        workers = [threading.Thread(target=work) for _ in range(3)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        self.assertEqual((wrong, len(found), len(set(found))), ([], 60, 1))

    def test_nothing_is_left(self):
        def errors():
            failing: list[tuple[str, dict[str, Any]]] = [(SQUARES, {}), ("sial p\ny = 1.0\nendsial p\n", {}), (LARGE, {"segments": {"ao": [500] * 4}, "memory": "4MB"})]
            for source, given in failing:
                with self.assertRaises(sialx.JobError):
                    sialx.run(source, **given)

        at = os.getcwd()
        self.addCleanup(os.chdir, at)
        os.chdir(self.dir)
        for _ in range(50):
            self.check_squares()
            errors()
        gc.collect()
        before = (threads(), descriptors())
        memory = resident()
        for i in range(RUNS):
            self.check_squares()
            if i % 10 == 0:
                errors()
        gc.collect()
        grown = resident() - memory
        self.assertEqual((threads(), descriptors()), before)
        self.assertLess(grown, (2 << 20) + 200 * RUNS, f"{RUNS} runs left {grown} bytes")
        self.assertEqual(os.listdir(self.dir), [])
        print(f"{RUNS} runs: {grown} bytes more, {before[0]} threads, {len(before[1])} descriptors", file=sys.stderr)

    def test_no_file_is_touched(self):
        if not shutil.which("strace"):
            self.skipTest("strace is not installed")
        script = self.dir / "script.py"
        script.write_text(
            f"""import os, sys
sys.path.insert(0, {str(ROOT / "runtime" / "python")!r})
import numpy, sialx
given = dict(arrays={{"h": numpy.ones((5, 5))}}, values={{"norb": 4, "x": 0.5}}, segments={{"ao": [2, 3]}})
text = {SQUARES!r}
sialx.run(text, **given)
os.access("/begin", 0)
assert sialx.run(text, **given).scalars["energy"] == 16.5
os.access("/end", 0)
"""
        )
        trace = self.dir / "trace"
        done = subprocess.run(["strace", "-f", "-e", "trace=file", "-o", trace, sys.executable, script], capture_output=True, text=True)
        if done.returncode != 0 and "ptrace" in done.stderr:
            self.skipTest("processes may not be traced here")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = trace.read_text().splitlines()
        begin, end = (next(i for i, line in enumerate(lines) if f'"{name}"' in line) for name in ("/begin", "/end"))
        self.assertEqual(lines[begin + 1 : end], [])

    def test_generated_code(self):
        """Made while a program runs, kept for the next one, and no trouble for a process that is forked."""
        if not (pathlib.Path(os.environ["SIALRUN"]).parent / "libsialx_jit.so").exists():
            self.skipTest("built without the code generator")
        given: dict[str, Any] = {"arrays": {"a": np.ones((96, 96))}, "segments": {"ao": [96]}}

        def is_loaded():
            with open("/proc/self/maps") as f:
                return "libsialx_jit" in f.read()

        end = time.monotonic() + 30
        while not is_loaded() and time.monotonic() < end:
            self.assertEqual(sialx.run(SUMS, **given).scalars["x"], 6000 * 3 * 96.0**2)
        self.assertTrue(is_loaded())
        for _ in range(2):
            child = os.fork()
            if child == 0:
                try:
                    right = sialx.run(SUMS, **given).scalars["x"] == 6000 * 3 * 96.0**2
                    os._exit(0 if right else 1)
                finally:
                    os._exit(2)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            self.assertEqual(sialx.run(SUMS, **given).scalars["x"], 6000 * 3 * 96.0**2)
        code = f"""import os, sys
sys.path.insert(0, {str(ROOT / "runtime" / "python")!r})
import numpy, sialx
given = {{"arrays": {{"a": numpy.ones((96, 96))}}, "segments": {{"ao": [96]}}}}
for _ in range(3):
    sialx.run({SUMS!r}, **given)
if os.fork() == 0:
    sys.exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_says_what_is_missing(self):
        code = f"import sys; sys.path.insert(0, {str(ROOT / 'runtime' / 'python')!r}); import sialx; sialx.run('sial p\\nendsial p\\n')"
        env = {**os.environ, "SIALX_NATIVE": str(self.dir / "none.so")}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ImportError: the compiled module of sialx.run is missing", done.stderr)


if __name__ == "__main__":
    os.environ["SIALRUN"] = str(BIN / "sialrun")
    RUNS = int(taken("--runs", "500"))
    if not taken("--native", ""):
        skip("sialx was built without Python's headers (python3-dev), or with sanitizers")
    main()
