#include "runtime/core/interp/operations/super_arguments.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/core/interp/context/view_ops.h"

namespace sial {

SuperArguments::SuperArguments(const RunContext& context, Registers& registers, const BlockMemory& memory,
                               Operands& operands, Statics& statics, const Regions& regions)
    : context_(context),
      registers_(registers),
      memory_(memory),
      operands_(operands),
      statics_(statics),
      regions_(regions) {}

void SuperArguments::describe_dims(SuperArg& arg, const ResolvedReference& ref, const Located& at,
                                   Statement here) const {
  const BoundArray& array = operands_.array_of(ref);
  arg.shape.rank = ref.rank;
  for (int d = 0; d < ref.rank; ++d) {
    const ResolvedReference::Entry& entry = ref.entry[d];
    arg.segment[d] = at.block.segment[d];
    arg.kind[d] = entry.simple ? IndexKind::simple : array.dim[d].kind;
    arg.shape.extent[d] = ref.has_box ? at.box_extent[d] : at.shape.extent[d];
    arg.offset[d] = 0;
    const BoundIndex& index = context_.bound.indices[array.dim[d].index.at()];
    if (entry.simple || !index.extents) continue;
    const std::int32_t segment = array.dim[d].is_sub ? at.block.segment[d] >> 2 : at.block.segment[d];
    arg.offset[d] = elements_before(index, segment);
    if (entry.mode == EntryMode::box) arg.offset[d] += at.box_offset[d];
    if (entry.mode == EntryMode::combined)
      arg.offset[d] += subsegment_offset((*index.extents)[segment - 1], registers_.index_value(entry.index, here));
  }
}

SuperArg SuperArguments::describe(const ArgRow& row, char letter, Statement here) const {
  const ResolvedReference& ref = operands_.reference(row.id);
  const Located at = operands_.locate(ref, here);
  SuperArg arg;
  arg.letter = letter;
  arg.name = operands_.array_of(ref).name;
  describe_dims(arg, ref, at, here);
  return arg;
}

SuperArg SuperArguments::describe_array(ArrayId id) const {
  const BoundArray& array = context_.bound.arrays[id.at()];
  SuperArg arg;
  arg.whole_array = true;
  arg.name = array.name;
  for (int d = 0; d < array.rank; ++d) {
    const BoundDim& dim = array.dim[d];
    arg.kind[d] = dim.kind;
    arg.offset[d] = elements_before(context_.bound.indices[dim.index.at()], dim.is_sub ? 1 : dim.lo);
  }
  return arg;
}

void SuperArguments::prepare_array(const ArgRow& row, SuperArg& arg, Statement here) {
  const BoundArray& array = context_.bound.arrays[row.id];
  const char letter = arg.letter;
  const Intent intent = letter == 'r' ? Intent::read : Intent::update;
  arg = describe_array(ArrayId(row.id));
  arg.letter = letter;
  if (array.kind == ArrayKind::static_) {
    arg.data = statics_.whole(ArrayId(row.id), intent, here);
    arg.shape = array.whole;
  } else if (array.kind == ArrayKind::contiguous_local) {
    const std::vector<Region>& regions = regions_.of(ArrayId(row.id));
    if (regions.size() != 1)
      context_.fail(
          here,
          fmt::format(
              "contiguous local array `{}` has {} allocated regions, and as a bare argument it needs exactly one",
              array.name, regions.size()),
          "name the region: `array[lo:hi, ...]`");
    const Region& region = regions.front();
    regions_.on_host(region, intent, here);
    arg.data = region.data;
    arg.shape = region.shape;
    for (int d = 0; d < array.rank; ++d)
      arg.offset[d] = elements_before(context_.bound.indices[array.dim[d].index.at()], region.bounds.lo[d]);
  } else {
    context_.fail(here, fmt::format("array `{}` cannot be passed whole: it is not static or contiguous", array.name),
                  "pass one of its blocks");
  }
  if (letter == 'w' && !context_.model) std::fill_n(arg.data, arg.shape.size(), 0.0);
}

/// `u` of a static or remote block needs it as much as of a temp; resolve() knows each kind's rule.
MutableView SuperArguments::block(const ArgRow& row, SuperArg& arg, Statement here) {
  const char letter = arg.letter;
  arg = describe(row, letter, here);
  return operands_.resolve(row.id, letter == 'r' ? Intent::read : letter == 'w' ? Intent::write : Intent::update, here);
}

MutableView SuperArguments::region(const ArgRow& row, SuperArg& arg, Statement here) const {
  const RegionRow& region = context_.module.regions[row.id];
  const BoundArray& array = context_.bound.arrays[region.array.at()];
  const RegionBounds bounds = regions_.bounds(region, here);
  const MutableView view = regions_.view(region, here);
  arg.name = array.name;
  arg.shape.rank = array.rank;
  for (int d = 0; d < array.rank; ++d) {
    arg.segment[d] = bounds.lo[d];
    arg.kind[d] = array.dim[d].kind;
    arg.shape.extent[d] = view.extent[d];
    const BoundIndex& index = context_.bound.indices[array.dim[d].index.at()];
    if (index.extents) arg.offset[d] = elements_before(index, bounds.lo[d]);
  }
  return view;
}

void SuperArguments::prepare(const ArgRow& row, char letter, List& list, std::int32_t k, Statement here) {
  SuperArg& arg = list.args[k];
  arg = SuperArg{};
  arg.letter = letter;
  MutableView view;
  switch (row.kind) {
    case ArgKind::scalar:
      arg.is_scalar = true;
      arg.name = context_.module.scalars[row.id].name;
      arg.data = &registers_.scalar(row.id);
      if (letter == 'w') *arg.data = 0.0;
      return;
    case ArgKind::real_literal:
    case ArgKind::int_literal:
      arg.is_scalar = true;
      list.literals[k] =
          row.kind == ArgKind::real_literal ? context_.module.reals[row.id] : static_cast<double>(row.id);
      arg.data = &list.literals[k];
      return;
    case ArgKind::array: prepare_array(row, arg, here); return;
    case ArgKind::block: view = block(row, arg, here); break;
    case ArgKind::region: view = region(row, arg, here); break;
  }
  if (context_.model) return;  // the body is not called
  if (letter == 'w') fill_view(view, 0.0);
  if (is_dense(view)) {
    arg.data = view.data;
    return;
  }
  List::Copy& copy = list.copies[k];
  copy.size = view_size(view);
  copy.scratch = memory_.allocate(copy.size);
  copy.target = view;
  copy.copy_back = letter != 'r';
  arg.data = copy.scratch;
  copy_view(dense_view(copy.scratch, arg.shape, {}), as_const(view));
}

bool SuperArguments::finish(List& list, std::int32_t n) const {
  bool any = false;
  for (std::int32_t k = 0; k < n; ++k) {
    List::Copy& copy = list.copies[k];
    if (!copy.scratch) continue;
    any = true;
    if (copy.copy_back) copy_view(copy.target, as_const(dense_view(copy.scratch, list.args[k].shape, {})));
    memory_.release(copy.scratch, copy.size);
  }
  return any;
}

void SuperArguments::drop(List& list, std::int32_t n) const noexcept {
  for (std::int32_t k = 0; k < n; ++k)
    if (list.copies[k].scratch) memory_.release(list.copies[k].scratch, list.copies[k].size);
}

}  // namespace sial
