#!/usr/bin/env python3
"""How runs end: at limits of time, by signals, killed, started again until the job is done; what is written behind them.

    ends.py --bin DIR [unittest arguments]
"""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, LONG, ROOT, main
from pieces import ENV, PROGRAMS, STEPS, STOPPED, THREE, Pieces, command, items

# A rank 1 that takes a while to install the handler of a signal that ends runs.
SLOW_RANK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int sigaction(int number, const struct sigaction* action, struct sigaction* old) {
  int (*next)(int, const struct sigaction*, struct sigaction*) = (int (*)(int, const struct sigaction*, struct sigaction*))dlsym(RTLD_NEXT, "sigaction");
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (number == SIGUSR1 && action && rank && *rank == '1') sleep(2);
  return next(number, action, old);
}
"""

# Rank 1 is slow to save itself.
SLOW_TO_SAVE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
int open(const char* path, int flags, ...) {
  int (*next)(const char*, int, ...) = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open");
  va_list more;
  va_start(more, flags);
  int mode = flags & O_CREAT ? va_arg(more, int) : 0;
  va_end(more);
  if (flags & O_CREAT && strstr(path, ".rank1")) usleep(300000);
  return next(path, flags, mode);
}
"""

LOCKED_LAUNCHER = """#!PYTHON
import os, pathlib, signal, sys
mark = pathlib.Path(sys.argv[0]).parent / "has_run"
if not mark.exists():
    mark.touch()
    if os.fork() == 0:
        os._exit(1)
    while True:
        signal.pause()
os.execv(sys.argv[1], sys.argv[1:])
"""


