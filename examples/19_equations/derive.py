#!/usr/bin/env python3
"""Derives equations of this folder with wickd (pip install wickd): derive.py ccsd|ccsdt|ccsdtq|eom_ccsd|lambda_ccsd > FILE"""
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial

try:
    import wickd
except ImportError:
    sys.exit("derive.py needs wickd: pip install wickd")

from sialx.equations import Equations, from_text, from_wickd, simplify, to_text

RANKS = {"ccsd": 2, "ccsdt": 3, "ccsdtq": 4}


def excitations(name, rank):
    return wickd.op(name, [" ".join(["v+"] * n + ["o"] * n) for n in range(1, rank + 1)])


def transformed(rank):
    """exp(-T) H exp(T)"""
    hamiltonian = wickd.utils.gen_op("H", 1, "ov", "ov") + wickd.utils.gen_op("H", 2, "ov", "ov")
    return wickd.bch_series(hamiltonian, excitations("T", rank), 4)


def contracted(expression, least, most):
    return wickd.WickTheorem().contract(wickd.rational(1), expression, least, most)


def cluster(rank):
    """Energy and residuals of the cluster operator up to this rank: <excited| exp(-T) H exp(T) |0>."""
    return from_wickd(contracted(transformed(rank), 0, 2 * rank))


def connected(equations):
    """Without the terms that cancel in a commutator: those that fall into parts which share no summed index, and those that leave an operator L all indices of
    the target."""

    def whole(term, target):
        parts: list[set] = []
        for factor in term.factors:
            indices = {i for i in factor.indices if i not in target.indices}
            joined = [p for p in parts if p & indices]
            parts = [p for p in parts if not p & indices] + [indices.union(*joined)]
        left_alone = any(set(target.indices) <= set(f.indices) for f in term.factors if f.tensor.name in ("l1", "l2"))
        return len(parts) == 1 and not left_alone

    return replace(equations, equations=tuple(replace(e, terms=tuple(t for t in e.terms if whole(t, e.target))) for e in equations.equations), disconnected=())


def eom():
    """The product with a vector of excitations C: <excited| [exp(-T) H exp(T), C] |0>."""
    parts = contracted(transformed(2) @ excitations("C", 2), 2, 4).to_manybody_equation("s")
    return connected(from_wickd({block: parts[block] for block in ("o|v", "oo|vv")}, residual="s"))


def left():
    """The equations of L: <0| (1 + L) [exp(-T) H exp(T), excitation] |0>. The product of single excitations on the left of the transformed Fock matrix is added
    by hand."""
    operator = wickd.op("L", ["o+ v", "o+ o+ v v"])
    blocks = ("v|o", "vv|oo")
    found: dict[str, list] = {block: [] for block in blocks}
    for expression in (transformed(2), operator @ transformed(2)):
        parts = contracted(expression, 2, 4).to_manybody_equation("y")
        for block in blocks:
            found[block] += parts[block]
    text = to_text(connected(from_wickd(found, residual="y", blocks=blocks))).replace("y_o_v", "y1").replace("y_oo_vv", "y2")
    text += "disconnected y2\ny2[i,j,a,b] += P(i j) P(a b) l1[i,a] f[j,b] + P(i j) P(a b) l1[i,a] u[j,k,b,c] t1[c,k]\n"
    return simplify(from_text(text))


DERIVED: dict[str, Callable[[], Equations]] = {**{name: partial(cluster, rank) for name, rank in RANKS.items()}, "eom_ccsd": eom, "lambda_ccsd": left}


def main():
    method = sys.argv[1] if len(sys.argv) == 2 else ""
    if method not in DERIVED:
        sys.exit(__doc__)
    wickd.reset_space()
    wickd.add_space("o", "fermion", "occupied", ["i", "j", "k", "l", "m", "n"])
    wickd.add_space("v", "fermion", "unoccupied", ["a", "b", "c", "d", "e", "f"])
    print(f"# {method.upper().replace('_', ' ')}, spin orbitals: f is the Fock matrix, u[p,q,r,s] = <pq||rs>.")
    print(f"# Derived with wickd 1.3.0 by `derive.py {method}` in this folder, which says how.")
    print(to_text(DERIVED[method]()), end="")


if __name__ == "__main__":
    main()
