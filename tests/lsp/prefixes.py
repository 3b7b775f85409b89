#!/usr/bin/env python3
"""Every prefix of ten programs, typed into `sialc lsp` letter by letter: there is always an answer. Prints the time of the slowest one.

    prefixes.py --bin DIR [--step N]

--step N looks at every Nth prefix only; the letters between come in one change.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time
from pathlib import Path

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lsp_client import Client  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 1400  # bytes of a program: each is typed whole


def programs() -> list[Path]:
    found = sorted([*ROOT.glob("examples/*/*.sialx"), *ROOT.glob("tests/lang/run/*.sialx")])
    fitting = [p for p in found if 500 < len(p.read_bytes()) < LONGEST]
    return fitting[:: max(1, len(fitting) // 10)][:10]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", type=int, default=1)
    options = parser.parse_args()
    chosen = programs()
    if len(chosen) < 10:
        print(f"only {len(chosen)} programs are short enough", file=sys.stderr)
        return 1
    prefixes, slowest = 0, 0.0
    with Client(BIN / "sialc", root=ROOT / "examples") as client:
        for path in chosen:
            text = path.read_bytes().decode().replace("\r\n", "\n")
            uri = path.with_name("typed-" + path.name).as_uri()
            client.open(uri, "")
            client.wait_for_diagnostics(uri)
            line = character = 0
            for at in range(0, len(text), options.step):
                piece = text[at : at + options.step]
                begin = time.perf_counter()
                client.type(uri, line, character, piece)
                client.wait_for_diagnostics(uri)
                slowest = max(slowest, time.perf_counter() - begin)
                if "\n" in piece:
                    line, character = line + piece.count("\n"), 0
                    piece = piece.rsplit("\n", 1)[1]
                character += len(piece.encode("utf-16-le")) // 2
                client.at("completion", uri, line, character)
                question = prefixes % 6
                if question < 4:
                    client.at(("hover", "definition", "signatureHelp", "documentHighlight")[question], uri, line, character)
                else:
                    client.about(("documentSymbol", "semanticTokens/full")[question - 4], uri)
                prefixes += 1
            print(f"{path.relative_to(ROOT)}: {len(text)} letters", flush=True)
        slowest = max(slowest, client.slowest)
        code = client.stop()
    print(f"{prefixes} prefixes; the slowest answer took {slowest * 1000:.1f} ms")
    return code


if __name__ == "__main__":
    sys.exit(main())
