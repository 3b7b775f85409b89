#!/usr/bin/env python3
"""The style of `sialc format` line by line, and its command line: options, exit codes, files.

    run_command.py --bin DIR
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN

HEAD = "sial a\nscalar x\nscalar y\nint m\nindex k = 1:3\nindex n = 1:3\nlocal v[k,n]\ncontiguous local r[k,n]\nstatic t[k,n]\nspecial f ru\n"
TAIL = "endsial a\n"

# What is written between declarations and end, and what becomes of it.
STYLE = [
    ("blanks around operators", "x=1.0\ny  +=  x+x-y\nx = x * y / x\nm=(  m+1 )*2\nx = x**2.0", "x = 1.0\ny += x + x - y\nx = x*y/x\nm = (m + 1)*2\nx = x**2.0"),
    ("signs", "x = - 1.0\nx = x - - y\nx = x*- y\nx = ( - x )\nx = x ** - 2.0", "x = -1.0\nx = x - -y\nx = x*-y\nx = (-x)\nx = x**-2.0"),
    ("casts and roots", "x = ( scalar ) m + SQRT ( x )\nm = (int) (x+1.0)\nx = sqrt   y\nx = (scalar) -m",
     "x = (scalar)m + sqrt(x)\nm = (int)(x + 1.0)\nx = sqrt y\nx = (scalar)-m"),
    ("indices", "do k\ndo n\nt [ k , n ] = 1.0\nv[( index ) k,n]=1.0\nr[ k : k+1 , n:n ]=1.0\nexecute f  x   t [k,n]\nenddo n\nenddo k",
     "do k\n  do n\n    t[k,n] = 1.0\n    v[(index)k,n] = 1.0\n    r[k:k+1,n:n] = 1.0\n    execute f x t[k,n]\n  enddo n\nenddo k"),
    ("wildcards", "allocate v [ * , * ]\ndeallocate  v", "allocate v[*,*]\ndeallocate v"),
    ("printing", 'print   "a  b"\nprint norm ( t[1:2,1:1] )\nprintln -x', 'print "a  b"\nprint norm(t[1:2,1:1])\nprintln -x'),
    ("letters", "PARDO K,n\nWHERE K<=2\nX = 1.0\nEndPardo K,n", "pardo K, n\n  where K <= 2\n  X = 1.0\nendpardo K, n"),
    ("if and else", "if x>-1.0\n\tx=1.0\nelse\n\tx=2.0\nendif", "if x > -1.0\n  x = 1.0\nelse\n  x = 2.0\nendif"),
    ("blank lines", "\n\nx = 1.0\n\n\n\ny = 1.0\n\n", "\nx = 1.0\n\ny = 1.0\n"),
    ("comments above ends", "if x > 1.0\n  x = 1.0\n  # inside\nelse\n  y = 1.0\n# outside\nendif", "if x > 1.0\n  x = 1.0\n  # inside\nelse\n  y = 1.0\n# outside\nendif"),
    ("comments go with what is below", "if x > 1.0\n# one\n\n        # two\nx = 1.0\nendif\n  # three\nx = 2.0", "if x > 1.0\n  # one\n\n  # two\n  x = 1.0\nendif\n# three\nx = 2.0"),
    ("a column stays", "x=1.0      # a\nx = 2.0\ny  = 2.0   # b", "x = 1.0    # a\nx = 2.0\ny = 2.0    # b"),
    ("a column moves where it must", "x=1.0 # a\ny=22.0# b\nm=1   # c", "x = 1.0   # a\ny = 22.0  # b\nm = 1     # c"),
    ("close and alone", "x=1.0 # a\nx = x + 1.0# b", "x = 1.0  # a\nx = x + 1.0  # b"),
    ("a comment goes on", "x=1.0    # a\n         # and more\n# next\nx = 2.0", "x = 1.0  # a\n         # and more\n# next\nx = 2.0"),
    ("a column needs no room for comments alone", "x=1.0#\n\ny=1.0   #b  ", "x = 1.0  #\n\ny = 1.0  #b"),
]

PROCEDURES = ("sial a\nscalar x\nproc p\nx=1.0\nendproc p\n# of q\nproc q\nx=1.0\nendproc q  # end\n           # of q\nx = 1.0\nendsial a",
              "sial a\nscalar x\n\nproc p\n  x = 1.0\nendproc p\n\n# of q\nproc q\n  x = 1.0\nendproc q  # end\n           # of q\n\nx = 1.0\nendsial a\n")

failures = 0


def expect(what, found, wanted):
    global failures
    if found != wanted:
        failures += 1
        print(f"{what}:\n--- found\n{found}\n--- wanted\n{wanted}")


def main():
    sialc = str(BIN / "sialc")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)

        def run(*arguments, given=None):
            p = subprocess.run([sialc, "format", *map(str, arguments)], cwd=work, input=given, capture_output=True, timeout=60)
            return p.returncode, p.stdout.decode(), p.stderr.decode()

        for what, before, after in STYLE:
            expect(what, run("-", given=(HEAD + before + "\n" + TAIL).encode()), (0, HEAD + after + "\n" + TAIL, ""))
        expect("procedures", run("-", given=PROCEDURES[0].encode()), (0, PROCEDURES[1], ""))
        for end in ("\r\n", "\r"):
            expect(f"line ends {end!r}", run("-", given=(HEAD + "x=1.0\n" + TAIL).replace("\n", end).encode())[1], (HEAD + "x = 1.0\n" + TAIL).replace("\n", end))
        expect("most line ends win", run("-", given=b"\xef\xbb\xbf\r\nsial a\r\n\n\nendsial a\r\n\r\n")[1], "\ufeffsial a\r\n\r\nendsial a\r\n")
        long = "x = " + "+".join(["x"] * 900)
        expect("long lines", run("-", given=(HEAD + long + "\n" + TAIL).encode())[1], HEAD + long.replace("+", " + ") + "\n" + TAIL)

        ugly, nice = "sial a # ä\n\n\nscalar   x\nx=1.0\nendsial a", "sial a  # ä\n\nscalar x\nx = 1.0\nendsial a\n"
        a, b = work / "a.sialx", work / "b.sialx"
        a.write_text(ugly)
        a.chmod(0o640)
        link = work / "link.sialx"
        link.symlink_to("a.sialx")
        expect("--check", run("--check", "a.sialx"), (1, "", "a.sialx:1: not in the usual style: `sialc format a.sialx` changes it\n"))
        status, diff, _ = run("--diff", "a.sialx")
        expect("--diff and nothing written", (status, a.read_text()), (0, ugly))
        expect("--diff --check", run("--diff", "--check", "a.sialx")[:2], (1, diff))
        shutil.copy(a, b)
        if shutil.which("patch"):
            subprocess.run(["patch", "-s", "b.sialx"], input=diff.encode(), cwd=work, check=True)
            expect("the patch", b.read_text(), nice)
            c = work / "c.sialx"
            c.write_bytes(b"sial c\r\nscalar x\r\n\r\n\r\nx=1.0\r\nendsial c")
            subprocess.run(["patch", "-s", "--binary", "c.sialx"], input=run("--diff", "c.sialx")[1].encode(), cwd=work, check=True)
            expect("the patch of other line ends", c.read_bytes(), b"sial c\r\nscalar x\r\n\r\nx = 1.0\r\nendsial c\r\n")
        expect("in place, through a link", run("link.sialx"), (0, "", ""))
        expect("its text, rights and link", (a.read_text(), a.stat().st_mode & 0o777, link.is_symlink()), (nice, 0o640, True))
        inode = a.stat().st_ino
        expect("nothing to do", (run("a.sialx"), run("--check", "a.sialx"), run("--diff", "a.sialx")), ((0, "", ""),) * 3)
        expect("and nothing written", a.stat().st_ino, inode)

        a.write_text(ugly)
        b.write_text(broken := "sial b\nscalar x\nx = = 1.0\nendsial b\n")
        status, out, error = run("b.sialx", "a.sialx")
        expect("a broken file among others", (status, out, "b.sialx:3:5: error: " in error, b.read_text(), a.read_text()), (1, "", True, broken, nice))
        expect("as JSON", json.loads(run("--error-format=json", "b.sialx")[2].splitlines()[0])["line"], 3)
        status, out, error = run("--stdin-name", "buffer.sialx", "-", given=broken.encode())
        expect("broken standard input", (status, out, error.startswith("buffer.sialx:3:5: error: ")), (1, "", True))
        for what, arguments, word in [("no file", ["none.sialx"], "cannot read `none.sialx`"), ("a folder", ["."], "cannot read `.`"), ("no argument", [], "no source file given"),
                                      ("- and another", ["-", "a.sialx"], "stands alone"), ("an unknown option", ["--wide"], "--wide")]:
            status, out, error = run(*arguments, given=b"")
            expect(what, (status, out, word in error), (2, "", True))
        expect("not UTF-8", run("-", given=b"sial a # \xff\nendsial a\n")[:2], (1, ""))
        expect("help", run("--help")[0], 0)

        if os.geteuid() != 0:
            (work / "closed").mkdir()
            shutil.copy(b, work / "closed" / "c.sialx")
            (work / "closed" / "c.sialx").write_text(ugly)
            (work / "closed" / "c.sialx").chmod(0o444)
            expect("a file that may not be written", run("closed/c.sialx")[0], 3)
        leftover = sorted(p.name for p in work.iterdir() if ".part" in p.name)
        expect("nothing is left behind", leftover, [])
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
