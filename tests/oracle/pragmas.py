"""The fragment pragmas of pardo loops, which filter iterations (language reference 4.1.1)."""
import re

from expressions import static_view


def parse(text):
    """(keeps where clauses, N, R, pair, g1, g2), or None for a pragma without meaning."""
    match = re.match(r"(Where)?Frag\{(N?)(R?)(i|ij)\}((?:\{[aopv]*\})*)$", text or "")
    if not match:
        return None
    groups = re.findall(r"\{([aopv]*)\}", match.group(5)) + ["", ""]
    return bool(match.group(1)), bool(match.group(2)), bool(match.group(3)), match.group(4) == "ij", groups[0], groups[1]


def element(module, name, *position):
    return float(static_view(module.find(name), position).reshape(-1)[0])


def fragment_filter(module, indices, pragma):
    """(a test of the iteration with its indices bound, whether the pragma replaces the where clauses)."""
    parsed = parse(pragma)
    if not parsed:
        return (lambda: True), False
    keeps_wheres, differ, by_cut, pair, first_group, second_group = parsed
    f1, f2 = indices[0], indices[1] if pair else None
    rest = indices[2 if pair else 1:]

    def keep():
        if differ and f1.value == f2.value:
            return False
        if pair and element(module, "rcut_dist" if by_cut else "elst_dist", f1.value, f2.value) != f1.value:
            return False
        for letter, index, fragment in zip(first_group + second_group, rest, [f1] * len(first_group) + [f2] * len(second_group)):
            if element(module, "swao_frag" if letter == "a" else "swmoa_frag", index.value) != fragment.value:
                return False
        return True
    return keep, not keeps_wheres
