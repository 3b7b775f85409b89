#pragma once
// Shared by the local passes (-O1): questions about one statement list of a program, the making of new nodes, and
// remarks with their cost. A Local holds facts about the program as it was when the Local was made; nodes that a pass
// adds have no facts, and every question about them is answered on the safe side, so that a pass may rewrite lists
// while it asks. The program and the plan outlive it.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/analysis/alias.h"
#include "compiler/analysis/calls.h"
#include "compiler/analysis/lifetime.h"
#include "compiler/analysis/operands.h"
#include "compiler/analysis/walk.h"
#include "compiler/plan/plan.h"
#include "compiler/plan/remote/remote_access.h"
#include "runtime/core/base/ids.h"

namespace sial::plan {

inline const ir::Instr* instr_of(const ir::Node& n) { return std::get_if<ir::Instr>(&n.value); }
inline const ir::Block* block_of(const ir::Instr& i, std::size_t operand) {
  return operand < i.operands.size() ? std::get_if<ir::Block>(&i.operands[operand]) : nullptr;
}
inline std::int32_t scalar_of(const ir::Instr& i, std::size_t operand) {
  return std::get<ir::ScalarReg>(i.operands[operand]).reg;
}
inline SetOp setop_of(const ir::Instr& i, std::size_t operand) { return std::get<SetOp>(i.operands[operand]); }
inline ir::Block with_intent(ir::Block block, Intent intent) {
  block.intent = intent;
  return block;
}
/// The same entries of the same array.
inline bool same_reference(const ir::Block& a, const ir::Block& b) {
  return a.array == b.array && a.entries == b.entries;
}
/// No name twice.
bool distinct_labels(const ir::Block& block);
/// The same names in any order, none twice.
bool same_labels(const ir::Block& a, const ir::Block& b);
bool same_order(const ir::Block& a, const ir::Block& b);
/// No job can make the reference leave its array's declaration, so that removing it removes no error.
bool in_range(const ir::Program& program, const ir::Block& block);

class Local {
 public:
  Local(ir::Program& program, Plan& plan, std::string_view pass);

  ir::Program& program() { return p_; }
  const ir::Program& program() const { return p_; }
  ArrayKind kind(const ir::Block& block) const { return p_.arrays[block.array.at()].kind; }
  bool own_memory(const ir::Block& block) const {
    return kind(block) == ArrayKind::temp || kind(block) == ArrayKind::local;
  }

  /// Whether the data that this rank has of the block may be other data, or gone, after the node.
  bool may_change(const ir::Node& node, const ir::Block& block);
  /// Whether the node may read or write blocks of the array on this rank.
  bool touches(const ir::Node& node, ArrayId array);
  bool writes(const ir::Node& node, ArrayId array);
  bool writes_scalar(const ir::Loop& loop, std::int32_t reg) {
    return summaries_.of_body(loop.body).writes_scalar(reg);
  }
  bool puts(const ir::Loop& loop, ArrayId array) { return summaries_.of_body(loop.body).may_put(array); }
  /// Whether the node may write blocks of the array on this rank without replacing this one whole.
  bool may_update(const ir::Node& node, const ir::Block& block);
  bool dead_after(const ir::Node& node, std::size_t operand) const {
    return node.id < known_ && lifetimes_.dead_after(node.id, operand);
  }
  bool initialised(const ir::Node& node, std::size_t operand) const {
    return node.id < known_ && lifetimes_.initialised(node.id, operand);
  }
  /// Whether the temp block that list[at] uses may be freed there: the list (at `path`) has made it further up, neither
  /// it nor the branches around it use its array further down, nobody needs its value, and no loop further out can have
  /// made it. Otherwise a temp of a loop around, made again in this one, would become this loop's own and die earlier.
  bool last_use(const ir::Body& list, const analysis::Path& path, std::size_t at, std::size_t operand);

  /// The same question about all statements of a list that stays as it is meanwhile, in time that grows with its
  /// length.
  class LastUses {
   public:
    LastUses(Local& local, const ir::Body& list, const analysis::Path& path);
    bool is_last(std::size_t at, std::size_t operand);

   private:
    using Reference = std::vector<std::int32_t>;  // array and entries
    static Reference reference(const ir::Block& block);
    Local& l_;
    const ir::Body& list_;
    const analysis::Path& path_;
    std::unordered_map<ArrayId, std::size_t> touched_;  // the last statement that does something with it
    std::map<Reference, std::size_t> made_;             // the first statement that replaces the block
  };
  bool in_range(const ir::Block& block) const { return plan::in_range(p_, block); }
  /// The value of a scalar register right before body[at], when literals of the same statement make it.
  const double* constant(const ir::Body& body, std::size_t at, std::int32_t reg);

  std::int32_t new_scalar() { return p_.n_scalar_registers++; }
  std::int32_t new_int() { return p_.n_int_registers++; }
  ir::Node make(const SourcePlace& place, Opcode op, std::vector<ir::Operand> operands) {
    return {new_id(p_), place, ir::Instr{op, std::move(operands)}};
  }
  /// Keeps the errors of an operand of a statement that goes away; nothing when it cannot have any and nothing is to be
  /// counted.
  void expect(ir::Body& out, const ir::Node& at, std::size_t operand, bool counts);

  std::string text(const ir::Block& block) const { return "`" + analysis::text_of(p_, block) + "`"; }
  /// Whether another pass has already said why the statement stays as it is.
  bool explained(std::string_view pass, const ir::Node& at) const {
    return plan_.said.contains(statement_key(pass, at.place));
  }
  /// `passes`: how often the block's bytes are saved or lost at an execution.
  void remark(RemarkKind kind, std::string_view name, const ir::Node& at, const analysis::Path& path,
              const ir::Block& block, std::string text, std::string advice = {}, double passes = 1.0);
  Cost bytes(const ir::Block& block) const;

 private:
  ArrayKind kind_of(ArrayId array) const { return p_.arrays[array.at()].kind; }
  const analysis::Summary& summary(const ir::Node& node);  // good until it is asked for the next one
  bool used_outside(std::int32_t proc, ArrayId array);
  const std::vector<std::size_t>& top_touches(std::int32_t proc, const ir::Body& list, ArrayId array);
  bool made_here(const ir::Node& node, ArrayId array);
  bool of_this_loop(const analysis::Path& path, ArrayId array);
  /// The question of last_use() about the statement itself.
  bool may_end(const ir::Node& node, std::size_t operand) const;
  ir::Program& p_;
  Plan& plan_;
  std::string pass_;
  ir::NodeId known_;
  analysis::Summaries summaries_;
  analysis::Lifetimes lifetimes_;
  Traffic traffic_;
  analysis::Summary of_instr_;
  bool users_known_ = false;
  std::unordered_map<ArrayId, std::vector<std::int32_t>> users_;  // procedures, -1 the main body
  std::vector<std::int32_t> look_up_;                             // procedures that find arrays by name
  std::unordered_map<std::int32_t, std::unordered_map<ArrayId, std::vector<std::size_t>>>
      top_touches_;  // by procedure, by array
  double constant_ = 0.0;
};

/// Runs `visit_body` over every statement list, inner ones first, again with new facts until nothing changes.
void rewrite_bodies(ir::Program& program, Plan& plan, std::string_view pass,
                    const std::function<bool(Local&, ir::Body&, const analysis::Path&)>& visit_body);

}  // namespace sial::plan
