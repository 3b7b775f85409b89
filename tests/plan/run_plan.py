#!/usr/bin/env python3
"""What --dry-run predicts against what runs measure (memory_high_water of run.json), and what its verdict is worth.

In the gate each job on one of its layouts, and what needs few runs.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import ALL, BIN, ENV, EXAMPLES, HANGS, mpirun

HERE = pathlib.Path(__file__).resolve().parent
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}

# Job, more arguments, layouts (ranks; or NxK on pretended nodes of K; NxK+S with S servers).
CASES = [
    ("02_matrix_product/job.toml", [], "1 2 4"),
    ("03_four_index/job.toml", [], "1 2 4"),
    ("03_four_index/job.toml", ["--segments", "ao=15"], "1 2"),
    ("03_four_index/job.toml", ["--segments", "ao=2,5,1,4,3"], "1 2 4"),
    ("04_rhf/job.toml", [], "1 2"),
    ("04_rhf/job_631gs.toml", [], "1 4"),
    ("05_mp2/job.toml", [], "1 2 4"),
    ("05_mp2/job.toml", ["--segments", "occ=2,3", "--segments", "virt=5,6,8"], "1 2 4"),
    ("05_mp2/job_dimer.toml", ["--deterministic"], "1 2"),
    ("05_mp2/job_cartesian.toml", ["--results", "none", "--run-json", "run.json"], "1 2"),
    ("05_mp2/job_cartesian.toml", ["--store", "copy"], "1"),
    ("09_ccsd/job_321g.toml", [], "1 2"),
]
# Between nodes what a rank fetches depends on its iterations. The static schedule divides them as planned; of the work queue a rank
# may draw up to all, on the simulator, too.
NODE_CASES: list[tuple[str, list[str], str]] = [
    ("05_mp2/job.toml", [], "2x1 3x1 2x2+1 3x1+2"),
    ("05_mp2/job_dimer.toml", [], "2x1 3x1"),
    ("04_rhf/job.toml", [], "2x1"),
    ("09_ccsd/job_321g.toml", [], "2x1"),
]
LAB_CASES = [*NODE_CASES, ("05_mp2/job.toml", [], "4x2"), ("09_ccsd/job_321g.toml", [], "4x2 2x2+1")]
DRAWN_CASES: list[tuple[str, list[str], str]] = [("05_mp2/job.toml", [], "2x1 4x2 3x1+2")]
SPILL_CASES = ["03_four_index/job.toml", "05_mp2/job.toml", "09_ccsd/job.toml", "10_lcc/job.toml"]
# All ranks read 1600 small blocks; --memory leaves room for copies of some.
READ_ALL = """sial read_all
predefined int norb
aoindex i = 1:norb
aoindex j = 1:norb
aoindex k = 1:norb
distributed a[i,j]
scalar sum
sum = 0.0
pardo i, j
put a[i,j] = 1.0
endpardo i, j
sip_barrier
pardo k
do i
do j
get a[i,j]
sum += a[i,j] * a[i,j]
enddo j
enddo i
endpardo k
endsial read_all
"""
TINY = """sial tiny
aoindex i = 1:2
temp t[i,i]
do i
t[i,i] = 1.0
print t[i,i]
enddo i
endsial tiny
"""
# Blocks so small that most memory is the directory's, one piece of 12 kB for 64 blocks.
MANY = """sial many
predefined int norb
aoindex i = 1:norb
aoindex j = 1:norb
distributed a[i,j]
scalar sum
scalar total
pardo i, j
put a[i,j] = 1.0
endpardo i, j
sip_barrier
sum = 0.0
pardo i, j
get a[i,j]
sum += a[i,j] * a[i,j]
endpardo i, j
total = 0.0
collective total += sum
print total
endsial many
"""
# The same where data decide whether the blocks are made: what certainly does not fit is refused before it runs.
PERHAPS_MANY = (MANY.replace("scalar sum\n", "scalar sum\nscalar one\ntemp t[i,j]\n", 1)
                .replace("pardo i, j\nput a[i,j] = 1.0\nendpardo i, j\n", "do i\ndo j\nt[i,j] = 1.0\none += t[i,j] * t[i,j]\nenddo j\nenddo i\nif one > 0.0\npardo i, j\nput a[i,j] = 1.0\nendpardo i, j\nendif\n", 1))
# Small blocks that are fetched, multiplied and put between nodes: puts under way take memory, too.
PRODUCTS = """sial products
predefined int norb
aoindex i = 1:norb
aoindex j = 1:norb
aoindex k = 1:norb
distributed a[i,j]
distributed b[i,j]
temp t[i,j]
pardo i, j
t[i,j] = 1.0
put a[i,j] = t[i,j]
endpardo i, j
sip_barrier
pardo i, j
t[i,j] = 0.0
do k
get a[i,k]
get a[k,j]
t[i,j] += a[i,k]*a[k,j]
enddo k
put b[i,j] = t[i,j]
endpardo i, j
sip_barrier
endsial products
"""
TRIMER = """9

