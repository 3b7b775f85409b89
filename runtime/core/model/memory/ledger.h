#pragma once
// The books of a planned job: what one rank has for itself, and what lies on each node for all. Nothing keeps
// ranks in step between two barriers, so a phase needs the largest of the one and its share of the largest of the
// other, however the two fall in time. Bytes are those of heap chunks. Owned by the planner of a job.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/base/ids.h"
#include "runtime/core/base/shape.h"
#include "runtime/core/model/memory/memory_model.h"

namespace sial {

class Ledger {
 public:
  Ledger(const PlanSetting& setting, int rank);

  int nodes() const { return static_cast<int>(nodes_.size()); }
  bool several_nodes() const { return nodes_.size() > 1; }
  /// The node of the rank that is planned for.
  NodeId own_node() const { return own_node_; }
  NodeId node_of(int rank) const { return NodeId(rank / per_node_); }
  int ranks_of(NodeId node) const { return nodes_[node.at()].ranks; }
  int ranks_before(NodeId node) const { return node.number() * per_node_; }
  /// The node that a block lies on.
  NodeId home(std::uint64_t placement, const BlockIndex& block) const;

  // --- items: rows of the table, of the running program
  int item(const std::string& name, const std::string& kind, bool remote);
  void begin_program();
  ProgramNeed end_program(const std::string& name);

  /// Whether a run does what is counted from now on, whatever its data.
  void set_certain(bool certain) { certain_ = certain; }
  /// Memory per rank below which no run gets here: statics, and its share of the remote blocks where these cannot leave
  /// memory; or what one rank has for itself, beside ranks that have nothing.
  std::int64_t certain() const { return max_certain_; }
  const MemoryItem& certain_item() const { return rows_[certain_item_].item; }

  // --- of the rank
  void take(int item, std::int64_t bytes);
  void give(int item, std::int64_t bytes);
  /// Taken and given back within a statement.
  void spike(std::int64_t bytes);
  /// Fetched copies are kept while there is room; those touched last must stay.
  void fetch(std::int64_t bytes);
  /// At a barrier: all of them go, and sums with them, but for `retained` bytes as far as there is room.
  void drop_fetched(std::int64_t retained);
  /// A retained copy is in use again.
  void use_retained(std::int64_t bytes);
  /// Contributions to a block that are added up before they are sent: dropped when memory is short.
  void hold_sum(std::int64_t bytes);

  // --- on the nodes
  /// `lasts`: else nobody may need it any more by the time another rank takes memory.
  void take_remote(int item, NodeId node, std::int64_t bytes, bool lasts = true);
  void give_remote(int item, NodeId node, std::int64_t bytes, bool lasts = true);
  /// Blocks on the nodes since an earlier program get a row of this one.
  void carry(int item, std::int64_t blocks, std::int64_t bytes) { count(rows_[item], blocks, bytes); }
  /// Entries of the block directory; they are kept for reuse.
  void add_entries(NodeId node, std::int64_t n) { entries(node, n); }
  void remove_entries(NodeId node, std::int64_t n) { entries(node, -n); }

  void end_phase();

  /// Statement that is being planned, for the place of the peak.
  void at(std::int32_t pc) { pc_ = pc; }
  std::int32_t peak_pc() const { return peak_pc_; }
  std::int64_t peak() const { return peak_; }
  /// Changes whenever the amounts held change.
  std::uint64_t signature() const;

 private:
  struct Node {
    int ranks = 0;
    bool workers = false;
    std::int64_t remote = 0, entries = 0, max_entries = 0, max_remote = 0;  // max_remote: of the phase
    std::int64_t largest = 0;                                               // chunk that was ever put here,
    std::int64_t largest_block = 0;                                         // and of a block
    std::int64_t directory() const;
  };
  struct Row {
    MemoryItem item;
    std::int64_t blocks = 0, bytes = 0;
    bool of_statics = false;
  };
  /// Bytes that are certain: blocks that were perhaps taken are certainly given.
  struct Certain {
    std::int64_t statics = 0, own = 0, remote = 0;  // own: statics too; remote: on all nodes
  };
  static void add(std::int64_t& sum, std::int64_t bytes) { sum = std::max<std::int64_t>(0, sum + bytes); }
  void record_certain(int item);
  void count(Row& row, std::int64_t blocks, std::int64_t bytes);
  void entries(NodeId node, std::int64_t n);
  void note(std::int64_t spike = 0);
  void record_chunk(std::int64_t bytes) { largest_own_ = std::max(largest_own_, bytes); }
  std::int64_t gaps(const Node& node, std::int64_t least) const;
  std::int64_t needed_copies() const;
  std::int64_t retained_copies(std::int64_t firm) const;

  PlanSetting setting_;
  int per_node_ = 1;
  NodeId own_node_;
  std::vector<Node> nodes_;
  std::vector<NodeId> homes_;
  std::vector<Row> rows_;
  int workspace_ = -1, fetched_ = -1;
  std::int64_t firm_ = 0, cache_ = 0, largest_copy_ = 0, sums_ = 0;
  std::int64_t phase_least_ = 0, phase_full_ = 0;  // a rank's own, of the phase; without and with copies that could go
  std::int64_t peak_ = 0, least_ = 0, enough_ = 0, floor_ = 0;
  bool certain_ = true;
  Certain now_;
  std::int64_t max_certain_ = 0;  // of the program
  int certain_item_ = 0;          // that was taken then
  std::int64_t largest_own_ = 0;  // chunk of a rank's own that was taken when blocks of the nodes lay beside it
  bool gave_back_ = false;        // anything so far: from then on there are gaps
  std::int32_t pc_ = 0, phase_pc_ = 0, peak_pc_ = 0;
};

}  // namespace sial
