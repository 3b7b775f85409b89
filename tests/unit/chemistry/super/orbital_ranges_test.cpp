// Which blocks a super instruction refuses because they hold orbitals of the other sort.
#include <catch2/catch.hpp>

#include <string>

#include "context.h"
#include "runtime/core/super/orbital_ranges.h"

using namespace sial;

namespace {

// Alpha: three occupied segments, the first of them frozen, two virtual ones; orbitals 1 to 5 and 6 to 10. Beta: two
// and three; 1 to 3 and 4 to 10.
JobData job() {
  JobData data;
  data.ints = {{"baocc", 2}, {"eaocc", 3}, {"bavirt", 4}, {"eavirt", 5},
               {"bbocc", 1}, {"ebocc", 2}, {"bbvirt", 3}, {"ebvirt", 5}};
  data.segments[IndexKind::moa] = {1, 2, 2, 2, 3};
  data.segments[IndexKind::mob] = {1, 2, 2, 2, 3};
  return data;
}

std::string refusal(const JobData& data, const Array& t, std::string_view name = "energy_denominator_rhf") {
  const std::array<SuperArg, 2> args{t.arg, Array({10, 10}).whole().arg};
  try {
    OrbitalRanges(data).check(name, args, orbital_rules(name));
  } catch (const SialError& error) { return error.what(); }
  return "";
}

// Beside a pair that fits.
Array block(std::int32_t first, std::int32_t second, IndexKind kind = IndexKind::moa) {
  Array t({1, 1, 1, 1}, {}, kind);
  t.at(0, first, 0).at(1, second, 0).at(2, 5, 0).at(3, 1, 0);
  return t;
}

}  // namespace

TEST_CASE("a block over virtual, occupied orbitals is taken, frozen ones included, and exchanged pairs") {
  for (const std::int32_t i : {1, 2, 3})
    for (const std::int32_t a : {4, 5}) {
      CHECK(refusal(job(), block(a, i)).empty());
      CHECK(refusal(job(), block(i, a)).empty());
    }
}

TEST_CASE("a pair of one sort is refused, but not alone") {
  CHECK(
      refusal(job(), block(2, 3)) ==
      "dimension 1 of `x[2,3,5,1]` holds occupied orbitals, and `energy_denominator_rhf` takes it for virtual orbitals");
  CHECK(
      refusal(job(), block(4, 5)) ==
      "dimension 2 of `x[4,5,5,1]` holds virtual orbitals, and `energy_denominator_rhf` takes it for occupied orbitals");
  CHECK(refusal(job(), block(4, 5), "energy_numerator_rhf").empty());
  Array pair({1, 1});
  pair.at(0, 4, 0).at(1, 5, 0);
  CHECK(refusal(job(), pair).empty());
}

TEST_CASE("beta orbitals have ranges of their own") {
  CHECK(refusal(job(), block(3, 2, IndexKind::mob)).empty());
  CHECK(refusal(job(), block(3, 3, IndexKind::mob)).find("dimension 2") == 0);
  CHECK(refusal(job(), block(3, 2)).find("dimension 1") == 0);  // segment 3 is occupied in alpha
}

TEST_CASE("a simple index is an orbital number, refused where both spins agree") {
  const auto number = [&](std::int32_t a, std::int32_t i) {
    Array t({1, 1, 1, 1});
    t.simple(0, a).simple(1, i).at(2, 5, 0).at(3, 1, 0);
    return refusal(job(), t);
  };
  CHECK(number(6, 3).empty());
  CHECK(number(4, 5).empty());  // occupied in alpha, virtual in beta
  CHECK(number(3, 3).find("dimension 1") == 0);
  CHECK(number(6, 6).find("dimension 2") == 0);
}

TEST_CASE("nothing is checked without ranges, or of other instructions") {
  JobData data = job();
  data.ints.erase("bavirt");
  CHECK(refusal(data, block(2, 3)).empty());
  data = job();
  data.ints["eaocc"] = 4;  // ranges that overlap say nothing
  CHECK(refusal(data, block(2, 3)).empty());
  CHECK(refusal(job(), block(2, 3, IndexKind::ao)).empty());
  CHECK(refusal(job(), block(9, 9)).empty());
  CHECK(orbital_rules("anti_symm_o").empty());
  CHECK(orbital_rules("fill_block_sequential").empty());
}
