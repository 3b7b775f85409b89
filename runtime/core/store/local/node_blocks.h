#pragma once
// The operations on the blocks whose home is this node, by a rank of the node directly or by the service for a rank of
// another node. Each operation is one step under the block's lock: absent to present, a replaced value, an added
// one. A value that anybody still reads (lease, snapshot, reply under way) is never written: it is replaced by a copy
// first. One object per thread; all work on the same node memory.

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/base/foreseen_use.h"
#include "runtime/core/store/directory/block_placement.h"
#include "runtime/core/store/directory/directory.h"
#include "runtime/core/store/spill/spilled_blocks.h"
#include "runtime/core/transport/transport.h"

namespace sial {

enum class BlockStatus : std::int32_t { ok = 0, absent, wrong_size, phase_conflict };

struct Outcome {
  BlockStatus status = BlockStatus::ok;
  std::int64_t size = 0;      // wrong_size: of the block as stored
  EarlierUse earlier;         // phase_conflict
  std::uint64_t version = 0;  // lease, put_chunk: of the value, from 1; equal ones of one generation mean equal values
};

/// The author of an operation. `sequence` orders the contributions of one rank.
struct Access {
  std::int32_t rank = -1;
  Place place;
  std::int64_t phase = 0;
  std::uint64_t sequence = 0;
  bool checked = false;  // the phase rule applies
  bool waits = false;  // lease: the caller waits for a value that has still to be read from a tier, and notes its uses
  bool is_prefetch =
      false;  // a prefetch: leaves no trace, and finds no block to which contributions are still to be added
};

struct ListedBlock {
  BlockIndex block;
  std::int64_t size = 0;
  bool in_heap = true;  // else in a tier
};

struct NodeCounters {
  std::int64_t bytes_copied = 0;
  double lock_seconds = 0;
};

class NodeBlocks {
 public:
  struct Config {
    int arena = 0;            // where new values are allocated
    std::uint32_t ranks = 1;  // workers on this node
    std::uint32_t nodes = 1;  // nodes with workers
    bool is_home = true;      // this node is a home of blocks
    bool deterministic = false;
    bool values = true;                         // else blocks have sizes only
    bool on_rank_thread = true;                 // else a helper: may not ask the transport for the time
    const BlockPlacement* placement = nullptr;  // of values on memory nodes; null: all in `arena`
  };
  using Namer = std::function<std::string(const BlockKey&)>;
  /// `spilled`: where values are that are not in the heap; null: all are there.
  NodeBlocks(Transport& transport, NodeHeap& heap, Directory& directory, const Config& config, Namer namer,
             SpilledBlocks* spilled = nullptr);

  /// Sets `chunk` to the present value with a reference for the caller; null when absent.
  Outcome lease(const BlockKey& key, std::int64_t size, const Access& access, Chunk*& chunk);
  /// The present value with a reference for the caller, if all that was put is in it; else null. `locked`: somebody is
  /// at it just now, or it is being read from a tier.
  Chunk* present(const BlockKey& key, bool& locked);
  /// Begins to read it from a tier, out of memory that is free, before it is leased.
  enum class PrefetchOutcome { started, here, full };
  PrefetchOutcome prefetch(const BlockKey& key);
  /// When and how a rank of the node will use it next: after so many uses of blocks from now; 0: not known any more.
  /// The same as BlockLookAhead::set_next_use().
  std::optional<std::uint64_t> set_next_use(const BlockKey& key, std::uint64_t uses_away, ForeseenUse use,
                                            std::uint64_t told);
  /// Whether two names stand for one value, as restoring shares them.
  bool share_value(const BlockKey& a, const BlockKey& b);
  Outcome put(const BlockKey& key, std::int64_t size, const double* data, const Access& access);
  /// The same without a copy; takes the caller's reference to `value`, and its use of the copy in a tier.
  Outcome put_chunk(const BlockKey& key, Chunk* value, const Access& access, std::uint64_t tier_handle = 0);
  /// The same for a value that the caller goes on holding, and will not write while it does.
  Outcome put_alias(const BlockKey& key, Chunk* value, const Access& access);
  /// The same for a value that was leased of `from` and may be its value still.
  Outcome put_leased(const BlockKey& key, Chunk* value, const BlockKey& from, const Access& access);
  /// `arrived` may be null; otherwise it holds `data` and its reference is taken.
  Outcome accumulate(const BlockKey& key, std::int64_t size, const double* data, Chunk* arrived, const Access& access);
  /// accumulate, unless somebody has the block under lock: false then, and nothing is done.
  bool try_accumulate(const BlockKey& key, std::int64_t size, const double* data, const Access& access,
                      Outcome& outcome);
  Outcome fill(const BlockKey& key, std::int64_t size, double value, const Access& access);
  Outcome increment(const BlockKey& key, std::int64_t size, double value, const Access& access);
  Outcome scale(const BlockKey& key, std::int64_t size, double value, const Access& access);

