#include "runtime/core/model/memory/operands.h"

#include <algorithm>

#include "runtime/core/bytecode/layout.h"
#include "runtime/core/interp/context/view_ops.h"

namespace sial {
namespace {

/// Memory that nothing else touches, of blocks that are not there: written on a path that the model did not take, or by
/// a largest segment of another loop; not fetched.
double* const somewhere = reinterpret_cast<double*>(std::uintptr_t{64});
double* const elsewhere = reinterpret_cast<double*>(std::uintptr_t{128});

constexpr int max_labels = 3 * max_rank;

/// Whether kernels accept the operands: labels unique per operand, equal labels of equal extents, each of the target's
/// in one source. Taking both ways can meet statements that a run would not.
bool consistent(const BlockOp& op) {
  struct Seen {
    std::int32_t label;
    std::int64_t extent;
    int d = 0, a = 0, b = 0;
  };
  std::array<Seen, max_labels> seen{};
  std::size_t n = 0;
  const auto add = [&](const auto& view, int Seen::* operand) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(view.rank); ++i) {
      std::size_t k = 0;
      while (k < n && seen[k].label != view.label[i]) ++k;
      if (k == n) seen[n++] = {view.label[i], view.extent[i]};
      if (seen[k].extent != view.extent[i] || ++(seen[k].*operand) > 1) return false;
    }
    return true;
  };
  if (!add(op.d, &Seen::d) || !add(op.a, &Seen::a) || (op.has_b && !add(op.b, &Seen::b))) return false;
  return std::all_of(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(n),
                     [](const Seen& s) { return s.d + s.a + s.b == 2; });
}

bool has_label(const MutableView& view, std::int32_t label) {
  const auto end = view.label.begin() + view.rank;
  return std::find(view.label.begin(), end, label) != end;
}

}  // namespace

std::optional<MutableView> ModelOperands::static_view(const ResolvedReference& ref, const Located& at) {
  double* base = own_.static_memory(ref.array);
  if (!base) return {};
  return static_block_view(ref, context_.array(ref.array), at, base);
}

std::optional<MutableView> ModelOperands::read(std::int32_t ref_id) {
  const ResolvedReference& ref = context_.reference(ref_id);
  const auto at = indices_.locate(ref);
  if (!at) return {};
  switch (ref.kind) {
    case ArrayKind::temp:
    case ArrayKind::local: {
      const ModelMemory* own = own_.find(ref.array, at->key);
      return block_view(ref, *at, own ? own->address : somewhere);
    }
    case ArrayKind::static_: return static_view(ref, *at);
    case ArrayKind::contiguous_local: {
      auto view = own_.region_part(ref.array, {at->block.segment, at->block.segment});
      if (view) narrow_to(ref, *at, *view);
      return view;
    }
    case ArrayKind::distributed:
    case ArrayKind::served: {
      double* address = remote_.copy_at(ref.array, at->key);
      return block_view(ref, *at, address ? address : elsewhere);
    }
  }
  return {};
}

std::optional<MutableView> ModelOperands::write(std::int32_t ref_id, bool creates) {
  const ResolvedReference& ref = context_.reference(ref_id);
  if (ref.kind == ArrayKind::temp) {
    const auto at = indices_.locate(ref);
    if (!at) return {};
    return block_view(ref, *at, own_.to_write(ref, *at));
  }
  if (ref.kind == ArrayKind::local && creates)
    indices_.for_each_block(ref, [&](const Located& at) { own_.to_write(ref, at); });
  if (is_remote(ref.kind))
    indices_.for_each_block(ref, [&](const Located& at) { remote_.private_copy(ref.array, at); });
  return read(ref_id);
}

void ModelWork::block(const Instruction& in, std::int32_t pc) {
  const OpcodeInfo& info = *opcode_info(in.op);
  if (info.operands[0] != OperandKind::ref || operand_intent(in, 0) == Intent::read) return;
  const bool creates = operand_intent(in, 0) == Intent::write || in.op == Opcode::block_insert;
  if (info.operands[1] != OperandKind::ref) operands_.write(in.a, creates);
  else kernel(in.a, creates, in.b, info.operands[2] == OperandKind::ref ? in.c : -1, pc);
}

/// Workspace of d = a or d = a * b: copies of operands that the target touches, and what the kernels take.
void ModelWork::kernel(std::int32_t target, bool creates, std::int32_t a, std::int32_t b, std::int32_t pc) {
  const auto source_a = operands_.read(a);
  const auto source_b = b >= 0 ? operands_.read(b) : std::nullopt;
  const auto d = operands_.write(target, creates);
  if (!source_a || !d || (b >= 0 && !source_b)) return;
  BlockOp op;
  op.d = *d;
  op.a = as_const(*source_a);
  op.has_b = b >= 0;
  if (op.has_b) op.b = as_const(*source_b);
  std::int64_t scratch = 0;
  const auto pack_if_touching = [&](ConstView& operand) {
    if (!may_overlap(op.d, operand)) return;
    scratch += heap_bytes(view_size(operand));
    operand = as_const(dense_like(const_cast<double*>(operand.data), operand));
  };
  pack_if_touching(op.a);
  if (op.has_b) {
    pack_if_touching(op.b);
    if (consistent(op))
      for (const std::int64_t n : context_.memory.kernels->workspace(op))
        if (n > 0) scratch += heap_bytes(n);
  }
  context_.ledger.spike(scratch);
  if (context_.memory.setting.explain_kernels) record_kernel(op, pc);
}

ModelWork::Choice& ModelWork::choice_at(std::int32_t pc, bool contraction) {
  const SourcePlace& place = context_.module.places[static_cast<std::size_t>(pc)];
  return choices_[{place.file, place.line, contraction}];
}

void ModelWork::record_kernel(const BlockOp& op, std::int32_t pc) {
  auto size = static_cast<double>(view_size(op.d));
  for (std::size_t d = 0; op.has_b && d < static_cast<std::size_t>(op.a.rank); ++d)
    if (!has_label(op.d, op.a.label[d])) size *= static_cast<double>(op.a.extent[d]);
  Choice& choice = choice_at(pc, op.has_b);
  if (size <= choice.size) return;
  const bool by_label = consistent(op);  // else positions correspond in order
  if (op.has_b && !by_label) return;
  choice.size = size;
  choice.why = by_label ? context_.memory.kernels->explain(op) : "copy in order";
}

void ModelWork::inner_product(std::int32_t pc) {
  if (!context_.memory.setting.explain_kernels) return;
  Choice& choice = choice_at(pc, true);
  if (choice.size < 0) choice = {0, "inner product, to a scalar"};
}

void ModelWork::sum(const Instruction& in) {
  const auto a = operands_.read(in.b), b = operands_.read(in.c), d = operands_.write(in.a, true);
  if (!a || !b || !d) return;
  const auto same_labels = [&](const MutableView& x) {
    return x.rank == d->rank && std::equal(d->label.begin(), d->label.begin() + d->rank, x.label.begin());
  };
  if (!same_labels(*a) || !same_labels(*b)) context_.ledger.spike(heap_bytes(view_size(*d)));
}

std::vector<PlannedKernel> ModelWork::choices() const {
  std::vector<PlannedKernel> list;
  for (const auto& [key, choice] : choices_)
    if (!choice.why.empty())
      list.push_back(
          {context_.module.files.at(static_cast<std::size_t>(std::get<0>(key))), choice.why, std::get<1>(key)});
  return list;
}

}  // namespace sial
