#!/usr/bin/env python3
"""What a report opens with: where the time goes and the change that pays most, for jobs whose answer is known; that `sialreport run.json` needs
nothing else; and that a comparison shows predicted gains beside reached ones.

    run_advice.py --bin DIR
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import HERE, Tools, edited
from harness import BIN, ROOT, expect
from redeclare import permuted

LADDER = """pardo mu, la, nu, si
  execute compute_integral_batch ao[mu,la,nu,si]
  do i
    do j
      get t_basis[la,si,i,j]
      get u_basis[mu,nu,i,j]
      w[mu,nu,i,j] = ao[mu,la,nu,si]*t_basis[la,si,i,j]
      part = w[mu,nu,i,j]*u_basis[mu,nu,i,j]
      mine += part
    enddo j
  enddo i
endpardo mu, la, nu, si"""


def image(left, right, t_left, t_right):
    """One of the places of a block (mu la|nu si): with mu and la, nu and si exchanged or not."""
    return f"""      get t_basis[{t_left},{t_right},i,j]
      get u_basis[{left},{right},i,j]
      w[{left},{right},i,j] = ao[mu,la,nu,si]*t_basis[{t_left},{t_right},i,j]
      part = w[{left},{right},i,j]*u_basis[{left},{right},i,j]
      block += part
"""


def symmetric_ladder():
    """The ladder with each block of integrals computed once and used for all its places."""
    def when(condition, text):
        return f"      if {condition}\n{text}      endif\n" if condition else text

    body = image("mu", "nu", "la", "si") + when("mu < la", image("la", "nu", "mu", "si")) + when("nu < si", image("mu", "si", "la", "nu"))
    body += "      if mu < la\n" + when("nu < si", image("la", "si", "mu", "nu")) + "      endif\n"
    work = f"""  do i
    do j
{body}    enddo j
  enddo i
"""
    return f"""pardo mu, la, nu, si
  where mu <= la
  where nu <= si
  where mu <= nu
  block = 0.0
  if mu < nu
    execute compute_integral_batch ao[mu,la,nu,si]
{work}    mine += 2.0*block
  else
    if la <= si
      execute compute_integral_batch ao[mu,la,nu,si]
{work}      mine += block
      if la < si
        mine += block
      endif
    endif
  endif
endpardo mu, la, nu, si"""


def energies(text):
    return {m[0]: float(m[1]) for m in re.findall(r"\d+:\s+(\w*energy\w*|total) = (\S+)", text)}


class Runs:
    def __init__(self, tools):
        self.tools = tools

    def job(self, name, program, *flags):
        folder = self.tools.work / name
        folder.mkdir(exist_ok=True)
        write_job(folder, [ROOT / "examples/04_rhf/rhf.sialx", ROOT / "examples/09_ccsd/tran.sialx", program], 'occ = "auto"\nocc_target = 5\nvirt = "auto"\nvirt_target = 8\n')
        return self.sialrun(folder, folder / "job.toml", *flags)

    def sialrun(self, folder, *arguments):
        folder.mkdir(exist_ok=True)
        done = subprocess.run([self.tools.bin / "sialrun", *arguments, "--output-dir", folder, "--results", "none", "--run-json", "run.json"], capture_output=True, text=True, timeout=300)
        expect(done.returncode == 0, f"sialrun {arguments}: {done.stderr[-800:]}")
        return energies(done.stdout), folder / "run.json"

    def advice(self, *arguments):
        return json.loads(self.tools.report(*arguments, "--format=json"))["job"]


def write_job(folder, programs, segments=""):
    """job.toml: water with small AO segments; `segments`: more lines about them."""
    (folder / "job.toml").write_text(f"""programs = {json.dumps([str(p) for p in programs])}
