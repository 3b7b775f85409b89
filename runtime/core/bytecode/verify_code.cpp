// The verifier's second part: operands of every instruction, and the shape of the code. The code is main body and
// procedures, nothing else; loops nest properly; jumps go forward and stay inside their loop, so that every pass over a
// loop body ends.
#include <algorithm>
#include <numeric>

#include "runtime/core/bytecode/verify_detail.h"

namespace sial::detail {
namespace {

void verify_operand(const VerifyContext& c, OperandKind kind, std::int32_t value, int position) {
  const Module& m = c.m;
  const char letter = static_cast<char>('a' + position);
  const auto row = [&](std::size_t size, const char* what) {
    c.require(value >= 0 && static_cast<std::size_t>(value) < size, "operand {} is {} {}, which does not exist", letter,
              what, value);
  };
  const auto below = [&](std::int32_t limit, const char* what) {
    c.require(value >= 0 && value < limit, "operand {} is {} {}, which does not exist", letter, what, value);
  };
  switch (kind) {
    case OperandKind::none: c.require(value == 0, "operand {} is unused but has the value {}", letter, value); break;
    case OperandKind::imm: break;
    case OperandKind::iin:
    case OperandKind::iout: below(m.n_int_registers, "int register"); break;
    case OperandKind::sin:
    case OperandKind::sout: below(m.n_scalar_registers, "scalar register"); break;
    case OperandKind::ivar: row(m.ints.size(), "int"); break;
    case OperandKind::svar: row(m.scalars.size(), "scalar"); break;
    case OperandKind::real: row(m.reals.size(), "literal"); break;
    case OperandKind::str: row(m.strings.size(), "string"); break;
    case OperandKind::ostr:
      if (value != -1) row(m.strings.size(), "string");
      break;
    case OperandKind::label: row(m.code.size(), "code position"); break;
    case OperandKind::loop: row(m.loops.size(), "loop"); break;
    case OperandKind::proc: row(m.procs.size(), "procedure"); break;
    case OperandKind::index: row(m.indices.size(), "index"); break;
    case OperandKind::array: row(m.arrays.size(), "array"); break;
    case OperandKind::ref: row(m.refs.size(), "block reference"); break;
    case OperandKind::region: row(m.regions.size(), "region"); break;
    case OperandKind::item: break;  // verify_blocks looks into the table that the flag means
    case OperandKind::special: row(m.specials.size(), "special"); break;
    case OperandKind::arg:
      // The first row of a possibly empty run: one past the end is fine, verify_blocks checks the run.
      c.require(value >= 0 && static_cast<std::size_t>(value) <= m.args.size(),
                "operand {} is argument {}, which does not exist", letter, value);
      break;
    case OperandKind::relop: below(6, "comparison"); break;
    case OperandKind::setop: below(4, "assignment operator"); break;
    case OperandKind::flag:
      c.require(value == 0 || value == 1, "operand {} is a flag but has the value {}", letter, value);
      break;
    case OperandKind::count: c.require(value >= 0, "operand {} is a count but has the value {}", letter, value); break;
  }
}

bool allowed_in_where(Opcode op) { return is_arithmetic(op) || op == Opcode::where; }

// One pass over a part of the code (main body or procedure) with a stack of open loops.
class Structure {
 public:
  Structure(VerifyContext& c, CodeShape& shape) : c_(c), shape_(shape) {}

  void part(std::int32_t proc, std::int32_t first, std::int32_t end) {
    open_.clear();
    section_ = -1;
    for (std::int32_t pc = first; pc < end; ++pc) {
      c_.at(VerifyContext::instruction, static_cast<std::size_t>(pc));
      shape_.part[pc] = proc;
      shape_.loop[pc] = open_.empty() ? -1 : open_.back();
      step(pc, proc, end);
    }
    c_.at_module();
    if (!open_.empty())
      c_.fail(fmt::format("loop {} is still open at the end of its procedure or main body", open_.back()));
    c_.require(section_ == -1, "the section that begins at instruction {} has no end", section_);
  }

