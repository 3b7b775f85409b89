" Vim compiler: sialc. `:make` compiles the buffer's file and writes no module; what it says of imported files is listed
" with their names. `:make -Wstrict` and the like add options.
if exists("current_compiler")
  finish
endif
let current_compiler = "sialc"
if exists(":CompilerSet") != 2
  command -nargs=* CompilerSet setlocal <args>
endif

CompilerSet makeprg=sialc\ -o\ /dev/null\ %:S
" Hints, and notes without a place, are further lines of the message; notes with a place are entries of their own.
CompilerSet errorformat=
      \%E%f:%l:%c:\ error:\ %m,
      \%W%f:%l:%c:\ warning:\ %m,
      \%I%f:%l:%c:\ note:\ %m,
      \%Esialc:\ error:\ %m,
      \%Wsialc:\ warning:\ %m,
      \%Isialc:\ note:\ %m,
      \%C\ \ \ \ %\\%%(hint:\ %\\\|note:\ %\\)%\\@=%m,
      \%-C\ \ \ \ %.%#,
      \%-G%\\d%\\+\ error%.%#,
      \%-G%\\d%\\+\ warning%.%#
