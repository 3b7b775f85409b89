#!/usr/bin/env bash
# Makes build/python-venv, a virtual environment with the packages of the ways into sialx from Python, for tests/python. Half a minute and 450 MB, once.
# Where PyPI cannot be reached it says so, and the tests are skipped.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/lint/pinned.sh
PINNED_FOR=tests pinned python-venv "tests of ASE, geomeTRIC and QCEngine" \
  numpy==2.4.6 h5py==3.16.0 scipy==1.17.1 ase==3.29.0 geometric==1.1.1 qcengine==0.52.0 qcelemental==0.51.4 pytest==9.2.0
exit 0
