#!/usr/bin/env bash
# Litmus tests on this machine: what its memory does with and without fences, beside a published measurement. A table on the terminal and in
# build/bench/litmus.
# Usage: bash tests/bench/litmus.sh [--trials N] [--shape NAME]
#   --trials N   of each shape (100,000,000)
# BIN=DIR: programs built elsewhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/bench/built.sh bench_litmus
mkdir -p build/bench/litmus
"$bin/bench_litmus" "$@" | tee build/bench/litmus/litmus.txt
