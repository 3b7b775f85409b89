#include "runtime/prediction/walk.h"

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/base/placement.h"
#include "runtime/bytecode/layout.h"
#include "runtime/interp/operations/view_ops.h"
#include "runtime/prediction/effects.h"
#include "runtime/super/hermite_repulsion.h"

namespace sial {

Walk::Walk(const Module& module, std::int32_t sequence, JobMemory& memory)
    : m_(module),
      sequence_(sequence),
      memory_(memory),
      ledger_(memory.ledger),
      bound_(bind_program(module, memory.job)),
      facts_(loop_facts(module, memory.setting.copy || memory.ledger.several_nodes())),
      registers_(module, memory.job),
      index_(module.indices.size()),
      items_(module.arrays.size(), -1),
      blocks_(module.arrays.size()),
      regions_(module.arrays.size()),
      statics_(module.arrays.size()),
      remote_(module.arrays.size()),
      held_(module.arrays.size()),
      keep_copies_(module.arrays.size()),
      retain_puts_(module.arrays.size(), 0) {
  for (std::size_t a = 0; a < remote_.size(); ++a) remote_[a].placement = placement_number(sequence, ArrayId(a));
}

void Walk::fail(const std::string& message, const std::string& hint) const {
  const SourcePlace& p = m_.places[at_];
  throw SialError(message, hint, fmt::format("{}:{}:{}", m_.files.at(p.file), p.line, p.column));
}

ProgramNeed Walk::run() {
  for (auto& [label, saved] : memory_.labels) label_item(label, saved);
  at_ = m_.main_entry;
  ledger_.at(at_);
  for (std::size_t a = 0; a < m_.arrays.size(); ++a)
    if (m_.arrays[a].kind == ArrayKind::static_ && bound_.array_used[a] && bound_.arrays[a].problem.empty())
      static_memory(ArrayId(a));
  pc_ = m_.main_entry;
  while (!halted_) step();
  const std::int32_t last = at_;
  finish();
  ProgramNeed need = ledger_.end_program(m_.program);
  const SourcePlace& p = m_.places[ledger_.peak_pc() > 0 ? ledger_.peak_pc() : last];
  need.place = fmt::format("{}:{}", m_.files.at(p.file), p.line);
  for (const auto& [key, choice] : choices_)
    if (!choice.why.empty())
      need.kernels.push_back({m_.files.at(static_cast<std::size_t>(std::get<0>(key))), choice.why, std::get<1>(key)});
  if (integrals_ && memory_.job.has_molecule && uses_hermite_repulsion(memory_.job.molecule, memory_.job.integrals))
    need.pairs = HermiteRepulsion::max_list_bytes;
  need.exact = exact_;
  return need;
}

/// The walk as evaluate_control() sees it.
struct Walk::Flow {
  Walk& w;

