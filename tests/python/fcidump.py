#!/usr/bin/env python3
"""Hamiltonians: FCIDUMP files read and written, RHF in NumPy, and methods from equations on models and on what an earlier run left.

    fcidump.py --bin DIR [unittest arguments]

References: PySCF 2.14 with the same arrays as integrals (RHF to 1e-14, CCSD to 1e-13), and closed forms where they are named."""
import os
import pathlib
import subprocess
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np

from harness import BIN, ENV, ROOT, InFolder, main

sys.path.insert(0, str(ROOT / "runtime" / "python"))
import sialx  # noqa: E402

EXAMPLE = ROOT / "examples" / "19_equations"
WATER = ROOT / "examples" / "molecules" / "water.xyz"


def hubbard(sites: int, u: float, electrons: int, ring: bool = True) -> sialx.Hamiltonian:
    """Hopping 1, repulsion u."""
    h = -(np.eye(sites, k=1) + np.eye(sites, k=-1))
    if ring:
        h[0, -1] = h[-1, 0] = -1.0
    v = np.zeros((sites,) * 4)
    v[range(sites), range(sites), range(sites), range(sites)] = u
    return sialx.Hamiltonian(h, v, electrons)


def chain() -> sialx.Hamiltonian:
    """Sites of different energies that all repel each other, and a core energy: no symmetry hides an exchange of indices."""
    h = -(np.eye(5, k=1) + np.eye(5, k=-1)) + np.diag(0.3 * np.arange(5) - 0.2)
    v = np.zeros((5,) * 4)
    for p in range(5):
        for q in range(5):
            v[p, p, q, q] = 1.0 / (1 + abs(p - q))
    return sialx.Hamiltonian(h, v, 4, core_energy=0.75)


def random_hamiltonian(n: int, electrons: int) -> sialx.Hamiltonian:
    rng = np.random.default_rng(n)
    h, v = rng.normal(size=(n, n)), rng.normal(size=(n, n, n, n))
    for axes in ((1, 0, 2, 3), (0, 1, 3, 2), (2, 3, 0, 1)):
        v = v + v.transpose(axes)
    return sialx.Hamiltonian(h + h.T, v, electrons, -1.25, 3, range(1, n + 1), 4, rng.normal(size=n))


class Dumps(InFolder):
    def written(self, text: str) -> pathlib.Path:
        path = self.dir / "FCIDUMP"
        path.write_text(text)
        return path

    def read(self, text: str) -> sialx.Hamiltonian:
        return sialx.Hamiltonian.from_fcidump(self.written(text))

    def alike(self, one: sialx.Hamiltonian, two: sialx.Hamiltonian, tolerance: float) -> None:
        np.testing.assert_allclose(one.one_electron, two.one_electron, rtol=0, atol=tolerance)
        np.testing.assert_allclose(one.two_electron, two.two_electron, rtol=0, atol=tolerance)
        self.assertAlmostEqual(one.core_energy, two.core_energy, delta=tolerance)
        self.assertEqual((one.electrons, one.multiplicity), (two.electrons, two.multiplicity))


