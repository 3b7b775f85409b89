#include "compiler/ir/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/core/base/check.h"

namespace sial::ir {
namespace {

class Verifier {
 public:
  Verifier(const Program& p, std::string_view pass) : p_(p), pass_(pass), seen_(static_cast<std::size_t>(p.n_nodes)) {}

  void run() {
    for (std::size_t i = 0; i < p_.procs.size(); ++i) {
      proc_ = static_cast<std::int32_t>(i);
      body(p_.procs[i].body);
    }
    proc_ = -1;
    body(p_.main);
  }

 private:
  template <class... Args>
  void require(bool condition, fmt::format_string<Args...> text, Args&&... args) const {
    SIAL_CHECK(condition, "IR after pass `{}`, node {} at {}:{}: {}", pass_, node_ != nullptr ? node_->id : -1,
               node_ != nullptr ? node_->place.line : 0, node_ != nullptr ? node_->place.column : 0,
               fmt::format(text, std::forward<Args>(args)...));
  }

  template <class T>
  void row(std::int32_t r, const std::vector<T>& table) const {
    require(r >= 0 && static_cast<std::size_t>(r) < table.size(), "row {} of a table of {}", r, table.size());
  }

  template <class Tag, class T>
  void row(Id<Tag, std::int32_t> id, const std::vector<T>& table) const {
    row(id.number(), table);
  }

  void int_register(std::int32_t r) const { require(r >= 0 && r < p_.n_int_registers, "int register {}", r); }
  void scalar_register(std::int32_t r) const { require(r >= 0 && r < p_.n_scalar_registers, "scalar register {}", r); }

  void body(const Body& nodes) {
    for (const Node& n : nodes) {
      node_ = &n;
      require(n.id >= 0 && n.id < p_.n_nodes, "node id out of range");
      require(!seen_[static_cast<std::size_t>(n.id)], "node id used twice");
      seen_[static_cast<std::size_t>(n.id)] = true;
      row(n.place.file, p_.files);
      std::visit([&](const auto& v) { visit(v); }, n.value);
    }
  }

  void visit(const Loop& l) {
    require(!l.indices.empty() && l.indices.size() <= (l.kind == LoopKind::pardo ? std::size_t{max_rank} : 1),
            "loop indices");
    for (const IndexId i : l.indices) {
      row(i, p_.indices);
      require((p_.indices[i.at()].kind == IndexKind::sub) == (l.kind == LoopKind::sub), "kind of loop");
      require(std::find(bound_.begin(), bound_.end(), i) == bound_.end(), "loop over a bound index");
      bound_.push_back(i);
    }
    const bool outer_pardo = in_pardo_;
    require(l.kind != LoopKind::pardo || !in_pardo_, "pardo in a pardo");
    in_pardo_ = in_pardo_ || l.kind == LoopKind::pardo;
    ++loops_;
    for (const Where& w : l.wheres) {
      for (const Node& n : w.code) {
        const auto* i = std::get_if<Instr>(&n.value);
        require(i != nullptr && is_arithmetic(i->op), "code of a where clause");
      }
      body(w.code);
      int_register(w.condition);
    }
    body(l.body);
    --loops_;
    in_pardo_ = outer_pardo;
    bound_.resize(bound_.size() - l.indices.size());
  }

  void visit(const If& i) {
    int_register(i.condition);
    body(i.then_body);
    body(i.else_body);
  }

  void visit(const Section& s) {
    for (const Node& n : s.body) {
      const auto* l = std::get_if<Loop>(&n.value);
      require(l != nullptr && l->kind == LoopKind::pardo, "a section holds pardos only");
    }
    body(s.body);
  }

  void visit(const Instr& i) {
    const OpcodeInfo* info = opcode_info(i.op);
    require(info != nullptr, "opcode {}", static_cast<int>(i.op));
    require(!info->has(op::structural), "`{}` is written by emit only", info->name);
    switch (i.op) {
      case Opcode::exit_loop:
        require(loops_ > 0, "exit outside a loop");
        require(i.operands.empty(), "operands of exit_loop");
        break;
      case Opcode::execute:
        require(!i.operands.empty() && std::holds_alternative<SpecialId>(i.operands[0]), "execute without special");
        for (std::size_t k = 1; k < i.operands.size(); ++k)
          require(is_argument(i.operands[k]), "operand {} of execute", k);
        break;
      default:
        if (info->operands[0] == OperandKind::arg) {
          require(i.operands.size() == 1 && is_argument(i.operands[0]), "operand of a gpu statement");
        } else if (info->op_class == OpClass::persist) {
          require(i.operands.size() == 2 && std::holds_alternative<Text>(i.operands[1]), "operands of persistence");
          require(fits(OperandKind::item, i.operands[0]), "item of persistence");
        } else {
          regular(i, *info);
        }
    }
    if (i.op == Opcode::ret) require(proc_ >= 0, "return outside a procedure");
    for (std::size_t k = 0; k < i.operands.size(); ++k) std::visit([&](const auto& v) { check(v); }, i.operands[k]);
  }

