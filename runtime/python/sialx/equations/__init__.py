"""Tensor equations of coupled-cluster theory: read, checked, simplified, and made into SIAL programs and methods. See EQUATIONS.md."""

from .bounded import plan
from .diagnostics import EquationError, EquationWarning
from .iterating import iterations
from .methods import Method, MethodResults, method
from .model import Equation, Equations, Factor, Index, Permutation, Place, Source, Space, Tensor, Term
from .readers.pdaggerq import from_pdaggerq_ir
from .readers.wickd import from_wickd
from .sial import Program, to_sial
from .simplify import collect_permutations, expand_permutations, simplify
from .spin import closed_shell
from .statements import Plan, Statement
from .text import from_text, to_text
from .unrestricted import unrestricted

__all__ = [
    "Equation",
    "EquationError",
    "EquationWarning",
    "Equations",
    "Factor",
    "Index",
    "Method",
    "MethodResults",
    "Permutation",
    "Place",
    "Plan",
    "Program",
    "Source",
    "Space",
    "Statement",
    "Tensor",
    "Term",
    "closed_shell",
    "collect_permutations",
    "expand_permutations",
    "from_pdaggerq_ir",
    "from_text",
    "from_wickd",
    "iterations",
    "method",
    "plan",
    "simplify",
    "to_sial",
    "to_text",
    "unrestricted",
]