O 1.617 0.000 0.000
H 0.785 0.480 0.000
H 2.057 0.282 0.805
O -0.808 1.400 0.000
H -0.808 0.440 0.000
H -1.273 1.640 -0.805
O -0.808 -1.400 0.000
H 0.023 -0.920 0.000
H -0.784 -1.923 0.805
"""
# Jobs that must run in the least memory that a dry run says is enough.
TIGHT_CASES = [
    ("03_four_index/job.toml", ["--segments", "ao=2,5,1,4,3"], "1 2"),
    ("04_rhf/job.toml", [], "2 2x1"),
    ("05_mp2/job.toml", ["--segments", "occ=2,3", "--segments", "virt=5,6,8"], "2"),
    ("05_mp2/job_dimer.toml", [], "1 3"),
    ("09_ccsd/job_321g.toml", [], "1 2 2x1"),
]
DATA_DECIDE = set()


class Failure(Exception):
    pass


def size(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def dry_run(binary, arguments, folder=None):
    done = subprocess.run([binary, *arguments, "--dry-run"], env=ENV, cwd=folder, capture_output=True, text=True, timeout=HANGS)
    verdict = re.search(r"^(fits|does not fit): ([\d.]+ \w+) of ([\d.]+ \w+) per rank(.*)$", done.stdout, re.M)
    if not verdict or done.returncode != (0 if verdict[1] == "fits" else 1):
        raise Failure(f"{arguments}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return verdict[1] == "fits", size(verdict[2]), verdict[4], done.stdout


def peaks(text):
    """Largest peak of a dry run, fetched copies kept, and the largest for a rank that draws all iterations."""
    kept = max(map(size, re.findall(r"^  (?:peak )?([\d.]+ \w+) (?:per rank, reached|with copies of other nodes' blocks kept)", text, re.M)))
    drawn = re.findall(r"^  ([\d.]+ \w+) for a rank that draws every iteration", text, re.M)
    return kept, max([kept, *map(size, drawn)])


def run(binary, arguments, ranks=1):
    with tempfile.TemporaryDirectory(prefix="sialx-plan-") as folder:
        command = [binary, *arguments, "--output-dir", folder]
        if ranks > 1:
            command = [*mpirun(ranks), *command]
        done = subprocess.run(command, env=ENV, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANGS)
        measured = json.loads((pathlib.Path(folder) / "run.json").read_text())["total"]["memory_high_water"] if done.returncode == 0 else 0
        return done.returncode, measured, done.stderr


def compare(binary, job, more, layout, drawn=False, lab=False):
    """Predicted is measured to 10 %. `drawn`: or as much more as a rank may draw, or less where all draw slowly and let go of blocks meanwhile. `lab`: on
    the simulator's ranks."""
    ranks, per_node, servers = re.fullmatch(r"(\d+)(?:x(\d+))?(?:\+(\d+))?", layout).groups(0)
    arguments = [str(EXAMPLES / job), *more, "--ranks-per-node", str(per_node), "--servers", str(servers)]
    predicted, most = peaks(dry_run(binary, [*arguments, "--ranks", ranks])[3])
    if lab:
        command = [*arguments[:-4], "--simulate", f"ranks={ranks},ranks-per-node={per_node},servers={servers},seed=3"]
        processes = 1
    else:
        command, processes = arguments, int(ranks) + int(servers)
    what = f"{job} {' '.join(more)[:40]} on {layout}{' of the simulator' if lab else ''}"
    # On a machine with fewer cores than ranks a rank may lag so far behind that the others do not wait for it to delete.
    for _ in range(3):
        code, measured, errors = run(binary, command, processes)
        if code != 0:
            raise Failure(f"{what}: exit code {code}\n{errors}")
        if measured / 1.1 <= (most if drawn else predicted) and predicted <= (1.25 if drawn else 1.1) * measured:
            break
    else:
        raise Failure(f"{what}: predicted {predicted:.0f} bytes per rank, at most {most:.0f}, measured {measured}")
    print(f"{what}: predicted {predicted:.0f}, measured {measured}, ratio {predicted / measured:.3f}", flush=True)


