#pragma once
// Records that a helper thread writes behind the computation. Held values are only referred to, and given up one by one
// as they are written; others are copied. Copies have a bound: what would exceed it is written at once, with all that
// comes before it. The rank's thread adds records; from then on one thread, whichever, writes or drops them.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/checkpoint/record_file.h"

namespace sial {

class DeferredRecords final : public RecordSink {
 public:
  static constexpr std::size_t default_limit = std::size_t{16} << 20;  // bytes

  /// The writer outlives it.
  explicit DeferredRecords(RecordWriter& writer, std::size_t limit = default_limit) : writer_(writer), limit_(limit) {}

  void record(std::uint32_t type, const Packer& head, std::span<const double> data = {}) override;
  void record_held(std::uint32_t type, const Packer& head, LeasedValues data) override;
  /// Everything, unless `stop` becomes true: false then, and the rest is dropped. So it is when the disk fails
  /// (EnvironmentError).
  bool write(const std::atomic<bool>& stop);

 private:
  struct Record {
    std::uint32_t type = 0;
    Packer head;
    LeasedValues data;
  };
  void write_so_far();

  RecordWriter& writer_;
  const std::size_t limit_;
  std::size_t copied_ = 0;  // bytes
  std::vector<Record> records_;
};

}  // namespace sial
