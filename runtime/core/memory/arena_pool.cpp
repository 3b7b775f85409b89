#include "runtime/core/memory/arena_pool.h"

#include "runtime/core/base/check.h"

namespace sial {

double* ArenaPool::allocate(std::int64_t n) {
  return heap_.allocate(arena_, n, [n] { return fmt::format("a block of {} elements", n); })->data();
}

void ArenaPool::deallocate(double* p, std::int64_t n) noexcept {
  if (p == nullptr) return;
  Chunk* c = Chunk::of(p);
  SIAL_CHECK(c->doubles == n, "a buffer of {} elements is given back as one of {}", c->doubles, n);
  heap_.drop_reference(c, arena_);
}

}  // namespace sial
