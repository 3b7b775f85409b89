#pragma once
// Shared by the passes about remote blocks: costs of a block and of a statement, new nodes, remarks, and the loops that
// run around a statement through every chain of calls. Refers to the program and is stale as soon as that changes.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/analysis/calls.h"
#include "compiler/analysis/walk.h"
#include "compiler/plan/plan.h"

namespace sial::plan {

/// 8 bytes per element.
Cost bytes_of(const ir::Program& program, const ir::Block& block);

/// `loops over i and j`, for remarks.
std::string indices_text(const ir::Program& program, const ir::Loop& loop);
/// `line 12`, with the file where it is another.
std::string place_text(const ir::Program& program, const SourcePlace& place, const SourcePlace& seen_from);

/// A key for Plan::said: the pass has given a remark about the statement.
inline std::string statement_key(std::string_view pass, const SourcePlace& place) {
  return std::string(pass) + '\n' + std::to_string(place.file) + ':' + std::to_string(place.line) + ':' +
         std::to_string(place.column);
}

/// For copies of which the copy is changed while the original stays.
inline constexpr const char* changed_copy_advice =
    "where the first change is a multiplication by a number, assign the product (`x = 2.0*y`); otherwise nothing: the value before the change and the one behind it are both needed";

class Traffic {
 public:
  explicit Traffic(const ir::Program& program);

  const analysis::CallGraph& calls() const { return calls_; }
  /// Executions of a statement in a job at most, over all ranks: trips of the loops around it and around the calls that
  /// lead to it.
  Cost executions(const analysis::Path& path) const;
  /// Entries of a procedure at most (-1, the main body: once), but for calls of itself. Stays right while
  /// passes rewrite bodies.
  const Cost& entries(std::int32_t proc) const { return entries_[static_cast<std::size_t>(proc) + 1]; }
  /// f(loops, complete) for chains of calls that lead to the statement: loops around it, outermost first. At most
  /// `most` of them; false when there are more, or a procedure calls itself.
  bool for_each_chain(const analysis::Path& path, const std::function<void(const std::vector<const ir::Node*>&)>& f,
                      int most = 64) const;

 private:
  bool chains(std::int32_t proc, std::vector<const ir::Node*> loops,
              const std::function<void(const std::vector<const ir::Node*>&)>& f, int depth, int& left) const;

  const ir::Program& p_;
  analysis::CallGraph calls_;
  std::vector<Cost> entries_;  // by procedure + 1
};

inline ir::Node make_node(ir::Program& program, const SourcePlace& place, Opcode op,
                          std::vector<ir::Operand> operands) {
  return {new_id(program), place, ir::Instr{op, std::move(operands)}};
}

}  // namespace sial::plan
