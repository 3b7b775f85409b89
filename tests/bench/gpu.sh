#!/usr/bin/env bash
# Transfers between host and device for the example jobs: a table, and transfers.json in build/bench/gpu.
# Usage: bash tests/bench/gpu.sh [--only JOB ...] [--ranks N]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ -x build/release/bin/sialrun ] || { cmake --preset ci >/dev/null && cmake --build --preset ci --target sialc sialrun -- --quiet; }
exec python3 tests/bench/gpu/transfers.py --bin build/release/bin --out build/bench/gpu "$@"
