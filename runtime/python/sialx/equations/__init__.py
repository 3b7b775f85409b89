"""Tensor equations of coupled-cluster theory: read, checked, simplified. See EQUATIONS.md."""

from .model import Equation, Equations, Factor, Index, Permutation, Place, Source, Space, Tensor, Term

__all__ = ["Equation", "Equations", "Factor", "Index", "Permutation", "Place", "Source", "Space", "Tensor", "Term"]
