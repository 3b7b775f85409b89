#!/usr/bin/env python3
"""Options as the table (runtime/core/job/options.def) states them: help, job files, run.json, the manual's page, completions of shells.

    run_options.py --bin DIR
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from harness import BIN, ENV, ROOT, main

PAGES = {"markdown": ROOT / "runtime/program/job/OPTIONS.md", "tests": ROOT / "tests/OPTIONS.md"}
OPTIONS = None

PROGRAM = """sial little
scalar x
x = 2.0
println x
endsial little
"""

# A value of each key of job files, and whether it is a string there.
KEY_VALUES = {"memory": "1GB", "memory.spill": "/tmp:1GB", "memory.numa": "local", "run.look_ahead": "3", "run.integrals": "libint", "run.keep_integrals": "off", "output.print_format": "plain",
              "run.guess": "none", "output.dir": "out", "output.results": "none", "output.stamp": "7f3a", "output.run_json": "stats.json", "output.arrays": "d", "output.molden": "none", "output.fcidump": "none", "output.trexio": "none", "run.checkpoint_every": "30m", "run.checkpoint_dir": "saved", "run.checkpoint_local": "fast",
              "run.time_limit": "2h", "gradient.scalar": "x", "gradient.step": "0.002", "gradient.symmetry": "off"}
# Values that are not the default, of options that run.json records where they are given.
RECORDED = {"numa": "local", "simulate_machine": "numa:1 pu:1", "large_pages": "off", "spill": "/tmp:1GB", "spill_every": "3", "pardo_order": "written", "look_ahead": "3", "integrals": "libint", "keep_integrals": "off", "optimisation": "1", "store": "copy", "schedule": "static", "kernels": "reference",
            "jit": "off", "threads": "2", "simulate": "ranks=2,seed=1", "device_memory": "1GB", "device_from": "7", "device_copies": "staged",
            "device_puts": "wait", "self_check": "3", "ranks_per_node": "1", "simulate_network": "latency=1us,bandwidth=1GB/s",
            "server_memory": "1GB", "homes": "workers"}


def cells(line):
    """Of a row of a table in Markdown."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def table_rows(text):
    """flags (with their value), help, default, key, record of each option."""
    rows = []
    for line in text.splitlines():
        if line.startswith("| `"):
            flags, about, preset, key, record = cells(line)
            rows.append({"flags": re.findall(r"`([^`]*)`", flags), "help": about, "default": preset, "key": key.strip("`"), "record": record.strip("`")})
    return rows


