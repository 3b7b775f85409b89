// Symbolic costs: one form for equal expressions, numbers when bound, text for people.
#include <catch2/catch.hpp>

#include "runtime/core/bytecode/module.h"

using namespace sial;

TEST_CASE("costs add, multiply and compare") {
  const Cost i = Cost::extent(IndexId(0)), n = Cost::count(IndexId(0)), j = Cost::extent(IndexId(1));
  CHECK(i * j == j * i);
  CHECK((i + j) + n == n + (j + i));
  CHECK((i + i) == i * 2);
  CHECK((i + i * -1.0).is_zero());
  CHECK((i * 0.0).is_zero());
  CHECK(Cost::constant(0).is_zero());
  CHECK((i + j) * (i + j) == i * i + i * j * 2 + j * j);
}

TEST_CASE("costs become numbers and text") {
  const std::vector<IndexSize> sizes{{5, 8}, {3, 10}};
  const std::vector<IndexRow> indices{{"mu", IndexKind::ao, {}, {}, no_index}, {"i", IndexKind::mo, {}, {}, no_index}};
  const Cost c =
      Cost::extent(IndexId(0)) * Cost::extent(IndexId(0)) * Cost::count(IndexId(1)) * 8.0 + Cost::constant(16);
  CHECK(evaluate(c, sizes) == 8 * 64 * 3 + 16);
  CHECK(cost_text(c, indices) == "16 + 8·#i·|mu|^2");
  CHECK(evaluate({}, sizes) == 0);
  CHECK(cost_text({}, indices) == "0");
  CHECK(cost_text(Cost::count(IndexId(0)), indices) == "#mu");
}
