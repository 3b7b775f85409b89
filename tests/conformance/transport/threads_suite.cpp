#include <catch2/catch.hpp>

#include "runtime/core/transport/threads.h"
#include "suite.h"

using namespace sial;

TEST_CASE("threads conform") {
  for (const suite::Layout& s : suite::layouts)
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      INFO(s.ranks << " ranks, " << s.per_node << " per node, " << s.servers << " servers, seed " << seed);
      REQUIRE_NOTHROW(run_threads({s.ranks, s.per_node, s.servers}, [&](Transport& t) { suite::run_all(t, seed); }));
    }
}
