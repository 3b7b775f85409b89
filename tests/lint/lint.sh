#!/usr/bin/env bash
# Layering and house rules that a compiler does not check. Exits 1 with one line per finding.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
failed=0
finding() { echo "lint: $1"; failed=1; }
files() { git ls-files -co --exclude-standard -- "$@"; }

# --- foreign headers live in their own files (style rule 5)
foreign() {  # foreign NAME HEADER-REGEX ALLOWED-PATH-REGEX
  local hits
  hits=$(files '*.cpp' '*.h' | grep -Ev "$3" | xargs -r grep -lE "#include [<\"]($2)" 2>/dev/null)
  for f in $hits; do finding "$f includes $1 headers; only files matching $3 may"; done
}
foreign ANTLR 'antlr4-runtime|SialLexer|SialParser' '^compiler/ast/build'
foreign MPI 'mpi\.h|mpi-ext' '^(runtime/transport/mpi|tests/)'
foreign CUDA 'cuda|cublas' '_cuda\.cpp$'
foreign LLVM 'llvm/' 'jit_[a-z]*\.cpp$'
foreign HDF5 'hdf5|H5' '^(runtime/job/[a-z0-9_]*\.cpp|tests/)'
foreign libint2 'libint2' '^(runtime/super/[a-z_]*\.cpp|tests/)'
foreign FlatBuffers 'flatbuffers|module_generated' '^(runtime/bytecode/(read|write)\.cpp|tests/)'
foreign toml++ 'toml\+\+|toml\.hpp' '^runtime/job/'
foreign CLI11 'CLI/' '^(compiler/sialc|compiler/sialreport|runtime/sialrun)[a-z_]*\.cpp'

# --- the two halves share only the module (design 2)
for f in $(files 'compiler/*.cpp' 'compiler/*.h'); do
  grep -nE '#include "runtime/' "$f" | grep -vE '"runtime/(base|bytecode|super/registry)' | while read -r l; do echo "$f:$l"; done
done | sed 's/^/lint: the compiler includes the runtime: /' | { ! grep . ; } || failed=1
for f in $(files 'runtime/*.cpp' 'runtime/*.h' | grep -v '^runtime/sialrun'); do
  grep -nE '#include "compiler/' "$f" | while read -r l; do echo "$f:$l"; done
done | sed 's/^/lint: the runtime includes the compiler: /' | { ! grep . ; } || failed=1
for f in $(files 'runtime/super/*.cpp' 'runtime/super/*.h'); do
  grep -nE '#include "runtime/(store|transport|interp)/' "$f" | while read -r l; do echo "$f:$l"; done
done | sed 's/^/lint: super instruction bodies see block views only: /' | { ! grep . ; } || failed=1

# --- no conditional compilation, no globals left to chance, no long files, nothing of this machine
for f in $(files 'compiler/*.cpp' 'compiler/*.h' 'runtime/*.cpp' 'runtime/*.h' | grep -v '_cuda\|transport/mpi'); do
  grep -nE '^\s*#\s*(ifdef|ifndef|if) ' "$f" | while read -r l; do echo "$f:$l"; done
done | sed 's/^/lint: conditional compilation: /' | { ! grep . ; } || failed=1
for f in $(files '*.cpp' '*.h' '*.py'); do
  n=$(wc -l <"$f")
  [ "$n" -le 600 ] || finding "$f has $n lines; split it by idea (limit 600)"
done
if git grep -nIE '\b(TODO|FIXME|XXX)\b' -- '*.cpp' '*.h' '*.py' '*.sh' '*.g4' '*.md' ':!tests/lint'; then finding "unfinished business in the lines above"; fi
[ $failed -eq 0 ] && echo "lint: clean"
exit $failed
