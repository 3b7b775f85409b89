"""Reading and writing FCIDUMP files: P. J. Knowles, N. C. Handy, Comput. Phys. Commun. 54, 75 (1989)."""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Dict, List, NoReturn, Optional, Sequence, Tuple, Union

import numpy as np

from .equations.diagnostics import did_you_mean, stacklevel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    StrPath = Union[str, "os.PathLike[str]"]

SAME = 1e-8  # up to which elements that a file has more than once are equal, absolute, or relative to elements above 1
_KEY = re.compile(r"\s*,?\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\([^)]*\))?\s*=\s*")
_END = re.compile(r"(?:^|(?<=[\s,]))(?:&END\b|\$END\b|/)", re.IGNORECASE)
_COUNTS = ("NORB", "NELEC", "MS2", "ISYM")
_WITHOUT_EFFECT = ("SYML", "SYMLZ", "PROPBITLEN", "NPROP", "OCC", "CLOSED", "FROZEN", "CORE", "ST", "III", "NPRTL", "MEMORY", "THRESH")  # of other programs


@dataclass(frozen=True)
class Dump:
    """What an FCIDUMP file says. one: h[p,q]; two: (pq|rs); energies: of orbitals, None where the file does not have all."""

    electrons: int
    multiplicity: int
    symmetries: Tuple[int, ...]
    symmetry: int
    core: float
    one: NDArray[np.float64]
    two: NDArray[np.float64]
    energies: Optional[NDArray[np.float64]]


class _File:
    """The lines of a file, and errors that say where they are."""

    def __init__(self, path: StrPath) -> None:
        self.name = os.fspath(path)
        try:
            self.lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as e:
            raise ValueError(f"{self.name}: the file cannot be read: {e.strerror or e}") from None

    def wrong(self, line: int, message: str, remedy: str = "") -> NoReturn:
        """line: counted from 1; 0 where there is none."""
        place = f"{self.name}:{line}: " if line else f"{self.name}: "
        shown = "".join(c if c.isprintable() else " " for c in self.lines[line - 1].strip()[:120]) if 0 < line <= len(self.lines) else ""
        raise ValueError("\n".join([f"{place}{message}", *([f"    {shown}"] if shown else []), *([f"    hint: {remedy}"] if remedy else [])]))


@dataclass
class _Header:
    values: Dict[str, List[str]] = field(default_factory=dict)
    lines: Dict[str, int] = field(default_factory=dict)  # of each key
    end: int = 0  # the number of the first line after the namelist


def _header(file: _File) -> _Header:
    """The namelist, over any number of lines."""
    first = next((n for n, line in enumerate(file.lines, 1) if line.strip()), 0)
    if not first:
        file.wrong(0, "the file is empty", "an FCIDUMP file begins with &FCI NORB=...,NELEC=...,MS2=...,")
    opening = re.match(r"\s*[&$]FCI\b", file.lines[first - 1], re.IGNORECASE)
    if not opening:
        file.wrong(first, "an FCIDUMP file begins with the namelist &FCI", "is this another file?")
    out, text, starts = _Header(), "", []
    for n in range(first, len(file.lines) + 1):
        line = file.lines[n - 1][opening.end() :] if n == first else file.lines[n - 1]
        line = line.split("!")[0]
        end = _END.search(line)
        starts.append((len(text), n))
        text += (line[: end.start()] if end else line) + "\n"
        if end:
            if line[end.end() :].strip():
                file.wrong(n, "there is text after the end of the namelist", "integrals begin in a line of their own")
            out.end = n + 1
            break
    else:
        file.wrong(first, "the namelist &FCI has no end", "it ends with a line &END or /")

    def line_of(place: int) -> int:
        return [n for start, n in starts if start <= place][-1]

    keys = list(_KEY.finditer(text))
    ends = [*(key.start() for key in keys[1:]), len(text)]
    before = text[: keys[0].start()] if keys else text
    if before.strip(" \t\n,"):
        file.wrong(line_of(len(before) - len(before.lstrip(" \t\n,"))), f"`{before.strip()}` is no key of the namelist with a value", "keys look like NORB=7")
    for key, stop in zip(keys, ends):
        name, at = key[1].upper(), line_of(key.start(1))
        if name in out.values:
            file.wrong(at, f"{name} is there twice", f"it is in line {out.lines[name]} already; leave one out")
        out.values[name] = re.split(r"[\s,]+", text[key.end() : stop].strip(" \t\n,"))
        out.lines[name] = at
    return out


def _integer(file: _File, header: _Header, name: str, default: Optional[int] = None) -> int:
    if name not in header.values:
        if default is None:
            file.wrong(1, f"the namelist has no {name}", f"add {name}=... to &FCI: the number of {'orbitals' if name == 'NORB' else 'electrons'}")
        return default
    words = header.values[name]
    if len(words) != 1 or not re.fullmatch(r"[+-]?\d+", words[0]):
        file.wrong(header.lines[name], f"{name}={','.join(words)} is no integer", f"{name} takes one integer")
    return int(words[0])


