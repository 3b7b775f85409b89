#!/usr/bin/env python3
"""Energies of methods made from equations: those of independent codes, and of full configuration interaction where the method is exact.

    energies.py --bin DIR [--long] [unittest arguments]

References: PySCF 2.14 with the basis sets of this repository (SCF to 1e-13, CCSD and CCSDT to 1e-12, full CI to 1e-14)."""
import itertools
import tempfile
import unittest
import warnings

import numpy as np

import reference_ccsd
from equation_oracle import ROOT, set_programs, takes_long, without_places

# isort: split
import sialx
from sialx import method

EXAMPLE = ROOT / "examples" / "19_equations"
WATER = ROOT / "examples" / "molecules" / "water.xyz"
ANGSTROM = 1 / 0.52917721092
LONG = False


def molecule(*atoms, basis):
    return sialx.Molecule([a[0] for a in atoms], np.array([a[1:] for a in atoms]) * ANGSTROM, basis)


def changed(*pairs):
    """The text of CCSD with something else in it."""
    text = (EXAMPLE / "ccsd.txt").read_text()
    for old, new in zip(pairs[::2], pairs[1::2]):
        assert old in text, old
        text = text.replace(old, new)
    return text


# A. P. Rendell, T. J. Lee, A. Komornicki, Chem. Phys. Lett. 178, 462 (1991): (T) over the orbitals of a closed shell.
TRIPLES = """
space o = i j k l
space v = a b c d
space g = o + v : p q r s
input f[g,g]
input u[g,g,g,g] symmetric (1 3, 2 4) (1,3) (2,4)
input t1[v,o]
input t2[v,v,o,o] symmetric (1 3, 2 4)
amplitude t3[v,v,v,o,o,o] symmetric (1 4, 2 5, 3 6)
intermediate w[v,v,v,o,o,o] symmetric (1 4, 2 5, 3 6)
result r3[v,v,v,o,o,o] symmetric (1 4, 2 5, 3 6)
disconnected r3
w[a,b,c,i,j,k] = S(ai/bj/ck) u[i,b,a,d] t2[c,d,k,j] - S(ai/bj/ck) u[i,j,a,l] t2[b,c,l,k]
energy = 4/3 w[a,b,c,i,j,k] t3[a,b,c,i,j,k] + 1/3 w[b,c,a,i,j,k] t3[a,b,c,i,j,k] + 1/3 w[c,a,b,i,j,k] t3[a,b,c,i,j,k]
    - 4/3 w[a,b,c,i,j,k] t3[c,b,a,i,j,k] - 1/3 w[b,c,a,i,j,k] t3[c,b,a,i,j,k] - 1/3 w[c,a,b,i,j,k] t3[c,b,a,i,j,k]
r3[a,b,c,i,j,k] = w[a,b,c,i,j,k] + S(ai/bj ck) t1[a,i] u[j,k,b,c]
    + S(ai/bj ck) f[a,d] t3[d,b,c,i,j,k] - S(ai/bj ck) f[l,i] t3[a,b,c,l,j,k]
"""

# Quadruples of the products of doubles, divided by energies of orbitals: eight indices over orbitals, with the symmetry of pairs.
QUADRUPLES = """
space o = i j k l m
space v = a b c d e
space g = o + v : p q r s
input f[g,g]
input u[g,g,g,g] symmetric (1 3, 2 4) (1,3) (2,4)
input t2[v,v,o,o] symmetric (1 3, 2 4)
amplitude t4[v,v,v,v,o,o,o,o] symmetric (1 5, 2 6, 3 7, 4 8)
disconnected *
energy = u[k,l,c,d] u[i,j,a,b] t4[a,b,c,d,i,j,k,l]
r4[a,b,c,d,i,j,k,l] = S(ai bj/ck dl) t2[a,b,i,j] t2[c,d,k,l]
    + S(ai/bj ck dl) f[a,e] t4[e,b,c,d,i,j,k,l] - S(ai/bj ck dl) f[m,i] t4[a,b,c,d,m,j,k,l]
"""


