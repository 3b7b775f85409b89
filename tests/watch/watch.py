#!/usr/bin/env python3
"""Jobs that stall, are asked what they do, or lose a rank: what is said, and how they end.

    watch.py --bin DIR [unittest arguments]
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import harness
from harness import BIN, main

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
ENV = {**harness.ENV, "OMP_NUM_THREADS": "1"}
FAILED = 3
PATIENCE = 60  # seconds for what takes a few


def command(ranks, *args, rounds=1, phases=1):
    prefix = ["mpirun", "-n", str(ranks), "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"] if ranks else []
    return [*prefix, str(BIN / "sialrun"), str(PROGRAMS / "uneven.sialx"), "--set", "norb=2", "--set", f"rounds={rounds}", "--set", f"phases={phases}",
            "--segments", "ao=300,300", "--results", "none", *map(str, args)]


def rounds_of_seconds(seconds):
    """How often the work is to be repeated to last so long on this machine."""
    begin = time.monotonic()
    few = 50
    subprocess.run(command(0, rounds=few), env=ENV, capture_output=True, check=True)
    return max(few, int(few * seconds / (time.monotonic() - begin)))


def ranks_of(launcher):
    """Processes of sialrun that the launcher has started, or that it is."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            name = (process / "comm").read_text().strip()
            parent = int(re.sub(r"^.*\) ", "", (process / "stat").read_text()).split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if name == "sialrun" and launcher in (parent, int(process.name)):
            found.append(int(process.name))
    return sorted(found)


class Run:
    """A job that runs while the test does something to it."""

    def __init__(self, args, folder):
        self.files = [open(pathlib.Path(folder) / name, "w+") for name in ("out", "err")]
        self.process = subprocess.Popen(args, env=ENV, stdout=self.files[0], stderr=self.files[1], cwd=folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for rank in ranks_of(self.process.pid):
            os.kill(rank, signal.SIGCONT)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for f in self.files:
            f.close()

    def text(self, which):
        self.files[which].seek(0)
        return self.files[which].read()

    def until(self, done, what):
        end = time.monotonic() + PATIENCE
        while not done():
            if time.monotonic() > end:
                raise AssertionError(f"no {what} after {PATIENCE} s: {self.text(0)}{self.text(1)}")
            time.sleep(0.05)

    def until_it_computes(self):
        self.until(lambda: "begins" in self.text(0), "beginning")

    def end(self):
        self.until(lambda: self.process.poll() is not None, "end")
        return self.process.returncode


class Stalls(unittest.TestCase):
    rounds: int
    folder: str

    @classmethod
    def setUpClass(cls):
        cls.rounds = rounds_of_seconds(6)

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def test_ranks_that_wait_long_say_for_what_and_for_whom(self):
        done = subprocess.run(command(3, "--stall-report", "1s", rounds=self.rounds), env=ENV, capture_output=True, text=True, cwd=self.folder, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("sum = 1", done.stdout)
        self.assertRegex(done.stderr, r"note: [12] of 3 ranks ha(ve|s) waited for 1 s or longer \(`--stall-report`\)")
        self.assertRegex(done.stderr, r"ranks? [0-2, -]+: waits at a barrier \(.*uneven.sialx:36:1\), for .* s; rank [0-2] has not come to it")
        self.assertRegex(done.stderr, r"rank [0-2]: executes a statement \(.*uneven.sialx:(2[3-9]|3[0-3]):")

    def test_nothing_is_said_of_short_waits_or_where_it_is_not_wanted(self):
        for args, rounds in ((("--stall-report", "off"), self.rounds), ((), 20)):
            done = subprocess.run(command(2, *args, rounds=rounds), env=ENV, capture_output=True, text=True, cwd=self.folder, timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_signal_asks_what_the_ranks_do(self):
        for ranks, extra in ((0, ()), (3, ()), (3, ("--ranks-per-node", "1")), (3, ("--servers", "1"))):
            with self.subTest(ranks=ranks, extra=extra), Run(command(ranks, *extra, rounds=self.rounds), self.folder) as run:
                run.until_it_computes()
                time.sleep(1.5)  # ranks say what they do once a second
                os.kill(ranks_of(run.process.pid)[-1], signal.SIGQUIT)
                run.until(lambda: "note: what the ranks do" in run.text(1), "answer")
                self.assertEqual(run.end(), 0, run.text(1))
                said = run.text(1)
                self.assertEqual(said.count("note: what the ranks do"), 1, said)
                self.assertRegex(said, r"rank [0-2]: executes a statement \(.*uneven.sialx:")
                self.assertEqual("rank 2: serves blocks" in said, "--servers" in extra, said)

    def test_a_rank_that_is_stopped_for_good_ends_the_job(self):
        for ranks, which in ((3, 0), (3, 2)):
            with self.subTest(which=which), Run(command(ranks, "--lost-after", "2s", rounds=1, phases=10**7), self.folder) as run:
                run.until_it_computes()
                stopped = ranks_of(run.process.pid)[which]
                os.kill(stopped, signal.SIGSTOP)
                begin = time.monotonic()
                self.assertEqual(run.end(), FAILED, run.text(1))
                self.assertLess(time.monotonic() - begin, 60)
                self.assertRegex(run.text(1), rf"error: rank [0-2] has (been stopped by a signal for . s \(process {stopped}\)|shown no sign of life for . s)")
                self.assertEqual(ranks_of(run.process.pid), [])

    def test_a_rank_that_is_stopped_for_a_while_goes_on(self):
        with Run(command(3, phases=2000, rounds=1), self.folder) as run:
            run.until_it_computes()
            stopped = ranks_of(run.process.pid)[1]
            os.kill(stopped, signal.SIGSTOP)
            time.sleep(5)
            os.kill(stopped, signal.SIGCONT)
            self.assertEqual(run.end(), 0, run.text(1))
            self.assertIn("sum = 2000", run.text(0))

    def test_a_limit_ends_a_job_that_stands_still(self):
        with Run(command(2, "--lost-after", "off", "--stall-limit", "4s", phases=10**7), self.folder) as run:
            run.until_it_computes()
            os.kill(ranks_of(run.process.pid)[1], signal.SIGSTOP)
            self.assertEqual(run.end(), FAILED, run.text(1))
            self.assertRegex(run.text(1), r"error: no rank has begun a statement for . s \(`--stall-limit`\)")
            self.assertIn("no sign of life for", run.text(1))

    def test_a_job_that_is_ended_says_how_to_go_on_and_does(self):
        args = command(2, "--lost-after", "2s", "--checkpoint-every", "0", phases=3000)
        with Run(args, self.folder) as run:
            run.until(lambda: (pathlib.Path(self.folder) / "checkpoint" / "index.json").exists() or run.process.poll() is not None, "checkpoint")
            os.kill(ranks_of(run.process.pid)[1], signal.SIGSTOP)
            self.assertEqual(run.end(), FAILED, run.text(1))
            self.assertRegex(run.text(1), r"hint: kill -CONT lets a process go on; continue from the checkpoint of .* with the same command and `--restart`")
        done = subprocess.run([*command(2, phases=3000), "--restart"], env=ENV, capture_output=True, text=True, cwd=self.folder, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("sum = 3000", done.stdout)

    def test_the_version_names_mpi_and_what_is_set_for_it(self):
        done = subprocess.run([str(BIN / "sialrun"), "--version", "--verbose"], env=dict(ENV, OMPI_MCA_btl="self,tcp"), capture_output=True, text=True, timeout=PATIENCE)
        self.assertRegex(done.stdout, "(?m)^MPI: .+; OMPI_MCA_btl=self,tcp$")

    def test_times_that_are_none_are_refused(self):
        for ranks, flag in ((0, "--stall-report"), (0, "--stall-limit"), (0, "--lost-after"), (2, "--lost-after")):
            done = subprocess.run(command(ranks, flag, "soon"), env=ENV, capture_output=True, text=True, cwd=self.folder, timeout=PATIENCE)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"error: `{flag}`:", done.stderr)


if __name__ == "__main__":
    main()
