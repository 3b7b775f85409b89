#!/usr/bin/env python3
"""The commands of README.md work as they stand there, one after the other, in a folder that has the examples and what `examples/demo.sh` builds, and nothing else.

Blocks marked `sh` are typed into one shell, which ends with the first command that fails; the block of a whole program is the file that its name
says, the job file is `job.toml`. Left out is the block whose scripts install packages and build.
"""
import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ENV, ROOT, expect, run

INSTALLS = ("examples/demo.sh", "tests/run.sh")
STRAY = re.compile(r"`((?:mpirun|sialc|sialrun|sialreport) [^`]*\.(?:sialx|siox|toml)\b[^`]*)`")


def main():
    text = (ROOT / "README.md").read_text()
    shell, typed = ["set -ex"], 0
    with tempfile.TemporaryDirectory(prefix="sialx-readme-") as name:
        folder = pathlib.Path(name)
        shutil.copytree(ROOT / "examples", folder / "examples")
        bin = folder / "build/release/bin"
        bin.mkdir(parents=True)
        programs = re.search(r"--target ([\w -]+?) --", (ROOT / "examples/demo.sh").read_text())
        expect(programs, "examples/demo.sh names no targets")
        for program in (*programs[1].split(), "libsialx_jit.so"):
            if (BIN / program).exists():
                shutil.copy2(BIN / program, bin / program)  # no links: programs look for what belongs to them beside their file
        (bin.parent / "share").symlink_to(BIN.parent / "share")
        for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
            if language == "sh" and not any(script in block for script in INSTALLS):
                shell.append(block)
                typed += len(block.splitlines())
            elif language == "sial" and (begin := re.match(r"sial (\w+)\n", block)):
                (folder / f"{begin[1]}.sialx").write_text(block)
            elif language == "toml":
                (folder / "job.toml").write_text(block)
        expect(typed > 20, f"only {typed} commands were found")
        env = {k: v for k, v in ENV.items() if not k.startswith("OMPI_MCA")}  # as the page's reader has it
        if (os.cpu_count() or 1) < 2:
            env["OMPI_MCA_rmaps_base_oversubscribe"] = "1"  # ... who is told of --oversubscribe
        done = run("bash", "-c", "\n".join(shell), cwd=folder, env=env)
        for said in re.findall(r"prints `([^`]+)`", text):
            expect(said in done.stdout, f"nothing printed `{said}`:\n{done.stdout}")
    for command in STRAY.findall(text):
        expect(re.search(r"\bDIR\b|water\.dat", command), f"`{command}` stands in no block: nobody has tried it")
    print(f"{typed} commands work")


if __name__ == "__main__":
    main()
