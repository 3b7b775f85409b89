#!/usr/bin/env python3
"""Random programs against what the analyses say of them (`sialc --emit=cost|intent`).

    run_facts.py --bin DIR [--count N] [--seed S] [--keep DIR]

  counts     operations, iterations, gets, puts ... predicted for the job are those that the run reports; where data decide, not less
  intents    every use of a remote array that the run reports is one that the listing has at that line
  last uses  a block is overwritten with nonsense right behind each of its last uses: the program prints what it printed before
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from generate import generate
from harness import ALL, BIN

COUNTERS = ["flops", "iterations", "gets", "puts", "accumulates", "scalar_puts", "block_operations", "super_instructions"]
LINE = re.compile(r"^ +(\w+) (.*\S) +# (\d+):\d+$")
USE = re.compile(r"(\w+)(\[[^\]]*\])? (read|write|update|fetch)( \(last use\)| \(never used\))?$")
NONSENSE = "777.0"
HEADERS = ("do ", "pardo ", "if ", "where ", "enddo", "endpardo", "endif", "else", "proc ", "allocate", "deallocate")


class Facts:
    def __init__(self, work):
        self.work = work

    def sialc(self, kind, name, arguments):
        p = subprocess.run([str(BIN / "sialc"), "-w", f"--emit={kind}", f"{name}.sialx", *arguments], cwd=self.work, capture_output=True, text=True)
        if p.returncode:
            sys.exit(f"sialc --emit={kind} {name}.sialx {' '.join(arguments)}: {p.stderr}")
        return p.stdout

    def counts(self, programs):
        """(predicted counters of the job, whether they are exact)"""
        total, exact = dict.fromkeys(COUNTERS, 0.0), True
        for program in programs:
            text = self.sialc("cost", program.name, program.arguments)
            exact = exact and "\nexact\n" in text
            for name in COUNTERS:
                total[name] += float(re.search(rf"^{name} (\S+)$", text, re.M).group(1))
        return total, exact

    def uses(self, program):
        """(line, opcode, array, reference, intent, mark) of the intent listing"""
        result = []
        for line in self.sialc("intent", program.name, []).splitlines():
            if (found := LINE.match(line)) is None:
                continue
            for word in found.group(2).split(", "):
                if use := USE.match(word):
                    result.append((int(found.group(3)), found.group(1), use.group(1), use.group(1) + (use.group(2) or ""), use.group(3), (use.group(4) or "").strip()))
        return result

    def run(self, jobs):
        """Outputs by name; every job's run.json is NAME.json."""
        (self.work / "jobs.txt").write_text("".join(
            f"{' '.join(p + '.sialx' for p in names)} {' '.join(arguments)} --print-format plain --run-json {name}.json --name {name}\n" for name, names, arguments in jobs))
        p = subprocess.run([str(BIN / "sialrun"), "-O0", "--store=copy", "--batch", "jobs.txt"], cwd=self.work, capture_output=True, text=True, timeout=600)
        outputs: dict[str, list[str]] = {}
        name = None
        for line in p.stdout.splitlines():
            if line.startswith("=== "):
                name = line[4:].strip()
                outputs[name] = []
            elif name:
                outputs[name].append(line)
        return outputs, p.stderr


def poison_last_uses(program, uses):
    """The program with an assignment behind every last use of a whole block, and how many."""
    lines = program.text().splitlines()
    behind: dict = {}
    for number, op, _, reference, _, mark in uses:
        statement = lines[number - 1].strip()
        partial = re.search(r"\b(ii|jj)\b", reference) and not reference.startswith("sub")  # a part of a block cannot be filled
        if not mark or "[" not in reference or "allocate" in op or partial or statement.startswith(HEADERS):
            continue
        behind.setdefault(number, set()).add(reference)
    result = []
    for number, line in enumerate(lines, 1):
        result.append(line)
        result += [f"{reference} = {NONSENSE}" for reference in sorted(behind.get(number, ()))]
    return "\n".join(result) + "\n", sum(len(b) for b in behind.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=150 if ALL else 50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    failures, exact_jobs, checked, poisoned, accesses = [], 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        work = options.keep or pathlib.Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        facts = Facts(work)
        jobs, runs = [], []
        for seed in range(options.seed, options.seed + options.count):
            first = generate(seed, f"p{seed}")
            programs = [first, *first.followers]
            for p in programs:
                p.arguments = first.arguments
                (work / f"{p.name}.sialx").write_text(p.text())
            listing = [facts.uses(p) for p in programs]
            names = []
            for p, uses in zip(programs, listing):
                text, n = poison_last_uses(p, uses)
                poisoned += n
                names.append(f"{p.name}_s")
                (work / f"{p.name}_s.sialx").write_text(text)
            jobs.append((first.name, programs, listing))
            runs += [(first.name, [p.name for p in programs], first.arguments), (f"{first.name}_s", names, first.arguments)]
        outputs, errors = facts.run(runs)
        for name, programs, listing in jobs:
            report = work / f"{name}.json"
            if not report.exists():
                continue  # the program ends with an error: overflow of its numbers
            measured = json.loads(report.read_text())
            predicted, exact = facts.counts(programs)
            exact_jobs += exact
            checked += 1
            for counter in COUNTERS:
                found = measured["total"][counter]
                if found != predicted[counter] if exact else found > predicted[counter]:
                    failures.append(f"{name}: {counter} is {found}, predicted {'' if exact else 'at most '}{predicted[counter]:g}")
            known = {(p.name, line, array) for p, uses in zip(programs, listing) for line, _, array, _, _, _ in uses}
            for access in measured["remote_accesses"]:
                accesses += 1
                if access["accesses"] and (access["program"], access["line"], access["array"]) not in known:
                    failures.append(f"{name}: {access['array']} is used in line {access['line']}, the listing does not say so")
            if outputs.get(name) != outputs.get(f"{name}_s"):
                failures.append(f"{name}: prints something else when blocks are overwritten behind their last uses")
    print(*failures[:20], sep="\n")
    if failures:
        print(errors[-2000:])
    print(f"{checked} of {options.count} programs from seed {options.seed}: {exact_jobs} counted exactly, {accesses} accesses, {poisoned} last uses; {len(failures)} failures")
    sys.exit(1 if failures or checked < options.count * 0.7 or exact_jobs < checked * 0.2 or poisoned < options.count else 0)


if __name__ == "__main__":
    main()
