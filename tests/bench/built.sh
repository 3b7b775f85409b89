# shellcheck shell=bash disable=SC2034
# For the benchmarks, sourced: builds the targets named, and sets `bin` to the folder of the programs. BIN=DIR: programs built elsewhere.
bin=${BIN:-build/release/bin}
if [ -z "${BIN:-}" ]; then
  [ -f build/release/build.ninja ] || cmake --preset ci >/dev/null
  cmake --build build/release --target "$@" -- --quiet
fi
