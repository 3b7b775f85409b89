#!/usr/bin/env python3
"""The GPU benchmarks on the fake driver: their results are right, their JSON complete; times are nobody's business here.

    smoke.py --bin DIR
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples"
# Suite: columns, how many rows at least, target.
SUITES = {
    "copies": ({"staged in", "driver in", "staged out", "driver out", "pinned in", "pinned out"}, 3, None),
    "allocation": ({"malloc", "driver pinned", "driver device", "register", "kept", "our pinned", "our device", "hits"}, 3, 1.0),
    "contractions": ({"m", "n", "k", "us", "GFLOP/s", "cuBLAS"}, 24, 0.85),
    "permutations": ({"MB", "us", "GB/s", "copy GB/s"}, 20, 0.8),
    "chains": ({"MB", "us", "GB/s", "copy GB/s"}, 10, 0.85),
    "launches": ({"us", "GFLOP/s", "cuBLAS"}, 11, None),
    "store": ({"PUT", "GET", "total"}, 6, None),
}


def expect(condition, text):
    if not condition:
        raise SystemExit("FAILED: " + text)


def run(*command, code=0, fake="memory=1000000000", libraries=None, binary):
    env = dict(os.environ, SIALX_CUDA_LIBRARIES=str(libraries or binary / "fake-cuda"), SIALX_FAKE_CUDA=fake)
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=250, env=env)
    expect(done.returncode == code, f"{command}: exit code {done.returncode}, not {code}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def check_suite(suite):
    columns, least, target = SUITES[suite["name"]]
    rows = suite["rows"]
    expect(len(rows) >= least and len({r["name"] for r in rows}) == len(rows), f"{suite['name']}: {len(rows)} rows")
    expect(suite["target"] == target and suite["about"], f"{suite['name']}: {suite['target']}")
    for row in rows:
        expect(set(row["numbers"]) == columns, f"{row['name']}: {row['numbers']}")
        expect(row["right"], f"{suite['name']}: {row['name']} is wrong")
        measured = [x for x in row["numbers"].values() if x is not None]
        expect(measured and all(math.isfinite(x) and x >= 0 for x in measured), f"{row['name']}: {row['numbers']}")
        expect((row["share"] is not None) == (suite["against"] != ""), f"{row['name']}: share {row['share']}")
    # Shares are what they are said to be of.
    for row in rows:
        n, share = row["numbers"], row["share"]
        if suite["name"] == "contractions":
            expect(math.isclose(share, n["GFLOP/s"] / n["cuBLAS"], rel_tol=1e-9), f"{row['name']}: {share}")
            expect(row["note"].startswith(("in place", "brings")), f"{row['name']}: {row['note']}")
        elif suite["name"] in ("permutations", "chains"):
            expect(math.isclose(share, n["GB/s"] / n["copy GB/s"], rel_tol=1e-9), f"{row['name']}: {share}")
        elif suite["name"] == "allocation":
            expect(math.isclose(share, n["our pinned"] / min(n["malloc"], n["kept"]), rel_tol=1e-9) and n["hits"] == 1, f"{row['name']}: {row}")


def check_device(binary):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "device.json"
        text = run(binary / "bench_gpu", "--quick", "--json", file, binary=binary)
        j = json.loads(file.read_text())
        expect(j["quick"] and "Fake GPU" in j["device"] and [s["name"] for s in j["suites"]] == list(SUITES), f"suites: {[s['name'] for s in j['suites']]}")
        for suite in j["suites"]:
            check_suite(suite)
            for row in suite["rows"]:
                expect(row["name"] in text, f"table: {row['name']} is missing")
        check_published(j, folder)
        for target in ("at least 0.85", "at least 0.8", "at most 1"):
            expect("target " + target in text, f"table: {target} is missing")
        expect("not measured: direct transfers between devices and a network" in text, "what the machine could not show")
        run(binary / "bench_gpu", "--quick", "--only", "chains,launches", "--json", file, binary=binary)
        expect([s["name"] for s in json.loads(file.read_text())["suites"]] == ["chains", "launches"], "--only")
    # Memory that cannot be pinned is left out, and said to be.
    expect("3375 doubles, pinned: the driver does not register" in run(binary / "bench_gpu", "--quick", "--only", "copies", fake="pin=1,memory=1000000000", binary=binary), "refused memory")
    text = run(binary / "bench_gpu", "--quick", code=3, libraries="/nonexistent", binary=binary)
    expect("nothing was measured: there is no CUDA driver" in text, f"without a GPU: {text}")
    run(binary / "bench_gpu", "--only", "nothing", code=2, binary=binary)
    run(binary / "bench_gpu", "--nonsense", code=2, binary=binary)


def check_published(j, folder):
    """The published figures stand beside those of `j`, block size by block size; without measurements they stand alone."""
    text = subprocess.run([sys.executable, HERE / "published.py", folder], check=True, capture_output=True, text=True).stdout
    for suite, column, seconds in (("copies", "pinned in", lambda n, x: 8e-9 * n / x), ("allocation", "our pinned", lambda _, x: 1e-9 * x)):
        for row in next(s["rows"] for s in j["suites"] if s["name"] == suite):
            doubles = row["name"].split()[0]
            line = [s for s in text.splitlines() if s.split()[:1] == [doubles]][suite == "allocation"]
            expect(f"{seconds(int(doubles), row['numbers'][column]):.2e}" in line.split(), f"published: {line}")
    expect(any(s.split()[:4] == ["225", "6.50e-05", "5.60e-05", "0.86"] for s in text.splitlines()), f"published: {text}")
    with tempfile.TemporaryDirectory() as empty:
        alone = subprocess.run([sys.executable, HERE / "published.py", empty], check=True, capture_output=True, text=True).stdout
    expect("nothing measured" in alone and "9.53e-03" in alone and "0.974" in alone, f"published: {alone}")


def check_starts(binary):
    with tempfile.TemporaryDirectory() as out:
        text = run(sys.executable, HERE / "starts.py", "--bin", binary, "--out", out, "--only", "scf", binary=binary)
        row, = json.loads((pathlib.Path(out) / "starts.json").read_text())["results"]
    expect(row["alone"]["batches"] == row["alone"]["waited"] == 0 and row["alone"]["starts"] >= row["alone"]["operations"], f"starts: {row}")
    expect(row["together"]["starts"] < row["alone"]["starts"] and row["together"]["batched"] >= 2 * row["together"]["batches"] > 0 and abs(row["difference"]) <= 1e-9, f"starts: {row}")
    expect(str(row["together"]["starts"]) in text, f"starts: {text}")


def check_programs(binary):
    script = HERE / "programs.sh"
    for libraries, where in ((None, {"GPU", "1 core"}), ("/nonexistent", set())):
        with tempfile.TemporaryDirectory() as out:
            text = run("bash", script, "--bin", binary, "--examples", EXAMPLES, "--out", out, "--quick", libraries=libraries, binary=binary)
            j = json.loads((pathlib.Path(out) / "programs.json").read_text())
        expect([h["job"] for h in j["hits"]] == ["scf"] and 0 < j["hits"][0]["device_hits"] <= j["hits"][0]["device_requests"] and j["hits"][0]["buffer_hits"] > 0, f"hits: {j['hits']}")
        expect({c["where"] for c in j["ccsd"]} >= where and (where or not j["ccsd"]), f"programs: {j['ccsd']}\n{text}")
        expect(("left out: no GPU to run on" in text) == (not where), f"programs: {text}")
        for row in j["ccsd"]:
            expect(row["iterations"] > 3 and row["iteration_seconds"] > 0 and row["energy"] < -0.1, f"programs: {row}")
            expect((row["device"] is not None) == (row["where"] == "GPU"), f"programs: {row}")
        if where:
            d = j["ccsd"][0]["device"]
            expect(0 <= d["overlapped_seconds"] <= min(d["copy_seconds"], d["kernel_seconds"]) and "Fake GPU" in j["device"], f"programs: {d}")
    run("bash", script, "--quick", code=2, binary=binary)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--only", choices=("device", "programs"))
    options = parser.parse_args()
    binary = options.bin.resolve()
    if options.only != "programs":
        check_device(binary)
    if options.only != "device":
        check_starts(binary)
        check_programs(binary)
    print("results are right and the JSON is complete")


if __name__ == "__main__":
    main()
