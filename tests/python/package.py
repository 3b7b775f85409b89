#!/usr/bin/env python3
"""The Python package: job folders that sialrun reads back to the same data, and results in the order of the program.

    package.py --bin DIR [unittest arguments]

PySCF is not needed: a class of its own has the attributes that from_pyscf reads. Where PySCF is installed, a real molecule runs as well.
"""
import os
import pathlib
import pickle
import sys
import tempfile
import unittest
import unittest.mock
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

from harness import BIN, ENV, ROOT, main

sys.path.insert(0, str(ROOT / "runtime" / "python"))
import sialx  # noqa: E402

RHF = ROOT / "examples" / "04_rhf" / "rhf.sialx"
MP2 = ROOT / "examples" / "05_mp2" / "mp2.sialx"
os.environ.update(ENV)

# STO-3G of hydrogen (W. J. Hehre, R. F. Stewart, J. A. Pople, J. Chem. Phys. 51, 2657 (1969)).
STO3G_H = [0, [3.425250914, 0.1543289673], [0.6239137298, 0.5353281423], [0.168855404, 0.4446345422]]


class FakeMole:
    """What from_pyscf reads of a pyscf.gto.Mole: H2 at 1.4 bohr."""

    def __init__(self, basis=None, symbols=("H", "H"), **other):
        self.symbols, self.natm = symbols, len(symbols)
        self._basis = {"H": [STO3G_H]} if basis is None else basis
        self._ecp, self.charge, self.spin, self.cart = {}, 0, 0, False
        self.__dict__.update(other)

    def atom_symbol(self, a):
        return self.symbols[a]

    def atom_pure_symbol(self, a):
        return "".join(c for c in self.symbols[a] if c.isalpha())

    def atom_coords(self):
        return np.array([[0.0, 0.0, 1.4 * a] for a in range(self.natm)])


