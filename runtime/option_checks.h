#pragma once
// What options of the command line are checked for, with words for people: an empty text where all is well.

#include <cmath>
#include <cstdlib>
#include <string>

namespace sial {

/// A finite number of 0 or more.
inline std::string number_from_zero(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == '\0' && std::isfinite(value) && value >= 0) return {};
  return "`" + text + "` is not a number of 0 or more";
}

/// A finite number above 0.
inline std::string positive_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == '\0' && std::isfinite(value) && value > 0) return {};
  return "`" + text + "` is not a number above 0";
}

}  // namespace sial
