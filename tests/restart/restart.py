#!/usr/bin/env python3
"""Ending a run and going on from its checkpoint: the output of the pieces is that of the whole.

    restart.py --bin DIR [unittest arguments]

Programs under programs/ keep every kind of state alive across barriers. Where results are exact, restarts are compared byte for
byte: output, results file, counters that do not depend on time.
"""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "plan"))
from slow_processor import slow_processor  # noqa: E402

PROGRAMS = HERE / "programs"
ROOT = HERE.parents[1]
BIN = None
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1", OMP_NUM_THREADS="1")
THREE = [PROGRAMS / "first.sialx", PROGRAMS / "second.sialx", PROGRAMS / "third.sialx"]
STEPS = ["--set", "norb=2", "--set", "steps=3", "--segments", "ao=3,2"]
STOPPED = 4
# In one process, as MPI processes, on pretend nodes, with servers.
WORLDS = [(0, ()), (0, ("--simulate", "ranks=3,seed=5")), (0, ("--simulate", "ranks=4,seed=2,ranks-per-node=2")),
          (2, ()), (3, ("--ranks-per-node", "1")), (3, ("--servers", "1"))]


def command(ranks, *args):
    prefix = ["mpirun", "-n", str(ranks), "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"] if ranks else []
    return [*prefix, str(BIN / "sialrun"), *map(str, args)]


def items(path):
    """All datasets of a results file, but for what depends on the schedule: the order of blocks, rank 0's share of a sum."""
    found = {}

    def collect(group, prefix):  # visititems() passes each dataset once, under one of its names
        for name, o in group.items():
            if isinstance(o, h5py.Dataset):
                found[prefix + name] = o[()]
            else:
                collect(o, f"{prefix}{name}/")

    with h5py.File(path) as f:
        collect(f, "")
    found.pop("scalars/w", None)
    found.pop("programs/3_third/w", None)
    return {name: numpy.array(sorted(map(tuple, value))) if name.startswith("saved/blocks/") else value for name, value in found.items()}


