// sialrun: runs a job file, or programs with values given on the command line, on the ranks it was started with.

#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/diag/render.h"
#include "compiler/pipeline/pipeline.h"
#include "runtime/core/base/error_text.h"
#include "runtime/core/base/fault_injection.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/base/process_limits.h"
#include "runtime/core/base/standard_output.h"
#include "runtime/core/bytecode/write.h"
#include "runtime/core/job/array_source.h"
#include "runtime/core/job/domain.h"
#include "runtime/core/job/duration.h"
#include "runtime/core/job/options.h"
#include "runtime/core/kernels/jit/code_library.h"
#include "runtime/core/model/model_costs.h"
#include "runtime/core/transport/launched.h"
#include "runtime/core/transport/loopback.h"
#include "runtime/core/transport/mpi.h"
#include "runtime/core/transport/simulated.h"
#include "runtime/program/job/describe.h"
#include "runtime/program/manual/command_line.h"
#include "runtime/program/session/dry_run.h"
#include "runtime/program/session/outputs.h"
#include "runtime/program/session/restart.h"
#include "runtime/program/session/session.h"
#include "runtime/program/sialrun/arguments.h"
#include "runtime/program/sialrun/cost_model.h"
#include "runtime/program/sialrun/devices.h"
#include "runtime/program/sialrun/jobs.h"
#include "runtime/program/sialrun/network.h"
#include "runtime/program/sialrun/numa.h"
#include "runtime/program/sialrun/run_options.h"
#include "runtime/program/sialrun/signals.h"
#include "runtime/program/sialrun/until_done.h"
#include "runtime/program/sialrun/watch.h"
#include "runtime/program/version/version.h"

