// One suite for every BufferResource.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <vector>

#include "runtime/core/base/error.h"
#include "runtime/core/memory/arena_pool.h"
#include "runtime/core/memory/host_pool.h"
#include "runtime/core/memory/out_of_memory.h"

using namespace sial;

namespace {

struct Fixture {
  explicit Fixture(bool arena) {
    if (!arena) {
      pool = make_host_pool(1 << 20);
      return;
    }
    memory.reset(static_cast<std::byte*>(std::calloc(1, NodeHeap::bytes_needed(1, 1 << 20) + 64)));
    auto* aligned = memory.get() + (64 - reinterpret_cast<std::uintptr_t>(memory.get()) % 64) % 64;
    heap = std::make_unique<NodeHeap>(aligned, 0, 1, 1 << 20, HeapHooks{[](std::size_t, std::size_t) {}, [] {}});
    pool = std::make_unique<ArenaPool>(*heap, 0);
  }
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> memory;
  std::unique_ptr<NodeHeap> heap;
  std::unique_ptr<BufferResource> pool;
};

}  // namespace

TEST_CASE("every pool: distinct aligned buffers, statistics, reuse, a budget") {
  Fixture f(GENERATE(false, true));
  BufferResource& pool = *f.pool;
  double* none = pool.allocate(0);
  double* also_none = pool.allocate(0);
  CHECK(none != nullptr);
  CHECK(none != also_none);
  double* p = pool.allocate(100);
  CHECK(reinterpret_cast<std::uintptr_t>(p) % 64 == 0);
  for (int i = 0; i < 100; ++i) p[i] = i;
  CHECK(pool.stats().bytes_in_use >= 800);
  pool.deallocate(p, 100);
  CHECK(pool.allocate(100) == p);
  CHECK(pool.stats().cache_hits == 1);
  CHECK(pool.stats().requests == 4);
  pool.deallocate(p, 100);
  pool.deallocate(none, 0);
  pool.deallocate(also_none, 0);
  pool.deallocate(nullptr, 5);
  CHECK(pool.stats().bytes_in_use == 0);
  CHECK(pool.stats().bytes_high_water >= 800);
  CHECK_THROWS_AS(pool.allocate(1 << 20), EnvironmentError);
  double* last = pool.allocate(64);
  CHECK(last != nullptr);
  pool.deallocate(last, 64);
}

TEST_CASE("a full heap advises what the job does not do already") {
  const OutOfMemory without("block a[1]", 100, "all in use", false), with("block a[1]", 100, "all in use", true);
  CHECK(without.hint().find("`--spill DIR`") != std::string::npos);
  CHECK(with.hint().find("--spill") == std::string::npos);
  CHECK(with.hint().find("--memory") != std::string::npos);
  CHECK(std::string(with.what()) == without.what());
}
