#!/usr/bin/env python3
"""A whole editing session over the streams of `sialc lsp`: a program and its import are typed letter by letter, asked about, broken, mended, renamed
in, saved and compiled. Whatever the editor shows is compared with `sialc` on the same texts.

    session.py --bin DIR [unittest arguments]
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, main

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lsp_client import Client, ServerError  # noqa: E402

SIALC = BIN / "sialc"

DEFS = """sial defs
predefined int norb
aoindex mu = 1:norb   # basis functions
aoindex nu = 1:norb
# of the last iteration
distributed density[mu,nu]
scalar energy
endsial defs
"""

MAIN = """import "defs.sialx"
sial trace
temp t[mu,nu]
scalar part
pardo mu, nu
  get density[mu,nu]
  t[mu,nu] = density[mu,nu]
  part += t[mu,nu]*t[mu,nu]
endpardo mu, nu
collective energy += part
println energy
endsial trace
"""

CAPABILITIES = {
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "tagSupport": {"valueSet": [1]}, "codeDescriptionSupport": True},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "rename": {"prepareSupport": True},
        "hover": {"contentFormat": ["markdown"]},
    }
}


def compiled(path: Path) -> list[tuple[str, int, int]]:
    """Code, line and byte column, from 0, of what sialc says of a file itself."""
    run = subprocess.run([SIALC, "--error-format=json", path, "-o", path.with_suffix(".siox")], capture_output=True, text=True, timeout=60, check=False)
    found = [json.loads(line) for line in run.stderr.splitlines()]
    return [(d["code"], d.get("line", 1) - 1, d.get("column", 1) - 1) for d in found if d.get("file", str(path)) == str(path)]


def shown(diagnostics: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(d["code"], d["range"]["start"]["line"], d["range"]["start"]["character"]) for d in diagnostics]


def labels(completion: dict[str, Any]) -> list[str]:
    return [item["label"] for item in completion["items"]]


class Session(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sialx-lsp-")).resolve()
        self.main, self.defs = self.folder / "trace.sialx", self.folder / "defs.sialx"
        self.client = Client(SIALC, root=self.folder, cwd=self.folder, capabilities=CAPABILITIES)

    def tearDown(self) -> None:
        self.client.__exit__(None, None, None)

    def type_all(self, uri: str, text: str) -> None:
        line = character = 0
        for letter in text:
            self.client.type(uri, line, character, letter)
            line, character = (line + 1, 0) if letter == "\n" else (line, character + 1)

    def agrees(self, uri: str, path: Path, text: str) -> list[dict[str, Any]]:
        diagnostics = self.client.wait_for_diagnostics(uri)
        path.write_text(text)
        self.assertEqual(shown(diagnostics), compiled(path))
        return diagnostics

    def test_session(self) -> None:
        client, main, defs = self.client, self.main.as_uri(), self.defs.as_uri()
        client.open(defs, "")
        self.type_all(defs, DEFS)
        self.agrees(defs, self.defs, DEFS)
        client.open(main, "")
        self.type_all(main, MAIN)
        self.assertEqual(self.agrees(main, self.main, MAIN), [])

        # names: from a use to the import and back
        place = client.at("definition", main, 6, 14)[0]
        self.assertEqual((place["uri"], place["range"]["start"]["line"]), (defs, 5))
        text = client.at("hover", main, 6, 14)["contents"]["value"]
        self.assertIn("distributed density[mu,nu]", text)
        self.assertIn("of the last iteration", text)
        self.assertEqual(len(client.at("references", defs, 5, 14, context={"includeDeclaration": True})), 3)
        symbols = client.about("documentSymbol", main)
        self.assertEqual([s["name"] for s in symbols[0]["children"]], ["t", "part"])

        # a half-typed line: completion, the error, the end of the line
        client.type(main, 6, 0, "  get \n")
        self.assertEqual(labels(client.at("completion", main, 6, 6)), ["density"])
        self.assertTrue(client.wait_for_diagnostics(main))
        client.type(main, 6, 6, "density[mu,")
        self.assertEqual(set(labels(client.at("completion", main, 6, 17))), {"mu", "nu"})
        client.change(main, {"range": {"start": {"line": 6, "character": 0}, "end": {"line": 7, "character": 0}}, "text": ""})
        self.assertEqual(self.agrees(main, self.main, MAIN), [])

        # a change in the import shows in the importer, and goes
        client.type(defs, 6, 7, "x")
        while not client.diagnostics[main]:
            client.take()
        self.assertEqual([d["code"] for d in client.diagnostics[main]], ["E-UNDECLARED"])
        client.change(defs, {"text": DEFS})
        while client.diagnostics[main]:
            client.take()

        # rename in both files
        edits = client.at("rename", main, 9, 12, newName="total")["changes"]
        self.assertEqual({uri: len(found) for uri, found in edits.items()}, {main: 2, defs: 1})
        for uri, found in edits.items():
            last_first = sorted(found, key=lambda e: (-e["range"]["start"]["line"], -e["range"]["start"]["character"]))
            client.change(uri, *({"range": e["range"], "text": e["newText"]} for e in last_first))
        renamed = MAIN.replace("energy", "total")
        self.defs.write_text(DEFS.replace("energy", "total"))
        self.assertEqual(self.agrees(main, self.main, renamed), [])
        for name in ("pardo", "part", "2e"):
            with self.assertRaises(ServerError):
                client.at("rename", main, 9, 12, newName=name)

        self.assertTrue(client.about("foldingRange", main))
        self.assertEqual(len(client.about("semanticTokens/full", main)["data"]) % 5, 0)
        self.assertEqual(client.stop(), 0)

    def test_positions_behind_wide_characters(self) -> None:
        main = self.main.as_uri()
        text = 'sial trace\nscalar x\nx = 1.0\nprintln "ä𝄞" # ö\nprintln yy\nprintln x\nendsial trace\n'
        self.client.open(main, "")
        self.type_all(main, "")
        self.client.type(main, 0, 0, text)
        self.agrees(main, self.main, text)
        self.client.change(main, {"range": {"start": {"line": 3, "character": 10}, "end": {"line": 3, "character": 12}}, "text": "b"})
        self.agrees(main, self.main, text.replace("𝄞", "b"))

    def test_rename_finds_importers_beside_the_file_whatever_the_root(self) -> None:
        self.defs.write_text(DEFS)
        self.main.write_text(MAIN)
        os.mkfifo(self.folder / "pipe.sialx")  # nobody writes into it
        other = self.folder / "other"
        other.mkdir()
        for root in (None, "file:///", "file://.", "", other.as_uri(), self.folder.as_uri()):
            with self.subTest(root=root), Client(SIALC, cwd=other, root_uri=root) as client:
                client.open(self.defs.as_uri(), DEFS)
                edits = client.at("rename", self.defs.as_uri(), 6, 8, newName="total")["changes"]
                self.assertEqual({uri: len(found) for uri, found in edits.items()}, {self.main.as_uri(): 2, self.defs.as_uri(): 1})
                with self.assertRaises(ServerError):
                    client.at("rename", self.defs.as_uri(), 6, 8, newName="trace")

    def test_life(self) -> None:
        with self.assertRaises(ServerError) as caught:
            self.client.request("textDocument/fly", {})
        self.assertEqual(caught.exception.code, -32601)
        with self.assertRaises(ServerError) as caught:
            self.client.request("textDocument/hover", {"textDocument": 3})
        self.assertEqual(caught.exception.code, -32602)
        self.client.send_bytes(b"Content-Length: 3\r\n\r\n{x}")
        self.assertEqual(self.client.take()["error"]["code"], -32700)
        self.client.send_bytes(b"nonsense\r\n\r\n")
        self.assertEqual(self.client.take()["error"]["code"], -32700)
        assert self.client.process.stdin
        self.client.process.stdin.close()  # the editor is gone
        self.assertEqual(self.client.process.wait(timeout=30), 1)


if __name__ == "__main__":
    main()
