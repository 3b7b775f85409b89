#include "compiler/analysis/operands.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/sema/super_table.h"
#include "runtime/core/base/check.h"

namespace sial::analysis {
namespace {

/// The instruction's access to the array, or the scalar in its place, that it uses as a whole.
OperandAccess whole_access(const ir::Instr& instr) {
  const OpcodeInfo& info = *opcode_info(instr.op);
  for (std::size_t k = 0; k < info.operands.size(); ++k)
    if (info.operands[k] == OperandKind::array || info.operands[k] == OperandKind::item) return info.access[k];
  return OperandAccess::none;
}

/// Uses are collected in the order of the operands; sorting afterwards puts what is read first.
class Uses {
 public:
  Uses(const ir::Program& program, const ir::Instr& instr) : p_(program), in_(instr) {}

  std::vector<ArrayUse> take() {
    for (std::size_t k = 0; k < in_.operands.size(); ++k) operand(k);
    // Fetching replaces what the rank holds of the block, unless it has changed it: both are possible.
    if (op_class(in_.op) == OpClass::fetch) again(Side::own, Intent::update);
    // Dropping an array, or filling it anew, drops this rank's copies of its blocks as well.
    if (whole_access(in_) == OperandAccess::out && !list_.empty() && list_.front().side == Side::home)
      again(Side::own, Intent::write);
    std::stable_sort(list_.begin(), list_.end(),
                     [](const ArrayUse& a, const ArrayUse& b) { return !a.writes() && b.writes(); });
    return std::move(list_);
  }

 private:
  void operand(std::size_t k) {
    const ir::Operand& o = in_.operands[k];
    if (const auto* b = std::get_if<ir::Block>(&o))
      list_.push_back({b->array, intent(b->intent), side(k), k, b, nullptr});
    if (const auto* r = std::get_if<ir::Region>(&o))
      list_.push_back({r->array, intent(r->intent), Side::own, k, nullptr, r});
    if (const auto* a = std::get_if<ir::ArrayArg>(&o)) list_.push_back({a->array, intent(a->intent), Side::own, k});
    if (const auto* a = std::get_if<ArrayId>(&o)) whole(*a, k);
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

  void whole(ArrayId array, std::size_t k) {
    switch (whole_access(in_)) {
      case OperandAccess::none: return;
      case OperandAccess::in:
        return list_.push_back({array, Intent::read, is_remote_array(p_, array) ? Side::home : Side::own, k});
      case OperandAccess::out:
        return list_.push_back({array, Intent::write, is_remote_array(p_, array) ? Side::home : Side::own, k});
      default:
        return list_.push_back({array, Intent::update, Side::own, k});  // read on one rank, replaced on the others
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

}  // namespace

Effects effects_of(const ir::Program& program, const ir::Instr& instr) {
  Effects e;
  e.may_fail = !has(instr.op, op::never_fails);
  e.barrier = has(instr.op, op::ends_phase);
  e.collective = has(instr.op, op::collective);
  e.persistent = op_class(instr.op) == OpClass::persist && whole_access(instr) == OperandAccess::in;
  e.ends_job = instr.op == Opcode::stop;
  e.output = op_class(instr.op) == OpClass::output;
  if (op_class(instr.op) == OpClass::execute) {
    const std::string& name =
        program.specials[static_cast<std::size_t>(std::get<ir::SpecialId>(instr.operands[0]).row)].name;
    const bool known = table_signatures(name).has_value();
    e.output = true;                                      // bodies have a stream
    e.reads_by_name = !known || name == "return_h1frag";  // which looks elst_dist up
    e.writes_by_name = !known;
    e.lists_blocks = !known || name == "list_block_map" || name == "list_blocks_with_number";
  }
  return e;
}

std::vector<ArrayUse> array_uses(const ir::Program& program, const ir::Instr& instr) {
  return Uses(program, instr).take();
}

std::vector<RegisterUse> register_uses(const ir::Instr& instr) {
  std::vector<RegisterUse> list;
  const auto add = [&](bool scalar, std::int32_t reg, bool read, bool write, std::size_t k) {
    list.push_back({scalar, reg, read, write, k});
  };
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
      const bool restore = whole_access(instr) == OperandAccess::out;
      add(true, std::get<ir::ScalarReg>(o).reg, !restore, restore, k);
    } else if (const auto* i = std::get_if<ir::IntReg>(&o)) {
      const OperandKind kind = info.operands[k];
      add(false, i->reg, kind != OperandKind::iout, kind != OperandKind::iin, k);
    } else if (const auto* s = std::get_if<ir::ScalarReg>(&o)) {
      const OperandKind kind =
          info.operands[k];  // svar: a variable that is read and changed (collective sums, assert_same)
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
  return use.intent == Intent::write && use.block != nullptr && !has_wildcard(*use.block) &&
         !is_part(program, *use.block) && op_class(instr.op) != OpClass::memory;
}

bool is_part(const ir::Program& program, const ir::Block& block) {
  const ArrayRow& array = program.arrays[block.array.at()];
  for (std::size_t d = 0; d < block.entries.size(); ++d) {
    const RefEntry& e = block.entries[d];
    if (e.index == no_index || e.as_simple) continue;
    if (program.indices[e.index.at()].kind == IndexKind::sub &&
        program.indices[array.dims[d].at()].kind != IndexKind::sub)
      return true;
  }
  return false;
}

bool has_wildcard(const ir::Block& block) {
  return std::any_of(block.entries.begin(), block.entries.end(), [](const RefEntry& e) { return e.index == no_index; });
}

bool is_element(const ir::Program& program, const ir::Block& block) {
  return std::all_of(block.entries.begin(), block.entries.end(), [&](const RefEntry& e) {
    return e.index != no_index && (e.as_simple || program.indices[e.index.at()].kind == IndexKind::simple);
  });
}

bool is_remote_array(const ir::Program& program, ArrayId array) { return is_remote(program.arrays[array.at()].kind); }

std::string text_of(const ir::Program& program, const ir::Block& block) {
  std::string text = array_name(program, block.array) + "[";
  for (std::size_t d = 0; d < block.entries.size(); ++d) {
    const RefEntry& e = block.entries[d];
    if (d > 0) text += ',';
    if (e.as_simple) text += "(index)";
    text += e.index == no_index ? "*" : program.indices[e.index.at()].name;
  }
  return text + "]";
}

std::string text_of(const ir::Program& program, const ir::Region& region) {
  const auto name = [&](std::int32_t r) {
    return static_cast<std::size_t>(r) < program.ints.size() ? program.ints[static_cast<std::size_t>(r)].name
                                                             : fmt::format("%i{}", r);
  };
  std::string text = array_name(program, region.array) + "[";
  for (std::size_t d = 0; d < region.lo.size(); ++d)
    text += fmt::format("{}{}:{}", d > 0 ? "," : "", name(region.lo[d]), name(region.hi[d]));
  return text + "]";
}

std::string text_of(const ir::Program& program, const ArrayUse& use) {
  if (use.block != nullptr) return text_of(program, *use.block);
  return use.region != nullptr ? text_of(program, *use.region) : array_name(program, use.array);
}

}  // namespace sial::analysis
