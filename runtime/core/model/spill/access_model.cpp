#include "runtime/core/model/spill/access_model.h"

#include <algorithm>
#include <limits>

#include "runtime/core/bytecode/layout.h"

namespace sial {
namespace {

constexpr std::int64_t max_ranks = std::numeric_limits<std::uint16_t>::max();

}  // namespace

AccessModel::AccessModel(const Module& module, std::int32_t sequence_number, std::int32_t first_place,
                         JobMemory& memory, AccessSequence& sequence, PlannedNodeBlocks& blocks)
    : context_(module, sequence_number, memory),
      sequence_(sequence),
      blocks_(blocks),
      ranks_(std::min<std::int64_t>(max_ranks, memory.setting.node_size())) {
  blocks_.begin_program(context_, first_place);
}

/// Blocks that the job gives are put before the program begins.
void AccessModel::give() {
  const std::vector<ArrayId> input = remote_input_arrays(context_.bound);
  if (input.empty()) return;
  for (const ArrayId array : input) {
    Located at;
    walk_all_blocks(context_.bound.arrays[array.at()], at, [&](const Located& block) {
      sequence_.begin_group(rank_);
      blocks_.put(array, block, SetOp::assign);
    });
  }
  barrier();
}

bool AccessModel::run() {
  give();
  while (!control_.halted() && sequence_.known()) step();
  finish();
  return context_.exact();
}

void AccessModel::step() {
  const std::int32_t pc = control_.advance();
  const Instruction& in = context_.module.code[static_cast<std::size_t>(pc)];
  blocks_.at(pc);
  if (control_.follow(in)) return follow_groups(in);
  if (!control_.in_loop()) sequence_.begin_group(rank_);
  if (remote(in) || persist(in)) return;
  if (in.op == Opcode::execute) return execute(in);
  operands(in);
  const auto index = in.op == Opcode::int_index ? indices_.known(IndexId(in.b)) : std::nullopt;
  registers_.apply(in, index, control_.uncertain());
}

/// The blocks that an iteration of the innermost loop accesses are needed at once.
void AccessModel::follow_groups(const Instruction& in) {
  switch (in.op) {
    case Opcode::body_begin:
      if (context_.loop(in.a).kind == LoopKind::pardo && share_.divided)
        rank_ = static_cast<std::uint16_t>(iterations_++ % ranks_);
      break;
    case Opcode::pardo_next:
      if (!share_.in_pardo) rank_ = 0;
      break;
    case Opcode::do_next:
    case Opcode::sub_next: break;
    default: return;
  }
  sequence_.begin_group(rank_);
}

void AccessModel::read(std::int32_t ref_id) {
  const ResolvedReference& ref = context_.reference(ref_id);
  if (!is_remote(ref.kind)) return;
  if (control_.uncertain()) context_.approximate();
  if (!ref.has_wildcard) {
    if (const auto at = indices_.locate(ref)) blocks_.read(ref.array, *at);
    return;
  }
  indices_.for_each_block(ref, [&](const Located& at) { blocks_.read(ref.array, at); });
}

void AccessModel::put(std::int32_t ref_id, SetOp op) {
  const ResolvedReference& ref = context_.reference(ref_id);
  if (control_.uncertain()) context_.approximate();
  indices_.for_each_block(ref, [&](const Located& at) { blocks_.put(ref.array, at, op); });
}

bool AccessModel::remote(const Instruction& in) {
  switch (in.op) {
    case Opcode::section_end:
    case Opcode::barrier: barrier(); return true;
    case Opcode::erase_array: blocks_.erase(ArrayId(in.a)); return true;
    case Opcode::discard_values: blocks_.discard(ArrayId(in.a)); return true;
    case Opcode::get: read(in.a); return true;
    default: break;
  }
  if (op_class(in.op) != OpClass::put) return false;
  if (in.op != Opcode::put_scalar) read(in.b);
  put(in.a, assignment_of(in));
  return true;
}

bool AccessModel::persist(const Instruction& in) {
  const auto label = [&]() -> const std::string& { return context_.module.strings[static_cast<std::size_t>(in.c)]; };
  const auto of_remote = [&] { return in.a == 1 && is_remote(context_.module.arrays[ArrayId(in.b).at()].kind); };
  if (in.op == Opcode::set_persistent) {
    if (of_remote()) marked_.emplace_back(ArrayId(in.b), label());
    return true;
  }
  if (in.op != Opcode::restore_persistent || !of_remote()) return false;
  blocks_.restore(ArrayId(in.b), label());
  return true;
}

/// Blocks that a statement works on. What changes a fetched block changes the rank's own copy of it.
void AccessModel::operands(const Instruction& in) {
  const OpcodeInfo& info = *opcode_info(in.op);
  if (info.has(op::no_data)) return;
  for_each_block(in, [&](std::int32_t ref, Intent) { read(ref); });
}

void AccessModel::execute(const Instruction& in) {
  const std::string& letters = context_.module.specials[static_cast<std::size_t>(in.a)].signature;
  for (std::int32_t i = 0; i < in.c; ++i) {
    const ArgRow& arg = context_.module.args[static_cast<std::size_t>(in.b + i)];
    const char letter = static_cast<std::size_t>(i) < letters.size() ? letters[static_cast<std::size_t>(i)] : 'r';
    if (arg.kind == ArgKind::block) read(arg.id);
    if (arg.kind == ArgKind::scalar && letter != 'r') registers_.set_real(arg.id, {}, control_.uncertain());
  }
}

void AccessModel::barrier() {
  sequence_.begin_phase();
  control_.barrier();
  iterations_ = 0;
}

void AccessModel::finish() {
  control_.end_program();
  barrier();
  for (const auto& [array, label] : marked_) blocks_.save(array, label);
  for (std::size_t a = 0; a < context_.module.arrays.size(); ++a) blocks_.erase(ArrayId(a));
}

}  // namespace sial
