#!/usr/bin/env bash
# What block kernels reach on this machine: contractions (TCCG, SIAL blocks) against dgemm, memcpy and the known ways, permutations and element-wise
# chains where they are built, whole programs. Tables on the terminal and in build/bench/kernels, with JSON beside them.
# Usage: bash tests/bench/kernels.sh [--quick] [--long] [--only contractions,permute,chains,programs] [--kernels blas,auto] [--group NAME,...] [--tune [--calibrate]]
#   --quick  a minute: smaller and fewer cases      --long  also the molecules that take minutes
#   --tune   every strategy that can be forced on each contraction, what the cost model chose and what that costs
#   --calibrate  with --tune: also what the cost model would choose with constants that are measured first
# BIN=DIR: programs built elsewhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
usage() { sed -n '4,8p' "${BASH_SOURCE[0]}" | sed 's/^# //' >&2; exit 2; }

size=full long=() only=contractions,permute,chains,programs kernels=blas,auto group=() tune= calibrate=()
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) size=quick ;;
    --long) long=(--long) ;;
    --tune) tune=yes ;;
    --calibrate) calibrate=(--calibrate) ;;
    --only) only=${2:?}; shift ;;
    --kernels) kernels=${2:?}; shift ;;
    --group) group=(--group "${2:?}"); shift ;;
    *) usage ;;
  esac
  shift
done
wants() { [[ ",$only," == *",$1,"* ]]; }

targets=(bench_kernels bench_permute bench_chains)
! wants programs || targets+=(sialrun)
. tests/bench/built.sh "${targets[@]}"
out=build/bench/kernels
mkdir -p "$out"

peak=0
if wants contractions; then
  "$bin/bench_kernels" --size "$size" --kernels "$kernels" "${group[@]}" --json "$out/contractions.json" | tee "$out/contractions.txt"
  peak=$(sed -n 's/.*"peak_gflops": \([0-9.]*\).*/\1/p' "$out/contractions.json")
fi
if [ -n "$tune" ]; then
  "$bin/bench_kernels" --tune "${calibrate[@]}" --size "$size" "${group[@]}" --json "$out/tune.json" | tee "$out/tune.txt"
fi
for extra in permute chains; do
  if wants "$extra" && [ -x "$bin/bench_$extra" ]; then
    seconds=0.2
    [ "$size" = full ] || seconds=0.02
    "$bin/bench_$extra" "$seconds" | tee "$out/$extra.txt"
    tail -n 1 "$out/$extra.txt" >"$out/$extra.json" # both end with their JSON
  fi
done
if wants programs; then
  molecules=()
  [ "$size" = full ] || molecules=(--only water)
  "$(bash examples/find_python.sh)" tests/bench/kernels/programs.py --bin "$bin" --kernels "$kernels" --peak "$peak" --lines 5 "${molecules[@]}" "${long[@]}" \
    --json "$out/programs.json" | tee "$out/programs.txt"
fi
echo "tables and JSON in $out"
