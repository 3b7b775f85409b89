#include "runtime/core/tier/replay/replay.h"

#include <algorithm>
#include <array>
#include <optional>

#include "runtime/core/tier/replay/eviction_heap.h"
#include "runtime/core/tier/replay/next_uses.h"

namespace sial {
namespace {

class Replay {
 public:
  Replay(const AccessSequence& sequence, const std::vector<std::uint32_t>& next, const ReplaySetting& setting)
      : sequence_(sequence),
        accesses_(sequence.accesses()),
        next_(next),
        setting_(setting),
        part_(sequence),
        blocks_(sequence.blocks().size()),
        ranks_(sequence.ranks()) {
    result_.by_array.resize(sequence.arrays().size());
    result_.max_in_use.resize(std::max<std::size_t>(1, sequence.parts().size()));
  }

  ReplayResult run() {
    std::size_t phase = 0;
    for (now_ = 0; now_ < accesses_.size(); ++now_) {
      if (phase < sequence_.phases().size() && sequence_.phases()[phase] == now_) {
        ++phase;
        for (Rank& rank : ranks_) end_group(rank);
      }
      if (part_.advance(now_)) make_room(0);
      if (has_window()) reveal();
      step(accesses_[now_]);
    }
    return result_;
  }

 private:
  struct State {
    std::uint64_t key = 0;             // of its entry among those that may leave
    std::uint32_t next = 0, last = 0;  // accesses
    std::uint32_t users = 0;           // accesses of groups that have not ended
    bool exists = false, resident = false;
    bool below = false;  // what it holds lies in the tier
  };
  enum class Cost : std::uint8_t { nothing, once, twice };
  struct Rank {
    std::uint32_t group = 0;
    std::vector<std::uint32_t> uses;
  };

  std::int64_t bytes(std::uint32_t block) const { return sequence_.blocks()[block].bytes; }
  bool has_window() const { return setting_.window >= 0; }
  bool in_sight(std::uint32_t access) const {
    return access != never_used && (!has_window() || access <= now_ + std::uint64_t(setting_.window));
  }
  bool wanted(const State& s) const { return wants_content(accesses_, s.next); }

  /// Before it may leave.
  bool to_write(const State& s) const { return !s.below && (setting_.rule != SpillRule::offline || wanted(s)); }

  /// Transfers that its leaving causes, as far as the rule minds.
  Cost cost(const State& s) const {
    switch (setting_.rule) {
      case SpillRule::farthest:
      case SpillRule::least_recently_used: return Cost::once;
      case SpillRule::weighted:
      case SpillRule::offline: break;
    }
    const bool returns = wanted(s) || (s.next != never_used && !in_sight(s.next));
    return static_cast<Cost>((to_write(s) ? 1 : 0) + (returns ? 1 : 0));
  }

  std::uint64_t key(const State& s) const {
    const std::uint64_t age = never_used - s.last;
    if (setting_.rule == SpillRule::least_recently_used) return age;
    const bool by_content = setting_.rule == SpillRule::farthest;
    const bool known = in_sight(s.next) && (!by_content || wanted(s));
    return std::uint64_t{known ? s.next : never_used} << 32 | age;
  }

  void may_leave(std::uint32_t block) {
    State& s = blocks_[block];
    s.key = key(s);
    EvictionHeap& heap = leaving_[static_cast<std::size_t>(cost(s))];
    heap.push({s.key, block});
    // Earlier entries of blocks that were used since: most of the heap, when they are many.
    if (heap.size() > 4 * residents_ + 1024) heap.clean([this](const EvictionHeap::Entry& e) { return holds(e); });
  }
  bool holds(const EvictionHeap::Entry& e) const {
    const State& s = blocks_[e.block];
    return s.resident && s.users == 0 && s.key == e.key;
  }

  /// The access that has come into the window tells when its block is wanted.
  void reveal() {
    const std::uint64_t seen = now_ + std::uint64_t(setting_.window);
    if (seen >= accesses_.size()) return;
    const std::uint32_t block = accesses_[seen].block;
    const State& s = blocks_[block];
    if (s.resident && s.users == 0 && s.next == seen) may_leave(block);
  }

  void end_group(Rank& rank) {
    for (const std::uint32_t block : rank.uses) {
      State& s = blocks_[block];
      if (--s.users > 0) continue;
      in_use_ -= bytes(block);
      if (s.resident) may_leave(block);
    }
    rank.uses.clear();
  }