class Energies(unittest.TestCase):
    def run_method(self, name, *given, spin="closed-shell", **options):
        folder = tempfile.TemporaryDirectory(prefix="sialx-energies-")
        self.addCleanup(folder.cleanup)
        options["folder"] = folder.name
        return method(EXAMPLE / f"{name}.txt", spin=spin).run(*given, **options)

    def test_ccsd(self):
        for spin, ranks, segment in (("closed-shell", 1, 8), ("closed-shell", 2, 2), ("spin-orbital", 1, 8), ("spin-orbital", 2, 2)):
            found = self.run_method("ccsd", WATER, "sto-3g", spin=spin, ranks=ranks, segment=segment)
            self.assertAlmostEqual(found.reference_energy, -74.9629282708215, delta=1e-9)
            self.assertAlmostEqual(found.correlation_energy, -0.049359076681165, delta=1e-9)
            self.assertLess(found.residual, 1e-8)
            t1, t2 = (np.asarray(found.arrays[t][...]) for t in ("t1", "t2"))
            if spin == "closed-shell":
                self.assertEqual((t1.shape, t2.shape), ((2, 5), (2, 2, 5, 5)))
                np.testing.assert_allclose(t2, t2.transpose(1, 0, 3, 2), atol=1e-12)
                closed = t1, t2
            else:  # alike for both spins, and antisymmetric
                self.assertEqual((t1.shape, t2.shape), ((4, 10), (4, 4, 10, 10)))
                np.testing.assert_allclose(t2, -t2.swapaxes(0, 1), atol=1e-9)
                np.testing.assert_allclose(t1[2:, 5:], closed[0], atol=1e-8)
                np.testing.assert_allclose(t2[:2, 2:, :5, 5:], closed[1], atol=1e-8)

    def test_more_basis_functions(self):
        for basis, energy in (("6-31g", -0.13532224920734), ("cc-pvdz", -0.2132838439)):
            self.assertAlmostEqual(self.run_method("ccsd", WATER, basis, ranks=2).correlation_energy, energy, delta=1e-9)

    def test_ccsdt(self):
        for spin in ("closed-shell", "spin-orbital"):
            self.assertAlmostEqual(self.run_method("ccsdt", WATER, "sto-3g", spin=spin).correlation_energy, -0.04945229401263, delta=1e-9)

    def test_cheaper_methods(self):
        """Alike over spin orbitals and summed over spin; methods.py compares the equations with perturbation theory over determinants."""
        for name, cycles in (("mp3", 3), ("cc2", 40)):
            energies = [self.run_method(name, WATER, "sto-3g", spin=spin, cycles=cycles) for spin in ("closed-shell", "spin-orbital")]
            self.assertAlmostEqual(energies[0].correlation_energy, energies[1].correlation_energy, delta=1e-10)
            self.assertLess(energies[0].correlation_energy, -0.03)

    def test_names(self):
        """What a method and its tensors are called does not matter."""
        text = (EXAMPLE / "ccsd.txt").read_text().replace("t1[", "cc_conv[").replace("t2[", "T2[")
        for name in ("scf", "My-Method", "index"):
            found = method(text, name=name)
            with tempfile.TemporaryDirectory(prefix="sialx-energies-") as folder:
                results = found.run(WATER, "sto-3g", folder=folder)
                self.assertAlmostEqual(results.energy, -74.9629282708215 - 0.049359076681165, delta=2e-9)
                self.assertEqual((results.arrays["cc_conv"].shape, results.arrays["T2"].shape), ((2, 5), (2, 2, 5, 5)))
                self.assertLess(results.residual, 1e-8)
                self.assertGreater(results.cycles, 5)

    def test_lambda(self):
        """Linear equations, which have no energy, after CCSD. Norms and products with the amplitudes: those of PySCF 2.14, to what its solution is converged."""
        expected = {"l1": 0.0147993621, "l2": 0.1942951629}
        for spin, ranks in (("closed-shell", 1), ("closed-shell", 2), ("unrestricted", 1)):
            both = method(EXAMPLE / "lambda_ccsd.txt", spin=spin, after=method(EXAMPLE / "ccsd.txt", spin=spin, name="ccsd"), name="lambda")
            self.assertEqual(both.amplitudes[0], "l1" if spin == "closed-shell" else "l1_a")
            with tempfile.TemporaryDirectory(prefix="sialx-energies-") as folder:
                found = both.run(WATER, "6-31g", ranks=ranks, segment=4, folder=folder, convergence=1e-11)
                self.assertAlmostEqual(found.correlation_energy, -0.13532224920734, delta=1e-9)
                self.assertLess(found.residual, 1e-9)
                arrays = {name: np.asarray(x[...]).T for name, x in found.arrays.items()}
                if spin == "closed-shell":
                    t1, t2, l1, l2 = (arrays[name] for name in ("t1", "t2", "l1", "l2"))
                    self.assertAlmostEqual(np.einsum("ai,ia", t1, l1), 0.0002758253, delta=1e-9)
                    self.assertAlmostEqual(np.einsum("abij,ijab", t2, l2), 0.0380003507, delta=2e-9)
                    self.assertAlmostEqual(np.einsum("abji,ijab", t2, l2), 0.0323225235, delta=2e-9)
                else:
                    l1, l2 = arrays["l1_a"], arrays["l2_ab"]
                self.assertAlmostEqual(float(np.linalg.norm(l1)), expected["l1"], delta=5e-9)
                self.assertAlmostEqual(float(np.linalg.norm(l2)), expected["l2"], delta=5e-9)
        text = (EXAMPLE / "lambda_ccsd.txt").read_text()
        signs = text.replace("\n    - ", "\n    # ").replace("\n    + ", "\n    - ").replace("\n    # ", "\n    + ").replace("y1[i,a] = f", "y1[i,a] = - f").replace("y2[i,j,a,b] = u", "y2[i,j,a,b] = - u")
        with self.assertRaisesRegex(ValueError, "the residual `y1.i,a.` has the opposite sign"):
            method(signs, after=method(EXAMPLE / "ccsd.txt"))

    def test_perturbative_triples(self):
        """A method that takes the amplitudes of another, in one job."""
        ccsd = method(EXAMPLE / "ccsd.txt", name="ccsd")
        both = method(EXAMPLE / "ccsd_t.txt", after=ccsd, name="ccsd")
        self.assertEqual(both.names(), ["ccsd", "ccsd_2"])
        for ranks, segment in ((1, 8), (2, 3)):
            with tempfile.TemporaryDirectory(prefix="sialx-energies-") as folder:
                found = both.run(WATER, "cc-pvdz", ranks=ranks, segment=segment, folder=folder)
                self.assertAlmostEqual(found.results.saved_scalars["ccsd_correlation_energy"], -0.2132838439, delta=1e-9)
                self.assertAlmostEqual(found.results.saved_scalars["ccsd_2_correlation_energy"], -0.0030556408, delta=1e-9)
                self.assertAlmostEqual(found.correlation_energy, -0.2163394847, delta=1e-9)
                self.assertEqual(found.arrays["t2"].shape, (19, 19, 5, 5))
        with tempfile.TemporaryDirectory(prefix="sialx-energies-") as folder:  # over orbitals, and after a method over spin orbitals
            found = method(TRIPLES, spin="orbitals", after=ccsd, name="triples").run(WATER, "cc-pvdz", ranks=2, folder=folder)
            self.assertAlmostEqual(found.results.saved_scalars["triples_correlation_energy"], -0.0030556408, delta=1e-9)
        with self.assertRaisesRegex(ValueError, 'spin="closed-shell" or "orbitals", and so has the other'):
            method(EXAMPLE / "ccsd_t.txt", spin="spin-orbital", after=ccsd)
        with self.assertRaisesRegex(ValueError, "`t1`, `t2`: given besides"):
            method(EXAMPLE / "ccsd_t.txt")

    def test_distinguishable_cluster(self):
        """DCSD, whose equations are over orbitals: exact for two electrons, else as a solver of its own finds with the integrals that the job left."""
        found = self.run_method("dcsd", molecule(("H", 0, 0, 0), ("H", 0, 0, 0.74), basis="6-31g"), spin="orbitals")
        self.assertAlmostEqual(found.correlation_energy, -0.02491722742731617, delta=1e-9)
        for basis, ranks, segment in (("sto-3g", 2, 2), ("6-31g", 2, 8)):
            found = self.run_method("dcsd", WATER, basis, spin="orbitals", ranks=ranks, segment=segment)
            u = np.asarray(found.results.arrays["integrals"][...]).transpose(0, 2, 1, 3)
            fock, o = np.asarray(found.results.saved_static("fock_mo")), found.arrays["t1"].shape[1]
            e = np.diag(fock)
            d = e[None, :o] - e[o:, None]
            t1, t2 = np.zeros(d.shape), np.zeros((*2 * d.shape[:1], *2 * d.shape[1:]))
            for _ in range(100):
                step = reference_ccsd.closed_shell(fock, u, t1, t2, distinguishable=True)
                t1, t2 = t1 + step["r1"] / d, t2 + step["r2"] / (d[:, None, :, None] + d[None, :, None, :])
                if max(float(np.max(np.abs(step[r]))) for r in ("r1", "r2")) < 1e-11:
                    break
            self.assertAlmostEqual(found.correlation_energy, step["energy"], delta=1e-9)
            self.assertLess(found.correlation_energy, -0.04)
            for name, t in (("t1", t1), ("t2", t2)):
                np.testing.assert_allclose(np.asarray(found.arrays[name][...]), t, atol=1e-7)

    def test_eight_indices_over_orbitals(self):
        both = method(QUADRUPLES, spin="orbitals", after=method(EXAMPLE / "dcsd.txt", spin="orbitals", name="dcsd"), name="quadruples")
        with tempfile.TemporaryDirectory(prefix="sialx-energies-") as folder, warnings.catch_warnings():
            warnings.simplefilter("error")
            found = both.run(WATER, "sto-3g", ranks=2, folder=folder, segment=3)
            t2, t4 = (np.asarray(found.arrays[t][...]) for t in ("t2", "t4"))
            u = np.asarray(found.results.arrays["integrals"][...]).transpose(0, 2, 1, 3)
            e, o = np.diag(np.asarray(found.results.saved_static("fock_mo"))), t2.shape[2]
            denominators = sum((-1 if n < 4 else 1) * (e[o:] if n < 4 else e[:o]).reshape([-1 if x == n else 1 for x in range(8)]) for n in range(8))
            pairs = [("".join(two), "".join(x for x in "0123" if x not in two)) for two in itertools.combinations("0123", 2)]
            letters = lambda digits: "".join("abcd"[int(x)] for x in digits) + "".join("ijkl"[int(x)] for x in digits)
            products = sum(np.einsum(f"{letters(one)},{letters(other)}->abcdijkl", t2, t2) for one, other in pairs)
            np.testing.assert_allclose(t4, products / denominators, atol=1e-12)
            energy = np.einsum("klcd,ijab,abcdijkl", u[:o, :o, o:, o:], u[:o, :o, o:, o:], products / denominators, optimize=True)
            self.assertAlmostEqual(found.results.saved_scalars["quadruples_correlation_energy"], energy, delta=1e-12)
            self.assertGreater(abs(energy), 1e-3)

    def test_two_electrons(self):
        """CCSD is exact."""
        found = self.run_method("ccsd", molecule(("H", 0, 0, 0), ("H", 0, 0, 0.74), basis="6-31g"))
        self.assertAlmostEqual(found.correlation_energy, -0.02491722742731617, delta=1e-9)

    def test_four_electrons(self):
        """CCSDTQ is exact."""
        if not LONG:
            self.skipTest("takes a minute: --long")
        found = self.run_method("ccsdtq", molecule(("Li", 0, 0, 0), ("H", 0, 0, 1.6), basis="sto-3g"), spin="spin-orbital", convergence=1e-11)
        self.assertAlmostEqual(found.correlation_energy, -0.02045960908390576, delta=1e-9)

    def test_undeclared_residual(self):
        """It has the symmetry of its amplitude."""
        text = changed("result r2[v,v,o,o] antisymmetric (1,2) (3,4)\n", "")
        self.assertEqual(without_places(method(text).sial), without_places(method(EXAMPLE / "ccsd.txt").sial))

    def test_what_is_refused(self):
        ccsd = method(EXAMPLE / "ccsd.txt")
        empty = (EXAMPLE / "mp3.txt").read_text().split("amplitude")[0] + "amplitude t1[v,o]\nenergy = f[i,a] t1[a,i] + u[i,j,i,j]\nr1[a,i] = 0"
        for error, pattern, what in (
            (ValueError, "needs the name of a basis set", lambda: ccsd.run(WATER)),
            (ValueError, "multiplicity 3", lambda: ccsd.run(sialx.Molecule.from_xyz(WATER, "sto-3g", multiplicity=3))),
            (ValueError, "is no xyz file", lambda: ccsd.run(EXAMPLE / "ccsd.txt", "sto-3g")),
            (ValueError, 'spin="triplet" is not known', lambda: method(EXAMPLE / "ccsd.txt", spin="triplet")),
            (ValueError, "`t7` is no amplitude of the equations; there are: t1, t2", lambda: method(EXAMPLE / "ccsd.txt", amplitudes=["t7"])),
            (ValueError, "no scalar result `e`", lambda: method(EXAMPLE / "ccsd.txt", energy="e")),
            (ValueError, "`t2` is an amplitude that nothing solves for: name it in `amplitudes=`", lambda: method(EXAMPLE / "ccsd.txt", amplitudes=["t1"])),
            (ValueError, r"<text>:\d+: the residual `r1.a,i.` has the opposite sign: it has -f.a,a0. t1.a0,i., and residuals are as", lambda: method(changed("+ f[a,b] t1[b,i]", "- f[a,b] t1[b,i]"))),
            (ValueError, "the symmetry of `w` is not declared: if it is antisymmetric, say so", lambda: method(changed("r2[a,b,i,j] = u[a,b,i,j]", "intermediate w[v,v,o,o]\nw[a,b,i,j] = u[a,b,i,j]\nr2[a,b,i,j] = w[a,b,i,j]"))),
            (TypeError, "after= takes a method, as sialx.method.. makes it, not 'ccsd'", lambda: method(EXAMPLE / "ccsd_t.txt", after="ccsd")),  # type: ignore[arg-type]
            (ValueError, "o=-1: a space has a number of orbitals above 0", lambda: method(EXAMPLE / "ccsd.txt", extents={"o": -1})),
            (ValueError, "`t1` is solved for by the method before this one", lambda: method(EXAMPLE / "ccsd.txt", after=ccsd)),
            (ValueError, "`t4` has 8 indices: sums over spin know", lambda: method(EXAMPLE / "ccsdtq.txt")),
            (ValueError, "`g`: given besides the Fock matrix", lambda: method(changed("input f[g,g]", "input f[g,g]\ninput g[g,g]", "r1[a,i] = f[a,i]", "r1[a,i] = g[a,i]"))),
            (ValueError, "`u` is not antisymmetric in its first 2", lambda: method(changed("input u[g,g,g,g] antisymmetric (1,2) (3,4)", "input u[g,g,g,g]", "r2[a,b,i,j] = u[a,b,i,j]", "r2[a,b,i,j] = P(a b) P(i j) 1/4 u[a,b,i,j]"))),
            (ValueError, "`t2`: given besides .* `after=`", lambda: method(changed("amplitude t2", "input t2"))),
            (ValueError, "no term has the integrals", lambda: method("space o = i j\nspace v = a b\nspace g = o + v: p q\ninput f[g,g]\namplitude t1[v,o]\nenergy = f[i,a] t1[a,i]\nr1[a,i] = f[a,i]")),
            (ValueError, "the equation of `r2.a,b,i,j.` changes when .* as the symmetry of `t2` says", lambda: method(changed("+ P(i j) f[k,i] t2[a,b,j,k]", "+ f[k,i] t2[a,b,j,k]"))),
            (ValueError, "<text>:9: `r1.a,i. = 0` says nothing about `t1`", lambda: method(empty)),
            (ValueError, "`a b/c` cannot be the name of a program", lambda: method(EXAMPLE / "ccsd.txt", name="a b/c")),
            (ValueError, "0 ranks cannot run a job", lambda: ccsd.run(WATER, "sto-3g", ranks=0)),
            (sialx.JobError, "no orbitals in the space v: take a larger basis", lambda: ccsd.run(molecule(("He", 0, 0, 0), basis="sto-3g"))),
            (sialx.JobError, "the amplitudes did not converge: allow more iterations", lambda: ccsd.run(WATER, "sto-3g", cycles=2)),
        ):
            with self.subTest(pattern=pattern), self.assertRaisesRegex(error, pattern):
                what()


if __name__ == "__main__":
    set_programs()
    LONG = takes_long()
    unittest.main()
