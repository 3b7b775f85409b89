#pragma once
// Permuted copies that are measured: all orders of four dimensions, some of three, five and six, scaled and
// accumulating forms. Data only.

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// x = alpha * y in another order + beta * x
struct PermuteCase {
  std::string group, name;
  std::vector<std::int64_t> extents;  // of y, fastest first
  std::vector<int> order;             // x's dimension k is y's order[k]
  double alpha = 1.0, beta = 0.0;
};

std::vector<PermuteCase> permute_cases();

}  // namespace bench
