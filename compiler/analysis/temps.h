#pragma once
// Which temps live on when an iteration ends. A temp belongs to the innermost loop that is open when it is created, also through
// calls, and dies with that loop's iteration; so what an iteration leaves behind are the temps that may have been there before
// it began. Errs towards living on. By value; stale as soon as the program changes.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compiler/ir/ir.h"

namespace sial::analysis {

class TempScopes {
 public:
  explicit TempScopes(const ir::Program& program);
  /// Whether a block of the array that exists when an iteration of the loop ends may exist afterwards. True for all but temps.
  bool outlives(ir::NodeId loop, std::int32_t array) const { return around_.at(loop)[static_cast<std::size_t>(array)]; }
  /// Whether a block of the array that exists at the end of the procedure may exist after it. True for all but temps.
  bool leaves(std::int32_t proc, std::int32_t array) const {
    return escapes_[static_cast<std::size_t>(proc)][static_cast<std::size_t>(array)] || entry_[static_cast<std::size_t>(proc)][static_cast<std::size_t>(array)];
  }

 private:
  using Set = std::vector<bool>;  // by array
  void created(const ir::Body& body, Set& set) const;
  void scope(const ir::Body& body, const Set& around);
  void inside(const ir::Body& body, const Set& here);

  const ir::Program& p_;
  std::vector<Set> escapes_;      // by procedure: created outside of its loops
  std::vector<Set> entry_;        // by procedure: may exist when it is called
  std::unordered_map<ir::NodeId, Set> around_;
};

}  // namespace sial::analysis
