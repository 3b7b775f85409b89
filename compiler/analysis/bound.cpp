#include "compiler/analysis/bound.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "compiler/analysis/bound_costs.h"
#include "compiler/analysis/calls.h"
#include "compiler/analysis/control.h"
#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/evaluate/arithmetic.h"

namespace sial::analysis {
namespace {

using IntValue = std::optional<std::int32_t>;
using RealValue = std::optional<double>;

/// The way in which a body was left.
enum class Left { end, exit, ret, stop };

/// Register arithmetic of the IR as evaluate_registers() takes it.
struct RegisterOperands {
  std::int32_t a = 0, b = 0, c = 0, d = 0;
  double real = 0;  // of a real_const
};

RegisterOperands register_operands(const ir::Instr& in) {
  RegisterOperands r;
  std::int32_t* const rows[] = {&r.a, &r.b, &r.c, &r.d};
  for (std::size_t k = 0; k < in.operands.size(); ++k) {
    const ir::Operand& o = in.operands[k];
    if (const auto* i = std::get_if<ir::IntReg>(&o)) *rows[k] = i->reg;
    else if (const auto* s = std::get_if<ir::ScalarReg>(&o)) *rows[k] = s->reg;
    else if (const auto* v = std::get_if<ir::Imm>(&o)) *rows[k] = v->value;
    else if (const auto* x = std::get_if<IndexId>(&o)) *rows[k] = x->number();
    else if (const auto* relop = std::get_if<Relop>(&o)) *rows[k] = static_cast<std::int32_t>(*relop);
    else if (const auto* real = std::get_if<ir::Real>(&o)) r.real = real->value;
  }
  return r;
}

bool adds(const ir::Instr& put) {
  return put.op == Opcode::put_combined ||
         (put.op == Opcode::put_block && std::get<SetOp>(put.operands[2]) == SetOp::add);
}

class Walker {
 public:
  Walker(const ir::Program& p, const Job& job)
      : p_(p),
        job_(job),
        control_(p),
        summaries_(p),
        costs_(p, job),
        ints_(static_cast<std::size_t>(p.n_int_registers)),
        reals_(static_cast<std::size_t>(p.n_scalar_registers)) {
    counts_.nodes.resize(static_cast<std::size_t>(p.n_nodes));
    counts_.iterations.resize(static_cast<std::size_t>(p.n_nodes));
    for (std::size_t i = 0; i < p.ints.size(); ++i)
      ints_[i] = p.ints[i].predefined ? IntValue(costs_.predefined(static_cast<std::int32_t>(i)))
                                      : IntValue(p.ints[i].initial);
    for (std::size_t i = 0; i < p.scalars.size(); ++i) {
      const ScalarVar& v = p.scalars[i];
      const auto given = job.scalars.find(v.name);
      if (!v.predefined) reals_[i] = v.initial;
      else if (given != job.scalars.end()) reals_[i] = given->second;
    }
  }

  JobCounts run() {
    if (body(p_.main) == Left::stop) counts_.ended = false;
    for (const NodeCount& n : counts_.nodes) {
      counts_.flops += n.flops;
      counts_.bytes += n.bytes;
      counts_.moved += n.moved;
    }
    return std::move(counts_);
  }

 private:
  RealValue& s(const ir::Operand& o) { return reals_[static_cast<std::size_t>(std::get<ir::ScalarReg>(o).reg)]; }

  Left body(const ir::Body& nodes) {
    for (const ir::Node& n : nodes)
      if (const Left left = node(n); left != Left::end) return left;
    return Left::end;
  }

  Left node(const ir::Node& n) {
    ++steps_;
    if (const auto* in = std::get_if<ir::Instr>(&n.value)) return instr(n, *in);
    if (const auto* l = std::get_if<ir::Loop>(&n.value)) return loop(n, *l);
    if (const auto* b = std::get_if<ir::If>(&n.value)) return branch(n, *b);
    count(n);
    return body(std::get<ir::Section>(n.value).body);
  }

  void count(const ir::Node& n) {
    NodeCount& c = counts_.nodes[static_cast<std::size_t>(n.id)];
    c.executions += weight_;
    c.expected += guess_;
    c.exact = c.exact && sure_;
    counts_.exact = counts_.exact && sure_;
  }

