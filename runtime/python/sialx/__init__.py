"""Job folders for sialx, what its runs leave behind, and programs that run inside this process. See README.md."""

from .in_process import CompileError, Diagnostic, RunResults, run
from .job import Job, JobError, JobWarning
from .molecule import Molecule, from_pyscf
from .plan import Plan
from .results import Results, SavedArray, UnknownName

__all__ = [
    "CompileError",
    "Diagnostic",
    "Job",
    "JobError",
    "JobWarning",
    "Molecule",
    "Plan",
    "Results",
    "RunResults",
    "SavedArray",
    "UnknownName",
    "from_pyscf",
    "run",
]