  void use(const BlockAccess& a) {
    ranks_[a.rank].uses.push_back(a.block);
    if (blocks_[a.block].users++ > 0) return;
    in_use_ += bytes(a.block);
    BlocksInUse& most = result_.max_in_use[part_.part()];
    if (in_use_ > most.bytes) most = {in_use_, a.place};
  }

  void step(const BlockAccess& a) {
    Rank& rank = ranks_[a.rank];
    if (rank.group != a.group) {
      end_group(rank);
      rank.group = a.group;
    }
    State& s = blocks_[a.block];
    if (a.kind == AccessKind::dies) return die(a.block);
    if (a.kind == AccessKind::read && !s.exists) return;
    s.next = next_[now_];
    s.last = static_cast<std::uint32_t>(now_);
    use(a);
    if (!s.resident) enter(a.block, s.exists && wants_content(a.kind));
    if (changes(a.kind)) change(a.block);
  }

  void enter(std::uint32_t block, bool reads) {
    make_room(bytes(block));
    State& s = blocks_[block];
    s.resident = true;
    ++residents_;
    resident_ += bytes(block);
    result_.max_resident = std::max(result_.max_resident, resident_);
    if (!reads) return;
    for (TierTraffic* traffic : {&result_.total, &result_.by_array[sequence_.blocks()[block].array]}) {
      traffic->bytes_read += bytes(block);
      ++traffic->reads;
    }
  }

  void change(std::uint32_t block) {
    State& s = blocks_[block];
    s.exists = true;
    if (s.below) below_ -= bytes(block);
    s.below = false;
  }

  void die(std::uint32_t block) {
    State& s = blocks_[block];
    if (s.resident) leave(block);
    if (s.below) below_ -= bytes(block);
    s.exists = s.below = false;
  }

  void leave(std::uint32_t block) {
    blocks_[block].resident = false;
    --residents_;
    resident_ -= bytes(block);
  }

  void make_room(std::int64_t wanted) {
    while (resident_ + wanted > setting_.capacity.in(part_.part())) {
      const std::optional<std::uint32_t> block = choose();
      if (!block) return;
      State& s = blocks_[*block];
      if (to_write(s)) write(*block);
      if (!s.below) s.exists = false;  // will never be wanted
      leave(*block);
    }
  }

  void write(std::uint32_t block) {
    blocks_[block].below = true;
    below_ += bytes(block);
    result_.max_below = std::max(result_.max_below, below_);
    for (TierTraffic* traffic : {&result_.total, &result_.by_array[sequence_.blocks()[block].array]}) {
      traffic->bytes_written += bytes(block);
      ++traffic->writes;
      if (!wanted(blocks_[block])) traffic->bytes_in_vain += bytes(block);
    }
  }

  std::optional<std::uint32_t> choose() {
    const auto first = [this](Cost cost) {
      return leaving_[static_cast<std::size_t>(cost)].first([this](const EvictionHeap::Entry& e) { return holds(e); });
    };
    if (const auto free = first(Cost::nothing)) return free->block;
    const auto once = first(Cost::once), twice = first(Cost::twice);
    if (!once && !twice) return {};
    if (!once || !twice) return (once ? once : twice)->block;
    const auto distance = [this](std::uint64_t key) {
      return static_cast<double>(key >> 32) - static_cast<double>(now_);
    };
    return (distance(twice->key) > setting_.twice * distance(once->key) ? twice : once)->block;
  }

  const AccessSequence& sequence_;
  const std::span<const BlockAccess> accesses_;
  const std::vector<std::uint32_t>& next_;
  const ReplaySetting& setting_;
  PartCursor part_;
  std::vector<State> blocks_;
  std::vector<Rank> ranks_;
  std::array<EvictionHeap, 3> leaving_;  // blocks that may leave, by cost
  std::size_t now_ = 0, residents_ = 0;
  std::int64_t resident_ = 0, below_ = 0, in_use_ = 0;
  ReplayResult result_;
};

}  // namespace

ReplayResult replay(const AccessSequence& sequence, const ReplaySetting& setting) {
  return Replay(sequence, following_accesses(sequence), setting).run();
}

ReplayResult offline_optimum(const AccessSequence& sequence, const Capacity& capacity) {
  const std::vector<std::uint32_t> next = following_accesses(sequence);
  std::optional<ReplayResult> best;
  for (const double weight : {1.0, 2.0, 8.0}) {
    const ReplaySetting setting{.capacity = capacity, .rule = SpillRule::offline, .twice = weight};
    ReplayResult result = Replay(sequence, next, setting).run();
    if (!best || result.total.bytes() < best->total.bytes()) best = std::move(result);
  }
  return *best;
}

}  // namespace sial
