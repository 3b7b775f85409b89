#include "runtime/core/model/spill/node_blocks.h"

#include <utility>

namespace sial {

void PlannedNodeBlocks::load(const std::map<std::string, SavedBlocks>& labels) {
  for (const auto& [name, saved] : labels) {
    ArrayEntry& label = labels_[name];
    label.placement = saved.content.placement;
    for (const auto& [key, block] : saved.content.blocks) {
      if (block.node != node_) continue;
      const std::uint32_t number = make(label, "\"" + name + "\"", block.bytes);
      label.blocks.emplace(key, number);
      sequence_.begin_group(0);
      sequence_.access(number, AccessKind::write, 0);
    }
  }
}

void PlannedNodeBlocks::begin_program(const ModelContext& context, std::int32_t first_place) {
  context_ = &context;
  first_place_ = place_ = first_place;
  arrays_.assign(context.module.arrays.size(), {});
  for (std::size_t a = 0; a < arrays_.size(); ++a) arrays_[a].placement = array_placement(context.sequence, ArrayId(a));
}

bool PlannedNodeBlocks::is_here(const ArrayEntry& array, const Located& at) const {
  return context_->ledger.home(array.placement, at.block) == node_;
}

std::uint32_t PlannedNodeBlocks::make(ArrayEntry& array, const std::string& name, std::int64_t bytes) {
  if (array.row < 0) {
    const auto [row, is_new] = rows_.emplace(name, 0);
    if (is_new) row->second = sequence_.add_array(name);
    array.row = row->second;
  }
  holders_.push_back(1);
  return sequence_.add_block(static_cast<std::uint32_t>(array.row), bytes);
}

void PlannedNodeBlocks::release(std::uint32_t block) {
  if (--holders_[block] == 0) sequence_.access(block, AccessKind::dies, place_);
}

void PlannedNodeBlocks::release_all(ArrayEntry& held) {
  for (const auto& [key, block] : held.blocks) release(block);
  held.blocks.clear();
}

void PlannedNodeBlocks::read(ArrayId array, const Located& at) {
  const auto& blocks = arrays_[array.at()].blocks;
  if (const auto found = blocks.find(at.key); found != blocks.end())
    sequence_.access(found->second, AccessKind::read, place_);
}

void PlannedNodeBlocks::put(ArrayId id, const Located& at, SetOp op) {
  ArrayEntry& array = arrays_[id.at()];
  const AccessKind kind = op == SetOp::assign ? AccessKind::write : AccessKind::update;
  const auto found = array.blocks.find(at.key);
  if (found != array.blocks.end() && holders_[found->second] == 1) return sequence_.access(found->second, kind, place_);
  if (found == array.blocks.end() && (op == SetOp::scale || !is_here(array, at))) return;
  const std::uint32_t block = make(array, context_->module.arrays[id.at()].name, heap_bytes(at.size));
  if (found == array.blocks.end()) array.blocks.emplace(at.key, block);
  else {  // the label keeps the block that both held
    if (kind == AccessKind::update) sequence_.access(found->second, AccessKind::read, place_);
    release(std::exchange(found->second, block));
  }
  sequence_.access(block, AccessKind::write, place_);
}

void PlannedNodeBlocks::erase(ArrayId array) { release_all(arrays_[array.at()]); }

void PlannedNodeBlocks::discard(ArrayId array) {
  for (const auto& [key, block] : arrays_[array.at()].blocks)
    if (holders_[block] == 1) sequence_.access(block, AccessKind::dies, place_);
}

bool PlannedNodeBlocks::restore(ArrayId id, const std::string& name) {
  const auto label = labels_.find(name);
  if (label == labels_.end()) return false;
  erase(id);
  arrays_[id.at()] = label->second;
  for (const auto& [key, block] : label->second.blocks) ++holders_[block];
  return true;
}

void PlannedNodeBlocks::save(ArrayId id, const std::string& name) {
  const ArrayEntry& array = arrays_[id.at()];
  for (const auto& [key, block] : array.blocks) ++holders_[block];
  ArrayEntry& label = labels_[name];
  release_all(label);
  label = array;
}

std::vector<std::string> PlannedNodeBlocks::labels() const {
  std::vector<std::string> names;
  for (const auto& [name, label] : labels_) names.push_back(name);
  return names;
}

void PlannedNodeBlocks::drop(const std::string& name) {
  const auto label = labels_.find(name);
  release_all(label->second);
  labels_.erase(label);
}

void PlannedNodeBlocks::read_saved() {
  if (labels_.empty()) return;
  sequence_.begin_phase();
  for (const auto& [name, label] : labels_)
    for (const auto& [key, block] : label.blocks) {
      sequence_.begin_group(0);
      sequence_.access(block, AccessKind::read, place_);
    }
}

}  // namespace sial
