#pragma once
// Blocks of this node whose values go to tiers and come back, as one thread of a rank sees it: its transfers, and which
// blocks leave when memory is short. A block's entry in the directory says where its value is:
//   value, no tier copy           in the heap only
//   value, copy being written     on its way; the heap has it still
//   value, copy written           in both: memory for it can be had at once
//   no value, copy written        in a tier
//   value that is arriving        being read; whoever uses it waits until the chunk says that it is there
// Transfers complete on threads of the tiers, which tell everybody through chunk and copy; what remains to be counted
// is taken in batches (complete_transfers()). The block that leaves is the one whose next use is farthest: see
// next_use.h.

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/store/directory/block_placement.h"
#include "runtime/core/store/directory/directory.h"
#include "runtime/core/store/interface/tier_counts.h"
#include "runtime/core/store/spill/spill_area.h"
#include "runtime/core/transport/transport.h"

namespace sial {

class SpilledBlocks {
 public:
  struct Config {
    int arena = 0;
    bool on_rank_thread = true;
    const BlockPlacement* placement = nullptr;
  };
  using Namer = std::function<std::string(const BlockKey&)>;
  SpilledBlocks(Transport& transport, NodeHeap& heap, Directory& directory, SpillArea& area, const Config& config,
                Namer namer);
  /// Waits for its transfers.
  ~SpilledBlocks();
  SpilledBlocks(const SpilledBlocks&) = delete;
  SpilledBlocks& operator=(const SpilledBlocks&) = delete;

  // --- with the entry's lock held
  /// Whether the block exists, but is not in the heap.
  bool is_spilled(const Entry& e) const { return e.value == 0 && e.tier_handle != 0; }
  std::int64_t spilled_size(const Entry& e) const { return area_.copy(e.tier_handle).doubles; }
  /// Begins to read a value back: it is the entry's from now on, and arriving. May have to make room, which takes other
  /// blocks only.
  Chunk* reload(Entry& e, const BlockKey& key);
  /// The same, out of memory that is free; null: there is none.
  Chunk* try_reload(Entry& e, const BlockKey& key);
  /// The value is changed, or another one: the copy in a tier is not the block's any more.
  void discard_tier_copy(Entry& e) {
    if (e.tier_handle == 0) return;
    release_tier_copy(e.tier_handle);
    e.tier_handle = 0;
  }
  void release_tier_copy(std::uint64_t tier_handle) { area_.drop_user(area_.copy(tier_handle)); }
  /// Another entry is going to have the same value: they share the copy in a tier, which may be empty. Returns it for
  /// that entry.
  std::uint64_t share_tier_copy(Entry& from);

  // --- without locks
  /// A value that is arriving is needed now: its read goes before those that are only foreseen, whichever rank has
  /// begun it. Also with locks.
  void raise(Chunk* c);
  /// Waits until a value is there. Throws EnvironmentError when it could not be read.
  void wait_for(const Chunk* c, const BlockKey& key);
  /// A value that this rank alone has, and will not write, goes to a tier; its reference is taken, and the memory is
  /// had when it has been written. Returns the handle of the copy; 0, with nothing done: there is no room.
  std::uint64_t spill(Chunk* c, const BlockKey& key);
  /// It comes back, as this rank's own, and the copy in the tier is given back. Waits.
  Chunk* take_back(std::uint64_t tier_handle, const BlockKey& key);
  /// Waits until one of the writes under way, of any rank of the node, has ended; returns at once when there is none.
  void wait_for_write();
  /// Takes what has completed; begins to write, and drops, where memory is getting short. Between statements.
  void evict_in_background();
  /// Drops and begins to write all that may leave.
  void spill_all();
  /// Memory is short: drops and writes what is not in use, until about so many bytes are free that were not. False when
  /// nothing could go.
  bool make_room(std::uint64_t bytes);
  /// Why nothing more can go, for a message; empty: no reason is known.
  const std::string& problem() const { return problem_; }

