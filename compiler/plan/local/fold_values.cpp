#include "compiler/plan/local/fold_values.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "compiler/plan/local/local.h"
#include "runtime/core/base/fault_injection.h"

// Why it is right. Let D define temp T at one place of a statement list and U use it further down in the same list,
// with nothing but plain statements between: each time D runs U runs after it, on the same index values (nothing
// rebinds them within a list) and T's block is the same one. U may compute from D's operands instead of T when
//   1. nothing between D and U touches T, except scalings T *= c, whose factors are kept in registers of their own;
//   2. nothing between may change D's operands on this rank: no write that may alias one, no get that may fetch one
//      anew, no barrier where one is remote, no call, loop or branch at all;
//   3. nobody reads T's value after U (liveness, calls and iterations included), so that not writing it is not seen; as
//      T dies with the iteration, nobody can see that it does not exist either: a read would be live;
//   4. T's reference cannot leave its declaration, which would have been an error at D;
//   5. the target of U is certainly not an operand of D. Where that shows only at run time (A[i,j] and A[j,i], i equal
//      to j) the kernel sees that the memory touches and works on a copy, as it does for the statement `S += S*B`;
//   6. labels agree as sets and none repeats, so that the block algebra means the same with D's operands in T's place.
// Sums are formed in another order (into S at once instead of in T first): rounding may differ, nothing else does.

namespace sial::plan {
namespace {

/// The value that a statement gives its target: factor * a, or factor * a * b.
struct Value {
  ir::Block target, a;
  std::optional<ir::Block> b;
  std::int32_t factor = -1;  // scalar register, -1: one
};

std::optional<Value> value_of(const Local& l, const ir::Instr& i) {
  Value v;
  switch (i.op) {
    case Opcode::block_copy: v = {*block_of(i, 0), *block_of(i, 1), {}, -1}; break;
    case Opcode::block_scaled_copy: v = {*block_of(i, 0), *block_of(i, 1), {}, scalar_of(i, 2)}; break;
    case Opcode::block_contract:
      if (setop_of(i, 3) != SetOp::assign) return {};
      v = {*block_of(i, 0), *block_of(i, 1), *block_of(i, 2), -1};
      break;
    case Opcode::contract_scaled: v = {*block_of(i, 0), *block_of(i, 1), *block_of(i, 2), scalar_of(i, 3)}; break;
    default: return {};
  }
  // A remote target is this rank's private copy, which puts, restores and barriers end without touching it here.
  if (analysis::is_remote_array(l.program(), v.target.array)) return {};
  if (analysis::is_part(l.program(), v.target) || (!v.b && !same_labels(v.target, v.a))) return {};
  return v;
}

/// A factor collected on the way: a number times registers.
class Factor {
 public:
  explicit Factor(Local& l) : l_(l) {}
  /// Takes the register's value right before body[at]. The code that keeps it goes to `out`, which will stand there.
  void times(const ir::Body& body, std::size_t at, std::int32_t reg, ir::Body& out) {
    if (const double* number = l_.constant(body, at, reg)) {
      number_ *= *number;
      return;
    }
    const SourcePlace& place = body[at].place;
    if (reg_ < 0) {
      reg_ = l_.new_scalar();
      out.push_back(l_.make(place, Opcode::real_copy, {ir::ScalarReg{reg_}, ir::ScalarReg{reg}}));
    } else {
      out.push_back(l_.make(place, Opcode::real_mul, {ir::ScalarReg{reg_}, ir::ScalarReg{reg_}, ir::ScalarReg{reg}}));
    }
  }
  void negate() { number_ = -number_; }
  bool is(double x) const { return reg_ < 0 && number_ == x; }
  /// A register that holds it.
  std::int32_t in_register(const SourcePlace& place, ir::Body& out) {
    if (reg_ >= 0 && number_ == 1.0) return reg_;
    const std::int32_t number = l_.new_scalar();
    out.push_back(l_.make(place, Opcode::real_const, {ir::ScalarReg{number}, ir::Real{number_}}));
    if (reg_ < 0) return number;
    out.push_back(
        l_.make(place, Opcode::real_mul, {ir::ScalarReg{number}, ir::ScalarReg{number}, ir::ScalarReg{reg_}}));
    return number;
  }
  std::string text() const {
    if (reg_ >= 0) return ", scaled";
    return number_ == 1.0 ? std::string() : fmt::format(", times {}", number_);
  }

 private:
  Local& l_;
  double number_ = 1.0;
  std::int32_t reg_ = -1;
};

class Fold {
 public:
  Fold(Local& l, ir::Body& body, const analysis::Path& path, std::size_t at, Value value)
      : l_(l), body_(body), path_(path), at_(at), v_(std::move(value)), factor_(l) {}

