#pragma once
// Data that are sent while they are still being made. A Growing is asked by whoever sends it, on the thread that owns
// it.

#include <cstddef>

namespace sial {

class Growing {
 public:
  virtual ~Growing() = default;
  /// Bytes from the front that are there by now; never fewer than before, and in the end all.
  virtual std::size_t ready() = 0;
  /// Waits for all of them.
  virtual void complete() = 0;
  /// The bytes of the pieces in which they come, at most.
  virtual std::size_t piece() const = 0;
};

/// A block that leaves this node and whose values are not in the host's memory. Either of the two ways is taken, once.
class OutgoingBlock : public Growing {
 public:
  /// The place of the values, for a transport that reads there; they stay as they are until this is destroyed. Null:
  /// there is no such way.
  virtual const double* in_place() = 0;
  /// They are on their way to `to`, in the host's memory, which stays until this is destroyed.
  virtual void copy_to(double* to) = 0;
};

}  // namespace sial
