#include "runtime/core/interp/order/order_legality.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/bytecode/calls.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/super/registry.h"

namespace sial {
namespace {

/// Super instructions that print, or change what is printed.
constexpr std::array<std::string_view, 9> printing = {
    "print_block",           "print_static_array",      "print_iteration",
    "list_block_map",        "list_blocks_with_number", "get_and_print_mpi_rank",
    "enable_all_rank_print", "disable_all_rank_print",  "check_block_number_calculation"};

std::string seen_in(const Module& m, const Instruction& in) {
  switch (op_class(in.op)) {
    case OpClass::output: return "its body prints";
    case OpClass::sync:
    case OpClass::persist: return "its body saves, restores or synchronizes";
    case OpClass::execute: {
      const std::string& name = m.specials[static_cast<std::size_t>(in.a)].name;
      const SuperRow* row = find_super(name);
      if (!row) return fmt::format("its body executes `{}` of a plugin, which may print", name);
      if (std::find(printing.begin(), printing.end(), row->name) != printing.end())
        return fmt::format("its body executes `{}`, which prints", name);
      return {};
    }
    default: return in.op == Opcode::stop ? "its body may stop the job" : "";
  }
}

/// The registers that iterations hand on: read before they are written in the same iteration, and written in it. Sums
/// and products that only grow are none: their terms come in any order.
class HandedOn {
 public:
  HandedOn(const Module& module, const LoopRow& loop) : m_(module) { follow(loop.begin + 1, loop.next, 0); }

  std::string reason() const {
    Registers handed_on = early_;
    // A register that is added to and multiplied, or at times set anew, depends on the order of these.
    for (const auto& [r, ways] : changes_)
      if (ways > 1 && (ways & (ways - 1)) != 0) handed_on.insert(r);
    for (const Register& r : handed_on)
      if (written_.contains(r) && r.number < (r.scalar ? std::ssize(m_.scalars) : std::ssize(m_.ints))) {
        const auto at = static_cast<std::size_t>(r.number);
        return fmt::format("its iterations hand on `{}`", r.scalar ? m_.scalars[at].name : m_.ints[at].name);
      }
    return {};
  }

 private:
  struct Register {
    bool scalar = false;
    std::int32_t number = 0;
    auto operator<=>(const Register&) const = default;
  };
  using Registers = std::set<Register>;
  static constexpr int deepest_call = 32;

  /// Follows a stretch of code; jumps within it go forward.
  void follow(std::int32_t from, std::int32_t to, int depth) {
    std::vector<std::pair<std::int32_t, Registers>> joins;  // where ways meet, and what is written for sure there
    for (std::int32_t pc = from; pc < to; ++pc) {
      while (!joins.empty() && joins.back().first <= pc) {
        sure_ = std::move(joins.back().second);
        joins.pop_back();
      }
      const Instruction& in = m_.code[static_cast<std::size_t>(pc)];
      note(in);
      if (in.op == Opcode::jump_unless && in.b > pc) joins.emplace_back(in.b, sure_);
      if (in.op == Opcode::jump && in.a > pc && !joins.empty())
        joins.emplace(joins.end() - 1, in.a, Registers(joins.back().second));
      if (begins_loop(in.op)) joins.emplace_back(m_.loops[static_cast<std::size_t>(in.a)].end, sure_);
      if (in.op == Opcode::call && depth < deepest_call) {
        const ProcRow& proc = m_.procs[static_cast<std::size_t>(in.a)];
        const Registers before = sure_;
        follow(proc.entry, proc.end, depth + 1);
        sure_ = before;
      }
    }
  }

  /// An iteration's change of a register that it has not set for sure before.
  enum Change : unsigned { none = 0, sums = 1, products = 2, anew = 4 };

  /// a = a + x, or the like.
  static Change grows(const Instruction& in) {
    const bool either = (in.a == in.b) != (in.a == in.c), first = in.a == in.b && in.a != in.c;
    switch (in.op) {
      case Opcode::int_add:
      case Opcode::real_add: return either ? sums : none;
      case Opcode::int_mul:
      case Opcode::real_mul: return either ? products : none;
      case Opcode::int_sub:
      case Opcode::real_sub: return first ? sums : none;
      case Opcode::real_div: return first ? products : none;
      default: return none;
    }
  }

  void note(const Instruction& in) {
    const OpcodeInfo& info = *opcode_info(in.op);
    const auto operands = operands_of(in);
    const Change grown = grows(in);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (grown != none && operands[k] == in.a) continue;
      if (info.operands[k] == OperandKind::iin) read({false, operands[k]});
      if (info.operands[k] == OperandKind::sin) read({true, operands[k]});
    }
    for_each_argument(m_, in, [&](const ArgRow& arg) {
      if (arg.kind == ArgKind::scalar && arg.intent != Intent::write) read({true, arg.id});
    });
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (info.operands[k] == OperandKind::iout) write({false, operands[k]}, grown);
      if (info.operands[k] == OperandKind::sout) write({true, operands[k]}, grown);
    }
    for_each_argument(m_, in, [&](const ArgRow& arg) {
      if (arg.kind == ArgKind::scalar && arg.intent != Intent::read) write({true, arg.id}, none);
    });
  }

