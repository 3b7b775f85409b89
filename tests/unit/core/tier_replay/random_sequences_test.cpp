// Small random sequences, against rules written out plainly and against every choice that there is.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "runtime/core/tier/replay/lower_bound.h"
#include "runtime/core/tier/replay/next_uses.h"
#include "runtime/core/tier/replay/replay.h"

using namespace sial;

namespace {

constexpr int max_blocks = 4;

/// Every access is a group of its own.
AccessSequence random_sequence(std::mt19937& random, bool equal_sizes) {
  AccessSequence s;
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  const std::uint32_t array = s.add_array("a");
  const std::uint32_t blocks = 2 + below(max_blocks - 1);
  for (std::uint32_t b = 0; b < blocks; ++b) s.add_block(array, equal_sizes ? 8 : 8 * (1 + below(3)));
  const std::uint32_t length = 4 + below(16);
  for (std::uint32_t i = 0; i < length; ++i) {
    constexpr std::array kinds = {AccessKind::read,   AccessKind::read,  AccessKind::read,
                                  AccessKind::update, AccessKind::write, AccessKind::dies};
    const AccessKind kind = i < blocks ? AccessKind::write : kinds[below(kinds.size())];
    s.begin_group(0);
    s.access(i < blocks ? i : below(blocks), kind, 0);
  }
  return s;
}

std::int64_t bytes_of(const AccessSequence& s, std::uint32_t block) { return s.blocks()[block].bytes; }

/// The planned rule, by looking ahead in the sequence.
TierTraffic plain_planned(const AccessSequence& s, std::int64_t capacity, std::int64_t window) {
  struct State {
    bool exists = false, resident = false, below = false;
    std::size_t last = 0;
  };
  const auto accesses = s.accesses();
  std::vector<State> blocks(s.blocks().size());
  TierTraffic traffic;
  const auto wanted = [&](std::uint32_t block, std::size_t from) -> std::size_t {
    for (std::size_t i = from; i < accesses.size() && (window < 0 || i < from + static_cast<std::size_t>(window)); ++i)
      if (accesses[i].block == block) return wants_content(accesses[i].kind) ? i : never_used;
    return never_used;
  };
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const auto [block, place, group, rank, kind] = accesses[i];
    State& own = blocks[block];
    if (kind == AccessKind::dies) own = {};
    if (kind == AccessKind::dies || (kind == AccessKind::read && !own.exists)) continue;
    if (!own.resident) {
      const auto resident = [&] {
        std::int64_t sum = 0;
        for (std::uint32_t b = 0; b < blocks.size(); ++b) sum += blocks[b].resident ? bytes_of(s, b) : 0;
        return sum;
      };
      while (resident() + bytes_of(s, block) > capacity && resident() > 0) {
        std::uint32_t first = never_used;
        for (std::uint32_t b = 0; b < blocks.size(); ++b) {
          if (!blocks[b].resident) continue;
          if (first == never_used) {
            first = b;
            continue;
          }
          const std::size_t here = wanted(b, i + 1), there = wanted(first, i + 1);
          if (here > there || (here == there && blocks[b].last < blocks[first].last)) first = b;
        }
        State& goes = blocks[first];
        if (!goes.below) {
          ++traffic.writes;
          traffic.bytes_written += bytes_of(s, first);
        }
        goes.below = true;
        goes.resident = false;
      }
      if (own.exists && wants_content(kind)) {
        ++traffic.reads;
        traffic.bytes_read += bytes_of(s, block);
      }
      own.resident = true;
    }
    own.last = i;
    if (changes(kind)) own.exists = true, own.below = false;
  }
  return traffic;
}

