#!/usr/bin/env bash
# From nothing to a molecule's energy: installs what is missing, builds, runs RHF, MP2, CCSD and (T) of water in cc-pVDZ on two ranks,
# prints the energies beside their reference values, and where the time went. The whole report is left in build/demo/report.txt.
# Usage: bash examples/demo.sh [--installed] [number of ranks]
#   --installed   with the sialrun and sialreport on the PATH, of this version: nothing is built
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. examples/mpi_env.sh
bin=build/release/bin/
if [ "${1:-}" = --installed ]; then
  shift
  bin=
  version=$(sed -n 's/^project(sialx VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
  [ "$(sialrun --version 2>/dev/null | sed -n '1s/^sialrun \([0-9.]*\).*/\1/p')" = "$version" ] || { echo "error: no sialrun of version $version on the PATH" >&2; exit 2; }
else
  bash examples/setup.sh
  echo "building (the first time takes some minutes)"
  cmake --preset release >/dev/null
  cmake --build build/release --target sialc sialrun sialreport -- --quiet
fi
ranks=${1:-2}

out=build/demo
mkdir -p "$out"
echo "running examples/11_ccsd_t/job.toml on $ranks ranks"
sialx_mpirun "$ranks" "$bin"sialrun examples/11_ccsd_t/job.toml --output-dir "$out"
echo
"$(bash examples/find_python.sh)" examples/compare.py "$out/results.h5" examples/11_ccsd_t/expected.json
echo
"$bin"sialreport "$out/run.json" -o "$out/report.txt"
sed '/^program /,$d' "$out/report.txt"
echo "line by line: $out/report.txt"
