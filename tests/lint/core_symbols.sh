#!/usr/bin/env bash
# core_symbols.sh BUILD_FOLDER: no symbol of the core's libraries names a molecule, and the programs link no integrals where there is no chemistry.
set -uo pipefail
mapfile -t libraries < <(find "$1/runtime/core" -name '*.a')
[ ${#libraries[@]} -gt 0 ] || { echo "no library of the core in $1"; exit 1; }
found=$(nm -AC "${libraries[@]}" 2>/dev/null | grep -i 'molecul')
if grep -q '^SIALX_CHEMISTRY:BOOL=OFF' "$1/CMakeCache.txt" && [ -x "$1/bin/sialrun" ]; then
  found+=$(ldd "$1/bin/sialrun" | grep -iE 'libint2|trexio')
fi
[ -z "$found" ] || { echo "$found" | head -20; exit 1; }