  void read(Register r) {
    if (!sure_.contains(r)) early_.insert(r);
  }
  void write(Register r, Change grown) {
    written_.insert(r);
    if (!sure_.contains(r)) changes_[r] |= grown == none ? anew : grown;
    if (grown == none) sure_.insert(r);
  }

  const Module& m_;
  Registers sure_, early_, written_;
  std::map<Register, unsigned> changes_;
};

/// Remote blocks that one iteration puts and another may get or put anew.
class SharedBlocks {
 public:
  SharedBlocks(const Module& module, const LoopRow& loop) : m_(module), indices_(loop.indices) {
    for_each_with_calls(module, loop.begin + 1, loop.next, [&](std::int32_t, const Instruction& in, bool) {
      const bool gets = op_class(in.op) == OpClass::fetch;
      if (gets || op_class(in.op) == OpClass::put)
        uses_.push_back({&m_.refs[static_cast<std::size_t>(in.a)], gets, adds_to_remote(in)});
    });
  }

  std::string reason() const {
    for (const Use& put : uses_) {
      if (put.gets) continue;
      const std::string& name = m_.arrays[put.ref->array.at()].name;
      if (!put.adds && !names_iteration(*put.ref))
        return fmt::format("several iterations may replace a block of `{}`", name);
      for (const Use& other : uses_)
        if (other.ref->array == put.ref->array && (other.gets || other.adds != put.adds) &&
            (other.ref->entries != put.ref->entries || !names_iteration(*put.ref)))
          return fmt::format("it {} blocks of `{}` that other iterations may put", other.gets ? "gets" : "replaces",
                             name);
    }
    return {};
  }

 private:
  struct Use {
    const RefRow* ref = nullptr;
    bool gets = false, adds = false;
  };

  /// Blocks of different iterations differ.
  bool names_iteration(const RefRow& ref) const {
    return std::all_of(indices_.begin(), indices_.end(), [&](IndexId index) {
      return std::any_of(ref.entries.begin(), ref.entries.end(), [&](const RefEntry& e) { return e.index == index; });
    });
  }

  const Module& m_;
  const std::vector<IndexId>& indices_;
  std::vector<Use> uses_;
};

/// Whether clauses compare indices and numbers that no rank changes, so that they hold on all ranks alike.
bool wheres_are_same(const Module& m, const LoopRow& loop) {
  std::set<std::int32_t> own, changed;
  for (const Instruction& in : m.code)
    for (std::size_t k = 0; k < 4; ++k)
      if (const OperandKind kind = opcode_info(in.op)->operands[k];
          kind == OperandKind::iout || kind == OperandKind::ivar)
        changed.insert(operands_of(in)[k]);
  for (std::int32_t pc = loop.begin + 1; pc < loop.body; ++pc) {
    const Instruction& in = m.code[static_cast<std::size_t>(pc)];
    if (in.op != Opcode::where && op_class(in.op) != OpClass::integer) return false;
    for (std::size_t k = 0; k < 4; ++k) {
      const OperandKind kind = opcode_info(in.op)->operands[k];
      const std::int32_t operand = operands_of(in)[k];
      if (kind == OperandKind::sin) return false;
      if (kind == OperandKind::iin && !own.contains(operand) && changed.contains(operand)) return false;
      if (kind == OperandKind::iout) own.insert(operand);
    }
  }
  return true;
}

bool may_be_left(const Module& m, std::int32_t loop) {
  const LoopRow& row = m.loops[static_cast<std::size_t>(loop)];
  return std::any_of(m.code.begin() + row.begin + 1, m.code.begin() + row.next, [&](const Instruction& in) {
    return in.op == Opcode::ret || (in.op == Opcode::exit_loop && in.a == loop);
  });
}

/// Iterations that are dealt out in turn, as the ranks may see them differently.
std::string seen_by_turns(const Module& m, std::int32_t loop) {
  const LoopRow& row = m.loops[static_cast<std::size_t>(loop)];
  if (may_be_left(m, loop)) return "its body may leave it early";
  if (row.rank_dependence != RankDependence::none && !wheres_are_same(m, row))
    return "its where clauses may differ between ranks";
  return {};
}

}  // namespace

std::string order_seen_by(const Module& module, std::int32_t loop) {
  const LoopRow& row = module.loops[static_cast<std::size_t>(loop)];
  std::string reason = seen_by_turns(module, loop);
  if (!reason.empty()) return reason;
  any_with_calls(module, row.begin + 1, row.next, [&](std::int32_t, const Instruction& in, bool) {
    reason = seen_in(module, in);
    return !reason.empty();
  });
  if (reason.empty()) reason = HandedOn(module, row).reason();
  if (reason.empty()) reason = SharedBlocks(module, row).reason();
  return reason;
}

}  // namespace sial