namespace {

using namespace sial;

CompileFile compiler(int optimisation) {
  return [optimisation](const std::string& path, const std::vector<std::string>& include_dirs,
                        const std::vector<std::string>& saved, std::ostream& diagnostics) {
    CompileOptions options;
    options.include_dirs = include_dirs;
    options.optimisation = optimisation;
    options.saved = saved;
    SourceManager sources;
    Emitter emitter;
    const CompileResult result = compile_file(path, options, sources, emitter);
    diagnostics << render_list(emitter.all(), sources);
    diagnostics.flush();
    return result.module ? write_module(*result.module) : std::vector<std::byte>{};
  };
}

/// What is to be done before a rank ends the run of all; may be empty.
std::function<void(const std::string& text, int code)> before_abort;

void abort_all(Transport& transport, const std::string& text, int code) {
  if (before_abort) before_abort(text, code);
  transport.abort_job(text, code);
}

EnvironmentError out_of_memory_beside_blocks() {
  return {"out of memory beside the block data", "raise `ulimit -v`, run fewer ranks per machine, or lower --memory"};
}

/// What a rank does: its session, and the jobs in it. A worker's error ends the whole job, and does so while the
/// session is still there: until then other ranks may write into this rank's memory and ask it for blocks.
int run_on_rank(Transport& transport, const SessionOptions& options, const CompileFile& compile,
                const std::function<int(Session&)>& jobs) {
  const bool others = transport.size() > 1 || transport.node_count() > 1;  // servers are nodes of their own
  const auto text = [&](const SialError& error) {
    return error_text(error, transport.rank(), transport.size(), transport.host_name());
  };
  try {
    transport.start_watch(options.watch);
  } catch (const ProcessLimitError& error) {
    if (others) abort_all(transport, text(error), exit_code_of(error));
    throw;
  }
  Session session(transport, options, compile, std::cout, std::cerr);
  try {
    // Workers do so when their programs are about to run.
    if (transport.is_server() && options.catch_stop_signals) options.catch_stop_signals();
    session.start();
    if (transport.is_server()) {
      transport.serve_forever();
      return exit_ok;
    }
    const int code = jobs(session);
    transport.finish();
    return code;
  } catch (const SialError& error) {
    // An error usually meets all ranks, and the first to say so ends the job. Rank 0, which prints, gets a moment to
    // arrive with what the program said before: `println "reason"` and `stop`.
    if (others && transport.rank() != 0) {
      try {
        transport.linger(0.3);
      } catch (const SialError&) {
        // This rank's helper has failed as well. The error that ends the job is the first.
      }
    }
    session.release_outputs();
    if (others) abort_all(transport, text(error), exit_code_of(error));
    throw;
  } catch (const std::bad_alloc&) {
    const EnvironmentError error = out_of_memory_beside_blocks();
    if (others) abort_all(transport, text(error), exit_environment_error);
    throw error;
  }
}

/// One job on simulated ranks.
int run_simulation(const Arguments& arguments, SessionOptions options, const CompileFile& compile, const Job& job) {
  const SimulationOptions simulation = simulation_options(arguments);
  std::optional<ModelCosts> costs;
  if (!simulation.moves_data) {
    std::cerr << printable(check_modelled(arguments, job));
    set_without_values(options);
    const int per_node = simulation.ranks_per_node > 0 ? simulation.ranks_per_node : simulation.ranks;
    const int nodes = (simulation.ranks + per_node - 1) / per_node + simulation.servers;
    options.time = time_setting(arguments, options, job, simulation.ranks, nodes);
    options.machine.cost_model = &costs.emplace(*options.time);
    std::cerr
        << "note: kernels are not executed, their time is the model's; nothing that the programs print was computed\n"
        << std::flush;
  }
  int code = exit_ok;
  run_simulated(simulation, [&](Transport& transport) {
    const int mine = run_on_rank(transport, options, compile, [&](Session& session) { return session.run(job); });
    if (transport.rank() == 0) code = mine;
  });
  return code;
}

/// One job on ranks within this process. Errors are reported here.
int run_in_process(const Arguments& arguments, const SessionOptions& options, const CompileFile& compile,
                   const Job& job) {
  try {
    if (arguments.simulated) return run_simulation(arguments, options, compile, job);
    SessionOptions keeping = options;
    const auto jobs = jobs_of(arguments, job, keeping, 0);
    return run_on_rank(*make_loopback(), keeping, compile, jobs);
  } catch (const JobAborted& aborted) {
    std::cout.flush();
    std::cerr << aborted.what() << std::endl;
    return aborted.exit_code();
  } catch (const SialError& error) {
    std::cout.flush();
    std::cerr << error_text(error, 0, 1) << std::endl;
    return exit_code_of(error);
  }
}

/// Every job of the batch prints a separator first. In one process each has a world of its own, and a failure is only
/// that job's; MPI ranks share one world, which an error while a job runs ends.
int run_batch(const Arguments& arguments, SessionOptions options, const CompileFile& compile, Plugins& plugins,
              Transport* mpi) {
  const std::vector<BatchEntry> entries = read_batch(arguments.batch, arguments.job);
  int worst = exit_ok;
  const auto separator = [](const BatchEntry& entry) {
    std::cout << "=== " << printable_name(entry.name) << std::endl;
  };
  const auto report = [](int code) {
    if (code != exit_ok) std::cout << "--- failed with exit code " << code << std::endl;
  };
  if (mpi) {
    std::optional<Job> job;
    set_common_memory(arguments, entries, options);
    return run_on_rank(*mpi, options, compile, [&](Session& session) {
      for (const BatchEntry& entry : entries) {
        if (mpi->rank() == 0) separator(entry);
        job = make_job_to_run(entry.arguments, workers_of(arguments), plugins);
        refuse_gradient(*job);
        if (mpi->rank() == 0) std::cerr << printable(other_memory(entry, *job, options.store)) << std::flush;
        const int code = session.run(*job);
        if (mpi->rank() == 0) report(code);
        worst = std::max(worst, code);
      }
      return worst;
    });
  }
  for (const BatchEntry& entry : entries) {
    separator(entry);
    int code = exit_ok;
    try {
      const Job job = make_job_to_run(entry.arguments, workers_of(arguments), plugins);
      refuse_gradient(job);
      Arguments of_job = arguments;
      take_memory(of_job, options, job);
      code = run_in_process(of_job, options, compile, job);
    } catch (const SialError& error) {
      std::cerr << error_text(error, 0, 1) << std::endl;
      code = exit_code_of(error);
    }
    report(code);
    worst = std::max(worst, code);
  }
  return worst;
}

/// --dry-run: of the ranks that were started, or of `--ranks`.
int plan_only(const Arguments& arguments, const SessionOptions& options, const CompileFile& compile) {
  if (!is_first_launched()) return exit_ok;
  const Job job = make_job(arguments.job, workers_of(arguments));
  PlanSetting setting = plan_setting(job, options);
  Arguments of_job = arguments;
  choose_homes(of_job, job.spill);
  const SimulationOptions simulation = simulation_options(of_job);
  setting.ranks = job.ranks;
  setting.ranks_per_node = simulation.ranks_per_node;
  (simulation.homes_on_workers ? setting.memory_nodes : setting.servers) = simulation.servers;
  setting.explain_kernels = options.explain_kernels;
  return dry_run(job, setting, time_setting(arguments, options, job, setting.ranks, setting.nodes() + setting.servers),
                 options, compile, std::cout, std::cerr);
}

/// ACES4's -q WORKERS -r SERVERS.
void check_aces_ranks(const Arguments& arguments) {
  const int ranks = std::max(launched_ranks(), 1);
  if (arguments.aces_workers >= 0 && arguments.aces_workers + arguments.servers != ranks)
    throw InputError(fmt::format("-q {} workers and -r {} servers are not the {} rank{} of this run",
                                 arguments.aces_workers, arguments.servers, ranks, ranks == 1 ? "" : "s"),
                     "their sum must be the number of ranks; without -q and -r every rank works and serves");
}

/// --describe and --write-dat: the job is stated, nothing runs.
int show_job(const Arguments& arguments) {
  if (!is_first_launched()) return exit_ok;
  Job job = job_with_settings(arguments.job, workers_of(arguments));
  read_arrays(job.data);
  for (const std::string& text : job.warnings) std::cerr << "warning: " << printable_name(text) << std::endl;
  const NamedFile written{"the data file", arguments.write_dat};
  if (!written.path.empty()) check_distinct(std::span(&written, 1), input_files(job, {}));
  if (arguments.describe) std::cout << printable(describe_job(job, program_folders(arguments.job)));
  if (!arguments.write_dat.empty()) domain().write_data_file(job, arguments.write_dat);
  return exit_ok;
}

/// The one job of a run, and the options with what it states.
Job job_of_run(Arguments& arguments, SessionOptions& options, Plugins& plugins) {
  if (arguments.schema && arguments.schema->problem()) throw *arguments.schema->problem();
  Job job = make_job_to_run(arguments.job, workers_of(arguments), plugins);
  take_memory(arguments, options, job);
  if (job.gradient_scalar.empty()) {
    check_stop_after(options, job);
  } else {
    check_gradient_options(arguments, options, job);
    options.checkpoints = false;
    options.catch_stop_signals = {};
  }
  return job;
}

std::unique_ptr<Transport> transport_of_run(const Arguments& arguments, const SessionOptions& options, int argc,
                                            char** argv) {
  MpiOptions mpi_options;
  mpi_options.ranks_per_node = arguments.ranks_per_node;
  mpi_options.servers = arguments.servers;
  mpi_options.lost_after = options.watch.lost_after;
  mpi_options.start_limit = start_limit(arguments);
  mpi_options.homes_on_workers = arguments.homes == "workers";
  if (!arguments.network.empty()) mpi_options.network = network_model(arguments.network);
  return make_mpi(&argc, &argv, mpi_options);
}

int run(Arguments& arguments, const CommandLine& app, Plugins& plugins, int argc, char** argv,
        const std::string& blas) {
  if (arguments.describe || !arguments.write_dat.empty()) return show_job(arguments);
  check_aces_ranks(arguments);
  SessionOptions options = options_of_run(arguments);
  const CompileFile compile = compiler(arguments.optimisation);
  if (arguments.dry_run) return plan_only(arguments, options, compile);
  std::cerr << ignored_ranks(arguments) << std::flush;
  reserve_blas_memory();  // while there is one thread: others take addresses between the question and the call
  const bool mpi = arguments.transport == "mpi" || (arguments.transport.empty() && !arguments.simulated &&
                                                    (launched_ranks() > 1 || arguments.servers > 0));
  options.facts = chosen_options(app, arguments, mpi, blas);
  options.servers = arguments.simulated ? simulation_options(arguments).servers : arguments.servers;
  if (!options.trace.empty() && !arguments.batch.empty())
    throw InputError("a trace holds one job, and a batch has many", "trace the job by itself, without `--batch`");
  if (!mpi && !arguments.batch.empty()) return run_batch(arguments, options, compile, plugins, nullptr);
  // The job is read before MPI starts, by every rank; what is wrong with it is said once.
  std::optional<Job> job;
  std::optional<SialError> problem;
  int code = exit_ok;
  if (arguments.batch.empty()) {
    try {
      job = job_of_run(arguments, options, plugins);
    } catch (const SialError& error) {
      problem = error;
      code = arguments.schema ? exit_input_error : exit_code_of(error);
    }
  }
  if (!mpi) {
    if (job) code = run_in_process(arguments, options, compile, *job);
    else std::cerr << error_text(*problem, 0, 1) << std::endl;
    return arguments.schema ? arguments.schema->finish(code) : code;
  }
  const std::unique_ptr<Transport> transport = transport_of_run(arguments, options, argc, argv);
  if (problem) {
    const std::string host = transport->host_name();  // its files may be others
    abort_all(*transport, error_text(*problem, transport->rank(), host.empty() ? 1 : transport->size(), host), code);
  }
  std::function<int(Session&)> one_job;
  if (job) one_job = jobs_of(arguments, *job, options, transport->rank());
  code = job ? run_on_rank(*transport, options, compile, one_job)
             : run_batch(arguments, options, compile, plugins, transport.get());
  if (arguments.schema && transport->rank() == 0) code = arguments.schema->finish(code);
  std::cout.flush();
  transport->leave(code);
  return code;
}

/// The folder of generated code, or none with a warning. Other ranks find by themselves, and silently, what they do not
/// use.
std::string trusted_cache(const std::string& folder) {
  const std::string trouble = kernels::cache_trouble(folder);
  if (trouble.empty()) return folder;
  std::cerr
      << fmt::format(
             "warning: generated code is not kept on disk: {}\n  hint: make `{}` yours alone (`chmod -R go-w`), remove it, or set XDG_CACHE_HOME to a folder of your own\n",
             trouble, folder)
      << std::flush;
  return {};
}

/// What predictions of time go by, measured or usual.
std::string speed_line(const std::string& cache) {
  const auto measured = saved_speed(cache);
  const MachineSpeed speed = measured.value_or(usual_speed());
  return "speed: " + speed_text(speed) + (measured ? ", measured" : ", usual values; `sialrun --calibrate` measures") +
         "\nconstants of contractions: " + costs_text(speed);
}

int calibrate(const std::string& cache) {
  if (!is_first_launched()) return exit_ok;
  if (cache.empty())
    throw EnvironmentError("there is no folder to keep what is measured", "set XDG_CACHE_HOME to a folder of your own");
  std::cout << "processor: " << printable(describe_processor()) << std::endl;
  MachineSpeed speed = measure_speed();
  std::cout << "speed: " << speed_text(speed) << std::endl;
  const MeasuredCosts measured = measure_costs();
  speed.costs = measured.costs;
  save_speed(cache, speed);
  std::cout
      << "constants of contractions: " << costs_text(speed)
      << fmt::format(
             "\nstrategies chosen for {} contractions take {:.3f} times as long as the fastest ones, at worst {:.2f}; with usual values {:.3f}, at worst {:.2f}\n",
             measured.contractions, measured.fitted.mean, measured.fitted.worst, measured.usual.mean,
             measured.usual.worst)
      << "kept in " << printable(speed_file(cache)) << std::endl;
  return exit_ok;
}

int print_manual(const CommandLine& app, const std::string& form) {
  if (!is_first_launched()) return exit_ok;
  std::cout << (form == "markdown" || form == "tests" ? options_markdown(form == "tests")
                                                      : program_manual(app.text(), form, sialx_version))
            << std::flush;
  return exit_ok;
}

/// The arguments; `-sp a:b` stands for `-I a -I b`.
std::vector<std::string> command_line(const std::vector<std::string>& given) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] != "-sp" || i + 1 == given.size()) {
      words.push_back(given[i]);
      continue;
    }
    std::istringstream dirs(given[++i]);
    for (std::string dir; std::getline(dirs, dir, ':');) words.insert(words.end(), {"-I", dir});
  }
  return words;
}

