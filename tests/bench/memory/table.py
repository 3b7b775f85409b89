"""Tables on the terminal."""
from __future__ import annotations


def amount(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.3g} {unit}" if size < 1000 else f"{size:.0f} {unit}"
        size /= 1000
    raise AssertionError


def show(cells: list[list[str]]) -> None:
    """The first row holds the heads; all columns but the first are flushed right."""
    widths = [max(len(row[n]) for row in cells if n < len(row)) for n in range(len(cells[0]))]
    for row in cells:
        print("  ".join(cell.ljust(widths[n]) if n == 0 else cell.rjust(widths[n]) for n, cell in enumerate(row)).rstrip())
