#!/usr/bin/env bash
# Strong scaling of CCSD and (T) on simulated ranks whose kernels are charged from the cost model, on two networks, with the
# predicted time beside the simulated one. Tables on the terminal and in build/bench/scaling, with JSON.
# Usage: bash tests/bench/scaling.sh [--quick] [--jobs NAME,...] [--ranks N,...] [--networks fast,slow]
#   --quick  up to 64 ranks    --jobs  ccsd, triples (these by default), and with many more blocks ccsd_large, triples_large
#   BIN=DIR  programs built elsewhere
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/bench/built.sh sialrun
out=build/bench/scaling
mkdir -p "$out"
python3 tests/bench/scaling/scaling.py --bin "$bin" --out "$out" "$@" | tee "$out/scaling.txt"
echo "tables and JSON in $out"
