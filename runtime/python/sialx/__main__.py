"""`python3 -m sialx` prints the folder of the examples that are installed with this package."""

from __future__ import annotations

import sys
from pathlib import Path

from .programs import TREE


def main() -> None:
    package = Path(__file__).resolve().parent
    places = [tree / "share/sialx/examples" for tree in (TREE, *package.parents[3:4])]  # of a wheel; below lib/python3/dist-packages
    found = next((place for place in places if place.is_dir()), None)
    if found is None:
        sys.exit(f"error: no examples are installed with this package; there is no {' and no '.join(map(str, places))}")
    print(found)


main()
