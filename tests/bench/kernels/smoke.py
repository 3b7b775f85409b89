#!/usr/bin/env python3
"""Runs bench_kernels on tiny extents and checks its JSON: the cases are all there, their results right, the numbers consistent.

    smoke.py BENCH_KERNELS
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

TCCG = {"intensli": 8, "ao2mo": 3, "ccsd": 19, "ccsd_t": 18}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def check_case(case):
    labels = {name: list(case[name]) for name in "dab"}
    extents = case["extents"]
    # Each label in exactly two operands; m, n, k are the extents of the pairs.
    size = {"da": 1, "db": 1, "ab": 1}
    for label in set(case["d"] + case["a"] + case["b"]):
        pair = "".join(name for name in "dab" if label in labels[name])
        assert pair in size, f"{case['name']}: label {label} is in `{pair}`"
        size[pair] *= extents[label]
    assert (size["da"], size["db"], size["ab"]) == (case["m"], case["n"], case["k"]), case["name"]
    assert case["flops"] == 2.0 * case["m"] * case["n"] * case["k"]
    elements = size["da"] * size["ab"] + size["ab"] * size["db"] + size["da"] * size["db"] * (1 if case["beta"] == 0 else 2)
    assert case["bytes"] == 8.0 * elements
    assert all(0.0 < s < 60.0 for s in case["seconds"].values()), case["seconds"]
    assert all(0.0 <= e <= 1.0 for e in case["error"].values()), (case["name"], case["error"])
    known = {n: case["seconds"][n] for n in ("ttgt", "looped", "libxsmm") if n in case["seconds"]}
    assert case["seconds"][case["best_known"]] == min(known.values())


def main():
    with tempfile.TemporaryDirectory(prefix="sialx-bench-") as folder:
        out = pathlib.Path(folder) / "kernels.json"
        command = [sys.argv[1], "--size", "tiny", "--kernels", "reference,blas,auto,no-such-kernels", "--self-check", "--json", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        document = json.loads(out.read_text())
    assert "no-such-kernels" in document["skipped"] and {"reference", "blas"} <= set(document["kernels"])
    cases = document["cases"]
    for group, count in TCCG.items():
        members = [c for c in cases if c["suite"] == "tccg" and c["group"] == group]
        assert len(members) == count == len({c["name"] for c in members}), group
    assert {c["setting"] for c in cases if c["suite"] == "sial"} == {"3", "2/3/5", "1"}
    for case in cases:
        check_case(case)
    assert any("looped" in c["seconds"] for c in cases)
    for suite, groups in document["groups"].items():
        for group, means in groups.items():
            members = [c for c in cases if (c["suite"], c["group"]) == (suite, group)]
            for name in document["kernels"]:
                mine = geometric_mean([c["seconds"]["ttgt"] / c["seconds"][name] for c in members])
                assert math.isclose(mine, means["to_ttgt"][name], rel_tol=1e-9), (suite, group, name)
                speed = geometric_mean([1e-9 * c["flops"] / c["seconds"][name] for c in members])
                assert math.isclose(speed, means["gflops"][name], rel_tol=1e-9), (suite, group, name)
    print(f"{len(cases)} cases, kernels {', '.join(document['kernels'])}")


if __name__ == "__main__":
    main()
