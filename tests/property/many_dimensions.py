"""A stretch on arrays of five to eight dimensions with few, small blocks: permutations, contractions and outer products, parts of statics and
regions, distributed and served arrays that are put, added to and got, loops over all indices. Begins and ends at a barrier and adds what
it computed to `sum` or `x2`. Arrays and indices are its own. Draws from a generator of its own, so that the rest of a seed's program
does not depend on it.
"""
import random

from program import Body, Node

MOST_ELEMENTS, MOST_BLOCKS = 96, 24  # of an array's largest block; of blocks


class ManyDimensions:
    def __init__(self, generator):
        self.g = generator
        self.r = random.Random(generator.seed * 6151 + 5)
        self.bounds: dict[str, str] = {}  # of each index
        ao, mo = generator.segments["ao"], generator.segments["moa"]
        self.ranges = [("aoindex", 1, min(2, len(ao)), max(ao[:2])), ("aoindex", len(ao), len(ao), ao[-1]), ("moaindex", 1, 1, mo[0]),
                       ("moaindex", 1, len(mo), max(mo)), ("index", 1, 2, 1), ("index", 0, 0, 1), ("index", -1, 1, 1)]
        self.labels = self.choose()

    def chance(self, percent):
        return self.r.randrange(100) < percent

    # ---- indices and arrays
    def choose(self):
        """Indices for all loops of the stretch: as many as the largest array has, and one to sum over."""
        labels: list[str] = []
        elements = blocks = 1
        wanted = self.r.choice([6, 7, 7, 8, 8, 8])
        while len(labels) < wanted + 1:
            kind, lo, hi, extent = self.r.choice(self.ranges)
            if elements * extent > MOST_ELEMENTS or blocks * (hi - lo + 1) > MOST_BLOCKS:
                kind, lo, hi, extent = "index", 0, 0, 1
            label = f"z{len(labels)}"
            self.g.declared.append(f"{kind} {label} = {lo}:{hi}")
            self.bounds[label] = f"{lo}:{hi}"
            elements, blocks = elements * extent, blocks * (hi - lo + 1)
            labels.append(label)
        self.r.shuffle(labels)
        return labels

    def array(self, kind, labels, prefix, contiguous=""):
        name = f"{prefix}{len(self.g.arrays)}"
        self.g.arrays[name] = (kind, ("many",) * len(labels))
        self.g.declared.append(f"{contiguous}{kind} {name}[{','.join(labels)}]")
        return f"{name}[{','.join(labels)}]"

    def shuffled(self, labels):
        return self.r.sample(labels, len(labels))

    def temp(self, labels):
        return self.array("temp", labels, "wide")

    def weight(self, labels):
        return " + ".join(f"{factor} * {label}" for factor, label in zip([1, 2, 3, 1, 2, 3, 1, 2], labels))

    def made(self, block, labels):
        """A block of values that tell it and its elements apart."""
        return [f"w0 = (scalar)({self.weight(labels)})", f"execute fill_block_{self.r.choice(['sequential', 'cyclic'])} {block} w0"]

    def look(self, block, labels):
        """What depends on where elements are."""
        pattern = self.temp(labels)
        return [f"w0 = {self.r.choice(['1.0', '2.0'])}", f"execute fill_block_sequential {pattern} w0", f"acc += {block} * {pattern}"]

    # ---- loops
    def loops(self, labels, body: Body) -> Body:
        """All combinations of the labels: serial loops, or a pardo over some or all and loops inside."""
        labels = self.shuffled(labels)
        if self.chance(25):
            return ["acc = 0.0", *self.nest(labels, body), "x2 += acc"]
        most = min(len(labels), 8)
        outer = labels[:most if self.chance(50) else self.r.randint(1, most)]
        inside = self.nest(labels[len(outer):], body)
        return ["acc = 0.0", Node(f"pardo {', '.join(outer)}", inside, f"endpardo {', '.join(outer)}"), "collective sum += acc"]

    def nest(self, labels, body: Body) -> Body:
        for label in labels:
            body = [Node(f"do {label}", body, f"enddo {label}")]
        return body

    # ---- pieces
    def stretch(self):
        result: Body = [self.barrier()]
        for pick in self.r.sample([self.permuted, self.contracted, self.contracted, self.outer, self.remote, self.remote, self.whole, self.chain], 2):
            result += pick()
        return [*result, self.barrier()]

    def barrier(self):
        return self.r.choice(["sip_barrier", "server_barrier"])

    def permuted(self):
        labels = self.labels[:-1]
        a, b, c = self.temp(labels), self.temp(self.shuffled(labels)), self.temp(self.shuffled(labels))
        body = [*self.made(a, labels), f"{b} = {a}", f"{b} *= {self.r.choice(['2.0', '-1.0'])}", f"{c} = {b}", f"{c} {self.r.choice(['+=', '-='])} {a}",
                f"{c} {self.r.choice(['*=', '+=', '-='])} {self.r.choice(['2.0', '-1.0', 'x0'])}", *self.look(c, labels)]
        return self.loops(labels, body)

    def contracted(self):
        """A product whose result, or one of whose operands, has most dimensions."""
        free, summed = self.labels[:-1], self.labels[-1:]
        if self.chance(40):
            free, summed = self.labels[:-3], self.labels[-3:]
        at = self.r.randint(0, len(free))
        left, right = free[:at] + summed, summed + free[at:]
        if max(len(left), len(right)) > 8:
            return self.permuted()
        left, right, target = self.shuffled(left), self.shuffled(right), self.shuffled(free)
        a, b, c = self.temp(left), self.temp(right), self.temp(target)
        body = [*self.made(a, left), *self.made(b, right), f"{c} = {a} * {b}"]
        if self.chance(40):
            body.append(f"{c} {self.r.choice(['+=', '-='])} {b} * {a}")
        return self.loops(self.labels, [*body, *self.look(c, target)])

    def outer(self):
        labels = self.labels[:-1]
        at = self.r.randint(1, len(labels) - 1)
        left, right, target = self.shuffled(labels[:at]), self.shuffled(labels[at:]), self.shuffled(labels)
        a, b, c = self.temp(left), self.temp(right), self.temp(target)
        body = [*self.made(a, left), *self.made(b, right), f"{c} = {a} {self.r.choice('^*')} {b}"]
        return self.loops(labels, [*body, *self.look(c, target)])

    def chain(self):
        """Several steps on one block, which go together."""
        labels = self.labels[:-1]
        a, b, c = self.temp(labels), self.temp(self.shuffled(labels)), self.temp(labels)
        steps = [f"{c} += {b}", f"{c} -= {a}", f"{c} *= 2.0", f"{c} += 1.0", f"{c} = {a} + {c}", f"{c} -= {b}", f"{c} = -1.0 * {c}"]
        body = [*self.made(a, labels), f"{b} = {a}", f"{c} = {b}", *self.r.sample(steps, self.r.randint(2, 5))]
        return self.loops(labels, [*body, *self.look(c, labels)])

    def remote(self):
        labels = self.labels[:-1]
        kind = self.r.choice(["distributed", "served"])
        put, get = ("put", "get") if kind == "distributed" else ("prepare", "request")
        there, order = self.shuffled(labels), self.shuffled(labels)
        g = self.array(kind, there, "far")
        a, b = self.temp(there), self.temp(order)
        first = [*self.made(a, there), f"{put} {g} = {a}"]
        if self.chance(50):
            first += [f"{put} {g} {self.r.choice(['+=', '*='])} 2.0"]
        add = [*self.made(a, there), f"{put} {g} += {a}"]
        second = [f"{get} {g}", f"{b} = {g}", *self.look(b, order)]
        result = [*self.loops_of_pardo(there, first), self.barrier()]
        if self.chance(50):
            result += [*self.loops_of_pardo(there, add), self.barrier()]
        return [*result, *self.loops(labels, second), self.barrier()]

    def loops_of_pardo(self, labels, body: Body) -> Body:
        outer = self.shuffled(labels)
        return [Node(f"pardo {', '.join(outer)}", body, f"endpardo {', '.join(outer)}")]

    def whole(self):
        """Slices of a static, blocks of a local, or regions: all ranks do it."""
        labels = self.labels[:-1]
        kind = self.r.randrange(3)
        order = self.shuffled(labels)
        a, b = self.temp(labels), self.temp(order)
        allocate: Body = []
        if kind == 0:
            block = self.array("static", labels, "flat")
        elif kind == 1:
            block = self.array("local", labels, "near")
            allocate = [f"allocate {block.split('[')[0]}[{','.join('*' * len(labels))}]"]
        else:
            name = self.array("local", labels, "win", "contiguous ").split("[")[0]
            allocate = [f"allocate contiguous {name}[{','.join(self.bounds[x] for x in labels)}]"]
            block = f"{name}[{','.join(f'{x}:{x}' for x in labels)}]"
        write = [*self.made(a, labels), f"{block} = {a}"]
        read = [f"{a} = {block}", f"{b} = {a}", *self.look(b, order)]
        return [*allocate, *self.nest(self.shuffled(labels), write), "acc = 0.0", *self.nest(self.shuffled(labels), read), "x2 += acc"]
