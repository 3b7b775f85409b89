#pragma once
// The iterations of a parallel loop, and how ranks divide them: what the interpreter, look-ahead and the predictions of
// time and memory share.

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/core/bytecode/evaluate/node_strips.h"
#include "runtime/core/bytecode/evaluate/tuple_order.h"
#include "runtime/core/bytecode/module.h"

namespace sial {

/// How the iterations of a pardo are divided:
///   dynamic     ranks draw ranges of iterations from a queue and filter their own with the where clauses
///   cyclic      every rank walks all iterations; the n-th accepted one since the barrier belongs to rank n mod ranks;
///               the counter runs on from pardo to pardo
///   cyclic_raw  as cyclic, counting iterations before the where clauses
///   everywhere  every rank executes everything
enum class PardoMode { dynamic, cyclic, cyclic_raw, everywhere };

/// Whether the pardo's pragma says that every rank executes all of it.
bool runs_everywhere(const Module& module, const LoopRow& loop);

/// The division of a run's pardos.
struct PardoRules {
  bool static_schedule = false;  // the run's option
  bool saved_agree = true;       // what earlier programs saved is the same on all ranks
};

/// Pardos that ranks may meet differently (RankDependence) are dealt in turn.
PardoMode pardo_mode(const Module& module, const LoopRow& loop, PardoRules rules);

constexpr bool is_cyclic(PardoMode mode) { return mode == PardoMode::cyclic || mode == PardoMode::cyclic_raw; }

/// The combinations of some indices' values, numbered from 0, with the first index fastest unless it follows another
/// order or is dealt to nodes.
class IterationSpace {
 public:
  /// One more index, from `lo` to `hi`, not less. False when the combinations are too many for 64 bits.
  bool add(std::int32_t lo, std::int32_t hi) {
    lo_[n_] = lo;
    hi_[n_++] = hi;
    return !__builtin_mul_overflow(size_, std::int64_t{hi} - lo + 1, &size_);
  }

  /// Numbers the combinations anew, once all indices are there.
  void follow(const TupleOrder& order) { order_ = order; }

  /// Numbers the combinations so that equal shares of the numbers are strips from all over the space. Not where the
  /// space follows another order, whose neighbours belong together.
  void deal(std::int64_t nodes) {
    if (nodes > 1 && as_written()) strips_ = NodeStrips(size_, nodes, strip_length(size_ / nodes));
  }

  std::int64_t size() const { return size_; }
  std::size_t rank() const { return n_; }
  bool as_written() const { return order_.as_written(); }
  TupleOrder::Counts counts() const {
    TupleOrder::Counts counts{};
    for (std::size_t d = 0; d < n_; ++d) counts[d] = static_cast<std::int32_t>(count(d));
    return counts;
  }

  /// Calls set(d, value) for each index of a combination. advance() leads from number to number up to the one before
  /// that which is returned.
  template <class Set>
  std::int64_t at(std::int64_t number, Set&& set) const {
    if (!as_written()) [[unlikely]] {
      TupleOrder::Counts values{};
      order_.at(number, counts(), values);
      for (std::size_t d = 0; d < n_; ++d) set(d, lo_[d] + values[d]);
      return number + 1;
    }
    std::int64_t last = size_;
    if (strips_.dealt()) number = strips_.iteration(number, last);
    for (std::size_t d = 0; d < n_; ++d) {
      set(d, static_cast<std::int32_t>(lo_[d] + number % count(d)));
      number /= count(d);
    }
    return last;
  }

  /// From one combination to the next as written; value(d): a reference to the index's value.
  template <class Value>
  void advance(Value&& value) const {
    for (std::size_t d = 0; d < n_; ++d) {
      std::int32_t& v = value(d);
      if (++v <= hi_[d]) return;
      v = lo_[d];
    }
  }

 private:
  std::int64_t count(std::size_t d) const { return std::int64_t{hi_[d]} - lo_[d] + 1; }

  /// Many strips in a node's share even its work out; whole runs of the leading indices use blocks again.
  std::int64_t strip_length(std::int64_t share) const {
    constexpr std::int64_t enough = 8;
    std::int64_t whole = 1;
    for (std::size_t d = 0; d < n_ && whole * count(d) * enough <= share; ++d) whole *= count(d);
    if (whole == 1) return n_ > 0 && count(0) * 2 <= share ? count(0) : std::max<std::int64_t>(1, share / 2);
    return whole * std::max<std::int64_t>(1, share / (whole * enough));
  }

  std::array<std::int32_t, max_rank> lo_{}, hi_{};
  std::size_t n_ = 0;
  std::int64_t size_ = 1;
  TupleOrder order_;
  NodeStrips strips_;
};

}  // namespace sial
