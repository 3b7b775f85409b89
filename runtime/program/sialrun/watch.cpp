#include "runtime/program/sialrun/watch.h"

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/job/duration.h"
#include "runtime/program/sialrun/signals.h"

namespace sial {

namespace {

/// MPI may take minutes to start thousands of ranks.
constexpr double start_factor = 10;

/// Seconds; 0: off.
double time_of(const std::string& text, double preset, const char* flag) {
  if (text.empty()) return preset;
  if (text == "off") return 0;
  try {
    return parse_duration(text, 1);
  } catch (const SialError& error) {
    throw InputError(fmt::format("`{}`: {}", flag, error.what()), "a time such as `90s` or `1h30m`, or `off`");
  }
}

}  // namespace

WatchOptions watch_options(const Arguments& arguments) {
  WatchOptions options;
  options.stall_report = time_of(arguments.stall_report, WatchOptions::default_report, "--stall-report");
  options.stall_limit = time_of(arguments.stall_limit, 0, "--stall-limit");
  options.lost_after = time_of(arguments.lost_after, WatchOptions::default_lost, "--lost-after");
  options.take_question = take_status_request;
  options.set_wake_up = catch_status_signal;
  return options;
}

double start_limit(const Arguments& arguments) {
  const double lost_after = time_of(arguments.lost_after, WatchOptions::default_lost, "--lost-after");
  return time_of(arguments.start_limit, start_factor * lost_after, "--start-limit");
}

}  // namespace sial
