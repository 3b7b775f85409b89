"""Tensor equations of coupled-cluster theory: read, checked, simplified. See EQUATIONS.md."""

from .diagnostics import EquationError, EquationWarning
from .model import Equation, Equations, Factor, Index, Permutation, Place, Source, Space, Tensor, Term
from .readers.pdaggerq import from_pdaggerq_ir
from .readers.wickd import from_wickd
from .simplify import collect_permutations, expand_permutations, simplify
from .text import from_text, to_text

__all__ = [
    "Equation",
    "EquationError",
    "EquationWarning",
    "Equations",
    "Factor",
    "Index",
    "Permutation",
    "Place",
    "Source",
    "Space",
    "Tensor",
    "Term",
    "collect_permutations",
    "expand_permutations",
    "from_pdaggerq_ir",
    "from_text",
    "from_wickd",
    "simplify",
    "to_text",
]
