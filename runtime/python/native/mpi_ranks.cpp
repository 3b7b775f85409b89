// The module sialx._native_mpi: programs run on the ranks of an MPI communicator.

#include "runtime/core/transport/mpi.h"
#include "runtime/python/native/module.h"

namespace sial {

std::function<std::unique_ptr<Transport>()> connection_of(int communicator) {
  return [communicator] { return make_mpi_of(communicator, {}); };
}

std::string name_of_ranks() { return name_of_mpi(); }

}  // namespace sial

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name that Python looks for
PyMODINIT_FUNC PyInit__native_mpi() { return sial::make_module("_native_mpi"); }
