"""Job folders for sialx, what its runs leave behind, and programs that run inside this process. See README.md."""

from . import equations
from .calculation import METHODS, Calculation, calculate
from .equations.methods import method
from .filled import fill
from .hamiltonian import Hamiltonian, HartreeFock
from .in_process import CompileError, Diagnostic, Progress, RunResults, run
from .job import Job, JobError, JobWarning
from .magic import load_ipython_extension
from .molecule import Molecule, from_pyscf
from .optimization import Optimization, optimize
from .plan import Plan
from .results import Results, SavedArray, UnknownName

__all__ = [
    "METHODS",
    "Calculation",
    "CompileError",
    "Diagnostic",
    "Hamiltonian",
    "HartreeFock",
    "Job",
    "JobError",
    "JobWarning",
    "Molecule",
    "Optimization",
    "Plan",
    "Progress",
    "Results",
    "RunResults",
    "SavedArray",
    "UnknownName",
    "calculate",
    "equations",
    "fill",
    "from_pyscf",
    "load_ipython_extension",
    "method",
    "optimize",
    "run",
]
