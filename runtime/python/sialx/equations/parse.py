"""Statements of the text form taken apart: declarations and equations as they are written, before names are looked up."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import List, Optional, Tuple

from .diagnostics import Messages, did_you_mean
from .lexer import KEYWORDS, Token, indices_in, joined
from .model import Place

Named = Tuple[str, Place]
_BRACKETS = "indices stand in square brackets, as in `t2[a,b,i,j]`"
_RESIDUAL = "on the left is one name: that of a residual is a new one, `r2[a,b,i,j] = ...`, and a method makes it 0"
_ZERO = "an equation has one `=`: a residual is not set to 0, a method makes it 0"


@dataclass
class SpaceLine:
    name: Named
    parts: List[Named]
    letters: List[Named]


@dataclass
class TensorLine:
    role: str
    name: Named
    spaces: List[Named]
    symmetries: List[Tuple[List[List[int]], int, Place]]  # blocks of slots counted from 1, sign


@dataclass
class DisconnectedLine:
    names: List[Named]


@dataclass
class FactorText:
    name: Named
    indices: List[Named]
    place: Place


@dataclass
class OperatorText:
    sign: int
    groups: List[List[List[Named]]]
    place: Place


@dataclass
class TermText:
    coefficient: Fraction
    factors: List[FactorText]
    operators: List[OperatorText]
    place: Place


@dataclass
class EquationLine:
    target: FactorText
    adds: bool
    terms: List[TermText]
    place: Place
    whole: bool = field(default=True)  # False where a part of it could not be read


class SyntaxFault(Exception):
    """A statement that cannot be read further; it has been reported."""


class Statement:
    """One statement, read from left to right."""

    def __init__(self, tokens: List[Token], messages: Messages) -> None:
        self.tokens, self.messages, self.at = tokens, messages, 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def taken(self, *marks: str) -> bool:
        if self.next.kind == "mark" and self.next.text in marks:
            self.at += 1
            return True
        return False

    def fault(self, expected: str, hint: str = "", code: str = "E-SYNTAX") -> SyntaxFault:
        if self.next.kind == "foreign":
            return SyntaxFault()
        found = f"`{self.next.text}`" if self.next.text else "the end of the statement"
        self.messages.report(code, self.next.place, f"{expected} was expected, found {found}", hint)
        return SyntaxFault()

    def expect(self, mark: str, hint: str = "") -> Token:
        if self.next.kind != "mark" or self.next.text != mark:
            raise self.fault(f"`{mark}`", hint)
        return self.take()

    def name(self, what: str) -> Named:
        if self.next.kind != "name":
            raise self.fault(what)
        token = self.take()
        return token.text, token.place

    def end(self, hint: str = "") -> None:
        if self.next.kind != "end":
            raise self.fault("the end of the statement", hint)

    # --- declarations

    def declaration(self) -> Optional[object]:
        """The declaration that the statement is, or None where it is an equation."""
        if self.next.text not in KEYWORDS or self.tokens[self.at + 1].kind not in ("name", "end") and self.tokens[self.at + 1].text != "*":
            return None
        word = self.take().text
        if word == "space":
            return self.space()
        if word == "disconnected":
            names = []
            while self.next.kind == "name" or self.next.text == "*":
                names.append((self.next.text, self.take().place))
                self.taken(",")
            if not names:
                raise self.fault("the name of a target, or `*` for all,")
            self.end()
            return DisconnectedLine(names)
        return self.tensor(word)

    def space(self) -> SpaceLine:
        name = self.name("the name of the space")
        self.expect("=", "as in `space o = i j k l`")
        words: List[Named] = []
        parts: List[Named] = []
        plus = False
        while self.next.kind != "end":
            if self.taken(":"):
                parts, words, plus = words, [], False
            elif self.taken("+"):
                plus = True
            elif not self.taken(","):
                words.append(self.name("a letter"))
        if plus:
            parts, words = words, []
        return SpaceLine(name, parts, words)

    def tensor(self, role: str) -> TensorLine:
        name = self.name("the name of the tensor")
        spaces: List[Named] = []
        if self.taken("["):
            while not self.taken("]"):
                spaces.append(self.name("the name of a space"))
                if not self.taken(",") and self.next.text != "]":
                    raise self.fault("`,` or `]`")
        symmetries = []
        while self.next.kind == "name":
            word = self.take()
            if word.text not in ("symmetric", "antisymmetric"):
                self.at -= 1
                raise self.fault("`symmetric` or `antisymmetric`", "as in `antisymmetric (1,2) (3,4)`")
            if self.next.text != "(":
                raise self.fault("`(`", "slots are counted from 1, as in `antisymmetric (1,2) (3,4)`")
            while self.next.text == "(":
                symmetries.append(self.slots(-1 if word.text == "antisymmetric" else 1))
        self.end("as in `input u[g,g,g,g] antisymmetric (1,2) (3,4)`")
        return TensorLine(role, name, spaces, symmetries)

    def slots(self, sign: int) -> Tuple[List[List[int]], int, Place]:
        first = self.expect("(").place
        blocks: List[List[int]] = [[]]
        while self.next.text != ")":
            if self.taken(","):
                blocks.append([])
            elif self.next.kind == "number" and self.next.text.isdigit():
                blocks[-1].append(int(self.take().text))
            else:
                raise self.fault("the number of a slot", "slots are counted from 1, as in `(1,2)`; pairs of slots as in `(1 3, 2 4)`")
        return blocks, sign, joined(first, self.take().place)

    # --- equations

    def equation(self) -> EquationLine:
        first = self.next.place
        if self.next.kind != "name":
            raise self.fault("a declaration or the target of an equation", _RESIDUAL if self.next.text in ("0", "+", "-") else "")
        target = self.factor("the target of an equation")
        if not self.taken("=", "+="):
            hint = "a declaration begins with " + ", ".join(f"`{k}`" for k in KEYWORDS)
            hint = did_you_mean(target.name[0], KEYWORDS, hint) if self.next.kind == "name" else _BRACKETS if self.next.text == "(" else ""
            if target.indices and any(t.text == "=" for t in self.tokens):  # a sum on the left
                hint = _RESIDUAL
            raise self.fault("`=` or `+=`", hint)
        adds = self.tokens[self.at - 1].text == "+="
        out = EquationLine(target, adds, [], first)
        if self.next.text == "0" and self.tokens[self.at + 1].kind == "end":
            self.take()
        else:
            self.terms(out)
        out.place = joined(first, self.tokens[self.at - 1].place)
        return out

    def terms(self, out: EquationLine) -> None:
        start = self.next.place
        sign = 1
        if self.next.text in ("+", "-"):
            sign = -1 if self.take().text == "-" else 1
        while True:
            try:
                out.terms.append(self.term(sign, start))
            except SyntaxFault:
                out.whole = False
                self.skip_term()
            if self.next.kind == "end":
                return
            start = self.next.place
            sign = -1 if self.take().text == "-" else 1

    def skip_term(self) -> None:
        """Goes on after a fault with the next term."""
        depth = 0
        while self.next.kind != "end" and not (depth <= 0 and self.next.text in ("+", "-")):
            depth += (self.next.text in ("[", "(")) - (self.next.text in ("]", ")"))
            self.at += 1

    def term(self, sign: int, start: Place) -> TermText:
        out = TermText(Fraction(sign), [], [], start)
        first = True
        while first or self.next.kind != "end" and self.next.text not in ("+", "-"):
            if not first and self.taken("*"):
                pass
            elif not first and self.taken("/"):
                out.coefficient /= self.number(True)
                continue
            if self.next.kind == "number":
                out.coefficient *= self.number()
            elif self.next.text in ("P", "S") and self.tokens[self.at + 1].text == "(":
                if out.factors:
                    raise self.fault("a factor", "permutation operators stand before the factors")
                out.operators.append(self.operator())
            elif self.next.kind == "name":
                out.factors.append(self.factor("a factor"))
            else:
                hint = _BRACKETS if out.factors and not out.factors[-1].indices and not self.next.spaced else "multiply sums out, or give them a name in an equation of their own"
                raise self.fault("a factor", hint if self.next.text == "(" else _ZERO if self.next.text == "=" else "")
            first = False
        out.place = joined(start, self.tokens[self.at - 1].place)
        return out

    def number(self, divides: bool = False) -> Fraction:
        if self.next.kind != "number":
            raise self.fault("a number", "only numbers divide: name the quotient as a tensor of its own", "E-COEFFICIENT")
        token = self.take()
        try:
            value = Fraction(token.text)
        except ValueError:
            self.messages.report("E-COEFFICIENT", token.place, f"`{token.text}` is no fraction", "coefficients are as `2`, `1/4` or `0.25`")
            raise SyntaxFault from None
        if divides and value == 0:
            self.messages.report("E-COEFFICIENT", token.place, "division by 0")
            raise SyntaxFault
        return value

    def factor(self, what: str) -> FactorText:
        name = self.name(what)
        indices: List[Named] = []
        last = name[1]
        if self.next.text == "[":
            opened = self.take()
            while self.next.text != "]":
                if self.next.kind != "name" or self.tokens[self.at + 1].text == "[":
                    hint = f"`[` stands in line {opened.place.line}, column {opened.place.column}" if self.next.kind == "end" else ""
                    raise self.fault("an index" if self.tokens[self.at - 1].text in ("[", ",") else "`,` or `]`", hint)
                indices += indices_in(self.take())
                if not self.taken(",") and self.next.text != "]" and self.next.kind != "name":
                    raise self.fault("`,` or `]`")
            last = self.take().place
        return FactorText(name, indices, joined(name[1], last))

    def operator(self) -> OperatorText:
        word = self.take()
        self.expect("(")
        sign = -1 if word.text == "P" else 1
        groups: List[List[List[Named]]] = [[]]
        divided = False
        while self.next.text != ")":
            if self.taken("/"):
                groups.append([])
                divided = True
            elif self.next.kind == "name":
                indices = list(indices_in(self.take()))
                groups[-1] += [[i] for i in indices] if sign < 0 else [indices]
                self.taken(",")
            else:
                raise self.fault("an index or `)`", "as in `P(i j)`, `P(i/j k)`, `S(ai/bj)`")
        if not divided:
            groups = [[item] for item in groups[0]]
        return OperatorText(sign, groups, joined(word.place, self.take().place))