  bool run() {
    if (v_.factor >= 0) factor_.times(body_, at_, v_.factor, replaced_[at_]);
    for (std::size_t j = at_ + 1; j < body_.size(); ++j) {
      const ir::Instr* i = instr_of(body_[j]);
      if (i == nullptr || op_class(i->op) == OpClass::control || analysis::effects_of(l_.program(), *i).lists_blocks)
        break;
      if (i->op == Opcode::block_scale && same_reference(*block_of(*i, 0), v_.target)) {
        if (!changed_by_.empty()) break;
        factor_.times(body_, j, scalar_of(*i, 1), replaced_[j]);
        scales_.push_back(j);
        continue;
      }
      if (l_.touches(body_[j], v_.target.array)) {
        if (use(j, *i)) return true;
        break;
      }
      if (changed_by_.empty() && changes(body_[j]) && !fault_enabled(Fault::fold_source_changes))
        changed_by_ = fmt::format("line {} may change what it is made of", body_[j].place.line);
    }
    return scaled();
  }

 private:
  bool changes(const ir::Node& n) { return l_.may_change(n, v_.a) || (v_.b && l_.may_change(n, *v_.b)); }

  void missed(std::size_t j, const std::string& why, const std::string& advice) {
    l_.remark(RemarkKind::missed, v_.b ? "product-not-folded" : "copy-not-folded", body_[at_], path_, v_.target,
              fmt::format("{} is formed here instead of straight in line {}, which uses it: {}", l_.text(v_.target),
                          body_[j].place.line, why),
              advice, v_.b ? 2.0 : 1.0);
  }

  /// The statement at j touches the target. True when the value went into it.
  bool use(std::size_t j, const ir::Instr& i) {
    const bool reads_once = i.op != Opcode::execute && position(i) != npos;
    if (!reads_once || l_.kind(v_.target) != ArrayKind::temp) return false;
    const std::size_t k = position(i);
    const bool into_target = k == 1 && (i.op == Opcode::block_accumulate || i.op == Opcode::block_scaled_accumulate ||
                                        i.op == Opcode::block_copy || i.op == Opcode::block_scaled_copy);
    const bool as_operand =
        !v_.b && (i.op == Opcode::block_contract || i.op == Opcode::contract_scaled ||
                  i.op == Opcode::contract_add_scaled || (i.op == Opcode::real_contract && factor_.is(1.0)));
    if (!into_target && !as_operand) return false;
    if (!l_.dead_after(body_[j], k) && !fault_enabled(Fault::fold_value_needed)) {
      if (v_.b)
        missed(
            j, "it is needed again after that",
            "nothing, as long as its own value is used elsewhere");  // a copy gets its remark where copies are shared
      return false;
    }
    if (!changed_by_.empty()) {
      missed(j, changed_by_, "move the two statements together");
      return false;
    }
    if (!l_.in_range(v_.target)) {
      missed(j, "it may be outside of its declaration, and that error must stay",
             "declare the temp over the indices it is used with");
      return false;
    }
    const ir::Block* s = block_of(i, 0);
    const bool target_is_operand = s != nullptr && (same_reference(*s, v_.a) || (v_.b && same_reference(*s, *v_.b)));
    if (target_is_operand) {
      missed(j, "the target is also an operand, which has to be read first",
             "use another block for the result, or nothing");
      return false;
    }
    if (into_target && (!same_labels(*s, v_.target) || analysis::is_part(l_.program(), *s))) {
      missed(j, "the target does not have the same indices",
             "use one set of indices for both, where the target may have it");
      return false;
    }
    into_target ? fold_into(j, i) : fold_operand(j, i, k);
    return true;
  }

  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  /// The operand that reads the target's block; npos unless it is the only use of the array.
  std::size_t position(const ir::Instr& i) const {
    std::size_t found = npos;
    for (std::size_t k = 0; k < i.operands.size(); ++k) {
      const ir::Block* b = block_of(i, k);
      if (b == nullptr || b->array != v_.target.array) continue;
      if (k == 0 && i.op != Opcode::real_contract) return npos;
      if (found != npos || !same_reference(*b, v_.target)) return npos;
      found = k;
    }
    return found;
  }

  void fold_into(std::size_t j, const ir::Instr& i) {
    const bool assigns = i.op == Opcode::block_copy || i.op == Opcode::block_scaled_copy;
    ir::Body& out = replaced_[j];
    if (i.op == Opcode::block_scaled_accumulate || i.op == Opcode::block_scaled_copy)
      factor_.times(body_, j, scalar_of(i, 2), out);
    if ((i.op == Opcode::block_accumulate && setop_of(i, 2) == SetOp::subtract) ||
        (i.op == Opcode::block_scaled_accumulate && setop_of(i, 3) == SetOp::subtract))
      factor_.negate();
    const ir::Block s = with_intent(*block_of(i, 0), assigns ? Intent::write : Intent::update);
    passed(j, s);
    // Errors of the operands are those of the definition. What can be wrong with the target is asked for first, with
    // the use's place; an assignment outside of the declaration cannot be, and takes the use's place for everything.
    if (!assigns) l_.expect(out, body_[j], 0, false);
    out.push_back(made(assigns && !l_.in_range(s) ? body_[j].place : body_[at_].place, s, out));
    finish(j, !v_.b);
  }

