// Which blocks a reference means in the abstract walk, and the memory that statements on blocks take.

#include <algorithm>

#include "runtime/bytecode/layout.h"
#include "runtime/interp/operations/view_ops.h"
#include "runtime/memory/node_heap.h"
#include "runtime/prediction/walk.h"

namespace sial {

namespace {

constexpr int max_labels = 3 * max_rank;

/// Whether kernels accept the operands: labels unique per operand, equal labels of equal extents, each of the target's
/// in one source. A walk both ways can meet statements that a run would not.
bool consistent(const BlockOp& op) {
  struct Seen {
    std::int32_t label;
    std::int64_t extent;
    int d = 0, a = 0, b = 0;
  };
  std::array<Seen, max_labels> seen{};
  int n = 0;
  const auto add = [&](const auto& view, int Seen::* operand) {
    for (int i = 0; i < view.rank; ++i) {
      int k = 0;
      while (k < n && seen[k].label != view.label[i]) ++k;
      if (k == n) seen[n++] = {view.label[i], view.extent[i]};
      if (seen[k].extent != view.extent[i] || ++(seen[k].*operand) > 1) return false;
    }
    return true;
  };
  if (!add(op.d, &Seen::d) || !add(op.a, &Seen::a) || (op.has_b && !add(op.b, &Seen::b))) return false;
  return std::all_of(seen.begin(), seen.begin() + n, [](const Seen& s) { return s.d + s.a + s.b == 2; });
}

}  // namespace

std::int64_t Walk::pieces_bytes(std::int64_t doubles) const {
  return static_cast<std::int64_t>(NodeHeap::chunk_bytes(doubles));
}

int Walk::item_of(ArrayId array) {
  if (items_[array.at()] < 0)
    items_[array.at()] =
        ledger_.item(m_.arrays[array.at()].name, std::string(array_kind_text(m_.arrays[array.at()].kind)),
                     is_remote(m_.arrays[array.at()].kind));
  return items_[array.at()];
}

std::int32_t Walk::largest_segment(IndexId id, std::int32_t lo, std::int32_t hi) const {
  const BoundIndex& index = bound_.indices[id.at()];
  if (index.is_sub) return 1;
  std::int32_t best = lo;
  if (!index.extents) return best;
  for (std::int32_t s = lo; s <= hi; ++s)
    if ((*index.extents)[s - 1] > (*index.extents)[best - 1]) best = s;
  return best;
}

/// False when the reference means no block: an index without a value, or outside of the array.
bool Walk::locate(const ResolvedReference& ref, At& at) const {
  const BoundArray& array = bound_.arrays[ref.array.at()];
  if (!array.problem.empty()) return false;
  at = At{};
  at.block.rank = at.shape.rank = ref.rank;
  for (int d = 0; d < ref.rank; ++d) {
    const ResolvedReference::Entry& entry = ref.entry[d];
    const BoundDim& dim = array.dim[d];
    if (entry.mode == EntryMode::wildcard) return false;
    const IndexNow& now = index_[entry.index.at()];
    if (!now.bound || dim.lo > dim.hi) return false;
    std::int32_t segment = now.value, sub = 0;
    if (entry.mode == EntryMode::combined || entry.mode == EntryMode::box) {
      const IndexNow& parent = index_[entry.parent.at()];
      if (!parent.bound) return false;
      if (entry.mode == EntryMode::combined) segment = combined_segment(parent.value, segment);
      else sub = segment, segment = parent.value;
    } else if (!now.known) {
      // Any segment that the loop and the array have in common: the largest.
      const BoundIndex& index = bound_.indices[entry.index.at()];
      const std::int32_t lo = std::max(index.lo, dim.lo), hi = std::min(index.hi, dim.hi);
      if (lo > hi) return false;
      if (segment < lo || segment > hi) segment = largest_segment(entry.index, lo, hi);
    }
    if (segment < dim.lo || segment > dim.hi) return false;
    const std::int64_t extent = dim.extent_of(segment);
    at.block.segment[d] = segment;
    at.shape.extent[d] = extent;
    at.size *= extent;
    at.key += static_cast<std::uint64_t>(segment - dim.lo) * dim.key_stride;
    if (ref.has_box) {
      at.box_offset[d] = sub ? subsegment_offset(extent, sub) : 0;
      at.box_extent[d] = sub ? subsegment_extent(extent, sub) : extent;
    }
  }
  return true;
}

/// Calls f for each block that the reference may mean now: wildcard entries and indices without a known value run over
/// what the loop and the array have in common.
void Walk::for_each_block(const ResolvedReference& ref, const std::function<void(const At&)>& f) const {
  const BoundArray& array = bound_.arrays[ref.array.at()];
  if (!array.problem.empty()) return;
  std::array<std::int32_t, max_rank> lo{}, hi{};
  At at;
  for (int d = 0; d < ref.rank; ++d) {
    const ResolvedReference::Entry& entry = ref.entry[d];
    const BoundDim& dim = array.dim[d];
    lo[d] = dim.lo;
    hi[d] = dim.hi;
    if (entry.mode == EntryMode::wildcard) continue;
    const IndexId id = entry.mode == EntryMode::segment ? entry.index : entry.parent;
    const IndexNow& now = index_[id.at()];
    if (!now.bound || !index_[entry.index.at()].bound) return;
    std::int32_t first = now.value, last = now.value;
    if (!now.known) {
      first = bound_.indices[id.at()].lo;
      last = bound_.indices[id.at()].hi;
    }
    if (entry.mode == EntryMode::combined) {
      const IndexNow& sub = index_[entry.index.at()];
      first = combined_segment(first, sub.known ? sub.value : 1);
      last = combined_segment(last, sub.known ? sub.value : subsegments_per_segment);
    }
    lo[d] = std::max(lo[d], first);
    hi[d] = std::min(hi[d], last);
  }
  walk_blocks(array, lo, hi, at, f);
}

Walk::Own Walk::new_memory(int item, std::int64_t doubles) {
  const Own own{reinterpret_cast<double*>(next_address_), pieces_bytes(doubles)};
  next_address_ += static_cast<std::uintptr_t>(own.bytes);
  ledger_.take(item, own.bytes);
  return own;
}

double* Walk::static_memory(ArrayId id) {
  if (!statics_[id.at()].address && bound_.arrays[id.at()].problem.empty())
    statics_[id.at()] = new_memory(item_of(id), bound_.arrays[id.at()].whole.size());
  return statics_[id.at()].address;
}

double* Walk::own_block(const ResolvedReference& ref, const At& at) {
  auto& blocks = blocks_[ref.array.at()];
  if (const auto found = blocks.find(at.key); found != blocks.end()) {
    // Memory it shared until now, or that others share.
    if (found->second.bytes == 0 || sharers_.contains(found->second.address)) {
      leave_memory(ref.array, found->second);
      found->second = new_memory(item_of(ref.array), at.size);
    }
    return found->second.address;
  }
  const Own own = new_memory(item_of(ref.array), at.size);
  blocks.emplace(at.key, own);
  if (ref.kind == ArrayKind::temp) temps_.created(ref.array, at.key);
  else if (pardo_.active) created_locals_.push_back({ref.array, at.key});
  return own.address;
}

void Walk::free_local(ArrayId array, std::uint64_t key) {
  const auto found = blocks_[array.at()].find(key);
  if (found == blocks_[array.at()].end()) return;
  const Own own = found->second;
  blocks_[array.at()].erase(found);
  leave_memory(array, own);
}

/// A block gives up the memory it counted for: the first of those that share it counts for it from now on.
void Walk::leave_memory(ArrayId array, const Own& own) {
  if (own.bytes == 0) return;
  ledger_.give(items_[array.at()], own.bytes);
  const auto shared = sharers_.find(own.address);
  if (shared == sharers_.end()) return;
  std::vector<TempBlock> rest = std::move(shared->second);
  sharers_.erase(shared);
  while (!rest.empty()) {
    const TempBlock heir = rest.front();
    rest.erase(rest.begin());
    const auto block = blocks_[heir.array.at()].find(heir.key);
    if (block == blocks_[heir.array.at()].end() || block->second.bytes > 0 || block->second.address != own.address)
      continue;
    block->second.bytes = own.bytes;
    ledger_.take(items_[heir.array.at()], own.bytes);
    if (!rest.empty()) sharers_.emplace(own.address, std::move(rest));
    return;
  }
}

MutableView Walk::view_of(const ResolvedReference& ref, const At& at, double* address) const {
  MutableView view;
  view.rank = ref.rank;
  view.data = address;
  std::int64_t stride = 1;
  for (int d = 0; d < ref.rank; ++d) {
    view.label[d] = ref.label[d];
    view.stride[d] = stride;
    view.extent[d] = ref.has_box ? at.box_extent[d] : at.shape.extent[d];
    if (ref.has_box) view.data += at.box_offset[d] * stride;
    stride *= at.shape.extent[d];
  }
  return view;
}

std::optional<MutableView> Walk::static_view(const ResolvedReference& ref, const At& at) {
  const BoundArray& array = bound_.arrays[ref.array.at()];
  double* base = static_memory(ref.array);
  if (!base) return {};
  MutableView view = view_of(ref, at, base);
  view.data = base;
  for (int d = 0; d < ref.rank; ++d) {
    view.stride[d] = array.stride[d];
    view.data += (array.dim[d].offset_of(at.block.segment[d]) + (ref.has_box ? at.box_offset[d] : 0)) * array.stride[d];
  }
  return view;
}

std::optional<MutableView> Walk::region_part(ArrayId id, const std::array<std::int32_t, max_rank>& lo,
                                             const std::array<std::int32_t, max_rank>& hi) const {
  const BoundArray& array = bound_.arrays[id.at()];
  for (const Region& r : regions_[id.at()]) {
    bool inside = true;
    for (int d = 0; d < array.rank; ++d) inside &= r.lo[d] <= lo[d] && hi[d] <= r.hi[d];
    if (!inside) continue;
    MutableView view;
    view.rank = array.rank;
    view.data = r.memory.address;
    std::int64_t stride = 1;
    for (int d = 0; d < array.rank; ++d) {
      const BoundDim& dim = array.dim[d];
      view.data += (dim.offset_of(lo[d]) - dim.offset_of(r.lo[d])) * stride;
      view.extent[d] = dim.offset_of(hi[d]) + dim.extent_of(hi[d]) - dim.offset_of(lo[d]);
      view.stride[d] = stride;
      view.label[d] = d;
      stride *= dim.offset_of(r.hi[d]) + dim.extent_of(r.hi[d]) - dim.offset_of(r.lo[d]);
    }
    return view;
  }
  return {};
}

/// Bounds that are not known are taken as wide as the array.
bool Walk::region_bounds(const RegionRow& row, std::array<std::int32_t, max_rank>& lo,
                         std::array<std::int32_t, max_rank>& hi) const {
  const BoundArray& array = bound_.arrays[row.array.at()];
  if (!array.problem.empty()) return false;
  for (int d = 0; d < array.rank; ++d) {
    const BoundDim& dim = array.dim[d];
    lo[d] = registers_.integer(row.lo[d]).value_or(static_cast<std::int32_t>(dim.lo));
    hi[d] = registers_.integer(row.hi[d]).value_or(static_cast<std::int32_t>(dim.hi));
    if (lo[d] > hi[d] || lo[d] < dim.lo || hi[d] > dim.hi) return false;
  }
  return true;
}

void Walk::allocate_region(const RegionRow& row) {
  Region region;
  if (!region_bounds(row, region.lo, region.hi)) return;
  const BoundArray& array = bound_.arrays[row.array.at()];
  std::int64_t size = 1;
  for (int d = 0; d < array.rank; ++d) {
    const BoundDim& dim = array.dim[d];
    size *= dim.offset_of(region.hi[d]) + dim.extent_of(region.hi[d]) - dim.offset_of(region.lo[d]);
  }
  region.memory = new_memory(item_of(row.array), size);
  regions_[row.array.at()].push_back(region);
}

void Walk::deallocate_region(const RegionRow& row) {
  std::array<std::int32_t, max_rank> lo{}, hi{};
  if (!region_bounds(row, lo, hi)) return;
  auto& list = regions_[row.array.at()];
  const auto found = std::find_if(list.begin(), list.end(), [&](const Region& r) { return r.lo == lo && r.hi == hi; });
  if (found == list.end()) return;
  ledger_.give(items_[row.array.at()], found->memory.bytes);
  list.erase(found);
}

std::optional<MutableView> Walk::read_view(std::int32_t ref_id) {
  const ResolvedReference& ref = bound_.refs[ref_id];
  At at;
  if (!locate(ref, at)) return {};
  switch (ref.kind) {
    case ArrayKind::temp:
    case ArrayKind::local: {
      const auto found = blocks_[ref.array.at()].find(at.key);
      // Written on a path that this walk did not take, or by a largest segment of another loop: somewhere of its own.
      double* address = found != blocks_[ref.array.at()].end() ? found->second.address
                                                               : reinterpret_cast<double*>(std::uintptr_t{64});
      return view_of(ref, at, address);
    }
    case ArrayKind::static_: return static_view(ref, at);
    case ArrayKind::contiguous_local: {
      auto view = region_part(ref.array, at.block.segment, at.block.segment);
      for (int d = 0; view && d < ref.rank; ++d) view->label[d] = ref.label[d];
      return view;
    }
    case ArrayKind::distributed:
    case ArrayKind::served: {
      const auto found = held_[ref.array.at()].find(at.key);
      double* address = found != held_[ref.array.at()].end() ? found->second.own.address : nullptr;
      return view_of(ref, at, address ? address : reinterpret_cast<double*>(std::uintptr_t{128}));
    }
  }
  return {};
}

std::optional<MutableView> Walk::write_view(std::int32_t ref_id, bool creates) {
  const ResolvedReference& ref = bound_.refs[ref_id];
  if (ref.kind == ArrayKind::temp || ref.kind == ArrayKind::static_ || ref.kind == ArrayKind::contiguous_local) {
    At at;
    if (!locate(ref, at)) return {};
    if (ref.kind == ArrayKind::temp) return view_of(ref, at, own_block(ref, at));
    return read_view(ref_id);
  }
  std::optional<MutableView> view;
  for_each_block(ref, [&](const At& block) {
    if (ref.kind != ArrayKind::local) private_copy(ref.array, block);
    else if (creates) own_block(ref, block);
  });
  view = read_view(ref_id);
  return view;
}

/// Workspace of d = a or d = a * b: copies of operands that the target touches, and what the kernels take.
void Walk::kernel(std::int32_t target, bool creates, std::int32_t a, std::int32_t b) {
  const auto source_a = read_view(a);
  const auto source_b = b >= 0 ? read_view(b) : std::nullopt;
  const auto d = write_view(target, creates);
  if (!source_a || !d || (b >= 0 && !source_b)) return;
  BlockOp op;
  op.d = *d;
  op.a = as_const(*source_a);
  op.has_b = b >= 0;
  if (op.has_b) op.b = as_const(*source_b);
  std::int64_t scratch = 0;
  const auto pack_if_touching = [&](ConstView& operand) {
    if (!may_overlap(op.d, operand)) return;
    scratch += pieces_bytes(view_size(operand));
    operand = as_const(dense_like(const_cast<double*>(operand.data), operand));
  };
  pack_if_touching(op.a);
  if (op.has_b) {
    pack_if_touching(op.b);
    if (consistent(op))
      for (const std::int64_t n : memory_.kernels->workspace(op))
        if (n > 0) scratch += pieces_bytes(n);
  }
  ledger_.spike(scratch);
  if (memory_.setting.explain_kernels) note_kernel(op);
}

void Walk::note_kernel(const BlockOp& op) {
  double size = static_cast<double>(view_size(op.d));
  for (int d = 0; op.has_b && d < op.a.rank; ++d)
    if (std::find(op.d.label.begin(), op.d.label.begin() + op.d.rank, op.a.label[d]) == op.d.label.begin() + op.d.rank)
      size *= static_cast<double>(op.a.extent[d]);
  const SourcePlace& place = m_.places[at_];
  Choice& choice = choices_[{place.file, place.line, op.has_b}];
  if (size <= choice.size) return;
  const bool by_label = consistent(op);  // else positions correspond in order
  if (op.has_b && !by_label) return;
  choice.size = size;
  choice.why = by_label ? memory_.kernels->explain(op) : "copy in order";
}

void Walk::sum(const Instruction& in) {
  const auto a = read_view(in.b), b = read_view(in.c), d = write_view(in.a, true);
  if (!a || !b || !d) return;
  const auto same_labels = [&](const MutableView& x) {
    return x.rank == d->rank && std::equal(d->label.begin(), d->label.begin() + d->rank, x.label.begin());
  };
  if (!same_labels(*a) || !same_labels(*b)) ledger_.spike(pieces_bytes(view_size(*d)));
}

/// The target lies where the source does, at no cost until it is written.
void Walk::alias(const Instruction& in) {
  const ResolvedReference& target = bound_.refs[in.a];
  const auto source = read_view(in.b);
  At at;
  if (!source || !locate(target, at)) return;
  item_of(target.array);
  const ResolvedReference& from = bound_.refs[in.b];
  At source_at;
  bool of_store = is_remote(from.kind);
  if (!of_store && locate(from, source_at))
    if (const auto own = blocks_[from.array.at()].find(source_at.key); own != blocks_[from.array.at()].end())
      of_store = own->second.of_store;
  auto& blocks = blocks_[target.array.at()];
  if (!of_store) sharers_[source->data].push_back({target.array, at.key});
  if (const auto found = blocks.find(at.key); found != blocks.end()) {
    if (found->second.address == source->data) return;
    leave_memory(target.array, found->second);
    found->second = {source->data, 0, of_store};
    return;
  }
  blocks.emplace(at.key, Own{source->data, 0, of_store});
  if (target.kind == ArrayKind::temp) temps_.created(target.array, at.key);
  else if (pardo_.active) created_locals_.push_back({target.array, at.key});
}

void Walk::keep_block(const Instruction& in) {
  const ResolvedReference& ref = bound_.refs[in.a];
  At at;
  if (locate(ref, at)) temps_.keep(ref.array, at.key, static_cast<std::size_t>(in.b));
}

}  // namespace sial
