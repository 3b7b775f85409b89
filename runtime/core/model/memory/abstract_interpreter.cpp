#include "runtime/core/model/memory/abstract_interpreter.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "runtime/core/bytecode/layout.h"
#include "runtime/core/interp/context/view_ops.h"
#include "runtime/core/memory/node_heap.h"
#include "runtime/core/super/registry.h"

namespace sial {
namespace {

struct LeftEarly {};

}  // namespace

/// A rank's bytes of all quartets of segments, each once, as far as the store keeps any (a quarter stays free).
static std::int64_t integral_cache_bytes(const JobData& job, const PlanSetting& setting) {
  const auto segments = job.segments.find(IndexKind::ao);
  if (segments == job.segments.end()) return 0;
  std::map<std::int64_t, std::int64_t> sizes, pairs;  // how many of each size
  for (const std::int32_t n : segments->second) ++sizes[n];
  const auto each_pair = [](const std::map<std::int64_t, std::int64_t>& of, const auto& use) {
    for (auto a = of.begin(); a != of.end(); ++a)
      for (auto b = a; b != of.end(); ++b)
        use(a->first * b->first, a == b ? a->second * (a->second + 1) / 2 : a->second * b->second);
  };
  each_pair(sizes, [&](std::int64_t size, std::int64_t count) { pairs[size] += count; });
  double bytes = 0;
  each_pair(pairs, [&](std::int64_t size, std::int64_t count) {
    bytes += static_cast<double>(count) * static_cast<double>(NodeHeap::chunk_bytes(size));
  });
  return static_cast<std::int64_t>(
      std::min(bytes / setting.node_size(), 0.75 * static_cast<double>(setting.memory_per_rank)));
}

template <class F>
void AbstractInterpreter::each_block(std::int32_t ref_id, F&& f) {
  const ResolvedReference& ref = context_.reference(ref_id);
  indices_.for_each_block(ref, [&](const Located& at) {
    --context_.memory.steps_left;
    if (context_.memory.stops()) throw LeftEarly{};
    f(ref, at);
  });
}

ProgramNeed AbstractInterpreter::run() {
  const Module& m = context_.module;
  const BoundProgram& bound = context_.bound;
  remote_.begin_program();
  context_.ledger.at(control_.at());
  for (std::size_t a = 0; a < m.arrays.size(); ++a)
    if (m.arrays[a].kind == ArrayKind::static_ && bound.array_used[a] && bound.arrays[a].problem.empty())
      own_.static_memory(ArrayId(a));
  for (const ArrayId array : remote_input_arrays(bound)) remote_.give(array);
  if (!remote_input_arrays(bound).empty()) barrier();
  try {
    while (!control_.halted() && !context_.memory.stops()) step();
  } catch (const LeftEarly&) {  // among the blocks of a statement
  }
  const std::int32_t last = control_.at();
  const bool left = context_.memory.stops();
  const MemoryItem& certain = context_.ledger.certain_item();
  const std::string certain_of = fmt::format("{} `{}`", certain.kind, certain.name);
  finish();
  ProgramNeed need = context_.ledger.end_program(m.program);
  const std::int32_t peak = context_.ledger.peak_pc() > 0 ? context_.ledger.peak_pc() : last;
  const auto place = [&](std::int32_t pc) {
    const SourcePlace& p = m.places[static_cast<std::size_t>(pc)];
    return fmt::format("{}:{}", m.files.at(static_cast<std::size_t>(p.file)), p.line);
  };
  need.place = place(peak);
  need.certain = context_.ledger.certain();
  need.certain_of = certain_of;
  if (left) need.left_at = fmt::format("{}:{}", place(last), m.places[static_cast<std::size_t>(last)].column);
  need.kernels = work_.choices();
  const JobData& job = context_.memory.job;
  bool keeps = false;
  for (const std::int32_t special : executed_) {
    const SuperDemand demand = demand_of(job, m.specials[static_cast<std::size_t>(special)].name);
    need.pairs = std::max(need.pairs, demand.memory);
    keeps |= demand.keeps;
  }
  if (keeps && context_.memory.setting.keep_integrals)
    need.integral_cache = integral_cache_bytes(job, context_.memory.setting);
  need.exact = context_.exact();
  return need;
}

void AbstractInterpreter::step() {
  const std::int32_t pc = control_.advance();
  const Instruction& in = context_.module.code[static_cast<std::size_t>(pc)];
  context_.ledger.set_certain(control_.certain());
  if (control_.follow(in) || control_memory(in) || communicate(in) || persist(in)) return;
  switch (in.op) {
    case Opcode::block_sum: return work_.sum(in);
    case Opcode::block_alias: return alias(in);
    case Opcode::execute: return execute(in);
    case Opcode::real_contract: work_.inner_product(pc); break;
    default:
      if (op_class(in.op) == OpClass::block) work_.block(in, pc);
  }
  const auto index = in.op == Opcode::int_index ? indices_.known(IndexId(in.b)) : std::nullopt;
  registers_.apply(in, index, control_.uncertain());
}

/// Instructions that make and free the rank's own memory.
bool AbstractInterpreter::control_memory(const Instruction& in) {
  switch (in.op) {
    case Opcode::free_block:
      each_block(in.a, [&](const auto& ref, const Located& at) { own_.free_early(ref.array, at.key); });
      return true;
    case Opcode::keep_block: {
      const ResolvedReference& ref = context_.reference(in.a);
      if (const auto at = indices_.locate(ref)) own_.keep(ref.array, at->key, static_cast<std::size_t>(in.b));
      return true;
    }
    case Opcode::allocate:
      each_block(in.a, [&](const auto& ref, const Located& at) { own_.to_write(ref, at); });
      return true;
    case Opcode::deallocate:
      each_block(in.a, [&](const auto& ref, const Located& at) { own_.free(ref.array, at.key); });
      return true;
    case Opcode::allocate_region:
      own_.allocate(context_.module.regions[static_cast<std::size_t>(in.a)], registers_);
      return true;
    case Opcode::deallocate_region:
      own_.deallocate(context_.module.regions[static_cast<std::size_t>(in.a)], registers_);
      return true;
    default: return false;
  }
}

bool AbstractInterpreter::communicate(const Instruction& in) {
  switch (in.op) {
    case Opcode::section_end:
    case Opcode::barrier: barrier(); return true;
    case Opcode::erase_array: remote_.erase(ArrayId(in.a)); return true;
    case Opcode::get:
      each_block(in.a, [&](const auto& ref, const Located& at) { remote_.get(ref.array, at); });
      return true;
    case Opcode::put_block: put(in.a, in.b, static_cast<SetOp>(in.c)); return true;
    case Opcode::put_move: put_move(in); return true;
    case Opcode::put_combined:
      put(in.a, in.b, SetOp::add);
      each_block(in.a, [&](const auto& ref, const Located& at) { remote_.hold_sum(ref.array, at); });
      return true;
    case Opcode::put_alias: put(in.a, in.b, SetOp::assign); return true;  // as if it could not be shared
    case Opcode::put_scalar: put(in.a, {}, static_cast<SetOp>(in.c)); return true;
    case Opcode::keep_copies: remote_.keep_copies(ArrayId(in.a), static_cast<KeepCopies>(in.b)); return true;
    default: return false;
  }
}

bool AbstractInterpreter::persist(const Instruction& in) {
  const auto label = [&]() -> const std::string& { return context_.module.strings[static_cast<std::size_t>(in.c)]; };
  if (in.op == Opcode::set_persistent) {
    if (in.a == 1) marked_.emplace_back(ArrayId(in.b), label());
    return true;
  }
  if (in.op != Opcode::restore_persistent || in.a == 0) return false;
  const ArrayId array(in.b);
  if (!is_remote(context_.module.arrays[array.at()].kind)) own_.static_memory(array);
  else if (!remote_.restore(array, label()) && !control_.uncertain())
    context_.fail(control_.at(),
                  fmt::format("no distributed or served array was saved under the label \"{}\"", label()),
                  "an earlier program of the job must mark one with set_persistent");
  return true;
}

/// The target lies where the source does, at no cost until it is written.
void AbstractInterpreter::alias(const Instruction& in) {
  const ResolvedReference &target = context_.reference(in.a), &from = context_.reference(in.b);
  const auto source = operands_.read(in.b);
  const auto at = indices_.locate(target);
  if (!source || !at) return;
  bool of_store = is_remote(from.kind);
  const auto from_at = of_store ? std::nullopt : indices_.locate(from);
  if (const ModelMemory* own = from_at ? own_.find(from.array, from_at->key) : nullptr) of_store = own->of_store;
  own_.share(target, *at, source->data, of_store);
}

/// `source`: of a block; nothing: of a number.
void AbstractInterpreter::put(std::int32_t ref, std::optional<std::int32_t> source, SetOp op) {
  std::int64_t packed = 0;
  if (const auto view = source ? operands_.read(*source) : std::nullopt; view && !is_dense(*view))
    packed = heap_bytes(view_size(*view));
  each_block(ref, [&](const auto& target, const Located& at) {
    context_.ledger.spike(packed + remote_.put(target.array, at, op, source.has_value()));
  });
}

/// On its home node the block's memory is what the source had, and counts as the node's from now on; what is a remote
/// block's already costs nothing more until one of the two is written.
void AbstractInterpreter::put_move(const Instruction& in) {
  const ResolvedReference &target = context_.reference(in.a), &source = context_.reference(in.b);
  const auto to = indices_.locate(target), from = indices_.locate(source);
  if (context_.memory.setting.copy || !to || !from || !remote_.is_home(target.array, *to))
    return put(in.a, in.b, SetOp::assign);
  const ModelMemory* own = own_.find(source.array, from->key);
  if (own && own->of_store) return remote_.put_alias(target.array, *to);
  put(in.a, in.b, SetOp::assign);
  own_.give_to_store(source.array, from->key);
}

std::optional<MutableView> AbstractInterpreter::argument(const ArgRow& arg, char letter) {
  switch (arg.kind) {
    case ArgKind::scalar:
      if (letter != 'r') registers_.set_real(arg.id, {}, control_.uncertain());
      return {};
    case ArgKind::array: {
      const ArrayId array(arg.id);
      if (context_.module.arrays[array.at()].kind == ArrayKind::static_) own_.static_memory(array);
      return {};
    }
    case ArgKind::block: return letter == 'r' ? operands_.read(arg.id) : operands_.write(arg.id, letter == 'w');
    case ArgKind::region: {
      const RegionRow& row = context_.module.regions[static_cast<std::size_t>(arg.id)];
      const auto bounds = own_.bounds(row, registers_);
      return bounds ? own_.region_part(row.array, *bounds) : std::nullopt;
    }
    default: return {};
  }
}

/// Arguments that are parts of larger arrays travel through scratch copies, all of them at once.
void AbstractInterpreter::execute(const Instruction& in) {
  const SpecialRow& special = context_.module.specials[static_cast<std::size_t>(in.a)];
  executed_.insert(in.a);
  std::int64_t scratch = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(in.c); ++i) {
    const char letter = i < special.signature.size() ? special.signature[i] : 'r';
    const auto view = argument(context_.module.args[static_cast<std::size_t>(in.b) + i], letter);
    if (view && !is_dense(*view)) scratch += heap_bytes(view_size(*view));
  }
  context_.ledger.spike(scratch);
}

void AbstractInterpreter::barrier() {
  remote_.barrier();
  control_.barrier();
}

void AbstractInterpreter::finish() {
  const auto is_static = [&](ArrayId array) { return context_.module.arrays[array.at()].kind == ArrayKind::static_; };
  for (const auto& [array, label] : marked_)
    if (is_static(array)) own_.static_memory(array);
  control_.end_program();
  own_.end_temps();
  barrier();
  for (const auto& [array, label] : marked_)
    if (!is_static(array)) remote_.save(array, label);
  for (std::size_t a = 0; a < context_.module.arrays.size(); ++a)
    if (is_remote(context_.module.arrays[a].kind)) remote_.erase(ArrayId(a));
  own_.free_all();
}

}  // namespace sial
