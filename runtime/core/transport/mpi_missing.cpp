// Builds without MPI (-DSIALX_MPI=OFF): one rank, and a message for those who start more.

#include "runtime/core/base/error.h"
#include "runtime/core/transport/launched.h"
#include "runtime/core/transport/mpi.h"

namespace sial {
namespace {

[[noreturn]] void refuse() {
  let_first_speak(launched_rank());
  throw EnvironmentError(
      "this build runs on one rank: built without MPI",
      "start sialrun without `mpirun`, and without `--transport mpi` and `--servers`, or take a build with MPI (the Debian package, or `cmake --preset release`)");
}

}  // namespace

std::string describe_mpi() { return "MPI: none, this build runs on one rank"; }

std::unique_ptr<Transport> make_mpi(int*, char***, const MpiOptions&) { refuse(); }

std::unique_ptr<Transport> make_mpi_of(int, const MpiOptions&) { refuse(); }

std::string name_of_mpi() { return "no MPI"; }

}  // namespace sial
