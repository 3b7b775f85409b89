// print norm(...), max(...) and elements(...): a look into one block, region or array. Ranks other than the first,
// which print after enable_all_rank_print only, name themselves.

#include <fmt/format.h>

#include "runtime/device/cache/block_cache.h"
#include "runtime/interp/machine.h"
#include "runtime/interp/operations/inspect.h"
#include "runtime/interp/operations/view_ops.h"

namespace sial {
namespace {

/// The global number of a segment's first element; `segment` is combined for dimensions over a subindex.
std::int64_t first_element(const BoundIndex& index, const BoundDim& dim, std::int32_t segment) {
  if (!dim.is_sub) return elements_before(index, segment) + 1;
  const std::int32_t parent = segment >> 2, sub = segment - parent * subsegments_per_segment + 1;
  static_assert(subsegments_per_segment == 4);
  const std::int64_t extent = index.extents ? (*index.extents)[parent - 1] : 1;
  return elements_before(index, parent) + subsegment_offset(extent, sub) + 1;
}

}  // namespace

void Machine::inspect(const Instruction& in, bool list, const std::string& name, const ElementLabels& labels,
                      const ConstView& view) {
  const std::string rank = worker() == 0 ? std::string() : fmt::format("rank {}: ", worker());
  const bool newline = in.b != 0;
  if (list) {
    const double threshold = scalars_[in.c];
    const std::int64_t limit =
        ints_[in.d] < 0 ? printer_.element_limit() : std::min<std::int64_t>(ints_[in.d], printer_.element_limit());
    std::int64_t found = 0;
    const std::vector<Element> elements = select_elements(view, threshold, limit, found);
    std::string head = fmt::format("{}elements({}): {} of {}", rank, name, found, view_size(view));
    if (threshold > 0) head += fmt::format(" of at least {}", threshold);
    if (found > limit) head += fmt::format(", the {} largest", limit);
    std::vector<std::string> names;
    for (const Element& e : elements) names.push_back(rank + element_name(labels, view.rank, e));
    std::vector<double> values;
    for (const Element& e : elements) values.push_back(e.value);
    printer_.list(head, names, values, line(), newline);
  } else if (in.c == 0) {
    printer_.scalar(fmt::format("{}norm({})", rank, name), frobenius_norm(view), line(), newline);
  } else if (view_size(view) == 0) {
    printer_.list(fmt::format("{}max({}): no elements", rank, name), {}, {}, line(), newline);
  } else {
    const Element e = largest_element(view);
    printer_.scalar(fmt::format("{}max({})", rank, name), e.value, line(), newline,
                    " at " + element_name(labels, view.rank, e));
  }
}

void Machine::look_at_block(const Instruction& in, bool list) {
  ConstView view;
  read_view(in.a, view);
  if (!prints()) return;
  const ResolvedReference& ref = bound_.refs[in.a];
  const BoundArray& array = array_of(ref);
  Located at;
  locate(ref, at);
  ElementLabels labels{array.name, {}, {}};
  for (int d = 0; d < ref.rank; ++d) {
    labels.index[d] = bound_.indices[ref.entry[d].index].name;
    labels.first[d] = first_element(bound_.indices[array.dim[d].index], array.dim[d], at.block.segment[d]);
  }
  inspect(in, list, block_name(array, at.block), labels, view);
}

ElementLabels Machine::declared_labels(std::int32_t id, const std::array<std::int32_t, max_rank>& lo) const {
  const BoundArray& array = bound_.arrays[id];
  ElementLabels labels{array.name, {}, {}};
  for (int d = 0; d < array.rank; ++d) {
    labels.index[d] = bound_.indices[array.dim[d].index].name;
    labels.first[d] = first_element(bound_.indices[array.dim[d].index], array.dim[d], lo[d]);
  }
  return labels;
}

void Machine::look_at_region(const Instruction& in, bool list) {
  const RegionRow& row = m_->regions[in.a];
  MutableView view;
  region_view(row, view);
  if (!prints()) return;
  std::array<std::int32_t, max_rank> lo{}, hi{};
  region_bounds(row, lo, hi);
  inspect(in, list, range_name(row.array, lo, hi), declared_labels(row.array, lo), as_const(view));
}

void Machine::look_at_array(const Instruction& in, bool list) {
  const BoundArray& array = bound_.arrays[in.a];
  if (array.kind == ArrayKind::contiguous_local) {
    require_regions(in.a);
    if (!prints()) return;
    for (const Region& region : regions_[in.a]) {
      MutableView view;
      fill_region_view(in.a, region, region.lo, region.hi, view);
      inspect(in, list, whole_name(in.a, region), declared_labels(in.a, region.lo), as_const(view));
    }
    return;
  }
  const double* data = whole_static(in.a, Intent::read);
  if (!prints()) return;
  std::array<std::int32_t, max_rank> lo{};
  for (int d = 0; d < array.rank; ++d) lo[d] = array.dim[d].lo;
  inspect(in, list, array.name, declared_labels(in.a, lo), dense_view<const double>(data, array.whole, {}));
}

void Machine::op_inspect_block(const Instruction& in) { look_at_block(in, false); }
void Machine::op_inspect_region(const Instruction& in) { look_at_region(in, false); }
void Machine::op_inspect_array(const Instruction& in) { look_at_array(in, false); }
void Machine::op_elements_block(const Instruction& in) { look_at_block(in, true); }
void Machine::op_elements_region(const Instruction& in) { look_at_region(in, true); }
void Machine::op_elements_array(const Instruction& in) { look_at_array(in, true); }

}  // namespace sial
