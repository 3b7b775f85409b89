#!/usr/bin/env python3
"""Writes tests/TIMES.md: seconds of each test and sums per label, from CTest's JUnit files.

    times.py gate build/release/Testing/gate.xml
    times.py all build/release/Testing/{all,waits,asan,tsan}.xml

The column of the other level stays as it is in the page.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

PAGE = pathlib.Path(__file__).resolve().parent / "TIMES.md"
LEVELS = ("gate", "all")
HEAD = """# Seconds of the tests

Written by `tests/times.py` from what `tests/run.sh` leaves in `build/release/Testing`. Real seconds on two cores, two tests at a time: a test that
runs beside others takes longer than alone. Tests are listed from one second on. No test passes or fails by its time.
"""


def row(name, seconds):
    return f"| {name} | " + " | ".join(f"{seconds[level]:.1f}" if level in seconds else "" for level in LEVELS) + " |"


def table(title, rows):
    return "\n".join([f"| {title} | " + " | ".join(LEVELS) + " |", "|---|" + "--:|" * len(LEVELS), *rows]) + "\n"


def labels_of(build):
    """CTest's JUnit files do not have them."""
    listed = json.loads(subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, text=True).stdout)
    return {test["name"]: next((p["value"] for p in test["properties"] if p["name"] == "LABELS"), []) for test in listed["tests"]}


def main():
    level, *files = sys.argv[1:]
    sums: dict[str, dict[str, float]] = collections.defaultdict(dict)
    tests: dict[str, dict[str, float]] = collections.defaultdict(dict)
    kept = PAGE.read_text().split("\n## ") if PAGE.exists() else []
    for section, into in zip(kept[1:], (sums, tests)):
        for name, *cells in re.findall(r"^\| (\w+) \| ([\d.]*) \| ([\d.]*) \|$", section, re.M):
            into[name].update({k: float(v) for k, v in zip(LEVELS, cells) if v and k != level})
    labels = labels_of(pathlib.Path(files[0]).resolve().parents[1])
    for file in files:
        suite = {"asan": "asan", "tsan": "tsan"}.get(pathlib.Path(file).stem)
        for case in xml.parse(file).getroot().iter("testcase"):
            seconds = float(case.get("time", 0))
            for label in {suite} if suite else set(labels[case.get("name")]) - {"all"}:
                sums[label][level] = sums[label].get(level, 0) + seconds
            sums["every"][level] = sums["every"].get(level, 0) + seconds
            if seconds >= 1:
                name = f"{case.get('name')}_{suite}" if suite else case.get("name")
                tests[name][level] = seconds
    most = lambda item: -max(item[1].values(), default=0)
    PAGE.write_text(HEAD + "\n## Labels\n\n" + table("label", [row(*item) for item in sorted(sums.items(), key=most) if item[1]])
                    + "\n## Tests\n\n" + table("test", [row(*item) for item in sorted(tests.items(), key=most) if item[1]]))


if __name__ == "__main__":
    main()
