#!/usr/bin/env python3
"""TREXIO files: orbitals that are orthonormal over the functions of the file, by its own rules; molecules that come back from it; files that are refused.

    trexio_files.py --bin DIR [unittest arguments]      exit code 77 where sialrun was built without TREXIO

The file is read here with h5py, and the overlap of its functions computed from what it says alone (see molden.py)."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

from harness import BIN, EXAMPLES, ROOT, InFolder, main
from molden import overlap, solid_harmonic

RHF, UHF = "04_rhf/rhf.sialx", "06_uhf/uhf.sialx"


class File:
    """Groups of an HDF5 file, by the names of TREXIO."""

    def __init__(self, path):
        with h5py.File(path, "r") as f:
            self.values = {f"{group}.{name.removeprefix(group + '_')}": item[...] for group in f for name, item in f[group].items()}
            self.values |= {f"{group}.{name.removeprefix(group + '_')}": item for group in f for name, item in f[group].attrs.items()}

    def __getitem__(self, name):
        return self.values[name]

    def functions(self):
        """(centre, [(exponent, factor)], {powers: factor}) of each."""
        out: list[tuple] = []
        for s, l in enumerate(self["basis.shell_ang_mom"]):
            mine = self["basis.shell_index"] == s
            factors = self["basis.coefficient"][mine] * self["basis.prim_factor"][mine] * self["basis.shell_factor"][s]
            primitives = list(zip(self["basis.exponent"][mine], factors))
            centre = self["nucleus.coord"].reshape(-1, 3)[self["basis.nucleus_index"][s]]
            if self["ao.cartesian"]:
                kinds = [{(x, y, l - x - y): 1.0} for x in range(l, -1, -1) for y in range(l - x, -1, -1)]
            else:
                kinds = []
                for m in sorted(range(-l, l + 1), key=lambda m: (abs(m), -m)):
                    kinds.append(racah(l, m))
            for kind in kinds:
                n = self["ao.normalization"][len(out)]
                out.append((centre, primitives, {p: n * f for p, f in kind.items()}))
        return out

    def overlap(self):
        f = self.functions()
        s = np.zeros((len(f),) * 2)
        for i in range(len(f)):
            for j in range(i + 1):
                s[i, j] = s[j, i] = overlap(f[i], f[j])
        return s

    def coefficients(self, spin):
        return self["mo.coefficient"].reshape(int(self["mo.num"]), -1)[self["mo.spin"] == spin].T


def racah(l, m):
    """The real solid harmonic whose square has the mean 1/(2 l + 1) over the unit sphere, as that of z**l / r**l's Legendre polynomial."""
    kind = solid_harmonic(l, m)
    unit = (np.zeros(3), [(1.0, 1.0)], kind)
    reference = (np.zeros(3), [(1.0, 1.0)], solid_harmonic(l, 0))
    top = reference[2][(0, 0, l)]
    scale = np.sqrt(overlap(reference, reference) / overlap(unit, unit)) / top
    return {p: f * scale for p, f in kind.items()}


