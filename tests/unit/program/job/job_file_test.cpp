#include <catch2/catch.hpp>

#include <cmath>
#include <numeric>

#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "runtime/chemistry/segments/auto_segments.h"
#include "runtime/chemistry/segments/segments.h"
#include "runtime/core/job/array_source.h"
#include "runtime/core/job/hdf5_file.h"
#include "runtime/core/job/options.h"
#include "runtime/program/job/job_file.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

const char* water_xyz = "3\nwater\nO 0 0 0\nH 0 0.756950327264 0.585882276618\nH 0 -0.756950327264 0.585882276618\n";

struct JobFolder : Folder {
  JobFolder() {
    write("p.sialx", "sial p\nendsial p\n");
    write("water.xyz", water_xyz);
  }
  Job read(const std::string& text) const { return read_job_file(write("job.toml", text)); }
  std::string error(const std::string& text) const {
    return error_of([&] { read(text); });
  }
  std::string molecule(const std::string& more) const {
    return "programs = [\"p.sialx\"]\n[molecule]\nxyz = \"water.xyz\"\n" + more;
  }
};

}  // namespace

TEST_CASE("programs and folders of imports are read from jobs with other mistakes") {
  JobFolder f;
  const std::string file = f.write(
      "job.toml",
      "programs = [\"p.sialx\", \"sub/../gone.sialx\"]\ninclude = [\"../lib\", \"/usr/lib\"]\nmemory = \"much\"\n");
  const JobImports job = read_job_imports(file);
  CHECK(job.programs == std::vector<std::string>{f.path("p.sialx"), f.path("gone.sialx")});
  CHECK(job.include_dirs ==
        std::vector<std::string>{std::filesystem::path(f.path("../lib")).lexically_normal().string(), "/usr/lib"});
  CHECK(read_job_imports(f.write("job.toml", "memory = 1\n")).programs.empty());
  CHECK(!error_of([&] { read_job_imports(f.write("job.toml", "programs = [\n")); }).empty());
  CHECK(!error_of([&] { read_job_imports(f.path("none.toml")); }).empty());
}

TEST_CASE("a job file without a molecule") {
  JobFolder f;
  Job job = f.read(
      "programs = [\"p.sialx\"]\nmemory = \"512 MB\"\ninclude = [\"lib\"]\n[values]\nN = 4\nconv = 1e-9\n[segments]\nao = [8, 8, 4]\n"
      "[run]\nlook_ahead = 3\n[output]\ndir = \"out\"\nresults = \"r.h5\"\nprint_format = \"plain\"\n[arrays]\nv = [1, 2, 3]\nw = [1.5, 2]\n");
  CHECK(job.programs == std::vector<std::string>{f.path("p.sialx")});
  CHECK(job.include_dirs == std::vector<std::string>{f.path("lib")});
  CHECK(job.memory_per_rank == 512'000'000);
  CHECK(job.data.ints.at("n") == 4);
  CHECK(job.data.ints.at("norb") == 3);
  CHECK(job.data.scalars.at("conv") == 1e-9);
  CHECK(job.data.segments.at(IndexKind::ao) == std::vector<std::int32_t>{8, 8, 4});
  CHECK(job.output_dir == f.path("out"));
  CHECK(job.results_path == "r.h5");
  CHECK(job.print_format == "plain");
  CHECK(job.look_ahead == 3);
  CHECK(job.data.arrays.at("v").data == std::vector<double>{1, 2, 3});
  CHECK(job.data.int_arrays.at("v").data == std::vector<std::int32_t>{1, 2, 3});
  CHECK(job.data.int_arrays.count("w") == 0);
  CHECK_FALSE(chemistry(job.data).has_molecule);

  apply_set(job, "N=7");
  apply_set(job, "conv=1");
  apply_set(job, "x=-2.5e-3");
  apply_segments(job, "ao=5,6");
  CHECK(job.data.ints.at("n") == 7);
  CHECK(job.data.scalars.at("conv") == 1.0);
  CHECK(job.data.scalars.at("x") == -2.5e-3);
  CHECK(job.data.segments.at(IndexKind::ao) == std::vector<std::int32_t>{5, 6});
  CHECK(job.data.ints.at("norb") == 2);
  apply_set(job, "norb=1");
  CHECK(job.data.ints.at("norb") == 1);
}

