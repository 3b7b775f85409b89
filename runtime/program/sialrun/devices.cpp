#include "runtime/program/sialrun/devices.h"

#include "runtime/core/base/number.h"
#include "runtime/core/job/job.h"

namespace sial {

void read_device_arguments(const DeviceArguments& arguments, SessionOptions& session) {
  session.device_options.direct = arguments.copies == "direct";
  session.device_options.batch = arguments.batch == "auto"  ? auto_device_batch
                                 : arguments.batch == "off" ? 0
                                                            : read_integer(arguments.batch).value_or(auto_device_batch);
  session.device_deferred_puts = arguments.puts == "defer";
  if (arguments.messages != "auto")
    session.device_messages = arguments.messages == "direct" ? DeviceMessages::direct : DeviceMessages::staged;
  if (!arguments.memory.empty())
    session.device_options.memory = static_cast<std::int64_t>(parse_memory(arguments.memory));
}

}  // namespace sial
