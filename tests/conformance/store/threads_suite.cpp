// The suite on real threads; also run under TSan.
#include <catch2/catch.hpp>

#include "runtime/core/transport/threads.h"
#include "suite.h"

using namespace sial;

namespace {

const ThreadsOptions layouts[] = {{1, 0, 0}, {2, 0, 0}, {4, 0, 0}, {2, 1, 0}, {4, 2, 0}, {3, 2, 1}};

}  // namespace

TEST_CASE("threads: every rule") {
  for (const ThreadsOptions& l : layouts) {
    INFO(l.ranks << " ranks, " << l.ranks_per_node << " per node, " << l.servers << " servers");
    REQUIRE_NOTHROW(run_threads(l, [](Transport& t) { suite::run_rules(t); }));
  }
}

TEST_CASE("threads: random histories") {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const ThreadsOptions& l = layouts[seed % std::size(layouts)];
    INFO(l.ranks << " ranks, " << l.ranks_per_node << " per node, " << l.servers << " servers, seed " << seed);
    REQUIRE_NOTHROW(run_threads(l, [&](Transport& t) {
      if (t.is_server()) return suite::serve_history(t, seed);
      suite::history(t, seed, 2, 4);
    }));
  }
}

TEST_CASE("threads: deterministic accumulation") {
  for (const ThreadsOptions& l : layouts)
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      REQUIRE_NOTHROW(run_threads(l, [&](Transport& t) { suite::deterministic_sum(t, seed); }));
}
