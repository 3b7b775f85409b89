#include <catch2/catch.hpp>

#include <algorithm>

#include "runtime/core/transport/loopback.h"
#include "runtime/core/transport/simulated.h"
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

namespace {

SimulationOptions ordered(int ranks, int per_node, double latency) {
  SimulationOptions o;
  o.ranks = ranks;
  o.ranks_per_node = per_node;
  o.latency = latency;
  o.disorder = false;
  return o;
}

}  // namespace

TEST_CASE("of a chunk that holds all the work others take their part") {
  for (const int wheres : {0, 3}) {
    double longest = 0;
    run_simulated(ordered(4, 0, 2e-6), [&](Transport& t) {
      suite::ServedQueue work(t);
      const double took =
          suite::run_pardo(t, *work, {0, 0, 0, 0}, {4096, wheres}, [](std::int64_t i) { return i < 512 ? 1e-3 : 0; });
      longest = std::max(longest, took);
    });
    INFO(wheres << " where clauses: " << longest << " s");
    if (wheres == 0) CHECK(longest > 0.5);  // the first chunk, nothing of which can be taken
    else CHECK(longest < 1.2 * 0.512 / 4);
  }
}

TEST_CASE("other nodes are asked for work where the answer can pay") {
  constexpr double latency = 1e-3;
  double longest_short = 0, longest_long = 0;
  run_simulated(ordered(4, 1, latency), [&](Transport& t) {
    suite::ServedQueue work(t);
    for (std::int64_t n = 0; n < 4; ++n) {
      const double took = suite::run_pardo(t, *work, {0, 0, 0, n}, 400, [](std::int64_t) { return 1e-6; });
      if (n > 0)
        longest_short = std::max(longest_short, took);  // before the first answer nobody knows how long it takes
    }
    const double slow = t.rank() == 0 ? 0.1 : 0.01;
    longest_long =
        std::max(longest_long, suite::run_pardo(t, *work, {0, 1, 0, 0}, 400, [=](std::int64_t) { return slow; }));
  });
  CHECK(longest_short < latency);
  CHECK(longest_long < 0.6 * 100 * 0.1);  // the slow rank begins half of its 100 iterations, and others do the rest
}
