// The host as its own device.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "runtime/base/error.h"
#include "runtime/device/device.h"

namespace sial {

namespace {

class HostDevice final : public Device {
 public:
  std::string_view name() const override { return "host"; }
  bool separate() const override { return false; }

  double* allocate(std::int64_t n) override {
    void* p = std::aligned_alloc(64, static_cast<std::size_t>(std::max<std::int64_t>(64, (n * 8 + 63) / 64 * 64)));
    if (!p) throw WorldError(fmt::format("out of memory for {} elements", n), "use smaller segments");
    return static_cast<double*>(p);
  }
  void release(double* p, std::int64_t) noexcept override { std::free(p); }

  void to_device(double* device, const double* host, std::int64_t n) override {
    if (n > 0) std::memcpy(device, host, static_cast<std::size_t>(n) * 8);
    in_.add(n);
  }
  void to_host(double* host, const double* device, std::int64_t n) override {
    if (n > 0) std::memcpy(host, device, static_cast<std::size_t>(n) * 8);
    out_.add(n);
  }
  void spoil(double*, std::int64_t) override {}
  bool spoils_host() const override { return false; }
  TransferCount moved_in() const override { return in_; }
  TransferCount moved_out() const override { return out_; }

 private:
  TransferCount in_, out_;
};

}  // namespace

std::unique_ptr<Device> make_host_device() { return std::make_unique<HostDevice>(); }

}  // namespace sial
