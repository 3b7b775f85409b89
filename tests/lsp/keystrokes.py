#!/usr/bin/env python3
"""How long the diagnostics of `sialc lsp` take after a keystroke: in a program given, and in a generated one of 5,000 lines in 100 procedures.

    keystrokes.py --bin DIR [PROGRAM ...]

Prints a line per program and place of the edit: the median and the largest of 30 times in milliseconds, from the change to its diagnostics.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN

sys.path.insert(0, str(Path(__file__).resolve().parent))
from lsp_client import Client  # noqa: E402


def generated(procedures: int = 100) -> str:
    lines = ["sial generated", "predefined int norb", "aoindex p = 1:norb", "aoindex q = 1:norb", "aoindex r = 1:norb", "temp t[p,q]", "temp u[p,q]"]
    lines += ["distributed a[p,q]", "distributed b[p,q]", "distributed c[p,q]", "scalar x"]
    for n in range(procedures):
        lines += [f"proc step{n}", "pardo p, q"]
        body: list[str] = []
        for k in range(5):
            body += [f"  t[p,q] = {k + 1}.0", "  do r", "    get a[p,r]", "    get b[r,q]", "    u[p,q] = a[p,r]*b[r,q]", f"    u[p,q] *= {n}.5", "    t[p,q] += u[p,q]", "  enddo r", "  put c[p,q] += t[p,q]"]
        lines += [*body, "endpardo p, q", "sip_barrier", f"endproc step{n}"]
    lines += [f"call step{n}" for n in range(procedures)] + ["println x", "endsial generated"]
    return "\n".join(lines) + "\n"


def times(client: Client, uri: str, line: int, text: str) -> str:
    """Types at the begin of a line and takes it back, by turns."""
    found = []
    place = {"line": line, "character": 0}
    for n in range(30):
        begin = time.perf_counter()
        if n % 2 == 0:
            client.type(uri, line, 0, text)
        else:
            client.change(uri, {"range": {"start": place, "end": {"line": line, "character": len(text)}}, "text": ""})
        client.wait_for_diagnostics(uri)
        found.append((time.perf_counter() - begin) * 1000)
    return f"median {statistics.median(found):6.1f} ms, largest {max(found):6.1f} ms"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*", type=Path)
    options = parser.parse_args()
    texts = {"generated": generated(), **{p.name: p.read_text() for p in options.programs}}
    for name, text in texts.items():
        with Client(BIN / "sialc") as client:
            uri = f"file:///nowhere/{name}"
            lines = text.split("\n")
            begin = time.perf_counter()
            client.open(uri, text)
            client.wait_for_diagnostics(uri)
            print(f"{name}: {len(lines) - 1} lines, opened in {(time.perf_counter() - begin) * 1000:.0f} ms")
            inside = next(n for n in range(len(lines) // 2, len(lines)) if lines[n].strip().startswith(("get", "put")))
            declared = next(n for n, line in enumerate(lines) if line.startswith("scalar"))
            for where, line, typed in (("blank in a procedure", inside, " "), ("letter in a procedure (an error)", inside, "x"), ("letter in a declaration (an error)", declared, "x"), ("first letter of the file (an error)", 0, "x"), ("comment in the first line", 0, "# ")):
                if where.startswith("comment"):
                    client.type(uri, 0, 0, "\n")
                    client.wait_for_diagnostics(uri)
                print(f"  {where:36} {times(client, uri, line, typed)}", flush=True)
            for method in ("completion", "hover", "definition"):
                client.at(method, uri, inside, 8)
            for method in ("documentSymbol", "foldingRange", "semanticTokens/full"):
                client.about(method, uri)
            print(f"  slowest other answer {client.slowest * 1000:.1f} ms, memory {client.resident_kib() / 1024:.0f} MiB")
            client.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
