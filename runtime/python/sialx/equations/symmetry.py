"""The permutational symmetry of a tensor's slots, arranged so that the least of all equal forms is found by sorting."""

from __future__ import annotations

from functools import lru_cache
from typing import Dict, List, Sequence, Tuple

from .model import Generator

Labels = Tuple[int, ...]
KIND_BITS = 20


class SlotSymmetry:
    """Slots whose single exchanges are symmetries form sets that are sorted; of the other symmetries one representative per coset is tried.

    That makes 1 trial of an antisymmetric tensor of any rank, and n! of one whose n pairs of slots are exchanged jointly. sets: (slots, sign).
    zero: whether the symmetries contradict each other."""

    def __init__(self, generators: Tuple[Generator, ...], rank: int) -> None:
        self.rank = rank
        self.zero = False
        singles = [(tuple(x for x in range(rank) if p[x] != x), sign) for p, sign in generators]
        self.zero |= any(not slots and sign < 0 for slots, sign in singles)
        pairs = [s for s in singles if len(s[0]) == 2]
        moved = [(p, sign) for (p, sign), (slots, _) in zip(generators, singles) if len(slots) > 2]
        for pair, sign in pairs:  # which grows: what other symmetries make of an exchange is one, too
            for p, _ in moved:
                image = (tuple(sorted(p[x] for x in pair)), sign)
                if image not in pairs:
                    pairs.append(image)
        self.sets: List[Tuple[Tuple[int, ...], int]] = self._sets(pairs)
        self.cosets = self._cosets(moved)

    def _sets(self, pairs: Sequence[Tuple[Tuple[int, ...], int]]) -> List[Tuple[Tuple[int, ...], int]]:
        merged: List[Tuple[set[int], int]] = []
        for slots, sign in pairs:
            joined, rest = set(slots), []
            for other, other_sign in merged:
                if other & joined:
                    joined |= other
                    self.zero |= other_sign != sign
                else:
                    rest.append((other, other_sign))
            merged = [*rest, (joined, sign)]
        return [(tuple(sorted(slots)), sign) for slots, sign in merged]

    def _cosets(self, generators: Sequence[Generator]) -> List[Generator]:
        """One permutation of each left coset of the exchanges of the sets."""
        identity = tuple(range(self.rank))
        found: Dict[Labels, int] = {identity: 1}
        new = [identity]
        while new:
            made = []
            for q in new:
                for p, sign in generators:
                    product, parity = self._sorted([p[x] for x in q])
                    value = sign * parity * found[q]
                    if product not in found:
                        found[product] = value
                        made.append(product)
                    elif found[product] != value:
                        self.zero = True
            new = made
        return list(found.items())

    def _sorted(self, labels: List[int]) -> Tuple[Labels, int]:
        """labels sorted within the sets, and the sign; 0 where two labels of an antisymmetric set are equal."""
        total = 1
        for slots, sign in self.sets:
            values = [labels[x] for x in slots]
            n = len(values)
            for i in range(1, n):  # sets are small
                j = i
                while j > 0 and values[j - 1] > values[j]:
                    values[j - 1], values[j] = values[j], values[j - 1]
                    total *= sign
                    j -= 1
                if sign < 0 and j > 0 and values[j - 1] == values[j]:
                    total = 0
            for x, value in zip(slots, values):
                labels[x] = value
        return tuple(labels), total

    def least(self, labels: Sequence[int]) -> Tuple[Labels, int]:
        """The least of the equal forms of a tensor with these labels in its slots, and its sign; sign 0: the element is 0.

        The kinds of the labels, label >> KIND_BITS, are compared first: of a tensor that has several blocks of which only one is needed, it is one."""
        if self.zero:
            return tuple(labels), 0
        best, best_sign = self._sorted(list(labels))
        if len(self.cosets) == 1:
            return best, best_sign
        best_kinds = [x >> KIND_BITS for x in best]
        for p, sign in self.cosets[1:]:
            form, parity = self._sorted([labels[x] for x in p])
            if parity == 0:
                return form, 0
            kinds = [x >> KIND_BITS for x in form]
            if (kinds, form) < (best_kinds, best):
                best, best_kinds, best_sign = form, kinds, sign * parity
            elif form == best and sign * parity != best_sign:
                return form, 0
        return best, best_sign

    def pattern(self, labels: Sequence[int]) -> Tuple[Labels, List[Labels]]:
        """The least form without signs, and for each slot at which places of it the slot's label can stand."""
        forms = []
        for p, _ in self.cosets:
            form = [labels[x] for x in p]
            for slots, _sign in self.sets:
                for x, value in zip(slots, sorted(form[x] for x in slots)):
                    form[x] = value
            forms.append((tuple(form), p))
        best = min(forms)[0]
        places: List[set[int]] = [set() for _ in labels]
        leader = list(range(self.rank))
        for slots, _sign in self.sets:
            for x in slots:
                leader[x] = slots[0]
        for form_, p in forms:
            if form_ == best:
                for x in range(self.rank):
                    places[p[x]].add(leader[x])
        return best, [tuple(sorted(s)) for s in places]


@lru_cache(maxsize=None)
def slot_symmetry(generators: Tuple[Generator, ...], rank: int) -> SlotSymmetry:
    return SlotSymmetry(generators, rank)
