"""What the tests of files and streams share: each has a folder of its own, two small programs in it, and runs the tools there."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import harness
from harness import BIN, ENV

SAVE = """sial save
index i = 1:40
index j = 1:40
static h[i,j]
do i
  do j
    h[i,j] = 1.0
  enddo j
enddo i
println "computed"
endsial save
"""
TINY = 'sial tiny\nprintln "hello"\nendsial tiny\n'


class InFolder(harness.InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.write("save.sialx", SAVE)
        self.write("tiny.sialx", TINY)

    def read(self, name: str) -> bytes:
        return (self.dir / name).read_bytes()

    def command(self, tool: str, *args: object) -> list[str]:
        return [str(BIN / tool), *map(str, args)]

    def run_tool(self, tool: str, *args: object, launcher: Iterable[str] = (), **how: Any) -> tuple[int, str, str]:
        how = {"stdout": subprocess.PIPE, "env": ENV, **how}
        p = subprocess.run([*launcher, *self.command(tool, *args)], cwd=self.dir, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=harness.HANGS, **how)
        return p.returncode, p.stdout, p.stderr

    def must(self, tool: str, *args: object, **how: Any) -> str:
        code, out, err = self.run_tool(tool, *args, **how)
        self.assertEqual(code, 0, f"{out}{err}")
        return out

    def refused(self, tool: str, *args: object, code: int, says: Iterable[str], **how: Any) -> str:
        """One error that says all of `says`."""
        got, _, err = self.run_tool(tool, *args, **how)
        self.assertEqual(got, code, err)
        self.assertEqual(err.count("error:"), 1, f"not exactly one error line:\n{err}")
        for text in says:
            self.assertIn(text, err)
        return err

    def names(self, folder: str = ".") -> list[str]:
        return sorted(p.name for p in (self.dir / folder).iterdir())

    def somebody_else(self) -> dict[str, Any]:
        """How to run as a user whom permissions bind, and who owns the test's folder."""
        if os.geteuid() != 0:
            return {}
        how: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": [], "env": {**ENV, "HOME": str(self.dir)}}
        os.chown(self.dir, 65534, 65534)
        try:
            code = self.run_tool("sialrun", "--version", **how)[0]
        except PermissionError:
            code = 1
        if code != 0:
            self.skipTest("nobody else may run the programs here")
        return how
