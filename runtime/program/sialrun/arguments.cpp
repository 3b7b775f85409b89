#include "runtime/program/sialrun/arguments.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <type_traits>

#include <fmt/format.h>

#include "runtime/core/base/input_file.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/job/domain.h"
#include "runtime/core/job/segments.h"
#include "runtime/core/transport/mpi.h"
#include "runtime/program/job/job_file.h"
#include "runtime/program/manual/command_line.h"
#include "runtime/program/sialrun/network.h"

namespace sial {
namespace {

/// Adds an option of the table to the command line; the variable outlives the parsing.
template <class T>
void add(CommandLine& app, const Option& option, T& variable) {
  const std::string help = option_help(option);
  CommandLine::Option added = [&] {
    if constexpr (std::is_same_v<T, bool>) return app.add_flag(option.flags, variable, help);
    if constexpr (std::is_same_v<T, std::string>)
      if (option.type.kind == OptionType::Kind::joined) return app.add_flag(option.flags, variable, help);
    if constexpr (!std::is_same_v<T, bool>) return app.add_option(option.flags, variable, help);
  }();
  added.group(option.group == OptionGroup::test ? hidden_group : heading(option.group));
  if (*option.type.shown) added.type_name(option.type.shown);
  if (option.type.kind == OptionType::Kind::optional)
    added.value_optional().type_name(fmt::format("[{}]", option.type.shown));
  if (option.type.kind == OptionType::Kind::listed) added.delimiter(',');
  added.check([&option](const std::string& text) { return option_problem(option.type, text); });
}

bool in_batch_lines(OptionGroup group) {
  return group == OptionGroup::job || group == OptionGroup::legacy || group == OptionGroup::test;
}

}  // namespace

void add_options(CommandLine& app, Arguments& arguments) {
#define SETTING(name, ...) add(app, option(OptionId::name), arguments.job.settings[OptionId::name]);
#define JOB_OPTION(name, group, flags, type, preset, record, target, help) \
  add(app, option(OptionId::name), arguments.job.target);
#define OPTION(name, group, flags, type, preset, record, target, help) \
  add(app, option(OptionId::name), arguments.target);
#define GONE(flag) app.add_option(flag, arguments.gone[flag]).group(hidden_group);
#include "runtime/core/job/options.def"
#undef SETTING
#undef JOB_OPTION
#undef OPTION
}

namespace {

/// Those of a line of a batch, which states one job.
void add_batch_options(CommandLine& app, JobArguments& job) {
#define SETTING(name, in, ...) \
  if (in_batch_lines(OptionGroup::in)) add(app, option(OptionId::name), job.settings[OptionId::name]);
#define JOB_OPTION(name, group, flags, type, preset, record, target, help) add(app, option(OptionId::name), job.target);
#define OPTION(...)
#include "runtime/core/job/options.def"
#undef SETTING
#undef JOB_OPTION
#undef OPTION
}

}  // namespace

bool is_given(const JobArguments& arguments, OptionId id) {
  const auto found = arguments.settings.find(id);
  return found != arguments.settings.end() && !found->second.empty();
}

SimulationOptions simulation_options(const Arguments& arguments) {
  SimulationOptions options =
      sial::simulation_options(arguments.simulate, arguments.network, arguments.ranks_per_node, arguments.servers);
  options.homes_on_workers = arguments.homes == "workers";
  return options;
}

void choose_homes(Arguments& arguments, const SpillRequest& spill) {
  if (arguments.homes != "auto") return;
  const bool remote_tier =
      std::any_of(spill.begin(), spill.end(), [](const TierRequest& t) { return t.kind == TierKind::nodes; });
  arguments.homes = remote_tier ? "workers" : "servers";
}

int workers_of(const Arguments& arguments) {
  const bool runs = !arguments.dry_run && !arguments.describe && arguments.write_dat.empty();
  if (!runs && arguments.planned_ranks > 0) return arguments.planned_ranks;
  if (arguments.simulated) return simulation_options(arguments).ranks;
  return arguments.transport == "loopback" ? 1 : std::max(1, launched_ranks() - arguments.servers);
}

std::string gone_options(const Arguments& arguments) {
  std::string text;
  for (const auto& [flag, value] : arguments.gone)
    if (!value.empty() && is_first_launched())
      text += fmt::format(
          "warning: `{} {}` has no effect: this version has no such option any more\n  hint: leave it out\n", flag,
          printable(value));
  return text;
}

std::string ignored_ranks(const Arguments& arguments) {
  if (arguments.planned_ranks == 0 || !is_first_launched()) return {};
  return fmt::format(
      "warning: `--ranks {0}` is left out: it is what `--dry-run` and `--describe` plan for\n  hint: `mpirun -n {0} sialrun ...` runs the job on {0} rank{1}\n",
      arguments.planned_ranks, arguments.planned_ranks == 1 ? "" : "s");
}

namespace {

/// The initial-data file of the job, empty when it has none. As with ACES4 a folder of programs alone means data.dat.
std::string data_file(const JobArguments& arguments) {
  if (!arguments.dat.empty()) return arguments.dat;
  return !arguments.program_dir.empty() && arguments.inputs.empty() ? "data.dat" : "";
}

}  // namespace

std::vector<std::string> program_folders(const JobArguments& arguments) {
  std::vector<std::string> folders{arguments.program_dir.empty() ? "." : arguments.program_dir};
  folders.insert(folders.end(), arguments.include_dirs.begin(), arguments.include_dirs.end());
  return folders;
}

Job state_job(const JobArguments& arguments) {
  Job job;
  const bool is_file = arguments.inputs.size() == 1 && arguments.inputs.front().ends_with(".toml");
  if (const std::string file = data_file(arguments); !file.empty()) {
    if (is_file)
      throw InputError(fmt::format("`{}` and `{}` both state the job", file, arguments.inputs.front()),
                       "give one of them; programs given beside a data file replace its list");
    job = domain().read_data_file(file);
    job.programs = arguments.inputs;
  } else if (is_file) {
    job = read_job_file(arguments.inputs.front());
  } else if (arguments.stated) {
    job = *arguments.stated;
  } else {
    job.programs = arguments.inputs;
  }
  for (const std::string& dir : arguments.include_dirs) job.include_dirs.push_back(dir);
  for (const std::string& text : arguments.segments) apply_segments(job, text);
  if (!arguments.resegment.empty()) domain().resegment(job, arguments.resegment);
  for (const std::string& text : arguments.sets) apply_set(job, text);
  if (!arguments.restarts) check_restored_files(job);
  for (std::string& text : domain().warnings(job.data)) job.warnings.push_back(std::move(text));
  return job;
}

namespace {

/// Those of the command line act on the job, but for automatic segments.
void apply_arguments(Job& job, const JobArguments& arguments, int ranks) {
  if (!arguments.gib.empty()) job.memory_per_rank = parse_memory(fmt::format("{}GiB", std::ranges::max(arguments.gib)));
  for (const auto& [id, text] : arguments.settings)
    if (!text.empty()) set_option(job, id, text);
  // Without a results file a program run from the command line leaves no files at all.
  if (is_given(arguments, OptionId::results) && job.results_path == "none" && !is_given(arguments, OptionId::run_json))
    job.run_json_path = "none";
  job.batch_file = arguments.batch_file;
  job.ranks = ranks;
}

/// They follow the ranks and the memory.
void cut_segments(Job& job) {
  if (domain().has_system(job.data) && !job.legacy) derive_job_data(job);
}

}  // namespace

Job job_with_settings(const JobArguments& arguments, int ranks) {
  Job job = state_job(arguments);
  apply_arguments(job, arguments, ranks);
  cut_segments(job);
  return job;
}

Job make_job(const JobArguments& arguments, int ranks) {
  Job job = state_job(arguments);
  if (job.programs.empty() && job.legacy) job.programs = domain().find_programs(job, program_folders(arguments));
  if (job.programs.empty())
    throw InputError("nothing to run", "name a job file or a program: sialrun job.toml, or sialrun prog.sialx");
  apply_arguments(job, arguments, ranks);
  const bool has_gradient_settings =
      std::ranges::any_of(std::array{OptionId::gradient_step, OptionId::gradient_symmetry},
                          [&](OptionId id) { return job.settings.contains(id); });
  if (has_gradient_settings && job.gradient_scalar.empty())
    throw InputError("settings of a gradient are given, and no scalar whose gradient is wanted",
                     "scalar = \"total_energy\" under [gradient], or --gradient total_energy", job.file);
  if (!arguments.restarts) domain().take_guess(job);
  cut_segments(job);
  return job;
}

Job make_job_to_run(const JobArguments& arguments, int ranks, Plugins& plugins) {
  Job job = make_job(arguments, ranks);
  try {
    plugins.load_for_job(job.plugins);
  } catch (const SialError& error) { throw InputError(error.what(), error.hint(), job.file); }
  return job;
}

std::vector<BatchEntry> read_batch(const std::string& path, const JobArguments& defaults) {
  if (!defaults.gib.empty())
    throw InputError("`-m`, `-w` and `-v` beside `--batch` state the memory of no job",
                     "give `--memory` for all jobs, or `-m` in the lines");
  std::string problem;
  std::istringstream in(read_file(path, input_limit::batch, problem));
  if (!problem.empty())
    throw InputError(fmt::format("cannot read the batch file `{}`: {}", path, problem),
                     "`--batch` names a file with one command line per line");
  std::vector<BatchEntry> entries;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos || line.front() == '#') continue;
    BatchEntry entry;
    CommandLine app;
    add_batch_options(app, entry.arguments);
    entry.arguments.settings[OptionId::results] = "none";
    entry.arguments.batch_file = path;
    try {
      app.parse_text(line);
    } catch (const CommandLine::Error& error) {
      throw InputError(fmt::format("{}:{}: {}", path, number, error.what()),
                       "a line holds a program or job file and its options");
    }
    entry.line = number;
    for (const OptionId id : batch_defaults)
      if (is_given(defaults, id) && !is_given(entry.arguments, id))
        entry.arguments.settings[id] = defaults.settings.at(id);
    entry.name = !entry.arguments.name.empty()     ? entry.arguments.name
                 : !entry.arguments.inputs.empty() ? entry.arguments.inputs.front()
                                                   : std::to_string(number);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace sial
