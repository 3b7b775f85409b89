#pragma once
// Near-miss names for "did you mean": the closest candidate by edit distance, if it is close enough to be a slip.

#include <string>
#include <string_view>
#include <vector>

namespace sial::sema {

/// The nearest of `candidates` to `name` (first of equals), or an empty string when none is near.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace sial::sema
