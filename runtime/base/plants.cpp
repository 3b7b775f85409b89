#include "runtime/base/plants.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "runtime/base/error.h"

namespace sial {
namespace {

struct Row {
  std::string_view name, check;
};

constexpr Row rows[] = {
#define PLANT(name, owner, check) {#name, check},
#include "runtime/base/plants.def"
#undef PLANT
};

std::string_view wanted() {
  const char* name = std::getenv("SIALX_PLANT");
  return name ? name : "";
}

Plant choose() {
  int number = 0;
  for (const Row& row : rows) {
    if (row.name == wanted()) return static_cast<Plant>(number);
    ++number;
  }
  return Plant::none;
}

}  // namespace

namespace detail {
const Plant chosen_plant = choose();
}

std::string plant_warning() {
  if (wanted().empty()) return {};
  if (detail::chosen_plant == Plant::none)
    throw SialError(fmt::format("SIALX_PLANT={} names no check", wanted()), "unset the variable; runtime/base/plants.def lists the names that tests use");
  return fmt::format("warning: SIALX_PLANT={} is set: RESULTS MAY BE WRONG ON PURPOSE (left out: {}); unset it for real work\n", wanted(),
                     rows[static_cast<int>(detail::chosen_plant)].check);
}

}  // namespace sial
