#!/usr/bin/env python3
"""Measured constants of the cost model of contractions: read from speed.json, shown, used by all ranks, refused where damaged, and without effect on
any bit of a result.

    run_costs.py --bin DIR
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py

from harness import BIN, expect

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "runtime" / "core" / "kernels" / "contraction" / "contraction_costs.def"


def fitted():
    """Name and value for vectors of eight of every fitted constant."""
    rows = re.findall(r'^SIALX_COST\((\w+), [\d.e]+, ([\d.e]+), fitted,', TABLE.read_text(), re.MULTILINE)
    expect(len(rows) > 30, f"constants in {TABLE}")
    return {name: float(value) for name, value in rows}


class Runs:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.cache = folder / "cache" / "sialx"
        self.cache.mkdir(parents=True, mode=0o700)
        self.environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "XDG_CACHE_HOME": str(self.cache.parent)}

    def call(self, *arguments, launcher=()):
        done = subprocess.run([*launcher, self.binary, *arguments], env=self.environment, capture_output=True, text=True, timeout=120)
        expect(done.returncode == 0, f"{arguments}: {done.stderr}")
        return done

    def version(self):
        return self.call("--version", "--verbose").stdout

    def write(self, text):
        (self.cache / "speed.json").write_text(text)

    def job(self, *arguments, launcher=()):
        """How blocks were multiplied, and the result's bytes."""
        said = self.call(HERE / "costs.sialx", "--set", "norb=2", "--segments", "ao=60,64", "--jit", "off", "--schedule", "static", "--explain-kernels", "--output-dir", self.folder, *arguments, launcher=launcher).stderr
        with h5py.File(self.folder / "results.h5", "r") as results:
            values = results["statics/c"][()].tobytes()
        return set(re.findall(r"(packed|rows in place)", said)), values


def main():
    binary = BIN / "sialrun"
    with tempfile.TemporaryDirectory() as name:
        runs = Runs(binary, pathlib.Path(name))
        said = runs.version()
        expect("constants of contractions: usual values" in said, f"without a file: {said}")
        tiles = re.search(r"register tiles of \d+ x \d+, built in for (AVX-512|AVX2)", said)
        usual, values = runs.job()
        processor = re.search(r"^processor: (.*)$", said, re.MULTILINE).group(1)
        costs = fitted()
        costs["pack_rows_along"] /= 10
        costs["rows_in_place"] *= 10
        costs["rows_in_place_near"] *= 10
        speed = {"format": "sialx speed", "version": 2, "processor": processor, "cycles": 3e9, "l2_rate": 5e10, "l3_rate": 3e10, "memory_rate": 1e10,
                 "contractions": {"width": 8 if tiles and tiles.group(1) == "AVX-512" else 4, **costs}}
        good = json.dumps(speed)
        runs.write(good)
        said = runs.version()
        expect(re.search(r"constants of contractions: measured, .*pack_rows_along 0\.07\b", said), f"with a file: {said}")
        # Among processes rank 0 alone reads the file.
        for arguments, launcher in (((), ()), (("--simulate", "ranks=3,seed=1"), ()), (("--threads", "2"), ()), ((), ("mpirun", "-n", "2", "--bind-to", "none"))):
            measured, same = runs.job(*arguments, launcher=launcher)
            expect(values == same, f"measured constants change a result: {arguments} {launcher}")
            if tiles:
                expect(usual == {"rows in place"} and measured == {"packed"}, f"{arguments} {launcher}: usual constants choose {usual}, measured ones {measured}")
        # Nothing of a damaged or older file is used, and nobody is troubled with it.
        for what, damaged in (("cut", good[:len(good) // 2]), ("no number", good.replace('"rows_in_place": 0.5', '"rows_in_place": "0.5"')), ("out of bounds", good.replace('"rows_in_place": 0.5', '"rows_in_place": 5e9')),
                              ("older", good.replace('"version": 2', '"version": 1')), ("another processor", good.replace('"processor": "', '"processor": "not '))):
            expect(damaged != good, what)
            runs.write(damaged)
            expect("constants of contractions: usual values" in runs.version(), f"a file that is {what} is used")
            expect(runs.job() == (usual, values), f"a file that is {what} changes how blocks are multiplied")


if __name__ == "__main__":
    main()
