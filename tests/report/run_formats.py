#!/usr/bin/env python3
"""The report as text, annotated listing, JSON and YAML, with and without a run, its filters, comparisons, and what it refuses.

    run_formats.py --bin DIR
"""
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import jsonschema
import yaml

from common import EXTENTS, Tools, edited
from harness import BIN, ROOT, expect

MEAN = sum(EXTENTS) / len(EXTENTS)
SEGMENTS = len(EXTENTS)
BLOCK = 8 * MEAN * MEAN                      # bytes of a mean block
TRIPS = SEGMENTS ** 3


class Record(yaml.YAMLObject):
    """LLVM's optimisation records are documents with one of these tags."""
    yaml_loader = yaml.SafeLoader


def record(kind):
    return type(kind, (Record,), {"yaml_tag": "!" + kind})


KINDS = {kind: record(kind) for kind in ("Passed", "Missed", "Analysis")}


def get_line(row):
    return int(row.split("|")[1])


def check_text(tools, run):
    text = tools.report(tools.module)
    expect("remarks: 1 passed, 2 missed, 2 analysis" in text, "text: numbers of remarks")
    expect("costs 8·|i|·|k| bytes, #i·#j·#k times" in text, "text: symbolic cost: " + text)
    expect("to change: move it before `do k`" in text, "text: advice")
    expect(text.index("the second get of `d` stays") < text.index("cheap: a line of its own") < text.index("used where it lies") < text.index("two blocks ahead"),
           "text: what was missed comes first, the most costly line of it before the others")
    expect("get d[j,k]" in text, "text: the source line stands beside its remarks")
    text = tools.report(tools.module, run)
    expect(f"costs {BLOCK * TRIPS / 1000:.2f} kB = 8·|i|·|k| bytes, {TRIPS} times (#i·#j·#k)" in text, "text with a run: numbers: " + text)
    expect(f"saved {BLOCK * TRIPS / 1000:.2f} kB, lost {(BLOCK * TRIPS + 8) / 1000:.2f} kB and 100 flop" in text, "text with a run: sums")
    # i <= j keeps 6 of the 9 pairs: 18 trips of the inner loop
    expect("measured 18 executions in" in text and f"predicted at most {TRIPS}" in text, "text with a run: predicted beside measured: " + text)
    expect("load imbalance" in text and "arrays by traffic" in text, "text with a run: parts")
    expect(re.match(r"[0-9.]+ % of the job's time is spent at line \d+ of `remarked.sialx` \(program remarked, 100 % of the job\), which ", text), "text with a run: the first sentence: " + text)
    expect(text.index("what could be faster, by line") < text.index("where the time of each rank went") < text.index("what was made faster"), "text with a run: missed remarks first")
    expect("block kernels of this program\n  generated code: " in text, "text with a run: kernels: " + text)
    for percent in re.findall(r"([0-9.]+)%$", text, re.M):
        expect(abs(float(percent) - 100) <= 2, f"text with a run: the parts of a rank's time are {percent} % of its wall time")


def check_filters(tools):
    def remarks(*flags):
        return [(r["kind"], r["name"]) for r in json.loads(tools.report(tools.module, "--format=json", *flags))["remarks"]]

    everything = remarks()
    expect(len(everything) == 5, f"remarks: {everything}")
    for kind, number in (("passed", 1), ("missed", 2), ("analysis", 2)):
        found = remarks("--only", kind)
        expect(len(found) == number and all(k == kind for k, _ in found), f"--only {kind}: {found}")
    expect({n for _, n in remarks("--array", "d")} == {"used-where-it-lies", "may-change", "depth"}, "--array")
    expect(remarks("--array", "v") == [], "--array without remarks")
    expect(remarks("--pass", "ranges") == [("analysis", "trips")], "--pass")
    expect({n for _, n in remarks("--line", "24-25")} == {"used-where-it-lies", "may-change"}, "--line N-M")
    expect(remarks("--line", "26") == remarks("--line", "remarked.sialx:26") == [("missed", "no-room")], "--line N")
    expect(remarks("--line", "24-25", "--only", "missed") == [("missed", "may-change")], "filters together")


