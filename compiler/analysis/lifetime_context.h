#pragma once
// Shared by the two directions of Lifetimes: every instruction's uses of arrays with the numbers of their names, looked
// up once, who calls whom, the names inside each loop, and the facts that come out. Refers to the Program; for
// the files lifetime*.cpp only.

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/analysis/calls.h"
#include "compiler/analysis/lifetime.h"
#include "compiler/analysis/references.h"
#include "runtime/core/base/ids.h"

namespace sial::analysis {

inline const ir::Instr* instr_of(const ir::Node& n) { return std::get_if<ir::Instr>(&n.value); }

class LifetimeContext {
 public:
  struct Use : ArrayUse {
    std::int32_t ref = -1;  // number of the own block in its body's references; -1: no own block, or a set of blocks
    bool replaced = false;  // replaces() says so
  };

  LifetimeContext(const ir::Program& program, std::vector<std::vector<UseFacts>>& facts);

  const ir::Program& program() const { return p_; }
  Summaries& summaries() { return summaries_; }
  const CallGraph& calls() const { return calls_; }
  /// References of a procedure; -1: of the main body.
  const References& references(std::int32_t proc) const { return refs_[slot(proc)]; }
  const ir::Body& body(std::int32_t proc) const {
    return proc < 0 ? p_.main : p_.procs[static_cast<std::size_t>(proc)].body;
  }
  std::span<const Use> uses(const ir::Node& n) const {
    const auto [first, count] = uses_of_[static_cast<std::size_t>(n.id)];
    return {uses_.data() + first, count};
  }
  /// The callee's names as numbers of the caller's; all are there, unless the procedure calls itself.
  const std::vector<std::int32_t>& names_of(std::int32_t callee, std::int32_t caller);
  /// Numbers of the names in a loop of a body and in what it calls, sorted.
  const std::vector<std::int32_t>& inside(const ir::Node& loop, std::int32_t proc);
  bool remote(ArrayId array) const { return is_remote_array(p_, array); }
  /// Marked persistent somewhere.
  bool saved(ArrayId array) const { return saved_[array.at()] != 0; }
  /// Whether super instructions find the array by its name, without an argument.
  bool by_name(ArrayId array) const {
    const ArrayKind kind = p_.arrays[array.at()].kind;
    return kind == ArrayKind::static_ || kind == ArrayKind::contiguous_local;
  }

  UseFacts& fact(ir::NodeId node, std::size_t operand) {
    std::vector<UseFacts>& list = facts_[static_cast<std::size_t>(node)];
    for (UseFacts& f : list)
      if (f.operand == operand) return f;
    list.push_back({operand, false, false});
    return list.back();
  }

  std::size_t steps = 0;  // how much was looked at, for tests

 private:
  std::size_t slot(std::int32_t proc) const { return proc < 0 ? p_.procs.size() : static_cast<std::size_t>(proc); }
  void number(const ir::Body& body, const References& refs);
  void collect(const ir::Body& nodes, std::int32_t proc, std::vector<std::int32_t>& list);

  const ir::Program& p_;
  Summaries summaries_;
  std::vector<std::vector<UseFacts>>& facts_;  // by node
  CallGraph calls_;
  std::vector<References> refs_;  // by procedure, main last
  std::vector<char> saved_;       // by array
  std::vector<Use> uses_;
  std::vector<std::pair<std::size_t, std::size_t>> uses_of_;  // by node: first, count
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::int32_t>> called_names_;
  std::unordered_map<ir::NodeId, std::vector<std::int32_t>> inside_;
};

/// Fills dead_after of every use. `lifetime_live.cpp`
void find_last_uses(LifetimeContext& context);
/// Fills initialised of every use. `lifetime_made.cpp`
void find_initialised(LifetimeContext& context);

}  // namespace sial::analysis
