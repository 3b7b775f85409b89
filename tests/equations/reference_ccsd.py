"""Residuals of coupled-cluster theory over spin orbitals, computed in ways that know nothing of sialx.equations.

stanton: CCSD with the intermediates of J. F. Stanton, J. Gauss, J. D. Watts, R. J. Bartlett, J. Chem. Phys. 94, 4334 (1991), for real orbitals.
closed_shell: CCSD and DCSD over the orbitals of a closed shell, with integrals of the Hamiltonian transformed with T1.
fock: exp(-T) H exp(T) with matrices over all determinants, for any rank of T; cc2 and mp3 likewise."""

import itertools
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Tuple

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


def closed_shell(f: Any, u: Any, t1: Any, t2: Any, distinguishable: bool) -> Arrays:
    """f[p,q], u[p,q,r,s] = <pq|rs> of real orbitals, occupied ones first; t1[a,i], t2[a,b,i,j]. T. Helgaker, P. Jorgensen, J. Olsen, Molecular
    Electronic-Structure Theory, 2000, (13.7.100) and following; distinguishable: the quadratic terms as D. Kats, F. R. Manby, J. Chem. Phys. 139, 021102 (2013)
    has them: no ladder between holes, no exchange in the ring, half of what dresses the Fock matrix."""
    n, size = t1.shape[1], len(f)
    o, v = slice(0, n), slice(n, size)
    e = lambda spec, *x: np.einsum(spec, *x, optimize=True)
    fock_of = lambda g: 2 * e("pqkk->pq", g[:, :, o, o]) - e("pkkq->pq", g[:, o, o, :])
    plain = u.transpose(0, 2, 1, 3)  # (pr|qs)
    lower = np.zeros((size, size))
    lower[v, o] = t1
    x, y = np.eye(size) - lower, np.eye(size) + lower.T
    g = e("pP,qQ,rR,sS,PQRS->pqrs", x, y, x, y, plain)
    given, f = f, e("pP,qQ,PQ->pq", x, y, f - fock_of(plain)) + fock_of(g)
    s = 2 * t2 - t2.swapaxes(2, 3)
    big = 2 * g - g.transpose(0, 3, 2, 1)
    exchanged = lambda z: z + z.transpose(1, 0, 3, 2)
    r1 = f[v, o] + e("acik,kc->ai", s, f[o, v]) + e("cdki,adkc->ai", s, g[v, v, o, v]) - e("ackl,kilc->ai", s, g[o, o, o, v])
    holes, particles = e("cdil,kcld->ki", s, g[o, v, o, v]), e("adkl,kcld->ac", s, g[o, v, o, v])
    dressing = 0.5 if distinguishable else 1.0
    r2 = g[v, o, v, o].transpose(0, 2, 1, 3) + e("cdij,acbd->abij", t2, g[v, v, v, v]) + e("abkl,kilj->abij", t2, g[o, o, o, o])
    r2 = r2 - exchanged(0.5 * e("bckj,kiac->abij", t2, g[o, o, v, v]) + e("bcki,kjac->abij", t2, g[o, o, v, v]))
    r2 = r2 + 0.5 * exchanged(e("bcjk,aikc->abij", s, big[v, o, o, v]))
    r2 = r2 + exchanged(e("cbij,ac->abij", t2, f[v, v] - dressing * particles) - e("abkj,ki->abij", t2, f[o, o] + dressing * holes))
    if distinguishable:
        r2 = r2 + e("acik,kcld,bdjl->abij", s, g[o, v, o, v], s)
    else:
        r2 = r2 + e("abkl,cdij,kcld->abij", t2, t2, g[o, v, o, v]) + 0.25 * exchanged(e("bcjk,adil,ldkc->abij", s, s, big[o, v, o, v]))
        r2 = r2 + exchanged(0.25 * e("bckj,adli,kdlc->abij", t2, t2, g[o, v, o, v]) + 0.5 * e("bcki,adlj,kdlc->abij", t2, t2, g[o, v, o, v]))
    energy = 2 * e("ia,ai", given[o, v], t1) + e("ijab,abij", u[o, o, v, v], s + 2 * e("ai,bj->abij", t1, t1) - e("aj,bi->abij", t1, t1))
    return {"energy": energy, "r1": r1, "r2": r2}


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


class Determinants:
    """Operators over all determinants; f and u as above, and u without other symmetry. The Hamiltonian and f are normal-ordered."""

    def __init__(self, f: Any, u: Any, occupied: int) -> None:
        n, self.o = len(f), occupied
        self.v = n - occupied
        self.a = annihilators(n)
        self.c = [x.T for x in self.a]
        self.vacuum = np.zeros(2**n)
        self.vacuum[0] = 1.0
        for i in reversed(range(occupied)):
            self.vacuum = self.c[i] @ self.vacuum
        self.one = self.one_electron(f)
        h = f - np.einsum("piqi->pq", u[:, :occupied, :, :occupied])
        two = sum(0.25 * u[p, q, r, s] * (self.c[p] @ self.c[q] @ self.a[s] @ self.a[r]) for p, q, r, s in itertools.product(range(n), repeat=4) if p != q and r != s)
        self.hamiltonian = self.ordered(self.one_electron(h) + two)

    def ordered(self, operator: Any) -> Any:
        return operator - (self.vacuum @ operator @ self.vacuum) * np.eye(len(self.vacuum))

    def one_electron(self, f: Any) -> Any:
        return self.ordered(sum(f[p, q] * (self.c[p] @ self.a[q]) for p, q in itertools.product(range(len(f)), repeat=2)))

    def excitation(self, particles: Sequence[int], holes: Sequence[int]) -> Any:
        x = np.eye(len(self.vacuum))
        for p in particles:
            x = x @ self.c[self.o + p]
        for i in reversed(holes):
            x = x @ self.a[i]
        return x

    def excitations(self, n: int) -> Iterator[Tuple[Tuple[int, ...], Tuple[int, ...]]]:
        return itertools.product(itertools.combinations(range(self.v), n), itertools.combinations(range(self.o), n))

    def cluster(self, amplitudes: Mapping[int, Any]) -> Any:
        """The operator of amplitudes by the number of electrons that they excite."""
        return sum(t[(*p, *h)] * self.excitation(p, h) for n, t in amplitudes.items() for p, h in self.excitations(n))

    def part(self, state: Any, n: int) -> Any:
        """What a state has of n excited electrons, as an antisymmetric array."""
        out = np.zeros((self.v,) * n + (self.o,) * n)
        for particles, holes in self.excitations(n):
            number = (self.excitation(particles, holes) @ self.vacuum) @ state
            fill(out, particles, holes, number)
        return out


