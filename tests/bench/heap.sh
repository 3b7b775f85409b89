#!/usr/bin/env bash
# The heap of a node beside other allocators, on mixes of requests: requests satisfied, memory, time per call,
# fragmentation. Tables on the terminal and in build/bench/heap, with JSON beside them. tests/bench/heap/README.md says what is what.
# Usage: bash tests/bench/heap.sh [--only mix,phase,threads] [--allocators NAME,...] [--repeat N]
#   --repeat N  rounds whose medians count (5)
# BIN=DIR: programs built elsewhere. The allocators of Debian's packages are installed where they are missing; one that cannot be had is skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/bench/built.sh bench_heap
packages=()
for package in libmimalloc2.0 libjemalloc2 libtcmalloc-minimal4; do
  dpkg -s "$package" >/dev/null 2>&1 || packages+=("$package")
done
if [ ${#packages[@]} -gt 0 ] && [ "$(id -u)" = 0 ]; then
  apt-get install -y --no-install-recommends "${packages[@]}" >/dev/null 2>&1 || echo "not all of these packages can be installed: ${packages[*]}" >&2
fi
mkdir -p build/bench/heap
"$(bash examples/find_python.sh)" tests/bench/heap/allocator_tables.py --bin "$bin" --out build/bench/heap "$@" | tee build/bench/heap/heap.txt