def _symmetries(file: _File, header: _Header, orbitals: int) -> Tuple[int, ...]:
    if "ORBSYM" not in header.values:
        return (1,) * orbitals
    found: List[int] = []
    for word in header.values["ORBSYM"]:
        repeated = re.fullmatch(r"(?:(\d{1,6})\*)?(\d+)", word)
        if not repeated:
            file.wrong(header.lines["ORBSYM"], f"`{word}` in ORBSYM is no integer", "ORBSYM has the number of an irreducible representation per orbital")
        found += int(repeated[1] or 1) * [int(repeated[2])]
    if len(found) != orbitals:
        file.wrong(header.lines["ORBSYM"], f"ORBSYM has {len(found)} numbers, and NORB={orbitals}", "ORBSYM has one number per orbital")
    return tuple(found)


def _refused(file: _File, header: _Header) -> None:
    """Files that hold something else than real integrals over the orbitals of both spins."""
    for name, remedy in (
        ("UHF", "orbitals that differ between alpha and beta (six groups of integrals) cannot be read: write the file with restricted orbitals"),
        ("IUHF", "orbitals that differ between alpha and beta (six groups of integrals) cannot be read: write the file with restricted orbitals"),
        ("TREL", "integrals over spinors cannot be read: write the file without spin-orbit coupling"),
        ("RELCC", "integrals over spinors cannot be read: write the file without spin-orbit coupling"),
    ):
        word = header.values.get(name, [""])[0].strip(".").upper()
        if word and not (word.startswith("F") or word == "0"):
            file.wrong(header.lines[name], f"{name}={header.values[name][0]}", remedy)
    known = ("ORBSYM", *_COUNTS, "UHF", "IUHF", "TREL", "RELCC", *_WITHOUT_EFFECT)
    for name, line in header.lines.items():
        if name not in known:
            hint = did_you_mean(name, known)
            warnings.warn(f"{file.name}:{line}: `{name}` of the namelist is not known and left out{f' ({hint})' if hint else ''}", stacklevel=stacklevel())


def _records(file: _File, begin: int, orbitals: int) -> Tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Values, their four indices, and their lines."""
    values: List[float] = []
    indices: List[Tuple[int, int, int, int]] = []
    lines: List[int] = []
    for n in range(begin, len(file.lines) + 1):
        words = file.lines[n - 1].replace("_", "?").split()  # Python has 1_000, and files do not
        if not words:
            continue
        if words[0].startswith("("):
            file.wrong(n, "complex integrals cannot be read", "write the file with real orbitals")
        if len(words) != 5:
            shape = "is this the complex form, with two numbers?" if len(words) == 6 else "a line is `value i j k l`"
            file.wrong(n, f"{len(words)} words where a value and four indices are expected", shape)
        try:
            value = float(words[0].replace("D", "E").replace("d", "e"))
            i, j, k, m = map(int, words[1:])
        except ValueError:
            file.wrong(n, "a word that is no number", "a line is `value i j k l`, with integers i, j, k, l")
        if not np.isfinite(value):
            file.wrong(n, f"the value {words[0]} is not finite", "integrals are finite numbers")
        if not all(0 <= x <= orbitals for x in (i, j, k, m)):
            file.wrong(n, f"an index outside 1 to NORB={orbitals}", "indices count from 1; 0 stands for none")
        if not ((k > 0 and m > 0 and i > 0 and j > 0) or (k == m == 0 and (i > 0 or j == 0))):
            file.wrong(n, "indices of no integral", "(ij|kl) has four, h has `i j 0 0`, the energy of an orbital `i 0 0 0`, the energy of the core `0 0 0 0`")
        values.append(value)
        indices.append((i, j, k, m))
        lines.append(n)
    return np.array(values), np.array(indices, dtype=np.int64).reshape(-1, 4), np.array(lines, dtype=np.int64)


def _once(file: _File, values: NDArray[np.float64], indices: NDArray[np.int64], lines: NDArray[np.int64], orbitals: int) -> Tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Each element once, with i >= j, k >= l, ij >= kl. Elements that the file has twice have to be equal."""
    i, j = np.maximum(indices[:, 0], indices[:, 1]), np.minimum(indices[:, 0], indices[:, 1])
    k, m = np.maximum(indices[:, 2], indices[:, 3]), np.minimum(indices[:, 2], indices[:, 3])
    n = orbitals + 1
    left, right = i * n + j, k * n + m
    key = np.maximum(left, right) * n**2 + np.minimum(left, right)
    order = np.argsort(key, kind="stable")
    firsts = np.ones(len(order), dtype=bool)
    firsts[1:] = key[order][1:] != key[order][:-1]
    first_of = order[firsts][np.cumsum(firsts) - 1]  # of each in the sorted order, the first of its key
    apart = np.abs(values[order] - values[first_of]) > SAME * np.maximum(1.0, np.abs(values[first_of]))
    if np.any(apart):
        line = int(np.min(lines[order][apart]))
        at = int(np.nonzero(lines[order] == line)[0][0])
        other = first_of[at]
        file.wrong(
            line, f"the element has another value in line {lines[other]}, {float(values[other])!r}",
            "an integral equals those with i and j, k and l, or ij and kl exchanged, over real orbitals, and has one value; integrals of alpha and beta orbitals (UHF) cannot be read",
        )
    kept = order[firsts]
    return values[kept], np.stack([i, j, k, m], axis=1)[kept]