def check_kept(binary):
    """Whichever iterations a rank draws, it fetches everything and keeps what there is room for."""
    with tempfile.TemporaryDirectory(prefix="sialx-plan-") as folder:
        program = pathlib.Path(folder) / "read_all.sialx"
        program.write_text(READ_ALL)
        segments = ["--set", "norb=40", "--segments", "ao=" + ",".join(["10"] * 40), "--run-json", "run.json"]
        for memory in ("1.2MB", "4MB"):
            compare(binary, str(program), [*segments, "--memory", memory], "2x1")


def check_data_file(binary):
    """An initial-data file, and a chain whose last program needs next to nothing."""
    with tempfile.TemporaryDirectory(prefix="sialx-plan-") as folder:
        data, tiny = str(pathlib.Path(folder) / "water.dat"), pathlib.Path(folder) / "tiny.sialx"
        tiny.write_text(TINY)
        subprocess.run([binary, str(EXAMPLES / "05_mp2/job.toml"), "--write-dat", data], env=ENV, check=True, timeout=HANGS)
        job = ["--dat", data, str(EXAMPLES / "04_rhf/rhf.sialx"), str(EXAMPLES / "05_mp2/mp2.sialx"), str(tiny)]
        fits, need, _, text = dry_run(binary, [*job, "--ranks", "1"])
        programs = re.findall(r"^program (\w+)$", text, re.M)
        places = re.findall(r"^  peak [\d.]+ \w+ per rank, reached at (\S+):\d+$", text, re.M)
        if not fits or programs != ["rhf", "mp2", "tiny"] or [pathlib.Path(p).name for p in places] != ["rhf.sialx", "mp2.sialx", "tiny.sialx"]:
            raise Failure(f"data file: {text}")
        code, measured, errors = run(binary, job)
        if code != 0 or abs(need - measured) > 0.1 * measured:
            raise Failure(f"data file: predicted {need:.0f}, measured {measured}, exit code {code}\n{errors}")
        # Programs found by the names the file carries, and what a file without them says.
        fits, again, _, text = dry_run(binary, ["--dat", data, "--programs", str(EXAMPLES / "05_mp2"), "-I", str(EXAMPLES / "04_rhf"), "--ranks", "1"])
        if not fits or re.findall(r"^program (\w+)$", text, re.M) != ["rhf", "mp2"] or abs(again - need) > 0.01 * need:
            raise Failure(f"data file, programs by name: {text}")
    print("plans of data files hold")


