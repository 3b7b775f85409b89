" Vim filetype plugin: SIAL. `gq` formats with sialc where it is on the PATH.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal comments=:# commentstring=#\ %s
setlocal expandtab shiftwidth=2 softtabstop=2
setlocal suffixesadd=.sialx
setlocal formatoptions-=t formatoptions+=croql
if executable("sialc")
  " makeprg checks the program of the buffer; :cnext goes to the next message.
  setlocal makeprg=sialc\ --syntax-only\ %:S
  setlocal errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tarning:\ %m
endif
let b:match_ignorecase = 1
let b:match_words = '\<sial\>:\<endsial\>,\<proc\>:\<return\>:\<endproc\>,\<do\>:\<exit\>:\<enddo\>,\<pardo\>:\<endpardo\>,\<if\>:\<else\>:\<endif\>,\<section\>:\<endsection\>'
let b:undo_ftplugin = "setl com< cms< et< sw< sts< sua< fo< mp< efm< | unlet! b:match_words b:match_ignorecase"
