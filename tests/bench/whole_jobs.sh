#!/usr/bin/env bash
# Whole jobs on one core, RHF to CCSD(T): processor seconds of each part, beside Psi4 (Debian's `psi4`) and PySCF (PyPI's wheel) where they are
# installed, in one run and in turns. Tables on the terminal and in build/bench/jobs, with JSON beside them.
# Usage: bash tests/bench/whole_jobs.sh [--only dimer,benzene-631gs,benzene,biphenyl] [--repeat N] [--scf]
#   --repeat N  medians of N rounds (3)      --scf  only RHF, with integrals kept and direct
# BIN=DIR: programs built elsewhere.  PYSCF=python3: a Python that has PySCF.  PSI4=psi4: empty for none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/bench/built.sh sialrun
mkdir -p build/bench/jobs
"$(bash examples/find_python.sh)" tests/bench/jobs/run.py --bin "$bin" --pyscf "${PYSCF-python3}" --psi4 "${PSI4-psi4}" --json build/bench/jobs/jobs.json "$@" | tee build/bench/jobs/jobs.txt
