"""Where the example programs are, of which methods and calculations are made."""

from __future__ import annotations

from pathlib import Path

from .job import program_path


def example_programs() -> Path:
    """The folder of the example programs: of this checkout, or of that of sialrun. FileNotFoundError where neither has them."""
    folders = [Path(__file__).resolve().parents[3] / "examples"]
    try:
        folders.append(Path(program_path(None)).resolve().parents[3] / "examples")
    except (FileNotFoundError, IndexError):
        pass
    for folder in folders:
        if (folder / "19_equations" / "integrals.sialx").is_file():
            return folder
    raise FileNotFoundError(
        f"the example programs, of which methods take RHF and integrals, are in none of {', '.join(map(str, folders))}: "
        "put the bin folder of a build in a checkout on the PATH, or set SIALRUN to its sialrun"
    )
