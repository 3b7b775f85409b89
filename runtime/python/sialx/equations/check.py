"""Names looked up and rules checked: from statements as written to Equations."""

from __future__ import annotations

from collections import Counter
from typing import Dict, List, Optional, Sequence, Tuple

from .diagnostics import Messages, did_you_mean
from .model import AMPLITUDE, INTERMEDIATE, RESULT, Equation, Equations, Factor, Generator, Index, Permutation, Place, Space, Tensor, Term, exchanges, letter_of
from .parse import DisconnectedLine, EquationLine, FactorText, Named, OperatorText, SpaceLine, TensorLine, TermText
from .symmetry import slot_symmetry


class Checker:
    """Reports everything that is wrong to the messages; what it returns counts only where there are no errors.

    generated: the equations are a program's, which means what it writes: terms that are not connected are declared so, and not odd."""

    def __init__(self, messages: Messages, generated: bool = False) -> None:
        self.messages, self.generated = messages, generated
        self.spaces: Dict[str, Space] = {}
        self.letters: Dict[str, str] = {}
        self.tensors: Dict[str, Tensor] = {}
        self.declared: Dict[str, Place] = {}
        self.defined: Dict[str, Place] = {}
        self.broken: set[str] = set()  # names of which something has been reported: nothing more is said of them
        self.targets: Dict[str, EquationLine] = {}
        self.disconnected: List[str] = []

    def equations(self, declarations: Sequence[object], lines: Sequence[EquationLine]) -> Equations:
        for line in declarations:
            if isinstance(line, SpaceLine):
                self.space(line)
        for line in declarations:
            if isinstance(line, TensorLine):
                self.tensor(line)
        for equation in lines:
            declared_as = self.tensors.get(equation.target.name[0])
            if declared_as is None or declared_as.role in (RESULT, INTERMEDIATE):
                self.targets.setdefault(equation.target.name[0], equation)
        for line in declarations:
            if isinstance(line, DisconnectedLine):
                self.may_be_disconnected(line)
        if not lines and not self.messages.errors:
            hint = "as in `e = f[i,a] t[a,i]`" if declarations else "begin with `space o = i j k l`; EQUATIONS.md shows an example"
            file = self.messages.source.name
            self.messages.report("E-EMPTY", Place(file, 1, 1, 1, 2), f"there is no equation in `{file}`", hint)
        out = [e for e in map(self.equation, lines) if e is not None]
        return Equations(tuple(self.spaces.values()), tuple(self.tensors.values()), tuple(out), self.messages.source, tuple(self.disconnected))

    # --- declarations

    def twice(self, name: Named, what: str) -> bool:
        first = self.declared.get(name[0])
        if first is not None:
            self.messages.report("E-DUP", name[1], f"{what} `{name[0]}` is declared already", "", ("declared here", first))
            return True
        self.declared[name[0]] = name[1]
        return False

    def space(self, line: SpaceLine) -> None:
        name, place = line.name
        if name in self.spaces:
            self.messages.report("E-DUP", place, f"the space `{name}` is declared already", "", ("declared here", self.declared.get(f"space {name}")))
            return
        self.declared[f"space {name}"] = place
        parts: List[str] = []
        for part, at in line.parts:
            if part not in self.spaces:
                self.messages.report("E-UNDECLARED", at, f"there is no space `{part}`", did_you_mean(part, self.spaces, "declare parts first"))
            elif any(self.consists_of(part, s) and self.consists_of(other, s) for other in parts for s in self.spaces):
                self.messages.report("E-DUP", at, f"`{part}` overlaps a part before it", "parts have no orbitals in common")
            else:
                parts.append(part)
        letters = []
        for letter, at in line.letters:
            if len(letter) != 1:
                self.messages.report("E-INDEX", at, f"`{letter}` is no letter", f"write single letters, as `{' '.join(letter)}`; i1, i2, ... belong to the letter's space")
            elif letter in self.letters:
                first = self.declared.get(f"letter {letter}")
                self.messages.report("E-DUP", at, f"the letter `{letter}` belongs to the space `{self.letters[letter]}` already", "", ("declared here", first))
            else:
                self.letters[letter] = name
                self.declared[f"letter {letter}"] = at
                letters.append(letter)
        self.spaces[name] = Space(name, tuple(letters), tuple(parts))

    def tensor(self, line: TensorLine) -> None:
        name, place = line.name
        if self.twice(line.name, "the tensor"):
            return
        for space, at in line.spaces:
            if space not in self.spaces:
                self.broken.add(name)
                self.messages.report("E-UNDECLARED", at, f"there is no space `{space}`", did_you_mean(space, self.spaces, "declare it, as in `space o = i j k l`"))
        spaces = tuple(s for s, _ in line.spaces)
        symmetries: List[Generator] = []
        for blocks, sign, at in line.symmetries:
            symmetries += self.symmetry(name, spaces, blocks, sign, at)
        if slot_symmetry(tuple(symmetries), len(spaces)).zero:
            self.messages.report("E-SYMMETRY", place, f"the symmetries of `{name}` contradict each other: it would be 0")
            symmetries = []
        self.tensors[name] = Tensor(name, spaces, tuple(symmetries), line.role)

    def symmetry(self, name: str, spaces: Tuple[str, ...], blocks: List[List[int]], sign: int, place: Place) -> Tuple[Generator, ...]:
        slots = [x for block in blocks for x in block]
        wrong = [x for x in slots if not 1 <= x <= len(spaces)]
        if wrong:
            what = f"`{name}` has {_counted(len(spaces), 'slot')}, there is no slot {wrong[0]}"
            hint = "slots are counted from 1"
        elif len(set(slots)) < len(slots):
            what, hint = "a slot occurs twice", "every slot stands in one block"
        elif len(blocks) < 2 or any(len(b) != len(blocks[0]) for b in blocks):
            what, hint = "blocks of slots that are exchanged must be two or more of one length", "as in `(1,2)`, or `(1 3, 2 4)` for pairs"
        elif any([spaces[x - 1] for x in b] != [spaces[x - 1] for x in blocks[0]] for b in blocks):
            what, hint = f"slots of different spaces of `{name}` cannot be exchanged", f"its spaces are {', '.join(spaces)}"
        else:
            return exchanges(len(spaces), tuple(tuple(x - 1 for x in b) for b in blocks), sign)
        self.messages.report("E-SYMMETRY", place, what, hint)
        return ()

    def may_be_disconnected(self, line: DisconnectedLine) -> None:
        for name, place in line.names:
            if name != "*" and name not in self.targets:
                self.messages.report("E-UNDECLARED", place, f"there is no target `{name}`", did_you_mean(name, self.targets))
            elif name not in self.disconnected:
                self.disconnected.append(name)

    # --- equations

    def index(self, name: Named) -> Optional[Index]:
        space = self.letters.get(letter_of(name[0]))
        if space is None:
            letter = letter_of(name[0])
            if f"letter {letter}" in self.broken:
                return None
            self.broken.add(f"letter {letter}")
            spaces = "; ".join(f"{s.name}: {' '.join(s.indices)}" for s in self.spaces.values() if s.indices)
            hint = f"letters are {spaces}" if spaces else "declare spaces first, as in `space o = i j k l`"
            self.messages.report("E-INDEX", name[1], f"the letter `{letter}` of the index `{name[0]}` belongs to no space", hint)
            return None
        return Index(name[0], space)

    def consists_of(self, space: str, part: str) -> bool:
        return space == part or any(self.consists_of(p, part) for p in self.spaces[space].parts if p in self.spaces)

    def equation(self, line: EquationLine) -> Optional[Equation]:
        target = self.target(line)
        terms = [self.term(t, target, line) for t in line.terms]
        name = line.target.name[0]
        self.defined.setdefault(name, line.target.name[1])
        if target is None:
            self.broken.add(name)
            return None
        return Equation(target, line.adds, tuple(t for t in terms if t is not None), line.place)

    def target(self, line: EquationLine) -> Optional[Factor]:
        name, place = line.target.name
        indices = [self.index(i) for i in line.target.indices]
        known = [i for i in indices if i is not None]
        tensor = self.tensors.get(name)
        if tensor is not None and tensor.role not in (RESULT, INTERMEDIATE):
            first = self.declared.get(name)
            hint = f"a method solves for it: the equation is that of a residual, `r[{','.join(i for i, _ in line.target.indices)}] = ...`" if tensor.role == AMPLITUDE else ""
            self.messages.report("E-TARGET", place, f"`{name}` is declared as {tensor.role} and cannot be a target", hint, ("declared here", first))
            return None
        if line.adds != (name in self.defined):
            first = self.defined.get(name)
            if line.adds:
                self.messages.report("E-REDEFINED", place, f"`+=` to `{name}`, which has no equation before", "write `=` in its first equation")
            else:
                hint = "write `+=` to add to it" if line.terms else "leave this out: a method makes residuals 0"
                self.messages.report("E-REDEFINED", place, f"`{name}` has an equation already", hint, ("the first is here", first))
        if len(known) < len(indices):
            return None
        for n, (index, (_, at)) in enumerate(zip(known, line.target.indices)):
            if index in known[:n]:
                self.messages.report("E-TARGET", at, f"the index `{index}` stands in the target twice", "the indices of a target all differ")
                return None
        if tensor is None:
            tensor = self.tensors[name] = Tensor(name, tuple(i.space for i in known), (), RESULT)
            self.declared[name] = place
        if not self.fits(line.target, tensor, known, exact=True):
            return None
        return Factor(tensor, tuple(known), line.target.place)

    def fits(self, text: FactorText, tensor: Tensor, indices: Sequence[Index], exact: bool = False) -> bool:
        """Whether these indices can stand at the tensor; says what is wrong."""
        name = tensor.name
        if name in self.broken:
            return False
        if len(indices) != tensor.rank:
            hint = f"its spaces are {', '.join(tensor.spaces)}" if tensor.spaces else "it is a scalar"
            message = f"`{name}` has {_counted(tensor.rank, 'index', 'indices')}, here are {len(indices)}"
            self.messages.report("E-RANK", text.place, message, hint, ("declared here", self.declared.get(name)))
            return False
        for slot, (index, space, (_, at)) in enumerate(zip(indices, tensor.spaces, text.indices), 1):
            if index.space != space if exact else not self.consists_of(space, index.space):
                letters = " ".join(self.spaces[space].indices)
                message = f"the index `{index}` is of the space `{index.space}`, slot {slot} of `{name}` is of `{space}`"
                self.messages.report("E-SPACE", at, message, f"letters of `{space}` are {letters}" if letters else "")
                return False  # often two indices that stand the other way round
        return True

    def term(self, text: TermText, target: Optional[Factor], line: EquationLine) -> Optional[Term]:
        factors = [self.factor(f, line) for f in text.factors]
        found = [f for f in factors if f is not None]
        if len(found) < len(factors) or target is None:
            return None
        if not self.occurrences(text, found, target):
            return None
        operators = [self.operator(o, target) for o in text.operators]
        term = Term(text.coefficient, tuple(found), tuple(o for o in operators if o is not None), text.place)
        self.connected(term, target)
        return term

    def factor(self, text: FactorText, line: EquationLine) -> Optional[Factor]:
        name, place = text.name
        indices = [self.index(i) for i in text.indices]
        known = [i for i in indices if i is not None]
        tensor = self.tensors.get(name)
        is_target = name in self.targets or (tensor is not None and tensor.role in (RESULT, INTERMEDIATE))
        if tensor is not None and name in self.broken:
            return None
        if is_target and (name not in self.defined or name == line.target.name[0]):
            later = self.targets.get(name)
            note = ("it is defined here", later.target.name[1]) if later is not None else ("", None)
            self.messages.report("E-ORDER", place, f"`{name}` is used before it is defined", "equations are evaluated in order", note)
            return None
        if tensor is None:
            if name not in self.broken and not is_target:
                declaration = name + (f"[{','.join(i.space for i in known)}]" if known else "")
                hint = did_you_mean(name, self.tensors, f"declare it, as in `input {declaration}`")
                if name in ("P", "S") and known:
                    hint = f"the operator has round brackets, `{name}({' '.join(i.name for i in known)})`"
                self.messages.report("E-UNDECLARED", place, f"there is no tensor `{name}`", hint)
                self.broken.add(name)
            return None
        if len(known) < len(indices) or not self.fits(text, tensor, known):
            return None
        return Factor(tensor, tuple(known), text.place)

    def occurrences(self, text: TermText, factors: Sequence[Factor], target: Factor) -> bool:
        places: Dict[Index, List[Place]] = {}
        for f, factor in zip(text.factors, factors):
            for (_, place), index in zip(f.indices, factor.indices):
                places.setdefault(index, []).append(place)
        good = True
        for index, at in places.items():
            if len(at) > (1 if index in target.indices else 2):
                good = False
                rule = "an index of the target stands once in each term" if index in target.indices else "an index that is summed stands twice"
                self.messages.report("E-MANY", at[-1], f"the index `{index}` occurs {_times(len(at))}", rule)
        once = [i for i, at in places.items() if len(at) == 1 and i not in target.indices]
        missing = [i for i in target.indices if i not in places]
        if missing:
            have = ", ".join(i.name for i in places if i in once or i in target.indices) or "none"
            want = ", ".join(i.name for i in target.indices)
            self.messages.report(
                "E-EXTERNAL", places[once[0]][0] if once else text.place, f"the external indices of the term are {have}, those of the target {want}",
                f"`{missing[0]}` is missing",
            )  # fmt: skip
            return False
        for index in once:
            good = False
            hint = f"the target has {', '.join(i.name for i in target.indices)}" if target.indices else "the target has no indices"
            self.messages.report("E-ONCE", places[index][0], f"the index `{index}` occurs once and is not in the target", hint)
        return good

    def operator(self, text: OperatorText, target: Factor) -> Optional[Permutation]:
        reported = len(self.messages.found)

        def report(place: Place, message: str, hint: str) -> None:
            if len(self.messages.found) == reported:
                self.messages.report("E-PERMUTATION", place, message, hint)

        groups: List[Tuple[Tuple[Index, ...], ...]] = []
        for group in text.groups:
            items = []
            for item in group:
                indices = []
                for name in item:
                    index = self.index(name)
                    if index is None:
                        return None
                    if index not in target.indices:
                        hint = f"the target has {', '.join(i.name for i in target.indices)}" if target.indices else "the target has no indices"
                        report(name[1], f"the index `{index}` is not external and cannot be permuted", hint)
                    indices.append(index)
                items.append(tuple(indices))
            groups.append(tuple(items))
        all_items = [item for group in groups for item in group]
        counts = Counter(i for item in all_items for i in item)
        if len(groups) < 2 or any(not g for g in groups):
            report(text.place, "there is nothing to exchange", "as in `P(i j)`, `P(i/j k)`, `S(ai/bj)`")
        elif counts and max(counts.values()) > 1:
            report(text.place, f"the index `{counts.most_common(1)[0][0]}` stands in the operator twice", "")
        elif any([i.space for i in item] != [i.space for i in all_items[0]] for item in all_items):
            hint = "P exchanges single indices of one space; `S(ai/bj)` exchanges pairs" if text.sign < 0 else "S exchanges words of indices jointly, as in `S(ai/bj)`"
            report(text.place, "indices of different spaces cannot be exchanged", hint)
        return Permutation(tuple(groups), text.sign) if len(self.messages.found) == reported else None

    def connected(self, term: Term, target: Factor) -> None:
        name = target.tensor.name
        if "*" in self.disconnected or name in self.disconnected or target.tensor.role == INTERMEDIATE or len(term.factors) < 2:
            return
        reached = {0}
        summed = [set(f.indices) - set(target.indices) for f in term.factors]
        for _ in summed:
            reached |= {n for n, s in enumerate(summed) if any(s & summed[m] for m in reached)}
        if len(reached) < len(term.factors) and self.generated:
            self.disconnected.append(name)
        elif len(reached) < len(term.factors):
            apart = next(f for n, f in enumerate(term.factors) if n not in reached)
            message = f"`{apart}` shares no summed index with `{term.factors[0]}`: the term is not connected"
            self.messages.report("W-DISCONNECTED", term.place, message, f"`disconnected {name}` allows that")


def _counted(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def _times(n: int) -> str:
    return {2: "twice", 3: "three times"}.get(n, f"{n} times")