  // ---- branches
  Left branch(const ir::Node& n, const ir::If& b) {
    count(n);
    const IntValue condition = ints_[static_cast<std::size_t>(b.condition)];
    if (condition) return body(*condition != 0 ? b.then_body : b.else_body);
    // Data decide: both ways, with what they leave differently unknown. A way that leaves the body may not be taken.
    const auto ints = ints_;
    const auto reals = reals_;
    const double guess = guess_;
    const bool sure = sure_;
    guess_ *= 0.5;
    sure_ = false;
    const Left first = body(b.then_body);
    auto ints_then = std::move(ints_);
    auto reals_then = std::move(reals_);
    ints_ = ints;
    reals_ = reals;
    const Left second = body(b.else_body);
    guess_ = guess;
    sure_ = sure;
    if (first == second && first != Left::end) return first;
    maybe_exit_ = maybe_exit_ || first == Left::exit || second == Left::exit;
    maybe_ret_ = maybe_ret_ || first == Left::ret || second == Left::ret;
    if (maybe_exit_ || maybe_ret_) guess_ *= 0.5, sure_ = false;
    if (first != Left::end) return Left::end;  // the state is that of the other way
    if (second != Left::end) {
      ints_ = std::move(ints_then);
      reals_ = std::move(reals_then);
      return Left::end;
    }
    for (std::size_t k = 0; k < ints_.size(); ++k)
      if (ints_[k] != ints_then[k]) ints_[k].reset();
    for (std::size_t k = 0; k < reals_.size(); ++k)
      if (!(reals_[k] == reals_then[k])) reals_[k].reset();
    return Left::end;
  }

  // ---- loops
  struct LoopPlan {
    std::set<IndexId> deciding;  // those that conditions inside look at
    bool carries = false;        // an iteration hands something to the next that decides and can be computed
    bool exits = false;          // on a condition that can be computed
    std::vector<std::int32_t> ints, scalars;  // written inside
  };

  const LoopPlan& plan(const ir::Node& n, const ir::Loop& l) {
    const auto known = plans_.find(n.id);
    if (known != plans_.end()) return known->second;
    LoopPlan plan;
    std::set<std::int32_t> visited;
    for (const ir::Where& w : l.wheres) look(w.code, plan, visited);
    look(l.body, plan, visited);
    plan.exits = exits(l.body, true);
    const Summary& summary = summaries_.of_node(n);
    plan.ints = summary.ints_written;
    plan.scalars = summary.scalars_written;
    for (const std::int32_t r : plan.ints)
      plan.carries = plan.carries || (control_.int_decides(r) && !control_.int_tainted(r));
    for (const std::int32_t r : plan.scalars)
      plan.carries = plan.carries || (control_.scalar_decides(r) && !control_.scalar_tainted(r));
    return plans_.emplace(n.id, std::move(plan)).first->second;
  }

  void look(const ir::Body& nodes, LoopPlan& plan, std::set<std::int32_t>& visited) {
    for_each_instr(nodes, [&](const ir::Instr& in, const ir::Node& n) {
      if (in.op == Opcode::int_index && control_.decides(n.id)) plan.deciding.insert(std::get<IndexId>(in.operands[1]));
      if (in.op != Opcode::call) return;
      const std::int32_t proc = std::get<ir::ProcId>(in.operands[0]).row;
      if (visited.insert(proc).second) look(p_.procs[static_cast<std::size_t>(proc)].body, plan, visited);
    });
  }

