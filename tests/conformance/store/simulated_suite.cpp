// The suite in the simulator: every rule and random histories, over many schedules and layouts.
#include <catch2/catch.hpp>

#include "runtime/core/transport/loopback.h"
#include "runtime/core/transport/simulated.h"
#include "suite.h"
#include "tests/level.h"

using namespace sial;

namespace {

struct Layout {
  int ranks, per_node, servers;
};
const Layout layouts[] = {{1, 0, 0}, {2, 0, 0}, {4, 0, 0}, {2, 1, 0}, {4, 2, 0},
                          {3, 1, 0}, {5, 2, 0}, {2, 0, 1}, {3, 2, 2}};

SimulationOptions simulation(const Layout& l, std::uint64_t seed) {
  SimulationOptions o;
  o.ranks = l.ranks;
  o.ranks_per_node = l.per_node;
  o.servers = l.servers;
  o.seed = seed;
  return o;
}

std::string name(const Layout& l, std::uint64_t seed) {
  return std::to_string(l.ranks) + " ranks, " + std::to_string(l.per_node) + " per node, " + std::to_string(l.servers) +
         " servers, seed " + std::to_string(seed);
}

}  // namespace

TEST_CASE("loopback: rules and histories") {
  suite::run_rules(*make_loopback());
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    const auto transport = make_loopback();
    REQUIRE_NOTHROW(suite::history(*transport, seed, 3, 6));
    transport->finish();
  }
}

TEST_CASE("simulator: every rule on every layout") {
  for (const Layout& l : layouts)
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      INFO(name(l, seed));
      StoreOptions o;
      REQUIRE_NOTHROW(run_simulated(simulation(l, seed), [&](Transport& t) { suite::run_rules(t, o); }));
    }
}

TEST_CASE("simulator: random histories") {
  const std::uint64_t seeds = test_level::is_long() ? 4000 : test_level::is_gate() ? 100 : 400;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Layout& l = layouts[seed % std::size(layouts)];
    INFO(name(l, seed));
    REQUIRE_NOTHROW(run_simulated(simulation(l, seed), [&](Transport& t) {
      if (t.is_server()) return suite::serve_history(t, seed);
      suite::history(t, seed, 3, 5);
    }));
  }
}

TEST_CASE("simulator: over a slow line parts of blocks go on before the rest has come") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (const bool servers : {false, true}) {
      SimulationOptions o = simulation(servers ? Layout{2, 0, 1} : Layout{3, 1, 0}, seed);
      o.bandwidth = 1e6;
      int early = 0;
      INFO("seed " << seed);
      REQUIRE_NOTHROW(run_simulated(o, [&](Transport& t) {
        if (t.is_server()) return suite::serve(t);
        suite::Job j(t);
        early += suite::blocks_go_on_as_they_come(j);
        j.store->synchronization().end_program({0, 9999});
      }));
      CHECK(early > 0);
    }
}

TEST_CASE("simulator: deterministic accumulation has the same bits on every schedule and layout") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Layout& l = layouts[seed % std::size(layouts)];
    INFO(name(l, seed));
    REQUIRE_NOTHROW(run_simulated(simulation(l, seed), [&](Transport& t) { suite::deterministic_sum(t, seed); }));
  }
}

TEST_CASE("simulator: a use right after the get waits, a later one does not") {
  SimulationOptions o = simulation({2, 1, 0}, 1);
  o.latency = 1e-3;
  o.disorder = false;
  run_simulated(o, [](Transport& t) {
    suite::Job j(t, [] {
      StoreOptions s;
      s.memory_per_rank = 1 << 20;
      return s;
    }());
    if (j.rank == 0)
      for (int i = 0; i < 16; ++i) j.put(ArrayId(0), {1, {i}}, suite::Values(10, i));
    j.barrier();
    std::int64_t remote = 0;
    for (int i = 0; i < 8; ++i) {
      const auto received = j.store->monitor().stats().bytes_received;
      j.get(ArrayId(0), {1, {i}}, 10);
      j.store->fetch().read(ArrayId(0), {1, {i}}, 10, {0, 500});
      remote += j.store->monitor().stats().bytes_received > received ? 1 : 0;
    }
    const auto s = j.store->monitor().stats();
    EXPECT(s.accesses == 8);
    EXPECT(s.blocked_accesses == remote);
    EXPECT(s.fetch_wait_seconds >= 2e-3 * static_cast<double>(remote));
    for (int i = 8; i < 16; ++i) j.get(ArrayId(0), {1, {i}}, 10);
    t.charge_compute(1.0);
    for (int i = 8; i < 16; ++i) j.store->fetch().read(ArrayId(0), {1, {i}}, 10, {0, 501});
    EXPECT(j.store->monitor().stats().blocked_accesses == remote);
    for (const AccessStats& row :
         j.store->monitor().access_stats()) {  // those of gets and puts know what was moved only
      if (row.place == Place{0, 500}) EXPECT(row.accesses == 8 && row.blocked == remote);
      else if (row.place == Place{0, 501}) EXPECT(row.accesses == 8 && row.blocked == 0 && row.wait_seconds == 0);
      else EXPECT(row.accesses == 0);
    }
    const double both = t.sum(static_cast<double>(remote), {CollectiveKind::sum, {0, 9}});
    EXPECT(both == 8);  // each block is remote to one of two nodes
    j.store->synchronization().end_program({0, 10});
  });
}
