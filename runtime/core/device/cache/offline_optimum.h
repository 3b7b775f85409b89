#pragma once
// The transfers that a device's memory would have needed, had it been known from the start what comes: the uses of a
// run are kept and replayed with the block that is used again furthest from now leaving first (Belady's rule), whatever
// the order of blocks in memory. It is what eviction is measured against; with blocks of several sizes, and some of
// them to be written back, it is not quite the least.

#include <cstdint>
#include <vector>

#include "runtime/core/bytecode/module.h"
#include "runtime/core/device/device.h"

namespace sial {

class OfflineOptimum {
 public:
  /// A block, as one content of one place in the host's memory.
  struct Key {
    const void* address = nullptr;
    std::uint64_t content = 0;
    auto operator<=>(const Key&) const = default;
  };
  void on_device(const Key& block, std::int64_t elements, std::uint64_t operation, Intent intent);
  void on_host(const Key& block, Intent intent);
  void ended(const Key& block);
  /// The device's copy of one stands for the other too.
  void shared(const Key& block, const Key& alias);

  std::size_t size() const { return events_.size(); }

  struct Moved {
    TransferCount in, out;
  };
  /// `bytes`: of the device's memory.
  Moved replay(std::int64_t bytes) const;

 private:
  enum class What : std::uint8_t { on_device, on_host, ended, shared };
  struct Event {
    Key block, alias;
    std::int64_t elements = 0;
    std::uint64_t operation = 0;
    What what = What::on_device;
    Intent intent = Intent::read;
  };
  std::vector<std::int64_t> next_uses() const;

  std::vector<Event> events_;
};

}  // namespace sial
