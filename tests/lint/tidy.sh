#!/usr/bin/env bash
# clang-tidy over compiler/ and runtime/ with the checks of .clang-tidy; needs a build. Findings are printed, exit 1.
# Usage: bash tests/lint/tidy.sh [BUILD_FOLDER [FOLDER...]]    e.g. build/release runtime/core/store: that folder's targets only
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/lint/pinned.sh
build=${1:-build/release}
if [ ! -e "$build/compile_commands.json" ]; then
  echo "lint: skipped clang-tidy: $build holds no build"
  exit 0
fi
# Versions before 22 take four times as long: they look into the headers of the system, too.
pinned tidy-venv clang-tidy clang-tidy==23.1.4 || exit 0
exec python3 tests/lint/tidy.py "$build" "${@:2}"
