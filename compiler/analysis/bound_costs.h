#pragma once
// Sizes of block operands for given ranges, segment extents and values of the indices. An index that stands for all of
// its values contributes the mean over them, with the right power where a reference names it more than once.

#include <optional>
#include <span>
#include <vector>

#include "compiler/analysis/bound.h"
#include "runtime/core/base/ids.h"

namespace sial::analysis {

struct BoundRange {
  std::int32_t lo = 1, hi = 0;
};
struct BoundWork {
  double flops = 0, bytes = 0, moved = 0;
};

class BoundCosts {
 public:
  BoundCosts(const ir::Program& program, const Job& job);

  std::int32_t predefined(std::int32_t slot) const;  // throws SialError when the job lacks it
  BoundRange range(IndexId index) const;

  void set(IndexId index, std::int32_t value) { values_[index.at()] = value; }
  void set_any(IndexId index) { values_[index.at()].reset(); }
  void unset(IndexId index) { values_[index.at()].reset(); }
  std::int32_t value(IndexId index) const { return *values_[index.at()]; }
  std::optional<std::int32_t> known(IndexId index) const { return values_[index.at()]; }

  BoundWork work(const ir::Instr& instr, std::span<const std::optional<std::int32_t>> ints) const;

 private:
  /// Mean of the product of the entries' extents.
  double elements(const std::vector<RefEntry>& entries) const;
  double segment_extent(IndexId index, std::int32_t segment) const;
  double mean(IndexId index, int power) const;
  double array_elements(ArrayId array, const ir::Region* region, const ir::Block* wildcard,
                        std::span<const std::optional<std::int32_t>> ints) const;

  const ir::Program& p_;
  const Job& job_;
  std::vector<std::optional<std::int32_t>> values_;
};

}  // namespace sial::analysis
