#include "runtime/core/job/duration.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/number.h"

namespace sial {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  throw InputError(fmt::format("`{}` is not a span of time", text), "for example 90s, 30m, 11h30m or 11:30:00");
}

/// The number at the front of `rest`, which loses it.
double take_number(std::string_view& rest, std::string_view text) {
  const std::optional<double> value = take_real(rest);
  if (!value || std::signbit(*value)) refuse(text);
  return *value;
}

/// [[HH:]MM:]SS
double clock_time(std::string_view text) {
  std::string_view rest = text;
  double seconds = 0;
  for (int fields = 1;; ++fields) {
    seconds = seconds * 60 + take_number(rest, text);
    if (rest.empty()) return seconds;
    if (fields == 3 || rest.front() != ':') refuse(text);
    rest.remove_prefix(1);
  }
}

}  // namespace

double parse_duration(std::string_view text, double bare_unit) {
  if (text.find(':') != std::string_view::npos) return clock_time(text);
  std::string_view rest = text;
  double seconds = 0;
  for (bool first = true; first || !rest.empty(); first = false) {
    const double value = take_number(rest, text);
    const std::size_t length = std::min(rest.find_first_of("0123456789."), rest.size());
    const std::string_view unit = rest.substr(0, length);
    rest.remove_prefix(length);
    if (unit.empty() && first && rest.empty()) return value * bare_unit;
    double factor = 0;
    for (const auto& [name, f] :
         {std::pair{"d", 86400.0}, {"h", 3600.0}, {"m", 60.0}, {"min", 60.0}, {"s", 1.0}, {"ms", 1e-3}})
      if (unit == name) factor = f;
    if (factor == 0) refuse(text);
    seconds += value * factor;
  }
  return seconds;
}

double parse_checkpoint_every(std::string_view text) {
  if (text == "programs") return std::numeric_limits<double>::infinity();
  return parse_duration(text, 60);
}

}  // namespace sial