  /// An exit of this loop (or a return), not behind data.
  bool exits(const ir::Body& nodes, bool own) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](const ir::Node& n) {
      if (const auto* in = std::get_if<ir::Instr>(&n.value))
        return (own && in->op == Opcode::exit_loop) || in->op == Opcode::ret || in->op == Opcode::stop;
      if (const auto* l = std::get_if<ir::Loop>(&n.value)) return exits(l->body, false);
      if (const auto* b = std::get_if<ir::If>(&n.value))
        return !control_.tainted(n.id) && (exits(b->then_body, own) || exits(b->else_body, own));
      return false;
    });
  }

  Left loop(const ir::Node& n, const ir::Loop& l) {
    count(n);
    const LoopPlan& plan = this->plan(n, l);
    std::vector<IndexId> by_value;
    double multiplied = 1.0;
    const bool all = (plan.carries || plan.exits) && steps_ < job_.max_steps;
    for (const IndexId index : l.indices) {
      const BoundRange r = costs_.range(index);
      if (r.hi < r.lo) return Left::end;
      if (steps_ < job_.max_steps && (all || plan.deciding.contains(index))) {
        by_value.push_back(index);
        costs_.set(index, r.lo);
      } else {
        multiplied *= static_cast<double>(r.hi - r.lo + 1);
        costs_.set_any(index);
      }
    }
    const double weight = weight_, guess = guess_;
    const bool sure = sure_, outer_exit = maybe_exit_;
    maybe_exit_ = false;
    weight_ *= multiplied;
    guess_ *= multiplied;
    // One walk stands for several iterations: what one of them leaves behind is not known to the next.
    if (multiplied > 1.0) discard(plan);
    Left left = Left::end;
    bool more = true;
    while (more) {
      left = iteration(n, l);
      if (left != Left::end) break;
      if (maybe_exit_ || maybe_ret_) sure_ = false, guess_ *= 0.5;
      if (steps_ >= job_.max_steps && !by_value.empty()) {  // the rest at once
        finish_at_once(n, l, plan, by_value, weight, guess);
        break;
      }
      more = false;
      for (const IndexId index : by_value) {
        const BoundRange r = costs_.range(index);
        if (costs_.value(index) < r.hi) {
          costs_.set(index, costs_.value(index) + 1);
          more = true;
          break;
        }
        costs_.set(index, r.lo);
      }
    }
    if (multiplied > 1.0) discard(plan);
    for (const IndexId index : l.indices) costs_.unset(index);
    weight_ = weight;
    guess_ = guess;
    sure_ = sure && !maybe_ret_;
    maybe_exit_ = outer_exit;
    return left == Left::exit ? Left::end : left;
  }

  /// Too long to be walked value by value: what is left counts as if nothing inside looked at the index.
  void finish_at_once(const ir::Node& n, const ir::Loop& l, const LoopPlan& plan, const std::vector<IndexId>& by_value,
                      double weight, double guess) {
    double left = 0, stride = 1, all = 1;
    for (const IndexId index : by_value) {
      const BoundRange r = costs_.range(index);
      left += stride * (r.hi - costs_.value(index));
      stride *= r.hi - r.lo + 1;
    }
    for (const IndexId index : l.indices) {
      const BoundRange r = costs_.range(index);
      if (std::find(by_value.begin(), by_value.end(), index) == by_value.end()) all *= r.hi - r.lo + 1;
      costs_.set_any(index);
    }
    if (left <= 0) return;
    weight_ = weight * left * all;
    guess_ = guess * left * all;
    sure_ = false;
    discard(plan);
    iteration(n, l);
  }

  void discard(const LoopPlan& plan) {
    for (const std::int32_t r : plan.ints) ints_[static_cast<std::size_t>(r)].reset();
    for (const std::int32_t r : plan.scalars) reals_[static_cast<std::size_t>(r)].reset();
  }

  Left iteration(const ir::Node& n, const ir::Loop& l) {
    const double guess = guess_;
    const bool sure = sure_;
    bool runs = true;
    for (const ir::Where& w : l.wheres) {
      body(w.code);
      const IntValue condition = ints_[static_cast<std::size_t>(w.condition)];
      if (condition && *condition == 0) {
        runs = false;
        break;
      }
      if (!condition) guess_ *= 0.5, sure_ = false;
    }
    Left left = Left::end;
    if (runs) {
      counts_.iterations[static_cast<std::size_t>(n.id)] += weight_;
      if (l.kind == LoopKind::pardo) counts_.pardo_iterations += weight_;
      counts_.exact = counts_.exact && sure_;
      left = body(l.body);
    }
    guess_ = guess;
    sure_ = sure;
    return left;
  }

  // ---- instructions
  Left instr(const ir::Node& n, const ir::Instr& in) {
    count(n);
    NodeCount& c = counts_.nodes[static_cast<std::size_t>(n.id)];
    switch (in.op) {
      case Opcode::exit_loop: return Left::exit;
      case Opcode::ret: return Left::ret;
      case Opcode::stop: return Left::stop;
      case Opcode::call: return call(std::get<ir::ProcId>(in.operands[0]).row);
      default: break;
    }
    const OpClass k = op_class(in.op);
    if (is_register_arithmetic(in.op)) arithmetic(in);
    else
      for (const RegisterUse& r : register_uses(in))
        if (r.write) change(in, r);
    if (!is_arithmetic(in.op) || uses_blocks(in.op)) {
      const BoundWork work = costs_.work(in, ints_);
      c.flops += weight_ * work.flops;
      c.bytes += weight_ * work.bytes;
      c.moved += weight_ * work.moved;
    }
    if (k == OpClass::block || op_cost(in.op) == OpCost::dot || puts_block(in.op)) counts_.block_operations += weight_;
    if (k == OpClass::execute) counts_.super_instructions += weight_;
    if (k == OpClass::fetch) counts_.gets += weight_;
    if (k == OpClass::put && !puts_block(in.op)) counts_.scalar_puts += weight_;
    else if (k == OpClass::put) (adds(in) ? counts_.accumulates : counts_.puts) += weight_;
    return Left::end;
  }

  Left call(std::int32_t proc) {
    if (++depth_ > 1000)
      throw SialError(
          fmt::format("procedure `{}` calls itself without end", p_.procs[static_cast<std::size_t>(proc)].name));
    const double guess = guess_;
    const bool sure = sure_, outer_ret = maybe_ret_;
    maybe_ret_ = false;
    const Left left = body(p_.procs[static_cast<std::size_t>(proc)].body);
    maybe_ret_ = outer_ret;  // a return that may have been taken ends here
    guess_ = guess;
    sure_ = sure;
    --depth_;
    return left == Left::stop ? left : Left::end;
  }

  /// The registers as evaluate_registers() sees them.
  struct Values {
    Walker& w;
    double real;

    IntValue integer(std::int32_t reg) const { return w.ints_[static_cast<std::size_t>(reg)]; }
    RealValue scalar(std::int32_t reg) const { return w.reals_[static_cast<std::size_t>(reg)]; }
    IntValue index(std::int32_t row) const { return w.costs_.known(IndexId(row)); }
    double constant(std::int32_t) const { return real; }
    void set_int(std::int32_t reg, IntValue value) { w.ints_[static_cast<std::size_t>(reg)] = value; }
    void set_scalar(std::int32_t reg, RealValue value) { w.reals_[static_cast<std::size_t>(reg)] = value; }
  };

  void arithmetic(const ir::Instr& in) {
    const RegisterOperands operands = register_operands(in);
    evaluate_registers(in.op, operands, Values{*this, operands.real});
  }

  /// Other instructions that write a register.
  void change(const ir::Instr& in, const RegisterUse& r) {
    if (!r.scalar) return ints_[static_cast<std::size_t>(r.reg)].reset();
    RealValue& target = reals_[static_cast<std::size_t>(r.reg)];
    if (in.op == Opcode::assert_same) return;
    if (in.op == Opcode::collective_sum) {  // of one rank
      const RealValue added = s(in.operands[1]);
      target = target && added ? RealValue(*target + *added) : RealValue{};
      return;
    }
    const bool rank =
        in.op == Opcode::execute &&
        p_.specials[static_cast<std::size_t>(std::get<ir::SpecialId>(in.operands[0]).row)].name == "get_my_rank";
    target = rank ? RealValue(0.0) : RealValue{};
  }

  const ir::Program& p_;
  const Job& job_;
  Control control_;
  Summaries summaries_;
  BoundCosts costs_;
  std::vector<IntValue> ints_;
  std::vector<RealValue> reals_;
  std::map<ir::NodeId, LoopPlan> plans_;
  JobCounts counts_;
  double weight_ = 1.0, guess_ = 1.0;
  bool sure_ = true;                             // here nothing was left to data
  bool maybe_exit_ = false, maybe_ret_ = false;  // data may have ended the loop, or the procedure, at hand
  std::int64_t steps_ = 0;
  int depth_ = 0;
};

}  // namespace

JobCounts count_job(const ir::Program& program, const Job& job) { return Walker(program, job).run(); }

}  // namespace sial::analysis