  void jumps() {
    for (std::size_t pc = 0; pc < c_.m.code.size(); ++pc) {
      const Instruction& i = c_.m.code[pc];
      if (i.op != Opcode::jump && i.op != Opcode::jump_unless) continue;
      c_.at(VerifyContext::instruction, pc);
      const std::int32_t target = i.op == Opcode::jump ? i.a : i.b;
      c_.require(target > static_cast<std::int32_t>(pc), "the target {} is not ahead", target);
      c_.require(shape_.part[target] == shape_.part[pc], "the target {} is in another procedure", target);
      c_.require(shape_.loop[target] == shape_.loop[pc], "the target {} is in another loop", target);
      c_.require(section_of_[target] == section_of_[pc], "the target {} is in another section", target);
    }
    c_.at_module();
  }

 private:
  void step(std::int32_t pc, std::int32_t proc, std::int32_t end) {
    const Instruction& i = c_.m.code[pc];
    section_of_.push_back(section_);  // the beginning counts as outside, the end as inside: nothing may jump to it
    const bool in_where = !open_.empty() && pc < c_.m.loops[open_.back()].body;
    shape_.in_where[pc] = in_where;
    c_.require(!in_where || allowed_in_where(i.op), "it may not stand between the head of a loop and its body");
    const bool top_of_section = section_ != -1 && depth_of_section_ == open_.size();
    c_.require(!top_of_section || i.op == Opcode::pardo_begin || i.op == Opcode::section_end,
               "only parallel loops may stand in a section");
    switch (i.op) {
      case Opcode::halt: c_.require(proc == -1, "the end of the main body lies in a procedure"); break;
      case Opcode::ret: c_.require(proc != -1, "the main body cannot return"); break;
      case Opcode::do_begin: open(i.a, LoopKind::do_, pc, end); break;
      case Opcode::sub_begin: open(i.a, LoopKind::sub, pc, end); break;
      case Opcode::pardo_begin: open(i.a, LoopKind::pardo, pc, end); break;
      case Opcode::do_next: close(i.a, LoopKind::do_, pc); break;
      case Opcode::sub_next: close(i.a, LoopKind::sub, pc); break;
      case Opcode::pardo_next: close(i.a, LoopKind::pardo, pc); break;
      case Opcode::where:
        c_.require(in_where, "a where clause outside the head of a loop");
        innermost(i.b);
        ++wheres_;
        break;
      case Opcode::body_begin: {
        innermost(i.a);
        const LoopRow& row = c_.m.loops[i.a];
        c_.require(row.body == pc, "the body of loop {} begins at {}", i.a, row.body);
        c_.require(row.n_wheres == wheres_, "loop {} has {} where clauses, its row says {}", i.a, wheres_,
                   row.n_wheres);
        c_.require(pc == row.begin + 1 || c_.m.code[pc - 1].op == Opcode::where,
                   "the instruction before the body of loop {} is not a where clause", i.a);
        break;
      }
      case Opcode::exit_loop: innermost(i.a); break;
      case Opcode::section_begin:
        c_.require(section_ == -1, "a section inside a section");
        section_ = pc;
        depth_of_section_ = open_.size();
        break;
      case Opcode::section_end:
        c_.require(top_of_section, "the end of a section that does not begin in the same loop");
        section_ = -1;
        break;
      default: break;
    }
    if (i.op != Opcode::body_begin && !open_.empty())
      c_.require(c_.m.loops[open_.back()].body != pc, "the body of loop {} does not begin with body_begin",
                 open_.back());
  }

  void innermost(std::int32_t loop) {
    c_.require(!open_.empty() && open_.back() == loop, "loop {} is not the innermost one here", loop);
  }

