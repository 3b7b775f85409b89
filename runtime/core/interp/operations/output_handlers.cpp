#include "runtime/core/interp/operations/output_handlers.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/interp/context/view_ops.h"

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

OutputHandlers::OutputHandlers(const RunContext& context, const Registers& registers, Operands& operands,
                               Statics& statics, const Regions& regions)
    : context_(context),
      registers_(registers),
      operands_(operands),
      statics_(statics),
      regions_(regions),
      printer_(context.env.out, context.options.print_format),
      rank_(context.worker() == 0 ? std::string() : fmt::format("rank {}: ", context.worker())) {}

std::string_view OutputHandlers::name_or_none(std::int32_t string) const {
  return string >= 0 ? std::string_view(context_.module.strings[string]) : std::string_view();
}

void OutputHandlers::op_print_string(const Instruction& in, Statement) {
  if (context_.prints()) printer_.string(context_.module.strings[in.a], in.b != 0);
}

void OutputHandlers::op_print_scalar(const Instruction& in, Statement here) {
  context_.expect_finite(registers_.scalar(in.a), in.a, "printed", here);
  if (context_.prints()) printer_.scalar(name_or_none(in.c), registers_.scalar(in.a), context_.line(here), in.b != 0);
}

void OutputHandlers::op_print_int(const Instruction& in, Statement here) {
  if (context_.prints()) printer_.integer(name_or_none(in.c), registers_.integer(in.a), context_.line(here), in.b != 0);
}

void OutputHandlers::op_print_index(const Instruction& in, Statement here) {
  const std::int32_t value = registers_.index_value(IndexId(in.a), here);
  if (context_.prints()) printer_.integer(context_.bound.indices[in.a].name, value, context_.line(here), in.b != 0);
}

/// Whether blocks are printed: without values a line says so.
bool OutputHandlers::prints_values(const Instruction& in) {
  if (!context_.prints()) return false;
  if (context_.model) printer_.string("elements that are not computed", in.b != 0);
  return !context_.model;
}

void OutputHandlers::op_print_block(const Instruction& in, Statement here) {
  const ConstView view = operands_.read(in.a, here);
  if (!prints_values(in)) return;
  const ResolvedReference& ref = operands_.reference(in.a);
  const BoundArray& array = operands_.array_of(ref);
  const auto dims = std::span(array.dim).first(static_cast<std::size_t>(array.rank));
  if (std::ranges::all_of(dims, [](const BoundDim& d) { return d.kind == IndexKind::simple; }) && printer_.is_classic())
    return printer_.scalar({}, view.data[0], context_.line(here), in.b != 0);
  printer_.block(block_name(array, operands_.locate(ref, here).block), view, context_.line(here), in.b != 0);
}

void OutputHandlers::op_print_region(const Instruction& in, Statement here) {
  const RegionRow& row = context_.module.regions[in.a];
  const MutableView view = regions_.view(row, here);
  if (!prints_values(in)) return;
  printer_.block(range_name(context_.bound.arrays[row.array.at()], regions_.bounds(row, here)), as_const(view),
                 context_.line(here), in.b != 0);
}

const std::vector<Region>& OutputHandlers::regions_to_print(ArrayId array, Statement here) const {
  const std::vector<Region>& regions = regions_.of(array);
  if (regions.empty())
    context_.fail(here,
                  fmt::format("contiguous local array `{}` has no allocated region to print",
                              context_.bound.arrays[array.at()].name),
                  "allocate one with `allocate contiguous`");
  for (const Region& region : regions) regions_.on_host(region, Intent::read, here);
  return regions;
}

std::string OutputHandlers::name_of(ArrayId id, const Region& region) const {
  const BoundArray& array = context_.bound.arrays[id.at()];
  return regions_.of(id).size() == 1 ? array.name : range_name(array, region.bounds);
}

ConstView OutputHandlers::whole_static(ArrayId array, Statement here) {
  return dense_view<const double>(statics_.whole(array, Intent::read, here), context_.bound.arrays[array.at()].whole,
                                  {});
}

void OutputHandlers::op_print_array(const Instruction& in, Statement here) {
  const BoundArray& array = context_.bound.arrays[in.a];
  if (array.kind == ArrayKind::contiguous_local) {
    const std::vector<Region>& regions = regions_to_print(ArrayId(in.a), here);
    if (!prints_values(in)) return;
    for (const Region& region : regions)
      printer_.array(name_of(ArrayId(in.a), region), as_const(regions_.whole(ArrayId(in.a), region)),
                     context_.line(here), in.b != 0);
    return;
  }
  const ConstView view = whole_static(ArrayId(in.a), here);
  if (prints_values(in)) printer_.array(array.name, view, context_.line(here), in.b != 0);
}

