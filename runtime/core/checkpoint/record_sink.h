#pragma once
// The target of what the parts of a rank save: a file at once, or memory to be written to it behind the computation.
// The order of the calls is that of the file's records. Owned by whoever has the rank saved; used by the rank's thread.

#include <cstdint>
#include <span>

#include "runtime/core/base/leased_values.h"
#include "runtime/core/checkpoint/pack.h"

namespace sial {

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// The data may change as soon as it returns.
  virtual void record(std::uint32_t type, const Packer& head, std::span<const double> data = {}) = 0;
  /// Gives the holder up once the values are written.
  virtual void record_held(std::uint32_t type, const Packer& head, LeasedValues data) = 0;
};

}  // namespace sial
