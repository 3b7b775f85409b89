"""Random valid jobs: a program, or two that hand on arrays. Everything a rank computes outside pardo loops is the same on all ranks; inside, an iteration only
writes what belongs to it (temps, its own scalars, blocks that no other iteration touches) or adds to what all add to; remote
arrays change their use only across barriers (language reference 7.5). Data are small integers, so every result is exact and must
not depend on the number of ranks, the schedule or the kernels. With `reals` they are not, and results agree to rounding.
"""
import random

from body import BodyWriter, Env
from control import Control
from hints import strew
from many_dimensions import ManyDimensions
from phases import Phases
from program import Body, Node, Program
from remote_access import RemoteAccess

AO, MO, SIMPLE, TABLE = "ao", "moa", "simple", "table"
INDICES = {AO: ["i", "j", "k", "l"], MO: ["a", "b", "c"], SIMPLE: ["s", "t"]}


class Generator:
    def __init__(self, seed, name, reals=False, before=None):
        """`before`: the generator of the job's program before this one."""
        self.random = random.Random(f"{seed} after {before.name}" if before else seed)
        self.seed, self.name, self.reals, self.before = seed, name, reals, before
        r = self.random
        self.lean = self.chance(65)  # nothing but phases, on few blocks
        long = self.lean and self.chance(12)
        sizes = [1] if long else [1, 1, 2, 3] if self.lean else [1, 1, 2, 3, 4, 5]
        self.segments = before.segments if before else {AO: [r.choice(sizes) for _ in range(6 if long else r.choice([1, 2, 2, 3, 3]))],
                                                        MO: [r.choice([1, 2, 2, 3]) for _ in range(r.choice([1, 2, 2]))]}
        self.kind_of = {index: kind for kind, names in INDICES.items() for index in names}
        self.kind_of.update({"pi": AO, "pa": MO, "late": AO, "none": SIMPLE})
        self.arrays = {}        # name -> (array kind, kinds of dimensions)
        self.dims = {}          # name -> the indices it is declared over
        self.declared = []      # array declarations in order
        self.full = set()       # remote arrays all of whose blocks exist
        self.procedures = []    # (name, indices it needs)
        self.phases = []        # procedures that consist of phases
        self.saved = []         # (array kind, kinds of dimensions, name), left under the label "name"
        self.writer = BodyWriter(self)
        self.phase_generator = Phases(self)

    def chance(self, percent):
        return self.random.randrange(100) < percent

    # ---- declarations
    def declare(self, array_kind, kinds, prefix, modifier=""):
        name = f"{prefix}{len(self.arrays)}"
        canonical = {AO: ["i", "j", "k", "l"], MO: ["a", "b", "c"], SIMPLE: ["s", "t"], TABLE: ["u", "u"]}
        used: dict[str, int] = {}
        dims = []
        for kind in kinds:
            names = canonical[kind]
            dims.append(names[used.get(kind, 0) % len(names)])
            used[kind] = used.get(kind, 0) + 1
        self.arrays[name], self.dims[name] = (array_kind, tuple(kinds)), dims
        self.declared.append(f"{modifier}{array_kind} {name}[{','.join(dims)}]")
        return name

    def of_kind(self, array_kind):
        return [n for n, (k, _) in self.arrays.items() if k == array_kind]

    def temp_for(self, labels):
        kinds = tuple(self.kind_of[x] for x in labels)
        fitting = [n for n, (k, d) in self.arrays.items() if k == "temp" and d == kinds and not n.startswith("sub")]
        if len(fitting) < 2 or (len(fitting) < 3 and self.chance(20)):
            return self.declare("temp", kinds, "t")
        return self.random.choice(fitting)

    def sub_temp(self, labels):
        """A temp over subindex `ii` or `jj` in the first place and the labels' kinds after it."""
        name = f"sub{len(self.arrays)}"
        self.arrays[name] = ("temp", tuple(self.kind_of.get(x, "sub") for x in labels))
        self.declared.append(f"temp {name}[{','.join(labels)}]")
        return name

    def random_kinds(self, low, high):
        kinds = [self.random.choice([AO, AO, MO]) for _ in range(self.random.randint(low, high))]
        if self.chance(25):
            kinds.append(SIMPLE)
        limit = {AO: 4, MO: 3, SIMPLE: 2}
        return [k for n, k in enumerate(kinds) if kinds[:n].count(k) < limit[k]]

    # ---- the program
    def generate(self):
        r = self.random
        self.locals = [self.declare("local", self.random_kinds(1, 3), "lo") for _ in range(0 if self.lean else r.choice([1, 1, 2]))]
        self.statics = [self.declare("static", self.random_kinds(1, 3), "st") for _ in range(0 if self.lean else r.choice([1, 2]))]
        self.table = self.declare("static", [TABLE], "tab")
        self.vector = self.declare("static", [SIMPLE], "vec")
        self.remotes = [self.declare(r.choice(["distributed", "served"]), self.random_kinds(1, 3), "g") for _ in range(0 if self.lean else r.choice([0, 1, 1, 2]))]
        self.squares = [self.declare(r.choice(["distributed", "served"]), [AO, AO], "q") for _ in range(2)]
        self.remotes += self.squares
        self.triangle = self.declare(r.choice(["distributed", "served"]), [AO, AO], "half")
        self.sparse = self.declare(r.choice(["distributed", "served"]), [AO, AO], "few", modifier="sparse ")
        self.square_statics = [self.declare("static", [AO, AO], "sq")]
        self.statics += self.square_statics
        self.mill_temps = [self.declare("temp", [AO, AO], "m") for _ in range(4)]
        self.pattern = self.declare("temp", [AO, AO], "pattern")
        self.mill_local = self.declare("local", [AO, AO], "ml")
        self.regions = [self.declare("local", self.random_kinds(1, 2), "cl", modifier="contiguous ")] if not self.lean else []
        self.private = self.declare("local", [AO, r.choice([AO, MO])], "pl")
        body: Body = ["execute get_my_rank rank"]
        for array in self.locals:
            body.append(f"allocate {array}" if self.chance(30) else f"allocate {array}[{','.join('*' * len(self.arrays[array][1]))}]")
        for array in self.regions:
            body.append(f"allocate contiguous {array}[{self.region_of(array)}]")
        for array in [*self.statics, *self.locals, self.vector]:
            body += self.restored_static(array) or [self.initialise(array)]
        body.append(Node("do i", [f"{self.table}[(index)i] = (scalar)({r.choice(['i', 'norb - i + 1', '(i + 1) / 2', '1'])})"], "enddo i"))
        procedures = [self.procedure(n) for n in range(0 if self.lean else r.choice([0, 1, 1, 2]))]
        for array in self.remotes:
            body += self.restored(array) or self.fill_remote(array)
        body += self.fill_triangle()
        for _ in range(r.randint(1, 4)):
            body += self.phase() if not self.lean and self.chance(60) else self.phase_generator.any()
        if self.seed % 3 != 1:
            body += Control(self).stretch()
        if self.seed % 4 != 2:
            body += RemoteAccess(self).stretch()
        if self.seed % 3 == 2:
            body += ManyDimensions(self).stretch()
        if not self.before and self.chance(15):
            body += self.save()
        body += self.checksums()
        if self.saved and self.chance(50):
            body += self.last_changes()
        program = Program(self.name, self.seed, self.declarations(), procedures + self.phases, body, self.arguments())
        strew(program, self.seed, self.statics + [self.table, self.vector], {*self.of_kind("temp"), *self.of_kind("local")})
        if self.saved:
            program.followers = [Generator(self.seed, self.name + "_next", self.reals, self).generate()]
        return program

    # ---- from program to program
    def save(self):
        items = self.random.sample(self.remotes + self.square_statics, self.random.randint(1, 3))
        self.saved = [(*self.arrays[n], n) for n in items]
        return [f'set_persistent {n} "{n}"' for n in [*items, "x2"]]

    def restored(self, array):
        """A remote array as the program before left it, where that had one like it."""
        fitting = [n for kind, kinds, n in (self.before.saved if self.before else []) if kinds == self.arrays[array][1] and kind != "static"]
        if not fitting or self.chance(20):
            return []
        return [f'restore_persistent {array} "{self.random.choice(fitting)}"', 'restore_persistent x2 "x2"', self.barrier()]

    def last_changes(self):
        """Additions to saved arrays with no barrier behind them: what is saved is the state at the end."""
        arrays = [n for kind, kinds, n in self.saved if kinds == (AO, AO) and kind != "static"]
        adds = [f"{self.statement(a, 'put')} {a}[{self.random.choice(['i,j', 'j,i', 'i,i'])}] += {self.random.choice(['1.0', 'x0', '(scalar)j'])}" for a in arrays]
        outer = self.random.choice(["i", "i, j"])
        return [self.barrier(), Node(f"pardo {outer}", adds if "j" in outer else [Node("do j", adds, "enddo j")], f"endpardo {outer}")] if adds else []

    def restored_static(self, array):
        fitting = [n for kind, kinds, n in (self.before.saved if self.before else []) if (kind, kinds) == self.arrays[array]]
        return [f'restore_persistent {array} "{fitting[0]}"'] if fitting else []

    def fill_triangle(self):
        """Blocks of the half array exist where the first index is not greater than the second. Those of the sparse array too, and others are zero."""
        put = f"{self.statement(self.triangle, 'put')} {self.triangle}[i,j] = (scalar)({self.weight(['i', 'j'])})"
        few = f"{self.statement(self.sparse, 'put')} {self.sparse}[i,j] = (scalar)({self.weight(['j', 'i'])})"
        return [Node("pardo i, j", [put, few], "endpardo i, j", wheres=["where i <= j"]), self.barrier()]

    def arguments(self):
        sets = {"norb": len(self.segments[AO]), "nmo": len(self.segments[MO]), "zero": 0}
        return [w for name, value in sets.items() for w in ("--set", f"{name}={value}")] + [
            w for kind, extents in self.segments.items() for w in ("--segments", f"{kind}={','.join(map(str, extents))}")]

    def declarations(self):
        lines = ["predefined int norb", "predefined int nmo", "predefined int zero"]
        lines += [f"aoindex {n} = 1:norb" for n in [*INDICES[AO], "pi"]] + [f"aoindex late = {len(self.segments[AO])}:norb"]
        lines += [f"moaindex {n} = 1:nmo" for n in [*INDICES[MO], "pa"]]
        lines += [f"index {n} = -1:1" for n in INDICES[SIMPLE]] + ["index u = 1:norb", "index none = 1:zero", "index it = 1:2", "index once = 1:1", "index lone = 1:1", "index alone = 1:1", "index never = 1:zero"]
        lines += ["subindex ii of i", "subindex jj of j"]
        lines += [f"scalar {n}" for n in ["rank", "x0 = 2.0", "x1 = 3.0", "x2", "w0", "w1", "w2", "acc", "sum", "px"]]
        lines += [f"int {n}" for n in ["n0 = 1", "n1 = 2", "n2", "n3", "c1", "c2"]]
        lines += ["special get_my_rank w", "special fill_block_sequential wr", "special fill_block_cyclic wr", "special check_dconf rw",
                  "special swap_blocks uu", "special get_first_block_element rw"]
        return lines + self.declared

    def region_of(self, array):
        return ",".join({AO: "1:norb", MO: "1:nmo", SIMPLE: "-1:1"}[k] for k in self.arrays[array][1])

    def over(self, array):
        """Distinct indices for all dimensions of an array."""
        free = {k: list(v) for k, v in INDICES.items()}
        labels = []
        for kind in self.arrays[array][1]:
            choice = self.random.choice(free[kind])
            free[kind].remove(choice)
            labels.append(choice)
        return labels

    def nest(self, labels, body):
        for label in self.random.sample(labels, len(labels)):
            body = [Node(f"do {label}", body, f"enddo {label}")]
        return body[0]

    def weight(self, labels):
        """An int expression that tells blocks apart."""
        return " + ".join(f"{factor} * {label}" for factor, label in zip([1, 3, 7, 2, 5], labels))

    def initialise(self, array):
        labels = self.over(array)
        block = f"{array}[{','.join(labels)}]"
        fill = [f"w0 = (scalar)({self.weight(labels)})", f"execute fill_block_{self.random.choice(['cyclic', 'sequential'])} {block} w0"]
        return self.nest(labels, fill if self.chance(70) else fill[:1] + [f"{block} = w0 - 2.0"])

    def statement(self, array, verb):
        served = self.arrays[array][0] == "served"
        return {"get": "request", "put": "prepare", "delete": "destroy"}[verb] if served else verb

    def fill_remote(self, array):
        """All blocks of a remote array, in one of several ways; barrier at the end."""
        labels = self.over(array)
        target = f"{array}[{','.join(labels)}]"
        n = self.random.randint(1, len(labels))
        outer, inner = labels[:n], labels[n:]
        self.random.shuffle(outer)
        temp = self.temp_for(labels)
        source = f"{temp}[{','.join(labels)}]"
        how = self.random.randrange(4)
        put = self.statement(array, "put")
        core = [f"w0 = (scalar)({self.weight(labels)})"]
        if how == 0:
            core += [f"{put} {target} = w0"]
        elif how == 1:
            core += [f"execute fill_block_cyclic {source} w0", f"{put} {target} += {source}", f"{put} {target} += 1.0"]
        else:
            core += [f"execute fill_block_sequential {source} w0", f"{put} {target} = {source}"]

        def pardo(wheres):
            inside = [self.nest(inner, core)] if inner else core
            return Node(f"pardo {', '.join(outer)}", inside, f"endpardo {', '.join(outer)}", wheres=wheres)
        result = [f"create {array}"] if put == "put" and self.chance(50) else []
        same = [x for x in outer if self.kind_of[x] == AO]
        if len(same) > 1 and self.chance(40):
            result += [pardo([f"where {same[0]} < {same[1]}"]), pardo([f"where {same[0]} >= {same[1]}"])]
        else:
            result += [pardo([])]
        self.full.add(array)
        return [*result, self.barrier()]

    def barrier(self):
        return self.random.choice(["sip_barrier", "server_barrier"])

    def phase(self):
        """Statements between two barriers: each remote array is read, written or added to."""
        r = self.random
        roles = {array: r.choice(["read", "read", "write", "add"]) for array in self.remotes}
        body = []
        for _ in range(r.randint(1, 3)):
            kind = r.randrange(11)
            if kind == 10:
                body += self.private_changes(roles)
            elif kind < 5:
                body += self.pardo(roles)
            elif kind < 8:
                env = Env([], "all", {a: "read" for a, role in roles.items() if role == "read"})
                self.writer.fill(body, env, r.randint(2, 6))
            elif kind == 8:
                body += self.one_rank(roles)
            else:
                first, second = self.pardo(roles), self.pardo(roles)
                loops = [s for s in first + second if isinstance(s, Node)]
                rest = [s for s in first + second if not isinstance(s, Node)]
                if "acc" not in "".join(rest):
                    body += [Node("section", loops, "endsection")]
        body.append(self.barrier())
        if self.chance(10):
            array = r.choice(self.remotes)
            body += [f"{self.statement(array, 'delete')} {array}", *self.fill_remote(array)]
        return body

    def private_changes(self, roles):
        """An assignment to a remote block changes this worker's copy until the barrier: no other iteration may look at it."""
        idle = [a for a, role in roles.items() if role == "read"]
        if not idle:
            return []
        array = self.random.choice(idle)
        roles[array] = "changed"
        labels = self.over(array)
        block = f"{array}[{','.join(labels)}]"
        get = f"{self.statement(array, 'get')} {block}"
        change = self.random.choice([f"{block} = 2.0", f"{block} *= 3.0", f"{block} += (scalar)({self.weight(labels)})", f"{block} -= {block}"])
        core = [change] if change.endswith(" 2.0") and self.chance(50) else [get, change]
        core.append(f"acc += {block} * {block}")
        if self.chance(30):
            return [self.barrier(), self.nest(labels, ["w0 = 0.0", *[c.replace("acc", "w0") for c in core], "x2 = w0"])]
        return [self.barrier(), "acc = 0.0", Node(f"pardo {', '.join(labels)}", core, f"endpardo {', '.join(labels)}"), "collective sum += acc"]

    def one_rank(self, roles):
        """One worker writes, all receive or read after the barrier."""
        static = self.random.choice(self.statics)
        inner = [self.initialise(static)]
        writable = [a for a, role in roles.items() if role == "write"]
        result = []
        if writable and self.chance(50):
            array = writable[0]
            roles[array] = "idle"
            labels = self.over(array)
            inner.append(self.nest(labels, [f"{self.statement(array, 'put')} {array}[{','.join(labels)}] = (scalar)({self.weight(labels)})"]))
            result.append(self.barrier())
            inner_after = [self.barrier()]
        else:
            inner_after = []
        return [*result, Node("if (int)rank == 0", inner, "endif"), f"broadcast_from 0 {static}", *inner_after]

    def pardo(self, roles):
        r = self.random
        targets = [a for a, role in roles.items() if role in ("write", "add")]
        target = r.choice(targets) if targets and self.chance(75) else None
        if target:
            labels = self.over(target)
            outer = r.sample(labels, r.randint(1, len(labels)))
        else:
            kinds = r.sample([AO, AO, MO, SIMPLE], r.randint(1, 3))
            outer = []
            for kind in kinds:
                outer.append(r.choice([x for x in INDICES[kind] if x not in outer]))
        if roles.get(target) == "write":
            roles[target] = "written"  # one pardo per phase writes it: another would be another worker
        use = {a: role for a, role in roles.items() if role == "read"}
        env = Env(outer, "pardo", use)
        if target:
            env.target = (target, "write" if roles[target] == "written" else "add", labels)
        wheres = []
        if self.chance(40):
            wheres.append(self.writer.where(Env(outer, "pardo", {})))
        if self.chance(5):
            wheres.append(f"where {outer[0]} > 9")
        body: Body = []
        accumulates = self.chance(50)
        self.writer.fill(body, env, r.randint(2, 6))
        if target:
            self.writer.put(body, env)
        if accumulates:
            body.append(f"acc += {self.writer.scalar(env, body)}")
        loop = Node(f"pardo {', '.join(outer)}", body, f"endpardo {', '.join(outer)}", wheres=wheres)
        if not accumulates:
            return [loop]
        return ["acc = 0.0", loop, "collective sum += acc"]

    def procedure(self, number):
        needs = self.random.choice([[], ["i"], ["i", "j"], ["i", "a"]])
        name = f"proc{number}"
        env = Env(needs, "pardo", {}, procedure=True)
        body: Body = ["px = 1.0"]
        env.scalars.add("px")
        self.writer.fill(body, env, self.random.randint(2, 4))
        if self.chance(50):
            inner = [f"if pi {self.random.choice(['==', '>=', '<'])} {self.random.randint(1, 3)}", ]
            body.append(Node("do pi", [Node(inner[0], ["return"], "endif"), "px += (scalar)pi"], "enddo pi"))
        body.append(f"px += {self.writer.scalar(env, body)}")
        self.procedures.append((name, needs))
        return Node(f"proc {name}", body, f"endproc {name}")

    def checksums(self):
        body = ["server_barrier"]
        for array in [*self.remotes, *self.statics, *self.locals, *self.regions, self.vector]:
            labels = self.over(array)
            block = f"{array}[{','.join(labels)}]"
            temp = f"{self.temp_for(labels)}[{','.join(labels)}]"
            other = f"{self.temp_for(labels)}[{','.join(labels)}]"
            lines = [f"w1 = (scalar)({self.weight(labels)})"]
            if array in self.remotes:
                lines.append(f"{self.statement(array, 'get')} {block}")
            if array in self.regions:
                lines.append(f"{other} = {array}[{','.join(f'{x}:{x}' for x in labels)}]")
                block = other
            lines += [f"w0 += {block} * {block}"]
            if temp != block:
                lines += [f"execute fill_block_sequential {temp} w1", f"w2 += {temp} * {block}"]
            body += ["w0 = 0.0", "w2 = 0.0", self.nest(labels, lines), f'print "{array} "', "print w0", 'print " "', "println w2"]
            if array in self.statics and self.chance(50):
                body.append(f"println {array}")
        for name in ["x0", "x1", "x2", "sum", "n0", "n1", "n2"]:
            body.append(f"println {name}")
        return body


def generate(seed, name="p", reals=False):
    return Generator(seed, name, reals).generate()


if __name__ == "__main__":
    import sys
    program = generate(int(sys.argv[1]), reals="--reals" in sys.argv)
    print(*[p.text() for p in [program, *program.followers]], sep="\n", end="")
