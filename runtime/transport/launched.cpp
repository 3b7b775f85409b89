#include "runtime/transport/launched.h"

#include <cstdlib>
#include <limits>
#include <string_view>

#include "runtime/base/number.h"
#include "runtime/transport/mpi.h"

namespace sial {

int number_of_environment(const char* name) {
  const char* text = std::getenv(name);
  return text ? static_cast<int>(read_integer(text, 0, std::numeric_limits<int>::max()).value_or(0)) : 0;
}

int launched_ranks() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const int n = number_of_environment(name); n > 0) return n;
  return 1;
}

bool is_first_launched() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
  return true;
}

}  // namespace sial
