"""`python3 -m sialx` prints the folder of the example programs."""

from __future__ import annotations

import sys

from .examples import example_programs

try:
    print(example_programs())
except FileNotFoundError as error:
    sys.exit(f"error: {error}")
