#!/usr/bin/env python3
"""Plugins as a user meets them: the header is installed, plugins are compiled against it alone, and sialrun loads them.

    plugin.py --bin DIR --build DIR --cmake CMAKE --cxx CXX --cc CC
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ENV

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples" / "15_plugin"

REPORT = """sial report
special plugin_report uw
special c_twice u
predefined int norb
aoindex i = 1:norb
aoindex j = 1:norb
static table[i,j]
predefined static given[j]
temp t[i,j]
scalar mine
scalar got
scalar sum
mine = 2.5
do i
do j
table[i,j] = 7.0
if i == 1
if j == 2
t[j,i] = 1.0
execute plugin_report t[j,i] got
execute plugin_report t[j,i] got
execute c_twice t[j,i]
execute c_twice got
sum = t[j,i]*t[j,i]
endif
endif
enddo j
enddo i
println got
println sum
endsial report
"""

EXPECTED_REPORT = """block t u 2x3 segments 2,1 kinds 1001,1001 numbers 3,1
int 1 4 missing 0
scalar 1 0.5 own 1 2.5
segments 3 2 none 0
array 1 5 7 missing 0
job array 5 2.5 missing 0
atoms 0 call 1 rank 0 of 1
"""


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "cmake", "cxx", "cc"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    failures = []
    sialrun = str(BIN / "sialrun")
    with tempfile.TemporaryDirectory(prefix="sialx-plugin-") as name:
        folder = pathlib.Path(name)

        def shell(*command):
            done = subprocess.run([str(c) for c in command], cwd=folder, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200)
            return done.returncode, done.stdout, done.stderr

        def must(*command):
            code, out, err = shell(*command)
            if code != 0:
                sys.exit(f"{' '.join(map(str, command))}: exit code {code}\n{out}{err}")
            return out

        def expect(what, code, text, done):
            if done[0] != code or text not in done[1] + done[2]:
                failures.append(f"{what}: expected exit code {code} and {text!r}, found {done[0]}\n{done[1]}{done[2]}")

        must(options.cmake, "--install", pathlib.Path(options.build).resolve(), "--prefix", folder / "prefix", "--component", "plugin")
        include = ["-I", folder / "prefix" / "include"]
        strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fPIC", "-shared"]
        for source in (EXAMPLE / "my_instructions.cpp", HERE / "every_function.cpp"):
            must(options.cxx, "-std=c++17", "-O2", *strict, *include, source, "-o", folder / f"{source.stem}.so")

        def build_c(library, *definitions):
            must(options.cc, "-std=c99", *strict, *include, *definitions, HERE / "plain_c.c", "-o", folder / library)

        build_c("plain_c.so")
        build_c("newer.so", "-DVERSION=99")
        build_c("older.so", "-DVERSION=1")
        build_c("clash.so", '-DNAME="return_ovl"')
        build_c("capital.so", '-DNAME="Twice"')
        build_c("letters.so", '-DSIGNATURES="u x"')
        must(options.cc, "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", folder / "other.so")
        (folder / "text.so").write_text("not a library")

        # the example, alone and on two ranks; values from PySCF
        job = ["--plugin", "my_instructions.so", EXAMPLE / "job.toml", "--results", "none", "--print-format", "plain"]
        for launcher in ([], ["mpirun", "-n", "2", "--bind-to", "none"]):
            done = shell(*launcher, sialrun, *job)
            values = [float(line.rpartition("=")[2]) for line in done[1].split("\n") if line]
            if done[0] != 0 or len(values) != 2 or abs(values[0] - SQUARED_NORM) > 1e-9 or abs(values[1] - POTENTIAL) > 1e-9:
                failures.append(f"the example {launcher}: expected {SQUARED_NORM} and {POTENTIAL}, found exit code {done[0]}\n{done[1]}{done[2]}")

        # everything the header offers, two plugins at once
        (folder / "report.sialx").write_text(REPORT)
        must(sys.executable, "-c", "import h5py; h5py.File('given.h5', 'w')['x'] = [0.5, 1.5, 2.5, 3.5, 4.5]")
        (folder / "report.toml").write_text('programs = ["report.sialx"]\n[values]\nfour = 4\nhalf = 0.5\n[segments]\nao = [3, 2]\n'
                                            '[arrays]\ngiven = {file = "given.h5", dataset = "x"}\n[output]\nresults = "none"\nrun_json = "none"\n')
        done = shell(sialrun, "--plugin", "every_function.so", "--plugin", folder / "plain_c.so", "report.toml", "--print-format", "plain")
        expected = EXPECTED_REPORT + EXPECTED_REPORT.replace("call 1", "call 2") + "got = 6\n"
        expect("what a plugin sees", 0, expected, done)
        # (1 + 100 + 100) in one element, 1 in five others, all doubled
        expect("what a plugin changes", 0, f"sum = {4 * (201 * 201 + 5)}\n", done)

        # named by the job file, relative to it; the same on the command line is no other
        (folder / "sub").mkdir()
        for library in ("every_function.so", "plain_c.so"):
            (folder / "sub" / library).write_bytes((folder / library).read_bytes())
        text = (folder / "report.toml").read_text().replace('"report.sialx"', '"../report.sialx"').replace('"given.h5"', '"../given.h5"')
        (folder / "sub/job.toml").write_text('plugins = ["every_function.so", "plain_c.so"]\n' + text)
        for more in ([], ["--plugin", "sub/plain_c.so"]):
            expect(f"plugins of the job file {more}", 0, expected, shell(sialrun, *more, "sub/job.toml", "--print-format", "plain"))
        (folder / "two.batch").write_text("sub/job.toml --name one --print-format plain\nsub/job.toml --name two --print-format plain\n")
        expect("two jobs with one plugin", 0, "=== one\n" + EXPECTED_REPORT, shell(sialrun, "--batch", "two.batch"))
        (folder / "sub/absent.toml").write_text('plugins = ["absent.so"]\nprograms = ["../report.sialx"]\n')
        expect("a job file's missing plugin", 2, "sub/absent.toml:1:11: there is no plugin `sub/absent.so`", shell(sialrun, "sub/absent.toml"))
        (folder / "sub/none.toml").write_text('plugins = ["job.toml"]\nprograms = ["../report.sialx"]\n')
        expect("a job file's faulty plugin", 2, "cannot load the plugin `sub/job.toml`", shell(sialrun, "sub/none.toml"))

        # a restart with another plugin is refused
        (folder / "stops.sialx").write_text("sial stops\nspecial c_twice u\nscalar x\nx = 1.0\nsip_barrier\nexecute c_twice x\nprintln x\nendsial stops\n")
        stops = [sialrun, "--results", "none", "--print-format", "plain", "--checkpoint-every", "0"]
        expect("a run that stops", 4, "", shell(*stops, "--stop-after", "1", "--plugin", "plain_c.so", "stops.sialx"))
        expect("a plugin less", 2, "the plugin `plain_c.so` is not given now", shell(*stops, "--restart", "--", "stops.sialx"))
        expect("a plugin more", 2, "the plugin `every_function.so` is new", shell(*stops, "--restart", "--plugin", "plain_c.so", "--plugin", "every_function.so", "stops.sialx"))
        kept = (folder / "plain_c.so").read_bytes()
        build_c("plain_c.so", "-DOTHER")
        (folder / "plain_c.so").write_bytes((folder / "plain_c.so").read_bytes() + b"\0")
        expect("a changed plugin", 2, "the plugin `plain_c.so` is not the same", shell(*stops, "--restart", "--plugin", "plain_c.so", "stops.sialx"))
        (folder / "plain_c.so").write_bytes(kept)
        expect("the same plugin", 0, "x = 2\n", shell(*stops, "--restart", "--plugin", "plain_c.so", "stops.sialx"))

        def program(text):
            (folder / "p.sialx").write_text(f"sial p\nspecial {text}\nendsial p\n")
            return "p.sialx"

        # trouble with the library
        run = [sialrun, "--results", "none"]
        expect("missing file", 2, "there is no plugin `absent.so`", shell(*run, "--plugin", "absent.so", program("c_twice u")))
        expect("no library", 2, "cannot load the plugin `text.so`", shell(*run, "--plugin", "text.so", "p.sialx"))
        expect("no plugin", 2, "`other.so` is no sialx plugin", shell(*run, "--plugin", "other.so", "p.sialx"))
        expect("wrong version", 2, "plugin `newer.so` is of version 99 of the plugin interface, and this sialrun knows version 2", shell(*run, "--plugin", "newer.so", "p.sialx"))
        expect("arguments of six dimensions", 2, "plugin `older.so` is of version 1 of the plugin interface, and this sialrun knows version 2", shell(*run, "--plugin", "older.so", "p.sialx"))
        expect("a name of sialx", 2, "plugin `clash.so` defines `return_ovl`, which is a super instruction of sialx", shell(*run, "--plugin", "clash.so", "p.sialx"))
        expect("two of a name", 2, "plugins `plain_c.so` and `./plain_c.so` both define `c_twice`", shell(*run, "--plugin", "plain_c.so", "--plugin", "./plain_c.so", "p.sialx"))
        expect("a capital", 2, "plugin `capital.so`, instruction 1: its name", shell(*run, "--plugin", "capital.so", "p.sialx"))
        expect("letters", 2, "`x` is no signature for `c_twice`", shell(*run, "--plugin", "letters.so", "p.sialx"))

        # trouble in the program
        expect("declared, not executed", 0, "", shell(*run, program("c_twice u")))
        wrong = program("c_twice r\nscalar x\nexecute c_twice x")
        expect("another signature", 1, "p.sialx:4:1: `c_twice` of plugin `plain_c.so` takes `u`, and the program declares `r`", shell(*run, "--plugin", "plain_c.so", wrong))
        expect("without its plugin", 1, "p.sialx:4:1: super instruction `c_twice` does not exist", shell(*run, wrong))
        expect("the remedy", 1, "sialrun --plugin FILE", shell(*run, wrong))
        expect("a close name", 1, "close names: `c_twice`", shell(*run, "--plugin", "plain_c.so", program("c_twce u\nscalar x\nexecute c_twce x")))
        expect("an error of the plugin", 1, "p.sialx:3:1: `plugin_fails`: this always fails\n  hint: do not execute it", shell(*run, "--plugin", "every_function.so", program("plugin_fails\nexecute plugin_fails")))
        expect("an error of an argument", 1, "p.sialx:4:1: `plugin_rank`: `x` must have 5 dimensions, it has 0", shell(*run, "--plugin", "every_function.so", program("plugin_rank r\nscalar x\nexecute plugin_rank x")))
    print("\n".join(failures) or "plugins work")
    sys.exit(1 if failures else 0)


# the example's numbers by PySCF with the shipped basis: (int1e_ovlp**2).sum() and the sum of Z/R
SQUARED_NORM = 24.479439521590216
POTENTIAL = 1.0220457763313322

if __name__ == "__main__":
    main()
