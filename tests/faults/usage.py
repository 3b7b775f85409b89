#!/usr/bin/env python3
"""What people give to sialrun beside the program: each slip is named, with what would be right, and the exit code tells.

    usage.py --bin DIR [unittest arguments]
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ENV, InFolder, main

PROGRAM = """sial counts
predefined int n
index p = n:3
do p
  println p
enddo p
endsial counts
"""


class Usage(InFolder):
    def setUp(self) -> None:
        super().setUp()
        (self.dir / "counts.sialx").write_text(PROGRAM)

    def counts(self, *args, code, says=()):
        p = self.sialrun("counts.sialx", "--results", "none", "--run-json", "none", *args, code=code, says=says)
        self.assertTrue(all(len(line) < 300 for line in p.stderr.splitlines()), p.stderr)
        return p

    def test_numbers_of_options(self):
        """Numbers that an option cannot have, in words."""
        for option, value in (("--stop-after", "0"), ("--self-check", "0"), ("--ranks", "0"), ("-m", "0"), ("-m", "nan"), ("-m", "inf"), ("-m", "-1")):
            self.counts("--set", "n=2", option, value, code=2, says=[option, f"`{value}` is not a " + ("number above 0" if option == "-m" else "whole number of 1 or more")])
        for option in ("--ranks-per-node", "--servers", "--device-from"):
            self.counts("--set", "n=2", option, "-1", code=2, says=[option, "`-1` is not a whole number of 0 or more"])

    def test_simulations(self):
        for value in ("ranks=0", "ranks=100000"):
            self.counts("--set", "n=2", "--simulate", value, code=2, says=["from 1 to 1024 ranks"])
        # Where there is no network, too.
        self.counts("--set", "n=2", "--simulate-network", "latency=abc", code=2, says=["`abc` is not a number"])
        self.counts("--set", "n=2", "--simulate-network", "latency=-5us", code=2, says=["`-5us`"])
        self.counts("--set", "n=2", "--simulate-network", "latency=5us,bandwidth=1GB/s", code=0)

    def test_values_that_no_program_asks_for(self):
        """They are refused, with what may be meant; not those that every job has, or that super instructions read."""
        for name, hint in (("nn", "did you mean `n`?"), ("n_first", "the programs ask for: n"), ("charge", "`charge` belongs in [molecule]"),
                           ("frozen_core", "`frozen_core` belongs in [molecule] or [hamiltonian]"), ("occ", "`occ` belongs in [segments]"), ("time_limit", "`time_limit` belongs in [run]"),
                           ("threads", "`--threads` is an option of the command line"), ("cc_convergence", "did you mean `cc_conv`?"), ("scf_itr", "did you mean `scf_iter`?"),
                           ("maxiter", "the programs ask for: n; leave others out")):
            text = f"the job gives a value for `{name}`, and no program has a predefined int or scalar of this name"
            for more in ((), ("--dry-run",), ("--simulate", "ranks=2")):
                p = self.counts("--set", "n=2", "--set", f"{name}=1", *more, code=2, says=[f"error: --set {name}: {text}\n  hint: {hint}"])
                self.assertEqual(p.stdout, "")
            (self.dir / "job.toml").write_text(f'programs = ["counts.sialx"]\n[values]\nn = 2\n{name} = 1\n')
            done = subprocess.run([BIN / "sialrun", "job.toml"], cwd=self.dir, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(f"error: job.toml:4:1: {text}\n  hint: {hint}", done.stderr)
        for name in ("lindep_tol", "scf_iter", "cc_conv=1e-8 ", "nalpha_occupied", "baocc", "nfrags", "keep_quartets"):
            self.assertNotIn("warning", self.counts("--set", "n=2", "--set", name.strip() if "=" in name else f"{name}=1", code=0).stderr)
        # One program of several, and one job of a batch, may ask for it.
        (self.dir / "other.sialx").write_text(PROGRAM.replace("counts", "other").replace("int n", "int m").replace("n:3", "m:3"))
        self.counts("other.sialx", "--set", "n=2", "--set", "m=2", code=0)
        (self.dir / "jobs").write_text("counts.sialx --set n=2 --set m=2\nother.sialx --set n=2 --set m=2\njob.toml\n")
        done = subprocess.run([BIN / "sialrun", "--batch", "jobs"], cwd=self.dir, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout.count("p = ")), (2, 4), done.stderr)
        self.assertEqual((done.stderr.count("warning: the job gives a value for"), done.stderr.count("error: job.toml:4:1")), (2, 1), done.stderr)

    def test_misspelt_arrays(self):
        """An array of the job that no program asks for is pointed out, with the one that was meant."""
        folder = self.dir
        (folder / "owners.sialx").write_text("sial owners\nindex n = 1:2\npredefined static owner[n]\nprintln owner\nendsial owners\n")
        (folder / "plain.sialx").write_text("sial plain\nprintln \"no arrays\"\nendsial plain\n")
        job = folder / "arrays.toml"
        for program, name, hint in (("owners", "ownr", "did you mean `owner`?"), ("owners", "charges", "predefined arrays of the programs without data: `owner`"),
                                    ("plain", "charges", "remove it from `[arrays]`, or declare it in a program: `predefined static`, `distributed` or `served`"), ("owners", "owner", None)):
            job.write_text(f'programs = ["{program}.sialx"]\n[arrays]\n{name} = [1.0, 2.0]\n')
            done = subprocess.run([BIN / "sialrun", job, "--results", "none", "--run-json", "none"], cwd=folder, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            if hint is None:
                self.assertNotIn("warning", done.stderr)
            else:
                self.assertIn(f"warning: the job gives the array `{name}`, and no program has a predefined array of this name\n  hint: {hint}\n", done.stderr)

    def test_reals_for_ints(self):
        self.counts("--set", "n=2.0", code=1, says=["needs the predefined int `n`, and the job gives it the real number 2", "without a point"])
        self.counts(code=1, says=["needs the predefined int `n`, and the job does not define it"])
        # Also of an int that segments or a molecule give, if the job does not.
        (self.dir / "counts.sialx").write_text(PROGRAM.replace("int n", "int norb").replace("n:3", "norb:3"))
        self.counts("--segments", "ao=2,2", code=0)
        self.counts("--segments", "ao=2,2", "--set", "norb=1.5", code=1, says=["needs the predefined int `norb`, and the job gives it the real number 1.5"])
        (self.dir / "h2.xyz").write_text("2\n\nH 0 0 0\nH 0 0 0.74\n")
        (self.dir / "job.toml").write_text('programs = ["counts.sialx"]\n[molecule]\nxyz = "h2.xyz"\nbasis = "sto-3g"\n[values]\nnorb = 1.5\n')
        done = subprocess.run([BIN / "sialrun", "job.toml", "--results", "none", "--run-json", "none"], cwd=self.dir, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("the job gives it the real number 1.5", done.stderr)
        self.assertNotIn("warning", done.stderr)

    def test_least_index(self):
        """The number that stands for no value is no bound."""
        self.counts("--set", "n=-2147483648", code=1, says=["index `p` begins at -2147483648", "the least is -2147483647"])

    def call(self, tool, *args, code, says=""):
        p = subprocess.run([BIN / tool, *args], cwd=self.dir, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual(p.returncode, code, (tool, args, p.stdout, p.stderr))
        self.assertIn(says, p.stderr, (tool, args))

    def test_exit_codes(self):
        """1: the program; 2: the command line and files to be read; 3: the environment."""
        args: tuple[str, ...]
        nothing = ("--results", "none")
        (self.dir / "wrong.sialx").write_text("sial wrong\nx = 1.0\nendsial wrong\n")
        (self.dir / "fails.sialx").write_text("sial fails\nscalar x\nx = 0.0\nx = 1.0 / x\nendsial fails\n")
        (self.dir / "text").write_text("no file of any kind\n")
        (self.dir / "uses.toml").write_text('programs = ["counts.sialx"]\n[molecule]\nxyz = "missing.xyz"\nbasis = "sto-3g"\n')
        (self.dir / "earlier.toml").write_text('programs = ["counts.sialx"]\n[values]\nn = 2\n[restore]\nfile = "missing.h5"\n')
        for args in (("wrong.sialx",), ("counts.sialx",), ("fails.sialx",)):
            with self.subTest(args=args):
                self.call("sialrun", *args, *nothing, code=1, says="error")
        for args in (("missing.sialx",), ("missing.siox",), ("missing.toml",), ("uses.toml",), ("earlier.toml",), ("--dat", "missing.dat"), ("--batch", "missing"),
                     ("counts.sialx", "--set", "n=2", "--restart", "missing"), ("counts.sialx", "--memory", "foo"), ("counts.sialx", "--unknown"), ("counts.sialx", "--set", "n=x"),
                     ("counts.sialx", "--segments", "xx=3"), ("counts.sialx", "--time-limit", "soon"), ("counts.sialx", "--plugin", "missing.so"), ("missing.sialx", "--dry-run"),
                     ("--dat", "text"), ("counts.sialx", "counts.sialx", "--print-format", "none")):
            with self.subTest(args=args):
                self.call("sialrun", *args, *nothing, code=2, says="error")
        self.call("sialrun", "counts.sialx", "--set", "n=2", "--ranks", "4", *nothing, code=0, says="warning: `--ranks 4` is left out")
        (self.dir / "text.siox").write_text("no module\n")
        self.call("sialrun", "text.siox", *nothing, code=2, says="is not a sialx module")
        self.call("sialrun", "counts.sialx", "--set", "n=2", "--results", "text", code=2, says="which no job has written")
        self.call("sialrun", "counts.sialx", "--set", "n=2", "--output-dir", "text/out", code=3, says="cannot write")
        for args, code in ((("wrong.sialx",), 1), (("missing.sialx",), 2), (("--unknown",), 2), (("--disassemble", "text"), 2), (("counts.sialx", "-o", "text/x.siox"), 3)):
            with self.subTest(tool="sialc", args=args):
                self.call("sialc", *args, code=code, says="error")
        for args, code in ((("missing.siox",), 2), (("text.siox",), 2), (("--unknown",), 2)):
            with self.subTest(tool="sialreport", args=args):
                self.call("sialreport", *args, code=code, says="error")

    def test_values_with_a_meaning_of_their_own(self):
        self.counts("--set", "n=2", "--memory", "5", code=2, says=["`5` without a unit are bytes", "`5GB`"])
        self.counts("--set", "n=2", "--pardo-order", "reversed", code=2, says=["there is no order `reversed` for `--pardo-order`", "`written`", "`4GB`"])
        self.counts("--set", "n=2", "--memory", "5000000", code=0)
        self.counts("--set", "n=2", "--time-limit", "0", code=0)
        (self.dir / "none.toml").write_text('programs = ["counts.sialx"]\n[values]\nn = 2\n[output]\nresults = "NONE"\nrun_json = "None"\n')
        before = {p.name for p in self.dir.iterdir()}
        self.call("sialrun", "none.toml", code=0)
        self.assertEqual({p.name for p in self.dir.iterdir()}, before)

    def test_keys_in_the_wrong_place(self):
        for section, key, says in (("run", "memory", "`memory` stands before the first section"), ("run", "threads", "`--threads` is an option of the command line"),
                                   ("output", "look_ahead", "`look_ahead` belongs in [run]"), ("", "time_limit", "`time_limit` belongs in [run]"), ("", "charge", "`charge` belongs in [molecule]"), ("run", "memry", "known here: ")):
            with self.subTest(section=section, key=key):
                (self.dir / "place.toml").write_text('programs = ["counts.sialx"]\n' + (f"[{section}]\n" if section else "") + f"{key} = 1\n")
                self.call("sialrun", "place.toml", code=2, says=says)


if __name__ == "__main__":
    os.environ["LC_ALL"] = ENV["LC_ALL"] = "C.UTF-8"
    main()