def read(path: StrPath) -> Dump:
    """The contents of an FCIDUMP file. ValueError with the file, the line and the remedy where it is none, or one over spinors or orbitals that
    differ between the spins."""
    file = _File(path)
    header = _header(file)
    _refused(file, header)
    n, electrons, unpaired = _integer(file, header, "NORB"), _integer(file, header, "NELEC"), _integer(file, header, "MS2", 0)
    if n < 1:
        file.wrong(header.lines["NORB"], f"NORB={n}", "a Hamiltonian has at least one orbital")
    if unpaired < 0 or (electrons - unpaired) % 2 or not 0 <= electrons <= 2 * n or unpaired > electrons or (electrons + unpaired) // 2 > n:
        where = header.lines["NELEC"]
        file.wrong(where, f"NELEC={electrons} and MS2={unpaired} do not fit NORB={n}", "MS2 is the number of unpaired electrons, even where NELEC is, and orbitals hold two electrons each")
    symmetries, symmetry = _symmetries(file, header, n), _integer(file, header, "ISYM", 1)
    values, indices = _once(file, *_records(file, header.end, n), n)
    try:
        one, two = np.zeros((n, n)), np.zeros((n, n, n, n))
    except MemoryError:
        file.wrong(header.lines["NORB"], f"NORB={n}: {8e-9 * n**4:.1f} GB of integrals do not fit the memory", "take fewer orbitals")
    of_two, of_one = indices[:, 2] > 0, (indices[:, 2] == 0) & (indices[:, 1] > 0)
    of_energy, of_core = (indices[:, 1] == 0) & (indices[:, 0] > 0), indices[:, 0] == 0
    p, q, r, s = (indices[of_two] - 1).T
    for a, b, c, d in ((p, q, r, s), (q, p, r, s), (p, q, s, r), (q, p, s, r), (r, s, p, q), (s, r, p, q), (r, s, q, p), (s, r, q, p)):
        two[a, b, c, d] = values[of_two]
    p, q = (indices[of_one, :2] - 1).T
    one[p, q] = one[q, p] = values[of_one]
    if not np.any(of_core):
        warnings.warn(f"{file.name}: there is no energy of the core (`value 0 0 0 0`), and it is taken as 0: is the file complete?", stacklevel=stacklevel())
    energies = None
    if np.count_nonzero(of_energy) == n:
        energies = np.zeros(n)
        energies[indices[of_energy, 0] - 1] = values[of_energy]
    return Dump(electrons, unpaired + 1, symmetries, symmetry, float(np.sum(values[of_core])), one, two, energies)


def write(path: StrPath, dump: Dump, threshold: float) -> None:
    """An FCIDUMP file with each element once. Integrals up to the threshold are left out; all others are written with 17 digits, which give the same
    number again."""
    n = len(dump.one)
    with open(path, "w", encoding="ascii") as out:
        out.write(f"&FCI NORB={n},NELEC={dump.electrons},MS2={dump.multiplicity - 1},\n  ORBSYM={','.join(map(str, dump.symmetries))},\n  ISYM={dump.symmetry},\n&END\n")

        def line(value: float, *indices: int) -> None:
            out.write(f"{value:24.16E} {' '.join(f'{i:4d}' for i in indices)}\n")

        for p in range(n):
            for q in range(p + 1):
                block = dump.two[p, q, : p + 1]
                for r, s in zip(*(x.tolist() for x in np.nonzero(np.abs(np.tril(block[:, : p + 1])) > threshold))):
                    if r < p or s <= q:
                        line(float(block[r, s]), p + 1, q + 1, r + 1, s + 1)
        for p in range(n):
            for q in range(p + 1):
                if abs(dump.one[p, q]) > threshold:
                    line(float(dump.one[p, q]), p + 1, q + 1, 0, 0)
        if dump.energies is not None:
            for p in range(n):
                line(float(dump.energies[p]), p + 1, 0, 0, 0)
        line(dump.core, 0, 0, 0, 0)


def as_symmetries(symmetries: Optional[Sequence[int]], orbitals: int) -> Tuple[int, ...]:
    out = (1,) * orbitals if symmetries is None else tuple(int(x) for x in symmetries)
    if len(out) != orbitals or any(x < 0 for x in out):
        raise ValueError(f"symmetries are one number of an irreducible representation per orbital, of which there are {orbitals}; given: {list(out)}")
    return out
