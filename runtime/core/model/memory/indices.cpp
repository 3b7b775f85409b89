#include "runtime/core/model/memory/indices.h"

#include <algorithm>

namespace sial {

void ModelIndices::bind_largest(IndexId id) {
  const BoundIndex& index = context_.bound.indices[id.at()];
  values_[id.at()] = {true, false, largest_segment(id, index.lo, index.hi)};
}

std::optional<std::int32_t> ModelIndices::known(IndexId index) const {
  const Value& v = values_[index.at()];
  return v.known ? std::optional(v.value) : std::nullopt;
}

std::int32_t ModelIndices::largest_segment(IndexId id, std::int32_t lo, std::int32_t hi) const {
  const BoundIndex& index = context_.bound.indices[id.at()];
  if (index.is_sub) return 1;
  std::int32_t best = lo;
  if (!index.extents) return best;
  const auto extent = [&](std::int32_t segment) { return (*index.extents)[static_cast<std::size_t>(segment - 1)]; };
  for (std::int32_t s = lo; s <= hi; ++s)
    if (extent(s) > extent(best)) best = s;
  return best;
}

bool ModelIndices::locate(const ResolvedReference& ref, const BoundDim& dim, int d, Located& at) const {
  const ResolvedReference::Entry& entry = ref.entry[static_cast<std::size_t>(d)];
  if (entry.mode == EntryMode::wildcard) return false;
  const Value& now = values_[entry.index.at()];
  if (!now.bound || dim.lo > dim.hi) return false;
  std::int32_t segment = now.value, sub = 0;
  if (entry.mode == EntryMode::combined || entry.mode == EntryMode::box) {
    const Value& parent = values_[entry.parent.at()];
    if (!parent.bound) return false;
    if (entry.mode == EntryMode::combined) segment = combined_segment(parent.value, segment);
    else sub = segment, segment = parent.value;
  } else if (!now.known) {
    // Any segment that the loop and the array have in common: the largest.
    const BoundIndex& index = context_.bound.indices[entry.index.at()];
    const std::int32_t lo = std::max(index.lo, dim.lo), hi = std::min(index.hi, dim.hi);
    if (lo > hi) return false;
    if (segment < lo || segment > hi) segment = largest_segment(entry.index, lo, hi);
  }
  if (segment < dim.lo || segment > dim.hi) return false;
  at.set(ref, dim, d, segment, sub);
  return true;
}

std::optional<Located> ModelIndices::locate(const ResolvedReference& ref) const {
  const BoundArray& array = context_.array(ref.array);
  if (!array.problem.empty()) return {};
  Located at;
  at.block.rank = at.shape.rank = ref.rank;
  for (int d = 0; d < ref.rank; ++d)
    if (!locate(ref, array.dim[static_cast<std::size_t>(d)], d, at)) return {};
  return at;
}

void ModelIndices::for_each_block(const ResolvedReference& ref, const std::function<void(const Located&)>& f) const {
  const BoundArray& array = context_.array(ref.array);
  if (!array.problem.empty()) return;
  std::array<std::int32_t, max_rank> lo{}, hi{};
  Located at;
  for (std::size_t d = 0; d < static_cast<std::size_t>(ref.rank); ++d) {
    const ResolvedReference::Entry& entry = ref.entry[d];
    const BoundDim& dim = array.dim[d];
    lo[d] = dim.lo;
    hi[d] = dim.hi;
    if (entry.mode == EntryMode::wildcard) continue;
    const IndexId id = entry.mode == EntryMode::segment ? entry.index : entry.parent;
    const Value& now = values_[id.at()];
    if (!now.bound || !values_[entry.index.at()].bound) return;
    std::int32_t first = now.value, last = now.value;
    if (!now.known) {
      first = context_.bound.indices[id.at()].lo;
      last = context_.bound.indices[id.at()].hi;
    }
    if (entry.mode == EntryMode::combined) {
      const Value& sub = values_[entry.index.at()];
      first = combined_segment(first, sub.known ? sub.value : 1);
      last = combined_segment(last, sub.known ? sub.value : subsegments_per_segment);
    }
    lo[d] = std::max(lo[d], first);
    hi[d] = std::min(hi[d], last);
  }
  walk_blocks(array, lo, hi, at, f);
}

}  // namespace sial
