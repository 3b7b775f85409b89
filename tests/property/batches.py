"""What the random tests share: jobs (a program and those that follow it) written, evaluated by the oracle, run in batches by sialrun,
and made smaller. A failing job stays valid while it shrinks: what `-O0 --store=copy --check` agrees on with the oracle must still do so.
"""
from __future__ import annotations

import copy
import difflib
import io
import json
import pathlib
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence

import h5py

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "oracle")]

from generate import generate  # noqa: E402
from harness import BIN, ENV  # noqa: E402
from model import Block, Json, LanguageError  # noqa: E402
from oracle import job_data, kept_arrays, run_job  # noqa: E402
from program import Program, Reducer  # noqa: E402
from run_compare import normalised, split_options  # noqa: E402

EXACT = 2.0**48
FINITE = 1e60
MPIRUN = "mpirun -n {n} --bind-to none --mca mpi_yield_when_idle 1"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def without_warnings(err: str) -> str:
    """What remains of an error stream when the compiler's warnings, with the lines they quote, are left out."""
    kept, inside = [], False
    for line in err.splitlines():
        inside = " warning: " in line or (inside and (line.startswith("    ") or " note: " in line))
        if not inside:
            kept.append(line)
    return "\n".join(kept)[-2000:]


def written(arrays: Mapping[str, Block]) -> str:
    """Elements in memory order, a line per array."""
    return "".join(f"{name}: {' '.join(map(repr, (values.ravel(order='F') + 0.0).tolist()))}\n" for name, values in sorted(arrays.items()))


def left(results: pathlib.Path) -> str:
    """The arrays in a file of results: static ones of each program, and saved ones."""
    if not results.exists():
        return "no results\n"
    with h5py.File(results, "r") as f:
        arrays = {f"programs/{name.split('_')[0]}/{n}": d[()].T for name, group in f["programs"].items() for n, d in group.items() if "declared" in d.attrs}
        arrays.update({f"saved/{n}": d[()].T for kind in ("statics", "arrays") for n, d in f.get(f"saved/{kind}", {}).items()})
    return written(arrays)


class Configuration:
    def __init__(self, name: str, flags: Sequence[str], ranks: int = 0, optimisation: str = "", env: dict[str, str] | None = None) -> None:
        """`env`: more of the environment."""
        self.env = env or {}
        self.name, self.flags, self.ranks, self.optimisation = name, flags, ranks, optimisation

    def command(self, bin_dir: pathlib.Path, launcher: str) -> list[str]:
        prefix = launcher.format(n=self.ranks).split() if self.ranks else []
        return [*prefix, str(bin_dir / "sialrun"), *([self.optimisation] if self.optimisation else []), *self.flags]


BASELINE = ["--store=copy", "--kernels=reference"]


class Job:
    """Programs with one set of arguments, and what they must print and leave."""

    def __init__(self, program: Program, reals: bool = False) -> None:
        self.programs, self.reals = [program, *program.followers], reals
        self.name, self.seed, self.arguments = program.name, program.seed, program.arguments
        self.want: str | None = None
        self.scale = 0.0

    def text(self) -> str:
        return "\n".join(p.text() for p in self.programs)

    def agrees(self, output: str | None) -> bool:
        if output is None or self.want is None:
            return False
        if output == self.want or not self.reals:
            return output == self.want
        if NUMBER.sub("#", output) != NUMBER.sub("#", self.want):
            return False
        pairs = zip(NUMBER.findall(output), NUMBER.findall(self.want))
        return all(abs(float(a) - float(b)) <= 1e-9 * max(self.scale, 1.0) for a, b in pairs)


