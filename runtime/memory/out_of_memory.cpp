#include "runtime/memory/out_of_memory.h"

#include <fmt/format.h>

namespace sial {
namespace {

std::string remedies(bool spills) {
  return fmt::format(
      "give each rank more with `--memory`, {}use more ranks or nodes or smaller segments, or delete arrays that are no longer needed; the "
      "same command with `--dry-run` prints what the job needs",
      spills ? "" : "let blocks go to a disk with `--spill DIR`, ");
}

}  // namespace

OutOfMemory::OutOfMemory(std::string wanted, std::int64_t used, std::string situation, bool spills, std::string where)
    : EnvironmentError("out of memory for " + wanted + ": " + situation, remedies(spills), std::move(where)),
      wanted_(std::move(wanted)),
      situation_(std::move(situation)),
      used_(used),
      spills_(spills) {}

}  // namespace sial
