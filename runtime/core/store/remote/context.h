#pragma once
// Shared by all parts of one rank's store: where it runs, the arrays of the running program, where blocks have their
// home, and the counters. Owned by the store; its parts refer to it. Used by the rank's thread only.

#include <optional>
#include <string>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/store/check/access_log.h"
#include "runtime/core/store/interface/options.h"
#include "runtime/core/store/interface/synchronization.h"
#include "runtime/core/store/local/node_blocks.h"
#include "runtime/core/store/remote/service.h"

namespace sial {

struct RemoteArray {
  RemoteArrayInfo info;
  std::uint32_t generation = 0;
  std::uint64_t placement = 0;
  std::string restored_from;          // label
  std::optional<Place> deleted;       // where, last
  std::optional<KeepCopies> keep;     // over the next barrier
  bool on_host_only = false;          // its copies are compared with the owner's
  bool retain_puts = false;           // what this rank puts may outlive the barrier: decided once for the program
  std::int64_t discarded_before = 0;  // values of the generation that were put before this phase are not used again
};

/// The remote arrays of the running program, by id.
class ArrayTable {
 public:
  explicit ArrayTable(ArrayNames& names) : names_(names) {}

  void begin(std::int32_t program, std::vector<RemoteArrayInfo> infos, PlaceNamer namer);
  void end();
  RemoteArray& at(ArrayId id);
  std::vector<RemoteArray>& all() { return arrays_; }
  const std::vector<RemoteArray>& all() const { return arrays_; }

  const std::string& name(ArrayId id) { return at(id).info.name; }
  std::uint64_t number(ArrayId id) const { return placement_number(program_, id); }
  BlockKey key(ArrayId id, const BlockIndex& block) { return {number(id), at(id).generation, block}; }
  std::int32_t program() const { return program_; }
  std::string place(Place place) const { return namer_ ? namer_(place) : std::string("an earlier statement"); }
  /// The message about a block that is not there, where the array was deleted; empty: it was not.
  std::string deletion(ArrayId id);
  /// Whether it is a block of the running program that this rank has deleted.
  bool is_deleted(const BlockKey& key) const;
  /// Nobody uses what was put into the array before the phase.
  void discard(ArrayId id, std::int64_t phase) { at(id).discarded_before = phase; }
  /// Whether the running program has given up what the block has held since the phase.
  bool is_discarded(const BlockKey& key, std::int64_t put_in) const;
  /// For messages of both threads of the rank: what an array number is called.
  void set_name(std::uint64_t number, const std::string& name) { names_.set(number, name); }

 private:
  ArrayNames& names_;
  std::int32_t program_ = -1;
  std::vector<RemoteArray> arrays_;
  PlaceNamer namer_;
};

/// The ranks that are asked, by block.
class HomeMap {
 public:
  explicit HomeMap(const Transport& transport) : transport_(transport) {}

  NodeId home(std::uint64_t placement, const BlockIndex& block) const;
  bool is_here(NodeId node) const { return node == transport_.node(); }
  int server_of(NodeId node, const BlockIndex& block) const;
  /// For requests about whole arrays.
  int first_of(NodeId node) const { return transport_.ranks_of_node(node).front(); }
  /// Home nodes for whose whole arrays this rank acts: its own when it is the node's first worker, some of the
  /// servers'.
  std::vector<NodeId> in_charge() const;

 private:
  const Transport& transport_;
};

struct StoreContext {
  StoreContext(Transport& transport, const StoreOptions& options, NodeHeap& heap, NodeBlocks& node, ArrayNames& names,
               int arena)
      : transport(transport), options(options), heap(heap), node(node), arena(arena), arrays(names), homes(transport) {}
  StoreContext(const StoreContext&) = delete;
  StoreContext& operator=(const StoreContext&) = delete;

  NodeId home(ArrayId id, const BlockIndex& block) { return homes.home(arrays.at(id).placement, block); }
  /// The author of an access: each access of the rank has a number.
  Access access(Place place) { return {transport.rank(), place, phase, ++sequence, options.check}; }
  Access unchecked() const;
  Chunk* new_chunk(ArrayId id, const BlockIndex& block, std::int64_t size);
  void drop(Chunk* chunk) { heap.drop_reference(chunk, arena); }
  /// Whether so many bytes more would leave less than a quarter of the node's memory.
  bool memory_is_short(std::uint64_t more) const { return used() + more > heap.budget() - heap.budget() / 4; }
  bool more_than_half_in_use() const { return 2 * used() > heap.budget(); }
  /// By blocks, and by what other nodes got.
  std::uint64_t used() const {
    const std::int64_t provided = options.spill.empty() ? 0 : heap.bytes_not_counted();
    return static_cast<std::uint64_t>(heap.bytes_in_use() + provided);
  }

  Transport& transport;
  const StoreOptions& options;
  NodeHeap& heap;
  NodeBlocks& node;
  const int arena;
  ArrayTable arrays;
  const HomeMap homes;
  std::int64_t phase = 0;      // advanced at barriers
  std::uint64_t sequence = 0;  // of this rank's accesses in the program
  StoreStats stats;            // every part counts what it does
  AccessLog log;
  Trace* trace = nullptr;
  SpilledBlocks* spilled = nullptr;     // null: all blocks stay in memory
  BlockPlacement* placement = nullptr;  // null: all memory is near all ranks
};

}  // namespace sial
