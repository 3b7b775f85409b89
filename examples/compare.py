#!/usr/bin/env python3
"""Sets the scalars of a results.h5 beside reference values.

    compare.py results.h5 expected.json

expected.json: {"scalars": {"name": {"value": x, "tolerance": t, "source": "..."}}}. Exit code 1 when one differs or is missing.
"""
import json
import sys

try:
    import h5py
except ModuleNotFoundError:
    sys.exit("error: this Python has no h5py: `$(bash examples/find_python.sh) examples/compare.py ...` takes one that has")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[2]) as f:
        expected = json.load(f)["scalars"]
    wrong = 0
    print(f"{'':24s} {'computed':>20s} {'reference':>20s} {'difference':>11s}")
    with h5py.File(sys.argv[1], "r") as f:
        scalars = f["scalars"]
        for name, want in expected.items():
            if name not in scalars:
                print(f"{name:24s} {'missing':>20s} {want['value']:20.10f}")
                wrong += 1
                continue
            value = float(scalars[name][()])
            difference = value - want["value"]
            good = abs(difference) <= want["tolerance"]
            wrong += not good
            print(f"{name:24s} {value:20.10f} {want['value']:20.10f} {difference:11.1e}  {'agrees' if good else 'DIFFERS'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
