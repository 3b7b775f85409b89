#include "runtime/core/transport/launched.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <thread>

#include "runtime/core/base/number.h"
#include "runtime/core/transport/mpi.h"

namespace sial {

int number_of_environment(const char* name) {
  const char* text = std::getenv(name);
  return text ? static_cast<int>(read_integer(text, 0, std::numeric_limits<int>::max()).value_or(0)) : 0;
}

namespace {

/// Reads the first variable that is set: daemons that another launcher has started hand on what that says.
int number_of(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (std::getenv(name)) return number_of_environment(name);
  return 0;
}

}  // namespace

int launched_ranks() { return std::max(1, number_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})); }
int launched_rank() { return number_of({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}); }
int local_rank() { return number_of({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}); }
bool is_first_launched() { return launched_rank() == 0; }

void let_first_speak(int rank, int seconds) {
  if (rank > 0) std::this_thread::sleep_for(std::chrono::seconds(seconds));
}

}  // namespace sial
