#include "runtime/core/interp/context/run_context.h"

#include <ostream>

#include <fmt/format.h>

#include "runtime/core/base/printable.h"

namespace sial {
namespace {

MachineOptions in_force(MachineOptions options, const Environment& environment) {
  if (options.deterministic) options.schedule = Schedule::static_;
  if (environment.transport.size() == 1) options.check_ranks = false;
  options.profile |= environment.trace != nullptr || options.check_ranks;
  return options;
}

std::unique_ptr<Progress> progress_of(const Environment& environment, const MachineOptions& options) {
  if (options.progress == ProgressMode::off || environment.transport.rank() != 0) return nullptr;
  return std::make_unique<Progress>(environment.warnings, options.progress, options.tell_progress);
}

std::unique_ptr<ModelClock> clock_of(const Module& module, std::int32_t sequence, const Environment& environment,
                                     const MachineOptions& options) {
  if (!options.cost_model) return nullptr;
  return std::make_unique<ModelClock>(options.cost_model->costs(module, sequence, environment.job),
                                      options.cost_model->iterations(), environment.transport);
}

}  // namespace

RunContext::RunContext(const Module& the_module, std::int32_t the_sequence, const Environment& environment,
                       const MachineOptions& the_options)
    : module(the_module),
      sequence(the_sequence),
      env(environment),
      options(in_force(the_options, environment)),
      bound(bind_program(the_module, environment.job)),
      progress(progress_of(environment, the_options)),
      model(clock_of(the_module, the_sequence, environment, the_options)) {}

std::string RunContext::place_name(Statement here) const {
  if (here.pc < 0 || static_cast<std::size_t>(here.pc) >= module.places.size()) return module.program;
  const SourcePlace& p = module.places[here.pc];
  return fmt::format("{}:{}:{}", module.files.at(p.file), p.line, p.column);
}

void RunContext::fail(Statement here, const std::string& message, const std::string& hint) const {
  throw SialError(message, hint, place_name(here));
}

void RunContext::fail_unusable(const BoundArray& array, Statement here) const {
  fail(here, fmt::format("array `{}` cannot be used: {}", array.name, array.problem), array.remedy);
}

void RunContext::warn(const std::string& message) const {
  hide_progress();
  if (worker() == 0) env.warnings << "warning: " << printable_name(message) << std::endl;
}

void RunContext::tell_not_finite(double value, std::int32_t slot, const char* how, Statement here) const {
  if (model || env.state.not_finite_in == sequence) return;
  env.state.not_finite_in = sequence;
  const std::string what = slot >= 0 && slot < std::ssize(module.scalars)
                               ? fmt::format("the scalar `{}`", module.scalars[slot].name)
                               : std::string("a number");
  warn(fmt::format("{}: {} is {} where it is {}{}", place_name(here), what, std::isnan(value) ? "nan" : "infinite", how,
                   std::isnan(value) ? ": no comparison with it is true" : ""));
}

void RunContext::locate_error(SialError& error, Statement here) const {
  if (error.where().empty()) error.set_where(place_name(here));
}

}  // namespace sial
