#pragma once
// The module for Python is made twice: for one rank (sialx._native), and for those of an MPI communicator
// (sialx._native_mpi). Who runs on one rank needs no MPI, and may have another one loaded.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <functional>
#include <memory>
#include <string>

#include "runtime/core/transport/transport.h"

namespace sial {

/// The module's functions, under this name.
PyObject* make_module(const char* name);

// --- What differs: in one_rank.cpp, and in mpi_ranks.cpp.

/// The ranks of a communicator (its Fortran handle), as InProcessJob::connect has it.
std::function<std::unique_ptr<Transport>()> connection_of(int communicator);
/// The MPI that communicators are of; empty where there is none.
std::string name_of_ranks();

}  // namespace sial
