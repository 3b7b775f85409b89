#!/usr/bin/env bash
# Arrays read from HDF5 files and written into results.h5, beside h5py. Usage: bash tests/bench/arrays.sh [--bytes 1e9] [--repeat N] [--segment N] [--folder DIR]
# BIN=DIR: programs built elsewhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/bench/built.sh sialrun
exec "$(bash examples/find_python.sh)" tests/bench/arrays/measure.py --bin "$bin" --out build/bench/arrays "$@"
