#pragma once
// Blocks of other nodes that are received elsewhere than in the host's memory. Whoever fetches asks for a place per block, on the thread that owns
// both sides; the block keeps a buffer of the host's as its name, and as the place where its values go when the host wants them.

#include <cstdint>
#include <memory>

#include "runtime/base/shape.h"

namespace sial {

class IncomingBlock {
 public:
  /// Not before nothing is received there any more.
  virtual ~IncomingBlock() = default;
  virtual double* place() = 0;
  /// All of it has come, once: the block is there, and its buffer on the host holds nothing before to_host().
  virtual void arrived() = 0;
};

class IncomingPlaces {
 public:
  virtual ~IncomingPlaces() = default;
  /// For a block that the get at `pc` fetches; null: it goes to `buffer`. Never waits.
  virtual std::unique_ptr<IncomingBlock> place_for(std::int32_t pc, std::int32_t array, const BlockIndex& block, double* buffer) = 0;
  /// What the buffer names is there as well, from now on. Waits.
  virtual void to_host(const double* buffer) = 0;
};

}  // namespace sial
