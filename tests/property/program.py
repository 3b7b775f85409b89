"""A program as a tree of statements, so that a failing one can be made smaller by leaving parts out.

A statement is a line of text or a Node: a header line, a body, perhaps an else body, and a closing line.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Body = list[Any]  # of texts and Nodes


class Node:
    def __init__(self, header: str, body: Body, footer: str, orelse: Body | None = None, wheres: Iterable[str] = ()) -> None:
        self.header, self.body, self.footer, self.orelse, self.wheres = header, body, footer, orelse, list(wheres)

    def lines(self, indent: int = 0) -> Iterator[str]:
        pad = "  " * indent
        yield pad + self.header
        for where in self.wheres:
            yield pad + where
        yield from body_lines(self.body, indent + 1)
        if self.orelse is not None:
            yield pad + "else"
            yield from body_lines(self.orelse, indent + 1)
        yield pad + self.footer


def body_lines(body: Body, indent: int) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, Node):
            yield from statement.lines(indent)
        else:
            yield "  " * indent + statement


class Program:
    def __init__(self, name: str, seed: int, declarations: list[str], procedures: Body, body: Body, arguments: list[str]) -> None:
        self.name, self.seed, self.declarations = name, seed, declarations
        self.procedures, self.body, self.arguments = procedures, body, arguments
        self.followers: list[Program] = []  # the job's later programs

    def text(self) -> str:
        lines = [f"# seed {self.seed}", f"# args: {' '.join(self.arguments)}", f"sial {self.name}", *self.declarations]
        lines += body_lines(self.procedures, 0)
        lines += body_lines(self.body, 0)
        return "\n".join([*lines, f"endsial {self.name}", ""])


class Reducer:
    """Makes a job smaller, in place, as long as `fails()` stays true: programs, runs of statements, branches, where clauses, the shells
    of loops and branches, declarations. `fails` is asked after each change; a change it does not like is taken back."""

    def __init__(self, programs: list[Program], fails: Callable[[], bool]) -> None:
        self.programs, self.fails = programs, fails

    def run(self) -> None:
        changed = self.thin(self.programs, keep=1)
        while changed:
            changed = False
            for program in self.programs:
                changed |= self.body(program.body)
                changed |= self.body(program.procedures, procedures=True)
            for program in self.programs:
                changed |= self.thin(program.declarations)
        for program in self.programs:
            self.body(program.body)
            self.body(program.procedures, procedures=True)
            self.thin(program.declarations)

    def attempt(self, change: Callable[[], object], back: Callable[[], object]) -> bool:
        change()
        if self.fails():
            return True
        back()
        return False

    def thin(self, items: list[Any], keep: int = 0) -> bool:
        """Leaves out runs of the list, long ones first."""
        changed, size = False, max(1, len(items) // 2)
        while True:
            at = len(items) - size
            while at >= keep:
                removed = items[at:at + size]
                if self.attempt(lambda: items.__delitem__(slice(at, at + size)), lambda: items.__setitem__(slice(at, at), removed)):
                    changed = True
                at -= size
            if size == 1:
                return changed
            size //= 2

    def body(self, body: Body, procedures: bool = False) -> bool:
        changed = self.thin(body)
        for node in [s for s in body if isinstance(s, Node)]:
            changed |= self.body(node.body)
            if node.orelse is not None:
                kept = node.orelse
                if self.attempt(lambda: setattr(node, "orelse", None), lambda: setattr(node, "orelse", kept)):
                    changed = True
                else:
                    changed |= self.body(node.orelse)
            changed |= self.thin(node.wheres)
            if not procedures and not node.header.startswith("section"):
                at = next(n for n, s in enumerate(body) if s is node)
                inner = node.body
                if self.attempt(lambda: body.__setitem__(slice(at, at + 1), inner), lambda: body.__setitem__(slice(at, at + len(inner)), [node])):
                    changed = True
        return changed
