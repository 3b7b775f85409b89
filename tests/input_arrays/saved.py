#!/usr/bin/env python3
"""`--save`: distributed and served arrays in results.h5, each one plain dataset that h5py reads, though no program says `set_persistent`.

    saved.py --bin DIR [unittest arguments]
"""
from __future__ import annotations

import hashlib
import json
import pathlib
import subprocess
import sys
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

from array_jobs import KINDS, SHARED, WORLDS, ArrayJobs, Worlds
from harness import BIN, ENV, main


def triples(kind: str, indices: list[str], absent: str = "", name: str = "tripled") -> str:
    """`d` is three times `a`, where the where clause `absent` lets blocks be."""
    put = {"distributed": "put", "served": "prepare"}[kind]
    names = [d.split()[1] for d in indices]
    block = f"[{','.join(names)}]"
    return (f"sial {name}\n" + "".join(d + "\n" for d in indices) + f"predefined distributed a{block}\n{kind} d{block}\ntemp t{block}\n"
            + f"pardo {', '.join(names)}\n{absent}get a{block}\nt{block} = 3.0*a{block}\n{put} d{block} = t{block}\nendpardo {', '.join(names)}\nsip_barrier\nendsial {name}\n")


class SavedArrays(ArrayJobs):
    def saved(self, label: str = "d") -> Any:
        with h5py.File(self.dir / "results.h5") as f:
            item = f[f"saved/arrays/{label}"]
            self.assertIsInstance(item, h5py.Dataset)
            return item[()]

    def compare_saved(self, expected: Any, worlds: Worlds, what: object) -> None:
        for ranks, more in worlds:
            self.run_ok(ranks, "--save", "d", *more)
            np.testing.assert_array_equal(self.saved(), expected, f"{what} on {ranks} {more}")

    def test_random(self) -> None:
        """Ranks of arrays, index kinds, uneven segments, absent blocks."""
        random = np.random.default_rng(30)
        for number in range(12):
            rank = (1, 2, 3, 4, 2, 3)[number % 6]
            segments = {k: [int(x) for x in random.integers(1, 8, random.integers(1, 5))] for k in KINDS}
            kinds = [str(k) for k in random.choice(KINDS, rank)]
            if rank > 1:
                kinds[1] = kinds[0]
            extents = [sum(segments[k]) for k in kinds]
            data = random.standard_normal(tuple(reversed(extents)))
            self.write_array(data)
            expected = 3.0 * data
            absent = ""
            if rank > 1 and number % 2:
                absent = "where x0 <= x1\n"
                starts = np.cumsum([0, *segments[kinds[0]]])
                for i in range(len(segments[kinds[0]])):
                    expected[..., : starts[i], starts[i]: starts[i + 1]] = 0.0  # x0 fastest, which is the last one of the dataset
            self.job([triples(("distributed", "served")[number % 2], [f"{k}index x{d} = 1:{len(segments[k])}" for d, k in enumerate(kinds)], absent)], segments)
            self.compare_saved(expected, [WORLDS[0], WORLDS[1 + number % (len(WORLDS) - 1)]], (number, kinds, segments, absent))

    def test_parts(self) -> None:
        """Arrays that several ranks write, in several parts."""
        data = np.random.default_rng(31).standard_normal((430, 500))
        self.write_array(data)
        self.job([triples("distributed", ["aoindex i = 1:8", "moindex j = 1:5"])], {"ao": [37, 80, 1, 90, 120, 2, 100, 70], "mo": [100, 200, 30, 60, 40]})
        self.compare_saved(3.0 * data, WORLDS, "two dimensions")
        four = np.random.default_rng(32).standard_normal((24, 40, 32, 24))
        self.write_array(four)
        self.job([triples("served", ["aoindex i = 1:3", "moindex j = 1:2", "moaindex k = 1:4", "laindex l = 1:2"])],
                 {"ao": [11, 3, 10], "mo": [19, 13], "moa": [15, 1, 6, 18], "la": [4, 20]})
        self.compare_saved(3.0 * four, [*SHARED, WORLDS[2]], "four dimensions")

    def test_more_than_memory(self) -> None:
        data = np.random.default_rng(33).standard_normal((400, 400))
        self.write_array(data)
        self.job([triples("served", ["aoindex i = 1:8", "aoindex j = 1:8"])], {"ao": [50] * 8})
        for ranks in (1, 2):
            self.run_ok(ranks, "--save", "d", "--spill", str(self.dir), "--memory", f"{1000 // ranks}kB")
            np.testing.assert_array_equal(self.saved(), 3.0 * data)

    def test_last_program_that_has_it(self) -> None:
        """Saved by a list of the job file; a program that saves an array by itself does so under its own label; blocks are described."""
        data = np.random.default_rng(34).standard_normal((9, 9))
        self.write_array(data)
        indices = ["aoindex i = 1:2", "aoindex j = 1:2"]
        declared = "".join(d + "\n" for d in indices)
        twice = (f"sial twice\n{declared}distributed d[i,j]\nserved e[i,j]\ntemp t[i,j]\nset_persistent e \"own\"\nrestore_persistent d \"d\"\npardo i, j\nget d[i,j]\nt[i,j] = d[i,j]\n"
                 "t[i,j] += d[i,j]\nput d[i,j] = t[i,j]\nprepare e[i,j] = t[i,j]\nendpardo i, j\nsip_barrier\nendsial twice\n")
        first = triples("distributed", indices).replace("sip_barrier\n", "sip_barrier\nset_persistent d \"d\"\n")
        self.job([first, twice, "sial last\nscalar x\nx = 1.0\nendsial last\n"], {"ao": [4, 5]})
        (self.dir / "job.toml").write_text((self.dir / "job.toml").read_text() + '[output]\narrays = ["D", "e"]\n')
        for ranks, more in SHARED:
            self.run_ok(ranks, *more)
            np.testing.assert_array_equal(self.saved(), 6.0 * data)
            np.testing.assert_array_equal(self.saved("own"), 6.0 * data)
        with h5py.File(self.dir / "results.h5") as f:
            self.assertEqual(sorted(f["saved/arrays"]), ["d", "own"])
            about = {k: v.decode() if isinstance(v, bytes) else v for k, v in f["saved/arrays/d"].attrs.items()}
            self.assertEqual((about["declared"], about["indices"], about["index_kinds"]), ("distributed", "i,j", "aoindex,aoindex"))
            self.assertEqual([int(x) for x in about["segment_extents"]], [4, 5, 4, 5])
            self.assertEqual(sorted(map(tuple, f["saved/blocks/d"][()].tolist())), [(1, 1), (1, 2), (2, 1), (2, 2)])

    def test_large_ones_are_restored(self) -> None:
        """Of an array of more than 2^24 elements a later job reads block by block what one dataset holds."""
        make = ("sial make\naoindex i = 1:8\naoindex j = 1:8\ndistributed d[i,j]\ntemp t[i,j]\nscalar x\npardo i, j\nx = 10.0 * (scalar)i\nx += (scalar)j\nt[i,j] = x\nput d[i,j] = t[i,j]\n"
                "endpardo i, j\nsip_barrier\nendsial make\n")
        use = ("sial use\naoindex i = 1:8\naoindex j = 1:8\ndistributed d[i,j]\nscalar part\nscalar total\nrestore_persistent d \"d\"\npardo i, j\nget d[i,j]\npart += d[i,j]*d[i,j]\n"
               "endpardo i, j\ncollective total += part\nprintln total\nendsial use\n")
        (self.dir / "make.sialx").write_text(make)
        (self.dir / "use.sialx").write_text(use)
        (self.dir / "job.toml").write_text('programs = ["make.sialx"]\n[segments]\nao = [520, 520, 520, 520, 520, 520, 520, 520]\n')
        self.run_ok(2, "--save", "d")
        with h5py.File(self.dir / "results.h5") as f:
            self.assertEqual(f["saved/arrays/d"][519, 520], 21.0)
        (self.dir / "job.toml").write_text('programs = ["use.sialx"]\n[segments]\nao = [520, 520, 520, 520, 520, 520, 520, 520]\n[restore]\nfile = "results.h5"\n[output]\nresults = "second.h5"\n')
        expected = 520 * 520 * sum((10.0 * i + j)**2 for i in range(1, 9) for j in range(1, 9))
        self.assertIn(f"{expected:.1f}", self.run_ok(1))

    def test_refused(self) -> None:
        self.write_array(np.ones((9, 9)))
        self.job([triples("distributed", ["aoindex i = 1:2", "aoindex j = 1:2"])], {"ao": [4, 5]})
        self.run_ok(1, "--save", "a")  # given arrays are arrays as others are
        np.testing.assert_array_equal(self.saved("a"), np.ones((9, 9)))
        for more, code, says in ((("--save", "dd"), 2, r"the job saves the array `dd`, and no program has it\n +hint: did you mean `d`\?"),
                                 (("--save", "t"), 2, r"the job saves the array `t`, which is temp: .*\n +hint: only static, distributed and served"),
                                 (("--save", "x,,y"), 2, r"`x,,y` is no list of arrays"),
                                 (("--save", "d", "--results", "none"), 2, r"the job saves the array `d`, and writes no results file")):
            for dry in ((), ("--dry-run",)):
                done = self.job_on(1, *more, *dry)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertRegex(done.stderr, says)
        self.run_ok(1, "--save", "a")
        sources = hashlib.sha256((self.dir / "p0.sialx").read_bytes()).hexdigest()
        run = json.loads((self.dir / "run.json").read_text())
        self.assertEqual([(p["source_hash"], p["kept"]) for p in run["programs"]], [(sources, ["a"])])
        report = subprocess.run([str(BIN / "sialreport"), "run.json"], cwd=self.dir, env=ENV, capture_output=True, text=True, timeout=60)
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        subprocess.run([str(BIN / "sialc"), "p0.sialx", "-o", "p0.siox"], cwd=self.dir, env=ENV, check=True)
        (self.dir / "job.toml").write_text((self.dir / "job.toml").read_text().replace("p0.sialx", "p0.siox"))
        done = self.job_on(1, "--save", "d")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"the job saves the array `d` of `\S*p0.siox`, which is compiled already\n +hint: give the source")


if __name__ == "__main__":
    main()
