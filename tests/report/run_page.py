#!/usr/bin/env python3
"""The page of `sialreport --format=html` in a headless browser: its tabs, figures, controls and tables, and that it needs nothing else.

    run_page.py --bin DIR

The browser is Debian's `chromium`, which `examples/setup.sh --browser` installs where that is possible; where not, the test says so and is
skipped (exit code 77).
"""
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import EXTENTS, Tools
from harness import BIN, ROOT, SKIPPED, expect


def find_browser():
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found:
        return found
    done = subprocess.run(["bash", ROOT / "examples/setup.sh", "--browser"], capture_output=True, text=True, timeout=500)
    found = next(filter(None, map(shutil.which, names)), None)
    if not found:
        print("SKIPPED: no headless browser here, and it could not be installed:", (done.stderr or done.stdout).strip().splitlines()[-1:])
        sys.exit(SKIPPED)
    return found


class Dom(html.parser.HTMLParser):
    """What the test looks at: elements with their attributes and all text below them. `hidden` ones keep their text."""
    VOID = {"meta", "link", "br", "input", "hr", "img"}

    def __init__(self, text):
        super().__init__()
        self.elements, self.stack = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "text": "", **dict(attributes)}
        self.elements.append(element)
        if tag not in self.VOID:
            self.stack.append(element)

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop()["tag"] != tag:
            pass

    def handle_data(self, data):
        for element in self.stack:
            element["text"] += data

    def by_id(self, name):
        found = [e for e in self.elements if e.get("id") == name]
        expect(len(found) == 1, f"{len(found)} elements with id {name}")
        return found[0]

    def all(self, tag, **attributes):
        return [e for e in self.elements if e["tag"] == tag and all(e.get(k) == v for k, v in attributes.items())]


class Browser:
    def __init__(self, program, page, work):
        self.program, self.page, self.work = program, page, work

    def dom(self, fragment=""):
        """The page as it is after its scripts ran, at an address like `tab=adjust&metric=wait`."""
        done = subprocess.run([self.program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND",
                               f"--user-data-dir={self.work}/profile", "--virtual-time-budget=5000", "--dump-dom", f"file://{self.page}#{fragment}"],
                              capture_output=True, text=True, timeout=120)
        expect(done.returncode == 0 and "<html" in done.stdout, f"the browser failed: {done.stderr[-500:]}")
        return Dom(done.stdout)


def check_alone(text):
    for pattern in (r"https?://(?!www\.w3\.org/2000/svg)", r"<link", r"<script[^>]+src", r"@import", r"\burl\(", r"fetch\(", r"XMLHttpRequest", r"import\("):
        expect(not re.search(pattern, text), f"the page refers to something outside: {pattern}")


def selected(dom, tab):
    for name in ("summary", "source", "adjust", "data"):
        expect(("hidden" not in dom.by_id(name)) == (name == tab), f"{tab}: panel {name} is {'hidden' if name == tab else 'shown'}")
        expect(dom.by_id("tab-" + name)["aria-selected"] == str(name == tab).lower(), f"{tab}: tab {name}")


def check_summary(browser, ranks):
    dom = browser.dom()
    selected(dom, "summary")
    expect("sialx report: remarked" in dom.by_id("title")["text"], "title")
    expect("1 passed, 2 missed, 2 analysis" in dom.by_id("facts")["text"], "summary: facts")
    expect("<k> is free" in dom.by_id("summary")["text"], "summary: a remark with awkward characters")
    expect("get d[j,k]" in dom.by_id("summary")["text"], "summary: the source line of a remark")
    if ranks:
        parts = dom.all("rect", **{"class": "part"})
        expect(len(parts) == 6 * ranks, f"summary: {len(parts)} parts of {ranks} ranks' times")
        expect(len(dom.all("rect", **{"class": "bar"})) > 3, "summary: bars")
        expect("of the job's time is spent at line" in dom.by_id("opening")["text"], "summary: where the time goes")
        codes = [e["text"] for e in dom.all("text", **{"class": "code"})]
        source = {line.strip() for line in (ROOT / "tests/report/remarked.sialx").read_text().splitlines()}
        expect(len(codes) > 3 and set(codes) <= source, f"summary: code beside the bars: {codes}")
        expect("remarked (this report)" in dom.by_id("summary")["text"] and "100 %" in dom.by_id("summary")["text"], "summary: this program's share of the job")


