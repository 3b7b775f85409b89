#!/usr/bin/env python3
"""Files that people give to the programs: what is no number, no text and no file is refused at once, with its place.

    inputs.py --bin DIR [unittest arguments]
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ENV, InFolder, main

PROGRAM = "sial counts\npredefined int n\nscalar x\nx = 1.0\nprintln x\nendsial counts\n"
BLOCK = "sial block\nindex p = 1:1\nindex q = 1:1\nstatic a[p]\nspecial read_block_from_text_file w\ndo p\nexecute read_block_from_text_file a[p]\nenddo p\nendsial block\n"
JOB = 'programs = ["counts.sialx"]\n[values]\nn = 2\n[molecule]\nxyz = "h2.xyz"\nbasis = "{basis}"\n[output]\nresults = "none"\nrun_json = "none"\n'
H2 = "2\n\nH 0 0 0\nH 0 0 0.74\n"


class Inputs(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.write("counts.sialx", PROGRAM)
        self.write("h2.xyz", H2)
        self.write("job.toml", JOB.format(basis="sto-3g"))

    def write(self, name, text):
        (self.dir / name).write_text(text)
        return name

    def call(self, tool, *args, code, says=(), env=None):
        p = subprocess.run([str(BIN / tool), *args], cwd=self.dir, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env={**os.environ, **(env or {})})
        err = p.stderr.decode("utf-8", "surrogateescape")
        self.assertEqual(p.returncode, code, (args, p.stdout, err))
        for text in says:
            self.assertIn(text, err, args)
        for stream in (p.stdout, p.stderr):
            self.assertEqual([b for b in stream if (b < 32 and b not in (9, 10)) or b == 127], [], (args, stream))
            self.assertFalse(any(sign.encode() in stream for sign in "\u202e\u2066"), (args, stream))
            stream.decode("utf-8")  # no bytes that are none
        return err

    def test_whole_numbers(self):
        """A token is a number as a whole, or refused."""
        for args, says in ((("--set", "n=1,5"), "`1,5`"), (("--set", "n=2x"), "`2x`"), (("--set", "n=0x10"), "`0x10`"), (("--set", "n=2", "--memory", "1,5GB"), "amount of memory"),
                           (("--set", "n=2", "--memory", "1.5.0GB"), "amount of memory"), (("--set", "n=2", "--time-limit", "1:xx"), "span of time"),
                           (("--set", "n=2", "--time-limit", "1,5h"), "span of time"), (("--set", "n=2", "--look-ahead", "4x"), "look-ahead"),
                           (("--set", "n=2", "--segments", "ao=8,8x"), "`8x`"), (("--set", "n=2", "--simulate", "ranks=2x"), "`2x` is no count"),
                           (("--set", "n=2", "--simulate", "ranks=2,seed=1.5"), "`1.5` is no count"), (("--set", "n=2", "--simulate-network", "latency=5.0.0us"), "5.0.0us")):
            self.call("sialrun", "counts.sialx", "--results", "none", *args, code=2, says=[says])
        self.call("sialrun", "counts.sialx", "--results", "none", "--set", "n=2", "--self-check", "0x1", code=2, says=["`0x1` is not a whole number of 1 or more"])
        self.call("sialrun", "counts.sialx", "--results", "none", "--set", "n=2", "--set", "cc_conv=1D-8", code=0)
        self.write("value.toml", 'programs = ["counts.sialx"]\n[values]\nn = 2\nx = nan\n')
        self.call("sialrun", "value.toml", code=2, says=["value.toml:4:5", "`x` is not a finite number"])

    def test_outdated_modules(self):
        """A module beside sources that have changed since is run, with a warning; copied elsewhere it is not compared."""
        self.write("defs.sialx", "sial defs\nscalar x\nendsial defs\n")
        self.write("main.sialx", 'import "defs.sialx"\nsial main\nx = 1.0\nprintln x\nendsial main\n')
        self.call("sialc", "main.sialx", "-o", "main.siox", code=0)
        self.assertNotIn("warning", self.call("sialrun", "main.siox", "--results", "none", code=0))
        says = ["the module `main.siox` was compiled from other text than the sources beside it have now", "`sialc main.sialx`"]
        self.write("defs.sialx", "sial defs\nscalar x = 2.0\nendsial defs\n")
        self.call("sialrun", "main.siox", "--results", "none", code=0, says=says)
        (self.dir / "main.sialx").unlink()
        self.assertNotIn("warning", self.call("sialrun", "main.siox", "--results", "none", code=0))

    def test_molecules(self):
        for line, says in (("H 0 0 0,74", "h2.xyz:4: expected three coordinates after `H`: `0,74` is not a number"), ("H 0 0 0.7.4", "`0.7.4`"),
                           ("H 0 0 0.74 1.0", "h2.xyz:4: `1.0` follows the coordinates of `H`"), ("H 0 0 0.05", "h2.xyz:4: atoms 1 and 2 are 0.05 Angstrom apart")):
            self.write("h2.xyz", "2\n\nH 0 0 0\n" + line + "\n")
            self.call("sialrun", "job.toml", code=2, says=[says])
        self.write("h2.xyz", "2\n\nH 0 0 0\nH 0 0 7.4D-1\n")
        self.assertNotIn("warning: h2.xyz", self.call("sialrun", "job.toml", code=0))
        self.write("h2.xyz", "2\nProperties=species:S:1:pos:R:3:charge:R:1\nH 0 0 0 0.5\nH 0 0 0.3 0.5\n")
        for args in ((), ("--dry-run",), ("--describe",)):
            self.call("sialrun", "job.toml", *args, code=0, says=["warning: h2.xyz:2: ignored columns: charge", "warning: h2.xyz:4: atoms 1 (H) and 2 (H) are 0.3 Angstrom apart"])
        for xyz, says in (("O 0 0 0.221\nH 0 1.431 -0.888\nH 0 -1.431 -0.888", "no two atoms are as near as a bond (atoms 1 (O) and 2 (H) are 1.81 Angstrom apart, 1.87 of a usual bond): is the unit"),
                          ("O 0 0 0.062\nH 0 0.4 -0.249\nH 0 -0.4 -0.249", "most atoms are nearer to another than any usual bond (atoms 1 (O) and 2 (H) are 0.507 Angstrom apart, 0.52 of a usual bond): is the unit"),
                          ("O 0 0 0.117\nH 0 0.757 -0.470\nH 0 -0.757 -0.470", None), ("H 0 0 0\nH 0 0 10\nHe 0 10 0", None), ("Ar 0 0 0\nAr 0 0 3.8", None), ("C 0 0 0\nO 0 0 2.2\nC 0 0 10", None), ("He 0 0 0", None), ("N 0 0 0\nN 0 0 1.098", None)):
            self.write("h2.xyz", f"{len(xyz.splitlines())}\n\n{xyz}\n")
            said = self.call("sialrun", "job.toml", "--describe", code=0)
            self.assertEqual("warning" in said, says is not None, said)
            self.assertIn(says or "", said)
        self.write("h2.xyz", "100000\n\n" + "".join(f"H {i} 0 0\n" for i in range(100000)))
        self.call("sialrun", "job.toml", code=2, says=["h2.xyz:1: 100000 atoms are more than 20000"])

    def test_blocks_of_text_files(self):
        self.write("block.sialx", BLOCK)
        for text, says in (("1 0.5x\n", "a[1].txt` line 1: `0.5x` is not a number"), ("1 0.5 7\n", "line 1: expected 1 indices and a value"), ("1.0 0.5\n", "`1.0` is not an index")):
            self.write("a[1].txt", text)
            self.call("sialrun", "block.sialx", "--results", "none", code=1, says=[says])
        self.write("a[1].txt", "1 5D-1\n")
        self.call("sialrun", "block.sialx", "--results", "none", code=0)

    def test_files_that_are_none(self):
        """A device never ends, and a pipe may never begin."""
        os.mkfifo(self.dir / "pipe")
        for name, says in (("/dev/zero", "it is a device"), (str(self.dir / "pipe.g94"), "it is a pipe")):
            if name.endswith(".g94"):
                os.rename(self.dir / "pipe", name)
            self.write("other.toml", JOB.format(basis=name))
            self.call("sialrun", "other.toml", code=2, says=["other.toml:6:9: cannot read the basis file", says])
        os.mkfifo(self.dir / "pipe.xyz")
        self.write("other.toml", JOB.format(basis="sto-3g").replace("h2.xyz", "pipe.xyz"))
        self.call("sialrun", "other.toml", code=2, says=["cannot read the molecule", "it is a pipe"])
        for name in ("pipe.toml", "pipe.sialx", "pipe.siox", "pipe.dat", "pipe.json"):
            os.mkfifo(self.dir / name)
        self.call("sialrun", "pipe.toml", code=2, says=["pipe.toml", "it is a pipe"])
        self.call("sialrun", "pipe.siox", code=2, says=["cannot read the program `pipe.siox`: it is a pipe"])
        self.call("sialrun", "pipe.sialx", code=2, says=["pipe.sialx", "it is a pipe"])
        self.call("sialrun", "--dat", "pipe.dat", code=2, says=["it is a pipe"])
        self.call("sialrun", "--batch", "pipe.dat", code=2, says=["it is a pipe"])
        self.call("sialc", "pipe.sialx", code=2, says=["it is a pipe"])
        self.call("sialc", "--disassemble", "pipe.siox", code=2, says=["it is a pipe"])
        self.call("sialc", "--emit=tokens", "/dev/zero", code=2, says=["it is a device"])
        self.call("sialreport", "pipe.siox", code=2, says=["it is a pipe"])
        with open(self.dir / "large.sialx", "wb") as f:
            f.truncate(1 << 40)
        self.call("sialc", "large.sialx", code=2, says=["it has 1024 GiB, and such a file may have 16 MiB"])

    def test_libraries_that_are_cut_off(self):
        library = next(line.split()[-1] for line in open("/proc/self/maps") if "/libc.so" in line)
        whole = pathlib.Path(library).read_bytes()
        (self.dir / "part.so").write_bytes(whole[:len(whole) // 2])
        self.call("sialrun", "counts.sialx", "--plugin", "part.so", code=2, says=["cannot load the plugin `part.so`: it ends after"])

    def test_limits_of_modules(self):
        """What a module cannot hold is refused with its line."""
        self.write("long.sialx", 'sial p\nprint "' + "x" * 5_000_000 + '"\nendsial p\n')
        err = self.call("sialc", "long.sialx", code=1, says=["long.sialx:2:7: error: the string has 5000002 bytes; at most 1048576 are possible [E-STRING]"])
        self.assertLess(len(err), 1000)
        self.write("long.sialx", 'sial p\nset_persistent a "' + "x" * 2_000_000 + '"\nendsial p\n')
        self.call("sialrun", "long.sialx", code=1, says=["the string has 2000002 bytes"])
        self.write("long.sialx", 'sial p\nprint "' + "x" * 1_000_000 + '"\nendsial p\n')
        self.call("sialc", "long.sialx", code=0)
        self.write("long.sialx", "sial " + "p" * 1000 + "\nendsial " + "p" * 1000 + "\n")
        self.call("sialc", "long.sialx", code=1, says=["[E-NAME-LENGTH]"])
        self.write("path.sialx", 'import "' + "x" * 2_000_000 + '"\nsial p\nendsial p\n')
        self.assertLess(len(self.call("sialc", "path.sialx", code=1, says=["the string has"])), 1000)

    def test_slices_of_modules(self):
        """A loop in which too much decides what it gets runs without being looked ahead of."""
        n = 30000
        steps = "".join(f"s{k} = s{k - 1} + 1\n" for k in range(1, n))
        ints = "".join(f"int s{k}\n" for k in range(n))
        loops = "".join(f"pardo i\n{body}if s{last} > 3\nget d[i]\nx += d[i] * d[i]\nendif\nendpardo i\n" for body, last in ((f"s0 = i\n{steps}", n - 1), ("s1 = i\n", 1)))
        self.write("wide.sialx", f"sial p\npredefined int norb\naoindex i = 1:norb\ndistributed d[i]\nscalar x\n{ints}{loops}println x\nendsial p\n")
        self.call("sialc", "wide.sialx", "-o", "wide.siox", code=0)
        remarks = subprocess.run([BIN / "sialreport", "wide.siox"], cwd=self.dir, capture_output=True, text=True, timeout=60).stdout
        self.assertEqual((remarks.count("`get d[i]` is not fetched ahead: what decides"), remarks.count("`get d[i]` is fetched ahead")), (1, 1), remarks[:3000])

    def test_time(self):
        """What grows with the square of an input, or without end, is found in seconds; call() waits for a minute."""
        calls = "".join(f"proc q{k}\ncall q{k - 1}\ncall q{k - 1}\nendproc q{k}\n" for k in range(1, 100))
        self.write("tree.sialx", "sial p\nscalar x\nproc q0\nx = 1.0\nendproc q0\n" + calls + "call q99\nendsial p\n")
        self.call("sialrun", "tree.sialx", "--dry-run", code=0)
        calls = "".join(f"proc q{k}\n" + (f"call q{k - 1}\n" if k else "") + f"endproc q{k}\n" for k in range(20000))
        self.write("deep.sialx", "sial p\n" + calls + "call q19999\nendsial p\n")
        self.call("sialc", "deep.sialx", code=1, says=["calls are nested more than 200 procedures deep"])
        self.write("free.sialx", "sial p\naoindex i = 1:2\ntemp a[i]\ntemp b[i]\ndo i\n" + 10000 * "a[i] = 1.0\nb[i] = a[i]\n" + "enddo i\nendsial p\n")
        self.call("sialc", "free.sialx", code=0)
        self.call("sialrun", "counts.sialx", "--set", "n=2", "--results", "none", "--segments", "ao=" + ",".join(["1"] * 30000), code=0)

    def test_signal_before_the_run(self):
        """While a job is read and compiled there is nothing to save: the first signal ends it."""
        self.write("long.sialx", "sial p\n" + "".join(f"scalar s{k}\n" for k in range(200000)) + "".join(f"s{k} = 1.0\n" for k in range(200000)) + "endsial p\n")
        process = subprocess.Popen([str(BIN / "sialrun"), "long.sialx", "--results", "none"], cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), -signal.SIGTERM)

    def test_control_characters(self):
        """A name that a terminal would obey is shown, not sent; call() looks for them."""
        escape = "\x1b[31m\u202e"
        shown = "\\x1B[31m\\xE2\\x80\\xAE"
        self.call("sialrun", f"{escape}.sialx", code=2, says=[shown])
        self.call("sialrun", f"{escape}.toml", code=2, says=[shown])
        self.call("sialrun", f"--{escape}", code=2, says=[shown])
        self.call("sialc", f"{escape}.sialx", code=2, says=[shown])
        self.call("sialc", "--disassemble", f"{escape}.siox", code=2, says=[shown])
        self.call("sialreport", f"{escape}.siox", code=2, says=[shown])
        self.write(f"{escape}.sialx", "sial p\nx = \x07\x7f\xc2\x9b1\u2066\nendsial p\n")
        for tool in ("sialc", "sialrun"):
            self.call(tool, f"{escape}.sialx", code=1, says=[f"{shown}.sialx:2:"])
        self.call("sialc", "--emit=tokens", f"{escape}.sialx", code=0)
        self.call("sialc", "--error-format=json", f"{escape}.sialx", code=1)
        self.write("name.toml", 'programs = ["\\u001b]0;title\\u0007.sialx"]\n')
        self.call("sialrun", "name.toml", code=2, says=["\\x1B]0;title\\x07.sialx"])
        self.write("list", f"counts.sialx --set n=2 --name '{escape}'\nnone{escape}.sialx\n")
        self.call("sialrun", "--batch", "list", code=2, says=[shown])
        self.write("nul.xyz", "1\n\nH 0 0 0\0.5\n")
        self.write("nul.toml", JOB.format(basis="sto-3g").replace("h2.xyz", "nul.xyz"))
        self.call("sialrun", "nul.toml", code=2, says=["nul.xyz:3: expected three coordinates after `H`: `0\\x00.5` is not a number"])
        self.call("sialrun", "--version", "--verbose", code=0, env={"XDG_CACHE_HOME": f"{self.dir}/{escape}"})
        self.write("grün.sialx", "sial p\nx = 1\nendsial p\n")
        self.call("sialc", "grün.sialx", code=1, says=["grün.sialx:2:1"])
        bad = os.fsencode(self.dir) + b"/caf\xe9.sialx"
        with open(bad, "w") as f:
            f.write("sial p\nx = 1\nendsial p\n")
        self.call("sialc", b"caf\xe9.sialx", code=1, says=["caf\\xE9.sialx:2:1"])


if __name__ == "__main__":
    os.environ["LC_ALL"] = ENV["LC_ALL"] = "C.UTF-8"
    main()
