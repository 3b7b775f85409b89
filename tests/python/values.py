#!/usr/bin/env python3
"""What sialx says of values, arrays and segments that do not fit: nothing is rounded or cut without a word.

    values.py --bin DIR --native MODULE [unittest arguments]

Exits with 77 where there is no module.
"""
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

from harness import BIN, main, skip, taken

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "runtime" / "python"))
import sialx  # noqa: E402

PRODUCT = """sial product
predefined int n
predefined int m
aoindex i = 1:n
aoindex j = 1:n
laindex k = 1:m
predefined distributed a[i,k]
predefined distributed b[k,j]
static s[i,k]
scalar sum
do i
  do k
    get a[i,k]
    s[i,k] = a[i,k]
    sum += a[i,k]*a[i,k]
  enddo k
enddo i
do k
  do j
    get b[k,j]
    sum += b[k,j]*b[k,j]
  enddo j
enddo k
endsial product
"""
ONES = {"a": np.ones((50, 70)), "b": np.ones((70, 50))}


class Values(unittest.TestCase):
    def refused(self, pattern: str, error: type[Exception] = sialx.JobError, **options: object) -> None:
        with self.assertRaisesRegex(error, pattern):
            sialx.run(PRODUCT, **options)  # type: ignore[arg-type]
        self.assertEqual(sialx.run(PRODUCT, arrays=ONES).scalars["sum"], 7000.0)

    def test_shapes_that_do_not_belong_together(self) -> None:
        self.refused(r'arrays\["b"\] has 30 elements where the array `b` has the index `k`, and the segments of kind la are those of the array `a`, '
                     r"which has 70 where it has `k`", arrays={"a": ONES["a"], "b": np.ones((30, 70))})

    def test_index_from_the_second_segment(self) -> None:
        program = "sial s\npredefined int n\nmoindex i = 2:n\npredefined static x[i]\nscalar y\ndo i\n  y += x[i]*x[i]\nenddo i\nendsial s\n"
        with self.assertRaisesRegex(sialx.JobError, r"does not begin at segment 1: the segments of kind mo do not follow.*\n.*state them under \[segments\]"):
            sialx.run(program, arrays={"x": np.ones(5)})
        self.assertEqual(sialx.run(program, arrays={"x": np.ones(5)}, segments={"mo": [3, 2, 3]}).scalars["y"], 5.0)

    def test_complex(self) -> None:
        for a in (np.ones((50, 70)) + 3j, [[1j]]):
            self.refused(r'arrays\["a"\] is complex', ValueError, arrays={**ONES, "a": a})
            with self.assertRaisesRegex(ValueError, r'arrays\["a"\] is complex'):
                sialx.Job(programs=["p.sialx"], arrays={"a": a})

    def test_no_numbers(self) -> None:
        """Where what is meant is not certain, nothing is guessed: of masked elements, dates, texts, things."""
        masked = np.ma.masked_array(ONES["a"], mask=False)
        np.testing.assert_array_equal(sialx.run(PRODUCT, arrays={**ONES, "a": masked}).static["s"], ONES["a"])
        masked[3, 5] = np.ma.masked
        objects = ONES["a"].astype(object)
        np.testing.assert_array_equal(sialx.run(PRODUCT, arrays={**ONES, "a": objects}).static["s"], ONES["a"])
        missing, imaginary, wide = objects.copy(), objects.copy(), objects.copy()
        missing[3, 5], imaginary[3, 5], wide[3, 5] = None, 1j, 2**60
        for a, says in ((masked, r"has masked elements, the first at \[3, 5\]"), (np.full((50, 70), "2020-01-01", dtype="M8[D]"), "holds dates"),
                        (np.full((50, 70), 3, dtype="m8[s]"), "holds differences of times"), (np.full((50, 70), "1.0"), "holds texts"),
                        (missing, r"holds None at \[3, 5\]"), (imaginary, r"holds 1j at \[3, 5\]"), (wide, r"holds 1152921504606846976 at \[3, 5\], and integers of 2\^53")):
            self.refused(rf'arrays\["a"\] {says}', ValueError, arrays={**ONES, "a": a})
        with self.assertRaisesRegex(ValueError, "what the function of an array gives is complex"):
            sialx.fill(lambda i, j: 1j * i * j, (2, 2)).part([0, 0], [2, 2])

    def test_wide_integers(self) -> None:
        for wrong in (2**53, -(2**53), 2**62):
            a = np.ones((50, 70), dtype=np.int64)
            a[3, 5] = wrong
            self.refused(rf'arrays\["a"\] holds {wrong} at \[3, 5\], and integers of 2\^53 and more are not exact', ValueError, arrays={**ONES, "a": a})
        a = np.full((50, 70), 2**53 - 1)
        np.testing.assert_array_equal(sialx.run(PRODUCT, arrays={**ONES, "a": a}).static["s"], a.astype(float))

    def test_no_number(self) -> None:
        for value, word in ((np.nan, "NaN"), (np.inf, "an infinity")):
            a = ONES["a"].copy()
            a[3, 5] = value
            self.refused(rf'arrays\["a"\] of the array `a` holds {word} at \[3, 5\] \(counted from 0\)', arrays={**ONES, "a": a})

    def test_real_for_int(self) -> None:
        for segments in (None, {"ao": [25, 25], "la": [10] * 7}):
            self.refused(r"needs the predefined int `n`, and the job gives it the real number 1\.5", arrays=ONES, values={"n": 1.5}, segments=segments)

    def test_segments(self) -> None:
        for sizes in ([2.9, 2.9], [2.0, 3], ["2"]):
            self.refused("float|str", TypeError, arrays=ONES, segments={"la": sizes})
        sialx.run(PRODUCT, arrays=ONES, segments={"ao": [50], "la": np.array([50, 20])})

    def test_report_of_kept_arrays(self) -> None:
        """Arrays that the job saves do not hide the program's sources from the report."""
        with tempfile.TemporaryDirectory(prefix="sialx-values-") as folder:
            path = pathlib.Path(folder, "product.sialx")
            path.write_text(PRODUCT)
            results = sialx.Job(programs=[path], arrays=ONES, save="a").run(folder)
            self.assertIn("product", results.report())
            np.testing.assert_array_equal(results.arrays["a"][...], ONES["a"])


if __name__ == "__main__":
    native = taken("--native", "")
    if not native:
        skip("there is no compiled module of Python here")
    os.environ.update(SIALX_NATIVE=native, SIALRUN=str(BIN / "sialrun"))
    os.environ["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    main()
