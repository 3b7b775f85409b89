#!/usr/bin/env bash
# Installs what building, testing and running sialx needs and what is not there yet. Debian 12 is tested; Ubuntu 24.04 has the
# same package names as far as we know, untested. Safe to run again: it does nothing when nothing is missing.
# Usage: bash examples/setup.sh             (examples/demo.sh and tests/run.sh call it)
#        bash examples/setup.sh --browser   only the browser in which the report's page is tested
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache mold pkg-config                         # build
  default-jre-headless antlr4 libantlr4-runtime-dev uuid-dev           # front end (its runtime links libuuid)
  libflatbuffers-dev flatbuffers-compiler                              # module format
  libopenmpi-dev openmpi-bin                                           # ranks
  libopenblas-serial-dev liblapacke-dev llvm-19-dev                    # block kernels, linear algebra
  libint2-dev libeigen3-dev libhdf5-dev                                # integrals, results
  libtrexio-dev                                                        # files of orbitals for other programs
  liburing-dev                                                         # blocks on a disk
  libboost-context-dev                                                 # ranks of the simulator
  libhwloc-dev libnuma-dev                                             # memory nodes of a machine
  libfmt-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev       # formats and command lines
  catch2 python3 python3-numpy python3-h5py                            # tests
  python3-dev python3-mpi4py                                           # programs inside Python
  python3-yaml python3-jsonschema                                      # tests of the report's formats
  iproute2                                                             # tests on several hosts
  clang-format-19 python3-venv                                         # tests of the code's format; ruff, mypy and clang-tidy, see tests/lint
)
case "${1:-}" in
  "") ;;
  --browser) packages=(chromium) ;;
  *) echo "usage: bash examples/setup.sh [--browser]" >&2; exit 2 ;;
esac

missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "error: this machine has no apt-get; install the equivalents of: ${missing[*]}" >&2
  exit 2
fi
. /etc/os-release
case "${ID:-}-${VERSION_ID:-}" in
  debian-12) ;;
  ubuntu-24.04) echo "note: Ubuntu 24.04 is untested; going on with the same package names" ;;
  *) echo "note: ${PRETTY_NAME:-this system} is untested (Debian 12 is what we test); going on" ;;
esac
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "error: not root and no sudo; as root run: apt-get install ${missing[*]}" >&2; exit 2; }
  as_root=(sudo)
fi
echo "installing with apt-get: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
log=$(mktemp)
if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
  tail -20 "$log" >&2
  echo "error: apt-get could not install the packages above (full log: $log)" >&2
  exit 2
fi
rm -f "$log"
