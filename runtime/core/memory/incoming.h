#pragma once
// Blocks of other nodes that are received elsewhere than in the host's memory, or go on from there while they come.
// Whoever fetches asks per block, on the thread that owns both sides; a block that is received elsewhere keeps a buffer
// of the host's as its name, and as the place where its values go when the host wants them.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/core/base/ids.h"
#include "runtime/core/base/shape.h"

namespace sial {

class IncomingBlock {
 public:
  /// Not before nothing is received there any more.
  virtual ~IncomingBlock() = default;
  /// Null: it comes to its buffer on the host, which then has it like any other block.
  virtual double* place() = 0;
  /// Bytes at a time in which it should come where it goes on from the host's buffer; 0: it does not.
  virtual std::size_t piece() const { return 0; }
  /// So many bytes, from the front, have come to the host's buffer: what is of use goes on. Never waits.
  virtual void come(std::size_t /*bytes*/) {}
  /// All of it has come, once: the block is there, and if it has a place, its buffer on the host holds nothing before
  /// to_host().
  virtual void arrived() = 0;
};

class IncomingPlaces {
 public:
  virtual ~IncomingPlaces() = default;
  /// For a block that the get at `pc` fetches; null: it goes to `buffer` and nowhere else. Never waits.
  virtual std::unique_ptr<IncomingBlock> place_for(std::int32_t pc, ArrayId array, const BlockIndex& block,
                                                   double* buffer) = 0;
  /// The buffer's block is there as well, from now on, for the instruction at `pc`. Waits.
  virtual void to_host(const double* buffer, std::int32_t pc) = 0;
};

}  // namespace sial
