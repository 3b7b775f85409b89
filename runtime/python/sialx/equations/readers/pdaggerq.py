"""Equations from lines of JSON, one statement each, as pdaggerq's graph of terms writes them: from_pdaggerq_ir."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple, Union

from ..check import Checker
from ..diagnostics import Messages
from ..model import AMPLITUDE, INPUT, INTERMEDIATE, RESULT, Equations, Place, Source, letter_of
from ..parse import EquationLine, FactorText, Named, OperatorText, SpaceLine, TensorLine, TermText

Slots = Sequence[Sequence[int]]

ANTISYMMETRIC: Mapping[str, Slots] = {
    "eri": ((1, 2), (3, 4)),
    **{f"{x}2": ((1, 2), (3, 4)) for x in "tlru"},
    **{f"{x}3": ((1, 2, 3), (4, 5, 6)) for x in "tlru"},
    **{f"{x}4": ((1, 2, 3, 4), (5, 6, 7, 8)) for x in "tlru"},
}
"""The slots, from 1, of the tensors that are antisymmetric in spin-orbital theory."""


def from_pdaggerq_ir(
    path_or_lines: Union[str, "os.PathLike[str]", Iterable[str]],
    *,
    antisymmetric: Mapping[str, Slots] = ANTISYMMETRIC,
    amplitudes: Sequence[str] = ("t1", "t2", "t3", "t4", "l1", "l2", "l3", "l4", "r1", "r2", "r3", "r4"),
) -> Equations:
    """Equations of a file of JSON lines, or of such lines.

    A line is a statement {"target": TENSOR, "is_assignment": true, "coeff": -0.5, "perm": {"type": 1, "pairs": [["i","j"]]}, "operands": [TENSOR, ...],
    "pairing": [[0,1],2]} with TENSOR {"name": "t2", "indices": ["a","b","i","j"], "classes": ["v","v","o","o"], "is_intermediate": false}; what has a
    usual value may be left out.

    Classes are the names of spaces; a tensor that occurs with several gets a general space that consists of all. coeff is a number or a text as "1/3".
    perm.type: 0 none; 1 antisymmetric P(i j) of each pair; 2, 3 and 6 joint exchange of pairs: of two, of the first with each of three, all six of three.
    pairing, an order of contraction, is not kept. The data have no symmetries: `antisymmetric` says those of tensors by name. Raises EquationError with
    all that is wrong."""
    if isinstance(path_or_lines, (str, os.PathLike)):
        name = os.fspath(path_or_lines)
        messages = Messages(Source(name, ""))
        try:
            messages = Messages(Source(name, Path(name).read_text(encoding="utf-8-sig")))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
            messages.report("E-FILE", None, f"`{name}` cannot be read: {reason}")
    else:
        messages = Messages(Source("<lines>", "\n".join(line.rstrip("\r\n") for line in path_or_lines) + "\n"))
    reader = _Reader(messages, antisymmetric, amplitudes)
    statements = [s for n, line in enumerate(messages.lines, 1) for s in [reader.statement(n, line)] if s is not None]
    if messages.errors:
        messages.finish()
    out = reader.checked(statements)
    messages.finish()
    return out


class _Fault(Exception):
    """What of a line has not the form expected."""

    def __init__(self, message: str, hint: str = "", code: str = "E-FORM") -> None:
        super().__init__(message)
        self.hint, self.code = hint, code


class _Reader:
    def __init__(self, messages: Messages, antisymmetric: Mapping[str, Slots], amplitudes: Sequence[str]) -> None:
        self.messages, self.antisymmetric, self.amplitudes = messages, antisymmetric, amplitudes
        self.classes: Dict[str, None] = {}
        self.letters: Dict[str, str] = {}  # the class of each letter
        self.renamed: Dict[Tuple[str, str], str] = {}
        self.sites: Dict[str, Set[Tuple[str, ...]]] = {}
        self.first: Dict[str, Place] = {}
        self.targets: Dict[str, bool] = {}  # whether it is an intermediate

    def statement(self, number: int, line: str) -> Optional[EquationLine]:
        if not line.strip():
            return None
        place = Place(self.messages.source.name, number, 1 + len(line) - len(line.lstrip()), number, len(line.rstrip()) + 1)
        try:
            try:
                data = json.loads(line)
            except ValueError as error:
                at = getattr(error, "colno", 1)
                place = Place(place.file, number, at, number, at + 1)
                raise _Fault(f"the line is no JSON: {getattr(error, 'msg', error)}", "a line holds one statement as a JSON object") from None
            return self.read(_object(data, "the line"), place)
        except _Fault as fault:
            self.messages.report(fault.code, place, str(fault), fault.hint)
            return None

    def read(self, data: Mapping[str, Any], place: Place) -> EquationLine:
        target = self.tensor(_item(data, "target", "the line"), place, "target")
        name = target.name[0]
        intermediate = data["target"].get("is_intermediate", False)
        operands = _list(data.get("operands", []), "operands")
        term = TermText(_fraction(data.get("coeff", 1)), [self.tensor(o, place, "operand") for o in operands], [], place)
        term.operators = self.operators(data.get("perm"), place)
        adds = not data.get("is_assignment", True) and name in self.targets
        self.targets.setdefault(name, bool(intermediate))
        return EquationLine(target, adds, [term], place)

    def tensor(self, data: Any, place: Place, what: str) -> FactorText:
        data = _object(data, f"the {what}")
        name = _item(data, "name", f"the {what}")
        if not isinstance(name, str) or not name or not name.replace("_", "a").isalnum() or name[0].isdigit():
            raise _Fault(f"the name {json.dumps(name)} of the {what} is no name of letters, digits and `_`")
        names = [n for n in _list(data.get("indices", []), f"the indices of `{name}`")]
        classes = data.get("classes", [])
        classes = list(classes) if isinstance(classes, str) else _list(classes, f"the classes of `{name}`")
        if len(names) != len(classes) or not all(isinstance(n, str) and n for n in (*names, *classes)):
            raise _Fault(f"`{name}` has {len(names)} indices and {len(classes)} classes", "each index has a class, both are texts")
        self.sites.setdefault(name, set()).add(tuple(classes))
        self.first.setdefault(name, place)
        self.classes.update({c: None for c in classes})
        return FactorText((name, place), [(self.index(n, c), place) for n, c in zip(names, classes)], place)

    def index(self, name: str, space: str) -> str:
        """The name that an index gets: its own where that is a letter of this class only, with digits or without."""
        known = self.renamed.get((name, space))
        if known is None:
            letter = letter_of(name)
            mine_alone = name not in self.renamed.values()
            if mine_alone and len(letter) == 1 and letter.isalpha() and self.letters.setdefault(letter, space) == space:
                known = name
            else:
                mine = [x for x, c in self.letters.items() if c == space]
                letter = mine[0] if mine else next(x for x in "pqrstuvwxyzPQRSTUVWXYZabcdefghijklmno" if x not in self.letters)
                self.letters[letter] = space
                used = set(self.renamed.values())
                known = next(f"{letter}{n}" for n in range(100, 10000) if f"{letter}{n}" not in used)
            self.renamed[(name, space)] = known
        return known

    def operators(self, perm: Any, place: Place) -> List[OperatorText]:
        kind = _object(perm, "`perm`").get("type", 0) if perm is not None else 0
        if kind == 0:
            return []
        pairs = _list(_item(perm, "pairs", "`perm`"), "the pairs of `perm`")
        if not all(isinstance(p, list) and len(p) == 2 and all(isinstance(x, str) for x in p) for p in pairs) or not pairs:
            raise _Fault("the pairs of `perm` are no pairs of index names", 'as in "pairs": [["i","j"]]')
        named = [[self.named(x, place) for x in p] for p in pairs]
        if kind == 1:
            return [OperatorText(-1, [[[one]], [[other]]], place) for one, other in named]
        wanted = {2: 2, 3: 3, 6: 3}.get(kind) if isinstance(kind, int) else None
        if wanted is None:
            raise _Fault(f"the type {json.dumps(kind)} of `perm` is not known", "types are 0, 1, 2, 3 and 6")
        if len(named) != wanted:
            raise _Fault(f"`perm` of type {kind} has {len(named)} pairs", f"it exchanges {wanted} pairs")
        groups = [[named[0]], named[1:]] if kind == 3 else [[pair] for pair in named]
        return [OperatorText(1, groups, place)]

    def named(self, name: str, place: Place) -> Named:
        found = [new for (old, _), new in self.renamed.items() if old == name]
        return (found[0] if found else name), place

    def checked(self, statements: Sequence[EquationLine]) -> Equations:
        place = Place(self.messages.source.name, 1, 1, 1, 2)
        checker = Checker(self.messages, generated=True)
        spaces: List[object] = [SpaceLine((c, place), [], [(x, place) for x, of in sorted(self.letters.items()) if of == c]) for c in self.classes]
        general = next(n for n in ("g", "all", "general") if n not in self.classes)
        if any(len(sites) > 1 for sites in self.sites.values()):
            spaces.append(SpaceLine((general, place), [(c, place) for c in self.classes], []))
        tensors: List[object] = []
        for name, sites in self.sites.items():
            some = next(iter(sites))
            if len({len(s) for s in sites}) > 1:
                self.messages.report("E-RANK", self.first[name], f"`{name}` occurs with different numbers of indices")
                checker.broken.add(name)
                continue
            classes = some if len(sites) == 1 else (general,) * len(some)
            at = self.first[name]
            role = (INTERMEDIATE if self.targets[name] else RESULT) if name in self.targets else AMPLITUDE if name in self.amplitudes else INPUT
            groups = [g for g in self.antisymmetric.get(name, ()) if max(g) <= len(classes) and len({classes[x - 1] for x in g}) == 1]
            symmetries = [([[x] for x in group], -1, at) for group in groups]
            tensors.append(TensorLine(role, (name, at), [(c, at) for c in classes], symmetries if name not in self.targets else []))
        return checker.equations(spaces + tensors, statements)


def _object(data: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise _Fault(f"{what} is no JSON object")
    return data


def _item(data: Any, key: str, what: str) -> Any:
    if key not in data:
        raise _Fault(f"{what} has no `{key}`")
    return data[key]


def _list(data: Any, what: str) -> List[Any]:
    if not isinstance(data, list):
        raise _Fault(f"{what} are no JSON array")
    return data


def _fraction(value: Any) -> Fraction:
    try:
        if isinstance(value, str):
            return Fraction(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            fraction = Fraction(value).limit_denominator(100000)
            if float(fraction) == float(value):
                return fraction
    except (ValueError, ZeroDivisionError, OverflowError):
        pass
    raise _Fault(f"the coefficient {json.dumps(value)} is no fraction", 'as 0.25, or "1/3"', "E-COEFFICIENT")
