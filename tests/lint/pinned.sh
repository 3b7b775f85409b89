# pinned NAME WHAT TOOL==VERSION...: puts the programs of build/NAME on the PATH, a virtual environment that is made with these
# versions from PyPI where there is a network. Where it cannot be made it says that WHAT is skipped, and why, and fails.
pinned() {
  local venv=$PWD/build/$1 what=$2 log reason
  shift 2
  if [ "$(cat "$venv/versions" 2>/dev/null)" != "$*" ]; then
    log=$(mktemp)
    if ! python3 -m venv --clear "$venv" >"$log" 2>&1; then
      rm -f "$log"
      echo "${PINNED_FOR:-lint}: skipped $what: no virtual environment can be made (package python3-venv)"
      return 1
    fi
    if ! "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 15 "$@" >"$log" 2>&1; then
      reason="no network"
      grep -qE 'NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|establish a new connection' "$log" || reason=$(tail -1 "$log")
      rm -f "$log"
      echo "${PINNED_FOR:-lint}: skipped $what: $* cannot be installed ($reason)"
      return 1
    fi
    rm -f "$log"
    echo "$*" >"$venv/versions"
  fi
  PATH=$venv/bin:$PATH
}
