#pragma once
// Buffers in plain host memory with a free list per size: for tests and tools that have no node heap. Everything goes
// back to the system when the pool dies; buffers still in use then are an error of their user.

#include <memory>

#include "runtime/core/memory/resource.h"

namespace sial {

/// `budget_bytes` 0: unlimited.
std::unique_ptr<BufferResource> make_host_pool(std::int64_t budget_bytes = 0);

}  // namespace sial