def check_annotated(tools, run):
    text = tools.report(tools.module, "--annotate")
    expect("updates t; reads d, v" in text and "gets d" in text and "adds to e; reads t" in text, "annotated: intents: " + text)
    expect("   19 |" in text and "norb*norb iterations" in text, "annotated: trip counts")
    expect("missed: d: the second get" in text, "annotated: remarks")
    text = tools.report(tools.module, run, "--annotate")
    lines = text.splitlines()
    get = next(i for i, l in enumerate(lines) if "get d[i,k]" in l)
    # A block that a rank holds is not fetched again: how many bytes each of the two gets brought depends on who drew which iterations.
    leased = sum(a["bytes_in_place"] for a in json.loads(run.read_text())["remote_accesses"] if a["line"] == get_line(lines[get]))
    expect(0 < leased <= sum(8 * EXTENTS[i] * sum(EXTENTS) for i in range(3) for j in range(i, 3)), f"annotated: {leased} bytes used in place at the get")
    expect((f"{leased} bytes" if leased < 1000 else f"{leased / 1000:.2f} kB") in lines[get], f"annotated: bytes beside the get, {leased} in run.json: {lines[get]}")
    # |i| |j| |k| twice at each of 27 trips, at most
    expect(f"predicted at most {TRIPS} executions, {2 * MEAN ** 3 * TRIPS / 1000:.2f} kflop of contractions; measured 18 executions" in text, "annotated: flops: " + text)
    expect(re.search(r"\d+ [num]?s .*\| +21 \|", text), "annotated: times beside lines")
    flops = sum(2 * EXTENTS[i] * EXTENTS[j] * sum(EXTENTS) for i in range(3) for j in range(i, 3))
    expect(f"measured 18 executions, {flops / 1000:.2f} kflop" in text or f"measured 18 executions, {flops} flop" in text, f"annotated: measured flops, {flops} by hand")
    # The source elsewhere, changed, gone.
    original = tools.source.read_text()
    elsewhere = tools.work / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "remarked.sialx").write_text(original)
    tools.source.write_text(original.replace("x += 1.0", "x += 2.0"))
    expect("changed since the module was compiled" in tools.report(tools.module, "--annotate"), "annotated: changed source")
    expect("gets d" not in tools.report(tools.module, "--annotate"), "annotated: facts beside lines that may have moved")
    expect("changed since" not in tools.report(tools.module, "--annotate", "-I", elsewhere), "annotated: the unchanged source wins")
    tools.source.unlink()
    expect("gets d" in tools.report(tools.module, "--annotate", "-I", elsewhere), "annotated: source along -I")
    moved = tools.work / "far" / "away"
    moved.mkdir(parents=True)
    (moved / "remarked.siox").write_bytes(tools.module.read_bytes())
    tools.refused(2, "no source file of program `remarked` was found", moved / "remarked.siox", "--annotate")
    expect("remarks: 1 passed" in tools.report(moved / "remarked.siox"), "text without sources")
    tools.source.write_text(original)


