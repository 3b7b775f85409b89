// What is recorded of a heap: every chunk from when it is taken until it is given back, in the order of all ranks.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/memory/node_heap.h"

using namespace sial;

namespace {

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "sialx-trace-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()));
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

std::vector<HeapEvent> read_events(const std::string& path, HeapTraceHeader& header) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.read(reinterpret_cast<char*>(&header), sizeof header));
  std::vector<HeapEvent> events;
  for (HeapEvent e; file.read(reinterpret_cast<char*>(&e), sizeof e);) events.push_back(e);
  CHECK(file.gcount() == 0);
  return events;
}

}  // namespace

TEST_CASE("the traces of all ranks together say which chunks are in use") {
  const Folder folder;
  constexpr int ranks = 2;
  constexpr std::size_t budget = 8 << 20;
  const std::size_t size = NodeHeap::bytes_needed(ranks, budget);
  auto* base = static_cast<std::byte*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const std::string path = (folder.path / "heap").string();
  std::int64_t high[ranks] = {0, 0};
  {
    // As the ranks of a node see it: a heap each, over the same memory.
    std::vector<std::unique_ptr<NodeHeap>> heaps;
    for (int r = 0; r < ranks; ++r) {
      HeapHooks hooks{[](std::size_t, std::size_t) {}, [] { std::this_thread::yield(); }};
      hooks.recorder = std::make_shared<HeapRecorder>(
          path + "." + std::to_string(r),
          HeapTraceHeader{.rank = r, .arena = r, .arenas = ranks, .bytes_per_arena = budget});
      heaps.push_back(std::make_unique<NodeHeap>(base, 0, ranks, budget, hooks));
    }
    std::vector<std::atomic<std::uint64_t>> mailbox(8);
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        NodeHeap& heap = *heaps[static_cast<std::size_t>(r)];
        std::mt19937 random(static_cast<unsigned>(r));
        for (int i = 0; i < 20000; ++i) {
          Chunk* c =
              heap.allocate(r, static_cast<std::int64_t>(random() % 3000), [] { return std::string("a block"); });
          if (i % 3 == 0) heap.count_shared(heap.leave_own(c), r);
          if (const std::uint64_t old = mailbox[random() % 8].exchange(heap.offset(c)))
            heap.drop_reference(heap.chunk(old), r);
        }
      });
    for (std::thread& t : threads) t.join();
    for (auto& m : mailbox)
      if (m != 0) heaps[0]->drop_reference(heaps[0]->chunk(m), -1);
    heaps[0]->close_phase(0, true);
    for (int r = 0; r < ranks; ++r) high[r] = heaps[0]->stats(r).bytes_high_water;
    CHECK(!std::filesystem::exists(path + ".0"));  // complete or absent
  }
  std::vector<HeapEvent> events;
  for (int r = 0; r < ranks; ++r) {
    HeapTraceHeader header;
    const auto mine = read_events(path + "." + std::to_string(r), header);
    CHECK((header.magic == HeapTraceHeader::expected_magic && header.version == HeapTraceHeader::current_version));
    CHECK((header.rank == r && header.arenas == ranks && header.bytes_per_arena == budget));
    events.insert(events.end(), mine.begin(), mine.end());
  }
  std::ranges::sort(events, {}, &HeapEvent::sequence);
  std::map<std::uint64_t, HeapEvent> live;
  std::map<int, std::int64_t> in_use, peak;
  std::size_t taken = 0, left_own = 0, phases = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const HeapEvent& e = events[i];
    REQUIRE(e.sequence == i);
    switch (e.kind) {
      case HeapEvent::Kind::take: {
        ++taken;
        const auto next = live.lower_bound(e.chunk);  // chunks in use do not overlap
        REQUIRE((next == live.end() || e.chunk + e.bytes <= next->first));
        REQUIRE((next == live.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= e.chunk));
        REQUIRE(e.bytes >= NodeHeap::chunk_bytes(e.doubles));
        live[e.chunk] = e;
        in_use[e.arena] += static_cast<std::int64_t>(e.bytes);
        peak[e.arena] = std::max(peak[e.arena], in_use[e.arena]);
        break;
      }
      case HeapEvent::Kind::give_back:
        REQUIRE(live.erase(e.chunk) == 1);
        in_use[e.arena] -= static_cast<std::int64_t>(e.bytes);
        break;
      case HeapEvent::Kind::use:
        REQUIRE(live.contains(e.chunk));
        ++left_own;
        break;
      case HeapEvent::Kind::phase: ++phases; break;
    }
  }
  CHECK(live.empty());
  CHECK(taken == ranks * 20000);
  CHECK(left_own == ranks * 6667);
  CHECK(phases == 1);
  // A chunk is recorded when it has been counted: with two ranks at once the peak may be missed by what is under way.
  for (int r = 0; r < ranks; ++r) {
    CHECK(peak[r] <= high[r] + 2 * 3000 * 8);
    CHECK(peak[r] >= high[r] - 2 * 3000 * 8 - 512);
  }
  munmap(base, size);
}

TEST_CASE("a trace that cannot be written is refused before anything is recorded") {
  CHECK_THROWS_AS(HeapRecorder("/proc/nowhere/heap.0", HeapTraceHeader{}), EnvironmentError);
}
