// What a node provides of its memory, and what it keeps for itself.
#include <catch2/catch.hpp>

#include <optional>

#include "runtime/core/store/spill/memory_provider.h"
#include "runtime/core/transport/in_process.h"

using namespace sial;

namespace {

constexpr std::size_t providers_memory = 4 << 20;

struct ProviderNodeOfTest {
  explicit ProviderNodeOfTest(const ProviderLimits& rule)
      : memory(make_private_memory(NodeHeap::bytes_needed(1, providers_memory, true), "test", nullptr)),
        heap(memory->base(), 0, 1, providers_memory, hooks()),
        provider(heap, 0, rule) {}
  HeapHooks hooks() {
    HeapHooks h{[this](std::size_t at, std::size_t n) { memory->commit(at, n); }, [] {}};
    h.spills = true;
    h.committed = [this] { return memory->committed(); };
    h.uncommitted = [this](std::size_t at, std::size_t n) { return memory->uncommitted(at, n); };
    h.uncommit = [this](std::size_t at, std::size_t n) { memory->uncommit(at, n); };
    return h;
  }
  /// Until nothing is provided any more; what was.
  std::uint64_t provide_all(std::uint64_t step) {
    std::uint64_t sum = 0;
    for (RemoteChunk chunk = provider.provide(step); chunk.bytes > 0; chunk = provider.provide(step))
      sum += chunk.bytes;
    return sum;
  }

  std::shared_ptr<NodeMemory> memory;
  NodeHeap heap;
  NodeMemoryProvider provider;
};

}  // namespace

TEST_CASE("a node that computes provides nothing unasked") {
  ProviderNodeOfTest node({});
  CHECK(node.provide_all(64) == 0);
}

TEST_CASE("a node that computes provides what it is told, and half of its memory at most") {
  ProviderNodeOfTest node({2 * providers_memory, false});
  node.provide_all(100'032);
  CHECK(node.heap.bytes_not_counted() <= static_cast<std::int64_t>(providers_memory / 2));
  CHECK(node.heap.bytes_not_counted() > static_cast<std::int64_t>(providers_memory / 2) - 5000);
}

TEST_CASE("a node that only serves keeps an eighth") {
  ProviderNodeOfTest node({0, true});
  node.provide_all(100'032);
  CHECK(node.heap.bytes_free() >= static_cast<std::int64_t>(providers_memory / 8));
  CHECK(node.heap.bytes_free() < static_cast<std::int64_t>(providers_memory / 8) + 5000);
}

TEST_CASE("a limit is kept to the byte") {
  for (const std::uint64_t most :
       {std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{50'000}, std::uint64_t{1'000'001}})
    for (const std::uint64_t step : {std::uint64_t{64}, std::uint64_t{6400}, std::uint64_t{1} << 20}) {
      INFO(most << " bytes, " << step << " at a time");
      ProviderNodeOfTest node({most, true});
      node.provide_all(step);
      const auto provided = static_cast<std::uint64_t>(node.heap.bytes_not_counted());
      CHECK(provided <= most);
      if (most >= 50'000 && step >= 6400) CHECK(provided > most - 8192);
    }
}

TEST_CASE("a node that is short of memory provides none") {
  ProviderNodeOfTest node({providers_memory, false});
  std::vector<Chunk*> own;
  CHECK(node.heap.bytes_in_use() == 0);
  while (node.heap.bytes_free() > static_cast<std::int64_t>(providers_memory / 10))
    own.push_back(node.heap.try_allocate(0, 1000));
  CHECK(node.provider.provide(64).bytes == 0);
  for (Chunk* c : own) node.heap.drop_reference(c, 0);
  CHECK(node.provider.provide(64).bytes == 64);
}

TEST_CASE("chunks are memory of their own") {
  ProviderNodeOfTest node({0, true});
  const RemoteChunk a = node.provider.provide(4096), b = node.provider.provide(4096);
  REQUIRE((a.bytes == 4096 && b.bytes == 4096));
  std::fill_n(node.provider.provided(a.at), a.bytes, std::byte{1});
  std::fill_n(node.provider.provided(b.at), b.bytes, std::byte{2});
  for (std::size_t i = 0; i < a.bytes; ++i) REQUIRE(node.provider.provided(a.at)[i] == std::byte{1});
}
