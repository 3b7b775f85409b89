"""Where the example programs are, of which methods and calculations are made."""

from __future__ import annotations

from pathlib import Path

from .job import program_path


def example_programs() -> Path:
    """The folder of the example programs: of this checkout, of the installation of sialrun, or of its checkout. FileNotFoundError where none has them."""
    folders = [Path(__file__).resolve().parents[3] / "examples"]
    try:
        program = Path(program_path(None)).resolve()  # DIR/bin/sialrun, or CHECKOUT/build/PRESET/bin/sialrun
        folders += [parent / below for parent, below in zip(list(program.parents)[1:4:2], ("share/sialx/examples", "examples"))]
    except FileNotFoundError:
        pass
    for folder in folders:
        if (folder / "19_equations" / "integrals.sialx").is_file():
            return folder
    raise FileNotFoundError(
        f"the example programs, of which methods take RHF and integrals, are in none of {', '.join(map(str, folders))}: "
        "put the bin folder of a build in a checkout on the PATH, or set SIALRUN to its sialrun"
    )
