#!/usr/bin/env bash
# Accesses to memory of the own node, interleaved and remote memory on this machine, in five patterns beside a published measurement. A table and a
# line of JSON on the terminal and in build/bench/numa.
# Usage: bash tests/bench/numa.sh [--repeat N] [--mib N] [--large-pages] [--smoke] [--machine DESCRIPTION]
#   --repeat N     rounds whose medians count (5)         --mib N        of each array (4 x last cache; at most 1/8 of a node's memory, 1024)
#   --large-pages  ask for them                           --smoke        tiny arrays, in a second: the figures mean nothing
#   --machine D    placements of a described machine, which nobody carries out
# BIN=DIR: programs built elsewhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/bench/built.sh bench_numa
mkdir -p build/bench/numa
"$bin/bench_numa" "$@" | tee build/bench/numa/numa.txt
