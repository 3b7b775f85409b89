#!/usr/bin/env python3
"""Super instructions that a device can take, on blocks of many shapes: kernels on the fake driver against the bodies on the host.

    run_super_forms.py --bin DIR

A row of element_forms.def or block_forms.def that super_forms.sialx does not execute is a failure.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy as np

from harness import BIN, ROOT, expect

PROGRAM = ROOT / "tests" / "device" / "super_forms.sialx"
OCCUPIED, VIRTUAL, BASIS = (1, 2, 5, 3), (4, 1, 9, 2), (1, 3, 6, 2)  # extents of segments
BITS = ("divided2", "divided4", "divided6", "shifted", "multiplied", "spins", "strip")  # element by element: no sum has an order
SUMS = ("ladder",)


def rows():
    """Names of the super instructions that have a form."""
    text = "".join((ROOT / "runtime" / house / "super" / f"{kind}_forms.def").read_text() for house in ("core", "chemistry") for kind in ("element", "block"))
    return re.findall(r"^(?:ELEMENT|BLOCK)_FORM\((\w+)\)", text, re.MULTILINE)


def write_input(path):
    """Arrays of the program, in its order of indices turned round as HDF5 wants them."""
    rng = np.random.default_rng(7)
    occ, virt, basis = sum(OCCUPIED), sum(VIRTUAL), sum(BASIS)
    energies = np.concatenate([-20.0 + rng.random(occ), 1.0 + rng.random(virt)])
    fock = rng.random((occ + virt, occ + virt))
    np.fill_diagonal(fock, energies)
    home = np.repeat(np.arange(1, len(OCCUPIED) + 1), OCCUPIED).astype(float)
    shapes = {"x2": (virt, occ), "x4": (virt, occ) * 2, "x6": (virt, occ) * 3, "xs": (virt, occ) * 2, "v": (basis,) * 4, "old": (basis, occ) * 2}
    arrays = {"fock": fock, "energies": energies, "beta_energies": energies + 0.5 * rng.random(energies.size), "home": home}
    arrays |= {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            file[name] = values.T
    return arrays


def job(arrays):
    def listed(extents):
        return "[" + ", ".join(map(str, extents)) + "]"

    orbitals = listed(OCCUPIED + VIRTUAL)
    lines = [f'programs = ["{PROGRAM}"]', "[segments]", f"moa = {orbitals}", f"mob = {orbitals}", f"ao = {listed(BASIS)}",
             "[values]", f"eocc = {len(OCCUPIED)}", f"bvirt = {len(OCCUPIED) + 1}", f"evirt = {len(OCCUPIED + VIRTUAL)}", f"nao = {len(BASIS)}", f"norb = {sum(OCCUPIED)}",
             "[arrays]", *(f'{name} = {{file = "input.h5"}}' for name in arrays), "[output]", "arrays = [" + ", ".join(f'"{name}"' for name in BITS + SUMS) + "]"]
    return "\n".join(lines) + "\n"


def main():
    binary = BIN
    program = PROGRAM.read_text()
    for name in rows():
        expect(f"execute {name} " in program, f"{name} has a form for devices, and no case in {PROGRAM.name}")
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        arrays = write_input(here / "input.h5")
        (here / "job.toml").write_text(job(arrays))

        def run(*flags):
            env = dict(os.environ, SIALX_CUDA_LIBRARIES=str(binary / "fake-cuda"))
            done = subprocess.run([binary / "sialrun", "job.toml", *flags], cwd=here, capture_output=True, text=True, timeout=500, env=env)
            expect(done.returncode == 0, f"{flags}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
            with h5py.File(here / "results.h5") as file:
                return {name: file["saved/arrays/" + name][()].T for name in BITS + SUMS}

        reference = run("-O0", "--device", "host", "--kernels", "reference")
        # The reference itself, by NumPy.
        energies, occ = arrays["energies"], sum(OCCUPIED)
        pair = energies[None, :occ] - energies[occ:, None]
        shift = pair[:, :, None, None] + pair
        for name, wanted in (("divided2", arrays["x2"] / pair), ("divided4", arrays["x4"] / shift), ("shifted", arrays["x4"] / (shift + 0.0625)),
                             ("multiplied", arrays["x4"].transpose(2, 3, 0, 1) * shift), ("divided6", arrays["x6"] / (shift[..., None, None] + pair)),
                             ("strip", arrays["x4"]), ("ladder", np.einsum("mnls,milj->nisj", arrays["v"], arrays["old"]))):
            expect(np.allclose(reference[name], wanted, rtol=1e-12, atol=1e-12), f"{name} on the host is wrong")
        for flags in (("-O0",), ("-O2",), ("-O2", "--device-batch", "off"), ("-O2", "--device-memory", "200KB")):
            found = run("--device", "cuda", *flags)
            for name in BITS:
                different = np.argwhere(found[name] != reference[name])
                expect(different.size == 0, f"{flags}: {name}: element {different[:1]} is not that of the host")
            for name in SUMS:
                expect(np.allclose(found[name], reference[name], rtol=0, atol=1e-12), f"{flags}: {name} is not that of the host")
    print(f"{len(rows())} super instructions: OK")


if __name__ == "__main__":
    main()
