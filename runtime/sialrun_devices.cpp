#include "runtime/sialrun_devices.h"

#include <CLI/CLI.hpp>

#include "runtime/base/number.h"
#include "runtime/job/job_file.h"
#include "runtime/option_checks.h"

namespace sial {

void add_device_options(CLI::App& app, DeviceArguments& arguments, SessionOptions& session) {
  app.add_option("--device", session.device, "where block operations run: auto (a GPU where there is one, else the host; default), cuda, host, or simulated (separate memory, to count and check transfers)")->check(CLI::IsMember(known_device_names()));
  app.add_option("--devices", session.device_options.gpus, "GPUs that the ranks of a machine take in turn, for example 0,2 (default: all)")->delimiter(',')->check(number_from_zero);
  app.add_option("--device-memory", arguments.memory, "memory of the device that a rank may use, for example 4GB (default: all there is)");
  app.add_option("--device-from", session.device_from, "leave programs to the host whose largest block has fewer elements (default: 4096 where --device is auto, else 0)")->check(number_from_zero);
  app.add_option("--device-copies", arguments.copies, "direct: straight from and to the host's blocks (default); staged: through buffers in between")->check(CLI::IsMember({"direct", "staged"}));
  app.add_option("--device-batch", arguments.batch, "off, or the elements of an operation's blocks together up to which it waits for others of its like, to be started with them (default: auto, 196608)")->check([](const std::string& text) { return text == "auto" || text == "off" || read_integer(text, 1, 2'000'000'000) ? std::string() : "`" + text + "` is not auto, off or a number from 1 to 2000000000"; });
  app.add_option("--device-graphs", arguments.graphs, "whether small work of a GPU that comes in one composition again and again is started as a graph; auto: where that takes the host less time, as found while it runs; on; off (default)")
      ->check(CLI::IsMember({"auto", "on", "off"}));
  app.add_flag("--device-times", session.device_times, "take the time of each piece of work of the device for the statistics, at two events each");
  app.add_option("--device-puts", arguments.puts, "puts of blocks that only the device has; defer (default): are carried out when the block has come to the host by itself, at the latest when something needs it; wait: at once")
      ->check(CLI::IsMember({"defer", "wait"}));
  app.add_option("--device-messages", arguments.messages, "how blocks that only the device has go to other nodes, and those that it wants come from there; direct: straight from and to its memory; staged: through the host, outwards in overlapped pieces; auto (default): direct if MPI reports that it can")
      ->check(CLI::IsMember({"auto", "direct", "staged"}));
  app.add_option("--self-check", session.machine.self_check, "compare every N-th operation of the device with the host's reference kernels, and stop where they disagree")->check(positive_number);
}

void read_device_arguments(const DeviceArguments& arguments, SessionOptions& session) {
  session.device_options.direct = arguments.copies == "direct";
  session.device_options.batch = arguments.batch == "auto" ? auto_device_batch : arguments.batch == "off" ? 0 : read_integer(arguments.batch).value_or(auto_device_batch);
  session.device_options.graphs = arguments.graphs == "auto" ? DeviceGraphs::measured : arguments.graphs == "on" ? DeviceGraphs::on : DeviceGraphs::off;
  session.device_late_puts = arguments.puts == "defer";
  if (arguments.messages != "auto") session.device_messages = arguments.messages == "direct" ? DeviceMessages::direct : DeviceMessages::staged;
  if (!arguments.memory.empty()) session.device_options.memory = static_cast<std::int64_t>(parse_memory(arguments.memory));
}

void add_device_facts(const DeviceArguments& arguments, const SessionOptions& session, RunFacts::Pairs& facts) {
  if (session.device == "host") return;
  if (!arguments.memory.empty()) facts.emplace_back("device_memory", arguments.memory);
  if (session.device_from >= 0) facts.emplace_back("device_from", std::to_string(session.device_from));
  if (session.machine.self_check > 0) facts.emplace_back("self_check", std::to_string(session.machine.self_check));
  if (!session.device_options.direct) facts.emplace_back("device_copies", "staged");
  if (session.device_options.graphs != DeviceGraphs::off) facts.emplace_back("device_graphs", arguments.graphs);
  if (!session.device_late_puts) facts.emplace_back("device_puts", "wait");
  if (session.device_times) facts.emplace_back("device_times", "on");
}

}  // namespace sial
