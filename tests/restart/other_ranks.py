#!/usr/bin/env python3
"""Going on from a checkpoint on another number of ranks, inside programs and between them.

    other_ranks.py --bin DIR [unittest arguments]
"""
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy

from harness import BIN, LONG, ROOT, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "plan"))
from pieces import ENV, PROGRAMS, STEPS, STOPPED, THREE, Pieces, command, items
from slow_processor import slow_processor  # noqa: E402


class OtherRanks(Pieces):
    def test_other_layout(self):
        """The same ranks on other (pretend) nodes, and on servers."""
        out, _, _ = self.whole(*THREE, *STEPS, "--simulate", "ranks=3,seed=1")
        layouts = [("--simulate", "ranks=3,seed=1"), ("--simulate", "ranks=3,seed=4,ranks-per-node=1"), ("--simulate", "ranks=3,seed=1,servers=2")]
        got, stops, code = "", 0, STOPPED
        while code == STOPPED:
            code, more, err = self.run_job(*THREE, *STEPS, *layouts[stops % 3], "--checkpoint-every", "0", "--stop-after", "1", *(["--restart"] if stops else []))
            self.assertIn(code, (0, STOPPED), err)
            got += more
            stops += 1
        self.assertEqual(got, out)

    def test_other_number_of_ranks(self):
        """Between programs, any number of ranks goes on."""
        out, results, _ = self.whole(*THREE, *STEPS)
        for first, then in (((2, ()), (3, ("--ranks-per-node", "1"))), ((3, ("--servers", "1")), (0, ())), ((0, ()), (2, ())),
                            ((0, ("--simulate", "ranks=5,seed=3,ranks-per-node=2")), (0, ("--simulate", "ranks=2,seed=1")))):
            with self.subTest(first=first, then=then):
                between = ["--checkpoint-every", "programs", "--stop-after", "1"]
                code, got, err = self.run_job(*THREE, *STEPS, *first[1], *between, ranks=first[0])
                self.assertEqual(code, STOPPED, err)
                self.assertIn("after program `first`", err)
                code, more, err = self.run_job(*THREE, *STEPS, *then[1], *between, "--restart", ranks=then[0])
                self.assertEqual(code, STOPPED, err)
                got += more
                code, more, err = self.run_job(*THREE, *STEPS, *first[1], "--restart", ranks=first[0])
                self.assertEqual(code, 0, err)
                self.assertEqual(got + more, out)
                found = items(self.dir / "results.h5")
                for name in results:
                    if name.startswith("saved/"):
                        numpy.testing.assert_array_equal(found[name], results[name], name)

    def test_other_number_of_ranks_at_each_barrier(self):
        """Stopped at every barrier, each piece on another number of ranks: the pieces make the whole."""
        args = [PROGRAMS / "first.sialx", PROGRAMS / "redistributed.sialx", PROGRAMS / "third.sialx", *STEPS]
        out, results, _ = self.whole(*args)
        simulated = [("--simulate", "ranks=3,seed=1"), ("--simulate", "ranks=5,seed=2,ranks-per-node=2"), (), ("--simulate", "ranks=2,seed=3,ranks-per-node=1"),
                     ("--simulate", "ranks=4,seed=3,servers=1")]
        worlds = [(0, more) for more in simulated]
        processes = [(2, ()), (3, ("--ranks-per-node", "1")), (1, ()), (4, ("--servers", "1"))]
        for name, layouts, apart in (("simulated", worlds, 1), ("shifted", worlds[2:], 3), ("processes", processes, 9)):
            with self.subTest(layouts=name):
                got, stops, code = "", 0, STOPPED
                while code == STOPPED:
                    ranks, more = layouts[stops % len(layouts)]
                    code, piece, err = self.run_job(*args, *more, "--checkpoint-every", "0", "--stop-after", apart, *(["--restart"] if stops else []), ranks=ranks)
                    self.assertIn(code, (0, STOPPED), err)
                    self.assertNotIn("warning", err)
                    got += piece
                    stops += 1
                self.assertGreater(stops, 30 // apart)
                self.assertEqual(got, out)
                found = items(self.dir / "results.h5")
                for dataset in results:
                    if dataset.startswith("saved/") or dataset == "scalars/x":
                        numpy.testing.assert_array_equal(found[dataset], results[dataset], dataset)

    def test_examples_on_other_numbers_of_ranks(self):
        """Methods whose ranks keep parts of sums to themselves, in static and local arrays."""
        for name, job, energies in (("ccsd", "09_ccsd/job.toml", ["scf_energy", "ccsd_energy"]), ("cis", "08_cis/job.toml", ["scf_energy", "cis_1"])):
            args = [ROOT / "examples" / job]
            wanted = self.whole(*args)[1]
            with self.subTest(name=name):
                layouts = [("--simulate", "ranks=3,seed=1"), ("--simulate", "ranks=5,seed=2,ranks-per-node=2"), (), ("--simulate", "ranks=2,seed=3,ranks-per-node=1")]
                code, stops = STOPPED, 0
                while code == STOPPED:
                    code, _, err = self.run_job(*args, "--output-dir", ".", *layouts[stops % 4], "--checkpoint-every", "0", "--stop-after", 11, *(["--restart"] if stops else []))
                    self.assertIn(code, (0, STOPPED), err)
                    stops += 1
                self.assertGreater(stops, 5)
                found = items(self.dir / "results.h5")
                for energy in energies:
                    self.assertLess(abs(found["scalars/" + energy] - wanted["scalars/" + energy]), 1e-9, energy)

    def test_where_clauses(self):
        """Shares of a sum in the blocks that a where clause admits, replaced by the sum under the same clause."""
        program = """sial guarded
            aoindex i = 1:3
            index n = 1:4
            distributed sum[n]
            static mine[n]
            temp t[i]
            scalar x
            scalar part
            int size
            size = 3
            pardo n
              put sum[n] = 0.0
            endpardo n
            do n
              mine[n] = 0.0
            enddo n
            sip_barrier
            pardo i
              t[i] = 1.0
              part = t[i]*t[i]
              do n
                where n <= size
                mine[n] += part
              enddo n
            endpardo i
            do n
              where n <= size
              put sum[n] += mine[n]
            enddo n
            sip_barrier
            {change}
            do n
              where n <= {last}
              get sum[n]
              mine[n] = sum[n]
              mine[n] += 1.0
            enddo n
            sip_barrier
            do n
              part = mine[n]
              x += part
            enddo n
            print x
            endsial guarded
            """
        for change, last, fits in (("", "size", True), ("size = 2", "size", False), ("", "2", False)):
            path = self.dir / "guarded.sialx"
            path.write_text(program.format(change=change, last=last))
            args = [path, "--segments", "ao=2,2,2"]
            for stop in ("2", "3") if fits else ("3",):
                with self.subTest(change=change, last=last, stop=stop):
                    shutil.rmtree(self.dir / "checkpoint", ignore_errors=True)
                    self.assertEqual(self.run_job(*args, "--simulate", "ranks=2,seed=1", "--checkpoint-every", "0", "--stop-after", stop)[0], STOPPED)
                    if fits:
                        code, out, err = self.run_job(*args, "--simulate", "ranks=3,seed=1", "--restart")
                        self.assertEqual(code, 0, err)
                        self.assertIn("x = 21.0", out)
                    else:
                        self.refused(*args, "--simulate", "ranks=3,seed=1", says=["the array `mine`", "holds what each rank has added to it by itself"])

    def test_what_no_other_number_of_ranks_can_continue(self):
        """Values that differ between ranks, and are used in another way than adding them up, belong to ranks that are not there."""
        code, _, err = self.run_job(*THREE, *STEPS, "--checkpoint-every", "0", "--stop-after", "9", ranks=2)
        self.assertEqual(code, STOPPED, err)
        for ranks, more in ((3, ()), (0, ()), (0, ("--simulate", "ranks=5,seed=1"))):
            self.refused(*THREE, *STEPS, *more, ranks=ranks, says=["by 2 ranks", f"this run has {1 if not ranks and not more else ranks or 5}", "second.sialx:",
                                                                    "depends on the number of the rank, or of ranks, there", "hint: start 2 ranks"])
        program = """sial kept
            special get_my_rank w
            aoindex i = 1:2
            aoindex j = 1:2
            distributed d[i,j]
            static s[i,j]
            local l[i,j]
            temp t[i,j]
            scalar x
            scalar y
            int n
            pardo i, j
              t[i,j] = 1.0
              {pardo}
              put d[i,j] = t[i,j]
            endpardo i, j
            {behind}
            sip_barrier
            {later}
            endsial kept
            """
        cases = (("", "execute get_my_rank x\ny = x", "if y == 0.0\nprintln x\nendif", "the scalar `y` depends on the number of the rank"),
                 ("x += 1.0", "", "print x", "the scalar `x` holds what each rank has added"),
                 ("x += 1.0", "y = x", "print y", "the scalar `y` holds"),
                 ("x += 1.0", "", "y = x * x\ncollective y += y", "the scalar `x` holds"),
                 ("x += 1.0", "", "if x > 1.0\nprintln y\nendif", "the scalar `x` holds"),
                 ("x += 1.0", "", "collective y += x\nprint x", "the scalar `x` holds"),
                 ("n += 1", "", "print n", "the int `n` holds"),
                 ("s[i,j] += t[i,j]", "", "do i\ndo j\nx += s[i,j] * s[i,j]\nenddo j\nenddo i\nprint x", "the array `s` holds"),
                 ("", "y = 2.0\nif x == 0.0\npardo i, j\ny += 1.0\nendpardo i, j\nendif", "print y", "the scalar `y` may hold"))
        for n, (pardo, behind, later, says) in enumerate(cases):
            with self.subTest(says=says, later=later):
                path = self.dir / f"kept{n}.sialx"
                path.write_text(program.format(pardo=pardo, behind=behind, later=later))
                args = [path, "--segments", "ao=2,2"]
                shutil.rmtree(self.dir / "checkpoint", ignore_errors=True)
                self.assertEqual(self.run_job(*args, "--checkpoint-every", "0", "--stop-after", "1")[0], STOPPED)
                self.refused(*args, "--simulate", "ranks=2,seed=1", says=["by 1 rank, and this run has 2", says])
                code, _, err = self.run_job(*args, "--restart")
                self.assertEqual(code, 0, err)

    def test_differing_statics(self):
        """What ranks saved differently stays so on as many ranks; on others rank 0's is taken, and said."""
        args = [PROGRAMS / "differs.sialx", PROGRAMS / "shows.sialx", "--segments", "ao=2"]
        out, _, _ = self.whole(*args, ranks=2)
        between = ["--checkpoint-every", "programs", "--stop-after", "1"]
        self.assertEqual(self.run_job(*args, *between, ranks=2)[0], STOPPED)
        shutil.copytree(self.dir / "checkpoint", self.dir / "copy")
        code, got, err = self.run_job(*args, "--restart", ranks=2)
        self.assertEqual((code, got), (0, out), err)
        code, got, err = self.run_job(*args, "--restart", "copy", ranks=3)
        self.assertEqual(code, 0, err)
        self.assertIn("warning: scalars or static arrays saved by the programs differ between the 2 ranks", err)
        self.assertEqual(re.findall(r"= ([\d.]+)", got), ["0.00000000000000", "0.00000000000000"])

    def test_chosen_segments_on_other_ranks(self):
        """Between programs also on another number of ranks, with less memory."""
        slow = slow_processor(BIN / "sialrun", self.dir / "cache")
        args = [self.water("04_rhf/rhf.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx"), "--checkpoint-every", "programs"]
        self.assertNotEqual(self.choice(*args, "--ranks", "2", env=slow), self.choice(*args, env=slow))
        code, _, err = self.run_job(*args, "--output-dir", "whole", env=slow)
        self.assertEqual(code, 0, err)
        self.assertEqual(self.run_job(*args, "--stop-after", "1", env=slow)[0], STOPPED)
        self.assertEqual(self.run_job(*args, "--stop-after", "1", "--memory", "10MB", "--restart", ranks=2)[0], STOPPED)
        code, _, err = self.run_job(*args, "--restart", "--simulate", "ranks=3,seed=1", env=slow)
        self.assertEqual(code, 0, err)
        found, wanted = items(self.dir / "results.h5"), items(self.dir / "whole/results.h5")
        for name in wanted:
            if name.startswith("segments/"):
                numpy.testing.assert_array_equal(found[name], wanted[name], name)
        for name in ("scalars/scf_energy", "scalars/ccsd_energy"):
            self.assertLess(abs(found[name] - wanted[name]), 1e-9, name)

    def test_killed_on_other_ranks(self):
        """One job, killed at random moments again and again (a hundred times in long tests), each time continued on another number of ranks and nodes."""
        long = LONG
        rng = random.Random() if long else random.Random(11)
        args = [ROOT / "examples/09_ccsd/job_631gs.toml", "--output-dir", "."]
        wanted = self.whole(args[0])[1]
        kills, code, most, jobs = 0, None, 100 if long else 6, 0
        while code != 0 or kills < most:
            ranks = rng.choice([0, 1, 2, 3, 4])
            more = rng.choice([(), ("--ranks-per-node", "1"), ("--servers", "1")]) if ranks > 1 else ()
            if ranks == 0:
                more = ("--simulate", f"ranks={rng.randint(1, 6)},seed={rng.randint(1, 99)},ranks-per-node={rng.choice([1, 2, 6])}")
            restart = ["--restart"] if (self.dir / "checkpoint/index.json").exists() else []
            jobs += not restart
            p = subprocess.Popen(command(ranks, *args, *more, *restart, "--checkpoint-every", rng.choice(["0", "0.02s", "0.1s"])), cwd=self.dir, env=ENV,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(p.kill)
            if kills < most:
                time.sleep(rng.uniform(0.1, 1.0 if ranks else 0.6))
                pids = subprocess.run(["pgrep", "-P", str(p.pid), "sialrun"], capture_output=True, text=True).stdout.split() if ranks else [p.pid]
                for pid in pids[-1:] if p.poll() is None else []:
                    try:
                        os.kill(int(pid), signal.SIGKILL)
                        kills += 1
                    except ProcessLookupError:
                        pass
            _, err = self.ending_of(p)
            code = p.returncode
            self.assertNotIn(code, (1, 2), err)
            if code == 0:
                found = items(self.dir / "results.h5")
                for name in ("scalars/scf_energy", "scalars/ccsd_energy"):
                    self.assertLess(abs(found[name] - wanted[name]), 1e-9, name)
        print(f"killed {kills} times, begun {jobs} times", file=sys.stderr)


if __name__ == "__main__":
    main()
