"""Words of the text form, and the statements they make: one line, and the lines that continue it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List, Tuple

from .diagnostics import Messages
from .model import Place, Source
from .notation import other_notation

KEYWORDS = ("space", "input", "amplitude", "result", "intermediate", "disconnected")
_HINTS = (
    ("\u2212\u2013\u2014", "minus is written `-`"),
    ("\u00b7\u00d7", "a product has no sign, or `*`"),
    ("^{}", "upper and lower indices stand in the same square brackets, as in `t2[a,b,i,j]`; a power is a product"),
    (";", "a statement ends with its line, and indices are separated by commas"),
    ("|<>", "integrals have a name, and their indices in square brackets, as in `u[i,j,a,b]`"),
)
_WORD = re.compile(r"(?P<space>[ \t\r\f\v]+)|(?P<name>[A-Za-z_][A-Za-z0-9_']*)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[A-Za-z_]*)|(?P<mark>\+=|[][(),/*+=:-])")
_BEGINS = re.compile(rf"\s*(?:(?:{'|'.join(KEYWORDS)})\s+[A-Za-z_]|[A-Za-z_]\w*\s*(?:\[[^\]=]*\])?\s*\+?=)")


@dataclass(frozen=True)
class Token:
    kind: str  # "name", "number", "mark", "end", or "foreign": of another notation, which has been reported
    text: str
    place: Place
    spaced: bool  # white space stands before it


def statements(source: Source, messages: Messages) -> List[List[Token]]:
    """The statements of a text, each ended by a token `end`.

    A line goes on where a bracket or an operator is open, and on lines that are indented further than the first statement. A line in the column of the
    first statement that begins as a declaration or an equation does is one nevertheless, so that one open bracket is one error."""
    out: List[List[Token]] = []
    tokens: List[Token] = []
    depth, base = 0, None
    for number, line in enumerate(source.text.splitlines(), 1):
        words = _words(line, number, source.name, messages)
        if not words:
            continue
        indentation = len(line) - len(line.lstrip())
        base = indentation if base is None else base
        open_end = depth > 0 or (bool(tokens) and tokens[-1].text in ("+", "-", "*", "/", "=", "+=", ",", ":"))
        goes_on = indentation > base or (open_end and not _BEGINS.match(line)) or words[0].text in ("+", "-", "*", "/")
        if tokens and not goes_on:
            out.append(tokens)
            tokens, depth = [], 0
        tokens = tokens + words
        depth = max(0, depth + sum((w.text in "[(") - (w.text in "])") for w in words if w.kind == "mark"))
    if tokens:
        out.append(tokens)
    return [[*s, _end(s[-1])] for s in out]


def _end(last: Token) -> Token:
    p = last.place
    return Token("end", "", Place(p.file, p.end_line, p.end_column, p.end_line, p.end_column + 1), False)


def _words(line: str, number: int, file: str, messages: Messages) -> List[Token]:
    out: List[Token] = []
    at, spaced = 0, False
    while at < len(line) and line[at] != "#":
        other = other_notation(line, at)
        if other is not None:
            end, message, hint = other
            place = Place(file, number, at + 1, number, end + 1)
            if all(d["message"] != message for d in messages.found):
                messages.report("E-NOTATION", place, message, hint)
            out.append(Token("foreign", line[at:end], place, spaced))
            at, spaced = end, False
            continue
        match = _WORD.match(line, at)
        end = match.end() if match else at + len(line[at:]) - len(line[at:].lstrip(line[at]))  # all of one kind at once
        place = Place(file, number, at + 1, number, end + 1)
        if match is None:
            hint = next((hint for characters, hint in _HINTS if line[at] in characters), "names are of letters, digits and `_`; `#` begins a comment")
            messages.report("E-SYNTAX", place, f"unexpected character `{line[at]}`", hint)
        elif match.lastgroup != "space":
            out.append(Token(match.lastgroup or "", match.group(), place, spaced))
        spaced = match is None or match.lastgroup == "space"
        at = end
    return out


def joined(first: Place, last: Place) -> Place:
    return Place(first.file, first.line, first.column, last.end_line, last.end_column)


def indices_in(token: Token) -> Tuple[Tuple[str, Place], ...]:
    """The index names that a word holds: `ij2` has `i` and `j2`."""
    p = token.place
    return tuple(
        (m.group(), Place(p.file, p.line, p.column + m.start(), p.line, p.column + m.end())) for m in re.finditer(r"[^0-9'][0-9']*", token.text)
    )
