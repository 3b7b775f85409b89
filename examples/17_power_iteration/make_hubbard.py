#!/usr/bin/env python3
"""Writes hubbard.h5: 16 - H for the Hubbard model on a ring of six sites, t = 1, U = 4, three electrons of each spin; prints its ground state energy as NumPy finds it.

H = -t sum_<pq>,s c+_ps c_qs + U sum_p n_pu n_pd (J. Hubbard, Proc. R. Soc. A 276, 238 (1963)), in the basis of the 20 x 20 products of occupations of each spin.
"""

import itertools
import sys
from pathlib import Path

import h5py
import numpy as np

sites, electrons, t, u, shift = 6, 3, 1.0, 4.0, 16.0
states = list(itertools.combinations(range(sites), electrons))
number = {s: n for n, s in enumerate(states)}

hop = np.zeros((len(states), len(states)))
for n, s in enumerate(states):
    for p in s:
        for q in ((p + 1) % sites, (p - 1) % sites):
            if q in s:
                continue
            without = [x for x in s if x != p]
            sign = (-1) ** (s.index(p) + sum(x < q for x in without))  # c_p, then c+_q, in the order of sites
            hop[number[tuple(sorted([*without, q]))], n] -= t * sign

one = np.eye(len(states))
both = np.array([[len(set(a) & set(b)) for b in states] for a in states], dtype=float)  # sites with two electrons
h = np.kron(hop, one) + np.kron(one, hop) + np.diag(u * both.ravel())
path = Path(sys.argv[1] if len(sys.argv) > 1 else "hubbard.h5")
with h5py.File(path, "w") as f:
    f.create_dataset("shifted", data=shift * np.eye(len(h)) - h, chunks=(100, 100), compression="gzip", shuffle=True)
print(f"{len(h)} states, ground state energy {np.linalg.eigvalsh(h)[0]:.12f}")
