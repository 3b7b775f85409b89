#include "runtime/program/sialrun/cost_model.h"

#include <fmt/format.h>

namespace sial {

TimeSetting time_setting(const Arguments& arguments, const SessionOptions& options, const Job& job, int ranks,
                         int nodes) {
  TimeSetting setting{ranks, nodes, job.keep_integrals, speed_of_this_machine(options.kernel_options.jit_cache)};
  if (!arguments.simulated) return setting;
  const SimulationOptions simulation = simulation_options(arguments);
  setting.speed.network_latency = simulation.latency;
  setting.speed.network_rate = simulation.bandwidth;
  if (simulation.iterations > 0) setting.iterations = simulation.iterations;
  return setting;
}

std::string check_modelled(const Arguments& arguments, const Job& job) {
  const auto refuse = [](const std::string& what, const std::string& remedy) {
    throw InputError(fmt::format("{}, and with `kernels=model` blocks have no values", what), remedy);
  };
  if (job.results_path != "none")
    refuse(fmt::format("the job writes its results to `{}`", job.results_path), "add `--results none`");
  if (!job.restore_files.empty()) refuse("the job restores earlier results", "run all of its programs in one job");
  if (!job.spill.empty())
    refuse("`--spill` moves blocks to files", "give the ranks more memory: none of it is touched");
  if (arguments.check) refuse("`--check` compares values", "leave `--check` out");
  if (arguments.session.device != "host" && arguments.session.device != "auto")
    refuse(fmt::format("`--device {}` copies blocks", arguments.session.device), "leave `--device` out");
  if (arguments.restart || arguments.session.stop_after > 0 || is_given(arguments.job, OptionId::checkpoint_every) ||
      is_given(arguments.job, OptionId::checkpoint_dir) || is_given(arguments.job, OptionId::checkpoint_local) ||
      is_given(arguments.job, OptionId::time_limit))
    refuse("checkpoints hold what was computed", "leave the options of checkpoints out");
  // A job file may stay as it is: its real runs are saved.
  const bool saves = job.checkpoint_every != CheckpointOptions::never, limited = job.time_limit > 0;
  if (!saves && !limited) return {};
  return fmt::format(
      "warning: {} of `{}` {} left out: with `kernels=model` nothing is computed that a checkpoint could hold, and the time of checkpoints is not part of the model\n",
      saves && limited ? "`checkpoint_every` and `time_limit`"
      : saves          ? "`checkpoint_every`"
                       : "`time_limit`",
      job.file, saves && limited ? "are" : "is");
}

void set_without_values(SessionOptions& options) {
  options.store.values = false;
  options.store.large_pages = false;
  options.device = "host";
  options.checkpoints = false;
  for (auto& [key, value] : options.facts)
    if (key == "kernels") value = "model";
}

}  // namespace sial
