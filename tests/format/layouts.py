"""Programs with random layout: the same tokens, other blanks, lines, letters and comments."""
from __future__ import annotations

import random
import re

TOKEN = re.compile(r"(?P<string>\"[^\"\r\n]*\")|(?P<comment>\#[^\r\n]*)|(?P<newline>\r\n|\r|\n)|(?P<blank>[ \t\f]+)"
                   r"|(?P<word>[A-Za-z][A-Za-z0-9_.]*)|(?P<number>[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)|(?P<sign>\+=|-=|\*=|\*\*|==|!=|<=|>=|[-+*/^<>=()\[\],:])|(?P<other>.)", re.S)
REMARKS = ["# plain", "#", "#tight", "#    far", "# with \"quotes\" and # twice", "# äöü ℏω → ∑, Ψ", "# ends with blanks   ", "# tab\tinside", "# do p  if x > 1.0 endproc", "#-----------"]


def tokens(text: str) -> list[tuple[str, str]]:
    """(kind, text) of everything but blanks."""
    found = [(m.lastgroup or "", m[0]) for m in TOKEN.finditer(text.removeprefix("\ufeff"))]
    return [pair for pair in found if pair[0] != "blank"]


def code(text: str, keep_case: bool = False) -> list[list[str]]:
    """The lines that hold code, as lists of tokens."""
    lines: list[list[str]] = [[]]
    for kind, word in tokens(text):
        if kind == "newline":
            lines.append([])
        elif kind != "comment":
            lines[-1].append(word.lower() if kind == "word" and not keep_case else word)
    return [line for line in lines if line]


def comments(text: str) -> list[str]:
    return [word.rstrip(" \t\f") for kind, word in tokens(text) if kind == "comment"]


def touching(before: str, after: str) -> bool:
    """Whether two tokens may stand without a blank between."""
    word = re.compile(r"[A-Za-z0-9_.\"]")
    if word.match(before[-1]) and word.match(after[0]):
        return False
    return before + after not in ("**", "+=", "-=", "*=", "==", "<=", ">=", "!=") and not (before == "*" and after.startswith("*"))


def scramble(text: str, r: random.Random, remarks: bool = True, letters: bool = True) -> str:
    end = r.choice(["\n", "\n", "\r\n", "\r", "mixed"])
    space = r.choice([" ", " ", "  ", "\t", "mixed"])
    rate = r.choice([0, 5, 20, 50]) if remarks else 0
    blanks = r.choice([0, 10, 40])

    def newline() -> str:
        return r.choice(["\n", "\r\n", "\r"]) if end == "mixed" else end

    def gap(least: int = 0) -> str:
        return "".join(r.choice([" ", "\t", "  ", "\f"]) if space == "mixed" else space for _ in range(r.choice([least, least, least, 1, 1, 2, 5])))

    def letter_case(word: str) -> str:
        return r.choice([word, word, word.upper(), word.capitalize(), "".join(r.choice([c, c.upper()]) for c in word)])

    out = ["\ufeff" if r.random() < 0.1 else ""]
    for line in code(text, keep_case=True):
        while r.randrange(100) < blanks:
            out += [gap(), newline()]
        while r.randrange(100) < rate:
            out += [gap(), r.choice(REMARKS), newline()]
        out.append(gap())
        before = ""
        for word in line:
            if before:
                out.append(gap(0 if touching(before, word) else 1))
            shown = letter_case(word) if letters and re.match("[A-Za-z]", word) else word
            out.append(shown)
            before = word
        out.append(gap())
        if r.randrange(100) < rate:
            out.append(r.choice(REMARKS))
        out.append(newline())
    if r.random() < 0.3:
        out.pop()
    elif remarks and r.random() < 0.3:
        out.append(r.choice(REMARKS))
    return "".join(out)
