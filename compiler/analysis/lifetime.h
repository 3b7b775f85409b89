#pragma once
// The lifetime of a block's data on this rank, and whether a block certainly exists: liveness (backwards) and
// definite initialisation (forwards) of the rank's own blocks: temps, locals, statics and what it holds of remote
// arrays.
//
// Both name blocks as the program does, by reference; a reference means another block after its loop has moved on, and
// two of them may mean the same one (alias.h). Liveness therefore errs towards live, initialisation towards not. A get
// counts as a use of what is held already, because the store then leaves it alone; a barrier drops what is held of
// remote arrays; deallocation is a use. Both analyses visit every node twice, whatever the nesting, and pay for what
// changes from statement to statement: a program of twice the length takes about twice as long, whatever it has more
// of.

#include <memory>
#include <vector>

#include "compiler/analysis/calls.h"

namespace sial::analysis {

struct UseFacts {
  std::size_t operand = 0;
  bool dead_after =
      false;  // on no path is the block's content of now used later: it is replaced, dropped or dies before
  bool initialised = false;  // on every path here the block has been written, fetched or allocated, and still exists
};

class Lifetimes {
 public:
  explicit Lifetimes(const ir::Program& program);

  /// Facts about an operand that is a block on this rank's own side; nothing for others (regions, whole arrays, targets
  /// of puts).
  const UseFacts* find(ir::NodeId node, std::size_t operand) const;
  bool dead_after(ir::NodeId node, std::size_t operand) const {
    const UseFacts* f = find(node, operand);
    return f != nullptr && f->dead_after;
  }
  bool initialised(ir::NodeId node, std::size_t operand) const {
    const UseFacts* f = find(node, operand);
    return f != nullptr && f->initialised;
  }
  /// Steps taken to find them: a measure of time that is the same everywhere.
  std::size_t steps() const { return steps_; }

 private:
  std::size_t steps_ = 0;
  std::vector<std::vector<UseFacts>> facts_;  // by node id
};

}  // namespace sial::analysis
