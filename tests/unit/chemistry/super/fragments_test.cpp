// Molecules of several fragments, against numbers of another program.

#include <catch2/catch.hpp>

#include <cmath>
#include <utility>

#include "runtime/chemistry/basis/basis.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "tests/unit/chemistry/super/context.h"
#include "tests/unit/chemistry/super/data.h"

using namespace sial;
using Catch::Matchers::Contains;
using Values = std::vector<double>;

namespace {

const nlohmann::json& reference() {
  static const nlohmann::json data = reference_data("fragments.json");
  return data;
}

/// Hydrogen fluoride, a water cation and helium in STO-3G. AO segments F | H | O | H H | He; occupied alpha HF 2 | HF 3
/// | H2O 5 | He 1.
FakeContext context() {
  FakeContext c;
  std::vector<Atom> atoms;
  for (const auto& f : reference()["atoms"])
    for (const auto& a : f) atoms.push_back(make_atom(a[0], a[1], a[2], a[3]));
  chemistry(c.data).has_molecule = true;
  chemistry(c.data).molecule.atoms = atoms;
  chemistry(c.data).molecule.shells = read_basis(find_basis("sto-3g", "."), atoms, true);
  c.data.segments[IndexKind::ao] = {5, 1, 5, 2, 1};
  c.data.segments[IndexKind::moa] = {2, 3, 5, 1, 1, 2};
  c.data.segments[IndexKind::mob] = {5, 4, 1, 1, 3};
  c.data.ints = {{"nfrags", 3}, {"baocc", 1}, {"eaocc", 4},  {"bavirt", 5}, {"eavirt", 6},
                 {"bbocc", 1},  {"ebocc", 3}, {"bbvirt", 4}, {"ebvirt", 5}};
  auto owners = [&](const char* name, std::vector<std::int32_t> list) {
    c.data.int_arrays[name] = {{std::ssize(list)}, list};
  };
  owners("w_frag_ao", {1, 1, 2, 2, 3});
  owners("w_frag_aocc", {1, 1, 2, 3});
  owners("w_frag_avirt", {1, 2});
  owners("w_frag_bocc", {1, 2, 3, 1, 2});  // as many as there are segments: occupied and virtual ones
  owners("w_frag_bvirt", {1, 2, 3, 1, 2});
  return c;
}

/// AO block of two segments, by number.
Array ao_block(const FakeContext& c, int mu, int nu) {
  const auto& sizes = c.data.segments.at(IndexKind::ao);
  Array a({sizes[mu - 1], sizes[nu - 1]}, {}, IndexKind::ao);
  for (auto [d, s] : {std::pair{0, mu}, {1, nu}})
    a.at(d, s, std::accumulate(sizes.begin(), sizes.begin() + s - 1, std::int64_t{0}));
  return a;
}

/// Largest difference of a block from the part of a whole matrix it stands for.
double difference(const Array& a, const nlohmann::json& matrix) {
  double worst = 0.0;
  const std::int64_t n = a.arg.shape.extent[0];
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < a.arg.shape.extent[1]; ++j)
      worst =
          std::max(worst, std::abs(a.data[i + n * j] - matrix[a.arg.offset[0] + i][a.arg.offset[1] + j].get<double>()));
  return worst;
}

std::pair<double, double> range(FakeContext& c, double fragment, double kind) {
  Scalar a{fragment}, b{kind};
  execute(c, "frag_index_range", {a, b});
  return {a.value, b.value};
}

}  // namespace

