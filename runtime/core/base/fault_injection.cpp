#include "runtime/core/base/fault_injection.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "runtime/core/base/error.h"

namespace sial {
namespace {

struct Row {
  std::string_view name, check;
};

constexpr Row rows[] = {
#define FAULT(name, owner, check) {#name, check},
#include "runtime/core/base/fault_injection.def"
#undef FAULT
};

std::string_view wanted() {
  const char* name = std::getenv("SIALX_FAULT");
  return name ? name : "";
}

Fault choose() {
  int number = 0;
  for (const Row& row : rows) {
    if (row.name == wanted()) return static_cast<Fault>(number);
    ++number;
  }
  return Fault::none;
}

}  // namespace

namespace detail {
const Fault chosen_fault = choose();
}

std::string fault_warning() {
  if (wanted().empty()) return {};
  if (detail::chosen_fault == Fault::none)
    throw SialError(fmt::format("SIALX_FAULT={} names no check", wanted()),
                    "unset the variable; runtime/core/base/fault_injection.def lists the names that tests use");
  return fmt::format(
      "warning: SIALX_FAULT={} is set: RESULTS MAY BE WRONG ON PURPOSE (left out: {}); unset it for real work\n",
      wanted(), rows[static_cast<int>(detail::chosen_fault)].check);
}

}  // namespace sial
