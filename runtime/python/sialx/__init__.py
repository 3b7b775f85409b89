"""Job folders for sialx, what its runs leave behind, and programs that run inside this process. See README.md."""

from . import equations
from .equations.methods import method
from .filled import fill
from .hamiltonian import Hamiltonian, HartreeFock
from .in_process import CompileError, Diagnostic, Progress, RunResults, run
from .job import Job, JobError, JobWarning
from .magic import load_ipython_extension
from .molecule import Molecule, from_pyscf
from .plan import Plan
from .results import Results, SavedArray, UnknownName

__all__ = [
    "CompileError",
    "Diagnostic",
    "Hamiltonian",
    "HartreeFock",
    "Job",
    "JobError",
    "JobWarning",
    "Molecule",
    "Plan",
    "Progress",
    "Results",
    "RunResults",
    "SavedArray",
    "UnknownName",
    "equations",
    "fill",
    "from_pyscf",
    "load_ipython_extension",
    "method",
    "run",
]
