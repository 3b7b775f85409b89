#!/usr/bin/env python3
"""Writes matrix.h5: a symmetric matrix of 40 rows, and prints its eigenvalues of largest amount as NumPy finds them."""

import sys
from pathlib import Path

import h5py
import numpy as np

n = 40
random = np.random.default_rng(17)
a = random.standard_normal((n, n))
a = (a + a.T) / 2
a += 10.0 * np.outer(np.ones(n), np.ones(n)) / n  # one eigenvalue well above the others
path = Path(sys.argv[1] if len(sys.argv) > 1 else "matrix.h5")
with h5py.File(path, "w") as f:
    f.create_dataset("a", data=a, chunks=(16, 16), compression="gzip")
values = np.linalg.eigvalsh(a)
print(f"largest {values[np.argmax(abs(values))]:.14f}, all within {values[0]:.6f} .. {values[-1]:.6f}")
