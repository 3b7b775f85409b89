#!/usr/bin/env python3
"""What `cmake --install` leaves is complete, may be moved, and names neither sources nor build: code generator, basis sets, examples, plugins, Python.

    install.py --bin DIR --build DIR --cmake CMAKE --cc CC --cxx CXX
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ENV
from versions import searched_anywhere

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENV.pop("SIAL_BASIS_PATH", None)
OPTIONS = None

PROGRAM = """sial overlap
special return_ovl w
special c_twice u
aoindex m = 1:2
aoindex n = 1:2
temp s[m,n]
scalar x
do m
  do n
    execute return_ovl s[m,n]
    x += s[m,n]*s[m,n]
  enddo n
enddo m
execute c_twice x
println x
endsial overlap
"""


class Install(unittest.TestCase):
    dir: pathlib.Path
    prefix: pathlib.Path
    generator: bool

    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="sialx-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        done = subprocess.run([OPTIONS.cmake, "--install", OPTIONS.build, "--prefix", cls.dir / "first"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
        (cls.dir / "first").rename(cls.dir / "moved")
        cls.prefix = cls.dir / "moved"
        cls.generator = (BIN / "libsialx_jit.so").exists()

    def run_tool(self, tool, *args):
        env = {**ENV, "XDG_CACHE_HOME": str(self.dir / "cache")}
        p = subprocess.run([str(self.prefix / "bin" / tool), *map(str, args)], cwd=self.dir, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
        return p.stdout

    def test_manual_pages_and_completions_are_there(self):
        for tool in ("sialrun", "sialc", "sialreport"):
            self.assertIn(f".TH {tool.upper()} 1", (self.prefix / f"share/man/man1/{tool}.1").read_text())
            self.assertIn(f"_{tool}() {{", (self.prefix / f"share/bash-completion/completions/{tool}").read_text())
            self.assertIn(f"#compdef {tool}", (self.prefix / f"share/zsh/site-functions/_{tool}").read_text())
            self.assertIn(f"complete -c {tool}", (self.prefix / f"share/fish/vendor_completions.d/{tool}.fish").read_text())

    def test_everything_is_there(self):
        for place in ("share/doc/sialx/LICENSE", "share/doc/sialx/RELEASES.md", "share/sialx/basis/cc-pvdz.g94", "share/sialx/examples/molecules/water.xyz", "share/sialx/examples/methods.json", "share/sialx/examples/compare.py",
                      "share/sialx/editors/README.md", "share/sialx/editors/vscode/extension.js", "share/vim/vimfiles/syntax/sial.vim", "share/vim/vimfiles/compiler/sialc.vim", "share/emacs/site-lisp/sial-mode.el",
                      "share/cmake/sialx/sialxConfig.cmake", "share/pkgconfig/sialx.pc", "include/sialx/plugin.h", "lib/python3/dist-packages/sialx/__init__.py"):
            self.assertTrue((self.prefix / place).is_file(), place)
        self.assertEqual([str(p) for p in self.prefix.rglob("*") if p.name in ("__pycache__", "setup.sh", "demo.sh")], [])
        links = [p for p in self.prefix.rglob("*") if p.is_symlink()]
        self.assertEqual([str(p) for p in links if pathlib.Path(p.readlink()).is_absolute() or not p.resolve().is_relative_to(self.prefix.resolve())], [])

    def test_nothing_names_the_sources_or_the_build(self):
        """Neither messages of failed checks, nor search paths of libraries, nor what other builds read."""
        folders = {str(p).encode() for given in (ROOT, OPTIONS.build, self.dir / "first") for p in (pathlib.Path(given), pathlib.Path(given).resolve())}
        files = [p for p in self.prefix.rglob("*") if p.is_file()]
        self.assertGreater(len(files), 100)
        named = [f"{p.relative_to(self.prefix)}: {folder.decode()}" for p in files for folder in folders if re.search(re.escape(folder) + rb"(?![\w.-])", p.read_bytes())]
        self.assertEqual(named, [])

    def test_no_library_is_searched_in_the_current_folder(self):
        self.assertEqual(searched_anywhere(self.prefix), [])

    def test_a_plugin_built_by_what_the_tree_says_of_itself(self):
        example = self.prefix / "share/sialx/examples/15_plugin"
        for command in ([OPTIONS.cmake, "-S", example, "-B", self.dir / "by-cmake", f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={OPTIONS.cxx}"], [OPTIONS.cmake, "--build", self.dir / "by-cmake"]):
            subprocess.run(command, check=True, capture_output=True)
        found = dict(ENV, PKG_CONFIG_PATH=str(self.prefix / "share/pkgconfig"))
        flags = subprocess.run(["pkg-config", "--cflags", "sialx"], env=found, check=True, capture_output=True, text=True).stdout.split()
        version = subprocess.run(["pkg-config", "--modversion", "sialx"], env=found, check=True, capture_output=True, text=True).stdout
        self.assertEqual(self.run_tool("sialrun", "--version").splitlines()[0], f"sialrun {version.strip()}")
        subprocess.run([OPTIONS.cxx, "-std=c++17", "-O1", "-fPIC", "-shared", *flags, example / "my_instructions.cpp", "-o", self.dir / "by_pkg_config.so"], check=True)
        texts = {self.run_tool("sialrun", "--plugin", plugin, example / "job.toml") for plugin in (self.dir / "by-cmake/my_instructions.so", self.dir / "by_pkg_config.so")}
        (text,) = texts
        self.assertRegex(text, r"squared_norm = \d")

    def test_the_python_package_with_the_tree(self):
        text = """import sialx
