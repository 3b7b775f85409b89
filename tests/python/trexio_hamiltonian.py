#!/usr/bin/env python3
"""sialx.Hamiltonian in TREXIO files, and what sialrun writes read by the package `trexio`.  trexio_hamiltonian.py --bin DIR [unittest arguments]"""

import os
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np
import trexio

from harness import BIN, ENV, EXAMPLES, ROOT, InFolder, main

sys.path.insert(0, str(ROOT / "runtime" / "python"))

import sialx  # noqa: E402


def random_hamiltonian(n: int = 5, electrons: int = 4) -> "sialx.Hamiltonian":
    random = np.random.default_rng(7)
    factors = random.normal(size=(3, n, n))
    factors = factors + factors.transpose(0, 2, 1)
    h = random.normal(size=(n, n))
    return sialx.Hamiltonian(h + h.T, np.einsum("apq,ars->pqrs", factors, factors), electrons, 0.75, 3, orbital_energies=np.arange(n))


class Trexio(InFolder):
    def test_out_and_in(self) -> None:
        h = random_hamiltonian()
        for name in ("h.h5", "h.text"):
            path = self.dir / name
            h.to_trexio(path)
            again = sialx.Hamiltonian.from_trexio(path)
            self.assertEqual((again.electrons, again.multiplicity, again.core_energy), (4, 3, 0.75))
            for known, found in ((h.one_electron, again.one_electron), (h.two_electron, again.two_electron), (h.orbital_energies, again.orbital_energies)):
                np.testing.assert_allclose(found, known, rtol=0, atol=1e-13)
            self.assertEqual(path.is_dir(), name.endswith(".text"))
            with self.assertRaisesRegex(FileExistsError, "there is a file already"):
                h.to_trexio(path)

    def test_order(self) -> None:
        """Elements are <pq|rs> = (pr|qs), each of those that are equal by symmetry once."""
        h = random_hamiltonian()
        h.to_trexio(self.dir / "h.h5")
        with trexio.File(str(self.dir / "h.h5"), "r", trexio.TREXIO_HDF5) as f:
            where, what, count, _ = trexio.read_mo_2e_int_eri(f, 0, 1000)
            self.assertEqual(count, 15 * 16 // 2)
            for (p, q, r, s), value in zip(where[:count], what[:count]):
                self.assertAlmostEqual(value, h.two_electron[p, r, q, s], delta=1e-13)
            np.testing.assert_allclose(trexio.read_mo_1e_int_core_hamiltonian(f), h.one_electron, atol=1e-14)
            self.assertEqual((trexio.read_electron_up_num(f), trexio.read_electron_dn_num(f)), (3, 1))

    def test_all_elements(self) -> None:
        """A file of another program may have all of those that are equal by symmetry."""
        h = random_hamiltonian(3, 2)
        path = self.dir / "all.h5"
        self.write_file(path, h, np.argwhere(np.ones((3,) * 4)))
        np.testing.assert_allclose(sialx.Hamiltonian.from_trexio(path).two_electron, h.two_electron, atol=1e-13)

    def write_file(self, path, h, where, values=None, leave_out=()):
        with trexio.File(str(path), "w", trexio.TREXIO_HDF5) as f:
            if "electrons" not in leave_out:
                trexio.write_electron_num(f, h.electrons)
            trexio.write_nucleus_repulsion(f, 0.75)
            trexio.write_mo_num(f, h.orbitals)
            if "spin" in leave_out:
                trexio.write_mo_spin(f, [0] * (h.orbitals - 1) + [1])
            if "h" not in leave_out:
                trexio.write_mo_1e_int_core_hamiltonian(f, h.one_electron)
            if values is None:
                values = np.array([h.two_electron[p, r, q, s] for p, q, r, s in where])
            trexio.write_mo_2e_int_eri(f, 0, len(where), np.array(where, dtype=np.int32), values)

    def test_refused(self) -> None:
        h, every = sialx.Hamiltonian(np.eye(2), np.zeros((2,) * 4), 2), [(0, 0, 0, 0), (0, 1, 0, 1)]
        for n, (pattern, where, values, leave_out) in enumerate((
            ("there is no electron_num", every, [1.0, 0.5], ("electrons",)),
            ("there is no mo_1e_int_core_hamiltonian", every, [1.0, 0.5], ("h",)),
            ("orbitals differ between alpha and beta", every, [1.0, 0.5], ("spin",)),
            ("two values for the element <0,1.1,0>|two values for the element <1,0.0,1>", [(0, 1, 1, 0), (1, 0, 0, 1)], [0.5, 0.6], ()),
        )):
            path = self.dir / f"{n}.h5"
            self.write_file(path, h, where, np.array(values), leave_out)
            with self.subTest(pattern=pattern), self.assertRaisesRegex(ValueError, f"{n}.h5: .*({pattern})"):
                sialx.Hamiltonian.from_trexio(path)
        (self.dir / "text.h5").write_text("no HDF5 file\n")
        with self.assertRaisesRegex(ValueError, "text.h5: the file cannot be read"):
            sialx.Hamiltonian.from_trexio(self.dir / "text.h5")
        with self.assertRaisesRegex(ValueError, "there is no such file"):
            sialx.Hamiltonian.from_trexio(self.dir / "none.h5")

    def test_methods(self) -> None:
        """From a file, as from the arrays."""
        ring = -(np.eye(6, k=1) + np.eye(6, k=-1) + np.eye(6, k=5) + np.eye(6, k=-5))
        v = np.zeros((6,) * 4)
        v[range(6), range(6), range(6), range(6)] = 2.0
        sialx.Hamiltonian(ring, v, 6).to_trexio(self.dir / "ring.h5")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = sialx.method(EXAMPLES / "19_equations" / "ccsd.txt").run(sialx.Hamiltonian.from_trexio(self.dir / "ring.h5"), folder=self.dir)
        self.assertAlmostEqual(found.energy, -5.4089559095, delta=1e-9)

    def test_orbitals(self) -> None:
        """What sialrun writes, by the package."""
        water = sialx.Molecule.from_xyz(EXAMPLES / "molecules" / "water.xyz", "sto-3g")
        job = sialx.Job([EXAMPLES / "04_rhf" / "rhf.sialx"], water)
        path = job.write(self.dir / "job")
        self.assertEqual(os.system(f'cd "{self.dir}" && "{os.environ["SIALRUN"]}" "{path}" --trexio water.h5 >/dev/null 2>"{self.dir}/err"'), 0, (self.dir / "err").read_text() if (self.dir / "err").exists() else "")
        found = next(self.dir.rglob("water.h5"))
        with trexio.File(str(found), "r", trexio.TREXIO_AUTO) as f:
            self.assertEqual(trexio.read_metadata_code(f), ["sialx"])
            self.assertEqual(trexio.read_nucleus_label(f), ["O", "H", "H"])
            self.assertEqual(trexio.read_mo_class(f), ["Inactive"] * 5 + ["Virtual"] * 2)
            self.assertEqual((trexio.read_basis_type(f), trexio.read_ao_num(f), trexio.read_ao_cartesian(f)), ("Gaussian", 7, 0))


if __name__ == "__main__":
    os.environ.update(ENV, SIALRUN=str(BIN / "sialrun"))
    main()
