#!/usr/bin/env python3
"""Random programs: what the oracle computes is what sialrun must print, whatever the ranks, transport, schedule and kernels.

    run_property.py --bin DIR [--count N] [--seed S] [--long] [--config TEXT] [--keep DIR]

Programs are generated from consecutive seeds (those whose numbers grow beyond exactness are passed over), compiled, evaluated by
the oracle, and run in batches in every configuration. A program that disagrees is made smaller while it still disagrees, and
printed with its seed. `generate.py SEED` prints a program again.
"""
import argparse
import difflib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "oracle"))

from generate import generate  # noqa: E402
from model import LanguageError  # noqa: E402
from oracle import job_data, run_job  # noqa: E402
from program import smaller  # noqa: E402
from run_compare import normalised, split_options  # noqa: E402

EXACT = 2.0**48
SHRINK_CONFIGURATIONS = 3  # later ones mostly repeat the cause
MPIRUN = "mpirun -n {n} --bind-to none --mca mpi_yield_when_idle 1"


class Configuration:
    def __init__(self, name, flags, ranks=0, optimisation=None):
        self.name, self.flags, self.ranks, self.optimisation = name, flags, ranks, optimisation

    def command(self, bin_dir, launcher):
        prefix = launcher.format(n=self.ranks).split() if self.ranks else []
        return [*prefix, str(bin_dir / "sialrun"), *self.flags]


def configurations(seed, long):
    result = [
        Configuration("oracle of later work", ["--store=copy", "--kernels=reference"], optimisation="-O0"),
        Configuration("default, one rank", []),
        Configuration("checked, one rank", ["--check"]),
    ]
    for n, ranks in enumerate([3, 2, 5, 3, 4, 7, 2, 6][:8 if long else 3]):
        flags = ["--simulate", f"ranks={ranks},seed={seed + n}"]
        result.append(Configuration(f"simulated {ranks} ranks, seed {seed + n}", flags + (["--check"] if n % 2 else [])))
    result += [
        Configuration("simulated 4 ranks on 2 nodes", ["--simulate", f"ranks=4,seed={seed + 50}", "--ranks-per-node", "2"]),
        Configuration("simulated 3 ranks, each its node", ["--simulate", f"ranks=3,seed={seed + 51}", "--ranks-per-node", "1"]),
        Configuration("mpirun 2", [], 2),
        Configuration("mpirun 4", [], 4),
        Configuration("mpirun 3, one rank per node", ["--ranks-per-node", "1"], 3),
        Configuration("mpirun 4, static schedule, 2 per node", ["--schedule=static", "--ranks-per-node", "2"], 4),
    ]
    return result


