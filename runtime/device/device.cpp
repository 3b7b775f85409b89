#include "runtime/device/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/error.h"

namespace sial {

kernels::ChainStep step_of(const ElementWork& work) {
  using kernels::ChainOp;
  constexpr ChainOp ops[] = {ChainOp::fill, ChainOp::add_scalar, ChainOp::scale, ChainOp::copy, ChainOp::sum};
  return {ops[static_cast<std::size_t>(work.op)], work.factor, {work.a.data, work.a.stride}, {work.b.data, work.b.stride}, nullptr};
}

void Device::run(int stream, const ElementWork& work) {
  const kernels::ChainStep step = step_of(work);
  run(stream, work.d, std::span(&step, 1));
}

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
