" Vim filetype plugin: SIAL. `gq` and :SialFormat lay the buffer out with sialc, which must be on the PATH.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal comments=:# commentstring=#\ %s
setlocal expandtab shiftwidth=2 softtabstop=2
setlocal suffixesadd=.sialx
setlocal formatoptions-=t formatoptions+=croql
if executable("sialc")
  compiler sialc
endif
let b:match_ignorecase = 1
let b:match_words = '\<sial\>:\<endsial\>,\<proc\>:\<return\>:\<endproc\>,\<do\>:\<exit\>:\<enddo\>,\<pardo\>:\<endpardo\>,\<if\>:\<else\>:\<endif\>,\<section\>:\<endsection\>'

command! -buffer -bar SialFormat call SialFormat()
setlocal formatexpr=SialFormatExpression()
if exists("*SialFormat")
  finish
endif

" A program with syntax errors stays as it is, and the messages show. Zero: it was laid out.
function SialFormat() abort
  let l:name = empty(expand('%:t')) ? 'buffer' : expand('%:t')
  let l:before = getline(1, '$')
  let l:said = system('sialc format --stdin-name=' . shellescape(l:name) . ' -', join(l:before, "\n") . "\n")
  if v:shell_error != 0
    echohl ErrorMsg
    echo l:said
    echohl None
    return v:shell_error
  endif
  let l:after = split(l:said, "\n", 1)
  if empty(l:after[-1])
    call remove(l:after, -1)
  endif
  if l:after ==# l:before
    return 0
  endif
  let l:view = winsaveview()
  if len(l:after) < len(l:before)
    silent execute (len(l:after) + 1) . ',$delete _'
  endif
  call setline(1, l:after)
  call winrestview(l:view)
  return 0
endfunction

" `gq` never joins lines, which are statements. While text is typed, Vim breaks long comments itself.
function SialFormatExpression() abort
  if mode() =~# '[iR]'
    return 1
  endif
  call SialFormat()
  return 0
endfunction
