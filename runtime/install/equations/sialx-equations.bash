# bash completion of sialx-equations: source this file, or put it into share/bash-completion/completions.
_sialx_equations() {
  local word=${COMP_WORDS[COMP_CWORD]}
  case ${COMP_WORDS[COMP_CWORD - 1]} in
    --spin) mapfile -t COMPREPLY < <(compgen -W 'closed-shell unrestricted orbitals spin-orbital' -- "$word"); return ;;
    --amplitudes | --energy | --extents | --most-elements | --memory) COMPREPLY=(); return ;;
    --vvvv) mapfile -t COMPREPLY < <(compgen -W 'stored ao' -- "$word"); return ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W '-h --help -o --output --spin --evaluate --amplitudes --energy --extents --most-elements --memory --vvvv --plan' -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _sialx_equations sialx-equations
