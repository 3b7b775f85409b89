#include "workload.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "runtime/memory/heap_trace.h"
#include "runtime/memory/node_heap.h"

namespace heapbench {

namespace {

using sial::HeapEvent;
using sial::HeapTraceHeader;

struct RankTrace {
  HeapTraceHeader header;
  std::vector<HeapEvent> events;
};

bool read_rank(const std::string& path, RankTrace& trace) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return false;
  const auto bytes = static_cast<std::size_t>(file.tellg());
  file.seekg(0);
  file.read(reinterpret_cast<char*>(&trace.header), sizeof trace.header);
  if (!file || trace.header.magic != HeapTraceHeader::expected_magic ||
      trace.header.version != HeapTraceHeader::current_version ||
      (bytes - sizeof trace.header) % sizeof(HeapEvent) != 0)
    throw std::runtime_error(path + " is no trace of a heap, or of another version");
  trace.events.resize((bytes - sizeof trace.header) / sizeof(HeapEvent));
  file.read(reinterpret_cast<char*>(trace.events.data()), static_cast<std::streamsize>(bytes - sizeof trace.header));
  if (!file) throw std::runtime_error(path + " cannot be read");
  return true;
}

/// Numbers of blocks, those that were given back first of all.
class Numbers {
 public:
  std::uint32_t next() {
    if (free_.empty()) return used_++;
    const std::uint32_t n = free_.back();
    free_.pop_back();
    return n;
  }
  void give_back(std::uint32_t n) { free_.push_back(n); }
  std::uint32_t used() const { return used_; }

 private:
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;
};

}  // namespace

void Workload::summarize() {
  std::size_t live = 0;
  std::set<std::uint64_t> sizes;
  for (const Operation& o : operations) {
    live = o.takes ? live + o.bytes : live - o.bytes;
    peak_live = std::max(peak_live, live);
    if (o.takes) sizes.insert(o.bytes);
  }
  different_sizes = sizes.size();
}

Workload read_trace(const std::string& file) {
  std::vector<HeapEvent> events;
  Workload w;
  w.name = file.substr(file.rfind('/') + 1);
  int node = 0;
  RankTrace trace;
  for (int rank = 0; read_rank(file + "." + std::to_string(rank), trace); ++rank) {
    if (rank == 0) {
      node = trace.header.node;
      w.ranks = trace.header.arenas;
      w.capacity = trace.header.bytes_per_arena * static_cast<std::size_t>(w.ranks);
    }
    if (trace.header.node == node) events.insert(events.end(), trace.events.begin(), trace.events.end());
  }
  if (events.empty()) throw std::runtime_error(file + ".0 is not there, or empty");
  std::ranges::sort(events, {}, &HeapEvent::sequence);

  struct Live {
    std::uint32_t block;
    std::uint64_t bytes;
    bool counted;
  };
  std::unordered_map<std::uint64_t, Live> live;
  Numbers numbers;
  std::vector<std::size_t> in_use(static_cast<std::size_t>(w.ranks));
  w.peaks.resize(in_use.size());
  const auto kept = static_cast<std::uint8_t>(sial::NodeHeap::Use::kept);
  for (const HeapEvent& e : events) {
    const auto bytes = static_cast<std::uint64_t>(e.doubles) * 8;
    std::size_t& used = in_use.at(e.arena);
    switch (e.kind) {
      case HeapEvent::Kind::take: {
        const Live block{numbers.next(), bytes, e.use != kept};
        if (!live.emplace(e.chunk, block).second) throw std::runtime_error(file + ": a chunk is taken twice");
        w.operations.push_back({bytes, block.block, e.caller, true});
        if (block.counted) used += e.bytes;
        w.peaks[e.arena] = std::max(w.peaks[e.arena], used);
        break;
      }
      case HeapEvent::Kind::give_back: {
        const auto at = live.find(e.chunk);
        if (at == live.end()) throw std::runtime_error(file + ": a chunk is given back that nobody has");
        // A helper thread works for the rank of the arena.
        const auto rank = static_cast<std::int16_t>(e.caller < 0 ? e.arena : e.caller);
        w.operations.push_back({at->second.bytes, at->second.block, rank, false});
        if (at->second.counted) used -= e.bytes;
        numbers.give_back(at->second.block);
        live.erase(at);
        break;
      }
      case HeapEvent::Kind::use:
        if (const auto at = live.find(e.chunk); e.use == HeapEvent::not_counted && at != live.end()) {
          used -= e.bytes;
          at->second.counted = false;
        }
        break;
      case HeapEvent::Kind::phase: break;
    }
  }
  w.blocks = numbers.used();
  w.summarize();
  return w;
}

