#pragma once
// A place below the heap of a node that keeps the bytes of blocks: files on a disk, or the memory of other nodes.
// A Tier moves bytes between memory of the node and offsets of its space, asynchronously. It knows nothing of blocks:
// who uses which part of the space is decided once for all ranks of the node, elsewhere. Every rank has a Tier object
// of its own over the same space.
// Threads: all functions are called by any thread of the process. Errors: a transfer that fails says so by its errno;
// reserve() throws EnvironmentError.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sial {

/// The order of service: somebody waits for it, somebody will ask for it, memory will be needed.
enum class TierPriority : std::uint8_t { demand = 0, prefetch = 1, write = 2 };

/// One transfer. Owned by whoever starts it; it and its memory stay in place until completed() was called.
class TierTransfer {
 public:
  virtual ~TierTransfer() = default;
  /// Called once, on any thread, when the transfer has ended; `error` is 0 or an errno. Must not wait, nor start
  /// another transfer. The tier does not touch the transfer afterwards.
  virtual void completed(int error) noexcept = 0;
  /// Somebody else waits for it, who cannot call Tier::raise(): of prefetches that are queued, the tier asks this.
  virtual bool is_awaited() const noexcept { return false; }

  std::uint64_t at = 0;         // offset in the space of the tier, a multiple of its alignment
  std::byte* memory = nullptr;  // of the node, 64-byte aligned
  std::size_t bytes = 0;        // a multiple of 8
};

/// Measured while it is used; 0: not known yet.
struct TierSpeed {
  double latency = 0;                              // seconds, of a small read
  double read_bandwidth = 0, write_bandwidth = 0;  // bytes per second
};

class Tier {
 public:
  /// Waits for the transfers under way.
  virtual ~Tier() = default;

  /// For messages and reports: "/scratch (ext4)".
  virtual std::string name() const = 0;
  /// "disk", "nodes", ...
  virtual std::string kind() const = 0;
  /// Bytes of its space: for all ranks of the node together.
  virtual std::uint64_t capacity() const = 0;
  /// The alignment of offsets; a part of the space begins at a multiple of it and takes a multiple of it.
  virtual std::uint64_t alignment() const = 0;
  /// Makes the first `bytes` of the space usable; may reserve more, never beyond the capacity. False: nobody gives so
  /// many now. Throws EnvironmentError when what was promised is not there: the file system is full, or gone.
  virtual bool reserve(std::uint64_t bytes) = 0;
  /// The part of the capacity that there is as far as is known.
  virtual std::uint64_t usable() const { return capacity(); }
  /// Starts a transfer, or queues it behind those under way. Transfers of one part of the space have no order: whoever
  /// starts the second waits for the first. What was never written cannot be read.
  virtual void write(TierTransfer& transfer) = 0;
  virtual void read(TierTransfer& transfer, TierPriority priority) = 0;
  /// Somebody waits for a queued transfer now. No effect when it has begun.
  virtual void raise(TierTransfer& /*transfer*/) {}
  /// Lets transfers go on where no other thread does. Never waits.
  virtual void progress() {}
  /// On a clock that is simulated: when the next transfer ends; none: that is not known.
  virtual std::optional<double> next_completion() { return {}; }
  virtual TierSpeed speed() const = 0;
};

}  // namespace sial
