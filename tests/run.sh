#!/usr/bin/env bash
# Everything: set-up, build with warnings as errors, every test, then the unit tests under ASan+UBSan and the thread suites
# under TSan. Second runs are fast (ccache, incremental build).
# Usage: bash tests/run.sh [--long] [--quick]
#   --long   more random programs, seeds and mutations (see tests/README.md)
#   --quick  no sanitizer builds
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
long=0 quick=0
for a in "$@"; do
  case "$a" in
    --long) long=1 ;;
    --quick) quick=1 ;;
    *) echo "usage: bash tests/run.sh [--long] [--quick]" >&2; exit 2 ;;
  esac
done
export SIALX_LONG_TESTS=$long
# Tests of rank counts above the number of cores need no more than a yielding MPI, which also halves what starts of ranks cost beside other tests.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1

step() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }
jobs=$(nproc)

step "set-up"
bash examples/setup.sh
bash tests/python/packages.sh

step "build"
cmake --preset ci >/dev/null
cmake --build --preset ci -- -j"$jobs" --quiet

# Tests that mostly wait (for disks, stalled jobs, silent hosts) run beside everything up to the end of the other tests.
waiting_log=build/release/Testing/waiting.log
mkdir -p "${waiting_log%/*}"
ctest --test-dir build/release -L '^waits$' --output-on-failure --no-tests=error >"$waiting_log" 2>&1 &
waiting=$!
trap 'kill "$waiting" 2>/dev/null || true' EXIT

step "lint"
bash tests/lint/lint.sh
python3 tests/lint/linkage.py build/release
python3 tests/lint/headers.py build/release
bash tests/lint/tidy.sh build/release

step "tests"
ctest --test-dir build/release -LE '^waits$' --output-on-failure -j"$jobs" --no-tests=error

step "tests that wait"
waited=0
wait "$waiting" || waited=$?
cat "$waiting_log"
[ $waited -eq 0 ]

if [ $quick -eq 0 ]; then
  step "unit tests under ASan and UBSan"
  cmake --preset asan >/dev/null
  cmake --build --preset asan --target sialx_sanitizer_tests -- -j"$jobs" --quiet
  # Mutated modules get the time for a few hundred thousand; of the kernels' random cases one in four is enough to find what sanitizers see.
  SIALX_SECONDS=30 SIALX_CASE_SHARE=4 ctest --test-dir build/asan -L '^(unit|conformance)$' --output-on-failure -j"$jobs" --no-tests=error

  step "thread suites under TSan"
  cmake --preset tsan >/dev/null
  cmake --build --preset tsan --target sialx_thread_tests -- -j"$jobs" --quiet
  ctest --test-dir build/tsan -L '^tsan$' --output-on-failure -j"$jobs" --no-tests=error
fi
step "all passed"
