"""Stretches of a program around barriers and loops in which passes that move, join or drop communication are tempted to go wrong. Each
begins and ends at a barrier, finds every block of the remote arrays present and leaves it so (but for the half array, whose blocks
exist for first index <= second only), and adds what it computed to `sum` or `x2`.
"""
from program import Node
from straight_line import StraightLine


class Phases:
    def __init__(self, generator):
        self.g = generator

    @property
    def r(self):
        return self.g.random

    def any(self, inside=False):
        """`inside`: of a serial loop or procedure; nothing that may be done only once."""
        choices = [self.pardo, self.pardo, self.pardo, self.serial, self.serial, self.reread, self.reread, self.barriers, self.shared, self.table,
                   self.refilled, self.rank_zero]
        if not inside:
            choices += [self.repeated, self.repeated, self.procedure]
        if self.g.before and self.g.before.saved:
            choices += [self.restored]
        return self.r.choice(choices)()

    def two(self):
        """Two different square remote arrays."""
        return self.r.sample(self.g.squares, 2)

    def pardo_of(self, straight_line, labels, inner, count, wheres=()):
        """A pardo over labels, inside it perhaps a serial loop over `inner`."""
        body = [*straight_line.body(labels + ([inner] if inner else []), count), "acc += w1"]
        if self.g.chance(25):
            body = self.called(body)
        if inner:
            body = [Node(f"do {inner}", body, f"enddo {inner}")]
        names = ", ".join(labels)
        return ["acc = 0.0", Node(f"pardo {names}", body, f"endpardo {names}", wheres=list(wheres)), "collective sum += acc"]

    def called(self, body):
        """The same in a procedure, which uses the indices of its callers."""
        name = f"work{len(self.g.phases)}"
        if self.g.chance(20) and not self.g.reals:
            body = [*body, Node("if w1 > 0.0", ["return"], "endif"), "acc += 1.0"]
        self.g.phases.append(Node(f"proc {name}", body, f"endproc {name}"))
        call = f"call {name}"
        return self.r.choice([[call], [call], [call, call], [Node("if n0 == 1", [call], "endif")], [Node("do alone", [call], "enddo alone")]])

    def division(self):
        """(pardo indices, serial index inside or None)"""
        x, y = self.r.sample(["i", "j"], 2)
        return self.r.choice([([x, y], None), ([x, y], None), ([x], y)])

    def where(self, labels):
        return [self.r.choice(["where i <= j", "where i != j", "where i > 9"])] if len(labels) == 2 and self.g.chance(20) else []

    def pardo(self):
        """Iterations that read one array and have the blocks of another for themselves."""
        read, own = self.two()
        labels, inner = self.division()
        owned = (own, tuple(labels) if not inner else (labels[0],)) if self.g.chance(70) else None
        straight_line = StraightLine(self.g, [read] if owned else [read, own], owned)
        return [*self.pardo_of(straight_line, labels, inner, self.r.randint(2, 6), self.where(labels)), self.g.barrier()]

    def shared(self):
        """Everybody adds to the same blocks, time and again."""
        read, target = self.two()
        labels, inner = self.division()
        straight_line = StraightLine(self.g, [read], None, target)
        result = self.pardo_of(straight_line, labels, inner, self.r.randint(2, 5), self.where(labels))
        if self.g.chance(30):
            result += self.pardo_of(StraightLine(self.g, [read], None, target), ["j"], "i", 3)
        return [*result, self.g.barrier()]

    def serial(self):
        straight_line = StraightLine(self.g, self.g.squares, everywhere=True)
        body = straight_line.body(["i", "j"], self.r.randint(2, 6))
        body.append(self.r.choice(["x2 += w1", "x2 += w1", "x2 = w1"]))
        return [Node("do i", [Node("do j", body, "enddo j", wheres=self.where(["i", "j"]))], "enddo i"), self.g.barrier()]

    def reading(self, arrays):
        """Gets and nothing that changes them."""
        if self.g.chance(60):
            labels, inner = self.division()
            return self.pardo_of(StraightLine(self.g, arrays), labels, inner, self.r.randint(1, 3))
        core = ["w1 = 0.0"]
        for array in arrays:
            block = f"{array}[{self.r.choice(['i,j', 'j,i'])}]"
            core += [f"{self.g.statement(array, 'get')} {block}", f"w1 += {block} * {block}"]
        return [Node("do i", [Node("do j", [*core, "x2 += w1"], "enddo j", wheres=self.where(["i", "j"]))], "enddo i")]

    def change(self, array):
        """One block or all of an array written, or something that only looks like it."""
        put = f"{self.g.statement(array, 'put')} {array}[i,j]"
        statement = f"{put} {self.r.choice(['= 3.0', '+= 1.0', '+= -2.0', '*= 2.0', '*= -1.0'])}"
        pick = self.r.randrange(7)
        if pick == 0:
            return []
        if pick == 1:
            return [Node("do none", [Node("pardo i, j", [statement], "endpardo i, j")], "enddo none")]
        if pick == 2:
            return [Node("pardo i, j", [statement], "endpardo i, j", wheres=["where i > 9"])]
        if pick == 3:
            return [Node(f"if {self.r.choice(['n0 == n1', 'n0 != n1', 'x0 > 0.0'])}", [Node("pardo i, j", [statement], "endpardo i, j")], "endif")]
        wheres = [self.r.choice(["where i == j", "where i == 1", "where i < j"])] if pick == 4 else []
        return [Node("pardo i, j", [statement], "endpardo i, j", wheres=wheres)]

    def reread(self):
        """The same gets on both sides of a barrier, with and without a change between."""
        a, b = self.two()
        loop = self.reading([a])
        result = list(loop)
        for _ in range(self.r.randint(1, 3)):
            change = self.change(self.r.choice([a, b]))
            result += [self.g.barrier(), *change, *([self.g.barrier()] if change else [])]
            result += loop if self.g.chance(70) else self.reading([self.r.choice([a, b])])
        return [*result, self.g.barrier()]

    def barriers(self):
        """Barriers with next to nothing between them."""
        array = self.r.choice(self.g.squares)
        between = self.r.choice([[], ["n2 = n0 + n1"], ["collective sum += acc"], ["assert_same x0"], self.change(array)])
        return [*self.change(array), self.g.barrier(), *between, self.g.barrier(), *self.reading([array]), self.g.barrier()]

    def table(self):
        """The table that where clauses look at changes."""
        value = self.r.choice(["i", "norb - i + 1", "(i + 1) / 2", "1"])
        if self.g.chance(50):
            return self.table_in_loop(value)
        return [Node("do i", [f"{self.g.table}[(index)i] = (scalar)({value})"], "enddo i"), *self.reading([self.r.choice(self.g.squares)]), self.g.barrier()]

    def table_in_loop(self, value):
        """A loop that changes the table by which it chooses what to get."""
        array, table = self.r.choice(self.g.squares), self.g.table
        gets = [f"{self.g.statement(array, 'get')} {array}[i,j]", f"x2 += {array}[i,j] * {array}[i,j]"]
        chosen = [Node(f"if {table}[(index)j] {self.r.choice(['>', '<='])} 1.0", gets, "endif")]
        if self.g.chance(30):
            chosen = [Node("do k", gets, "enddo k", wheres=[f"where (int){table}[(index)k] == j"])]
        change = f"{table}[(index){self.r.choice('ij')}] = (scalar)({value})"
        loop = Node("do i", [Node("do j", self.r.choice([[change, *chosen], [*chosen, change]]), "enddo j")], "enddo i")
        return [Node("do i", [f"{table}[(index)i] = (scalar)i"], "enddo i"), loop, self.g.barrier()]

    def refilled(self):
        array = self.r.choice(self.g.squares)
        first = self.reading([array]) if self.g.chance(50) else []
        return [*first, *([self.g.barrier()] if first else []), f"{self.g.statement(array, 'delete')} {array}", *self.g.fill_remote(array)]

    def restored(self):
        """A remote array becomes what an earlier program left."""
        array = self.r.choice(self.g.squares)
        again = self.g.restored(array)
        return [*self.reading([array]), self.g.barrier(), *again, *self.reading([array]), self.g.barrier()]

    def rank_zero(self):
        """One rank writes a whole array; others read it after the barrier."""
        array = self.r.choice(self.g.squares)
        put = f"{self.g.statement(array, 'put')} {array}[i,j]"
        core = [f"{put} {self.r.choice(['=', '+='])} (scalar)({self.g.weight(['i', 'j'])})", *([f"{put} += {self.g.writer.literal()}"] * self.r.choice([0, 1, 2]))]
        loop = Node("do i", [Node("do j", core, "enddo j")], "enddo i")
        return [Node("if (int)rank == 0", [loop], "endif"), self.g.barrier(), *self.reading([array]), self.g.barrier()]

    def repeated(self):
        """Phases in a serial loop, as in an iteration to self-consistency."""
        body = []
        for _ in range(self.r.randint(1, 2)):
            body += self.any(inside=True)
        index = self.r.choice(["it", "it", "lone", "never"])
        if self.g.chance(30):
            body.append(Node(f"if {self.r.choice([f'{index} == 1', 'x0 > 1.0', 'n0 == n1'])}", ["exit"], "endif"))
        return [Node(f"do {index}", body, f"enddo {index}"), self.g.barrier()]

    def procedure(self):
        """Phases in a procedure that is called several times."""
        name = f"phase{len(self.g.phases)}"
        self.g.phases.append(Node(f"proc {name}", self.any(inside=True), f"endproc {name}"))
        call = f"call {name}"
        array = self.r.choice(self.g.squares)
        return self.r.choice([[call, call], [call, *self.change(array), self.g.barrier(), call], [Node("do it", [call], "enddo it")],
                              [Node("if n0 == n1", [call], "endif", [call])], [Node("do never", [call], "enddo never"), call]])
