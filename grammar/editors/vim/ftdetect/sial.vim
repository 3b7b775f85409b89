au BufRead,BufNewFile *.sialx,*.sial setfiletype sial
