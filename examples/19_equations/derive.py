#!/usr/bin/env python3
"""Derives equations of this folder: derive.py ccsd|ccsdt|ccsdtq|eom_ccsd|lambda_ccsd|dcsd > FILE

All but dcsd, which is made of ccsd.txt, take wickd (pip install wickd)."""
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

try:
    import wickd
except ImportError:
    wickd = None

from sialx.equations import Equations, closed_shell, from_text, from_wickd, simplify, to_text

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


# What DCSD has in the doubles residual instead of all terms of CCSD that are quadratic in t2, with s2[a,b,i,j] = 2 t2[a,b,i,j] - t2[a,b,j,i] written out:
#   u[k,l,c,d] s2[a,c,i,k] s2[b,d,j,l] - 1/2 S(ai/bj) u[k,l,c,d] s2[c,d,i,l] t2[a,b,k,j] - 1/2 S(ai/bj) u[k,l,c,d] s2[a,d,k,l] t2[c,b,i,j]
QUADRATIC = """
r2[a,b,i,j] += 4 u[k,l,c,d] t2[a,c,i,k] t2[b,d,j,l] - 2 u[k,l,c,d] t2[a,c,k,i] t2[b,d,j,l]
    - 2 u[k,l,c,d] t2[a,c,i,k] t2[b,d,l,j] + u[k,l,c,d] t2[a,c,k,i] t2[b,d,l,j]
    - S(ai/bj) u[k,l,c,d] t2[c,d,i,l] t2[a,b,k,j] + 1/2 S(ai/bj) u[k,l,c,d] t2[c,d,l,i] t2[a,b,k,j]
    - S(ai/bj) u[k,l,c,d] t2[a,d,k,l] t2[c,b,i,j] + 1/2 S(ai/bj) u[k,l,c,d] t2[a,d,l,k] t2[c,b,i,j]
"""


def distinguishable():
    """DCSD over orbitals: D. Kats, F. R. Manby, J. Chem. Phys. 139, 021102 (2013), with single excitations as in D. Kats, J. Chem. Phys. 141, 061101 (2014)."""
    ccsd = closed_shell(from_text(Path(__file__).with_name("ccsd.txt")))
    *others, doubles = ccsd.equations
    kept = tuple(t for t in doubles.terms if [f.tensor.name for f in t.factors].count("t2") < 2)
    return simplify(from_text(to_text(replace(ccsd, equations=(*others, replace(doubles, terms=kept)))) + QUADRATIC))


DERIVED: dict[str, Callable[[], Equations]] = {**{name: partial(cluster, rank) for name, rank in RANKS.items()}, "eom_ccsd": eom, "lambda_ccsd": left, "dcsd": distinguishable}


def derived(method):
    """The text of the file."""
    name = method.upper().replace("_", " ")
    if method == "dcsd":
        what, source = f"{name}, orbitals of a closed shell: f is the Fock matrix, u[p,q,r,s] = <pq|rs>", "Made of ccsd.txt"
    else:
        if wickd is None:
            sys.exit("derive.py needs wickd: pip install wickd")
        what, source = f"{name}, spin orbitals: f is the Fock matrix, u[p,q,r,s] = <pq||rs>", "Derived with wickd 1.3.0"
        wickd.reset_space()
        wickd.add_space("o", "fermion", "occupied", ["i", "j", "k", "l", "m", "n"])
        wickd.add_space("v", "fermion", "unoccupied", ["a", "b", "c", "d", "e", "f"])
    return f"# {what}.\n# {source} by `derive.py {method}` in this folder, which says how.\n{to_text(DERIVED[method]())}"


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in DERIVED:
        sys.exit(__doc__)
    print(derived(sys.argv[1]), end="")


if __name__ == "__main__":
    main()
