; Written by grammar/editors/generate_editors.py: change templates/highlights.scm there.
(comment) @comment
(string) @string
[(real) (integer)] @number

[
  "sial"
  "endsial"
  "import"
  "proc"
  "endproc"
  "call"
  "return"
  "stop"
  "section"
  "endsection"
  "do"
  "enddo"
  "in"
  "pardo"
  "endpardo"
  "where"
  "if"
  "else"
  "endif"
  "exit"
  "gpu_on"
  "gpu_off"
] @keyword
[
  "scalar"
  "int"
  "subindex"
  "of"
  "index"
  "aoindex"
  "moindex"
  "moaindex"
  "mobindex"
  "laindex"
  "special"
  "static"
  "temp"
  "local"
  "distributed"
  "served"
  "predefined"
  "contiguous"
  "sparse"
] @type.builtin
[
  "create"
  "delete"
  "destroy"
  "allocate"
  "deallocate"
  "get"
  "put"
  "request"
  "prepare"
  "collective"
  "execute"
  "sip_barrier"
  "server_barrier"
  "set_persistent"
  "restore_persistent"
  "assert_same"
  "broadcast_from"
  "print"
  "println"
  "gpu_allocate"
  "gpu_free"
  "gpu_put"
  "gpu_get"
] @keyword
"sqrt" @function.builtin

(program name: (identifier) @namespace)
(program end: (identifier) @namespace)
(procedure name: (identifier) @function)
(procedure end: (identifier) @function)
(call name: (identifier) @function)
(special_declaration name: (identifier) @function)
(special_declaration signature: (identifier) @attribute)
(execute name: (identifier) @function)
(inspection name: (identifier) @function.builtin)
(block array: (identifier) @variable)
(region array: (identifier) @variable)

["=" "+=" "-=" "*=" "+" "-" "*" "/" "^" "**" "<" ">" "<=" ">=" "==" "!="] @operator
["(" ")" "[" "]"] @punctuation.bracket
["," ":"] @punctuation.delimiter
