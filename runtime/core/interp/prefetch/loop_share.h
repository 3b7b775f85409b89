#pragma once
// The iterations of a pardo that has not begun which a rank will probably run, in their order: where ranks draw them,
// as if all were equally fast. For hints.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/bytecode/evaluate/iteration_space.h"
#include "runtime/core/transport/work_queue.h"

namespace sial {

/// A pardo that is still to come. Ranks are counted without servers.
struct UpcomingPardo {
  PardoMode mode = PardoMode::dynamic;
  IterationSpace space;
  int ranks = 1, rank = 0;             // of the job
  int ranks_of_node = 1, of_node = 0;  // the rank among those of its node
};

class LoopShare {
 public:
  LoopShare() = default;
  explicit LoopShare(const UpcomingPardo& pardo);
  /// Without the iterations before `first`, which have been handed out: but those from `at` to `end` are this rank's.
  void resume(std::int64_t at, std::int64_t end);

  const IterationSpace& space() const { return pardo_.space; }
  /// The next one; false: there are no more.
  bool next(std::int64_t& tuple);

 private:
  void divide(std::int64_t from);

  UpcomingPardo pardo_;
  std::vector<IterationRange> ranges_;
  std::size_t range_ = 0;
  std::int64_t at_ = 0;
};

}  // namespace sial