def check_source(browser):
    """The annotated source: every line, times beside them, what was missed below its line."""
    dom = browser.dom("tab=source")
    selected(dom, "source")
    text = dom.by_id("source")["text"]
    expect("endpardo i, j" in text and "missed: the second get" in text, "source: lines and remarks: " + text[:300])
    expect(len([e for e in dom.all("tr") if "data-line" in e]) == len((ROOT / "tests/report/remarked.sialx").read_text().splitlines()), "source: number of lines")


def check_device(tools, browser):
    """The device's times stand among the facts, and are never zero where nobody took them."""
    for flags, expected in ((["--device", "simulated", "--device-times"], "of copying beside kernels"), (["--device", "simulated"], "not measured")):
        page = tools.work / "device.html"
        page.write_text(tools.report(tools.module, tools.run("device.json", *flags), "--format=html"))
        facts = Browser(browser.program, page, tools.work).dom().by_id("facts")["text"]
        expect(expected in facts, f"summary: device {flags}: {facts}")


def check_adjust(browser, report):
    run = report["run"]

    def bars(fragment):
        dom = browser.dom("tab=adjust&" + fragment)
        selected(dom, "adjust")
        # Bars of the summary are in the page too: only those of the plot are after it.
        start = next(i for i, e in enumerate(dom.elements) if e.get("id") == "plot")
        return dom, [float(e["data-value"]) for e in dom.elements[start:] if e["tag"] == "rect" and e.get("class") == "bar"]

    dom, values = bars("metric=seconds&top=1000000")
    expect(len(values) == sum(l["seconds"] > 0 for l in run["lines"]) and values == sorted(values, reverse=True), f"adjust: bars of seconds: {values}")
    expect(abs(sum(values) - sum(l["seconds"] for l in run["lines"])) < 1e-9, "adjust: seconds")
    dom, values = bars("metric=seconds&top=5")
    expect(len(values) == 5, "adjust: at most five")
    dom, values = bars("metric=seconds&lines=23-26&top=50")
    expect(len(values) == sum(23 <= l["line"] <= 26 for l in run["lines"]), "adjust: lines")
    dom, values = bars("metric=inplace&array=d")
    expect(sum(values) == sum(a["bytes_in_place"] for a in run["remote_accesses"] if a["array"] == "d") > 0, "adjust: bytes in place of d")
    dom, values = bars("metric=lost&kind=missed")
    lost = 8 * (sum(EXTENTS) / 3) ** 2 * 27
    expect(values == [lost, 8], f"adjust: bytes lost: {values}")
    text = dom.by_id("adjust-remarks")["text"]
    expect("the second get" in text and "two blocks ahead" not in text, "adjust: remarks of one kind")
    dom, values = bars("metric=remarks&pass=ranges")
    expect(values == [1], f"adjust: remarks of a pass: {values}")
    expect("upper triangle" in dom.by_id("adjust-remarks")["text"], "adjust: remarks of a pass")
    dom, values = bars("metric=lost&array=v")
    expect(values == [] and "nothing to show" in dom.by_id("plot")["text"], "adjust: nothing")


