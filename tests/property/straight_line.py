"""Straight code on a handful of blocks that look alike: the same arrays under `A[x,y]` and `A[y,x]`, copies that are read and
overwritten, products that are scaled and added on, gets, puts and increments of the same remote block, in loops that may do nothing
and branches. What passes over the code are tempted to do wrong happens here often; the general statements are in body.py.
"""
from body import Env, text
from program import Body, Node


class State:
    """What holds at a point: AO indices bound, blocks that exist, pairs (x, y) of indices known to satisfy x <= y, other indices bound."""

    def __init__(self, bound, exists=(), order=(), depth=0, others=()):
        self.bound, self.exists, self.order, self.depth, self.others = list(bound), set(exists), set(order), depth, tuple(others)

    def inner(self, index=None, order=()):
        simple = index in ("once", "none")
        return State(self.bound + ([index] if index and not simple else []), self.exists, self.order | set(order), self.depth + 1,
                     self.others + ((index,) if simple else ()))


class StraightLine:
    """`reads`: remote arrays nobody writes in this phase. `owned`: None, or (array, rows of it that are this iteration's: a tuple of
    leading labels). `shared`: a remote array that everybody adds to, or None. `everywhere`: all ranks do the same."""

    def __init__(self, generator, reads, owned=None, shared=None, everywhere=False):
        self.g, self.reads, self.owned, self.shared, self.everywhere = generator, list(reads), owned, shared, everywhere
        self.products = 0

    @property
    def r(self):
        return self.g.random

    # ---- blocks
    def pair(self, st):
        return tuple(self.r.sample(st.bound, 2))

    def other_way(self, labels):
        return (labels[1], labels[0])

    def temp(self, labels):
        return self.r.choice(self.g.mill_temps), tuple(labels)

    def target(self, st, labels):
        """Something that may be written as a whole."""
        labels = labels if self.g.chance(75) else self.other_way(labels)
        pick = self.r.randrange(10)
        if pick == 0:
            return self.g.mill_local, labels
        if pick == 1 and self.everywhere:
            return self.r.choice(self.g.square_statics), labels
        if pick == 2 and self.everywhere and self.reads:
            return self.r.choice(self.reads), labels  # this rank's own copy
        return self.temp(labels)

    def existing(self, st, labels, writable=False):
        """Blocks over these two indices, in either order, that exist."""
        fits = [b for b in sorted(st.exists) if set(b[1]) == set(labels) and len(b[1]) == 2]
        if writable and not self.everywhere:
            fits = [b for b in fits if b[0] in self.g.mill_temps or b[0] == self.g.mill_local]
        return fits

    def get(self, body, st, ref):
        body.append(f"{self.g.statement(ref[0], 'get')} {text(ref)}")
        st.exists.add(ref)

    def source(self, body, st, labels):
        """A readable block over the two indices."""
        fits = self.existing(st, labels)
        pick = self.r.randrange(10)
        if pick < 3 and self.reads:
            ref = (self.r.choice(self.reads), labels if self.g.chance(70) else self.other_way(labels))
            if ref not in st.exists or self.g.chance(20):
                self.get(body, st, ref)
            return ref
        if pick == 3:
            return self.r.choice(self.g.square_statics), tuple(labels)
        if pick == 4 and labels in st.order:
            ref = (self.g.triangle, tuple(labels))
            self.get(body, st, ref)
            return ref
        if pick == 6 and self.g.chance(60):
            ref = (self.g.sparse, tuple(labels))
            self.get(body, st, ref)
            return ref
        if pick == 5 and self.owned:
            ref = self.own(st)
            if ref and set(ref[1]) == set(labels):
                self.get(body, st, ref)
                return ref
        if fits and pick < 9:
            return self.r.choice(fits)
        return self.fresh(body, st, labels)

    def fresh(self, body, st, labels):
        ref = self.temp(labels)
        self.contents(body, st, ref)
        return ref

    def contents(self, body, st, ref):
        if self.g.chance(50):
            body.append(f"{text(ref)} = {self.g.writer.literal()}")
        else:
            body.append(f"w2 = (scalar)({self.g.weight(ref[1])})")
            body.append(f"execute fill_block_{self.r.choice(['cyclic', 'sequential'])} {text(ref)} w2")
        st.exists.add(ref)

    def own(self, st):
        """A block of the array this iteration has for itself."""
        array, rows = self.owned
        columns = [x for x in st.bound if x not in rows]
        if len(rows) == 2:
            return array, rows
        return (array, (rows[0], self.r.choice(columns))) if columns else None

    # ---- statements
    def fill(self, body, st, count):
        choices = [self.copy, self.copy, self.add, self.add, self.product, self.chain, self.chain, self.copy_chain, self.scale, self.scale,
                   self.scaled, self.plus, self.element_run, self.element_run, self.number, self.overwrite, self.again, self.loop, self.loop, self.branch, self.guarded, self.decided, self.special, self.general, self.general, self.device]
        if self.owned:
            choices += [self.own_change] * 4 + [self.own_run]
        if self.shared:
            choices += [self.shared_add] * 4
        for _ in range(count):
            self.r.choice(choices)(body, st)

    def assign(self, body, st, ref, op, value):
        body.append(f"{text(ref)} {op} {value}")
        st.exists.add(ref)

    def copy(self, body, st):
        a = self.source(body, st, self.pair(st))
        self.assign(body, st, self.target(st, a[1]), "=", text(a))

    def copy_chain(self, body, st):
        """T = X, then either is read and written."""
        a = self.source(body, st, self.pair(st))
        b = self.temp(a[1] if self.g.chance(70) else self.other_way(a[1]))
        self.assign(body, st, b, "=", text(a))
        for _ in range(self.r.randint(1, 4)):
            ref = self.r.choice([a, b])
            kind = self.r.randrange(4)
            if kind == 0:
                body.append(f"w1 += {text(ref)} * {text(ref)}")
            elif kind == 1 and self.existing(st, ref[1], True) and ref in self.existing(st, ref[1], True):
                body.append(f"{text(ref)} {self.r.choice(['*=', '+=', '-='])} {self.factor()}")
            elif kind == 2:
                self.fill(body, st, 1)
            else:
                self.assign(body, st, self.temp(ref[1]), "=", text(ref))

    def add(self, body, st):
        labels = self.pair(st)
        fits = self.existing(st, labels, True)
        a = self.source(body, st, labels)
        ref = self.r.choice(fits) if fits else self.fresh(body, st, labels)
        if set(ref[1]) == set(a[1]):
            body.append(f"{text(ref)} {self.r.choice(['+=', '+=', '-='])} {text(a)}")

    def product_text(self, body, st, labels):
        """(a product with these free indices, its operands), or None."""
        inner = [x for x in st.bound if x not in labels]
        if not inner or self.products >= (8 if self.g.reals else 3):
            return None
        self.products += 1
        z = self.r.choice(inner)
        a = self.source(body, st, self.r.choice([(labels[0], z), (z, labels[0])]))
        b = self.source(body, st, self.r.choice([(labels[1], z), (z, labels[1])]))
        return (f"{text(a)} * {text(b)}" if self.g.chance(70) else f"{text(b)} * {text(a)}"), (a, b)

    def product(self, body, st):
        labels = self.pair(st)
        made = self.product_text(body, st, labels)
        if not made:
            return self.number(body, st)
        fits = self.existing(st, labels, True)
        if fits and self.g.chance(40):
            self.assign(body, st, self.r.choice(fits), self.r.choice(["+=", "-="]), made[0])
        else:
            self.assign(body, st, self.target(st, labels), "=", made[0])

    def chain(self, body, st):
        """T = A * B; T *= c; S += T, with things between and after."""
        labels = self.pair(st)
        fits = self.existing(st, labels, True)
        s = self.r.choice(fits) if fits and self.g.chance(80) else self.fresh(body, st, labels)
        made = self.product_text(body, st, labels)
        if not made:
            return self.copy_chain(body, st)
        t = self.temp(labels if self.g.chance(70) else self.other_way(labels))
        self.assign(body, st, t, "=", made[0])
        for _ in range(self.r.choice([0, 1, 1, 2])):
            pick = self.r.randrange(5)
            if pick < 2:
                body.append(f"{text(t)} *= {self.factor()}")
            elif pick == 2:
                body.append(f"w1 += {text(t)} * {text(t)}")
            elif pick == 3:
                changed = self.r.choice([s, *made[1]])
                if changed in self.existing(st, changed[1], True):
                    body.append(f"{text(changed)} {self.r.choice(['*=', '+=', '='])} {self.g.writer.literal()}")
            else:
                self.fill(body, st, 1)
        if not self.owned or self.g.chance(60):
            body.append(f"{text(s)} {self.r.choice(['+=', '+=', '-=', '='])} {text(t)}")
        elif (ref := self.own(st)) and ref[1] == t[1]:
            body.append(f"{self.g.statement(ref[0], 'put')} {text(ref)} {self.r.choice(['=', '+='])} {text(t)}")
        if self.g.chance(25):
            body.append(f"w1 += {text(t)} * {text(s)}")

    def factor(self):
        return self.r.choice(["0.37", "-0.73", "-1.0", "x0", "w0", "(x1 - 1.0)"] if self.g.reals else ["-1.0", "-1.0", "2.0", "2.0", "3.0", "x0", "w0", "(x1 - 1.0)", "0.0"])

    def scale(self, body, st):
        fits = [b for b in self.existing(st, self.pair(st), True)]
        if fits:
            body.append(f"{text(self.r.choice(fits))} {self.r.choice(['*=', '*=', '+=', '-='])} {self.factor()}")
        else:
            self.copy(body, st)

    def scaled(self, body, st):
        a = self.source(body, st, self.pair(st))
        ref = self.temp(a[1])
        op = self.r.choice(["=", "+=", "-="]) if ref in st.exists else "="
        self.assign(body, st, ref, op, f"{self.factor()} * {text(a)}")

    def plus(self, body, st):
        a = self.source(body, st, self.pair(st))
        same = [b for b in sorted(st.exists) if b[1] == a[1]] or [a]
        self.assign(body, st, self.temp(a[1]), "=", f"{text(a)} {self.r.choice('+-')} {text(self.r.choice(same))}")

    def element_run(self, body, st):
        """Statements on one block behind each other, element by element, which may run as one; sources in either order, also the block
        itself and the one that it becomes when indices meet."""
        labels = self.pair(st)
        sources = [self.source(body, st, labels) for _ in range(self.r.randint(1, 3))]
        fits = self.existing(st, labels, True)
        if fits and self.g.chance(50):
            t = self.r.choice(fits)
        else:
            t = self.temp(labels if self.g.chance(70) else self.other_way(labels))
            first = self.r.choice(sources)
            self.assign(body, st, t, "=", f"{self.factor()} * {text(first)}" if first[1] == t[1] and self.g.chance(50) else text(first))
        transposed = (t[0], self.other_way(t[1]))
        if transposed in st.exists and self.g.chance(60):
            sources.append(transposed)
        same = [b for b in sources if b[1] == t[1]] + [t]
        for _ in range(self.r.randint(1, 5)):
            pick = self.r.randrange(10)
            if pick < 4:
                body.append(f"{text(t)} {self.r.choice(['+=', '-='])} {text(self.r.choice(sources))}")
            elif pick < 6:
                body.append(f"{text(t)} {self.r.choice(['*=', '+=', '-='])} {self.factor()}")
            elif pick == 6:
                body.append(f"{text(t)} {self.r.choice(['=', '+=', '-='])} {self.factor()} * {text(self.r.choice(same))}")
            elif pick == 7:
                body.append(f"{text(t)} = {text(self.r.choice(same))} {self.r.choice('+-')} {text(self.r.choice(same))}")
            elif pick == 8:
                body.append(f"w0 = {self.g.writer.literal()}")
            elif self.r.randrange(4) == 0:
                self.assign(body, st, t, "=", self.g.writer.literal())
            else:
                self.fill(body, st, 1)

    def number(self, body, st):
        labels = self.pair(st)
        a, b = self.source(body, st, labels), self.source(body, st, labels)
        name = self.r.choice(["w1", "w1", "w0"])
        if name == "w0":
            body.append(f"w0 = {self.g.writer.literal()}")
        else:
            body.append(f"w1 {self.r.choice(['+=', '-='])} {text(a)} * {text(b)}")

    def overwrite(self, body, st):
        """A store that nobody, or hardly anybody, reads."""
        ref = self.temp(self.pair(st))
        self.contents(body, st, ref)
        if self.g.chance(40):
            self.fill(body, st, 1)
        self.contents(body, st, ref)

    def again(self, body, st):
        """The statement before once more."""
        if body and isinstance(body[-1], str) and " = " in body[-1]:
            body.append(body[-1])

    def special(self, body, st):
        labels = self.pair(st)
        fits = self.existing(st, labels, True)
        kind = self.r.randrange(3)
        if kind == 0 and fits:
            body.append(f"execute check_dconf {text(self.r.choice(fits))} w2")
            body.append("w1 += w2")
        elif kind == 1:
            same = [b for b in fits if b[1] == labels]
            if len(same) > 1:
                body.append(f"execute swap_blocks {' '.join(text(b) for b in self.r.sample(same, 2))}")
        elif fits:
            body.append(f"execute get_first_block_element {text(self.r.choice(fits))} w2")
            body.append("w1 += w2")

    def general(self, body, st):
        """A statement of any kind, on these blocks among others."""
        env = Env(st.bound, "pardo", {a: "read" for a in self.reads} if not self.everywhere else {})
        env.blocks, env.scalars, env.depth = set(st.exists), {"w0", "w1", "w2"}, st.depth
        env.others = st.others
        self.g.writer.fill(body, env, 1)
        st.exists |= {b for b in env.blocks if b[0] not in self.reads}

    def device(self, body, st):
        """Statements that may run on a device, and blocks that travel there; nothing changes."""
        inside = []
        fits = [b for b in sorted(st.exists) if b[0] in self.g.mill_temps]
        if fits:
            inside.append(f"gpu_put {text(self.r.choice(fits))}")
        self.fill(inside, st, 1)
        if fits:
            inside.append(f"gpu_get {text(self.r.choice(fits))}")
        if not any(isinstance(s, Node) for s in inside):
            body.append(Node("gpu_on", inside, "gpu_off"))
        else:
            body += inside

    # ---- remote blocks
    def own_change(self, body, st):
        ref = self.own(st)
        if not ref:
            return
        put = f"{self.g.statement(ref[0], 'put')} {text(ref)}"
        kind = self.r.randrange(9)
        if len(self.owned[1]) == 1 and self.g.chance(15):  # one block under another name when the indices meet
            body.append(f"{put[:put.index('[')]}[{ref[1][0]},{ref[1][0]}] {self.r.choice(['=', '+=', '*='])} {self.factor()}")
        elif kind < 3:
            fits = [b for b in sorted(st.exists) if b[1] == ref[1] and b[0] != ref[0]]
            value = self.r.choice(fits) if fits else self.fresh(body, st, ref[1])
            body.append(f"{put} {self.r.choice(['=', '+=', '+='])} {text(value)}")
        elif kind < 6:
            body.append(f"{put} {self.r.choice(['=', '+=', '+=', '*='])} {self.factor()}")
        else:
            if kind == 6 or ref not in st.exists:
                self.get(body, st, ref)
            self.assign(body, st, self.temp(ref[1]), "=", text(ref))

    def own_run(self, body, st):
        """Many additions to one block over a loop, then a look at it."""
        ref = self.own(st)
        if not ref:
            return
        z = next((x for x in ["k", "l"] if x not in st.bound), None)
        value = self.fresh(body, st, ref[1])
        put = f"{self.g.statement(ref[0], 'put')} {text(ref)}"
        inside = [f"{put} += {text(value)}"] + ([f"{text(value)} *= -1.0"] if self.g.chance(40) else [])
        if self.g.chance(25):
            inside.append(f"{put} {self.r.choice(['+=', '*=', '='])} {self.g.writer.literal()}")
        if z:
            body.append(Node(f"do {z}", inside, f"enddo {z}"))
        self.get(body, st, ref)
        if self.g.chance(60):
            self.assign(body, st, self.temp(ref[1]), "=", text(ref))

    def shared_add(self, body, st):
        labels = self.pair(st) if self.g.chance(70) else (st.bound[0],) * 2
        put = f"{self.g.statement(self.shared, 'put')} {self.shared}[{','.join(labels)}]"
        if labels[0] == labels[1] or self.g.chance(25):
            body.append(f"{put} += {self.factor()}")
            return
        fits = [b for b in sorted(st.exists) if b[1] == labels and b[0] != self.shared]
        value = self.r.choice(fits) if fits else self.fresh(body, st, labels)
        body.append(f"{put} += {text(value)}")

    # ---- control
    def relation(self, st):
        x, y = self.pair(st)
        forms = [f"{x} == {y}", f"{x} < {y}", f"{x} != 1", f"{self.g.table}[(index){x}] > 1.0", "n0 == 1", "n0 != 1", "rank < 100.0"]
        if not self.g.reals:
            forms += ["w1 > 10.0", "w2 < 5.0"]
        return self.r.choice(forms)

    def loop(self, body, st):
        if st.depth >= 3:
            return
        free = [x for x in ["k", "l", "late", "once", "none"] if x not in st.bound and x not in st.others]
        if not free:
            return
        z = self.r.choice(free)
        bound_too = z not in ("none", "once")
        wheres, order = [], []
        pick = self.r.randrange(8)
        x = self.r.choice(st.bound)
        if z == "none":
            pass
        elif pick == 0:
            wheres, order = [f"where {x} <= {z}"], [(x, z)] if bound_too else []
        elif pick == 1:
            wheres, order = [f"where {z} <= {x}"], [(z, x)] if bound_too else []
        elif pick == 2:
            wheres = [f"where {z} > 9"]
        elif pick == 3 and bound_too:
            wheres = [f"where (int){self.g.table}[(index){z}] == {x}"]
        elif pick == 4:
            wheres = [f"where {z} != {x}"]
        inside = st.inner(z, order)
        statements = []
        if self.g.chance(20):
            statements.append(Node(f"if {self.r.choice([f'{z} == 2', f'{z} == 1', self.relation(st)])}", ["exit"], "endif"))
        self.fill(statements, inside, self.r.randint(1, 4))
        if self.g.chance(15):
            statements.append(Node(f"if {self.relation(inside)}", ["exit"], "endif"))
            self.fill(statements, inside, 1)
        body.append(Node(f"do {z}", statements, f"enddo {z}", wheres=wheres))

    def branch(self, body, st):
        if st.depth >= 4:
            return
        yes, no = st.inner(), st.inner()
        then: Body = []
        orelse: Body = []
        self.fill(then, yes, self.r.randint(1, 3))
        if self.g.chance(40):
            self.fill(orelse, no, self.r.randint(1, 2))
        body.append(Node(f"if {self.relation(st)}", then, "endif", orelse or None))

    def guarded(self, body, st):
        """A get that must not happen without its condition: only half of the array's blocks exist."""
        x, y = self.pair(st)
        inside = st.inner(order=[(x, y)])
        then: Body = []
        ref = (self.g.triangle, (x, y))
        self.get(then, inside, ref)
        then.append(f"w1 += {text(ref)} * {text(ref)}")
        if self.g.chance(50):
            self.fill(then, inside, 1)
        body.append(Node(f"if {x} <= {y}", then, "endif"))

    def decided(self, body, st):
        """A get that hangs on an int which data, a table, a loop or an index decide somewhat earlier."""
        if not self.reads:
            return
        x, y = self.pair(st)
        sets = [Node(f"if {self.relation(st)}", [self.r.choice(["n3 = 1", "n3 = 2", "n3 += 1"])], "endif", ["n3 = 1"] if self.g.chance(20) else None)]
        free = [z for z in ["k", "l"] if z not in st.bound]
        if free and self.g.chance(30):
            sets = [Node(f"do {free[0]}", sets + ([Node(f"if {self.relation(st)}", ["exit"], "endif")] if self.g.chance(40) else []), f"enddo {free[0]}")]
        body += ["n3 = 0", *sets]
        if self.g.chance(40):
            self.fill(body, st, 1)
        inside = st.inner()
        then: Body = []
        ref = (self.r.choice(self.reads), (x, y))
        self.get(then, inside, ref)
        then.append(f"w1 += {text(ref)} * {text(ref)}")
        body.append(Node(f"if n3 {self.r.choice(['==', '>='])} {self.r.choice('12')}", then, "endif"))

    # ---- the whole
    def body(self, bound, count):
        """Statements of one iteration; what came of it is in w1."""
        st, statements = State(bound), ["w0 = 1.0", "w1 = 0.0", "w2 = 0.0"]
        for _ in range(self.r.randint(0, 2)):
            self.fresh(statements, st, self.pair(st))
        self.fill(statements, st, count)
        left = [b for b in sorted(st.exists) if b[0] in self.g.mill_temps or b[0] == self.g.mill_local]
        for ref in self.r.sample(left, min(3, len(left))):
            pattern = (self.g.pattern, ref[1])
            statements += [f"w2 = (scalar)({self.g.weight(ref[1])})", f"execute fill_block_sequential {text(pattern)} w2", f"w1 += {text(ref)} * {text(pattern)}"]
        return statements
