#!/usr/bin/env python3
"""Writes matrices.h5, and prints what the product gives in NumPy."""

import sys
from pathlib import Path

import h5py
import numpy as np

random = np.random.default_rng(18)
a = random.integers(-9, 10, (96, 72))
b = random.integers(-9, 10, (72, 130))
path = Path(sys.argv[1] if len(sys.argv) > 1 else "matrices.h5")
with h5py.File(path, "w") as f:
    # A SIAL array a[i,k] is a dataset of shape (extent of k, extent of i).
    f.create_dataset("a", data=a.T.astype("i1"), chunks=(36, 48), compression="gzip")
    f.create_dataset("b", data=b.T.astype("i1"), chunks=(65, 36), compression="gzip")
c = a @ b
print(f"square sum {np.sum(c.astype(float) ** 2):.1f}, c[0,0] = {c[0, 0]}, c[95,129] = {c[95, 129]}")
