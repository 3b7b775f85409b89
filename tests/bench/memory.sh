#!/usr/bin/env bash
# Jobs whose blocks do not fit into memory (--spill): CCSD(T) in 100 to 25 % of what the dry run says it uses, the same with the kernel's swap, an
# array of eight memories as one stream, blocks read again and again, and what --spill costs a job that fits. Tables on the terminal and in
# build/bench/memory, with JSON and a page of curves (memory.html) beside them.
# Usage: bash tests/bench/memory.sh [--only caps,benzene,order,swap,remote,stream,again,overhead] [--repeat N] [--all] [--spill DIR] [--smoke]
#   --repeat N   medians of N rounds, in turns (3)      --all  also benzene in 6-31G*, one round
#   --spill DIR  where blocks go (build/bench/memory)   --smoke  a tiny job, in seconds
# BIN=DIR: programs built elsewhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/bench/built.sh sialrun bench_disk
mkdir -p build/bench/memory
"$(bash examples/find_python.sh)" tests/bench/memory/measure.py --bin "$bin" --out build/bench/memory "$@" | tee build/bench/memory/memory.txt