  void regular(const Instr& i, const OpcodeInfo& info) {
    std::size_t n = 0;
    while (n < 4 && info.operands[n] != OperandKind::none) ++n;
    require(i.operands.size() == n, "{} operands of `{}`", i.operands.size(), info.name);
    Instruction probe;
    probe.op = i.op;
    if (n > 2 && std::holds_alternative<SetOp>(i.operands[2]))
      probe.c = static_cast<std::int32_t>(std::get<SetOp>(i.operands[2]));
    if (n > 3 && std::holds_alternative<SetOp>(i.operands[3]))
      probe.d = static_cast<std::int32_t>(std::get<SetOp>(i.operands[3]));
    for (std::size_t k = 0; k < n; ++k) {
      require(fits(info.operands[k], i.operands[k]), "operand {} of `{}`", k, info.name);
      const Intent needed = operand_intent(probe, static_cast<int>(k));
      if (const auto* b = std::get_if<Block>(&i.operands[k]))
        require(b->intent == needed, "intent of operand {} of `{}`", k, info.name);
      if (const auto* r = std::get_if<Region>(&i.operands[k]))
        require(r->intent == needed, "intent of operand {} of `{}`", k, info.name);
    }
  }

  static bool is_argument(const Operand& o) {
    return std::holds_alternative<Block>(o) || std::holds_alternative<Region>(o) ||
           std::holds_alternative<ScalarArg>(o) || std::holds_alternative<ArrayArg>(o) ||
           std::holds_alternative<RealArg>(o) || std::holds_alternative<IntArg>(o);
  }

  bool fits(OperandKind kind, const Operand& o) const {
    switch (kind) {
      case OperandKind::imm:
      case OperandKind::count: return std::holds_alternative<Imm>(o);
      case OperandKind::iin:
      case OperandKind::iout: return std::holds_alternative<IntReg>(o);
      case OperandKind::sin:
      case OperandKind::sout: return std::holds_alternative<ScalarReg>(o);
      case OperandKind::ivar:
        return std::holds_alternative<IntReg>(o) && static_cast<std::size_t>(std::get<IntReg>(o).reg) < p_.ints.size();
      case OperandKind::svar:
        return std::holds_alternative<ScalarReg>(o) &&
               static_cast<std::size_t>(std::get<ScalarReg>(o).reg) < p_.scalars.size();
      case OperandKind::real: return std::holds_alternative<Real>(o);
      case OperandKind::str: return std::holds_alternative<Text>(o) && std::get<Text>(o).value.has_value();
      case OperandKind::ostr: return std::holds_alternative<Text>(o);
      case OperandKind::proc: return std::holds_alternative<ProcId>(o);
      case OperandKind::index: return std::holds_alternative<IndexId>(o);
      case OperandKind::array: return std::holds_alternative<ArrayId>(o);
      case OperandKind::item: return std::holds_alternative<ScalarReg>(o) || std::holds_alternative<ArrayId>(o);
      case OperandKind::ref: return std::holds_alternative<Block>(o);
      case OperandKind::region: return std::holds_alternative<Region>(o);
      case OperandKind::special: return std::holds_alternative<SpecialId>(o);
      case OperandKind::relop: return std::holds_alternative<Relop>(o);
      case OperandKind::setop: return std::holds_alternative<SetOp>(o);
      case OperandKind::flag: return std::holds_alternative<Flag>(o);
      case OperandKind::none:
      case OperandKind::label:
      case OperandKind::loop:
      case OperandKind::arg: return false;
    }
    return false;
  }

  void check(const IntReg& v) const { int_register(v.reg); }
  void check(const ScalarReg& v) const { scalar_register(v.reg); }
  void check(IndexId v) const { row(v, p_.indices); }
  void check(ArrayId v) const { row(v, p_.arrays); }
  void check(const SpecialId& v) const { row(v.row, p_.specials); }
  void check(const ProcId& v) const { row(v.row, p_.procs); }
  void check(const ScalarArg& v) const { row(v.slot, p_.scalars); }
  void check(const ArrayArg& v) const { row(v.array, p_.arrays); }
  void check(const Block& b) const {
    row(b.array, p_.arrays);
    require(b.entries.size() == p_.arrays[b.array.at()].dims.size(), "entries of a block reference");
    for (const RefEntry& e : b.entries)
      if (e.index != no_index) row(e.index, p_.indices);
  }
  void check(const Region& r) const {
    row(r.array, p_.arrays);
    const std::size_t rank = p_.arrays[r.array.at()].dims.size();
    require(r.lo.size() == rank && r.hi.size() == rank, "bounds of a region");
    for (const std::int32_t x : r.lo) int_register(x);
    for (const std::int32_t x : r.hi) int_register(x);
  }
  template <class T>
  void check(const T&) const {}

  const Program& p_;
  std::string_view pass_;
  std::vector<bool> seen_;
  std::vector<IndexId> bound_;
  std::int32_t proc_ = -1;
  int loops_ = 0;
  bool in_pardo_ = false;
  const Node* node_ = nullptr;
};

}  // namespace

void verify(const Program& program, std::string_view after_pass) { Verifier(program, after_pass).run(); }

}  // namespace sial::ir
