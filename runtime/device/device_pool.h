#pragma once
// Device memory in blocks, carved from few large pieces, so that in steady state no driver is called. Memory that is given back
// may still be used by work in streams: whoever gets it next begins behind that work. Where small work waits for its like, blocks of one size take turns,
// so that temporaries that have nothing to do with each other do not lie in the same memory. Owned by one rank.

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "runtime/device/order.h"
#include "runtime/memory/resource.h"

namespace sial {

class DevicePool {
 public:
  explicit DevicePool(Device& device) : device_(device), small_(device.small()) {}
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  /// What a block of `n` doubles takes.
  static std::int64_t rounded(std::int64_t n);
  /// `n` doubles, 256-byte aligned, and what must be done before they are used; null when there is no room.
  double* allocate(std::int64_t n, Frontier& free_after);
  void release(double* p, const Frontier& used_until);
  ResourceStats stats() const { return stats_; }
  std::int64_t pieces() const { return static_cast<std::int64_t>(pieces_.size()); }

 private:
  struct Part {
    std::int64_t size = 0;  // doubles
    bool free = true, waiting = false;
    double* piece = nullptr;
    Frontier used_until;  // of free and waiting parts
  };
  using Parts = std::map<double*, Part>;
  bool reserve(std::int64_t n);
  Parts::iterator carve(std::int64_t n);
  Parts::iterator oldest_waiting(std::int64_t n, std::size_t more_than);
  bool free_waiting();
  void make_free(Parts::iterator part);
  void list(Parts::iterator part) { free_.insert({part->second.size, part->first}); }
  void unlist(Parts::iterator part) { free_.erase({part->second.size, part->first}); }

  Device& device_;
  std::vector<std::pair<double*, std::int64_t>> pieces_;
  Parts parts_;                                       // by address
  std::set<std::pair<std::int64_t, double*>> free_;   // by size
  std::map<std::int64_t, std::deque<double*>> waiting_;  // small blocks given back, by size, and the oldest first; their parts are not free yet
  std::int64_t small_;                                // elements of those
  ResourceStats stats_;
};

}  // namespace sial