class Runner:
    def __init__(self, bin_dir, work, launcher):
        self.bin, self.work, self.launcher = bin_dir, work, launcher
        self.env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                        OMPI_MCA_rmaps_base_oversubscribe="1", OMP_NUM_THREADS="1")

    def sialc(self, *flags):
        return subprocess.run([str(self.bin / "sialc"), *flags], cwd=self.work, capture_output=True, text=True)

    def expected(self, program):
        """Output by the oracle; None when the program is not usable, with the reason."""
        source = self.work / f"{program.name}.sialx"
        source.write_text(program.text())
        parsed = self.sialc("--emit=ast-json", source.name)
        if parsed.returncode:
            return None, "refused: " + parsed.stderr
        out = io.StringIO()
        try:
            run_job([json.loads(parsed.stdout)], job_data(*split_options(program.arguments)), out.write, EXACT)
        except LanguageError as error:
            return None, str(error)
        return normalised(out.getvalue()), None

    def compile(self, program, optimisation=None):
        """Name of the module, or None with the compiler's messages printed."""
        module = f"{program.name}{optimisation or ''}.siox"
        p = self.sialc(*([optimisation] if optimisation else []), "-o", module, f"{program.name}.sialx")
        return (module, "") if p.returncode == 0 else (None, p.stderr)

    def batch(self, configuration, programs, timeout):
        """Outputs by name, and what went to the error stream."""
        suffix = configuration.optimisation or ""
        jobs = self.work / "jobs.txt"
        jobs.write_text("".join(f"{p.name}{suffix}.siox {' '.join(p.arguments)} --print-format plain --name {p.name}\n" for p in programs))
        command = [*configuration.command(self.bin, self.launcher), "--batch", jobs.name]
        try:
            p = subprocess.run(command, cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
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
        return {n: normalised(text) for n, text in outputs.items()}, err

    def disagrees(self, configuration, program):
        """The difference of one program's output, or None where there is none or the program is not valid."""
        want, _ = self.expected(program)
        if want is None or self.compile(program, configuration.optimisation)[0] is None:
            return None
        outputs, err = self.batch(configuration, [program], 30)
        found = outputs.get(program.name)
        if found == want:
            return None
        lines = difflib.unified_diff(want.splitlines(), (found or "").splitlines(), "oracle", configuration.name, lineterm="", n=1)
        return "\n".join([*lines, err.strip()])

    def shrink(self, configuration, program, seconds=60):
        start = time.monotonic()
        again = True
        while again:
            again = False
            for candidate in smaller(program):
                if time.monotonic() - start > seconds:
                    return program
                if self.disagrees(configuration, candidate):
                    program, again = candidate, True
                    break
        return program


def make_programs(runner, seed, count):
    programs, wanted, passed_over = [], {}, 0
    while len(programs) < count:
        program = generate(seed, f"p{seed}")
        seed += 1
        want, reason = runner.expected(program)
        if want is None:
            if "magnitude" not in reason and "overflow" not in reason:
                print(program.text())
                sys.exit(f"seed {program.seed}: the generator made a program that is not valid: {reason}")
            passed_over += 1
            continue
        for optimisation in (None, "-O0"):
            module, messages = runner.compile(program, optimisation)
            if module is None:
                print(program.text())
                sys.exit(f"seed {program.seed}: sialc refuses a valid program: {messages}")
        programs.append(program)
        wanted[program.name] = want
    return programs, wanted, passed_over


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--long", action="store_true", default=os.environ.get("SIALX_LONG_TESTS") == "1")
    parser.add_argument("--config", default="")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the programs instead of a temporary one")
    parser.add_argument("--launcher", default=MPIRUN)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time()) if options.long else 1
    count = options.count or (1500 if options.long else 150)
    with tempfile.TemporaryDirectory() as scratch:
        work = options.keep or pathlib.Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        runner = Runner(options.bin.resolve(), work, options.launcher)
        start = time.monotonic()
        programs, wanted, passed_over = make_programs(runner, seed, count)
        print(f"{count} programs from seed {seed} ({passed_over} passed over), made and evaluated in {time.monotonic() - start:.0f} s", flush=True)
        failures = disagreeing = 0
        for configuration in configurations(seed, options.long):
            if options.config not in configuration.name:
                continue
            start = time.monotonic()
            outputs, err = runner.batch(configuration, programs, 600 if options.long else 240)
            bad = [p for p in programs if outputs.get(p.name) != wanted[p.name]]
            print(f"{configuration.name}: {count - len(bad)} of {count} agree, {time.monotonic() - start:.1f} s", flush=True)
            if not bad:
                continue
            failures += len(bad)
            disagreeing += 1
            print(f"  seeds that disagree: {' '.join(str(p.seed) for p in bad[:20])}")
            if disagreeing > SHRINK_CONFIGURATIONS:
                continue
            culprit = next((p for p in bad[:20] if runner.disagrees(configuration, p)), None)
            if culprit is None:
                print("  alone, each of them agrees; the batch said:\n" + err[-3000:])
                continue
            small = runner.shrink(configuration, culprit)
            print(small.text() + runner.disagrees(configuration, small))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
