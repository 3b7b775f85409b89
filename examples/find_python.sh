#!/usr/bin/env bash
# Prints the first Python 3 that has NumPy and h5py (a virtual environment's python3 may lack them).
for p in python3 /usr/bin/python3; do
  if "$p" -c 'import numpy, h5py' 2>/dev/null; then echo "$p"; exit 0; fi
done
echo "error: no Python 3 with NumPy and h5py: bash examples/setup.sh installs them" >&2
exit 2