class Trexio(InFolder):
    def job(self, molecule, program=RHF, output=""):
        (self.dir / "job.toml").write_text(f'programs = ["{EXAMPLES / program}"]\n[molecule]\n{molecule}\n[output]\n{output}\n')
        return "job.toml"

    def molecule(self, name, basis, more=""):
        return f'xyz = "{EXAMPLES}/molecules/{name}.xyz"\nbasis = "{basis}"\n{more}'

    def scalar(self, name="scf_energy"):
        with h5py.File(self.dir / "results.h5", "r") as f:
            return float(f["scalars"][name][()])

    def test_restricted(self):
        """Pure functions up to g and Cartesian ones; the molecule comes back from the file, and from a folder of texts."""
        sto = (ROOT / "runtime" / "chemistry" / "basis" / "sets" / "sto-3g.g94").read_text()
        steep = "".join(f"{letter}   1   1.00\n  {exponent}  1.0\n" for letter, exponent in (("D", 0.9), ("F", 1.3), ("G", 1.1)))
        oxygen = sto.index("****", sto.index("\nO  "))
        (self.dir / "to-g.g94").write_text(sto[:oxygen] + steep + sto[oxygen:])
        for basis, more in (("./to-g.g94", ""), ("./to-g.g94", "spherical = false"), ("cc-pvdz", ""), ("cc-pvdz", "spherical = false")):
            with self.subTest(basis=basis, more=more):
                self.said(self.job(self.molecule("water", basis, more), output='trexio = "water.hdf5"'))
                energy, file = self.scalar(), File(self.dir / "water.hdf5")
                c = file.coefficients(0)
                self.assertEqual(file["ao.num"], len(c))
                self.assertEqual(file["ao.cartesian"], int(bool(more)))
                np.testing.assert_allclose(c.T @ file.overlap() @ c, np.eye(len(c)), rtol=0, atol=2e-8)
                with h5py.File(self.dir / "results.h5") as results:
                    np.testing.assert_allclose(file["mo.energy"], np.diag(results["saved/statics/fock_mo"][...]), rtol=0, atol=1e-12)
                self.assertEqual((file["electron.num"], file["electron.up_num"], sum(file["mo.occupation"])), (10, 5, 10.0))
                self.assertAlmostEqual(file["nucleus.repulsion"], self.scalar("nuclear_energy"), delta=1e-12)
                self.said("job.toml", "--trexio", "water.text")
                for name in ("water.hdf5", "water.text"):
                    (self.dir / "again").mkdir()
                    self.said(self.job(f'trexio = "{name}"'), "--output-dir", "again", "--trexio", "again.h5")
                    shutil.copy(self.dir / "again" / "results.h5", self.dir)
                    self.assertAlmostEqual(self.scalar(), energy, delta=1e-9)
                    again = File(self.dir / "again" / "again.h5")
                    for entry in ("basis.exponent", "ao.normalization", "nucleus.coord", "basis.shell_ang_mom", "basis.coefficient"):
                        np.testing.assert_allclose(again[entry], file[entry], rtol=1e-9, atol=1e-12)
                    shutil.rmtree(self.dir / "again")
                shutil.rmtree(self.dir / "water.text")

    def test_unrestricted(self):
        self.said(self.job(self.molecule("water", "6-31g*", "charge = 1\nmultiplicity = 2"), UHF, 'trexio = "cation.h5"'))
        file, energy = File(self.dir / "cation.h5"), self.scalar()
        s = file.overlap()
        for spin, electrons in ((0, 5), (1, 4)):
            c = file.coefficients(spin)
            self.assertEqual(sum(file["mo.occupation"][file["mo.spin"] == spin]), electrons)
            np.testing.assert_allclose(c.T @ s @ c, np.eye(len(c)), rtol=0, atol=2e-8)
        self.said(self.job('trexio = "cation.h5"', UHF))  # with its charge and multiplicity
        self.assertAlmostEqual(self.scalar(), energy, delta=1e-8)
        self.said(self.job('trexio = "cation.h5"\ncharge = 0\nmultiplicity = 1\nfrozen_core = true'))
        neutral = self.scalar()
        self.said(self.job(self.molecule("water", "6-31g*")))
        self.assertAlmostEqual(self.scalar(), neutral, delta=1e-9)

    def test_first_guess(self):
        """The SCF begins with the orbitals of the file, whatever their order, and whatever unit the functions have there."""
        cation = "charge = 1\nmultiplicity = 2"
        for program, basis, more in ((RHF, "cc-pvdz", ""), (RHF, "cc-pvdz", "spherical = false"), (UHF, "6-31g*", cation), (RHF, "6-31g*", "")):
            with self.subTest(basis=basis, more=more):
                self.said(self.job(self.molecule("water", basis, more), program, 'trexio = "o.h5"'))
                iterations = "count" if program == UHF else "iterations"
                first, energy = self.scalar(iterations), self.scalar()
                self.said(self.job('trexio = "o.h5"', program))
                again = self.scalar(iterations)
                self.assertLess(again, first / 2)
                self.assertAlmostEqual(self.scalar(), energy, delta=1e-9)
                with h5py.File(self.dir / "o.h5", "r+") as f:
                    mo, ao, shells = f["mo"], f["ao"], f["basis"]["basis_shell_factor"]
                    shells[:] = shells[:] * 2.0
                    ao["ao_normalization"][:] = ao["ao_normalization"][:] * 3.0
                    mo["mo_coefficient"][:] = mo["mo_coefficient"][:][::-1] / 6.0
                    for name in ("mo_occupation", "mo_spin"):
                        mo[name][:] = mo[name][:][::-1]
                self.said("job.toml")
                self.assertEqual(self.scalar(iterations), again)
                with h5py.File(self.dir / "o.h5", "r+") as f:
                    f["mo"]["mo_coefficient"][0, 0] = np.nan
                self.said("job.toml")  # no guess
                self.assertAlmostEqual(self.scalar(), energy, delta=1e-9)

    def test_potentials(self):
        folder = ROOT / "tests" / "examples" / "ecp"
        self.said(self.job(f'xyz = "{folder}/hcl.xyz"\nbasis = "{folder}/hcl.g94"', output='trexio = "hcl.h5"'))
        energy, file = self.scalar(), File(self.dir / "hcl.h5")
        self.assertEqual(sorted(file["ecp.z_core"]), [0, 10])
        self.assertEqual(sorted(file["nucleus.charge"]), [1.0, 7.0])
        self.said(self.job('trexio = "hcl.h5"'))
        self.assertAlmostEqual(self.scalar(), energy, delta=1e-9)

    def test_functions_left_out(self):
        """Orbitals that are zero are not in the file."""
        self.said(self.job(self.molecule("water", "6-31g*"), output='trexio = "water.h5"'), "--set", "lindep_tol=1")
        file = File(self.dir / "water.h5")
        self.assertEqual((file["ao.num"], file["mo.num"]), (18, 17))

    def test_outputs_that_are_refused(self):
        (self.dir / "plain.sialx").write_text("sial plain\nscalar x\nx = 1.0\nendsial plain\n")
        self.assertRegex(self.said("plain.sialx", "--trexio", "o.h5", code=2), "`--trexio` asks for orbitals, and the job has no molecule")
        (self.dir / "mine.txt").write_text("my notes\n")
        job = self.job(self.molecule("water", "sto-3g"))
        self.assertRegex(self.said(job, "--trexio", "mine.txt", code=2), "would replace `./mine.txt`, which no job has written\n.*`--trexio`")
        (self.dir / "there.text").mkdir()
        self.assertRegex(self.said(job, "--trexio", "there.text", code=2), "there is a `./there.text` already")
        self.assertEqual((self.dir / "mine.txt").read_text(), "my notes\n")

    def test_inputs_that_are_refused(self):
        self.said(self.job(self.molecule("water", "sto-3g"), output='trexio = "good.h5"'))
        good = (self.dir / "good.h5").read_bytes()
        bad = self.dir / "bad.h5"

        def changed(change):
            bad.write_bytes(good)
            with h5py.File(bad, "r+") as f:
                change(f)

        def put(name, at, value):
            def change(f):
                group = name.split("_")[0]
                f[group][name][at] = value

            return change

        def without(*names):
            def change(f):
                for name in names:
                    del f[name]

            return change

        def attribute(group, name, value):
            def change(f):
                f[group].attrs[name] = value

            return change

        place = r"error: \S*job.toml:3:10: "
        for change, pattern in (
            (without("nucleus"), "has no nuclei"),
            (lambda f: f["basis"].create_dataset("basis_r_power", data=[1.0, 0.0]), "has functions that are no plain Gaussians"),
            (without("basis"), "has no basis set"),
            (without("basis/basis_exponent"), "has a problem with basis_exponent"),
            (without("nucleus/nucleus_coord"), "has a problem with nucleus_coord"),
            (put("basis_nucleus_index", 0, 7), "has a shell 1 of nucleus 8"),
            (put("basis_shell_ang_mom", 0, -1), "has a shell 1 of nucleus 1 with angular momentum -1"),
            (put("basis_shell_index", 0, 99), "has a primitive 1 of shell 100"),
            (put("basis_exponent", 0, -1.0), "has a primitive 1 of shell 1 with exponent -1"),
            (put("basis_coefficient", slice(None), 0.0), "has a shell 1 without a norm"),
            (put("nucleus_charge", 0, 7.5), "has a nucleus 1 with charge 7.5"),
            (put("nucleus_charge", 0, 6.0), "has a nucleus 1 labelled O with charge 6 and 0 core"),
            (put("nucleus_coord", (0, 0), np.nan), "has a nucleus 1 whose coordinates are not finite"),
            (attribute("electron", "electron_dn_num", 7), "has 5 electrons of spin up and 7 of spin down"),
        ):
            with self.subTest(pattern=pattern):
                changed(change)
                self.assertRegex(self.said(self.job('trexio = "bad.h5"'), code=2), rf"{place}the TREXIO file `\S*bad.h5` {pattern}")
        for content in (good[: len(good) // 2], b"no HDF5 file\n"):
            bad.write_bytes(content)
            said = self.said(self.job('trexio = "bad.h5"'), code=2)
            self.assertRegex(said, place)
            self.assertNotIn("HDF5-DIAG", said)
        bad.unlink()
        self.assertRegex(self.said(self.job('trexio = "bad.h5"'), code=2), place + "there is no TREXIO file")
        bad.mkdir()
        self.assertRegex(self.said(self.job('trexio = "bad.h5"'), code=2), place + "the folder .* is no TREXIO file")
        for more in ('basis = "sto-3g"', 'xyz = "water.xyz"', "spherical = true", "ecp = false"):
            self.assertRegex(self.said(self.job(f'trexio = "good.h5"\n{more}'), code=2), f"`{more.split()[0]}` follows from `trexio`")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        job = pathlib.Path(scratch) / "job.toml"
        job.write_text(f'programs = ["{EXAMPLES / RHF}"]\n[molecule]\ntrexio = "x.h5"\n')
        said = subprocess.run([BIN / "sialrun", job], cwd=scratch, capture_output=True, text=True).stderr
        if re.search("built without TREXIO", said):
            print("skipped: sialrun was built without TREXIO")
            sys.exit(77)
    main()
