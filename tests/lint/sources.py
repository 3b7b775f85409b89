"""What the checks of this folder share: the commands of a build, the files of a target, the headers of the repository."""
import json
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def entries(build):
    """The rows of the build's compile_commands.json."""
    return json.loads((build / "compile_commands.json").read_text())


def words(entry):
    """The command of a row without compiled headers: the compiler, and its arguments."""
    return shlex.split(re.sub(r" -Winvalid-pch -include \S+/cmake_pch\.hxx", "", entry["command"]))


def is_unity(entry):
    return "/Unity/" in entry["file"]


def files(entry):
    """What a row compiles: the files that a unity file includes, else its own."""
    if not is_unity(entry):
        return [pathlib.Path(entry["file"])]
    return [pathlib.Path(name) for name in re.findall(r'^#include "(.+\.cpp)"$', pathlib.Path(entry["file"]).read_text(), re.M)]


def closure(first, following):
    """`first` and all that follows from it; following(x): what follows from one."""
    seen, open_ = set(first), list(first)
    while open_:
        new = set(following(open_.pop())) - seen
        seen |= new
        open_ += new
    return seen


def headers(*patterns):
    """The headers of the checkout that match, new ones included; None where there is no git checkout."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns], cwd=ROOT, capture_output=True, text=True)
    return None if listed.returncode else [name for name in listed.stdout.split() if (ROOT / name).exists()]
