#pragma once
// Counts of transfers to and from tiers: keys and meanings are rows of runtime/core/stats/counters.def. Values; a
// count in progress has one thread that counts.

#include <atomic>
#include <cstdint>

#include "runtime/core/stats/counter_field.h"

namespace sial {

/// A number that one thread counts and others may look at.
template <class T>
class Count {
 public:
  operator T() const { return value_.load(std::memory_order_relaxed); }  // NOLINT: it is the number
  void operator+=(T n) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  void operator++() { *this += 1; }

 private:
  std::atomic<T> value_{0};
};

struct TierStats {
#define COUNTED_tier(field) field
#define COUNTER(number, name, unit, combine, by, meaning) COUNTER_FIELD(unit, COUNTED_##by)
#include "runtime/core/stats/counters.def"
};

/// The counts of one thread; bytes_high_water is the node's, and not counted here.
struct TierCounts {
#define COUNT_FIELD(unit, ...) __VA_OPT__(Count<CounterField<in_seconds(unit)>> __VA_ARGS__;)
#define COUNTED_tier(field) field
#define COUNTER(number, name, unit, combine, by, meaning) COUNT_FIELD(unit, COUNTED_##by)
#include "runtime/core/stats/counters.def"
#undef COUNT_FIELD
};

#define CHANGE_FIELD(sign, ...) __VA_OPT__(sum.__VA_ARGS__ sign counts.__VA_ARGS__;)
template <class Counts>
void add(TierStats& sum, const Counts& counts) {
#define COUNTED_tier(field) field
#define COUNTER(number, name, unit, combine, by, meaning) CHANGE_FIELD(+=, COUNTED_##by)
#include "runtime/core/stats/counters.def"
}

inline void subtract(TierStats& sum, const TierStats& counts) {
#define COUNTED_tier(field) field
#define COUNTER(number, name, unit, combine, by, meaning) CHANGE_FIELD(-=, COUNTED_##by)
#include "runtime/core/stats/counters.def"
}
#undef CHANGE_FIELD

}  // namespace sial
