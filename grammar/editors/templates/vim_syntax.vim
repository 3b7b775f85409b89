" Vim syntax file: SIAL, the language of the Super Instruction Architecture
" Written by grammar/editors/generate_editors.py: change templates/vim_syntax.vim there.

if exists("b:current_syntax")
  finish
endif
let s:cpo_save = &cpo
set cpo&vim

syn case ignore
syn iskeyword @,48-57,_,.

syn keyword sialProgram
      \ {{vim:program+procedure}}
syn keyword sialControl
      \ {{vim:control}}
syn keyword sialType
      \ {{vim:type}}
syn keyword sialStorage
      \ {{vim:storage}}
syn keyword sialStatement
      \ {{vim:statement}}
syn keyword sialRoot
      \ {{vim:root}}
syn keyword sialReserved
      \ {{vim:reserved}}

syn match sialFunction "\%(\<\%(proc\|endproc\|call\|special\|execute\)[ \t]\+\)\@<=\a[a-z0-9_.]*" contains=sialSuper
syn keyword sialSuper contained
      \ {{vim:super}}
syn match sialInspection "\%(\<print\%(ln\)\=[ \t]\+\)\@<=\%(norm\|max\|elements\)\ze[ \t]*("
syn match sialNumber "\%([A-Za-z0-9_.]\)\@<!\%(\d\+\.\d*\|\.\d\+\|\d\+\)"
syn match sialOperator "[-+*/^<>=!]"
syn match sialString "\"[^\"]*\""
syn match sialError "\"[^\"]*$"
syn match sialComment "#.*$" contains=sialTodo,@Spell
syn keyword sialTodo contained todo note

hi def link sialProgram Structure
hi def link sialControl Statement
hi def link sialType Type
hi def link sialStorage StorageClass
hi def link sialStatement Keyword
hi def link sialRoot Operator
hi def link sialReserved Error
hi def link sialFunction Function
hi def link sialSuper Special
hi def link sialInspection Special
hi def link sialNumber Number
hi def link sialOperator Operator
hi def link sialString String
hi def link sialError Error
hi def link sialComment Comment
hi def link sialTodo Todo

let b:current_syntax = "sial"
let &cpo = s:cpo_save
unlet s:cpo_save
