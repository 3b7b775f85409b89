#include "runtime/core/device/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/error.h"

namespace sial {

kernels::FusedStep step_of(const ElementWork& work) {
  using kernels::FusedOp;
  constexpr FusedOp ops[] = {FusedOp::fill, FusedOp::add_scalar, FusedOp::scale, FusedOp::copy, FusedOp::sum};
  return {ops[static_cast<std::size_t>(work.op)],
          work.factor,
          {work.a.data, work.a.stride},
          {work.b.data, work.b.stride},
          nullptr};
}

BatchCount BatchCount::since(const BatchCount& start) const {
  BatchCount c;
  c.on_host = on_host - start.on_host;
#define SUBTRACT(...) __VA_OPT__(c.__VA_ARGS__ = __VA_ARGS__ - start.__VA_ARGS__;)
#define COUNTED_batch(field) field
#define COUNTER(number, name, unit, combine, by, meaning) SUBTRACT(COUNTED_##by)
#include "runtime/core/stats/counters.def"
#undef SUBTRACT
  return c;
}

void Device::run(int stream, const ElementWork& work) {
  const kernels::FusedStep step = step_of(work);
  run(stream, work.d, std::span(&step, 1));
}

std::size_t Device::run_batch(int stream, std::span<const BlockOp> ops) {
  std::size_t started = 0;
  try {
    for (; started < ops.size(); ++started) run(stream, ops[started]);
  } catch (const DeviceFull&) {
    // Whoever asked sees by the number.
  }
  return started;
}

std::size_t Device::run_batch(int stream, std::span<const FusedWork> groups) {
  std::size_t started = 0;
  try {
    for (; started < groups.size(); ++started) run(stream, groups[started].target, groups[started].steps);
  } catch (const DeviceFull&) {
    // The same as above.
  }
  return started;
}

const std::vector<std::string>& known_device_names() {
  static const std::vector<std::string> names{"auto", "cuda", "host", "simulated"};
  return names;
}

const std::vector<std::string>& device_names() {
  static const std::vector<std::string> names = why_no_cuda() ? std::vector<std::string>{"host", "simulated"}
                                                              : std::vector<std::string>{"host", "simulated", "cuda"};
  return names;
}

std::unique_ptr<Device> make_device(const std::string& name, Kernels& kernels, const DeviceOptions& options) {
  std::unique_ptr<Device> device;
  if (name == "cuda" || (name == "auto" && !why_no_cuda())) device = make_cuda_device(options);
  else if (name == "simulated") device = make_simulated_device(kernels, options);
  else if (name != "host" && name != "auto")
    throw SialError(fmt::format("there is no device `{}`", name),
                    fmt::format("known: {}", fmt::join(known_device_names(), ", ")));
  return device && options.batch > 0 ? make_batching_device(std::move(device), options.batch) : std::move(device);
}

}  // namespace sial
