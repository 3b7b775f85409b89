"""Control flow that look-ahead has to follow, and data that it cannot know: gets under conditions and where clauses on ints, tables
and blocks, in inner loops with exits and in procedures with returns, with ints that iterations hand on. Begins and ends at a
barrier, finds every block of the square remote arrays present and leaves it so, and adds what it computed to `sum` or `x2`. Draws from
a generator of its own, so that the rest of a seed's program does not depend on it.
"""
import random
from typing import Any

from program import Body, Node


class Control:
    def __init__(self, generator: Any) -> None:
        self.g = generator
        self.r = random.Random(generator.seed * 7919 + 1)

    def chance(self, percent: int) -> bool:
        return self.r.randrange(100) < percent

    def stretch(self) -> Body:
        result = []
        for _ in range(self.r.randint(1, 2)):
            self.serial = self.chance(45)
            self.put = self.r.choice(self.g.squares) if not self.serial and self.chance(35) else None
            self.read = [a for a in self.g.squares if a != self.put]
            body = [*(["c1 = i", "c2 = 0"] if not self.serial or self.chance(70) else []), *self.steps(["i", "j"], self.r.randint(3, 6), 0)]
            if self.put:
                body.insert(self.r.randint(2, len(body)), Node("if i <= norb", self.own_block(), "endif"))
            wheres = self.r.choice([[], [], ["where i <= j"], [f"where i == (int){self.g.table}[(index)j]"]])
            if self.serial:
                loops = [Node("do i", [Node("do j", body, "enddo j", wheres=wheres)], "enddo i")]
                result += ["acc = 0.0", "c1 = 1", "c2 = 0", *loops, "x2 += acc", self.g_barrier()]
            else:
                result += ["acc = 0.0", Node("pardo i, j", body, "endpardo i, j", wheres=wheres), "collective sum += acc", self.g_barrier()]
        return result

    def g_barrier(self) -> str:
        return self.r.choice(["sip_barrier", "server_barrier"])

    def own_block(self) -> list[str]:
        """Every iteration has a block of this array for itself."""
        get, put = self.g.statement(self.put, "get"), self.g.statement(self.put, "put")
        block = f"{self.put}[i,j]"
        return self.r.choice([[f"{get} {block}", f"acc += {block} * {block}", f"{put} {block} = (scalar)(i - j)"],
                              [f"{put} {block} = (scalar)(i + j)", f"{get} {block}", f"acc += {block} * {block}"],
                              [f"{put} {block} += 1.0"]])

    def fetch(self, labels: list[str]) -> tuple[str, str]:
        array = self.r.choice(self.read)
        x, y = self.r.sample(labels, 2)
        return f"{self.g.statement(array, 'get')} {array}[{x},{y}]", f"{array}[{x},{y}] * {array}[{x},{y}]"

    def known(self, labels: list[str]) -> str:
        x, y = self.r.sample(labels, 2)
        return self.r.choice([f"c1 > {y}", "c1 != c2", "c2 < 2", f"{x} <= {y}", f"{self.g.table}[(index){x}] > 1.0", f"(int){self.g.table}[(index){x}] != {y}"])

    def arithmetic(self, labels: list[str]) -> str:
        x = self.r.choice(labels)
        return self.r.choice([f"c1 = {x}", f"c1 = c2 + {x}", "c2 += 1", f"c2 = c1 - {x}", f"c1 = (int){self.g.table}[(index){x}]", "c2 = c2 - c2 / 3 * 3"])

    def steps(self, labels: list[str], count: int, depth: int) -> Body:
        out: Body = []
        for _ in range(count):
            kind = self.r.randrange(10 if depth < 2 else 6)
            if kind < 3:
                get, value = self.fetch(labels)
                out += [get, f"acc += {value}"]
            elif kind < 5:
                out.append(self.arithmetic(labels))
            elif kind == 5:
                get, value = self.fetch(labels)
                out += [get, Node(f"if {value} > {self.r.choice(['4.0', '30.0', '0.0'])}", self.r.choice([["c1 += 1"], ["c2 = 1"], ["acc += 1.0"]]), "endif")]
            elif kind < 8:
                get, value = self.fetch(labels)
                unknown = self.chance(40)
                condition = f"{value} > {self.r.choice(['4.0', '30.0'])}" if unknown else self.known(labels)
                orelse = self.steps(labels, 1, depth + 1) if self.chance(30) else None
                out += [*([get] if unknown else []), Node(f"if {condition}", self.steps(labels, self.r.randint(1, 2), depth + 1), "endif", orelse)]
            elif kind == 8 and "k" not in labels:
                inside = self.steps([*labels, "k"], self.r.randint(1, 3), depth + 1)
                if self.chance(40):
                    get, value = self.fetch(labels)
                    leaves = self.known([*labels, "k"]) if self.chance(60) else f"{value} > 20.0"
                    inside.insert(self.r.randint(0, len(inside)), Node(f"if {leaves}", ["exit"], "endif"))
                    out.append(get)
                out.append(Node("do k", inside, "enddo k", wheres=self.r.choice([[], ["where k != i"], ["where k <= c1"]])))
            else:
                out.append(self.called(labels, depth))
        return out

    def called(self, labels: list[str], depth: int) -> str:
        name = f"ahead{len(self.g.phases)}"
        body = self.steps(labels, self.r.randint(1, 3), 2)
        if self.chance(50):
            body.insert(self.r.randint(0, len(body)), Node(f"if {self.known(labels)}", ["return"], "endif"))
        self.g.phases.append(Node(f"proc {name}", body, f"endproc {name}"))
        return f"call {name}"
