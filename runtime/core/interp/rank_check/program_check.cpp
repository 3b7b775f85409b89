#include "runtime/core/interp/rank_check/program_check.h"

#include <algorithm>
#include <bit>

namespace sial {
namespace {

/// The content of the elements in index order; the hash is never 0.
RankCheck::Content content_of_view(const ConstView& view) {
  RankCheck::Content content{0, 1};
  std::array<std::int64_t, max_rank> at{};
  for (int d = 0; d < view.rank; ++d)
    if (view.extent[d] == 0) return content;
  for (;;) {
    std::int64_t offset = 0;
    for (int d = 0; d < view.rank; ++d) offset += at[d] * view.stride[d];
    const double x = view.data[offset];
    content.sum += x;
    content.hash = mix_hash(content.hash, x == 0 ? 0 : std::bit_cast<std::uint64_t>(x));
    int d = 0;
    for (; d < view.rank; ++d) {
      if (++at[d] < view.extent[d]) break;
      at[d] = 0;
    }
    if (d == view.rank) break;
  }
  content.hash |= 1;
  return content;
}

}  // namespace

ProgramCheck::ProgramCheck(const RunContext& context, const Registers& registers, const Position& position,
                           const LoopStack& loops, const PardoRun& pardo, Operands& operands, const OwnBlocks& own,
                           Statics& statics, const Regions& regions, const DeviceExecution& device)
    : context_(context),
      position_(position),
      loops_(loops),
      pardo_(pardo),
      operands_(operands),
      own_(own),
      statics_(statics),
      regions_(regions),
      device_(device) {
  if (!context.options.check_ranks) return;
  RankCheck::Program program{context.module,
                             context.sequence,
                             context.env.transport,
                             registers.ints(),
                             registers.scalars(),
                             {},
                             {},
                             {},
                             {},
                             {},
                             {}};
  program.block_of = [this](std::int32_t ref) { return operands_.locate(ref, position_.current()).key; };
  program.content = [this](const FlowOperand& operand) { return content(operand); };
  program.blocks = [this](ArrayId array, const EachBlock& f) { each_block(array, f); };
  program.block_name = [this](ArrayId array, std::uint64_t key) { return name_of_block(array, key); };
  program.place_name = [this](Place place) {
    return place.program == context_.sequence ? context_.place_name({place.pc}) : std::string();
  };
  program.all_print = [this] { return context_.env.state.all_ranks_print; };
  check_ = std::make_unique<RankCheck>(std::move(program));
}

RankCheck::Content ProgramCheck::content(const FlowOperand& operand) const {
  const Statement here = position_.current();
  switch (operand.kind) {
    case FlowOperand::Kind::block: return content_of_view(operands_.read(operand.id, here));
    case FlowOperand::Kind::region:
      return content_of_view(as_const(regions_.view(context_.module.regions[operand.id], here)));
    default: return content_of_array(ArrayId(operand.id));
  }
}

RankCheck::Content ProgramCheck::content_of_array(ArrayId id) const {
  const BoundArray& array = context_.bound.arrays[id.at()];
  if (array.kind == ArrayKind::static_) {
    const double* data = statics_.whole(id, Intent::read, position_.current());
    return content_of_view(dense_view<const double>(data, array.whole, {}));
  }
  RankCheck::Content all{0, 1};
  for (const Region& region : regions_.of(id)) {
    const RankCheck::Content one = content_of_view(as_const(regions_.whole(id, region)));
    all = {all.sum + one.sum, mix_hash(all.hash, one.hash) | 1};
  }
  return all;
}

void ProgramCheck::each_block_of_static(ArrayId id, const EachBlock& f) const {
  const BoundArray& array = context_.bound.arrays[id.at()];
  const double* data = statics_.whole(id, Intent::read, position_.current());
  std::array<std::int32_t, max_rank> lo{}, hi{};
  for (int d = 0; d < array.rank; ++d) {
    lo[d] = array.dim[d].lo;
    hi[d] = array.dim[d].hi;
  }
  Located at;
  walk_blocks(array, lo, hi, at, [&](const Located& block) {
    ConstView view;
    view.rank = array.rank;
    view.data = data;
    for (int d = 0; d < array.rank; ++d) {
      view.data += array.dim[d].offset_of(block.block.segment[d]) * array.stride[d];
      view.extent[d] = block.shape.extent[d];
      view.stride[d] = array.stride[d];
    }
    f(block.key, content_of_view(view));
  });
}

void ProgramCheck::each_block(ArrayId id, const EachBlock& f) const {
  if (context_.bound.arrays[id.at()].kind == ArrayKind::static_) return each_block_of_static(id, f);
  own_.of(id).for_each([&](const BlockMap::Entry& e) {
    device_.buffer_on_host(e.data, e.size, Intent::read, position_.current());
    ConstView view;
    view.rank = 1;
    view.data = e.data;
    view.extent[0] = e.size;
    view.stride[0] = 1;
    f(e.key, content_of_view(view));
  });
}

std::string ProgramCheck::name_of_block(ArrayId id, std::uint64_t key) const {
  const BoundArray& array = context_.bound.arrays[id.at()];
  BlockIndex block;
  block.rank = array.rank;
  for (int d = 0; d < array.rank; ++d) {
    const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(array.dim[d].count(), 1));
    block.segment[d] = array.dim[d].lo + static_cast<std::int32_t>(key / array.dim[d].key_stride % count);
  }
  return block_name(array, block);
}

void ProgramCheck::end(const PersistentMarks& marks, Statement here) {
  if (!check_) return;
  const Module& m = context_.module;
  for (std::size_t pc = 0; pc < m.code.size(); ++pc) {
    const Instruction& in = m.code[pc];
    if (in.op != Opcode::set_persistent) continue;
    const bool scalar = in.a == 0;
    if (!scalar && is_remote(m.arrays[in.b].kind)) continue;
    if (marks.has(scalar, in.b, m.strings[in.c]))
      check_->saved(static_cast<std::int32_t>(pc), {scalar ? Variable::Kind::scalar : Variable::Kind::array, in.b});
  }
  synchronise(CollectiveKind::end_of_program, here);
}

}  // namespace sial
