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

const std::vector<std::string>& known_device_names() {
  static const std::vector<std::string> names{"auto", "cuda", "host", "simulated"};
  return names;
}

const std::vector<std::string>& device_names() {
  static const std::vector<std::string> names = why_no_cuda() ? std::vector<std::string>{"host", "simulated"} : std::vector<std::string>{"host", "simulated", "cuda"};
  return names;
}

std::unique_ptr<Device> make_device(const std::string& name, Kernels& kernels, const DeviceOptions& options) {
  if (name == "host") return nullptr;
  if (name == "auto") return why_no_cuda() ? nullptr : make_cuda_device(options);
  if (name == "cuda") return make_cuda_device(options);
  if (name == "simulated") return make_simulated_device(kernels, options);
  throw SialError(fmt::format("there is no device `{}`", name), fmt::format("known: {}", fmt::join(known_device_names(), ", ")));
}

}  // namespace sial
