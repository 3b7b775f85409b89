#pragma once
// The transport of a job of one rank: collectives return at once, node memory is private, requests do not exist.

#include <memory>

#include "runtime/core/transport/transport.h"

namespace sial {

std::unique_ptr<Transport> make_loopback();

}  // namespace sial