TEST_CASE("a molecule gives segments and predefined values") {
  JobFolder f;
  Job job = f.read(f.molecule("basis = \"CC-PVDZ\"\n[segments]\nao_target = 9\nocc_target = 3\nvirt_target = 7\n"));
  CHECK(chemistry(job.data).molecule.n_basis() == 24);
  CHECK(std::abs(job.data.scalars.at("nn_repulsion") - 9.1949648545) < 1e-10);
  CHECK(job.data.scalars.at("scf_conv") == 1e-10);
  const auto& ao = job.data.segments.at(IndexKind::ao);
  CHECK(ao.size() >= 3);
  CHECK(std::accumulate(ao.begin(), ao.end(), 0) == 24);
  CHECK(job.data.segments.at(IndexKind::moa) == std::vector<std::int32_t>{3, 2, 7, 6, 6});
  CHECK(job.data.segments.at(IndexKind::mob) == job.data.segments.at(IndexKind::moa));
  auto value = [&](const char* name) { return job.data.ints.at(name); };
  CHECK(value("norb") == static_cast<int>(ao.size()));
  CHECK(value("baocc") == 1);
  CHECK(value("eaocc") == 2);
  CHECK(value("bavirt") == 3);
  CHECK(value("eavirt") == 5);
  CHECK(value("bbvirt") == 3);
  CHECK(value("nocc") == 2);
  CHECK(value("nvirt") == 3);
  CHECK(value("naocc") == 5);
  CHECK(value("bavirtorb") == 6);
  CHECK(value("eavirtorb") == 24);
  CHECK(value("nalpha_virtual") == 19);
  CHECK(value("reference") == 0);
  CHECK(value("scf_iter") > 0);
  CHECK(job.data.arrays.at("coords").extents == std::vector<std::int64_t>{3, 3});
  CHECK(job.data.arrays.at("charge").data == std::vector<double>{8, 1, 1});

  // Shells of cc-pVDZ oxygen are s s s p p d, of hydrogen s s p: 9 and 24 are shell ends, 13 is not.
  apply_segments(job, "ao=9,15");
  CHECK(job.data.ints.at("norb") == 2);
  CHECK_THAT(error_of([&] { apply_segments(job, "ao=11,13"); }), Contains("inside a shell (functions 10 to 14)"));
  CHECK_THAT(error_of([&] { apply_segments(job, "ao=9,14"); }), Contains("add up to 23") && Contains("24"));
}

TEST_CASE("room for the vectors of excited states follows from their number") {
  JobFolder f;
  Job job = f.read("programs = [\"p.sialx\"]\n[values]\neom_roots = 3\n");
  CHECK(job.data.ints.at("eom_subspc") == 44);
  apply_set(job, "eom_roots=5");
  CHECK(job.data.ints.at("eom_subspc") == 68);
  apply_set(job, "eom_subspc=30");
  CHECK(job.data.ints.at("eom_subspc") == 30);
  CHECK(f.read("programs = [\"p.sialx\"]\n").data.ints.at("eom_subspc") == 0);
}

TEST_CASE("which code computes integrals") {
  JobFolder f;
  CHECK(integral_code(f.read("programs = [\"p.sialx\"]\n").data) == IntegralCode::automatic);
  CHECK(integral_code(f.read("programs = [\"p.sialx\"]\n[run]\nintegrals = \"libint\"\n").data) ==
        IntegralCode::libint);
  CHECK(integral_code(f.read("programs = [\"p.sialx\"]\n[run]\nintegrals = \"hermite\"\n").data) ==
        IntegralCode::hermite);
  CHECK_THAT(f.error("programs = [\"p.sialx\"]\n[run]\nintegrals = \"slow\"\n"),
             Contains("`slow`") && Contains("auto, libint or hermite"));
}

TEST_CASE("integrals are kept where they take a quarter of the memory") {
  JobFolder f;
  Job job = f.read(f.molecule("basis = \"cc-pvdz\"\n[segments]\nao = [9, 15]\n"));
  // Pairs of segments: 81, 135 and 225 elements; pairs of those, twice.
  const std::size_t needed = 8 * (441 * 441 + 81 * 81 + 135 * 135 + 225 * 225);
  const auto kept = [&](std::size_t memory, int ranks) {
    job.memory_per_rank = memory;
    job.ranks = ranks;
    derive_job_data(job);
    return job.data.ints.at("keep_quartets");
  };
  CHECK(kept(4 * needed, 1) == 1);
  CHECK(kept(4 * needed - 1, 1) == 0);
  CHECK(kept(2 * needed, 2) == 1);
  apply_set(job, "keep_quartets=0");
  CHECK(kept(4 * needed, 1) == 0);
  CHECK(f.read("programs = [\"p.sialx\"]\n").data.ints.at("keep_quartets") == 0);  // nothing is known of the basis
}

