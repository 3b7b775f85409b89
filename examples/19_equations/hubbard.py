"""Coupled cluster for a Hubbard ring, a Hamiltonian without a molecule: a session to step through (cells begin with # %%), or to run as it is.

    PATH=$PWD/build/release/bin:$PATH PYTHONPATH=runtime/python python3 examples/19_equations/hubbard.py     # from the top of the checkout
"""
# %% six sites in a ring with one electron each: hopping t = 1, repulsion u = 2 of two electrons on a site
import pathlib
import tempfile

import numpy as np

import sialx

sites, t, u = 6, 1.0, 2.0
h = -t * (np.eye(sites, k=1) + np.eye(sites, k=-1))
h[0, -1] = h[-1, 0] = -t
v = np.zeros((sites, sites, sites, sites))  # (pq|rs)
v[range(sites), range(sites), range(sites), range(sites)] = u
ring = sialx.Hamiltonian(h, v, electrons=6)

# %% its RHF: plane waves
reference = ring.hartree_fock()
print("orbital energies", np.round(reference.orbital_energies, 6) + 0.0)

# %% methods take it as they take a molecule
here = pathlib.Path(__file__).resolve().parent
ccsd = sialx.method(here / "ccsd.txt")
result = ccsd.run(ring)
print(f"RHF       {result.reference_energy:.10f}\nCCSD      {result.energy:.10f}; PySCF has -5.4089559095, full CI -5.4094568451")
print(f"DCSD      {sialx.method(here / 'dcsd.txt', spin='orbitals').run(ring).energy:.10f}")

# %% an FCIDUMP file for other programs, over the orbitals of RHF; and back
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "FCIDUMP"
    result.hamiltonian().to_fcidump(path)
    print("\n".join(path.read_text().splitlines()[:6]))
    again = sialx.Hamiltonian.from_fcidump(path)
print(f"again     {ccsd.run(again).energy:.10f}")
