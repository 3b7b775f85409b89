// Work lists of the triples, the ladder, starting vectors and antisymmetry of excited states.

#include <catch2/catch.hpp>

#include <cmath>
#include <random>

#include "tests/unit/chemistry/super/context.h"
#include "tests/unit/chemistry/super/data.h"

#include "runtime/chemistry/molecule/chemistry.h"

using namespace sial;
using Catch::Matchers::Contains;
using Values = std::vector<double>;

namespace {

void fill(Array& a, int seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (double& x : a.data) x = uniform(random);
}

double element(const Array& x, std::int64_t p, std::int64_t q, std::int64_t r, std::int64_t s) {
  const auto& e = x.arg.shape.extent;
  return x.data[p + e[0] * (q + e[1] * (r + e[2] * s))];
}

std::vector<std::vector<int>> work_items(FakeContext& c, const char* name, std::int64_t rows) {
  Array x({rows, 7}, {}, IndexKind::simple);
  x.whole();
  execute(c, name, {x});
  std::vector<std::vector<int>> items;
  for (std::int64_t t = 0; t < rows; ++t) {
    std::vector<int> item;
    for (int k = 0; k < 7; ++k) item.push_back(static_cast<int>(x.data[t + rows * k]));
    if (item == std::vector<int>(7, -1)) return items;
    items.push_back(item);
  }
  FAIL("no terminating row");
  return items;
}

}  // namespace

TEST_CASE("work lists of the triples") {
  FakeContext c;
  using Items = std::vector<std::vector<int>>;
  c.data.ints = {{"baocc", 1}, {"eaocc", 1}};
  c.data.segments[IndexKind::moa] = {5, 8};
  // Five orbitals in one segment: pieces of at most four, so 1-2 and 3-5, each with each.
  CHECK(work_items(c, "set_ijk_aaa", 100) ==
        Items{{1, 1, 2, 1, 1, 2, 1}, {1, 1, 2, 1, 3, 5, 1}, {1, 3, 5, 1, 1, 2, 1}, {1, 3, 5, 1, 3, 5, 1}});
  CHECK(work_items(c, "set_ijk_aab", 100) == work_items(c, "set_ijk_aaa", 100));
  // A frozen orbital counts in orbital numbers, not in segment numbers. Sizes 6 and 2: at most four again (2 <= 5).
  c.data.ints = {{"baocc", 2}, {"eaocc", 3}};
  c.data.segments[IndexKind::moa] = {1, 6, 2, 8};
  CHECK(work_items(c, "set_ijk_aaa", 100) == Items{{1, 2, 4, 1, 2, 4, 1},
                                                   {1, 2, 4, 1, 2, 4, 2},
                                                   {1, 2, 4, 1, 5, 7, 1},
                                                   {1, 2, 4, 1, 5, 7, 2},
                                                   {1, 2, 4, 2, 8, 9, 2},
                                                   {1, 5, 7, 1, 2, 4, 1},
                                                   {1, 5, 7, 1, 2, 4, 2},
                                                   {1, 5, 7, 1, 5, 7, 1},
                                                   {1, 5, 7, 1, 5, 7, 2},
                                                   {1, 5, 7, 2, 8, 9, 2},
                                                   {2, 8, 9, 2, 8, 9, 2}});
  const Items aab = work_items(c, "set_ijk_aab", 100);
  CHECK(aab.size() == 14);  // seven pairs i <= j, each with both k
  CHECK(std::count(aab.begin(), aab.end(), std::vector<int>{2, 8, 9, 2, 8, 9, 1}) == 1);

  // One orbital per segment, more often than the limit allows to shrink: every piece has its orbital.
  c.data.ints = {{"baocc", 1}, {"eaocc", 9}};
  c.data.segments[IndexKind::moa] = std::vector<std::int32_t>(9, 1);
  const Items ones = work_items(c, "set_ijk_aaa", 1000);
  CHECK(ones.size() == 9 * 10 * 11 / 6);
  for (const auto& item : ones)
    CHECK((item[1] == item[0] && item[2] == item[0] && item[4] == item[3] && item[5] == item[3] && item[0] <= item[3] &&
           item[3] <= item[6]));

  Array few({10, 7}), narrow({100, 6});
  CHECK_THAT(execution_error(c, "set_ijk_aaa", {few}), Contains("10 rows") && Contains("needs 166"));
  CHECK_THAT(execution_error(c, "set_ijk_aaa", {narrow}), Contains("seven columns"));
  c.data.ints["eaocc"] = 10;
  CHECK_THAT(execution_error(c, "set_ijk_aab", {few}), Contains("segments 1 to 10"));
}

