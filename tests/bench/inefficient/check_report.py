#!/usr/bin/env python3
"""The report of inefficient.sialx names its ten inefficiencies: each with a line marked `#! N`, its array, and what is the matter.

    check_report.py --bin DIR [--show]

Also checked: the program prints the same at -O0 and -O2, the text report shows what the JSON says, and without optimisation there are
no remarks (what is found is found by the passes).
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE / "inefficient.sialx"

# number: (what, kinds of remark, the array it is about or None, a word of it must be in pass, name, text or advice)
TEN = {
    1: ("needless copy", ("passed", "missed"), "held", r"memory|in place|itself instead|copy|copied"),
    2: ("scaled after the product", ("passed", "missed"), "work", r"times -0\.5|scaled"),
    3: ("permuted copy", ("passed", "missed"), "turned", r"permut|another order"),
    4: ("invariant get in an inner loop", ("passed", "missed"), "fock", r"invariant|once|already|again|same block"),
    5: ("put += to one block in a loop", ("passed", "missed"), "result", r"combin|add(ed|s) up|locally"),
    6: ("back-to-back barriers", ("passed", "missed"), None, r"barrier is left out"),
    7: ("dead store", ("passed", "missed"), "dead", r"nobody reads|dead"),
    8: ("get that depends on fetched data", ("missed",), None, r"data|condition"),
    9: ("range of length 1", ("missed", "analysis"), "shift", r"\b1\b|one|length|single"),
    10: ("fetched again after a barrier", ("passed", "missed"), "table", r"barrier|kept|again"),
}


def run(command, **more):
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if p.returncode:
        sys.exit(f"{' '.join(str(c) for c in command)}: exit code {p.returncode}\n{p.stderr}")
    return p.stdout


def marks():
    lines: dict = {}
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1):
        if found := re.search(r"#! (\d+)", line):
            lines.setdefault(int(found.group(1)), set()).add(number)
    return lines


def names(remark, lines, kinds, array, words):
    """Whether a remark is about this: at one of the lines or speaking of it."""
    text = " ".join([remark["pass"], remark["name"], remark["text"], remark["advice"]])
    spoken = {int(n) for n in re.findall(r"\bline (\d+)", remark["text"])}
    return (remark["kind"] in kinds and (remark["line"] in lines or spoken & lines) and
            (array is None or remark["array"] == array or f"`{array}" in text) and re.search(words, text, re.I))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--show", action="store_true", help="print the remarks found")
    options = parser.parse_args()
    bin_dir = options.bin.resolve()
    lines = marks()
    complaints = [f"{n} is not marked in the program" for n in TEN if n not in lines]
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch)
        arguments = re.search(r"^# args: (.*)$", PROGRAM.read_text(), re.M).group(1).split()
        printed = {}
        for level in ("-O0", "-O2"):
            module = out / f"at{level}.siox"
            run([bin_dir / "sialc", "-w", level, "-o", module, PROGRAM])
            printed[level] = run([bin_dir / "sialrun", module, "--results", "none", *arguments], cwd=out)
        if printed["-O0"] != printed["-O2"] or "weight" not in printed["-O0"]:
            complaints.append(f"-O2 prints {printed['-O2']!r}, -O0 {printed['-O0']!r}")
        if json.loads(run([bin_dir / "sialreport", out / "at-O0.siox", "--format=json"])).get("remarks"):
            complaints.append("there are remarks at -O0")
        remarks = json.loads(run([bin_dir / "sialreport", out / "at-O2.siox", "--format=json"]))["remarks"]
        text = run([bin_dir / "sialreport", out / "at-O2.siox"])
    for number, (what, kinds, array, words) in TEN.items():
        found = [r for r in remarks if names(r, lines.get(number, set()), kinds, array, words)]
        if not found:
            near = [f"      {r['line']} {r['kind']} {r['pass']}/{r['name']} {r['array']}: {r['text']}" for r in remarks if r["line"] in lines.get(number, ())]
            complaints += [f"{number}, {what} (line {', '.join(map(str, sorted(lines.get(number, ()))))}): no remark names it", *near]
            continue
        if any(r["kind"] == "missed" and not r["advice"] for r in found[:1]) and number in (8,):
            complaints.append(f"{number}, {what}: the remark does not say what to change")
        squeezed = re.sub(r"\s+", " ", text)
        if not any(re.sub(r"\s+", " ", r["text"]) in squeezed for r in found):
            complaints.append(f"{number}, {what}: the text report does not show `{found[0]['text']}`")
        if options.show:
            for r in found:
                print(f"{number:3} {what}: line {r['line']}, {r['kind']}, {r['pass']}/{r['name']}: {r['text']}")
    print("\n".join([*complaints, f"{len(TEN) - sum(bool(re.match(r'[0-9]+,', c)) for c in complaints)} of {len(TEN)} inefficiencies are named"]))
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
