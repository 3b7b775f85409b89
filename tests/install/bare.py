#!/usr/bin/env python3
"""An installed tree in a root folder of its own, where there is nothing else but the libraries that it needs and a shell: no sources, no compiler, no Python.

    bare.py --build DIR --cmake CMAKE --cxx CXX

Needs namespaces (unshare) and says so where there are none: exit code 77, skipped."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ROOT, SKIPPED  # noqa: E402

OPTIONS = None
# With /proc, which programs find themselves by, and /dev; as root, or as whom a namespace takes for root.
ENTER = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && cd "$0" && exec chroot . /bin/sh -c "cd /home && $1"'


def namespace():
    return ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]


def libraries_of(files):
    """What the loader finds for these files, itself included."""
    found = set()
    for file in files:
        text = subprocess.run(["ldd", file], capture_output=True, text=True).stdout
        found.update(re.findall(r"(?:=> )?(/\S+) \(0x", text))
    return found


def is_elf(file):
    with open(file, "rb") as f:
        return f.read(4) == b"\x7fELF"


class Bare(unittest.TestCase):
    dir: pathlib.Path
    root: pathlib.Path

    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="sialx-bare-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        cls.root = cls.dir / "root"
        for name in ("proc", "dev", "bin", "tmp", "home"):
            (cls.root / name).mkdir(parents=True)
        can = subprocess.run([*namespace(), "sh", "-c", 'mount --rbind /proc "$0/proc"', cls.root], capture_output=True, text=True)
        if can.returncode != 0:
            print(f"skipped: no namespace with a root folder of its own can be made here: {can.stderr.strip()}")
            sys.exit(SKIPPED)
        done = subprocess.run([OPTIONS.cmake, "--install", OPTIONS.build, "--prefix", cls.root / "opt/sialx"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
        shutil.copy("/bin/sh", cls.root / "bin/sh", follow_symlinks=True)
        # A plugin, built outside with the tree's own header, by what the tree says of itself.
        tree, plugin = cls.root / "opt/sialx", cls.dir / "plugin"
        source = tree / "share/sialx/examples/15_plugin"
        subprocess.run([OPTIONS.cmake, "-S", source, "-B", plugin, f"-DCMAKE_PREFIX_PATH={tree}", f"-DCMAKE_CXX_COMPILER={OPTIONS.cxx}"], check=True, capture_output=True)
        subprocess.run([OPTIONS.cmake, "--build", plugin], check=True, capture_output=True)
        shutil.copy(plugin / "my_instructions.so", cls.root / "home")
        code = [f for f in [cls.root / "bin/sh", *tree.glob("bin/*"), *tree.glob("lib/sialx/lib*"), cls.root / "home/my_instructions.so"] if is_elf(f)]
        for library in libraries_of(code):
            copied = cls.root / library.lstrip("/")
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, copied, follow_symlinks=True)

    def inside(self, command):
        words = [*namespace(), "env", "-i", "PATH=/opt/sialx/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home", "sh", "-c", ENTER, self.root, command]
        done = subprocess.run(list(map(str, words)), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def agree(self, expected):
        done = subprocess.run([sys.executable, ROOT / "examples/compare.py", self.root / "home/results.h5", ROOT / expected], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_nothing_of_the_sources_is_there(self):
        self.inside("! command -v cc && ! command -v python3 && ! command -v mpirun")
        self.assertFalse((self.root / str(ROOT).lstrip("/")).exists())

    def test_hello_compiled_and_run(self):
        said = self.inside("sialc /opt/sialx/share/sialx/examples/01_hello/hello.sialx -o hello.siox && sialrun hello.siox && sialreport hello.siox run.json")
        self.assertIn("hello", said)

    def test_rhf(self):
        self.inside("sialrun /opt/sialx/share/sialx/examples/04_rhf/job.toml")
        self.agree("examples/04_rhf/expected.json")

    def test_triples_of_water(self):
        self.inside("sialrun /opt/sialx/share/sialx/examples/11_ccsd_t/job.toml && sialreport run.json > report")
        self.agree("examples/11_ccsd_t/expected.json")
        self.assertTrue("\n    ccsd_t " in (self.root / "home/report").read_text())

    def test_a_plugin_built_outside(self):
        said = self.inside("sialrun --plugin ./my_instructions.so /opt/sialx/share/sialx/examples/15_plugin/job.toml")
        self.assertRegex(said, r"squared_norm = \d")

    def test_pages_and_explanations(self):
        self.assertIn("E-UNDECLARED", self.inside("sialc --explain E-UNDECLARED"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("build", "cmake", "cxx"):
        parser.add_argument(f"--{name}", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
