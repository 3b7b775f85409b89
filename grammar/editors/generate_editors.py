#!/usr/bin/env python3
"""Writes the highlighting of every editor from one source: the tokens of grammar/SialLexer.g4 and the table of super instructions.

    generate_editors.py [--check]     --check: writes nothing, names the files that differ, exit code 1 if there are any

A template of templates/ holds what an editor wants besides: {{NAME}} stands for words in some form (FORMS).
"""
from __future__ import annotations

import json
import pathlib
import re
import sys
from collections.abc import Callable

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# What each keyword is to a reader. A keyword of the lexer that stands in none of them is an error here.
GROUPS = {
    "program": "sial endsial import",
    "procedure": "proc endproc call",
    "control": "return stop section endsection do enddo in pardo endpardo where if else endif exit gpu_on gpu_off",
    "type": "scalar int subindex of index aoindex moindex moaindex mobindex laindex special",
    "storage": "static temp local distributed served predefined contiguous sparse",
    "statement": "create delete destroy allocate deallocate get put request prepare collective execute sip_barrier server_barrier set_persistent"
    " restore_persistent assert_same broadcast_from print println gpu_allocate gpu_free gpu_put gpu_get",
    "root": "sqrt",
    "reserved": "cycle prequest print_index print_scalar print_int",
}
# Not keywords: words that mean something behind print.
INSPECTIONS = "norm max elements"

FILES = {
    "textmate.json": "vscode/syntaxes/sial.tmLanguage.json",
    "pygments_lexer.py.in": "../../runtime/python/sialx/pygments_lexer.py",
    "vim_syntax.vim": "vim/syntax/sial.vim",
    "sial-mode.el": "emacs/sial-mode.el",
    "grammar.js": "tree-sitter/grammar.js",
    "highlights.scm": "tree-sitter/queries/highlights.scm",
}


def lexer_keywords() -> list[str]:
    """In the order of the lexer; those reserved without a use behind them."""
    found: list[str] = []
    reserved: list[str] = []
    for name, body in re.findall(r"^([A-Z_]+) : (.*) ;$", (ROOT / "grammar" / "SialLexer.g4").read_text(), re.M):
        for alternative in body.split(" | "):
            letters = re.findall(r"'_'|\b[A-Z]\b", alternative)
            if " ".join(letters) == alternative:  # nothing but letters
                (reserved if name == "RESERVED" else found).append("".join(letters).replace("'_'", "_").lower())
    return found + reserved


def super_instructions() -> list[str]:
    tables = ("runtime/core/super/super_instructions.def", "runtime/chemistry/super/super_instructions.def")
    return sorted(name for table in tables for name in re.findall(r"^SUPER\(\d+, (\w+),", (ROOT / table).read_text(), re.M))


def words() -> dict[str, list[str]]:
    groups = {name: text.split() for name, text in GROUPS.items()}
    grouped, there = sorted(w for ws in groups.values() for w in ws), sorted(lexer_keywords())
    if grouped != there:
        sys.exit(f"generate_editors.py: the groups and the lexer disagree about: {' '.join(sorted(set(grouped) ^ set(there)))}")
    return {**groups, "keyword": lexer_keywords(), "inspection": INSPECTIONS.split(), "super": super_instructions()}


def wrapped(items: list[str], indent: str, separator: str = " ", width: int = 110) -> str:
    lines, line = [], ""
    for i, item in enumerate(items):
        piece = item + (separator if i + 1 < len(items) else "")
        if line and len(line) + len(piece) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece
    return ("\n" + indent).join([*lines, line.rstrip()])


# How a template wants its words: {{FORM:group+group}}.
FORMS: dict[str, Callable[[list[str]], str]] = {
    "alternatives": lambda ws: "|".join(sorted(ws, key=lambda w: (-len(w), w))),  # the longest first, for expressions without word ends
    "json": lambda ws: json.dumps("|".join(sorted(ws, key=lambda w: (-len(w), w))))[1:-1],
    "python": lambda ws: wrapped([f'"{w}"' for w in ws], "    ", ", ") + ",",
    "vim": lambda ws: wrapped(ws, "      \\ "),
    "lisp": lambda ws: wrapped([f'"{w}"' for w in ws], "    "),
    "javascript": lambda ws: wrapped([f"'{w}'" for w in ws], "    ", ", ") + ",",
    "query": lambda ws: "\n".join(f'  "{w}"' for w in ws),
}


def filled(template: str, groups: dict[str, list[str]]) -> str:
    def form(match: re.Match[str]) -> str:
        return FORMS[match[1]]([w for name in match[2].split("+") for w in groups[name]])

    return re.sub(r"\{\{(\w+):([\w+]+)\}\}", form, template)


def generated() -> dict[pathlib.Path, str]:
    groups = words()
    return {(HERE / target).resolve(): filled((HERE / "templates" / source).read_text(), groups) for source, target in FILES.items()}


def main() -> None:
    different = 0
    for path, text in generated().items():
        if path.exists() and path.read_text() == text:
            continue
        different += 1
        if "--check" in sys.argv[1:]:
            print(f"{path.relative_to(ROOT)}: is not what grammar/editors/generate_editors.py writes")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    sys.exit(1 if different and "--check" in sys.argv[1:] else 0)


if __name__ == "__main__":
    main()