[molecule]
xyz = {json.dumps(str(ROOT / "examples/molecules/water.xyz"))}
basis = "6-31g"
[segments]
ao = "auto"
ao_target = 4
{segments}""")


def line_of(path, text):
    return next(n for n, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def check_symmetry(runs):
    """A pardo over all quartets of basis functions, whose integrals take most of the job."""
    tools = runs.tools
    program = tools.work / "mp3.sialx"
    program.write_text((HERE / "mp3.sialx").read_text())
    before, run = runs.job("plain", program)
    # Reference values of Psi4 for this molecule, its unit of length apart.
    expect(abs(before["mp2_energy"] + 0.128795541) < 1e-7 and abs(before["mp3_energy"] + 0.001581153) < 1e-7, f"mp3: {before}")
    line = line_of(program, "execute compute_integral_batch")

    def integrals_dominate(j):
        """As if SCF had been quick: 78 % of the time in the integrals of mp3."""
        row = next(l for l in j["lines"] if l["program"] == "mp3" and l["line"] == line)
        row["seconds"] = 0.78 / 0.22 * sum(l["seconds"] for l in j["lines"] if l is not row)

    run = edited(run, tools.work / "dominated.json", integrals_dominate)
    text, job = tools.report(run), runs.advice(run)
    expect(text.replace("\n", " ").startswith(job["opening"][:60]), f"the opening sentence comes first: {text[:300]}")
    expect(f"78 % of the job's time is spent at line {line} of `mp3.sialx` (program mp3, " in job["opening"] and "computes two-electron integrals, `ao[mu,la,nu,si]`" in job["opening"], job["opening"])
    expect(abs(job["costliest"]["share"] - 0.78) < 1e-9 and job["costliest"]["at"]["line"] == line, f"costliest: {job['costliest']}")
    best = job["advice"][0]
    n = round(next(i["bound"]["count"] for i in json.loads(tools.report(run, "--format=json"))["indices"] if i["name"] == "mu"))
    pair = n * (n + 1) // 2
    expect(best["kind"] == "symmetry" and best["at"]["line"] == line and "`where mu <= la`, `where nu <= si`, `where mu <= nu`" in best["change"], f"advice: {best}")
    gain = job["costliest"]["seconds"] * (1 - pair * (pair + 1) / 2 / n ** 4)
    expect(abs(best["seconds"] - gain) < 1e-6 * gain, f"predicted gain {best['seconds']}, by hand {gain}")
    expect(f"{n ** 4} blocks" in best["found"] and f"where {pair * (pair + 1) // 2} differ" in best["found"], best["found"])
    # Followed: the same energy, the gain is reached, and nothing more is asked for there.
    source = program.read_text()
    expect(LADDER in source, "the ladder in mp3.sialx")
    program.write_text(source.replace(LADDER, symmetric_ladder()).replace("scalar part\n", "scalar part\nscalar block\n"))
    after, better = runs.job("symmetric", program)
    expect(all(abs(after[k] - before[k]) < 1e-10 for k in before), f"the symmetric ladder: {before} {after}")
    expect(not [a for a in runs.advice(better)["advice"] if a["kind"] == "symmetry" and a["at"]["program"] == "mp3"], "symmetry that is used is not asked for again")
    # The file has changed, and the report of the first run still knows what ran.
    expect(runs.advice(run)["opening"] == job["opening"], "a report of sources that changed since")
    comparison = json.loads(tools.report("--compare", run, better, "--format=json"))
    row = next(a for a in comparison["advice"] if a["kind"] == "symmetry" and a["program"] == "mp3")
    measured = [sum(l["seconds"] for l in json.loads(r.read_text())["lines"] if l["program"] == "mp3" and l["line"] in lines) for r, lines in
                ((run, [line]), (better, [n for n, t in enumerate(program.read_text().splitlines(), 1) if "execute compute_integral_batch" in t]))]
    expect(row["followed"] and row["predicted_seconds"] == best["seconds"] and abs(row["before_seconds"] - measured[0]) < 1e-12 and abs(row["after_seconds"] - measured[1]) < 1e-12,
           f"comparison: {row} {measured}")
    expect("followed: symmetry at mp3.sialx" in tools.report("--compare", run, better), "comparison as text")
    return run


def check_alone(runs, run):
    """`sialreport run.json`: sources from it, from the files, modules beside it; the hash is checked."""
    tools, text = runs.tools, runs.tools.report(run)
    expect("program mp3 (" in text and "* mp3" in text and "  rhf " in text, "the longest program, and the shares of all: " + text[:1500])
    expect("program rhf (" in tools.report(run, "--program", "rhf"), "--program")
    tools.refused(2, "is no run of program `other`", run, "--program", "other")

    def without_sources(j):
        for p in j["programs"]:
            p["sources"] = []

    bare = edited(run, tools.work / "bare.json", without_sources)
    # mp3.sialx was changed meanwhile: its hash is not that of the run.
    expect("program mp3 (" not in tools.report(bare), "sources of another hash are not taken")
    tools.refused(2, "neither a module nor the sources of program `mp3` as they ran were found", bare, "--program", "mp3")
    kept = tools.work / "kept"
    kept.mkdir()
    (kept / "mp3.sialx").write_text((HERE / "mp3.sialx").read_text())
    expect("program mp3 (" in tools.report(bare, "-I", kept), "sources along -I")
    module = tools.work / "mp3.siox"
    subprocess.run([tools.bin / "sialc", kept / "mp3.sialx", "-o", module], check=True, timeout=60)
    expect("program mp3 (" in tools.report(bare), "a module beside run.json")
    module.unlink()

    def old_format(j):
        j["format"] = 2
        for p in j["programs"]:
            p.pop("files"), p.pop("sources")

    old = edited(run, tools.work / "old_format.json", old_format)
    expect("program rhf (" in tools.report(old, "--program", "rhf"), "a run.json of format 2: the program is among the files of its lines")


def check_repeated(runs):
    program = HERE / "again.sialx"
    folder = runs.tools.work / "again"
    folder.mkdir()
    write_job(folder, [program])
    moved, kept = line_of(program, "# moved"), line_of(program, "# kept")
    for _ in range(3):  # on a busy machine a line may seem to take next to no part of the time
        _, run = runs.sialrun(folder, folder / "job.toml")
        advice = {a["at"]["line"]: a for a in runs.advice(run)["advice"] if a["kind"] == "repeated"}
        if len(advice) == 2:
            break
    expect(set(advice) == {moved, kept}, f"repeated: {advice}")
    expect("run 3 times" in advice[moved]["found"] and advice[moved]["change"] == "move it before `do k`", advice[moved])
    expect("run 4 times" in advice[kept]["found"] and "compute the blocks once before `do iteration`" in advice[kept]["change"], advice[kept])
    # Without kept integrals the Fock matrices' own ones are named, with the option that keeps them.
    (folder / "scf.toml").write_text((folder / "job.toml").read_text().replace(str(program), str(ROOT / "examples/04_rhf/rhf.sialx")))
    for keep, asked in (("off", True), ("auto", False)):
        _, scf = runs.sialrun(folder, folder / "scf.toml", "--keep-integrals", keep)
        found = [a for a in runs.advice(scf)["advice"] if a["kind"] == "repeated" and "--keep-integrals auto" in a["change"]]
        expect(bool(found) == asked, f"--keep-integrals {keep}: {found}")
    # In little memory they cannot be kept, and the line is not asked for; it is still named with the reason.
    little = edited(run, folder / "little.json", lambda j: j["options"].update(memory="1000"))
    job = runs.advice(little)
    expect(not [a for a in job["advice"] if a["kind"] == "repeated" and a["at"]["line"] == kept], f"repeated without memory: {job['advice']}")


def orders_run(runs, name, program, rounds):
    return runs.sialrun(runs.tools.work / name, program, "--set", "norb=2", "--set", f"rounds={rounds}", "--segments", "ao=20,20")


def check_orders(runs):
    """A declaration is judged over all uses: it pays for one product, or is worth less than what it costs the others."""
    program = runs.tools.work / "orders.sialx"
    program.write_text((HERE / "orders.sialx").read_text())
    local = subprocess.run([runs.tools.bin / "sialc", "--explain-kernels", program], capture_output=True, text=True, check=True, timeout=60).stdout
    expect("declare v[a,i,k,c] to read it in place" in local, "the first product alone wants another order of v: " + local)
    first, run = orders_run(runs, "few", program, 1)
    before = runs.advice(run)
    asked = [r for a in before["advice"] for r in a["redeclarations"]]
    print("  few rounds:", [(r["from"], r["to"]) for r in asked], f"model {before['model_seconds'] * 1e3:.3f} ms")
    _, many = orders_run(runs, "many", program, 40)
    there = runs.advice(many)
    print("  many rounds:", [(r["from"], r["to"]) for a in there["advice"] for r in a["redeclarations"]], f"model {there['model_seconds'] * 1e3:.3f} ms")
    expect(not [r for a in there["advice"] for r in a["redeclarations"] if r["array"] == "v" and r["to"] == "v[a,i,k,c]"], f"many rounds want `v` as it is: {there['advice']}")
    if not asked:
        return
    # Arrays that a put ties together are asked for together, and following it is not undone.
    expect({"v", "vt"} <= {r["array"] for r in asked} or not {"v", "vt"} & {r["array"] for r in asked}, f"`vt` is put into `v`: {asked}")
    text = program.read_text()
    for r in asked:
        text = permuted(text, r["array"], r["order"])
    program.write_text(text)
    second, again = orders_run(runs, "followed", program, 1)
    expect(abs(second["energy"] - first["energy"]) <= 1e-12 * abs(first["energy"]), f"orders: {first} {second}")
    after = runs.advice(again)
    expect(after["model_seconds"] < before["model_seconds"], f"orders: {before['model_seconds']} {after['model_seconds']}")
    expect(not [r for a in after["advice"] for r in a["redeclarations"]], f"orders: the next report asks again: {after['advice']}")
    rows = [a for a in json.loads(runs.tools.report("--compare", run, again, "--format=json"))["advice"] if a["kind"] == "declaration"]
    expect(rows and all(a["followed"] and a["predicted_seconds"] > 0 for a in rows), f"comparison of declarations: {rows}")


def check_ranks(runs):
    """Imbalance, waits and want of memory, on a run of two ranks with the measurements set by hand."""
    tools = runs.tools
    run = tools.run("ranks.json", "--simulate", "ranks=2,seed=1,ranks-per-node=1")
    line = line_of(tools.source, "t[i,j] += d[i,k] * v[k,j]")

    barrier = [n for n, text in enumerate(tools.source.read_text().splitlines(), 1) if text == "sip_barrier"][1]

    def set_lines(j, at, seconds, slowest, at_barrier=1e-6):
        for l in j["lines"]:
            l.update(seconds=1e-6, compute_seconds=1e-6, slowest_rank_seconds=5e-7)
            if l["line"] == at:
                l.update(seconds=seconds, compute_seconds=seconds, slowest_rank_seconds=slowest)
            if l["line"] == barrier:
                l.update(seconds=at_barrier, compute_seconds=0.0, slowest_rank_seconds=at_barrier)

    def uneven(j):
        set_lines(j, line, 1.0, 0.9, 0.8)

    best = runs.advice(tools.module, edited(run, tools.work / "uneven.json", uneven))["advice"][0]
    expect(best["kind"] == "imbalance" and best["at"]["line"] == line and abs(best["seconds"] - 0.4) < 1e-9, f"imbalance: {best}")
    expect("behind `pardo i,j`, of 9 iterations at most for 2 ranks, a rank waits 400 ms" in best["found"] and "smaller segments" in best["change"], f"imbalance: {best}")

    def even(j):
        set_lines(j, line, 1.0, 0.5)

    expect(not [a for a in runs.advice(tools.module, edited(run, tools.work / "even.json", even))["advice"] if a["kind"] == "imbalance"], "no imbalance where no rank waits")

    def waiting(j, too_large):
        set_lines(j, line, 1.0, 0.5)
        for a in j["remote_accesses"]:
            a.update(wait_seconds=0.0, too_large=0)
        row = next(a for a in j["remote_accesses"] if a["accesses"] > 0)
        row.update(wait_seconds=0.6, blocked=3, too_large=too_large, too_large_bytes=800, enough_memory=64 << 20)

    for too_large, kind, text in ((0, "waits", "get the block earlier"), (3, "memory", "--memory 64MiB or more")):
        best = runs.advice(tools.module, edited(run, tools.work / "waiting.json", lambda j: waiting(j, too_large)))["advice"][0]
        expect(best["kind"] == kind and abs(best["seconds"] - 0.3) < 1e-9 and text in best["change"] and "3 of " in best["found"], f"{kind}: {best}")


def check_nothing(runs):
    """Where nothing pays, the report says so, and the costliest line still has its reason."""
    program = runs.tools.work / "nothing.sialx"
    program.write_text("sial nothing\npredefined int norb\naoindex a = 1:norb\naoindex b = 1:norb\ntemp x[a,b]\nscalar mine\n"
                       "pardo a, b\n  x[a,b] = 2.0\n  mine += x[a,b]*x[a,b]\nendpardo a, b\nprintln mine\nendsial nothing\n")
    _, run = runs.sialrun(runs.tools.work / "nothing", program, "--set", "norb=2", "--segments", "ao=50,60")
    job = runs.advice(run)
    expect(not job["advice"] and "Nothing that is known here would make the job" in job["opening"] and "no change of it is known that would pay" in job["costliest"]["reason"], f"nothing pays: {job}")


def check_no_times(runs):
    """A simulated run whose kernels are not executed measures no times: nothing is said to pay."""
    _, run = runs.sialrun(runs.tools.work / "model", ROOT / "examples/05_mp2/job.toml", "--simulate", "ranks=2,kernels=model")
    job = runs.advice(run)
    expect(not job["advice"] and "measured no time" in job["opening"], f"no times: {job}")


def main():
    with tempfile.TemporaryDirectory() as work:
        runs = Runs(Tools(BIN, work))
        run = check_symmetry(runs)
        check_alone(runs, run)
        check_repeated(runs)
        check_orders(runs)
        check_ranks(runs)
        check_nothing(runs)
        check_no_times(runs)
    print("reports open with what pays, and what they predict is reached")


if __name__ == "__main__":
    main()