def check_spill(binary):
    """What a job is said to need with a disk is what it runs with, and the verdict agrees with the exit code."""
    with tempfile.TemporaryDirectory(prefix="sialx-plan-") as folder:
        for job in SPILL_CASES:
            arguments = [str(EXAMPLES / job), "--results", "none", "--run-json", "none", "--dry-run"]
            alone = subprocess.run([binary, *arguments, "--memory", "20kB"], env=ENV, capture_output=True, text=True, timeout=HANGS)
            least = re.search(r"^with `--spill DIR`: needs --memory ([\d.]+[kMG]?B): .* never leave it, and the blocks in use at once at \S+:\d+, with gaps$", alone.stdout, re.M)
            if alone.returncode != 1 or not least:
                raise Failure(f"{job} without --spill: exit code {alone.returncode}\n{alone.stdout}\n{alone.stderr}")
            for memory, code in (("20kB", 1), (least[1], 0)):
                planned = subprocess.run([binary, *arguments, "--memory", memory, "--spill", folder], env=ENV, capture_output=True, text=True, timeout=HANGS)
                verdict = "fits with --spill: " if code == 0 else "does not fit with --spill: "
                if planned.returncode != code or not re.search("^" + verdict, planned.stdout, re.M):
                    raise Failure(f"{job} with --spill and {memory}: exit code {planned.returncode}\n{planned.stdout}\n{planned.stderr}")
            code, _, errors = run(binary, [str(EXAMPLES / job), "--memory", least[1], "--spill", folder])
            if code != 0:
                raise Failure(f"{job}: {least[1]} and a disk are said to be enough\n{errors}")
            print(f"{job}: runs in {least[1]} with a disk", flush=True)
        # The usual segments leave too little for the triples: smaller ones are chosen, whatever the memory.
        where = pathlib.Path(folder)
        (where / "trimer.xyz").write_text(TRIMER)
        chain = [str(EXAMPLES / path) for path in ("04_rhf/rhf.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx", "11_ccsd_t/ccsd_t.sialx")]
        (where / "job.toml").write_text(f'programs = {json.dumps(chain)}\n[molecule]\nxyz = "trimer.xyz"\nbasis = "6-31g*"\n')
        for memory in ("110MB", "75MB", "60MB"):
            planned = subprocess.run([binary, "job.toml", "--memory", memory, "--spill", folder, "--dry-run"], env=ENV, cwd=folder, capture_output=True, text=True, timeout=HANGS)
            if planned.returncode != 0:
                raise Failure(f"trimer in {memory}: {planned.stdout}\n{planned.stderr}")


def enough(binary, arguments, folder=None):
    """The memory per rank that a dry run recommends, as written, and with which it says that the job fits."""
    memory = "4kB"
    for _ in range(5):
        fits, _, rest, text = dry_run(binary, [*arguments, "--memory", memory], folder)
        if fits:
            return memory
        advice = re.search(r"--memory ([\d.]+[kMG]?B?)\b", rest)
        if not advice or size(re.sub(r"(?<=\d)(?=[kMGB])", " ", advice[1])) <= size(re.sub(r"(?<=\d)(?=[kMGB])", " ", memory)):
            break
        memory = advice[1]
    raise Failure(f"{arguments}: no memory is enough\n{text}")


