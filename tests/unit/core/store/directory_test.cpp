// The directory by itself: creation, shelves, removal, the list of entries with pending contributions, races.
#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "runtime/core/store/directory/directory.h"
#include "runtime/core/transport/in_process.h"

using namespace sial;

namespace {

struct Node {
  Node() : memory(make_private_memory(8 << 20, "test", nullptr)) {
    const HeapHooks hooks{[this](std::size_t at, std::size_t n) { memory->commit(at, n); },
                          [] { std::this_thread::yield(); }};
    const std::size_t chains = 16;  // long chains
    heap = std::make_unique<NodeHeap>(memory->base(), 4096, 1, 4 << 20, hooks);
    directory = std::make_unique<Directory>(memory->base(), 0, chains, *heap, 0, hooks);
  }
  std::shared_ptr<NodeMemory> memory;
  std::unique_ptr<NodeHeap> heap;
  std::unique_ptr<Directory> directory;
};

BlockKey key(std::uint64_t array, std::uint32_t generation, int i, int j) { return {array, generation, {2, {i, j}}}; }

int count(Directory& d, std::uint64_t array, std::uint32_t generation) {
  int n = 0;
  if (Entry* s = d.find_shelf(array, generation)) d.for_each(s, [&](Entry&) { ++n; });
  return n;
}

}  // namespace

TEST_CASE("entries are found by array, generation and block") {
  Node node;
  Directory& d = *node.directory;
  CHECK(d.find(key(1, 0, 1, 1)) == nullptr);
  Entry* e = d.find_or_create(key(1, 0, 1, 1));
  CHECK(d.find_or_create(key(1, 0, 1, 1)) == e);
  CHECK(d.find(key(1, 0, 1, 1)) == e);
  for (const BlockKey& other : {key(2, 0, 1, 1), key(1, 1, 1, 1), key(1, 0, 1, 2), BlockKey{1, 0, {3, {1, 1}}}})
    CHECK(d.find(other) == nullptr);
}

TEST_CASE("where no room is left for a slab of entries, smaller ones go into the gaps between blocks") {
  Node node;
  std::vector<Chunk*> taken;
  while (Chunk* c = node.heap->try_allocate(0, 64)) taken.push_back(c);  // 576 bytes each
  for (std::size_t i = 0; i < taken.size(); i += 2) node.heap->drop_reference(taken[i], 0);
  Directory& d = *node.directory;
  std::vector<Entry*> entries;
  for (int i = 0; i < 100; ++i) entries.push_back(d.find_or_create(key(1, 0, i, 0)));
  for (int i = 0; i < 100; ++i) CHECK(d.find(key(1, 0, i, 0)) == entries[static_cast<std::size_t>(i)]);
  CHECK(count(d, 1, 0) == 100);
  CHECK(node.heap->bytes_not_counted() > 0);
  CHECK(node.heap->bytes_not_counted() < 64 * 1024);
  CHECK_THROWS_WITH(
      [&] {
        for (int i = 100;; ++i) d.find_or_create(key(1, 0, i, 0));
      }(),
      Catch::Matchers::Contains("out of memory for the block directory"));
  CHECK(count(d, 1, 0) > 1000);
}

TEST_CASE("a shelf holds the entries of one generation and goes with them") {
  Node node;
  Directory& d = *node.directory;
  for (int i = 0; i < 300; ++i) d.find_or_create(key(5, static_cast<std::uint32_t>(i % 2), i, 0));
  CHECK(count(d, 5, 0) == 150);
  CHECK(count(d, 5, 1) == 150);
  int seen = 0;
  d.remove_shelf(d.find_shelf(5, 0), [&](Entry&) { ++seen; });
  CHECK(seen == 150);
  CHECK(d.find_shelf(5, 0) == nullptr);
  CHECK(count(d, 5, 1) == 150);
  CHECK(d.find(key(5, 0, 2, 0)) == nullptr);
  CHECK(d.find(key(5, 1, 1, 0)) != nullptr);
}

TEST_CASE("entries are reused: creating and dropping does not use up memory") {
  Node node;
  Directory& d = *node.directory;
  const auto round = [&](std::uint32_t g) {
    for (int i = 0; i < 100; ++i) d.find_or_create(key(1, g, i, i));
    d.remove_shelf(d.find_shelf(1, g), [](Entry&) {});
  };
  round(0);
  const auto requests = node.heap->stats(0).requests;
  for (std::uint32_t g = 1; g < 200; ++g) round(g);
  CHECK(node.heap->stats(0).requests == requests);
  CHECK(node.heap->bytes_in_use() == 0);
}

TEST_CASE("the list of pending entries survives removal of some") {
  Node node;
  Directory& d = *node.directory;
  for (int i = 0; i < 10; ++i) d.record_dirty(*d.find_or_create(key(static_cast<std::uint64_t>(i % 2), 0, i, 0)));
  d.record_dirty(*d.find(key(1, 0, 1, 0)));
  d.remove_shelf(d.find_shelf(0, 0), [](Entry&) {});
  int n = 0;
  while (Entry* e = d.take_dirty()) {
    CHECK(e->array == 1);
    e->listed_dirty = 0;
    ++n;
  }
  CHECK(n == 5);
}

TEST_CASE("threads that create the same entries agree") {
  Node node;
  std::vector<std::vector<Entry*>> found(4, std::vector<Entry*>(500));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) found[t][i] = node.directory->find_or_create(key(1, 0, i, 7));
    });
  for (auto& t : threads) t.join();
  for (int t = 1; t < 4; ++t) CHECK(found[t] == found[0]);
  CHECK(count(*node.directory, 1, 0) == 500);
}
