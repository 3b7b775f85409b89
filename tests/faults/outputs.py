#!/usr/bin/env python3
"""Files and streams that the programs write: a failure is said, gives its exit code, and costs nobody a file.

    outputs.py --bin DIR [unittest arguments]

Tests that need a small disk or another user are skipped where they cannot be had.
"""
import json
import os
import pathlib
import resource
import stat
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py

from faults import private_mounts
from harness import BIN, ENV, main
from in_folder import TINY, InFolder


class Outputs(InFolder):
    # --- disks that fill up

    def test_results_that_grow_too_large(self):
        self.must("sialrun", "save.sialx", "--run-json", "none")
        before = self.read("results.h5")
        # Somewhere in the data, among the first bytes, and where only the last are missing.
        for most in (1000, 8192, 16384, len(before) - 1):
            with self.subTest(most=most):
                self.refused("sialrun", "save.sialx", "--run-json", "none", code=3, says=("cannot write", "results.h5", "File too large"),
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
                self.assertEqual(self.read("results.h5"), before)
                self.assertEqual(self.names(), ["results.h5", "save.sialx", "tiny.sialx"])

    def test_results_on_a_disk_that_is_nearly_full(self):
        mounts = private_mounts()
        if not mounts:
            self.skipTest("no private mounts here")
        run = f"{BIN}/sialrun save.sialx --output-dir disk --run-json none"
        (self.dir / "disk").mkdir()
        for blocks in (0, 1, 2, 3, 4, 5, 8):  # of 4 kB that stay free beside the earlier file; the new one needs nearly 6
            with self.subTest(blocks=blocks):
                script = (f"mount -t tmpfs -o size=96k tmpfs disk && {run} >/dev/null && cp disk/results.h5 before.h5 && "
                          f"head -c 1000000 /dev/zero >disk/filler 2>/dev/null; truncate -s -{4096 * blocks} disk/filler; {run}; c=$?; cp disk/results.h5 after.h5; ls disk; exit $c")
                p = subprocess.run([*mounts, "sh", "-c", script], cwd=self.dir, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
                self.assertNotIn(".part", p.stdout)
                if blocks == 8:
                    self.assertEqual(p.returncode, 0, p.stderr)
                elif blocks < 3:
                    self.assertNotEqual(p.returncode, 0)
                if p.returncode != 0:
                    self.assertIn(p.returncode, (2, 3), p.stderr)
                    self.assertEqual(p.stderr.count("error:"), 1, p.stderr)
                    self.assertIn("cannot write", p.stderr)
                    self.assertIn("No space left on device", p.stderr)
                    self.assertEqual(self.read("after.h5"), self.read("before.h5"))
                with h5py.File(self.dir / "after.h5", "r") as f:
                    self.assertEqual(float(f["statics/h"][()].sum()), 1600.0)

    def test_modules_and_reports_on_a_full_disk(self):
        self.must("sialc", "tiny.sialx")
        self.must("sialc", "tiny.sialx", "-o", "kept.siox")
        self.must("sialreport", "tiny.siox", "-o", "kept.txt")
        kept = {name: self.read(name) for name in self.names()}
        for tool, args in (("sialc", ("tiny.sialx", "-o", "kept.siox")), ("sialc", ("tiny.sialx", "-o", "new.siox")), ("sialc", ("tiny.sialx",)),
                           ("sialreport", ("tiny.siox", "-o", "kept.txt")), ("sialreport", ("tiny.siox", "-o", "new.txt")),
                           ("sialrun", ("--write-dat", "kept.dat", "tiny.sialx"))):
            with self.subTest(args=args):
                self.refused(tool, *args, code=3, says=("cannot write", "File too large"),
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)))
                self.assertEqual({name: self.read(name) for name in self.names()}, kept)

    def test_integrals_that_find_no_memory(self):
        """Everything else that the job computed is written, and the message names the option, the amount and the remedy."""
        n = 160
        self.write("m.FCIDUMP", f"&FCI NORB={n},NELEC=2,MS2=0,\n ORBSYM={'1,' * n}\n ISYM=1,\n&END\n 0.5 1 1 1 1\n -1.0 1 1 0 0\n 0.1 0 0 0 0\n")
        self.write("units.sialx", """sial units
            predefined int norb
            aoindex m = 1:norb
            aoindex n = 1:norb
            static c[m,n]
            do m
              do n
                c[m,n] = 0.0
                if m == n
                  c[m,n] = 1.0
                endif
              enddo n
            enddo m
            set_persistent c "c"
            endsial units
            """)
        self.write("job.toml", 'programs = ["units.sialx"]\nmemory = "10MB"\n[hamiltonian]\nfcidump = "m.FCIDUMP"\n[segments]\nao_target = 1\n')
        err = self.refused("sialrun", "job.toml", "--jit", "off", "--device", "host", "--fcidump", "out.FCIDUMP", code=3,
                           says=("out of memory at `--fcidump`: `out.FCIDUMP` is not written", "over 160 orbitals take 1.33 GB", "fewer ranks"),
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1_200_000_000, 1_200_000_000)))
        self.assertNotIn("beside the block data\n  hint: run fewer", err)
        for name in ("results.h5", "run.json"):
            self.assertTrue((self.dir / name).exists(), name)
        # More than any machine has: refused before anything is computed.
        self.write("m.toml", 'programs = ["units.sialx"]\n[molecule]\nxyz = "m.xyz"\nbasis = "cc-pvtz"\n[output]\ndir = "m"\n')
        self.write("m.xyz", "200\n\n" + "".join(f"Ne {4 * i} 0 0\n" for i in range(200)))
        self.refused("sialrun", "m.toml", "--fcidump", "out.FCIDUMP", code=3, says=("`--fcidump` needs 2", "over 6000 basis functions", "this machine has"))
        self.assertFalse((self.dir / "m").exists())

    # --- checkpoints, batches

    def test_what_is_no_checkpoint_stays(self):
        (self.dir / "mine").mkdir()
        options = ("tiny.sialx", "--results", "none", "--checkpoint-dir", "mine", "--checkpoint-every", "0")
        for text in ('{"mine": 1}', "[1, 2]", "", "no JSON", '{"format": 2}'):
            with self.subTest(text=text):
                self.write("mine/index.json", text)
                err = self.refused("sialrun", *options, code=2, says=("mine/index.json", "is no index of a checkpoint", "--checkpoint-dir"))
                self.assertNotIn("hello", err)
                self.assertEqual((self.dir / "mine/index.json").read_text(), text)
        # A checkpoint of ours is replaced, by one of another version too.
        (self.dir / "mine/index.json").unlink()
        self.write("two.toml", 'programs = ["tiny.sialx", "tiny.sialx"]\n')
        code, _, err = self.run_tool("sialrun", "two.toml", *options[1:], "--stop-after", "1")
        self.assertEqual(code, 4, err)
        index = json.loads(self.read("mine/index.json"))
        for changes in ({}, {"format": 1}, {"serial": 7}):
            self.write("mine/index.json", json.dumps({**index, **changes}))
            self.must("sialrun", *options)

    def test_a_batch_that_is_a_folder(self):
        (self.dir / "d").mkdir()
        self.refused("sialrun", "--batch", "d", code=2, says=("`d`", "it is a folder"))

    # --- links, and what is no file

    def node(self, name):
        """A device of our own that swallows everything, or a skip."""
        try:
            os.mknod(self.dir / name, stat.S_IFCHR | 0o666, os.makedev(1, 3))
            (self.dir / name).write_bytes(b"x")
        except PermissionError:
            self.skipTest("no devices can be made here")

    def test_devices_are_not_replaced(self):
        self.node("null")
        self.write("job.toml", 'programs = ["save.sialx"]\n[output]\nresults = "null"\n')
        for args in (("save.sialx", "--results", "null"), ("job.toml",)):
            err = self.refused("sialrun", *args, code=3, says=("null", "it is a device", "--results none"))
            self.assertNotIn("computed", err)
        self.refused("sialrun", "save.sialx", "--write-dat", "null", code=3, says=("null", "it is a device"))
        self.must("sialrun", "tiny.sialx", "--results", "none", "--run-json", "null")
        self.must("sialc", "tiny.sialx", "-o", "null")
        self.must("sialc", "tiny.sialx")
        self.must("sialreport", "tiny.siox", "-o", "null")
        self.assertTrue(stat.S_ISCHR((self.dir / "null").stat().st_mode))
        self.assertEqual(self.names(), ["job.toml", "null", "save.sialx", "tiny.sialx", "tiny.siox"])

    def test_pipes_are_not_replaced(self):
        os.mkfifo(self.dir / "pipe")
        self.refused("sialrun", "save.sialx", "--results", "pipe", code=3, says=("pipe", "it is a pipe"))
        self.refused("sialrun", "save.sialx", "--write-dat", "pipe", code=3, says=("pipe", "it is a pipe"))
        self.assertTrue((self.dir / "pipe").is_fifo())

    def test_standard_output_by_name(self):
        self.must("sialc", "tiny.sialx")
        self.assertIn("tiny", self.must("sialreport", "tiny.siox", "-o", "/dev/stdout"))
        with open(self.dir / "out.txt", "wb") as out:
            code, _, err = self.run_tool("sialreport", "tiny.siox", "-o", "/dev/stdout", stdout=out)
            self.assertEqual(os.fstat(out.fileno()).st_ino, (self.dir / "out.txt").stat().st_ino)
        self.assertEqual(code, 0, err)
        self.assertIn(b"tiny", self.read("out.txt"))

    def test_links_are_followed(self):
        """To files that are there and to new ones, by links that are relative to their own folder."""
        (self.dir / "far").mkdir()
        for there in (False, True):
            for name, args in (("r.h5", ("sialrun", "save.sialx", "--run-json", "none", "--results")), ("r.json", ("sialrun", "save.sialx", "--results", "none", "--run-json")),
                               ("d.dat", ("sialrun", "save.sialx", "--write-dat")), ("m.siox", ("sialc", "tiny.sialx", "-o"))):
                with self.subTest(name=name, there=there):
                    link, target = self.dir / name, self.dir / "far" / name
                    if not there:
                        link.symlink_to(pathlib.Path("far") / name)
                    else:
                        if name in ("d.dat", "m.siox"):
                            target.write_text("earlier")
                        target.chmod(0o640)
                    self.must(*args, name)
                    self.assertTrue(link.is_symlink())
                    self.assertGreater(target.stat().st_size, 20)
                    if there:
                        self.assertEqual(stat.S_IMODE(target.stat().st_mode), 0o640)
        self.assertEqual(sorted(p.name for p in (self.dir / "far").iterdir()), ["d.dat", "m.siox", "r.h5", "r.json"])

    def test_files_of_the_user_are_not_replaced(self):
        """Only what a job may have written gives way to results and statistics: HDF5 and JSON."""
        for option, other in (("--results", "--run-json"), ("--run-json", "--results")):
            for content in (b"my notes on water\n", b"\x89HDF is not enough", b"x"):
                with self.subTest(option=option, content=content):
                    (self.dir / "mine").write_bytes(content)
                    err = self.refused("sialrun", "save.sialx", other, "none", option, "mine", code=2, says=("would replace `./mine`, which no job has written", option))
                    self.assertNotIn("hello", err)
                    self.assertEqual(self.read("mine"), content)
            (self.dir / "mine").write_bytes(b"")
            self.must("sialrun", "save.sialx", other, "none", option, "mine")
            self.must("sialrun", "save.sialx", other, "none", option, "mine")  # its own
            (self.dir / "mine").unlink()

    # --- outputs that would replace inputs, or each other

    def test_inputs_are_not_replaced(self):
        self.must("sialc", "tiny.sialx", "-o", "t.siox")
        self.must("sialrun", "t.siox", "--results", "none", "--run-json", "run.json")
        self.write("odd.siox", TINY)
        self.write("defs.sialx", "sial defs\nindex i = 1:2\nendsial defs\n")
        self.write("uses.sialx", 'import "defs.sialx"\nsial uses\nscalar x\ndo i\n  x = 1.0\nenddo i\nendsial uses\n')
        self.write("h2.xyz", "2\nH2\nH 0 0 0\nH 0 0 0.74\n")
        self.write("ok.toml", 'programs = ["tiny.sialx"]\n[molecule]\nxyz = "h2.xyz"\nbasis = "sto-3g"\n')
        self.write("batch", "tiny.sialx --results batch --run-json none\n")
        (self.dir / "link.siox").symlink_to("t.siox")
        os.link(self.dir / "tiny.sialx", self.dir / "hard.siox")
        self.must("sialrun", "ok.toml", "--write-dat", "old.dat")
        kept = {name: self.read(name) for name in self.names()}
        for tool, args, says, code in (("sialc", ("tiny.sialx", "-o", "tiny.sialx"), ("tiny.sialx",), 2),
                                       ("sialc", ("tiny.sialx", "-o", "./tiny.sialx"), ("./tiny.sialx", "`tiny.sialx`"), 2),
                                       ("sialc", ("odd.siox",), ("odd.siox",), 2),
                                       ("sialc", ("tiny.sialx", "-o", "hard.siox"), ("tiny.sialx", "hard.siox"), 2),
                                       ("sialc", ("uses.sialx", "-o", "defs.sialx"), ("defs.sialx",), 2),
                                       ("sialc", ("save.sialx", "tiny.sialx", "save.siox"), ("save.siox",), 2),
                                       ("sialrun", ("tiny.sialx", "--results", "tiny.sialx"), ("the results file", "the program", "tiny.sialx"), 2),
                                       ("sialrun", ("t.siox", "--results", "link.siox"), ("t.siox", "link.siox"), 2),
                                       ("sialrun", ("uses.sialx", "--run-json", "defs.sialx"), ("defs.sialx",), 2),
                                       ("sialrun", ("ok.toml", "--run-json", "ok.toml"), ("the statistics file", "the job file", "ok.toml"), 2),
                                       ("sialrun", ("ok.toml", "--trace", "ok.toml"), ("the trace", "the job file", "ok.toml"), 2),
                                       ("sialrun", ("ok.toml", "--trace", "h2.xyz"), ("the trace", "h2.xyz"), 2),
                                       ("sialrun", ("ok.toml", "--write-dat", "ok.toml"), ("ok.toml",), 2),
                                       ("sialrun", ("-d", "old.dat", "tiny.sialx", "--results", "old.dat"), ("old.dat",), 2),
                                       ("sialrun", ("tiny.sialx", "--results", "both.out", "--run-json", "both.out"), ("the statistics file", "the results file", "both.out"), 2),
                                       ("sialrun", ("tiny.sialx", "--results", "both.out", "--trace", self.dir / "both.out"), ("the trace", "the results file"), 2),
                                       ("sialrun", ("--batch", "batch"), ("the batch file", "batch"), 2),
                                       ("sialreport", ("t.siox", "run.json", "-o", "t.siox"), ("the report", "t.siox"), 2),
                                       ("sialreport", ("t.siox", "run.json", "-o", "run.json"), ("the report", "run.json"), 2),
                                       ("sialreport", ("t.siox", "-o", "tiny.sialx"), ("the report", "tiny.sialx"), 2),
                                       ("sialreport", ("--compare", "run.json", "run.json", "-o", "run.json"), ("the report", "run.json"), 2)):
            with self.subTest(tool=tool, args=args):
                self.refused(tool, *args, code=code, says=("would replace", *says))
                self.assertEqual({name: self.read(name) for name in self.names()}, kept)
        # Results may take the place of those that they start from: what was saved there is in them.
        self.write("again.toml", 'programs = ["tiny.sialx"]\n[restore]\nfile = "results.h5"\n')
        self.must("sialrun", "tiny.sialx")
        self.must("sialrun", "again.toml")
        self.refused("sialrun", "again.toml", "--results", "none", "--run-json", "results.h5", code=2, says=("would replace",))

    # --- the standard output

    def test_standard_output_on_a_full_disk(self):
        """Little of it, which fails when the process ends, and more than a buffer holds."""
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        self.must("sialc", "tiny.sialx")
        self.must("sialrun", "tiny.siox", "--results", "none", "--run-json", "run.json")
        self.write("long.sialx", 'sial long\nindex i = 1:400\nscalar x\ndo i\n  println "a line that has many followers"\nenddo i\nx = 1.0\nendsial long\n')
        runs: list[tuple[str, tuple[str, ...], int]] = [("sialrun", args, 3) for args in (("--version",), ("--help",), ("tiny.siox", "--results", "none"), ("long.sialx", "--results", "none"),
                                                  ("long.sialx", "--results", "none", "--simulate", "ranks=2,seed=1"), ("tiny.siox", "--dry-run"), ("tiny.siox", "--describe"))]
        runs += [("sialc", args, 3) for args in (("--version",), ("--help",), ("--emit=ir", "tiny.sialx"), ("--emit=tokens", "long.sialx"), ("--emit=ast-json", "long.sialx"),
                                                 ("--explain", "list"), ("--disassemble", "tiny.siox"))]
        runs += [("sialreport", args, 3) for args in (("--version",), ("--help",), ("tiny.siox",), ("tiny.siox", "run.json", "--format", "json"), ("tiny.siox", "--format", "html"))]
        for tool, args, code in runs:
            with self.subTest(tool=tool, args=args), open("/dev/full", "w") as full:
                self.refused(tool, *args, code=code, says=("error: cannot write the output: No space left on device",), stdout=full)
        with open("/dev/full", "w") as full:  # results are written all the same
            self.refused("sialrun", "save.sialx", code=3, says=("cannot write the output",), stdout=full)
            self.assertIn("results.h5", self.names())
            self.assertEqual(self.run_tool("sialrun", "missing.sialx", stdout=full)[0], 2)  # other errors keep their code

    # --- folders that may not be searched

    def without_rights(self):
        """How to run as somebody whom permissions bind, in a folder `lk` of theirs that may not be searched."""
        (self.dir / "lk").mkdir(mode=0)
        self.addCleanup((self.dir / "lk").chmod, 0o700)
        how: dict = {}
        if os.geteuid() == 0:
            how = {"user": 65534, "group": 65534, "extra_groups": []}
            self.dir.chmod(0o777)
            os.chown(self.dir / "lk", 65534, 65534)
        try:
            code = self.run_tool("sialrun", "--version", **how)[0]
        except PermissionError:
            code = 1
        if code != 0:
            self.skipTest("nobody else may run the programs here")
        return how

    def test_folders_that_may_not_be_searched(self):
        how = self.without_rights()
        self.write("h2.xyz", "2\nH2\nH 0 0 0\nH 0 0 0.74\n")
        for key in ("basis", "ecp"):
            keys = {"xyz": "h2.xyz", "basis": "sto-3g", key: "lk/x"}
            self.write(f"{key}.toml", 'programs = ["tiny.sialx"]\n[molecule]\n' + "".join(f'{k} = "{v}"\n' for k, v in keys.items()))
        for key in ("programs", "plugins"):
            self.write(f"{key}.toml", "".join(f'{k} = ["{v}"]\n' for k, v in {"programs": "tiny.sialx", key: "lk/x.sialx"}.items()))
        for key in ("xyz",):
            self.write(f"{key}.toml", 'programs = ["tiny.sialx"]\n[molecule]\nxyz = "lk/x"\nbasis = "sto-3g"\n')
        for key, section in (("arrays", "[arrays]\nh = {file = \"lk/x\"}"), ("restore", "[restore]\nfile = \"lk/x\""), ("include", "")):
            self.write(f"{key}.toml", ('include = ["lk"]\n' if key == "include" else "") + f'programs = ["tiny.sialx"]\n{section}\n')
        nothing = ("--results", "none")
        args: tuple[str, ...]
        for args in (("--output-dir", "lk"), ("--results", "lk/x.h5"), ("--run-json", "lk/x"), ("--trace", "lk/x", *nothing), ("--checkpoint-dir", "lk", "--checkpoint-every", "0", *nothing),
                     ("--output-dir", "lk/deeper")):
            with self.subTest(args=args):
                self.refused("sialrun", "tiny.sialx", *args, code=3, says=("cannot write", "lk", "Permission denied", "hint: choose"), **how)
        for args, says in ((("basis.toml",), "lk/x"), (("ecp.toml",), "lk/x"), (("programs.toml",), "lk/x.sialx"), (("plugins.toml",), "lk/x.sialx"), (("xyz.toml",), "lk/x"),
                           (("arrays.toml",), "lk/x"), (("restore.toml",), "lk/x"), (("lk/job.toml",), "lk/job.toml"), (("lk/x.sialx",), "lk/x.sialx"), (("lk/x.siox",), "lk/x.siox"),
                           (("tiny.sialx", "--restart", "lk"), "lk/index.json"), (("tiny.sialx", "--plugin", "lk/x.so"), "lk/x.so"), (("--batch", "lk/x"), "lk/x"), (("-d", "lk/x"), "lk/x"),
                           (("-s", "lk"), "data.dat"), (("tiny.sialx", "--write-dat", "lk/x"), "lk/x")):
            with self.subTest(args=args):
                got, _, err = self.run_tool("sialrun", *args, *nothing, **how)
                self.assertIn(got, (1, 2, 3), err)
                self.assertEqual(err.count("error:"), 1, err)
                self.assertIn(says, err)
        for args in (("include.toml",), ("tiny.sialx", "-I", "lk")):
            with self.subTest(args=args):
                self.assertEqual(self.run_tool("sialrun", *args, *nothing, **how)[0], 0)
        self.must("sialc", "tiny.sialx")
        for tool, args in (("sialc", ("lk/x.sialx",)), ("sialc", ("tiny.sialx", "-o", "lk/x.siox")), ("sialc", ("--disassemble", "lk/x.siox")),
                           ("sialreport", ("lk/x.siox",)), ("sialreport", ("tiny.siox", "lk/run.json")), ("sialreport", ("tiny.siox", "-o", "lk/x"))):
            with self.subTest(tool=tool, args=args):
                self.refused(tool, *args, code=3 if "-o" in args else 2, says=("lk/",), **how)
        self.assertEqual(self.run_tool("sialreport", "tiny.siox", "-I", "lk", **how)[0], 0)


if __name__ == "__main__":
    main()
