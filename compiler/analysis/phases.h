#pragma once
// Phases: what runs between two barriers, as far as the text decides. Two statements are in the same phase when some
// run may execute both without a barrier in between: branches meet, loops carry the end of one iteration into the next,
// a call continues the caller's phase up to the callee's first barrier and begins a new one after its last. Ranks meet
// barriers at the same statement, so the phases of one rank are those of all. Linear in the program: phases are classes
// of a union-find.
//
// A procedure has phases of its own; those that its entry or exit belongs to go on in the callers, whose statements
// all_touches() includes.

#include <vector>

#include "compiler/analysis/calls.h"
#include "runtime/core/base/ids.h"

namespace sial::analysis {

/// Number of a phase of the program.
using PhaseId = Id<struct PhaseTag, std::int32_t>;

class Phases {
 public:
  explicit Phases(const ir::Program& program);

  /// The phase in which a node runs; of a call, loop, if or section the one in which it begins.
  PhaseId of(ir::NodeId node) const {
    return phases_[static_cast<std::size_t>(phase_of_node_[static_cast<std::size_t>(node)])];
  }
  bool same(ir::NodeId a, ir::NodeId b) const { return of(a) == of(b); }
  std::size_t count() const { return local_.size(); }
  PhaseId entry(std::int32_t proc) const { return entry_[static_cast<std::size_t>(proc) + 1]; }  // -1: main
  PhaseId exit(std::int32_t proc) const { return exit_[static_cast<std::size_t>(proc) + 1]; }
  std::int32_t proc_of(PhaseId phase) const { return proc_[phase.at()]; }
  /// The barrier-like nodes that begin the phase; empty for the one that a body begins in.
  const std::vector<const ir::Node*>& begins(PhaseId phase) const { return begins_[phase.at()]; }

  /// Effects in the phase of statements of the procedure, with those it calls, by array.
  const std::vector<ArrayTouch>& touches(PhaseId phase) const { return local_[phase.at()]; }
  /// The same with what callers do before and after the call.
  const std::vector<ArrayTouch>& all_touches(PhaseId phase) const { return all_[phase.at()]; }
  /// Whether any rank may change the array at its home during the phase, callers included.
  bool may_put(PhaseId phase, ArrayId array) const;

 private:
  struct Builder;
  std::vector<std::int32_t> phase_of_node_;  // raw number, mapped by phases_
  std::vector<PhaseId> phases_;
  std::vector<PhaseId> entry_, exit_;
  std::vector<std::int32_t> proc_;
  std::vector<std::vector<const ir::Node*>> begins_;
  std::vector<std::vector<ArrayTouch>> local_, all_;
};

/// Sorts by array and merges entries of the same one.
void normalise(std::vector<ArrayTouch>& touches);

}  // namespace sial::analysis