def check_json(tools, run):
    schema = json.loads((ROOT / "compiler/report/report.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for arguments in ([], [run], ["--only", "missed"], [run, "--line", "1-5"]):
        j = json.loads(tools.report(tools.module, *arguments, "--format=json"))
        errors = [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(j)]
        expect(not errors, f"json {arguments}: {errors[:5]}")
    # Kernels as run.json has them, the longest first.
    rows = json.loads(tools.report(tools.module, run, "--format=json"))["run"]
    kernels = json.loads(run.read_text())["kernels"]
    expect(rows["generated_code"] == kernels["code"] and kernels["choices"], f"json: generated code: {rows['generated_code']}")
    key = lambda k: (k["line"], k["strategy"], k["calls"], k["flops"], k["why"])
    expect(sorted(map(key, rows["kernels"])) == sorted(map(key, kernels["choices"])), f"json: kernels: {rows['kernels']}")
    expect([k["seconds"] for k in rows["kernels"]] == sorted((k["seconds"] for k in kernels["choices"]), reverse=True), "json: order of kernels")
    expect(all(k["advice"] for k in rows["kernels"] if k["slow"]), f"json: slow kernels without advice: {rows['kernels']}")
    # The schema is strict enough to notice.
    j = json.loads(tools.report(tools.module, run, "--format=json"))
    for change in (lambda j: j.pop("remarks"), lambda j: j["run"].pop("breakdown"), lambda j: j.update(more=1), lambda j: j["remarks"][0].update(kind="other"), lambda j: j["job"].pop("opening"),
                   lambda j: j["lines"][0].update(executions={"value": 3})):
        broken = json.loads(json.dumps(j))
        change(broken)
        expect(any(validator.iter_errors(broken)), "the schema accepts what it should not")
    for i in j["indices"]:
        expect(i["bound"] == {"count": SEGMENTS, "mean_extent": MEAN}, f"json: index {i}")
    kinds = [r["kind"] for r in j["remarks"]]
    expect(kinds[:2] == ["missed", "missed"] and "missed" not in kinds[2:], f"json: missed remarks come first: {kinds}")
    missed = [r["seconds"] for r in j["remarks"] if r["kind"] == "missed"]
    expect(missed == sorted(missed, reverse=True) and missed[0] > 0, f"json: the longest measured line comes first: {missed}")
    worst = next(r for r in j["remarks"] if r["name"] == "may-change")
    expect(worst["total_bytes"]["value"] == BLOCK * TRIPS and worst["executions"]["value"] == TRIPS and worst["flops"] is None, f"json: {worst}")
    for line in j["lines"]:
        for r in line["remarks"]:
            expect(j["remarks"][r]["line"] == line["line"], "json: remarks of a line")
    for rank in j["run"]["breakdown"]:
        parts = sum(v for k, v in rank.items() if k != "wall")
        expect(abs(parts - rank["wall"]) <= 0.02 * rank["wall"] + 1e-4, f"json: {rank} does not add up")
    # What every rank does for itself counts for each of them.
    summed = next(l for l in j["lines"] if l["line"] == 32)
    expect(summed["executions"]["value"] == j["run"]["ranks"] * SEGMENTS and summed["executions"]["symbolic"] == "ranks·#i", f"json: {summed}")
    measured = next(l for l in j["run"]["lines"] if l["line"] == 32)
    expect(measured["executions"] == summed["executions"]["value"], f"json: {measured}")


def check_device(tools):
    """Times of a device in every format: measured, not measured, and without a device."""
    validator = jsonschema.Draft202012Validator(json.loads((ROOT / "compiler/report/report.schema.json").read_text()))
    for flags, timed in ((["--device", "simulated", "--device-times"], True), (["--device", "simulated"], False), (["--device", "host"], False)):
        run = tools.run("device.json", *flags)
        j = json.loads(tools.report(tools.module, run, "--format=json"))
        errors = [f"{list(e.absolute_path)}: {e.message}" for e in validator.iter_errors(j)]
        expect(not errors, f"json {flags}: {errors[:5]}")
        times = j["run"]["device_times"]
        expect((times is not None) == timed, f"json {flags}: {times}")
        text = tools.report(tools.module, run)
        expect(("by the model of a simulated device: " in text) == timed, f"text {flags}: {text}")
        expect(("time at kernels and copies: not measured (`--device-times`)" in text) == (flags[1] == "simulated" and not timed), f"text {flags}: {text}")
        if timed:
            expect(times["kernel_seconds"] > 0 and times["overlapped_seconds"] <= min(times["kernel_seconds"], times["copy_seconds"]), f"json: {times}")


def check_orders(tools, run):
    """What a run says of the orders of its pardos becomes remarks; runs of older versions say nothing."""
    orders = [("k, i, the first one fastest", "", 1e6, 4e6), ("k, i, the first one fastest", "its body prints", 1e6, 4e6), ("as written", "", 4e6, 4e6)]
    kinds = [("passed", "order-chosen"), ("missed", "order-fixed"), ("analysis", "order-as-written")]
    file = json.loads(run.read_text())["programs"][0]["files"][0]
    for (order, refusal, moved, written), kind in zip(orders, kinds, strict=True):
        row = {"file": file, "line": 3, "order": order, "refusal": refusal, "bytes": moved, "bytes_as_written": written}
        stated = json.loads(run.read_text())
        stated["programs"][0]["pardo_orders"] = [row]
        with_order = tools.work / "order.json"
        with_order.write_text(json.dumps(stated))
        j = json.loads(tools.report(tools.module, with_order, "--format=json", "--pass", "pardo-order"))
        expect([(r["kind"], r["name"]) for r in j["remarks"]] == [kind], f"orders: {j['remarks']}")
        text = j["remarks"][0]["text"]
        expect("memory is short" in text and "4 MB" in text and order.replace("as written", "the one as written") in text and refusal in text, f"orders: {text}")
    tools.refused(2, "no remark", tools.module, run, "--pass", "pardo-order")


def check_yaml(tools, run):
    for arguments in ([], [run]):
        records = list(yaml.safe_load_all(tools.report(tools.module, *arguments, "--format=yaml")))
        expect([type(r).__name__ for r in records].count("Missed") == 2 and len(records) == 5, f"yaml: {records}")
        j = json.loads(tools.report(tools.module, *arguments, "--format=json"))
        for r, remark in zip(records, j["remarks"]):
            expect(type(r).__name__.lower() == remark["kind"] and r.Pass == remark["pass"] and r.Name == remark["name"], "yaml: pass and name")
            expect(r.DebugLoc == {"File": remark["file"], "Line": remark["line"], "Column": remark["column"]}, "yaml: place")
            expect(r.Function == "remarked", "yaml: function")
            expect(all(len(a) == 1 and isinstance(next(iter(a.values())), str) for a in r.Args), f"yaml: arguments {r.Args}")
            message = "".join(*[[v for a in r.Args for v in a.values()]])
            expect(remark["text"] in message and remark["advice"] in message, f"yaml: {message}")
            expect(hasattr(r, "Hotness") == bool(arguments), "yaml: hotness only with a run")
        expect({"Bytes": "8·|i|·|k|"} in records[0].Args or arguments, f"yaml: amounts {records[0].Args}")


def check_compare(tools, run):
    other = tools.run("other.json", "--simulate", "ranks=4,seed=3,ranks-per-node=1", "--store", "copy")
    text = tools.report("--compare", run, other)
    for part in ("ranks                2", "store                share", "copy", "nodes", "time, mean of the ranks", "bytes_copied", "remarked.sialx:2"):
        expect(part in text, f"comparison: `{part}` is missing in\n{text}")
    j = json.loads(tools.report("--compare", run, other, "--format=json"))
    expect(j["notes"] == [], f"comparison: {j['notes']}")
    expect({"name": "ranks", "a": "2", "b": "4"} in j["settings"], "comparison: ranks")
    counters = {c["name"]: c for c in j["counters"]}
    expect(counters["messages_sent"]["a"] == 0 < counters["messages_sent"]["b"], "comparison: counters")
    expect(all(c["a"] != c["b"] for c in j["counters"]), "comparison: equal counters are left out")
    expect(j["format"] == 2 and all(a["followed"] in (True, False) for a in j["advice"]), "comparison: advice")
    same = tools.report("--compare", run, run)
    expect("same options, ranks and version" in same and "counters that differ" not in same, "comparison of a run with itself")
    foreign = edited(run, tools.work / "foreign.json", lambda j: (j["programs"][0].update(source_hash="f" * 64), j["machine"].update(processor="another"), j.update(sialrun="9.9")))
    text = tools.report("--compare", run, foreign)
    expect("sources differ" in text and "different machines" in text and "9.9" in text, "comparison of other sources on another machine: " + text)


def check_refusals(tools, run):
    w = tools.work
    (w / "text.json").write_text("hello")
    (w / "empty.json").write_text("")
    (w / "list.json").write_text("[]")
    tools.refused(2, "no module and no run.json given")
    tools.refused(2, "gone.siox", w / "gone.siox")
    tools.refused(2, "text.json", w / "text.json")
    tools.refused(2, "cannot read the statistics file", tools.module, w / "gone.json")
    tools.refused(2, "it is empty", tools.module, w / "empty.json")
    tools.refused(2, "is not a statistics file", tools.module, w / "text.json")
    tools.refused(2, "is not a statistics file", tools.module, w / "list.json")
    tools.refused(2, "written by an earlier sialrun", tools.module, edited(run, w / "old.json", lambda j: j.pop("format")))
    tools.refused(2, "has format 7, and this sialreport reads formats 2 to 5", tools.module, edited(run, w / "new.json", lambda j: j.update(format=7)))
    tools.refused(2, "is not a statistics file", tools.module, edited(run, w / "short.json", lambda j: j.pop("per_rank")))
    tools.refused(2, "-5 is not a size of a segment", tools.module, edited(run, w / "sizes.json", lambda j: j["job"]["segments"].__setitem__("ao", [-5])))
    tools.refused(2, "is no run of program `remarked`", tools.module, edited(run, w / "else.json", lambda j: j["programs"][0].update(program="other")))
    tools.refused(2, "another version of program `remarked`", tools.module, edited(run, w / "version.json", lambda j: j["programs"][0].update(source_hash="0" * 64)))
    tools.refused(2, "how large index `k`", tools.module, edited(run, w / "index.json", lambda j: j["programs"][0]["indices"].pop()))
    tools.refused(2, "no array `q`", tools.module, "--array", "q")
    tools.refused(2, "passes with remarks: contract-into-target, in-place", tools.module, "--pass", "nothing")
    tools.refused(2, "is not a line", tools.module, "--line", "x")
    tools.refused(2, "is not a line", tools.module, "--line", "3-")
    tools.refused(2, "is not a line", tools.module, "--line", "0")
    tools.refused(2, "ends before it begins", tools.module, "--line", "9-3")
    tools.refused(2, "no source file `other.sialx`", tools.module, "--line", "other.sialx:3")
    tools.refused(2, "--only", tools.module, "--only", "nonsense")
    tools.refused(2, "--format", tools.module, "--format", "pdf")
    tools.refused(2, "is a form of text", tools.module, "--annotate", "--format=json")
    tools.refused(2, "--compare", "--compare", run)
    tools.refused(2, "and no module", tools.module, "--compare", run, run)
    tools.refused(2, "cannot be written as html", "--compare", run, run, "--format=html")
    tools.refused(2, "is not a statistics file", "--compare", run, w / "text.json")
    tools.refused(3, "cannot write", tools.module, "-o", "/proc/no/report.txt")


def main():
    with tempfile.TemporaryDirectory() as work:
        tools = Tools(BIN, work)
        run = tools.run("run.json", "--simulate", "ranks=2,seed=1")
        check_text(tools, run)
        check_filters(tools)
        check_annotated(tools, run)
        check_json(tools, run)
        check_device(tools)
        check_orders(tools, run)
        check_yaml(tools, run)
        check_compare(tools, run)
        check_refusals(tools, run)
    print("every format of the report shows the same, and bad input is refused")


if __name__ == "__main__":
    main()