TEST_CASE("several kinds in one --segments") {
  JobFolder f;
  Job job = f.read(f.molecule("basis = \"cc-pvdz\"\n"));
  Job apart = job;
  for (const char* one : {"occ_target=3", "virt_target=7", "ao=9,15"}) apply_segments(apart, one);
  apply_segments(job, "occ_target=3,virt_target=7,ao=9,15");
  CHECK(job.data.segments == apart.data.segments);
  CHECK(job.data.segments.at(IndexKind::moa) == std::vector<std::int32_t>{3, 2, 7, 6, 6});
  CHECK_THAT(error_of([&] { apply_segments(job, "occ_target=3,vrt_target=7"); }),
             Contains("unknown index kind `vrt_target`"));
  CHECK_THAT(error_of([&] { apply_segments(job, "occ_target=3,x"); }),
             Contains("`x` in `--segments occ_target=3,x` is not a segment size"));
  CHECK_THAT(error_of([&] { apply_segments(job, "occ_target=,virt=7"); }), Contains("`` in `--segments"));
}

TEST_CASE("segments of orbitals as lists") {
  JobFolder f;
  Job job = f.read(f.molecule("basis = \"6-31g\"\n[segments]\nmoa = [2, 3, 8]\n"));
  CHECK(job.data.ints.at("eaocc") == 2);
  CHECK(job.data.ints.at("eavirt") == 3);
  CHECK_THAT(f.error(f.molecule("basis = \"6-31g\"\n[segments]\nmoa = [6, 7]\n")),
             Contains("mix occupied and virtual"));
  CHECK_THAT(f.error(f.molecule("basis = \"6-31g\"\n[segments]\nocc = [2, 2]\n")),
             Contains("`occ` add up to 4") && Contains("job.toml"));
}

TEST_CASE("an open shell has its own beta segments") {
  JobFolder f;
  Job job = f.read(f.molecule("charge = 1\nmultiplicity = 2\nbasis = \"sto-3g\"\n"));
  CHECK(job.data.segments.at(IndexKind::moa) == std::vector<std::int32_t>{5, 2});
  CHECK(job.data.segments.at(IndexKind::mob) == std::vector<std::int32_t>{4, 3});
  CHECK(job.data.ints.at("nalpha_occupied") == 5);
  CHECK(job.data.ints.at("nbeta_occupied") == 4);
  CHECK(job.data.ints.at("reference") == 1);
  CHECK_THAT(f.error(f.molecule("charge = 1\nbasis = \"sto-3g\"\n")),
             Contains("multiplicity 1") && Contains("9 electrons"));
}

TEST_CASE("charge and multiplicity of an xyz file's second line are taken where the job states none") {
  JobFolder f;
  const auto read = [&](const std::string& comment, const std::string& keys) {
    std::string text = water_xyz;
    f.write("water.xyz", text.replace(2, 5, comment));
    return f.read(f.molecule("basis = \"sto-3g\"\n" + keys));
  };
  struct Case {
    const char *comment, *keys;
    int charge, multiplicity;
    const char* warning;
  };
  for (const Case& c : {
           Case{"charge=1 multiplicity=4", "", 1, 4, nullptr},
           Case{"charge=1 multiplicity=2", "charge = 0\nmultiplicity = 3\n", 0, 3, "says charge 1, and [molecule] 0"},
           Case{"multiplicity=3", "multiplicity = 1\n", 0, 1, "says multiplicity 3, and [molecule] 1"},
           Case{"charge=1 spin=2", "", 1, 2, nullptr},  // of nine electrons: neither triplet nor quintet
           Case{"charge=1 spin=1", "", 1, 2, nullptr},
           Case{"charge=1 spin=0.5", "", 1, 2, nullptr},
           Case{"charge=1 spin=1.5", "", 1, 4, nullptr},
           Case{"spin=0", "", 0, 1, nullptr},
           Case{"0 1", "", 0, 1, nullptr},
           Case{"1 2", "", 0, 1, "`1 2` in the second line is ignored"},
           Case{"1 2", "charge = 1\nmultiplicity = 2\n", 1, 2, nullptr},
           Case{"-2 1 dianion", "", 0, 1, "`-2 1` in the second line is ignored"},
           Case{"charge: -2", "", 0, 1, "speaks of a charge"},
           Case{"CHARGE=2", "", 2, 1, nullptr},
           Case{"spin=1", "", 0, 1, "`spin=1` is ignored"},  // a singlet, or S = 1
           Case{"spin=2", "", 0, 1, "`spin=2` is ignored"},
           Case{"spin=2", "multiplicity = 3\n", 0, 3, nullptr},
           Case{"spin=3", "multiplicity = 3\n", 0, 3, nullptr},
           Case{"charge=7", "fragments = [[1], [2, 3]]\nfragment_charges = [2, 0]\n", 2, 1,
                "says charge 7, and [molecule] 2"},
       }) {
    INFO(c.comment);
    const Job job = read(c.comment, c.keys);
    CHECK(chemistry(job.data).molecule.charge == c.charge);
    CHECK(chemistry(job.data).molecule.multiplicity == c.multiplicity);
    REQUIRE(job.warnings.size() >= (c.warning ? 1u : 0u));
    if (c.warning) CHECK_THAT(job.warnings[0], Contains(c.warning) && Contains("water.xyz:2"));
    else CHECK(job.warnings.empty());
  }
}

