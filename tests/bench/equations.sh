#!/usr/bin/env bash
# Programs made from equations: CCSD of benzene beside the program written by hand, and with integrals over four virtual orbitals stored or not, seconds per
# iteration and memory; CCSD over spin orbitals beside NumPy's einsum, one evaluation. Usage: bash tests/bench/equations.sh [--only hand,vvvv,numpy] [--basis 6-31g,6-31g*] [--orbitals 20,60] [--repeat N]
# BIN=DIR: programs built elsewhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/bench/built.sh sialrun
exec "$(bash examples/find_python.sh)" tests/bench/equations/measure.py --bin "$bin" "$@"