/// Every way to choose what leaves: the least bytes read and written.
std::int64_t min_movement(const AccessSequence& s, std::int64_t capacity) {
  enum Where : std::uint8_t { absent, changed, clean, below };
  using States = std::array<Where, max_blocks>;
  std::map<States, std::int64_t> now{{States{}, 0}};
  const auto accesses = s.accesses();
  const std::uint32_t n = static_cast<std::uint32_t>(s.blocks().size());
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const BlockAccess& a = accesses[i];
    std::map<States, std::int64_t> next;
    const auto reach = [&](const States& states, std::int64_t cost) {
      const auto [at, is_new] = next.emplace(states, cost);
      if (!is_new) at->second = std::min(at->second, cost);
    };
    for (const auto& [before, paid] : now)
      for (std::uint32_t leaving = 0; leaving < (1U << n); ++leaving) {
        States states = before;
        std::int64_t cost = paid, resident = 0;
        if (leaving >> a.block & 1U) continue;
        bool sensible = true;
        for (std::uint32_t b = 0; b < n; ++b) {
          if (leaving >> b & 1U) {
            sensible &= states[b] == changed || states[b] == clean;
            // What is not wanted any more is not written: absent stands for that.
            bool wanted = false;
            for (std::size_t k = i + 1; k < accesses.size(); ++k)
              if (accesses[k].block == b) {
                wanted = wants_content(accesses[k].kind);
                break;
              }
            if (states[b] == changed && wanted) cost += bytes_of(s, b);
            states[b] = states[b] == changed && !wanted ? absent : below;
          }
        }
        if (!sensible) continue;
        Where& own = states[a.block];
        if (a.kind == AccessKind::dies) own = absent;
        else if (a.kind == AccessKind::read && own == absent) {
        } else if (a.kind == AccessKind::read) {
          if (own == below) cost += bytes_of(s, a.block), own = clean;
        } else {
          if (own == below && a.kind == AccessKind::update) cost += bytes_of(s, a.block);
          own = changed;
        }
        for (std::uint32_t b = 0; b < n; ++b)
          resident += states[b] == changed || states[b] == clean ? bytes_of(s, b) : 0;
        if (resident <= capacity) reach(states, cost);
      }
    now = std::move(next);
  }
  std::int64_t least = -1;
  for (const auto& [states, cost] : now)
    if (least < 0 || cost < least) least = cost;
  return least;
}

}  // namespace

TEST_CASE("the planned rule, as written out plainly") {
  std::mt19937 random(1);
  for (int k = 0; k < 3000; ++k) {
    const AccessSequence s = random_sequence(random, k % 2 == 0);
    const std::int64_t capacity = 24 + 8 * static_cast<std::int64_t>(random() % 3);
    for (const std::int64_t window : {-1, 0, 1, 2, 4, 100}) {
      const TierTraffic expected = plain_planned(s, capacity, window);
      const TierTraffic got = replay(s, {.capacity = capacity, .window = window}).total;
      CHECK(got.bytes_read == expected.bytes_read);
      CHECK(got.bytes_written == expected.bytes_written);
      CHECK(got.reads == expected.reads);
      CHECK(got.writes == expected.writes);
    }
    // Nothing ahead is known: what was used longest ago leaves.
    const TierTraffic recent = replay(s, {.capacity = capacity, .rule = SpillRule::least_recently_used}).total;
    CHECK(recent.bytes() == plain_planned(s, capacity, 0).bytes());
  }
}

TEST_CASE("bounds, least movement, optimum and plan follow each other") {
  std::mt19937 random(2);
  double min_sum = 0, optimum_sum = 0;
  for (int k = 0; k < 2000; ++k) {
    const bool equal_sizes = k % 2 == 0;
    const AccessSequence s = random_sequence(random, equal_sizes);
    const std::int64_t capacity = (equal_sizes ? 8 : 24) + 8 * static_cast<std::int64_t>(random() % 3);
    const std::int64_t least = min_movement(s, capacity);
    const std::int64_t optimum = offline_optimum(s, capacity).total.bytes();
    REQUIRE(least >= 0);
    CHECK(lower_bound(s, capacity).bytes() <= least);
    CHECK(least <= optimum);
    CHECK(optimum <= replay(s, {.capacity = capacity}).total.bytes());
    for (const std::int64_t window : {-1, 0, 3, 100})
      CHECK(least <= replay(s, {.capacity = capacity, .rule = SpillRule::weighted, .window = window}).total.bytes());
    min_sum += static_cast<double>(least);
    optimum_sum += static_cast<double>(optimum);
  }
  INFO("optimum found / least: " << optimum_sum / min_sum);
  CHECK(optimum_sum <= 1.05 * min_sum);
}

TEST_CASE("of blocks that are only read the optimum is the least") {
  std::mt19937 random(3);
  for (int k = 0; k < 500; ++k) {
    AccessSequence s;
    const std::uint32_t array = s.add_array("a");
    for (int b = 0; b < max_blocks; ++b) s.add_block(array, 8);
    for (std::uint32_t i = 0; i < 20; ++i) {
      s.begin_group(0);
      s.access(i < max_blocks ? i : static_cast<std::uint32_t>(random() % max_blocks),
               i < max_blocks ? AccessKind::write : AccessKind::read, 0);
    }
    const std::int64_t reads = replay(s, {.capacity = 16}).total.bytes_read;
    CHECK(reads == lower_bound(s, 16).bytes_read);
  }
}
