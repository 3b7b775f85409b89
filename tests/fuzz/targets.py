"""What is fuzzed: for each kind of input its seeds, how it is mutated, and the commands that read it."""
import pathlib
import random
import subprocess
from collections.abc import Callable
from typing import Any

import mutate

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
LANG = HERE.parent / "lang"
QUICK = ["--memory", "16MB", "--segments", "ao=2,1", "--set", "norb=2", "--run-json", "none"]


class Command:
    """`runs`: the input decides how long it takes, as a program does. What is read and printed must be done within a time."""

    def __init__(self, tool: str, *arguments: Any, runs: bool = False) -> None:
        self.tool, self.arguments, self.runs = tool, [str(a) for a in arguments], runs


class Target:
    """`name`: of the mutated file; `files`: beside it, by name; `commands`: those that are run one after the other."""

    def __init__(self, name: str, seeds: list, mutator: Callable, commands: list[Command], files: Any = None) -> None:
        self.name, self.seeds, self.mutator, self.commands, self.files = name, [s for s in seeds if s], mutator, commands, files or {}

    def make(self, rng: random.Random) -> Any:
        return self.mutator(rng, rng.choice(self.seeds), self.seeds)


class Files(Target):
    """Several files that are mutated together: a seed holds all of them by name."""

    def __init__(self, seed: dict[str, bytes], mutator: Callable, commands: list[Command], files: Any) -> None:
        super().__init__("", [seed], lambda rng, s, _: mutator(rng, s), commands, files)


def corpus(pattern: str) -> list[bytes]:
    return [p.read_bytes() for p in sorted(CORPUS.glob(pattern))]


def small(files: Any) -> list[bytes]:
    return [p.read_bytes() for p in sorted(files) if p.stat().st_size < 4000]


