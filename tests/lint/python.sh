#!/usr/bin/env bash
# ruff over all Python, mypy over the package and the test scripts. Findings are printed, exit 1.
# The programs of the PATH are used, else those of build/lint-venv.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/lint/pinned.sh
if ! command -v ruff >/dev/null || ! command -v mypy >/dev/null; then
  pinned lint-venv Python ruff==0.17.6 mypy==2.4.1 || exit 0
fi

failed=0
ruff check --quiet --output-format concise . || failed=1
mypy --no-error-summary --cache-dir build/lint-cache/mypy --config-file runtime/python/pyproject.toml runtime/python/sialx || failed=1
mypy --no-error-summary || failed=1  # .mypy.ini
exit $failed
