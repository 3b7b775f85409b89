"""What the tests of restarts share: running jobs in pieces, and comparing their results.

Programs under programs/ keep every kind of state alive across barriers. Where results are exact, restarts are compared byte for
byte: output, results file, counters that do not depend on time.
"""
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py
import numpy

import harness
from harness import BIN, ROOT, mpirun

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
ENV = {**harness.ENV, "OMP_NUM_THREADS": "1"}
THREE = [PROGRAMS / "first.sialx", PROGRAMS / "second.sialx", PROGRAMS / "third.sialx"]
STEPS = ["--set", "norb=2", "--set", "steps=3", "--segments", "ao=3,2"]
STOPPED = 4
# In one process, as MPI processes, on pretend nodes, with servers.
WORLDS = [(0, ()), (0, ("--simulate", "ranks=3,seed=5")), (0, ("--simulate", "ranks=4,seed=2,ranks-per-node=2")),
          (2, ()), (3, ("--ranks-per-node", "1")), (3, ("--servers", "1"))]


def command(ranks, *args):
    return [*mpirun(ranks), str(BIN / "sialrun"), *map(str, args)]


def items(path):
    """All datasets of a results file, but for what depends on the schedule: the order of blocks, rank 0's share of a sum."""
    found = {}

    def collect(group, prefix):  # visititems() passes each dataset once, under one of its names
        for name, o in group.items():
            if isinstance(o, h5py.Dataset):
                found[prefix + name] = o[()]
            else:
                collect(o, f"{prefix}{name}/")

    with h5py.File(path) as f:
        collect(f, "")
    found.pop("scalars/w", None)
    found.pop("programs/3_third/w", None)
    return {name: numpy.array(sorted(map(tuple, value))) if name.startswith("saved/blocks/") else value for name, value in found.items()}


class Pieces(harness.InFolder):
    def run_job(self, *args, ranks=0, timeout=120, prefix=(), env=None):
        p = subprocess.run([*prefix, *command(ranks, *args)], cwd=self.dir, env={**ENV, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        return p.returncode, p.stdout, p.stderr

    def whole(self, *args, ranks=0):
        """Output, results and statistics of an uninterrupted run."""
        code, out, err = self.run_job(*args, "--output-dir", "whole", ranks=ranks)
        self.assertEqual(code, 0, err)
        return out, items(self.dir / "whole/results.h5"), json.loads((self.dir / "whole/run.json").read_text())

    def pieces(self, *args, ranks=0, stop=("--checkpoint-every", "0", "--stop-after", "1"), most=200):
        """Runs from stop to stop until the end; all output, and how often it stopped."""
        output, stops = "", 0
        while True:
            code, out, err = self.run_job(*args, *stop, *(("--restart",) if stops else ()), ranks=ranks)
            output += out
            if code == 0:
                return output, stops
            self.assertEqual(code, STOPPED, f"after {stops} stops: {out}{err}")
            self.assertIn("with the same command and `--restart`", err)
            stops += 1
            self.assertLess(stops, most)

    def assert_same_results(self, found, wanted):
        self.assertEqual(sorted(found), sorted(wanted))
        for name, value in wanted.items():
            numpy.testing.assert_array_equal(found[name], value, name)

    def only_last(self):
        """Gives up the checkpoint before the last one."""
        folder = self.dir / "checkpoint"
        (folder / "previous.json").unlink(missing_ok=True)
        names = {f["name"] for f in json.loads((folder / "index.json").read_text())["files"]}
        for path in folder.glob("*.rank*"):
            if path.name not in names:
                path.unlink()

    def refused(self, *args, ranks=0, says):
        code, out, err = self.run_job(*args, "--restart", ranks=ranks)
        self.assertEqual(code, 2, out + err)
        self.assertEqual(out, "")
        self.assertEqual(err.count("error:"), 1, err)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, err)
        return err

    def ending_of(self, p, timeout=120):
        """Output and errors of a job of which a rank was killed. Open MPI 4.1's mpirun may lock itself out when that happens at the start: it waits
        for ever with no rank left, and is killed here."""
        try:
            return p.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            ranks = subprocess.run(["ps", "--ppid", str(p.pid), "-o", "stat="], capture_output=True, text=True).stdout.split()
            if ranks and all(state.startswith("Z") for state in ranks):
                p.kill()
        return p.communicate(timeout=timeout)

    def start(self, *args, ranks=0, env=None):
        p = subprocess.Popen(command(ranks, *args), cwd=self.dir, env={**ENV, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(p.kill)
        self.assertIn("begins", p.stdout.readline())
        pids = [p.pid] if ranks == 0 else [int(x) for x in subprocess.run(["pgrep", "-P", str(p.pid), "sialrun"], capture_output=True, text=True).stdout.split()]
        self.assertEqual(len(pids), max(1, ranks))
        return p, pids

    def water(self, *programs):
        job = self.dir / "water.toml"
        names = [str(ROOT / "examples" / name) for name in programs]
        job.write_text(f'programs = {json.dumps(names)}\n[molecule]\nxyz = "{ROOT / "examples/molecules/water.xyz"}"\nbasis = "6-31g*"\n')
        return job

    def choice(self, *args, **options):
        """The segments that a job has when it starts anew."""
        code, out, err = self.run_job(*args, "--dry-run", **options)
        self.assertEqual(code, 0, out + err)
        return re.findall("^segments .*$", err, re.M)