def check_data(browser, report):
    def rows(fragment):
        dom = browser.dom("tab=data&" + fragment)
        selected(dom, "data")
        table = dom.by_id("rows")
        return dom, [e["text"] for e in dom.elements[dom.elements.index(table):] if e["tag"] == "tr"][1:]

    dom, lines = rows("table=lines")
    expect(len(lines) == len(report["run"]["lines"]), "data: lines")
    expect(dom.by_id("save-csv")["text"] == "Download CSV" and "JSON" in dom.by_id("save-json")["text"], "data: downloads")
    dom, remarks = rows("table=remarks")
    expect(len(remarks) == 5, "data: remarks")
    dom, remarks = rows("table=remarks&filter=SECOND+get")
    expect(len(remarks) == 1, "data: containing")
    dom, kernels = rows("table=kernels")
    expect(len(kernels) == len(report["run"]["kernels"]) > 0, f"data: {len(kernels)} rows of kernels")
    dom, ranks = rows("table=ranks")
    expect(len(ranks) == report["run"]["ranks"], "data: ranks")
    dom, counters = rows("table=counters&sort=-value")
    largest = max(report["run"]["total"].items(), key=lambda c: c[1])
    expect(counters[0].startswith(largest[0]), f"data: sorted: {counters[:3]}")


def check_clicks(browser, page):
    """Clicks, typing and both downloads, done by a script added to a copy of the page, which leaves what it saw in the document."""
    script = """<script>
    const seen = {};
    const saved = [];
    URL.createObjectURL = blob => { saved.push(blob); return "#"; };
    document.getElementById("tab-data").click();
    seen.data = !document.getElementById("data").hidden && document.getElementById("summary").hidden;
    const table = document.getElementById("table");
    table.value = "remarks"; table.dispatchEvent(new Event("change"));
    const filter = document.getElementById("filter");
    filter.value = "second get"; filter.dispatchEvent(new Event("input"));
    seen.rows = document.querySelectorAll("#raw tr").length - 1;
    seen.address = location.hash;
    document.getElementById("save-csv").click();
    document.getElementById("save-json").click();
    document.querySelector("#raw th").click();
    seen.sorted = location.hash.includes("sort");
    document.getElementById("tab-adjust").click();
    const metric = document.getElementById("metric");
    metric.value = "remarks"; metric.dispatchEvent(new Event("change"));
    seen.bars = document.querySelectorAll("#plot rect.bar").length;
    document.getElementById("tab-summary").click();
    seen.summary = !document.getElementById("summary").hidden;
    Promise.all(saved.map(b => b.text())).then(texts => { seen.csv = texts[0]; seen.json = JSON.parse(texts[1]).program;
      const out = document.createElement("pre"); out.id = "seen"; out.textContent = JSON.stringify(seen); document.body.append(out); });
    </script></body>"""
    copy = page.with_name("clicked.html")
    copy.write_text(page.read_text().replace("</body>", script))
    seen = json.loads(Browser(browser.program, copy, browser.work).dom().by_id("seen")["text"])
    expect(seen["data"] and seen["summary"] and seen["sorted"] and seen["rows"] == 1 and seen["bars"] >= 4, f"clicks: {seen}")
    expect("tab=data" in seen["address"] and "filter=second+get" in seen["address"], f"clicks: the address follows: {seen['address']}")
    head, row = seen["csv"].split("\r\n")[:2]
    expect(head.startswith("kind,pass,name,file,line,array,text") and '"the second get of `d` stays: ""i"" may' in row, f"clicks: CSV: {row}")
    expect(seen["json"] == "remarked", "clicks: JSON")


def main():
    with tempfile.TemporaryDirectory() as work:
        tools = Tools(BIN, work)
        run = tools.run("run.json", "--simulate", "ranks=2,seed=1")
        page = pathlib.Path(work) / "report.html"
        tools.report(tools.module, run, "--format=html", "-o", page)
        check_alone(page.read_text())
        report = json.loads(tools.report(tools.module, run, "--format=json"))
        browser = Browser(find_browser(), page, work)
        check_summary(browser, 2)
        check_source(browser)
        check_adjust(browser, report)
        check_data(browser, report)
        check_clicks(browser, page)
        check_device(tools, browser)
        tools.report(tools.module, "--format=html", "-o", page)
        check_summary(browser, 0)
        expect("Remarks by pass" in browser.dom().by_id("summary")["text"], "without a run: remarks by pass")
    print("the page works in " + browser.program)


if __name__ == "__main__":
    main()
