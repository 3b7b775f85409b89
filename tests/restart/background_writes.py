#!/usr/bin/env python3
"""Checkpoints that are written behind the computation: blocks that change meanwhile, little memory, full disks, runs that are killed.

    background_writes.py --bin DIR [unittest arguments]
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import main
from pieces import PROGRAMS, STOPPED, Pieces, items

# A disk that takes its time for blocks in files of ranks, more for those of ranks other than the first; or has no space for them.
SLOW_DISK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
ssize_t write(int file, const void* bytes, size_t n) {
  ssize_t (*next)(int, const void*, size_t) = (ssize_t (*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  if (n >= 100000) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    const char* rank = getenv("OMPI_COMM_WORLD_RANK");
    if (length > 0 && (path[length] = 0, strstr(path, ".rank"))) {
      if (getenv("TEST_DISK_IS_FULL")) return errno = ENOSPC, -1;
      usleep(rank && *rank == '0' ? 1000 : 5000);
    }
  }
  return next(file, bytes, n);
}
"""
CHANGES = [PROGRAMS / "saves.sialx", PROGRAMS / "changes.sialx", "--set", "norb=3", "--segments", "ao=200,200,200"]
WORLDS = [(0, ()), (2, ()), (3, ()), (2, ("--ranks-per-node", "1")), (3, ("--servers", "1")), (2, ("--deterministic",)), (2, ("--store", "copy"))]


class Behind(Pieces):
    def slow_disk(self):
        library = self.dir / "slow.so"
        if not library.exists():
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, "-xc", "-", "-ldl"], input=SLOW_DISK, text=True, check=True)
        return {"LD_PRELOAD": str(library)}

    def index(self):
        try:
            return json.loads((self.dir / "checkpoint/index.json").read_text())
        except (OSError, ValueError):
            return {"serial": 0}

    def wait_for(self, p, serial):
        end = time.monotonic() + 100
        while self.index()["serial"] < serial and p.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        self.assertIsNone(p.poll(), "the run is to be killed while it writes")
        self.assertGreaterEqual(self.index()["serial"], serial)

    def test_blocks_that_change_meanwhile(self):
        """Killed while a checkpoint is written: the one before holds every block as it was at its barrier."""
        rng = random.Random(3)
        for ranks, more in WORLDS:
            with self.subTest(ranks=ranks, more=more):
                steps = ("--set", f"steps={400 if '--servers' in more else 1600}")
                out, results, _ = self.whole(*CHANGES, *steps, *more, ranks=ranks)
                p, pids = self.start(*CHANGES, *steps, *more, "--checkpoint-every", "0.001s", ranks=ranks, env=self.slow_disk())
                self.wait_for(p, 2)
                time.sleep(rng.uniform(0, 0.3))
                os.kill(pids[-1], signal.SIGKILL)
                _, err = self.ending_of(p)
                self.assertNotEqual(p.returncode, 0, err)
                self.assertTrue(self.index()["inside"])
                code, rest, err = self.run_job(*CHANGES, *steps, *more, "--restart", ranks=ranks)
                self.assertEqual(code, 0, err)
                self.assertNotIn("begins", rest)
                self.assertTrue(out.endswith(rest) and rest, rest)
                self.assert_same_results(items(self.dir / "results.h5"), results)

    def test_stopped_while_it_writes(self):
        for ranks, more in ((0, ()), (2, ())):
            with self.subTest(ranks=ranks):
                steps = ("--set", "steps=1600")
                _, results, _ = self.whole(*CHANGES, *steps, *more, ranks=ranks)
                p, pids = self.start(*CHANGES, *steps, *more, "--checkpoint-every", "0.001s", ranks=ranks, env=self.slow_disk())
                os.kill(pids[0], signal.SIGTERM)
                _, err = p.communicate(timeout=60)
                self.assertEqual(p.returncode, STOPPED, err)
                named = {f["name"] for name in ("index.json", "previous.json") if (self.dir / "checkpoint" / name).exists()
                         for f in json.loads((self.dir / "checkpoint" / name).read_text())["files"]}
                self.assertEqual({p.name for p in (self.dir / "checkpoint").glob("*.rank*")}, named)
                code, _, err = self.run_job(*CHANGES, *steps, *more, "--restart", ranks=ranks)
                self.assertEqual(code, 0, err)
                self.assert_same_results(items(self.dir / "results.h5"), results)

    def test_end_of_the_job_while_it_writes(self):
        """What is of no use any more is neither waited for nor left behind."""
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                code, _, err = self.run_job(*CHANGES, "--set", "steps=5", "--checkpoint-every", "0.001s", "--results", "none", ranks=ranks, env=self.slow_disk())
                self.assertEqual(code, 0, err)
                self.assertNotIn("warning", err)
                self.assertFalse((self.dir / "checkpoint").exists())

    def saved_often(self, least, first, *args, ranks):
        """The run without checkpoints, and the statistics of one of as many steps with `least` checkpoints: how many steps that takes the machine decides."""
        for steps in (first, 8 * first, 64 * first):
            more = (*args, "--set", f"steps={steps}")
            code, _, err = self.run_job(*more, "--checkpoint-every", "0.001s", ranks=ranks, env=self.slow_disk())
            self.assertEqual(code, 0, err)
            self.assertNotIn("warning", err)
            total = json.loads((self.dir / "run.json").read_text())["total"]
            if total["checkpoints"] >= least:
                break
        self.assertGreaterEqual(total["checkpoints"], least)
        return self.whole(*more, ranks=ranks), total

    def test_what_does_not_change_is_not_copied(self):
        args = [PROGRAMS / "reads.sialx", "--set", "norb=3", "--segments", "ao=200,200,200"]
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                whole, total = self.saved_often(1, 500, *args, ranks=ranks)
                wanted = whole[2]["total"]
                self.assertGreater(total["checkpoint_bytes"], 9 * 8 * 200 * 200)
                for counter in ("bytes_copied", "block_copies", "block_bytes_copied"):
                    self.assertEqual(total[counter], wanted[counter], counter)

    def test_little_memory(self):
        """There is no memory for what changes and for what is still to be written: who changes it waits for the writer."""
        # Seven arrays of 2.9 MB, and a few blocks.
        for ranks, memory in ((0, "25MB"), (2, "14MB")):
            with self.subTest(ranks=ranks):
                whole, _ = self.saved_often(2, 60, *CHANGES, "--memory", memory, ranks=ranks)
                self.assert_same_results(items(self.dir / "results.h5"), whole[1])

    def test_full_disk(self):
        """The run goes on and says so; the blocks that were held are given up."""
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                code, out, err = self.run_job(*CHANGES, "--set", "steps=60", "--memory", "25MB", "--checkpoint-every", "0.001s", "--results", "none", "--run-json", "none",
                                              ranks=ranks, env={**self.slow_disk(), "TEST_DISK_IS_FULL": "1"})
                self.assertEqual(code, 0, err)
                self.assertIn("wrong = 0.0", out)
                self.assertIn("warning: no checkpoint could be written: cannot write `", err)
                self.assertIn("No space left on device", err)
                self.assertFalse((self.dir / "checkpoint").exists())


if __name__ == "__main__":
    main()