def outputs(bin_dir: pathlib.Path, work: pathlib.Path) -> dict[str, bytes]:
    """What the programs themselves write, to be mutated and read again: modules, results, checkpoints, statistics, data files."""
    work.mkdir()
    for path in CORPUS.iterdir():
        (work / path.name).write_bytes(path.read_bytes())

    def run(tool: str, *arguments: Any, codes: tuple[int, ...] = (0,)) -> None:
        done = subprocess.run([bin_dir / tool, *arguments], cwd=work, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
        if done.returncode not in codes:
            raise SystemExit(f"the seeds cannot be made: {tool} {arguments}: {done.stderr.decode(errors='replace')}")

    for name in ("blocks", "saved"):
        run("sialc", f"{name}.sialx", "-o", f"{name}.siox")
    run("sialrun", "saved.siox", "--segments", "ao=2,1", "--set", "norb=2")
    run("sialrun", "saved.siox", "--segments", "ao=2,1", "--set", "norb=2", "--results", "none", "--checkpoint-every", "0", "--stop-after", "1", codes=(4,))
    run("sialrun", "job.toml", "--write-dat", "job.dat")
    run("sialrun", "job.toml", "--write-dat", "data.json")
    return {p.relative_to(work).as_posix(): p.read_bytes() for p in work.rglob("*") if p.is_file()}


def targets(bin_dir: pathlib.Path, work: pathlib.Path) -> dict[str, Target]:
    made = outputs(bin_dir, work / "seeds")
    sources = corpus("*.sialx") + small((LANG / "run").glob("*.sialx")) + small((LANG / "check").glob("*.sialx"))
    program = {"blocks.sialx": made["blocks.sialx"], "saved.sialx": made["saved.sialx"]}
    molecule = {**program, "job.toml": made["job.toml"], "water.xyz": made["water.xyz"], "oh.g94": made["oh.g94"]}
    modules = [made["blocks.siox"], made["saved.siox"]]
    checkpoint = {k: v for k, v in made.items() if k.startswith("checkpoint/")}
    ranks = next(k for k in checkpoint if ".rank" in k)
    saved = {"saved.siox": made["saved.siox"]}
    sealed = {k: checkpoint[k] for k in ("checkpoint/index.json", ranks)}
    restart = Command("sialrun", "saved.siox", *QUICK, "--results", "none", "--restart", runs=True)
    describe = Command("sialrun", "job.toml", "--describe")
    batch = [b"blocks.sialx --set norb=2 --segments ao=2,1\n# a comment\nsaved.sialx --set norb=1 --segments ao=1 --name 'the second'\n"]
    simulate = [b"ranks=2,seed=1", b"ranks=3,seed=7,ranks-per-node=2,servers=1,latency=5us,bandwidth=1GB/s", b"ranks=2,disorder=1"]
    predict = [b"ranks=64,latency=2us,bandwidth=12GB/s", b"ranks=4,ranks-per-node=2,servers=1,look-ahead=auto,latency=1us,bandwidth=1GB/s"]
    return {
        "source": Target("p.sialx", sources, mutate.mutate_source,
                         [Command("sialc", "p.sialx", "-o", "p.siox"), Command("sialrun", "p.sialx", *QUICK, "--results", "none", runs=True)]),
        "source_bytes": Target("p.sialx", sources, mutate.mutate_bytes, [Command("sialc", "p.sialx", "-o", "p.siox"), Command("sialc", "p.sialx", "--emit=tokens")]),
        "module": Target("p.siox", modules, mutate.mutate_bytes,
                         [Command("sialc", "--disassemble", "p.siox"), Command("sialreport", "p.siox"), Command("sialrun", "p.siox", *QUICK, "--results", "none", runs=True)]),
        "job": Target("job.toml", [made["job.toml"]] + corpus("*.toml"), mutate.mutate_text, [describe, Command("sialrun", "job.toml", "--memory", "16MB", runs=True)],
                      {k: v for k, v in molecule.items() if k != "job.toml"}),
        "xyz": Target("water.xyz", corpus("*.xyz"), mutate.mutate_text, [describe], molecule),
        "fcidump": Target("m.FCIDUMP", corpus("*.FCIDUMP"), mutate.mutate_text, [Command("sialrun", "hamiltonian.toml", "--describe")],
                          {**program, "hamiltonian.toml": b'programs = ["blocks.sialx"]\n[hamiltonian]\nfcidump = "m.FCIDUMP"\n'}),
        "basis": Target("oh.g94", corpus("*.g94"), mutate.mutate_text, [describe], molecule),
        "dat": Target("job.dat", [made["job.dat"]], mutate.mutate_bytes, [Command("sialrun", "-d", "job.dat", "--describe"), Command("sialrun", "-d", "job.dat", "--write-dat", "again.json")], program),
        "json": Target("data.json", [made["data.json"]], mutate.mutate_json,
                       [Command("sialrun", "-d", "data.json", "--describe"), Command("sialrun", "-d", "data.json", "--write-dat", "again.dat"),
                        Command("sialrun", "-d", "data.json", "--memory", "16MB", "--results", "none", "--run-json", "none", runs=True)], program),
        "hdf5": Target("results.h5", [made["results.h5"]], mutate.mutate_bytes, [Command("sialrun", "restore.toml", "--memory", "16MB", runs=True)],
                       {**program, "restore.toml": made["restore.toml"]}),
        "index": Target("checkpoint/index.json", [made["checkpoint/index.json"]], mutate.mutate_json, [restart], {"saved.siox": made["saved.siox"], **checkpoint}),
        "checkpoint": Target(ranks, [made[ranks]], mutate.mutate_bytes, [restart], {"saved.siox": made["saved.siox"], **checkpoint}),
        "sealed_index": Target("checkpoint/index.json", [made["checkpoint/index.json"]], mutate.mutate_sealed_index, [restart], {**saved, **checkpoint}),
        "records": Files(sealed, mutate.mutate_records, [restart], saved),
        "dat_names": Target("job.dat", [made["data.json"]], mutate.mutate_dat_names,
                            [Command("sialrun", "-d", "job.dat", "--describe"), Command("sialrun", "-d", "job.dat", "--write-dat", "again.dat"),
                             Command("sialrun", "-d", "job.dat", "--memory", "16MB", runs=True)], program),
        "labels": Target("saved.siox", [made["saved.siox"]], mutate.mutate_labels,
                         [Command("sialrun", "saved.siox", *QUICK, runs=True), Command("sialrun", "restore.toml", "--memory", "16MB", runs=True)],
                         {"saved.sialx": made["saved.sialx"], "restore.toml": made["restore.toml"]}),
        "statistics": Target("run.json", [made["run.json"]], mutate.mutate_json,
                             [Command("sialreport", "saved.siox", "run.json"), Command("sialreport", "run.json"), Command("sialreport", "--compare", "run.json", "run.json"),
                              Command("sialreport", "saved.siox", "run.json", "--predict", predict[0].decode())], {"saved.siox": made["saved.siox"]}),
        "batch": Target("list", batch, mutate.mutate_text, [Command("sialrun", "--batch", "list", "--memory", "16MB", runs=True)], program),
        "simulate": Target("@option", simulate, mutate.mutate_options, [Command("sialrun", "saved.siox", *QUICK, "--results", "none", "--simulate", "@option", runs=True)],
                           {"saved.siox": made["saved.siox"]}),
        "predict": Target("@option", predict, mutate.mutate_options, [Command("sialreport", "saved.siox", "run.json", "--predict", "@option")],
                          {"saved.siox": made["saved.siox"], "run.json": made["run.json"]}),
        "set": Target("@option", [b"norb=2", b"conv=1e-8"], mutate.mutate_options, [Command("sialrun", "saved.siox", *QUICK, "--results", "none", "--set", "@option", runs=True)],
                      {"saved.siox": made["saved.siox"]}),
        "plugin": Target("p.so", [b"\x7fELF" + bytes(200), made["saved.siox"]], mutate.mutate_bytes, [Command("sialrun", "saved.siox", *QUICK, "--plugin", "./p.so", "--results", "none", runs=True)],
                         {"saved.siox": made["saved.siox"]}),
    }
