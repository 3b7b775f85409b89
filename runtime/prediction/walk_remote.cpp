// Remote arrays in the abstract walk: where puts place blocks, what fetches and private copies leave behind until the
// barrier.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/interp/operations/view_ops.h"
#include "runtime/prediction/walk.h"

namespace sial {

namespace {

/// Messages under way at once, in blocks: the sender's copy and the receiver's.
constexpr std::int64_t blocks_under_way = 2;

}  // namespace

int Walk::label_item(const std::string& label, SavedBlocks& saved) {
  saved.item = ledger_.item("\"" + label + "\"", "saved", true);
  for (const auto& [key, block] : saved.content.blocks) ledger_.carry(saved.item, 1, block.bytes);
  return saved.item;
}

void Walk::get(const ResolvedReference& ref) {
  for_each_block(ref, [&](const At& at) {
    RemoteBlocks& array = remote_[ref.array.at()];
    const auto found = array.blocks.find(at.key);
    const NodeId node = found != array.blocks.end() ? found->second.node : ledger_.home(array.placement, at.block);
    if (found != array.blocks.end() && node == ledger_.own_node() && pardo_.on_node && !memory_.setting.copy &&
        !found->second.read) {
      found->second.read = true;
      read_blocks_.emplace_back(ref.array, at.key);
    }
    if ((node == ledger_.own_node() && !memory_.setting.copy) || !pardo_.mine) return;
    Held& held = held_[ref.array.at()][at.key];
    if (held.fetched > 0) return;
    held.fetched = pieces_bytes(at.size);
    if (held.kept + held.put > 0) {
      held.kept = held.put = 0;
      return ledger_.use_kept(held.fetched);
    }
    ledger_.fetch(held.fetched);
  });
}

double* Walk::private_copy(ArrayId array, const At& at) {
  if (!pardo_.mine) return nullptr;
  Held& held = held_[array.at()][at.key];
  if (!held.own.address) {
    if (copies_item_ < 0) copies_item_ = ledger_.item("private copies of remote blocks", "", false);
    held.own = new_memory(copies_item_, at.size);
  }
  return held.own.address;
}

void Walk::put(std::int32_t ref_id, std::int32_t source, bool has_source, SetOp op) {
  const ResolvedReference& ref = bound_.refs[ref_id];
  std::int64_t packed = 0;
  if (has_source) {
    const auto view = read_view(source);
    if (view && !is_dense(*view)) packed = pieces_bytes(view_size(*view));
  }
  for_each_block(ref, [&](const At& at) {
    put_one(ref.array, at, op == SetOp::add || op == SetOp::subtract, op == SetOp::scale);
    std::int64_t under_way = 0;
    if (has_source && ledger_.several_nodes() &&
        ledger_.home(remote_[ref.array.at()].placement, at.block) != ledger_.own_node())
      under_way = blocks_under_way * pieces_bytes(at.size);
    if (under_way > 0 && pardo_.mine && op == SetOp::assign && has_source) retain_put(ref.array, at);
    ledger_.spike(packed + under_way);
  });
}

/// On its home node the block's memory is what the source had, and counts as the node's from now on; what is a remote
/// block's already costs nothing more until one of the two is written.
void Walk::put_alias(const Instruction& in) {
  const ResolvedReference& target = bound_.refs[in.a];
  const ResolvedReference& source = bound_.refs[in.b];
  At to, from;
  if (memory_.setting.copy || !locate(target, to) || !locate(source, from) ||
      ledger_.home(remote_[target.array.at()].placement, to.block) != NodeId(0))
    return put(in.a, in.b, true, SetOp::assign);
  const auto found = blocks_[source.array.at()].find(from.key);
  if (found == blocks_[source.array.at()].end() || !found->second.of_store) {
    put(in.a, in.b, true, SetOp::assign);
    if (found == blocks_[source.array.at()].end() || found->second.bytes == 0) return;
    ledger_.give(items_[source.array.at()], found->second.bytes);
    found->second = {found->second.address, 0, true};
    return;
  }
  RemoteBlocks& array = remote_[target.array.at()];
  const auto block = array.blocks.find(to.key);
  if (block == array.blocks.end()) {
    RemoteBlocks::Block fresh;
    fresh.bytes = pieces_bytes(to.size);
    fresh.node = NodeId(0);
    fresh.shared = true;
    if (array.blocks.empty()) ledger_.add_entries(fresh.node, 1);
    ledger_.add_entries(fresh.node, 1);
    item_of(target.array);
    array.blocks.emplace(to.key, fresh);
    return;
  }
  if (block->second.shared) return;
  if (block->second.read) until_barrier_.push_back({item_of(target.array), block->second.node, block->second.bytes});
  else ledger_.give_remote(item_of(target.array), block->second.node, block->second.bytes);
  block->second.shared = true;
  block->second.read = false;
}

/// What a rank puts is a copy of the block for the next phase.
void Walk::retain_put(ArrayId array, const At& at) {
  if (!retain_puts_[array.at()]) return;
  Held& held = held_[array.at()][at.key];
  if (held.fetched > 0 || held.put > 0 || held.own.address) return;
  held.put = pieces_bytes(at.size);
  if (held.kept == 0) ledger_.fetch(held.put);
  held.kept = 0;
}

void Walk::hold_sum(const ResolvedReference& ref) {
  for_each_block(ref, [&](const At& at) {
    if (!pardo_.mine || ledger_.home(remote_[ref.array.at()].placement, at.block) == ledger_.own_node() ||
        memory_.setting.copy || memory_.setting.deterministic)
      return;
    Held& held = held_[ref.array.at()][at.key];
    if (held.summed) return;
    held.summed = true;
    ledger_.hold_sum(pieces_bytes(at.size));
  });
}

void Walk::put_one(ArrayId id, const At& at, bool adds, bool scales) {
  RemoteBlocks& array = remote_[id.at()];
  auto found = array.blocks.find(at.key);
  if (found == array.blocks.end()) {
    if (scales) return;
    RemoteBlocks::Block block;
    block.bytes = pieces_bytes(at.size);
    block.node = ledger_.home(array.placement, at.block);
    if (array.blocks.empty()) ledger_.add_entries(block.node, 1);  // the generation's own
    ledger_.add_entries(block.node, 1);
    ledger_.take_remote(item_of(id), block.node, block.bytes);
    found = array.blocks.emplace(at.key, block).first;
  }
  RemoteBlocks::Block& block = found->second;
  if (adds && memory_.setting.deterministic) {
    // Contributions wait for the barrier: one per executing rank.
    for (int r = 0; r < (pardo_.active && pardo_.shared ? 1 : memory_.setting.ranks); ++r) {
      ledger_.take_remote(item_of(id), block.node, block.bytes);
      until_barrier_.push_back({item_of(id), block.node, block.bytes});
    }
    return;
  }
  if (block.shared) {
    ledger_.take_remote(item_of(id), block.node, block.bytes);
    block.shared = false;
  } else if (block.read) {
    ledger_.take_remote(item_of(id), block.node, block.bytes);
    until_barrier_.push_back({item_of(id), block.node, block.bytes});
  }
  block.read = false;
}

void Walk::drop_held(ArrayId array) {
  for (const auto& [key, held] : held_[array.at()])
    if (held.own.address) ledger_.give(copies_item_, held.own.bytes);
  held_[array.at()].clear();
}

void Walk::barrier() {
  std::int64_t kept = 0;
  for (std::size_t a = 0; a < held_.size(); ++a) {
    std::unordered_map<std::uint64_t, Held> stay;
    if (keep_copies_[a])
      for (const auto& [key, held] : held_[a])
        if (const std::int64_t bytes = held.fetched + held.put + (keep_copies_[a] == KeepCopies::used ? 0 : held.kept);
            bytes > 0) {
          stay[key].kept = bytes;
          kept += bytes;
        }
    drop_held(ArrayId(a));
    held_[a] = std::move(stay);
    keep_copies_[a].reset();
  }
  ledger_.drop_fetched(kept);
  ledger_.end_phase();
  for (const Extra& extra : until_barrier_) ledger_.give_remote(extra.item, extra.node, extra.bytes);
  until_barrier_.clear();
  for (const auto& [array, key] : read_blocks_)
    if (const auto found = remote_[array.at()].blocks.find(key); found != remote_[array.at()].blocks.end())
      found->second.read = false;
  read_blocks_.clear();
  cyclic_counter_ = 0;
}

void Walk::erase(ArrayId id) {
  drop_held(id);
  RemoteBlocks& array = remote_[id.at()];
  for (const auto& [key, block] : array.blocks) {
    ledger_.remove_entries(block.node, 1);
    if (!block.shared) ledger_.give_remote(item_of(id), block.node, block.bytes);
  }
  array.blocks.clear();
  array.restored_from.clear();
}

void Walk::restore(ArrayId id, const std::string& label) {
  const auto saved = memory_.labels.find(label);
  if (saved == memory_.labels.end()) {
    if (uncertain_.empty())
      fail(fmt::format("no distributed or served array was saved under the label \"{}\"", label),
           "an earlier program of the job must mark one with set_persistent");
    return;
  }
  erase(id);
  RemoteBlocks& array = remote_[id.at()];
  array = saved->second.content;
  array.restored_from = label;
  for (auto& [key, block] : array.blocks) {
    block.shared = true;
    ledger_.add_entries(block.node, 1);
  }
}

}  // namespace sial
