#pragma once
// The facts of the run that all parts of a machine share: the program and what it became for this job, the environment
// and the options, and how an error, a warning or a place is worded. Owned by the machine, passed by reference; nothing
// in it changes while the program runs.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/core/device/cache/statement.h"
#include "runtime/core/interp/context/bind.h"
#include "runtime/core/interp/context/cost_model.h"
#include "runtime/core/interp/context/environment.h"

namespace sial {

struct RunContext {
  /// `sequence`: number of the program in the job. Throws SialError when the job lacks what the program needs.
  RunContext(const Module& module, std::int32_t sequence, const Environment& environment,
             const MachineOptions& options);

  [[noreturn]] void fail(Statement here, const std::string& message, const std::string& hint = {}) const;
  /// An error where the array does not fit the job's segments.
  void require_usable(const BoundArray& array, Statement here) const {
    if (!array.problem.empty()) [[unlikely]]
      fail_unusable(array, here);
  }
  /// Written by the first rank.
  void warn(const std::string& message) const;
  /// Warns of the first scalar of the program that is put to use, `how`, and is no finite number.
  void expect_finite(double value, std::int32_t slot, const char* how, Statement here) const {
    if (!std::isfinite(value)) [[unlikely]]
      tell_not_finite(value, slot, how, here);
  }
  /// Gives an error that does not know where it happened the place of the statement.
  void locate_error(SialError& error, Statement here) const;
  /// "prog.sialx:12:3"; the program's name where there is no such statement.
  std::string place_name(Statement here) const;
  Place place(Statement here) const { return {sequence, here.pc}; }
  std::int32_t line(Statement here) const { return module.places[here.pc].line; }

  double now() const { return env.transport.now(); }
  int workers() const { return env.transport.size(); }
  int worker() const { return env.transport.rank(); }
  /// Whether this rank prints; it is going to.
  bool prints() const {
    hide_progress();
    return worker() == 0 || env.state.all_ranks_print;
  }
  void hide_progress() const {
    if (progress) progress->hide();
  }

  const Module& module;
  const std::int32_t sequence;
  const Environment env;
  const MachineOptions options;  // as they are in force: what one implies is set
  const BoundProgram bound;
  const std::unique_ptr<Progress> progress;  // on the first rank, when wanted
  const std::unique_ptr<ModelClock> model;   // null: statements are executed, and blocks have values

 private:
  void tell_not_finite(double value, std::int32_t slot, const char* how, Statement here) const;
  [[noreturn]] void fail_unusable(const BoundArray& array, Statement here) const;
};

/// Another part of the run does what `work` says on behalf of an earlier statement: errors name that one.
template <class F>
decltype(auto) on_behalf_of(const RunContext& context, Statement statement, F&& work) {
  try {
    return work();
  } catch (SialError& error) {
    context.locate_error(error, statement);
    throw;
  }
}

}  // namespace sial
