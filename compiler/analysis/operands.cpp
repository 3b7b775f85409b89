#include "compiler/analysis/operands.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/sema/super_table.h"
#include "runtime/base/check.h"

namespace sial::analysis {
namespace {

/// Uses are collected in the order of the operands; sorting afterwards puts what is read first.
class Uses {
 public:
  Uses(const ir::Program& program, const ir::Instr& instr) : p_(program), in_(instr) {}

  std::vector<ArrayUse> take() {
    for (std::size_t k = 0; k < in_.operands.size(); ++k) operand(k);
    // Fetching replaces what the rank holds of the block, unless it has changed it: both are possible.
    if (op_class(in_.op) == OpClass::fetch) again(Side::own, Intent::update);
    // Dropping an array, or filling it anew, drops this rank's copies of its blocks as well.
    if (in_.op == Opcode::erase_array || (in_.op == Opcode::restore_persistent && !list_.empty() && list_.front().side == Side::home)) again(Side::own, Intent::write);
    std::stable_sort(list_.begin(), list_.end(), [](const ArrayUse& a, const ArrayUse& b) { return !a.writes() && b.writes(); });
    return std::move(list_);
  }

 private:
  void operand(std::size_t k) {
    const ir::Operand& o = in_.operands[k];
    if (const auto* b = std::get_if<ir::Block>(&o)) list_.push_back({b->array, intent(b->intent), side(k), k, b, nullptr});
    if (const auto* r = std::get_if<ir::Region>(&o)) list_.push_back({r->array, intent(r->intent), Side::own, k, nullptr, r});
    if (const auto* a = std::get_if<ir::ArrayArg>(&o)) list_.push_back({a->array, intent(a->intent), Side::own, k});
    if (const auto* a = std::get_if<ir::ArrayId>(&o)) whole(a->row, k);
  }

  /// Allocation on a device leaves the values alone, and a copy to or from it moves them.
  Intent intent(Intent as_written) const {
    if (op_class(in_.op) != OpClass::device) return as_written;
    return as_written == Intent::read ? Intent::read : Intent::update;
  }

  Side side(std::size_t k) const {
    const OpClass c = op_class(in_.op);
    return k == 0 && (c == OpClass::fetch || c == OpClass::put) ? Side::home : Side::own;
  }

  void whole(std::int32_t array, std::size_t k) {
    const Side home = is_remote_array(p_, array) ? Side::home : Side::own;
    switch (in_.op) {
      case Opcode::create: case Opcode::keep_copies: return;
      case Opcode::erase_array: return list_.push_back({array, Intent::write, Side::home, k});
      case Opcode::broadcast: return list_.push_back({array, Intent::update, Side::own, k});  // read on one rank, replaced on the others
      case Opcode::set_persistent: return list_.push_back({array, Intent::read, home, k});
      case Opcode::restore_persistent: return list_.push_back({array, Intent::write, home, k});
      case Opcode::print_array: case Opcode::inspect_array: case Opcode::elements_array: return list_.push_back({array, Intent::read, Side::own, k});
      default: SIAL_CHECK(false, "`{}` of a whole array is not known to the analyses", opcode_info(in_.op)->name);
    }
  }

  void again(Side side, Intent intent) {
    ArrayUse use = list_.front();
    use.side = side;
    use.intent = intent;
    list_.push_back(use);
  }

