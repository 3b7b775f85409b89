#include "runtime/core/model/memory/own_blocks.h"

#include <algorithm>
#include <utility>

namespace sial {

ModelOwnBlocks::ModelOwnBlocks(ModelContext& context, const IterationShare& share)
    : context_(context),
      share_(share),
      blocks_(context.module.arrays.size()),
      regions_(context.module.arrays.size()),
      statics_(context.module.arrays.size()) {}

void ModelOwnBlocks::record_made(const ResolvedReference& ref, std::uint64_t key) {
  if (ref.kind == ArrayKind::temp) temps_.created(ref.array, key);
  else if (share_.in_pardo) created_locals_.push_back({ref.array, key});
}

double* ModelOwnBlocks::to_write(const ResolvedReference& ref, const Located& at) {
  auto& blocks = blocks_[ref.array.at()];
  if (const auto found = blocks.find(at.key); found != blocks.end()) {
    // Memory it shared until now, or that others share.
    if (found->second.bytes == 0 || sharers_.contains(found->second.address)) {
      leave(ref.array, found->second);
      found->second = context_.take(context_.item_of(ref.array), at.size);
    }
    return found->second.address;
  }
  const ModelMemory own = context_.take(context_.item_of(ref.array), at.size);
  blocks.emplace(at.key, own);
  record_made(ref, at.key);
  return own.address;
}

const ModelMemory* ModelOwnBlocks::find(ArrayId array, std::uint64_t key) const {
  const auto found = blocks_[array.at()].find(key);
  return found != blocks_[array.at()].end() ? &found->second : nullptr;
}

void ModelOwnBlocks::free(ArrayId array, std::uint64_t key) {
  const auto found = blocks_[array.at()].find(key);
  if (found == blocks_[array.at()].end()) return;
  const ModelMemory own = found->second;
  blocks_[array.at()].erase(found);
  leave(array, own);
}

void ModelOwnBlocks::free_early(ArrayId array, std::uint64_t key) {
  free(array, key);
  temps_.freed(array, key);
}

/// A block gives up the memory it counted for: the first of those that share it counts for it from now on.
void ModelOwnBlocks::leave(ArrayId array, const ModelMemory& memory) {
  if (memory.bytes == 0) return;
  context_.ledger.give(context_.item_of(array), memory.bytes);
  const auto shared = sharers_.find(memory.address);
  if (shared == sharers_.end()) return;
  std::vector<TempBlock> rest = std::move(shared->second);
  sharers_.erase(shared);
  while (!rest.empty()) {
    const TempBlock heir = rest.front();
    rest.erase(rest.begin());
    const auto block = blocks_[heir.array.at()].find(heir.key);
    if (block == blocks_[heir.array.at()].end() || block->second.bytes > 0 || block->second.address != memory.address)
      continue;
    block->second.bytes = memory.bytes;
    context_.ledger.take(context_.item_of(heir.array), memory.bytes);
    if (!rest.empty()) sharers_.emplace(memory.address, std::move(rest));
    return;
  }
}

void ModelOwnBlocks::share(const ResolvedReference& ref, const Located& at, double* address, bool of_store) {
  context_.item_of(ref.array);
  auto& blocks = blocks_[ref.array.at()];
  if (!of_store) sharers_[address].push_back({ref.array, at.key});
  if (const auto found = blocks.find(at.key); found != blocks.end()) {
    if (found->second.address == address) return;
    leave(ref.array, found->second);
    found->second = {address, 0, of_store};
    return;
  }
  blocks.emplace(at.key, ModelMemory{address, 0, of_store});
  record_made(ref, at.key);
}

void ModelOwnBlocks::give_to_store(ArrayId array, std::uint64_t key) {
  const auto found = blocks_[array.at()].find(key);
  if (found == blocks_[array.at()].end() || found->second.bytes == 0) return;
  context_.ledger.give(context_.item_of(array), found->second.bytes);
  found->second = {found->second.address, 0, true};
}

void ModelOwnBlocks::end_iteration() {
  temps_.end_iteration([this](TempBlock t) { free(t.array, t.key); });
}

void ModelOwnBlocks::leave_loop() {
  temps_.leave_loop([this](TempBlock t) { free(t.array, t.key); });
}

void ModelOwnBlocks::end_pardo_iteration() {
  if (!share_.mine)
    for (const TempBlock& created : created_locals_) free(created.array, created.key);
  created_locals_.clear();
}

double* ModelOwnBlocks::static_memory(ArrayId id) {
  ModelMemory& memory = statics_[id.at()];
  const BoundArray& array = context_.array(id);
  if (!memory.address && array.problem.empty()) memory = context_.take(context_.item_of(id), array.whole.size());
  return memory.address;
}

std::optional<RegionBounds> ModelOwnBlocks::bounds(const RegionRow& row, const PlannedRegisters& registers) const {
  const BoundArray& array = context_.array(row.array);
  if (!array.problem.empty()) return {};
  RegionBounds result;
  for (std::size_t d = 0; d < static_cast<std::size_t>(array.rank); ++d) {
    const BoundDim& dim = array.dim[d];
    std::int32_t &lo = result.lo[d], &hi = result.hi[d];
    lo = registers.integer(row.lo[d]).value_or(dim.lo);
    hi = registers.integer(row.hi[d]).value_or(dim.hi);
    if (lo > hi || lo < dim.lo || hi > dim.hi) return {};
  }
  return result;
}

void ModelOwnBlocks::allocate(const RegionRow& row, const PlannedRegisters& registers) {
  const auto region = bounds(row, registers);
  if (!region) return;
  const std::int64_t size = region_shape(context_.array(row.array), *region).size();
  regions_[row.array.at()].push_back({*region, context_.take(context_.item_of(row.array), size)});
}

void ModelOwnBlocks::deallocate(const RegionRow& row, const PlannedRegisters& registers) {
  const auto region = bounds(row, registers);
  if (!region) return;
  auto& list = regions_[row.array.at()];
  const auto found = std::find_if(list.begin(), list.end(), [&](const Region& r) { return r.bounds == *region; });
  if (found == list.end()) return;
  context_.ledger.give(context_.item_of(row.array), found->memory.bytes);
  list.erase(found);
}

std::optional<MutableView> ModelOwnBlocks::region_part(ArrayId id, const RegionBounds& part) const {
  const BoundArray& array = context_.array(id);
  for (const Region& r : regions_[id.at()])
    if (r.bounds.contains(part, array.rank)) return region_part_view(array, r.bounds, r.memory.address, part);
  return {};
}

void ModelOwnBlocks::end_temps() {
  temps_.end_all([this](TempBlock t) { free(t.array, t.key); });
}

void ModelOwnBlocks::free_all() {
  for (std::size_t a = 0; a < blocks_.size(); ++a) {
    const ArrayId id(a);
    while (!blocks_[a].empty()) free(id, blocks_[a].begin()->first);
    for (const Region& r : regions_[a]) context_.ledger.give(context_.item_of(id), r.memory.bytes);
    if (statics_[a].address) context_.ledger.give(context_.item_of(id), statics_[a].bytes);
  }
}

}  // namespace sial
