// Effective core potentials against PySCF (data/ecp.json, made by data/make_ecp.py), and as the arrays of old data
// files.

#include <catch2/catch.hpp>

#include "runtime/chemistry/basis/basis.h"
#include "runtime/chemistry/basis/ecp.h"
#include "runtime/chemistry/legacy/legacy_job.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/super/small_scf.h"
#include "tests/unit/chemistry/super/reference_data.h"
#include "tests/unit/main/source_path.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

std::vector<Ecp> potentials(const nlohmann::json& data) {
  std::vector<Ecp> ecps;
  for (const auto& p : data.at("potentials")) {
    Ecp& e = ecps.emplace_back(Ecp{p.at("atom"), p.at("electrons"), {}});
    for (const auto& t : p.at("terms")) e.terms.push_back({t.at(0), t.at(1), t.at(2), t.at(3)});
  }
  return ecps;
}

/// The potentials as flat arrays, for centres 0 and 1 of 3; parts or centres fastest.
void set_arrays(JobData& job, const std::vector<Ecp>& ecps, bool parts_fastest) {
  const std::size_t n_parts = 5, n_centres = 3;
  std::vector<std::int32_t> first(n_parts * n_centres, 0), last = first, top(n_centres, 0), electrons(n_centres, 0),
                                                           power;
  std::vector<double> clp, zlp;
  for (const Ecp& e : ecps) {
    electrons[e.atom] = e.electrons;
    for (const EcpTerm& t : e.terms) top[e.atom] = std::max(top[e.atom], t.l + 1);
    for (std::int32_t part = 0; part <= top[e.atom]; ++part) {
      std::size_t at = parts_fastest ? e.atom * n_parts + part : part * n_centres + e.atom;
      first[at] = static_cast<std::int32_t>(clp.size()) + 1;
      for (const EcpTerm& t : e.terms)
        if (t.l == part - 1) {
          clp.push_back(t.coefficient);
          zlp.push_back(t.exponent);
          power.push_back(t.power);
        }
      last[at] = static_cast<std::int32_t>(clp.size());
    }
  }
  auto n = static_cast<std::int64_t>(clp.size());
  job.arrays["clp"] = {{n}, clp};
  job.arrays["zlp"] = {{n}, zlp};
  job.int_arrays["nlp"] = {{n}, power};
  job.int_arrays["kfirst"] = {{15}, first};
  job.int_arrays["klast"] = {{15}, last};
  job.int_arrays["llmax"] = {{3}, top};
  job.int_arrays["nelecp"] = {{3}, electrons};
}

}  // namespace

