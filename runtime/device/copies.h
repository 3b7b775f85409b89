#pragma once
// Which copy of a block is valid, the host's or the device's, and the transfers that follow from what is done with the block:
// read on the device: copied in if the device's copy is stale; written: not copied in; updated: copied in, and either write
// leaves the other side stale. Nothing is copied back before the host needs it. What is stale is spoilt, so that a transfer
// wrongly left out gives NaN where the device does so. Owned by one rank; the device outlives it.

#include <array>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/bytecode/module.h"
#include "runtime/device/device.h"

namespace sial {

/// A block in the host's memory: part of a larger array, or by itself.
struct HostBlock {
  double* data = nullptr;
  int rank = 0;
  std::array<std::int64_t, max_rank> extent{}, stride{};
  std::int64_t size() const;
  bool dense() const;
};

/// Transfers by three rules. As written: each operand of an operation goes to the device before it and comes back after it. By
/// intent: those that were made. Least: each version of a block crosses once in either direction, whatever memory that takes.
struct DeviceStats {
  std::int64_t operations = 0;
  TransferCount in_as_written, out_as_written, in_by_intent, out_by_intent, in_least, out_least;
};

class DeviceCopies {
 public:
  DeviceCopies(Device& device, std::size_t arrays) : device_(device), units_(arrays) {}
  ~DeviceCopies();
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;

  /// An operation on the device begins.
  void begin_operation() { ++stats_.operations; }
  /// The device's dense copy of block `key` of `array`, an operand of the operation. `write`: all of it is replaced. `version`: another one
  /// than last time means that the host's memory holds another block by now, whose predecessor nobody wants.
  double* on_device(std::int32_t array, std::uint64_t key, const HostBlock& host, Intent intent, std::uint64_t version);
  /// The host is going to use the block in its memory. `write`: to replace all of it.
  void on_host(std::int32_t array, std::uint64_t key, Intent intent, std::uint64_t version);
  /// The same for all blocks of an array, which keep their versions; of all arrays.
  void array_on_host(std::int32_t array, Intent intent);
  void all_on_host();
  /// The block is no more.
  void forget(std::int32_t array, std::uint64_t key);
  void forget_array(std::int32_t array);

  Device& device() { return device_; }
  const DeviceStats& stats() const { return stats_; }

 private:
  struct Unit {
    HostBlock host;
    double* device = nullptr;
    std::int64_t size = 0;
    std::uint64_t version = 0;
    bool host_valid = true, device_valid = false;
  };
  void copy_in(std::int32_t array, std::uint64_t key, Unit& u);
  void copy_out(std::int32_t array, std::uint64_t key, Unit& u);
  void use_on_host(std::int32_t array, std::uint64_t key, Unit& u, Intent intent);
  void drop(Unit& u);

  Device& device_;
  std::vector<std::unordered_map<std::uint64_t, Unit>> units_;  // by array and key
  std::unordered_set<std::uint64_t> seen_by_device_, seen_by_host_;  // versions of blocks, by content
  std::vector<double> staging_;
  DeviceStats stats_;
};

}  // namespace sial
