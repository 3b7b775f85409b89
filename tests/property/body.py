"""Writes the statements of a loop body, a procedure or a stretch of the main program; knows which blocks exist where."""
from program import Body, Node

AO, MO, SIMPLE = "ao", "moa", "simple"
SUBINDEX = {"i": "ii", "j": "jj"}


class Env:
    """What holds at a point of the program. `mode`: `all` (every rank does the same) or `pardo` (an iteration's own work)."""

    def __init__(self, bound, mode, remotes, procedure=False):
        self.bound, self.mode, self.remotes, self.procedure = list(bound), mode, dict(remotes), procedure
        self.blocks = set()     # readable temps and fetched blocks: (array, labels)
        self.scalars = set()    # w0..w2 that have a value
        self.target = None      # the remote array a pardo writes: (array, write or add, labels)
        self.depth = 0
        self.others = ()        # further indices bound

    def inner(self, index=None):
        e = Env(self.bound + ([index] if index else []), self.mode, self.remotes, self.procedure)
        e.blocks, e.scalars, e.depth, e.target, e.others = set(self.blocks), set(self.scalars), self.depth + 1, self.target, self.others
        return e


def text(ref):
    return f"{ref[0]}[{','.join(ref[1])}]"


class BodyWriter:
    def __init__(self, generator):
        self.g = generator

    @property
    def r(self):
        return self.g.random

    def fill(self, body, env, count):
        for _ in range(count):
            choices = [self.copy, self.copy, self.contraction, self.contraction, self.contraction, self.outer, self.scaled,
                       self.update, self.update, self.plus, self.scalar_statement, self.loop, self.loop, self.branch,
                       self.simple_index, self.elements, self.subindex, self.region, self.special]
            if env.mode == "all":
                choices += [self.store, self.store, self.int_statement, self.reallocate]
            elif not env.procedure:
                choices += [self.private_local]
            if not env.procedure:
                choices += [self.call]
            self.r.choice(choices)(body, env)

    # ---- blocks to read and to write
    def labels_for(self, env, kinds):
        """Distinct bound indices of the kinds, or None."""
        free = list(env.bound)
        labels = []
        for kind in kinds:
            fitting = [x for x in free if self.g.kind_of[x] == kind]
            if not fitting:
                return None
            labels.append(self.r.choice(fitting))
            free.remove(labels[-1])
        return tuple(labels)

    def source(self, body, env, avoid=None):
        """A readable block; makes one where there is none."""
        options = [b for b in sorted(env.blocks) if b[0] != avoid]
        arrays = self.g.statics + self.g.locals + [self.g.vector] + sorted(env.remotes)
        self.r.shuffle(arrays)
        for array in arrays[:2]:
            labels = self.labels_for(env, self.g.arrays[array][1])
            if labels:
                if array in env.remotes and (array, labels) not in env.blocks:
                    body.append(f"{self.g.statement(array, 'get')} {array}[{','.join(labels)}]")
                    env.blocks.add((array, labels))
                options += [(array, labels)] * 2
        if options and not self.g.chance(25):
            return self.r.choice(options)
        return self.fresh(body, env)

    def fresh(self, body, env):
        """A new temp with contents."""
        usable = [x for x in env.bound if x in self.g.kind_of]
        if not usable:
            return None
        labels = tuple(self.r.sample(usable, self.r.randint(1, min(3, len(usable)))))
        ref = (self.g.temp_for(labels), labels)
        how = self.r.randrange(3)
        if how == 0:
            body.append(f"{text(ref)} = {self.literal()}")
        else:
            body.append(f"w2 = (scalar)({self.g.weight(labels)})")
            body.append(f"execute fill_block_{['cyclic', 'sequential'][how - 1]} {text(ref)} w2")
            env.scalars.add("w2")
        env.blocks.add(ref)
        return ref

    def literal(self):
        return self.r.choice(["0.37", "1.1", "0.5", "-0.73", "-1.0", "0.0"] if self.g.reals else ["1.0", "2.0", "3.0", "-1.0", "0.0", "-2.0"])

    def factor(self, env):
        options = [self.literal(), "x0", "(x1 - 1.0)", *sorted(env.scalars & {"w0", "w1"})]
        if env.bound:
            options.append(f"(scalar)({self.r.choice(env.bound)} - 1)")
        return self.r.choice(options)

    def target(self, env, labels, shuffle=True):
        labels = list(labels)
        if shuffle:
            self.r.shuffle(labels)
        if env.mode == "all" and self.g.chance(20):
            for array in self.g.statics + self.g.locals:
                if self.g.arrays[array][1] == tuple(self.g.kind_of[x] for x in labels):
                    return array, tuple(labels)
        return self.g.temp_for(labels), tuple(labels)

    def existing(self, env, labels):
        """A writable block with the same set of labels that exists, or None."""
        fitting = [b for b in sorted(env.blocks) if set(b[1]) == set(labels) and self.g.arrays[b[0]][0] == "temp"]
        return self.r.choice(fitting) if fitting else None

    def assign(self, body, env, ref, value, op="="):
        body.append(f"{text(ref)} {op} {value}")
        if self.g.arrays[ref[0]][0] == "temp":
            env.blocks.add(ref)

    def pair(self, body, env):
        a = self.source(body, env)
        b = self.source(body, env) if a else None
        return a, b

    # ---- statements
    def copy(self, body, env):
        b = self.source(body, env)
        if b:
            self.assign(body, env, self.target(env, b[1]), text(b))

    def contraction(self, body, env):
        a, b = self.pair(body, env)
        if not b:
            return
        free = [x for x in a[1] if x not in b[1]] + [x for x in b[1] if x not in a[1]]
        product = f"{text(a)} * {text(b)}"
        if not free:
            op = self.r.choice(["=", "+=", "-="])
            name = self.r.choice(["w0", "w1"])
            body.append(f"{name} {op if name in env.scalars else '='} {product}")
            env.scalars.add(name)
            return
        if len(free) > 6:
            return
        old = self.existing(env, free)
        if old and old not in (a, b) and self.g.chance(60):
            self.assign(body, env, old, product, self.r.choice(["+=", "-="]))
        else:
            ref = self.target(env, free)
            if ref[0] not in (a[0], b[0]):
                self.assign(body, env, ref, product)

    def outer(self, body, env):
        a, b = self.pair(body, env)
        if b and not set(a[1]) & set(b[1]) and len(a[1]) + len(b[1]) <= 5:
            ref = self.target(env, a[1] + b[1])
            if ref[0] not in (a[0], b[0]):
                self.assign(body, env, ref, f"{text(a)} ^ {text(b)}")

    def scaled(self, body, env):
        b = self.source(body, env)
        if not b:
            return
        product = f"{self.factor(env)} * {text(b)}" if self.g.chance(50) else f"{text(b)} * {self.factor(env)}"
        ref = self.target(env, b[1], shuffle=False)
        op = self.r.choice(["=", "+=", "-="]) if ref in env.blocks else "="
        self.assign(body, env, ref, product, op)

    def update(self, body, env):
        temps = [b for b in sorted(env.blocks) if self.g.arrays[b[0]][0] == "temp"]
        if not temps:
            return self.copy(body, env)
        ref = self.r.choice(temps)
        if self.g.chance(50):
            body.append(f"{text(ref)} {self.r.choice(['+=', '-=', '*='])} {self.factor(env)}")
            return None
        b = self.source(body, env)
        if b and set(b[1]) == set(ref[1]):
            body.append(f"{text(ref)} {self.r.choice(['+=', '-='])} {text(b)}")
        return None

    def plus(self, body, env):
        b = self.source(body, env)
        if not b:
            return
        same = [c for c in sorted(env.blocks) if c[1] == b[1]] or [b]
        self.assign(body, env, self.target(env, b[1], shuffle=False), f"{text(b)} {self.r.choice(['+', '-'])} {text(self.r.choice(same))}")

    def store(self, body, env):
        """Into a static, a local or a region: only where all ranks do it."""
        array = self.r.choice(self.g.statics + self.g.locals + self.g.regions)
        labels = self.labels_for(env, self.g.arrays[array][1])
        if not labels:
            return
        if array in self.g.regions:
            region = f"{array}[{','.join(f'{x}:{x}' for x in labels)}]"
            fitting = [b for b in sorted(env.blocks) if b[1] == labels]
            body.append(f"{region} = {text(self.r.choice(fitting)) if fitting else self.factor(env)}")
            return
        b = self.source(body, env)
        if b and set(b[1]) == set(labels):
            op = "=" if b[0] == array else self.r.choice(["=", "+=", "-="])
            body.append(f"{text((array, labels))} {op} {text(b)}")
        else:
            body.append(f"{text((array, labels))} {self.r.choice(['=', '+=', '-='])} {self.factor(env)}")

    def simple_index(self, body, env):
        """A trailing simple index gained or dropped."""
        b = self.source(body, env)
        if not b:
            return
        simple = [x for x in env.bound if self.g.kind_of.get(x) == SIMPLE and x not in b[1]]
        if self.g.kind_of[b[1][-1]] == SIMPLE and len(b[1]) > 1:
            self.assign(body, env, self.target(env, b[1][:-1], shuffle=False), text(b))
        elif simple and len(b[1]) < 5:
            self.assign(body, env, self.target(env, b[1] + (self.r.choice(simple),), shuffle=False), text(b))

    def elements(self, body, env):
        ao = [x for x in env.bound if self.g.kind_of.get(x) == AO]
        simple = [x for x in env.bound if self.g.kind_of.get(x) == SIMPLE]
        name = self.r.choice(["w0", "w1"])
        if ao and self.g.chance(60):
            value = f"{self.g.table}[(index){self.r.choice(ao)}]"
        elif simple:
            value = f"{self.g.vector}[{self.r.choice(simple)}]"
        else:
            return
        forms = [value, f"{value} * x1", f"-{value}", f"2.0 * {value}", f"{value} + {value}", f"(scalar)((int){value} / 2)"]
        body.append(f"{name} = {self.r.choice(forms)}")
        env.scalars.add(name)

    def sliced(self, block, index):
        return index in block[1] and self.g.dims.get(block[0], ())[block[1].index(index):][:1] == [index]

    def subindex(self, body, env):
        """Slices of a block, work on them, perhaps an insert. The array must be declared over the subindex's parent."""
        whole = [x for x in ("i", "j") if x in env.bound]
        if not whole:
            return
        index = self.r.choice(whole)
        candidates = [b for b in sorted(env.blocks) if self.sliced(b, index) and self.g.arrays[b[0]][0] == "temp"]
        if not candidates or self.g.chance(30):
            b = self.source(body, env)
            if b and self.sliced(b, index):
                candidates.append(b)
        if not candidates:
            return
        big = self.r.choice(candidates)
        sub = SUBINDEX[index]
        labels = tuple(sub if x == index else x for x in big[1])
        small = self.g.sub_temp(labels)
        slice_ = f"{small}[{','.join(labels)}]"
        part = f"{big[0]}[{','.join(labels)}]"
        inner = [f"{slice_} = {part}"]
        name = self.r.choice(["w0", "w1"])
        if name not in env.scalars:
            body.append(f"{name} = 0.0")
            env.scalars.add(name)
        factor = self.factor(env)
        if self.g.chance(60):
            inner.append(f"{slice_} {self.r.choice(['*=', '+=', '-='])} {self.literal() if name in factor else factor}")
        inner.append(f"{name} += {slice_} * {slice_}")
        if self.g.arrays[big[0]][0] == "temp" and self.g.chance(70):
            inner.append(f"{part} = {slice_}")
        wheres = [f"where {index} != {self.r.randint(1, 3)}"] if self.g.chance(15) else []
        body.append(Node(f"do {sub} in {index}", inner, f"enddo {sub} in {index}", wheres=wheres))

    def region(self, body, env):
        if not self.g.regions:
            return
        array = self.r.choice(self.g.regions)
        labels = self.labels_for(env, self.g.arrays[array][1])
        if labels:
            ref = (self.g.temp_for(labels), labels)
            self.assign(body, env, ref, f"{array}[{','.join(f'{x}:{x}' for x in labels)}]")
        elif env.mode == "all" and not env.bound:
            bounds = []
            for kind in self.g.arrays[array][1]:
                limit = len(self.g.segments[kind]) if kind in self.g.segments else 1
                lo = self.r.randint(1, limit)
                bounds.append(f"{lo}:{self.r.randint(lo, limit)}")
            body.append(f"{array}[{','.join(bounds)}] = {self.literal()}")

    def special(self, body, env):
        b = self.source(body, env)
        if b:
            name = self.r.choice(["w0", "w1"])
            body.append(f"execute check_dconf {text(b)} {name}")
            env.scalars.add(name)

    def private_local(self, body, env):
        """A local that lives within the iteration."""
        kinds = self.g.arrays[self.g.private][1]
        bound = [x for x in env.bound if self.g.kind_of.get(x) == kinds[0]]
        free = [x for x in {AO: ["k", "l", "j"], MO: ["c", "b"]}[kinds[1]] if x not in env.bound]
        if not bound or not free or env.depth:
            return
        row, column = self.r.choice(bound), self.r.choice(free)
        block = f"{self.g.private}[{row},{column}]"
        name = self.r.choice(["w0", "w1"])
        loop = [f"{block} += (scalar)({column} + {row})", f"{name} += {block} * {block}"]
        body += [f"allocate {self.g.private}[{row},*]", f"{name} = 0.0", Node(f"do {column}", loop, f"enddo {column}"),
                 f"deallocate {self.g.private}[{row},*]"]
        env.scalars.add(name)

    def reallocate(self, body, env):
        if env.depth or env.bound or not self.g.chance(30):
            return
        array = self.r.choice(self.g.locals)
        stars = ",".join("*" * len(self.g.arrays[array][1]))
        body += [f"deallocate {array}{self.r.choice(['', f'[{stars}]'])}", f"allocate {array}[{stars}]"]

    # ---- scalars and control
    def scalar(self, env, body):
        a = self.source(body, env) if env.bound else None
        if a and self.g.chance(70):
            return f"{text(a)} * {text(a)}"
        return self.factor(env)

    def scalar_statement(self, body, env):
        if env.mode == "all" and self.g.chance(50):
            name = self.r.choice(["x0", "x1", "x2"])
            body.append(f"{name} {self.r.choice(['=', '=', '+=', '-='])} {self.factor(env)}")
            return
        name = self.r.choice(["w0", "w1"])
        op = self.r.choice(["=", "+=", "-="]) if name in env.scalars else "="
        body.append(f"{name} {op} {self.scalar(env, body)}")
        env.scalars.add(name)

    def int_statement(self, body, env):
        operands = ["n0", "n1", "n2", "2", "norb", *env.bound]
        a, b = self.r.choice(operands), self.r.choice(operands)
        forms = [f"{a} + {b}", f"{a} - {b}", f"({a} + 1) / 2", "(int)(x0 * 0.5)", f"-{self.r.choice(['n0', 'n1'])}"]
        body.append(f"{self.r.choice(['n0', 'n1', 'n2'])} = {self.r.choice(forms)}")

    def relation(self, env):
        op = self.r.choice(["<", "<=", ">", ">=", "==", "!="])
        if env.bound and self.g.chance(75):
            return f"{self.r.choice(env.bound)} {op} {self.r.choice([*env.bound, '1', '2', 'n0'])}"
        if env.scalars & {"w0", "w1"} and self.g.chance(50):
            return f"{self.r.choice(sorted(env.scalars & {'w0', 'w1'}))} {op} {self.r.choice(['0.0', '5.0', 'x0'])}"
        return f"n0 {op} n1"

    def where(self, env):
        op = self.r.choice(["<", "<=", ">", ">=", "==", "!="])
        index = self.r.choice(env.bound)
        others = [*env.bound, "1", "2", "n1", f"{self.r.choice(env.bound)} + 1"]
        ao = [x for x in env.bound if self.g.kind_of.get(x) == AO]
        if ao:
            others.append(f"(int){self.g.table}[(index){self.r.choice(ao)}]")
        left = f"(index){index}" if self.g.chance(15) else index
        return f"where {left} {op} {self.r.choice(others)}"

    def loop(self, body, env):
        if env.depth >= 3 or len(env.bound) >= 5:
            return
        pool = ["pi", "pa"] if env.procedure else ["i", "j", "k", "l", "a", "b", "c", "s", "t", "late", "none"]
        free = [x for x in pool if x not in env.bound and x not in env.others]
        if not free:
            return
        index = self.r.choice(free)
        inner = env.inner(index)
        statements: Body = []
        self.fill(statements, inner, self.r.randint(1, 4))
        if self.g.chance(15):
            statements.append(Node(f"if {self.relation(inner)}", ["exit"], "endif"))
            if self.g.chance(50):
                self.fill(statements, inner, 1)
        wheres = []
        if self.g.chance(25):
            wheres.append(self.where(inner))
        if self.g.chance(10):
            wheres.append(self.where(inner))
        body.append(Node(f"do {index}", statements, f"enddo {index}", wheres=wheres))

    def branch(self, body, env):
        if env.depth >= 4:
            return
        yes, no = env.inner(), env.inner()
        then: Body = []
        orelse: Body = []
        self.fill(then, yes, self.r.randint(1, 3))
        has_else = self.g.chance(40)
        if has_else:
            self.fill(orelse, no, self.r.randint(1, 2))
        body.append(Node(f"if {self.relation(env)}", then, "endif", orelse if has_else else None))

    def call(self, body, env):
        fitting = [p for p in self.g.procedures if set(p[1]) <= set(env.bound)]
        if fitting:
            body.append(f"call {self.r.choice(fitting)[0]}")
            body.append(f"{self.r.choice(['w0', 'w1'])} = px")
            env.scalars.add(body[-1].split()[0])

    # ---- puts
    def put(self, body, env):
        array, use, labels = env.target
        missing = [x for x in labels if x not in env.bound]
        inner = env.inner()
        inner.bound = env.bound + missing
        statements: Body = []
        ref = (array, tuple(labels))
        put = self.g.statement(array, "put")
        if self.g.chance(60):
            source = (self.g.temp_for(labels), tuple(labels))
            statements += [f"w1 = (scalar)({self.g.weight(labels)})", f"execute fill_block_cyclic {text(source)} w1"]
            inner.blocks.add(source)
            inner.scalars.add("w1")
        self.fill(statements, inner, self.r.randint(0, 2))
        sources = [b for b in sorted(inner.blocks) if b[1] == tuple(labels) and b[0] != array]
        value = text(self.r.choice(sources)) if sources else self.factor(inner)
        if use == "add":
            statements.append(f"{put} {text(ref)} += {value}")
            if self.g.chance(30):
                statements.append(f"{put} {text(ref)} += {self.literal()}")
        else:
            statements.append(f"{put} {text(ref)} {self.r.choice(['=', '=', '+='])} {value}" if sources else
                              f"{put} {text(ref)} {self.r.choice(['=', '+=', '*='])} {value}")
            if self.g.chance(30):  # a block that only this worker touches may be read back
                target = self.g.temp_for(labels)
                get = self.g.statement(array, "get")
                statements += [f"{get} {text(ref)}", f"{target}[{','.join(labels)}] = {text(ref)}"]
        for label in missing:
            statements = [Node(f"do {label}", statements, f"enddo {label}")]
        body += statements