def check_tight(binary):
    with tempfile.TemporaryDirectory(prefix="sialx-plan-") as folder:
        program = pathlib.Path(folder) / "many.sialx"
        program.write_text(MANY)
        many = [(str(program), ["--set", f"norb={n}", "--segments", "ao=" + ",".join([str(segment)] * n), "--run-json", "run.json"], "1 2 3 2x1") for n, segment in ((5, 1), (20, 1), (20, 3))]
        between = pathlib.Path(folder) / "products.sialx"
        between.write_text(PRODUCTS)
        products = [(str(between), ["--set", f"norb={n}", "--segments", "ao=" + ",".join([str(segment)] * n), "--results", "none", "--run-json", "run.json"], "2x1 3x1") for n, segment in ((20, 4), (30, 2))]
        for job, more, layouts in [*many, *products, *TIGHT_CASES]:
            for layout in layouts.split():
                ranks, per_node = re.fullmatch(r"(\d+)(?:x(\d+))?", layout).groups(0)
                arguments = [str(EXAMPLES / job), *more, "--ranks-per-node", str(per_node), "--schedule", "static"]
                memory = enough(binary, [*arguments, "--ranks", ranks])
                code, _, errors = run(binary, [*arguments, "--memory", memory], int(ranks))
                if code != 0:
                    raise Failure(f"{job} on {layout}: {memory} are said to be enough\n{errors}")
        # No room for a whole piece of the directory: smaller ones do.
        code, _, errors = run(binary, [str(program), *many[0][1], "--memory", "8kB"], 2)
        if code != 0:
            raise Failure(f"8 kB: {errors}")
        # What other nodes send finds no room either: the statement is theirs, whatever it is that has no place.
        for memory in range(12, 60, 6):
            arguments = [str(program), *many[1][1], "--simulate", "ranks=3,ranks-per-node=1,disorder=0", "--memory", f"{memory}kB"]
            code, _, errors = run(binary, arguments)
            if code != 0 and "out of memory" in errors and not re.search(r"many\.sialx:\d+:\d+: out of memory for ", errors):
                raise Failure(f"{memory} kB on three nodes: exit code {code}, {errors}")
        # Room for half of the blocks. The message says what holds the memory, all of it, and where the program is.
        program.write_text(PERHAPS_MANY)
        code, _, errors = run(binary, [str(program), *many[1][1], "--memory", "64kB"], 1)
        used, parts = re.search(r" and use ([\d.]+ \w+)", errors), re.findall(r"(?:largest: |, )(?:[^,();]*) \(([\d.]+ \w+)\)", errors)
        if code != 3 or "many.sialx:" not in errors or not all(part in errors for part in ("the block directory (", "array `a` on this node (", "all else (")) or not used or \
                abs(sum(map(size, parts)) - size(used[1])) > 0.02 * size(used[1]):
            raise Failure(f"64 kB: exit code {code}, {errors}")
    print("jobs run in what a dry run says is enough")


def language_programs():
    """The programs of the language tests that run to their end: every statement of the language, on small blocks."""
    for path in sorted((HERE.parent / "lang/run").glob("*.sialx")):
        text = path.read_text(errors="replace")
        if path.name.startswith("_") or "expect-error" in text:
            continue
        arguments = re.search(r"^#\s*args:\s*(.*)$", text, re.M)
        yield path, arguments[1].split() if arguments else []


def check_language(binary):
    compared = 0
    for path, arguments in language_programs():
        with tempfile.TemporaryDirectory(prefix="sialx-plan-") as folder:
            command = [binary, str(path), *arguments]
            done = subprocess.run([*command, "--output-dir", folder, "--run-json", "run.json"], env=ENV, cwd=path.parent, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=HANGS)
            if done.returncode != 0:
                continue  # wants more than one rank, or other surroundings
            measured = json.loads((pathlib.Path(folder) / "run.json").read_text())["total"]["memory_high_water"]
            plan = subprocess.run([*command, "--dry-run"], env=ENV, cwd=path.parent, capture_output=True, text=True, timeout=HANGS)
            verdict = re.search(r"^fits: ([\d.]+ \w+) of", plan.stdout, re.M)
            if not verdict:
                raise Failure(f"{path.name}: {plan.stdout}\n{plan.stderr}")
            if "--memory" not in arguments:
                memory = enough(binary, command[1:], path.parent)
                tight = subprocess.run([*command, "--output-dir", folder, "--memory", memory], env=ENV, cwd=path.parent, stdin=subprocess.DEVNULL,
                                       capture_output=True, text=True, timeout=HANGS)
                if tight.returncode != 0:
                    raise Failure(f"{path.name}: {memory} are said to be enough\n{tight.stderr}")
        predicted = size(verdict[1])
        # What data decide is taken both ways, so less may be used. Copies of other nodes' blocks are kept while there is room.
        if not 0.9 * measured <= peaks(plan.stdout)[0] or (path.stem not in DATA_DECIDE and predicted > 1.1 * measured):
            raise Failure(f"{path.name}: predicted {predicted:.0f} bytes, measured {measured}")
        compared += 1
    if compared < 40:
        raise Failure(f"only {compared} programs of the language tests were compared")
    print(f"{compared} programs of the language tests agree")


