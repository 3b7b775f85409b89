// A device for tests and for counting transfers: memory of its own, in which everything without a defined value is NaN. It lies in
// the host's address space, so that the host's kernels can stand in for the device's; nobody else may use its addresses.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/device/device.h"

namespace sial {

namespace {

class SimulatedDevice final : public Device {
 public:
  ~SimulatedDevice() override {
    for (const auto& [p, n] : sizes_) std::free(p);
  }
  std::string_view name() const override { return "simulated"; }
  bool separate() const override { return true; }

  double* allocate(std::int64_t n) override {
    void* p = std::aligned_alloc(64, static_cast<std::size_t>(std::max<std::int64_t>(64, (n * 8 + 63) / 64 * 64)));
    if (!p) throw WorldError(fmt::format("the simulated device has no memory for {} elements", n), "run without `--device`");
    sizes_.emplace(static_cast<double*>(p), n);
    poison(static_cast<double*>(p), n);
    return static_cast<double*>(p);
  }

  void release(double* p, std::int64_t n) noexcept override {
    const auto found = sizes_.find(p);
    SIAL_CHECK(found != sizes_.end() && found->second == n, "{} elements released that the device did not hand out", n);
    sizes_.erase(found);
    poison(p, n);  // for whoever still holds the address, until the memory is used again
    std::free(p);
  }

  void to_device(double* device, const double* host, std::int64_t n) override {
    if (n > 0) std::memcpy(device, host, static_cast<std::size_t>(n) * 8);
    in_.add(n);
  }
  void to_host(double* host, const double* device, std::int64_t n) override {
    if (n > 0) std::memcpy(host, device, static_cast<std::size_t>(n) * 8);
    out_.add(n);
  }
  void spoil(double* device, std::int64_t n) override { poison(device, n); }
  bool spoils_host() const override { return true; }
  TransferCount moved_in() const override { return in_; }
  TransferCount moved_out() const override { return out_; }

 private:
  static void poison(double* p, std::int64_t n) { std::fill_n(p, n, std::numeric_limits<double>::quiet_NaN()); }

  std::unordered_map<double*, std::int64_t> sizes_;
  TransferCount in_, out_;
};

}  // namespace

std::unique_ptr<Device> make_simulated_device() { return std::make_unique<SimulatedDevice>(); }

}  // namespace sial
