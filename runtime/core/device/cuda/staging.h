#pragma once
// Copies between the host's memory and the device's. From and to pinned memory, that which pin() registered, they go
// straight and leave the host alone. All other memory goes through rings of pinned memory in pieces, so that the host's
// copying and the transfer overlap: on its way in at once, and on its way out when the host has learnt, by any event,
// that the piece has arrived. Small copies in may go straight from memory that is not pinned, where a measurement at
// the start finds that faster. No driver is asked for memory after the start. Streams, timer and device outlive this.

#include <cstdint>
#include <deque>
#include <map>

#include "runtime/core/device/cuda/timer.h"
#include "runtime/core/device/device.h"

namespace sial::cuda {

class Staging {
 public:
  /// `staged_from`: bytes from which copies in are staged.
  Staging(GpuDevice& gpu, WorkTimer& timer, Stream in, Stream out, std::int64_t staged_from);
  /// Waits, unless the device is lost.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Finds where staging is the faster way.
  void measure();
  void copy_in(Address device, const double* host, std::int64_t bytes);
  void copy_out(double* host, Address device, std::int64_t bytes);
  /// Hands over what has arrived. Does not wait.
  void deliver();
  bool pin(const void* p, std::size_t bytes);
  void unpin(const void* p) noexcept;
  const PinnedCount& pinned() const { return pinned_; }

 private:
  struct Chunk {
    std::size_t offset = 0, bytes = 0;
    Event done = nullptr;
    char* host = nullptr;  // where it is to go; null on the way in
  };
  struct Ring {
    char* base = nullptr;
    std::size_t head = 0;
    std::deque<Chunk> chunks;  // in the order of their stream
  };
  enum class Memory { pageable, pinned, both };

  Memory kind_of(const void* p, std::size_t bytes) const;
  std::size_t take(Ring& ring, std::size_t bytes);
  void retire(Ring& ring, bool wait);
  void retire_done(Ring& ring);
  void complete(const void* p, std::size_t bytes);
  void stage_in(Address device, const char* host, std::size_t bytes);
  void put_in(Address device, const void* host, std::size_t bytes);
  void put_out(void* host, Address device, std::size_t bytes);

  GpuDevice& gpu_;
  WorkTimer& timer_;
  Stream in_, out_;
  Ring ring_in_, ring_out_;
  std::map<const char*, std::size_t> regions_;
  PinnedCount pinned_;
  std::int64_t staged_from_;
};

}  // namespace sial::cuda
