#pragma once
// What sialrun's command line says of networks and of simulated ranks. All throw SialError for what cannot be read.

#include <string>

#include "runtime/core/transport/mpi.h"
#include "runtime/core/transport/simulated.h"

namespace sial {

/// "latency=50us,bandwidth=7GB/s".
NetworkModel network_model(const std::string& text);
/// `simulate`: "ranks=3,seed=7[,ranks-per-node=R,servers=K]", `network` as above; they overrule the numbers beside
/// them.
SimulationOptions simulation_options(const std::string& simulate, const std::string& network, int ranks_per_node,
                                     int servers);

}  // namespace sial