class Restart(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="sialx-restart-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def run_job(self, *args, ranks=0, timeout=120, prefix=(), env=None):
        p = subprocess.run([*prefix, *command(ranks, *args)], cwd=self.dir, env={**ENV, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        return p.returncode, p.stdout, p.stderr

    def whole(self, *args, ranks=0):
        """Output, results and statistics of an uninterrupted run."""
        code, out, err = self.run_job(*args, "--output-dir", "whole", ranks=ranks)
        self.assertEqual(code, 0, err)
        return out, items(self.dir / "whole/results.h5"), json.loads((self.dir / "whole/run.json").read_text())

    def pieces(self, *args, ranks=0, stop=("--checkpoint-every", "0", "--stop-after", "1"), most=200):
        """Runs from stop to stop until the end; all output, and how often it stopped."""
        output, stops = "", 0
        while True:
            code, out, err = self.run_job(*args, *stop, *(("--restart",) if stops else ()), ranks=ranks)
            output += out
            if code == 0:
                return output, stops
            self.assertEqual(code, STOPPED, f"after {stops} stops: {out}{err}")
            self.assertIn("with the same command and `--restart`", err)
            stops += 1
            self.assertLess(stops, most)

    def assert_same_results(self, found, wanted):
        self.assertEqual(sorted(found), sorted(wanted))
        for name, value in wanted.items():
            numpy.testing.assert_array_equal(found[name], value, name)

    def only_last(self):
        """Gives up the checkpoint before the last one."""
        folder = self.dir / "checkpoint"
        (folder / "previous.json").unlink(missing_ok=True)
        names = {f["name"] for f in json.loads((folder / "index.json").read_text())["files"]}
        for path in folder.glob("*.rank*"):
            if path.name not in names:
                path.unlink()

    def refused(self, *args, ranks=0, says):
        code, out, err = self.run_job(*args, "--restart", ranks=ranks)
        self.assertEqual(code, 2, out + err)
        self.assertEqual(out, "")
        self.assertEqual(err.count("error:"), 1, err)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, err)
        return err

    # ---- every barrier
    def test_each_barrier(self):
        """Stopped at every barrier and between all programs, the pieces make the whole."""
        for ranks, more in WORLDS:
            with self.subTest(ranks=ranks, more=more):
                args = [*THREE, *STEPS, *more]
                out, results, stats = self.whole(*args, ranks=ranks)
                # Starting processes takes its time: only what needs none is stopped at each barrier.
                apart = 9 if ranks else 1
                got, stops = self.pieces(*args, ranks=ranks, stop=("--checkpoint-every", "0", "--stop-after", apart))
                self.assertEqual(got, out)
                self.assertGreater(stops, 30 // apart)
                self.assert_same_results(items(self.dir / "results.h5"), results)
                self.assertFalse((self.dir / "checkpoint").exists(), "a finished job needs no checkpoint")
                total = json.loads((self.dir / "run.json").read_text())["total"]
                self.assertEqual(total["restarts"], stops)
                self.assertEqual(total["checkpoints"] // apart, stops)
                self.assertGreater(total["checkpoint_time"], 0)
                self.assertGreater(total["checkpoint_bytes"], 1000 * total["checkpoints"])
                for name in ("instructions", "iterations", "block_operations", "super_instructions", "gets", "puts", "accumulates", "scalar_puts"):
                    self.assertEqual(total[name], stats["total"][name], name)

    def test_bitwise(self):
        """With --deterministic a run in pieces gives the bits of the whole, and so does one that only writes checkpoints."""
        for ranks, more in ((0, ("--simulate", "ranks=3,seed=2")), (2, ("--ranks-per-node", "1"))):
            with self.subTest(ranks=ranks):
                args = [ROOT / "examples/05_mp2/job.toml", "--deterministic", *more]
                out, results, _ = self.whole(*args, ranks=ranks)
                for stop in ("6", "1000"):
                    got, stops = self.pieces(*args, "--output-dir", ".", ranks=ranks, stop=("--checkpoint-every", "0", "--stop-after", stop))
                    self.assertEqual(stops > 2, stop == "6")
                    self.assertEqual(got, out)
                    self.assert_same_results(items(self.dir / "results.h5"), results)

    def test_checkpoints_change_nothing(self):
        for ranks, more in WORLDS[:4]:
            with self.subTest(ranks=ranks, more=more):
                args = [*THREE, *STEPS, *more]
                out, results, _ = self.whole(*args, ranks=ranks)
                code, got, err = self.run_job(*args, "--checkpoint-every", "0", ranks=ranks)
                self.assertEqual((code, got, err.replace("note: replaced `results.h5`, `run.json` of an earlier run\n", "")), (0, out, ""))
                self.assert_same_results(items(self.dir / "results.h5"), results)

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

    def test_what_no_other_number_of_ranks_can_continue(self):
        """Values that differ between ranks, and are used in another way than adding them up, belong to ranks that are not there."""
        code, _, err = self.run_job(*THREE, *STEPS, "--checkpoint-every", "0", "--stop-after", "9", ranks=2)
        self.assertEqual(code, STOPPED, err)
        for ranks, more in ((3, ()), (0, ()), (0, ("--simulate", "ranks=5,seed=1"))):
            self.refused(*THREE, *STEPS, *more, ranks=ranks, says=["by 2 ranks", f"this run has {1 if not ranks and not more else ranks or 5}", "second.sialx:",
                                                                    "depends on the number of the rank, or of ranks, there", "hint: start 2 ranks"])
        program = """sial kept
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
        cases = (("x += 1.0", "", "print x", "the scalar `x` holds what each rank has added"),
                 ("x += 1.0", "y = x", "print y", "the scalar `y` holds"),
                 ("x += 1.0", "", "y = x * x\ncollective y += y", "the scalar `x` holds"),
                 ("x += 1.0", "", "if x > 1.0\nprintln y\nendif", "the scalar `x` holds"),
                 ("x += 1.0", "", "collective y += x\nprint x", "the scalar `x` holds"),
                 ("n += 1", "", "print n", "the int `n` holds"),
                 ("s[i,j] += t[i,j]", "", "do i\ndo j\nx += s[i,j] * s[i,j]\nenddo j\nenddo i\nprint x", "the array `s` holds"),
                 ("", "if x == 0.0\npardo i, j\ny += 1.0\nendpardo i, j\nendif", "print y", "the scalar `y` may hold"))
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

    # ---- what a checkpoint belongs to
    def test_changed_job(self):
        for name in ("first", "second", "third"):
            shutil.copy(PROGRAMS / f"{name}.sialx", self.dir)
        job = '''programs = ["first.sialx", "second.sialx", "third.sialx"]
            [values]
            norb = 2
            steps = {steps}
            spare = {spare}
            [segments]
            ao = {ao}
            [arrays]
            numbers = {numbers}
            [molecule]
            xyz = "m.xyz"
            basis = "{basis}"
            charge = {charge}
            [run]
            checkpoint_every = "programs"
            '''
        same = dict(steps=2, spare=1.5, ao="[1, 1]", numbers="[1, 2]", basis="sto-3g", charge=0)

        def write(**changes):
            (self.dir / "job.toml").write_text(job.format(**{**same, **changes}))
        (self.dir / "m.xyz").write_text("2\n\nH 0 0 0\nH 0 0 0.74\n")
        write()
        self.assertEqual(self.run_job("job.toml", "--stop-after", "1")[0], STOPPED)
        for changes, says in ((dict(steps=3), "the value of int `steps` was 2 and is 3 now"), (dict(spare=1.25), "`spare` was 1.5 and is 1.25"),
                              (dict(numbers="[1, 3]"), "data of array `numbers`"), (dict(basis="6-31g**", ao="[5, 5]"), "molecule's `basis set` is not the same"),
                              (dict(charge=-2), "molecule's `charge`")):
            with self.subTest(changes=changes):
                write(**changes)
                self.refused("job.toml", says=[says, "checkpoint/index.json"])
        write()
        self.refused("job.toml", "--segments", "ao=2", says=["the segments of kind `ao` was 1,1 and is 2 now", "`--segments ao=1,1 --segments m"])
        self.refused("job.toml", "--set", "more=1", says="`more` is given as 1 now")
        (self.dir / "m.xyz").write_text("2\n\nH 0 0 0\nH 0 0 0.75\n")
        self.refused("job.toml", says="molecule's `geometry`")
        (self.dir / "m.xyz").write_text("2\n\nH 0 0 0\nH 0 0 0.74\n")
        source = (self.dir / "third.sialx").read_text()
        (self.dir / "third.sialx").write_text(source.replace("total += w", "total += w + 1.0"))
        self.refused("job.toml", says="the program `third.sialx` has changed")
        self.refused(*THREE[:2], *STEPS, says="program 3 of the job, `third.sialx`, is missing")
        self.refused(*THREE[1::-1], *STEPS, says="program 1 of the job was `first.sialx` and is `second.sialx` now")
        (self.dir / "third.sialx").write_text(source)
        index = json.loads((self.dir / "checkpoint/index.json").read_text())
        self.refused("job.toml", "-b", "_2001Jan01_000000", says=[index["job_id"], "_2001Jan01_000000"])
        code, _, err = self.run_job("job.toml", "-b", index["job_id"], "--stop-after", "1")
        self.assertEqual(code, STOPPED, err)
        code, _, err = self.run_job("--restart", "job.toml")
        self.assertEqual(code, 0, err)
        self.assertIn("after program `second`", err)
        self.refused("job.toml", says="there is no checkpoint")

    # ---- what a job leaves open follows the checkpoint
    def water(self, *programs):
        job = self.dir / "water.toml"
        names = [str(ROOT / "examples" / name) for name in programs]
        job.write_text(f'programs = {json.dumps(names)}\n[molecule]\nxyz = "{ROOT / "examples/molecules/water.xyz"}"\nbasis = "6-31g*"\n')
        return job

    def choice(self, *args, **options):
        """The segments that a job has when it starts anew."""
        code, out, err = self.run_job(*args, "--dry-run", **options)
        self.assertEqual(code, 0, out + err)
        return re.findall("^segments .*$", err, re.M)

    def test_chosen_segments(self):
        """Segments chosen by predicted time stay those of the checkpoint, whatever would be chosen now."""
        slow = slow_processor(BIN / "sialrun", self.dir / "cache")
        args = [self.water("04_rhf/rhf.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx"), "--deterministic"]
        chosen = self.choice(*args, env=slow)
        self.assertIn("for the least predicted time", "".join(chosen))
        others = [(("--memory", "10MB"), slow), ((), {}), (("--memory", "10MB"), {})]
        for more, env in others:
            self.assertNotEqual(self.choice(*args, *more, env=env), chosen)
        code, out, err = self.run_job(*args, "--output-dir", "whole", env=slow)
        self.assertEqual(code, 0, err)
        results = items(self.dir / "whole/results.h5")
        for stop in ("7", "1000"):
            code, got, err = self.run_job(*args, "--checkpoint-every", "0", "--stop-after", "7", env=slow)
            for n in range(100):
                if code != STOPPED:
                    break
                more, env = others[n % 3]
                code, rest, err = self.run_job(*args, *more, "--checkpoint-every", "0", "--stop-after", stop, "--restart", env=env)
                got += rest
                self.assertRegex(err, "(?m)^segments ao, mo, moa, mob = auto: those of the checkpoint of ")
                self.assertEqual(err.count("segments"), 1, err)
            self.assertEqual(code, 0, err)
            self.assertEqual(n > 5, stop == "7")
            self.assertEqual(got, out)
            self.assert_same_results(items(self.dir / "results.h5"), results)

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

    def test_stated_segments(self):
        """Stated segments that differ from the checkpoint's are refused; those that are the same leave the others to it."""
        args = [self.water("04_rhf/rhf.sialx"), "--deterministic", "--memory", "900kB"]
        code, out, err = self.run_job(*args, "--output-dir", "whole")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.run_job(*args, "--checkpoint-every", "0", "--stop-after", "4")[0], STOPPED)
        shutil.copytree(self.dir / "checkpoint", self.dir / "copy")
        args[-1] = "2GB"
        for stated in ("ao=18", "ao_target=9", "occ=2,3", "virt_target=7", "moa=5,13"):
            with self.subTest(stated=stated):
                self.refused(*args, "--segments", stated, says=["the segments of kind `", "`--segments ao="])
        for stated in ("occ=5", "virt=5,4,4", "moa=5,5,4,4", "ao=6,8,4"):
            with self.subTest(stated=stated):
                shutil.rmtree(self.dir / "checkpoint", ignore_errors=True)
                shutil.copytree(self.dir / "copy", self.dir / "checkpoint")
                code, _, err = self.run_job(*args, "--segments", stated, "--restart")
                self.assertEqual(code, 0, err)
                self.assert_same_results(items(self.dir / "results.h5"), items(self.dir / "whole/results.h5"))

    def test_kept_integrals(self):
        """Whether programs keep two-electron integrals follows the memory of the run that was interrupted, unless it is stated."""
        args = [self.water(PROGRAMS / "kept.sialx")]
        outputs = {}
        for memory in ("2GB", "1MB"):
            code, outputs[memory], err = self.run_job(*args, "--memory", memory)
            self.assertEqual(code, 0, err)
        self.assertNotEqual(outputs["2GB"], outputs["1MB"])
        for memory, other, stated in (("2GB", "1MB", 0), ("1MB", "2GB", 1)):
            code, first, err = self.run_job(*args, "--memory", memory, "--checkpoint-every", "0", "--stop-after", "1")
            self.assertEqual(code, STOPPED, err)
            self.refused(*args, "--memory", other, "--set", f"keep_quartets={stated}", says=f"the value of int `keep_quartets` was {1 - stated} and is {stated} now")
            code, rest, err = self.run_job(*args, "--memory", other, "--restart")
            self.assertEqual((code, first + rest), (0, outputs[memory]), err)

    def test_damaged(self):
        """Whatever happens to a file of a checkpoint: one message, nothing printed by the program, no crash."""
        args = [*THREE, *STEPS]
        self.assertEqual(self.run_job(*args, "--checkpoint-every", "0", "--stop-after", "8")[0], STOPPED)
        self.only_last()
        shutil.copytree(self.dir / "checkpoint", self.dir / "saved")
        rng = random.Random(1)
        for saved in sorted((self.dir / "saved").iterdir()):
            whole, path = saved.read_bytes(), self.dir / "checkpoint" / saved.name
            damages = [whole[:n] for n in (0, 1, 20, len(whole) // 2, len(whole) - 2)] + [whole + b"x", None]
            for _ in range(12):
                at = rng.randrange(len(whole))
                damages.append(whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1:])
            for n, damage in enumerate(damages):
                with self.subTest(file=path.name, damage=n):
                    shutil.rmtree(self.dir / "checkpoint", ignore_errors=True)
                    shutil.copytree(self.dir / "saved", self.dir / "checkpoint")
                    path.unlink()
                    if damage is not None:
                        path.write_bytes(damage)
                    code, out, err = self.run_job(*args, "--restart")
                    if path.name == "index.json" and code == 0 and damage.split() == whole.split():
                        continue  # blanks do not matter
                    self.assertIn(code, (1, 2), out + err)
                    self.assertEqual(out, "")
                    self.assertEqual(err.count("error:"), 1, err)
                    self.assertIn("there is no checkpoint `checkpoint" if path.name == "index.json" and damage is None else "checkpoint/" + path.name, err)
                    self.assertIn("hint:", err)
        shutil.rmtree(self.dir / "checkpoint")
        shutil.copytree(self.dir / "saved", self.dir / "checkpoint")
        code, _, err = self.run_job(*args, "--restart")
        self.assertEqual(code, 0, err)

    def test_the_one_before_the_last(self):
        """Where files of the last checkpoint are damaged, the one before it continues the job, on other ranks too."""
        args = [*THREE[:1], PROGRAMS / "redistributed.sialx", *THREE[2:], *STEPS]
        out, results, _ = self.whole(*args)
        code, before, err = self.run_job(*args, "--checkpoint-every", "0", "--stop-after", "20", ranks=2)
        self.assertEqual(code, STOPPED, err)
        code, more, err = self.run_job(*args, "--checkpoint-every", "0", "--stop-after", "1", "--restart", ranks=2)
        self.assertEqual(code, STOPPED, err)
        folder = self.dir / "checkpoint"
        last = json.loads((folder / "index.json").read_text())
        self.assertLess(json.loads((folder / "previous.json").read_text())["serial"], last["serial"])
        shutil.copytree(folder, self.dir / "saved")

        def truncate(path):
            path.write_bytes(path.read_bytes()[:-8])

        def change(path):
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 4
            path.write_bytes(data)
        for name in ("index.json", last["files"][0]["name"], last["files"][1]["name"]):
            for damage in (truncate, change, pathlib.Path.unlink):
                for ranks, world in ((2, ()), (0, ("--simulate", "ranks=3,seed=1"))):
                    with self.subTest(name=name, damage=damage.__name__, ranks=ranks):
                        shutil.rmtree(folder, ignore_errors=True)
                        shutil.copytree(self.dir / "saved", folder)
                        damage(folder / name)
                        code, rest, err = self.run_job(*args, *world, "--restart", ranks=ranks)
                        self.assertEqual(code, 0, err)
                        self.assertEqual(err.count("warning:"), 1, err)
                        self.assertIn("the one before it is used, of ", err)
                        self.assertIn(name, err)
                        self.assertEqual(before + rest, out)
        # Both: an error, and nothing runs.
        shutil.copytree(self.dir / "saved", folder)
        for path in [*folder.glob("*.rank1")]:
            truncate(path)
        code, rest, err = self.run_job(*args, "--restart", ranks=2)
        self.assertNotEqual(code, 0)
        self.assertEqual((rest, err.count("error:")), ("", 1), err)

    def test_mixed_files(self):
        """A file of an earlier checkpoint under the name of the present one."""
        self.assertEqual(self.run_job(*THREE, *STEPS, "--checkpoint-every", "0", "--stop-after", "8")[0], STOPPED)
        self.only_last()
        old = next((self.dir / "checkpoint").glob("*.rank0")).read_bytes()
        self.assertEqual(self.run_job(*THREE, *STEPS, "--checkpoint-every", "0", "--stop-after", "1", "--restart")[0], STOPPED)
        self.only_last()
        path = next((self.dir / "checkpoint").glob("*.rank0"))
        path.write_bytes(old)
        code, out, err = self.run_job(*THREE, *STEPS, "--restart")
        self.assertIn(code, (1, 2))
        self.assertEqual(out, "")
        self.assertIn(path.name, err)

    def test_missing_file_of_one_rank(self):
        self.assertEqual(self.run_job(*THREE, *STEPS, "--checkpoint-every", "0", "--stop-after", "8", ranks=2)[0], STOPPED)
        self.only_last()
        path = next((self.dir / "checkpoint").glob("*.rank1"))
        path.unlink()
        code, out, err = self.run_job(*THREE, *STEPS, "--restart", ranks=2)
        self.assertEqual(code, 1, err)
        self.assertEqual(out, "")
        self.assertEqual(err.count("error:"), 1, err)
        self.assertIn(path.name, err)

    # ---- writing goes wrong
    def test_full_disk(self):
        """The earlier checkpoint stays usable, the run goes on and says so."""
        args = [*THREE, *STEPS]
        out, _, _ = self.whole(*args)
        self.assertEqual(self.run_job(*args, "--checkpoint-every", "0", "--stop-after", "20")[0], STOPPED)
        saved = {p.name: p.read_bytes() for p in (self.dir / "checkpoint").iterdir()}
        self.only_last()
        last = {p.name for p in (self.dir / "checkpoint").iterdir()}
        self.assertLess(len(last), len(saved))
        small = ["bash", "-c", "ulimit -f 1; exec \"$@\"", "bash"]  # files of at most 1024 bytes
        code, got, err = self.run_job(*args, "--checkpoint-every", "0", "--results", "none", "--run-json", "none", "--restart", prefix=small)
        self.assertEqual(code, 0, err)
        self.assertTrue(out.endswith(got) and got, got)
        self.assertIn("warning: no checkpoint could be written", err)
        self.assertIn("stays valid", err)
        # The job reached its end, so its checkpoint is gone; put it back.
        (self.dir / "checkpoint").mkdir()
        for name, data in saved.items():
            (self.dir / "checkpoint" / name).write_bytes(data)
        # Stopped while nothing can be written: the old one is named, and can be used.
        code, got, err = self.run_job(*args, "--time-limit", "0.0001", "--results", "none", "--run-json", "none", "--restart", prefix=small)
        self.assertEqual(code, 3, err)
        self.assertIn("without a new checkpoint", err)
        # The one before it was given up to make room.
        self.assertEqual({p.name: p.read_bytes() for p in (self.dir / "checkpoint").iterdir()}, {name: saved[name] for name in last})
        code, got, err = self.run_job(*args, "--restart")
        self.assertEqual(code, 0, err)
        self.assertTrue(out.endswith(got))

    def test_full_disk_of_one_rank(self):
        """What the other ranks wrote does not count, and is removed."""
        out, _, _ = self.whole(*THREE, *STEPS, ranks=2)
        script = "[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 1 ] && ulimit -f 1; exec \"$@\""
        program = command(2, *THREE, *STEPS, "--checkpoint-every", "0", "--results", "none", "--run-json", "none", "--stop-after", "30")
        at = program.index(str(BIN / "sialrun"))
        p = subprocess.run([*program[:at], "bash", "-c", script, "bash", *program[at:]], cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=120)
        self.assertEqual((p.returncode, p.stdout), (0, out), p.stderr)
        self.assertIn("warning: no checkpoint could be written", p.stderr)
        self.assertIn(".rank1", p.stderr)
        self.assertNotIn(".rank0", p.stderr)
        self.assertFalse((self.dir / "checkpoint").exists())

    def test_unwritable_folder(self):
        (self.dir / "file").write_text("not a folder")
        code, out, err = self.run_job(*THREE, *STEPS, "--checkpoint-every", "30", "--checkpoint-dir", "file")
        self.assertEqual(code, 3)
        self.assertEqual(out, "")
        self.assertIn("file/index.json", err)

    def test_folder_that_hosts_do_not_share(self):
        """Rank 1 has another file system at the folder, and another host name. Refused before anything is computed."""
        away = ["unshare", "-mu", "sh", "-c"]
        if subprocess.run([*away, "mount -t tmpfs tmpfs /mnt && hostname other"], capture_output=True).returncode:
            self.skipTest("no mounts and host names of one's own here")
        (self.dir / "saved").mkdir()
        run = " ".join(map(str, [BIN / "sialrun", *THREE, *STEPS, "--ranks-per-node", "1", "--checkpoint-every", "0", "--checkpoint-dir", "saved"]))
        ranks = f'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then exec {" ".join(away)} "mount -t tmpfs tmpfs saved && hostname other && exec {run}"; else exec {run}; fi'
        p = subprocess.run([*command(2)[:-1], "sh", "-c", ranks], cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual(p.returncode, 3, p.stdout + p.stderr)
        self.assertEqual(p.stdout, "")
        self.assertEqual(p.stderr.count("error:"), 1, p.stderr)
        self.assertIn("the folder for checkpoints, `saved`, is another one on other", p.stderr)
        self.assertEqual(list((self.dir / "saved").iterdir()), [])
        # One that they share is as it was before, too: there was none.
        code, _, err = self.run_job(*THREE, *STEPS, "--ranks-per-node", "1", "--time-limit", "1000", ranks=2)
        self.assertEqual(code, 0, err)
        self.assertFalse((self.dir / "checkpoint").exists())

    # ---- ending
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

    def start(self, *args, ranks=0):
        p = subprocess.Popen(command(ranks, *args), cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(p.kill)
        self.assertIn("begins", p.stdout.readline())
        pids = [p.pid] if ranks == 0 else [int(x) for x in subprocess.run(["pgrep", "-P", str(p.pid), "sialrun"], capture_output=True, text=True).stdout.split()]
        self.assertEqual(len(pids), max(1, ranks))
        return p, pids

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
        long = os.environ.get("SIALX_LONG_TESTS") == "1"
        rng = random.Random() if long else random.Random(7)
        for ranks, more, kills in ((1, (), 5 if long else 2), (2, ("--ranks-per-node", "1"), 3 if long else 2), (3, ("--servers", "1"), 2 if long else 1)):
            with self.subTest(ranks=ranks, more=more):
                for _ in range(kills):
                    for number in (signal.SIGKILL, signal.SIGTERM):
                        self.killed(args, ranks, more, number, rng.uniform(0.1, 2.5), wanted)

    def test_killed_on_other_ranks(self):
        """One job, killed at random moments again and again (a hundred times in long tests), each time continued on another number of ranks and nodes."""
        long = os.environ.get("SIALX_LONG_TESTS") == "1"
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
            _, err = p.communicate(timeout=120)
            code = p.returncode
            self.assertNotIn(code, (1, 2), err)
            if code == 0:
                found = items(self.dir / "results.h5")
                for name in ("scalars/scf_energy", "scalars/ccsd_energy"):
                    self.assertLess(abs(found[name] - wanted[name]), 1e-9, name)
        print(f"killed {kills} times, begun {jobs} times", file=sys.stderr)

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
        # A local disk that takes nothing: the run goes on without checkpoints, and says why.
        (self.dir / "local").rmdir()
        code, _, err = self.run_job(*long, "--set", "steps=400000", "--checkpoint-local", "local", "--checkpoint-every", "0.001s", "--results", "none")
        self.assertEqual(code, 0, err)
        self.assertIn("warning: no checkpoint could be written: cannot write `local/sialx", err)

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
        out, err = p.communicate(timeout=60)
        if p.returncode != 0:
            if not (self.dir / "checkpoint/index.json").exists():
                return  # killed before there was anything to save
            code, rest, err = self.run_job(*args, *more, "--restart", ranks=ranks)
            self.assertEqual(code, 0, err)
            self.assertIn("continuing from the checkpoint of", err)
        found = items(self.dir / "results.h5")
        for name in ("scalars/scf_energy", "scalars/ccsd_energy"):
            self.assertLess(abs(found[name] - wanted[name]), 1e-9, name)

    # ---- until the job is done
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

    def test_note_about_forgotten_restart(self):
        self.assertEqual(self.run_job(*THREE, *STEPS, "--checkpoint-every", "0", "--stop-after", "8")[0], STOPPED)
        code, _, err = self.run_job(*THREE, *STEPS)
        self.assertEqual(code, 0)
        self.assertIn("note: `checkpoint` holds the checkpoint of a job that did not reach its end", err)

    def test_bad_usage(self):
        (self.dir / "batch").write_text(f"{THREE[0]}\n")
        for args, says in ((["--checkpoint-every", "often", THREE[0]], "`often` is not a span of time"), (["--time-limit", "-3", THREE[0]], "`-3`"),
                           (["--restart", "nowhere", *THREE, *STEPS], "`nowhere`"), (["--batch", "batch", "--restart"], "batch")):
            with self.subTest(args=args):
                code, out, err = self.run_job(*args)
                self.assertIn(code, (1, 2))
                self.assertIn(says, err)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "--bin":
        sys.exit(__doc__)
    BIN = pathlib.Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
