#pragma once
// Blocks that any rank can compute again, such as integrals: kept for all ranks of the node and all programs of the
// job, in memory that nobody else needs; they go when others need it.
// Ownership: who finds or keeps a block has a reference to it until release_cached(). Threads: the interpreter threads
// of all ranks of the node, each through its own store. Errors: none; too little memory gives null.

#include "runtime/core/base/shape.h"

namespace sial {

class IntegralCache {
 public:
  virtual ~IntegralCache() = default;

  /// The block with a reference for the caller; null: not there.
  virtual const double* find_cached(const BlockIndex& block, std::int64_t size) = 0;
  virtual void release_cached(const double* data) = 0;
  /// Memory for such a block, to be filled and given to keep_block(), which leaves the caller a reference; null: memory
  /// is too short to keep anything.
  virtual double* allocate_cached(std::int64_t size) = 0;
  virtual void keep_block(const BlockIndex& block, double* data) = 0;
  /// Between jobs, while no rank of the node uses any: the next job has another molecule.
  virtual void clear() = 0;
};

}  // namespace sial
