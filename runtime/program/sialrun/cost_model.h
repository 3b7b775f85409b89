#pragma once
// Simulations whose kernels are not executed (`--simulate ranks=N,kernels=model`): what such a job may not ask for, and
// what it is charged.

#include "runtime/core/model/time_model.h"
#include "runtime/program/sialrun/arguments.h"

namespace sial {

/// What predictions reckon with for a job: the network is that of the simulation, where there is one.
TimeSetting time_setting(const Arguments& arguments, const SessionOptions& options, const Job& job, int ranks,
                         int nodes);
/// Throws InputError for what needs values. Returns a warning about what the job states and no simulation does, or
/// nothing.
std::string check_modelled(const Arguments& arguments, const Job& job);
/// Blocks have no values, and their memory is not touched.
void set_without_values(SessionOptions& options);

}  // namespace sial
