#!/usr/bin/env bash
# Layering and house rules that a compiler does not check. Exits 1 with one line per finding.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
failed=0
finding() { echo "lint: $1"; failed=1; }
files() { git ls-files -co --exclude-standard -- "$@"; }

# --- foreign headers live in their own files
foreign() {  # foreign NAME HEADER-REGEX ALLOWED-PATH-REGEX
  local hits
  hits=$(files '*.cpp' '*.h' | grep -Ev "$3" | xargs -r grep -lE "#include [<\"]($2)" 2>/dev/null)
  for f in $hits; do finding "$f includes $1 headers; only files matching $3 may"; done
}
foreign ANTLR 'antlr4-runtime|SialLexer|SialParser' '^compiler/ast/build'
foreign MPI 'mpi\.h|mpi-ext' '^(runtime/core/transport/mpi|tests/)'
foreign CUDA 'cuda|cublas' '_cuda\.cpp$'
foreign LLVM 'llvm/' 'jit_[a-z_]*\.(cpp|h)$'
foreign LIBXSMM 'libxsmm' '_libxsmm\.cpp$'
foreign HDF5 'hdf5|H5' '^(runtime/core/job/[a-z0-9_]*\.cpp|runtime/chemistry/files/trexio_file\.cpp|tests/)'
foreign libint2 'libint2' '^(runtime/chemistry/integrals/integrals_libint\.cpp|tests/)'
foreign hwloc 'hwloc' '^runtime/core/numa/topology_hwloc\.cpp$'
foreign libnuma 'numaif|numa\.h' '^runtime/core/numa/page_calls_system\.cpp$'
foreign Boost 'boost/' '^runtime/core/transport/fibers\.cpp$'
foreign io_uring 'liburing' '^runtime/core/tier/engine_uring\.cpp$'
foreign dynamic-loading 'dlfcn' '^(runtime/core/(super/plugins|kernels/[a-z_/]*|transport/mpi_support|device/cuda/libraries_cuda)|tests/bench/heap/allocators)\.cpp$'
foreign FlatBuffers 'flatbuffers|module_generated' '^(runtime/core/bytecode/(read|write)\.cpp|tests/)'
foreign toml++ 'toml\+\+|toml\.hpp' '^runtime/program/job/'
foreign Python 'Python\.h' '^runtime/python/native/module\.(cpp|h)$'
foreign CLI11 'CLI/' '^runtime/program/manual/command_line\.cpp$'

report() {  # report MESSAGE: each line on stdin is a finding
  local l
  while read -r l; do finding "$1: $l"; done
}

# --- components in their order, the halves apart
report 'layering' < <(python3 tests/lint/layers.py)
report 'defined twice' < <(python3 tests/lint/one_definition.py)

# --- one format for all C++: other versions of clang-format break other lines. It and the checks of Python take most of the time: beside each other.
python_log=$(mktemp)
bash tests/lint/python.sh >"$python_log" 2>&1 &
python=$!
if command -v clang-format-19 >/dev/null; then
  report 'not formatted (clang-format-19 -i FILE)' < <(files '*.cpp' '*.h' | xargs -r -n 100 -P 2 clang-format-19 --dry-run 2>&1 |
    sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: warning: .*/\1/p' | sort -u)
else
  echo "lint: skipped the format: there is no clang-format-19"
fi

# --- no conditional compilation, no long files, nothing unfinished
report 'conditional compilation' < <(files 'compiler/*.cpp' 'compiler/*.h' 'runtime/*.cpp' 'runtime/*.h' |
  grep -vE '_cuda|transport/mpi|^runtime/core/super/include/' | xargs -r grep -nHE '^\s*#\s*(ifdef|ifndef|if) ')
report 'longer than 600 lines; split it by idea' < <(files '*.cpp' '*.h' '*.py' | xargs wc -l | awk '$1 > 600 && $2 != "total" { print $2 }')
report 'not generated' < <(python3 grammar/editors/generate_editors.py --check)
report 'dead link' < <(python3 tests/lint/links.py)
report 'unfinished business' < <(git grep -nIE '\b(TODO|FIXME|XXX)\b' -- '*.cpp' '*.h' '*.py' '*.sh' '*.g4' '*.md' ':!tests/lint')

# --- Python: errors, likely bugs, types
wait $python || failed=1
cat "$python_log"
rm -f "$python_log"
[ $failed -eq 1 ] || echo "lint: clean"
exit $failed