  const ir::Program& p_;
  const ir::Instr& in_;
  std::vector<ArrayUse> list_;
};

bool never_fails(Opcode op) {
  switch (op) {
    case Opcode::call: case Opcode::ret: case Opcode::exit_loop: case Opcode::int_const: case Opcode::int_copy: case Opcode::int_index:
    case Opcode::int_compare: case Opcode::real_const: case Opcode::real_copy: case Opcode::real_add: case Opcode::real_sub:
    case Opcode::real_mul: case Opcode::real_neg: case Opcode::real_compare: case Opcode::real_from_int: case Opcode::create:
    case Opcode::print_string: case Opcode::print_scalar: case Opcode::print_int: case Opcode::print_index: case Opcode::gpu_on:
    case Opcode::gpu_off: case Opcode::gpu_allocate: case Opcode::gpu_free: case Opcode::gpu_put: case Opcode::gpu_get:
    case Opcode::free_block: case Opcode::keep_block: case Opcode::keep_copies: case Opcode::fused:
      return true;
    default: return false;
  }
}

}  // namespace

OpClass op_class(Opcode op) {
  switch (op) {
    case Opcode::halt: case Opcode::jump: case Opcode::jump_unless: case Opcode::call: case Opcode::ret: case Opcode::stop:
    case Opcode::do_begin: case Opcode::do_next: case Opcode::sub_begin: case Opcode::sub_next: case Opcode::pardo_begin:
    case Opcode::pardo_next: case Opcode::where: case Opcode::body_begin: case Opcode::exit_loop: case Opcode::section_begin:
    case Opcode::section_end:
      return OpClass::control;
    case Opcode::int_const: case Opcode::int_copy: case Opcode::int_index: case Opcode::int_add: case Opcode::int_sub: case Opcode::int_mul:
    case Opcode::int_div: case Opcode::int_neg: case Opcode::int_compare: case Opcode::int_round: case Opcode::real_compare:
      return OpClass::int_;
    case Opcode::real_const: case Opcode::real_copy: case Opcode::real_add: case Opcode::real_sub: case Opcode::real_mul: case Opcode::real_div:
    case Opcode::real_pow: case Opcode::real_neg: case Opcode::real_sqrt: case Opcode::real_from_int: case Opcode::real_element:
    case Opcode::real_contract:
      return OpClass::scalar;
    case Opcode::block_fill: case Opcode::block_add_scalar: case Opcode::block_scale: case Opcode::block_copy: case Opcode::block_accumulate:
    case Opcode::block_scaled_copy: case Opcode::block_scaled_accumulate: case Opcode::block_sum: case Opcode::block_contract:
    case Opcode::block_slice: case Opcode::block_insert: case Opcode::region_put: case Opcode::region_get: case Opcode::region_fill:
    case Opcode::block_alias: case Opcode::contract_scaled: case Opcode::contract_add_scaled: case Opcode::expect:
      return OpClass::block;
    case Opcode::allocate: case Opcode::deallocate: case Opcode::allocate_region: case Opcode::deallocate_region: case Opcode::create:
    case Opcode::erase_array: case Opcode::free_block: case Opcode::keep_block: case Opcode::relieve_sums: case Opcode::keep_copies:
    case Opcode::fused:
      return OpClass::memory;
    case Opcode::get: return OpClass::fetch;
    case Opcode::put_block: case Opcode::put_scalar: case Opcode::put_share: case Opcode::put_combined: case Opcode::put_shared: return OpClass::put;
    case Opcode::barrier: case Opcode::collective_sum: case Opcode::assert_same: case Opcode::broadcast: return OpClass::sync;
    case Opcode::set_persistent: case Opcode::restore_persistent: return OpClass::persist;
    case Opcode::print_string: case Opcode::print_scalar: case Opcode::print_int: case Opcode::print_index: case Opcode::print_block:
    case Opcode::print_region: case Opcode::print_array: case Opcode::inspect_block: case Opcode::inspect_region: case Opcode::inspect_array:
    case Opcode::elements_block: case Opcode::elements_region: case Opcode::elements_array:
      return OpClass::output;
    case Opcode::execute: return OpClass::execute;
    case Opcode::gpu_on: case Opcode::gpu_off: case Opcode::gpu_allocate: case Opcode::gpu_free: case Opcode::gpu_put: case Opcode::gpu_get:
      return OpClass::device;
  }
  SIAL_CHECK(false, "opcode {}", static_cast<int>(op));
}

Effects effects_of(const ir::Program& program, const ir::Instr& instr) {
  Effects e;
  e.may_fail = !never_fails(instr.op);
  switch (instr.op) {
    case Opcode::barrier: e.barrier = e.collective = true; break;
    case Opcode::collective_sum: case Opcode::assert_same: case Opcode::broadcast: case Opcode::erase_array: case Opcode::restore_persistent:
      e.collective = true;
      break;
    case Opcode::set_persistent: e.persistent = true; break;
    case Opcode::stop: e.ends_job = true; break;
    case Opcode::execute: {
      const std::string& name = program.specials[static_cast<std::size_t>(std::get<ir::SpecialId>(instr.operands[0]).row)].name;
      const bool known = table_signatures(name).has_value();
      e.output = true;  // bodies have a stream
      e.reads_by_name = !known || name == "return_h1frag";  // which looks elst_dist up
      e.writes_by_name = !known;
      e.lists_blocks = !known || name == "list_block_map" || name == "list_blocks_with_number";
      break;
    }
    default: e.output = op_class(instr.op) == OpClass::output; break;
  }
  return e;
}

std::vector<ArrayUse> array_uses(const ir::Program& program, const ir::Instr& instr) { return Uses(program, instr).take(); }

std::vector<RegisterUse> register_uses(const ir::Instr& instr) {
  std::vector<RegisterUse> list;
  const auto add = [&](bool scalar, std::int32_t reg, bool read, bool write, std::size_t k) { list.push_back({scalar, reg, read, write, k}); };
  const OpcodeInfo& info = *opcode_info(instr.op);
  for (std::size_t k = 0; k < instr.operands.size(); ++k) {
    const ir::Operand& o = instr.operands[k];
    if (const auto* r = std::get_if<ir::Region>(&o)) {
      for (const std::int32_t reg : r->lo) add(false, reg, true, false, k);
      for (const std::int32_t reg : r->hi) add(false, reg, true, false, k);
    } else if (const auto* a = std::get_if<ir::ScalarArg>(&o)) {
      const bool device = op_class(instr.op) == OpClass::device;
      add(true, a->slot, a->intent != Intent::write || device, a->intent != Intent::read, k);
    } else if (std::holds_alternative<ir::ScalarReg>(o) && op_class(instr.op) == OpClass::persist) {
      const bool restore = instr.op == Opcode::restore_persistent;
      add(true, std::get<ir::ScalarReg>(o).reg, !restore, restore, k);
    } else if (const auto* i = std::get_if<ir::IntReg>(&o)) {
      const OperandKind kind = info.operands[k];
      add(false, i->reg, kind != OperandKind::iout, kind != OperandKind::iin, k);
    } else if (const auto* s = std::get_if<ir::ScalarReg>(&o)) {
      const OperandKind kind = info.operands[k];  // svar: a variable that is read and changed (collective sums, assert_same)
      add(true, s->reg, kind != OperandKind::sout, kind != OperandKind::sin, k);
    }
  }
  return list;
}

std::vector<const ir::Block*> blocks_of(const ir::Instr& instr) {
  std::vector<const ir::Block*> list;
  for (const ir::Operand& o : instr.operands)
    if (const auto* b = std::get_if<ir::Block>(&o)) list.push_back(b);
  return list;
}

bool replaces(const ir::Program& program, const ir::Instr& instr, const ArrayUse& use) {
  return use.intent == Intent::write && use.block != nullptr && !has_wild(*use.block) && !is_part(program, *use.block) &&
         op_class(instr.op) != OpClass::memory;
}

bool is_part(const ir::Program& program, const ir::Block& block) {
  const ArrayRow& array = program.arrays[static_cast<std::size_t>(block.array)];
  for (std::size_t d = 0; d < block.entries.size(); ++d) {
    const RefEntry& e = block.entries[d];
    if (e.index < 0 || e.as_simple) continue;
    if (program.indices[static_cast<std::size_t>(e.index)].kind == IndexKind::sub &&
        program.indices[static_cast<std::size_t>(array.dims[d])].kind != IndexKind::sub)
      return true;
  }
  return false;
}

bool has_wild(const ir::Block& block) {
  return std::any_of(block.entries.begin(), block.entries.end(), [](const RefEntry& e) { return e.index < 0; });
}

bool is_element(const ir::Program& program, const ir::Block& block) {
  return std::all_of(block.entries.begin(), block.entries.end(), [&](const RefEntry& e) {
    return e.index >= 0 && (e.as_simple || program.indices[static_cast<std::size_t>(e.index)].kind == IndexKind::simple);
  });
}

bool is_remote_array(const ir::Program& program, std::int32_t array) {
  return is_remote(program.arrays[static_cast<std::size_t>(array)].kind);
}

std::string text_of(const ir::Program& program, const ir::Block& block) {
  std::string text = array_name(program, block.array) + "[";
  for (std::size_t d = 0; d < block.entries.size(); ++d) {
    const RefEntry& e = block.entries[d];
    if (d > 0) text += ',';
    if (e.as_simple) text += "(index)";
    text += e.index < 0 ? "*" : program.indices[static_cast<std::size_t>(e.index)].name;
  }
  return text + "]";
}

std::string text_of(const ir::Program& program, const ir::Region& region) {
  const auto name = [&](std::int32_t r) {
    return static_cast<std::size_t>(r) < program.ints.size() ? program.ints[static_cast<std::size_t>(r)].name : fmt::format("%i{}", r);
  };
  std::string text = array_name(program, region.array) + "[";
  for (std::size_t d = 0; d < region.lo.size(); ++d) text += fmt::format("{}{}:{}", d > 0 ? "," : "", name(region.lo[d]), name(region.hi[d]));
  return text + "]";
}

std::string text_of(const ir::Program& program, const ArrayUse& use) {
  if (use.block != nullptr) return text_of(program, *use.block);
  return use.region != nullptr ? text_of(program, *use.region) : array_name(program, use.array);
}

}  // namespace sial::analysis
