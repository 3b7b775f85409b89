"""The text form of equations: from_text reads and checks it, to_text writes it. EQUATIONS.md shows it by example."""

from __future__ import annotations

import os
import textwrap
from fractions import Fraction
from pathlib import Path
from typing import Iterable, List, Tuple, Union

from .check import Checker
from .declared import check_targets
from .diagnostics import Messages
from .lexer import statements
from .model import RESULT, Equation, Equations, Generator, Source, Tensor, Term
from .parse import EquationLine, Statement, SyntaxFault

StrPath = Union[str, "os.PathLike[str]"]


def from_text(text_or_path: StrPath) -> Equations:
    """Equations of a text, or of the file at a path: a str with a line break or a `=` is a text.

    Raises EquationError with all that is wrong; what is only odd comes as EquationWarning."""
    if isinstance(text_or_path, str) and ("\n" in text_or_path or "=" in text_or_path or not text_or_path):
        source = Source("<text>", text_or_path)
    else:
        source = Source(os.fspath(text_or_path), "")
        try:
            source = Source(source.name, Path(text_or_path).read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            messages = Messages(source)
            reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
            messages.report("E-FILE", None, f"`{source.name}` cannot be read: {reason}", "a text instead of a path has a line break or a `=`")
            messages.finish()
    messages = Messages(source)
    declarations: List[object] = []
    equations: List[EquationLine] = []
    for tokens in statements(source, messages):
        statement = Statement(tokens, messages)
        try:
            declaration = statement.declaration()
            if declaration is not None:
                declarations.append(declaration)
            else:
                equations.append(statement.equation())
        except SyntaxFault:
            pass
    out = Checker(messages).equations(declarations, equations)
    if not messages.errors:
        check_targets(out, messages)
    messages.finish()
    return out


def to_text(equations: Equations) -> str:
    """The text form, which from_text reads back equal. ValueError where a symmetry is no exchange of slots or of blocks of slots."""
    out = []
    for space in equations.spaces:
        letters = " ".join(space.indices)
        out.append(f"space {space.name} = " + (" + ".join(space.parts) + (f" : {letters}" if letters else "") if space.parts else letters))
    out += [_declaration(t) for t in equations.tensors[: _declared(equations)]]
    if equations.disconnected:
        out.append("disconnected " + " ".join(equations.disconnected))
    for equation in equations.equations:
        out += ["", *_equation(equation)]
    return "\n".join(out) + "\n"


def _declared(equations: Equations) -> int:
    """How many tensors need a declaration: the last ones do not where the equations alone make them, in that order."""
    targets = list(dict.fromkeys(e.target.tensor for e in equations.equations))
    plain = lambda t: t.role == RESULT and not t.symmetries and t in targets
    n = len(equations.tensors)
    while n > 0 and plain(equations.tensors[n - 1]) and (n == len(equations.tensors) or targets.index(equations.tensors[n - 1]) < targets.index(equations.tensors[n])):
        n -= 1
    return n


def _declaration(tensor: Tensor) -> str:
    slots = f"[{','.join(tensor.spaces)}]" if tensor.spaces else ""
    return f"{tensor.role} {tensor.name}{slots}{symmetry_text(tensor.symmetries)}"


def symmetry_text(symmetries: Iterable[Generator]) -> str:
    """` antisymmetric (1,2) (3,4)` of generators that exchange blocks of slots."""
    groups: List[Tuple[int, List[Tuple[int, ...]]]] = []
    for p, sign in symmetries:
        if any(p[p[x]] != x for x in range(len(p))) or all(p[x] == x for x in range(len(p))):
            raise ValueError(f"the symmetry {p} is no exchange of blocks of slots")
        one = tuple(x for x in range(len(p)) if x < p[x])
        other = tuple(p[x] for x in one)
        if groups and groups[-1][0] == sign and groups[-1][1][-1] == one:
            groups[-1][1].append(other)
        else:
            groups.append((sign, [one, other]))
    out, last = "", 0
    for sign, blocks in groups:
        if sign != last:
            out += " antisymmetric" if sign < 0 else " symmetric"
        last = sign
        separator = "," if len(blocks[0]) == 1 else ", "
        out += f" ({separator.join(' '.join(str(x + 1) for x in block) for block in blocks)})"
    return out


def _equation(equation: Equation) -> List[str]:
    begin = f"{equation.target} {'+=' if equation.adds else '='}"
    terms = [_term(t, first=n == 0) for n, t in enumerate(equation.terms)]
    lines = textwrap.wrap(" ".join([begin] + (terms or ["0"])), 118, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return lines if len(terms) < 3 else [f"{begin} {terms[0]}", *(f"    {t}" for t in terms[1:])]


def _term(term: Term, first: bool) -> str:
    coefficient = abs(term.coefficient)
    words = [] if coefficient == Fraction(1) and term.factors else [str(coefficient)]
    words += [str(p) for p in term.permutations] + [str(f) for f in term.factors]
    sign = "-" if term.coefficient < 0 else "" if first else "+"
    return " ".join(([sign] if sign else []) + words)


