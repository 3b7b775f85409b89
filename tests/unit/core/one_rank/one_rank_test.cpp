// A build without MPI: what launchers say is understood, and more than one rank is refused.
#include <catch2/catch.hpp>

#include <cstdlib>

#include "runtime/core/base/error.h"
#include "runtime/core/transport/mpi.h"

using namespace sial;

TEST_CASE("a build without MPI refuses ranks, and says why", "[one_rank]") {
  try {
    make_mpi(nullptr, nullptr, {});
    FAIL("there is no MPI");
  } catch (const EnvironmentError& error) {
    CHECK(std::string(error.what()) == "this build runs on one rank: built without MPI");
    CHECK(exit_code_of(error) == exit_environment_error);
  }
  CHECK_THROWS_AS(make_mpi_of(0, {}), EnvironmentError);
  CHECK(describe_mpi().find("one rank") != std::string::npos);
}

TEST_CASE("launchers of any MPI are understood without it", "[one_rank]") {
  for (const char* name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    unsetenv(name);
  CHECK(launched_ranks() == 1);
  CHECK(is_first_launched());
  setenv("PMI_SIZE", "3", 1);
  setenv("PMI_RANK", "2", 1);
  CHECK(launched_ranks() == 3);
  CHECK_FALSE(is_first_launched());
  setenv("PMI_SIZE", "-3", 1);
  CHECK(launched_ranks() == 1);
}
