"""Water from PySCF to sialx and back: a session to step through (cells begin with # %%), or to run as it is.

    pip install runtime/python pyscf        # from the top of the checkout
    PATH=$PWD/build/release/bin:$PATH python examples/python/water.py
"""
# %% a molecule, as PySCF users write it
import pathlib

import numpy as np
from pyscf import gto, mp, scf

import sialx

examples = pathlib.Path(__file__).resolve().parents[1]
mol = gto.M(atom="O 0 0 0.1173; H 0 0.7572 -0.4692; H 0 -0.7572 -0.4692", basis="cc-pvdz")

# %% a job of two programs, run on two ranks; everything lies in the folder `water`
job = sialx.Job(
    [examples / "04_rhf" / "rhf.sialx", examples / "05_mp2" / "mp2.sialx"],
    molecule=sialx.from_pyscf(mol),
    segments={"ao": "auto", "ao_target": 8},
)
results = job.run("water", ranks=2)

# %% energies beside PySCF's own
mean_field = scf.RHF(mol).run(conv_tol=1e-12, verbose=0)
correlated = mp.MP2(mean_field).run(verbose=0)
for name, ours, theirs in (
    ("RHF energy", results.scalars["scf_energy"], mean_field.e_tot),
    ("MP2 correlation energy", results.scalars["mp2_energy"], correlated.e_corr),
):
    print(f"{name:24s} {ours:18.12f}   difference {ours - theirs:9.1e}")

# %% arrays come with the indices of the program: c[mu,p]
c = results.saved_static("c")
s = results.static("s")
print("orbitals are orthonormal to", f"{np.abs(c.T @ s @ c - np.eye(c.shape[1])).max():.1e}")

# %% where the time went
for seconds, executions, line in results.costs(5):
    print(f"{seconds:8.3f} s {executions:8d} x  {line}")
