#pragma once
// Device memory in blocks, carved from few large pieces, so that in steady state no driver is called. Memory that is
// given back may still be used by work in streams: whoever gets it next begins after that work. A block that is given
// back is kept for the next one of its size, and joins what is free around it only when there is nothing else. Where
// small work waits for its like, blocks of one size take turns, so that temporaries that have nothing to do with each
// other do not lie in the same memory. Owned by one rank.

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "runtime/core/base/flat_table.h"
#include "runtime/core/device/cache/order.h"
#include "runtime/core/memory/resource.h"

namespace sial {

class DevicePool {
 public:
  explicit DevicePool(Device& device) : device_(device), small_(device.small()) {}
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  /// The memory of a block of `n` doubles.
  static std::int64_t rounded(std::int64_t n);
  /// `n` doubles, 256-byte aligned, and what must be done before they are used; null when there is none.
  double* allocate(std::int64_t n, Frontier& free_after);
  void release(double* p, const Frontier& used_until);
  ResourceStats stats() const { return stats_; }
  std::int64_t pieces() const { return static_cast<std::int64_t>(pieces_.size()); }

 private:
  struct Part;
  /// Given back, of one size, the oldest first; they are not free yet.
  using CachedParts = std::deque<Part*>;
  struct Part {
    double* at = nullptr;
    std::int64_t size = 0;  // doubles
    enum class State : std::uint8_t { in_use, cached, free } state = State::free;
    Part *before = nullptr, *after = nullptr;  // in the same piece
    CachedParts* cached = nullptr;             // of its size, but for free parts
    Frontier used_until;                       // of free and kept parts
  };
  struct Smaller {
    bool operator()(const Part* a, const Part* b) const {
      return a->size != b->size ? a->size < b->size : a->at < b->at;
    }
  };
  static std::uint64_t key(const double* p) { return reinterpret_cast<std::uintptr_t>(p); }
  CachedParts& cached_of(std::int64_t n);
  Part* take_cached(CachedParts& cached, std::int64_t n);
  Part* look_further(CachedParts& cached, std::int64_t n);
  bool free_cached();
  Part* new_part();
  void make_free(Part* part);
  void join(Part* left, Part* right);
  Part* carve(std::int64_t n, CachedParts& cached);
  bool reserve(std::int64_t n);

  Device& device_;
  std::vector<std::pair<double*, std::int64_t>> pieces_;
  std::deque<Part> parts_;      // of all states, and ...
  std::vector<Part*> unused_;   // ... none
  FlatTable<Part> by_address_;  // but for free ones
  std::set<Part*, Smaller> free_;
  std::map<std::int64_t, CachedParts> cached_;  // by size ...
  FlatTable<CachedParts> cached_by_size_;       // ... and where to find them
  std::int64_t small_;                          // elements of those that take turns
  ResourceStats stats_;
};

}  // namespace sial