TEST_CASE("fragments and their segments") {
  FakeContext c = context();
  Scalar n;
  execute(c, "set_frag", {n});
  CHECK(n.value == 3);
  using Range = std::pair<double, double>;
  CHECK(range(c, 1, 1) == Range{1, 2});
  CHECK(range(c, 2, 1) == Range{3, 4});
  CHECK(range(c, 3, 1) == Range{5, 5});
  CHECK(range(c, 1, 6) == Range{1, 2});
  CHECK(range(c, 2, 6) == Range{3, 3});
  CHECK(range(c, 1, 7) == Range{1, 1});  // virtual segment 1 of its kind, 5 of the table
  CHECK(range(c, 2, 7) == Range{2, 2});
  CHECK(range(c, 3, 7) == Range{1, 0});  // helium has no virtual orbitals: no segment lies in this range
  CHECK(range(c, 2, 9) == Range{2, 2});
  CHECK(range(c, 1, 10) == Range{1, 1});
  CHECK(range(c, 2, 10) == Range{2, 2});
  CHECK(range(c, 3, 10) == Range{1, 0});

  Scalar zero{0}, four{4}, kind{1};
  CHECK_THAT(execution_error(c, "frag_index_range", {zero, kind}), Contains("fragments are 1 to 3"));
  CHECK_THAT(execution_error(c, "frag_index_range", {four, kind}), Contains("fragments are 1 to 3"));
  kind.value = 2;
  Scalar one{1};
  CHECK_THAT(execution_error(c, "frag_index_range", {one, kind}), Contains("not a kind of range"));
  kind.value = 6;
  c.data.int_arrays["w_frag_aocc"] = {{3}, {1, 2, 3}};
  CHECK_THAT(execution_error(c, "frag_index_range", {one, kind}), Contains("`w_frag_aocc` has 3 entries"));
  c.data.int_arrays["w_frag_aocc"] = {{4}, {1, 2, 3, 4}};
  CHECK_THAT(execution_error(c, "frag_index_range", {one, kind}), Contains("names fragment 4"));
  c.data.int_arrays["w_frag_aocc"] = {{4}, {1, 2, 1, 3}};
  CHECK_THAT(execution_error(c, "frag_index_range", {one, kind}),
             Contains("segments 1 to 3 are those of fragment 1, but segment 2 between them is of fragment 2"));
  c.data.int_arrays.erase("w_frag_aocc");
  CHECK_THAT(execution_error(c, "frag_index_range", {one, kind}), Contains("no integer array `w_frag_aocc`"));
  c.data.int_arrays["w_frag_ao"] = {{5}, {1, 1, 2, 3, 3}};  // the water's hydrogens elsewhere: fine
  execute(c, "set_frag", {n});
  c.data.segments[IndexKind::ao] = {5, 1, 1, 6, 1};  // oxygen's functions in two fragments: not fine
  CHECK_THAT(execution_error(c, "set_frag", {n}), Contains("atom 3") && Contains("2 and 3"));
  c.data.int_arrays["w_frag_atom"] = {{6}, {1, 1, 2, 2, 2, 3}};
  execute(c, "set_frag", {n});
  c.data.ints["nfrags"] = 0;
  CHECK_THAT(execution_error(c, "set_frag", {n}), Contains("no fragments"));
}

TEST_CASE("names that early jobs give to owners of orbitals") {
  FakeContext c = context();
  auto rename = [&](const char* now, const char* then) {
    c.data.int_arrays[then] = c.data.int_arrays[now], c.data.int_arrays.erase(now);
  };
  rename("w_frag_aocc", "w_frag_occa");
  rename("w_frag_avirt", "w_frag_virta");
  rename("w_frag_bocc", "w_frag_occb");
  rename("w_frag_bvirt", "w_frag_virtb");
  using Range = std::pair<double, double>;
  CHECK(range(c, 1, 6) == Range{1, 2});
  CHECK(range(c, 2, 7) == Range{2, 2});
  CHECK(range(c, 2, 9) == Range{2, 2});
  CHECK(range(c, 2, 10) == Range{2, 2});
  c.data.int_arrays["w_frag_avirt"] = c.data.int_arrays["w_frag_virta"];
  CHECK(range(c, 2, 7) == Range{2, 2});  // both, and the same
  c.data.int_arrays["w_frag_avirt"].data = {2, 1};
  Scalar two{2}, kind{7};
  CHECK_THAT(execution_error(c, "frag_index_range", {two, kind}),
             Contains("`w_frag_avirt` and `w_frag_virta` name different fragments"));
  c.data.int_arrays.erase("w_frag_avirt");
  c.data.int_arrays["w_frag_virta"].data = {2, 4};
  CHECK_THAT(execution_error(c, "frag_index_range", {two, kind}), Contains("`w_frag_virta` names fragment 4"));
}

