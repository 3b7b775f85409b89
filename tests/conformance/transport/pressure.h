#pragma once
// All ranks send to one, faster than it takes: what it holds for them stays within RequestLimits.

#include <cstddef>

#include "runtime/core/transport/transport.h"

namespace sial::suite {

/// `requests` of each rank, of `bytes` each. Prints peaks of memory; throws where a limit is exceeded.
void pressure(Transport& transport, std::size_t requests, std::size_t bytes);

}  // namespace sial::suite
