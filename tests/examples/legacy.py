#!/usr/bin/env python3
"""Old jobs: initial-data files run through `sialrun --dat` with the programs of examples/14_legacy.

    legacy.py --bin DIR

Data files of our own writing always; those of ../shared/data (or the folder SIALX_LEGACY_DATA) when they are there.
"""
import json
import os
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import h5py

from harness import ROOT, InFolder, main

PROGRAMS = ROOT / "examples" / "14_legacy"
DATA = pathlib.Path(os.environ.get("SIALX_LEGACY_DATA", ROOT.parent / "shared" / "data"))
EXPECTED = json.loads((pathlib.Path(__file__).resolve().parent / "legacy_expected.json").read_text())


def big_endian(data):
    """The same file in the other byte order, written without any of our code."""
    out, at = bytearray(), 0

    def number(size):
        nonlocal at
        out.extend(reversed(data[at:at + size]))
        at += size
        return struct.unpack("<i", data[at - 4:at])[0] if size == 4 else None

    def text():
        nonlocal at
        n = number(4)
        out.extend(data[at:at + n])
        at += n

    def repeat(body):
        for _ in range(number(4)):
            body()

    number(4), number(4)
    repeat(text)
    repeat(lambda: (text(), number(4)))
    repeat(lambda: (text(), number(8)))
    repeat(lambda: (number(4), repeat(lambda: number(4))))
    repeat(lambda: (text(), number(4), repeat(lambda: number(4)), repeat(lambda: number(8))))
    repeat(lambda: (text(), number(4), repeat(lambda: number(4)), repeat(lambda: number(4))))
    repeat(lambda: (text(), repeat(lambda: (text(), text()))))
    assert at == len(data)
    return bytes(out)


class Jobs(InFolder):
    def results(self, *words, ranks=1):
        self.sialrun(*words, ranks=ranks)
        with h5py.File(self.dir / "results.h5") as f:
            return {name: float(f["scalars"][name][()]) for name in f["scalars"]}

    def compare(self, values, expected, names):
        for name in names:
            tolerance = 1e-10 if name == "scf_energy" else 1e-9
            self.assertLessEqual(abs(values[name] - expected[name]), tolerance, f"{name} is {values[name]:.12f}, not {expected[name]:.12f}")