def check_verdict(binary):
    """A job that does not fit fits on as many ranks as it says; it runs in what was predicted and not in much less."""
    job = [str(EXAMPLES / "05_mp2/job_dimer.toml")]
    fits, need, _, text = dry_run(binary, [*job, "--ranks", "1"])
    if not fits or "half" not in text or "distributed" not in text:
        raise Failure(f"dimer: {text}")
    # Kept integrals: at least one of eight equal ones, at most all of them.
    kept = re.search(r"^fits: ([\d.]+ \w+) of [\d.]+ \w+ per rank, ([\d.]+ \w+) with kept integrals$", text, re.M)
    functions = 26
    if not kept or not functions**4 < size(kept[2]) - size(kept[1]) < 8 * functions**4 or "kept" in dry_run(binary, [*job, "--keep-integrals", "off"])[3]:
        raise Failure(f"kept integrals: {text}")
    fits, _, rest, text = dry_run(binary, [*job, "--memory", "0.6MB"])
    ranks = re.search(r"needs at least (\d+) ranks of this memory", rest)
    if fits or not ranks:
        raise Failure(f"0.6 MB: {text}")
    enough = int(ranks[1])
    if not dry_run(binary, [*job, "--memory", "0.6MB", "--ranks", str(enough)])[0] or dry_run(binary, [*job, "--memory", "0.6MB", "--ranks", str(enough - 1)])[0]:
        raise Failure(f"0.6 MB: {enough} ranks are not the smallest number that fits")
    fits, _, rest, text = dry_run(binary, [*job, "--memory", "0.1MB"])
    if fits or "no number of ranks helps" not in rest:
        raise Failure(f"0.1 MB: {text}")
    code, _, errors = run(binary, [*job, "--memory", f"{need * 1.1:.0f}B"], 1)
    if code != 0:
        raise Failure(f"a tenth more than predicted is not enough: {errors}")
    code, _, errors = run(binary, [*job, "--memory", f"{need * 0.8:.0f}B"], 1)
    holders = () if "nothing has run" in errors else ("array `half` on this node (", "local `quarter`")
    if code != 3 or not all(part in errors for part in ("--dry-run", "mp2.sialx:", *holders)):
        raise Failure(f"four fifths of what was predicted: exit code {code}, {errors}")
    print("verdicts hold")


