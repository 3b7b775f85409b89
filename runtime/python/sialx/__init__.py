"""Job folders for sialx, and what its runs leave behind. See README.md."""

from .job import Job, JobError, JobWarning
from .molecule import Molecule, from_pyscf
from .plan import Plan
from .results import Results, SavedArray, UnknownName

__all__ = ["Job", "JobError", "JobWarning", "Molecule", "Plan", "Results", "SavedArray", "UnknownName", "from_pyscf"]