Workload random_mix(int requests, std::size_t capacity, double load, std::uint64_t seed, int ranks) {
  Workload w;
  w.name = "mix " + std::to_string(requests);
  w.capacity = capacity;
  w.ranks = ranks;
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto between = [&](double least, double most) {
    const double x = static_cast<double>(random() >> 11) * 0x1p-53;
    return static_cast<std::size_t>(least * std::pow(most / least, x));
  };
  std::vector<Operation> live;
  Numbers numbers;
  const auto most = static_cast<std::size_t>(load * static_cast<double>(capacity));
  std::size_t used = 0;
  for (int i = 0; i < requests; ++i) {
    constexpr double kb = 1024, mb = 1024 * 1024;
    const std::size_t kind = below(3);
    const std::size_t bytes = kind == 0   ? 16 + below(496)
                              : kind == 1 ? between(0.5 * kb, 2 * mb)
                                          : between(2 * mb, 50 * mb);
    while (used + bytes > most && !live.empty()) {
      const std::size_t chosen = below(live.size());
      Operation o = live[chosen];
      live[chosen] = live.back();
      live.pop_back();
      o.takes = false;
      w.operations.push_back(o);
      numbers.give_back(o.block);
      used -= o.bytes;
    }
    live.push_back({bytes, numbers.next(), static_cast<std::int16_t>(below(static_cast<std::size_t>(ranks))), true});
    w.operations.push_back(live.back());
    used += bytes;
  }
  w.blocks = numbers.used();
  w.summarize();
  return w;
}

Workload large_phase(std::size_t capacity) {
  Workload w;
  w.name = "large phase";
  w.capacity = capacity;
  std::mt19937_64 random(5);
  std::vector<Operation> live;
  const std::vector<std::size_t> sizes = block_sizes(72);
  for (std::size_t used = 0;;) {
    const std::size_t bytes = sizes[random() % sizes.size()];
    if ((used += bytes) > capacity / 100 * 93) break;
    live.push_back({bytes, static_cast<std::uint32_t>(live.size()), 0, true});
  }
  w.blocks = static_cast<std::uint32_t>(live.size()) + 1;
  w.operations = live;
  std::vector<Operation> leaving;
  for (Operation o : live)
    if (o.block % 64 != 0) {
      o.takes = false;
      leaving.push_back(o);
    }
  std::ranges::shuffle(leaving, random);
  w.operations.insert(w.operations.end(), leaving.begin(), leaving.end());
  w.operations.push_back({capacity / 10 * 9, w.blocks - 1, 0, true});
  w.summarize();
  return w;
}

std::vector<std::size_t> block_sizes(int number) {
  // Blocks of two to four indices, with segments of up to eight lengths.
  std::vector<std::size_t> sizes;
  constexpr std::size_t lengths[] = {5, 7, 8, 11, 13, 16, 19, 22};
  for (const std::size_t a : lengths)
    for (const std::size_t b : lengths)
      for (const std::size_t c : lengths)
        if (a <= b && b <= c) sizes.push_back(a * b * c * 8 * (a % 3 == 2 ? c : 1));
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::mt19937_64 random(7);
  std::ranges::shuffle(sizes, random);
  sizes.resize(std::min(sizes.size(), static_cast<std::size_t>(number)));
  return sizes;
}

}  // namespace heapbench
