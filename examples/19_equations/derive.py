#!/usr/bin/env python3
"""Derives the coupled-cluster equations of this folder with wickd (pip install wickd): derive.py ccsd|ccsdt > FILE"""
import sys

import wickd

from sialx.equations import from_wickd, to_text

RANKS = {"ccsd": 2, "ccsdt": 3, "ccsdtq": 4}


def derive(method):
    """Energy and residuals of the cluster operator up to this rank: <excited| exp(-T) H exp(T) |0>."""
    rank = RANKS[method]
    wickd.reset_space()
    wickd.add_space("o", "fermion", "occupied", ["i", "j", "k", "l", "m", "n"])
    wickd.add_space("v", "fermion", "unoccupied", ["a", "b", "c", "d", "e", "f"])
    cluster = wickd.op("T", [" ".join(["v+"] * n + ["o"] * n) for n in range(1, rank + 1)])
    hamiltonian = wickd.utils.gen_op("H", 1, "ov", "ov") + wickd.utils.gen_op("H", 2, "ov", "ov")
    transformed = wickd.bch_series(hamiltonian, cluster, 4)
    return from_wickd(wickd.WickTheorem().contract(wickd.rational(1), transformed, 0, 2 * rank))


def main():
    method = sys.argv[1] if len(sys.argv) == 2 else ""
    if method not in RANKS:
        sys.exit(__doc__)
    print(f"# {method.upper()}, spin orbitals: f is the Fock matrix, u[p,q,r,s] = <pq||rs>.")
    print(f"# Derived with wickd 1.3.0 by `derive.py {method}` in this folder, which says how.")
    print(to_text(derive(method)), end="")


if __name__ == "__main__":
    main()
