#!/usr/bin/env bash
# The GPU: transfers between host and device for the example jobs, by rule (counted on the simulated device, always), and starts of kernels; and where there is a GPU,
# copies and memory, contractions, permutations, chains and starts of kernels against what the driver and cuBLAS reach in the same run, GET and PUT
# from three kinds of memory, and CCSD iterations of molecules against one and all cores; copies and pinned memory beside published figures. Tables on the terminal and in build/bench/gpu, with JSON.
# Usage: bash tests/bench/gpu.sh [--quick] [--parts transfers,starts,device,programs] [--suites NAME,...] [--only JOB ...] [--ranks N]
#   --quick   small and once                --suites  of bench_gpu: copies, allocation, contractions, permutations, chains, launches, store
#   --only, --ranks  of the transfers       BIN=DIR   programs built elsewhere
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
usage() { sed -n '5,7p' "${BASH_SOURCE[0]}" | sed 's/^# //' >&2; exit 2; }
quick=() parts=transfers,starts,device,programs suites=() transfers=()
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) quick=(--quick) ;;
    --parts) parts=${2:?}; shift ;;
    --suites) suites=(--only "${2:?}"); shift ;;
    --ranks) transfers+=(--ranks "${2:?}"); shift ;;
    --only) transfers+=(--only); while [ $# -gt 1 ] && [ "${2#--}" = "$2" ]; do transfers+=("$2"); shift; done ;;
    *) usage ;;
  esac
  shift
done
wants() { [[ ",$parts," == *",$1,"* ]]; }
targets=(sialc sialrun)
! wants starts || targets+=(fake_cuda fake_cublas)
! wants device || targets+=(bench_gpu)
. tests/bench/built.sh "${targets[@]}"
out=build/bench/gpu
mkdir -p "$out"
failed=0
[ ${#quick[@]} -eq 0 ] || [[ " ${transfers[*]} " == *" --only "* ]] || transfers+=(--only scf)
! wants transfers || python3 tests/bench/gpu/transfers.py --bin "$bin" --out "$out" "${transfers[@]}" | tee "$out/transfers.txt" || failed=1
starts=()
[ ${#quick[@]} -eq 0 ] || starts=(--only scf)
! wants starts || python3 tests/bench/gpu/starts.py --bin "$bin" --out "$out" "${starts[@]}" | tee "$out/starts.txt" || failed=1
if wants device; then
  "$bin/bench_gpu" "${quick[@]}" "${suites[@]}" --json "$out/device.json" | tee "$out/device.txt" || { [ $? -eq 3 ] && rm -f "$out/device.json"; } || failed=1
fi
! wants programs || bash tests/bench/gpu/programs.sh --bin "$bin" --examples examples --out "$out" "${quick[@]}" | tee "$out/programs.txt" || failed=1
! wants device && ! wants programs || python3 tests/bench/gpu/published.py "$out" | tee "$out/published.txt" || failed=1
echo "tables and JSON in $out"
exit $failed