  SpillArea& area() { return area_; }
  const TierCounts& counts() const { return counts_; }
  /// Whether this rank has deleted a block that is there until all have; such blocks leave last. Empty: none is known.
  void set_is_dead(std::function<bool(const BlockKey&)> is_dead) { is_dead_ = std::move(is_dead); }
  /// Whether the program has given up what a block has held since a phase; such blocks leave first, without being
  /// written. Empty: none is known.
  void set_is_discarded(std::function<bool(const BlockKey&, std::int64_t put_in)> is_discarded) {
    is_discarded_ = std::move(is_discarded);
  }
  /// This rank has told when a block is used next, by the clock of forecasts; 0: no use is foreseen.
  void record_next_use(const BlockKey& key, std::uint64_t at);
  /// A phase has ended, or the program has given values up: what leaves first is looked for anew.
  void look_anew() {
    victims_.clear();
    new_victims_.clear();
    begun_.clear();
    in_use_.clear();
  }
  /// Whether blocks of the node had to leave, so far.
  bool has_been_short() const { return short_ || area_.bytes_high_water() > 0; }
  /// A block that was read ahead of its use has come to it: in time, or `late`; or it has left again unused.
  void count_used(bool late) { ++(late ? counts_.prefetches_late : counts_.prefetches_useful); }
  void count_unused() { ++counts_.prefetches_useless; }

 private:
  struct Transfer;
  struct Victim {
    BlockKey key;
    std::uint64_t until = 0;  // its next use, by the clock of forecasts; nearer, where it must be written first
    std::uint64_t bytes = 0;
  };
  static bool nearer(const Victim& a, const Victim& b) { return a.until < b.until; }
  struct Told {
    std::uint64_t at = 0;
    BlockKey key;
  };
  static bool told_earlier(const Told& a, const Told& b) { return a.at < b.at; }
  enum class Gone { no, dropped, writing, dirty, in_use };

  void progress() const;
  void wait_a_little() const;
  Chunk* begin_read(Entry& e, const BlockKey& key, Chunk* chunk, TierPriority priority);
  bool begin_write(Entry& e, const BlockKey& key);
  bool begin_write(TierCopy& copy, Chunk* c, const BlockKey& key);
  Transfer& new_transfer(const BlockKey& key, Chunk* chunk, TierCopy& copy);
  void complete_transfers();
  [[noreturn]] void fail(const BlockKey& key, const Tier& tier, bool write, int error);
  void record_full();
  void find_victims();
  Victim victim(const Entry& e) const;
  void add_told();
  void add_new(const Victim& v);
  bool next_victim(Victim& v);
  void add_in_use();
  std::uint64_t distance(const Entry& e) const;
  bool may_leave(Entry& e) const;
  bool is_discarded(const Entry& e) const {
    return is_discarded_ && is_discarded_({e.array, e.generation, e.block}, e.put_in);
  }
  Gone send_away(const Victim& victim, bool may_write, std::uint64_t& freed);
  /// Lets victims go until so many bytes are free or on their way to be; returns the bytes that are free at once.
  std::uint64_t relieve(std::uint64_t bytes, bool may_write);

  Transport& transport_;
  NodeHeap& heap_;
  Directory& directory_;
  SpillArea& area_;
  const Config config_;
  Namer namer_;
  std::function<bool(const BlockKey&)> is_dead_;
  std::function<bool(const BlockKey&, std::int64_t)> is_discarded_;
  TierCounts counts_;
  std::string problem_;

  std::atomic<Transfer*> done_{nullptr};  // ended, not completed
  std::int64_t under_way_ = 0;            // transfers begun and not completed
  std::uint64_t bytes_writing_ = 0;       // of the writes among them
  std::uint64_t largest_ = 0;             // bytes of the largest block that was moved
  std::deque<Transfer> transfers_;        // all
  std::vector<Transfer*> idle_;           // of them
  std::vector<Victim> victims_;           // of all blocks, when they were looked at; the farthest last
  std::vector<Victim> new_victims_;       // a heap with the farthest first: of those told since
  std::vector<Victim> begun_;             // the first last: they are being written, or wait for that
  std::vector<Victim> in_use_;            // that were to leave
  std::uint64_t in_use_since_ = 0;        // the first of them, by the clock of uses
  std::vector<Told> told_;                // the same: next uses that became known since, and were not looked at yet
  bool busy_ = false;   // some that were looked at were locked or arriving, or have come into use since
  bool short_ = false;  // memory has been short: from now on some is kept free
  int rest_ = 0;        // calls of evict_in_background() until it looks for victims again, having found none
};

}  // namespace sial