r = sialx.run("sial s\\nscalar x\\nx = 6.0\\nx *= 7.0\\nprintln x\\nendsial s\\n")
print(r.scalars["x"], sialx.__file__)"""
        env = {**ENV, "PYTHONPATH": str(self.prefix / "lib/python3/dist-packages"), "PATH": f"{self.prefix}/bin:{ENV['PATH']}", "PYTHONDONTWRITEBYTECODE": "1", "SIALRUN": "", "SIALX_NATIVE": ""}
        if not list((self.prefix / "lib/sialx").glob("_native.*")):
            self.skipTest("this build has no module for sialx.run")
        p = subprocess.run([sys.executable, "-c", text], cwd=self.dir, env=env, capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn(f"42.0 {self.prefix}", p.stdout)
        p = subprocess.run([sys.executable, "-m", "sialx"], cwd=self.dir, env=env, capture_output=True, text=True)
        self.assertEqual(p.stdout, f"{self.prefix}/share/sialx/examples\n", p.stderr)
        p = subprocess.run([sys.executable, self.prefix / "bin/sialx-equations", "--help"], env=ENV | {"PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stderr)
        options = set(re.findall(r"--[a-z-]+", p.stdout))
        self.assertGreater(len(options), 5)
        share, spins = self.prefix / "share", re.search(r"--spin \{([a-z,-]+)\}", p.stdout)[1].split(",")
        for page in ("man/man1/sialx-equations.1", "bash-completion/completions/sialx-equations", "zsh/site-functions/_sialx-equations", "fish/vendor_completions.d/sialx-equations.fish"):
            text = (share / page).read_text().replace("\\-", "-")
            for option in options:
                self.assertIn(option.removeprefix("--") if page.endswith("fish") else option, text, page)
            for spin in spins:
                self.assertIn(spin, text, page)

    def test_an_example_of_the_tree(self):
        examples = self.prefix / "share/sialx/examples"
        self.run_tool("sialrun", examples / "04_rhf/job.toml")
        done = subprocess.run([sys.executable, examples / "compare.py", self.dir / "results.h5", examples / "04_rhf/expected.json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_programs_know_the_code_generator(self):
        text = self.run_tool("sialrun", "--version", "--verbose")
        if not self.generator:
            self.assertIn("this build has no code generator", text)
            return
        self.assertRegex(text, r"generated code: \d+ x \d+, \d+-bit vectors")
        (library,) = self.prefix.rglob("libsialx_jit.so")
        aside = self.dir / "aside.so"
        library.rename(aside)
        try:
            text = self.run_tool("sialrun", "--version", "--verbose")
            for place in (self.prefix / "bin", library.parent):
                self.assertIn(str(place / "libsialx_jit.so"), text)
            self.assertIn("generated code: none, the code generator is missing: there is no ", text)
        finally:
            aside.rename(library)

    def test_a_job_with_a_basis_and_a_plugin(self):
        for name in (p.name for p in (ROOT / "runtime/chemistry/basis/sets").glob("*.g94")):
            self.assertTrue((self.prefix / "share/sialx/basis" / name).is_file(), name)
        # Found beside the programs, not where they were built.
        shutil.copy(self.prefix / "share/sialx/basis/sto-3g.g94", self.prefix / "share/sialx/basis/only-here.g94")
        subprocess.run([OPTIONS.cc, "-std=c99", "-fPIC", "-shared", "-I", self.prefix / "include", ROOT / "tests/plugin/plain_c.c", "-o", self.dir / "plain_c.so"], check=True)
        (self.dir / "overlap.sialx").write_text(PROGRAM)
        (self.dir / "h2.xyz").write_text("2\nH2\nH 0 0 0\nH 0 0 0.74\n")
        values = set()
        for basis in ("sto-3g", "only-here"):
            (self.dir / "job.toml").write_text(f'programs = ["overlap.siox"]\nplugins = ["plain_c.so"]\n[molecule]\nxyz = "h2.xyz"\nbasis = "{basis}"\n[segments]\nao = [1, 1]\n')
            self.run_tool("sialc", "overlap.sialx")
            values.add(self.run_tool("sialrun", "job.toml", "--print-format", "plain"))
            self.assertIn("overlap", self.run_tool("sialreport", "overlap.siox", "run.json"))
        (value,) = values
        # Twice 1 + 1 + 2 s**2, with the overlap of two hydrogen functions 0.74 Angstrom apart: 0.6599.
        self.assertAlmostEqual(float(value.partition("=")[2]), 2 * (2 + 2 * 0.6599**2), places=3)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name in ("build", "cmake", "cc", "cxx"):
        parser.add_argument(f"--{name}", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
