#include "tests/bench/kernels/cases_permute.h"

#include <algorithm>

#include <fmt/format.h>

namespace bench {

std::vector<PermuteCase> permute_cases() {
  std::vector<PermuteCase> all;
  const auto add = [&](const std::string& group, std::vector<std::int64_t> extents, std::vector<int> order,
                       double alpha = 1.0, double beta = 0.0) {
    std::string name;
    for (const int k : order) name += static_cast<char>('a' + k);
    for (const std::int64_t e : extents)
      name += fmt::format("{}{}", e == extents.front() && name.find(' ') == std::string::npos ? " " : "x", e);
    if (alpha != 1.0 || beta != 0.0) name += fmt::format(" {}y{}", alpha, beta == 0.0 ? "" : fmt::format("+{}x", beta));
    all.push_back({group, name, std::move(extents), std::move(order), alpha, beta});
  };
  for (const std::int64_t n : {16, 25, 40, 64}) {
    std::vector<int> order{0, 1, 2, 3};
    do add(fmt::format("4-d {}", n), {n, n, n, n}, order);
    while (std::next_permutation(order.begin(), order.end()));
  }
  for (const std::int64_t n : {57, 100, 256})
    for (const auto& order : {std::vector{1, 0, 2}, {2, 1, 0}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}})
      add("3-d", {n, n, n}, order);
  for (const auto& order :
       {std::vector{4, 3, 2, 1, 0}, {4, 0, 1, 2, 3}, {1, 2, 3, 4, 0}, {0, 3, 2, 4, 1}, {2, 1, 4, 0, 3}}) {
    add("5-d", {25, 25, 25, 25, 25}, order);
    add("5-d", {16, 32, 10, 24, 40}, order);
  }
  for (const auto& order : {std::vector{5, 4, 3, 2, 1, 0},
                            {5, 0, 1, 2, 3, 4},
                            {1, 2, 3, 4, 5, 0},
                            {3, 4, 5, 0, 1, 2},
                            {0, 5, 1, 4, 2, 3}}) {
    add("6-d", {10, 12, 10, 16, 8, 10}, order);
    add("6-d", {16, 16, 16, 16, 16, 16}, order);
  }
  for (const std::int64_t n : {25, 57})
    for (const auto& [alpha, beta] : {std::pair{-0.5, 0.0}, {1.0, 1.0}, {2.0, 0.5}})
      add("blended", {n, n, n, n}, {3, 1, 0, 2}, alpha, beta);
  return all;
}

}  // namespace bench
