#include "runtime/core/base/bytes.h"

#include <fmt/format.h>

namespace sial {

std::string bytes_text(std::int64_t bytes) {
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto amount = static_cast<double>(bytes);
  int unit = 0;
  for (; amount >= 999.5 && unit < 5; ++unit) amount /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes)
                   : fmt::format("{:.{}f} {}", amount,
                                 amount < 9.995   ? 2
                                 : amount < 99.95 ? 1
                                                  : 0,
                                 units[unit]);
}

std::string bytes_needed_text(std::int64_t bytes) {
  // The last digit of three is worth `step` bytes.
  std::int64_t step = 1;
  while (bytes / step >= 1000) step *= 10;
  return bytes_text((bytes + step - 1) / step * step);
}

}  // namespace sial