void parse(CommandLine& app, Arguments& arguments, std::vector<std::string> words) {
  app.parse(std::move(words));
  if (!app.is_given("--restart") && arguments.restart_id.empty()) return;
  // `--restart job.toml`: what can be run is the job, not the folder of a checkpoint.
  if (const std::string& folder = arguments.restart_folder;
      folder.ends_with(".toml") || folder.ends_with(".sialx") || folder.ends_with(".siox"))
    arguments.job.inputs.insert(arguments.job.inputs.begin(), std::exchange(arguments.restart_folder, {}));
  arguments.restart = arguments.restart_folder;
  arguments.job.restarts = true;
}

/// Of the job that a command line of sialrun states.
std::string stated_checkpoint_folder(const std::vector<std::string>& words) {
  Arguments arguments;
  CommandLine app;
  add_options(app, arguments);
  try {
    parse(app, arguments, command_line(words));
  } catch (const CommandLine::Error& error) { throw InputError(error.what(), "sialrun --help lists the options"); }
  arguments.job.restarts = true;  // what only its first run reads may be gone
  return checkpoint_folder_of(make_job(arguments.job, 1), arguments.restart);
}

int repeat(std::span<char* const> command) {
  try {
    return run_until_done(command, stated_checkpoint_folder);
  } catch (const SialError& error) {
    std::cerr << error_text(error, 0, 1) << std::endl;
    return exit_code_of(error);
  }
}

