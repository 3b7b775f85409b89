#!/usr/bin/env python3
"""sialrun --device cuda as a user meets it, on the fake driver: where there is a GPU, where there is none, and where it fails.

    run_cuda.py --bin DIR
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ROOT, expect

PROGRAM = ROOT / "tests" / "stats" / "device.sialx"
MPI = dict(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")


class Runs:
    def __init__(self, binary):
        self.binary = binary
        self.fake = binary / "fake-cuda"

    def run(self, *flags, fake="seed=1", libraries=None, ranks=0, segments="3,2", program=PROGRAM, aware=False):
        """What sialrun printed, its errors, exit code, and run.json where there is one. The last --segments counts. `aware`: the MPI says
        that it sends from the memory of a GPU."""
        env = dict(os.environ, **MPI, SIALX_CUDA_LIBRARIES=str(libraries or self.fake), SIALX_FAKE_CUDA=fake)
        with tempfile.TemporaryDirectory() as out:
            start = ["mpirun", "-n", str(ranks), "--bind-to", "none"] if ranks else []
            if aware:
                start += ["-x", f"LD_PRELOAD={self.fake / 'libfake_aware_mpi.so'}"]
            done = subprocess.run([*start, self.binary / "sialrun", program, "--set", f"norb={segments.count(',') + 1}", "--segments", "ao=" + segments, "--print-format", "plain", "--results", "none", "--run-json", "run.json",
                                   "--output-dir", out, *flags], capture_output=True, text=True, timeout=120, env=env)
            report = pathlib.Path(out) / "run.json"
            return done.stdout, done.stderr, done.returncode, json.loads(report.read_text()) if report.exists() else {}

    def fails(self, code, parts, *flags, **how):
        out, err, got, _ = self.run(*flags, **how)
        expect(got == code, f"{flags} {how}: exit code {got} instead of {code}\n{out}{err}")
        for part in parts:
            expect(part in err, f"{flags} {how}: `{part}` is not in\n{err}")


def check_messages(runs):
    """Blocks that go from a GPU to other nodes: straight where MPI says that it can, else through the host, and as it is told."""
    messages = {"program": ROOT / "tests" / "stats" / "device_messages.sialx", "segments": "30,41", "ranks": 2}
    plain = runs.run("--device", "host", **messages)[0]
    nodes = ["--device", "cuda", "--ranks-per-node", "1"]
    for aware, way, straight in ((False, "auto", False), (False, "staged", False), (True, "auto", True), (True, "direct", True), (True, "staged", False)):
        for level in ("-O0", "-O2"):
            for memory in ([], ["--device-memory", "60KB"]):
                out, err, code, report = runs.run(level, *nodes, *memory, "--device-messages", way, fake="seed=5", aware=aware, **messages)
                expect(code == 0 and out == plain, f"{level} {memory}, --device-messages {way}, aware {aware}: exit code {code}, {out}{err}")
                expect(report["options"]["device_messages"] == ("direct" if straight else "staged"), f"aware {aware}, {way}: {report['options']['device_messages']}")
                total = report["total"]
                expect(level != "-O0" or memory or (total["device_sent_direct"] > 0) == straight and (total["device_sent_pipelined"] > 0) != straight,
                       f"aware {aware}, {way}: {total['device_sent_direct']} straight, {total['device_sent_pipelined']} in pieces")
    gets = {**messages, "program": ROOT / "tests" / "stats" / "device_ahead.sialx", "segments": "30,21,8,41"}
    plain_gets = runs.run("--device", "host", **gets)[0]
    for aware, way, straight in ((False, "auto", False), (True, "auto", True), (True, "staged", False)):
        for level, memory in (("-O0", []), ("-O2", []), ("-O2", ["--device-memory", "200KB"])):
            out, err, code, report = runs.run(level, *nodes, *memory, "--device-messages", way, "--schedule", "static", "--look-ahead", "1", fake="seed=6", aware=aware, **gets)
            expect(code == 0 and out == plain_gets, f"gets, {level} {memory}, --device-messages {way}, aware {aware}: exit code {code}, {out}{err}")
            received = report["total"]["device_received_direct"]
            expect((received > 0) == straight or straight and memory, f"gets, {level} {memory}, aware {aware}, {way}: {received} received straight")
    pieces = {**gets, "segments": "257,258,256", "ranks": 0}  # blocks of more than one piece
    plain_pieces = runs.run("--device", "host", **pieces)[0]
    slow = [*nodes, "--simulate", "ranks=2,seed=3", "--schedule", "static", "--simulate-network", "latency=50us,bandwidth=100MB/s"]
    for way, depth in (("staged", "off"), ("auto", "2")):
        out, err, code, report = runs.run("-O0", *slow, "--look-ahead", depth, "--device-messages", way, fake="seed=7", **pieces)
        expect(code == 0 and out == plain_pieces, f"gets in pieces, --look-ahead {depth}: exit code {code}, {out}{err}")
        expect(report["total"]["device_received_pipelined"] > 0, f"gets in pieces, --look-ahead {depth}: none")
    for when in (60, 130, 200):  # while pieces go on, at times
        out, err, code, _ = runs.run("-O0", *slow, fake=f"lose={when},seed={when}", **pieces)
        expect(code == 3 and "failed: CUDA_ERROR_LAUNCH_FAILED" in err or code == 0 and out == plain_pieces, f"gets in pieces, lost at {when}: exit code {code}\n{out}{err}")
    for when in range(20, 100, 40):  # while blocks are received
        out, err, code, _ = runs.run("-O2", *nodes, fake=f"lose={when},seed={when}", aware=True, **gets)
        expect(code == 3 and "failed: CUDA_ERROR_LAUNCH_FAILED" in err or code == 0 and out == plain_gets, f"gets, lost at {when}: exit code {code}\n{out}{err}")
    runs.fails(3, ["`--device-messages direct`", "MPIX_Query_cuda_support", "hint: leave it at `auto`"], *nodes, "--device-messages", "direct", **messages)
    runs.fails(3, ["`--device-messages direct`", "MPIX_Query_cuda_support"], "--device", "cuda", "--device-messages", "direct")
    runs.fails(2, ["auto", "direct", "staged"], "--device", "cuda", "--device-messages", "straight")
    lost = 0
    for when in range(10, 58, 6):  # while messages are under way, at times
        out, err, code, _ = runs.run("-O0", *nodes, fake=f"lose={when},seed={when}", aware=when % 4 == 0, **messages)
        expect(code == 3 and "failed: CUDA_ERROR_LAUNCH_FAILED" in err or code == 0 and out == plain, f"lost at {when}: exit code {code}\n{out}{err}")
        lost += code != 0
    expect(lost > 2, f"the device was lost in {lost} runs")


def main():
    runs = Runs(BIN)
    plain, nothing, code, report = runs.run("--device", "host")  # the compiler may have something to say
    expect(code == 0, f"on the host: {nothing}")

    def same(*flags, device="cuda", said="", **how):
        out, err, code, report = runs.run(*flags, **how)
        expect(code == 0, f"{flags} {how}: exit code {code}\n{err}")
        expect(out == plain, f"{flags} {how}: {out}\non the host: {plain}")
        expect((said in err) if said else err == nothing, f"{flags} {how}: said\n{err}")
        found = report["options"].get("device", "host")
        expect(found == device, f"{flags} {how}: ran on {found}")
        expect((report["total"]["device_operations"] > 0) == (device != "host"), f"{flags} {how}: {report['total']['device_operations']} operations on the device")

    # Where there is a driver it is used, on all GPUs in turn.
    for seed in range(1, 6):
        same("--device", "cuda", fake=f"seed={seed}")
    same("--device-from", "0")
    same("--device", "auto", "--device-from", "0", "--devices", "1,0", "--simulate", "ranks=3,seed=2", fake="gpus=2,seed=3")
    same("--device", "cuda", fake="gpus=2", ranks=2)
    # Staging, refused pinned memory, and a device without room, to the host without a difference.
    same("--device", "cuda", "--device-copies", "staged", fake="host=1")
    same("--device", "cuda", "--device-memory", "1KiB")
    same("--device", "cuda", said="the device has no room", fake="alloc=2,seed=4")
    # Slabs of the node heap are registered with the driver, where blocks fill some, unless it refuses or copies are staged.
    large = {"segments": "1500,1500"}
    reference = runs.run("--device", "host", **large)[0]
    for fake, flags, pinned, refused in (("seed=2", [], True, False), ("pin=1", [], False, True), ("seed=3", ["--device-copies", "staged"], False, False)):
        out, err, code, report = runs.run("--device", "cuda", "--memory", "1GB", *flags, fake=fake + ",memory=1000000000", **large)
        expect(code == 0 and out == reference, f"large blocks, {fake}: exit code {code}, {out}{err}")
        total = report["total"]
        expect((total["device_pinned_bytes"] >= 8 << 20) == pinned and (total["device_pins_refused"] > 0) == refused,
               f"large blocks, {fake}: {total['device_pinned_bytes']} bytes pinned, {total['device_pins_refused']} times refused")
    # Programs of small blocks are left to the host, but not where the GPU was asked for; `--device-from` moves the bound.
    for flags, there, segments in (([], False, "63,62"), ([], True, "64,63"), (["--device-from", "4097"], False, "64,63"), (["--device", "cuda"], True, "3,2"),
                                   (["--device", "cuda", "--device-from", "26"], False, "5,4"), (["--device", "cuda", "--device-from", "25"], True, "5,4")):
        wanted = runs.run("--device", "host", segments=segments)[0]
        out, err, code, report = runs.run(*flags, segments=segments)
        expect(code == 0 and out == wanted, f"{flags}, segments {segments}: exit code {code}, {out}{err}")
        expect((report["total"]["device_operations"] > 0) == there, f"{flags}, segments {segments}: {report['total']['device_operations']} operations on the device")
    # Times of its work, by events, where they are taken.
    for flags, timed in ((["--device-times"], True), ([], False)):
        out, err, code, report = runs.run("--device", "cuda", *flags)
        total = report["total"]
        expect(code == 0 and out == plain and (total["device_timed"] > 0) == timed == ("device_kernel_time" in total), f"{flags}: {total['device_timed']} pieces were timed, {err}")
        expect(not timed or 0 <= total["device_overlap_time"] <= min(total["device_copy_time"], total["device_kernel_time"]), f"{flags}: {total}")
    # Where there is none, `auto` is the host without a word, and `cuda` an error with a remedy.
    same(device="host", libraries="/nonexistent")
    same(device="host", fake="gpus=0")
    runs.fails(3, ["there is no CUDA driver (libcuda.so.1 in /nonexistent)", "hint: set SIALX_CUDA_LIBRARIES"], "--device", "cuda", libraries="/nonexistent")
    runs.fails(3, ["the CUDA driver sees no GPU", "CUDA_VISIBLE_DEVICES", "--device host"], "--device", "cuda", fake="gpus=0")
    runs.fails(3, ["there is no GPU 2: the driver sees 1, counted from 0", "--devices"], "--device", "cuda", "--devices", "2")
    runs.fails(2, ["auto,", "cuda", "--help"], "--device", "cdua")
    # A GPU that does not start: a warning and the host, but not where it was asked for.
    same(device="host", fake="context=1", said="warning: GPU 0 (Fake GPU): making a context failed: CUDA_ERROR_OUT_OF_MEMORY")
    same(device="host", fake="blas=1", said="block operations run on the host")
    same(device="host", fake="compute=70", said="block operations run on the host")
    runs.fails(3, ["GPU 0 (Fake GPU): ", "7.0", "hint:"], "--device", "cuda", fake="compute=70")
    runs.fails(3, ["making a context failed", "hint:"], "--device", "cuda", fake="context=1")
    runs.fails(3, ["does not take the generated kernel", "refused, as a test wishes", "device.sialx:"], "--device", "cuda", fake="module=1")
    # One that is lost while the job runs ends it, wherever that is, with a message and never with a wrong result.
    lost = 0
    for when in [*range(20, 60, 3), *range(61, 400, 34)]:
        out, err, code, _ = runs.run("--device", "cuda", fake=f"lose={when},seed={when}")
        if code == 0:
            expect(out == plain, f"lost at {when}: {out}\non the host: {plain}")
            continue
        lost += 1
        expect(code == 3 and "failed: CUDA_ERROR_LAUNCH_FAILED" in err and "--restart" in err, f"lost at {when}: exit code {code}\n{err}")
        expect(plain.startswith(out), f"lost at {when}: printed {out}")
    expect(lost > 10, f"the device was lost in {lost} runs")
    runs.fails(3, ["failed: CUDA_ERROR_LAUNCH_FAILED", "of 2"], "--device", "cuda", fake="lose=60", ranks=2)
    # What was found is said by --version --verbose.
    for libraries, text in [(runs.fake, "cuda: 1 GPU (Fake GPU), driver for CUDA 13.0"), ("/nonexistent", "cuda: not used, there is no CUDA driver")]:
        said = subprocess.run([runs.binary / "sialrun", "--version", "--verbose"], capture_output=True, text=True, timeout=60, env=dict(os.environ, SIALX_CUDA_LIBRARIES=str(libraries))).stdout
        expect(text in said, f"--version --verbose: {said}")
    check_messages(runs)
    print("OK")


if __name__ == "__main__":
    main()
