; Written by grammar/editors/generate_editors.py: change templates/highlights.scm there.
(comment) @comment
(string) @string
[(real) (integer)] @number

[
{{query:program+procedure+control}}
] @keyword
[
{{query:type+storage}}
] @type.builtin
[
{{query:statement}}
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
