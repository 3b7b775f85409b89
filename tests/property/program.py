"""A program as a tree of statements, so that a failing one can be made smaller by leaving parts out.

A statement is a line of text or a Node: a header line, a body, perhaps an else body, and a closing line.
"""


class Node:
    def __init__(self, header, body, footer, orelse=None, wheres=()):
        self.header, self.body, self.footer, self.orelse, self.wheres = header, body, footer, orelse, list(wheres)

    def lines(self, indent=0):
        pad = "  " * indent
        yield pad + self.header
        for where in self.wheres:
            yield pad + where
        yield from body_lines(self.body, indent + 1)
        if self.orelse is not None:
            yield pad + "else"
            yield from body_lines(self.orelse, indent + 1)
        yield pad + self.footer


def body_lines(body, indent):
    for statement in body:
        if isinstance(statement, Node):
            yield from statement.lines(indent)
        else:
            yield "  " * indent + statement


class Program:
    def __init__(self, name, seed, declarations, procedures, body, arguments):
        self.name, self.seed, self.declarations = name, seed, declarations
        self.procedures, self.body, self.arguments = procedures, body, arguments
        self.followers = []  # the job's later programs

    def text(self):
        lines = [f"# seed {self.seed}", f"# args: {' '.join(self.arguments)}", f"sial {self.name}", *self.declarations]
        lines += body_lines(self.procedures, 0)
        lines += body_lines(self.body, 0)
        return "\n".join([*lines, f"endsial {self.name}", ""])


def smaller(program):
    """Every program with one piece less: a run of statements, a branch, a where clause, a loop's shell, a declaration."""
    def variants(body):
        n = len(body)
        step = max(1, n // 2)
        while n:
            for at in range(0, n, step):
                yield body[:at] + body[at + step:]
            if step == 1:
                break
            step //= 2
        for at, s in enumerate(body):
            if not isinstance(s, Node):
                continue
            for inner in variants(s.body):
                yield body[:at] + [Node(s.header, inner, s.footer, s.orelse, s.wheres)] + body[at + 1:]
            if s.orelse is not None:
                yield body[:at] + [Node(s.header, s.body, s.footer, None, s.wheres)] + body[at + 1:]
                for inner in variants(s.orelse):
                    yield body[:at] + [Node(s.header, s.body, s.footer, inner, s.wheres)] + body[at + 1:]
            for w in range(len(s.wheres)):
                yield body[:at] + [Node(s.header, s.body, s.footer, s.orelse, s.wheres[:w] + s.wheres[w + 1:])] + body[at + 1:]
            if not s.header.startswith(("proc", "section")):
                yield body[:at] + s.body + body[at + 1:]

    def with_(declarations=None, procedures=None, body=None):
        pick = lambda new, old: old if new is None else new
        return Program(program.name, program.seed, pick(declarations, program.declarations),
                       pick(procedures, program.procedures), pick(body, program.body), program.arguments)
    for body in variants(program.body):
        yield with_(body=body)
    for procedures in variants(program.procedures):
        yield with_(procedures=procedures)
    for at in range(len(program.declarations)):
        yield with_(declarations=program.declarations[:at] + program.declarations[at + 1:])