class Options(unittest.TestCase):
    dir: pathlib.Path
    page: str
    rows: list[dict]
    hidden: list[dict]  # those for tests

    @classmethod
    def setUpClass(cls):
        cls.dir = pathlib.Path(tempfile.mkdtemp(prefix="sialx-options-"))
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        (cls.dir / "little.sialx").write_text(PROGRAM)
        cls.page = cls.tool("sialrun", "--manual", "markdown").stdout
        cls.rows = table_rows(cls.page)
        cls.hidden = table_rows(cls.tool("sialrun", "--manual", "tests").stdout)

    @classmethod
    def tool(cls, tool, *args, code=0):
        p = subprocess.run([str(BIN / tool), *map(str, args)], cwd=cls.dir, env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
        if p.returncode != code:
            raise AssertionError(f"{tool} {args}: exit code {p.returncode}, not {code}\n{p.stdout}{p.stderr}")
        return p

    def job(self, text):
        (self.dir / "job.toml").write_text('programs = ["little.sialx"]\n' + text)
        return "job.toml"

    def flag(self, column, name):
        """The first flag of the option with this entry."""
        return next(row["flags"][0].split()[0] for row in self.rows + self.hidden if row[column] == name)

    def test_pages_in_the_repository_are_what_is_printed(self):
        for form, page in PAGES.items():
            self.assertEqual(page.read_text(), self.tool("sialrun", "--manual", form).stdout, f"write it anew: sialrun --manual {form} > {page.relative_to(ROOT)}")

    def test_users_see_at_most_60_options(self):
        text = self.tool("sialrun", "--help").stdout
        self.assertIn(len(re.findall(r"(?m)^  -(?!h,)", text)), range(50, 61))
        shown = text + self.tool("sialrun", "--manual", "man").stdout.replace("\\-", "-") + "".join(self.tool("sialrun", "--manual", shell).stdout for shell in ("bash", "zsh", "fish"))
        self.assertGreater(len(self.hidden), 20)
        for row in self.hidden:
            name = row["flags"][0].split()[0]
            if name != "--verbose":  # named beside --version
                self.assertIsNone(re.search(rf"(?<![\w-]){name}(?![\w-])|-l {name[2:]} ", shown), name)

    def test_help_and_manual_page_have_every_option(self):
        text, page = self.tool("sialrun", "--help").stdout, self.tool("sialrun", "--manual", "man").stdout.replace("\\-", "-")
        for row in self.rows:
            for flag in row["flags"]:
                name = flag.split()[0]
                if name.startswith("-"):
                    self.assertRegex(text, rf"(?m)^\s+.*(?<![\w-]){re.escape(name)}(?![\w-])", name)
                    self.assertRegex(page, rf"(?m)^\.B .*(?<![\w-]){re.escape(name)}(?![\w-])", name)
                    self.assertIn(flag.partition(" ")[2], text)
            self.assertIn(row["help"], text)

    def test_manual_pages_are_well_formed(self):
        if not shutil.which("man"):
            self.skipTest("skipped: no man on this machine")
        for tool in ("sialrun", "sialc", "sialreport"):
            (self.dir / "page.1").write_text(self.tool(tool, "--manual", "man").stdout)
            done = subprocess.run(["man", "--warnings=mac,syntax", "-l", "page.1"], cwd=self.dir, env={**ENV, "MANWIDTH": "100", "MANPAGER": "cat", "PAGER": "cat"}, capture_output=True, text=True)
            self.assertEqual(done.stderr, "")
            self.assertIn(f"{tool} - ", re.sub(" +", " ", done.stdout))

    def test_each_key_of_job_files_acts(self):
        keys = {row["key"] for row in self.rows + self.hidden if row["key"]}
        self.assertEqual(keys, set(KEY_VALUES))
        for key, value in KEY_VALUES.items():
            section, _, name = key.rpartition(".")
            self.tool("sialrun", self.job(f'[{section}]\n{name} = "{value}"\n' if section else f'{name} = "{value}"\n'), "--describe")
            wrong = self.tool("sialrun", self.job(f'[{section}]\n{name} = true\n' if section else f'{name} = true\n'), "--describe", code=2)
            self.assertRegex(wrong.stderr, r"job\.toml:\d+:\d+")
        self.tool("sialrun", self.job('memory = "1GB"\n[output]\ndir = "out"\nresults = "none"\nrun_json = "stats.json"\nprint_format = "plain"\n[run]\nlook_ahead = 3\n'))
        run = json.loads((self.dir / "out/stats.json").read_text())
        self.assertEqual(run["options"]["memory"], "1000000000")
        self.assertFalse((self.dir / "out/results.h5").exists())

    def test_command_line_goes_before_the_job_file(self):
        self.tool("sialrun", self.job('memory = "1GB"\n[output]\ndir = "first"\n'), "--memory", "3GB", "--output-dir", "second")
        self.assertFalse((self.dir / "first").exists())
        self.assertEqual(json.loads((self.dir / "second/run.json").read_text())["options"]["memory"], "3000000000")

    def test_run_json_records_what_the_table_says(self):
        plain = json.loads(self.run_json())["options"]
        known = {row["record"] for row in self.rows + self.hidden if row["record"]}
        self.assertEqual(known - set(RECORDED), {"check", "deterministic", "device_times", "memory", "device", "device_batch", "device_messages", "transport"},
                         "options without a value of their own here")
        for name, value in RECORDED.items():
            args = [self.flag("record", name) + value] if name == "optimisation" else [self.flag("record", name), value]
            if name.startswith("device") or name == "self_check":
                args += ["--device", "simulated"]
            if name == "simulate_network":
                args += ["--simulate", "ranks=2,seed=1,ranks-per-node=1"]
            options = json.loads(self.run_json(*args))["options"]
            self.assertEqual(options.get(name), value, name)
            self.assertNotEqual(plain.get(name), value, name)
        for flag, name in (("--check", "check"), ("--deterministic", "deterministic")):
            self.assertEqual(json.loads(self.run_json(flag))["options"][name], "true")
        self.assertEqual(json.loads(self.run_json("--device-times", "--device", "simulated"))["options"]["device_times"], "true")

        options = json.loads(self.run_json("--memory", "1GB", "--device", "simulated", "--device-batch", "7"))["options"]
        self.assertEqual([options[name] for name in ("memory", "device", "device_batch", "transport")], ["1000000000", "simulated", "7", "loopback"])
        messages = json.loads(self.run_json("--simulate", "ranks=2,seed=1,ranks-per-node=1", "--device", "simulated", "--device-messages", "staged"))["options"]
        self.assertEqual(messages["device_messages"], "staged")

    def test_run_json_records_settings_of_the_job_file_too(self):
        settings = {"look_ahead": "3", "integrals": "libint", "keep_integrals": "off"}
        self.tool("sialrun", self.job("[run]\n" + "".join(f'{name} = "{value}"\n' for name, value in settings.items())), "--look-ahead", "5", "--results", "none", "--run-json", "stats.json")
        options = json.loads((self.dir / "stats.json").read_text())["options"]
        self.assertEqual({name: options.get(name) for name in settings}, {**settings, "look_ahead": "5"})
        self.tool("sialrun", self.job('[run]\nlook_ahead = "auto"\n'), "--results", "none", "--run-json", "stats.json")
        self.assertNotIn("look_ahead", json.loads((self.dir / "stats.json").read_text())["options"])

    def spill_of(self, job, *args):
        """What run.json records of the places for blocks that do not fit into memory."""
        self.tool("sialrun", self.job(job), *args, "--results", "none", "--run-json", "stats.json")
        return json.loads((self.dir / "stats.json").read_text())["options"].get("spill")

    def test_memory_and_places_for_blocks(self):
        other = pathlib.Path(tempfile.mkdtemp(prefix="sialx-spill-"))
        self.addCleanup(shutil.rmtree, other, ignore_errors=True)
        (self.dir / "scratch").mkdir(exist_ok=True)
        self.assertEqual(self.spill_of(f'[memory]\nlimit = "1GB"\nspill = "{other}:3GB"\n'), f"{other}:3000000000")
        self.assertEqual(json.loads((self.dir / "stats.json").read_text())["options"]["memory"], "1000000000")
        self.assertEqual(self.spill_of('[memory]\nspill = "scratch"\n'), "scratch", "relative to the folder of the job file")
        self.assertEqual(self.spill_of(f'[memory]\nspill = ["scratch", {{kind = "disk", dir = "{other}", size = "200MB"}}]\n'), f"scratch,{other}:200000000")
        self.assertEqual(self.spill_of('[memory]\nspill = "scratch"\n', "--spill", f"{other}:5MB"), f"{other}:5MB")
        self.assertIsNone(self.spill_of('[memory]\nspill = "scratch"\n', "--spill", "off"))
        self.assertIsNone(self.spill_of('[memory]\nspill = "off"\n'))

    def test_wrong_places_for_blocks_are_named(self):
        for value, text in (("/tmp:much", "`much` is not a size"), ("/tmp:0", "`0` is not a size"), ("/tmp:5", "`5` without a unit"), ("/tmp,/tmp/.", "named twice"),
                            ("nodes,nodes:1GB", "named twice"), (",/tmp", "names no folder"), ("/tmp,off", "`off` goes with no other"), ("/a:b:1GB", "`b:1GB` is not a size")):
            wrong = self.tool("sialrun", "little.sialx", "--spill", value, code=2)
            self.assertIn(text, wrong.stderr)
            self.assertIn("hint:", wrong.stderr)
        both = self.tool("sialrun", self.job('memory = "1GB"\n[memory]\nlimit = "2GB"\n'), "--describe", code=2)
        self.assertRegex(both.stderr, r"job\.toml:3:\d+: .*`?memory`?")

    def test_names_of_files_are_strings(self):
        for key in ("dir", "results", "run_json"):
            self.assertIn(f"`{key}` must be a string", self.tool("sialrun", self.job(f"[output]\n{key} = 5\n"), code=2).stderr)
        self.assertIn("`look_ahead` must be a number or a string", self.tool("sialrun", self.job("[run]\nlook_ahead = true\n"), code=2).stderr)

    def test_values_joined_to_a_flag(self):
        self.tool("sialrun", "little.sialx", "--results", "none", "--progress=line")
        self.assertIn("`lines` is not on, off or line", self.tool("sialrun", "little.sialx", "--results", "none", "--progress=lines", code=2).stderr)
        self.assertIn("`--progress[=on\\|off\\|line]`", self.page)
        for text in (self.tool("sialrun", "--help").stdout, self.tool("sialrun", "--manual", "man").stdout.replace("\\-", "-")):
            self.assertIn("--progress[=on|off|line]", text)
            self.assertNotRegex(text, r"\{on\}|\{false\}|Excludes")
        self.assertEqual(self.complete("sialrun", "--progress", "=", "l"), ["line"])
        self.assertEqual(self.complete("sialrun", "--progress", "="), ["on", "off", "line"])
        self.assertEqual(self.complete("sialrun", "--progress", "little"), ["little.sialx"])
        self.assertEqual(self.complete("sialrun", "--device", "=", "c"), ["cuda"])

    def run_json(self, *args):
        self.tool("sialrun", "little.sialx", "--results", "none", "--run-json", "stats.json", *args)
        return (self.dir / "stats.json").read_text()

    def test_wrong_values_are_named(self):
        for args, text in ((["--threads", "0"], "`0` is not a whole number from 1 to 1024"), (["--stop-after", "0"], "`0` is not a whole number of 1 or more"),
                           (["--servers", "-1"], "`-1` is not a whole number of 0 or more"), (["--store", "shared"], "`shared` is not share or copy"),
                           (["--kernels", "fast"], "`fast` is not auto, blas or reference"), (["-m", "nan"], "`nan` is not a number above 0"),
                           (["--device-batch", "0"], "`0` is not auto or off, or a whole number from 1 to 2000000000"), (["--devices", "0,x"], "`x`"),
                           (["--print-format", "clasic"], "`clasic` is not classic, classic-test or plain"), (["--keep-integrals", "on"], "`on` is not auto or off")):
            self.assertIn(text, self.tool("sialrun", "little.sialx", *args, code=2).stderr)

    def test_options_of_earlier_versions_are_warned_of(self):
        for flag, value in (("--device-graphs", "on"), ("--record-heap", "heap")):
            p = self.tool("sialrun", "little.sialx", "--results", "none", flag, value)
            self.assertIn(f"warning: `{flag} {value}` has no effect", p.stderr)
            self.assertNotIn(flag, self.tool("sialrun", "--help").stdout + self.page)
            self.assertEqual(self.complete("sialrun", flag), [])
            self.assertNotIn(flag, self.tool("sialrun", "--manual", "man").stdout.replace("\\-", "-"))

    def test_lines_of_a_batch_have_the_options_of_a_job_only(self):
        (self.dir / "list").write_text("little.sialx --name one --print-format plain --keep-integrals off\n")
        self.assertIn("=== one", self.tool("sialrun", "--batch", "list").stdout)
        for words in ("--threads 2", "--checkpoint-every 30"):
            (self.dir / "list").write_text(f"little.sialx {words}\n")
            self.assertIn("list:1:", self.tool("sialrun", "--batch", "list", code=2).stderr)

    def test_jobs_of_one_world_have_one_memory(self):
        """Of a batch under MPI: a line that asks for another one is refused before anything runs, a job file warned of."""
        for words, says in (("--memory 1GB", "error: list:2: `--memory 1GB`: the jobs of a batch under MPI have one memory"), ("-m 1", "error: list:2: `-m`")):
            (self.dir / "list").write_text(f"little.sialx\nlittle.sialx {words}\n")
            p = self.tool("sialrun", "--batch", "list", "--transport", "mpi", code=2)
            self.assertIn(says, p.stderr)
            self.assertIn("hint: give `--memory` on the command line", p.stderr)
            self.assertEqual(p.stdout, "")
        self.assertIn("give `--memory` for all jobs", self.tool("sialrun", "--batch", "list", "-m", "1", code=2).stderr)
        (self.dir / "list").write_text(f"{self.job('memory = 1000000000')}\n")
        p = self.tool("sialrun", "--batch", "list", "--transport", "mpi")
        self.assertIn("warning: list:1: the memory that the job states is left out", p.stderr)
        self.assertNotIn("warning", self.tool("sialrun", "--batch", "list", "--transport", "mpi", "--memory", "1GB").stderr)
        self.assertNotIn("warning", self.tool("sialrun", "--batch", "list").stderr)

    def test_describe_cuts_segments_for_ranks_and_memory(self):
        water = ROOT / "examples/molecules/water.xyz"
        job = self.job(f'[molecule]\nxyz = "{water}"\nbasis = "cc-pvtz"\n')

        def segments(*args, says):
            text = self.tool("sialrun", job, *args, "--describe").stdout
            self.assertIn(says, text)
            return re.search(r"(?m)^  ao .*: (.*)$", text).group(1).split()
        usual = segments(says="segments (automatic ones for 1 rank, 2.15 GB each")
        little = segments("--memory", "1MB", says="for 1 rank, 1.00 MB each")
        many = segments("--ranks", "64", says="for 64 ranks, 2.15 GB each")
        self.assertLess(len(usual), len(little))
        self.assertLess(len(usual), len(many))
        planned = self.tool("sialrun", job, "--ranks", "64", "--dry-run").stderr
        self.assertIn(f"58 basis functions in {len(many)} of ", planned)
        self.tool("sialrun", job, "--write-dat", "water.dat", "--ranks", "64")
        self.assertRegex(self.tool("sialrun", "--dat", "water.dat", "--describe").stdout, rf"(?m)^  ao .* in {len(many)}: {' '.join(many)}$")
        self.assertIn("\nsegments\n", self.tool("sialrun", self.job("[segments]\nao = [3]\n"), "--describe").stdout)

    def complete(self, tool, *words):
        """What bash offers for the last of the words."""
        (self.dir / "completion").write_text(self.tool(tool, "--manual", "bash").stdout)
        quoted = " ".join(f"'{word}'" for word in (tool, *words))
        script = f"source ./completion; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _{tool}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", script], cwd=self.dir, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_completes_flags_choices_and_files(self):
        self.assertEqual(self.complete("sialrun", "--print"), ["--print-format"])
        self.assertEqual(self.complete("sialrun", "--print-format", ""), ["classic", "classic-test", "plain"])
        self.assertEqual(self.complete("sialrun", "--stall-limit", ""), ["off"])
        self.assertEqual(self.complete("sialrun", "--spill", ""), ["nodes", "off"])
        self.assertEqual(self.complete("sialrun", "little"), ["little.sialx"])
        self.assertEqual(self.complete("sialrun", "--batch", "little"), ["little.sialx"])
        self.assertEqual(self.complete("sialc", "--emit", "a"), ["ast", "ast-json", "access"])
        self.assertEqual(self.complete("sialreport", "--only", ""), ["passed", "missed", "analysis"])
        for row in self.rows:
            for flag in row["flags"]:
                if flag.startswith("--"):
                    name = re.split(r"[ \[]", flag)[0]
                    self.assertIn(name, self.complete("sialrun", name))

    def test_other_shells_can_read_their_completions(self):
        for shell in ("zsh", "fish"):
            for tool in ("sialrun", "sialc", "sialreport"):
                text = self.tool(tool, "--manual", shell).stdout
                self.assertIn("--version" if shell == "zsh" else "-l version", text)
                if shutil.which(shell):
                    (self.dir / "completion").write_text(text)
                    done = subprocess.run([shell, "-n", "completion"], cwd=self.dir, capture_output=True, text=True)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    main()
