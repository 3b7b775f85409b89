#pragma once
// Sizes of block operands for given ranges, segment extents and values of the indices. An index that stands for all of
// its values contributes the mean over them, with the right power where a reference names it more than once.

#include <optional>
#include <span>
#include <vector>

#include "compiler/analysis/bound.h"

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
  BoundRange range(std::int32_t index) const;

  void set(std::int32_t index, std::int32_t value) { values_[static_cast<std::size_t>(index)] = value; }
  void set_any(std::int32_t index) { values_[static_cast<std::size_t>(index)].reset(); }
  void unset(std::int32_t index) { values_[static_cast<std::size_t>(index)].reset(); }
  std::int32_t value(std::int32_t index) const { return *values_[static_cast<std::size_t>(index)]; }
  std::optional<std::int32_t> known(std::int32_t index) const { return values_[static_cast<std::size_t>(index)]; }

  BoundWork work(const ir::Instr& instr, std::span<const std::optional<std::int32_t>> ints) const;

 private:
  /// Mean of the product of the entries' extents.
  double elements(const std::vector<RefEntry>& entries) const;
  double segment_extent(std::int32_t index, std::int32_t segment) const;
  double mean(std::int32_t index, int power) const;
  double array_elements(std::int32_t array, const ir::Region* region, const ir::Block* wildcard,
                        std::span<const std::optional<std::int32_t>> ints) const;

  const ir::Program& p_;
  const Job& job_;
  std::vector<std::optional<std::int32_t>> values_;
};

}  // namespace sial::analysis