def check_refused(binary):
    """What certainly does not fit is refused before anything runs; what data decide may run."""
    put = "pardo i, j\nput a[i,j] = 1.0\nendpardo i, j\n"
    positive, trips = "do i\ndo j\nt[i,j] = 1.0\nx += t[i,j] * t[i,j]\nenddo j\nenddo i\n", "do k\nif x > 0.0\nexit\nendif\n"
    cases = {"put": (put, True), "behind_a_condition": (f"{positive}if x > 0.0\nprintln \"no blocks\"\nendif\n{put}", True), "under_a_condition": (f"{positive}if x < 0.0\n{put}endif\n", False),
             "behind_an_exit": (f"{positive}{trips}{put}enddo k\n", False), "behind_the_loop": (f"{positive}{trips}enddo k\n{put}", True)}
    with tempfile.TemporaryDirectory(prefix="sialx-plan-") as folder:
        program = pathlib.Path(folder) / "refused.sialx"
        for name, (body, refused) in cases.items():
            program.write_text("sial refused\npredefined int norb\naoindex i = 1:norb\naoindex j = 1:norb\nindex k = 1:3\ndistributed a[i,j]\ntemp t[i,j]\nscalar x\n"
                               f"println \"begun\"\n{body}endsial refused\n")
            done = subprocess.run([binary, str(program), "--set", "norb=20", "--segments", "ao=" + ",".join(["10"] * 20), "--memory", "200kB", "--results", "none", "--run-json", "none"],
                                  env=ENV, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANGS)
            if (done.returncode, "begun" in done.stdout, "out of memory for distributed `a`: the job needs at least" in done.stderr) != ((3, False, True) if refused else (0, True, False)):
                raise Failure(f"{name}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    print("what certainly does not fit is refused")


def check_far_too_large(binary):
    """An answer before anything is computed and within 500 MB, of a dry run and of a run. It takes 1 to 5 s; minutes would be the work itself."""
    with tempfile.TemporaryDirectory(prefix="sialx-plan-") as temporary:
        folder = pathlib.Path(temporary)
        chain = [str(EXAMPLES / path) for path in ("04_rhf/rhf.sialx", "09_ccsd/tran.sialx", "09_ccsd/ccsd.sialx")]
        for name, programs, atom, atoms, basis in (("atoms", chain[:1], "H", 20000, "sto-3g"), ("carbon", chain, "C", 60, "cc-pvdz")):
            (folder / f"{name}.xyz").write_text(f"{atoms}\n{name}\n" + "".join(f"{atom} {1.5 * (n % 30)} {1.5 * (n // 30 % 30)} {1.5 * (n // 900)}\n" for n in range(atoms)))
            (folder / f"{name}.toml").write_text(f'programs = {json.dumps(programs)}\n[molecule]\nxyz = "{name}.xyz"\nbasis = "{basis}"\n')
        for job in (["atoms.toml"], ["carbon.toml"], [str(EXAMPLES / "02_matrix_product/matrix_product.sialx"), "--set", "norb=1", "--segments", "ao=2147483647"]):
            for more in (["--dry-run"], []):
                with open(folder / "said", "w+") as said:
                    process = subprocess.Popen([binary, *job, *more, "--results", "none", "--run-json", "none"], env=ENV, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
                    _, status, used = os.wait4(process.pid, 0)
                    process.returncode = os.waitstatus_to_exitcode(status)
                    said.seek(0)
                    text = said.read()
                if process.returncode != (1 if more else 3) or ("does not fit: " if more else "out of memory for ") not in text or used.ru_utime + used.ru_stime > 60 or used.ru_maxrss > 500_000:
                    raise Failure(f"{job} {more}: exit code {process.returncode}, {used.ru_utime + used.ru_stime:.1f} s, {used.ru_maxrss} kB\n{text}")
    print("jobs that are far too large are refused at once")


def check_pairs(binary):
    """Pairs of shells are stated where a program computes two-electron integrals, and by expansions in Hermite Gaussians."""
    line = re.compile(r"^  up to 67.1 MB per rank beside the blocks, for pairs of shells", re.M)
    for arguments, wanted in ((["04_rhf/job.toml"], 1), (["04_rhf/job.toml", "--integrals", "libint"], 0), (["02_matrix_product/job.toml"], 0), (["09_ccsd/job_321g.toml"], 3)):
        text = dry_run(binary, [str(EXAMPLES / arguments[0]), *arguments[1:]])[3]
        if len(line.findall(text)) != wanted:
            raise Failure(f"{arguments}: {wanted} programs compute integrals\n{text}")
    print("pairs of shells are stated")


def main():
    binary = str(BIN / "sialrun")
    failures = []
    for cases, more, options in ((CASES, [], {}), (NODE_CASES, ["--schedule", "static"], {}), (LAB_CASES, [], {"lab": True, "drawn": True}), (DRAWN_CASES, [], {"drawn": True}))[: 4 if ALL else 2]:
        for number, (job, own, all_layouts) in enumerate(cases):
            layouts = all_layouts.split()
            for layout in layouts if ALL else [layouts[number % len(layouts)]]:
                try:
                    compare(binary, job, [*own, *more], layout, **options)
                except Failure as failure:
                    failures.append(str(failure))
    for check in (check_pairs, check_data_file, check_refused, check_verdict, check_kept, check_language, check_tight, check_spill, check_far_too_large)[: 9 if ALL else 4]:
        try:
            check(binary)
        except Failure as failure:
            failures.append(str(failure))
    for text in failures:
        print("FAILED", text)
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