TEST_CASE("ints that contradict the molecule are taken, and said") {
  JobFolder f;
  Job job = f.read(f.molecule(
      "basis = \"3-21g\"\n[segments]\nocc_target = 3\nvirt_target = 7\n[values]\neaocc = 1\nnorb = 1\ncc_iter = 7\n"));
  derive_job_data(job);
  CHECK(job.data.ints.at("eaocc") == 1);
  REQUIRE(job.warnings.size() == 1);
  CHECK_THAT(job.warnings[0], Contains("`eaocc` is set to 1, and the molecule gives 2"));
  derive_job_data(job);
  CHECK(job.warnings.size() == 1);
}

TEST_CASE("fragments of a molecule have segments and tables of their own") {
  JobFolder f;
  f.write(
      "water.xyz",
      "7\nwater, hydroxide and a water molecule's place\nO 0 0 0\nH 0 0.76 0.59\nH 0 -0.76 0.59\nO 0 0 5\nH 0 0.76 5.59\nHe 0 0 9\nHe 0 2 9\n");
  using Sizes = std::vector<std::int32_t>;
  const std::string three =
      "basis = \"sto-3g\"\nfragments = [[1, 2, 3], [6, 7], [4, 5]]\nfragment_charges = [0, 0, -1]\n";
  const Job job = f.read(f.molecule(three + "[segments]\nao_target = 4\nocc_target = 3\nvirt_target = 3\n"));
  auto owners = [](const Job& j, const char* name) { return j.data.int_arrays.at(name).data; };
  CHECK(job.data.ints.at("nfrags") == 3);
  CHECK(chemistry(job.data).molecule.charge == -1);
  // Functions in the order of the atoms, 7 | 6 | 2; orbitals in the order of the fragments, occupied 5 | 2 | 5 and
  // virtual 2 | 0 | 1.
  CHECK(job.data.segments.at(IndexKind::ao) == Sizes{2, 5, 2, 4, 2});
  CHECK(job.data.segments.at(IndexKind::moa) == Sizes{3, 2, 2, 3, 2, 2, 1});
  CHECK(job.data.segments.at(IndexKind::mob) == job.data.segments.at(IndexKind::moa));
  CHECK(owners(job, "w_frag_ao") == Sizes{1, 1, 3, 3, 2});
  for (const char* name : {"w_frag_aocc", "w_frag_bocc"}) CHECK(owners(job, name) == Sizes{1, 1, 2, 3, 3});
  for (const char* name : {"w_frag_avirt", "w_frag_bvirt"}) CHECK(owners(job, name) == Sizes{1, 3});
  CHECK(owners(job, "w_frag_atom") == Sizes{1, 1, 1, 3, 3, 2, 2});

  Job listed = f.read(f.molecule(three + "[segments]\nao = [7, 6, 1, 1]\nmoa = [5, 1, 1, 5, 2, 1]\n"));
  CHECK(owners(listed, "w_frag_ao") == Sizes{1, 3, 2, 2});
  CHECK(owners(listed, "w_frag_aocc") == Sizes{1, 2, 2, 3});
  apply_segments(listed, "ao=7,6,2");
  CHECK(owners(listed, "w_frag_ao") == Sizes{1, 3, 2});
  CHECK_THAT(error_of([&] { apply_segments(listed, "ao=13,2"); }),
             Contains("`ao` segment 1 holds functions of more than one fragment"));
  CHECK_THAT(f.error(f.molecule(three + "[segments]\nocc = [5, 7]\n")),
             Contains("`occ` segment 2 holds orbitals of more than one fragment"));
  CHECK_THAT(f.error(f.molecule(three + "[segments]\nvirt = [3]\n")), Contains("`virt` segment 1"));

  auto wrong = [&](const std::string& lists) { return f.error(f.molecule("basis = \"sto-3g\"\n" + lists)); };
  CHECK_THAT(wrong("charge = -1\nfragments = [[1, 2, 3]]\n"),
             Contains("job.toml:6") && Contains("atom 4 is in no fragment"));
  CHECK_THAT(wrong("charge = -1\nfragments = [[1, 2, 3], [3, 4, 5], [6, 7]]\n"),
             Contains("atom 3 is in fragments 1 and 2"));
  CHECK_THAT(wrong("charge = -1\nfragments = [[1, 2, 3], [4, 5], [6, 8]]\n"), Contains("fragment 3 names atom 8"));
  CHECK_THAT(wrong("charge = -1\nfragments = [[1, 2, 4], [3, 5], [6, 7]]\n"),
             Contains("fragment 1 do not follow each other: 4 comes after 2"));
  CHECK_THAT(wrong("charge = -1\nfragments = [[1, 2, 3], [4, 5], [6, 7], []]\n"), Contains("fragment 4 has no atoms"));
  CHECK_THAT(wrong("charge = -1\nfragments = [[1, 2, 3], [4, 5], [6, 7]]\n"),
             Contains("add up to 0, and that of the molecule is -1"));
  CHECK_THAT(wrong("fragments = [[1, 2, 3], [4, 5], [6, 7]]\nfragment_charges = [-1, 0, 0]\n"),
             Contains("fragment 1 has 11 electrons"));
  CHECK_THAT(wrong("fragments = [[1, 2, 3], [4, 5], [6, 7]]\nfragment_charges = [0, -1]\n"),
             Contains("lists 2 charges, and there are 3 fragments"));
  CHECK_THAT(wrong("charge = -1\nfragment_charges = [0, -1]\n"), Contains("goes with `fragments`"));
  CHECK_THAT(wrong("charge = -1\nfragments = [1, 2]\n"), Contains("must list the atoms of each fragment"));
  CHECK_THAT(wrong("charge = -1\nfragments = []\n"), Contains("must list the atoms of each fragment"));
  CHECK_THAT(f.error(f.molecule(three + "frozen_core = true\n")), Contains("`frozen_core` do not go together"));
  CHECK_THAT(f.error(f.molecule(three + "[arrays]\nw_frag_ao = [1, 2]\n")),
             Contains("`w_frag_ao` follows from `fragments`"));
  CHECK_THAT(f.error(f.molecule(three + "[values]\nnfrags = 2\n")), Contains("`nfrags` is 2") && Contains("lists 3"));
}

