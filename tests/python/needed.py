"""Packages that a test script needs: those of the Python that runs it, or of build/python-venv, which packages.sh makes."""
import importlib.util
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ENV, ROOT, skip

_TRIED = "SIALX_TESTS_IN_VENV"


def need(*modules: str) -> None:
    """Goes on in build/python-venv where a module is missing here; where it is missing there, too, the script ends as skipped."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if not missing:
        return
    venv = ROOT / "build" / "python-venv" / "bin" / "python"
    if venv.is_file() and _TRIED not in os.environ:
        os.environ[_TRIED] = "1"
        os.execv(venv, [str(venv), *sys.argv, "--bin", str(BIN)])
    skip(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed; bash tests/python/packages.sh installs what the tests need")


def use() -> None:
    """The package of this checkout with the programs under test, more ranks than cores allowed."""
    sys.path.insert(0, str(ROOT / "runtime" / "python"))
    os.environ.update(ENV, SIALRUN=str(BIN / "sialrun"))