  void open(std::int32_t loop, LoopKind kind, std::int32_t pc, std::int32_t end) {
    const LoopRow& row = c_.m.loops[loop];
    c_.require(row.kind == kind, "loop {} is of another kind", loop);
    c_.require(row.begin == pc, "loop {} begins at {}", loop, row.begin);
    const std::int32_t limit = open_.empty() ? end : c_.m.loops[open_.back()].next;
    c_.require(row.body > row.begin && row.next > row.body && std::int64_t{row.end} == std::int64_t{row.next} + 1 &&
                   row.end <= limit,
               "loop {} spans {}, {}, {}, {}, which is no loop inside of what surrounds it", loop, row.begin, row.body,
               row.next, row.end);
    shape_.enclosing[loop] = open_.empty() ? -1 : open_.back();
    open_.push_back(loop);
    wheres_ = 0;
  }

  void close(std::int32_t loop, LoopKind kind, std::int32_t pc) {
    innermost(loop);
    const LoopRow& row = c_.m.loops[loop];
    c_.require(row.kind == kind, "loop {} is of another kind", loop);
    c_.require(row.next == pc, "loop {} ends at {}", loop, row.next);
    open_.pop_back();
  }

  VerifyContext& c_;
  CodeShape& shape_;
  std::vector<std::int32_t> open_;
  std::vector<std::int32_t> section_of_;
  std::int32_t wheres_ = 0;
  std::int32_t section_ = -1;
  std::size_t depth_of_section_ = 0;
};

}  // namespace

void verify_operands(VerifyContext& c) {
  for (std::size_t pc = 0; pc < c.m.code.size(); ++pc) {
    c.at(VerifyContext::instruction, pc);
    const Instruction& i = c.m.code[pc];
    const OpcodeInfo* info = opcode_info(i.op);
    if (info == nullptr) c.fail(fmt::format("there is no opcode {}", static_cast<int>(i.op)));
    const auto values = operands_of(i);
    for (int p = 0; p < 4; ++p) verify_operand(c, info->operands[p], values[p], p);
  }
  c.at_module();
}

CodeShape verify_structure(VerifyContext& c) {
  const Module& m = c.m;
  const auto n = static_cast<std::int32_t>(m.code.size());
  CodeShape shape;
  shape.loop.assign(m.code.size(), -1);
  shape.enclosing.assign(m.loops.size(), -2);
  shape.part.assign(m.code.size(), -1);
  shape.in_where.assign(m.code.size(), 0);

  c.require(m.main_entry >= 0 && m.main_entry < n, "the main body begins at {}, outside the code", m.main_entry);
  std::int32_t main_end = m.main_entry;
  while (main_end < n && m.code[main_end].op != Opcode::halt) ++main_end;
  c.require(main_end < n, "the main body has no end");
  ++main_end;

  struct Part {
    std::int32_t proc, first, end;
  };
  std::vector<Part> parts{{-1, m.main_entry, main_end}};
  for (std::size_t p = 0; p < m.procs.size(); ++p) {
    c.at("procedure", p);
    const ProcRow& row = m.procs[p];
    c.require(row.entry >= 0 && row.entry < row.end && row.end <= n, "its code [{}, {}) lies outside the module's",
              row.entry, row.end);
    c.require(m.code[row.end - 1].op == Opcode::ret, "its last instruction is not ret");
    parts.push_back({static_cast<std::int32_t>(p), row.entry, row.end});
  }
  c.at_module();
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.first < b.first; });
  std::int32_t expected = 0;
  for (const Part& part : parts) {
    c.require(part.first == expected, "instruction {} belongs to {} of the main body and the procedures",
              std::min(part.first, expected), part.first < expected ? "several" : "none");
    expected = part.end;
  }
  c.require(expected == n, "instruction {} belongs to none of the main body and the procedures", expected);

  Structure structure(c, shape);
  for (const Part& part : parts) structure.part(part.proc, part.first, part.end);
  for (std::size_t l = 0; l < m.loops.size(); ++l) c.require(shape.enclosing[l] != -2, "loop {} has no code", l);
  structure.jumps();
  return shape;
}

}  // namespace sial::detail
