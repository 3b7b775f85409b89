#compdef sialx-equations
# zsh completion of sialx-equations: put this file as _sialx-equations into a folder of $fpath.
_arguments \
  '(-h --help)'{-h,--help}'[show the options and exit]' \
  '(-o --output)'{-o,--output}'[where the program goes, - for the terminal]:file:_files' \
  '--spin[how spin is treated]:spin:(closed-shell unrestricted orbitals spin-orbital)' \
  '--evaluate[evaluate the equations once]' \
  '--amplitudes[those to solve for]:names: ' \
  '--energy[the scalar that is the energy]:name: ' \
  '--extents[orbitals of each space, SPACE=N,...]:extents: ' \
  '--most-elements[of an intermediate]:number: ' \
  '--memory[of all arrays, over all ranks]:size: ' \
  '--vvvv[integrals over four virtual orbitals]:how:(stored ao)' \
  '--plan[print the products by phases]' \
  ':equations:_files'
