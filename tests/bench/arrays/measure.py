#!/usr/bin/env python3
"""Arrays from an HDF5 file and into one, beside what h5py takes for the same dataset, in turns in one run.

Times of sialrun are differences: of a job that reads the array and one that reads a small one; of the first with and without `--save`. The
shortest of all rounds counts: a virtual machine may have to fetch memory from its host, which takes longer than everything else.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Callable

import h5py
import numpy as np

ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
PROGRAM = """sial touch
predefined int norb
aoindex i = 1:norb
aoindex j = 1:norb
predefined distributed a[i,j]
scalar x
pardo i, j
  where i == 1
  where j == 1
  get a[i,j]
  x += a[i,j]*a[i,j]
endpardo i, j
endsial touch
"""


def timed(what):
    begin = time.perf_counter()
    what()
    return time.perf_counter() - begin


def sialrun(args, folder, name, segments, ranks, *more):
    (folder / "job.toml").write_text(f'programs = ["touch.sialx"]\nmemory = "{args.bytes * 2 // ranks + 200_000_000}B"\n[segments]\nao = {segments}\n'
                                     f'[arrays]\na = {{file = "{name}.h5", dataset = "a"}}\n')
    command = [str(args.bin / "sialrun"), "job.toml", *more]
    if ranks > 1:
        command = ["mpirun", "-n", str(ranks), "--bind-to", "none", *command]
    subprocess.run(command, cwd=folder, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def h5py_write(folder, values):
    with h5py.File(folder / "written.h5", "w") as f:
        f["a"] = values
    with open(folder / "written.h5", "rb+") as f:
        os.fsync(f)


def h5py_read(path):
    with h5py.File(path) as f:
        f["a"][()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--bytes", type=float, default=1e9)
    parser.add_argument("--segment", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/dev/shm"), help="of the files; on a disk its speed is what counts")
    args = parser.parse_args()
    args.bin, args.out, args.bytes = args.bin.resolve(), args.out.resolve(), int(args.bytes)
    segments = round((args.bytes / 8)**0.5 / args.segment)
    n = segments * args.segment
    found = []
    with tempfile.TemporaryDirectory(prefix="sialx-arrays-", dir=args.folder) as name:
        folder = pathlib.Path(name)
        (folder / "touch.sialx").write_text(PROGRAM)
        values = np.random.default_rng(1).random((n, n))
        with h5py.File(folder / "plain.h5", "w") as f:
            f["a"] = values
        with h5py.File(folder / "chunked.h5", "w") as f:
            f.create_dataset("a", data=values, chunks=(min(n, 256), min(n, 256)))
        with h5py.File(folder / "small.h5", "w") as f:
            f["a"] = values[:args.segment, :args.segment].copy()
        print(f"{n} x {n} doubles, {8e-9 * n * n:.2f} GB, segments of {args.segment}, files in {args.folder}; the shortest of {args.repeat} rounds\n")
        print("| | ranks | h5py | sialrun | speed of sialrun, h5py = 1 |\n|---|---|---|---|---|")
        for ranks in (1, 2):
            times: dict[str, list[float]] = {key: [] for key in ("small", "plain", "chunked", "written", "h5 plain", "h5 chunked", "h5 written")}
            cut = [args.segment] * segments

            def take(key: str, what: Callable[[], object]) -> None:
                times[key].append(timed(what))

            for _ in range(args.repeat):
                take("small", lambda: sialrun(args, folder, "small", [args.segment], ranks))
                for kind in ("plain", "chunked"):
                    take(f"h5 {kind}", lambda: h5py_read(folder / f"{kind}.h5"))
                    take(kind, lambda: sialrun(args, folder, kind, cut, ranks))
                take("h5 written", lambda: h5py_write(folder, values))
                take("written", lambda: sialrun(args, folder, "plain", cut, ranks, "--save", "a"))
                with h5py.File(folder / "results.h5") as f:
                    assert np.array_equal(f["saved/arrays/a"][:2], values[:2])
            shortest = {key: min(all_times) for key, all_times in times.items()}
            for key, base, what in (("plain", "small", "read, one piece"), ("chunked", "small", "read, chunks of 256 x 256"), ("written", "plain", "written with --save")):
                theirs, mine = shortest[f"h5 {key}"], shortest[key] - shortest[base]
                print(f"| {what} | {ranks} | {theirs:.2f} s | {mine:.2f} s | {theirs / mine:.2f} |", flush=True)
                found.append({"what": key, "ranks": ranks, "h5py": theirs, "sialrun": mine, "bytes": 8 * n * n})
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "arrays.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
