#!/usr/bin/env python3
"""The command sialx-equations: what it writes compiles, and what is wrong is said.  commands.py --bin DIR [unittest arguments]"""
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import equation_oracle  # noqa: F401  (it knows where the package is)
import harness
from harness import BIN, ROOT, InFolder

# isort: split
from sialx.equations.command import main

EXAMPLE = ROOT / "examples" / "19_equations"


class Commands(InFolder):
    def command(self, *arguments, code=0):
        """What the command prints on both streams. In this process, where plans of the same equations are made once."""
        out, err, before = io.StringIO(), io.StringIO(), os.getcwd()
        found: object
        os.chdir(self.dir)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                found = main([str(x) for x in arguments])
        except SystemExit as end:  # options that argparse refuses
            found = end.code
        finally:
            os.chdir(before)
        self.assertEqual(found, code, err.getvalue())
        return out.getvalue(), err.getvalue()

    def process(self, *arguments, code=0):
        """The same in a process of its own."""
        script = "import sys; sys.path.insert(0, sys.argv.pop(1)); from sialx.equations.command import main; sys.exit(main())"
        done = subprocess.run([sys.executable, "-c", script, str(ROOT / "runtime" / "python"), *map(str, arguments)], cwd=self.dir, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr

    def test_processes(self):
        """Streams and exit codes are the same, and the program does not depend on what was planned before."""
        (self.dir / "wrong.txt").write_text("space o = i j\nr[i] = x[i]\n")
        for arguments, code in (
            ((EXAMPLE / "ccsd.txt", "-o", "-"), 0), ((EXAMPLE / "ccsd.txt", "--plan"), 0), ((EXAMPLE / "ccsd.txt", "--energy", "e"), 2),
            (("wrong.txt",), 1), (("absent.txt",), 1), ((EXAMPLE / "ccsd.txt", "--extents", "o"), 2),
        ):  # fmt: skip
            with self.subTest(arguments=arguments):
                expected, found = self.process(*arguments, code=code), self.command(*arguments, code=code)
                self.assertEqual(found[0], expected[0])
                self.assertEqual(found[1].splitlines()[-1:], expected[1].splitlines()[-1:])  # usage lines name the script

    def test_programs(self):
        for name, *options in (
            ("ccsd",), ("ccsd", "--spin", "spin-orbital"), ("ccsd", "--spin", "unrestricted", "--extents", "o=4,v=100"), ("dcsd", "--spin", "orbitals"), ("ccsd", "--evaluate"),
            ("ccsd", "--evaluate", "--spin", "unrestricted"), ("ccsd", "--evaluate", "--spin", "spin-orbital", "--extents", "o=4,v=100"),
        ):  # fmt: skip
            with self.subTest(options=options):
                self.command(EXAMPLE / f"{name}.txt", "-o", "made.sialx", *options)
                done = subprocess.run([str(BIN / "sialc"), "made.sialx", "-o", "made.siox"], cwd=self.dir, capture_output=True, text=True, timeout=120)
                self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        (self.dir / "mine.txt").write_text((EXAMPLE / "ccsd.txt").read_text())
        self.command("mine.txt")
        self.assertIn("endsial mine", (self.dir / "mine.sialx").read_text())
        self.assertIn("sial mine\n", self.command("mine.txt", "-o", "-")[0])

    def test_plan(self):
        out, _ = self.command(EXAMPLE / "ccsd.txt", "--plan")
        self.assertNotIn("u_ab", out)
        self.assertRegex(self.command(EXAMPLE / "ccsd.txt", "--plan", "--spin", "unrestricted")[0], r"u_ab\[i,I,a,A\]")
        self.assertRegex(out, r"(?s)^phase 1\n.*\nphase 2\n.*\nmultiplications: 9\.\d+e\+08, elements of the largest intermediate: 6\.250e\+06\n$")
        least = self.command(EXAMPLE / "ccsd.txt", "--plan", "--most-elements", "3e5")[0]
        self.assertIn("intermediate: 2.500e+05\n", least)
        self.assertEqual(self.command(EXAMPLE / "ccsd.txt", "--plan", "--most-elements", "1")[0], least)  # out of reach
        self.assertIn("at least one element, not nan", self.command(EXAMPLE / "ccsd.txt", "--plan", "--most-elements", "nan", code=2)[1])
        self.assertIn("no scalar result `foo`, which would be the correlation energy; there are: `energy`", self.command(EXAMPLE / "ccsd.txt", "--plan", "--energy", "foo", code=2)[1])

    def test_memory(self):
        """The bound, and what to do where nothing fits."""
        plenty, less = (self.command(EXAMPLE / "ccsd.txt", "-o", "-", "--memory", memory)[0] for memory in ("1GB", "120MB"))
        self.assertEqual(plenty, self.command(EXAMPLE / "ccsd.txt", "-o", "-")[0])
        self.assertRegex(plenty, r"# Memory of all arrays, over all ranks: \d+ MB, with 10 of o, 50 of v in segments of 8; most ")
        self.assertNotIn("delete ", plenty)
        self.assertIn("delete ", less)
        self.assertRegex(self.command(EXAMPLE / "ccsd.txt", "-o", "-", "--memory", "1MB", code=2)[1], r"needs [\d.]+ MB of memory .* `u` \d.*`--memory`")
        self.assertIn("is no amount of memory", self.command(EXAMPLE / "ccsd.txt", "--memory", "much", code=2)[1])
        for memory, code in (("1GB", 0), ("1MB", 2)):
            self.command(EXAMPLE / "ccsd.txt", "-o", "-", "--evaluate", "--memory", memory, code=code)
        self.command(EXAMPLE / "ccsd.txt", "-o", "made.sialx", "--vvvv", "ao")
        subprocess.run([str(BIN / "sialc"), "made.sialx", "-o", "made.siox"], cwd=self.dir, check=True, timeout=120)
        self.assertIn("compute_integral_batch", (self.dir / "made.sialx").read_text())
        self.assertIn("--vvvv is of methods", self.command(EXAMPLE / "ccsd.txt", "--evaluate", "--vvvv", "ao", code=2)[1])

    def test_report(self):
        """sialreport says of lines of the program which lines of the equations they come from."""
        self.command(EXAMPLE / "ccsd.txt", "-o", "made.sialx")
        subprocess.run([str(BIN / "sialc"), "made.sialx", "-o", "made.siox"], cwd=self.dir, check=True, timeout=120)

        def report(*options):
            done = subprocess.run([str(BIN / "sialreport"), "made.siox", *options], cwd=self.dir, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        equations = (EXAMPLE / "ccsd.txt").read_text().split("\n")
        program = (self.dir / "made.sialx").read_text().split("\n")
        found = re.findall(r"^made\.sialx:(\d+) .*\n  from     ccsd\.txt:([\d,]+)$", report(), re.M)
        self.assertGreater(len(found), 50)
        for line, origin in found:
            above = next(x for x in reversed(program[: int(line)]) if " @ccsd.txt:" in x)
            self.assertTrue(above.endswith(f" @ccsd.txt:{origin}"), above)
            for number in origin.split(","):
                self.assertRegex(equations[int(number) - 1], r" = |^    [+-]")
        source = json.loads(report("--format", "json"))["sources"][0]
        self.assertEqual(len(source["lines"]), len(source["origins"]))
        self.assertEqual(source["origins"][0], "")
        self.assertEqual(set(source["origins"]), {"", *(x.split(" @")[1] for x in program if " @" in x)})

    def test_errors(self):
        (self.dir / "wrong.txt").write_text("space o = i j\nr[i] = x[i]\n")
        self.assertRegex(self.command("wrong.txt", code=1)[1], r"wrong.txt:2:8: error: .*\n +r\[i\] = x\[i\]\n +\^")
        self.assertIn("error: ", self.command("absent.txt", code=1)[1])
        (self.dir / "mine.sialx").write_text((EXAMPLE / "ccsd.txt").read_text())
        self.assertIn("would replace the equations", self.command("mine.sialx", code=2)[1])
        self.assertEqual((self.dir / "mine.sialx").read_text(), (EXAMPLE / "ccsd.txt").read_text())
        self.assertIn("no scalar result `e`", self.command(EXAMPLE / "ccsd.txt", "--energy", "e", code=2)[1])
        self.assertIn("`o` is not SPACE=NUMBER", self.command(EXAMPLE / "ccsd.txt", "--extents", "o", code=2)[1])


if __name__ == "__main__":
    harness.main()