TEST_CASE("a frozen core has leading segments of its own") {
  JobFolder f;
  const std::string basis = "basis = \"cc-pvdz\"\n";
  Job job = f.read(f.molecule(basis + "frozen_core = true\n[segments]\nocc_target = 3\nvirt_target = 10\n"));
  auto value = [&](const char* name) { return job.data.ints.at(name); };
  CHECK(job.data.segments.at(IndexKind::moa) == std::vector<std::int32_t>{1, 2, 2, 10, 9});
  CHECK(job.data.segments.at(IndexKind::mo) == job.data.segments.at(IndexKind::moa));
  for (const char* name : {"baocc", "bbocc", "baoccorb", "bboccorb"}) CHECK(value(name) == 2);
  for (const char* name : {"bocc", "boccorb"}) CHECK(value(name) == 1);
  for (const char* name : {"eaocc", "ebocc", "eocc", "nocc"}) CHECK(value(name) == 3);
  for (const char* name : {"eaoccorb", "eoccorb", "naocc", "nalpha_occupied", "nbeta_occupied"})
    CHECK(value(name) == 5);
  CHECK(value("bavirt") == 4);
  CHECK(value("bavirtorb") == 6);

  auto sizes = [&](const std::string& more) {
    job = f.read(f.molecule(basis + more));
    return job.data.segments.at(IndexKind::moa);
  };
  CHECK(sizes("frozen_core = 2\n[segments]\nocc = [2, 3]\nvirt = [19]\n") == std::vector<std::int32_t>{2, 3, 19});
  CHECK(value("baocc") == 2);
  CHECK(value("baoccorb") == 3);
  CHECK(sizes("frozen_core = 2\n[segments]\nocc = [2, 1]\nvirt = [19]\n") == std::vector<std::int32_t>{2, 2, 1, 19});
  CHECK(value("baocc") == 2);
  CHECK(sizes("frozen_core = 2\n[segments]\nmoa = [1, 1, 3, 10, 9]\n") == std::vector<std::int32_t>{1, 1, 3, 10, 9});
  CHECK(value("baocc") == 3);
  CHECK(value("eaocc") == 3);
  CHECK(sizes("frozen_core = false\n[segments]\nocc = [5]\nvirt = [19]\n") == std::vector<std::int32_t>{5, 19});
  CHECK(value("baocc") == 1);
  sizes("charge = 1\nmultiplicity = 2\nfrozen_core = true\n");
  CHECK(value("bbocc") == 2);
  CHECK(job.data.segments.at(IndexKind::mob).at(0) == 1);

  CHECK_THAT(f.error(f.molecule(basis + "frozen_core = 2\n[segments]\nmoa = [1, 4, 19]\n")),
             Contains("mix frozen and correlated") && Contains("orbital 2"));
  CHECK_THAT(f.error(f.molecule(basis + "frozen_core = 2\n[segments]\nocc = [3, 2]\n")),
             Contains("`occ` mix frozen and correlated"));
  CHECK_THAT(f.error(f.molecule(basis + "frozen_core = 6\n")), Contains("freezes 6 orbitals, and only 5 are occupied"));
  CHECK_THAT(f.error(f.molecule(basis + "frozen_core = -1\n")), Contains("job.toml:5") && Contains("negative"));
  CHECK_THAT(f.error(f.molecule(basis + "frozen_core = \"yes\"\n")),
             Contains("job.toml:5") && Contains("number of orbitals"));
}

