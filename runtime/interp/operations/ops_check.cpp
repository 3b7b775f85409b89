// What --check sees of the machine when it compares the ranks' values (rank_check.h).

#include <bit>

#include "runtime/device/cache/block_cache.h"
#include "runtime/interp/machine.h"
#include "runtime/interp/rank_check/rank_check.h"

namespace sial {
namespace {

/// Of the elements in index order; the hash is never 0.
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

void Machine::make_rank_check() {
  RankCheck::Program program{*m_, sequence_, env_.transport, ints_, scalars_, {}, {}, {}, {}, {}, {}};
  program.block_of = [this](std::int32_t ref) {
    Located at;
    locate(bound_.refs[ref], at);
    return at.key;
  };
  program.content = [this](const FlowOperand& operand) {
    switch (operand.kind) {
      case FlowOperand::Kind::block: {
        ConstView view;
        read_view(operand.id, view);
        return content_of_view(view);
      }
      case FlowOperand::Kind::region: {
        MutableView view;
        region_view(m_->regions[operand.id], view);
        return content_of_view(as_const(view));
      }
      default: break;
    }
    const BoundArray& array = bound_.arrays[operand.id];
    if (array.kind == ArrayKind::static_)
      return content_of_view(dense_view<const double>(whole_static(operand.id, Intent::read), array.whole, {}));
    RankCheck::Content all{0, 1};
    for (const Region& region : regions_[operand.id]) {
      MutableView view;
      fill_region_view(operand.id, region, region.lo, region.hi, view);
      const RankCheck::Content one = content_of_view(as_const(view));
      all = {all.sum + one.sum, mix_hash(all.hash, one.hash) | 1};
    }
    return all;
  };
  program.blocks = [this](std::int32_t id, const std::function<void(std::uint64_t, const RankCheck::Content&)>& f) {
    const BoundArray& array = bound_.arrays[id];
    if (array.kind == ArrayKind::static_) {
      const double* data = whole_static(id, Intent::read);
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
      return;
    }
    blocks_[id].for_each([&](const BlockMap::Entry& e) {
      if (copies_) copies_->buffer_on_host(e.data, e.size, Intent::read, statement());
      ConstView view;
      view.rank = 1;
      view.data = e.data;
      view.extent[0] = e.size;
      view.stride[0] = 1;
      f(e.key, content_of_view(view));
    });
  };
  program.block_name = [this](std::int32_t id, std::uint64_t key) {
    const BoundArray& array = bound_.arrays[id];
    BlockIndex block;
    block.rank = array.rank;
    for (int d = 0; d < array.rank; ++d) {
      const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(array.dim[d].count(), 1));
      block.segment[d] = array.dim[d].lo + static_cast<std::int32_t>(key / array.dim[d].key_stride % count);
    }
    return block_name(array, block);
  };
  program.place_name = [this](Place place) {
    return place.program == sequence_ ? place_name(place.pc) : std::string();
  };
  program.all_print = [this] { return env_.state.all_ranks_print; };
  rank_check_ = std::make_unique<RankCheck>(std::move(program));
}

/// In a pardo whose iterations are divided among the ranks.
bool Machine::shares_pardo() const { return pardo_.active && pardo_.mode != PardoMode::everywhere; }

void Machine::check_step(std::int32_t pc) { rank_check_->step(pc, calls_.size(), shares_pardo()); }

void Machine::check_values(CollectiveKind kind) {
  if (rank_check_) rank_check_->synchronise(kind, at_, shares_pardo());
}

/// At the end of the program.
void Machine::check_saved() {
  if (!rank_check_) return;
  for (std::size_t pc = 0; pc < m_->code.size(); ++pc) {
    const Instruction& in = m_->code[pc];
    if (in.op != Opcode::set_persistent) continue;
    const bool scalar = in.a == 0;
    if (!scalar && is_remote(m_->arrays[in.b].kind)) continue;
    for (const Mark& m : scalar ? marked_scalars_ : marked_statics_)
      if (m.id == in.b && m.label == m_->strings[in.c])
        rank_check_->saved(static_cast<std::int32_t>(pc),
                           {scalar ? Variable::Kind::scalar : Variable::Kind::array, in.b});
  }
  check_values(CollectiveKind::end_of_program);
}

}  // namespace sial
