#!/usr/bin/env bash
# ruff over all Python, mypy over the package and what the tests share. Findings are printed, exit 1.
# The programs of the PATH are used, else those of build/lint-venv, which is made with the versions below where there is a network.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=(ruff==0.17.6 mypy==2.4.1)
venv=$PWD/build/lint-venv

if ! command -v ruff >/dev/null || ! command -v mypy >/dev/null; then
  if [ "$(cat "$venv/versions" 2>/dev/null)" != "${tools[*]}" ]; then
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    if ! python3 -m venv --clear "$venv" >"$log" 2>&1; then
      echo "lint: skipped Python: no virtual environment can be made (package python3-venv)"
      exit 0
    fi
    if ! "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 15 "${tools[@]}" >"$log" 2>&1; then
      reason="no network"
      grep -qE 'NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|establish a new connection' "$log" || reason=$(tail -1 "$log")
      echo "lint: skipped Python: ruff and mypy cannot be installed ($reason)"
      exit 0
    fi
    echo "${tools[*]}" >"$venv/versions"
  fi
  PATH=$venv/bin:$PATH
fi

failed=0
ruff check --quiet --output-format concise . || failed=1
mypy --no-error-summary --cache-dir build/lint-cache/mypy --config-file runtime/python/pyproject.toml runtime/python/sialx || failed=1
mypy --no-error-summary || failed=1  # .mypy.ini
exit $failed
