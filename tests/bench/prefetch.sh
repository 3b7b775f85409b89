#!/usr/bin/env bash
# Reruns the look-ahead and copy experiments: results.csv and results.html in build/bench/prefetch.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ -x build/release/bin/sialrun ] || { cmake --preset ci >/dev/null && cmake --build --preset ci --target sialc sialrun -- --quiet; }
for python in python3 /usr/bin/python3; do $python -c 'import csv' 2>/dev/null && break; done
exec "$python" tests/bench/prefetch/run.py --out build/bench/prefetch "$@"
