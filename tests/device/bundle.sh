#!/usr/bin/env bash
# Packs what a bare machine with a GPU needs to run sialx and its device tests: programs, the libraries that they use (the C library and its
# loader included), examples, tests. Nothing but the driver, and cuBLAS of the CUDA runtime, has to be there.
# Usage: bash tests/device/bundle.sh [FILE]      (default build/sialx-device.tar.xz)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
file=${1:-build/sialx-device.tar.xz}
bin=build/release/bin
programs="sialc sialrun conformance_device device_cuda conformance_device_code bench_gpu libsialx_jit.so"
if [ "$(dpkg --print-architecture 2>/dev/null)" != amd64 ]; then
  echo "bundle.sh: bundles are made on x86-64 Debian or Ubuntu" >&2
  exit 2
fi
bash examples/setup.sh >/dev/null
command -v patchelf >/dev/null || {
  asroot=""
  [ "$(id -u)" -eq 0 ] || asroot=sudo
  $asroot apt-get install -y -qq patchelf >/dev/null
}
cmake --preset ci >/dev/null
cmake --build --preset ci --target $(for p in $programs; do basename "${p#lib}" .so; done) fake_cuda fake_cublas -- --quiet

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
top=$root/sialx-device
mkdir -p "$top/bin" "$top/lib"
for p in $programs; do cp "$bin/$p" "$top/bin/"; done
cp -r "$bin/fake-cuda" "$top/bin/"
strip --strip-unneeded "$top"/bin/sialc "$top"/bin/sialrun "$top"/bin/conformance_* "$top"/bin/device_cuda "$top"/bin/bench_gpu "$top"/bin/libsialx_jit.so

# Open MPI's starter and those of its components that ranks of one machine need: another MPI there would not take our programs.
mkdir -p "$top/mpi"
cp "$(readlink -f "$(command -v mpirun)")" "$top/bin/mpirun"
components=$(ompi_info --path pkglibdir --parsable | cut -d: -f3)
for c in "$components"/*.so; do
  case "${c##*/}" in *ucx* | *ofi* | *openib* | *psm* | *slurm* | *romio* | *spml* | *scoll* | *sshmem* | *memheap* | *monitoring*) ;; *) cp "$c" "$top/mpi/" ;; esac
done
cp "$components"/../libmca_common_*sm.so* "$components"/../libmca_common_ompio.so* "$top/lib/"
cp -r "$(ompi_info --path pkgdatadir --parsable | cut -d: -f3)" "$top/mpi/texts"

# All libraries that these and their libraries name, from where the loader finds them here.
{ for p in $programs $(cd "$bin" && ls fake-cuda/*); do ldd "$bin/$p"; done; for c in "$top"/bin/mpirun "$top"/mpi/*.so; do ldd "$c"; done; } | awk '$2 == "=>" && $3 ~ /^\// {print $3} $1 ~ /^\/.*ld-linux/ {print $1}' | sort -u |
  while read -r l; do
    case "$l" in *libsialx_jit.so | */fake-cuda/*) ;; *) cp -L "$l" "$top/lib/" ;; esac
  done
# The driver and cuBLAS are those of the machine: a copy here, be it the fake driver's, would be found before them.
if ls "$top"/lib | grep -E '^lib(cuda|cublas)'; then
  echo "bundle.sh: libraries of CUDA would hide those of the machine" >&2
  exit 1
fi

# LLVM links a solver and, through its XML library, tables of Unicode that it never uses here: 55 MB, which empty ones replace.
empty_library() {  # empty_library LIBRARY < C source
  [ -e "$top/lib/$1" ] && gcc -shared -fPIC -x c -Wl,-soname,"$1" -o "$top/lib/$1" -
}
for l in "$top"/lib/libz3.so.*; do
  [ -e "$l" ] && nm -D --undefined-only "$top"/lib/libLLVM*.so* | awk '$NF ~ /^Z3_/ {sub(/@.*/, "", $NF); print "void " $NF "(void) { __builtin_trap(); }"}' | sort -u | empty_library "$(basename "$l")"
done
for l in "$top"/lib/libicudata.so.*; do
  [ -e "$l" ] && nm -D --defined-only "$l" | awk '$NF ~ /_dat/ {sub(/@.*/, "", $NF); print "const char " $NF "[64] = {0};"}' | sort -u | empty_library "$(basename "$l")"
done
cp "$(command -v patchelf)" "$top/bin/"
ldd "$(command -v patchelf)" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | while read -r l; do cp -nL "$l" "$top/lib/"; done

# Examples with their data; the script that runs all of it.
cp -r examples "$top/examples"
mkdir -p "$top/share/sialx"
cp -r runtime/chemistry/basis/sets "$top/share/sialx/basis"
cp tests/device/run.sh "$top/run.sh"
cp tests/bench/gpu/programs.sh "$top/bench_programs.sh"
git describe --always --dirty >"$top/VERSION" 2>/dev/null || echo unknown >"$top/VERSION"
mkdir -p "$(dirname "$file")"
tar -C "$root" -cf - sialx-device | xz -T2 --x86 --lzma2=preset=9e,dict=192MiB >"$file.part"
mv "$file.part" "$file"
size=$(stat -c %s "$file")
echo "$file: $((size / 1000000)) MB"
if [ "$size" -gt 60000000 ]; then
  echo "bundle.sh: more than 60 MB" >&2
  exit 1
fi
