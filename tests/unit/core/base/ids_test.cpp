#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <map>
#include <type_traits>
#include <unordered_map>

#include "runtime/core/base/ids.h"

using namespace sial;

namespace {

static_assert(!std::is_convertible_v<ArrayId, IndexId> && !std::is_convertible_v<IndexId, ArrayId>);
static_assert(!std::is_convertible_v<NodeId, ArrayId>);
static_assert(!std::is_convertible_v<std::int32_t, ArrayId> && !std::is_convertible_v<ArrayId, std::int32_t>);

template <class A, class B>
concept Comparable = requires(A a, B b) { a == b; };
static_assert(Comparable<ArrayId, ArrayId> && !Comparable<ArrayId, IndexId> && !Comparable<ArrayId, std::int32_t>);

TEST_CASE("an id is the number it was made of") {
  CHECK(ArrayId(7).number() == 7);
  CHECK(ArrayId(7).at() == std::size_t{7});
  CHECK(ArrayId().number() == 0);
  CHECK(no_array.number() == -1);
}

TEST_CASE("ids of one kind are compared as their numbers") {
  CHECK(ArrayId(2) == ArrayId(2));
  CHECK(ArrayId(2) != ArrayId(3));
  CHECK(ArrayId(2) < ArrayId(3));
  CHECK(no_index < IndexId(0));
}

TEST_CASE("ids are keys of tables") {
  std::map<ArrayId, int> ordered{{ArrayId(3), 30}, {ArrayId(1), 10}};
  CHECK(ordered.begin()->second == 10);
  std::unordered_map<NodeId, int> hashed{{NodeId(4), 40}};
  CHECK(hashed.at(NodeId(4)) == 40);
  CHECK(!hashed.contains(NodeId(5)));
}

TEST_CASE("an id prints as its number") { CHECK(fmt::format("{} {:>3}", no_array, IndexId(5)) == "-1   5"); }

}  // namespace
