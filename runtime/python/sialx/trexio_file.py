"""Hamiltonians in TREXIO files (E. Posenitskiy et al., J. Chem. Phys. 158, 174801 (2023)), by the package `trexio`."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, List, Union

import numpy as np

from .equations.diagnostics import stacklevel
from .fcidump import SAME, Dump

if TYPE_CHECKING:
    from numpy.typing import NDArray

    StrPath = Union[str, "os.PathLike[str]"]

_CHUNK = 1 << 20  # elements that are read or written at once
_KEPT = 1e-15  # integrals up to which the file leaves out


def _library() -> Any:
    try:
        import trexio
    except ImportError:
        raise ImportError("TREXIO files need the package `trexio`: pip install trexio") from None
    return trexio


def read(path: StrPath) -> Dump:
    """The Hamiltonian over the molecular orbitals of the file: mo_1e_int_core_hamiltonian, mo_2e_int_eri (<pq|rs>, of which a file has one of those that are equal
    by symmetry, or all), nucleus_repulsion as the energy of the core, and the numbers of electrons. ValueError with the file where something is missing or does not fit,
    and for orbitals that are complex or differ between the spins. ImportError without the package `trexio`."""
    trexio, name = _library(), os.fspath(path)

    def wrong(message: str, remedy: str) -> ValueError:
        return ValueError(f"{name}: {message}\n    hint: {remedy}")

    if not Path(path).exists():
        raise wrong("there is no such file", "a TREXIO file is an HDF5 file, or a folder of texts")
    try:
        with trexio.File(name, "r", trexio.TREXIO_AUTO) as f:
            for thing in ("mo_num", "mo_1e_int_core_hamiltonian", "mo_2e_int_eri", "electron_num"):
                if not getattr(trexio, f"has_{thing}")(f):
                    raise wrong(f"there is no {thing}", "write the file with the integrals over molecular orbitals and the number of electrons")
            n, electrons = int(trexio.read_mo_num(f)), int(trexio.read_electron_num(f))
            if trexio.has_mo_spin(f) and np.any(trexio.read_mo_spin(f)):
                raise wrong("orbitals differ between alpha and beta", "write the file with restricted orbitals")
            if trexio.has_mo_1e_int_core_hamiltonian_im(f):
                raise wrong("complex integrals cannot be read", "write the file with real orbitals")
            up = int(trexio.read_electron_up_num(f)) if trexio.has_electron_up_num(f) else (electrons + 1) // 2
            one = np.array(trexio.read_mo_1e_int_core_hamiltonian(f), dtype=np.float64).reshape(n, n)
            core = float(trexio.read_nucleus_repulsion(f)) if trexio.has_nucleus_repulsion(f) else None
            energies = np.array(trexio.read_mo_energy(f), dtype=np.float64) if trexio.has_mo_energy(f) else None
            indices: List[NDArray[np.int64]] = []
            values: List[NDArray[np.float64]] = []
            end, offset = False, 0
            while not end:
                where, what, count, end = trexio.read_mo_2e_int_eri(f, offset, _CHUNK)
                indices.append(np.array(where[:count], dtype=np.int64).reshape(-1, 4))
                values.append(np.array(what[:count], dtype=np.float64))
                offset += int(count)
                end = bool(end) or count == 0
    except trexio.Error as e:
        raise wrong(f"the file cannot be read: {e}", "is it a complete TREXIO file?") from None
    if core is None:
        core = 0.0
        warnings.warn(f"{name}: there is no nucleus_repulsion, and the energy of the core is taken as 0", stacklevel=stacklevel())
    two = _filled(np.concatenate(indices), np.concatenate(values), n, wrong)
    return Dump(electrons, 2 * up - electrons + 1, (1,) * n, 1, core, one, two, energies)


def _filled(indices: NDArray[np.int64], values: NDArray[np.float64], n: int, wrong: Any) -> NDArray[np.float64]:
    """(pq|rs) from elements <pr|qs>."""
    if np.any((indices < 0) | (indices >= n)):
        at = indices[np.any((indices < 0) | (indices >= n), axis=1)][0]
        raise wrong(f"mo_2e_int_eri has an element {at.tolist()} outside the {n} orbitals", "is the file complete?")
    p, r, q, s = indices.T  # <pr|qs> = (pq|rs)
    two = np.zeros((n, n, n, n))
    places = ((p, q, r, s), (q, p, r, s), (p, q, s, r), (q, p, s, r), (r, s, p, q), (s, r, p, q), (r, s, q, p), (s, r, q, p))
    for place in places:
        two[place] = values
    apart = np.any([np.abs(two[place] - values) > SAME * np.maximum(1.0, np.abs(values)) for place in places], axis=0)
    if np.any(apart):
        at = indices[np.nonzero(apart)[0][0]].tolist()
        raise wrong(f"mo_2e_int_eri has two values for the element <{at[0]},{at[1]}|{at[2]},{at[3]}> or one equal to it by symmetry", "integrals of real orbitals have eight equal elements <pq|rs>, in physicists' notation")
    return two


def write(path: StrPath, dump: Dump) -> None:
    """A TREXIO file, HDF5, or a folder of texts where the name ends in `.text`. FileExistsError where something is there already. ImportError without the package `trexio`."""
    trexio = _library()
    if Path(path).exists():
        raise FileExistsError(f"{os.fspath(path)}: there is a file already; remove it, or take another name")
    n = len(dump.one)
    kind = trexio.TREXIO_TEXT if os.fspath(path).endswith(".text") else trexio.TREXIO_HDF5
    with trexio.File(os.fspath(path), "w", kind) as f:
        up = (dump.electrons + dump.multiplicity - 1) // 2
        trexio.write_electron_up_num(f, up)
        trexio.write_electron_dn_num(f, dump.electrons - up)
        trexio.write_electron_num(f, dump.electrons)
        trexio.write_nucleus_repulsion(f, dump.core)
        trexio.write_mo_num(f, n)
        if dump.energies is not None:
            trexio.write_mo_energy(f, dump.energies)
        trexio.write_mo_1e_int_core_hamiltonian(f, dump.one)
        offset = 0
        for p in range(n):
            q, r, s = np.nonzero(np.abs(dump.two[p]) > _KEPT)
            pq, rs = p * n + q, np.maximum(r, s) * n + np.minimum(r, s)
            once = (q <= p) & (s <= r) & (rs <= pq)
            q, r, s = q[once], r[once], s[once]
            where = np.stack([np.full_like(q, p), r, q, s], axis=1).astype(np.int32)
            if len(q):
                trexio.write_mo_2e_int_eri(f, offset, len(q), where, dump.two[p, q, r, s])
                offset += len(q)
