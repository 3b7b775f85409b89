// Device memory in blocks: what is kept for the next of its size, and what joins.

#include <algorithm>
#include <map>
#include <random>

#include "runtime/core/base/flat_table.h"
#include "runtime/core/memory/host_pool.h"
#include "tests/unit/core/device/cache_fixture.h"

using namespace sial;
using namespace sial::cache_fixture;

TEST_CASE("a flat table agrees with a map") {
  std::mt19937_64 rng(3);
  FlatTable<int> table;
  std::map<std::uint64_t, int*> model;
  std::vector<int> values(400);
  for (int step = 0; step < 50000; ++step) {
    const std::uint64_t key = 256 * (1 + rng() % 400);
    int* value = &values[rng() % values.size()];
    const auto found = model.find(key);
    REQUIRE(table.find(key) == (found == model.end() ? nullptr : found->second));
    if (found != model.end()) {
      table.erase(key);
      model.erase(found);
    } else {
      table.insert(key, value);
      model[key] = value;
    }
    REQUIRE(table.size() == model.size());
  }
  table.erase(1);  // which has none
  for (const auto& [key, value] : model) CHECK(table.find(key) == value);
}

TEST_CASE("device memory is carved from few pieces, and what is free joins again") {
  Fixture f;
  DevicePool pool(*f.device);
  std::vector<double*> blocks;
  Frontier after;
  for (int round = 0; round < 50; ++round) {
    for (int i = 1; i <= 40; ++i) {
      blocks.push_back(pool.allocate(i * 37, after));
      REQUIRE(blocks.back() != nullptr);
      REQUIRE(reinterpret_cast<std::uintptr_t>(blocks.back()) % 256 == 0);
    }
    for (std::size_t i = 0; i < blocks.size(); i += 2) pool.release(blocks[i], {});
    for (std::size_t i = 1; i < blocks.size(); i += 2) pool.release(blocks[i], {});
    blocks.clear();
  }
  CHECK(pool.pieces() == 1);
  CHECK(pool.stats().bytes_in_use == 0);
  CHECK(pool.stats().requests == 2000);
  CHECK(pool.stats().cache_hits == 1999);
  double* all = pool.allocate(f.device->piece(), after);  // in one
  CHECK(all != nullptr);
  CHECK(pool.pieces() == 1);
  pool.release(all, {});
}

TEST_CASE(
    "a block of device memory that was given back is the next of its size, others join what is free when there is nothing else") {
  const auto host = make_host_pool();
  const auto kernels = make_kernels("reference", *host);
  DeviceOptions options;
  options.memory = 4096 * 8;
  const auto device = make_device("simulated", *kernels, options);
  DevicePool pool(*device);
  Frontier after;
  std::vector<double*> quarters;
  for (int i = 0; i < 4; ++i) quarters.push_back(pool.allocate(1024, after));
  std::sort(quarters.begin(), quarters.end());
  CHECK(pool.allocate(32, after) == nullptr);
  Frontier used;
  used.include(first_compute_stream, 7);
  pool.release(quarters[0], {});
  pool.release(quarters[1], used);
  CHECK(pool.allocate(1000, after) == quarters[1]);  // takes as much, and was the last
  CHECK(after.at[first_compute_stream] == 7);
  pool.release(quarters[1], used);
  for (int i = 2; i < 4; ++i) pool.release(quarters[i], {});
  if (pool.pieces() == 1) {
    Frontier joined;
    CHECK(pool.allocate(4096, joined) == quarters[0]);
    CHECK(joined.at[first_compute_stream] == 7);  // behind the work on each
    CHECK(pool.stats().bytes_in_use == 4096 * 8);
  }
  CHECK(pool.pieces() == 1);
  CHECK(pool.stats().bytes_high_water == 4096 * 8);
  CHECK(pool.stats().requests == 6);
}

TEST_CASE("random use of device memory never hands out what overlaps") {
  Fixture f;
  DevicePool pool(*f.device);
  std::mt19937 rng(11);
  std::map<double*, std::int64_t> live;
  std::int64_t bytes = 0, most = 0;
  Frontier after;
  for (int step = 0; step < 20000; ++step) {
    if (rng() % 2 == 0) {
      const auto n = static_cast<std::int64_t>(1 + rng() % (rng() % 3 == 0 ? 5000 : 300));
      double* p = pool.allocate(n, after);
      REQUIRE(p);
      const auto next = live.lower_bound(p);
      REQUIRE((next == live.end() || p + n <= next->first));
      REQUIRE((next == live.begin() || std::prev(next)->first + std::prev(next)->second <= p));
      live[p] = n;
      most = std::max(most, bytes += DevicePool::rounded(n) * 8);
    } else if (!live.empty()) {
      auto at = live.lower_bound(live.begin()->first + static_cast<std::int64_t>(rng() % 100000));
      if (at == live.end()) at = live.begin();
      pool.release(at->first, {});
      bytes -= DevicePool::rounded(at->second) * 8;
      live.erase(at);
    }
    REQUIRE(pool.stats().bytes_in_use == bytes);
  }
  CHECK(pool.stats().bytes_high_water == most);
}
