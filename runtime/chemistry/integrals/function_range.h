#pragma once
// Ranges of basis functions, and which shells they hold.

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/base/error.h"

namespace sial {

/// Basis functions [first, first + count).
struct FunctionRange {
  std::int64_t first = 0, count = 0;
  bool operator==(const FunctionRange&) const = default;
};

/// First functions of consecutive groups (shells), ascending from 0, and the number of functions in all.
class FunctionGroups {
 public:
  struct Range {
    std::size_t begin = 0, end = 0;
  };

  void add(std::int64_t size) {
    first_.push_back(total_);
    total_ += size;
  }
  std::int64_t total() const { return total_; }

  /// The groups of a range. Throws SialError when it splits one or leaves the basis.
  Range range(FunctionRange f) const {
    if (f.first < 0 || f.first + f.count > total_)
      throw SialError(
          fmt::format("functions {} to {} were asked for, the basis has {}", f.first + 1, f.first + f.count, total_),
          "do the `ao` segments belong to this molecule?");
    return {at(f.first), at(f.first + f.count)};
  }

 private:
  std::size_t at(std::int64_t function) const {
    auto it = std::lower_bound(first_.begin(), first_.end(), function);
    if ((it == first_.end() ? total_ : *it) != function)
      throw SialError(fmt::format("an `ao` segment splits the shell before function {}", function + 1),
                      "AO segments hold whole shells");
    return static_cast<std::size_t>(it - first_.begin());
  }

  std::vector<std::int64_t> first_;
  std::int64_t total_ = 0;
};

}  // namespace sial
