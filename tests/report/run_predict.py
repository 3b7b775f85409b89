#!/usr/bin/env python3
"""Predictions against measured runs, on the simulator's virtual clock, where every time follows from the cost model and the seed.

    run_predict.py --bin DIR

Programs are run on one and two ranks, predicted for other ranks and networks, and run there: errors of time, waiting and memory are printed, and
held to bounds. A part of a time counts by what it is off in the whole: that little of little is guessed badly does no harm.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import jsonschema

from common import edited
from harness import BIN, ROOT, expect

FAST, SLOW = "latency=10us,bandwidth=7GB/s", "latency=100us,bandwidth=1GB/s"
SMALL = ["--segments", "ao_target=6", "--segments", "occ_target=3", "--segments", "virt_target=6"]
STREAM = ["--set", "length=12", "--set", "phases=12", "--set", "workers=4", "--segments", "ao=" + ",".join(["50"] * 12), "--segments", "mo=50"]
# source, job, and what the errors must stay below: of the total, of each of its parts as part of the total, of bytes fetched
PROGRAMS = {
    "stream": ("tests/bench/prefetch/stream.sialx", ["tests/bench/prefetch/stream.sialx", *STREAM], 0.20, 0.15, 0.35),
    "rhf": ("examples/04_rhf/rhf.sialx", ["examples/04_rhf/job.toml", *SMALL], 0.14, 0.12, 0.05),
    "ccsd": ("examples/09_ccsd/ccsd.sialx", ["examples/09_ccsd/job.toml", *SMALL], 0.20, 0.20, 0.20),
}
MEMORY = 0.10


class SimulatedRuns:
    def __init__(self, binaries, work):
        self.bin, self.work, self.runs = pathlib.Path(binaries).resolve(), pathlib.Path(work), {}
        self.schema = jsonschema.Draft202012Validator(json.loads((ROOT / "compiler/report/predict.schema.json").read_text()))

    def module(self, name, level="-O2"):
        out = self.work / f"{name}{level}.siox"
        if not out.exists():
            subprocess.run([self.bin / "sialc", level, ROOT / PROGRAMS[name][0], "-o", out], check=True)
        return out

    def run(self, name, machine, *flags):
        """run.json of the job on such a machine, each rank a node of its own."""
        key = (name, machine, flags)
        if key not in self.runs:
            out = f"{len(self.runs)}.json"
            job, *more = PROGRAMS[name][1]
            done = subprocess.run([self.bin / "sialrun", ROOT / job, *more, "--results", "none", "--output-dir", self.work, "--run-json", out,
                                   "--simulate", machine + ",seed=1,disorder=0", *flags], capture_output=True, text=True, timeout=300)
            expect(done.returncode == 0, f"{name} on {machine}: {done.stderr}")
            self.runs[key] = self.work / out
        return self.runs[key]

    def report(self, *arguments):
        done = subprocess.run([self.bin / "sialreport", *arguments], capture_output=True, text=True, timeout=120)
        expect(done.returncode == 0, f"sialreport {arguments}: exit code {done.returncode}: {done.stderr}")
        return done.stdout

    def refused(self, code, message, *arguments):
        done = subprocess.run([self.bin / "sialreport", *arguments], capture_output=True, text=True, timeout=60)
        expect(done.returncode == code and message in done.stderr and "hint: " in done.stderr and not done.stdout,
               f"sialreport {[str(a) for a in arguments]}: exit code {done.returncode}, not {code} with `{message}`: {done.stdout[:200]}{done.stderr}")

    def predicted(self, name, start, machine, real):
        j = json.loads(self.report(self.module(name), start, "--predict", machine, "--against", real, "--format=json"))
        problems = [f"{list(e.absolute_path)}: {e.message}" for e in self.schema.iter_errors(j)]
        expect(not problems, f"{name}: json: {problems[:5]}")
        return j


def compare(simulated, name, start, ranks, network, **more):
    """One prediction beside its run."""
    options = "".join(f",{k.replace('_', '-')}={v}" for k, v in more.items())
    machine = f"ranks={ranks},ranks-per-node=1,{network}{options}"
    flags = ["--look-ahead", more.pop("look_ahead")] if "look_ahead" in more else []
    real = simulated.run(name, f"ranks={ranks},ranks-per-node=1,{network}" + "".join(f",{k}={v}" for k, v in more.items()), *flags)
    j = simulated.predicted(name, start, machine, real)
    errors, measured = j["against"]["errors"], j["against"]["times"]
    parts = {p: (j["times"][p] - measured[p]) / measured["total"] for p in ("work", "fetch_wait", "synchronization")}
    print(f"{name:7} from {j['from']['ranks']} for {machine:66} total {100 * errors['total']:+6.1f} %  (" +
          ", ".join(f"{p} {100 * e:+5.1f} %" for p, e in parts.items()) + f")  bytes {100 * (errors['bytes_fetched'] or 0):+6.1f} %  memory {100 * errors['memory']:+5.1f} %")
    _, _, of_total, of_part, of_bytes = PROGRAMS[name]
    expect(abs(errors["total"]) <= of_total, f"{name}: the total is off by {errors['total']:.3f}")
    for part, error in parts.items():
        expect(abs(error) <= of_part, f"{name}: {part} is off by {error:.3f} of the total")
    # A run on one node fetches nothing from which could be seen what CCSD's ranks spare by keeping what they put themselves: more is foreseen then.
    most = 1.5 if name == "ccsd" and j["from"]["ranks"] == 1 else of_bytes
    expect(-of_bytes <= (errors["bytes_fetched"] or 0) <= most, f"{name}: fetched bytes are off by {errors['bytes_fetched']}")
    expect(abs(errors["memory"]) <= MEMORY, f"{name}: memory is off by {errors['memory']:.3f}")
    expect(abs(sum(j["times"][p] for p in parts) - j["times"]["total"]) < 1e-9, f"{name}: parts do not add up")
    return j


def check_errors(simulated):
    for name in PROGRAMS:
        one, two = simulated.run(name, "ranks=1," + FAST), simulated.run(name, "ranks=2,ranks-per-node=1," + FAST)
        for start, ranks, network in ((one, 2, FAST), (one, 3, SLOW), (two, 4, SLOW)):
            compare(simulated, name, start, ranks, network)
        if name != "ccsd":  # which takes seconds
            compare(simulated, name, one, 4, FAST)
            compare(simulated, name, one, 4, SLOW)
    # Without look-ahead each fetch is waited for; servers hold all blocks.
    start = simulated.run("ccsd", "ranks=1," + FAST)
    ahead = compare(simulated, "ccsd", start, 3, SLOW)  # run above
    off = compare(simulated, "ccsd", start, 3, SLOW, look_ahead="off")
    expect(off["times"]["fetch_wait"] > ahead["times"]["fetch_wait"], "look-ahead is predicted to hide nothing")
    compare(simulated, "stream", simulated.run("stream", "ranks=1," + FAST), 3, SLOW, servers=2)


def check_text(simulated):
    start, real = simulated.run("rhf", "ranks=1," + FAST), simulated.run("rhf", f"ranks=2,ranks-per-node=1,{SLOW}")
    text = simulated.report(simulated.module("rhf"), start, "--predict", f"ranks=2,{SLOW}", "--against", real)
    line = 1 + (ROOT / "examples" / "04_rhf" / "rhf.sialx").read_text().splitlines().index("  pardo mu, nu, la, si")
    for part in ("prediction for 2 ranks on 2 nodes, latency 100 us, bandwidth 1 GB/s, look-ahead auto", "time of a mean rank", "fetch wait", "memory of a rank",
                 "off by", "between nodes, all ranks", f"rhf.sialx:{line} pardo mu,nu,la,si", "outside of these"):
        expect(part in text, f"text: `{part}` is missing in\n{text}")
    text = simulated.report(simulated.module("rhf"), start, "--predict", "ranks=64,latency=2us,bandwidth=12GB/s")
    expect("prediction for 64 ranks on 64 nodes" in text and "measured" not in text, "text without a second run: " + text)
    # Nothing is random.
    expect(text == simulated.report(simulated.module("rhf"), start, "--predict", "ranks=64,latency=2us,bandwidth=12GB/s"), "two predictions differ")


def check_refusals(simulated):
    module, start, w = simulated.module("rhf"), simulated.run("rhf", "ranks=1," + FAST), simulated.work
    target = "ranks=4,latency=2us,bandwidth=12GB/s"
    for text, message in (("ranks=4,colour=red", "unknown key `colour`"), ("latency=2us", "does not say how many ranks"), ("ranks=0", "`ranks=0` is not a whole number from 1"),
                          ("ranks=2.5", "is not a whole number"), ("ranks=", "is not a whole number"), ("ranks", "is not a whole number"), ("ranks=-3", "is not a whole number"),
                          ("ranks=4,latency=2", "has no unit"), ("ranks=4,latency=2GB/s", "has no unit"), ("ranks=4,bandwidth=3us", "has no unit"),
                          ("ranks=4,bandwidth=x", "a number is missing"), ("ranks=4,latency=-1us", "less than nothing"), ("ranks=4,bandwidth=0GB/s", "bandwidth of 0"),
                          ("ranks=4,look-ahead=perhaps", "is not a whole number"), ("ranks=4,ranks=5", "given twice"), ("ranks=4,servers=-1", "is not a whole number")):
        simulated.refused(2, message, module, start, "--predict", text)
    simulated.refused(2, "starts from a module and a run", module, "--predict", target)
    simulated.refused(2, "no remarks to filter", module, start, "--predict", target, "--only", "missed")
    simulated.refused(2, "cannot be written as html", module, start, "--predict", target, "--format=html")
    simulated.refused(2, "sets a run beside a prediction", module, start, "--against", start)
    simulated.refused(2, "reports of their own", module, start, "--predict", target, "--compare", start, start)
    simulated.refused(2, "is no run of program `rhf`", module, simulated.run("stream", "ranks=1," + FAST), "--predict", target)
    simulated.refused(2, "another version of program `rhf`", module, edited(start, w / "version.json", lambda j: j["programs"][0].update(source_hash="0" * 64)), "--predict", target)
    simulated.refused(2, "compiled with -O2, and the module was compiled with -O0", simulated.module("rhf", "-O0"), start, "--predict", target)
    simulated.refused(2, "does not say what values", module, edited(start, w / "facts.json", lambda j: j.pop("job")), "--predict", target)
    simulated.refused(2, "no times of lines", module, edited(start, w / "lines.json", lambda j: j.update(lines=[])), "--predict", target)
    simulated.refused(2, "no value for the predefined int `norb`", module, edited(start, w / "norb.json", lambda j: j["job"]["ints"].pop("norb")), "--predict", target)
    simulated.refused(2, "ran on 1 ranks and 0 servers", module, start, "--predict", target, "--against", start)
    other = edited(start, w / "other.json", lambda j: j["job"]["segments"].update(ao=[1, 2, 3]))
    simulated.refused(2, "had other values or segments", module, start, "--predict", "ranks=1", "--against", other)


def main():
    with tempfile.TemporaryDirectory() as work:
        simulated = SimulatedRuns(BIN, work)
        check_errors(simulated)
        check_text(simulated)
        check_refusals(simulated)
    print("predictions hold, and bad input is refused")


if __name__ == "__main__":
    main()