TEST_CASE("frozen orbitals of fragments") {
  // Frozen 1s orbitals of fluorine and oxygen are segments 1 and 2, the other occupied ones 3 to 5.
  FakeContext c = context();
  c.data.segments[IndexKind::moa] = {1, 1, 4, 4, 1, 1, 2};
  c.data.ints["baocc"] = 3;
  c.data.ints["eaocc"] = 5;
  c.data.ints["bavirt"] = 6;
  c.data.ints["eavirt"] = 7;
  using Range = std::pair<double, double>;
  Array scratch({7, 7}), block({4, 4});
  std::iota(scratch.data.begin(), scratch.data.end(), 0.0);
  scratch.whole();
  block.at(0, 4, 6).at(1, 4, 6);
  Scalar mo_rows{2}, water{2};
  c.data.int_arrays["w_frag_aocc"] = {{5}, {1, 2, 1, 2, 3}};  // from segment 1 on
  CHECK(range(c, 3, 6) == Range{5, 5});
  execute(c, "place_scratch", {block, scratch, mo_rows, water});
  CHECK(block.data[0] == 8);                            // behind the 1s orbital
  c.data.int_arrays["w_frag_aocc"] = {{3}, {1, 2, 3}};  // from baocc on: whose the frozen ones are is unknown
  CHECK(range(c, 3, 6) == Range{3, 3});
  CHECK_THAT(execution_error(c, "place_scratch", {block, scratch, mo_rows, water}),
             Contains("frozen orbitals in segments 1 to 2"));
  CHECK_THAT(execution_error(c, "scf_atom_lowmem", {water, scratch, scratch, scratch, scratch}),
             Contains("frozen orbitals in segments 1 to 2"));
}

TEST_CASE("unit vectors of excitations within fragments") {
  // Virtual orbitals HF 1 | H2O 1-2 (here segments 5 and 6), occupied ones from segment 3 on: H2O 5 | He 1. Elements
  // that are 0 between fragments are no excitations; a 0 within one and an excitation between two are.
  FakeContext c = context();
  Array h({3, 6}), x({3, 3, 6});
  h.at(0, 0, 11).at(1, 0, 5).whole();
  h.data[1 + 3 * 0] = 0.5;  // water: the others of its elements stay 0
  for (int i = 1; i < 5; ++i) h.data[1 + 3 * i] = h.data[2 + 3 * i] = 1.0 + i;
  h.data[0 + 3 * 5] = 0.7;  // from helium to hydrogen fluoride
  h.data[2 + 3 * 0] = 0.0;
  x.whole().arg.letter = 'u';
  execute(c, "cis_unit_guess", {x, h});
  const std::int64_t expected[] = {2, 1, 15};
  for (std::int64_t k = 0; k < 3; ++k)
    for (std::int64_t e = 0; e < 18; ++e) CHECK(x.data[k + 3 * e] == (e == expected[k] ? 1.0 : 0.0));
  Array many({12, 3, 6});
  many.whole().arg.letter = 'u';
  CHECK_THAT(execution_error(c, "cis_unit_guess", {many, h}),
             Contains("12 starting vectors") && Contains("11 elements beside the zeros between fragments"));
  const auto arrays =
      std::exchange(c.data.int_arrays, {});  // a job that says no more of its fragments than their number
  execute(c, "cis_unit_guess", {x, h});
  CHECK(x.data[0 + 3 * 17] == 1.0);
  c.data.int_arrays = arrays;
  c.data.ints["nfrags"] = 0;  // elements like others
  execute(c, "cis_unit_guess", {x, h});
  CHECK(x.data[0 + 3 * 17] == 1.0);
}

TEST_CASE("a centre without charge where a nucleus is repels nothing") {
  FakeContext c;
  chemistry(c.data).has_molecule = true;
  chemistry(c.data).molecule.atoms = {Atom{1, "H", {0.0, 0.0, 0.0}}, Atom{0, "Gh", {0.0, 0.0, 0.0}},
                                      Atom{0, "Gh", {0.0, 0.0, 0.0}}, Atom{2, "He", {0.0, 0.0, 4.0}}};
  c.data.segments[IndexKind::ao] = {1, 1};
  c.data.ints["nfrags"] = 2;
  c.data.int_arrays["w_frag_ao"] = {{2}, {1, 2}};
  c.data.int_arrays["w_frag_atom"] = {{4}, {1, 1, 2, 2}};
  Scalar e{-1}, one{1}, two{2};
  execute(c, "compute_nn_repulsion", {e});
  CHECK(e.value == 0.5);
  execute(c, "moi_nn_repulsion", {e, one});
  CHECK(e.value == 0.0);
  execute(c, "compute_pair_nn", {one, two, e});
  CHECK(e.value == 0.5);
}