class OwnFiles(Jobs):
    """Files that --write-dat makes from jobs with known results."""

    def job(self, molecule, basis, programs, more=""):
        lines = ", ".join(f'"{PROGRAMS / p}.sialx"' for p in programs)
        (self.dir / "job.toml").write_text(
            f'programs = [{lines}]\n[molecule]\nxyz = "{ROOT / "examples" / "molecules" / molecule}.xyz"\nbasis = "{basis}"\n{more}')
        self.sialrun("job.toml", "--write-dat", "job.dat")
        self.sialrun("job.toml", "--write-dat", "job.json")

    def check(self, values, expected):
        for name, value in expected.items():
            self.assertLessEqual(abs(values[name] - value), 2e-9, f"{name} is {values[name]:.12f}, not {value:.10f}")

    def test_both_forms_and_byte_orders(self):
        # Values of tests/examples and of the example's own expectations: PySCF 2.14.
        self.job("water", "6-31g*", ["scf_rhf_coreh", "mp2_rhf_disc"], "spherical = false\n")
        data = (self.dir / "job.dat").read_bytes()
        (self.dir / "big.dat").write_bytes(big_endian(data))
        expected = {"scf_energy": -76.0105299763, "mp2_energy": -0.1884723934}
        for words in (["--dat", "job.dat"], ["-d", "big.dat"], ["-j", "job.json"], ["--dat", "job.json", "-m", "0.25"]):
            with self.subTest(words=words):
                self.check(self.results(*words, "-s", PROGRAMS), expected)
        # Through the JSON form, through the other byte order, and unchanged: the same file.
        for name in ("job.json", "big.dat", "job.dat"):
            self.sialrun("--dat", name, "--write-dat", "again.dat")
            self.assertEqual((self.dir / "again.dat").read_bytes(), data)

    def test_frozen_core_and_segments(self):
        self.job("water", "cc-pvdz", ["scf_rhf_coreh", "mp2_rhf_disc"], "frozen_core = true\n[segments]\nao = \"auto\"\nao_target = 9\n")
        expected = {"scf_energy": -76.0267986975, "mp2_energy": -0.2016211461}
        self.check(self.results("--dat", "job.dat", "--programs", PROGRAMS), expected)
        self.check(self.results("--dat", "job.dat", "--programs", PROGRAMS, "--resegment", "ao=5,occ=2,virt=6", ranks=2), expected)
        self.sialrun("--dat", "job.dat", "--resegment", "ao=5,occ=2,virt=6", "--write-dat", "cut.dat")
        text = self.sialrun("--dat", "cut.dat", "--describe", "--programs", PROGRAMS).stdout
        self.assertIn("moa    24 elements in 7: 1 2 2 5 5 5 4", text)
        self.assertIn("baocc = 2", text)
        self.assertIn("04_rhf/rhf.sialx", text)

    def test_fragments(self):
        # Two waters: the tables of fragments go through both forms of the file, and may be stated one by one.
        example = ROOT / "examples" / "16_fragments"
        expected = {name: entry["value"] for name, entry in json.loads((example / "expected.json").read_text())["scalars"].items()}
        for file, ranks in (("job.dat", 2), ("job.json", 1)):
            self.sialrun(example / "job.toml", "--write-dat", file)
            with self.subTest(file=file):
                self.check(self.results("--dat", file, "--programs", example, ranks=ranks), expected)
        programs = ", ".join(f'"{example / name}.sialx"' for name in ("frag_rhf", "frag_scratch", "frag_cis"))
        (self.dir / "tables.toml").write_text(
            f'programs = [{programs}]\n[molecule]\nxyz = "{ROOT / "examples/molecules/water-dimer.xyz"}"\nbasis = "6-31g"\n'
            "[segments]\nao = [9, 4, 5, 4, 4]\nocc = [2, 3, 5]\nvirt = [8, 5, 3]\n[values]\nnfrags = 2\neom_roots = 6\n"
            "[arrays]\nw_frag_ao = [1, 1, 2, 2, 2]\nw_frag_aocc = [1, 1, 2]\nw_frag_avirt = [1, 2, 2]\n")
        self.check(self.results("tables.toml"), expected)

    def test_old_flags(self):
        (self.dir / "p.sialx").write_text("sial p\npredefined int scf_iter\nprintln scf_iter\nendsial p\n")
        self.job("water", "sto-3g", ["scf_rhf_coreh"])
        os.rename(self.dir / "job.dat", self.dir / "data.dat")
        self.assertIn("scf_energy", self.sialrun("-s", PROGRAMS, "-m", "0.5", "-w", "0.25", "-v", "0.25").stdout)  # data.dat, as ever
        self.assertIn("scf_iter = 100", self.sialrun("-d", "data.dat", "p.sialx").stdout)  # another program on the file's data
        self.assertIn("scf_iter = 100", self.sialrun("-d", "data.dat", "p.sialx", "-q", "2", "-r", "1", ranks=3).stdout)
        self.assertIn("not the 1 rank", self.sialrun("-d", "data.dat", "p.sialx", "-q", "2", "-r", "1", code=2).stderr)
        self.assertIn("not the 1 rank", self.sialrun("-d", "data.dat", "p.sialx", "-q", "2", code=2).stderr)
        self.assertIn("537 MB each", self.sialrun("-d", "data.dat", "p.sialx", "-m", "0.25", "-w", "0.5", "-v", "0.25", "--dry-run").stdout)

    def test_what_a_program_asks_for_and_the_file_lacks(self):
        self.job("water", "sto-3g", ["scf_rhf_coreh"])
        (self.dir / "int.sialx").write_text("sial a\npredefined int not_there\nprintln not_there\nendsial a\n")
        (self.dir / "scalar.sialx").write_text("sial a\npredefined scalar not_there\nprintln not_there\nendsial a\n")
        (self.dir / "array.sialx").write_text(
            "sial a\npredefined int natoms\nindex k = 1:3\nindex i = 1:natoms\npredefined static not_there[k,i]\npredefined static coords[k,i]\nscalar x\n"
            "do k\ndo i\nx += not_there[k,i] * not_there[k,i]\nenddo i\nenddo k\nprintln x\nx = 0.0\n"
            "do k\ndo i\nx += coords[k,i] * coords[k,i]\nenddo i\nenddo k\nprintln x\nendsial a\n")
        for kind in ("int", "scalar"):
            self.assertIn(f"needs the predefined {kind} `not_there`", self.sialrun("--dat", "job.dat", f"{kind}.sialx", code=1).stderr)
        done = self.sialrun("--dat", "job.dat", "array.sialx")
        self.assertIn("no data for the predefined static array `not_there`", done.stderr)
        lines = [float(line.split("=")[1]) for line in done.stdout.splitlines() if " x = " in line]
        bohr = 0.52917721092
        self.assertEqual(lines[0], 0.0)
        atoms = [[float(x) / bohr for x in line.split()[1:4]] for line in (ROOT / "examples/molecules/water.xyz").read_text().splitlines()[2:5]]
        self.assertAlmostEqual(lines[1], sum(x * x for atom in atoms for x in atom), delta=1e-12)

    def test_damaged_files(self):
        self.job("water", "sto-3g", ["scf_rhf_coreh"])
        data = (self.dir / "job.dat").read_bytes()
        (self.dir / "cut.dat").write_bytes(data[:1000])
        for ranks in (1, 2):
            done = self.sialrun("--dat", "cut.dat", "--programs", PROGRAMS, code=2, ranks=ranks)
            self.assertIn("cut.dat: byte ", done.stderr)
            self.assertEqual(done.stderr.count("error:"), 1, done.stderr)
        self.assertIn("cannot read", self.sialrun("--dat", "none.dat", "--programs", PROGRAMS, code=2).stderr)
        self.assertIn("no program scf_rhf_coreh.siox in .", self.sialrun("--dat", "job.dat", code=2).stderr)


    def test_coupled_cluster_by_the_old_names(self):
        self.job("hydrogen-fluoride", "6-31g", ["scf_rhf_coreh", "tran_rhf_no4v", "rccsd_rhf", "rccsdpt_aaa", "rccsdpt_aab"])
        self.assertIn("rccsdpt_aab.siox", (self.dir / "job.json").read_text())
        self.sialrun("-j", "job.json", "--write-dat", "old.dat", "--resegment", "ao=4,occ=3,virt=3")
        values = self.results("--dat", "old.dat", "--programs", PROGRAMS, ranks=2)
        expected = {"scf_energy": -99.9834071583, "ccsd_energy": -0.1312368880, "t_energy": -0.0006268662}
        self.check(values, expected)
        self.check(values, {"ccsdpt_energy": sum(expected.values())})


