// execute: arguments become dense column-major buffers with their segments and offsets. Parts of larger arrays (static
// slices, regions, sub-boxes) travel through a scratch copy that is written back for w and u.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/check.h"
#include "runtime/device/cache/block_cache.h"
#include "runtime/interp/blocks/on_device.h"
#include "runtime/interp/operations/computing.h"
#include "runtime/interp/operations/view_ops.h"

namespace sial {

void Machine::describe_dims(SuperArg& arg, const BoundArray& array, const Located& at,
                            const ResolvedReference& ref) const {
  arg.shape.rank = ref.rank;
  for (int d = 0; d < ref.rank; ++d) {
    const ResolvedReference::Entry& entry = ref.entry[d];
    arg.segment[d] = at.block.segment[d];
    arg.kind[d] = entry.simple ? IndexKind::simple : array.dim[d].kind;
    arg.shape.extent[d] = ref.has_box ? at.box_extent[d] : at.shape.extent[d];
    arg.offset[d] = 0;
    const BoundIndex& index = bound_.indices[array.dim[d].index];
    if (entry.simple || !index.extents) continue;
    const std::int32_t segment = array.dim[d].is_sub ? at.block.segment[d] >> 2 : at.block.segment[d];
    arg.offset[d] = elements_before(index, segment);
    if (entry.mode == EntryMode::box) arg.offset[d] += at.box_offset[d];
    if (entry.mode == EntryMode::combined)
      arg.offset[d] += subsegment_offset((*index.extents)[segment - 1], index_value_[entry.index]);
  }
}

/// All of a block argument but its data.
void Machine::describe_block(const ArgRow& row, char letter, SuperArg& arg) const {
  const ResolvedReference& ref = bound_.refs[row.id];
  Located at;
  locate(ref, at);
  arg = SuperArg{};
  arg.letter = letter;
  arg.name = array_of(ref).name;
  describe_dims(arg, array_of(ref), at, ref);
}

void Machine::prepare_arg(const ArgRow& row, char letter, SuperArg& arg, ArgCopyBack& back, double& literal) {
  arg = SuperArg{};
  arg.letter = letter;
  MutableView view;
  switch (row.kind) {
    case ArgKind::scalar:
      arg.is_scalar = true;
      arg.name = m_->scalars[row.id].name;
      arg.data = &scalars_[row.id];
      if (letter == 'w') *arg.data = 0.0;
      return;
    case ArgKind::real_literal:
    case ArgKind::int_literal:
      arg.is_scalar = true;
      literal = row.kind == ArgKind::real_literal ? m_->reals[row.id] : static_cast<double>(row.id);
      arg.data = &literal;
      return;
    case ArgKind::array: {
      const BoundArray& array = bound_.arrays[row.id];
      arg.whole_array = true;
      arg.name = array.name;
      for (int d = 0; d < array.rank; ++d) {
        arg.kind[d] = array.dim[d].kind;
        arg.offset[d] = elements_before(bound_.indices[array.dim[d].index], array.dim[d].is_sub ? 1 : array.dim[d].lo);
      }
      if (array.kind == ArrayKind::static_) {
        arg.data = whole_static(row.id, letter == 'r' ? Intent::read : Intent::update);
        arg.shape = array.whole;
      } else if (array.kind == ArrayKind::contiguous_local) {
        if (regions_[row.id].size() != 1)
          fail(fmt::format(
                   "contiguous local array `{}` has {} allocated regions, and as a bare argument it needs exactly one",
                   array.name, regions_[row.id].size()),
               "name the region: `array[lo:hi, ...]`");
        const Region& region = regions_[row.id].front();
        if (copies_)
          copies_->buffer_on_host(region.data, region.shape.size(), letter == 'r' ? Intent::read : Intent::update,
                                  statement());
        arg.data = region.data;
        arg.shape = region.shape;
        for (int d = 0; d < array.rank; ++d)
          arg.offset[d] = elements_before(bound_.indices[array.dim[d].index], region.lo[d]);
      } else {
        fail(fmt::format("array `{}` cannot be passed whole: it is not static or contiguous", array.name),
             "pass one of its blocks");
      }
      if (letter == 'w') std::fill_n(arg.data, arg.shape.size(), 0.0);
      return;
    }
    case ArgKind::block:
      describe_block(row, letter, arg);
      if (letter == 'r') {
        ConstView source;
        read_view(row.id, source);
        // The body's letter says it does not write.
        view.data = const_cast<double*>(source.data);
        view.rank = source.rank;
        view.extent = source.extent;
        view.stride = source.stride;
      } else {
        // `u` of a static or remote block needs it as much as of a temp; write_view knows each kind's rule.
        write_view(row.id, letter == 'w' ? Access::create : Access::existing, view);
      }
      break;
    case ArgKind::region: {
      const RegionRow& region = m_->regions[row.id];
      const BoundArray& array = bound_.arrays[region.array];
      std::array<std::int32_t, max_rank> lo{}, hi{};
      region_bounds(region, lo, hi);
      region_view(region, view);
      arg.name = array.name;
      arg.shape.rank = array.rank;
      for (int d = 0; d < array.rank; ++d) {
        arg.segment[d] = lo[d];
        arg.kind[d] = array.dim[d].kind;
        arg.shape.extent[d] = view.extent[d];
        const BoundIndex& index = bound_.indices[array.dim[d].index];
        if (index.extents) arg.offset[d] = elements_before(index, lo[d]);
      }
      break;
    }
  }
  if (letter == 'w') fill_view(view, 0.0);
  if (is_dense(view)) {
    arg.data = view.data;
    return;
  }
  back.size = view_size(view);
  back.scratch = buffer(back.size);
  back.target = view;
  back.copy_back = letter != 'r';
  arg.data = back.scratch;
  copy_view(dense_view(back.scratch, arg.shape, {}), as_const(view));
}

void Machine::op_execute(const Instruction& in) {
  if (!element_form_on_device(in) && !block_form_on_device(in)) execute_body(in);
}

/// A super instruction that is one operation on blocks: products are done where products are, copies where the source
/// is. False: the body's to do.
bool Machine::block_form_on_device(const Instruction& in) {
  const SpecialRow& special = m_->specials[in.a];
  const BlockFormMaker make = copies_ ? bodies_[in.a].block : nullptr;
  const auto n = static_cast<std::size_t>(in.c);
  if (make == nullptr || n > max_rank || n != special.signature.size()) return false;
  std::array<SuperArg, max_rank> args;
  for (std::size_t i = 0; i < n; ++i) {
    const ArgRow& row = m_->args[static_cast<std::size_t>(in.b) + i];
    if (row.kind != ArgKind::block) return false;
    describe_block(row, special.signature[i], args[i]);
  }
  const BlockForm form = make(std::span(args.data(), n));
  const auto ref_of = [&](const BlockForm::Operand& operand) {
    return m_->args[static_cast<std::size_t>(in.b) + static_cast<std::size_t>(operand.argument)].id;
  };
  const auto letter_of = [&](const BlockForm::Operand& operand) {
    return args[static_cast<std::size_t>(operand.argument)].letter;
  };
  const auto only_read = [&](const BlockForm::Operand& operand) {
    return letter_of(operand) == 'r' && bound_.refs[ref_of(operand)].array != bound_.refs[ref_of(form.d)].array;
  };
  const bool product = form.b.argument >= 0, creates = letter_of(form.d) == 'w';
  if (letter_of(form.d) == 'r' || !only_read(form.a) || !(product ? only_read(form.b) : on_device_only(ref_of(form.a))))
    return false;
  block_operation([&] {
    const auto read = [&](const BlockForm::Operand& operand, ConstView& view) {
      read_view(ref_of(operand), view);
      view.label = operand.label;
    };
    read(form.a, op_.a);
    op_.has_b = product;
    if (product) read(form.b, op_.b);
    write_view(ref_of(form.d), creates ? Access::create : Access::existing, op_.d);
    op_.d.label = form.d.label;
    if (!product) {
      for (int d = 0; d < op_.a.rank; ++d) op_.a.data += form.a.start[d] * op_.a.stride[d];
      op_.a.extent = op_.d.extent;
    }
    run_kernel(form.alpha, creates ? 0.0 : form.beta);
  });
  ++super_instructions_;
  return true;
}

void Machine::execute_body(const Instruction& in) {
  const SpecialRow& special = m_->specials[in.a];
  const auto& body = bodies_[in.a].run;
  if (!body) {
    std::string close;
    for (const std::string& name : close_super_names(
             special.name, options_.plugins ? options_.plugins->names() : std::vector<std::string_view>()))
      close += (close.empty() ? "`" : ", `") + name + "`";
    fail(fmt::format("super instruction `{}` does not exist in this runtime", special.name),
         close.empty()
             ? "it may be declared, but not executed; a library of your own is loaded by `sialrun --plugin FILE`"
             : "close names: " + close);
  }
  SIAL_CHECK(in.c <= max_rank, "{} arguments of {}", in.c, special.name);
  ++super_instructions_;
  std::array<SuperArg, max_rank> args;
  std::array<ArgCopyBack, max_rank> backs;
  std::array<double, max_rank> literals{};
  // A block passed twice, once to be written, is one memory for the body: it leaves what it shares before either is
  // looked at.
  for (std::int32_t i = 0; i < in.c; ++i) {
    const ArgRow& arg = m_->args[in.b + i];
    if (arg.kind != ArgKind::block || i >= static_cast<std::int32_t>(special.signature.size()) ||
        special.signature[i] == 'r')
      continue;
    const ResolvedReference& ref = bound_.refs[arg.id];
    if (ref.kind != ArrayKind::temp && ref.kind != ArrayKind::local) continue;
    Located at;
    locate(ref, at);
    if (BlockMap::Entry* found = blocks_[ref.array].find(at.key))
      unshared(ref.array, *found, special.signature[i] == 'u');
  }
  for (std::int32_t i = 0; i < in.c; ++i) {
    const char letter = i < static_cast<std::int32_t>(special.signature.size()) ? special.signature[i] : 'r';
    prepare_arg(m_->args[in.b + i], letter, args[i], backs[i], literals[i]);
  }
  orbital_ranges_.check(special.name, std::span(args.data(), static_cast<std::size_t>(in.c)), bodies_[in.a].orbitals);
  {
    const Computing computing(*this);
    body(*context_, std::span(args.data(), static_cast<std::size_t>(in.c)));
  }
  for (std::int32_t i = 0; i < in.c; ++i) {
    if (!backs[i].scratch) continue;
    if (backs[i].copy_back) copy_view(backs[i].target, as_const(dense_view(backs[i].scratch, args[i].shape, {})));
    release(backs[i].scratch, backs[i].size);
    clock_ = 0;  // more came after what was timed
  }
}

}  // namespace sial