TEST_CASE("ladder over atomic orbitals") {
  FakeContext c;
  const std::int64_t a = 3, b = 2, g = 4, d = 5, i = 2, j = 3;
  Array v({a, b, g, d}), old({a, i, g, j}), result({b, i, d, j});
  fill(v, 1);
  fill(old, 2);
  fill(result, 3);
  Array expected = result;
  for (std::int64_t jj = 0; jj < j; ++jj)
    for (std::int64_t dd = 0; dd < d; ++dd)
      for (std::int64_t ii = 0; ii < i; ++ii)
        for (std::int64_t bb = 0; bb < b; ++bb)
          for (std::int64_t gg = 0; gg < g; ++gg)
            for (std::int64_t aa = 0; aa < a; ++aa)
              expected.data[bb + b * (ii + i * (dd + d * jj))] +=
                  element(v, aa, bb, gg, dd) * element(old, aa, ii, gg, jj);
  execute(c, "aoladder_contraction", {v, old, result});
  double worst = 0.0;
  for (std::size_t k = 0; k < result.data.size(); ++k)
    worst = std::max(worst, std::abs(result.data[k] - expected.data[k]));
  CHECK(worst < 1e-14);
  CHECK_THAT(execution_error(c, "aoladder_contraction", {v, result, old}), Contains("do not fit"));

  // The same as one operation on blocks, from shapes alone.
  REQUIRE(find_block_form("AOladder_contraction") != nullptr);
  CHECK(find_block_form("cis_unit_guess") == nullptr);
  std::array<SuperArg, 3> args{v.arg, old.arg, result.arg};
  for (SuperArg& arg : args) arg.data = nullptr;
  const BlockForm form = find_block_form("aoladder_contraction")(args);
  CHECK(
      (form.a.argument == 0 && form.b.argument == 1 && form.d.argument == 2 && form.alpha == 1.0 && form.beta == 1.0));
  const auto labels = [](const BlockForm::Operand& operand) {
    return std::string(operand.label.begin(), operand.label.begin() + 4);
  };
  CHECK(labels(form.a) == "abcd");
  CHECK(labels(form.b) == "aicj");
  CHECK(labels(form.d) == "bidj");
  std::swap(args[1], args[2]);
  CHECK_THROWS_WITH(find_block_form("aoladder_contraction")(args), Contains("do not fit"));
}

TEST_CASE("unit vectors to start from") {
  FakeContext c;
  // Elements in memory order; 2 occurs twice, and the later one comes first.
  Array h({2, 3}, {5, 2, 4, 2, 1, 3}), x({4, 2, 3});
  x.whole().arg.letter = 'u';
  x.data.assign(24, 9.0);
  execute(c, "cis_unit_guess", {x, h});
  const std::int64_t expected[] = {4, 3, 1, 5};
  for (std::int64_t k = 0; k < 4; ++k)
    for (std::int64_t e = 0; e < 6; ++e) CHECK(x.data[k + 4 * e] == (e == expected[k] ? 1.0 : 0.0));
  // A block over a simple index holds one vector: that of its value.
  Array third({1, 2, 3});
  third.simple(0, 3).arg.letter = 'u';
  execute(c, "cis_unit_guess", {third, h});
  CHECK(third.data == Values{0, 1, 0, 0, 0, 0});
  Array many({7, 2, 3});
  many.whole();
  CHECK_THAT(execution_error(c, "cis_unit_guess", {many, h}), Contains("7 starting vectors") && Contains("6 elements"));
  Array wrong({2, 3, 2});
  CHECK_THAT(execution_error(c, "cis_unit_guess", {wrong, h}), Contains("do not fit"));
  third.arg.letter = 'r';
  CHECK_THAT(execution_error(c, "cis_unit_guess", {third, h}), Contains("declared `r`"));
}