  /// The chunk that the last put, accumulate or try_accumulate has left with just the values it was given, and the
  /// number of that content at the time; null: none has. Others may have replaced it since.
  const Chunk* stored() const { return stored_; }
  std::uint64_t stored_content() const { return stored_content_; }

  /// Applies all pending contributions of the node; several ranks may do it at once, none may access blocks.
  void apply_contributions();

  /// This rank has left a generation for good. True when the node's last worker did: other homes must be told then.
  bool rank_advanced(std::uint64_t array, std::uint32_t generation);
  /// All workers of some node have left it. Frees it when that was the last node.
  void node_advanced(std::uint64_t array, std::uint32_t generation);
  /// Gives the blocks of one generation to another as well, or altogether. Nobody may access either meanwhile.
  void transfer(std::uint64_t array, std::uint32_t generation, std::uint64_t to_array, std::uint32_t to_generation,
                bool move);
  /// Frees a generation. Nobody may access it any more.
  void drop(std::uint64_t array, std::uint32_t generation);
  std::vector<ListedBlock> list(std::uint64_t array, std::uint32_t generation);

  const NodeCounters& counters() const { return counters_; }
  void count_copy(std::int64_t doubles) { counters_.bytes_copied += doubles * 8; }

 private:
  void record_stored(const Chunk* c) {
    stored_ = c;
    stored_content_ = c ? c->content.load(std::memory_order_relaxed) : 0;
  }
  class BlockLock;
  Chunk* value(const Entry& e) const { return e.value == 0 ? nullptr : heap_.chunk(e.value); }
  Chunk* whole_value(Entry& e, const BlockKey& key);
  void record_use(Entry& e);
  /// The value is used: it may have been read ahead for that, and still be under way.
  void value_is_used(Entry& e, Chunk* c) {
    if (!std::exchange(e.read_ahead, 0)) return;
    const bool late = NodeHeap::is_arriving(c);
    spilled_->count_used(late);
    if (late) spilled_->raise(c);
  }
  void value_changes(Entry& e) {
    if (std::exchange(e.read_ahead, 0)) spilled_->count_unused();
    if (spilled_ && !fault_enabled(Fault::spill_changed)) spilled_->discard_tier_copy(e);
  }
  Chunk* allocate(const BlockKey& key, std::int64_t doubles);
  Chunk* allocate_unless_sole(const BlockKey& key, const Chunk* old);
  void fill_value(Chunk* c, double number) const {
    if (config_.values) std::fill_n(c->data(), c->doubles, number);
  }
  void replace(Entry& e, Chunk* with);
  void release_all(Entry& e);
  Outcome accumulate_locked(Entry& e, const BlockKey& key, std::int64_t size, const double* data, Chunk* arrived,
                            const Access& access);
  bool enter(Entry& e, BlockUse use, const Access& access, Outcome& outcome);
  void sum_contributions(Entry& e, const BlockKey& key);
  void add_contribution(Entry& e, Chunk* c, const Access& access);
  /// The value, not read by anybody else; `fresh` (zeros) if it was absent and may be created. Null with the outcome
  /// set otherwise.
  Chunk* writable(Entry& e, const BlockKey& key, std::int64_t size, bool create, Outcome& outcome);

  Transport& transport_;
  NodeHeap& heap_;
  Directory& directory_;
  Config config_;
  Namer namer_;
  SpilledBlocks* spilled_;
  NodeCounters counters_;
  const Chunk* stored_ = nullptr;
  std::uint64_t stored_content_ = 0;
};

}  // namespace sial
