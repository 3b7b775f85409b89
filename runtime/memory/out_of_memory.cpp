#include "runtime/memory/out_of_memory.h"

namespace sial {

OutOfMemory::OutOfMemory(std::string wanted, std::int64_t used, std::string situation, std::string where)
    : EnvironmentError(
          "out of memory for " + wanted + ": " + situation,
          "give each rank more with `--memory`, use more ranks or nodes or smaller segments, or delete arrays that are no longer needed; the "
          "same command with `--dry-run` prints what the job needs",
          std::move(where)),
      wanted_(std::move(wanted)),
      situation_(std::move(situation)),
      used_(used) {}

}  // namespace sial
