"""Words of other notations, LaTeX above all, and what the text form has for them."""

from __future__ import annotations

import re
from typing import Callable, List, Match, Optional, Pattern, Tuple

_INDICES = r"[A-Za-z][\w', ]*?"
_MIDDLE = rf"(?:(?P<middle>{_INDICES})\s*\|\s*)?"
_SCRIPTS = r"(?:[_^](?:\{[^{}]*\}|[A-Za-z0-9]+))+"
Described = Tuple[str, str]  # message, hint


def other_notation(line: str, at: int) -> Optional[Tuple[int, str, str]]:
    """Where a word of another notation begins here: its end, what is wrong, and what to write."""
    for pattern, described in _NOTATIONS:
        match = pattern.match(line, at)
        if match:
            return (match.end(), *described(match))
    return None


def _letters(text: str) -> List[str]:
    return re.findall(r"[A-Za-z]\d*'*", text)


def _bra_ket(match: Match[str]) -> Described:
    bra, ket, found = _letters(match["bra"]), _letters(match["ket"]), match.group()
    if match["middle"]:
        return f"`{found}` is no tensor", f"write its name, and its indices in square brackets: `{match['middle'].strip()}[{','.join(bra + ket)}]`"
    if len(bra) != 2 or len(ket) != 2:
        return f"`{found}` is no tensor", f"write its name, and its indices in square brackets, as in `f[{','.join(bra + ket)}]`"
    kind = "symmetric (1 3, 2 4) (1,3) (2,4)" if match["bar"] in ("|", r"\vert", r"\mid") else "antisymmetric (1,2) (3,4)"
    return f"`{found}` is no tensor: integrals have a name", f"write `u[{','.join(bra + ket)}]`, declared as `input u[g,g,g,g] {kind}`"


def _chemists(match: Match[str]) -> Described:
    one, other = _letters(match["one"]), _letters(match["other"])
    order = ",".join(x for pair in zip(one, other) for x in pair)
    hint = f"write `u[{order}]` for it, where u[p,q,r,s] = <pq|rs> is `input u[g,g,g,g] symmetric (1 3, 2 4) (1,3) (2,4)`"
    return f"`{match.group()}` is no tensor: integrals have a name", hint


def _operators(match: Match[str]) -> Described:
    inside = " ".join(_letters(match["inside"]))
    symmetric = match["letter"] == "S" or "+" in match["mark"]
    hint = f"`S({inside})` is 1 + ({inside})" if symmetric else f"`P({inside})` is 1 - ({inside})"
    more = f"; a tensor has its indices in square brackets, `A[{','.join(inside.split())}]`" if match["letter"] == "A" else ""
    return f"`{match.group()}` is no operator of the text form", hint + more


def _sum(match: Match[str]) -> Described:
    return f"`{match.group().strip()}` is a sign for a sum", "leave it out: an index that stands twice is summed"


def _fraction(match: Match[str]) -> Described:
    return f"`{match.group()}` is LaTeX", f"write `{match['above'].strip()}/{match['below'].strip()}`"


def _scripts(match: Match[str]) -> Described:
    name, parts = match["name"], re.findall(r"([_^])(?:\{([^{}]*)\}|(\w+))", match["scripts"])
    groups = [_letters("".join(text)) for mark in "^_" for sign, *text in parts if sign == mark]
    what = f"`{match.group()}` has its indices as in LaTeX"
    if name in ("P", "A"):
        return what, "an operator is written " + " ".join(f"`P({' '.join(g)})`" for g in groups)
    if not any(groups):
        return f"`{match.group()}` is no word of the text form", f"a power is a product: `{name} {name}`"
    return what, f"all stand in square brackets, as `{name}[{','.join(i for g in groups for i in g)}]`, in the order of the declaration"


def _command(match: Match[str]) -> Described:
    return f"`{match.group()}` is LaTeX", "equations are plain text, as in `r2[a,b,i,j] = 1/2 P(i j) u[k,l,c,d] t2[a,b,i,l] t2[c,d,j,k]`"


_NOTATIONS: Tuple[Tuple[Pattern[str], Callable[[Match[str]], Described]], ...] = (
    (re.compile(rf"(?:<|\\langle)\s*(?P<bra>{_INDICES})\s*(?P<bar>\|\|?|\\\||\\[Vv]ert|\\mid)\s*{_MIDDLE}(?P<ket>{_INDICES})\s*(?:>|\\rangle)"), _bra_ket),
    (re.compile(rf"(?<!\w)\(\s*(?P<one>{_INDICES})\s*\|\s*(?P<other>{_INDICES})\s*\)"), _chemists),
    (re.compile(r"(?P<letter>[PSA])(?P<mark>[-+_]|[_^]\{?[-+]\}?)\((?P<inside>[^()]*)\)"), _operators),
    (re.compile(r"(?P<letter>A)(?P<mark>)\((?P<inside>[^()]*)\)"), _operators),
    (re.compile(r"(?:\\sum|[\u03a3\u2211])\s*(?:\\limits)?\s*(?:_(?:\{[^{}]*\}|\w+))?|[Ss]um(?:_?\{[^{}]*\}|\([^()]*\))"), _sum),
    (re.compile(r"\\[dt]?frac\s*\{(?P<above>[^{}]*)\}\s*\{(?P<below>[^{}]*)\}"), _fraction),
    (re.compile(rf"(?=\w+(?:_\{{|\^))(?P<name>[A-Za-z][A-Za-z0-9']*)(?P<scripts>{_SCRIPTS})"), _scripts),
    (re.compile(r"\\[A-Za-z]+(?:\s*\{[^{}]*\})*" + rf"(?:{_SCRIPTS})?"), _command),
)
