"""A molecule for a job: geometry and basis set as the files that `[molecule]` of job.toml names.

Coordinates are held in bohr. Basis sets are per element: {"O": [(l, exponents, coefficients), ...]}, one entry per contracted
shell, coefficients for normalised primitives.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    # (angular momentum, exponents in bohr^-2, coefficients of normalised primitives), the last two of one length
    Shell = tuple[int, Sequence[float], Sequence[float]]
    Basis = Union[str, os.PathLike[str], dict[str, list[Shell]]]

# CODATA 2010, which sialx uses to read xyz files; PySCF has the same.
BOHR_IN_ANGSTROM = 0.52917721092
ANGULAR_LETTERS = "SPDFGHI"
ELEMENTS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe "
    "Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn"
).split()


@dataclass
class Molecule:
    """`symbols` with `coordinates` of shape (atoms, 3) in bohr; `basis` a name sialx ships, or one of the Basis Set Exchange where its package
    `basis_set_exchange` is installed; a file (its path as seen from here); or shells per element.

    charge: in units of the proton's. multiplicity: 2S + 1. frozen_core: True for the noble-gas cores of all atoms, or a number of orbitals.
    """

    symbols: list[str]
    coordinates: NDArray[np.float64]
    basis: Basis
    charge: int = 0
    multiplicity: int = 1
    spherical: bool = True
    frozen_core: bool | int = False
    comment: str = field(default="written by the sialx Python package")

    def __post_init__(self) -> None:
        self.symbols = list(self.symbols)
        self.coordinates = np.asarray(self.coordinates, dtype=float)
        if self.coordinates.shape != (len(self.symbols), 3):
            raise ValueError(f"{len(self.symbols)} atoms need coordinates of shape ({len(self.symbols)}, 3), not {self.coordinates.shape}")
        if not np.isfinite(self.coordinates).all():
            raise ValueError("coordinates must be finite")
        if isinstance(self.basis, dict):
            missing = sorted(set(self.symbols) - set(self.basis))
            if missing:
                raise ValueError(f"the basis set has no functions for {', '.join(missing)}")

    @property
    def electrons(self) -> int:
        """Their number where no effective core potential takes the place of some. ValueError for a symbol of no element."""
        numbers = {symbol: n for n, symbol in enumerate(ELEMENTS, 1)}
        total = -int(self.charge)
        for symbol in self.symbols:
            number = int(symbol) if symbol.isdigit() else numbers.get(symbol.capitalize())
            if number is None:
                raise ValueError(f"`{symbol}` is no element that sialx knows")
            total += number
        return total

    @property
    def functions(self) -> int:
        """The number of basis functions. ValueError where the basis set is not found, or has none for an element."""
        momenta = basis_momenta(self.basis, self.symbols)
        return sum(2 * l + 1 if self.spherical else (l + 1) * (l + 2) // 2 for symbol in self.symbols for l in momenta[symbol.capitalize()])

    @classmethod
    def from_xyz(cls, path: str | os.PathLike[str], basis: Basis, charge: int | None = None, multiplicity: int | None = None) -> Molecule:
        """Symbols and coordinates (Angstrom) of an xyz file: the number of atoms, a line of text, a line per atom. ValueError for anything else.

        Charge and multiplicity are those of the second line where it has `charge=` and `multiplicity=`, or `spin=` that can only be one, else 0 and 1. Those
        given here go before, with a warning where the file states others."""
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
        try:
            count = int(lines[0])
            atoms = [line.split() for line in lines[2 : 2 + count]]
            positions = [[float(x) for x in atom[1:4]] for atom in atoms]
            if count < 1 or len(atoms) < count or any(len(p) < 3 for p in positions):
                raise ValueError
        except (ValueError, IndexError):
            raise ValueError(f"`{os.fspath(path)}` is no xyz file: the number of atoms, a line of text, then lines of a symbol and three coordinates") from None
        said = _second_line(os.fspath(path), lines[1])
        for name, given in (("charge", charge), ("multiplicity", multiplicity)):
            if given is not None:
                if said.get(name, given) != given:
                    warnings.warn(f"`{os.fspath(path)}` states {name} {said[name]:g} in its second line, and {given} is given: {given} is taken", stacklevel=2)
                said[name] = given
        molecule = cls([atom[0] for atom in atoms], np.array(positions) / BOHR_IN_ANGSTROM, basis, int(said.get("charge", 0)), int(said.get("multiplicity", 1)))
        if said.get("spin", 0) != 0 and "multiplicity" not in said:
            molecule._take_spin(said["spin"], os.fspath(path))
        return molecule

    def _take_spin(self, spin: float, path: str) -> None:
        """As sialrun does (runtime/chemistry/molecule/xyz.cpp): of an odd number of electrons only one of 2S, 2S + 1 and S is possible."""
        two_s = 2 * spin if spin % 1 else spin - (spin % 2 == 0)
        try:
            odd = self.electrons % 2 == 1
        except ValueError:  # ghosts, labels
            odd = False
        if odd and two_s > 0 and two_s.is_integer():
            self.multiplicity = int(two_s) + 1
        else:
            warnings.warn(f"`spin={spin:g}` in the second line of `{path}` may be 2S or 2S + 1: the multiplicity is 1 unless you give it", stacklevel=3)

    def xyz(self) -> str:
        """The text of an xyz file (Angstrom) that reads back to the same coordinates to 1e-15 or so."""
        lines = [str(len(self.symbols)), self.comment.replace("\n", " ")]
        for symbol, position in zip(self.symbols, self.coordinates * BOHR_IN_ANGSTROM):
            lines.append(f"{symbol:<3s}" + "".join(f" {x:24.17g}" for x in position))
        return "\n".join(lines) + "\n"

    def gaussian94(self) -> str:
        """The text of a basis set file in the format of Gaussian 94. Raises ValueError where `basis` is a name or a file."""
        if not isinstance(self.basis, dict):
            raise ValueError(f"the basis set is given by name (`{self.basis}`): its shells are not known here")
        lines = ["****"]
        for symbol in sorted(set(self.symbols)):
            lines.append(f"{symbol}     0")
            for l, exponents, coefficients in self.basis[symbol]:
                if l >= len(ANGULAR_LETTERS):
                    raise ValueError(f"a shell of {symbol} has angular momentum {l}; sialx knows up to {len(ANGULAR_LETTERS) - 1}")
                lines.append(f"{ANGULAR_LETTERS[l]}   {len(exponents)}   1.00")
                lines += [f"  {e:26.17g}  {c:26.17g}" for e, c in zip(exponents, coefficients)]
            lines.append("****")
        return "\n".join(lines) + "\n"

    def write(self, folder: str | os.PathLike[str]) -> dict[str, str | int | bool]:
        """Writes the files into `folder` and returns the [molecule] table of job.toml."""
        folder = Path(folder)
        (folder / "molecule.xyz").write_text(self.xyz())
        if isinstance(self.basis, dict):
            (folder / "basis.g94").write_text(self.gaussian94())
            basis = "basis.g94"
        elif text := _of_exchange(os.fspath(self.basis), self.symbols):
            (folder / "basis.g94").write_text(text)
            basis = "basis.g94"
        else:
            basis = _basis(self.basis)
        table: dict[str, str | int | bool] = {"xyz": "molecule.xyz", "basis": basis, "charge": int(self.charge),
                                              "multiplicity": int(self.multiplicity)}
        if not self.spherical:
            table["spherical"] = False
        if self.frozen_core is not False:
            table["frozen_core"] = self.frozen_core
        return table


def _second_line(path: str, line: str) -> dict[str, float]:
    """The numbers that the second line of an xyz file has for charge, multiplicity and spin. ValueError for periodic cells, and columns in another order."""
    keys = {key.lower(): value.strip('"') for key, value in re.findall(r'(?:^|\s)(\w+)=("[^"]*"|\S+)', line)}
    if re.search("[Tt1]", keys.get("pbc", "T" if "lattice" in keys else "")):
        raise ValueError(f"the atoms of `{path}` are in a periodic cell, and sialx calculates molecules")
    if not keys.get("properties", "species:S:1:pos:R:3").startswith("species:S:1:pos:R:3"):
        raise ValueError(f"the columns of `{path}` are `{keys['properties']}`: they must begin with species:S:1:pos:R:3")
    names = {"charge": "charge", "total_charge": "charge", "multiplicity": "multiplicity", "mult": "multiplicity", "spin_multiplicity": "multiplicity", "spin": "spin"}
    said = {}
    for key, value in keys.items():
        if key in names:
            try:
                said[names[key]] = float(value.rstrip(",;"))
                if names[key] != "spin" and not said[names[key]].is_integer():
                    raise ValueError
            except ValueError:
                said.pop(names[key], None)
                warnings.warn(f"`{key}={value}` in the second line of `{path}` is ignored: it is no whole number", stacklevel=3)
    return said


def _basis(given: str | os.PathLike[str]) -> str:
    """A basis set as the job names it: a file, as seen from here, by its whole path; anything else as it is given."""
    text = os.fspath(given)
    is_path = isinstance(given, os.PathLike) or "/" in text or text.lower().endswith((".g94", ".gbs", ".nw"))  # sialx tells a file so
    return str(Path(text).resolve()) if is_path and Path(text).is_file() else text


def _of_exchange(name: str, symbols: Sequence[str]) -> str | None:
    """The basis set of this name as a file in the format of Gaussian 94, from the Basis Set Exchange (B. P. Pritchard et al., J. Chem. Inf. Model. 59, 4814
    (2019)). None where sialx ships it, where it is a file, or the package is not installed. ValueError for a name that nobody knows."""
    if "/" in name or Path(name).is_file() or _is_shipped(name):
        return None
    try:
        import basis_set_exchange  # type: ignore[import-not-found]
    except ImportError:
        return None
    elements = sorted({symbol.capitalize() for symbol in symbols})
    try:
        text = basis_set_exchange.get_basis(name, elements=elements, fmt="gaussian94", header=False)
    except (KeyError, RuntimeError, ValueError) as error:
        raise ValueError(f"the basis set `{name}` is none that sialx ships, and the Basis Set Exchange has it not: {error}") from None
    return str(text)


def _is_shipped(name: str) -> bool:
    """Whether sialrun finds a basis set of this name; also where it is not known which sialrun runs."""
    from .job import program_path

    try:
        program_path(None)
    except FileNotFoundError:
        return True
    return _shipped(name) is not None


def _with_stars(name: str) -> str:
    """6-31g(d,p) is 6-31g**, as for sialrun (runtime/chemistry/basis/basis.cpp)."""
    if name.startswith("6-31"):
        plain = name.replace(" ", "")
        for polarization, stars in (("(d)", "*"), ("(d,p)", "**")):
            if plain.endswith(polarization):
                return plain[: -len(polarization)] + stars
    return name


def _shipped(name: str) -> Path | None:
    """The file of a basis set that sialrun has."""
    from .job import program_path

    program = Path(program_path(None))
    stated = [Path(p) for p in os.environ.get("SIAL_BASIS_PATH", "").split(":") if p]
    folders = [*stated, *(parent / "share" / "sialx" / "basis" for parent in program.parents[1:3])]
    file = _with_stars(name.lower()).replace("*", "s") + ".g94"
    return next((folder / file for folder in folders if (folder / file).is_file()), None)


def _basis_text(name: str, symbols: Sequence[str]) -> str:
    """The text of a basis set in the format of Gaussian 94. ValueError where there is none of this name."""
    file = Path(_basis(name)) if Path(name).is_file() else _shipped(name)
    text = file.read_text() if file is not None else _of_exchange(name, symbols)
    if text is None:
        raise ValueError(f"there is no basis set `{name}`")
    return text


def basis_momenta(basis: Basis, symbols: Sequence[str]) -> dict[str, list[int]]:
    """The angular momenta of the shells of each element. ValueError where the basis set is not found, or has none for one of the symbols."""
    if isinstance(basis, dict):
        momenta = {symbol: [l for l, _, _ in shells] for symbol, shells in basis.items()}
    else:
        momenta = _momenta(_basis_text(os.fspath(basis), symbols))
    momenta = {symbol.capitalize(): of for symbol, of in momenta.items()}
    missing = sorted({s.capitalize() for s in symbols} - set(momenta))
    if missing:
        raise ValueError(f"the basis set has no functions for {', '.join(missing)}")
    return momenta


def _momenta(text: str) -> dict[str, list[int]]:
    """The angular momenta of the shells of each element, from the format of Gaussian 94 or NWChem."""
    out: dict[str, list[int]] = {}
    shells: list[int] | None = None
    element, columns = "", list[int]()  # of a shell of NWChem, whose rows say how many contractions it has
    is_potential = False  # ECP ... END of NWChem
    for line in text.splitlines():
        words = line.split()
        if words and words[0].lower() in ("basis", "ecp", "end"):
            is_potential = words[0].lower() == "ecp"
        elif is_potential:
            continue
        elif len(words) == 2 and words[1] == "0" and words[0].lstrip("-").isalpha():
            shells = out.setdefault(words[0].lstrip("-"), [])
        elif len(words) == 2 and words[0].isalpha() and set(words[1].upper()) <= set(ANGULAR_LETTERS):
            element, columns = words[0], [ANGULAR_LETTERS.index(letter) for letter in words[1].upper()]
        elif columns and words:
            out.setdefault(element, []).extend(columns if len(columns) > 1 else columns * (len(words) - 1))
            columns = []
        elif shells is not None and len(words) >= 2 and words[0].isalpha() and words[1].isdigit():
            shells += [ANGULAR_LETTERS.index(letter) for letter in words[0].upper()]
    return out


def from_pyscf(mol: Any, frozen_core: bool | int = False) -> Molecule:
    """The molecule of a built `pyscf.gto.Mole`: geometry, basis set, charge, spin, and whether functions are Cartesian.

    Raises ValueError for what sialx has no place for: effective core potentials, ghost atoms, different basis sets on
    atoms of one element, periodic cells, nuclei that are no points, and a part of the repulsion (`omega`).
    """
    if hasattr(mol, "lattice_vectors"):
        raise ValueError("the atoms are in a periodic cell, and sialx calculates molecules")
    if getattr(mol, "nucmod", None) or any(row[2] in (2, 3) for row in getattr(mol, "_atm", ())):  # NUC_MOD_OF: NUC_GAUSS, NUC_FRAC_CHARGE
        raise ValueError("the nuclei have a finite size (`nucmod`) or charges of their own, and those of sialx are points with the charge of their element")
    if getattr(mol, "omega", None):
        raise ValueError(f"the repulsion is a part of Coulomb's (`omega` is {mol.omega:g}), and sialx takes the whole")
    if getattr(mol, "_ecp", None):
        raise ValueError("the molecule has effective core potentials, which a job written from PySCF cannot carry")
    if hasattr(mol, "tot_electrons") and mol.nelectron != mol.tot_electrons():
        raise ValueError(f"the molecule has {mol.nelectron} electrons, and its charge {mol.charge} gives {mol.tot_electrons()}: set its charge and spin")
    symbols = [mol.atom_pure_symbol(a) for a in range(mol.natm)]
    for a, symbol in enumerate(symbols):
        if symbol.upper().startswith(("X", "GHOST")) and symbol.upper() != "XE":
            raise ValueError(f"atom {a} (`{mol.atom_symbol(a)}`) is a ghost")
    basis: dict[str, list[Shell]] = {}
    for a, symbol in enumerate(symbols):
        label = mol.atom_symbol(a)
        if label not in mol._basis and symbol not in mol._basis:
            raise ValueError(f"atom {a} (`{label}`) has no basis functions")
        shells = _shells(mol._basis.get(label, mol._basis.get(symbol)))
        if basis.setdefault(symbol, shells) != shells:
            raise ValueError(f"atoms of {symbol} have different basis sets; sialx has one per element")
    return Molecule(symbols, mol.atom_coords(), basis, int(mol.charge), int(mol.spin) + 1, not mol.cart, frozen_core)


def _shells(entries: Iterable[Sequence[Any]]) -> list[Shell]:
    """PySCF's [l, (kappa,) [exponent, c1, c2, ...], ...] as one shell per contraction, without primitives of coefficient 0."""
    shells: list[Shell] = []
    for entry in entries:
        l, rows = entry[0], entry[1:]
        if rows and isinstance(rows[0], (int, np.integer)):
            if rows[0] != 0:
                raise ValueError("the basis set has spinor shells")
            rows = rows[1:]
        for column in range(1, len(rows[0])):
            kept = [(float(row[0]), float(row[column])) for row in rows if row[column] != 0.0]
            shells.append((int(l), [e for e, _ in kept], [c for _, c in kept]))
    return shells
