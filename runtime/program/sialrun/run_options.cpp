#include "runtime/program/sialrun/run_options.h"

#include <unistd.h>

#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/job/options.h"
#include "runtime/program/manual/command_line.h"
#include "runtime/program/sialrun/numa.h"
#include "runtime/program/sialrun/signals.h"
#include "runtime/program/sialrun/watch.h"

namespace sial {
namespace {

bool saved_or_limited(const JobArguments& arguments) {
  return is_given(arguments, OptionId::checkpoint_every) || is_given(arguments, OptionId::checkpoint_dir) ||
         is_given(arguments, OptionId::time_limit);
}

void set_pardo_order(MachineOptions& options, const std::string& text) {
  if (text.empty() || text == "auto") return;
  if (text == "written") options.pardo_order = PardoOrdering::written;
  else if (text == "shuffled") options.pardo_order = PardoOrdering::shuffled;
  else if (const auto bytes = read_memory(text)) options.spill_capacity = static_cast<std::int64_t>(*bytes);
  else
    throw InputError(fmt::format("there is no order `{}` for `--pardo-order`", text),
                     "`auto`, `written`, `shuffled`, or an amount of memory such as `4GB`");
}

std::string value_text(bool on) { return on ? "true" : "false"; }
std::string value_text(const std::string& text) { return text; }
template <class T>
  requires std::is_arithmetic_v<T>
std::string value_text(T number) {
  return fmt::format("{}", number);
}
template <class T>
std::string value_text(const std::vector<T>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

}  // namespace

RunFacts::Pairs chosen_options(const CommandLine& app, const Arguments& arguments, bool mpi, const std::string& blas) {
  RunFacts::Pairs facts;
  const auto record = [&](const Option& option, const std::string& value) {
    if (std::string_view(option.record.key).starts_with("device_") && arguments.session.device == "host") return;
    const std::string_view flags = option.flags;
    if (is_recorded(option, app.is_given(std::string(flags.substr(0, flags.find_first_of(",{")))), value))
      facts.emplace_back(option.record.key, value);
  };
#define SETTING(...)  // the session records those of its job
#define JOB_OPTION(name, group, flags, type, preset, record_, target, help) \
  record(option(OptionId::name), value_text(arguments.job.target));
#define OPTION(name, group, flags, type, preset, record_, target, help) \
  record(option(OptionId::name), value_text(arguments.target));
#include "runtime/core/job/options.def"
#undef SETTING
#undef JOB_OPTION
#undef OPTION
  for (auto& [key, value] : facts) {
    if (key == "schedule" && arguments.session.machine.deterministic) value = "static";
    if (key == "jit" && !arguments.session.kernel_options.jit_cpu.empty())
      value += " for " + arguments.session.kernel_options.jit_cpu;
  }
  facts.emplace_back("blas", blas);
  facts.emplace_back("transport", arguments.simulated ? "simulated" : mpi ? "mpi" : "loopback");
  return facts;
}

SessionOptions options_of_run(const Arguments& arguments) {
  SessionOptions options = arguments.session;
  options.store.copy = arguments.store == "copy";
  options.store.check = options.machine.check_slices = options.machine.check_ranks = arguments.check;
  options.store.deterministic = options.machine.deterministic;
  options.machine.schedule = arguments.schedule == "static" ? Schedule::static_ : Schedule::dynamic;
  set_pardo_order(options.machine, arguments.pardo_order);
  if (!arguments.server_memory.empty()) options.store.memory_of_server = parse_memory(arguments.server_memory);
  options.version = sialx_version;
  options.watch = watch_options(arguments);
  choose_machine(options.store, arguments.simulate_machine);
  options.store.large_pages = arguments.large_pages != "off";
  options.restart = arguments.restart;
  options.restart_id = arguments.restart_id;
  options.stop_signal = stop_signal;
  options.checkpoints = arguments.batch.empty();
  if (options.checkpoints) options.catch_stop_signals = catch_stop_signals;
  else if (arguments.restart || options.stop_after > 0 || saved_or_limited(arguments.job))
    throw InputError("jobs of a batch are neither saved nor limited in time",
                     "run the long ones by themselves, without `--batch`");
  const bool terminal = isatty(STDERR_FILENO) == 1;
  if (arguments.progress == "line" || (arguments.progress != "off" && terminal))
    options.machine.progress = ProgressMode::line;
  else if (arguments.progress == "on") options.machine.progress = ProgressMode::log;
  return options;
}

void take_memory(Arguments& arguments, SessionOptions& options, const Job& job) {
  options.store.memory_per_rank = job.memory_per_rank;
  options.store.spill = job.spill;
  options.store.numa = job.numa;
  choose_homes(arguments, job.spill);
  options.homes_on_workers = arguments.homes == "workers";
}

}  // namespace sial
