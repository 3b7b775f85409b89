"""Packages that a test script needs: those of the Python that runs it, or of build/python-venv, which packages.sh makes."""
import importlib.util
import os
import pathlib
import sys
from typing import NoReturn

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77  # SKIP_RETURN_CODE of CTest
_TRIED = "SIALX_TESTS_IN_VENV"


def need(*modules: str) -> None:
    """Goes on in build/python-venv where a module is missing here; where it is missing there, too, the script ends as skipped."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if not missing:
        return
    venv = ROOT / "build" / "python-venv" / "bin" / "python"
    if venv.is_file() and _TRIED not in os.environ:
        os.environ[_TRIED] = "1"
        os.execv(venv, [str(venv), *sys.argv])
    skip(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed; bash tests/python/packages.sh installs what the tests need")


def skip(reason: str) -> NoReturn:
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def use(folder: str) -> None:
    """The package of this checkout with the programs in `folder`, more ranks than cores allowed."""
    sys.path.insert(0, str(ROOT / "runtime" / "python"))
    os.environ.update(SIALRUN=str(pathlib.Path(folder) / "sialrun"), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
