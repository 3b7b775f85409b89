#pragma once
// The seam between a rank and the device that its block operations run on: memory with addresses of its own, and the transfers
// between it and the host's. Implementations: host (the host itself: nothing needs to be transferred) and simulated (separate
// memory in which whatever has no defined value is NaN, so that a transfer left out shows). A device is owned by one rank and
// used by its thread; what it handed out must be released before it goes.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sial {

struct TransferCount {
  std::int64_t transfers = 0, bytes = 0;
  void add(std::int64_t doubles) {
    ++transfers;
    bytes += doubles * 8;
  }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  /// Whether host and device must be told of each other's writes; if not, host addresses are good on the device.
  virtual bool separate() const = 0;
  /// `n` doubles of device memory, 64-byte aligned, without a value; n = 0 gives a valid unique address. Throws WorldError.
  virtual double* allocate(std::int64_t n) = 0;
  virtual void release(double* p, std::int64_t n) noexcept = 0;
  virtual void to_device(double* device, const double* host, std::int64_t n) = 0;
  virtual void to_host(double* host, const double* device, std::int64_t n) = 0;
  /// The values there no longer count. Of the host's memory too: `spoils_host` says whether stale values are to be overwritten there.
  virtual void spoil(double* device, std::int64_t n) = 0;
  virtual bool spoils_host() const = 0;
  virtual TransferCount moved_in() const = 0;   // to the device, since it was made
  virtual TransferCount moved_out() const = 0;
};

std::unique_ptr<Device> make_host_device();
std::unique_ptr<Device> make_simulated_device();

/// "host" or "simulated". Throws SialError naming the known ones.
std::unique_ptr<Device> make_device(const std::string& name);
const std::vector<std::string>& device_names();

}  // namespace sial
