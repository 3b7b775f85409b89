#!/usr/bin/env python3
"""`predefined distributed` and `predefined served` arrays from HDF5 files: all ranks together see just what NumPy wrote.

    input_arrays.py --bin DIR [unittest arguments]
"""
from __future__ import annotations

import json
import pathlib
import re
import sys
import time
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

from array_jobs import KINDS, ONE, SHARED, WORLDS, ArrayJobs, Worlds, copy_program
from harness import all_only, gate, main


@all_only
class InputArrays(ArrayJobs):
    @gate
    def test_random(self) -> None:
        """Ranks of arrays, index kinds, ranges, uneven segments, types, chunks and filters."""
        random = np.random.default_rng(20)
        for number in range(12):
            rank = (1, 2, 3, 4, 2, 3, 6)[number % 7]
            segments = {k: [int(x) for x in random.integers(1, 8, random.integers(1, 5))] for k in KINDS}
            indices, shape = [], []
            for d in range(rank):
                kind = str(random.choice([*KINDS, "simple"])) if rank < 6 else "simple"
                if kind == "simple":
                    low, n = int(random.integers(-2, 2)), int(random.integers(1, 4))
                    indices.append(f"index x{d} = {low}:{low + n - 1}")
                    shape.append(n)
                else:
                    low = int(random.integers(1, len(segments[kind]) + 1))
                    high = int(random.integers(low, len(segments[kind]) + 1))
                    indices.append(f"{kind}index x{d} = {low}:{high}")
                    shape.append(sum(segments[kind][low - 1:high]))
            values = (10 * random.standard_normal(shape)).astype(str(random.choice(["f8", "f4", ">f8", "i4", "i8", "u2"])))
            options: dict[str, Any] = {}
            if number % 3:
                options["chunks"] = tuple(int(random.integers(1, n + 1)) for n in reversed(shape))
            if number % 3 == 2:
                options["compression"] = "gzip"
            # Column-major data of a Fortran program is row-major data of the transpose.
            data = np.asfortranarray(values).T
            self.write_array(data, **options)
            self.job([copy_program(str(random.choice(["distributed", "served"])), indices)], segments)
            worlds = [WORLDS[0], WORLDS[1 + number % (len(WORLDS) - 1)]]
            self.compare(data, worlds, (number, indices, values.dtype, options))

    def test_parts(self) -> None:
        """Arrays that ranks read in several parts, with chunks that fit blocks and chunks that do not."""
        random = np.random.default_rng(21)
        data = random.standard_normal((430, 500))
        segments = {"ao": [37, 80, 1, 90, 120, 2, 100, 70], "mo": [100, 200, 30, 60, 40]}
        self.job([copy_program("distributed", ["aoindex i = 1:8", "moindex j = 1:5"])], segments)
        cases: list[tuple[dict[str, Any], Worlds]] = [
            ({}, WORLDS[:4]), ({"chunks": (64, 64), "compression": "gzip"}, WORLDS[2:]), ({"chunks": (430, 7)}, ONE),
            ({"chunks": (3, 500), "compression": "gzip", "shuffle": True, "fletcher32": True}, WORLDS[2:3]), ({"chunks": (430, 500)}, SHARED[1:])]
        for options, worlds in cases:
            self.write_array(data, **options)
            self.compare(data, worlds, options)
        four = random.standard_normal((12, 20, 16, 24))
        self.write_array(four, chunks=(5, 7, 16, 9), compression="gzip")
        self.job([copy_program("served", ["aoindex i = 1:3", "moindex j = 1:2", "moaindex k = 1:4", "laindex l = 1:2"])],
                 {"ao": [11, 3, 10], "mo": [9, 7], "moa": [5, 1, 6, 8], "la": [4, 8]})
        self.compare(four, [*SHARED, WORLDS[2]], "four dimensions")

    @gate
    def test_ranges_from_shapes(self) -> None:
        """Predefined ints that bound a range, and segments that nobody states, follow from the arrays."""
        data = np.random.default_rng(23).standard_normal((230, 230))
        program = ("sial ranges\npredefined int n\npredefined int m\npredefined int q\naoindex i = 1:n\naoindex j = 1:n\nindex k = -1:m\nmoindex p = 2:q\n"
                   "predefined distributed a[i,j]\npredefined static w[k]\npredefined served b[p,k]\nscalar total\nscalar part\nstatic s[i,j]\n"
                   "do i\ndo j\nget a[i,j]\ns[i,j] = a[i,j]\nenddo j\nenddo i\ndo k\ntotal += w[k]\ndo p\nrequest b[p,k]\npart = b[p,k]*b[p,k]\ntotal += part\nenddo p\nenddo k\nendsial ranges\n")
        with h5py.File(self.dir / "data.h5", "w") as f:
            f["a"], f["w"], f["b"], f["wrong"] = data, np.arange(4.0), np.full((4, 9), 2.0), np.ones((4, 8))
        arrays = "".join(f'{n} = {{file = "data.h5", dataset = "{n}"}}\n' for n in "awb")
        self.job([program], {"mo": [3, 4, 5]}, arrays)
        for more, n in (((), 15), (("--segments", "ao_target=50"), 5), (("--segments", "ao=50,100,80"), 3)):
            for ranks in (1, 2):
                self.run_ok(ranks, *more)
                np.testing.assert_array_equal(self.static("s"), data)
                with h5py.File(self.dir / "results.h5") as f:
                    self.assertEqual([int(f[f"ints/{name}"][()]) for name in "nmq"], [n, 2, 3])
                    self.assertEqual(float(f["scalars/total"][()]), 6.0 + 4 * 9 * 4.0)
        self.assertIn("n = 15: from the shape of the array a", self.job_on(1).stderr)
        self.run_ok(1, "--dry-run")
        stated = self.job_on(1, "--set", "n=2", "--segments", "ao=50,100,80")
        self.assertRegex(stated.stderr, r"has the shape \(230, 230\), and program `ranges` declares .* takes \(150, 150\)")
        for changed, says in ((arrays.replace('dataset = "b"', 'dataset = "wrong"'), r"job.toml:\d+:\d+: dataset `wrong` in `\S+` has 8 elements where the array `b` has the index `p`, and no number of segments of kind mo has as many\n +hint: all indices of kind mo .*: 3, 4, 5;"),
                              (arrays.replace('dataset = "w"', 'dataset = "a"'), "has the shape|dimensions|extent"),
                              (arrays.replace('w = {file = "data.h5", dataset = "w"}', 'w = {file = "data.h5", dataset = "five"}'), r"`m` is 2 by the shape of the array `b`, and 3 by that of `w`|`m` is 3 by the shape of the array `w`, and 2 by that of `b`")):
            with h5py.File(self.dir / "data.h5", "a") as f:
                if "five" not in f:
                    f["five"] = np.arange(5.0)
            self.job([program], {"mo": [3, 4, 5]}, changed)
            done = self.job_on(1)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, says)

    def test_spill(self) -> None:
        data = np.random.default_rng(22).standard_normal((400, 400))
        self.write_array(data)
        self.job(["sial norms\naoindex i = 1:8\naoindex j = 1:8\npredefined distributed a[i,j]\nscalar part\nscalar total\n"
                  "pardo i, j\nget a[i,j]\npart += a[i,j]*a[i,j]\nendpardo i, j\ncollective total += part\nendsial norms\n"], {"ao": [50] * 8})
        for ranks in (1, 2):
            self.run_ok(ranks, "--spill", str(self.dir), "--memory", f"{1000 // ranks}kB")
            with h5py.File(self.dir / "results.h5") as f:
                self.assertAlmostEqual(float(f["scalars/total"][()]), float((data * data).sum()), delta=1e-7)
            total = json.loads((self.dir / "run.json").read_text())["total"]
            self.assertGreater(total["tier_bytes_written"], 0)

    def test_sparse(self) -> None:
        """Blocks of a sparse array that hold zeros only are not made, and are zeros to who gets them."""
        data = np.zeros((700, 700))
        data[13, 642], data[200:300, 100:200], data[-1, -1] = 2.5, np.random.default_rng(24).standard_normal((100, 100)), -1
        self.write_array(data)
        dense = copy_program("distributed", ["aoindex i = 1:7", "aoindex j = 1:7"])
        for text in (dense, dense.replace("predefined", "predefined sparse")):
            self.job([text], {"ao": [100] * 7})
            self.compare(data, WORLDS, text)
        idle = "sial idle\naoindex i = 1:7\naoindex j = 1:7\npredefined {}distributed a[i,j]\nscalar x\npardo i, j\nwhere i == j\nget a[i,j]\nx += a[i,j]*a[i,j]\nendpardo i, j\nendsial idle\n"
        high = []
        for word in ("", "sparse "):
            self.job([idle.format(word)], {"ao": [100] * 7})
            self.run_ok()
            high.append(json.loads((self.dir / "run.json").read_text())["total"]["memory_high_water"])
        self.assertGreater(high[0], 49 * 80000)
        self.assertLess(high[1], 10 * 80200)  # three blocks, and copies of six that are zero

    def test_subindices(self) -> None:
        """An array over subindices: its blocks are parts of segments, some of them empty."""
        data = np.random.default_rng(23).standard_normal((4, 13))
        self.write_array(data)
        self.job(["sial sub\naoindex i = 1:3\nsubindex ii of i\nindex k = 1:4\npredefined distributed a[ii,k]\nscalar norm\nscalar part\nscalar total\n"
                  "pardo i, k\ndo ii in i\nget a[ii,k]\nnorm = a[ii,k]*a[ii,k]\npart += (scalar)k*norm\nenddo ii in i\nendpardo i, k\n"
                  "collective total += part\nendsial sub\n"], {"ao": [3, 6, 4]})
        for ranks in (1, 2):
            done = self.job_on(ranks)
            self.assertEqual(done.returncode, 0, done.stderr)
            with h5py.File(self.dir / "results.h5") as f:
                expected = sum((k + 1) * float((data[k] ** 2).sum()) for k in range(4))
                self.assertAlmostEqual(float(f["scalars/total"][()]), expected, delta=1e-10)

    def test_inline(self) -> None:
        self.job([copy_program("distributed", ["aoindex i = 1:2"])], {"ao": [2, 3]}, "a = [1, 2.5, 3, 4, 5]")
        self.compare([1, 2.5, 3, 4, 5], SHARED, "inline")

    def refused(self, says: list[str], ranks: int = 1, code: int = 2) -> None:
        done = self.job_on(ranks)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(len(re.findall(r"^error:", done.stderr, re.MULTILINE)), 1, done.stderr)
        for text in says:
            self.assertIn(text, done.stderr)

    @gate
    def test_errors(self) -> None:
        program, segments = copy_program("distributed", ["aoindex i = 1:2", "moindex j = 1:2"]), {"ao": [2, 3], "mo": [3, 4]}
        good = np.arange(35.0).reshape(7, 5)
        self.job([program], segments)
        self.refused(["array `a`: there is no file `data.h5`", "job.toml:"])
        (self.dir / "data.h5").write_text("no HDF5")
        self.refused(["array `a`", "cannot read `data.h5` as an HDF5 file"])
        with h5py.File(self.dir / "data.h5", "w") as f:
            f["b"] = good
        self.refused(["array `a`: there is no dataset `group/a` in `data.h5`", "the file holds: b"])
        for shape in ((5, 7), (7,), (7, 5, 2), (7, 6), ()):
            self.write_array(np.ones(shape))
            for ranks in (1, 2):
                given = str(shape).replace(",)", ")")
                self.refused([f"dataset `group/a` in `data.h5` has the shape {given}", "the distributed array `a`, which takes (7, 5)", "job.toml:"], ranks)
        for values, found in ((np.array([[b"x"]]), "texts"), (np.zeros((7, 5), dtype=complex), "compound"), (np.zeros((7, 5), dtype=bool), "enumeration")):
            self.write_array(values)
            self.refused(["array `a`", "dataset `group/a` in `data.h5`", "neither integers nor reals", found])
        for value, word in ((np.nan, "NaN"), (np.inf, "an infinity"), (-np.inf, "an infinity")):
            for ranks in (1, 3):
                wrong = good.copy()
                wrong[6, 4] = wrong[2, 3] = wrong[5, 1] = value
                self.write_array(wrong)
                self.refused([f"dataset `group/a` in `data.h5` of the array `a` holds {word} at [2, 3]"], ranks)
        wide = np.arange(35, dtype="i8").reshape(7, 5)
        wide[3, 1] = 2**53 + 1
        self.write_array(wide)
        self.refused(["of the array `a` holds 9007199254740992 at [3, 1]", "float64"])
        wide[3, 1] = 2**53 - 1
        self.write_array(wide)
        self.run_ok()
        np.testing.assert_array_equal(self.static("s"), wide.astype(float))

    def test_first_position(self) -> None:
        """The first one in the file, whichever rank and part has it."""
        data = np.zeros((430, 500))
        data[(400, 250, 250), (3, 499, 17)] = np.nan
        self.write_array(data, chunks=(50, 50))
        self.job([copy_program("distributed", ["aoindex i = 1:8", "moindex j = 1:5"])],
                 {"ao": [37, 80, 1, 90, 120, 2, 100, 70], "mo": [100, 200, 30, 60, 40]})
        for ranks in (1, 3):
            self.refused(["holds NaN at [250, 17]"], ranks)

    def test_values_in_the_file(self) -> None:
        """Values in one piece are read where they lie: behind a block of the user's, and not where they lie in another file."""
        data = np.random.default_rng(25).standard_normal((430, 50))
        self.job([copy_program("distributed", ["aoindex i = 1:2", "moindex j = 1:5"])], {"ao": [20, 30], "mo": [100, 200, 30, 60, 40]})
        outside = str(self.dir / "values.raw")
        for block, options in ((0, {}), (1024, {}), (0, {"external": [(outside, 0, data.nbytes)]}), (512, {"dtype": ">f8"})):
            with h5py.File(self.dir / "data.h5", "w", userblock_size=block) as f:
                f.create_dataset("group/a", data=data, **options)
            self.compare(data, WORLDS[:3], (block, options))
        with h5py.File(self.dir / "other.h5", "w") as f:
            f["x"] = data
        with h5py.File(self.dir / "data.h5", "w") as f:  # which has other values where those of the other file lie
            f["more"] = np.full(2 * data.size, -7.0)
            f["group/a"] = h5py.ExternalLink("other.h5", "x")
        self.compare(data, WORLDS[:3], "external link")
        for chunks in (None, (43, 50)):
            with h5py.File(self.dir / "data.h5", "w") as f:  # no values were written, and it is said what they are
                f.create_dataset("group/a", shape=data.shape, dtype="f8", fillvalue=0.5, chunks=chunks)
            self.compare(np.full_like(data, 0.5), ONE, "fill values")
        self.write_array(data)
        whole = (self.dir / "data.h5").read_bytes()
        (self.dir / "data.h5").write_bytes(whole[:-2000])
        self.refused(["array `a`", "data.h5"])
        self.job([copy_program("static", ["aoindex i = 1:2", "moindex j = 1:5"])], {"ao": [20, 30], "mo": [100, 200, 30, 60, 40]})
        with h5py.File(self.dir / "data.h5", "w") as f:
            f["group/a"] = h5py.ExternalLink("other.h5", "x")
        self.compare(data, ONE, "static array behind an external link")

    def test_values_that_are_not_there(self) -> None:
        """HDF5 has fill values in their place. Where they may be missing on purpose there is a warning."""
        self.job([copy_program("distributed", ["aoindex i = 1:1"]), copy_program("distributed", ["aoindex i = 1:1"], "other")], {"ao": [4]})

        def write(where: str = "group/a", **options: Any) -> h5py.File:
            file = h5py.File(self.dir / "data.h5", "w")
            file.create_dataset(where, dtype="f8", shape=(4,), **options)
            return file

        def virtual(source: str, dataset: str = "x", n: int = 4, fill: float | None = None) -> None:
            layout = h5py.VirtualLayout(shape=(4,), dtype="f8")
            layout[:n] = h5py.VirtualSource(source, dataset, shape=(n,))
            with h5py.File(self.dir / "data.h5", "w") as f:
                f.create_virtual_dataset("group/a", layout, fillvalue=fill)

        write().close()
        self.refused(["job.toml:5:5: array `a`: dataset `group/a` in `data.h5` has no values: nothing was ever written into it"])
        write(chunks=(2,)).close()
        self.refused(["has no values: nothing was ever written into it"])
        with write(chunks=(2,)) as f:
            f["group/a"][:2] = 1
        self.assertIn("warning: array `a`: dataset `group/a` in `data.h5`: 1 of its 2 chunks were never written", self.job_on().stderr)
        self.compare([1, 1, 0, 0], ONE, "half")
        virtual("gone.h5")
        self.refused(["dataset `group/a` in `data.h5` is virtual, and its source `gone.h5` is not there"])
        virtual(".", "group/a")
        self.refused(["dataset `group/a` in `data.h5` is virtual and made of itself"])
        with h5py.File(self.dir / "source.h5", "w") as f:
            f["x"] = np.arange(4.0)
            f.create_dataset("empty", shape=(4,), dtype="f8")
        for dataset, says in (("none", "has no dataset `none`"), ("empty", "dataset `empty` in `source.h5` has no values")):
            virtual("source.h5", dataset)
            self.refused([says])
        virtual("source.h5")
        self.assertNotIn("warning", self.job_on().stderr)
        self.compare(np.arange(4.0), ONE, "virtual")
        virtual("source.h5", n=3)
        self.assertIn("1 of its 4 elements come from no source", self.job_on().stderr)
        virtual("source.h5", n=3, fill=0.5)
        self.assertNotIn("warning", self.job_on().stderr)
        self.compare([0, 1, 2, 0.5], ONE, "stated fill value")
        for source, dataset, says in (("gone.h5", "x", "`gone.h5` is not there"), ("source.h5", "none", "has no dataset `none`")):
            virtual(source, dataset, fill=0.5)
            self.assertRegex(self.job_on().stderr, f"warning: .*{says}.*: its elements count as the fill value")
        raw = self.dir / "values.raw"
        for size, says in ((16, "has its values in the file `values.raw`, which ends after 16 of 32 bytes"), (None, "has its values in the file `values.raw`, which is not there")):
            write(external=[(b"values.raw", 0, 32)]).close()
            raw.write_bytes(bytes(size)) if size else raw.unlink()
            self.refused([says])

    def test_large_dataset_for_a_small_array(self) -> None:
        """It is refused before it is read."""
        with h5py.File(self.dir / "data.h5", "w") as f:
            f.create_dataset("group/a", shape=(2 * 10**8,), dtype="f8", chunks=(10**6,), fillvalue=0.0)
        self.job(["sial small\naoindex i = 1:2\npredefined static a[i]\nscalar x\ndo i\nx += a[i]*a[i]\nenddo i\nendsial small\n"], {"ao": [2, 2]})
        begin = time.monotonic()
        for more in ((), ("--dry-run",)):
            done = self.job_on(1, *more)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("dataset `group/a` in `data.h5` has the shape (200000000), and program `small` declares the static array `a`, which takes (4)", done.stderr)
        self.assertLess(time.monotonic() - begin, 3)

    def test_damaged(self) -> None:
        """A chunk that does not decode ends the job with one message."""
        random = np.random.default_rng(24)
        self.write_array(random.standard_normal((40, 40)), chunks=(40, 40), compression="gzip")
        self.job([copy_program("distributed", ["aoindex i = 1:2", "moindex j = 1:2"])], {"ao": [20, 20], "mo": [20, 20]})
        with h5py.File(self.dir / "data.h5") as f:
            offset = f["group/a"].id.get_chunk_info(0).byte_offset
        content = bytearray((self.dir / "data.h5").read_bytes())
        content[offset + 2000:offset + 2400] = bytes(400)
        (self.dir / "data.h5").write_bytes(content)
        for ranks in (1, 2):
            self.refused(["array `a`: cannot read dataset `group/a` in `data.h5`"], ranks)

    def test_not_given(self) -> None:
        program, segments = copy_program("served", ["aoindex i = 1:2"]), {"ao": [2, 3]}
        self.write_array(np.ones(5))
        self.job([program], segments, 'b = {file = "data.h5", dataset = "group/a"}')
        for ranks in (1, 2):
            self.refused(["program `given` needs the predefined served array `a`, and the job does not give it", 'a = {file = "data.h5", dataset = "a"}',
                          "warning: the job gives the array `b`, and no program has a predefined array of this name"], ranks)
        # Declared and not used: nothing is read.
        self.job([program.replace("request a[i]\ns[i] = a[i]", "s[i] = 1.0")], segments, 'b = {file = "data.h5", dataset = "group/a"}')
        self.run_ok()

    def test_several_programs(self) -> None:
        """Each program that declares the array begins with the job's values, whatever one before it put there."""
        data = np.random.default_rng(25).standard_normal((7, 5))
        self.write_array(data)
        indices, segments = ["aoindex i = 1:2", "moindex j = 1:2"], {"ao": [2, 3], "mo": [3, 4]}
        first = copy_program("distributed", indices, "first").replace("endsial", "sip_barrier\npardo i, j\nput a[i,j] = 7.0\nendpardo i, j\nendsial").replace("s[", "s1[")
        static = "sial third\naoindex i = 1:2\nmoindex j = 1:2\npredefined static a[i,j]\nstatic s3[i,j]\ndo i\ndo j\ns3[i,j] = a[i,j]\nenddo j\nenddo i\nendsial third\n"
        self.job([first, copy_program("served", indices, "second").replace("s[", "s2["), static], segments)
        for ranks in (1, 2):
            self.run_ok(ranks)
            for name in ("s1", "s2", "s3"):
                np.testing.assert_array_equal(self.static(name), data, name)

    def test_restart(self) -> None:
        """What a checkpoint holds is not read again; what a later program reads must be what an earlier one read."""
        data = np.random.default_rng(26).standard_normal((7, 5))
        segments = {"ao": [2, 3], "mo": [3, 4]}
        head = "aoindex i = 1:2\nmoindex j = 1:2\n"
        long = (f"sial long\n{head}predefined distributed a[i,j]\nstatic s[i,j]\npardo i, j\nput a[i,j] += 1.0\nendpardo i, j\nsip_barrier\n"
                "do i\ndo j\nget a[i,j]\ns[i,j] = a[i,j]\nenddo j\nenddo i\nendsial long\n")
        plain = "sial plain\nscalar x\nx = 1.0\nsip_barrier\nx = 2.0\nendsial plain\n"
        later = copy_program("distributed", ["aoindex i = 1:2", "moindex j = 1:2"], "later").replace("s[", "t[")
        for ranks, more in ((1, ()), (2, ()), (3, ("--ranks-per-node", "1"))):
            with self.subTest(ranks=ranks):
                every = ("--checkpoint-every", "0", *more)
                self.write_array(data)
                self.job([long, plain, later], segments)
                stopped = self.job_on(ranks, *every, "--stop-after", "1")
                self.assertEqual(stopped.returncode, 4, stopped.stderr)
                self.run_ok(ranks, *every, "--restart")
                np.testing.assert_array_equal(self.static("s"), data + 1.0)
                np.testing.assert_array_equal(self.static("t"), data)
                # The program that began has the old values, the later one sees that the new ones are others.
                stopped = self.job_on(ranks, *every, "--stop-after", "1")
                self.assertEqual(stopped.returncode, 4, stopped.stderr)
                self.write_array(data + 0.5)
                done = self.job_on(ranks, *every, "--restart")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("has changed since an earlier program of the job read it", done.stderr)
                self.write_array(np.ones((7, 6)))
                done = self.job_on(ranks, *every, "--restart")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("data of array `a`", done.stderr)
                for file in (self.dir / "checkpoint").iterdir():
                    file.unlink()

    def test_memory(self) -> None:
        """--dry-run counts the array from the program's beginning, and a run needs no more than it says."""
        self.write_array(np.zeros((300, 300)))
        self.job(["sial idle\naoindex i = 1:3\naoindex j = 1:3\npredefined distributed a[i,j]\nscalar x\ndo i\ndo j\nget a[i,j]\nx += a[i,j]*a[i,j]\n"
                  "enddo j\nenddo i\nendsial idle\n"], {"ao": [100] * 3})
        plan = self.run_ok(1, "--dry-run", "--ranks", "2")
        self.assertRegex(plan, r"(?m)^  a +distributed +9 +721 kB +360 kB$")
        self.run_ok(2)
        measured = json.loads((self.dir / "run.json").read_text())["total"]["memory_high_water"]
        self.assertGreater(measured, 360000)
        found = re.search(r"fits: ([0-9.]+) kB", plan)
        assert found
        self.assertLessEqual(measured, 1000 * float(found.group(1)) + 1000)
        # Spilling is planned, too, and ranks whose kernels are not executed need no values.
        self.assertIn("a", self.run_ok(1, "--dry-run", "--spill", str(self.dir), "--memory", "400kB"))
        self.run_ok(1, "--simulate", "ranks=2,kernels=model", "--results", "none")


if __name__ == "__main__":
    main()
