#!/usr/bin/env bash
# The test of Hamiltonians in TREXIO files with the package trexio, which is there or comes from PyPI into build/trexio-venv.
# Usage: trexio_hamiltonian.sh PYTHON --bin DIR      exit code 77 where the package cannot be had
set -uo pipefail
python=$1 version=trexio==2.6.1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
venv=$root/build/trexio-venv
if ! "$python" -c 'import trexio' 2>/dev/null; then
  if [ "$(cat "$venv/versions" 2>/dev/null)" != "$version" ]; then
    if ! "$python" -m venv --clear --system-site-packages "$venv" >/dev/null ||
      ! "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 15 "$version" 2>/dev/null; then
      echo "skipped: the package trexio is not there, and cannot be installed from PyPI"
      exit 77
    fi
    echo "$version" >"$venv/versions"
  fi
  python=$venv/bin/python3
fi
exec "$python" "$root/tests/python/trexio_hamiltonian.py" "$@"
