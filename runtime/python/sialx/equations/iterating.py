"""The program that solves equations for their amplitudes: iterations(). Around the statements of a plan it has the update by energy denominators,
DIIS, and the decision when the amplitudes are converged."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Dict, FrozenSet, List, Mapping, Optional, Sequence, Tuple, Union

from .canonical import canonical_term, merged
from .declared import undeclared
from .forms import has_symmetries, with_tensors
from .memory import solver_arrays
from .model import AMPLITUDE, RESULT, Equation, Equations, Factor, Index, Tensor, Term
from .planning import MOST_RANK, plan_products
from .sial import Left, Program, Writer
from .statements import Plan
from .symmetry import slot_symmetry

HISTORY, HISTORY_OF_LARGE = 8, 5  # changes that DIIS remembers; where an amplitude has as many indices as arrays may have


def residuals(equations: Equations, amplitudes: Sequence[str] = ()) -> Dict[str, str]:
    """The result that is zero for each converged amplitude: the one with the same spaces. amplitudes: those to solve for; all where none is named."""
    known = {t.name: t for t in equations.of_role(AMPLITUDE)}
    for name in amplitudes:
        if name not in known:
            raise ValueError(f"`{name}` is no amplitude of the equations; there are: {', '.join(known) or 'none'}")
    out: Dict[str, str] = {}
    for name in amplitudes or known:
        fitting = [t.name for t in equations.of_role(RESULT) if t.spaces == known[name].spaces and t.name not in out.values()]
        if len(fitting) != 1:
            raise ValueError(f"amplitude `{name}` needs one result with its spaces, {', '.join(known[name].spaces)}; there are: {', '.join(fitting) or 'none'}")
        out[name] = fitting[0]
        mine = [e for e in equations.equations if e.target.tensor.name == fitting[0]]
        if mine and not any(e.terms for e in mine):
            raise ValueError(f"{_place(mine[0])}`{mine[0].target} = 0` says nothing about `{name}`: the equation of a residual has its terms, and the method makes it 0")
    return out


def with_symmetries(equations: Equations, pairs: Mapping[str, str], fock: str) -> Equations:
    """The same equations, whose residuals have the symmetries of their amplitudes, declared or not. ValueError where an equation lacks one: the unknowns
    would be more than the equations can tell; and where the sign of a residual is the wrong one. fock: the name of the Fock matrix."""
    made = {}
    for amplitude, residual in pairs.items():
        tensor, wanted = equations.tensor(residual), equations.tensor(amplitude).symmetries
        for e in equations.equations:
            if e.target.tensor.name == residual and not has_symmetries(e.terms, e.target, wanted, equations.spaces):
                hint = undeclared(e.terms) or "is a permutation operator missing, as P(a b) or P(i j)?"
                raise ValueError(f"{_place(e)}the equation of `{e.target}` changes when indices of it are exchanged as the symmetry of `{amplitude}` says: {hint}")
            if e.target.tensor.name == residual and not e.adds:
                _check_sign(e, equations.tensor(amplitude), fock, equations)
        made[tensor] = replace(tensor, symmetries=wanted)
    return with_tensors(equations, made)


def history_of(plan: Plan, amplitudes: Sequence[str]) -> int:
    """How many changes DIIS remembers."""
    return HISTORY_OF_LARGE if any(t.rank >= MOST_RANK for t in plan.tensors if t.name in amplitudes) else HISTORY


def _place(equation: Equation) -> str:
    return f"{equation.place.file}:{equation.place.line}: " if equation.place else ""


def _check_sign(equation: Equation, amplitude: Tensor, fock: str, equations: Equations) -> None:
    """A residual has the product of the virtual part of the Fock matrix with its amplitude, as + f[a,c] t2[c,b,i,j], or from the left, + f[c,a] l2[i,j,c,b]:
    iterations with the opposite sign go the wrong way."""
    target = equation.target
    at = _virtual_half(amplitude)
    virtual = target.indices[at]
    summed = Index(f"{virtual.letter}0", virtual.space)
    whole = merged(equation.terms, target, equations.spaces)
    for both in ((virtual, summed), (summed, virtual)):
        moved = (*target.indices[:at], summed, *target.indices[at + 1 :])
        product = Term(Fraction(1), (Factor(equations.tensor(fock), both), Factor(amplitude, moved)))
        form = canonical_term(product, target, equations.spaces)
        found = whole.get(form.key) if form is not None else None
        if form is None or found is None or found.coefficient * form.term.coefficient > 0:
            continue
        raise ValueError(f"{_place(equation)}the residual `{target}` has the opposite sign: it has -f[{both[0]},{both[1]}] {product.factors[1]}, and residuals are as `r1[a,i] = f[a,i] + f[a,b] t1[b,i] ...`")


def _virtual_half(amplitude: Tensor) -> int:
    """The slot where the virtual indices of an amplitude begin: those of t2[a,b,i,j] come first, those of l2[i,j,a,b] in the second half."""
    half = amplitude.rank // 2
    return half if amplitude.spaces[0].startswith("o") and amplitude.spaces[half].startswith("v") else 0


def iterations(equations: Equations | Plan, amplitudes: Sequence[str] = (), energy: Optional[str] = "energy", name: str = "method", extents: Optional[Mapping[str, float]] = None,
               fock: Union[str, Sequence[str], None] = None, left: Optional[Mapping[str, Left]] = None, bounds: Optional[Mapping[str, Tuple[str, str]]] = None,
               kinds: Optional[Mapping[str, str]] = None) -> Program:
    """A program that makes all results zero that belong to the amplitudes, starting from amplitudes of zero.

    It takes the given tensors, and for each amplitude NAME the distributed array `NAME_denominators`: what each residual is divided by. Predefined
    values: cc_conv, the change of the energy that is small enough (the norm of the residuals has to fall below 100 times that), cc_iter,
    the most iterations. It leaves the amplitudes under their names, the energy as NAME_correlation_energy, and the scalars `residual` and `cycles`. DIIS as P. Pulay, Chem. Phys. Lett. 73,
    393 (1980), G. E. Scuseria, T. J. Lee, H. F. Schaefer, Chem. Phys. Lett. 130, 236 (1986); where an amplitude has 8 indices over fewer changes, of antisymmetrised residuals.

    energy: None where the equations have none: the residual alone says when they are solved, and the energy that is left is 0.

    left: given tensors that earlier programs of the job left. fock: the static ones of them whose diagonals make the denominators, one, or that of alpha and that
    of beta orbitals; no arrays of denominators are given then. bounds: predefined ints with the segments of each space, as (first, last). kinds: of segments
    by space, `moa` or, for beta orbitals, `mob`."""
    planned = equations if isinstance(equations, Plan) else plan_products(equations, extents)
    pairs = residuals(planned.equations, amplitudes)
    tensors = {t.name: t for t in planned.equations.tensors}
    if energy is not None and (energy not in tensors or tensors[energy].rank or tensors[energy].role != RESULT):
        scalars = ", ".join(f"`{t.name}`" for t in planned.equations.of_role(RESULT) if not t.rank) or "none"
        raise ValueError(f"the equations have no scalar result `{energy}`, which would be the correlation energy; there are: {scalars}")
    return _Iterations(planned, pairs, energy, name, (fock,) if isinstance(fock, str) else fock or (), left, bounds, kinds).program()


_VALUES = ("cc_conv", "cc_iter")  # names that the job gives, which tensors do not take


class _Iterations(Writer):
    reserved = frozenset(_VALUES)

    def __init__(self, planned: Plan, pairs: Mapping[str, str], energy: Optional[str], name: str, fock: Sequence[str], left: Optional[Mapping[str, Left]],
                 bounds: Optional[Mapping[str, Tuple[str, str]]], kinds: Optional[Mapping[str, str]]) -> None:
        super().__init__(planned, name, left, bounds, kinds)
        self.fock = tuple(fock)
        self.denominator = "energy_denominator_rhf" if len(self.fock) == 1 else "energy_denominator_uhf"
        self.label = f"{self.name}_correlation_energy"
        self.pairs = pairs
        self.solved = frozenset(pairs)  # amplitudes that the program makes
        by_name = {t.name: t for t in planned.tensors}
        self.amplitudes = [by_name[a] for a in pairs]
        self.large = any(t.rank >= MOST_RANK for t in self.amplitudes)
        self.history = history_of(planned, list(pairs))
        new = self.names.new
        self.stated = energy is not None
        self.energy = self.arrays[energy] if energy is not None else new("energy")
        self.conv, self.most = _VALUES
        self.cycle, self.m, self.n = new("round"), new("m"), new("n")
        self.scalars = {s: new(s) for s in ("residual", "cycles", "previous", "change", "scale", "factor", "here", "slot", "remembered", "converged")}
        self.products, self.weights = new("products"), new("weights")
        self.denominators = {t.name: new(f"{self.arrays[t.name]}_denominators") for t in self.amplitudes}
        self.changes = {t.name: new(f"{self.arrays[t.name]}_changes") for t in self.amplitudes}
        self.vectors = {t.name: new(f"{self.arrays[t.name]}_vectors") for t in self.amplitudes}
        self.projections = {t.name: new(f"{self.arrays[t.name]}_projected") for t in self.amplitudes}
        self.prepare, self.evaluate = new("prepare"), new("evaluate")

    def program(self) -> Program:
        made = super().program()
        main = self.main()
        division = f"{self.denominator} u{'r' * len(self.fock)}" if self.fock else "invert_diagonal ur"
        specials = [f"special {what}" for what in (division, "print_iteration rrrr", "compute_diis u")]
        head = [self.head[0], *specials, *self.head[1:], *self.own_declarations(), ""]
        before = [f"proc {self.prepare}", *self.body[: self.prepared], "sip_barrier", *self.unread, f"endproc {self.prepare}", ""] if self.prepared else []
        between = [f"proc {self.evaluate}"]
        text = "\n".join([*head, *before, *between, *self.body[self.prepared :], f"endproc {self.evaluate}", *main, f"endsial {self.name}", ""])
        offset, line = len(head) - len(self.head), len(self.head) + self.prepared
        lines = {n + offset + (1 if n <= line else len(before) + len(between) - self.prepared): places for n, places in made.lines.items()}
        arrays = {tensor: array for tensor, array in made.arrays.items() if tensor not in self.solved}
        results = {**{t.name: self.arrays[t.name] for t in self.amplitudes}, **made.results}
        labels = {"energy": self.label, "cycles": self.scalars["cycles"], "residual": self.scalars["residual"]}
        return replace(made, text=text, arrays=arrays, results=results, labels=labels, lines=lines)

    def constants(self) -> FrozenSet[str]:
        return self.plan.constants() - self.plan.again

    def more(self) -> Dict[str, float]:
        return solver_arrays(self.plan, [t.name for t in self.amplitudes], self.history, not self.fock)

    def own_declarations(self) -> List[str]:
        s = self.scalars
        out = [f"predefined scalar {self.conv}", f"predefined int {self.most}", f"index {self.cycle} = 1:{self.most}"]
        out += [] if self.stated else [f"scalar {self.energy}"]
        out += [f"scalar {name}" for key, name in s.items() if key not in ("slot", "remembered")]
        out += [f"int {s['slot']} = 1", f"int {s['remembered']} = 1"]
        out += [f"index {i} = 1:{self.history}" for i in (self.m, self.n)]
        out += [f"static {array}[{self.m},{self.n}]" for array in (self.products, self.weights)]
        for t in self.amplitudes:
            slots = ",".join(self.slots[space] for space in t.spaces)
            if not self.fock:
                out.append(f"predefined distributed {self.denominators[t.name]}[{slots}]")
            for array in (self.changes[t.name], self.vectors[t.name]):
                out += [f"distributed {name}[{slots}]" for name in self.parts(array)] if self.whole(t) else [f"distributed {array}[{slots},{self.m}]"]
            if self.large and any(len(members) > 1 for members, _ in slot_symmetry(t.symmetries, t.rank).sets):
                out.append(f"distributed {self.projections[t.name]}[{slots}]")
            target = self.target(t)
            for use in ("old", "new"):
                self.temp(use, target.indices)
            if self.fock:
                self.temp("pairs", self.paired(target))
        out += [f"temp {name}[{','.join(indices)}]" for (use, indices), name in self.temps.items() if use in ("old", "new", "pairs")]
        return out

    def target(self, tensor: Tensor) -> Factor:
        """The tensor with the first letters of its spaces."""
        return Factor(tensor, self.equations.first_indices(tensor.spaces))

    def paired(self, target: Factor) -> List[Index]:
        """Each virtual index before the occupied one that goes with it."""
        half = target.tensor.rank // 2
        halves = target.indices[:half], target.indices[half:]
        return [i for pair in zip(*(halves if _virtual_half(target.tensor) == 0 else halves[::-1])) for i in pair]

    def division(self, tensor: Tensor, block: str, indices: str, pad: str) -> List[str]:
        """Divides a block by its energy denominators."""
        if not self.fock:
            denominators = f"{self.denominators[tensor.name]}[{indices}]"
            return [f"{pad}get {denominators}", f"{pad}execute invert_diagonal {block} {denominators}"]
        pairs, fock = self.temp("pairs", self.paired(self.target(tensor))), " ".join(self.arrays[f] for f in self.fock)
        return [f"{pad}{pairs} = {block}", f"{pad}execute {self.denominator} {pairs} {fock}", f"{pad}{block} = {pairs}"]

    def shapes(self) -> List[Tuple[Tensor, str, str]]:
        """Of each amplitude: its loop indices, and its indices as a block has them."""
        out = []
        for t in self.amplitudes:
            names = [self.index(i) for i in self.target(t).indices]
            out.append((t, ", ".join(names), ",".join(names)))
        return out

    def main(self) -> List[str]:
        s, out = self.scalars, [""]
        for space, (low, high) in self.bounds.items():
            if low.isdigit():
                continue
            advice = "take a larger basis, or more electrons" if space in self.kinds else "take a larger basis"
            out += [f"if {low} > {high}", f'  println "there are no orbitals in the space {space}: {advice}"', "  stop", "endif"]
        out += [*self.restored(), *([f"call {self.prepare}"] if self.prepared else [])]
        for t, inside, block in self.shapes():
            out += ["", f"pardo {inside}", f"  put {self.arrays[t.name]}[{block}] = 0.0", f"endpardo {inside}"]
        out += ["sip_barrier", f"{s['converged']} = 0.0", f"{self.energy} = 0.0"]
        out += ["", f"do {self.cycle}", f"  {s['cycles']} = (scalar){self.cycle}", f"  {s['previous']} = {self.energy}", f"  call {self.evaluate}"]
        out += [f"  {s['residual']} = 0.0"]
        for t, inside, block in self.shapes():
            residual, new = self.arrays[self.pairs[t.name]], self.temp("new", self.target(t).indices)
            out += [f"  {s['here']} = 0.0", f"  pardo {inside}", f"    get {residual}[{block}]", f"    {new} = {residual}[{block}]"]
            out += [f"    {s['factor']} = {new}*{new}", f"    {s['here']} += {s['factor']}", f"  endpardo {inside}"]
            out += [f"  collective {s['residual']} += {s['here']}"]
        out += [f"  {s['residual']} = sqrt {s['residual']}", f"  {s['change']} = {self.energy} - {s['previous']}"]
        out += [f"  execute print_iteration {s['cycles']} {self.energy} {s['change']} {s['residual']}"]
        out += [f"  if {s['change']} < 0.0", f"    {s['change']} = -{s['change']}", "  endif"]
        out += [f"  if {s['change']} < {self.conv}", f"    if {s['residual']} < 100.0*{self.conv}", f"      {s['converged']} = 1.0", "    endif", "  endif"]
        out += [f"  if {s['converged']} == 1.0", "    exit", "  endif", *self.extrapolated(), f"enddo {self.cycle}"]
        out += [f"if {s['converged']} == 0.0", '  println "the amplitudes did not converge: allow more iterations (cc_iter; in Python cycles=), or look at the orbitals"', "  stop", "endif"]
        out += [f'set_persistent {self.arrays[t.name]} "{self.arrays[t.name]}"' for t in self.amplitudes]
        return [*out, f'set_persistent {self.energy} "{self.label}"']

    # What DIIS remembers: arrays with an index more, or several where they may have no more indices.

    def whole(self, tensor: Tensor) -> bool:
        return tensor.rank >= MOST_RANK

    def parts(self, array: str) -> List[str]:
        return [f"{array}_{k}" for k in range(1, self.history + 1)]

    def remember(self, tensor: Tensor, block: str, kept: Sequence[Tuple[str, str]], pad: str) -> List[str]:
        """Puts blocks, each by the array that takes it, where the latest change goes."""
        m, slot = self.m, self.scalars["slot"]
        if not self.whole(tensor):
            return [f"{pad}do {m}", f"{pad}  where {m} == {slot}", *(f"{pad}  put {array}[{block},{m}] = {temp}" for array, temp in kept), f"{pad}enddo {m}"]
        out = []
        for k in range(self.history):
            puts = [f"{pad}  put {self.parts(array)[k]}[{block}] = {temp}" for array, temp in kept]
            out += [f"{pad}if {slot} == {k + 1}", *puts, f"{pad}endif"]
        return out

    def recalled(self, tensor: Tensor, array: str, block: str, index: str, temp: str, pad: str) -> List[str]:
        """Brings what was remembered under an index to a temp."""
        if not self.whole(tensor):
            return [f"{pad}get {array}[{block},{index}]", f"{pad}{temp} = {array}[{block},{index}]"]
        out = [f"{pad}{temp} = 0.0"]
        for k, part in enumerate(self.parts(array), 1):
            out += [f"{pad}if {index} == {k}", f"{pad}  get {part}[{block}]", f"{pad}  {temp} = {part}[{block}]", f"{pad}endif"]
        return out

    def projected(self, tensor: Tensor) -> Tuple[List[str], str]:
        """Brings the residual to the amplitude's symmetry, and names the array where it is then.

        Equations without that symmetry in their unknowns may let errors of rounding grow that break it. The projection on k exchangeable slots is that
        on the first k - 1, then (1 + sign times the exchanges of the k-th with each before)/k."""
        out: List[str] = []
        arrays = [self.arrays[self.pairs[tensor.name]], self.projections[tensor.name]]
        target = self.target(tensor)
        inside = ", ".join(self.index(i) for i in target.indices)
        old, new = (self.temp(use, target.indices) for use in ("old", "new"))
        for members, sign in slot_symmetry(tensor.symmetries, tensor.rank).sets:
            for k in range(1, len(members)):
                here, there = arrays
                block = self.block(here, target.indices)
                out += [f"  pardo {inside}", f"    get {block}", f"    {new} = {block}"]
                for j in range(k):
                    slots = list(target.indices)
                    x, y = members[j], members[k]
                    slots[x], slots[y] = slots[y], slots[x]
                    image = self.block(here, slots)
                    out += [f"    get {image}", f"    {old} = {image}", f"    {new} {'+' if sign > 0 else '-'}= {old}"]
                out += [f"    {new} *= 1.0/{k + 1}.0", f"    put {self.block(there, target.indices)} = {new}", f"  endpardo {inside}", "  sip_barrier"]
                arrays.reverse()
        return out, arrays[0]

    def extrapolated(self) -> List[str]:
        s, out, m, n = self.scalars, [], self.m, self.n
        for t, inside, block in self.shapes():
            array, residual = self.arrays[t.name], self.arrays[self.pairs[t.name]]
            if self.large:
                passes, residual = self.projected(t)
                out += passes
            old, new = (self.temp(use, self.target(t).indices) for use in ("old", "new"))
            out += [f"  pardo {inside}", f"    get {residual}[{block}]", f"    get {array}[{block}]"]
            out += [f"    {new} = {residual}[{block}]", *self.division(t, new, block, "    "), f"    {old} = {array}[{block}]"]
            out += [f"    {old} += {new}", *self.remember(t, block, ((self.changes[t.name], new), (self.vectors[t.name], old)), "    "), f"  endpardo {inside}"]
        out += ["  sip_barrier", f"  do {m}", f"    where {m} == {s['slot']}", f"    do {n}", f"      where {n} <= {s['remembered']}", f"      {s['scale']} = 0.0"]
        for t, inside, block in self.shapes():
            changes, old, new = self.changes[t.name], self.temp("old", self.target(t).indices), self.temp("new", self.target(t).indices)
            out += [f"      {s['here']} = 0.0", f"      pardo {inside}", *self.recalled(t, changes, block, m, new, "        ")]
            out += [*self.recalled(t, changes, block, n, old, "        "), f"        {s['factor']} = {new}*{old}", f"        {s['here']} += {s['factor']}"]
            out += [f"      endpardo {inside}", f"      collective {s['scale']} += {s['here']}"]
        out += [f"      {self.products}[{m},{n}] = {s['scale']}", f"      {self.products}[{n},{m}] = {s['scale']}", f"    enddo {n}"]
        out += [f"    {s['scale']} = {self.products}[{m},{m}]          # near convergence the products are tiny", f"  enddo {m}"]
        out += [f"  do {m}", f"    do {n}", f"      {self.weights}[{m},{n}] = 0.0", f"      if {s['scale']} > 0.0", f"        if {m} <= {s['remembered']}"]
        out += [f"          if {n} <= {s['remembered']}", f"            {s['factor']} = {self.products}[{m},{n}]"]
        out += [f"            {self.weights}[{m},{n}] = {s['factor']}/{s['scale']}", "          endif", "        endif", "      endif", f"    enddo {n}"]
        out += [f"    if {s['scale']} == 0.0", f"      if {m} == {s['slot']}", f"        {self.weights}[{m},{m}] = 1.0", "      endif", "    endif", f"  enddo {m}"]
        out += [f"  if {s['scale']} > 0.0", f"    execute compute_diis {self.weights}", "  endif"]
        for t, inside, block in self.shapes():
            vectors, old, new = self.vectors[t.name], self.temp("old", self.target(t).indices), self.temp("new", self.target(t).indices)
            out += [f"  pardo {inside}", f"    {new} = 0.0", f"    do {n}", f"      where {n} <= {s['remembered']}", *self.recalled(t, vectors, block, n, old, "      ")]
            out += [f"      {s['factor']} = {self.weights}[{n},{n}]", f"      {new} += {s['factor']}*{old}", f"    enddo {n}"]
            out += [f"    put {self.arrays[t.name]}[{block}] = {new}", f"  endpardo {inside}"]
        out += [f"  {s['slot']} += 1", f"  if {s['slot']} > {self.history}", f"    {s['slot']} = 1", "  endif"]
        out += [f"  if {s['remembered']} < {self.history}", f"    {s['remembered']} += 1", "  endif", "  sip_barrier"]
        return out
