#!/usr/bin/env bash
# The gate: set-up, build with warnings as errors, and the tests to run before each commit. Second runs are fast (ccache, incremental build).
# Usage: bash tests/run.sh [core | chemistry | tools | --all | --long]
#   core ...  the tests of the gate that are of one house (runtime/README.md), with no more built than they need
#   --all    every test on every layout, the unit tests and thread suites under sanitizers
#   --long   --all with more random programs, seeds and mutations
# The gate runs the unit tests of components that differ from the upstream branch (else from the last commit) under ASan and UBSan, and where
# these hold the blocks also the thread suites under TSan. SIALX_SINCE=COMMIT compares with another commit.
# What is left to --all, and why: tests/README.md. Seconds of each test: tests/TIMES.md.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
level=gate
house=
case "$*" in
  "") ;;
  core | chemistry | tools) house=$1 ;;
  --all | --long) level=${1#--} ;;
  *) echo "usage: bash tests/run.sh [core | chemistry | tools | --all | --long]" >&2; exit 2 ;;
esac
export SIALX_TEST_LEVEL=$level
# Tests of rank counts above the number of cores need no more than a yielding MPI, which also halves what starts of ranks cost beside other tests.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1

step() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }
jobs=$(nproc)
junit=$PWD/build/release/Testing # what tests/times.py reads
mkdir -p "$junit"
tests() { # tests BUILD_FOLDER CTEST_OPTIONS...
  ctest --test-dir "$1" --output-on-failure --no-tests=error "${@:2}"
}

step "set-up"
bash examples/setup.sh
bash tests/python/packages.sh

step "build"
cmake --preset ci >/dev/null
targets=(${house:+tests_of_$house})
[ -n "$house" ] || targets=(all)
[ $level = gate ] || targets+=(sialx_all_tests tests/bench/all)
cmake --build --preset ci --target "${targets[@]}" -- -j"$jobs" --quiet

thread_suites() {
  step "thread suites under TSan"
  cmake --preset tsan >/dev/null
  cmake --build --preset tsan --target sialx_thread_tests -- -j"$jobs" --quiet
  tests build/tsan -L '^tsan$' -j"$jobs" --output-junit "$junit/tsan.xml"
}

if [ $level = gate ]; then
  step "tests"
  if [ -n "$house" ]; then
    tests build/release -L "^$house\$" -LE '^all$' -j"$jobs"
    step "all passed"
    exit
  fi
  tests build/release -LE '^all$' -j"$jobs" --output-junit "$junit/gate.xml"
  since=${SIALX_SINCE:-$(git merge-base HEAD '@{upstream}' 2>/dev/null || git rev-parse --verify --quiet HEAD~1 || true)}
  changed=$([ -z "$since" ] || git diff --name-only "$since" -- compiler runtime | sed -nE '/\.(cpp|h|def)$/s#/#\nunit_#gp' | sort -u)
  units=($(comm -12 <(echo "$changed") <(ctest --test-dir build/release -N -L '^unit$' -LE '^all$' | sed -nE 's/^ +Test +#[0-9]+: //p' | sort)))
  if [ ${#units[@]} -gt 0 ]; then
    step "${units[*]} under ASan and UBSan"
    cmake --preset asan >/dev/null
    cmake --build --preset asan --target "${units[@]}" -- -j"$jobs" --quiet
    SIALX_CASE_SHARE=4 tests build/asan -R "^($(IFS='|'; echo "${units[*]}"))\$" -j"$jobs"
  fi
  if grep -qxE 'unit_(memory|store|tier|transport)' <<<"$changed"; then thread_suites; fi
  step "all passed"
  exit
fi

# Tests that mostly wait (for disks, stalled jobs, silent hosts) run beside everything up to the end of the other tests.
waiting_log=$junit/waiting.log
tests build/release -L '^waits$' --timeout 7200 --output-junit "$junit/waits.xml" >"$waiting_log" 2>&1 &
waiting=$!
trap 'kill "$waiting" 2>/dev/null || true' EXIT

step "tests"
tests build/release -LE '^(waits|unit)$' -j"$jobs" --timeout 7200 --output-junit "$junit/all.xml" # unit tests: below, under ASan

step "tests that wait"
waited=0
wait "$waiting" || waited=$?
cat "$waiting_log"
[ $waited -eq 0 ]

step "unit tests under ASan and UBSan"
cmake --preset asan >/dev/null
cmake --build --preset asan --target sialx_sanitizer_tests -- -j"$jobs" --quiet
# Mutated modules get the time for a few hundred thousand; of the kernels' random cases one in four is enough to find what sanitizers see.
SIALX_SECONDS=30 SIALX_CASE_SHARE=4 tests build/asan -L '^(unit|conformance)$' -j"$jobs" --timeout 7200 --output-junit "$junit/asan.xml"

thread_suites
step "all passed"
