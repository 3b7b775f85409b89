// From references to memory: which block a reference means now, whether it exists, and the view through which kernels
// see it.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/fault_injection.h"
#include "runtime/device/cache/block_cache.h"
#include "runtime/interp/machine.h"
#include "runtime/interp/operations/view_ops.h"
#include "runtime/interp/prefetch/deferred_puts.h"

namespace sial {
namespace {

const char* kind_word(ArrayKind kind) {
  switch (kind) {
    case ArrayKind::static_: return "static array";
    case ArrayKind::temp: return "temp";
    case ArrayKind::local: return "local array";
    case ArrayKind::contiguous_local: return "contiguous local array";
    case ArrayKind::distributed: return "distributed array";
    case ArrayKind::served: return "served array";
  }
  return "array";
}

}  // namespace

std::int32_t Machine::index_value(std::int32_t index) const {
  const std::int32_t v = index_value_[index];
  if (v == unbound_index) [[unlikely]]
    fail(fmt::format("index `{}` has no value here: no enclosing loop runs over it", bound_.indices[index].name),
         fmt::format("put the statement, or the call of its procedure, inside `do {0} ... enddo {0}`",
                     bound_.indices[index].name));
  return v;
}

void Machine::fail_range(const ResolvedReference& ref, int d, std::int32_t segment) const {
  const BoundArray& array = array_of(ref);
  if (!array.problem.empty())
    fail(fmt::format("array `{}` cannot be used: {}", array.name, array.problem), array.remedy);
  const BoundDim& dim = array.dim[d];
  const std::string& declared = bound_.indices[dim.index].name;
  const std::string& used = bound_.indices[ref.entry[d].index].name;
  std::int32_t lo = dim.lo, hi = dim.hi;
  if (dim.is_sub) {
    lo >>= 2;
    hi >>= 2;
    segment >>= 2;
  }
  if (lo > hi)
    fail(fmt::format("`{}` = {} is outside dimension {} of {} `{}`, which is declared over `{}` with an empty range",
                     used, segment, d + 1, kind_word(ref.kind), array.name, declared));
  fail(fmt::format("`{}` = {} is outside dimension {} of {} `{}`, which is declared over `{}` = {}:{}", used, segment,
                   d + 1, kind_word(ref.kind), array.name, declared, lo, hi),
       fmt::format("restrict the loop with a where clause, or declare `{}` over a wider index", array.name));
}

void Machine::fail_absent(const ResolvedReference& ref, const BlockIndex& block) const {
  const BoundArray& array = array_of(ref);
  const std::string name = block_name(array, block);
  if (ref.kind == ArrayKind::temp) {
    if (loops_.empty())
      fail(fmt::format("temp `{}` is read before it was written", name),
           fmt::format("assign to it first, for example `{} = 0.0`", array.name));
    const LoopFrame& frame = loops_.back();
    const LoopRow& row = m_->loops[frame.loop];
    std::string over;
    for (std::int32_t i : row.indices) over += (over.empty() ? "`" : "`, `") + bound_.indices[i].name;
    fail(
        fmt::format("temp `{}` is read before it was written in this iteration of the loop over {}`", name, over),
        "a temp lives to the end of the iteration of the loop in which it was first written: assign to it in this iteration (`+=`, "
        "`-=` and `*=` need an existing block), or make the array local");
  }
  fail(fmt::format("block `{}` of {} `{}` does not exist", name, kind_word(ref.kind), array.name),
       fmt::format("`allocate {}[...]` it or assign to it first (`+=`, `-=` and `*=` need an existing block)",
                   array.name));
}

void Machine::locate(const ResolvedReference& ref, Located& at) const {
  const BoundArray& array = bound_.arrays[ref.array];
  at.block.rank = ref.rank;
  at.shape.rank = ref.rank;
  at.key = 0;
  at.size = 1;
  for (int d = 0; d < ref.rank; ++d) {
    const ResolvedReference::Entry& entry = ref.entry[d];
    const BoundDim& dim = array.dim[d];
    std::int32_t segment = index_value(entry.index);
    std::int32_t sub = 0;
    if (entry.mode == EntryMode::combined) {
      segment = combined_segment(index_value(entry.parent), segment);
    } else if (entry.mode == EntryMode::box) {
      sub = segment;
      segment = index_value(entry.parent);
    } else if (dim.is_sub) [[unlikely]] {
      fail(fmt::format("dimension {} of `{}` is declared over subindex `{}` and referenced with `{}`", d + 1,
                       array.name, bound_.indices[dim.index].name, bound_.indices[entry.index].name),
           fmt::format("use a subindex of `{}` there", bound_.indices[bound_.indices[dim.index].parent].name));
    }
    if (segment < dim.lo || segment > dim.hi || !array.problem.empty()) [[unlikely]]
      fail_range(ref, d, segment);
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
  for (int d = ref.rank; d < max_rank; ++d) {
    at.block.segment[d] = 0;
    at.shape.extent[d] = 1;
  }
}

void Machine::view_of(const ResolvedReference& ref, const Located& at, double* data, MutableView& view) const {
  view.rank = ref.rank;
  std::int64_t stride = 1, offset = 0;
  for (int d = 0; d < ref.rank; ++d) {
    view.label[d] = ref.label[d];
    view.stride[d] = stride;
    view.extent[d] = at.shape.extent[d];
    if (ref.has_box) {
      offset += at.box_offset[d] * stride;
      view.extent[d] = at.box_extent[d];
    }
    stride *= at.shape.extent[d];
  }
  view.data = data + offset;
}

double* Machine::static_data(std::int32_t id) {
  if (statics_[id]) return statics_[id];
  const BoundArray& array = bound_.arrays[id];
  if (!array.problem.empty())
    fail(fmt::format("array `{}` cannot be used: {}", array.name, array.problem), array.remedy);
  const std::int64_t n = array.whole.size();
  double* data = array_buffer(id, n);
  std::fill_n(data, n, 0.0);
  statics_[id] = data;
  if (!array.predefined) return data;
  const auto found = env_.job.arrays.find(array.name);
  if (found == env_.job.arrays.end() || (env_.job.empty_means_none && found->second.data.empty() && n > 0)) {
    warn(fmt::format("program `{}`: the job gives no data for the predefined static array `{}`; it starts as zeros",
                     m_->program, array.name));
    return data;
  }
  // Trailing extents of 1 do not matter: legacy files pad their arrays to rank 6.
  const std::vector<std::int64_t>& given = found->second.extents;
  bool agree = true;
  for (std::size_t d = 0; d < std::max<std::size_t>(given.size(), array.rank); ++d)
    agree &=
        (d < given.size() ? given[d] : 1) == (d < static_cast<std::size_t>(array.rank) ? array.whole.extent[d] : 1);
  if (!agree || static_cast<std::int64_t>(found->second.data.size()) != n) {
    std::vector<std::int64_t> declared(array.whole.extent.begin(), array.whole.extent.begin() + array.rank);
    fail(fmt::format(
             "the job's data for the predefined static array `{}` have extents ({}), and the program declares ({})",
             array.name, fmt::join(given, ","), fmt::join(declared, ",")),
         "check the segment extents against the data");
  }
  std::copy(found->second.data.begin(), found->second.data.end(), data);
  return data;
}

void Machine::static_view(const ResolvedReference& ref, const Located& at, MutableView& view) {
  const BoundArray& array = array_of(ref);
  std::int64_t offset = 0;
  view.rank = ref.rank;
  for (int d = 0; d < ref.rank; ++d) {
    std::int64_t first = array.dim[d].offset_of(at.block.segment[d]);
    view.extent[d] = at.shape.extent[d];
    if (ref.has_box) {
      first += at.box_offset[d];
      view.extent[d] = at.box_extent[d];
    }
    view.stride[d] = array.stride[d];
    view.label[d] = ref.label[d];
    offset += first * array.stride[d];
  }
  view.data = static_data(ref.array) + offset;
}

bool Machine::region_block_view(const ResolvedReference& ref, const Located& at, MutableView& view) {
  std::array<std::int32_t, max_rank> lo = at.block.segment, hi = at.block.segment;
  const Region* region = region_around(ref.array, lo, hi);
  if (!region) return false;
  fill_region_view(ref.array, *region, lo, hi, view);
  for (int d = 0; d < ref.rank; ++d) {
    view.label[d] = ref.label[d];
    if (ref.has_box) {
      view.data += at.box_offset[d] * view.stride[d];
      view.extent[d] = at.box_extent[d];
    }
  }
  return true;
}

double* Machine::own_block(const ResolvedReference& ref, const Located& at, Access access, Use use) {
  BlockMap& map = blocks_[ref.array];
  if (BlockMap::Entry* found = map.find(at.key))
    return use == Use::read ? found->data : unshared(ref.array, *found, use == Use::modify);
  if (access == Access::existing) fail_absent(ref, at.block);
  double* data = array_buffer(ref.array, at.size);
  map.insert(at.key, data, at.size);
  if (ref.kind == ArrayKind::temp) temps_.push_back({ref.array, at.key});
  return data;
}

/// The memory of a block that is to be written. Memory that block_alias or put_move gave to others as well, or a put
/// still needs, stays as it is; the block gets its own, with its value where that matters: a put would have to wait for
/// that as well.
double* Machine::unshared(std::int32_t array, BlockMap::Entry& entry, bool keep) {
  if (env_.store.buffers().sole(entry.data)) return entry.data;
  if (const std::size_t n = deferred_puts_ ? deferred_puts_->up_to(entry.data) : 0) {
    if (fault_enabled(Fault::device_deferred_put)) return entry.data;
    if (keep) carry_out_deferred_puts(n);
  }
  if (copies_) copies_->settle(entry.data);  // copies under way hold it too
  if (env_.store.buffers().sole(entry.data) || fault_enabled(Fault::shared_memory_written)) return entry.data;
  if (retired_at_ != at_) drop_retired();
  double* fresh = array_buffer(array, entry.size);
  if (keep) {
    std::copy_n(entry.data, entry.size, fresh);
    count(copied_, array, entry.size);
  }
  retired_at_ = at_;
  retired_.push_back(entry);
  entry.data = fresh;
  return fresh;
}

void Machine::drop_retired() noexcept {
  for (const BlockMap::Entry& e : retired_) release(e.data, e.size);
  retired_.clear();
}

void Machine::read_view(std::int32_t ref_id, ConstView& view) {
  const ResolvedReference& ref = bound_.refs[ref_id];
  Located at;
  locate(ref, at);
  MutableView v;
  switch (ref.kind) {
    case ArrayKind::temp:
    case ArrayKind::local: view_of(ref, at, own_block(ref, at, Access::existing, Use::read), v); break;
    case ArrayKind::static_: static_view(ref, at, v); break;
    case ArrayKind::contiguous_local:
      if (!region_block_view(ref, at, v)) fail_absent(ref, at.block);
      break;
    case ArrayKind::distributed:
    case ArrayKind::served:
      // What the device can do while this rank waits for another one.
      if (copies_ && copies_->operations().work_waits() && !env_.store.fetch().at_hand(ref.array, at.block, at.size))
        copies_->operations().start_work();
      // The view is read through ConstView only.
      view_of(ref, at, const_cast<double*>(env_.store.fetch().read(ref.array, at.block, at.size, place())), v);
      break;
  }
  if (copies_) place_view(ref, at, Intent::read, v);
  view = as_const(v);
}

void Machine::write_view(std::int32_t ref_id, Access access, MutableView& view) {
  const ResolvedReference& ref = bound_.refs[ref_id];
  Located at;
  locate(ref, at);
  host_view_to_write(ref, at, access, view);
  if (!copies_) return;
  written_ = {ref.array, at.block};
  place_view(ref, at, access == Access::create ? Intent::write : Intent::update, view);
}

void Machine::host_view_to_write(const ResolvedReference& ref, const Located& at, Access access, MutableView& view) {
  switch (ref.kind) {
    case ArrayKind::temp:
    case ArrayKind::local: {
      // A sub-box of a block that does not exist yet: the rest must be defined, so it starts as zeros.
      const bool fresh_box = ref.has_box && access == Access::create && !blocks_[ref.array].find(at.key);
      double* data =
          own_block(ref, at, access, access == Access::create && !ref.has_box ? Use::overwrite : Use::modify);
      if (fresh_box) std::fill_n(data, at.size, 0.0);
      view_of(ref, at, data, view);
      return;
    }
    case ArrayKind::static_: static_view(ref, at, view); return;
    case ArrayKind::contiguous_local:
      if (!region_block_view(ref, at, view)) fail_absent(ref, at.block);
      return;
    case ArrayKind::distributed:
    case ArrayKind::served: {
      before_use(ref.array, at.block);
      const bool held = env_.store.fetch().held(ref.array, at.block);
      if (const double* own = copies_ ? env_.store.fetch().own_copy(ref.array, at.block) : nullptr)
        copies_->settle(own);
      const bool keep = access == Access::existing || (ref.has_box && held);
      double* data = env_.store.fetch().private_copy(ref.array, at.block, at.size, keep, place());
      if (ref.has_box && !keep) std::fill_n(data, at.size, 0.0);
      view_of(ref, at, data, view);
      return;
    }
  }
}

void Machine::free_temps(std::size_t mark) {
  if (!retired_.empty()) drop_retired();
  while (temps_.size() > mark) {
    const TempEntry t = temps_.back();
    temps_.pop_back();
    if (t.array < 0) continue;  // freed before
    const BlockMap::Entry e = blocks_[t.array].remove(t.key);
    release_block(e);
  }
}

void Machine::region_bounds(const RegionRow& row, std::array<std::int32_t, max_rank>& lo,
                            std::array<std::int32_t, max_rank>& hi) const {
  const BoundArray& array = bound_.arrays[row.array];
  if (!array.problem.empty())
    fail(fmt::format("array `{}` cannot be used: {}", array.name, array.problem), array.remedy);
  for (int d = 0; d < array.rank; ++d) {
    lo[d] = ints_[row.lo[d]];
    hi[d] = ints_[row.hi[d]];
    const BoundDim& dim = array.dim[d];
    if (lo[d] > hi[d])
      fail(fmt::format("the region's range {}:{} in dimension {} of `{}` is empty", lo[d], hi[d], d + 1, array.name),
           "a region needs at least one segment in every dimension");
    if (lo[d] < dim.lo || hi[d] > dim.hi)
      fail(fmt::format("the region's range {}:{} in dimension {} of `{}` leaves the declared range {}:{} of `{}`",
                       lo[d], hi[d], d + 1, array.name, dim.lo, dim.hi, bound_.indices[dim.index].name),
           "keep regions inside the array's declaration");
  }
}

std::string Machine::region_name(std::int32_t id, const std::array<std::int32_t, max_rank>& lo,
                                 const std::array<std::int32_t, max_rank>& hi) const {
  const BoundArray& array = bound_.arrays[id];
  std::string text = array.name + "[";
  for (int d = 0; d < array.rank; ++d) text += fmt::format("{}{}:{}", d ? "," : "", lo[d], hi[d]);
  return text + "]";
}

std::string Machine::range_name(std::int32_t id, const std::array<std::int32_t, max_rank>& lo,
                                const std::array<std::int32_t, max_rank>& hi) const {
  const BoundArray& array = bound_.arrays[id];
  std::string text = array.name + "[";
  for (int d = 0; d < array.rank; ++d)
    text += (d ? "," : "") + (lo[d] == hi[d] ? std::to_string(lo[d]) : fmt::format("{}:{}", lo[d], hi[d]));
  return text + "]";
}

const Machine::Region* Machine::region_around(std::int32_t id, const std::array<std::int32_t, max_rank>& lo,
                                              const std::array<std::int32_t, max_rank>& hi) const {
  const int rank = bound_.arrays[id].rank;
  for (const Region& r : regions_[id]) {
    bool inside = true;
    for (int d = 0; d < rank; ++d) inside &= r.lo[d] <= lo[d] && hi[d] <= r.hi[d];
    if (inside) return &r;
  }
  return nullptr;
}

void Machine::fill_region_view(std::int32_t id, const Region& region, const std::array<std::int32_t, max_rank>& lo,
                               const std::array<std::int32_t, max_rank>& hi, MutableView& view) const {
  const BoundArray& array = bound_.arrays[id];
  view.rank = array.rank;
  view.data = region.data;
  std::int64_t stride = 1;
  for (int d = 0; d < array.rank; ++d) {
    const BoundDim& dim = array.dim[d];
    view.data += (dim.offset_of(lo[d]) - dim.offset_of(region.lo[d])) * stride;
    view.extent[d] = dim.offset_of(hi[d]) + dim.extent_of(hi[d]) - dim.offset_of(lo[d]);
    view.stride[d] = stride;
    view.label[d] = d;
    stride *= region.shape.extent[d];
  }
}

void Machine::region_view(const RegionRow& row, MutableView& view) {
  std::array<std::int32_t, max_rank> lo{}, hi{};
  region_bounds(row, lo, hi);
  const Region* region = region_around(row.array, lo, hi);
  if (!region) {
    std::string allocated;
    for (const Region& r : regions_[row.array])
      allocated += (allocated.empty() ? "" : ", ") + region_name(row.array, r.lo, r.hi);
    fail(fmt::format("region `{}` does not lie inside one allocated region of `{}`", region_name(row.array, lo, hi),
                     bound_.arrays[row.array].name),
         allocated.empty()
             ? fmt::format("no region of it is allocated: `allocate contiguous {}`", region_name(row.array, lo, hi))
             : "allocated: " + allocated);
  }
  fill_region_view(row.array, *region, lo, hi, view);
  if (copies_) copies_->buffer_on_host(region->data, region->shape.size(), Intent::update, statement());
}

void Machine::free_region(std::int32_t array, std::size_t i) {
  Region& r = regions_[array][i];
  if (copies_) copies_->invalidate(r.data, r.shape.size());
  release(r.data, r.shape.size());
  regions_[array].erase(regions_[array].begin() + static_cast<std::ptrdiff_t>(i));
}

DataArray Machine::static_array(std::int32_t id) const {
  DataArray result;
  const BoundArray& array = bound_.arrays[id];
  result.extents.assign(array.whole.extent.begin(), array.whole.extent.begin() + array.rank);
  if (statics_[id]) result.data.assign(statics_[id], statics_[id] + array.whole.size());
  return result;
}

}  // namespace sial