TEST_CASE("an effective core potential takes electrons and charge from its atoms") {
  JobFolder f;
  f.write("o.g94", "O 0\nO-ECP 1 2\np\n0\ns-p\n1\n2 1.0 3.0\n");
  const std::string basis = "basis = \"cc-pvdz\"\n";
  Job job = f.read(f.molecule(basis + "ecp = \"o.g94\"\nfrozen_core = true\n"));
  auto value = [&](const char* name) { return job.data.ints.at(name); };
  CHECK(value("nalpha_occupied") == 4);
  CHECK(value("iecp_on") == 1);
  CHECK(value("baocc") == 1);  // the potential has replaced the core already
  CHECK(job.data.arrays.at("charge").data == std::vector<double>{6, 1, 1});
  CHECK(chemistry(job.data).molecule.shells.size() == chemistry(f.read(f.molecule(basis)).data).molecule.shells.size());
  CHECK(f.read(f.molecule(basis)).data.ints.at("iecp_on") == 0);
  CHECK(f.read(f.molecule(basis + "ecp = false\n")).data.ints.at("nalpha_occupied") == 5);
  f.write("cl.g94", "Cl 0\nCL-ECP 1 10\np\n0\ns-p\n0\n");
  CHECK_THAT(f.error(f.molecule(basis + "ecp = \"cl.g94\"\n")),
             Contains("no effective core potential") && Contains("job.toml:5"));
  CHECK_THAT(f.error(f.molecule(basis + "ecp = true\n")), Contains("`ecp` must be"));
}

TEST_CASE("mistakes in a job file name the key and the line") {
  JobFolder f;
  const std::string head = "programs = [\"p.sialx\"]\n";
  CHECK_THAT(f.error("program = [\"p.sialx\"]\n"),
             Contains("unknown key `program`") && Contains("did you mean `programs`") && Contains("job.toml:1:1"));
  CHECK_THAT(f.error(head + "[molecule]\nxzy = \"a\"\n"),
             Contains("[molecule]") && Contains("did you mean `xyz`") && Contains("job.toml:3:1"));
  CHECK_THAT(f.error(head + "[segments]\nao = [8, -1]\n"),
             Contains("-1") && Contains("`ao`") && Contains("job.toml:3"));
  CHECK_THAT(f.error(head + "[segments]\na0 = [8]\n"), Contains("did you mean `ao`"));
  CHECK_THAT(f.error(head + "[segments]\nao = \"many\"\n"), Contains("`ao`") && Contains("\"auto\""));
  CHECK_THAT(f.error(head + "[values]\nn = \"4\"\n"), Contains("`n`") && Contains("job.toml:3"));
  CHECK_THAT(f.error(head + "[values]\nn = 3000000000\n"), Contains("32-bit"));
  CHECK_THAT(f.error(head + "memory = \"lots\"\n"), Contains("lots") && Contains("job.toml:2"));
  CHECK_THAT(f.error("[values]\n"), Contains("`programs` is missing") && Contains("job.toml"));
  CHECK_THAT(f.error("programs = [\"q.sialx\"]\n"), Contains("q.sialx") && Contains("job.toml:1"));
  CHECK_THAT(f.error("programs = [\n"), Contains("job.toml:") && Contains("TOML"));
  CHECK_THAT(f.error(head + "[molecule]\nxyz = \"water.xyz\"\n"), Contains("[molecule] lacks `basis`"));
  CHECK_THAT(f.error(head + "[molecule]\nxyz = \"air.xyz\"\nbasis = \"6-31g\"\n"),
             Contains("air.xyz") && Contains("job.toml:3"));
  CHECK_THAT(f.error(head + "[output]\nprint_format = \"clasic\"\n"), Contains("did you mean `classic`"));
  CHECK_THAT(f.error(head + "values = 3\n"), Contains("`values` must be a table"));
  CHECK_THAT(error_of([&] { read_job_file(f.path("none.toml")); }), Contains("none.toml"));
}