TEST_CASE("distances and repulsion of fragments") {
  FakeContext c = context();
  const auto& data = reference();
  for (int i = 1; i <= 3; ++i) {
    Scalar a{static_cast<double>(i)}, e;
    execute(c, "moi_nn_repulsion", {e, a});
    CHECK(std::abs(e.value - data["within"][i - 1].get<double>()) < 1e-12);
    for (int j = 1; j <= 3; ++j) {
      Scalar b{static_cast<double>(j)};
      execute(c, "compute_pair_nn", {a, b, e});
      CHECK(std::abs(e.value - data["between"][i - 1][j - 1].get<double>()) < 1e-12);
      const double distance = data["distance"][i - 1][j - 1];
      Scalar below{distance - 1e-9}, above{distance + 1e-9}, flag{7};
      execute(c, "return_pairs", {a, b, above, flag});
      CHECK(flag.value == 2);
      execute(c, "return_pairs", {a, b, below, flag});
      CHECK(flag.value == (i == j ? 2 : 0));
    }
  }
}

TEST_CASE("integrals with the nuclei of some fragments") {
  FakeContext c = context();
  const auto& data = reference();
  for (int f = 1; f <= 3; ++f) {
    Scalar fragment{static_cast<double>(f)};
    nlohmann::json others = data["attraction"][f == 1 ? 1 : 0];  // of the other fragments together
    const auto& third = data["attraction"][f == 3 ? 1 : 2];
    for (std::size_t i = 0; i < others.size(); ++i)
      for (std::size_t j = 0; j < others.size(); ++j)
        others[i][j] = others[i][j].get<double>() + third[i][j].get<double>();
    for (int mu = 1; mu <= 5; ++mu)
      for (int nu = 1; nu <= 5; ++nu) {
        CAPTURE(f, mu, nu);
        Array block = ao_block(c, mu, nu);
        execute(c, "return_h1_moi", {block, fragment});
        CHECK(difference(block, data["h1_moi"][f - 1]) < 1e-11);
        execute(c, "return_ovl_moi", {block, fragment});
        CHECK(difference(block, data["overlap"]) < 1e-12);
        execute(c, "return_h1frag", {block, fragment});
        CHECK(difference(block, others) < 1e-11);
      }
  }
  // The program's elst_dist leaves helium out of what acts on hydrogen fluoride.
  Array flags({3, 3}, {2, 2, 0, 2, 2, 2, 0, 2, 2}), block = ao_block(c, 1, 2);
  c.program_arrays["elst_dist"] = flags.whole();
  Scalar one{1};
  execute(c, "return_h1frag", {block, one});
  CHECK(difference(block, data["attraction"][1]) < 1e-11);
  // A shell must not be cut.
  Array cut({4, 4}, {}, IndexKind::ao);
  CHECK_THAT(execution_error(c, "return_h1_moi", {cut, one}), Contains("splits the shell of functions 3 to 5"));
  Array orbitals({5, 5});
  CHECK_THAT(execution_error(c, "return_ovl_moi", {orbitals, one}), Contains("must be an aoindex"));
}

TEST_CASE("sums over the second pair") {
  FakeContext c;
  Array t({2, 3, 2, 2}), v({2, 3}, Values(6, 9.0)), small({2, 2});
  std::iota(t.data.begin(), t.data.end(), 0.0);
  execute(c, "return_vpq", {t, v});
  CHECK(v.data == Values{18, 20, 22, 24, 26, 28});  // ab + (ab + 18)
  CHECK_THAT(execution_error(c, "return_vpq", {t, small}), Contains("do not fit"));
}

