#include "runtime/core/memory/out_of_memory.h"

#include <fmt/format.h>

namespace sial {
namespace {

/// The size as `--memory` takes it, rounded up.
std::string memory_text(std::int64_t bytes) {
  constexpr std::int64_t kilo = 1000, mega = 1000 * kilo;
  const std::int64_t unit = bytes < 100 * mega ? kilo : mega;
  return fmt::format("{}{}", (bytes + unit - 1) / unit, unit == kilo ? "kB" : "MB");
}

std::string remedies(std::int64_t least) {
  const std::string more =
      least > 0   ? fmt::format("give each rank more with `--memory` (this statement works with `--memory {}`)",
                                memory_text(least))
      : least < 0 ? std::string("give `--spill` a folder with more room, or each rank more with `--memory`")
                  : std::string("give each rank more with `--memory`, let blocks go to a disk with `--spill DIR`");
  return more +
         ", use more ranks or nodes or smaller segments, or delete arrays that are no longer needed; the same command with `--dry-run` prints what the job needs";
}

}  // namespace

OutOfMemory::OutOfMemory(std::string wanted, std::int64_t used, std::string situation, std::int64_t least,
                         std::string where)
    : EnvironmentError("out of memory for " + wanted + ": " + situation, remedies(least), std::move(where)),
      wanted_(std::move(wanted)),
      situation_(std::move(situation)),
      used_(used),
      least_(least) {}

}  // namespace sial
