" Vim indent file: SIAL, as `sialc format` indents.
if exists("b:did_indent")
  finish
endif
let b:did_indent = 1

setlocal indentexpr=SialIndent(v:lnum)
setlocal indentkeys=o,O,*<Return>,!^F,=~else,=~endif,=~enddo,=~endpardo,=~endproc,=~endsection,=~gpu_off,=~endsial
let b:undo_indent = "setl inde< indk<"

if exists("*SialIndent")
  finish
endif

function! SialIndent(lnum)
  let above = prevnonblank(a:lnum - 1)
  if above == 0
    return 0
  endif
  let indent = indent(above)
  if getline(above) =~? '^\s*\%(proc\|do\|pardo\|if\|else\|section\|gpu_on\)\>'
    let indent += shiftwidth()
  endif
  if getline(a:lnum) =~? '^\s*\%(else\|endif\|enddo\|endpardo\|endproc\|endsection\|gpu_off\)\>'
    let indent -= shiftwidth()
  endif
  if getline(a:lnum) =~? '^\s*\%(sial\|endsial\|proc\|endproc\|import\)\>'
    let indent = 0
  endif
  return indent
endfunction
