"""Job folders for sialx, what its runs leave behind, and programs that run inside this process. See README.md."""

from . import equations
from .ao_order import AOOrder, ao_order
from .calculation import Calculation, calculate
from .equations.methods import method
from .examples import known_methods
from .filled import fill
from .hamiltonian import Hamiltonian, HartreeFock
from .in_process import CompileError, Diagnostic, Progress, RunResults, run
from .job import Job, JobError, JobWarning
from .magic import load_ipython_extension
from .molecule import Molecule, from_pyscf
from .optimization import Optimization, optimize
from .plan import Plan
from .results import Results, SavedArray, UnknownName

METHODS: tuple[str, ...]  # names that calculate() knows; read when it is first asked for


def __getattr__(name: str) -> tuple[str, ...]:
    if name == "METHODS":
        return tuple(known_methods().methods)
    raise AttributeError(f"module `sialx` has no attribute `{name}`")


__all__ = [
    "AOOrder",
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
    "ao_order",
    "calculate",
    "equations",
    "fill",
    "from_pyscf",
    "load_ipython_extension",
    "method",
    "optimize",
    "run",
]
