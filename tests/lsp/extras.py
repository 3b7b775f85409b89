#!/usr/bin/env python3
"""What the language server takes from other components: fixes as code actions, the formatter, costs and measured times beside the lines.

    extras.py --bin DIR [unittest arguments]
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ENV, InFolder, main

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lsp_client import Client  # noqa: E402

PROGRAM = """sial square
predefined int norb
moindex p = 1:norb
moindex q = 1:norb
distributed a[p,q]
temp t[p,q]
temp s[p,q]
create a
pardo p, q
  t[p,q] = 2.0
  put a[p,q] = t[p,q]
endpardo p, q
sip_barrier
pardo p, q
  get a[p,q]
  s[p,q] = 3.0*a[p,q]
endpardo p, q
println "done"
endsial square
"""
JOB = """programs = ["square.sialx"]
[values]
norb = 2
[segments]
mo = [10, 10]
"""
REFRESH = {"workspace": {"inlayHint": {"refreshSupport": True}}, "textDocument": {"hover": {"contentFormat": ["markdown"]}}}


def with_edits(text: str, edits: list[dict[str, Any]]) -> str:
    """The text with the edits of an answer, which do not overlap; all of it is ASCII."""
    lines = text.splitlines(keepends=True)

    def offset(position: dict[str, int]) -> int:
        return sum(len(line) for line in lines[: position["line"]]) + position["character"]

    for edit in sorted(edits, key=lambda e: offset(e["range"]["start"]), reverse=True):
        text = text[: offset(edit["range"]["start"])] + edit["newText"] + text[offset(edit["range"]["end"]) :]
    return text


class Extras(InFolder):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.dir / "square.sialx"
        self.path.write_text(PROGRAM)
        self.uri = self.path.as_uri()

    def client(self, capabilities: dict[str, Any] | None = None) -> Client:
        client = Client(BIN / "sialc", root=self.dir, capabilities=capabilities)
        self.addCleanup(client.__exit__, None, None, None)
        return client

    def opened(self, text: str = PROGRAM, capabilities: dict[str, Any] | None = None) -> Client:
        client = self.client(capabilities)
        client.open(self.uri, text)
        client.wait_for_diagnostics(self.uri)
        return client

    def hints(self, client: Client, lines: int = 100) -> dict[int, str]:
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": lines, "character": 0}}
        found: dict[int, str] = {}
        for hint in client.about("inlayHint", self.uri, range=whole):
            self.assertNotIn(hint["position"]["line"], found)
            found[hint["position"]["line"]] = hint["label"]
        return found

    def refreshed(self, client: Client) -> dict[int, str]:
        while client.take(20).get("method") != "workspace/inlayHint/refresh":
            pass
        return self.hints(client)

    def line(self, text: str, part: str) -> int:
        return next(i for i, line in enumerate(text.splitlines()) if part in line)

    def test_actions_mend_what_diagnostics_name(self) -> None:
        text = PROGRAM.replace("  get a[p,q]\n", "")
        client = self.opened(text)
        (diagnostic,) = [d for d in client.diagnostics[self.uri] if d["code"] == "W-PHASE-NO-GET"]
        actions = client.about("codeAction", self.uri, range=diagnostic["range"], context={"diagnostics": [diagnostic]})
        self.assertEqual([a["title"] for a in actions if a["isPreferred"]], ["insert `get a[p,q]`"])
        self.assertEqual(with_edits(text, actions[0]["edit"]["changes"][self.uri]), PROGRAM)
        nowhere = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        self.assertEqual(client.about("codeAction", self.uri, range=nowhere, context={"diagnostics": []}), [])

    def test_formatting_gives_what_the_command_gives(self) -> None:
        text = PROGRAM.replace("  put", "put").replace(" = 3.0", "=3.0") + "\n\n"
        client = self.opened(text)
        done = subprocess.run([BIN / "sialc", "format", "-"], input=text, capture_output=True, text=True, timeout=60, check=True).stdout
        options = {"tabSize": 2, "insertSpaces": True}
        self.assertEqual(with_edits(text, client.about("formatting", self.uri, options=options)), done)
        at = self.line(text, "put a")
        selected = {"start": {"line": at, "character": 0}, "end": {"line": at + 1, "character": 0}}
        one = with_edits(text, client.about("rangeFormatting", self.uri, options=options, range=selected))
        self.assertEqual(one, text.replace("put a", "  put a"))
        broken = text + "endsial"
        client.change(self.uri, {"text": broken})
        self.assertEqual(client.about("formatting", self.uri, options=options), [])

    def test_hints_come_with_the_job_and_stay_while_a_line_is_broken(self) -> None:
        client = self.opened(capabilities=REFRESH)
        self.assertEqual(self.hints(client), {})  # nobody waits for them
        self.refreshed(client)
        (self.dir / "job.toml").write_text(JOB)
        client.notify("textDocument/didSave", {"textDocument": {"uri": self.uri}})
        hints = self.refreshed(client)
        put = self.line(PROGRAM, "put a")
        self.assertIn("1.60 kB x 4", hints[put])
        self.assertIn("4 blocks of up to 800 bytes", hints[self.line(PROGRAM, "distributed")])
        # A line above is being typed: the others keep their hints, at their new places.
        client.type(self.uri, put, 0, "  s[p,q] = \n")
        client.wait_for_diagnostics(self.uri)
        self.assertEqual(self.hints(client)[put + 1], hints[put])
        self.assertNotIn(put, self.hints(client))
        # A declaration is another one: what was known of lines may not hold.
        client.change(self.uri, {"text": PROGRAM.replace("moindex q = 1:norb", "moindex q = 2:")})
        client.wait_for_diagnostics(self.uri)
        self.assertEqual(self.hints(client), {})

    def test_a_job_that_comes_while_the_editor_is_silent_is_seen(self) -> None:
        client = self.opened(capabilities=REFRESH)
        self.hints(client)
        self.refreshed(client)
        time.sleep(1)  # the server has looked
        (self.dir / "job.toml").write_text(JOB)
        self.assertIn("1.60 kB x 4", self.refreshed(client)[self.line(PROGRAM, "put a")])

    def test_nothing_is_done_while_nothing_changes(self) -> None:
        (self.dir / "job.toml").write_text(JOB)
        long = PROGRAM.replace('println "done"\n', "  pardo p, q\n  t[p,q] = 2.0\n  put a[p,q] = t[p,q]\nendpardo p, q\nsip_barrier\n" * 400)
        self.path.write_text(long)
        client = self.opened(long, capabilities=REFRESH)
        self.hints(client)
        self.refreshed(client)

        def used() -> float:
            fields = Path(f"/proc/{client.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        before = used()
        time.sleep(12)
        self.hints(client)
        self.assertLess(used() - before, 0.2)

    def test_the_server_does_not_stop_for_very_long_programs(self) -> None:
        (self.dir / "job.toml").write_text(JOB)
        client = self.opened(PROGRAM.replace('println "done"\n', 'println "done"\n' * 20000), capabilities=REFRESH)
        self.hints(client)
        time.sleep(4)
        self.assertEqual(self.hints(client, 30000), {})

    def test_a_run_that_cannot_be_read_is_named_once(self) -> None:
        (self.dir / "job.toml").write_text(JOB)
        (self.dir / "run.json").write_text("{")  # beside the program and where the job writes it
        done = subprocess.run([BIN / "sialc", "--emit=hints", self.path], cwd=self.dir, capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(len([line for line in done.stdout.splitlines() if line.startswith("note: ")]), 1, done.stdout)

    def test_times_of_a_run_with_other_numbers_say_so(self) -> None:
        (self.dir / "job.toml").write_text(JOB)
        environment = dict(ENV)
        subprocess.run([BIN / "sialrun", "job.toml"], cwd=self.dir, env=environment, check=True, capture_output=True, timeout=100)
        client = self.opened()
        same = self.hints(client)
        self.assertFalse([label for label in same.values() if "other numbers" in label])
        (self.dir / "job.toml").write_text(JOB.replace("[10, 10]", "[7, 7]"))
        client.change(self.uri, {"text": PROGRAM + "\n"})
        put = self.line(PROGRAM, "put a")
        self.assertIn("784 bytes x 4", self.hints(client)[put])
        self.assertTrue([label for label in self.hints(client).values() if label.endswith(" with other numbers")])

    def test_an_editor_that_cannot_be_told_gets_hints_at_once(self) -> None:
        (self.dir / "job.toml").write_text(JOB)
        client = self.opened()
        put = self.line(PROGRAM, "put a")
        self.assertIn("1.60 kB x 4", self.hints(client)[put])
        grown = PROGRAM.replace("println", "\nprintln")
        client.change(self.uri, {"text": grown})
        self.assertIn("1.60 kB x 4", self.hints(client)[put])

    def test_hover_says_where_an_array_is_and_what_a_line_took(self) -> None:
        (self.dir / "job.toml").write_text(JOB)
        environment = dict(ENV)
        subprocess.run([BIN / "sialrun", "job.toml"], cwd=self.dir, env=environment, check=True, capture_output=True, timeout=100)
        client = self.opened(capabilities=REFRESH)
        self.hints(client)
        self.refreshed(client)
        put = self.line(PROGRAM, "put a")
        said = client.at("hover", self.uri, put, 7)["contents"]["value"]
        for part in ("distributed", "3.20 kB in all", "phase from line 13: fetched", "4 executions"):
            self.assertIn(part, said)
        self.assertEqual(client.stop(), 0)


if __name__ == "__main__":
    main()
