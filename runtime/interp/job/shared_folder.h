#pragma once
// Whether all ranks see one folder: what each of them writes there must be there when the job continues on other hosts.

#include <string>

#include "runtime/transport/transport.h"

namespace sial {

/// Collective. Rank 0 writes a file into the folder, which is made if need be and left as it was; all others must see
/// it. EnvironmentError on all ranks, with the names of the hosts that do not. Does nothing on one node.
void check_shared_folder(Transport& transport, const std::string& folder, CollectiveTag tag);

}  // namespace sial
