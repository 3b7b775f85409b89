#include "runtime/core/interp/prefetch/loop_share.h"

#include <algorithm>

#include "runtime/core/base/iteration_shares.h"

namespace sial {

LoopShare::LoopShare(const UpcomingPardo& pardo) : pardo_(pardo) { divide(0); }

/// From iteration `from` on, all ranks of the node begin at the same time. Where they take turns one in `ranks` is this
/// rank's: of those that where clauses accept, which are not known here, about as many.
void LoopShare::divide(std::int64_t from) {
  ranges_.clear();
  range_ = 0;
  const std::int64_t size = pardo_.space.size();
  if (pardo_.mode != PardoMode::dynamic) {
    ranges_.push_back({from, size});
  } else {
    const std::int64_t before = pardo_.rank - pardo_.of_node;
    const std::int64_t last = share_before(size, pardo_.ranks, before + pardo_.ranks_of_node);
    std::int64_t next = std::max(from, share_before(size, pardo_.ranks, before));
    std::vector<std::int64_t> busy(static_cast<std::size_t>(pardo_.ranks_of_node), 0);  // iterations drawn, by rank
    while (next < last) {
      const auto drawing = std::min_element(busy.begin(), busy.end());
      const std::int64_t n = guided_chunk(last - next, pardo_.ranks_of_node);
      if (drawing - busy.begin() == pardo_.of_node) ranges_.push_back({next, next + n});
      *drawing += n;
      next += n;
    }
  }
  if (!ranges_.empty()) at_ = ranges_.front().first;
}

void LoopShare::resume(std::int64_t at, std::int64_t end) {
  if (pardo_.mode != PardoMode::dynamic) return divide(at);
  divide(end);
  ranges_.insert(ranges_.begin(), {at, end});
  at_ = at;
}

bool LoopShare::next(std::int64_t& tuple) {
  for (;;) {
    if (range_ == ranges_.size()) return false;
    if (at_ < ranges_[range_].last) break;
    if (++range_ < ranges_.size()) at_ = ranges_[range_].first;
  }
  tuple = at_++;
  if (!is_cyclic(pardo_.mode) || tuple % pardo_.ranks == pardo_.rank) return true;
  const std::int64_t turn = pardo_.rank - tuple % pardo_.ranks;
  tuple += turn < 0 ? turn + pardo_.ranks : turn;
  at_ = tuple + 1;
  return tuple < ranges_[range_].last;
}

}  // namespace sial
