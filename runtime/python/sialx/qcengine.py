"""sialx as a program of QCEngine, MolSSI's common way to run quantum chemistry programs (D. G. A. Smith et al., J. Chem. Phys. 155, 204801 (2021)). Needs
the package `qcengine`; the import registers the program.

    import qcengine
    import sialx.qcengine

    result = qcengine.compute(atomic_input, "sialx", task_config={"ncores": 2, "memory": 4})
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import qcengine
from qcelemental.models.v2 import AtomicInput, AtomicProperties, AtomicResult, Provenance
from qcelemental.util import safe_version
from qcengine.config import TaskConfig
from qcengine.exceptions import ConvergenceError, InputError, QCEngineException, RandomError, ResourceError, UnknownError
from qcengine.programs.model import ProgramHarness
from qcengine.programs.qcvar_identities_resources import qcvars_to_atomicproperties
from qcengine.util import create_mpi_invocation, temporary_directory

from . import processes
from .job import program_path

_ERRORS = {error.error_type: error for error in (ConvergenceError, InputError, RandomError, ResourceError)}


class SialxHarness(ProgramHarness):  # type: ignore[misc]  # qcengine has no types where it is not installed
    """Runs `sialrun --qcschema`, on ncores / cores_per_rank ranks on each of nnodes nodes; memory (GiB of a node) is shared out over its ranks.

    More than one rank is started with mpiexec_command, or `mpirun --bind-to none` where there is none, which serves one node. Files are in a folder of
    scratch_directory, which stays where scratch_messy says so. Molecules keep their orientation. Methods, drivers and keywords are those of `sialrun --qcschema`;
    what it says of a failure becomes an error of QCEngine of the same kind."""

    _defaults: ClassVar[dict[str, Any]] = {
        "name": "sialx",
        "scratch": True,
        "thread_safe": True,
        "thread_parallel": False,
        "node_parallel": True,
        "managed_memory": True,
    }
    version_cache: dict[str, str] = {}

    @staticmethod
    def found(raise_error: bool = False) -> bool:
        """Whether sialrun is there: on the PATH, or named by $SIALRUN."""
        try:
            there = os.access(program_path(None), os.X_OK)
            reason = "there is no such program as $SIALRUN names"
        except FileNotFoundError as error:
            there, reason = False, str(error)
        if raise_error and not there:
            raise ModuleNotFoundError(reason)
        return there

    def get_version(self) -> str:
        """That of sialrun."""
        self.found(raise_error=True)
        program = program_path(None)
        if program not in self.version_cache:
            done = subprocess.run([program, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode != 0:
                raise UnknownError(done.stderr)
            self.version_cache[program] = safe_version(done.stdout.split()[1])
        return self.version_cache[program]

    def compute(self, input_data: AtomicInput, config: TaskConfig) -> AtomicResult:
        """Raises the error of QCEngine that fits where the calculation fails."""
        self.found(raise_error=True)
        command = [*_launcher(config), "--qcschema", "in.json", "out.json", "--memory", str(_bytes_per_rank(config))]
        with temporary_directory(parent=config.scratch_directory, suffix="_sialx_scratch", messy=config.scratch_messy) as folder:
            where = Path(folder)
            (where / "in.json").write_text(json.dumps(_input(input_data), indent=1))
            done = processes.run(command, where, settings={name: str(config.cores_per_rank) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")})
            files = {path.name: path.read_text() for path in (where / "in.json", where / "out.json", where / "run.json") if path.is_file()}
        try:
            output = json.loads(files["out.json"])
        except (KeyError, ValueError):
            raise UnknownError(f"sialrun ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}") from None
        if done.returncode != 0 or output.get("success") is not True:
            raise _failure(output.get("error") or {}, done)
        return self._result(input_data, config, output, f"{shlex.join(command)}\n{done.stdout}", done.stderr, files)

    def _result(self, given: AtomicInput, config: TaskConfig, output: dict[str, Any], stdout: str, stderr: str, files: dict[str, str]) -> AtomicResult:
        properties = {key: value for key, value in output["properties"].items() if key in AtomicProperties.model_fields and key != "schema_name"}
        properties.setdefault("calcinfo_natom", len(given.molecule.symbols))
        if given.specification.model.method.lower() == "hf" and "return_gradient" in properties:
            properties.setdefault("scf_total_gradient", properties["return_gradient"])
        provenance = Provenance(creator="sialx", version=self.get_version(), routine="sialrun --qcschema").model_dump()
        native = {"input": files.pop("in.json"), **files}
        return AtomicResult(
            input_data=given,
            molecule=given.molecule,
            properties=properties,
            return_result=output["return_result"],
            stdout=stdout,
            stderr=stderr or None,
            native_files=native,
            success=True,
            provenance={**provenance, "ncores": config.ncores, "nnodes": config.nnodes},
            extras={**output.get("extras", {}), "qcvars": _variables(given, properties)},
        )


def _launcher(config: TaskConfig) -> list[str]:
    """What starts sialrun on the ranks of the task."""
    ranks = _ranks_per_node(config) * config.nnodes
    program = program_path(None)
    if config.use_mpiexec or (config.mpiexec_command and ranks > 1):
        return list(create_mpi_invocation(program, config))
    if config.nnodes > 1:
        raise InputError("more than one node needs mpiexec_command in the configuration")
    return [program] if ranks == 1 else ["mpirun", "--bind-to", "none", "-n", str(ranks), program]


def _ranks_per_node(config: TaskConfig) -> int:
    ranks: int = config.ncores // config.cores_per_rank
    if ranks < 1:
        raise InputError(f"{config.ncores} cores are fewer than the {config.cores_per_rank} of a rank")
    return ranks


def _bytes_per_rank(config: TaskConfig) -> int:
    return int(config.memory * 2**30) // _ranks_per_node(config)


def _input(given: AtomicInput) -> dict[str, Any]:
    """The input without what QCEngine does by itself."""
    whole: dict[str, Any] = json.loads(given.model_dump_json(exclude_none=True))
    whole["specification"].get("protocols", {}).pop("native_files", None)
    return whole


def _failure(error: dict[str, Any], done: subprocess.CompletedProcess[str]) -> QCEngineException:
    """What is raised for a failed operation."""
    kind = _ERRORS.get(error.get("error_type", ""), UnknownError)
    return kind(error.get("error_message") or done.stderr or f"sialrun ended with exit code {done.returncode}")


def _variables(given: AtomicInput, properties: dict[str, Any]) -> dict[str, Any]:
    """The properties by the names that QCEngine's own programs give them; gradients have the shape (atoms, 3)."""
    found = {name: properties[key] for name, key in qcvars_to_atomicproperties.items() if properties.get(key) is not None}
    method = given.specification.model.method.upper()
    if "HF TOTAL ENERGY" in found:
        found["CURRENT REFERENCE ENERGY"] = found["HF TOTAL ENERGY"]
    if f"{method} CORRELATION ENERGY" in found:
        found["CURRENT CORRELATION ENERGY"] = found[f"{method} CORRELATION ENERGY"]
    if "CCSD(T) TOTAL ENERGY" in found and "CCSD TOTAL ENERGY" in found:
        found["(T) CORRECTION ENERGY"] = found["CCSD(T) TOTAL ENERGY"] - found["CCSD TOTAL ENERGY"]
    if "CURRENT GRADIENT" in found:
        found["CURRENT GRADIENT"] = found[f"{method} TOTAL GRADIENT"] = np.reshape(found["CURRENT GRADIENT"], (-1, 3)).tolist()
    return found


def register() -> None:
    """Makes `sialx` known to QCEngine. Again it does nothing."""
    if "sialx" not in qcengine.list_all_programs():
        qcengine.register_program(SialxHarness())


register()