  std::optional<std::int32_t> condition(std::int32_t reg) const { return w.registers_.integer(reg); }
  void undecided(const Instruction& in) { w.walk_both(in); }
  /// A return or an exit that data decide: the rest of the procedure, or of the loop, is walked too.
  bool taken(Opcode op) const {
    if (w.uncertain_.empty()) return true;
    const Uncertain& u = w.uncertain_.back();
    if (op == Opcode::jump) return u.skipped_jump != w.at_;
    return u.call_depth != w.calls_.size() || (op == Opcode::exit_loop && u.loop_depth != w.loops_.size());
  }
  std::int32_t position() const { return w.pc_; }
  void go_to(std::int32_t pc) { w.pc_ = pc; }
  LoopPositions loop(std::int32_t id) const {
    const LoopRow& row = w.m_.loops[id];
    return {row.begin + 1, row.next, row.end};
  }
  bool is_pardo(std::int32_t id) const { return w.m_.loops[id].kind == LoopKind::pardo; }
  bool open_loop(std::int32_t id) { return is_pardo(id) ? w.begin_pardo(id) : w.begin_do(id); }
  bool next_iteration(std::int32_t id) { return is_pardo(id) ? w.next_in_pardo() : w.next_do(id); }
  void close_loop() { w.leave_loop(); }
  std::size_t open_loops() const { return w.loops_.size(); }
  void filtered(std::int32_t) {}
  /// Procedures that call others several times take steps without number: when there are no more, each is followed
  /// once.
  bool may_call(std::int32_t proc) {
    if (w.calls_.size() >= max_call_depth)
      w.fail(fmt::format("procedure `{}` is called recursively without end", w.m_.procs[proc].name), {});
    if (w.memory_.steps_left > 0 || w.followed_.insert(proc).second) return true;
    return w.exact_ = false;
  }
  std::int32_t entry(std::int32_t proc) const { return w.m_.procs[proc].entry; }
  void push_call(CallFrame frame) { w.calls_.push_back(frame); }
  CallFrame pop_call() {
    const CallFrame frame = w.calls_.back();
    w.calls_.pop_back();
    return frame;
  }
};

void Walk::step() {
  at_ = pc_++;
  ledger_.at(at_);
  --memory_.steps_left;
  if (!uncertain_.empty()) leave_uncertain();
  const Instruction& in = m_.code[at_];
  Flow flow{*this};
  if (evaluate_control(in.op, in, flow)) return;
  switch (in.op) {
    case Opcode::halt: halted_ = true; break;
    case Opcode::stop:
      if (uncertain_.empty()) halted_ = true;
      break;
    case Opcode::body_begin:
      if (pardo_.active && pardo_.loop == in.a && pardo_.mode == PardoMode::cyclic) take_turn();
      break;
    case Opcode::section_end:
    case Opcode::barrier: barrier(); break;
    case Opcode::block_sum: sum(in); break;
    case Opcode::block_alias: alias(in); break;
    case Opcode::free_block:
      for_each_block(bound_.refs[in.a], [&](const At& at) {
        free_local(bound_.refs[in.a].array, at.key);
        temps_.freed(bound_.refs[in.a].array, at.key);
      });
      break;
    case Opcode::keep_block: keep_block(in); break;
    case Opcode::allocate:
      for_each_block(bound_.refs[in.a], [&](const At& at) { own_block(bound_.refs[in.a], at); });
      break;
    case Opcode::deallocate:
      for_each_block(bound_.refs[in.a], [&](const At& at) { free_local(bound_.refs[in.a].array, at.key); });
      break;
    case Opcode::allocate_region: allocate_region(m_.regions[in.a]); break;
    case Opcode::deallocate_region: deallocate_region(m_.regions[in.a]); break;
    case Opcode::erase_array: erase(ArrayId(in.a)); break;
    case Opcode::get: get(bound_.refs[in.a]); break;
    case Opcode::put_block: put(in.a, in.b, true, static_cast<SetOp>(in.c)); break;
    case Opcode::put_move: put_alias(in); break;
    case Opcode::put_combined:
      put(in.a, in.b, true, SetOp::add);
      hold_sum(bound_.refs[in.a]);
      break;
    case Opcode::keep_copies:
      if (memory_.setting.copy) break;
      keep_copies_[in.a] = static_cast<KeepCopies>(in.b);
      if (keep_copies_[in.a] != KeepCopies::unchanged) retain_puts_[in.a] = 1;
      break;
    case Opcode::put_alias: put(in.a, in.b, true, SetOp::assign); break;  // as if it could not be shared
    case Opcode::put_scalar: put(in.a, -1, false, static_cast<SetOp>(in.c)); break;
    case Opcode::set_persistent:
      if (in.a == 1) marked_.emplace_back(in.b, m_.strings[in.c]);
      break;
    case Opcode::restore_persistent:
      if (in.a == 0) registers_.apply(in, std::nullopt, !uncertain_.empty());
      else if (is_remote(m_.arrays[in.b].kind)) restore(ArrayId(in.b), m_.strings[in.c]);
      else static_memory(ArrayId(in.b));
      break;
    case Opcode::execute: execute(in); break;
    case Opcode::real_contract:
      if (memory_.setting.explain_kernels)
        choices_.try_emplace({m_.places[at_].file, m_.places[at_].line, true}, Choice{0, "inner product, to a scalar"});
      [[fallthrough]];
    default: {
      if (op_class(in.op) == OpClass::block) block_work(in);
      const bool reads_index = in.op == Opcode::int_index && index_[in.b].known;
      registers_.apply(in, reads_index ? std::optional(index_[in.b].value) : std::nullopt, !uncertain_.empty());
    }
  }
}

/// Arithmetic with block a as its target. A part that is written makes the block that it is a part of.
void Walk::block_work(const Instruction& in) {
  const OpcodeInfo& info = *opcode_info(in.op);
  if (info.operands[0] != OperandKind::ref || operand_intent(in, 0) == Intent::read) return;
  const bool creates = operand_intent(in, 0) == Intent::write || in.op == Opcode::block_insert;
  if (info.operands[1] != OperandKind::ref) write_view(in.a, creates);
  else kernel(in.a, creates, in.b, info.operands[2] == OperandKind::ref ? in.c : -1);
}

/// Arguments that are parts of larger arrays travel through scratch copies, all of them at once.
void Walk::execute(const Instruction& in) {
  const std::string& letters = m_.specials[in.a].signature;
  integrals_ |= computes_integrals(m_.specials[in.a].name);
  std::int64_t scratch = 0;
  for (std::int32_t i = 0; i < in.c; ++i) {
    const ArgRow& arg = m_.args[in.b + i];
    const char letter = static_cast<std::size_t>(i) < letters.size() ? letters[i] : 'r';
    std::optional<MutableView> view;
    switch (arg.kind) {
      case ArgKind::scalar:
        if (letter != 'r') registers_.set_real(arg.id, {}, !uncertain_.empty());
        break;
      case ArgKind::array:
        if (m_.arrays[arg.id].kind == ArrayKind::static_) static_memory(ArrayId(arg.id));
        break;
      case ArgKind::block: view = letter == 'r' ? read_view(arg.id) : write_view(arg.id, letter == 'w'); break;
      case ArgKind::region: {
        std::array<std::int32_t, max_rank> lo{}, hi{};
        if (region_bounds(m_.regions[arg.id], lo, hi)) view = region_part(m_.regions[arg.id].array, lo, hi);
        break;
      }
      default: break;
    }
    if (view && !is_dense(*view)) scratch += pieces_bytes(view_size(*view));
  }
  ledger_.spike(scratch);
}

void Walk::finish() {
  const auto free_temp = [this](TempBlock t) { free_local(t.array, t.key); };
  for (const auto& [array, label] : marked_)
    if (m_.arrays[array.at()].kind == ArrayKind::static_) static_memory(array);
  loops_.clear();
  temps_.end_all(free_temp);
  barrier();
  save_marked();
  for (std::size_t a = 0; a < m_.arrays.size(); ++a) {
    const ArrayId id(a);
    if (is_remote(m_.arrays[a].kind)) erase(id);
    while (!blocks_[a].empty()) free_local(id, blocks_[a].begin()->first);
    for (const Region& r : regions_[a]) ledger_.give(items_[a], r.memory.bytes);
    if (statics_[a].address) ledger_.give(items_[a], statics_[a].bytes);
  }
}

/// The blocks of a marked array become the label's; what the label held is dropped, unless the array still shares it.
void Walk::save_marked() {
  for (const auto& [array, name] : marked_) {
    if (!is_remote(m_.arrays[array.at()].kind)) continue;
    RemoteBlocks& from = remote_[array.at()];
    SavedBlocks& label = memory_.labels[name];
    if (label.item < 0) label_item(name, label);
    std::vector<std::int64_t> shared(static_cast<std::size_t>(ledger_.nodes()));
    for (auto& [key, block] : label.content.blocks) {
      const auto kept = from.restored_from == name ? from.blocks.find(key) : from.blocks.end();
      if (kept != from.blocks.end() && kept->second.shared) continue;
      ledger_.give_remote(label.item, block.node, block.bytes);
    }
    for (auto& [key, block] : from.blocks) {
      if (!block.shared) {
        ledger_.carry(item_of(array), -1, -block.bytes);
        ledger_.carry(label.item, 1, block.bytes);
      } else if (from.restored_from != name) {
        ledger_.take_remote(label.item, block.node, block.bytes);  // two labels that share a block count it twice
      }
      block.shared = block.read = false;
    }
    label.content.blocks = std::move(from.blocks);
    label.content.placement = from.placement;
    label.content.restored_from.clear();
    from.blocks.clear();
  }
  marked_.clear();
}

}  // namespace sial
