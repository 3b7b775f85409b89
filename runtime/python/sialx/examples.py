"""Where the example programs are, of which methods and calculations are made, and the table of the methods that are known by name."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from .job import program_path

_TABLE = "methods.json"  # in the folder of the examples; `sialrun --qcschema` reads it, too


@dataclass(frozen=True)
class Method:
    """programs: below the folder of the examples. energy: the scalar that is the total energy. has_dipole: the programs leave the dipole moment of the
    method, not only that of the orbitals that it starts from."""

    programs: tuple[str, ...]
    energy: str
    unrestricted: bool
    has_dipole: bool


@dataclass(frozen=True)
class MethodTable:
    """methods: by name, those over UHF by a name that says so ("ump2"). other_names: of the same ("rmp2": "mp2")."""

    methods: dict[str, Method]
    other_names: dict[str, str]


def example_programs() -> Path:
    """The folder of the example programs: $SIAL_EXAMPLES_PATH, that of this checkout, of the installation of sialrun, or of its checkout. FileNotFoundError
    where none has them."""
    given = os.environ.get("SIAL_EXAMPLES_PATH")
    folders = [Path(given)] if given else [Path(__file__).resolve().parents[3] / "examples"]
    try:
        program = Path(program_path(None)).resolve()  # DIR/bin/sialrun, or CHECKOUT/build/PRESET/bin/sialrun
        if not given:
            folders += [parent / below for parent, below in zip(list(program.parents)[1:4:2], ("share/sialx/examples", "examples"))]
    except FileNotFoundError:
        pass
    for folder in folders:
        if (folder / _TABLE).is_file():
            return folder
    raise FileNotFoundError(
        f"the example programs, of which methods take RHF and integrals, are in none of {', '.join(map(str, folders))}: "
        "put the bin folder of a build in a checkout on the PATH, or set SIALRUN to its sialrun"
    )


def known_methods() -> MethodTable:
    """The table beside the example programs. FileNotFoundError where these are not there, ValueError where it is no such table."""
    return _read(example_programs() / _TABLE)


def _read(path: Path) -> MethodTable:
    methods, others = {}, {}
    try:
        for row in json.loads(path.read_text(encoding="utf-8")):
            unrestricted = row["reference"] == "uhf"
            name = row["full_name"] if unrestricted else row["name"]
            methods[name] = Method(tuple(row["programs"]), row["energy"], unrestricted, row["has_dipole"])
            if not unrestricted:
                others[row["full_name"]] = name
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"`{path}` is no table of methods: {error!r}") from error
    return MethodTable(methods, others)
