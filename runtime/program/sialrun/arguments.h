#pragma once
// The command line of sialrun as values, and the job that it states. Owns nothing beyond its strings.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/pipeline/pipeline.h"
#include "runtime/core/job/options.h"
#include "runtime/core/transport/simulated.h"
#include "runtime/program/session/options.h"
#include "runtime/program/sialrun/devices.h"

namespace sial {

class CommandLine;
class SchemaRun;

inline constexpr bool sialx_default_check = SIALX_DEFAULT_CHECK;  // debug builds check

/// What states one job: the part of the command line that a line of a batch file has too.
struct JobArguments {
  std::vector<std::string> inputs, sets, segments, include_dirs;
  std::map<OptionId, std::string> settings;  // those that job files have too; empty where not given
  std::string name, dat, program_dir, resegment;
  std::string batch_file;       // that the line stands in
  std::vector<double> gib;      // as ACES4 states memory
  const Job* stated = nullptr;  // otherwise than by inputs
  bool restarts = false;        // from a checkpoint, which has what earlier jobs gave to this one
};

struct Arguments {
  JobArguments job;
  SessionOptions session;
  DeviceArguments device;
  int optimisation = default_optimisation;
  std::string jit = "on", store = "share", schedule = "dynamic", pardo_order, server_memory, homes = "auto", transport,
              simulate, simulate_machine, large_pages, network, batch, progress, manual;
  std::string restart_folder, restart_id;
  std::optional<std::string> restart;  // `restart_folder` where the run is a restart
  bool check = sialx_default_check, simulated = false, version = false, verbose = false, dry_run = false,
       calibrate = false;
  std::string stall_report, stall_limit, start_limit, lost_after;
  int ranks_per_node = 0, servers = 0, planned_ranks = 0;
  std::vector<std::string> plugins;
  int aces_workers = -1;
  bool describe = false, until_done = false;
  std::string write_dat, qcschema;
  std::map<std::string, std::string> gone;  // by flags of options that there are no more; empty where not given
  SchemaRun* schema = nullptr;              // of `qcschema`, once it was read
};

struct BatchEntry {
  std::string name;
  int line = 0;
  JobArguments arguments;
};

/// Adds the options of the table to the command line; `arguments` outlives the parsing.
void add_options(CommandLine& app, Arguments& arguments);
bool is_given(const JobArguments& arguments, OptionId id);
SimulationOptions simulation_options(const Arguments& arguments);
/// Settles `--homes auto` for a job.
void choose_homes(Arguments& arguments, const SpillRequest& spill);
/// How many workers the job will have, known before MPI starts.
int workers_of(const Arguments& arguments);
/// Warnings of options that there are no more.
std::string gone_options(const Arguments& arguments);
/// A warning where `--ranks` has no effect; else empty.
std::string ignored_ranks(const Arguments& arguments);
/// Where the programs of an initial-data file are looked for.
std::vector<std::string> program_folders(const JobArguments& arguments);
/// The job as stated, its programs not yet looked for. SialError: what is stated is wrong.
Job state_job(const JobArguments& arguments);
/// The same with all settings, and with automatic segments for so many ranks.
Job job_with_settings(const JobArguments& arguments, int ranks);
/// The same with its programs found and its first guess read. SialError, or EnvironmentError for files.
Job make_job(const JobArguments& arguments, int ranks);
/// A job that is going to run, its plugins loaded.
Job make_job_to_run(const JobArguments& arguments, int ranks, Plugins& plugins);
/// What the command line of a batch says for all of its lines, which may say something else.
inline constexpr std::array batch_defaults = {OptionId::memory, OptionId::spill, OptionId::numa};
/// The jobs of a batch file, one per line; `defaults`: the command line. EnvironmentError: it cannot be read;
/// SialError: a line is wrong.
std::vector<BatchEntry> read_batch(const std::string& path, const JobArguments& defaults);

}  // namespace sial
