#include "runtime/core/model/memory/ledger.h"

#include <algorithm>

#include "runtime/core/bytecode/layout.h"
#include "runtime/core/memory/node_heap.h"
#include "runtime/core/store/directory/directory.h"

namespace sial {

namespace {

constexpr std::int64_t entries_per_slab = 64;

std::int64_t slab_bytes() {
  return static_cast<std::int64_t>(
      NodeHeap::chunk_bytes(entries_per_slab * static_cast<std::int64_t>(sizeof(Entry)) / 8));
}

}  // namespace

std::int64_t Ledger::Node::directory() const {
  return (max_entries + entries_per_slab - 1) / entries_per_slab * slab_bytes();
}

Ledger::Ledger(const PlanSetting& setting, int rank)
    : setting_(setting), per_node_(setting.node_size()), own_node_(rank / per_node_) {
  for (int left = setting.ranks; left > 0; left -= per_node_) nodes_.push_back({std::min(left, per_node_), true});
  for (int s = 0; s < setting.servers; ++s) nodes_.push_back({1, false});
  for (int n = 0; n < nodes(); ++n)
    if (setting.servers == 0 || !nodes_[n].workers) homes_.push_back(NodeId(n));
  begin_program();
}

NodeId Ledger::home(std::uint64_t placement, const BlockIndex& block) const {
  return homes_[home_of_block(placement, block, homes_.size())];
}

int Ledger::item(const std::string& name, const std::string& kind, bool remote) {
  rows_.push_back({{name, kind, remote, 0, 0}, 0, 0, kind == array_kind_text(ArrayKind::static_)});
  return static_cast<int>(rows_.size()) - 1;
}

void Ledger::begin_program() {
  rows_.clear();
  workspace_ = item("workspace of statements", "", false);
  fetched_ = item("copies of other nodes' blocks", "", false);
  peak_ = least_ = enough_ = floor_ = max_certain_ = 0;
  certain_item_ = 0;
  pc_ = phase_pc_ = peak_pc_ = 0;  // statements of the last program are not this one's
  phase_least_ = phase_full_ = 0;
  for (Node& n : nodes_) n.max_remote = n.remote;
  note();
}

ProgramNeed Ledger::end_program(const std::string& name) {
  ProgramNeed need;
  need.program = name;
  std::int64_t directory = 0;
  for (const Node& n : nodes_) directory += n.directory();
  rows_.push_back({{"directory of blocks", "", true, 0, directory}});
  for (const Row& row : rows_)
    if (row.item.bytes > 0) need.items.push_back(row.item);
  need.floor = floor_;
  need.directory = directory;
  need.largest = std::max(largest_own_, nodes_[own_node_.at()].largest_block);
  need.peak = peak_;
  need.least = least_;
  need.enough = enough_;
  return need;
}

void Ledger::count(Row& row, std::int64_t blocks, std::int64_t bytes) {
  row.blocks += blocks;
  row.bytes += bytes;
  row.item.blocks = std::max(row.item.blocks, row.blocks);
  row.item.bytes = std::max(row.item.bytes, row.bytes);
}

void Ledger::take(int item, std::int64_t bytes) {
  count(rows_[item], 1, bytes);
  firm_ += bytes;
  if (certain_) {
    now_.own += bytes;
    if (rows_[item].of_statics) now_.statics += bytes;
    record_certain(item);
  }
  // The first memory that all ranks take lies in their own arenas, each its own.
  if (nodes_[own_node_.at()].remote > 0) record_chunk(bytes);
  note();
}

void Ledger::give(int item, std::int64_t bytes) {
  count(rows_[item], -1, -bytes);
  firm_ -= bytes;
  add(now_.own, -bytes);
  if (rows_[item].of_statics) add(now_.statics, -bytes);
  gave_back_ = true;
}

void Ledger::spike(std::int64_t bytes) {
  if (bytes == 0) return;
  MemoryItem& item = rows_[workspace_].item;
  item.bytes = std::max(item.bytes, bytes);
  gave_back_ = true;
  record_chunk(bytes);
  note(bytes);
}

void Ledger::fetch(std::int64_t bytes) {
  cache_ += bytes;
  largest_copy_ = std::max(largest_copy_, bytes);
  gave_back_ = true;
  record_chunk(bytes);
  note();
  MemoryItem& item = rows_[fetched_].item;
  item.bytes = std::max(item.bytes, retained_copies(firm_));
}

// Half of what copies may take stays, up to a quarter of the memory with all else.
void Ledger::drop_fetched(std::int64_t retained) {
  const auto memory = static_cast<std::int64_t>(setting_.memory_per_rank);
  const std::int64_t room = memory / 4 - firm_ - nodes_[own_node_.at()].remote / nodes_[own_node_.at()].ranks;
  cache_ = std::max(std::int64_t{0}, std::min(retained, room));
  largest_copy_ = sums_ = 0;
}

void Ledger::use_retained(std::int64_t bytes) {
  largest_copy_ = std::max(largest_copy_, bytes);
  note();
}

void Ledger::hold_sum(std::int64_t bytes) {
  sums_ = std::min(sums_ + bytes, static_cast<std::int64_t>(setting_.memory_per_rank) / 16);
  note();
}

void Ledger::record_certain(int item) {
  // Blocks of servers lie in memory of another size.
  const bool stay = setting_.spill.empty() && setting_.servers == 0;
  const std::int64_t all =
      std::max(now_.statics + (stay ? now_.remote / setting_.ranks : 0), now_.own / ranks_of(own_node_));
  if (all <= max_certain_) return;
  max_certain_ = all;
  certain_item_ = item;
}

void Ledger::take_remote(int item, NodeId node, std::int64_t bytes, bool lasts) {
  count(rows_[item], 1, bytes);
  if (certain_ && lasts) {
    now_.remote += bytes;
    record_certain(item);
  }
  nodes_[node.at()].remote += bytes;
  nodes_[node.at()].largest = std::max(nodes_[node.at()].largest, bytes);
  nodes_[node.at()].largest_block = std::max(nodes_[node.at()].largest_block, bytes);
  if (nodes_[node.at()].remote > nodes_[node.at()].max_remote) {
    nodes_[node.at()].max_remote = nodes_[node.at()].remote;
    phase_pc_ = pc_;
  }
}

void Ledger::give_remote(int item, NodeId node, std::int64_t bytes, bool lasts) {
  count(rows_[item], -1, -bytes);
  if (lasts) add(now_.remote, -bytes);
  nodes_[node.at()].remote -= bytes;
  gave_back_ = true;
}

void Ledger::entries(NodeId node, std::int64_t n) {
  Node& home = nodes_[node.at()];
  home.largest = std::max(home.largest, slab_bytes());
  home.entries += n;
  home.max_entries = std::max(home.max_entries, home.entries);
}

/// The bytes that an allocation may not reclaim: copies that a statement may be working on.
std::int64_t Ledger::needed_copies() const { return std::min(cache_, 16 * largest_copy_); }

/// Half of a rank's memory, and what leaves a quarter of it free, but in any case the copies touched last.
std::int64_t Ledger::retained_copies(std::int64_t firm) const {
  const auto memory = static_cast<std::int64_t>(setting_.memory_per_rank);
  const std::int64_t room =
      std::min(memory / 2, memory / 4 * 3 - firm - nodes_[own_node_.at()].remote / nodes_[own_node_.at()].ranks);
  return std::max(std::min(cache_, 64 * largest_copy_), std::min(cache_, room));
}

/// The bytes that a rank's arena needs beside `least`, since a chunk lies in one piece in one arena. When none of n
/// arenas has room for a chunk of c bytes, more than n (arena - c) bytes are in use: (1 - 1/n) c bytes are lost at
/// most. Chunks of other sizes than those that were given back leave gaps, which the heap closes where neighbours are
/// free: one chunk and a sixteenth. Between nodes, puts under way take a sixteenth of the memory that there is
/// (Outbox), which is a fifteenth of all else.
std::int64_t Ledger::gaps(const Node& node, std::int64_t least) const {
  const std::int64_t largest = std::max(node.largest, node.workers ? largest_own_ : 0);
  const std::int64_t gaps = largest - largest / node.ranks + (gave_back_ ? largest + least / 16 : 0);
  return gaps + (several_nodes() ? (least + gaps + 14) / 15 : 0);
}

void Ledger::note(std::int64_t spike) {
  const std::int64_t firm = firm_ + spike, least = firm + needed_copies();
  phase_full_ = std::max(phase_full_, firm + retained_copies(firm) + sums_);
  if (least <= phase_least_) return;
  phase_least_ = least;
  phase_pc_ = pc_;
}

void Ledger::end_phase() {
  floor_ = std::max(floor_, phase_least_ + gaps(nodes_[own_node_.at()], phase_least_));
  for (Node& n : nodes_) {
    const std::int64_t shared = (n.max_remote + n.directory()) / n.ranks;
    peak_ = std::max(peak_, shared + (n.workers ? phase_full_ : 0));
    const std::int64_t least = shared + (n.workers ? phase_least_ : 0);
    if (least > least_) {
      least_ = least;
      peak_pc_ = phase_pc_;
    }
    enough_ = std::max(enough_, least + gaps(n, least));
    n.max_remote = n.remote;
  }
  phase_least_ = phase_full_ = 0;
  note();
}

std::uint64_t Ledger::signature() const {
  std::uint64_t h = mix_hash(static_cast<std::uint64_t>(firm_), static_cast<std::uint64_t>(cache_));
  h = mix_hash(h, static_cast<std::uint64_t>(peak_));
  for (const Row& row : rows_)
    h = mix_hash(h, mix_hash(static_cast<std::uint64_t>(row.bytes), static_cast<std::uint64_t>(row.blocks)));
  return h;
}

}  // namespace sial
