#pragma once
// A cost (bytes, floating point operations, executions) as an expression in what a job decides later: a sum of terms,
// each a coefficient times numbers of segments and mean segment extents of indices. A plain value; terms are kept
// sorted and joined, so that equal expressions compare equal. The compiler builds them, report and predictions bind
// them to numbers.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/base/ids.h"

namespace sial {

struct IndexRow;

/// count: segments in the index's range; extent: elements per segment, on average.
enum class FactorKind : std::int32_t { count = 0, extent = 1 };

struct CostFactor {
  FactorKind kind = FactorKind::count;
  IndexId index;
  auto operator<=>(const CostFactor&) const = default;
};

struct CostTerm {
  double coefficient = 0.0;
  std::vector<CostFactor> factors;  // sorted, with repetition
  bool operator==(const CostTerm&) const = default;
};

/// An index in a job.
struct IndexSize {
  double count = 0.0, extent = 1.0;
};

struct Cost {
  std::vector<CostTerm> terms;  // by factors; none has the coefficient 0

  static Cost constant(double value);
  static Cost count(IndexId index) { return {{{1.0, {{FactorKind::count, index}}}}}; }
  static Cost extent(IndexId index) { return {{{1.0, {{FactorKind::extent, index}}}}}; }

  bool is_zero() const { return terms.empty(); }
  Cost& operator+=(const Cost& other);
  Cost& operator*=(double factor);
  bool operator==(const Cost&) const = default;
};

Cost operator+(Cost a, const Cost& b);
Cost operator*(const Cost& a, const Cost& b);
Cost operator*(Cost a, double factor);

/// `sizes`: one per index row.
double evaluate(const Cost& cost, std::span<const IndexSize> sizes);

/// "8·|i|·#mu + 16": `|i|` is the mean extent of i's segments, `#mu` the number of mu's segments; powers as `|i|^2`.
std::string cost_text(const Cost& cost, const std::vector<IndexRow>& indices);

}  // namespace sial
