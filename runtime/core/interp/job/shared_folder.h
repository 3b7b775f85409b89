#pragma once
// Whether all ranks see one folder: what each of them writes there must be there when the job continues on other hosts.

#include <string>

#include "runtime/core/transport/transport.h"

namespace sial {

/// Collective. Rank 0 writes a file into the folder, which is made if need be and left as it was; all others must see
/// it. EnvironmentError on all ranks, with the names of the hosts that do not. Not looked at on one node. `local`,
/// where one is named, must be there on each host.
void check_checkpoint_folders(Transport& transport, const std::string& folder, const std::string& local,
                              CollectiveTag tag);

}  // namespace sial
