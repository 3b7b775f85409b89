#!/usr/bin/env bash
# From nothing to a molecule's energy: installs what is missing, builds, runs RHF, MP2, CCSD and (T) of water in cc-pVDZ on two ranks,
# prints the energies beside their reference values, and where the time went. The whole report is left in build/demo/report.txt.
# Usage: bash examples/demo.sh [number of ranks]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ranks=${1:-2}

bash examples/setup.sh
. examples/mpi_env.sh
echo "building (the first time takes some minutes)"
cmake --preset release >/dev/null
cmake --build build/release --target sialc sialrun sialreport -- --quiet

out=build/demo
mkdir -p "$out"
echo "running examples/11_ccsd_t/job.toml on $ranks ranks"
sialx_mpirun "$ranks" build/release/bin/sialrun examples/11_ccsd_t/job.toml --output-dir "$out"
echo
"$(bash examples/find_python.sh)" examples/compare.py "$out/results.h5" examples/11_ccsd_t/expected.json
echo
build/release/bin/sialreport "$out/run.json" -o "$out/report.txt"
sed '/^program /,$d' "$out/report.txt"
echo "line by line: $out/report.txt"
