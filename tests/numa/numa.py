#!/usr/bin/env python3
"""`--numa`: where blocks lie, what that changes (nothing of the results), and what statistics and report say of it.

    numa.py --bin DIR [unittest arguments]

Machines with several memory nodes are described (`--simulate-machine`): the system is asked for nothing there.
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "spill"))
from in_scratch import SMALL, SMALL_BYTES, InScratch

TWO = "numa:2 core:2 pu:1"
JOB = ("touch.sialx", *SMALL, "--set", "times=2")
RANKS = ("--simulate", "ranks=4,seed=3")
USED = 4 * SMALL_BYTES  # each block at two statements, two times


class Numa(InScratch):
    def run_job(self, *args, ranks=0):
        """What the program printed, and what run.json says."""
        out, _ = self.job(*JOB, *args, ranks=ranks)
        return out, json.loads((self.dir / "run.json").read_text())

    def read(self, run):
        """Bytes of the array that were used, and those of them that lay on another node."""
        rows = [row for row in run["remote_accesses"] if row["array"] == "a"]
        return sum(row["bytes"] for row in rows), sum(row["bytes_on_other_memory_nodes"] for row in rows)

    def test_results_do_not_depend_on_where_blocks_lie(self):
        wanted, _ = self.run_job(*RANKS, "--deterministic")
        for machine in (TWO, "numa:4 pu:1", "numa:8 pu:1", "[numa(memory=1GB)] [numa(memory=64MB)] pu:4"):
            for policy in ("auto", "local", "interleave", "off", "bind:0", "a=interleave", "auto,a=bind:1", "interleave,a=bind:0"):
                with self.subTest(machine=machine, policy=policy):
                    out, run = self.run_job(*RANKS, "--deterministic", "--simulate-machine", machine, "--numa", policy)
                    self.assertEqual(out, wanted)
                    self.assertEqual(run["memory_nodes"]["policy"], policy if not policy.startswith("a=") else "auto," + policy)

    def test_each_rank_has_its_blocks_near_it(self):
        _, run = self.run_job(*RANKS, "--simulate-machine", TWO)
        nodes = run["memory_nodes"]
        self.assertEqual([n["number"] for n in nodes["nodes"]], [0, 1])
        self.assertEqual([n["processors"] for n in nodes["nodes"]], [2, 2])
        self.assertEqual([r["node"] for r in nodes["ranks"]], [0, 0, 1, 1])
        for rank in nodes["ranks"]:
            pages = rank["pages_by_node"]
            self.assertGreater(pages[rank["node"]], 0)
            self.assertEqual(sum(pages), pages[rank["node"]])
        used, far = self.read(run)
        self.assertEqual(used, USED)
        self.assertGreater(far, 0)
        self.assertLess(far, used)

    def test_pages_are_spread_where_that_is_asked_for(self):
        _, run = self.run_job(*RANKS, "--simulate-machine", "numa:4 pu:1", "--numa", "interleave")
        for rank in run["memory_nodes"]["ranks"]:
            self.assertEqual(rank["node"], -1)
            self.assertEqual(len(rank["pages_by_node"]), 4)
            self.assertLess(max(rank["pages_by_node"]), 1.3 * min(rank["pages_by_node"]))
        self.assertEqual(self.read(run)[1], 0, "pages of all nodes are in each block: none is elsewhere as a whole")

    def test_an_array_with_a_rule_of_its_own(self):
        for rule, expected in (("bind:0", 0), ("bind:1", 1)):
            with self.subTest(rule=rule):
                _, run = self.run_job(*RANKS, "--simulate-machine", TWO, "--numa", f"a={rule}", "--schedule", "static")
                used, far = self.read(run)
                # Two ranks of each node share the reads evenly; those of the other node find all blocks elsewhere.
                self.assertEqual(far, used // 2, expected)
        _, run = self.run_job(*RANKS, "--simulate-machine", TWO, "--numa", "a=interleave", "--schedule", "static")
        used, far = self.read(run)
        self.assertLess(abs(far - used / 2), used / 4)

    def test_blocks_that_come_back_from_a_disk_lie_by_their_rule(self):
        _, run = self.run_job("--simulate", "ranks=2,seed=1", "--simulate-machine", "numa:2 pu:1", "--numa", "a=bind:1", "--schedule", "static", "--memory", "4MB", "--spill", "scratch")
        self.assertGreater(run["total"]["tier_reads"], 0)
        used, far = self.read(run)
        self.assertEqual(used, USED)
        self.assertLess(abs(far - used / 2), used / 4)

    def test_processes(self):
        wanted, _ = self.run_job("--deterministic", ranks=2)
        out, run = self.run_job("--deterministic", "--simulate-machine", "numa:2 pu:1", "--numa", "auto,a=interleave", ranks=2)
        self.assertEqual(out, wanted)
        self.assertEqual([r["node"] for r in run["memory_nodes"]["ranks"]], [0, 1])
        self.assertGreater(self.read(run)[1], 0)

    def test_this_machine_does_what_it_is_asked(self):
        for ranks in (0, 2):
            with self.subTest(ranks=ranks):
                _, run = self.run_job("--numa", "bind:0", ranks=ranks)
                nodes = run["memory_nodes"]
                if nodes.get("problems"):
                    self.skipTest(f"the system refuses: {nodes['problems']}")
                for rank in nodes["ranks"]:
                    self.assertEqual(rank["rule"], "on node 0 only")
                    self.assertGreater(rank["pages_by_node"][0], 0)
                    self.assertEqual(len(rank["pages_by_node"]), 1)

    def test_text(self):
        code, _, err = self.run_tool("sialrun", "save.sialx", "--stats", "--simulate", "ranks=2", "--simulate-machine", "numa:2 pu:1")
        self.assertEqual(code, 0, err)
        self.assertIn("memory nodes: 2, --numa auto", err)
        self.assertRegex(err, r"rank 1: blocks on node 1 while it has room; pages found \d+ on node 1")
        out = self.must("sialrun", "--version", "--verbose", "--simulate-machine", "[numa(memory=2GB)] [numa(memory=1GB)] pu:4")
        self.assertIn("memory nodes: 2, of another machine\n  node 0: 2.00 GB, processors 0-3\n  node 1: 1.00 GB, processors 0-3\n", out)
        self.assertRegex(self.must("sialrun", "--version", "--verbose"), r"memory nodes: \d+\n  node 0: .*, processors ")
        self.run_job(*RANKS, "--simulate-machine", TWO)
        self.assertRegex(self.must("sialreport", "run.json"), r"on own node +on another node +uses +array\n.*? +256  a\n")
        self.run_job(*RANKS)
        self.assertNotIn("on another node", self.must("sialreport", "run.json"))

    def test_errors(self):
        for args, says in (
            (("--numa", "bind:7"), ("--numa: this job has no memory node 7", "--version --verbose")),
            (("--numa", "auto,a=bind:5"), ("the array `a`", "no memory node 5")),
            (("--numa", "near"), ("no policy `near`",)),
            (("--simulate-machine", "many"), ("`many` describes no machine",)),
        ):
            with self.subTest(args=args):
                self.refused("sialrun", "tiny.sialx", *args, code=2, says=says)
        self.write("job.toml", 'programs = ["tiny.sialx"]\n[memory.numa]\ndefault = "local"\nt2 = "nowhere"\n')
        self.refused("sialrun", "job.toml", code=2, says=("job.toml:4", "no policy `nowhere`"))

    def test_an_array_that_no_program_has(self):
        _, err = self.job(*JOB, "--numa", "aa=interleave", "--simulate-machine", TWO)
        self.assertTrue(re.search(r"warning: .*`--numa`.*`aa`", err), err)


if __name__ == "__main__":
    main()
