"""What is wrong with equations, by place: EquationError, EquationWarning, and how messages look. EQUATIONS.md lists the codes."""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from pathlib import Path
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple

from ..in_process import Diagnostic
from .model import Place, Source

CODES = {
    "E-FILE": "a file that cannot be read",
    "E-EMPTY": "a text without equations",
    "E-SYNTAX": "something else was expected here",
    "E-NOTATION": "a word of another notation, as LaTeX",
    "E-COEFFICIENT": "a coefficient that is no fraction",
    "E-DUP": "a name that is declared twice",
    "E-UNDECLARED": "a tensor or space that is not declared",
    "E-INDEX": "a letter that belongs to no space",
    "E-RANK": "a wrong number of indices",
    "E-SPACE": "an index of another space than the tensor's slot",
    "E-SYMMETRY": "a symmetry that the tensor cannot have",
    "E-TARGET": "a target that cannot be one",
    "E-REDEFINED": "a second equation of a target, or `+=` without a first",
    "E-ORDER": "a result that is used before it is defined",
    "E-ONCE": "an index that occurs once and is not in the target",
    "E-MANY": "an index that occurs too often",
    "E-EXTERNAL": "external indices that are not the target's",
    "E-PERMUTATION": "a permutation of indices that cannot be exchanged",
    "W-DISCONNECTED": "a term of parts that share no summed index",
    "W-SYMMETRY": "a term without the symmetry of its target",
    "E-FORM": "data of a generator that does not have the form expected",
}
"""Codes and what they mean. E: errors, which end with an EquationError; W: warnings."""


class EquationError(ValueError):
    """Equations with errors. Its text shows each with its line; `diagnostics` has them in parts, warnings among them."""

    def __init__(self, text: str, diagnostics: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(text)
        self.diagnostics = [Diagnostic(d) for d in diagnostics]

    def __reduce__(self) -> Tuple[Any, ...]:
        return EquationError, (str(self), [dict(d) for d in self.diagnostics])


class EquationWarning(UserWarning):
    """What is odd about equations that can be read."""


class Messages:
    """Collects what is said of one source. `finish` warns, or raises an EquationError where there are errors."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines = source.text.splitlines()
        self.found: List[Diagnostic] = []

    def report(self, code: str, place: Optional[Place], message: str, hint: str = "", note: Tuple[str, Optional[Place]] = ("", None)) -> None:
        entry = Diagnostic(code=code, severity="warning" if code.startswith("W") else "error", message=message, hint=hint)
        entry.update(_parts(place))
        entry["notes"] = [dict(message=note[0], **_parts(note[1]))] if note[0] else []
        self.found.append(entry)

    @property
    def errors(self) -> List[Diagnostic]:
        return [d for d in self.found if d["severity"] == "error"]

    def in_order(self) -> List[Diagnostic]:
        return sorted(self.found, key=lambda d: (d.get("line", 0), d.get("column", 0)))

    def finish(self) -> None:
        """Warnings point at the line that called this package."""
        errors = self.errors
        if errors:
            count = f"{len(errors)} error{'s' if len(errors) > 1 else ''} in {self.source.name}"
            raise EquationError("\n".join([count] + [render(d, self.lines) for d in self.in_order()]), self.in_order())
        for d in self.in_order():
            warnings.warn(EquationWarning(render(d, self.lines)), stacklevel=stacklevel())


def stacklevel() -> int:
    """That of the nearest caller outside this package, for the function that asks."""
    package = str(Path(__file__).resolve().parents[1]) + os.sep
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and os.path.realpath(frame.f_code.co_filename).startswith(package):
        level, frame = level + 1, frame.f_back
    return level


def _parts(place: Optional[Place]) -> Mapping[str, Any]:
    if place is None:
        return {}
    return dict(file=place.file, line=place.line, column=place.column, endLine=place.end_line, endColumn=place.end_column)


def render(d: Mapping[str, Any], lines: Sequence[str]) -> str:
    """A diagnostic as sialc shows its own: place, severity, message, code; the line with a caret; hint and notes. lines: of the source."""
    place = f"{d['file']}:{d['line']}:{d['column']}: " if "line" in d else f"{d['file']}: " if "file" in d else ""
    out = [f"{place}{d['severity']}: {d['message']} [{d['code']}]", *_snippet(d, lines)]
    if d["hint"]:
        out.append(f"    hint: {d['hint']}")
    for note in d["notes"]:
        where = f"{note['file']}:{note['line']}:{note['column']}: " if "line" in note else "    "
        out += [f"{where}note: {note['message']}", *_snippet(note, lines)]
    return "\n".join(out)


def _snippet(d: Mapping[str, Any], lines: Sequence[str]) -> List[str]:
    if "line" not in d or d["line"] > len(lines):
        return []
    line = lines[d["line"] - 1]
    begin = d["column"] - 1
    end = d["endColumn"] - 1 if d["endLine"] == d["line"] else len(line)
    cut = max(0, begin - 60) if len(line) > 160 else 0  # the part around the caret is enough
    part = line[cut : cut + 160]
    begin, end = begin - cut, min(end - cut, 160)
    left, right = "..." if cut else "", "..." if cut + 160 < len(line) else ""
    shown = "".join(c if c.isprintable() else " " for c in part)
    return [f"    {left}{shown}{right}", f"    {' ' * (len(left) + begin)}^{'~' * max(end - begin - 1, 0)}"]


def did_you_mean(name: str, names: Iterable[str], otherwise: str = "") -> str:
    """A hint that names what is spelt alike."""
    close = difflib.get_close_matches(name, list(names), n=2, cutoff=0.6) or [n for n in names if n.lower() == name.lower()][:1]
    return f"did you mean {' or '.join(f'`{c}`' for c in close)}?" if close else otherwise