void OutputHandlers::list_elements(const Instruction& in, const std::string& name, const ElementLabels& labels,
                                   const ConstView& view, Statement here) {
  const double threshold = registers_.scalar(in.c);
  const std::int32_t wanted = registers_.integer(in.d);
  const std::int64_t limit =
      wanted < 0 ? printer_.element_limit() : std::min<std::int64_t>(wanted, printer_.element_limit());
  std::int64_t found = 0;
  const std::vector<Element> elements = select_elements(view, threshold, limit, found);
  std::string head = fmt::format("{}elements({}): {} of {}", rank_, name, found, view_size(view));
  if (threshold > 0) head += fmt::format(" of at least {}", threshold);
  if (found > limit) head += fmt::format(", the {} largest", limit);
  std::vector<std::string> names;
  for (const Element& e : elements) names.push_back(rank_ + element_name(labels, view.rank, e));
  std::vector<double> values;
  for (const Element& e : elements) values.push_back(e.value);
  printer_.list(head, names, values, context_.line(here), in.b != 0);
}

void OutputHandlers::inspect(const Instruction& in, bool list, const std::string& name, const ElementLabels& labels,
                             const ConstView& view, Statement here) {
  const bool newline = in.b != 0;
  const std::int32_t line = context_.line(here);
  if (list) {
    list_elements(in, name, labels, view, here);
  } else if (in.c == 0) {
    printer_.scalar(fmt::format("{}norm({})", rank_, name), frobenius_norm(view), line, newline);
  } else if (view_size(view) == 0) {
    printer_.list(fmt::format("{}max({}): no elements", rank_, name), {}, {}, line, newline);
  } else {
    const Element e = largest_element(view);
    printer_.scalar(fmt::format("{}max({})", rank_, name), e.value, line, newline,
                    " at " + element_name(labels, view.rank, e));
  }
}

void OutputHandlers::look_at_block(const Instruction& in, bool list, Statement here) {
  const ConstView view = operands_.read(in.a, here);
  if (!prints_values(in)) return;
  const std::vector<BoundIndex>& indices = context_.bound.indices;
  const ResolvedReference& ref = operands_.reference(in.a);
  const BoundArray& array = operands_.array_of(ref);
  const Located at = operands_.locate(ref, here);
  ElementLabels labels{array.name, {}, {}};
  for (int d = 0; d < ref.rank; ++d) {
    labels.index[d] = indices[ref.entry[d].index.at()].name;
    labels.first[d] = first_element(indices[array.dim[d].index.at()], array.dim[d], at.block.segment[d]);
  }
  inspect(in, list, block_name(array, at.block), labels, view, here);
}

ElementLabels OutputHandlers::declared_labels(ArrayId id, const std::array<std::int32_t, max_rank>& lo) const {
  const BoundArray& array = context_.bound.arrays[id.at()];
  ElementLabels labels{array.name, {}, {}};
  for (int d = 0; d < array.rank; ++d) {
    const BoundIndex& index = context_.bound.indices[array.dim[d].index.at()];
    labels.index[d] = index.name;
    labels.first[d] = first_element(index, array.dim[d], lo[d]);
  }
  return labels;
}

void OutputHandlers::look_at_region(const Instruction& in, bool list, Statement here) {
  const RegionRow& row = context_.module.regions[in.a];
  const MutableView view = regions_.view(row, here);
  if (!prints_values(in)) return;
  const RegionBounds bounds = regions_.bounds(row, here);
  inspect(in, list, range_name(context_.bound.arrays[row.array.at()], bounds), declared_labels(row.array, bounds.lo),
          as_const(view), here);
}

void OutputHandlers::look_at_array(const Instruction& in, bool list, Statement here) {
  const BoundArray& array = context_.bound.arrays[in.a];
  if (array.kind == ArrayKind::contiguous_local) {
    const std::vector<Region>& regions = regions_to_print(ArrayId(in.a), here);
    if (!prints_values(in)) return;
    for (const Region& region : regions)
      inspect(in, list, name_of(ArrayId(in.a), region), declared_labels(ArrayId(in.a), region.bounds.lo),
              as_const(regions_.whole(ArrayId(in.a), region)), here);
    return;
  }
  const ConstView view = whole_static(ArrayId(in.a), here);
  if (!prints_values(in)) return;
  std::array<std::int32_t, max_rank> lo{};
  for (int d = 0; d < array.rank; ++d) lo[d] = array.dim[d].lo;
  inspect(in, list, array.name, declared_labels(ArrayId(in.a), lo), view, here);
}

}  // namespace sial
