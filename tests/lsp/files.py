#!/usr/bin/env python3
"""Which files the language server reads: diagnostics and hints are of one text, whichever path leads to an open file, and imports are found where the
program's job finds them.

    files.py --bin DIR [unittest arguments]
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ENV, InFolder, main

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lsp_client import Client  # noqa: E402

DEFS = """sial defs
predefined int norb
moindex p = 1:norb
distributed a[p,p]
endsial defs
"""
PROGRAM = """import "DEFS"
sial main
temp t[p,p]
create a
pardo p
  t[p,p] = 2.0
  put a[p,p] = t[p,p]
endpardo p
endsial main
"""
JOB = """programs = ["main.sialx"]
[values]
norb = 2
[segments]
mo = [10, 10, 10]
"""
PUT = 6  # line of the `put`


class Files(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.folder = self.dir / "program"
        self.lib = self.dir / "lib"
        self.folder.mkdir()
        self.lib.mkdir()
        self.defs = self.lib / "defs.sialx"
        self.defs.write_text(DEFS)
        (self.folder / "job.toml").write_text(JOB)
        self.client = Client(BIN / "sialc", root=self.dir, cwd=self.dir)
        self.addCleanup(self.client.__exit__, None, None, None)

    def opened(self, imported: str, path: Path | None = None) -> str:
        """The URI of a program that imports this path."""
        path = path or self.folder / "main.sialx"
        text = PROGRAM.replace("DEFS", imported)
        path.write_text(text)
        self.client.open(path.as_uri(), text)
        self.client.wait_for_diagnostics(path.as_uri())
        return path.as_uri()

    def hint(self, uri: str) -> str:
        """What stands beside the `put`; empty: nothing."""
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 100, "character": 0}}
        return "".join(hint["label"] for hint in self.client.about("inlayHint", uri, range=whole) if hint["position"]["line"] == PUT)

    def codes(self, uri: str) -> list[str]:
        return [d["code"] for d in self.client.diagnostics[uri]]

    def until(self, uri: str, codes: list[str]) -> None:
        while self.codes(uri) != codes:
            self.client.take(20)

    # ---- open files

    def test_an_open_import_counts_whatever_path_leads_to_it(self) -> None:
        os.symlink("../lib/defs.sialx", self.folder / "linked.sialx")
        os.symlink("../lib", self.folder / "library")
        ways = {"above": "../lib/defs.sialx", "a link": "linked.sialx", "a linked folder": "library/defs.sialx", "a detour": "library/../lib/defs.sialx", "the whole path": str(self.defs)}
        for opened_as in (self.defs, self.folder / "linked.sialx", self.folder / "library" / "defs.sialx"):
            self.client.open(opened_as.as_uri(), DEFS)
            for way, imported in ways.items():
                with self.subTest(way, opened_as=opened_as):
                    uri = self.opened(imported)
                    self.assertIn("1.60 kB x 2", self.hint(uri))
                    self.client.change(opened_as.as_uri(), {"text": DEFS.replace("1:norb", "1:3")})
                    self.assertIn("1.60 kB x 3", self.hint(uri))
                    self.client.change(opened_as.as_uri(), {"text": DEFS})
                    self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            self.client.notify("textDocument/didClose", {"textDocument": {"uri": opened_as.as_uri()}})

    def test_an_import_that_is_not_found_has_no_hints(self) -> None:
        other = self.dir / "other"
        other.mkdir()
        self.client.open((other / "defs.sialx").as_uri(), DEFS)
        uri = self.opened("defs.sialx")  # a file of this name is open, in a folder where nobody looks
        self.assertEqual(self.codes(uri), ["E-IMPORT"])
        self.assertEqual(self.hint(uri), "")

    def test_a_program_reached_through_a_link_has_its_hints(self) -> None:
        os.symlink("../program/main.sialx", self.lib / "main.sialx")
        uri = self.opened("defs.sialx", self.lib / "main.sialx")  # beside the link, not beside the program
        self.assertEqual(self.codes(uri), [])
        self.assertIn("1.60 kB x 2", self.hint(uri))  # with the job beside the program
        (self.lib / "job.toml").write_text(JOB.replace("10, 10, 10", "5, 5, 5"))  # and the newest
        self.client.change(uri, {"text": PROGRAM.replace("DEFS", "defs.sialx") + "\n"})
        self.assertIn("400 bytes x 2", self.hint(uri))

    def test_a_file_that_is_open_twice_stays_open_when_one_is_closed(self) -> None:
        os.symlink("defs.sialx", self.lib / "again.sialx")
        again = (self.lib / "again.sialx").as_uri()
        uri = self.opened("../lib/defs.sialx")
        self.client.open(self.defs.as_uri(), DEFS.replace("1:norb", "1:3"))
        self.client.open(again, DEFS.replace("1:norb", "1:3"))
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": again}})
        self.assertIn("1.60 kB x 3", self.hint(uri))
        self.client.notify("textDocument/didClose", {"textDocument": {"uri": self.defs.as_uri()}})
        self.assertIn("1.60 kB x 2", self.hint(uri))

    # ---- folders of imports, from the job

    def include(self, folders: str) -> None:
        (self.folder / "job.toml").write_text(f"include = {folders}\n" + JOB)

    def test_imports_are_found_where_the_job_finds_them(self) -> None:
        self.include('["../lib"]')
        uri = self.opened("defs.sialx")
        self.assertEqual(self.codes(uri), [])
        self.assertIn("1.60 kB x 2", self.hint(uri))
        self.assertEqual([place["uri"] for place in self.client.at("definition", uri, PUT, 7)], [self.defs.as_uri()])
        self.assertIn("distributed", self.client.at("hover", uri, PUT, 7)["contents"]["value"])
        self.client.open(self.defs.as_uri(), DEFS.replace("distributed", "static"))
        self.client.change(uri, {"text": PROGRAM.replace("DEFS", "defs.sialx") + "\n"})
        self.client.wait_for_diagnostics(uri)
        self.assertNotEqual(self.codes(uri), [])  # the open text counts
        told = subprocess.run([BIN / "sialc", "--emit=hints", self.folder / "main.sialx"], cwd=self.dir, capture_output=True, text=True, timeout=60, check=False)
        self.assertIn(f"{PUT + 1}: 1.60 kB x 2", told.stdout, told.stderr)
        run = subprocess.run([BIN / "sialrun", "--dry-run", self.folder / "job.toml"], cwd=self.dir, capture_output=True, text=True, timeout=60, check=False, env=ENV)
        self.assertEqual(run.returncode, 0, run.stderr)  # the runtime finds it, too

    def test_the_order_of_folders_is_that_of_a_run(self) -> None:
        for name, last in (("first", 3), ("second", 2), ("option", 1)):
            (self.dir / name).mkdir()
            (self.dir / name / "defs.sialx").write_text(DEFS.replace("1:norb", f"1:{last}"))
        self.client = Client(BIN / "sialc", "-I", str(self.dir / "option"), root=self.dir, cwd=self.dir)
        self.addCleanup(self.client.__exit__, None, None, None)
        uri = self.opened("defs.sialx")
        self.assertIn("1.60 kB x 1", self.hint(uri))
        for folders, times in (('["../second", "../first"]', 2), ('["../first", "../second"]', 3), ('"../second"', 2), (f'["{self.dir}/first"]', 3), ('["../none"]', 1), ("[]", 1)):
            self.include(folders)
            self.client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
            self.assertIn(f"1.60 kB x {times}", self.hint(uri), folders)

    def test_a_job_that_changes_while_the_editor_is_silent_is_seen(self) -> None:
        uri = self.opened("defs.sialx")
        self.assertEqual(self.codes(uri), ["E-IMPORT"])
        self.include('["../lib"]')
        self.until(uri, [])
        self.include("[]")
        self.until(uri, ["E-IMPORT"])

    def test_only_folders_of_jobs_of_the_program_count(self) -> None:
        (self.folder / "job.toml").write_text('include = ["../lib"]\nprograms = ["main.sialx.old", "other.sialx"]\n')
        (self.folder / "broken.toml").write_text('include = ["../lib"]\nprograms = ["main.sialx"\n')
        uri = self.opened("defs.sialx")
        self.assertEqual(self.codes(uri), ["E-IMPORT"])
        # What else is wrong in a job does not matter here.
        (self.folder / "job.toml").write_text('include = ["../lib"]\nprograms = ["main.sialx", "to_come.sialx"]\nmemory = "much"\n')
        self.client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        self.client.change(uri, {"text": PROGRAM.replace("DEFS", "defs.sialx") + "\n"})
        self.client.wait_for_diagnostics(uri)
        self.assertEqual(self.codes(uri), [])


if __name__ == "__main__":
    main()
