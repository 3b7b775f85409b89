"""Job folders for sialx, and what its runs leave behind. See README.md."""

from .job import Job, JobError
from .molecule import Molecule, from_pyscf
from .results import Results

__all__ = ["Job", "JobError", "Molecule", "Results", "from_pyscf"]
