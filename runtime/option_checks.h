#pragma once
// What options of the command line are checked for, with words for people: an empty text where all is well.

#include <string>

#include "runtime/base/number.h"

namespace sial {

/// A finite number of 0 or more.
inline std::string number_from_zero(const std::string& text) {
  if (read_real(text).value_or(-1) >= 0) return {};
  return "`" + text + "` is not a number of 0 or more";
}

/// A finite number above 0.
inline std::string positive_number(const std::string& text) {
  if (read_real(text).value_or(0) > 0) return {};
  return "`" + text + "` is not a number above 0";
}

}  // namespace sial