TEST_CASE("command line values and segments that cannot be") {
  Job job;
  for (const char* text : {"norb", "norb=", "norb=x", "=3", "norb=3x", "n=99999999999", "2n=3"})
    CHECK_THAT(error_of([&] { apply_set(job, text); }), Contains(text));
  for (const char* text : {"ao", "ao=", "ao=3,x", "ao=3,,4", "ao=0", "xx=3"})
    CHECK_FALSE(error_of([&] { apply_segments(job, text); }).empty());
  CHECK(job.data.ints.count("norb") == 0);
  CHECK(parse_memory("2GiB") == std::size_t{2} << 30);
  CHECK(parse_memory("1.5 kB") == 1500);
  CHECK(parse_memory("4000") == 4000);
  for (const char* text : {"", "lots", "GB", "-1", "3 parsecs", "0"})
    CHECK_FALSE(error_of([&] { parse_memory(text); }).empty());
  for (const char* text : {"5", "999999"})
    CHECK_THAT(error_of([&] { set_option(job, OptionId::memory, text); }), Contains("without a unit"));
  set_option(job, OptionId::memory, "1000000");
  CHECK(job.memory_per_rank == 1000000);
}

TEST_CASE("arrays from HDF5 keep their memory order") {
  JobFolder f;
  {
    PartFile part(f.path("d.h5"), "");
    Hdf5File h5 = Hdf5File::create(part);
    std::vector<double> data{1, 2, 3, 4, 5, 6};
    h5.write("a", std::vector<std::int64_t>{2, 3}, std::span<const double>(data));
    h5.write("empty", std::vector<std::int64_t>{3, 0}, std::span<const double>());
    h5.close();
    part.finish(Durability::until_crash);
  }
  const std::string head = "programs = [\"p.sialx\"]\n[arrays]\n";
  Job job = f.read(head + "a = {file = \"d.h5\"}\n");
  CHECK(job.data.sources.at("a").extents == std::vector<std::int64_t>{2, 3});
  CHECK(job.data.gives_array("a"));
  CHECK_FALSE(job.data.gives_array("b"));
  read_arrays(job.data, {"a"});
  CHECK(job.data.arrays.empty());
  read_arrays(job.data);
  CHECK(job.data.arrays.at("a").extents == std::vector<std::int64_t>{2, 3});
  CHECK(job.data.arrays.at("a").data == std::vector<double>{1, 2, 3, 4, 5, 6});
  job = f.read(head + "a = {file = \"d.h5\", dataset = \"empty\"}\n");
  read_arrays(job.data);
  CHECK(job.data.arrays.at("a").extents == std::vector<std::int64_t>{3, 0});
  CHECK(job.data.arrays.at("a").data.empty());
  CHECK_FALSE(job.data.empty_means_none);
  CHECK_THAT(
      f.error(head + "a = {file = \"d.h5\", dataset = \"b\"}\n"),
      Contains("no dataset `b`") && Contains("the file holds: a") && Contains("job.toml:3") && Contains("array `a`"));
  CHECK_THAT(f.error(head + "a = {file = \"e.h5\"}\n"), Contains("array `a`: there is no file") && Contains("e.h5"));
  CHECK_THAT(f.error(head + "a = {fil = \"e.h5\"}\n"), Contains("did you mean `file`"));
  f.write("d.h5", "not an HDF5 file at all");
  CHECK_THAT(f.error(head + "a = {file = \"d.h5\"}\n"), Contains("d.h5") && Contains("HDF5"));
}

