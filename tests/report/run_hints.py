#!/usr/bin/env python3
"""What an editor shows beside the lines of a program that ran: its times stand beside the lines that took them, also when the text was
edited since, and beside no other statement.

    run_hints.py --bin DIR
"""
from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, expect

SOURCE = """sial hinted
predefined int norb
aoindex i = 1:norb
aoindex j = 1:norb
aoindex k = 1:norb
distributed d[i,j]
temp t[i,j]
temp u[i,j]
scalar x
pardo i, j
  t[i,j] = 2.0
  put d[i,j] = t[i,j]
endpardo i, j
sip_barrier
pardo i, j
  t[i,j] = 0.0
  do k
    get d[i,k]
    get d[k,j]
    u[i,j] = d[i,k]*d[k,j]
    t[i,j] += u[i,j]
  enddo k
  x += t[i,j]*t[i,j]
endpardo i, j
collective x += x
endsial hinted
"""
JOB = """programs = ["hinted.sialx"]
[values]
norb = 3
[segments]
ao = [4, 3, 2]
"""


class Session:
    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path) -> None:
        self.binaries, self.folder, self.program = binaries, folder, folder / "hinted.sialx"

    def write(self, text: str) -> None:
        self.program.write_text(text)

    def run(self) -> None:
        subprocess.run([self.binaries / "sialrun", "job.toml"], cwd=self.folder, check=True, timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def emitted(self, what: str, *flags: str) -> str:
        done = subprocess.run([self.binaries / "sialc", "-w", f"--emit={what}", self.program, *flags], cwd="/", capture_output=True, text=True, timeout=60)
        expect(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
        return done.stdout

    def hints(self, *flags: str) -> tuple[dict[int, str], list[str]]:
        """Hints by line, and the notes."""
        text = self.emitted("hints", *flags)
        return {int(n): hint for n, hint in re.findall(r"^(\d+): (.*)$", text, re.M)}, re.findall(r"^note: (.*)$", text, re.M)


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


def has_time(hint: str | None) -> bool:
    return hint is not None and re.search(r"\d (?:s|ms|us)\b", hint) is not None


def check(session: Session) -> None:
    session.write(SOURCE)
    hints, notes = session.hints()
    expect(not notes and not any(has_time(h) for h in hints.values()), f"before any run: {hints} {notes}")
    contraction = line_of(SOURCE, "u[i,j] = d")
    # 27 triples of segments; elements 9 in all: 2*9*9*9 flop, and three blocks for each.
    expect(hints[contraction] == "216 bytes, 54 flop x 27", f"the contraction: {hints[contraction]}")

    session.run()
    rows = json.loads((session.folder / "run.json").read_text())["lines"]
    total = sum(row["seconds"] for row in rows)
    measured = {row["line"] for row in rows if row["seconds"] >= 1e-3 * total}
    expect(contraction in measured, f"the run measured {rows}")
    hints, notes = session.hints()
    expect(not notes, f"notes of a fresh run: {notes}")
    timed = {n for n, hint in hints.items() if has_time(hint)}
    expect(timed == measured, f"lines with times are {sorted(timed)}, measured were {sorted(measured)}")
    text = session.emitted("hover")
    expect(f"\n{contraction}:\n" in text and "27 executions" in text, f"the long text: {text}")
    array = text[text.index("\nd:\n"):]
    for part in ("i: aoindex 1:norb, 3 segments of 4, 3, 2", "9 blocks of 32 bytes to 128 bytes, 648 bytes in all", "puts: line 12", "gets: lines 18, 19",
                 "phase from the start: put", "phase from line 14: fetched"):
        expect(part in array, f"of array d nothing says `{part}`: {array}")

    # Lines above move everything down; a changed statement loses its time, and so does one of the same wording.
    edited = SOURCE.replace("scalar x\n", "scalar x\nscalar y\n# a remark\n").replace("  t[i,j] = 2.0\n", "  t[i,j] = 3.0\n").replace(
        "collective x += x\n", "pardo i, j\n  get d[i,j]\n  x += t[i,j]*t[i,j]\nendpardo i, j\ncollective x += x\n")
    edited = edited.replace("  x += t[i,j]*t[i,j]\nendpardo i, j\ncollective", "  t[i,j] = d[i,j]\n  x += t[i,j]*t[i,j]\nendpardo i, j\ncollective")
    session.write(edited)
    hints, notes = session.hints()
    expect(any("changed since the run" in note for note in notes), f"notes: {notes}")
    at = line_of(edited, "u[i,j] = d")
    expect(at == contraction + 2 and has_time(hints[at]) and hints[at].startswith("216 bytes, 54 flop x 27"), f"moved contraction: {hints.get(at)}")
    expect(not has_time(hints.get(line_of(edited, "= 3.0"))), "a changed statement has the time of the old one")
    for n, line in enumerate(edited.splitlines(), 1):
        if line.strip() == "x += t[i,j]*t[i,j]":
            expect(not has_time(hints.get(n)), f"line {n} may be the old or the new one, and has a time")
    expect("earlier version of this text" in session.emitted("hover"), "nothing says that the run was of an earlier version")

    # Another program of the name, in which some lines are the same.
    session.write("sial hinted\npredefined int norb\naoindex i = 1:norb\naoindex j = 1:norb\ntemp t[i,j]\nscalar x\npardo i, j\n  t[i,j] = 2.0\n"
                  "  x -= t[i,j]*t[i,j]\nendpardo i, j\nendsial hinted\n")
    hints, _ = session.hints()
    expect(not any(has_time(hint) for hint in hints.values()), f"another program has the times of this one: {hints}")
    session.write(edited)

    # Sizes of a newer job, and those of the command line.
    newer = session.folder / "newer.toml"
    newer.write_text(JOB.replace("[4, 3, 2]", "[10, 10, 10]"))
    hints, _ = session.hints("--job", str(newer))
    expect(hints[at].startswith("2.40 kB, 2 kflop x 27"), f"with another job: {hints[at]}")
    hints, _ = session.hints("--set", "norb=1", "--segments", "ao=5")
    expect(hints[at].startswith("600 bytes, 250 flop x 1"), f"with --set: {hints[at]}")
    newer.write_text("programs = [\"hinted.sialx\"]\nvalues = 3\n")
    _, notes = session.hints()
    expect(any("newer.toml" in note for note in notes), f"a job file with a mistake is not mentioned: {notes}")


def main() -> None:
    binaries = BIN
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "job.toml").write_text(JOB)
        check(Session(binaries, pathlib.Path(folder)))
    print("times stand beside their lines")


if __name__ == "__main__":
    main()
