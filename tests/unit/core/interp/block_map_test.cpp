#include <catch2/catch.hpp>

#include <map>
#include <random>

#include "runtime/core/interp/blocks/block_map.h"

TEST_CASE("block map agrees with std::map under random inserts and removals") {
  std::mt19937 random(12345);
  sial::BlockMap map;
  std::map<std::uint64_t, double*> reference;
  std::vector<double> storage(1000);
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t key = random() % 300;
    if (auto found = reference.find(key); found != reference.end()) {
      REQUIRE(map.find(key) != nullptr);
      REQUIRE(map.find(key)->data == found->second);
      if (random() % 2) {
        CHECK(map.remove(key).data == found->second);
        reference.erase(found);
      }
    } else {
      REQUIRE(map.find(key) == nullptr);
      map.insert(key, &storage[key], 1);
      reference[key] = &storage[key];
    }
    REQUIRE(map.size() == reference.size());
  }
  std::size_t seen = 0;
  map.for_each([&](const sial::BlockMap::Entry& e) {
    ++seen;
    CHECK(reference.at(e.key) == e.data);
  });
  CHECK(seen == reference.size());
}
