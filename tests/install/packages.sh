#!/usr/bin/env bash
# Builds the Debian package and the Python wheel, and tries them where nothing else of ours is: in a fresh Debian made by debootstrap.
# Usage: bash tests/install/packages.sh [--out DIR] [--deb-only | --wheel-only] [--twice] [--no-chroot]
#   --twice       builds the Debian package a second time, of a copy in another folder, and compares the two byte by byte
#   --no-chroot   builds only
# Needs root and a mirror of Debian for the fresh systems (DEBIAN_MIRROR, default http://deb.debian.org/debian; DEBIAN_BASE: a folder made by
# `debootstrap --variant=minbase bookworm` earlier, which is copied). Packages that building needs: debootstrap dpkg-dev file patchelf; lintian is
# used where it is.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# What is mounted here is nobody else's, and goes with this process.
if [ "$(id -u)" = 0 ] && [ -z "${OWN_MOUNTS:-}" ]; then OWN_MOUNTS=1 exec unshare --mount bash "${BASH_SOURCE[0]}" "$@"; fi
out=$top/build/packages deb=1 wheel=1 twice=0 chroots=1
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift ;;
    --deb-only) wheel=0 ;;
    --wheel-only) deb=0 ;;
    --twice) twice=1 ;;
    --no-chroot) chroots=0 ;;
    *) sed -n '2,9s/^# \?//p' "$0" >&2; exit 2 ;;
  esac
  shift
