#!/usr/bin/env python3
"""Outputs in folders that are not a job's alone: other jobs, links and files of other users, readers that leave.

    shared_folders.py --bin DIR [unittest arguments]

Tests that need another user or a C compiler are skipped where they cannot be had.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py

from faults import PROGRAMS
from harness import ENV, main, mpirun
from in_folder import InFolder

ENDLESS = ("--set", "norb=9", "--segments", "ao=2,2,2,2,2,2,2,2,2", PROGRAMS / "endless.sialx")
LONG = 'sial long\nindex i = 1:20000\nstatic h[i]\nscalar x\ndo i\n  h[i] = 1.0\n  println "a line that has many followers"\nenddo i\nx = 2.0\nendsial long\n'


class SharedFolders(InFolder):
    @contextlib.contextmanager
    def running(self, *args, launcher=(), killed=False, ends=4):
        """A job that runs meanwhile; it is asked to end afterwards, or killed."""
        p = subprocess.Popen([*launcher, *self.command("sialrun", *args, *ENDLESS)], cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            self.assertRegex((p.stderr if "--restart" in args else p.stdout).readline(), "running|continuing")
            yield p
            err = ""
            if p.poll() is None:
                p.send_signal(signal.SIGKILL if killed else signal.SIGUSR1)
                _, err = p.communicate(timeout=60)
            if not killed:
                self.assertEqual(p.returncode, ends, err)
        finally:
            p.kill()
            p.wait()
            p.stdout.close()
            p.stderr.close()

    def whole(self, name="results.h5"):
        with h5py.File(self.dir / name, "r") as f:
            return float(f["statics/h"][()].sum()) == 1600.0

    # --- several jobs

    def test_a_second_job_is_refused(self):
        with self.running() as first:
            err = self.refused("sialrun", "save.sialx", code=3, says=("another job writes `results.h5`", str(self.dir), f"process {first.pid} on ", "--output-dir"))
            self.assertNotIn("computed", err)
            self.refused("sialrun", "save.sialx", launcher=mpirun(2), code=3, says=("another job writes",))
            self.refused("sialrun", "save.sialx", "--output-dir", self.dir / "." / "checkpoint" / "..", code=3, says=("another job writes",))  # by another name
            self.refused("sialrun", "save.sialx", "--results", "none", "--run-json", "results.h5", code=3, says=("another job writes",))
            self.must("sialrun", "save.sialx", "--output-dir", "mine")
            self.must("sialrun", "save.sialx", "--results", "other.h5", "--run-json", "none")
            self.must("sialrun", "save.sialx", "--results", "none", "--run-json", "none")
        self.must("sialrun", "save.sialx", "--output-dir", "again")
        self.assertEqual([n for n in self.names() if n.endswith(".lock")], [])
        self.assertTrue(self.whole("mine/results.h5") and self.whole("other.h5"))

    def test_several_ranks_are_one_job(self):
        self.must("sialrun", "save.sialx", launcher=mpirun(3))
        self.must("sialrun", "save.sialx", "--simulate", "ranks=3,seed=1")
        self.write("batch", "save.sialx --results results.h5\nsave.sialx --results results.h5\n")
        for launcher in ((), mpirun(2)):
            self.must("sialrun", "--batch", "batch", launcher=launcher)
        self.assertTrue(self.whole())
        self.assertEqual([n for n in self.names() if n.startswith(".")], [])

    def test_a_killed_job_holds_nothing(self):
        for launcher in ((), mpirun(2)):
            with self.running("--checkpoint-every", "0", launcher=launcher, killed=True):
                pass
            # mpirun is gone before its ranks are: they notice within seconds, later on a machine that is busy.
            patience = time.monotonic() + 60
            while (ended := self.run_tool("sialrun", "save.sialx"))[0] != 0 and time.monotonic() < patience:
                self.assertIn("another job writes", ended[2])
                time.sleep(0.1)
            self.assertEqual(ended[0], 0, ended[2])
            self.assertTrue(self.whole())
            self.assertEqual([n for n in self.names() if n.startswith(".")], [])

    def test_what_killed_jobs_left_is_removed(self):
        old = ["results.h5.k3x7qmbd.part", "run.json.aaaaaaaa.part"]
        others = ["results.h5.part", "results.h5.K3X7QMBD.part", "results.h5.k3x7qmbd.part.txt", "other.h5.k3x7qmbd.part", "results.h5.k3x7qmb.part"]
        for name in [*old, *others]:
            self.write(name, "half")
        self.write(".results.h5.lock", "held by a sialx job\nprocess 1 on nowhere, since then\n")
        (self.dir / "results.h5.bbbbbbbb.part").symlink_to("save.sialx")
        self.must("sialrun", "save.sialx")
        left = sorted(p.name for p in self.dir.iterdir())
        self.assertEqual([n for n in left if n in old or n.endswith(".lock")], [])
        self.assertEqual([n for n in others if n not in left], [])
        self.assertIn("results.h5.bbbbbbbb.part", left)
        self.assertTrue((self.dir / "save.sialx").is_file())

    def test_pairs_at_the_same_time(self):
        for _ in range(10):
            jobs = [subprocess.Popen(self.command("sialrun", "save.sialx"), cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                    for _ in range(2)]
            ends = [(p.communicate(timeout=60)[1], p.returncode) for p in jobs]
            self.assertIn(0, [code for _, code in ends], ends)
            for err, code in ends:
                if code != 0:
                    self.assertEqual(code, 3, err)
                    self.assertIn("another job writes", err)
            self.assertTrue(self.whole())
            self.assertEqual(self.names(), ["results.h5", "run.json", "save.sialx", "tiny.sialx"])
            for name in ("results.h5", "run.json"):
                (self.dir / name).unlink()

    def test_one_checkpoint_folder(self):
        nothing = ("--results", "none", "--run-json", "none", "--checkpoint-dir", "saved")
        for every in (("--checkpoint-every", "0"), ("--checkpoint-every", "100")):
            with self.running(*nothing, *every) as first:
                self.refused("sialrun", *nothing, *every, "tiny.sialx", code=3, says=("another job writes `index.json`", f"process {first.pid}", "saved", "--checkpoint-dir"))
                self.must("sialrun", *nothing, "tiny.sialx")
        # A checkpoint that is going on is not continued a second time.
        with self.running(*nothing, "--restart", "--checkpoint-every", "0"):
            self.refused("sialrun", *nothing, "--restart", "--", *ENDLESS, code=3, says=("another job writes `index.json`",))
        # Nobody asked for checkpoints: the second of two jobs that a signal ends has none, and damages none.
        shutil.rmtree(self.dir / "saved")
        with self.running(*nothing, "--checkpoint-every", "100"):
            p = subprocess.Popen(self.command("sialrun", *nothing, *ENDLESS), cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertIn("running", p.stdout.readline())
            p.send_signal(signal.SIGUSR1)
            _, err = p.communicate(timeout=60)
            self.assertEqual(p.returncode, 3, err)
            self.assertIn("another job writes `index.json`", err)
        self.assertIn("index.json", self.names("saved"))

    def test_a_file_system_without_locks(self):
        cc = shutil.which("cc") or shutil.which("gcc")
        if not cc:
            self.skipTest("no C compiler here")
        self.write("no_locks.c", "#include <errno.h>\nint flock(int file, int what) { (void)file; (void)what; errno = ENOLCK; return -1; }\n")
        subprocess.run([cc, "-shared", "-fPIC", "no_locks.c", "-o", "no_locks.so"], cwd=self.dir, check=True)
        env = {**ENV, "LD_PRELOAD": str(self.dir / "no_locks.so"), "HDF5_USE_FILE_LOCKING": "FALSE"}
        code, _, err = self.run_tool("sialrun", "save.sialx", env=env)
        self.assertEqual(code, 0, err)
        self.assertEqual(err.count("warning:"), 1, err)
        for text in ("cannot be locked: No locks available", "--output-dir"):
            self.assertIn(text, err)
        self.assertTrue(self.whole())
        self.assertEqual([n for n in self.names() if n.startswith(".")], [])

    def test_earlier_outputs_are_replaced_with_a_note(self):
        self.assertEqual(self.run_tool("sialrun", "save.sialx")[2], "")
        for launcher in ((), mpirun(2)):
            self.assertEqual(self.run_tool("sialrun", "save.sialx", launcher=launcher)[2], "note: replaced `results.h5`, `run.json` of an earlier run\n")
        self.assertEqual(self.run_tool("sialrun", "save.sialx", "--results", "new.h5")[2], "note: replaced `run.json` of an earlier run\n")
        self.assertEqual(self.run_tool("sialrun", "save.sialx", "--results", "none")[2], "")

    def test_a_code_cache_that_others_may_write(self):
        cache = self.dir / "cache" / "sialx"
        env = {**ENV, "XDG_CACHE_HOME": str(cache.parent)}
        self.assertEqual(self.run_tool("sialrun", "tiny.sialx", "--results", "none", env=env)[2], "")
        cache.mkdir(parents=True, exist_ok=True)
        for launcher in ((), mpirun(2)):
            cache.chmod(0o777)
            code, _, err = self.run_tool("sialrun", "tiny.sialx", "--results", "none", env=env, launcher=launcher)
            self.assertEqual(code, 0, err)
            self.assertEqual(err.count("warning:"), 1, err)
            self.assertIn(f"generated code is not kept on disk: others may write to `{cache}`", err)
            cache.chmod(0o700)
            self.assertEqual(self.run_tool("sialrun", "tiny.sialx", "--results", "none", env=env, launcher=launcher)[2], "")

    # --- what other people have put there

    def test_files_of_others_stay(self):
        (self.dir / "checkpoint").mkdir()
        others = {"checkpoint/2024.ranking.txt": "mine", "checkpoint/7.rank0.bak": "mine", "checkpoint/7.rankX": "mine", "checkpoint/7.rank0": "text of mine",
                  ".results.h5.lock": "mine", ".run.json.lock": "m"}
        for name, text in others.items():
            self.write(name, text)
        self.write("two.toml", 'programs = ["tiny.sialx", "save.sialx"]\n')
        self.assertEqual(self.run_tool("sialrun", "two.toml", "--checkpoint-every", "0", "--stop-after", "1")[0], 4)
        self.must("sialrun", "two.toml", "--checkpoint-every", "0", "--restart")
        self.must("sialrun", "two.toml", "--checkpoint-every", "0")
        self.assertTrue(self.whole())
        for name, text in others.items():
            self.assertEqual(self.read(name), text.encode(), name)
        self.assertEqual(self.names("checkpoint"), ["2024.ranking.txt", "7.rank0", "7.rank0.bak", "7.rankX"])

    def test_links_at_known_names_are_not_written_through(self):
        self.write("victim", "precious")
        names = [f"{n}{end}" for n in ("results.h5", "run.json", "t.json", "m.siox", "r.txt", "d.dat", "checkpoint/index.json") for end in (".part", ".probe")]
        names += [".results.h5.lock", ".run.json.lock", "checkpoint/1.rank0", "checkpoint/.index.json.lock"]
        (self.dir / "checkpoint").mkdir()
        for name in names:
            (self.dir / name).symlink_to(self.dir / "victim")
        self.write("two.toml", 'programs = ["tiny.sialx", "save.sialx"]\n')
        for tool, args in (("sialrun", ("two.toml", "--trace", "t.json", "--checkpoint-every", "0")), ("sialrun", ("tiny.sialx", "--write-dat", "d.dat")),
                           ("sialc", ("tiny.sialx", "-o", "m.siox")), ("sialreport", ("m.siox", "-o", "r.txt"))):
            with self.subTest(args=args):
                self.must(tool, *args)
                self.assertEqual(self.read("victim"), b"precious")
                for name in names:
                    self.assertTrue((self.dir / name).is_symlink(), name)
        self.assertTrue(self.whole())

    def test_links_of_others_where_everybody_may_write(self):
        if os.geteuid() != 0:
            self.skipTest("needs another user")
        everybodys = self.dir / "everybodys"
        everybodys.mkdir()
        everybodys.chmod(0o1777)
        names = ("results.h5", "run.json", "m.siox")
        for name in names:
            self.write(f"victim.{name}", "precious")
            (everybodys / name).symlink_to(self.dir / f"victim.{name}")
            os.lchown(everybodys / name, 65534, 65534)
        self.must("sialrun", "save.sialx", "--output-dir", everybodys)
        self.must("sialc", "tiny.sialx", "-o", everybodys / "m.siox")
        for name in names:
            self.assertEqual(self.read(f"victim.{name}"), b"precious")
            self.assertFalse((everybodys / name).is_symlink())
        self.assertTrue(self.whole("everybodys/results.h5"))

    def test_folders_behind_links_of_others(self):
        if os.geteuid() != 0:
            self.skipTest("needs another user")
        everybodys, mine = self.dir / "everybodys", self.dir / "mine"
        everybodys.mkdir()
        everybodys.chmod(0o1777)
        mine.mkdir()
        for name in ("checkpoint", "out"):
            (everybodys / name).symlink_to(mine)
            os.lchown(everybodys / name, 65534, 65534)
        self.refused("sialrun", "save.sialx", "--output-dir", everybodys, "--checkpoint-every", "0", code=3, says=(f"the folder `{everybodys}/checkpoint` is a link that another user made",))
        self.refused("sialrun", "save.sialx", "--output-dir", everybodys / "out", code=3, says=(f"the folder `{everybodys}/out` is a link that another user made",))
        self.assertEqual(list(mine.iterdir()), [])
        os.lchown(everybodys / "out", 0, 0)
        self.must("sialrun", "save.sialx", "--output-dir", everybodys / "out")
        self.assertTrue(self.whole("mine/results.h5"))

    def test_folders_that_may_not_be_written(self):
        """A file there that may be written is changed where it stands, except for results."""
        how = self.somebody_else()
        self.must("sialc", "tiny.sialx", "-o", "m.siox")
        (self.dir / "fixed").mkdir()
        names = ("m.siox", "r.txt", "t.json", "run.json", "results.h5", "d.dat")
        for name in names:
            path = self.dir / "fixed" / name
            path.write_text(("{}" if name == "run.json" else "") + "earlier content " * 2000)
            if how:
                os.chown(path, 65534, 65534)
        (self.dir / "fixed").chmod(0o555)
        self.addCleanup((self.dir / "fixed").chmod, 0o755)
        inode = (self.dir / "fixed/m.siox").stat().st_ino
        self.must("sialc", "tiny.sialx", "-o", "fixed/m.siox", **how)
        self.must("sialreport", "m.siox", "-o", "fixed/r.txt", **how)
        self.must("sialrun", "tiny.sialx", "--write-dat", "fixed/d.dat", **how)
        self.must("sialrun", "tiny.sialx", "--results", "none", "--run-json", "fixed/run.json", "--trace", "fixed/t.json", **how)
        self.assertEqual(self.read("fixed/m.siox"), self.read("m.siox"))
        self.assertEqual((self.dir / "fixed/m.siox").stat().st_ino, inode)
        json.loads(self.read("fixed/run.json")), json.loads(self.read("fixed/t.json"))
        self.assertNotIn(b"earlier", self.read("fixed/r.txt"))
        self.refused("sialrun", "save.sialx", "--results", "fixed/results.h5", code=3, says=("fixed/results.h5", "its folder may not be written", "--output-dir"), **how)

    def test_a_folder_that_goes_while_a_job_runs(self):
        """It is made anew; where that cannot be, the job says so."""
        for blocked in (False, True):
            with self.subTest(blocked=blocked), self.running("--output-dir", "gone", ends=3 if blocked else 4) as p:
                shutil.rmtree(self.dir / "gone")
                if blocked:
                    self.write("gone", "a file")
                p.send_signal(signal.SIGUSR1)
                _, err = p.communicate(timeout=60)
            if blocked:
                self.assertIn("no checkpoint could be written: cannot write `gone/checkpoint/1.rank0`: Not a directory", err)
            else:
                self.assertEqual(self.names("gone/checkpoint"), ["1.rank0", "index.json"])

    # --- readers that leave

    def test_a_reader_that_leaves(self):
        self.write("long.sialx", LONG)
        for ranks in ((), ("--simulate", "ranks=2,seed=1")):  # of several processes, mpirun has the output, and ends the job
            with self.subTest(ranks=ranks):
                p = subprocess.Popen(self.command("sialrun", "long.sialx", *ranks), cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.assertIn("many followers", p.stdout.readline())
                p.stdout.close()
                err = p.stderr.read()
                p.stderr.close()
                self.assertEqual(p.wait(timeout=60), 3, err)
                self.assertEqual(err, "error: cannot write the output: Broken pipe\n")
                with h5py.File(self.dir / "results.h5", "r") as f:
                    self.assertEqual(float(f["scalars/x"][()]), 2.0)
                (self.dir / "results.h5").unlink()
                (self.dir / "run.json").unlink()
        self.must("sialc", "long.sialx")
        for tool, args in (("sialc", ("--emit=ast-json", "long.sialx")), ("sialc", ("--disassemble", "long.siox")), ("sialreport", ("long.siox", "--format", "html"))):
            with self.subTest(tool=tool, args=args):
                reader, writer = os.pipe()
                os.close(reader)
                with os.fdopen(writer, "w") as out:
                    err = self.refused(tool, *args, code=3, says=("cannot write the output: Broken pipe",), stdout=out)
                self.assertEqual(err.count("\n"), 1, err)


if __name__ == "__main__":
    main()