class Files(Dumps):
    def test_round_trip(self) -> None:
        """The second time to the last bit: a file has one of the elements that are equal by symmetry."""
        for n in (1, 2, 5):
            made = random_hamiltonian(n, 2 * (n // 2)) if n > 1 else sialx.Hamiltonian([[0.1]], [[[[1 / 3]]]], 2, 1e-300)
            made.to_fcidump(self.dir / "FCIDUMP")
            again = sialx.Hamiltonian.from_fcidump(self.dir / "FCIDUMP")
            self.alike(made, again, 1e-14 if n > 1 else 0.0)
            self.assertEqual((made.symmetries, made.symmetry), (again.symmetries, again.symmetry))
            if n > 1:
                np.testing.assert_array_equal(made.orbital_energies, again.orbital_energies)
            again.to_fcidump(self.dir / "again")
            self.alike(sialx.Hamiltonian.from_fcidump(self.dir / "again"), again, 0.0)
        lines = (self.dir / "again").read_text().splitlines()
        self.assertEqual(len(lines), 4 + 15 * 16 // 2 + 15 + 5 + 1)  # pairs of pairs, pairs, energies, core

    def test_threshold(self) -> None:
        h = hubbard(3, 1e-3, 2)
        h.to_fcidump(self.dir / "FCIDUMP", threshold=1e-2)
        self.assertEqual(np.count_nonzero(sialx.Hamiltonian.from_fcidump(self.dir / "FCIDUMP").two_electron), 0)
        with self.assertRaisesRegex(ValueError, "threshold=-1 is negative"):
            h.to_fcidump(self.dir / "FCIDUMP", threshold=-1)

    def test_forms(self) -> None:
        """The same Hamiltonian as PySCF, Molpro and others write it."""
        pyscf = """ &FCI NORB=   2,NELEC=2,MS2=0,
  ORBSYM=1,5,
  ISYM=1,
 &END
 0.6756346146     1    1    1    1
 0.1809312700     2    1    2    1
 0.6645817316     2    2    1    1
 0.6985738000     2    2    2    2
 -1.252477303982148     1    1  0  0
 -0.475934275     2    2  0  0
 0.7137539936876182  0  0  0  0
"""
        molpro = """ &FCI NORB=  2,NELEC=  2,MS2= 0,
  ORBSYM=1,5,
  ISYM=1,
 /
  0.675634614600000000E+00   1   1   1   1
  0.180931270000000000E+00   2   1   2   1
  0.664581731600000000E+00   2   2   1   1
  0.698573800000000000E+00   2   2   2   2
 -0.125247730398214800E+01   1   1   0   0
 -0.475934275000000000E+00   2   2   0   0
  0.713753993687618200E+00   0   0   0   0
"""
        fortran = """
&fci
  norb = 2, nelec = 2
  OrbSym = 1 5   ! two irreducible representations
  uhf = .false., iuhf = 0, isym = 1
$end
 0.7137539936876182D+00 0 0 0 0
 0.6756346146d0 1 1 1 1

 1.809312700d-1 1 2 2 1
 1.809312700d-1 1 2 1 2
 0.6645817316D0 1 1 2 2
 0.6645817316D0 2 2 1 1
 .6985738 2 2 2 2
 -1.252477303982148 1 1 0 0
 -0.5782 1 0 0 0
 0.6703 2 0 0 0
 -0.475934275 2 2 0 0
"""
        repeated = pyscf.replace("NORB=   2,NELEC=2,MS2=0,\n  ORBSYM=1,5,", "NORB=2, NELEC=2,\n  MS2=0,ORBSYM=2*1,")
        v = np.zeros((2,) * 4)
        v[0, 0, 0, 0], v[1, 1, 1, 1], v[0, 0, 1, 1], v[1, 1, 0, 0] = 0.6756346146, 0.6985738, 0.6645817316, 0.6645817316
        for p, q in ((0, 1), (1, 0)):
            for r, s in ((0, 1), (1, 0)):
                v[p, q, r, s] = 0.18093127
        known = sialx.Hamiltonian(np.diag([-1.252477303982148, -0.475934275]), v, 2, 0.7137539936876182)
        for name, text, symmetries in (("PySCF", pyscf, (1, 5)), ("Molpro", molpro, (1, 5)), ("Fortran", fortran, (1, 5)), ("repeated", repeated, (1, 1)), ("CRLF", pyscf.replace("\n", "\r\n"), (1, 5))):
            with self.subTest(name):
                found = self.read(text)
                self.alike(found, known, 0.0)
                self.assertEqual((found.symmetries, found.symmetry, found.multiplicity), (symmetries, 1, 1))
        self.assertIsNone(self.read(pyscf).orbital_energies)
        self.assertEqual(list(self.read(fortran).orbital_energies), [-0.5782, 0.6703])

    def test_no_core_energy(self) -> None:
        with self.assertWarnsRegex(UserWarning, "FCIDUMP: there is no energy of the core .* is the file complete"):
            self.assertEqual(self.read("&FCI NORB=1,NELEC=2 /\n1.0 1 1 1 1\n").core_energy, 0.0)

    def test_unknown_keys(self) -> None:
        head = "&FCI NORB=1,NELEC=2,NPROP=1,1,1,ORBSYN=1,\n&END\n1.0 1 1 1 1\n0.0 0 0 0 0\n"
        with self.assertWarnsRegex(UserWarning, r"FCIDUMP:1: `ORBSYN` of the namelist is not known and left out \(did you mean `ORBSYM`.*\?\)") as caught:
            self.read(head)
        self.assertEqual(caught.filename, __file__)

    def test_errors(self) -> None:
        head = "&FCI NORB=2,NELEC=2,MS2=0,\n ORBSYM=1,1,\n ISYM=1,\n&END\n"
        for text, pattern in (
            ("", "FCIDUMP: the file is empty"),
            ("2\nwater\nO 0 0 0\n", r"FCIDUMP:1: an FCIDUMP file begins with the namelist &FCI\n    2\n    hint: is this another file\?"),
            ("&FCIX NORB=2\n&END\n", "FCIDUMP:1: an FCIDUMP file begins"),
            ("&FCI NORB=2,NELEC=2,\n1.0 1 1 1 1\n", "FCIDUMP:1: the namelist &FCI has no end"),
            ("&FCI NORB=2,NELEC=2 &END 1.0 1 1 1 1\n", "FCIDUMP:1: there is text after the end"),
            ("&FCI water NORB=2 &END\n", "FCIDUMP:1: `water` is no key"),
            ("&FCI NELEC=2 /\n", "FCIDUMP:1: the namelist has no NORB\n.*\n    hint: add NORB="),
            ("&FCI NORB=2 /\n", "has no NELEC"),
            ("&FCI NORB=2,\n NORB=2,NELEC=2 /\n", "FCIDUMP:2: NORB is there twice\n.*\n.*line 1 already"),
            ("&FCI NORB=two,NELEC=2 /\n", "NORB=two is no integer"),
            ("&FCI NORB=2,2,NELEC=2 /\n", "NORB=2,2 is no integer"),
            ("&FCI NORB=0,NELEC=0 /\n", "NORB=0\n"),
            ("&FCI NORB=2,\nNELEC=6 /\n", "FCIDUMP:2: NELEC=6 and MS2=0 do not fit NORB=2"),
            ("&FCI NORB=2,NELEC=3 /\n", "NELEC=3 and MS2=0 do not fit"),
            ("&FCI NORB=2,NELEC=2,MS2=-2 /\n", "MS2=-2 do not fit"),
            ("&FCI NORB=2,NELEC=2,MS2=4 /\n", "MS2=4 do not fit"),
            ("&FCI NORB=2,NELEC=2,ORBSYM=1 /\n", "ORBSYM has 1 numbers, and NORB=2"),
            ("&FCI NORB=2,NELEC=2,ORBSYM=A1,B1 /\n", "`A1` in ORBSYM is no integer"),
            ("&FCI NORB=2,NELEC=2,UHF=.TRUE. /\n", r"UHF=.TRUE.\n.*\n.*six groups of integrals"),
            ("&FCI NORB=2,NELEC=2,IUHF=1 /\n", "IUHF=1"),
            ("&FCI NORB=2,NELEC=2,TREL=T /\n", "spinors cannot be read"),
            (head + "(1.0,0.0) 1 1 1 1\n", "FCIDUMP:5: complex integrals cannot be read"),
            (head + "1.0 0.0 1 1 1 1\n", "6 words .*\n.*\n.*the complex form"),
            (head + "1.0 1 1 1 1\n1.0 1 1\n", r"FCIDUMP:6: 3 words where a value and four indices are expected\n    1.0 1 1\n    hint: a line is `value i j k l`"),
            (head + "1,0 1 1 1 1\n", "FCIDUMP:5: a word that is no number"),
            (head + "1_0 1 1 1 1\n", "a word that is no number"),
            (head + "1.0 1 1 1 1.5\n", "a word that is no number"),
            (head + "nan 1 1 1 1\n", "the value nan is not finite"),
            (head + "1.0 1 1 1 3\n", "an index outside 1 to NORB=2"),
            (head + "1.0 1 1 1 -1\n", "an index outside 1 to NORB=2"),
            (head + "1.0 1 1 1 0\n", "FCIDUMP:5: indices of no integral"),
            (head + "1.0 0 0 1 1\n", "indices of no integral"),
            (head + "1.0 0 1 0 0\n", "indices of no integral"),
            (head + "0.5 2 1 1 1\n0.25 1 1 0 0\n0.5 1 2 1 1\n0.6 1 1 2 1\n", r"FCIDUMP:8: the element has another value in line 5, 0.5\n    0.6 1 1 2 1\n    hint: .*UHF"),
            (head + "0.25 1 2 0 0\n0.26 2 1 0 0\n", "FCIDUMP:6: the element has another value in line 5, 0.25"),
            (head + "0.0 0 0 0 0\n0.71 0 0 0 0\n", "FCIDUMP:6: the element has another value in line 5"),
        ):
            with self.subTest(pattern=pattern), self.assertRaisesRegex(ValueError, pattern):
                self.read(text)
        with self.assertRaisesRegex(ValueError, "not_there: the file cannot be read: No such file"):
            sialx.Hamiltonian.from_fcidump(self.dir / "not_there")

    def test_arrays_that_are_refused(self) -> None:
        h, v = np.eye(2), np.zeros((2,) * 4)
        skew, exchanged = np.array([[0.0, 1.0], [0.5, 0.0]]), v.copy()
        exchanged[0, 1, 0, 1] = exchanged[1, 0, 1, 0] = 0.2  # as <pq|rs> has it
        for pattern, given in (
            (r"one_electron has the shape \(2, 3\)", (np.zeros((2, 3)), v, 2)),
            (r"two_electron has the shape \(2, 2\); .* \(2, 2, 2, 2\) for the 2 orbitals", (h, h, 2)),
            (r"one_electron is not equal to h\[q,p\]: \[0,1\] = 1, \[1,0\] = 0.5", (skew, v, 2)),
            (r"two_electron is not equal to \(qp\|rs\): \[0,1,0,1\] = 0.2, \[1,0,0,1\] = 0; .*physicists", (h, exchanged, 2)),
            ("one_electron is complex", (1j * h, v, 2)),
            ("one_electron is no array of numbers", ("water", v, 2)),
            (r"two_electron has elements that are not finite, the first at \[0, 0, 0, 0\]", (h, v + np.nan, 2)),
            ("electrons=2.0: it is an integer", (h, v, 2.0)),
            ("5 electrons do not fit 2 orbitals", (h, v, 5)),
            ("2 electrons in 2 orbitals cannot have multiplicity 2", (h, v, 2, 0.0, 2)),
            ("4 electrons in 2 orbitals cannot have multiplicity 3", (h, v, 4, 0.0, 3)),
            ("core_energy=inf is not finite", (h, v, 2, np.inf)),
            ("symmetries are one number", (h, v, 2, 0.0, 1, [1])),
        ):
            with self.subTest(pattern=pattern), self.assertRaisesRegex(ValueError, pattern):
                sialx.Hamiltonian(*given)


class Orbitals(Dumps):
    def test_hubbard(self) -> None:
        """Plane waves by symmetry: the lowest orbitals of h, each with u n/2 more."""
        found = hubbard(6, 2.0, 6).hartree_fock()
        self.assertAlmostEqual(found.energy, -8.0 + 2.0 * 6 / 4, delta=1e-12)
        np.testing.assert_allclose(found.orbital_energies, np.array([-2, -1, -1, 1, 1, 2]) + 1.0, atol=1e-12)

    def test_chain(self) -> None:
        self.assertAlmostEqual(chain().hartree_fock().energy, -0.647076588431, delta=1e-11)

    def test_any_basis(self) -> None:
        """The energy does not depend on the orbitals that it is found from, nor on their order."""
        for known, h in ((chain().hartree_fock(), chain()), (hubbard(6, 2.0, 6).hartree_fock(), hubbard(6, 2.0, 6))):
            canonical = h.transformed(known.coefficients)
            self.assertEqual(canonical.hartree_fock().cycles, 0)
            order = np.eye(h.orbitals)[:, np.random.default_rng(3).permutation(h.orbitals)]
            shuffled = canonical.transformed(order).hartree_fock()
            self.assertEqual(shuffled.cycles, 0)
            rotation = np.linalg.qr(np.random.default_rng(2).normal(size=h.one_electron.shape))[0]
            for found in (shuffled, canonical.transformed(rotation).hartree_fock()):
                self.assertAlmostEqual(found.energy, known.energy, delta=1e-11)
                np.testing.assert_allclose(found.orbital_energies, known.orbital_energies, atol=1e-9)

    def test_no_closed_shell(self) -> None:
        for pattern, h in (
            ("have energies 1.000000 and 1.000000: the 2 electrons have no closed shell", sialx.Hamiltonian(np.eye(2), np.zeros((2,) * 4), 2)),
            ("there is nothing to correlate", hubbard(2, 2.0, 4)),
            ("there is nothing to correlate", hubbard(2, 2.0, 0)),
            ("multiplicity 3; RHF is for closed shells", sialx.Hamiltonian(np.eye(2), np.zeros((2,) * 4), 2, multiplicity=3)),
        ):
            with self.subTest(pattern=pattern), self.assertRaisesRegex(ValueError, pattern):
                h.hartree_fock()

    def test_not_converged(self) -> None:
        with self.assertRaisesRegex(RuntimeError, r"did not converge in 3 cycles: .* is \d\.\de-\d+, and has to fall below 1.0e-12"):
            chain().hartree_fock(cycles=3)
        with self.assertRaisesRegex(RuntimeError, r"Without repulsion these are -1.0000 and -1.0000: where they are equal, 4 electrons have no closed shell"):
            hubbard(6, 2.0, 4).hartree_fock()

    def test_second_derivatives(self) -> None:
        """Against differences of energies of rotated orbitals."""
        h, occupied, step = chain(), 2, 1e-3
        found = h.hartree_fock()
        derivatives = h._second_derivatives(found, occupied)

        def energy(x: np.ndarray) -> float:
            k = np.zeros((5, 5))
            k[occupied:, :occupied] = x.reshape(3, 2)
            rotation, term = np.eye(5), np.eye(5)
            for n in range(1, 12):
                term = term @ (k - k.T) / n
                rotation = rotation + term
            c = (found.coefficients @ rotation)[:, :occupied]
            return float(np.sum((c @ c.T) * (h.one_electron + h.fock(c @ c.T)))) + h.core_energy

        for n in range(6):
            x = np.random.default_rng(n).normal(size=6)
            numerical = (energy(step * x) - 2 * energy(0 * x) + energy(-step * x)) / step**2
            self.assertAlmostEqual(4 * x @ derivatives @ x / numerical, 1.0, delta=1e-4)

    def test_unstable(self) -> None:
        """Attraction: electrons in pairs on one sublattice have less energy than those of plane waves."""
        with self.assertWarnsRegex(UserWarning, "is no minimum: among closed shells there is one of lower energy"):
            hubbard(6, -4.0, 6).hartree_fock()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            hubbard(6, 4.0, 6).hartree_fock()


class Methods(Dumps):
    def run_method(self, name: str, h: object, *given: object, spin: str = "closed-shell", **options: object) -> sialx.equations.methods.MethodResults:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return sialx.method(EXAMPLE / f"{name}.txt", spin=spin).run(h, *given, folder=self.dir, **options)  # type: ignore[arg-type, misc]

    def test_two_sites(self) -> None:
        """CCSD is exact for two electrons: (u - sqrt(u**2 + 16 t**2))/2."""
        for u, name, spin in ((6.0, "ccsd", "closed-shell"), (2.0, "ccsd", "spin-orbital"), (2.0, "dcsd", "orbitals"), (2.0, "ccsd", "closed-shell")):
            found = self.run_method(name, hubbard(2, u, 2, ring=False), spin=spin)
            self.assertAlmostEqual(found.energy, (u - np.sqrt(u**2 + 16.0)) / 2, delta=1e-9)

    def test_ring(self) -> None:
        """On one rank and on two, in one block per space and in several."""
        for spin, ranks, segment in (("closed-shell", 1, 8), ("closed-shell", 2, 2), ("spin-orbital", 2, 2)):
            found = self.run_method("ccsd", hubbard(6, 2.0, 6), spin=spin, ranks=ranks, segment=segment)
            self.assertAlmostEqual(found.reference_energy, -5.0, delta=1e-11)
            self.assertAlmostEqual(found.correlation_energy, -0.408955909507, delta=1e-9)

    def test_chain(self) -> None:
        found = self.run_method("ccsd", chain())
        self.assertAlmostEqual(found.correlation_energy, -0.028904701109, delta=1e-9)
        self.assertAlmostEqual(found.energy, -0.675981289540, delta=1e-9)
        corrected = sialx.method(EXAMPLE / "ccsd_t.txt", after=sialx.method(EXAMPLE / "ccsd.txt")).run(chain(), folder=self.dir)
        self.assertAlmostEqual(corrected.energy - found.energy, -0.000008204010, delta=1e-9)
        again = found.hamiltonian()
        self.assertAlmostEqual(again.core_energy, 0.75)
        self.alike(again, chain().transformed(chain().hartree_fock().coefficients), 1e-10)

    def test_water_out_and_in(self) -> None:
        of_molecule = {name: self.run_method(name, WATER, "sto-3g") for name in ("ccsd", "ccsdt")}
        h = of_molecule["ccsdt"].hamiltonian()
        self.assertAlmostEqual(h.core_energy, 9.194964854505, delta=1e-11)
        h.to_fcidump(self.dir / "FCIDUMP")
        again = sialx.Hamiltonian.from_fcidump(self.dir / "FCIDUMP")
        self.alike(h, again, 1e-14)
        rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(7, 7)))[0]
        for given in (again, again.transformed(rotation)):
            self.assertAlmostEqual(given.hartree_fock().energy, -74.962928270822, delta=1e-11)
        for name, known in of_molecule.items():
            found = self.run_method(name, again, ranks=2, segment=3)
            self.assertAlmostEqual(found.energy, known.energy, delta=1e-9)
            self.assertAlmostEqual(found.correlation_energy, known.correlation_energy, delta=1e-9)
        self.assertAlmostEqual(self.run_method("ccsd", again.transformed(rotation)).energy, of_molecule["ccsd"].energy, delta=1e-9)
        spin_orbital = self.run_method("ccsd", WATER, "sto-3g", spin="spin-orbital")
        self.alike(spin_orbital.hamiltonian(), h, 1e-9)

    def test_functions_left_out(self) -> None:
        """As in tests/examples/edges.py, whose references are of NumPy and PySCF in the remaining space: a coarse threshold drops a function."""
        programs = [ROOT / "examples" / "04_rhf" / "rhf.sialx", EXAMPLE / "integrals.sialx"]
        left = sialx.Job(programs, sialx.Molecule.from_xyz(WATER, "6-31g*"), values={"lindep_tol": 1}).run(self.dir / "rhf")
        h = sialx.Hamiltonian.from_results(left)
        self.assertEqual((h.orbitals, left.static_shape("c")), (17, (18, 18)))
        found = self.run_method("ccsd", h)
        self.assertAlmostEqual(found.reference_energy, -75.9927477809, delta=1e-9)
        self.assertAlmostEqual(found.correlation_energy, -0.1918377554, delta=1e-9)

    def test_what_is_refused(self) -> None:
        ccsd, ring = sialx.method(EXAMPLE / "ccsd.txt"), hubbard(6, 2.0, 6)
        for pattern, what in (
            ("a Hamiltonian has no basis set", lambda: ccsd.run(ring, "sto-3g")),
            ('spin="unrestricted" take a molecule', lambda: sialx.method(EXAMPLE / "ccsd.txt", spin="unrestricted").run(ring)),
            ("there is nothing to correlate", lambda: ccsd.run(hubbard(6, 2.0, 12))),
            ("no integrals over orbitals of RHF.*orbitals of UHF", lambda: sialx.method(EXAMPLE / "ccsd.txt", spin="unrestricted").run(WATER, "sto-3g", folder=self.dir).hamiltonian()),
        ):
            with self.subTest(pattern=pattern), self.assertRaisesRegex(ValueError, pattern):
                what()

    def test_example(self) -> None:
        done = subprocess.run([sys.executable, EXAMPLE / "hubbard.py"], cwd=self.dir, env={**os.environ, "PYTHONPATH": str(ROOT / "runtime" / "python")}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("CCSD      -5.4089559095", done.stdout)
        self.assertIn("again     -5.4089559095", done.stdout)


if __name__ == "__main__":
    os.environ.update(ENV, SIALRUN=str(BIN / "sialrun"))
    main()
