"""Stretches in which passes about remote blocks, and those that carry a statement out once or free a temp early, have to hold back: a put
between two gets of one block, slots of an array put one at a time, what a rank puts and then changes, sums that are looked at or
replaced, operands and factors that a loop changes, loops without a trip, filtered loops and early exits around what could be done once,
and temps that are read again after what looks like their last use. Begins and ends at a barrier, finds every block of the square remote arrays
present and leaves it so, and adds what it computed to `sum` or `x2`. Temps are its own: some passes only touch those used nowhere else.
Draws from a generator of its own, so that the rest of a seed's program does not depend on it.
"""
import random

from program import Body, Node

SIZES = ("ao", "ao")


class RemoteAccess:
    def __init__(self, generator):
        self.g = generator
        self.r = random.Random(generator.seed * 7927 + 2)
        self.static = generator.square_statics[0]

    def chance(self, percent):
        return self.r.randrange(100) < percent

    def stretch(self):
        choices = [self.slots, self.slots, self.own_puts, self.own_puts, self.got_again, self.got_again, self.across_barriers, self.sums, self.sums,
                   self.once, self.once, self.once, self.freed, self.freed, self.slices]
        result = []
        for pick in self.r.sample(choices, self.r.randint(2, 4)):
            result += pick()
        return result

    # ---- pieces
    def temp(self):
        return self.g.declare("temp", SIZES, "own")

    def barrier(self):
        return self.r.choice(["sip_barrier", "server_barrier"])

    def statement(self, array, verb):
        return self.g.statement(array, verb)

    def square(self):
        return self.r.choice(self.g.squares)

    def number(self, *labels):
        return self.r.choice(["2.0", "-1.0", "3.0", *[f"(scalar){x}" for x in labels], "x0"])

    def look(self, block, name="acc"):
        return f"{name} += {block} * {block}"

    def get(self, array, labels):
        return f"{self.statement(array, 'get')} {array}[{labels}]"

    def put(self, array, labels):
        return f"{self.statement(array, 'put')} {array}[{labels}]"

    def made(self, temp, labels):
        """A block of values that tell it apart."""
        x, y = labels.split(",")[:2]
        return [f"w0 = (scalar)({self.r.randint(1, 3)} * {x} + {y})", f"execute fill_block_{self.r.choice(['sequential', 'cyclic'])} {temp}[{labels}] w0"]

    def pardo(self, labels, body, wheres=()):
        return ["acc = 0.0", Node(f"pardo {labels}", body, f"endpardo {labels}", wheres=list(wheres)), "collective sum += acc"]

    def serial(self, body):
        return ["acc = 0.0", Node("do i", [Node("do j", body, "enddo j")], "enddo i"), "x2 += acc"]

    def own_change(self, array, labels, temp):
        put = self.put(array, labels)
        return self.r.choice([[f"{put} += {temp}[i,j]"], [f"{put} += {self.number()}"], [f"{put} *= {self.number()}"], [f"{put} = {temp}[i,j]"],
                              [f"{put} = {self.number('i')}"]])

    # ---- copies that outlive barriers
    def slots(self):
        """One slot of an array is put, all are read, time and again: most blocks are as they were."""
        array = self.g.declare(self.r.choice(["distributed", "served"]), ("ao", "ao", "simple"), "hist")
        temp = self.temp()
        put, get = self.put(array, "i,j,s"), self.get(array, "i,j,s")
        first = Node("do t", [*self.pardo("i, j", [Node("do s", [f"{put} = (scalar)(i + 3 * j)"], "enddo s", wheres=["where s == t"])]), self.barrier()], "enddo t")
        change = self.r.choice([[*self.made(temp, "i,j"), f"{put} = {temp}[i,j]"], [f"{put} = (scalar)(c1 + i - j)"], [f"{put} += {self.number('i')}"],
                                [f"{put} *= {self.number()}"]])
        wheres = self.r.choice([[], [], ["where i <= j"], ["where i == j"]])
        phase = self.pardo("i, j", [Node("do s", change, "enddo s", wheres=["where s == c1"])], wheres)
        if self.chance(30):
            phase[1].body[0].body.insert(0, get)  # the same rank reads what it then changes
        reading = Node("do s", [self.get(array, "j,i,s") if self.chance(30) else get], "enddo s", wheres=self.r.choice([[], [], ["where s <= c1"]]))
        block = reading.body[0].split(" ", 1)[1]
        reading.body.append(self.look(block))
        look = self.serial([reading]) if self.chance(35) else self.pardo("i, j", [reading], self.r.choice([[], [], ["where i <= j"]]))
        index = self.r.choice(["t", "it", "t"])
        loop = [*phase, self.barrier(), *look, self.barrier(), "c1 += 1", Node("if c1 > 1", ["c1 = -1"], "endif")]
        if self.chance(25):
            loop = [*look, self.barrier(), *loop]
        return [first, "c1 = -1", Node(f"do {index}", loop, f"enddo {index}")]

    def own_puts(self):
        """What this rank put or got, in the phase after; with further changes in either."""
        array, temp = self.square(), self.temp()
        labels = self.r.choice(["i,j", "j,i"])
        block = f"{array}[{labels}]"
        first = [self.get(array, labels), self.look(block)] if self.chance(50) else []
        if self.chance(80) or not first:
            first += [*self.made(temp, "i,j"), *self.own_change(array, "i,j", temp)] if labels == "i,j" else [f"{self.put(array, labels)} = (scalar)(i + 2 * j)"]
        if labels == "i,j" and self.chance(50):
            change = self.own_change(array, labels, temp)
            if f"{temp}[" in change[0] and not any(f"{temp}[" in x for x in first):
                change = self.made(temp, "i,j") + change
            first += [Node(f"if {self.r.choice(['i <= j', 'i == j', 'i != 1'])}", change, "endif")] if self.chance(50) else change
        second = [f"{self.put(array, 'i,j')} += {self.number('i')}"] if self.chance(35) else []
        second += [self.get(array, "i,j"), self.look(f"{array}[i,j]")]
        if not second[0].count("+=") and self.chance(30):
            second += [f"{self.put(array, 'i,j')} = {self.number('j')}", self.get(array, "i,j"), self.look(f"{array}[i,j]")]
        wheres = self.r.choice([[], [], ["where i <= j"], ["where i != j"]])
        phases = [*self.pardo("i, j", first, wheres), self.barrier(), *self.pardo("i, j", second), self.barrier()]
        if self.chance(25):
            phases += [self.barrier(), *self.pardo("i, j", [f"{self.put(array, 'j,i')} += 1.0"], self.r.choice([[], ["where i < j"]])), self.barrier(),
                       *self.pardo("i, j", [self.get(array, "i,j"), self.look(f"{array}[i,j]")]), self.barrier()]
        index = self.r.choice(["it", "it", "t"])
        return [Node(f"do {index}", phases, f"enddo {index}")]

    # ---- gets
    def got_again(self):
        """A block that an iteration has for itself: got, changed, got, in straight code and in loops."""
        array, temp = self.square(), self.temp()
        get, look = self.get(array, "i,j"), self.look(f"{array}[i,j]")
        change = self.own_change(array, "i,j", temp)
        body = [*self.made(temp, "i,j"), get, look]
        form = self.r.randrange(5)
        if form == 0:
            body += [*change, get, look]
        elif form == 1:
            body += [Node("do k", self.r.choice([[*change, get, look], [get, look, *change], [get, look]]), "enddo k", wheres=self.r.choice([[], ["where k <= i"], ["where k > 9"]])), get, look]
        elif form == 2:
            body += [Node(f"if {self.r.choice(['i <= j', 'j == 1', 'x0 > 1.0'])}", change, "endif"), get, look]
        elif form == 3:
            name = f"changes{len(self.g.phases)}"
            self.g.phases.append(Node(f"proc {name}", change, f"endproc {name}"))
            body += [f"call {name}", get, look]
        else:
            body += [Node("do k", [Node(f"if {self.r.choice(['k == 2', 'k == i', 'j < k'])}", ["exit"], "endif"), get, look, *change], "enddo k")]
        return [*self.pardo("i, j", body), self.barrier()]

    def across_barriers(self):
        """Gets on both sides of a barrier in straight code and in serial loops; now and then one rank writes in between."""
        array = self.square()
        get, look = self.get(array, "i,j"), self.look(f"{array}[i,j]")
        write = [Node("if (int)rank == 0", [f"{self.put(array, 'i,j')} {self.r.choice(['= 2.0', '+= 1.0', '*= -1.0'])}"], "endif"), self.barrier()] if self.chance(60) else []
        if self.chance(50):
            body = [get, look, self.barrier(), *write, get, look, self.barrier()]
        else:
            body = [Node("do it", [get, look, self.barrier(), *write], "enddo it"), self.barrier()]
        chosen = Node("do j", body, "enddo j", wheres=[self.r.choice(["where j == i", "where j == 1"])])
        return ["acc = 0.0", Node("do i", [chosen], "enddo i"), "x2 += acc", self.barrier()]

    # ---- sums
    def sums(self):
        """Contributions in a loop, then a look at them, or something that takes their place."""
        array, temp = self.square(), self.temp()
        put, get, look = self.put(array, "i,j"), self.get(array, "i,j"), self.look(f"{array}[i,j]")
        inside = [f"{put} += {temp}[i,j]", *([f"{temp}[i,j] *= -2.0"] if self.chance(50) else [])]
        index = self.r.choice(["k", "k", "it", "never"])
        loop = Node(f"do {index}", inside, f"enddo {index}", wheres=["where k <= j"] if index == "k" and self.chance(30) else [])
        after = self.r.choice([[get, look], [f"{put} = {temp}[i,j]", get, look], [f"{put} *= 2.0"], [f"{put} = {self.number('i')}"], [f"{put} += 1.0", get, look],
                               [get, look, f"{put} *= -1.0", get, look]])
        body = [*self.made(temp, "i,j"), loop, *after, *([loop] if self.chance(30) else [])]
        if self.chance(30):
            return [*self.pardo("i", [Node("do j", body, "enddo j")]), self.barrier()]
        return [*self.pardo("i, j", body), self.barrier()]

    # ---- once
    def once(self):
        """A statement that looks the same in each iteration of a loop."""
        temp, other = self.temp(), self.temp()
        remote = self.chance(40)
        source = self.square() if remote else self.static
        operand = f"{source}[i,j]"
        statement = self.r.choice([f"{temp}[i,j] = {operand}", f"{temp}[i,j] = {self.r.choice(['2.0', 'x0', 'w1', 'w1'])} * {operand}", f"{temp}[i,j] = {operand} + {operand}"])
        use = self.r.choice([self.look(f"{temp}[i,j]"), f"acc += {temp}[i,j] * {operand}"])
        index = self.r.choice(["k", "k", "k", "it", "once", "never"])
        before: Body = []
        behind: Body = []
        if self.chance(30):
            before.append(Node(f"if {self.r.choice([f'{index} == 2', f'{index} == 1', 'i == j', 'w1 > 2.0'])}", ["exit"], "endif"))
        pick = self.r.randrange(8)
        if pick in (0, 5):
            statement = f"{temp}[i,j] = w1 * {operand}"
        if pick == 0:
            behind.append("w1 += 1.0")
        elif pick == 1:
            behind.append(f"{self.put(source, 'i,j')} += 1.0" if remote else f"{operand} {self.r.choice(['*= -1.0', '+= 1.0', '= 3.0'])}")
        elif pick == 2:
            behind.append(f"{temp}[i,j] {self.r.choice(['*= 2.0', '+= 1.0'])}")
            behind.append(self.look(f"{temp}[i,j]"))
        elif pick == 3:
            behind.append(Node(f"if {index} == 1", [f"{temp}[i,j] = 3.0"], "endif"))
        elif pick == 4:
            behind += [f"{temp}[i,j] = 4.0", self.look(f"{temp}[i,j]")]
        elif pick == 5:
            before.insert(0, "w1 += 1.0")
        core = [*([self.get(source, "i,j")] if remote else []), *before, statement, use, *behind]
        if self.chance(25):
            core = [*core[:core.index(statement)], Node("if x0 > 1.0", core[core.index(statement):], "endif")]
        wheres = self.r.choice([[], [], [f"where {index} > 9"], ["where k != i"] if index == "k" else []])
        loop = Node(f"do {index}", core, f"enddo {index}", wheres=wheres)
        body = ["w1 = 1.0", loop]
        if self.chance(30):
            body += [f"{other}[i,j] = 2.0 * {self.static}[i,j]", self.look(f"{other}[i,j]"), loop]
        if remote:
            return [*self.pardo("i, j", body), self.barrier()]
        return [*self.serial(body), self.barrier()]

    # ---- temps
    def freed(self):
        """A temp behind what looks like its last use."""
        temp, other = self.temp(), self.temp()
        t, u, s = f"{temp}[i,j]", f"{other}[i,j]", f"{self.static}[i,j]"
        make, use = f"{t} = {self.r.choice(['2.0', '3.0'])} * {s}", self.look(t)
        stretch = [make, use, f"{u} = 3.0 * {s}", self.look(u)]
        condition = self.r.choice(["i <= j", "x0 > 1.0", "j != 2"])
        body: Body
        form = self.r.choice([0, 1, 1, 2, 3, 4])
        if form == 0:
            body = [Node(f"if {condition}", stretch, "endif", [make] if self.chance(50) else None), Node(f"if {condition}", [use], "endif")]
        elif form == 1:  # the temp of the loop further out, made anew in the inner one
            body = [f"{t} = 1.0", use, Node("do k", [Node(f"if {self.r.choice(['i <= j', 'k <= i', 'k > 1'])}", stretch, "endif"), f"{t} = 4.0 * {s}"], "enddo k"), use]
        elif form == 2:
            body = [f"{t} = 1.0", Node("do k", [use, *stretch], "enddo k")]
        elif form == 3:
            body = [f"{t} = 5.0", Node("do it", stretch, "enddo it"), use]
        else:
            name = f"reads{len(self.g.phases)}"
            self.g.phases.append(Node(f"proc {name}", [use], f"endproc {name}"))
            body = [Node(f"if {condition}", stretch, "endif", [make]), Node("do it", [f"call {name}"], "enddo it")]
        return [*(self.serial(body) if self.chance(50) else self.pardo("i, j", body)), self.barrier()]

    def slices(self):
        """A slice of a static that changes before, between or after the uses of its copy."""
        temp, other = self.temp(), self.temp()
        s, t, u = f"{self.static}[i,j]", f"{temp}[i,j]", f"{other}[i,j]"
        change = self.r.choice([f"{s} *= 2.0", f"{s} += 1.0", f"{s} = {self.number('i')}"])
        uses = [self.look(t), f"{u} = 2.0 * {t}", self.look(u)]
        at = self.r.randint(0, 3)
        uses.insert(at, Node(f"if {self.r.choice(['i <= j', 'x0 > 1.0'])}", [change], "endif") if self.chance(30) else change)
        return [*self.serial([f"{t} = {s}", *uses]), self.barrier()]
