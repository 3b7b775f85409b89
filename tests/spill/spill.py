#!/usr/bin/env python3
"""Jobs whose blocks do not fit into their memory, with `--spill`: the results are those of jobs with enough memory.

    spill.py --bin DIR [unittest arguments]
"""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py

from harness import ENV, ROOT, all_only, gate, main, mpirun
from in_scratch import NO_FILES, PROGRAMS, SMALL, SMALL_BYTES, InScratch, blocks

# In one process, as MPI processes, on pretend nodes, with servers.
WORLDS = [(0, ()), (0, ("--simulate", "ranks=3,seed=5")), (0, ("--simulate", "ranks=4,seed=2,ranks-per-node=2")), (2, ()), (3, ("--ranks-per-node", "1")), (3, ("--servers", "1"))]


def values(out):
    """What a program printed, by name."""
    return {name: float(number) for name, number in re.findall(r"(\w+) = (\S+)", out)}


def sum_of_touch(count, extent, times):
    """What touch.sialx must find: all squares of first + 0, first + 1, ... in every block, `times` times."""
    n = extent * extent
    numbers = (n * v * v + v * n * (n - 1) + (n - 1) * n * (2 * n - 1) // 6 for v in (p + 100 * q for p in range(1, count + 1) for q in range(1, count + 1)))
    return times * sum(numbers)


@all_only
class Spill(InScratch):
    def assert_touched(self, out, count, extent, times):
        found = values(out)
        self.assertEqual((found["all_seen"], found["all_wrong"]), (times * count * count, 0))
        wanted = sum_of_touch(count, extent, times)
        self.assertLess(abs(found["all_sum"] - wanted), 1e-11 * wanted)

    def assert_counters_agree(self, total, block, ranks):
        """Of blocks of one size."""
        reads, writes = total["tier_reads"], total["tier_writes"]
        self.assertGreater(reads, 0)
        self.assertEqual((total["tier_bytes_read"], total["tier_bytes_written"]), (reads * block, writes * block))
        self.assertEqual(reads, total["tier_demand_reads"] + total["tier_prefetches"])
        # What is there unused at the end of the program is none of these.
        foreseen = sum(total[name] for name in ("tier_prefetches_useful", "tier_prefetches_late", "tier_prefetches_useless"))
        self.assertLessEqual(foreseen, total["tier_prefetches"])
        self.assertGreaterEqual(foreseen, 0.9 * total["tier_prefetches"])
        self.assertGreater(total["tier_dropped_clean"], 0)
        self.assertLessEqual(total["tier_dropped_clean"], reads + writes)
        for name in ("tier_wait_time", "tier_bookkeeping_time"):
            self.assertGreater(total[name], 0)
            self.assertLess(total[name], ranks * total["wall_time"])

    # ---- the report
    def test_summary_and_report_show_what_was_moved_and_the_optimum(self):
        _, err = self.job("touch.sialx", *SMALL, "--set", "times=2", "--memory", "3MB", "--spill", "scratch", "--stats", *NO_FILES, "--run-json", "run.json")
        self.assertRegex(err, r"tiers: [\d.]+ MB moved\n")
        text = self.must("sialreport", "run.json")
        for row in ("predicted by a dry run", "measured", "offline optimum"):
            self.assertRegex(text, rf"{row} +[\d.]+ MB +[\d.]+ MB +[\d.]+ MB")
        total, tiers = self.total(), json.loads(self.must("sialreport", "run.json", "--format=json"))["run"]["tiers"]
        self.assertEqual(tiers["measured"], {"bytes_written": total["tier_bytes_written"], "bytes_read": total["tier_bytes_read"]})
        self.assertRegex(text, r"moved [\d.]+ times the offline optimum")
        plan = self.must("sialrun", "--dry-run", PROGRAMS / "touch.sialx", *SMALL, "--set", "times=2", "--memory", "3MB", "--spill", "scratch")
        for name, figure in (("predicted", r"([\d.]+) MB moved;"), ("offline_optimum", r"offline optimum ([\d.]+) MB")):
            said = float(re.search(figure, plan).group(1))
            self.assertLess(abs(sum(tiers[name].values()) / 1e6 - said), 0.01 * said)
        self.job("touch.sialx", *SMALL, "--set", "times=1", *NO_FILES, "--run-json", "run.json")
        self.assertIsNone(json.loads(self.must("sialreport", "run.json", "--format=json"))["run"]["tiers"])

    # ---- batches
    def test_batch_takes_memory_and_tiers_of_the_command_line(self):
        line = f"{PROGRAMS}/touch.sialx {' '.join(SMALL)} --set times=1 --run-json {{}}.json"
        self.write("list", "\n".join([line.format("one"), line.format("two") + " --memory 1GB", line.format("three") + " --spill off", ""]))
        code, out, err = self.run_tool("sialrun", "--batch", "list", "--memory", "3MB", "--spill", "scratch")
        self.assertEqual(code, 3, err)
        self.assertEqual(out.count("=== "), 3)
        self.assertIn("--- failed with exit code 3", out.split("=== ")[3])
        written = [json.loads((self.dir / f"{name}.json").read_text())["total"]["tier_writes"] for name in ("one", "two")]
        self.assertGreater(written[0], 0)
        self.assertEqual(written[1], 0)
        self.assert_nothing_left()

    def test_batch_under_mpi_has_one_memory(self):
        line = f"{PROGRAMS}/touch.sialx {' '.join(SMALL)} --set times=1 --run-json {{}}.json"
        self.write("list", "\n".join([line.format("one"), line.format("two"), ""]))
        out = self.must("sialrun", "--batch", "list", "--memory", "3MB", "--spill", "scratch", launcher=mpirun(2))
        self.assertEqual(out.count("=== "), 2)
        for name in ("one", "two"):
            total = json.loads((self.dir / f"{name}.json").read_text())["total"]
            self.assertGreater(total["tier_writes"], 0)
        self.write("list", "\n".join([line.format("one"), line.format("two") + " --memory 1GB", ""]))
        code, _, err = self.run_tool("sialrun", "--batch", "list", "--memory", "3MB", "--spill", "scratch", launcher=mpirun(2))
        self.assertEqual(code, 2, err)
        self.assertIn("list:2: `--memory 1GB`: the jobs of a batch under MPI have one memory", err)
        self.assert_nothing_left()

    # ---- more blocks than memory
    def test_blocks_of_half_a_gigabyte_in_70_megabytes(self):
        args = [*blocks(9, 900), "--set", "times=3", "--memory", "70MB", "--results", "none"]
        _, err = self.job("touch.sialx", *args, code=3)
        for text in ("touch.sialx:", "out of memory for ", "--spill DIR"):
            self.assertIn(text, err)
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                out, _ = self.job("touch.sialx", *args, "--spill", "scratch", "--run-json", "run.json", ranks=ranks)
                self.assert_touched(out, 9, 900, 3)
                total, array, memory = self.total(), 81 * 900 * 900 * 8, 70_000_000 * max(1, ranks)
                self.assertLessEqual(total["buffer_bytes_high_water"], memory)
                self.assertGreaterEqual(total["tier_bytes_written"], array - memory)
                self.assertGreaterEqual(total["tier_bytes_read"], 3 * (array - memory))
                self.assertGreaterEqual(total["tier_bytes_high_water"], array - memory)
                self.assert_counters_agree(total, 900 * 900 * 8, max(1, ranks))
                self.assert_nothing_left()

    def test_memory_of_the_process_stays_near_the_limit(self):
        command = self.command("sialrun", PROGRAMS / "touch.sialx", *blocks(9, 900), "--set", "times=1", "--memory", "70MB", "--spill", "scratch", *NO_FILES)
        p = subprocess.Popen(command, cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(p.returncode, 0)
        self.assertLess(usage.ru_maxrss * 1024, 70e6 + 100e6)

    def test_array_of_eight_memories_moves_once(self):
        """Written once and read once, in order: no block goes to the disk or comes from it twice."""
        array = 16 * 16 * 500 * 500 * 8
        out, _ = self.job("touch.sialx", *blocks(16, 500), "--set", "times=1", "--memory", f"{array // 8}B", "--spill", "scratch", *NO_FILES, "--run-json", "run.json")
        self.assert_touched(out, 16, 500, 1)
        total = self.total()
        for name in ("tier_bytes_written", "tier_bytes_read"):
            self.assertGreaterEqual(total[name], array - array // 8, name)
            self.assertLessEqual(total[name], 1.02 * array, name)
        self.assertEqual(total["tier_prefetches_useless"], 0)
        self.assert_nothing_left()

    # ---- values that are not used again
    def given_up(self, *more, ranks=0, megabytes=24):
        """Counters of a run of given_up.sialx, whose arrays take 20.5 MB each."""
        out, _ = self.job("given_up.sialx", *SMALL, "--set", "steps=3", "--memory", f"{megabytes // max(1, ranks)}MB", "--spill", "scratch", *NO_FILES, "--run-json", "run.json", *more, ranks=ranks)
        self.assertEqual(values(out)["total"], 64 * 200 * 200 * 4 * (1 + 4 + 9))
        return self.total()

    @gate
    def test_values_that_are_not_used_again_are_not_written(self):
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                found, as_written = self.given_up(ranks=ranks), self.given_up("-O1", ranks=ranks)
                self.assertGreater(found["tier_discarded"], 64)
                self.assertEqual(as_written["tier_discarded"], 0)
                # On two ranks what a rank draws from the work queue decides what leaves: 0.7 to 0.8.
                self.assertLess(found["tier_bytes_written"], (0.9 if ranks else 0.8) * as_written["tier_bytes_written"])

    def test_checkpoint_of_values_that_are_given_up(self):
        """A checkpoint makes room for what it writes: what is given up may leave between its being listed and its being written."""
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                self.given_up("--checkpoint-every", "0", ranks=ranks, megabytes=8)

    # ---- what puts change
    def added(self, how, *more, ranks=0, steps=4):
        """Counters of a run of add.sialx; its array takes seven times the memory of a rank."""
        out, _ = self.job("add.sialx", *SMALL, "--set", f"steps={steps}", "--set", f"how={how}", "--memory", "3MB", "--spill", "scratch", *NO_FILES, "--run-json", "run.json", *more, ranks=ranks)
        squares = 200 * 200 * sum((p + 100 * q) ** 2 for p in range(1, 9) for q in range(1, 9))
        self.assertEqual(values(out)["total"], squares * (steps * steps if how < 2 else 1))
        total = self.total()
        self.assert_counters_agree(total, 200 * 200 * 8, max(1, ranks))
        return total

    def test_what_is_added_to_is_read_ahead(self):
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                total = self.added(0, ranks=ranks)
                self.assertGreater(total["tier_reads"], 3 * 0.7 * 64)
                # Two ranks take iterations as they come, and which will be whose is guessed.
                self.assertLess(total["tier_demand_reads"], (0.2 if ranks else 0.1) * total["tier_reads"])

    def test_what_is_added_to_is_not_read_ahead(self):
        """Where the slice cannot know of it, or look-ahead is off."""
        for how, more in ((1, ()), (0, ("--look-ahead", "off"))):
            with self.subTest(how=how, more=more):
                total = self.added(how, *more)
                self.assertGreater(total["tier_demand_reads"], 0.7 * 3 * 64)

    def test_what_is_replaced_is_not_read(self):
        total = self.added(2)
        self.assertLess(total["tier_reads"], 1.1 * 64)  # for the sum; on a busy machine one may leave again before its use
        self.assertLess(total["tier_demand_reads"], 8)

    @gate
    def test_every_layout_of_ranks(self):
        wanted, _ = self.job("grow.sialx", *SMALL, "--set", "steps=3", *NO_FILES)
        for ranks, more in WORLDS:
            with self.subTest(ranks=ranks, more=more):
                args = [*SMALL, "--set", "steps=3", "--memory", "3MB", "--spill", "scratch", *more]
                out, _ = self.job("grow.sialx", *args, *NO_FILES, "--run-json", "run.json", ranks=ranks)
                self.assertEqual(out, wanted)
                total = self.total()
                for name in ("tier_writes", "tier_reads", "tier_bytes_high_water"):
                    self.assertGreater(total[name], 0, name)
                self.assert_nothing_left()

    def test_enough_memory_moves_nothing(self):
        wanted, _ = self.job("grow.sialx", *SMALL, "--set", "steps=2", *NO_FILES)
        out, _ = self.job("grow.sialx", *SMALL, "--set", "steps=2", "--spill", "scratch", *NO_FILES, "--run-json", "run.json")
        self.assertEqual(out, wanted)
        total = self.total()
        self.assertEqual([total[name] for name in ("tier_reads", "tier_writes", "tier_bytes_high_water")], [0, 0, 0])

    # ---- where blocks go
    def test_several_directories_together(self):
        """Neither is large enough alone."""
        (self.dir / "other").mkdir()
        args = [*SMALL, "--set", "times=2", "--memory", "3MB", *NO_FILES]
        out, _ = self.job("touch.sialx", *args, "--spill", "scratch:12MB,other:12MB")
        self.assert_touched(out, 8, 200, 2)
        self.job("touch.sialx", *args, "--spill", "scratch:12MB", code=3)
        self.assert_nothing_left()
        self.assertEqual(self.names("other"), [])

    def test_job_file(self):
        """A directory is relative to the folder of the job file."""
        (self.dir / "jobs").mkdir()
        (self.dir / "jobs/place").mkdir()
        numbers = ", ".join(["200"] * 8)
        self.write("jobs/job.toml", f'''programs = ["{PROGRAMS}/touch.sialx"]
            [memory]
            limit = "3MB"
            spill = [{{kind = "disk", dir = "place", size = "40MB"}}]
            [values]
            norb = 8
            times = 1
            [segments]
            ao = [{numbers}]
            ''')
        out = self.must("sialrun", "jobs/job.toml", "--results", "none", "--run-json", "run.json")
        self.assert_touched(out, 8, 200, 1)
        self.assertGreaterEqual(self.total()["tier_bytes_written"], SMALL_BYTES - 3_000_000)
        self.assertEqual(self.names("jobs/place"), [])
        self.refused("sialrun", "jobs/job.toml", "--spill", "off", *NO_FILES, code=3, says=("out of memory for ", "--spill DIR"))

    def test_two_jobs_in_one_directory(self):
        wanted, _ = self.job("grow.sialx", *SMALL, "--set", "steps=8", *NO_FILES)
        command = self.command("sialrun", PROGRAMS / "grow.sialx", *SMALL, "--set", "steps=8", "--memory", "3MB", "--spill", "scratch", *NO_FILES)
        jobs = [subprocess.Popen(command, cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        for p in jobs:
            out, err = p.communicate(timeout=100)
            self.assertEqual((p.returncode, out), (0, wanted), err)
        self.assert_nothing_left()

    # ---- with the rest of a run
    def test_restart_with_other_memory_and_directory(self):
        (self.dir / "other").mkdir()
        steps = [*SMALL, "--set", "steps=6", *NO_FILES]
        wanted, _ = self.job("grow.sialx", *steps)
        for ranks, more in ((0, ()), (2, ("--ranks-per-node", "1"))):
            with self.subTest(ranks=ranks):
                stop = ("--checkpoint-every", "0", "--stop-after", "5")
                first, err = self.job("grow.sialx", *steps, *more, *stop, "--memory", "3MB", "--spill", "scratch", ranks=ranks, code=4)
                self.assertIn("--restart", err)
                rest, _ = self.job("grow.sialx", *steps, *more, "--restart", "--memory", "5MB", "--spill", "other", ranks=ranks)
                self.assertEqual(first + rest, wanted)
                self.assert_nothing_left()
                self.assertEqual(self.names("other"), [])

    def test_ccsd_in_half_of_its_memory(self):
        job = ROOT / "examples/09_ccsd/job.toml"
        # The same algorithm for all: without it the memory decides whether integrals are kept. With segments as small as the molecule an
        # iteration works on a small part of the memory only.
        same = ["--set", "keep_quartets=1", "--segments", "ao_target=6,occ_target=3,virt_target=6", "--output-dir", "."]
        names = ("scf_energy", "ccsd_energy")
        self.must("sialrun", job, *same)
        wanted = self.scalars(names)
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                plan = self.must("sialrun", "--dry-run", job, *same, *(("--ranks", ranks) if ranks else ()))
                number, unit = re.search(r"^fits: ([\d.]+) (\w+) of ", plan, re.M).groups()
                half = f"{float(number) / 2:.3f}{unit}"
                self.must("sialrun", job, *same, "--memory", half, "--spill", "scratch", launcher=mpirun(ranks))
                for name, found, good in zip(names, self.scalars(names), wanted, strict=True):
                    self.assertLess(abs(found - good), 1e-9, name)
                self.assertGreater(self.total()["tier_writes"], 0)
                self.assert_nothing_left()

    def test_order_of_a_transformation_in_a_quarter_of_its_memory(self):
        """Two arrays of 8^4 blocks of 4^4 elements at its fullest. The order that is chosen moves at most half of the bytes."""
        extents = ",".join(["4"] * 8)
        memory = 2 * 32**4 * 8 // 4
        args = ["--set", "norb=8", "--set", "nmo=8", "--segments", f"ao={extents}", "--segments", f"mo={extents}", "--spill", "scratch", *NO_FILES, "--run-json", "run.json"]
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                moved = {}
                for order in ("written", f"{memory}B"):
                    share = f"{memory // max(1, ranks)}B"
                    out = self.must("sialrun", ROOT / "examples/03_four_index/four_index.sialx", *args, "--memory", share, "--pardo-order", order, launcher=mpirun(ranks))
                    self.assertLess(values(out)["deviation"], 1e-12)
                    moved[order] = sum(self.total()[name] for name in ("tier_bytes_read", "tier_bytes_written"))
                self.assertLessEqual(moved[f"{memory}B"], 0.5 * moved["written"])
                self.assert_nothing_left()

    def scalars(self, names):
        with h5py.File(self.dir / "results.h5") as f:
            return [float(f[f"scalars/{name}"][()]) for name in names]


if __name__ == "__main__":
    main()
