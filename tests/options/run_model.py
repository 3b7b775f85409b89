#!/usr/bin/env python3
"""Simulated ranks whose kernels are charged from the cost model, `--simulate ranks=N,kernels=model`: the schedule is that of the executed
job, no value is made up, and what needs values is refused.

    run_model.py --bin DIR
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ROOT, main

NETWORK = "ranks-per-node=2,disorder=0"
# What does not depend on when a block arrives.
SCHEDULE = ["instructions", "iterations", "block_operations", "super_instructions", "flops", "accesses", "gets", "puts", "accumulates",
            "bytes_received", "bytes_sent", "messages_sent", "requests_served", "bytes_copied", "block_copies_elided"]

HEAD = """sial little
predefined int norb
aoindex i = 1:norb
aoindex j = 1:norb
special fill_block_cyclic wr
special check_dconf ru
distributed a[i,j]
temp x[i,j]
index turn = 1:{limit}
scalar one
scalar largest
scalar converged
scalar turns
int number
one = 1.0
converged = 0.0
turns = 0.0
largest = 0.0
{body}
endsial little
"""
LOOP = """do turn
  pardo i, j
    execute fill_block_cyclic x[i,j] one
    put a[i,j] = x[i,j]
  endpardo i, j
  sip_barrier
  turns += 1.0
  do i
    do j
      get a[i,j]
      execute check_dconf a[i,j] largest
    enddo j
  enddo i
  if largest < 0.001
    converged = 1.0
  endif
  if converged == 1.0
    exit
  endif
enddo turn
if converged == 0.0
  println "no convergence"
  stop
endif
println turns
println converged
"""


class Model(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def sialrun(self, *arguments, code=0):
        run = subprocess.run([str(BIN / "sialrun"), *map(str, arguments)], capture_output=True, text=True, cwd=self.path, timeout=240)
        self.assertEqual(run.returncode, code, run.stderr + run.stdout)
        return run

    def job(self, name, simulate, *arguments):
        """Totals of counters of an example, and its facts."""
        self.sialrun(ROOT / "examples" / name, "--results", "none", "--output-dir", self.path, "--run-json", "run.json",
                     "--simulate", simulate, *arguments)
        run = json.loads((self.path / "run.json").read_text())
        return run["total"], run

    def program(self, body, limit=40, arguments=(), simulate="ranks=4,kernels=model", code=0):
        text = HEAD.format(limit=limit, body=body)
        (self.path / "little.sialx").write_text(text)
        nothing = () if "--results" in arguments else ("--results", "none")
        return self.sialrun("little.sialx", "--segments", "ao=3,2", "--set", "norb=2", "--run-json", "none", *nothing, "--simulate", simulate,
                            *arguments, code=code)

    def test_the_schedule_is_that_of_the_executed_job(self):
        for name in ("03_four_index/job.toml", "02_matrix_product/job.toml"):
            with self.subTest(name):
                executed, _ = self.job(name, f"ranks=8,{NETWORK},kernels=run", "--schedule", "static")
                modelled, facts = self.job(name, f"ranks=8,{NETWORK},kernels=model", "--schedule", "static")
                self.assertGreater(executed["gets"], 0)
                self.assertEqual({k: modelled[k] for k in SCHEDULE}, {k: executed[k] for k in SCHEDULE})
                self.assertEqual(facts["options"]["kernels"], "model")
                self.assertFalse((self.path / "results.h5").exists())

    def test_a_seed_is_a_run(self):
        times = [self.job("03_four_index/job.toml", f"ranks=4,ranks-per-node=1,seed={seed},kernels=model")[0]["wall_time"] for seed in (1, 1, 2)]
        self.assertEqual(times[0], times[1])
        self.assertNotEqual(times[0], times[2])

    def test_more_work_takes_more_time(self):
        short, long = (self.job("02_matrix_product/job.toml", "ranks=2,disorder=0,kernels=model", "--segments", f"ao={s}")[0]["compute_time"]
                       for s in ("12,7", "120,70"))
        self.assertGreater(long, 5 * short)

    def test_loops_that_data_end_run_a_stated_number_of_iterations(self):
        for stated, limit, expected in ((",iterations=3", 40, 3), ("", 40, 12), (",iterations=30", 7, 7)):
            with self.subTest(stated, limit=limit):
                run = self.program(LOOP, limit, simulate="ranks=4,kernels=model" + stated)
                self.assertIn(f"turns = {expected}.0", run.stdout.replace("turns =  ", "turns = "))
                self.assertNotIn("no convergence", run.stdout)
                self.assertIn("converged = nan", run.stdout)

    def test_values_are_not_made_up(self):
        run = self.program("pardo i, j\n  execute fill_block_cyclic x[i,j] one\n  print x[i,j]\nendpardo i, j\n", simulate="ranks=1,kernels=model")
        self.assertIn("not computed", run.stdout)
        self.assertIn("not executed", run.stderr)

    def test_an_int_of_unknown_data_is_refused(self):
        run = self.program("do i\n  do j\n    execute fill_block_cyclic x[i,j] one\n    execute check_dconf x[i,j] largest\n    number = (int)largest\n  enddo j\nenddo i\n", code=1)
        self.assertIn("the model of kernels does not compute", run.stderr)
        self.assertIn("kernels=model", run.stderr)

    def test_what_needs_values_is_refused(self):
        body = "println one\n"
        for arguments, words in ((("--results", "out.h5"), "out.h5"), (("--check",), "--check"), (("--spill", f"{self.path}:1GB"), "--spill"),
                                 (("--device", "simulated"), "--device simulated"), (("--time-limit", "1h"), "checkpoints")):
            with self.subTest(arguments):
                run = self.program(body, arguments=arguments, code=2)
                self.assertIn(words, run.stderr)
                self.assertIn("kernels=model", run.stderr)
                self.assertIn("hint", run.stderr)
        for name in ("--checkpoint-every", "--checkpoint-local", "--checkpoint-dir"):
            self.assertIn("leave the options of checkpoints out", self.program(body, arguments=(name, "1"), code=2).stderr)
        # A job file that states them may stay as it is.
        for stated, words in (('checkpoint_every = 30\ntime_limit = "1h"', "warning: `checkpoint_every` and `time_limit` of `job.toml` are left out"),
                              ('time_limit = "1h"', "warning: `time_limit` of `job.toml` is left out"), ("", None)):
            (self.path / "job.toml").write_text(f'programs = ["little.sialx"]\n[values]\nnorb = 2\n[segments]\nao = [3, 2]\n[run]\n{stated}\n[output]\nresults = "none"\nrun_json = "none"\n')
            run = self.sialrun("job.toml", "--simulate", "ranks=2,kernels=model")
            if words:
                self.assertIn(words, run.stderr)
            else:
                self.assertNotIn("left out", run.stderr)
        for simulate, words in (("ranks=2,kernels=some", "kernels `some`"), ("ranks=2,iterations=3", "kernels=model")):
            with self.subTest(simulate):
                self.assertIn(words, self.program(body, simulate=simulate, code=2).stderr)


if __name__ == "__main__":
    main()
