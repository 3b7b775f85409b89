#include "runtime/device/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/error.h"

namespace sial {

const std::vector<std::string>& device_names() {
  static const std::vector<std::string> names{"host", "simulated"};
  return names;
}

std::unique_ptr<Device> make_device(const std::string& name, Kernels& kernels, const DeviceOptions& options) {
  if (name == "host") return nullptr;
  if (name == "simulated") return make_simulated_device(kernels, options);
  throw SialError(fmt::format("there is no device `{}`", name), fmt::format("known: {}", fmt::join(device_names(), ", ")));
}

}  // namespace sial