int run_reporting(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "--until-done") return repeat({argv + 2, argv + argc});
  const std::string blas = prepare_blas();
  Arguments arguments;
  arguments.session.device = "auto";
  CommandLine app("Runs SIAL programs: sialrun job.toml, or sialrun prog.sialx --set norb=4 --segments ao=8,8,4",
                  "sialrun");
  add_options(app, arguments);
  try {
    parse(app, arguments, command_line({argv + 1, argv + argc}));
    if (arguments.until_done)
      throw InputError("`--until-done` is not the first argument",
                       "sialrun --until-done mpirun -n 4 sialrun job.toml --checkpoint-every 30");
    if (!arguments.manual.empty()) return print_manual(app, arguments.manual);
    std::cerr << gone_options(arguments) << std::flush;
    KernelOptions& block_kernels = arguments.session.kernel_options;
    block_kernels.jit = arguments.jit == "on";
    read_device_arguments(arguments.device, arguments.session);
    block_kernels.jit_cache = kernels::default_cache_folder();
    if (is_first_launched() && block_kernels.jit) block_kernels.jit_cache = trusted_cache(block_kernels.jit_cache);
    check_kernel_options(block_kernels);
    arguments.simulated = arguments.transport == "simulated" || !arguments.simulate.empty();
    if (!arguments.simulated && !arguments.network.empty())
      (void)network_model(arguments.network);  // where there is one rank, too, it has to be right
    if (arguments.version) {
      std::cout << version_text("sialrun");
      if (arguments.verbose)
        std::cout << "processor: " << printable(describe_processor()) << '\n'
                  << blas << '\n'
                  << printable(describe_kernels(arguments.session.kernel_options)) << '\n'
                  << printable(speed_line(block_kernels.jit_cache)) << '\n'
                  << printable(describe_machine(arguments.simulate_machine)) << '\n'
                  << printable(describe_mpi()) << '\n'
                  << describe_cuda() << '\n';
      return exit_ok;
    }
    if (arguments.calibrate) return calibrate(block_kernels.jit_cache);
    // Rank 0's go to all ranks.
    if (const auto speed = is_first_launched() ? saved_speed(block_kernels.jit_cache) : std::nullopt;
        speed && speed->costs)
      block_kernels.costs = std::make_shared<kernels::ContractionCosts>(*speed->costs);
    Plugins plugins;  // before anything else starts: every rank loads them, and one speaks about what is wrong
    try {
      for (const std::string& path : arguments.plugins) plugins.load(path);
    } catch (const SialError& error) {
      if (is_first_launched()) std::cerr << error_text(error, 0, 1) << std::endl;
      return exit_input_error;
    }
    arguments.session.machine.plugins = &plugins;
    if (const std::string warning = fault_warning(); is_first_launched()) std::cerr << printable(warning) << std::flush;
    std::optional<SchemaRun> schema;
    if (!arguments.qcschema.empty()) {
      begin_schema(arguments, schema, sialx_version, std::max(1, launched_ranks()));
      before_abort = [&schema](const std::string& text, int code) { schema->fail(text, code); };
    }
    try {
      return run(arguments, app, plugins, argc, argv, blas);
    } catch (const SialError& error) {
      if (schema && is_first_launched()) schema->fail(error_text(error, 0, 1), exit_code_of(error));
      throw;
    }
  } catch (const CommandLine::HelpAsked&) { return app.show_help(); } catch (const CommandLine::Error& error) {
    if (is_first_launched())
      std::cerr << "error: " << printable(error.what()) << "\n  hint: sialrun --help lists the options\n";
    return exit_input_error;
  } catch (const ProcessLimitError& error) {
    let_first_speak(launched_rank());
    std::cerr << error_text(error, 0, 1) << std::endl;
    return exit_code_of(error);
  } catch (const SialError& error) {
    if (is_first_launched()) std::cerr << error_text(error, 0, 1) << std::endl;
    return exit_code_of(error);
  } catch (const std::bad_alloc&) {
    std::cerr << error_text(out_of_memory_beside_blocks(), 0, 1) << std::endl;
    return exit_environment_error;
  }
}

}  // namespace

[[gnu::constructor(101)]] static void look_at_stack() { require_stack(is_first_launched()); }

int main(int argc, char** argv) {
  expect_failed_writes();
  return end_output(run_reporting(argc, argv), exit_environment_error, "");
}