done
[ "$chroots" = 0 ] || [ "$(id -u)" = 0 ] || { echo "error: a fresh Debian needs root: run as root, or with --no-chroot" >&2; exit 1; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
say() { printf '\n--- %s\n' "$*"; }
fail() { echo "error: $*" >&2; exit 1; }
# Times in packages are those of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

build() { # build PRESET [SOURCE]: programs and pages, no tests, in build/package-PRESET
  (cd "${2:-$top}" && cmake --preset "$1" -B "build/package-$1" -DSIALX_TESTS=OFF -DSIALX_WERROR=ON >"$out/configure.log" && nice cmake --build "build/package-$1" >"$out/build.log") ||
    { tail -20 "$out/configure.log" "$out/build.log" >&2; fail "the build $1 of ${2:-$top} failed"; }
}

debian_package() { # debian_package SOURCE DIR -> the path of the package
  build release "$1"
  (cd "$1/build/package-release" && cpack -G DEB -B "$2") >"$out/cpack.log" 2>&1 || { tail -20 "$out/cpack.log" >&2; fail "cpack failed"; }
  rm -rf "$2/_CPack_Packages"
  ls "$2"/sialx_*.deb
}

mounted=()
leave() {
  local m
  for m in "${mounted[@]}"; do umount -R "$m" 2>/dev/null || umount -Rl "$m" 2>/dev/null || true; done
  [ -z "${work:-}" ] || rm -rf --one-file-system "$work"
}
trap leave EXIT

fresh() { # fresh NAME -> $root, a new Debian
  work=${work:-$(mktemp -d)}
  if [ -z "${DEBIAN_BASE:-}" ]; then
    DEBIAN_BASE=$work/base
    debootstrap --variant=minbase bookworm "$DEBIAN_BASE" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$out/debootstrap.log" ||
      { tail -5 "$out/debootstrap.log" >&2; fail "debootstrap failed"; }
  fi
  root=$work/$1
  cp -a --one-file-system "$DEBIAN_BASE" "$root"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  mkdir -p "$root/proc" "$root/sys" "$root/dev/shm" "$root/home/user"
  mount --rbind /sys "$root/sys" && mount --make-rslave "$root/sys" && mounted=("$root/sys" "${mounted[@]}")
  mount -t proc proc "$root/proc" && mounted=("$root/proc" "${mounted[@]}")
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" && mounted=("$root/dev/shm" "${mounted[@]}")
}
inside() { # inside COMMAND: in the fresh system
  chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_plm_rsh_agent= /bin/sh -ec "cd /home/user && $1"
}
agrees() { # agrees EXPECTED: results.h5 of /home/user, by this machine's h5py
  "$(bash "$top/examples/find_python.sh")" "$top/examples/compare.py" "$root/home/user/results.h5" "$top/$1"
}
no_compiler() { inside '! command -v cc && ! command -v g++ && ! command -v cmake' || fail "there is a compiler"; }

if [ $deb = 1 ]; then
  say "Debian package"
  mkdir -p "$out/deb"
  rm -f "$out"/deb/*.deb
  package=$(debian_package "$top" "$out/deb")
  ls -l "$package"
  dpkg-deb -f "$package" Package Version Section Maintainer Depends Recommends Installed-Size
  if command -v lintian >/dev/null; then
    # Warnings are for people; errors are not for releases.
    lintian --fail-on error --tag-display-limit 3 "$package" || fail "lintian found errors"
  else
    echo "skipped: there is no lintian"
  fi
  if [ $twice = 1 ]; then
    say "the same package, built in another folder"
    rm -rf "$out/again"
    mkdir -p "$out/again/deb"
    git clone -q --no-hardlinks "$top" "$out/again/a-longer-name"
    second=$(CCACHE_DISABLE=1 debian_package "$out/again/a-longer-name" "$out/again/deb")
    sha256sum "$package" "$second"
    if ! cmp "$package" "$second"; then
      for p in "$package" "$second"; do dpkg-deb -R "$p" "$p.tree"; done
      diff -rq "$package.tree" "$second.tree" >&2 || true
      fail "two builds of one commit differ"
    fi
    echo "two builds in different folders are the same bytes"
  fi
  if [ $chroots = 1 ]; then
    say "a fresh Debian with the package"
    fresh deb
    inside "apt-get update -qq" >/dev/null
    cp "$package" "$root/home/user/sialx.deb"
    begin=$(date +%s.%N)
    inside "apt-get install -y -qq --no-install-recommends ./sialx.deb openmpi-bin" >"$out/install.log" 2>&1 || { tail -5 "$out/install.log"; fail "the package cannot be installed"; }
    installed=$(date +%s.%N)
    no_compiler
    inside "sialrun /usr/share/sialx/examples/11_ccsd_t/job.toml"
    end=$(date +%s.%N)
    echo "$begin $installed $end" | awk '{printf "apt-get install %.1f s, CCSD(T) of water %.1f s, together %.1f s\n", $2 - $1, $3 - $2, $3 - $1; exit $3 - $1 > 60}' ||
      fail "it took longer than 60 s from the package to the energy"
    agrees examples/11_ccsd_t/expected.json
    inside "sialreport run.json >report; head -3 report; rm results.h5; mpirun -n 2 sialrun /usr/share/sialx/examples/11_ccsd_t/job.toml >/dev/null"
    agrees examples/11_ccsd_t/expected.json
    inside "sialrun --version; man -w sialrun 2>/dev/null || ls /usr/share/man/man1/sialrun.1.gz"
    inside "sialrun --version --verbose" | grep "generated code"
    say "the package removed"
    inside "apt-get purge -y -qq sialx" >/dev/null 2>&1
    [ -z "$(find "$root/usr" -name '*sialx*' -print -quit)" ] || fail "the package left files behind"
  fi
fi

if [ $wheel = 1 ]; then
  say "wheel"
  build one-rank
  tree=$(mktemp -d)
  cmake --install "$top/build/package-one-rank" --prefix "$tree" >/dev/null
  rm -rf "$out/wheel"
  file=$("$(bash "$top/examples/find_python.sh")" "$top/runtime/install/wheel.py" --prefix "$tree" --out "$out/wheel")
  rm -rf "$tree"
  ls -l "$file"
  if [ $chroots = 1 ]; then
    say "a fresh Debian with Python and the wheel"
    fresh wheel
    inside "apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv openmpi-bin" >"$out/install.log" 2>&1 || { tail -5 "$out/install.log"; fail "Python cannot be installed"; }
    no_compiler
    # NumPy and h5py come through this machine's pip, with its settings: an index or certificates of its own.
    "$(bash "$top/examples/find_python.sh")" -m venv "$work/venv" && "$work/venv/bin/pip" download -q -d "$root/home/user/others" --only-binary :all: numpy h5py
    cp "$file" "$root/home/user"
    begin=$(date +%s.%N)
    inside "python3 -m venv v && v/bin/pip install -q --no-index --find-links others $(basename "$file")"
    inside ". v/bin/activate; sialrun \$(python3 -m sialx)/11_ccsd_t/job.toml"
    end=$(date +%s.%N)
    echo "$begin $end" | awk '{printf "venv, pip install and CCSD(T) of water: %.1f s\n", $2 - $1}'
    agrees examples/11_ccsd_t/expected.json
    inside '. v/bin/activate; python3 -c "
import sialx
r = sialx.run(\"sial s\nscalar x\nx = 6.0\nx *= 7.0\nendsial s\n\")
print(r.scalars[\"x\"])
job = sialx.Job([\"v/lib/python3.11/site-packages/sialx/installed/share/sialx/examples/04_rhf/rhf.sialx\"], molecule=sialx.Molecule.from_xyz(\"v/lib/python3.11/site-packages/sialx/installed/share/sialx/examples/molecules/water.xyz\", \"cc-pvdz\"))
print(job.run(\"water\").scalars[\"scf_energy\"])
"; sialreport run.json >report; head -3 report; sialrun --version | head -1'
    # More ranks than it has: one clear message, and no success.
    if inside ". v/bin/activate; mpirun -n 2 sialrun \$(python3 -m sialx)/01_hello/hello.sialx" >"$out/two.log" 2>&1; then fail "two ranks of a build for one"; fi
    grep "this build runs on one rank: built without MPI" "$out/two.log" || { cat "$out/two.log"; fail "no message about MPI"; }
  fi
fi
say "done: $out"