class Runner:
    def __init__(self, work: pathlib.Path, launcher: str = MPIRUN, fault: str = "") -> None:
        self.bin, self.work, self.launcher = BIN, work, launcher
        self.env = {**ENV, "OMP_NUM_THREADS": "1"}
        self.env.pop("SIALX_FAULT", None)
        if fault:
            self.env["SIALX_FAULT"] = fault

    def sialc(self, *flags: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(self.bin / "sialc"), "-w", *flags], cwd=self.work, env=self.env, capture_output=True, text=True)

    def parse(self, jobs: Sequence[Job]) -> tuple[list[Json] | None, str]:
        """The syntax trees of all programs; a refusal is the generator's or the compiler's mistake."""
        names = []
        for job in jobs:
            for program in job.programs:
                (self.work / f"{program.name}.sialx").write_text(program.text())
                names.append(f"{program.name}.sialx")
        parsed = self.sialc("--emit=ast-json", *names)
        if parsed.returncode:
            return None, parsed.stderr
        decoder, trees, at = json.JSONDecoder(), [], 0
        while at < len(parsed.stdout):
            tree, at = decoder.raw_decode(parsed.stdout, at)
            trees.append(tree)
            while at < len(parsed.stdout) and parsed.stdout[at].isspace():
                at += 1
        return trees, ""

    def false_warnings(self, jobs: Sequence[Job]) -> str:
        """Warnings that a program with one result on any number of ranks must not get. Others are true of what is made at random: unused
        names, barriers twice, values that the next iteration replaces."""
        names = [f"{p.name}.sialx" for j in jobs for p in j.programs]
        done = subprocess.run([str(self.bin / "sialc"), "--error-format=json", *names], cwd=self.work, env=self.env, capture_output=True, text=True)
        codes = ("W-PHASE-", "W-PARTIAL-", "W-TEMP-UNSET", "W-LOCAL-UNSET", "W-RESTORE-GET")
        return "\n".join(line for line in done.stderr.splitlines() if any(f'"{code}' in line for code in codes))

    def compile(self, jobs: Sequence[Job]) -> str:
        """Modules of the default optimisation; messages where the compiler refuses."""
        done = self.sialc(*(f"{p.name}.sialx" for j in jobs for p in j.programs))
        return done.stderr if done.returncode else ""

    def expect(self, job: Job, trees: Iterable[Json]) -> str:
        """What the oracle prints and leaves; the reason where it cannot say."""
        out = io.StringIO()
        try:
            machines = run_job(trees, job_data(*split_options(job.arguments)), out.write, FINITE if job.reals else EXACT)
        except LanguageError as error:
            return str(error)
        job.want, job.scale = normalised(out.getvalue()) + written(kept_arrays(machines)), max(m.largest for m in machines)
        return ""

    def batch(self, configuration: Configuration, jobs: Sequence[Job], timeout: float) -> tuple[dict[str, str], str]:
        """Outputs by name, the arrays that are left behind them, and what went to the error stream. Modules are those of compile(), but for another optimisation."""
        suffix = ".sialx" if configuration.optimisation else ".siox"
        listing = self.work / "jobs.txt"
        listing.write_text("".join(f"{' '.join(p.name + suffix for p in j.programs)} {' '.join(j.arguments)} --print-format plain --name {j.name} --results {j.name}.h5\n" for j in jobs))
        for job in jobs:
            (self.work / f"{job.name}.h5").unlink(missing_ok=True)
        command = [*configuration.command(self.bin, self.launcher), "--batch", listing.name]
        try:
            p = subprocess.run(command, cwd=self.work, env={**self.env, **configuration.env}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
            out, err = p.stdout, p.stderr
        except subprocess.TimeoutExpired as e:
            out, err = (x.decode() if isinstance(x, bytes) else x or "" for x in (e.stdout, e.stderr))
            err += f"\nno end after {timeout} s"
        outputs, name = {}, None
        for line in out.splitlines(keepends=True):
            if line.startswith("=== "):
                name = line[4:].strip()
                outputs[name] = ""
            elif name is not None:
                outputs[name] += line
        return {n: normalised(text) + left(self.work / f"{n}.h5") for n, text in outputs.items()}, err

    def disagrees(self, configuration: Configuration, job: Job, valid: Iterable[Configuration] = ()) -> str | None:
        """The difference of one job's output, or None: no difference, or not a valid job, or one that `valid` configurations refuse."""
        trees, _ = self.parse([job])
        if trees is None or self.expect(job, trees) or self.compile([job]):
            return None
        outputs, err = self.batch(configuration, [job], 30)
        found = outputs.get(job.name)
        if job.agrees(found):
            return None
        difference = difflib.unified_diff((job.want or "").splitlines(), (found or "").splitlines(), "oracle", configuration.name, lineterm="", n=1)
        for other in valid:
            if not job.agrees(self.batch(other, [job], 30)[0].get(job.name)):
                return None
        return "\n".join([*difference, without_warnings(err)])

    def shrink(self, configuration: Configuration, job: Job, seconds: float = 120) -> Job:
        """A smaller job that disagrees in the same configuration."""
        start = time.monotonic()
        job = copy.deepcopy(job)
        self.parse([job])
        self.compile([job])
        checked = [Configuration("as written, checked", [*BASELINE, "--check", "--simulate", f"ranks={n},seed=3"], optimisation="-O0") for n in (1, 3)]
        valid = [c for c in checked if job.agrees(self.batch(c, [job], 30)[0].get(job.name))]
        Reducer(job.programs, lambda: time.monotonic() - start < seconds and self.disagrees(configuration, job, valid) is not None).run()
        return job


def make_jobs(runner: Runner, seeds: Sequence[int], reals: bool = False) -> tuple[list[Job], int]:
    """(jobs with what they must print, how many seeds were passed over because their numbers grow too large)"""
    jobs = [Job(generate(seed, f"{'r' if reals else 'p'}{seed}", reals), reals) for seed in seeds]
    trees, messages = runner.parse(jobs)
    if trees is None:
        for job in jobs:
            alone, reason = runner.parse([job])
            if alone is None:
                sys.exit(f"{job.text()}\nseed {job.seed}: sialc refuses a valid program: {reason}")
        sys.exit(f"seeds {seeds[0]} to {seeds[-1]}: sialc refuses together what it takes one by one: {messages}")
    if messages := runner.compile(jobs):
        sys.exit(f"seeds {seeds[0]} to {seeds[-1]}: sialc refuses what it could parse:\n{messages}")
    if messages := runner.false_warnings(jobs):
        sys.exit(f"seeds {seeds[0]} to {seeds[-1]}: sialc warns of valid programs:\n{messages}")
    usable, at = [], 0
    for job in jobs:
        mine, at = trees[at:at + len(job.programs)], at + len(job.programs)
        reason = runner.expect(job, mine)
        if not reason:
            usable.append(job)
        elif "magnitude" not in reason and "overflow" not in reason:
            sys.exit(f"{job.text()}\nseed {job.seed}: the generator made a program that is not valid: {reason}")
    return usable, len(jobs) - len(usable)
