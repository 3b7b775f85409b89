#pragma once
// The source of block buffers. A BufferResource hands out 64-byte aligned arrays of doubles; implementations: a
// size-class pool over a rank's part of the node heap (store), plain host memory (tests), later pinned and device
// pools. Not thread safe unless an implementation says so: a rank owns its resource.

#include <cstddef>
#include <cstdint>
#include <span>

namespace sial {

struct ResourceStats {
  std::int64_t requests = 0, cache_hits = 0;  // hits: served from a free list
  std::int64_t bytes_in_use = 0, bytes_high_water = 0, bytes_reserved = 0;
};

class BufferResource {
 public:
  virtual ~BufferResource() = default;
  /// `n` doubles, uninitialised; n = 0 gives a valid unique pointer. Throws EnvironmentError naming the budget when it
  /// cannot.
  virtual double* allocate(std::int64_t n) = 0;
  virtual void deallocate(double* p, std::int64_t n) noexcept = 0;
  /// Buffers with several holders, where a resource has them: share() makes the caller one more holder, who gives the
  /// buffer back by deallocate(); false: not possible here. Whoever is not the sole holder must not write.
  virtual bool share(const double* /*p*/) { return false; }
  virtual bool sole(const double* /*p*/) const { return true; }
  /// Number of what a buffer holds: another one whenever memory is handed out anew, or was changed where its holder
  /// could not know. 0: not counted. Of a buffer that was given back: another number than while it was in use.
  virtual std::uint64_t content(const double* /*p*/) const { return 0; }
  /// The memory around a buffer that stays what it is while this lives, for whoever wants to make it known as a whole;
  /// empty: none does.
  virtual std::span<const std::byte> lasting(const double* /*p*/) const { return {}; }
  virtual ResourceStats stats() const = 0;
};

}  // namespace sial