class Ends(Pieces):
    def test_time_limit(self):
        for ranks, steps, more in ((0, 400000, ()), (2, 20000, ("--ranks-per-node", "1"))):
            with self.subTest(ranks=ranks):
                args = [PROGRAMS / "long.sialx", "--set", f"steps={steps}", "--set", "norb=2", "--segments", "ao=4,4", "--results", "none"]
                start = time.monotonic()
                code, out, err = self.run_job(*args, *more, "--time-limit", "0.1", ranks=ranks)
                self.assertEqual(code, STOPPED, err)
                self.assertEqual(err.count("stopped by the time limit at "), 1, err)
                self.assertNotIn("error:", err)
                self.assertLess(time.monotonic() - start, 20)
                self.assertIn("begins", out)
                code, rest, err = self.run_job(*args, *more, "--restart", ranks=ranks)
                self.assertEqual(code, 0, err)
                self.assertNotIn("begins", rest)
                self.assertIn(f"sum = {steps}", (out + rest).replace(".00000000000000", ""))

    def test_signals(self):
        """One signal, to whichever rank, ends all of them with a checkpoint."""
        args = [PROGRAMS / "long.sialx", "--set", "norb=2", "--segments", "ao=4,4", "--results", "none"]
        for ranks, more, number, to in ((0, (), signal.SIGTERM, [0]), (0, (), signal.SIGINT, [0]), (0, ("--simulate", "ranks=3,seed=1"), signal.SIGTERM, [0]),
                                        (3, (), signal.SIGTERM, [2]), (2, ("--ranks-per-node", "1"), signal.SIGUSR1, [0, 1]),
                                        (3, ("--servers", "1"), signal.SIGTERM, [0, 1, 2])):
            with self.subTest(ranks=ranks, more=more, number=number):
                # Long enough to be still running when the signal comes, on an idle machine too.
                timeline = ("--trace", self.dir / "trace.json", "--trace-limit", "1000")
                p, pids = self.start(*args, *more, *timeline, "--set", f"steps={400000 if ranks == 0 else 100000}", ranks=ranks)
                for n in to:
                    os.kill(pids[n], number)
                out, err = p.communicate(timeout=60)
                self.assertEqual(p.returncode, STOPPED, err)
                self.assertEqual(err.count(f"stopped by {number.name} at "), 1, err)
                index = json.loads((self.dir / "checkpoint/index.json").read_text())
                self.assertTrue(index["inside"])
                events = json.loads((self.dir / "trace.json").read_text())["traceEvents"]
                self.assertTrue(any(e.get("cat") == "program" for e in events), "the timeline of what has run")
                (self.dir / "trace.json").unlink()
                shutil.rmtree(self.dir / "checkpoint")

    def test_second_signal(self):
        p, pids = self.start(PROGRAMS / "stubborn.sialx", "--results", "none")
        os.kill(pids[0], signal.SIGTERM)
        time.sleep(1.3)
        self.assertIsNone(p.poll(), "a program between two barriers goes on")
        os.kill(pids[0], signal.SIGTERM)
        p.communicate(timeout=20)
        self.assertEqual(p.returncode, -signal.SIGTERM)

    def test_killed_at_random(self):
        """SIGKILL and SIGTERM at random moments (twenty in long tests): the end is the same."""
        job = ROOT / "examples/09_ccsd/job_631gs.toml"
        args = [job, "--output-dir", "."]
        wanted = self.whole(job)[1]
        long = LONG
        rng = random.Random() if long else random.Random(7)
        for ranks, more, kills in ((1, (), 5 if long else 2), (2, ("--ranks-per-node", "1"), 3 if long else 2), (3, ("--servers", "1"), 2 if long else 1)):
            with self.subTest(ranks=ranks, more=more):
                for _ in range(kills):
                    for number in (signal.SIGKILL, signal.SIGTERM):
                        self.killed(args, ranks, more, number, rng.uniform(0.1, 2.5), wanted)

    def test_written_behind(self):
        """Checkpoints after an interval reach the disk while the run goes on, by way of a disk of the host where one is named."""
        long = [PROGRAMS / "long.sialx", "--set", "norb=2", "--segments", "ao=4,4"]
        (self.dir / "local").mkdir()
        for ranks, more in ((0, ()), (2, ("--ranks-per-node", "1")), (0, ("--checkpoint-local", "local")), (2, ("--checkpoint-local", "local"))):
            with self.subTest(ranks=ranks, more=more):
                args = [*long, "--set", f"steps={10000 if ranks else 400000}"]
                out, results, _ = self.whole(*args, ranks=ranks)
                code, got, err = self.run_job(*args, *more, "--checkpoint-every", "0.001s", ranks=ranks)
                self.assertEqual((code, got), (0, out), err)
                self.assertNotIn("warning", err)
                self.assert_same_results(items(self.dir / "results.h5"), results)
                self.assertFalse((self.dir / "checkpoint").exists())
                self.assertEqual(list((self.dir / "local").iterdir()), [])
                self.assertGreater(json.loads((self.dir / "run.json").read_text())["total"]["checkpoints"], 2)
                # Ended by a signal while something may be on its way.
                p, pids = self.start(*args, *more, "--set", f"steps={60000 if ranks else 400000}", "--checkpoint-every", "0.001s", ranks=ranks)
                os.kill(pids[0], signal.SIGTERM)
                _, err = p.communicate(timeout=60)
                self.assertEqual(p.returncode, STOPPED, err)
                self.assertEqual(list((self.dir / "local").iterdir()), [])
                names = {f["name"] for name in ("index.json", "previous.json") if (self.dir / "checkpoint" / name).exists()
                         for f in json.loads((self.dir / "checkpoint" / name).read_text())["files"]}
                self.assertEqual({p.name for p in (self.dir / "checkpoint").glob("*.rank*")}, names)
                code, got, err = self.run_job(*args, *more, "--set", f"steps={60000 if ranks else 400000}", "--restart", ranks=ranks)
                self.assertEqual(code, 0, err)
                self.assertIn(f"sum = {60000 if ranks else 400000}", got)
        # A local disk that takes nothing: the run goes on without checkpoints, and says why. One that is not there is refused.
        for local, code, says in (("/proc", 0, "warning: no checkpoint could be written: cannot write `/proc/sialx"), ("missing", 3, "error: there is no folder `missing`")):
            got, _, err = self.run_job(*long, "--set", "steps=400000", "--checkpoint-local", local, "--checkpoint-every", "0.001s", "--results", "none")
            self.assertEqual(got, code, err)
            self.assertIn(says, err)

    def killed(self, args, ranks, more, number, after, wanted):
        shutil.rmtree(self.dir / "checkpoint", ignore_errors=True)
        (self.dir / "results.h5").unlink(missing_ok=True)
        p = subprocess.Popen(command(ranks, *args, *more, "--checkpoint-every", "0.1s"), cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(p.kill)
        time.sleep(after)
        pids = subprocess.run(["pgrep", "-P", str(p.pid), "sialrun"], capture_output=True, text=True).stdout.split()
        for pid in pids[:1] if number == signal.SIGKILL else pids:
            try:
                os.kill(int(pid), number)
            except ProcessLookupError:
                pass
        out, err = self.ending_of(p)
        if p.returncode != 0:
            if not (self.dir / "checkpoint/index.json").exists():
                return  # killed before there was anything to save
            code, rest, err = self.run_job(*args, *more, "--restart", ranks=ranks)
            self.assertEqual(code, 0, err)
            self.assertIn("continuing from the checkpoint of", err)
        found = items(self.dir / "results.h5")
        for name in ("scalars/scf_energy", "scalars/ccsd_energy"):
            self.assertLess(abs(found[name] - wanted[name]), 1e-9, name)

    def until_done(self, *command, **options):
        p = subprocess.run([str(BIN / "sialrun"), "--until-done", *map(str, command)], cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, **options)
        return p.returncode, p.stdout, p.stderr

    def test_until_done(self):
        """The command that runs the job is started again until the job has reached its end; its output is that of the whole."""
        args = [*THREE, *STEPS]
        for ranks, more in ((0, ()), (2, ("--ranks-per-node", "1"))):
            with self.subTest(ranks=ranks):
                out, results, _ = self.whole(*args, *more, ranks=ranks)
                code, got, err = self.until_done(*command(ranks, *args, *more, "--checkpoint-every", "0", "--stop-after", "9"))
                self.assertEqual((code, got), (0, out), err)
                self.assertGreater(err.count("note: the run ended with exit code 4; the job is started again, from the checkpoint of "), 2)
                self.assertEqual(err.count("continuing from the checkpoint of "), err.count("is started again"))
                self.assert_same_results(items(self.dir / "results.h5"), results)
                self.assertFalse((self.dir / "checkpoint").exists())

    def test_until_done_after_a_kill(self):
        args = command(2, PROGRAMS / "long.sialx", "--set", "steps=60000", "--set", "norb=2", "--segments", "ao=4,4", "--results", "none", "--output-dir", "out", "--checkpoint-every", "0.3s")
        p = subprocess.Popen([str(BIN / "sialrun"), "--until-done", *args], cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(p.kill)
        self.assertIn("begins", p.stdout.readline())
        for _ in range(2):
            index, last = self.dir / "out/checkpoint/index.json", None
            for _ in range(600):  # until this run has saved something
                if index.exists() and last not in (None, index.stat().st_mtime_ns):
                    break
                last = index.stat().st_mtime_ns if index.exists() else 0
                time.sleep(0.05)
            launcher = subprocess.run(["pgrep", "-P", str(p.pid)], capture_output=True, text=True).stdout.split()
            pids = [pid for l in launcher for pid in subprocess.run(["pgrep", "-P", l, "sialrun"], capture_output=True, text=True).stdout.split()]
            if pids:
                os.kill(int(pids[-1]), signal.SIGKILL)
            time.sleep(1)
        out, err = p.communicate(timeout=110)
        self.assertEqual(p.returncode, 0, err)
        self.assertIn("sum = 60000.0", out)
        self.assertIn("the job is started again, from the checkpoint of ", err)
        self.assertNotIn("begins", out)

    def test_ranks_save_the_same_moment(self):
        """A rank that has saved itself does not change the blocks of one that has not."""
        library = self.dir / "slow.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, "-xc", "-", "-ldl"], input=SLOW_TO_SAVE, text=True, check=True)
        for phases, more in ((3000, ()), (800, ("--ranks-per-node", "1"))):
            with self.subTest(more=more):
                wanted = f"energy = {4 * 4 * 4 * sum(s * s for s in range(1, phases + 1))}.0"
                args = [ROOT / "tests/hosts/programs/counted.sialx", "--set", "norb=2", "--set", f"phases={phases}", "--segments", "ao=4,4", "--results", "none", *more]
                p, pids = self.start(*args, "--checkpoint-every", "0.05s", ranks=2, env={"LD_PRELOAD": str(library)})
                for _ in range(6000):
                    if (self.dir / "checkpoint/index.json").exists():
                        break
                    time.sleep(0.01)
                os.kill(pids[0], signal.SIGKILL)
                self.ending_of(p)
                code, out, err = self.run_job(*args, "--restart", ranks=2, timeout=240)
                self.assertEqual(code, 0, err)
                self.assertIn("continuing from the checkpoint of", err)
                self.assertIn(wanted, out)

    def test_until_done_with_a_launcher_that_has_locked_itself_out(self):
        """It sleeps, its only child has ended, and it takes no note of it."""
        launcher = self.dir / "mpirun"
        launcher.write_text(LOCKED_LAUNCHER.replace("PYTHON", sys.executable))
        launcher.chmod(0o755)
        code, out, err = self.until_done("sh", "-c", '"$@"; exit $?', "sh", launcher, BIN / "sialrun", PROGRAMS / "long.sialx", "--set", "steps=1", "--set", "norb=2", "--segments", "ao=4,4", "--results", "none")
        self.assertEqual(code, 0, err)
        self.assertIn("sum = 1.0", out)
        self.assertRegex(err, r"note: the launcher \(process \d+\) has locked itself out")
        self.assertIn("the run ended with exit code 137; the job is started again, from its beginning", err)

    def test_until_done_asked_to_end(self):
        """A signal ends the run with a checkpoint, and nothing is started again; the same command goes on."""
        args = command(2, PROGRAMS / "long.sialx", "--set", "steps=60000", "--set", "norb=2", "--segments", "ao=4,4", "--results", "none")
        for number in (signal.SIGTERM, signal.SIGUSR1):
            with self.subTest(number=number):
                p = subprocess.Popen([str(BIN / "sialrun"), "--until-done", *args], cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.addCleanup(p.kill)
                self.assertIn("begins", p.stdout.readline())
                p.send_signal(number)
                out, err = p.communicate(timeout=60)
                self.assertEqual(p.returncode, STOPPED, err)
                self.assertEqual(err.count("stopped by SIGUSR1 at "), 1, err)
                self.assertNotIn("started again", err)
                code, out, err = self.until_done(*args)
                self.assertEqual(code, 0, err)
                self.assertIn("continuing from the checkpoint of ", err)
                self.assertIn("sum = 60000.0", out)

    def test_signal_at_the_first_statement(self):
        """By then every rank has its handler, also one that is slow to install it."""
        library = self.dir / "slow.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, "-xc", "-", "-ldl"], input=SLOW_RANK, text=True, check=True)
        for more in ((), ("--servers", "1")):
            with self.subTest(more=more):
                p, pids = self.start(PROGRAMS / "long.sialx", "--set", "steps=60000", "--set", "norb=2", "--segments", "ao=4,4", "--results", "none", *more, ranks=2, env={"LD_PRELOAD": str(library)})
                for pid in pids:
                    os.kill(pid, signal.SIGUSR1)
                _, err = self.ending_of(p)
                self.assertEqual(p.returncode, STOPPED, err)

    def test_until_done_gives_up(self):
        program = [PROGRAMS / "long.sialx", "--set", "steps=1", "--set", "norb=2", "--segments", "ao=4,4"]
        code, _, err = self.until_done("sh", "-c", "echo run >> runs; exit 3", "sialrun", *program)
        self.assertEqual((code, (self.dir / "runs").read_text()), (3, "run\n" * 3), err)
        self.assertIn("error: the job ended 3 times in a row without a new checkpoint (exit code 3)", err)
        self.assertEqual(err.count("from its beginning"), 2)
        for command_, status, says in ((("sh", "-c", "exit 1", "sialrun", *program), 1, ""), ((BIN / "sialrun", *program[:1], "--set", "steps=x"), 2, "steps=x"),
                                       (("mpirun", "-n", "2", "other"), 2, "does not start sialrun"), ((), 2, "does not start sialrun"),
                                       (("no-such-launcher", "sialrun", *program), 2, "cannot start `no-such-launcher`"),
                                       ((BIN / "sialrun", "--no-such-option"), 2, "--no-such-option"), (("mpirun", "sialrun", "nowhere.toml"), 2, "nowhere.toml")):
            with self.subTest(says=says, status=status):
                code, out, err = self.until_done(*command_)
                self.assertEqual((code, out), (status, ""), err)
                self.assertIn(says, err)
                self.assertEqual(err.count("error:"), 1 if says else 0, err)
        code, _, err = self.run_job(*program, "--until-done")
        self.assertEqual(code, 2)
        self.assertIn("`--until-done` is not the first argument", err)


if __name__ == "__main__":
    main()
