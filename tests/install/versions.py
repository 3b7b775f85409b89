#!/usr/bin/env python3
"""What `--version` says is what the files say, and what runtime/RELEASES.md says.

    versions.py --bin DIR
"""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py

from harness import BIN, ROOT, main

TOOLS = ("sialrun", "sialc", "sialreport")
FORMATS = ("module format (.siox)", "run.json format", "results.h5 format", "checkpoint format", "plugin interface")
PROGRAM = """sial s
index k = 1:4
scalar x
do k
  x += 1.0
  sip_barrier
enddo k
endsial s
"""


def call(tool, *args, cwd=None):
    return subprocess.run([BIN / tool, *map(str, args)], cwd=cwd, check=True, capture_output=True, text=True, timeout=60).stdout


def searched_anywhere(folder):
    """Programs and libraries of a tree whose search paths hold the current folder (an empty element) or any other that is not absolute."""
    found, n = [], 0
    for file in folder.rglob("*"):
        if file.is_symlink() or not file.is_file() or not (os.access(file, os.X_OK) or ".so" in file.name):
            continue
        dynamic = subprocess.run(["readelf", "-d", file], capture_output=True, text=True).stdout
        n += "NEEDED" in dynamic
        for path in re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", dynamic):
            found += [f"{file}: {path}" for element in path.split(":") if not element.startswith(("/", "$ORIGIN"))]
    if n < len(TOOLS):
        sys.exit(f"error: readelf finds {n} programs and libraries in {folder}")
    return found


def facts(text):
    return dict(line.split(": ", 1) for line in text.splitlines()[1:])


def module_format(data):
    """The first field of the root table of a FlatBuffers file."""
    (table,) = struct.unpack_from("<I", data, 0)
    (to_fields,) = struct.unpack_from("<i", data, table)
    (offset,) = struct.unpack_from("<H", data, table - to_fields + 4)
    return struct.unpack_from("<I", data, table + offset)[0]


class Versions(unittest.TestCase):
    def test_three_programs_say_the_same(self):
        texts = {tool: call(tool, "--version") for tool in TOOLS}
        for tool, text in texts.items():
            self.assertRegex(text.splitlines()[0], rf"^{tool} \d+\.\d+\.\d+$")
        self.assertEqual(len({text.partition(" ")[2] for text in texts.values()}), 1, texts)
        said = facts(texts["sialrun"])
        for key in (*FORMATS, "commit", "built with MPI", "built with BLAS", "built with LLVM", "built with HDF5", "built with libint", "built with TREXIO", "built with CUDA headers"):
            self.assertTrue(said.get(key), key)
        self.assertTrue(call("sialrun", "--version", "--verbose").startswith(texts["sialrun"]))

    def test_no_library_is_searched_in_the_current_folder(self):
        self.assertEqual(searched_anywhere(BIN), [])

    def test_the_commit(self):
        said = facts(call("sialc", "--version"))["commit"]
        head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True)
        if head.returncode != 0:
            self.assertIn("unknown", said)
            return
        # A build may be older than the checkout.
        self.assertRegex(said, r"^[0-9a-f]{12}( and changes)?$")
        self.assertEqual(subprocess.run(["git", "-C", ROOT, "cat-file", "-e", said.split()[0] + "^{commit}"], capture_output=True).returncode, 0, said)

    def test_numbers_are_those_of_the_files(self):
        said = {key: int(value) for key, value in facts(call("sialrun", "--version")).items() if key in FORMATS}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "s.sialx").write_text(PROGRAM)
            call("sialc", "s.sialx", cwd=folder)
            subprocess.run([BIN / "sialrun", "s.siox", "--checkpoint-every", "0", "--stop-after", "1"], cwd=folder, capture_output=True, timeout=60)
            self.assertEqual(json.loads((folder / "checkpoint/index.json").read_text())["format"], said["checkpoint format"])
            call("sialrun", "s.siox", cwd=folder)
            self.assertEqual(json.loads((folder / "run.json").read_text())["format"], said["run.json format"])
            with h5py.File(folder / "results.h5") as f:
                self.assertEqual(f.attrs["format_version"], said["results.h5 format"])
            self.assertEqual(module_format((folder / "s.siox").read_bytes()), said["module format (.siox)"])
        header = (ROOT / "runtime/core/super/include/sialx/plugin.h").read_text()
        self.assertEqual(int(re.search(r"define SIALX_PLUGIN_VERSION (\d+)", header)[1]), said["plugin interface"])

    def test_the_page(self):
        said = facts(call("sialrun", "--version"))
        page = (ROOT / "runtime/RELEASES.md").read_text()
        for key in FORMATS:
            self.assertIn(f"| {key} | {said[key]} |", page)
        version = call("sialrun", "--version").split()[1]
        self.assertIn(f"| program | {version} |", page)
        self.assertIn(f"\n## {version}\n", page)
        self.assertIn(f'version = "{version}"', (ROOT / "runtime/python/pyproject.toml").read_text())


if __name__ == "__main__":
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
    os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    main()
