// The memory of other nodes, which one node takes from two.
#include <catch2/catch.hpp>

#include <thread>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/store/spill/nodes_tier.h"
#include "runtime/core/transport/simulated.h"
#include "runtime/core/transport/threads.h"
#include "suite.h"

using namespace sial;

namespace {

/// Provides `most` bytes.
class Shelf final : public MemoryProvider {
 public:
  explicit Shelf(std::uint64_t most) : memory_(most) {}
  RemoteChunk provide(std::uint64_t bytes) override {
    const std::lock_guard guard(mutex_);
    const RemoteChunk chunk{provided_, std::min<std::uint64_t>(bytes, memory_.size() - provided_)};
    provided_ += chunk.bytes;
    return chunk;
  }
  std::byte* provided(std::uint64_t at) override { return memory_.data() + at; }

 private:
  std::mutex mutex_;
  std::vector<std::byte> memory_;
  std::uint64_t provided_ = 0;
};

std::unique_ptr<Tier> tier(Transport& transport, std::uint64_t each) {
  std::vector<ProviderNode> others;
  for (int n = 0; n < transport.node_count(); ++n)
    if (NodeId(n) != transport.node()) others.push_back({NodeId(n), each});
  return std::make_unique<NodesTier>(transport, std::make_unique<Shelf>(each), std::move(others), 0);
}

/// Rank 0 takes, the others provide.
void conform(Transport& transport, bool many_threads, std::uint64_t seed) {
  const auto make = [&transport] { return tier(transport, suite::space_bytes / 2); };
  if (transport.rank() != 0) {
    for (int i = 0; i < suite::tiers_of_run_all - (many_threads ? 0 : 1); ++i) make();
    return;
  }
  suite::Subject subject;
  subject.make = make;
  subject.pause = [&transport] { transport.pause(); };
  subject.many_threads = many_threads;
  suite::run_all(subject, seed);
}

/// A transfer that ends, of which the value is not looked at.
void write(Transport& transport, Tier& tier, suite::TestTransfer& transfer) {
  tier.write(transfer);
  while (transfer.calls() == 0) transport.pause();
  CHECK(transfer.error() == 0);
}

}  // namespace

TEST_CASE("the memory of other nodes conforms in the simulator") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SimulationOptions o;
    o.ranks = 3;
    o.ranks_per_node = 1;
    o.seed = seed;
    run_simulated(o, [&](Transport& t) { conform(t, false, seed); });
  }
}

TEST_CASE("the memory of other nodes conforms on threads") {
  run_threads({3, 1, 0}, [](Transport& t) { conform(t, true, 1); });
}

TEST_CASE("providers that are full refuse, and what they provided stays usable") {
  SimulationOptions o;
  o.ranks = 3;
  o.ranks_per_node = 1;
  run_simulated(o, [](Transport& t) {
    // A requester that believes in twice as much as there is.
    std::vector<ProviderNode> others;
    for (int n = 0; n < 3; ++n)
      if (NodeId(n) != t.node()) others.push_back({NodeId(n), 1 << 20});
    NodesTier tier(t, std::make_unique<Shelf>(1 << 19), std::move(others), 0);
    if (t.rank() != 0) return;
    CHECK(tier.capacity() == 2 << 20);
    CHECK(tier.reserve((1 << 20) - 64));
    CHECK(tier.usable() == 1 << 20);
    CHECK_FALSE(tier.reserve((1 << 20) + 64));
    CHECK(tier.usable() == 1 << 20);
    suite::TestTransfer across((1 << 19) - 640, 4096, 0);  // over the end of a chunk
    across.fill(7);
    write(t, tier, across);
    across.clear();
    across.again();
    tier.read(across, TierPriority::prefetch);
    tier.raise(across);
    while (across.calls() == 0) t.pause();
    CHECK(across.holds(7));
    CHECK(across.rim_intact());
  });
}
