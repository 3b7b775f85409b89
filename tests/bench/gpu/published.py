#!/usr/bin/env python3
"""Prints what a thesis published of copies, pinned memory and its cache beside what was measured here.

    published.py FOLDER

FOLDER: where device.json (suites `copies` and `allocation` of bench_gpu) and programs.json (hits, of programs.sh) are; what is not there is `-`.

Published: a University of Florida thesis on the Super Instruction Architecture, measured on a Tesla K80 beside 2 x 16 cores of the Haswell generation.
"""
import argparse
import json
import pathlib
import sys

# Doubles of a block: seconds of its copy from host to device, pinned and not pinned.
COPIES = {
    225: (6.5e-5, 5.6e-5),
    900: (7.0e-5, 5.8e-5),
    1600: (7.1e-5, 8.7e-5),
    2500: (7.4e-5, 6.2e-5),
    3600: (7.8e-5, 6.6e-5),
    50625: (5.9e-5, 1.20e-4),
    160000: (1.31e-4, 2.49e-4),
    390625: (3.06e-4, 5.11e-4),
    810000: (6.07e-4, 1.07e-3),
    1500625: (1.11e-3, 2.17e-3),
    2560000: (1.88e-3, 3.16e-3),
    4100625: (3.07e-3, 4.81e-3),
    6250000: (4.61e-3, 6.79e-3),
    9150625: (6.78e-3, 1.05e-2),
    12960000: (9.53e-3, 1.52e-2),
}
# Program: hits and misses of the cache of pinned blocks; seconds that taking memory cost in all, pinned without and with the cache, and not pinned.
CACHES = {
    "scf_rhf_coreh": (7975, 214, 0.1718, 0.00711, 0.00138),
    "tran_rhf_no4v": (8028, 229, 0.0119, 0.00223, 3.4e-5),
    "rccsd_rhf": (12859, 1435, 0.7167, 0.0704, 0.0062),
    "rccsdpt_aaa": (14899, 3012, 0.0137, 0.00249, 8.1e-5),
    "rccsdpt_aab": (15822, 3696, 0.0198, 0.00260, 5.0e-5),
}


def read(path):
    return json.loads(path.read_text()) if path.exists() else {}


def numbers_of(device, suite):
    """By doubles of a block: the columns of its row."""
    return {int(row["name"].split()[0]): row["numbers"] for s in device.get("suites", []) if s["name"] == suite for row in s["rows"]}


def text(value, form):
    return "-" if value is None else format(value, form)


def ratio(slow, fast):
    return None if slow is None or fast is None else slow / fast


def copies(device):
    ours = numbers_of(device, "copies")
    print("\nseconds of one block from host to device; ratio: not pinned by pinned")
    print(f"  {'doubles':>10}  {'published: pinned':>18} {'not pinned':>10} {'ratio':>6}  {'here: pinned':>12} {'not pinned':>10} {'ratio':>6}")
    for doubles in sorted(COPIES | ours):
        rates = ours.get(doubles, {})
        here = [8e-9 * doubles / rates[way] if rates.get(way) else None for way in ("pinned in", "driver in")]
        pinned, plain = COPIES.get(doubles, (None, None))
        print(
            f"  {doubles:>10}  {text(pinned, '.2e'):>18} {text(plain, '.2e'):>10} {text(ratio(plain, pinned), '.2f'):>6}"
            f"  {text(here[0], '.2e'):>12} {text(here[1], '.2e'):>10} {text(ratio(here[1], here[0]), '.2f'):>6}"
        )


def memory(device):
    ours = numbers_of(device, "allocation")
    print("\nseconds to take memory and give it back; `ours` is pinned memory from the node heap, `driver` what it would cost each time")
    print("  published, of any size: malloc 6.4e-07 to 3.7e-06, pinned 4.1e-05 to 7.1e-05")
    if ours:
        print(f"  {'doubles':>10}  {'malloc':>10} {'ours':>10} {'driver':>10}")
    for doubles, row in sorted(ours.items()):
        here = [None if row[column] is None else 1e-9 * row[column] for column in ("malloc", "our pinned", "driver pinned")]
        print(f"  {doubles:>10} " + "".join(f" {text(x, '.2e'):>10}" for x in here))


def hits(programs):
    print("\nshare of requests for memory that the cache of pinned blocks answers; here: host blocks that come from a free list (the others are cut from slabs of 8 MiB that are")
    print("pinned already), memory of the device without a call of the driver")
    for name, (found, missed, uncached, cached, plain) in CACHES.items():
        print(f"  published: {name:<18} {found / (found + missed):.3f}   seconds in all {uncached:.2g}, with the cache {cached:.2g}, not pinned {plain:.2g}")
    for job in programs.get("hits", []):
        for what, kind in (("host blocks", "buffer"), ("device", "device")):
            if requests := job[kind + "_requests"]:
                print(f"  here:      {job['job']:<18} {job[kind + '_hits'] / requests:.4f}  {what}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    device, programs = read(folder / "device.json"), read(folder / "programs.json")
    print("published: University of Florida thesis, Tesla K80; here: " + (device.get("device") or "no GPU, nothing measured"))
    copies(device)
    memory(device)
    hits(programs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