TEST_CASE("an SCF of one fragment, and its way into blocks") {
  FakeContext c = context();
  const auto& data = reference();
  for (int f = 1; f <= 3; ++f) {
    CAPTURE(f);
    const auto& expected = data["scf"][f - 1];
    const std::int64_t n = static_cast<std::int64_t>(expected["energies"][0].size());
    Scalar fragment{static_cast<double>(f)};
    Array ca({9, 8}), cb({9, 8}), fa({9, 8}), fb({9, 8});  // larger than needed
    for (Array* a : {&ca, &cb, &fa, &fb}) a->whole();
    execute(c, "scf_atom_lowmem", {fragment, ca, cb, fa, fb});
    for (int spin : {0, 1}) {
      const Array &orbitals = spin ? cb : ca, &fock = spin ? fb : fa;
      const int electrons = data["electrons"][f - 1][spin];
      double worst = 0.0, worst_density = 0.0;
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          worst = std::max(
              worst, std::abs(fock.data[i + 9 * j] - (i == j ? expected["energies"][spin][i].get<double>() : 0.0)));
          double d = 0.0;
          for (int o = 0; o < electrons; ++o) d += orbitals.data[i + 9 * o] * orbitals.data[j + 9 * o];
          worst_density = std::max(worst_density, std::abs(d - expected["densities"][spin][i][j].get<double>()));
        }
      CHECK(worst < 1e-7);
      CHECK(worst_density < 1e-7);
    }
  }

  // A fragment's matrices are numbered by its own segments: AO segments 3 and 4 are rows 1-5 and 6-7 of the water's;
  // its orbitals are alpha segments 3 (occupied, 1-5) and 6 (virtual, 6-7).
  Array scratch({8, 7});
  for (std::size_t k = 0; k < scratch.data.size(); ++k) scratch.data[k] = static_cast<double>(k % 8 + 100 * (k / 8));
  scratch.whole();
  Scalar water{2}, ao_rows{1}, mo_rows{2};
  Array block({2, 2}, Values(4, -1.0));
  block.at(0, 4, 11).at(1, 6, 12).arg.kind[0] = IndexKind::ao;
  execute(c, "place_scratch", {block, scratch, ao_rows, water});
  CHECK(block.data == Values{505, 506, 605, 606});
  Array fock({5, 2});
  fock.at(0, 3, 5).at(1, 6, 12);
  execute(c, "place_scratch", {fock, scratch, mo_rows, water});
  CHECK(fock.data == Values{500, 501, 502, 503, 504, 600, 601, 602, 603, 604});
  // The kind comes before the fragment; fragment 1 has no block here.
  Scalar fluoride{1}, four{4}, half{1.5};
  CHECK_THAT(execution_error(c, "place_scratch", {block, scratch, water, ao_rows}),
             Contains("is an aoindex, and the kind of rows, `s`, is 2"));
  CHECK_THAT(execution_error(c, "place_scratch", {fock, scratch, ao_rows, water}),
             Contains("is not an aoindex, and the kind of rows, `s`, is 1"));
  CHECK_THAT(execution_error(c, "place_scratch", {fock, scratch, mo_rows, fluoride}),
             Contains("does not belong to fragment 1"));
  CHECK_THAT(execution_error(c, "place_scratch", {fock, scratch, mo_rows, four}),
             Contains("`s` is 4, and the job's fragments are 1 to 3"));
  CHECK_THAT(execution_error(c, "place_scratch", {fock, scratch, mo_rows, half}), Contains("fragments are 1 to 3"));
  CHECK_THAT(execution_error(c, "place_scratch", {fock, scratch, four, water}),
             Contains("`s` is 4, which is no kind of rows"));
  CHECK_THAT(execution_error(c, "place_scratch", {fock, scratch, half, water}),
             Contains("`s` is 1.5, which is no kind of rows"));
  Array tiny({6, 7});
  CHECK_THAT(execution_error(c, "place_scratch", {block, tiny, ao_rows, water}), Contains("needs rows to 7"));
  // More orbitals than functions: the table of segments is not that of these fragments.
  c.data.segments[IndexKind::moa] = {2, 3, 6, 1, 1, 2};
  Array third({6, 2}), large({20, 20});
  third.at(0, 3, 5).at(1, 6, 13);
  CHECK_THAT(execution_error(c, "place_scratch", {third, large, mo_rows, water}),
             Contains("columns to 8") && Contains("which has 7 functions"));
  Array small({6, 6});
  CHECK_THAT(execution_error(c, "scf_atom_lowmem", {water, small, small, small, small}),
             Contains("too small") && Contains("7 functions"));
}
