#include "runtime/core/model/memory/remote_blocks.h"

namespace sial {
namespace {

/// Messages under way at once, in blocks: the sender's copy and the receiver's.
constexpr std::int64_t blocks_under_way = 2;
/// So much work, in instructions, is the entry of a block.
constexpr std::int64_t steps_per_block = 4;

}  // namespace

ModelRemoteBlocks::ModelRemoteBlocks(ModelContext& context, const IterationShare& share)
    : context_(context),
      share_(share),
      remote_(context.module.arrays.size()),
      held_(context.module.arrays.size()),
      keep_copies_(context.module.arrays.size()),
      retain_puts_(context.module.arrays.size(), 0) {
  for (std::size_t a = 0; a < remote_.size(); ++a) remote_[a].placement = array_placement(context.sequence, ArrayId(a));
}

void ModelRemoteBlocks::begin_program() {
  for (auto& [label, saved] : context_.memory.labels) label_item(label, saved);
}

int ModelRemoteBlocks::label_item(const std::string& label, SavedBlocks& saved) {
  saved.item = context_.ledger.item("\"" + label + "\"", "saved", true);
  for (const auto& [key, block] : saved.content.blocks) context_.ledger.carry(saved.item, 1, block.bytes);
  return saved.item;
}

bool ModelRemoteBlocks::is_home(ArrayId array, const Located& at) const {
  return home(array, at) == context_.ledger.own_node();
}

void ModelRemoteBlocks::get(ArrayId id, const Located& at) {
  const bool copy = context_.memory.setting.copy;
  RemoteBlocks& array = remote_[id.at()];
  const auto found = array.blocks.find(at.key);
  const NodeId node = found != array.blocks.end() ? found->second.node : home(id, at);
  // A reader of a block that a sparse array does not have makes zeros of its own.
  const bool absent = found == array.blocks.end() && context_.module.arrays[id.at()].sparse;
  const bool here = node == context_.ledger.own_node() && !copy && !absent;
  if (found != array.blocks.end() && here && share_.on_node && !found->second.read) {
    found->second.read = true;
    read_blocks_.emplace_back(id, at.key);
  }
  if (here || !share_.mine) return;
  ArrayFootprint& held = held_[id.at()][at.key];
  if (held.fetched > 0) return;
  context_.memory.steps_left -= steps_per_block;
  held.fetched = heap_bytes(at.size);
  if (held.retained + held.put > 0) {
    held.retained = held.put = 0;
    return context_.ledger.use_retained(held.fetched);
  }
  context_.ledger.fetch(held.fetched);
}

double* ModelRemoteBlocks::private_copy(ArrayId array, const Located& at) {
  if (!share_.mine) return nullptr;
  ArrayFootprint& held = held_[array.at()][at.key];
  if (!held.own.address) {
    if (copies_item_ < 0) copies_item_ = context_.ledger.item("private copies of remote blocks", "", false);
    held.own = context_.take(copies_item_, at.size);
  }
  return held.own.address;
}

double* ModelRemoteBlocks::copy_at(ArrayId array, std::uint64_t key) const {
  const auto found = held_[array.at()].find(key);
  return found != held_[array.at()].end() ? found->second.own.address : nullptr;
}

std::int64_t ModelRemoteBlocks::put(ArrayId array, const Located& at, SetOp op, bool of_block) {
  put_block(array, at, op == SetOp::add || op == SetOp::subtract, op == SetOp::scale);
  if (!of_block || !context_.ledger.several_nodes() || is_home(array, at)) return 0;
  if (share_.mine && op == SetOp::assign) retain_put(array, at);
  return blocks_under_way * heap_bytes(at.size);
}

void ModelRemoteBlocks::give(ArrayId array) {
  Located at;
  walk_all_blocks(context_.bound.arrays[array.at()], at,
                  [&](const Located& block) { put_block(array, block, false, false); });
}

void ModelRemoteBlocks::put_alias(ArrayId id, const Located& at) {
  RemoteBlocks& array = remote_[id.at()];
  const auto block = array.blocks.find(at.key);
  if (block == array.blocks.end()) {
    RemoteBlocks::Block fresh;
    fresh.bytes = heap_bytes(at.size);
    fresh.node = context_.ledger.own_node();
    fresh.shared = true;
    if (array.blocks.empty()) context_.ledger.add_entries(fresh.node, 1);
    context_.ledger.add_entries(fresh.node, 1);
    context_.item_of(id);
    array.blocks.emplace(at.key, fresh);
    return;
  }
  if (block->second.shared) return;
  const int item = context_.item_of(id);
  if (block->second.read) until_barrier_.push_back({item, block->second.node, block->second.bytes});
  else context_.ledger.give_remote(item, block->second.node, block->second.bytes);
  block->second.shared = true;
  block->second.read = false;
}

/// A rank's put is a copy of the block for the next phase.
void ModelRemoteBlocks::retain_put(ArrayId array, const Located& at) {
  if (!retain_puts_[array.at()]) return;
  ArrayFootprint& held = held_[array.at()][at.key];
  if (held.fetched > 0 || held.put > 0 || held.own.address) return;
  held.put = heap_bytes(at.size);
  if (held.retained == 0) context_.ledger.fetch(held.put);
  held.retained = 0;
}

void ModelRemoteBlocks::hold_sum(ArrayId array, const Located& at) {
  const PlanSetting& setting = context_.memory.setting;
  if (!share_.mine || is_home(array, at) || setting.copy || setting.deterministic) return;
  ArrayFootprint& held = held_[array.at()][at.key];
  if (held.summed) return;
  held.summed = true;
  context_.ledger.hold_sum(heap_bytes(at.size));
}

void ModelRemoteBlocks::take_until_barrier(ArrayId array, const RemoteBlocks::Block& block) {
  const int item = context_.item_of(array);
  context_.ledger.take_remote(item, block.node, block.bytes, false);
  until_barrier_.push_back({item, block.node, block.bytes, false});
}

void ModelRemoteBlocks::put_block(ArrayId id, const Located& at, bool adds, bool scales) {
  Ledger& ledger = context_.ledger;
  RemoteBlocks& array = remote_[id.at()];
  auto found = array.blocks.find(at.key);
  if (found == array.blocks.end()) {
    if (scales) return;
    RemoteBlocks::Block block;
    block.bytes = heap_bytes(at.size);
    block.node = home(id, at);
    if (array.blocks.empty()) ledger.add_entries(block.node, 1);  // the generation's own
    ledger.add_entries(block.node, 1);
    ledger.take_remote(context_.item_of(id), block.node, block.bytes);
    found = array.blocks.emplace(at.key, block).first;
    context_.memory.steps_left -= steps_per_block;
  }
  RemoteBlocks::Block& block = found->second;
  if (adds && context_.memory.setting.deterministic) {
    // Contributions wait for the barrier: one per executing rank.
    const int contributions = share_.divided ? 1 : context_.memory.setting.ranks;
    for (int r = 0; r < contributions; ++r) take_until_barrier(id, block);
    return;
  }
  if (block.shared) {
    ledger.take_remote(context_.item_of(id), block.node, block.bytes);
    block.shared = false;
  } else if (block.read) {
    take_until_barrier(id, block);
  }
  block.read = false;
}

void ModelRemoteBlocks::keep_copies(ArrayId array, KeepCopies how) {
  if (context_.memory.setting.copy) return;
  keep_copies_[array.at()] = how;
  if (how != KeepCopies::unchanged) retain_puts_[array.at()] = 1;
}

void ModelRemoteBlocks::drop_held(ArrayId array) {
  for (const auto& [key, held] : held_[array.at()])
    if (held.own.address) context_.ledger.give(copies_item_, held.own.bytes);
  held_[array.at()].clear();
}

void ModelRemoteBlocks::barrier() {
  std::int64_t retained = 0;
  for (std::size_t a = 0; a < held_.size(); ++a) {
    std::unordered_map<std::uint64_t, ArrayFootprint> stay;
    if (keep_copies_[a])
      for (const auto& [key, held] : held_[a])
        if (const std::int64_t bytes =
                held.fetched + held.put + (keep_copies_[a] == KeepCopies::used ? 0 : held.retained);
            bytes > 0) {
          stay[key].retained = bytes;
          retained += bytes;
        }
    drop_held(ArrayId(a));
    held_[a] = std::move(stay);
    keep_copies_[a].reset();
  }
  context_.ledger.drop_fetched(retained);
  context_.ledger.end_phase();
  for (const Extra& extra : until_barrier_)
    context_.ledger.give_remote(extra.item, extra.node, extra.bytes, extra.lasts);
  until_barrier_.clear();
  for (const auto& [array, key] : read_blocks_)
    if (const auto found = remote_[array.at()].blocks.find(key); found != remote_[array.at()].blocks.end())
      found->second.read = false;
  read_blocks_.clear();
}

void ModelRemoteBlocks::erase(ArrayId id) {
  drop_held(id);
  RemoteBlocks& array = remote_[id.at()];
  for (const auto& [key, block] : array.blocks) {
    context_.ledger.remove_entries(block.node, 1);
    if (!block.shared) context_.ledger.give_remote(context_.item_of(id), block.node, block.bytes);
  }
  array.blocks.clear();
  array.restored_from.clear();
}

bool ModelRemoteBlocks::restore(ArrayId id, const std::string& label) {
  const auto saved = context_.memory.labels.find(label);
  if (saved == context_.memory.labels.end()) return false;
  erase(id);
  RemoteBlocks& array = remote_[id.at()];
  array = saved->second.content;
  array.restored_from = label;
  for (auto& [key, block] : array.blocks) {
    block.shared = true;
    context_.ledger.add_entries(block.node, 1);
  }
  return true;
}

void ModelRemoteBlocks::save(ArrayId id, const std::string& name) {
  Ledger& ledger = context_.ledger;
  RemoteBlocks& from = remote_[id.at()];
  SavedBlocks& label = context_.memory.labels[name];
  if (label.item < 0) label_item(name, label);
  for (auto& [key, block] : label.content.blocks) {
    const auto retained = from.restored_from == name ? from.blocks.find(key) : from.blocks.end();
    if (retained != from.blocks.end() && retained->second.shared) continue;
    ledger.give_remote(label.item, block.node, block.bytes);
  }
  for (auto& [key, block] : from.blocks) {
    if (!block.shared) {
      ledger.carry(context_.item_of(id), -1, -block.bytes);
      ledger.carry(label.item, 1, block.bytes);
    } else if (from.restored_from != name) {
      ledger.take_remote(label.item, block.node, block.bytes);  // two labels that share a block count it twice
    }
    block.shared = block.read = false;
  }
  label.content.blocks = std::move(from.blocks);
  label.content.placement = from.placement;
  label.content.restored_from.clear();
  from.blocks.clear();
}

}  // namespace sial
