#include <catch2/catch.hpp>

#include "runtime/transport/loopback.h"
#include "runtime/transport/simulated.h"
#include "suite.h"

using namespace sial;

using suite::Layout;
using suite::layouts;

TEST_CASE("loopback conforms") {
  const auto transport = make_loopback();
  suite::run_all(*transport, 1);
  transport->finish();
}

TEST_CASE("simulated conforms, seed by seed") {
  for (const Layout& s : layouts)
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      INFO(s.ranks << " ranks, " << s.per_node << " per node, " << s.servers << " servers, seed " << seed);
      SimulationOptions o;
      o.ranks = s.ranks;
      o.ranks_per_node = s.per_node;
      o.servers = s.servers;
      o.seed = seed;
      REQUIRE_NOTHROW(run_simulated(o, [&](Transport& t) { suite::run_all(t, seed); }));
    }
}

TEST_CASE("every iteration is handed out once, whatever the schedule") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Layout& s = layouts[seed % std::size(layouts)];
    INFO(s.ranks << " ranks, " << s.per_node << " per node, " << s.servers << " servers, seed " << seed);
    SimulationOptions o;
    o.ranks = s.ranks;
    o.ranks_per_node = s.per_node;
    o.servers = s.servers;
    o.seed = seed;
    REQUIRE_NOTHROW(run_simulated(o, [&](Transport& t) {
      if (t.is_server()) return t.serve_forever();
      suite::queue(t, seed, seed % 3 ? 1 + seed % 5 : 4096);
    }));
  }
}
