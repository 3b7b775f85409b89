"""Residuals of coupled-cluster theory over spin orbitals, computed in ways that know nothing of sialx.equations.

stanton: CCSD with the intermediates of J. F. Stanton, J. Gauss, J. D. Watts, R. J. Bartlett, J. Chem. Phys. 94, 4334 (1991), for real orbitals.
fock: exp(-T) H exp(T) with matrices over all determinants, for any rank of T."""

import itertools
from typing import Any, Dict, List, Sequence

import numpy as np

Arrays = Dict[str, Any]


def stanton(f: Any, u: Any, t1: Any, t2: Any) -> Arrays:
    """f[p,q], u[p,q,r,s] = <pq||rs> with occupied orbitals first; t1[a,i], t2[a,b,i,j]. Equation numbers of the article."""
    n = t1.shape[1]
    o, v = slice(0, n), slice(n, None)
    s = t1.T  # s[i,a], d[i,j,a,b] as in the article
    d = t2.transpose(2, 3, 0, 1)
    e = lambda spec, *x: np.einsum(spec, *x, optimize=True)
    product = e("ia,jb->ijab", s, s) - e("ib,ja->ijab", s, s)
    tau_tilde, tau = d + 0.5 * product, d + product  # (9), (10)
    fae = f[v, v] - 0.5 * e("me,ma->ae", f[o, v], s) + e("mf,mafe->ae", s, u[o, v, v, v]) - 0.5 * e("mnaf,mnef->ae", tau_tilde, u[o, o, v, v])  # (3)
    fmi = f[o, o] + 0.5 * e("ie,me->mi", s, f[o, v]) + e("ne,mnie->mi", s, u[o, o, o, v]) + 0.5 * e("inef,mnef->mi", tau_tilde, u[o, o, v, v])  # (4)
    fme = f[o, v] + e("nf,mnef->me", s, u[o, o, v, v])  # (5)
    x = e("je,mnie->mnij", s, u[o, o, o, v])
    wmnij = u[o, o, o, o] + x - x.swapaxes(2, 3) + 0.25 * e("ijef,mnef->mnij", tau, u[o, o, v, v])  # (6)
    x = e("mb,amef->abef", s, u[v, o, v, v])
    wabef = u[v, v, v, v] - x + x.swapaxes(0, 1) + 0.25 * e("mnab,mnef->abef", tau, u[o, o, v, v])  # (7)
    wmbej = u[o, v, v, o] + e("jf,mbef->mbej", s, u[o, v, v, v]) - e("nb,mnej->mbej", s, u[o, o, v, o])
    wmbej = wmbej - e("jnfb,mnef->mbej", 0.5 * d + e("jf,nb->jnfb", s, s), u[o, o, v, v])  # (8)
    r1 = f[o, v] + e("ie,ae->ia", s, fae) - e("ma,mi->ia", s, fmi) + e("imae,me->ia", d, fme) - e("nf,naif->ia", s, u[o, v, o, v])
    r1 = r1 - 0.5 * e("imef,maef->ia", d, u[o, v, v, v]) - 0.5 * e("mnae,nmei->ia", d, u[o, o, v, o])  # (1)
    p_ij = lambda y: y - y.swapaxes(0, 1)
    p_ab = lambda y: y - y.swapaxes(2, 3)
    r2 = u[o, o, v, v] + p_ab(e("ijae,be->ijab", d, fae - 0.5 * e("mb,me->be", s, fme))) - p_ij(e("imab,mj->ijab", d, fmi + 0.5 * e("je,me->mj", s, fme)))
    r2 = r2 + 0.5 * e("mnab,mnij->ijab", tau, wmnij) + 0.5 * e("ijef,abef->ijab", tau, wabef)
    r2 = r2 + p_ij(p_ab(e("imae,mbej->ijab", d, wmbej) - e("ie,ma,mbej->ijab", s, s, u[o, v, v, o])))
    r2 = r2 + p_ij(e("ie,abej->ijab", s, u[v, v, v, o])) - p_ab(e("ma,mbij->ijab", s, u[o, v, o, o]))  # (2)
    energy = e("ia,ia", f[o, v], s) + 0.25 * e("ijab,ijab", u[o, o, v, v], d) + 0.5 * e("ijab,ia,jb", u[o, o, v, v], s, s)
    return {"energy": energy, "r1": r1.T, "r2": r2.transpose(2, 3, 0, 1)}


def annihilators(orbitals: int) -> List[Any]:
    """Matrices over the occupation numbers of all orbitals, with the signs of Jordan and Wigner."""
    z, lower = np.diag([1.0, -1.0]), np.array([[0.0, 1.0], [0.0, 0.0]])
    out = []
    for p in range(orbitals):
        matrix = np.eye(1)
        for q in range(orbitals):
            matrix = np.kron(matrix, z if q < p else lower if q == p else np.eye(2))
        out.append(matrix)
    return out


def fock(f: Any, u: Any, amplitudes: Sequence[Any]) -> Arrays:
    """Energy and residuals r1, r2, ... of T with these amplitudes t1[a,i], t2[a,b,i,j], ...; f and u as above, and u without other symmetry."""
    o, v = amplitudes[0].shape[1], amplitudes[0].shape[0]
    a = annihilators(o + v)
    c = [x.T for x in a]
    vacuum = np.zeros(2 ** (o + v))
    vacuum[0] = 1.0
    for i in reversed(range(o)):
        vacuum = c[i] @ vacuum
    h = f - np.einsum("piqi->pq", u[:, :o, :, :o])
    energy_operator = sum(h[p, q] * (c[p] @ a[q]) for p, q in itertools.product(range(o + v), repeat=2))
    two = sum(0.25 * u[p, q, r, s] * (c[p] @ c[q] @ a[s] @ a[r]) for p, q, r, s in itertools.product(range(o + v), repeat=4) if p != q and r != s)
    hamiltonian = energy_operator + two
    hamiltonian = hamiltonian - (vacuum @ hamiltonian @ vacuum) * np.eye(len(vacuum))

    def excitation(particles: Sequence[int], holes: Sequence[int]) -> Any:
        x = np.eye(len(vacuum))
        for p in particles:
            x = x @ c[o + p]
        for i in reversed(holes):
            x = x @ a[i]
        return x

    cluster = np.zeros_like(hamiltonian)
    for n, t in enumerate(amplitudes, 1):
        for particles in itertools.combinations(range(v), n):
            for holes in itertools.combinations(range(o), n):
                cluster = cluster + t[(*particles, *holes)] * excitation(particles, holes)
    state = hamiltonian @ exponential(cluster, vacuum)
    state = exponential(-cluster, state)
    out: Arrays = {"energy": vacuum @ state}
    for n, t in enumerate(amplitudes, 1):
        r = np.zeros_like(t)
        for particles in itertools.combinations(range(v), n):
            for holes in itertools.combinations(range(o), n):
                number = (excitation(particles, holes) @ vacuum) @ state
                for p, q in itertools.product(itertools.permutations(range(n)), repeat=2):
                    sign = np.linalg.det(np.eye(n)[list(p)]) * np.linalg.det(np.eye(n)[list(q)])
                    r[tuple(particles[x] for x in p) + tuple(holes[x] for x in q)] = sign * number
        out[f"r{n}"] = r
    return out


def exponential(x: Any, state: Any) -> Any:
    """exp(x) times a state, for x that makes any state 0 when it is applied often."""
    out, power = state, state
    for n in range(1, 40):
        power = x @ power / n
        out = out + power
    return out