TEST_CASE("effective core potentials against PySCF, whole and in blocks") {
  for (const char* name : {"spherical", "cartesian"}) {
    INFO(name);
    const nlohmann::json all = reference_data("ecp.json"), &data = all.at(name);
    FakeContext c;
    chemistry(c.data).has_molecule = true;
    chemistry(c.data).molecule = reference_molecule(data);
    chemistry(c.data).molecule.ecps = potentials(data);
    const std::int64_t n = chemistry(c.data).molecule.n_basis();
    Array whole = reference_block({{0, n}, {0, n}});
    execute(c, "return_1el_ecpints", {whole});
    CHECK(*std::max_element(whole.data.begin(), whole.data.end()) > 0.1);
    CHECK(matrix_error(whole, data, "ecp") < 1e-10);
    double worst = 0.0;
    const auto shells = shell_ranges(chemistry(c.data).molecule);
    for (auto a : {shells[3], shells[7]})
      for (auto b : {shells[2], shells[3], shells[8]}) {
        Array block = reference_block({a, b});
        execute(c, "return_1el_ecpints", {block});
        for (std::int64_t j = 0; j < b.second; ++j)
          for (std::int64_t i = 0; i < a.second; ++i)
            worst =
                std::max(worst, std::abs(block.data[i + j * a.second] - whole.data[a.first + i + n * (b.first + j)]));
      }
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("effective core potentials survive the way to arrays and back") {
  const nlohmann::json all = reference_data("ecp.json");
  JobData job;
  chemistry(job).molecule = reference_molecule(all.at("spherical"));
  CHECK(arrays_of_ecps(chemistry(job).molecule).integers.at("nelecp") == std::vector<std::int32_t>{0, 0, 0});
  chemistry(job).molecule.ecps = potentials(all.at("spherical"));
  const EcpArrays arrays = arrays_of_ecps(chemistry(job).molecule);
  for (const auto& [name, values] : arrays.reals) job.arrays[name] = {{std::ssize(values)}, values};
  for (const auto& [name, values] : arrays.integers) job.int_arrays[name] = {{std::ssize(values)}, values};
  const std::vector<Ecp> read = ecps_of_arrays(job);
  REQUIRE(read.size() == 2);
  for (std::size_t e = 0; e < 2; ++e) {
    const Ecp& want = chemistry(job).molecule.ecps[e];
    CHECK(read[e].atom == want.atom);
    CHECK(read[e].electrons == want.electrons);
    REQUIRE(read[e].terms.size() == want.terms.size());
    for (std::size_t t = 0; t < want.terms.size(); ++t) {
      CHECK(read[e].terms[t].l == want.terms[t].l);
      CHECK(read[e].terms[t].power == want.terms[t].power);
      CHECK(read[e].terms[t].exponent == want.terms[t].exponent);
      CHECK(read[e].terms[t].coefficient == want.terms[t].coefficient);
    }
  }
}

TEST_CASE("effective core potentials as the arrays of old data files") {
  const nlohmann::json all = reference_data("ecp.json"), &data = all.at("spherical");
  for (bool parts_fastest : {true, false}) {
    // What is read must be the potentials themselves; one set of integrals shows that it is used.
    FakeContext c;
    chemistry(c.data).has_molecule = true;
    chemistry(c.data).molecule = reference_molecule(data);
    set_arrays(c.data, potentials(data), parts_fastest);
    const std::vector<Ecp> read = ecps_of_arrays(c.data), want = potentials(data);
    REQUIRE(read.size() == want.size());
    for (std::size_t e = 0; e < want.size(); ++e) {
      CHECK(read[e].atom == want[e].atom);
      CHECK(read[e].electrons == want[e].electrons);
      REQUIRE(read[e].terms.size() == want[e].terms.size());
      for (const EcpTerm& t : want[e].terms)
        CHECK(std::count_if(read[e].terms.begin(), read[e].terms.end(), [&](const EcpTerm& r) {
                return r.l == t.l && r.power == t.power && r.exponent == t.exponent && r.coefficient == t.coefficient;
              }) == 1);
    }
    if (!parts_fastest) continue;
    const std::int64_t n = chemistry(c.data).molecule.n_basis();
    Array m = reference_block({{0, 9}, {0, 9}});
    execute(c, "return_1el_ecpints", {m});
    const auto matrix = data.at("ecp").get<std::vector<double>>();
    for (std::int64_t j = 0; j < 9; ++j)
      for (std::int64_t i = 0; i < 9; ++i) CHECK(m.data[i + 9 * j] == Approx(matrix[i + n * j]).margin(1e-10));
  }

  FakeContext c;
  chemistry(c.data).has_molecule = true;
  chemistry(c.data).molecule = reference_molecule(data);
  const std::int64_t n = chemistry(c.data).molecule.n_basis();
  Array m = reference_block({{0, n}, {0, n}});
  execute(c, "return_1el_ecpints", {m});  // no potential anywhere
  CHECK(m.data == std::vector<double>(n * n, 0.0));
  auto error = [&](auto change) {
    JobData job = c.data;
    set_arrays(job, potentials(data), true);
    change(job);
    try {
      ecps_of_arrays(job);
    } catch (const SialError& e) { return std::string(e.what()); }
    return std::string();
  };
  CHECK(error([](JobData&) {}).empty());
  CHECK_THAT(error([](JobData& j) { j.arrays.erase("zlp"); }), Contains("no array `zlp`"));
  CHECK_THAT(error([](JobData& j) { j.int_arrays["nlp"].data.pop_back(); }), Contains("clp, zlp and nlp"));
  CHECK_THAT(error([](JobData& j) { j.int_arrays["klast"].data[1] = 10000; }),
             Contains("kfirst and klast give part 2 of centre 1 the terms") && Contains("to 10000, and clp has"));
  CHECK_THAT(error([](JobData& j) { j.int_arrays["kfirst"].data[1] = 0; }),
             Contains("part 2 of centre 1 the terms 0 to"));
  CHECK_THAT(error([](JobData& j) { j.int_arrays["llmax"].data = {1}; }), Contains("llmax"));
  CHECK_THAT(error([](JobData& j) { j.int_arrays["nelecp"].data = {28, 10, 0, 2}; }), Contains("llmax"));
}

namespace {

/// Three atoms alike, one potential of three parts: local, s, p.
Molecule three_alike() {
  Molecule m;
  for (int a = 0; a < 3; ++a) m.atoms.push_back(Atom{7, "Cl", {0.3 * a, 0.0, 3.5 * a}, 10});
  for (int a = 0; a < 3; ++a)
    for (int l = 0; l < 2; ++l) {
      Shell shell;
      shell.atom = a;
      shell.l = l;
      shell.n_contractions = 1;
      shell.exponents = {0.9 + 0.2 * l};
      shell.coefficients = {1.0};
      m.shells.push_back(shell);
    }
  for (int a = 0; a < 3; ++a)
    m.ecps.push_back(
        Ecp{a, 10, {{-1, 1, 1.3, -10.0}, {0, 2, 2.1, 25.0}, {0, 0, 0.7, 3.0}, {1, 2, 1.1, 12.0}, {1, 1, 3.0, 5.0}}});
  return m;
}

std::vector<double> potential_matrix(const JobData& data) {
  FakeContext c;
  c.data = data;
  const std::int64_t n = chemistry(data).molecule.n_basis();
  Array whole = reference_block({{0, n}, {0, n}});
  execute(c, "return_1el_ecpints", {whole});
  return whole.data;
}

template <class T>
LegacyArray<T>& named(std::vector<LegacyArray<T>>& arrays, const std::string& name) {
  const auto found =
      std::find_if(arrays.begin(), arrays.end(), [&](const LegacyArray<T>& a) { return a.name == name; });
  REQUIRE(found != arrays.end());
  return *found;
}

}  // namespace

TEST_CASE("atoms alike may share the terms of their potential in a data file") {
  Job job;
  chemistry(job.data).has_molecule = true;
  chemistry(job.data).molecule = three_alike();
  job.data.segments[IndexKind::ao] = {12};
  job.data.ints = {{"intspherical", 1}, {"nalpha_occupied", 11}, {"nbeta_occupied", 10}};
  LegacyDat expanded = to_legacy_dat(job);
  const auto through_file = [](const LegacyDat& dat) {
    return legacy_job(parse_legacy_dat(format_legacy_dat(dat), "x.dat"), "x.dat").data;
  };
  const std::vector<double> want = potential_matrix(job.data);
  CHECK(*std::max_element(want.begin(), want.end()) > 0.1);
  const auto same = [&](const LegacyDat& dat) {
    const std::vector<double> got = potential_matrix(through_file(dat));
    double worst = 0.0;
    for (std::size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::abs(got[i] - want[i]));
    return worst < 1e-13;
  };
  CHECK(same(expanded));
  // All terms are there three times, and every centre has those of the first; either index fastest, and with room for
  // more parts.
  using Ints = std::vector<std::int32_t>;
  const auto shared = [&](Ints first, Ints last) {
    LegacyDat dat = expanded;
    const auto n = static_cast<std::int32_t>(first.size());
    named(dat.int_arrays, "kfirst").dims = named(dat.int_arrays, "klast").dims = {n};
    named(dat.int_arrays, "kfirst").data = std::move(first);
    named(dat.int_arrays, "klast").data = std::move(last);
    return dat;
  };
  CHECK(named(expanded.int_arrays, "kfirst").data == Ints{1, 2, 4, 6, 7, 9, 11, 12, 14});
  CHECK(same(shared({1, 2, 4, 1, 2, 4, 1, 2, 4}, {1, 3, 5, 1, 3, 5, 1, 3, 5})));
  CHECK(same(shared({1, 1, 1, 2, 2, 2, 4, 4, 4}, {1, 1, 1, 3, 3, 3, 5, 5, 5})));
  CHECK(same(shared({1, 2, 4, 0, 0, 1, 2, 4, 0, 0, 1, 2, 4, 0, 0}, {1, 3, 5, 0, 0, 1, 3, 5, 0, 0, 1, 3, 5, 0, 0})));
  CHECK(same(shared({1, 1, 1, 2, 2, 2, 4, 4, 4, 0, 0, 0}, {1, 1, 1, 3, 3, 3, 5, 5, 5, 0, 0, 0})));
  CHECK(same(shared({11, 12, 14, 6, 7, 9, 1, 2, 4}, {11, 13, 15, 6, 8, 10, 1, 3, 5})));  // backwards
  CHECK(same(shared({11, 6, 1, 12, 7, 2, 14, 9, 4}, {11, 6, 1, 13, 8, 3, 15, 10, 5})));
  CHECK(same(shared({1, 6, 1, 2, 7, 2, 4, 9, 4}, {1, 6, 1, 3, 8, 3, 5, 10, 5})));  // the third as the first
  // What is outside the terms is named.
  const auto error = [&](const LegacyDat& dat) {
    try {
      ecps_of_arrays(through_file(dat));
    } catch (const SialError& e) { return std::string(e.what()); }
    return std::string();
  };
  CHECK_THAT(error(shared({1, 2, 4, 1, 2, 4, 1, 2, 4}, {1, 3, 5, 1, 3, 16, 1, 3, 5})),
             Contains("part 3 of centre 2 the terms 4 to 16, and clp has 15"));
  LegacyDat high = expanded;
  named(high.int_arrays, "llmax").data[1] = 5;
  CHECK_THAT(error(high), Contains("llmax of centre 2 is 5, but kfirst and klast have 3 parts of each centre"));
}

namespace {

/// Hydrogen chloride in LANL2DZ, with chlorine's potential.
void set_hydrogen_chloride(FakeContext& c) {
  const std::string file = source_path("tests/examples/ecp/hcl.g94");
  Molecule& m = chemistry(c.data).molecule;
  m.atoms = {Atom{1, "H", {0.0, 0.0, 0.0}}, Atom{17, "Cl", {0.0, 0.0, 2.4}}};
  m.shells = read_basis(file, m.atoms, true);
  m.ecps = read_ecps(file, m.atoms);
  REQUIRE(m.ecps.size() == 1);
  m.atoms[1].charge -= m.ecps[0].electrons;
  m.atoms[1].core_electrons = m.ecps[0].electrons;
  chemistry(c.data).has_molecule = true;
}

}  // namespace

TEST_CASE("potentials act in the SCF of an atom") {
  FakeContext c;
  set_hydrogen_chloride(c);
  Molecule atom = chemistry(c.data).molecule;
  atom.atoms.erase(atom.atoms.begin());
  std::erase_if(atom.shells, [](const Shell& s) { return s.atom == 0; });
  for (Shell& s : atom.shells) s.atom = 0;
  atom.ecps[0].atom = 0;
  const SmallScf scf = small_uhf(atom, 4, 3);
  CHECK(scf.converged);
  CHECK(std::abs(scf.energy - -14.681313517151299) < 1e-9);  // PySCF: data/make_ecp.py

  // The super instruction finds the atom's potential in the molecule, or in the arrays of an old data file.
  const auto n = static_cast<std::int64_t>(chemistry(c.data).molecule.n_basis());
  Array s({n, n}, {}, IndexKind::ao);
  s.whole();
  Array fa = s, fb = s, h = s, nai = s;
  execute(c, "return_ovl", {s});
  Scalar chlorine{2};
  execute(c, "a4_scf_atom", {fa, fb, h, nai, s, chlorine});
  CHECK(std::abs(trace_product(fa.data, s.data) - 4) < 1e-10);
  CHECK(std::abs(trace_product(fb.data, s.data) - 3) < 1e-10);
  const std::int64_t first = n - atom.n_basis();
  double worst = 0.0;
  for (std::int64_t j = 0; j < scf.n; ++j)
    for (std::int64_t i = 0; i < scf.n; ++i)
      worst = std::max(worst, std::abs(fa.data[first + i + n * (first + j)] - scf.density.alpha[i + scf.n * j]));
  CHECK(worst < 1e-9);

  const std::vector<double> with_molecule = fa.data;
  const EcpArrays arrays = arrays_of_ecps(chemistry(c.data).molecule);
  for (const auto& [name, values] : arrays.reals) c.data.arrays[name] = {{std::ssize(values)}, values};
  for (const auto& [name, values] : arrays.integers) c.data.int_arrays[name] = {{std::ssize(values)}, values};
  for (const auto& [name, extents] : arrays.extents) {
    const std::vector<std::int64_t> wide(extents.begin(), extents.end());
    if (c.data.arrays.count(name)) c.data.arrays[name].extents = wide;
    else c.data.int_arrays[name].extents = wide;
  }
  chemistry(c.data).molecule.ecps.clear();
  execute(c, "a4_scf_atom", {fa, fb, h, nai, s, chlorine});
  CHECK(fa.data == with_molecule);
}
