// What several threads do at once: a team that shares an operation, ranks that share an engine of generated code. Run
// under TSan.

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "runtime/core/kernels/cpu/team.h"
#include "runtime/core/kernels/interface/block_op.h"
#include "runtime/core/kernels/interface/jit.h"
#include "runtime/core/kernels/interface/tiles.h"
#include "tests/conformance/kernels/contraction_cases.h"

using namespace sial;
using namespace sial::kernel_cases;

TEST_CASE("a team does every part once, round after round") {
  for (const int size : {1, 2, 4}) {
    kernels::Team team(size);
    REQUIRE(team.size() == size);
    std::vector<int> done(static_cast<std::size_t>(size), 0);
    for (int round = 1; round <= 500; ++round) {
      team.run([&](int part) { ++done[static_cast<std::size_t>(part)]; });
      REQUIRE(done == std::vector<int>(static_cast<std::size_t>(size), round));
    }
  }
}

TEST_CASE("threads that share a contraction give the bits of one") {
  CountingResource workspace;
  KernelOptions options;
  auto alone = make_kernels("auto", workspace, options);
  options.threads = 4;
  auto shared = make_kernels("auto", workspace, options);
  Generator g(base_seed());
  const std::map<int, std::int64_t> extents{{0, 60}, {1, 31}, {2, 47}, {3, 29}};
  for (int round = 0; round < 8; ++round) {
    Operand a = g.operand(g.shuffled({0, 1, 3}), extents), b = g.operand(g.shuffled({3, 2}), extents),
            d = g.operand(g.shuffled({0, 1, 2}), extents);
    require_same_bits(*alone, *shared, a, b, d);
  }
  CHECK(workspace.stats().bytes_in_use == 0);
}

TEST_CASE("an engine serves many threads") {
  std::atomic<int> answered{0};
  {
    const auto engine = kernels::make_code_engine({});
    std::vector<std::thread> ranks;
    for (int r = 0; r < 4; ++r)
      ranks.emplace_back([&, r] {
        for (int i = 0; i < 50; ++i) {
          engine->find(kernels::tile_key(1 + (i + r) % 3, 1 + i % 4, i % 2 == 0));
          answered += !engine->stats().state.empty();
        }
      });
    for (std::thread& rank : ranks) rank.join();
  }  // the engine goes while there is work left
  CHECK(answered == 200);
}