TEST_CASE("automatic segments follow the elements, the ranks and the memory") {
  constexpr std::size_t much = std::size_t{8} << 30;
  CHECK(automatic_target(20, 1, much).size == 27);  // one segment
  CHECK(automatic_target(500, 1, much).size == 27);
  CHECK(automatic_target(1600, 1, much).size == 40);  // 40 pieces
  CHECK(automatic_target(4000, 1, much).size == 50);  // 50 MB
  const std::int32_t shared = automatic_target(100, 16, much).size;
  CHECK(shared * 12 >= 100);  // 12 pieces make 78 pairs: more than four for each rank
  CHECK(shared < 10);
  CHECK(automatic_target(5, 64, much).size == 4);  // but no crumbs
  CHECK(automatic_target(21, 1, much, AutoRange::virtual_orbitals).size == 27);
  CHECK(automatic_target(21, 1, much, AutoRange::occupied_orbitals).size == 5);    // blocks with three of them
  CHECK(automatic_target(400, 1, much, AutoRange::occupied_orbitals).size == 10);  // 40 pieces
  const std::int32_t small = automatic_target(500, 1, std::size_t{40} << 20).size;
  CHECK(8.0 * 12 * small * small * small * small <= 10.0 * (1 << 20));
  CHECK(small > 15);
}

TEST_CASE("automatic segments: said once per range, overridden by kind, the same for everybody") {
  JobFolder f;
  Job job = f.read(f.molecule("basis = \"cc-pvdz\"\n"));
  CHECK(job.data.segments[IndexKind::ao] == std::vector<std::int32_t>{24});
  REQUIRE(job.segment_choices.size() == 3);
  CHECK(job.segment_choices[0].find("segments ao = auto: 24 basis functions in 1 of 24, for the size of blocks; ") ==
        0);
  CHECK(job.segment_choices[1].find("segments occ = auto: 5 occupied orbitals") == 0);
  job.ranks = 4;
  derive_job_data(job);
  const auto ao = job.data.segments[IndexKind::ao];
  CHECK(ao.size() >= 3);
  CHECK(job.segment_choices[0].find("to share the work") != std::string::npos);
  Job again = f.read(f.molecule("basis = \"cc-pvdz\"\n[segments]\nao = \"auto\"\n"));
  again.ranks = 4;
  derive_job_data(again);
  CHECK(again.data.segments == job.data.segments);
  apply_segments(job, "virt_target=7");
  CHECK(job.data.segments[IndexKind::moa].back() <= 7);
  CHECK(job.segment_choices.size() == 2);
  apply_segments(job, "occ=2,3");
  CHECK(job.segment_choices.size() == 1);
  apply_segments(job, "occ=auto");
  CHECK(job.segment_choices.size() == 2);
  apply_segments(job, "auto");
  CHECK(job.segment_choices.size() == 3);
  CHECK_THROWS_AS(apply_segments(job, "ao_target=3,4"), SialError);
  CHECK_THROWS_AS(apply_segments(job, "autos"), SialError);
}

TEST_CASE("a stray character behind a bracket is a mistake of the file") {
  Folder f;
  for (const char* text : {"[=]\n", "[[,\n", "[\n", "[\x01]\n"})
    CHECK_THAT(error_of([&] { read_job_file(f.write("job.toml", text)); }), Contains("job.toml:"));
}

TEST_CASE("memory as a key beside its table is refused") {
  Folder f;
  try {
    read_job_file(f.write("job.toml", "memory = \"1GB\"\n[memory]\nlimit = \"2GB\"\n"));
    FAIL("not refused");
  } catch (const InputError& error) {
    CHECK(error.where().find("job.toml:2") != std::string::npos);
    CHECK_THAT(error.what(), Contains("`memory` is given twice"));
    CHECK_THAT(error.hint(), Contains("keep one of both") && Contains("`limit`"));
  }
}

TEST_CASE("names that differ in upper and lower case only are one") {
  Folder f;
  f.write("p.sialx", "");
  for (const std::string twice : {"[values]\nH = 1\nh = 2.0\n", "[arrays]\nH = [1]\nh = [2.0]\n"})
    CHECK_THAT(error_of([&] { read_job_file(f.write("job.toml", "programs = [\"p.sialx\"]\n" + twice)); }),
               Contains("`h` is given twice"));
}

TEST_CASE("a file name with a NUL is refused") {
  Folder f;
  f.write("p.sialx", "");
  CHECK_THAT(error_of([&] {
               read_job_file(f.write("job.toml", "programs = [\"p.sialx\"]\n[output]\nresults = \"r\\u0000x.h5\"\n"));
             }),
             Contains("NUL") && Contains("job.toml:3"));
}