class GivenFiles(Jobs):
    """The three files of other making."""

    def setUp(self):
        super().setUp()
        if not DATA.is_dir():
            self.skipTest(f"there is no folder {DATA}")

    def test_scf_and_mp2(self):
        pair = [PROGRAMS / "scf_rhf_coreh.sialx", PROGRAMS / "mp2_rhf_disc.sialx"]
        for name, cuts in (("water_321g.dat", ["ao=5,occ=2,virt=3"]), ("ne_ccpvdz.dat", ["ao=6,occ=2,virt=4"]), ("hf_321g_frozen.dat", ["ao=3,occ=2,virt=4", "ao=1,occ=1,virt=1"])):
            for cut in [None, *cuts]:
                for ranks in (1, 3) if cut == cuts[0] else (1,):
                    with self.subTest(file=name, cut=cut, ranks=ranks):
                        values = self.results("--dat", DATA / name, *pair, *(["--resegment", cut] if cut else []), ranks=ranks)
                        self.compare(values, EXPECTED[name], ["scf_energy", "mp2_energy"])
                        if "scf_dipole_z" in EXPECTED[name]:
                            self.assertAlmostEqual(values["dipole_z"], EXPECTED[name]["scf_dipole_z"], delta=1e-6)

    def test_linearised_coupled_cluster(self):
        for more in ([], ["--resegment", "ao=5,occ=2,virt=3"]):
            with self.subTest(more=more):
                values = self.results("--dat", DATA / "water_321g.dat", "--programs", PROGRAMS, *more)
                values["lccd_total"] = values["scf_energy"] + values["lccd_energy"]
                self.compare(values, EXPECTED["water_321g.dat"], ["scf_energy", "lccsd_energy", "lccd_total"])

    def test_excited_states(self):
        values = self.results("--dat", DATA / "water_321g.dat", PROGRAMS / "scf_rhf_coreh.sialx", PROGRAMS / "rcis_rhf.sialx",
                              "--set", "eom_roots=2", "--resegment", "ao=5,occ=2,virt=3")
        for name in ("cis_1", "cis_2"):
            self.assertAlmostEqual(values[name], EXPECTED["water_321g.dat"][name], delta=1e-8)

    def test_triples(self):
        # The file asks for cc_conv 1e-7 only.
        for more, ranks in (([], 1), (["--resegment", "ao=6,occ=2,virt=3"], 2)):
            with self.subTest(more=more):
                values = self.results("--dat", DATA / "ne_ccpvdz.dat", "--programs", PROGRAMS, "--set", "cc_conv=1e-11", *more, ranks=ranks)
                self.compare(values, EXPECTED["ne_ccpvdz.dat"], ["scf_energy", "ccsd_energy", "t_energy", "ccsdpt_energy"])
        values = self.results("--dat", DATA / "ne_ccpvdz.dat", "--programs", PROGRAMS)
        self.assertAlmostEqual(values["ccsdpt_energy"], EXPECTED["ne_ccpvdz.dat"]["ccsdpt_energy"], delta=1e-6)

    def test_lambda_triples_with_a_frozen_core(self):
        for more, ranks in (([], 1), (["--resegment", "ao=5,occ=2,virt=3"], 2)):
            with self.subTest(more=more):
                values = self.results("--dat", DATA / "hf_321g_frozen.dat", "--programs", PROGRAMS, *more, ranks=ranks)
                self.compare(values, EXPECTED["hf_321g_frozen.dat"], ["scf_energy", "ccsd_energy", "lambda_ccsdpt_energy"])

    def test_ccsd_of_the_others(self):
        chain = [PROGRAMS / f"{name}.sialx" for name in ("scf_rhf_coreh", "tran_rhf_no4v", "rccsd_rhf", "rccsdpt_aaa")]
        for name in ("water_321g.dat", "hf_321g_frozen.dat"):
            with self.subTest(name=name):
                self.compare(self.results("--dat", DATA / name, *chain), EXPECTED[name], ["scf_energy", "ccsd_energy", "t_energy"])


if __name__ == "__main__":
    main()