TEST_CASE("same-spin antisymmetry") {
  FakeContext c;
  c.data.ints = {{"baocc", 1}, {"eaocc", 2}};
  c.data.segments[IndexKind::moa] = {3, 2, 4};
  Array x({2, 3, 2, 3});
  x.at(0, 5, 10).at(1, 1, 0).at(2, 5, 10).at(3, 1, 0);
  fill(x, 4);
  Array o = x, v = x;
  execute(c, "anti_symm_o", {o});
  execute(c, "anti_symm_v", {v});
  for (int a = 0; a < 2; ++a)
    for (int i = 0; i < 3; ++i)
      for (int b = 0; b < 2; ++b)
        for (int j = 0; j < 3; ++j) {
          CAPTURE(a, i, b, j);
          bool zero = i == j || a == b;
          CHECK(element(o, a, i, b, j) == (zero ? 0.0 : i < j ? element(x, a, i, b, j) : -element(x, a, j, b, i)));
          CHECK(element(v, a, i, b, j) == (zero ? 0.0 : a < b ? element(x, a, i, b, j) : -element(x, b, i, a, j)));
        }
  // Different virtual segments: no a = b, only occupied pairs are mirrored.
  Array other = x;
  other.at(2, 6, 12);
  execute(c, "anti_symm_o", {other});
  CHECK(element(other, 1, 2, 1, 0) == -element(x, 1, 0, 1, 2));
  CHECK(element(other, 1, 1, 1, 1) == 0.0);
  // The occupied range is orbital 1 alone: x[a,1,b,1] stays.
  c.data.ints["eaocc"] = 1;
  c.data.segments[IndexKind::moa] = {1, 4};
  Array one({2, 1, 2, 1}, {1, 2, 3, 4});
  execute(c, "anti_symm_v", {one});
  CHECK(one.data == Values{0, -3, 3, 0});
  // One orbital of several is not that.
  c.data.ints["eaocc"] = 2;
  c.data.segments[IndexKind::moa] = {1, 1, 4};
  execute(c, "anti_symm_v", {one});
  CHECK(one.data == Values{0, 0, 0, 0});
  Array flat({2, 2});
  CHECK_THAT(execution_error(c, "anti_symm_o", {flat}), Contains("rank 4"));
}

TEST_CASE("columns of core orbitals") {
  FakeContext c;
  chemistry(c.data).has_molecule = true;
  chemistry(c.data).molecule.atoms = {make_atom("O", 0, 0, 0), make_atom("H", 0, 0, 1), make_atom("C", 0, 0, 3)};
  Array x({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), fock({4, 4}, Values(16, 1.0));
  x.whole();
  execute(c, "drop_core_in_sip", {x, fock});
  CHECK(x.data == Values{0, 0, 0, 0, 5, 6, 7, 8});
  CHECK(fock.data == Values(16, 1.0));
  Array later({2, 3}, {1, 2, 3, 4, 5, 6});
  later.at(1, 2, 1);  // orbitals 2 to 4
  execute(c, "drop_core_in_sip", {later, fock});
  CHECK(later.data == Values{0, 0, 3, 4, 5, 6});
  // Charges at the ends of the rows: 0, 1, 1, 10, 10, 18, 18, 36, 36, 54.
  const std::pair<const char*, int> core[] = {{"He", 0}, {"Li", 1},  {"Ne", 1},  {"Na", 10}, {"Ar", 10},
                                              {"K", 18}, {"Kr", 18}, {"Rb", 36}, {"Xe", 36}, {"Cs", 54}};
  for (auto [symbol, n] : core) {
    chemistry(c.data).molecule.atoms = {make_atom(symbol, 0, 0, 0)};
    Array row({1, 60}, Values(60, 1.0));
    execute(c, "drop_core_in_sip", {row, fock});
    CHECK(std::count(row.data.begin(), row.data.end(), 0.0) == n);
  }
}