class Package(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="sialx-python-")
        self.addCleanup(self.temporary.cleanup)
        self.dir = pathlib.Path(self.temporary.name)

    def program(self, text):
        path = self.dir / "program.sialx"
        path.write_text(text)
        return path

    def test_hydrogen_molecule(self):
        # E(RHF) of H2 in STO-3G at 1.4 bohr: -1.1167 (A. Szabo and N. S. Ostlund, Modern Quantum Chemistry, section 3.5.2).
        results = sialx.Job(RHF, molecule=sialx.from_pyscf(FakeMole())).run(self.dir / "h2")
        self.assertAlmostEqual(results.saved_scalars["scf_energy"], -1.1167, places=4)
        self.assertAlmostEqual(results.scalars["nuclear_energy"], 1 / 1.4, places=12)
        self.assertEqual(results.static("c").shape, (2, 2))
        self.assertIn("scf_energy", results.text)
        self.assertGreater(results.statistics["total"]["instructions"], 0)
        self.assertEqual(len(results.costs(3)), 3)

    def test_geometry_survives(self):
        rng = np.random.default_rng(7)
        coordinates = rng.normal(scale=3.0, size=(2, 3))
        molecule = sialx.Molecule(["H", "H"], coordinates, "sto-3g")
        program = self.program("sial nn\nspecial compute_nn_repulsion w\nscalar e\nexecute compute_nn_repulsion e\nendsial nn\n")
        results = sialx.Job(program, molecule=molecule).run(self.dir / "job")
        self.assertAlmostEqual(results.scalars["e"], 1 / np.linalg.norm(coordinates[0] - coordinates[1]), places=13)
        np.testing.assert_allclose(results.molecule["coordinates"], coordinates, rtol=1e-12)
        (self.dir / "h2.xyz").write_text(molecule.xyz())
        np.testing.assert_allclose(sialx.Molecule.from_xyz(self.dir / "h2.xyz", "sto-3g").coordinates, coordinates, rtol=1e-12)
        self.assertEqual(results.molecule["symbols"], ["H", "H"])
        self.assertEqual((results.molecule["charge"], results.molecule["multiplicity"], results.molecule["basis"]), (0, 1, "sto-3g"))
        with h5py.File(results.path, "r") as f:
            self.assertEqual(f["molecule/coordinates"].attrs["unit"], b"bohr")
            self.assertEqual(f["scalars/e"], f["programs/1_nn/e"])  # one object with two names
            self.assertEqual(int(f["segments/ao"][()].sum()), 2)

    def test_distributed_arrays(self):
        """Arrays of NumPy for distributed and served arrays of a program."""
        rng = np.random.default_rng(9)
        a, b = rng.normal(size=(5, 4)), rng.normal(size=(4, 5)).astype(np.float32)
        program = self.program("""sial spread
aoindex i = 1:2
moindex p = 1:2
predefined distributed a[i,p]
predefined served b[p,i]
static copy[i,p]
scalar total
scalar part
do i
  do p
    get a[i,p]
    copy[i,p] = a[i,p]
  enddo p
enddo i
pardo i, p
  get a[i,p]
  request b[p,i]
  part += a[i,p]*b[p,i]
endpardo i, p
collective total += part
endsial spread
""")
        job = sialx.Job(program, segments={"ao": [2, 3], "mo": [3, 1]}, arrays={"a": a, "b": b})
        for ranks in (1, 2):
            results = job.run(self.dir / "job", ranks=ranks)
            np.testing.assert_array_equal(results.static("copy"), a)
            self.assertAlmostEqual(results.scalars["total"], float((a * b.T).sum()), delta=1e-12)
        with self.assertRaisesRegex(sialx.JobError, r"has the shape \(4, 4\), and .* takes \(4, 5\)"):
            sialx.Job(program, segments={"ao": [2, 3], "mo": [3, 1]}, arrays={"a": a[:4], "b": b}).run(self.dir / "job")

    def test_parts_of_saved_arrays(self):
        """What `save` asks for is read part by part, as NumPy indexes it, of one dataset and of a dataset per block."""
        program = self.program("""sial half
predefined int norb
aoindex i = 1:norb
aoindex j = 1:norb
moindex p = 1:2
predefined distributed a[i,j,p]
served b[i,j,p]
temp t[i,j,p]
pardo i, j, p
  where i <= j
  get a[i,j,p]
  t[i,j,p] = 2.0*a[i,j,p]
  prepare b[i,j,p] = t[i,j,p]
endpardo i, j, p
server_barrier
endsial half
""")
        a = np.random.default_rng(10).normal(size=(7, 7, 4))
        expected = 2.0 * a
        expected[2:5, :2] = expected[5:, :5] = 0.0
        results = sialx.Job(program, segments={"ao": [2, 3, 2], "mo": [3, 1]}, arrays={"a": a}, save="b").run(self.dir / "job", ranks=2)
        stored = results.arrays["b"]
        self.assertEqual((stored.shape, stored.ndim, stored.nbytes, len(stored), stored.indices), ((7, 7, 4), 3, 8 * 196, 7, ["i", "j", "p"]))
        self.assertEqual(stored.segments, [[2, 3, 2], [2, 3, 2], [3, 1]])
        self.assertRegex(repr(stored), r"b\[i,j,p\] of shape \(7, 7, 4\)")
        self.assertEqual(list(results.arrays), ["b"])
        np.testing.assert_array_equal(np.asarray(stored), expected)
        keys = [3, (1, 2), (1, 2, 3), (-1, -7), slice(1, 6), (slice(0, 7, 2), slice(3, None)), (..., 2), (slice(2, 5), ..., slice(1, 3)), (slice(5, 2), 1), ...]
        with h5py.File(results.path, "a") as f:  # the same as a dataset per block
            about = dict(f["saved/arrays/b"].attrs)
            whole = f["saved/arrays/b"][()]
            del f["saved/arrays/b"]
            group = f["saved/arrays"].create_group("blocks")
            group.attrs.update(about)
            f["saved/arrays/b"] = group
            starts = [[0, 2, 5, 7], [0, 2, 5, 7], [0, 3, 4]]
            for i, j, p in f["saved/blocks/b"][()]:
                box = tuple(slice(s[n - 1], s[n]) for s, n in zip(starts, (i, j, p)))
                group[f"{i}.{j}.{p}"] = whole[tuple(reversed(box))]
        by_block = results.arrays["b"]
        for key in keys:
            np.testing.assert_array_equal(by_block[key], expected[key], str(key))
        results = sialx.Job(program, segments={"ao": [2, 3, 2], "mo": [3, 1]}, arrays={"a": a}, save="b").run(self.dir / "job")
        for key in keys:
            np.testing.assert_array_equal(results.arrays["b"][key], expected[key], str(key))
        self.assertIsInstance(stored[1, 2, 3], float)
        for key, says in ((7, "out of bounds"), ((0, 0, 0, 0), "has 3 dimensions, and 4"), (slice(None, None, -1), "step of 1 or more"), ((..., ...), "only one")):
            with self.assertRaisesRegex(IndexError, says):
                stored[key]
        with self.assertRaisesRegex(sialx.UnknownName, "there are: b"):
            results.arrays["B"]

    def test_plan_and_report(self):
        """Memory and time before a run, the report after it, and what notebooks show."""
        program = self.program("""sial square
aoindex i = 1:norb
aoindex j = 1:norb
aoindex k = 1:norb
distributed a[i,j]
distributed b[i,j]
temp t[i,j]
scalar x
scalar part
pardo i, j
  t[i,j] = 1.5
  put a[i,j] = t[i,j]
endpardo i, j
sip_barrier
pardo i, j
  do k
    get a[i,k]
    get a[k,j]
    t[i,j] = a[i,k]*a[k,j]
    put b[i,j] += t[i,j]
    part += t[i,j]*t[i,j]
  enddo k
endpardo i, j
collective x += part
endsial square
""".replace("aoindex i", "predefined int norb\naoindex i", 1))
        job = sialx.Job(program, segments={"ao": [100] * 8}, memory="100MB")
        one, four = job.dry_run(), job.dry_run(ranks=4)
        self.assertTrue(one.fits and four.fits)
        self.assertAlmostEqual(one.peak_bytes / 1e6, 10.7, delta=3)  # two arrays of 5.1 MB, and temps
        self.assertLess(four.peak_bytes, one.peak_bytes)
        self.assertEqual(list(one.of_programs) or ["square"], ["square"])
        self.assertGreater(one.seconds, four.seconds)
        self.assertEqual(job.predict(ranks=4), four.seconds)
        self.assertRegex(repr(one), r"<Plan: \S+ MB per rank, fits, \S+ s predicted; .text has all>")
        self.assertIn("<pre>", one._repr_html_())
        job.memory = "1MB"
        small = job.dry_run()
        self.assertFalse(small.fits)
        self.assertIn("does not fit", repr(small))
        with self.assertRaisesRegex(sialx.JobError, "norb"):
            sialx.Job(program).dry_run()
        job.memory = "100MB"
        results = job.run(self.dir / "job")
        self.assertRegex(results.report(), r"program square \(\S+program.sialx\)")
        with self.assertRaisesRegex(RuntimeError, "no-such"):
            results.report("--no-such")
        self.assertRegex(repr(results), r"<Results in \S+results.h5: .*x = \d")
        self.assertRegex(results._repr_html_(), r"<td>x</td><td>\d")

    def test_arrays_keep_their_indices(self):
        rng = np.random.default_rng(8)
        a = rng.normal(size=(5, 4, 3))
        program = self.program("""sial arrays
aoindex i = 1:2
moindex p = 1:2
index k = 1:3
predefined static a[i,p,k]
predefined int shift
predefined scalar factor
distributed d[i,p,k]
static copy[i,p,k]
temp t[i,p,k]
pardo i, p, k
  t[i,p,k] = a[i,p,k]
  t[i,p,k] *= factor
  t[i,p,k] += (scalar)shift
  put d[i,p,k] = t[i,p,k]
endpardo i, p, k
sip_barrier
do i
  do p
    do k
      get d[i,p,k]
      copy[i,p,k] = d[i,p,k]
    enddo k
  enddo p
enddo i
set_persistent d "a label/with. odd % signs"
set_persistent copy "copy"
endsial arrays
""")
        job = sialx.Job(program, values={"shift": 2, "factor": 1e-3}, segments={"ao": [2, 3], "mo": [3, 1]}, arrays={"a": a}, memory="64MB")
        for ranks in (1, 2):
            results = job.run(self.dir / "job", ranks=ranks)
            np.testing.assert_allclose(results.static("copy"), a * 1e-3 + 2, rtol=1e-15)
            np.testing.assert_array_equal(results.saved_static("copy"), results.static("copy"))
            label = "a label/with. odd % signs"
            self.assertEqual(results.saved_array_labels, [label])
            np.testing.assert_array_equal(results.saved_array(label), results.static("copy"))
            self.assertEqual(results.segments(label), [[2, 3], [3, 1], [1, 1, 1]])
            self.assertEqual(results.indices(label), ["i", "p", "k"])
            self.assertEqual(results.programs, ["1_arrays"])
            np.testing.assert_array_equal(results.program("1_arrays")["copy"], results.static("copy"))
            self.assertEqual(results.program("1_arrays")["shift"], 2)
            self.assertEqual((results.about["format"], results.about["format_version"]), ("sialx results", 2))
            self.assertRegex(results.about["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertIsNone(results.molecule)
        with self.assertRaisesRegex(KeyError, "the static array `e` is not there; there are: a, copy"):
            results.static("e")
        # The next job takes the array from there.
        again = self.program("""sial again
aoindex i = 1:2
moindex p = 1:2
index k = 1:3
distributed d[i,p,k]
scalar x
restore_persistent d "a label/with. odd % signs"
sip_barrier
do i
  do p
    do k
      get d[i,p,k]
      x += d[i,p,k]*d[i,p,k]
    enddo k
  enddo p
enddo i
endsial again
""")
        saved = self.dir / "earlier.h5"
        results.path.rename(saved)
        after = sialx.Job(again, segments={"ao": [2, 3], "mo": [3, 1]}, restore=saved).run(self.dir / "job")
        self.assertAlmostEqual(after.scalars["x"], float(np.sum((a * 1e-3 + 2) ** 2)), places=10)

    def test_eight_dimensions(self):
        rng = np.random.default_rng(9)
        shape = (3, 4, 3, 2, 2, 1, 3, 2)
        a, b = rng.normal(size=shape), rng.normal(size=shape[::-1])
        names = "i,p,j,k,l,m,j2,n"
        declared = """aoindex i = 1:2
aoindex j = 1:2
aoindex j2 = 1:2
moindex p = 1:2
index k = 1:2
index l = 0:1
index m = 5:5
index n = 1:2
distributed d[i,p,j,k,l,m,j2,n]
served e[n,j2,m,l,k,j,p,i]
"""
        loops = "".join(f"do {x}\n" for x in names.split(","))
        ends = "".join(f"enddo {x}\n" for x in reversed(names.split(",")))
        program = self.program(f"""sial eight
{declared}predefined static a[{names}]
predefined distributed b[n,j2,m,l,k,j,p,i]
static copy[{names}]
pardo {names}
  put d[{names}] = a[{names}]
  get b[n,j2,m,l,k,j,p,i]
  prepare e[n,j2,m,l,k,j,p,i] = b[n,j2,m,l,k,j,p,i]
endpardo {names}
server_barrier
set_persistent d "d"
set_persistent e "e"
{loops}copy[{names}] = a[{names}]
{ends}set_persistent copy "a"
endsial eight
""")
        job = sialx.Job(program, segments={"ao": [2, 1], "mo": [3, 1]}, arrays={"a": a, "b": b})
        for ranks in (1, 2):
            results = job.run(self.dir / "job", ranks=ranks)
            np.testing.assert_array_equal(results.saved_array("d"), a)
            np.testing.assert_array_equal(results.saved_array("e"), b)
            np.testing.assert_array_equal(results.saved_static("a"), a)
            self.assertEqual(results.indices("d"), names.split(","))
            with h5py.File(results.path) as file:  # the first index varies fastest
                np.testing.assert_array_equal(file["saved/arrays/d"][...].T, a)
                self.assertEqual(file["saved/arrays/e"].shape, shape)
        saved = self.dir / "eight.h5"
        results.path.rename(saved)
        again = self.program(f"""sial again
{declared}static d2[{names}]
static e2[n,j2,m,l,k,j,p,i]
restore_persistent d "d"
restore_persistent e "e"
sip_barrier
{loops}get d[{names}]
request e[n,j2,m,l,k,j,p,i]
d2[{names}] = d[{names}]
e2[n,j2,m,l,k,j,p,i] = e[n,j2,m,l,k,j,p,i]
{ends}endsial again
""")
        for ranks in (1, 2):
            after = sialx.Job(again, segments={"ao": [2, 1], "mo": [3, 1]}, restore=saved).run(self.dir / "job", ranks=ranks)
            np.testing.assert_array_equal(after.static("d2"), a)
            np.testing.assert_array_equal(after.static("e2"), b)

    def test_arrays_stored_by_block(self):
        # As the runtime stores what is too large for one dataset; made by hand here.
        blocks = {(2, 1): np.arange(6.0).reshape(2, 3), (3, 2): np.full((1, 2), 7.0)}
        with h5py.File(self.dir / "results.h5", "w") as f:
            group = f.create_group("saved/arrays/big")
            for key, value in {"first_segment": [2, 1], "n_segments": [2, 2], "segment_extents": [2, 1, 3, 2]}.items():
                group.attrs[key] = value
            for (i, j), b in blocks.items():
                group.create_dataset(f"{i}.{j}", data=np.ascontiguousarray(b.T))
        old = sialx.Results(self.dir)  # of format 1
        self.assertEqual((old.about, old.programs, old.molecule, old.indices("big")), ({}, [], None, None))
        whole = old.saved_array("big")
        np.testing.assert_array_equal(whole, [[0, 1, 2, 0, 0], [3, 4, 5, 0, 0], [0, 0, 0, 7, 7]])

    def test_failures_say_why(self):
        with self.assertRaisesRegex(sialx.JobError, "program.sialx:3:1: error"):
            sialx.Job(self.program("sial p\nscalar x\ny = 1.0\nendsial p\n")).run(self.dir / "job")
        with self.assertRaisesRegex(FileNotFoundError, "did the run finish"):
            sialx.Results(self.dir / "nowhere")
        for wrong, text in (({"symbols": ("GHOST-H", "H")}, "ghost"), ({"_ecp": {"H": [0, []]}}, "core potentials"),
                            ({"symbols": ("H1", "H2"), "basis": {"H1": [STO3G_H], "H2": [[0, [1.0, 1.0]]]}}, "different basis sets"),
                            ({"symbols": ("H", "O")}, "no basis functions"), ({"nucmod": {0: 2}}, "finite size"), ({"omega": 0.3}, "`omega` is 0.3"),
                            ({"lattice_vectors": None}, "periodic cell"), ({"_atm": [[1, 20, 3, 23, 0, 0]]}, "charges of their own"),
                            ({"nelectron": 4, "tot_electrons": lambda: 2}, "has 4 electrons")):
            with self.subTest(text), self.assertRaisesRegex(ValueError, text):
                sialx.from_pyscf(FakeMole(**wrong))
        with self.assertRaisesRegex(ValueError, "cannot be a value"):
            sialx.Job(RHF, values={"x": float("nan")}).write(self.dir / "job")
        with self.assertRaisesRegex(ValueError, "not a name"):
            sialx.Job(RHF, values={"a b": 1})

    def test_second_line_of_xyz_files(self):
        path = self.dir / "o.xyz"

        def read(line, *given):
            path.write_text(f"\ufeff1\n{line}\nO 0 0 0\n", encoding="utf-8")
            molecule = sialx.Molecule.from_xyz(path, "sto-3g", *given)
            return molecule.charge, molecule.multiplicity

        for line, given, expected in (("charge", (), (0, 1)), ("charge=-1 mult=2", (), (-1, 2)), ('Charge="1"', (1, 2), (1, 2)), ("charge=1 spin=1", (), (1, 2)), ("charge=1 spin=0.5", (1,), (1, 2)), ("charge=1 spin=1.5", (), (1, 4)), ("charge=0, mult=3;", (), (0, 3)), ("spin=2", (0, 3), (0, 3)),
                                      ('Lattice="9 0 0 0 9 0 0 0 9" pbc="F F F"', (), (0, 1))):  # fmt: skip
            with self.subTest(line):
                self.assertEqual(read(line, *given), expected)
        for line, text in (("spin=1", "2S or 2S"), ("charge=x", "no whole number"), ("charge=0.5", "no whole number")):
            with self.subTest(line), self.assertWarnsRegex(UserWarning, text):
                self.assertEqual(read(line), (0, 1))
        for given, expected, text in (((1,), (1, 3), "`.*o.xyz` states charge 0 in its second line, and 1 is given"), ((0, 1), (0, 1), "multiplicity 3 .* 1 is given")):
            with self.assertWarnsRegex(UserWarning, text):
                self.assertEqual(read("charge=0 multiplicity=3", *given), expected)
        for line, text in (('Lattice="9 0 0 0 9 0 0 0 9"', "periodic"),
                           ('pbc="T F F"', "periodic"), ("Properties=pos:R:3:species:S:1", "columns")):  # fmt: skip
            with self.subTest(line), self.assertRaisesRegex(ValueError, text):
                read(line)
        basis = self.dir / "b.nw"
        basis.write_text("BASIS SPHERICAL\nH    S\n 2.0 1.0 0.0\n 1.0 1.0 1.0\nO    SP\n 1.0 1.0 1.0\nO    D\n 1.0 1.0\nEND\nECP\nO nelec 2\nO ul\n 2 1.0 1.0\nO S\n 2 1.0 1.0\nEND\n")
        self.assertEqual(sialx.Molecule(["H", "O"], np.zeros((2, 3)), basis).functions, 2 + 4 + 5)

    def test_warnings_name_both_lines(self):
        program = self.program("""sial share
predefined int norb
aoindex i = 1:norb
scalar mine
pardo i
  mine += 1.0
endpardo i
print mine
endsial share
""")
        with self.assertWarnsRegex(sialx.JobWarning, r"(?s)program\.sialx:8:7: warning: `mine` is printed.*program\.sialx:6:3: note: `mine` is added to here, in a pardo\n"):
            sialx.Job(program, segments={"ao": [1, 1]}).run(self.dir / "job")

    def test_names_that_are_not_there(self):
        program = self.program("""sial names
index i = 1:3
predefined static full[i]
predefined scalar factor
scalar energy
int steps
energy = factor
do i
  energy += full[i]*full[i]
enddo i
steps = 3
set_persistent energy "label"
endsial names
""")
        data = {"full": np.ones(3)}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            results = sialx.Job(program, values={"factor": 2.5}, arrays=data).run(self.dir / "job")
        with self.assertWarnsRegex(sialx.JobWarning, r"the job gives the array `ful`, and no program has .*\n  hint: did you mean `full`\?"):
            sialx.Job(program, values={"factor": 2.5}, arrays={**data, "ful": np.ones(3)}).run(self.dir / "job")
        with self.assertWarnsRegex(sialx.JobWarning, "the job gives the array `other`"):
            sialx.Job(program, values={"factor": 2.5}, arrays={**data, "other": np.ones(3)}).run(self.dir / "job")
        with self.assertRaisesRegex(sialx.JobError, "a value for `facto`.*\n  hint: did you mean `factor`"):
            sialx.Job(program, values={"factor": 2.5, "facto": 1.0}, arrays=data).run(self.dir / "job")
        with self.assertRaisesRegex(sialx.JobError, "did you mean `ao`"):
            sialx.Job(program, values={"factor": 2.5}, arrays=data, segments={"a0": [2]}).run(self.dir / "job")
        self.assertEqual(results.scalars["energy"], 5.5)
        for wrong, text in ((lambda: results.scalars["enrgy"], "the scalar `enrgy` is not there (did you mean `energy`?); there are: energy, factor, label"),
                            (lambda: results.ints["stps"], "the int `stps` is not there (did you mean `steps`?); there are: steps"),
                            (lambda: results.saved_scalars["x"], "the saved scalar `x` is not there; there are: label"),
                            (lambda: results.static("fulll"), "the static array `fulll` is not there (did you mean `full`?); there are: full"),
                            (lambda: results.saved_static("x"), "the saved static array `x` is not there; there are: none"),
                            (lambda: results.segments("x"), "the saved array `x` is not there; there are: none")):
            with self.assertRaises(KeyError) as caught:
                wrong()
            self.assertIsInstance(caught.exception, sialx.UnknownName)
            self.assertEqual(str(caught.exception), text)
        self.assertIsNone(results.scalars.get("enrgy"))

    def test_errors_pass_between_processes(self):
        # As multiprocessing hands them from a worker to the program that waits for it.
        wrong = sialx.JobError(3, "error: no\n")
        again = pickle.loads(pickle.dumps(wrong))
        self.assertEqual((type(again), again.code, str(again)), (sialx.JobError, 3, "error: no"))
        missing = sialx.UnknownName("enrgy", ["energy"], "the scalar")
        again = pickle.loads(pickle.dumps(missing))
        self.assertEqual((type(again), str(again)), (sialx.UnknownName, str(missing)))

    def test_one_folder_of_imports(self):
        (self.dir / "common").mkdir()
        (self.dir / "common" / "shared.sialx").write_text("sial shared\nscalar x = 2.0\nendsial shared\n")
        program = self.program("import \"shared.sialx\"\nsial main\nscalar y\ny = x + 1.0\nendsial main\n")
        for include in (self.dir / "common", str(self.dir / "common"), [self.dir / "common"]):
            self.assertEqual(sialx.Job(program, include=include).run(self.dir / "job").scalars["y"], 3.0)

    def test_basis_sets_by_name_and_file(self):
        own = sialx.Molecule(["H", "H"], np.array([[0, 0, 0], [0, 0, 1.4]]), {"H": [(0, [1.0], [1.0])]})
        (self.dir / "own.g94").write_text(own.gaussian94())
        at = os.getcwd()
        self.addCleanup(os.chdir, at)
        os.chdir(self.dir)
        energies = []
        for basis in (own.basis, "own.g94", "./own.g94", pathlib.Path("own.g94"), self.dir / "own.g94"):
            molecule = sialx.Molecule(own.symbols, own.coordinates, basis)
            energies.append(sialx.Job(RHF, molecule=molecule).run("job").saved_scalars["scf_energy"])
        np.testing.assert_allclose(energies, energies[0], rtol=1e-12)
        named = sialx.Molecule(own.symbols, own.coordinates, "sto-3g")
        self.assertEqual(named.write(self.dir)["basis"], "sto-3g")
        with self.assertRaisesRegex(ValueError, "given by name .`sto-3g`.: its shells are not known"):
            named.gaussian94()

    def test_basis_sets_of_the_exchange(self):
        """Where its package is installed; here a module of its name stands for it."""
        asked = []

        class Exchange:
            def get_basis(self, name, elements, fmt, header):
                asked.append((name, elements, fmt, header))
                if name != "far-away":
                    raise KeyError(f"Basis set {name} does not exist")
                return sialx.Molecule(["H"], [[0, 0, 0]], {"H": [(0, [1.0], [1.0])]}).gaussian94()

        def job(basis):
            return sialx.Job(RHF, molecule=sialx.Molecule(["H", "H"], np.array([[0, 0, 0], [0, 0, 1.4]]), basis))

        expected = job({"H": [(0, [1.0], [1.0])]}).run(self.dir / "own").saved_scalars["scf_energy"]
        with unittest.mock.patch.dict(sys.modules, {"basis_set_exchange": Exchange()}):
            self.assertEqual(job("far-away").run(self.dir / "far").saved_scalars["scf_energy"], expected)
            self.assertEqual(asked, [("far-away", ["H"], "gaussian94", False)])
            for shipped in ("sto-3g", "6-31G*", self.dir / "own" / "basis.g94"):
                job(shipped).write(self.dir / "job")
            self.assertEqual(len(asked), 1)
            with self.assertRaisesRegex(ValueError, "`nowhere` is none that sialx ships, and the Basis Set Exchange has it not: 'Basis set nowhere does not exist'"):
                job("nowhere").write(self.dir / "job")
        with unittest.mock.patch.dict(sys.modules, {"basis_set_exchange": None}), self.assertRaisesRegex(sialx.JobError, "unknown basis `far-away`"):
            job("far-away").run(self.dir / "job")

    def test_general_contractions_and_flags(self):
        general = [[0, [10.0, 0.5, 0.0], [1.0, 0.5, 1.0]], [1, 0, [0.7, 1.0]]]
        molecule = sialx.from_pyscf(FakeMole(basis={"H": general}, charge=1, spin=1, cart=True))
        assert isinstance(molecule.basis, dict)
        self.assertEqual(molecule.basis["H"], [(0, [10.0, 1.0], [0.5, 0.5]), (0, [1.0], [1.0]), (1, [0.7], [1.0])])
        text = sialx.Job(RHF, molecule=molecule).write(self.dir / "job").read_text()
        for line in ("charge = 1", "multiplicity = 2", "spherical = false"):
            self.assertIn(line, text)

    def test_order_of_functions(self):
        """PySCF's functions in the order of sialx; a job that gives its overlap in another one is warned."""
        overlap = "sial overlap\nspecial return_ovl w\npredefined int norb\naoindex mu = 1:norb\naoindex nu = 1:norb\n{}static s[mu,nu]\nstatic own[mu,nu]\nscalar x\ndo mu\ndo nu\nexecute return_ovl own[mu,nu]\nx += s[mu,nu]*s[mu,nu]\nenddo nu\nenddo mu\nendsial overlap\n"
        for cart in (False, True):
            momenta = [0, 1, 2, 3] * 2
            mole = FakeMole({"H": [STO3G_H, *([l, [0.9 / l, 1.0]] for l in (1, 2, 3))]}, cart=cart, nbas=8, bas_angular=momenta.__getitem__, bas_nctr=lambda b: 1)
            order = sialx.ao_order(mole)
            sizes = [1, 3, 6, 10] if cart else [1, 3, 5, 7]
            expected = [first + k for first, n, l in zip(np.cumsum([0, *sizes * 2]), sizes * 2, momenta) for k in (range(n) if cart or l < 2 else range(n - 1, -1, -1))]
            self.assertEqual(order.permutation.tolist(), expected)
            # xx, xy, xz, yy, yz, zz have the norms (4 pi/5)^1/2 and (4 pi/15)^1/2 there.
            d = order.scale[4:10]
            np.testing.assert_allclose(d, np.sqrt(np.array([5, 15, 15, 5, 15, 5]) / (4 * np.pi)) if cart else 1.0)
            job = sialx.Job(self.program(overlap.format("")), sialx.from_pyscf(mole))
            np.testing.assert_array_equal(sialx.ao_order(job).permutation, order.permutation)
            own = job.run(self.dir / "own").static("own")
            theirs = np.empty_like(own)
            theirs[np.ix_(order.permutation, order.permutation)] = own / np.outer(order.scale, order.scale)
            np.testing.assert_allclose(order.apply(theirs), own, atol=1e-12)
            np.testing.assert_allclose(order.apply(theirs[None], axes=(1, 2))[0], own, atol=1e-12)
            for given, says in ((own, None), (theirs, "with other norms" if cart else "in another order, that of m = -l .. l"), (own**2, "the array `s` differs by up to"), (np.eye(len(own)) * 2, None)):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", sialx.JobWarning)
                    sialx.Job(self.program(overlap.format("predefined ")), sialx.from_pyscf(mole), arrays={"s": given}).run(self.dir / "given")
                self.assertEqual(len(caught), says is not None, [str(w.message) for w in caught])
                self.assertIn(says or "", "".join(str(w.message) for w in caught))
        # Shells of a file as they stand there, where PySCF sorts them.
        self.assertEqual(sialx.ao_order(sialx.Molecule(["O"], [[0, 0, 0]], {"O": [(0, [1], [1]), (1, [1], [1]), (0, [2], [1])]})).permutation.tolist(), [0, 2, 3, 4, 1])
        self.assertRaisesRegex(TypeError, "ao_order takes", sialx.ao_order, 3)
        self.assertRaisesRegex(ValueError, "does not run over 40 functions", order.apply, np.ones((3, 40)))

    def test_pyscf(self):
        try:
            from pyscf import gto, scf
        except ImportError:
            self.skipTest("PySCF is not installed")
        mol = gto.M(atom="O 0 0 0.117; H 0 0.757 -0.470; H 0 -0.757 -0.470", basis="cc-pvdz", verbose=0)
        reference = scf.RHF(mol).run(conv_tol=1e-12).e_tot
        results = sialx.Job([RHF, MP2], molecule=sialx.from_pyscf(mol)).run(self.dir / "water", ranks=2)
        self.assertAlmostEqual(results.saved_scalars["scf_energy"], reference, places=8)
        program = self.program("sial overlap\nspecial return_ovl w\npredefined int norb\naoindex mu = 1:norb\naoindex nu = 1:norb\nstatic own[mu,nu]\ndo mu\ndo nu\nexecute return_ovl own[mu,nu]\nenddo nu\nenddo mu\nendsial overlap\n")
        for cart in (False, True):
            mol = gto.M(atom=mol.atom, basis="cc-pvtz", cart=cart, verbose=0)
            own = sialx.Job(program, molecule=sialx.from_pyscf(mol)).run(self.dir / "overlap").static("own")
            np.testing.assert_allclose(sialx.ao_order(mol).apply(mol.intor("int1e_ovlp")), own, atol=1e-9)


if __name__ == "__main__":
    os.environ["SIALRUN"] = str(BIN / "sialrun")
    main()
