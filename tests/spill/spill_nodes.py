#!/usr/bin/env python3
"""Jobs whose blocks go to the memory of other nodes (`--spill nodes`): the results are those of jobs with enough memory.

    spill_nodes.py --bin DIR [unittest arguments]
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py

from harness import ROOT, main, mpirun
from in_scratch import NO_FILES, PROGRAMS, SMALL, SMALL_BYTES, InScratch

MEMORY_NODE = ("--server-memory", "100MB")
# Nodes of one rank and of two, one server and two.
WORLDS = [(0, ("--simulate", "ranks=2,seed=5,ranks-per-node=1,servers=1", *MEMORY_NODE)), (0, ("--simulate", "ranks=4,seed=3,ranks-per-node=2,servers=2", *MEMORY_NODE)),
          (3, ("--servers", "1", *MEMORY_NODE)), (4, ("--servers", "2", "--ranks-per-node", "1", *MEMORY_NODE))]


class SpillNodes(InScratch):
    def test_every_layout(self):
        wanted, _ = self.job("grow.sialx", *SMALL, "--set", "steps=3", *NO_FILES)
        for ranks, more in WORLDS:
            with self.subTest(ranks=ranks, more=more):
                out, _ = self.job("grow.sialx", *SMALL, "--set", "steps=3", "--memory", "3MB", "--spill", "nodes", *more, *NO_FILES, "--run-json", "run.json", ranks=ranks)
                self.assertEqual(out, wanted)
                total = self.total()
                self.assertGreater(total["tier_writes"], 0)
                self.assertGreater(total["tier_reads"], 0)
                self.assertGreater(total["tier_bytes_high_water"], 0)

    def test_a_disk_takes_what_lenders_have_not(self):
        """Two nodes lend to each other, or workers to a server that arrays live on; the rest goes to the disk."""
        wanted, _ = self.job("grow.sialx", *SMALL, "--set", "steps=3", *NO_FILES)
        for place in ("nodes:1MB,scratch", "nodes:200kB,scratch"):
            for ranks, more in ((0, ("--simulate", "ranks=2,seed=4,ranks-per-node=1")), (0, ("--simulate", "ranks=2,seed=4,servers=1", "--homes", "servers")), (2, ("--ranks-per-node", "1")),
                                (3, ("--servers", "1", "--homes", "servers"))):
                with self.subTest(place=place, ranks=ranks):
                    out, _ = self.job("grow.sialx", *SMALL, "--set", "steps=3", "--memory", "5MB", "--spill", place, *more, *NO_FILES, ranks=ranks)
                    self.assertEqual(out, wanted)
                    self.assert_nothing_left()

    def test_several_programs_and_a_restart(self):
        steps = [*SMALL, "--set", "steps=6", *NO_FILES, "--ranks-per-node", "1", "--servers", "1", *MEMORY_NODE]
        wanted, _ = self.job("grow.sialx", *SMALL, "--set", "steps=6", *NO_FILES)
        first, err = self.job("grow.sialx", *steps, "--checkpoint-every", "0", "--stop-after", "5", "--memory", "3MB", "--spill", "nodes", ranks=3, code=4)
        self.assertIn("--restart", err)
        rest, _ = self.job("grow.sialx", *steps, "--restart", "--memory", "5MB", "--spill", "nodes:60MB", ranks=3)
        self.assertEqual(first + rest, wanted)

    def test_ccsd_with_a_memory_node(self):
        job = ROOT / "examples/09_ccsd/job.toml"
        same = ["--set", "keep_quartets=1", "--segments", "ao_target=6,occ_target=3,virt_target=6", "--output-dir", "."]
        names = ("scf_energy", "ccsd_energy")
        self.must("sialrun", job, *same)
        wanted = self.scalars(names)
        plan = self.must("sialrun", "--dry-run", job, *same, "--ranks", "2")
        number, unit = re.search(r"^fits: ([\d.]+) (\w+) of ", plan, re.M).groups()
        half = f"{float(number) / 2:.3f}{unit}"
        more = ("--servers", "1", "--server-memory", "1GB")  # the workers are one node
        self.must("sialrun", job, *same, "--memory", half, "--spill", "nodes", *more, launcher=mpirun(3))
        for name, found, good in zip(names, self.scalars(names), wanted, strict=True):
            self.assertLess(abs(found - good), 1e-9, name)
        self.assertGreater(self.total()["tier_writes"], 0)

    def test_dry_run(self):
        args = [PROGRAMS / "grow.sialx", *SMALL, "--set", "steps=3", "--memory", "8MB", "--dry-run", "--ranks", "2", "--ranks-per-node", "1"]
        for place, more, fits, says in (("nodes", ("--servers", "1", *MEMORY_NODE), True, "in the memory of other nodes of each node"), ("nodes:50MB", (), False, "4.00 MB are allowed"),
                                        ("nodes", ("--servers", "1", "--server-memory", "4MB"), False, "1.75 MB are allowed"), ("nodes:1MB", (), False, "1.00 MB are allowed"),
                                        ("nodes:1MB,scratch", (), True, "in the memory of other nodes and on disk"), ("nodes", (), False, "no other node lends memory"),
                                        ("nodes", ("--servers", "2", "--homes", "servers"), True, "not known before the run")):
            with self.subTest(place=place, more=more):
                code, out, err = self.run_tool("sialrun", *args, "--spill", place, *more)
                self.assertEqual(code, 0 if fits else 1, f"{out}{err}")
                self.assertIn(says, out)

    # ---- what is refused
    def test_there_must_be_another_node(self):
        self.refused("sialrun", PROGRAMS / "touch.sialx", *SMALL, "--set", "times=1", "--spill", "nodes", *NO_FILES, code=3, says=("--spill nodes", "no other node", "--servers"))
        self.refused("sialrun", PROGRAMS / "touch.sialx", *SMALL, "--set", "times=1", "--spill", "nodes", *NO_FILES, launcher=mpirun(2), code=3, says=("no other node",))

    def test_somebody_must_lend(self):
        more = ("--spill", "nodes", "--ranks-per-node", "1", *NO_FILES)
        self.refused("sialrun", PROGRAMS / "touch.sialx", *SMALL, "--set", "times=1", *more, launcher=mpirun(2), code=3, says=("no servers", "nodes:2GB"))

    def test_full_lenders(self):
        """The statement, the array, what is full, and the remedy."""
        for ranks, more in ((0, ("--simulate", "ranks=2,seed=4,ranks-per-node=1,servers=1")), (3, ("--servers", "1"))):
            with self.subTest(ranks=ranks):
                err = self.refused("sialrun", PROGRAMS / "second_array.sialx", *SMALL, *NO_FILES, "--memory", "5MB", "--spill", "nodes:6MB", *more, "--server-memory", "50MB",
                                   launcher=mpirun(ranks), code=3, says=("the memory of other nodes is full", "--spill"))
                self.assertRegex(err, r"second_array\.sialx:\d+:\d+: ")
                self.assertRegex(err, r"`?(one|two)(`|\[)")

    def test_limit_of_a_lender(self):
        """What it does not lend goes to the disk."""
        limit = 12_000_000
        args = [*SMALL, "--set", "steps=2", "--memory", "3MB", "--ranks-per-node", "1", "--servers", "1", "--server-memory", "50MB", *NO_FILES, "--run-json", "run.json"]
        self.job("grow.sialx", *args, "--spill", f"nodes:{limit},scratch", ranks=3)
        self.assertGreater(self.total()["tier_writes"], 0)
        self.assertGreater(SMALL_BYTES, limit)

    def test_copies_leave_once_their_statement_has_ended(self):
        """Three or five blocks of 320 kB have room: those of the last iterations may not stay."""
        args = [*SMALL, "--set", "steps=2", *NO_FILES, "--run-json", "none", "--spill", "scratch"]
        self.job("grow.sialx", *args, "--memory", "1.8MB", "--ranks-per-node", "1", "--servers", "1", "--server-memory", "50MB", ranks=3)
        for seed in range(1, 5):  # a helper may have to wait for what its own replies hold
            self.job("grow.sialx", *args, "--memory", "1.2MB", "--simulate", f"ranks=2,ranks-per-node=1,servers=1,seed={seed}")

    def scalars(self, names):
        with h5py.File(self.dir / "results.h5") as f:
            return [float(f[f"scalars/{name}"][()]) for name in names]


if __name__ == "__main__":
    main()
