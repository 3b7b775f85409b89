#pragma once
// Blocks of two-electron integrals by expansions in Hermite Gaussians. One object per rank; keeps what pairs of shells
// remember for the ranges of functions it was asked for, up to a limit of memory.

#include <array>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/chemistry/integrals/density_screen.h"
#include "runtime/chemistry/integrals/hermite_pairs.h"
#include "runtime/chemistry/integrals/integrals.h"

namespace sial {

/// The pairs of shells of two ranges, those of the largest integrals first.
struct PairList {
  std::vector<HermitePair> pairs;
  FunctionSets first_families, second_families;  // the functions of each
  FunctionRange first, second;
};

class HermiteRepulsion {
 public:
  static constexpr std::int64_t max_list_bytes = std::int64_t{64} << 20;  // of the pairs that are kept

  explicit HermiteRepulsion(std::vector<GaussianShell> shells);

  /// (ab|cd) of whole shells. Quartets are left zero as `densities` allow, see integrals.h.
  void block(const std::array<FunctionRange, 4>& ranges, std::span<const FockMatrix> densities, double* out);
  const QuartetCounts& counts() const { return counts_; }

 private:
  void make_bounds();
  std::shared_ptr<const PairList> pair_list(FunctionRange a, FunctionRange b);
  std::shared_ptr<const PairList> make_pair_list(FunctionRange a, FunctionRange b) const;
  /// values_ := integrals [function pair of bra][that of ket, padded], but for what primitives below a threshold of
  /// their products add.
  void quartet(const HermitePair& bra, const HermitePair& ket, double threshold);
  const std::vector<double>& boys(int l);
  std::size_t shell_pair(std::size_t a, std::size_t b) const {
    return a < b ? b * (b + 1) / 2 + a : a * (a + 1) / 2 + b;
  }

  std::vector<GaussianShell> shells_;
  FunctionGroups groups_;
  HermiteCode code_ = hermite_code();
  int max_l_ = 0;  // of a pair
  std::vector<HermiteStep> steps_;
  std::vector<std::int32_t> sums_;
  std::vector<std::vector<double>> boys_;
  std::vector<double> bounds_;  // sqrt of the largest (ij|ij) of each pair of shells
  double largest_bound_ = 0.0;
  std::map<std::array<std::int64_t, 4>, std::shared_ptr<const PairList>> lists_;
  std::int64_t list_bytes_ = 0;
  std::vector<double> r_, work_, half_, values_;
  QuartetCounts counts_;
};

}  // namespace sial