  void fold_operand(std::size_t j, const ir::Instr& i, std::size_t k) {
    ir::Body& out = replaced_[j];
    ir::Instr copy = i;
    copy.operands[k] = v_.a;
    l_.remark(RemarkKind::passed, same_order(v_.a, v_.target) ? "used-in-place" : "permutation-folded", body_[at_],
              path_, v_.target,
              fmt::format("line {} uses {} itself instead of its copy {}{}", body_[j].place.line, l_.text(v_.a),
                          l_.text(v_.target), factor_.text()));
    if (factor_.is(1.0)) {
      out.push_back(l_.make(body_[j].place, copy.op, copy.operands));
    } else {
      if (copy.op != Opcode::block_contract) factor_.times(body_, j, scalar_of(copy, 3), out);
      else if (setop_of(copy, 3) == SetOp::subtract) factor_.negate();
      const bool assigns = copy.op == Opcode::contract_scaled ||
                           (copy.op == Opcode::block_contract && setop_of(copy, 3) == SetOp::assign);
      const std::int32_t reg = factor_.in_register(body_[j].place, out);
      copy.operands[3] = ir::ScalarReg{reg};
      out.push_back(
          l_.make(body_[j].place, assigns ? Opcode::contract_scaled : Opcode::contract_add_scaled, copy.operands));
    }
    finish(j, true);
  }

  /// T *= c without a use that can be folded: scaled as it is formed.
  bool scaled() {
    if (scales_.empty()) return false;
    const std::size_t j = scales_.back();
    l_.remark(RemarkKind::passed, "scale-folded", body_[at_], path_, v_.target,
              fmt::format("{} is scaled as it is formed instead of at line {}{}", l_.text(v_.target),
                          body_[j].place.line, factor_.text()),
              {}, 2.0);
    ir::Body& out = replaced_[j];
    out.push_back(made(body_[at_].place, with_intent(v_.target, Intent::write), out));
    finish(j, false);
    return true;
  }

  /// s = or += factor * a [* b].
  ir::Node made(const SourcePlace& place, const ir::Block& s, ir::Body& out) {
    const bool assigns = s.intent == Intent::write;
    if (v_.b) {
      const std::int32_t reg = factor_.in_register(place, out);
      return l_.make(place, assigns ? Opcode::contract_scaled : Opcode::contract_add_scaled,
                     {s, v_.a, *v_.b, ir::ScalarReg{reg}});
    }
    if (assigns && factor_.is(1.0)) return l_.make(place, Opcode::block_copy, {s, v_.a});
    if (!assigns && (factor_.is(1.0) || factor_.is(-1.0)))
      return l_.make(place, Opcode::block_accumulate, {s, v_.a, factor_.is(1.0) ? SetOp::add : SetOp::subtract});
    const std::int32_t reg = factor_.in_register(place, out);
    if (assigns) return l_.make(place, Opcode::block_scaled_copy, {s, v_.a, ir::ScalarReg{reg}});
    return l_.make(place, Opcode::block_scaled_accumulate, {s, v_.a, ir::ScalarReg{reg}, SetOp::add});
  }

  void passed(std::size_t j, const ir::Block& s) {
    const std::string what = v_.b                          ? "the product goes"
                             : same_order(v_.a, v_.target) ? "the block goes"
                                                           : "the permuted block goes";
    l_.remark(RemarkKind::passed, v_.b ? "product-into-target" : "copy-into-target", body_[at_], path_, v_.target,
              fmt::format("{} is not formed: {} straight into {} at line {}{}", l_.text(v_.target), what, l_.text(s),
                          body_[j].place.line, factor_.text()),
              {}, v_.b ? 2.0 : 1.0);
  }

  /// Puts everything in its place: the definition goes (its errors stay), scalings go, the use is what was made of it.
  void finish(std::size_t j, bool counts) {
    ir::Body& first = replaced_[at_];
    l_.expect(first, body_[at_], 1, counts);
    if (v_.b) l_.expect(first, body_[at_], 2, false);
    for (const std::size_t s : scales_) replaced_[s];
    replaced_[j];
    ir::Body result;
    for (std::size_t k = 0; k < body_.size(); ++k) {
      const auto found = replaced_.find(k);
      if (found == replaced_.end()) result.push_back(std::move(body_[k]));
      else std::move(found->second.begin(), found->second.end(), std::back_inserter(result));
    }
    body_ = std::move(result);
  }

  Local& l_;
  ir::Body& body_;
  const analysis::Path& path_;
  std::size_t at_;
  Value v_;
  Factor factor_;
  std::vector<std::size_t> scales_;
  std::map<std::size_t, ir::Body> replaced_;  // by position; an empty list: the statement goes
  std::string changed_by_;
};

bool fold_body(Local& l, ir::Body& body, const analysis::Path& path) {
  bool changed = false;
  for (std::size_t at = 0; at < body.size(); ++at) {
    const ir::Instr* i = instr_of(body[at]);
    if (i == nullptr) continue;
    const std::optional<Value> v = value_of(l, *i);
    if (v) changed |= Fold(l, body, path, at, *v).run();
  }
  return changed;
}

}  // namespace

void fold_values(ir::Program& program, Plan& plan) { rewrite_bodies(program, plan, "fold-values", fold_body); }

}  // namespace sial::plan
