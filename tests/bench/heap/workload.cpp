#include "workload.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace heapbench {

namespace {

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

Workload random_mix(int requests, std::size_t capacity, double load, std::uint64_t seed, int ranks) {
  Workload w;
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
  return w;
}

Workload large_phase(std::size_t capacity) {
  Workload w;
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