def fock(f: Any, u: Any, amplitudes: Sequence[Any]) -> Arrays:
    """Energy and residuals r1, r2, ... of T with these amplitudes t1[a,i], t2[a,b,i,j], ..."""
    space = Determinants(f, u, amplitudes[0].shape[1])
    cluster = space.cluster(dict(enumerate(amplitudes, 1)))
    state = exponential(-cluster, space.hamiltonian @ exponential(cluster, space.vacuum))
    return {"energy": space.vacuum @ state, **{f"r{n}": space.part(state, n) for n in range(1, len(amplitudes) + 1)}}


def cc2(f: Any, u: Any, t1: Any, t2: Any) -> Arrays:
    """O. Christiansen, H. Koch, P. Jorgensen, Chem. Phys. Lett. 243, 409 (1995): doubles to first order, with singles as they are."""
    space = Determinants(f, u, t1.shape[1])
    singles, doubles = space.cluster({1: t1}), space.cluster({2: t2})
    whole = exponential(-singles - doubles, space.hamiltonian @ exponential(singles + doubles, space.vacuum))
    first = exponential(-singles, space.hamiltonian @ exponential(singles, space.vacuum)) + (space.one @ doubles - doubles @ space.one) @ space.vacuum
    return {"energy": space.vacuum @ whole, "r1": space.part(whole, 1), "r2": space.part(first, 2)}


def commutators(f: Any, u: Any, t1: Any, t2: Any, of: Callable[[Determinants, Any], Arrays]) -> Arrays:
    """What `of` makes of exp(-T) H exp(T), a matrix over all determinants."""
    space = Determinants(f, u, t1.shape[1])
    t = space.cluster({1: t1, 2: t2})
    one = np.eye(len(space.vacuum))
    return of(space, exponential(-t, space.hamiltonian @ exponential(t, one)))


def eom(f: Any, u: Any, t1: Any, t2: Any, c1: Any, c2: Any) -> Arrays:
    """J. F. Stanton, R. J. Bartlett, J. Chem. Phys. 98, 7029 (1993): <excited| [exp(-T) H exp(T), C] |0>."""

    def of(space: Determinants, transformed: Any) -> Arrays:
        c = space.cluster({1: c1, 2: c2})
        state = (transformed @ c - c @ transformed) @ space.vacuum
        return {"s1": space.part(state, 1), "s2": space.part(state, 2)}

    return commutators(f, u, t1, t2, of)


def left(f: Any, u: Any, t1: Any, t2: Any, l1: Any, l2: Any) -> Arrays:
    """<0| (1 + L) [exp(-T) H exp(T), excitation] |0>."""

    def of(space: Determinants, transformed: Any) -> Arrays:
        bra = space.vacuum + space.cluster({1: l1.T, 2: l2.transpose(2, 3, 0, 1)}) @ space.vacuum
        parts = {}
        for n in (1, 2):
            out = np.zeros((space.v,) * n + (space.o,) * n)
            for particles, holes in space.excitations(n):
                x = space.excitation(particles, holes)
                fill(out, particles, holes, bra @ (transformed @ x - x @ transformed) @ space.vacuum)
            parts[n] = out
        return {"y1": parts[1].T, "y2": parts[2].transpose(2, 3, 0, 1)}

    return commutators(f, u, t1, t2, of)


def mp3(f: Any, u: Any, t2: Any) -> Arrays:
    """The first-order residual of the doubles, and the energy to third order of Rayleigh and Schroedinger, for canonical orbitals."""
    space = Determinants(f, u, t2.shape[2])
    perturbation = space.hamiltonian - space.one
    state = space.cluster({2: t2}) @ space.vacuum
    residual = space.one @ state + perturbation @ space.vacuum
    return {"energy": space.vacuum @ perturbation @ state + state @ perturbation @ state, "r2": space.part(residual, 2)}


def fill(out: Any, particles: Sequence[int], holes: Sequence[int], number: float) -> None:
    """An element of an antisymmetric array, and all that follow from it."""
    n = len(particles)
    for p, q in itertools.product(itertools.permutations(range(n)), repeat=2):
        sign = np.linalg.det(np.eye(n)[list(p)]) * np.linalg.det(np.eye(n)[list(q)])
        out[tuple(particles[x] for x in p) + tuple(holes[x] for x in q)] = sign * number


def exponential(x: Any, state: Any) -> Any:
    """exp(x) times a state, for x that makes any state 0 when it is applied often."""
    out, power = state, state
    for n in range(1, 40):
        power = x @ power / n
        out = out + power
    return out
