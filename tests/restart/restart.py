#!/usr/bin/env python3
"""Ending a run and going on from its checkpoint: the output of the pieces is that of the whole.

    restart.py --bin DIR [unittest arguments]
"""
import json
import pathlib
import random
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ROOT, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "plan"))
from pieces import ENV, PROGRAMS, STEPS, STOPPED, THREE, WORLDS, Pieces, command, items
from slow_processor import slow_processor  # noqa: E402


class Restart(Pieces):
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

    def test_eight_dimensions(self):
        """Arrays of as many dimensions as there can be, in all places where arrays live."""
        for ranks, more in ((0, ()), (0, ("--simulate", "ranks=3,seed=4"))):
            with self.subTest(more=more):
                args = [PROGRAMS / "dimensions.sialx", "--set", "norb=2", "--segments", "ao=2,1", *more]
                out, results, _ = self.whole(*args, ranks=ranks)
                self.assertIn("0.0", out.splitlines()[0])
                got, stops = self.pieces(*args, ranks=ranks, stop=("--checkpoint-every", "0", "--stop-after", "1"))
                self.assertEqual(got, out)
                self.assertGreater(stops, 2)
                self.assert_same_results(items(self.dir / "results.h5"), results)

    def test_checkpoints_change_nothing(self):
        for ranks, more in WORLDS[:4]:
            with self.subTest(ranks=ranks, more=more):
                args = [*THREE, *STEPS, *more]
                out, results, _ = self.whole(*args, ranks=ranks)
                code, got, err = self.run_job(*args, "--checkpoint-every", "0", ranks=ranks)
                self.assertEqual((code, got, err.replace("note: replaced `results.h5`, `run.json` of an earlier run\n", "")), (0, out, ""))
                self.assert_same_results(items(self.dir / "results.h5"), results)

    def test_changed_job(self):
        for name in ("first", "second", "third"):
            shutil.copy(PROGRAMS / f"{name}.sialx", self.dir)
        job = '''programs = ["first.sialx", "second.sialx", "third.sialx"]
            [values]
            norb = 2
            steps = {steps}
            scf_conv = {scf_conv}
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
        same = dict(steps=2, scf_conv=1.5, ao="[1, 1]", numbers="[1, 2]", basis="sto-3g", charge=0)

        def write(**changes):
            (self.dir / "job.toml").write_text(job.format(**{**same, **changes}))
        (self.dir / "m.xyz").write_text("2\n\nH 0 0 0\nH 0 0 0.74\n")
        write()
        self.assertEqual(self.run_job("job.toml", "--stop-after", "1")[0], STOPPED)
        for changes, says in ((dict(steps=3), "the value of int `steps` was 2 and is 3 now"), (dict(scf_conv=1.25), "`scf_conv` was 1.5 and is 1.25"),
                              (dict(numbers="[1, 3]"), "data of array `numbers`"), (dict(basis="6-31g**", ao="[5, 5]"), "molecule's `basis set` is not the same"),
                              (dict(charge=-2), "molecule's `charge`")):
            with self.subTest(changes=changes):
                write(**changes)
                self.refused("job.toml", says=[says, "checkpoint/index.json"])
        write()
        self.refused("job.toml", "--segments", "ao=2", says=["the segments of kind `ao` was 1,1 and is 2 now", "`--segments ao=1,1 --segments m"])
        self.refused("job.toml", "--set", "lindep_tol=1", says="`lindep_tol` is given as 1 now")
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

    def test_what_earlier_jobs_gave(self):
        """A restart reads neither the orbitals that the job began with nor the results that it restores from: the checkpoint has them."""
        molecule = f'[molecule]\nxyz = "{ROOT / "examples/molecules/water.xyz"}"\nbasis = "sto-3g"\n'
        (self.dir / "rhf.toml").write_text(f'programs = ["{ROOT / "examples/04_rhf/rhf.sialx"}"]\n{molecule}')
        self.assertEqual(self.run_job("rhf.toml")[0], 0)
        results = self.dir / "results.h5"
        earlier = results.read_bytes()
        for more, option in (("", ("--guess", "earlier.h5")), ('[run]\nguess = "earlier.h5"\n', ()), ('[restore]\nfile = "earlier.h5"\n', ())):
            with self.subTest(more=more, option=option):
                shutil.rmtree(self.dir / "checkpoint", ignore_errors=True)
                (self.dir / "job.toml").write_text((self.dir / "rhf.toml").read_text() + more)
                (self.dir / "earlier.h5").write_bytes(earlier)
                code, out, err = self.run_job("job.toml", *option, "--deterministic", "--output-dir", "whole")
                self.assertEqual(code, 0, err)
                args = ["job.toml", *option, "--deterministic", "--checkpoint-every", "0", "--stop-after", "2"]
                code, got, err = self.run_job(*args)
                self.assertEqual(code, STOPPED, err)
                (self.dir / "earlier.h5").unlink()
                code, _, err = self.run_job(*args)
                self.assertEqual((code, err.count("earlier.h5`")), (2, 1), err)
                code, rest, err = self.run_job(*args[:-4], "--restart")
                self.assertEqual((code, got + rest), (0, out), err)
                self.assertNotIn("earlier.h5", err)

    def test_plan_of_a_restart(self):
        """--dry-run --restart: what is left of the job, with the segments of the checkpoint."""
        args = [self.water("04_rhf/rhf.sialx", "05_mp2/mp2.sialx"), "--memory", "900kB"]
        self.assertEqual(self.run_job(*args, "--checkpoint-every", "programs", "--stop-after", "1")[0], STOPPED)
        args[-1] = "2GB"
        saved = {p.name: p.read_bytes() for p in (self.dir / "checkpoint").iterdir()}
        code, new, _ = self.run_job(*args, "--dry-run")
        self.assertEqual(code, 0)
        code, rest, err = self.run_job(*args, "--dry-run", "--restart")
        self.assertEqual(code, 0, err)
        self.assertIn("segments ao, mo, moa, mob = auto: those of the checkpoint of ", err)
        self.assertRegex(rest, r"^planned from the checkpoint of .* \(after program `rhf`\): program 2 of 2\n")
        programs = [[line for line in text.splitlines() if line.startswith("program ")] for text in (new, rest)]
        self.assertEqual(programs, [["program rhf", "program mp2"], ["program mp2"]])
        self.assertNotIn("rhf ", rest[rest.index("predicted time"):])
        # As planned for those segments, in a new job.
        code, _, err = self.run_job(*args, "--restart", "--stop-after", "1", "--checkpoint-every", "0")
        segments = json.loads(saved["index.json"])["job"]["segments"]
        stated = [word for kind, sizes in segments.items() for word in ("--segments", f"{kind}={sizes}")]
        code, whole, err = self.run_job(*args, *stated, "--dry-run")
        self.assertEqual(code, 0, err)
        plan = rest[rest.index("program mp2"):rest.index("fits")]
        self.assertIn(plan, whole)
        self.assertNotIn(plan, new)
        self.refused(*args, "--dry-run", "--set", "scf_iter=7", says="the value of int `scf_iter` was 100 and is 7 now")
        self.refused(*args, "--dry-run", "--checkpoint-dir", "nowhere", says="there is no checkpoint")

    def test_statistics_do_not_grow(self):
        """Rows of one line stay one row, however often a job is continued."""
        (self.dir / "loop.sialx").write_text("""sial loop
            predefined int norb
            predefined int steps
            aoindex i = 1:norb
            aoindex j = 1:norb
            index k = 1:steps
            distributed a[i,j]
            temp t[i,j]
            do k
              pardo i, j
                t[i,j] = 1.0
                put a[i,j] += t[i,j]
              endpardo i, j
              sip_barrier
              pardo i, j
                get a[i,j]
                t[i,j] = a[i,j]
              endpardo i, j
            enddo k
            endsial loop
            """)
        args = ["loop.sialx", "--set", "norb=2", "--set", "steps=30", "--segments", "ao=3,2", "--device", "simulated", "--device-from", "0"]
        _, _, whole = self.whole(*args)
        sizes = []
        for n in range(24):
            code, _, err = self.run_job(*args, "--checkpoint-every", "0", "--stop-after", "1", *(("--restart",) if n else ()))
            self.assertEqual(code, STOPPED, err)
            index = json.loads((self.dir / "checkpoint/index.json").read_text())
            sizes.append(index["files"][0]["bytes"])
        self.assertLess(sizes[-1], sizes[3] + 100, sizes)
        self.assertEqual(self.run_job(*args, "--restart")[0], 0)
        run = json.loads((self.dir / "run.json").read_text())
        self.assertEqual(run["total"]["restarts"], 24)
        for rows, counts in (("lines", ("executions",)), ("remote_accesses", ("accesses",)), ("kernels", ())):
            found, wanted = (r[rows]["choices"] if rows == "kernels" else r[rows] for r in (run, whole))
            self.assertEqual([[row["line"], *(row[c] for c in counts)] for row in found], [[row["line"], *(row[c] for c in counts)] for row in wanted], rows)
        self.assertGreater(len(run["device_transfers"]), 0)
        for counter, key in (("device_in", "in"), ("device_out", "out")):
            self.assertEqual(sum(row[key] for row in run["device_transfers"]), run["total"][counter], counter)

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
                    self.assertEqual(code, 2, out + err)
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

    def test_note_about_forgotten_restart(self):
        self.assertEqual(self.run_job(*THREE, *STEPS, "--checkpoint-every", "0", "--stop-after", "8")[0], STOPPED)
        code, _, err = self.run_job(*THREE, *STEPS)
        self.assertEqual(code, 0)
        self.assertIn("note: `checkpoint` holds the checkpoint of a job that did not reach its end", err)

    def test_bad_usage(self):
        (self.dir / "batch").write_text(f"{THREE[0]}\n")
        for args, says in ((["--checkpoint-every", "often", THREE[0]], "`often` is not a span of time"), (["--time-limit", "-3", THREE[0]], "`-3`"),
                           (["--restart", "nowhere", *THREE, *STEPS], "`nowhere`"), (["--batch", "batch", "--restart"], "batch"),
                           (["--stop-after", "1", *THREE, *STEPS], "--checkpoint-every"),
                           (["--stop-after", "1", "--time-limit", "1h", *THREE, *STEPS], "--checkpoint-every")):
            with self.subTest(args=args):
                code, out, err = self.run_job(*args)
                self.assertIn(code, (1, 2))
                self.assertIn(says, err)


if __name__ == "__main__":
    main()
