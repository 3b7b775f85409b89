#include "runtime/program/session/session.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/bytecode/read.h"
#include "runtime/core/interp/blocks/given_arrays.h"
#include "runtime/core/interp/job/shared_folder.h"
#include "runtime/core/job/array_source.h"
#include "runtime/core/job/domain.h"
#include "runtime/core/job/options.h"
#include "runtime/core/job/results.h"
#include "runtime/core/job/segments.h"
#include "runtime/core/kernels/contraction/contraction_calibration.h"
#include "runtime/core/model/earlier_results.h"

namespace sial {
namespace {

PrintFormat print_format_of(const std::string& name) {
  if (name == "classic") return PrintFormat::classic;
  if (name == "classic-test") return PrintFormat::classic_test;
  if (name == "plain") return PrintFormat::plain;
  throw InputError(fmt::format("unknown print format `{}`", name), "known: classic, classic-test, plain");
}

}  // namespace

PlanSetting plan_setting(const Job& job, const SessionOptions& options) {
  PlanSetting setting;
  setting.memory_per_rank = job.memory_per_rank;
  setting.copy = options.store.copy;
  setting.deterministic = options.store.deterministic;
  setting.static_schedule = options.machine.schedule == Schedule::static_;
  setting.keep_saved = job.results_path != "none";
  setting.keep_integrals = job.keep_integrals;
  setting.spill = job.spill;
  setting.memory_of_server = options.store.memory_of_server;
  setting.orders_pardos = options.machine.pardo_order == PardoOrdering::automatic;
  setting.spill_capacity = options.machine.spill_capacity;
  setting.kernels = options.kernels;
  setting.kernel_options = options.kernel_options;
  return setting;
}

std::string error_text(const SialError& error, int rank, int ranks, const std::string& host) {
  std::string text = "error: ";
  if (!error.where().empty()) text += printable_name(error.where()) + ": ";
  text += printable_name(error.what());
  if (ranks > 1)
    text += fmt::format(" (on rank {} of {}{}{})", rank, ranks, host.empty() ? "" : ", host ", printable_name(host));
  if (!error.hint().empty()) text += "\n  hint: " + printable_name(error.hint());
  return text;
}

Session::Session(Transport& transport, const SessionOptions& options, const CompileFile& compile, std::ostream& out,
                 std::ostream& err)
    : transport_(transport), options_(options), compile_(compile), out_(out), err_(err) {}

void Session::start() {
  queue_ = make_work_queue(transport_);
  store_ = make_block_store(transport_, queue_.get(), options_.store);
  if (transport_.is_server()) return;
  KernelOptions kernel_options = options_.kernel_options;
  const int ranks_here = static_cast<int>(transport_.ranks_of_node(transport_.node()).size());
  if (const int share = kernel_options.threads > 1 ? std::max(1, static_cast<int>(std::thread::hardware_concurrency()) /
                                                                     std::max(1, ranks_here))
                                                   : 1;
      kernel_options.threads > share) {
    if (transport_.rank() == 0)
      err_ << fmt::format(
          "warning: {} threads for each of {} rank{} are more than this machine has processors; using {}\n  hint: `--threads {}`, or fewer ranks per machine\n",
          kernel_options.threads, ranks_here, ranks_here == 1 ? "" : "s", share, share);
    kernel_options.threads = share;
  }
  kernel_options.costs = costs_of_all();
  reserve_blas_memory();
  kernels_ = make_kernels(options_.kernels, store_->buffers(), kernel_options);
  make_device_of_rank();
}

/// Rank 0's constants of contractions, on all ranks: the measured ones, or those for its caches.
std::shared_ptr<const kernels::ContractionCosts> Session::costs_of_all() {
  const auto& measured = options_.kernel_options.costs;
  kernels::ContractionCosts costs = measured ? *measured : kernels::usual_costs(kernels::builtin_target().shape.width);
  if (transport_.size() > 1)
    transport_.broadcast(std::as_writable_bytes(std::span(&costs, 1)), 0, tag(CollectiveKind::other));
  return std::make_shared<kernels::ContractionCosts>(costs);
}

/// Where nobody asked for a device, one that does not start is no reason to stop.
void Session::make_device_of_rank() {
  DeviceOptions device_options = options_.device_options;
  device_options.seed += static_cast<std::uint64_t>(transport_.rank());
  device_options.code_cache = options_.kernel_options.jit_cache;
  const std::vector<int>& here = transport_.ranks_of_node(transport_.node());
  device_options.ranks_here = static_cast<int>(here.size());
  device_options.rank_here = static_cast<int>(std::find(here.begin(), here.end(), transport_.rank()) - here.begin());
  try {
    device_ = make_device(options_.device, *kernels_, device_options);
  } catch (const EnvironmentError& error) {
    if (options_.device != "auto") throw;
    err_ << fmt::format(
                "warning: {}{}; block operations run on the host\n  hint: {}\n", printable_name(error.what()),
                transport_.size() > 1 ? fmt::format(" (on rank {} of {})", transport_.rank(), transport_.size()) : "",
                error.hint())
         << std::flush;
  }
  if (!device_) return;
  options_.facts.emplace_back("device", std::string(device_->name()));
  if (device_options.batch != auto_device_batch)
    options_.facts.emplace_back("device_batch",
                                device_options.batch > 0 ? std::to_string(device_options.batch) : "off");
  choose_device_messages();
}

void Session::choose_device_messages() {
  const bool can = device_->host_reads() || transport_.reads_device_memory();
  if (options_.device_messages == DeviceMessages::direct && !can)
    throw EnvironmentError(
        "`--device-messages direct`: this MPI does not report that it sends from the memory of a GPU (MPIX_Query_cuda_support)",
        "leave it at `auto`, say `staged`, or run with an MPI that was built for it");
  device_messages_direct_ = can && options_.device_messages != DeviceMessages::staged;
  if (transport_.node_count() > 1)
    options_.facts.emplace_back("device_messages", device_messages_direct_ ? "direct" : "staged");
  if (device_messages_direct_ && !device_->host_reads())
    transport_.prepare_helper([device = device_.get()] { device->enter(); });
}

std::int64_t Session::min_block() const {
  if (options_.device_from >= 0) return options_.device_from;
  return options_.device == "auto" ? auto_device_from : 0;
}

int Session::run(const Job& job) {
  const int code = run_programs(job);
  runner_.reset();
  trace_.reset();
  checkpoints_.reset();
  release_outputs();
  own_job_.reset();
  choice_lines_.clear();
  refusal_.reset();
  return code;
}

bool Session::has_memory_for(std::int64_t bytes) {
  if (options_.servers > 0) return false;  // which have memories of their own
  if (!options_.store.spill.empty()) return true;
  PhasePeak most;
  for (const PhasePeak& peak : store_->monitor().phase_peaks()) {
    most.own = std::max(most.own, peak.own);
    most.shared = std::max(most.shared, peak.shared);
  }
  const std::int64_t mine = most.own + most.shared;
  double all = static_cast<double>(bytes);
  for (const auto& theirs : transport_.all_gather(std::as_bytes(std::span(&mine, 1)), tag(CollectiveKind::gather))) {
    std::int64_t peak = 0;
    SIAL_CHECK(theirs.size() == sizeof peak, "{} bytes of a peak", theirs.size());
    std::memcpy(&peak, theirs.data(), sizeof peak);
    all += static_cast<double>(peak);
  }
  return all < 0.9 * static_cast<double>(options_.store.memory_per_rank) * transport_.size();
}

/// On rank 0: options of `--segments`, separated by blanks.
std::string Session::best_segments(const Job& job, const std::vector<std::shared_ptr<const Module>>& programs) {
  PlanSetting memory = plan_setting(job, options_);
  memory.ranks = transport_.size();
  memory.ranks_per_node = static_cast<int>(transport_.ranks_of_node(transport_.node()).size());
  (options_.homes_on_workers ? memory.memory_nodes : memory.servers) = options_.servers;
  SavedArrays saved;
  try {
    saved = saved_arrays(job);
  } catch (const SialError&) {
    return {};  // all ranks say so when they restore
  }
  const TimeSetting time = options_.time ? *options_.time
                                         : TimeSetting{memory.ranks, transport_.node_count(), job.keep_integrals,
                                                       speed_of_this_machine(options_.kernel_options.jit_cache)};
  SegmentChoice choice = choose_segments(job, programs, saved, memory, time);
  predicted_ = std::move(choice.predicted);
  if (!choice.refusal.empty())
    refusal_.emplace(
        choice.refusal,
        "more ranks, a larger `--memory`, or a disk for blocks with `--spill DIR`; `--dry-run` says how much is enough",
        choice.refused_at);
  choice_lines_.insert(choice_lines_.end(), choice.lines.begin(), choice.lines.end());
  return fmt::format("{}", fmt::join(choice.options, " "));
}

/// Arrays that the science would make and no program declares: one may be large.
static void drop_unused_arrays(JobData& data, std::span<const std::shared_ptr<const Module>> programs) {
  std::set<std::string_view> used;
  for (const auto& program : programs)
    for (const ArrayRow& a : program->arrays)
      if (a.predefined) used.insert(a.name);
  std::erase_if(data.arrays, [&](const auto& item) {
    return item.second.fill && !used.contains(item.first) && domain().gives_array(data, item.first);
  });
}

void read_given_arrays(Job& job, std::span<const std::shared_ptr<const Module>> programs) {
  if (!job.data.sources.empty()) read_whole_arrays(job.data, programs);
  drop_unused_arrays(job.data, programs);
  const auto is_made = [](const auto& item) { return static_cast<bool>(item.second.fill); };
  if (std::ranges::any_of(job.data.arrays, is_made)) make_arrays(job.data, arrays_read_in_parts(programs));
}

const Job& Session::with_arrays(const Job& stated, std::span<const std::shared_ptr<const Module>> programs) {
  const auto own = [&]() -> Job& { return own_job_ ? *own_job_ : own_job_.emplace(stated); };
  const auto is_made = [](const auto& item) { return static_cast<bool>(item.second.fill); };
  if (lacks_values(stated, programs)) take_extents(own(), programs);
  if (!stated.data.sources.empty() || std::ranges::any_of(stated.data.arrays, is_made))
    read_given_arrays(own(), programs);
  return own_job_ ? *own_job_ : stated;
}

const Job& Session::with_segments(const Job& stated, const std::string& options) {
  std::istringstream words(options);
  for (std::string option; words >> option;) {
    if (!own_job_) own_job_ = stated;
    apply_segments(*own_job_, option);
  }
  return own_job_ ? *own_job_ : stated;
}

const Job& Session::with_choices_of(const CheckpointIndex& index, const Job& stated) {
  if (!own_job_) own_job_ = stated;
  for (std::string& line : follow_checkpoint(index, *own_job_)) choice_lines_.push_back(std::move(line));
  return *own_job_;
}

/// Rank 0's code and text, on all ranks.
int Session::share(int code, std::string& text) {
  transport_.broadcast(std::as_writable_bytes(std::span(&code, 1)), 0, tag(CollectiveKind::other));
  transport_.broadcast_text(text, 0, tag(CollectiveKind::other));
  return code;
}

int Session::run_programs(const Job& given) {
  if (transport_.rank() == 0)
    for (const std::string& text : given.warnings) err_ << "warning: " << printable_name(text) << std::endl;
  std::vector<std::shared_ptr<const Module>> programs;
  if (const int code = load_programs(given, programs); code != exit_ok) return code;
  const Job& stated = with_arrays(given, programs);
  if (transport_.rank() == 0) warn_of_order(stated);
  std::string index, previous, segments;
  int code = exit_ok;
  if (transport_.rank() == 0) {
    code = check_outputs(stated, programs);
    if (code == exit_ok && options_.checkpoints) code = read_checkpoint(checkpoint_folder_of(stated), index, previous);
  }
  if (code = share(code, index); code != exit_ok) return code;
  std::optional<CheckpointIndex> from, before;
  if (options_.restart) {
    const std::string folder = checkpoint_folder_of(stated);
    from = checkpoint_index_from(index, folder);
    share(exit_ok, previous);
    if (!previous.empty()) {
      before = checkpoint_index_from(previous, folder);
      from = undamaged(*from, *before, folder);
    }
  }
  const Job& begun = from ? with_choices_of(*from, stated) : stated;
  if (transport_.rank() == 0) {
    segments = best_segments(begun, programs);
    if (refusal_ && !from) {  // what is left of a continued job may need less
      err_ << error_text(*refusal_, 0, 1) << std::endl;
      code = exit_environment_error;
    }
  }
  if (code = share(code, segments); code != exit_ok) return code;
  const Job& job = with_segments(begun, segments);
  if (!job.values_of_arrays.empty()) take_extents(*own_job_, programs);
  if (transport_.rank() == 0)
    for (const auto& lines : {job.segment_choices, choice_lines_})
      for (const std::string& line : lines) err_ << line << std::endl;
  if (options_.catch_stop_signals) {
    options_.catch_stop_signals();
    transport_.barrier(tag(CollectiveKind::other));  // a signal to all ranks finds none of them without its handler
  }
  if (sequence_ > 0) {  // what an earlier job kept is of another molecule
    transport_.barrier(tag(CollectiveKind::other));
    store_->kept().forget_kept();
    transport_.barrier(tag(CollectiveKind::other));
  }
  state_ = std::make_unique<RankState>();
  state_->phase = phase_;
  const bool results = job.results_path != "none";
  const bool run_json = job.run_json_path != "none";
  JobRunOptions run_options;
  run_options.machine = options_.machine;
  run_options.machine.look_ahead.blocks = job.look_ahead;
  run_options.machine.keep_integrals = job.keep_integrals;
  run_options.machine.print_format = print_format_of(job.print_format);
  // By line: of simulated ranks, of which there may be many, only where it is asked for.
  run_options.machine.profile =
      options_.text_stats || options_.explain_kernels || (run_json && !options_.machine.cost_model);
  if (device_) device_->take_times(run_options.machine.profile && options_.device_times);
  run_options.keep_saved = results || options_.take_results;
  run_options.statics_of_all = static_cast<bool>(options_.take_results);
  if (run_json) run_options.earlier_run = (std::filesystem::path(job.output_dir) / job.run_json_path).string();
  if (options_.checkpoints) {
    const std::string folder = checkpoint_folder_of(job);
    JobIdentity identity = identity_of(job, programs, options_);
    if (from) code = accept_checkpoint(*from, identity, folder);
    if (code != exit_ok) return code;
    checkpoints_.emplace(CheckpointOptions{folder, job.checkpoint_local, job.checkpoint_every, job.time_limit,
                                           options_.stop_after, options_.stop_signal, options_.version},
                         transport_, err_, std::move(identity));
    // Refused before anything is computed. Without one of these options only a signal saves the job.
    if (job.checkpoint_every != CheckpointOptions::never || job.time_limit > 0 || options_.stop_after > 0)
      check_checkpoint_folders(transport_, folder, job.checkpoint_local, tag(CollectiveKind::other));
    if (checkpoint_lock_) checkpoints_->keep_lock(std::move(*checkpoint_lock_));
    if (from) checkpoints_->continue_from(*from, std::move(before));
  }
  if (!options_.trace.empty()) {
    transport_.barrier(tag(CollectiveKind::other));  // the same moment on all ranks
    trace_.emplace(options_.trace_spans, transport_.now());
  }
  Trace* const timeline = trace_ ? &*trace_ : nullptr;
  store_->monitor().set_trace(timeline);
  const Environment environment{job.data,
                                transport_,
                                *store_,
                                *queue_,
                                *kernels_,
                                out_,
                                err_,
                                *state_,
                                checkpoints_ ? &*checkpoints_ : nullptr,
                                timeline,
                                device_.get(),
                                options_.device_options.direct,
                                min_block(),
                                device_messages_direct_,
                                options_.device_deferred_puts};
  if (!from) restore_earlier(job);
  runner_ = std::make_unique<JobRunner>(environment, run_options, sequence_);
  try {
    if (from) runner_->restore(CheckpointFiles(*from, checkpoints_->folder()));
    runner_->run(programs);
  } catch (const JobStopped& stopped) {
    store_->monitor().set_trace(nullptr);
    if (trace_) runner_->write_trace(options_.trace);
    return stopped.saved ? exit_stopped : exit_environment_error;
  }
  sequence_ += static_cast<std::int32_t>(programs.size());
  phase_ = state_->phase;
  segments_ = named_segments(job.data);
  if (results) write_results(job);
  std::optional<EnvironmentError> missing;
  if (transport_.rank() == 0)
    missing = domain().write_files(job, state_->saved_statics, checkpoints_ && checkpoints_->has_one());
  if (options_.take_results) options_.take_results(*runner_, *state_, store_->snapshots());
  if (run_json || options_.text_stats || options_.explain_kernels) write_statistics(job);
  store_->monitor().set_trace(nullptr);
  if (trace_) runner_->write_trace(options_.trace);
  note_replaced();
  if (missing) throw EnvironmentError(*missing);
  store_->snapshots().drop_labels_except({});
  if (checkpoints_) checkpoints_->job_done();
  return exit_ok;
}

/// Seconds since 1970; the environment may fix them, so that two runs can write the same file.
static std::int64_t creation_time() {
  if (const char* fixed = std::getenv("SOURCE_DATE_EPOCH")) {
    std::int64_t seconds = 0;
    const char* end = fixed + std::strlen(fixed);
    if (const auto [at, error] = std::from_chars(fixed, end, seconds);
        error == std::errc() && at == end && seconds >= 0 && seconds < 253402300800)
      return seconds;
  }
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void Session::write_results(const Job& job) {
  warn_different_statics();
  const bool writes = transport_.rank() == 0;
  std::optional<ResultsWriter> writer;
  if (writes) {
    writer.emplace((std::filesystem::path(job.output_dir) / job.results_path).string());
    const std::vector<ProgramDescription> descriptions = runner_->descriptions();
    SIAL_CHECK(descriptions.size() == runner_->outcomes().size(), "{} programs with {} outcomes", descriptions.size(),
               runner_->outcomes().size());
    const auto stamp = job.settings.find(OptionId::stamp);
    writer->about(options_.version, creation_time(), named_segments(job.data),
                  stamp == job.settings.end() ? std::string() : stamp->second);
    domain().write_system(writer->file(), job.data);
    for (std::size_t i = 0; i < descriptions.size(); ++i) {
      const ProgramOutcome& outcome = runner_->outcomes()[i];
      writer->program(descriptions[i]);
      for (const auto& [name, value] : outcome.scalars) writer->scalar(name, value);
      for (const auto& [name, value] : outcome.ints) writer->integer(name, value);
      for (const auto& [name, array] : outcome.statics) writer->static_array(name, array);
    }
    for (const auto& [label, value] : state_->saved_scalars) writer->saved_scalar(label, value);
    for (const auto& [label, array] : state_->saved_statics) writer->saved_static(label, array);
    for (const Domain::Property& p : domain().properties(job, state_->saved_statics))
      writer->property(p.name, p.values, p.units);
  }
  for (const auto& saved : state_->saved_remote) {
    const std::string& label = saved.first;
    const bool asked = std::find(job.saved_arrays.begin(), job.saved_arrays.end(), label) != job.saved_arrays.end();
    runner_->write_saved(label, asked, writes ? &*writer : nullptr);
  }
  if (writes) writer->finish();
}

void Session::write_statistics(const Job& job) {
  JobStats stats = runner_->collect_stats();
  stats.facts.numa = numa_facts(job);
  if (transport_.rank() != 0) return;
  stats.facts.version = options_.version;
  stats.facts.nodes = transport_.node_count();
  stats.facts.servers = options_.servers;
  stats.facts.options = options_.facts;
  for (const auto& [id, text] : job.settings)
    if (is_recorded(option(id), true, text)) stats.facts.options.emplace_back(option(id).record.key, text);
  stats.facts.options.emplace_back("memory", std::to_string(job.memory_per_rank));
  for (std::size_t i = 0; i < predicted_.size() && predicted_.size() == stats.facts.programs.size(); ++i)
    stats.facts.programs[i].predicted_seconds = predicted_[i].seconds;
  stats.facts.machine = machine_facts();
  if (options_.text_stats) print_stats(stats, err_);
  if (options_.explain_kernels) print_kernels(stats, err_);
  if (job.run_json_path != "none")
    write_stats_json(stats, (std::filesystem::path(job.output_dir) / job.run_json_path).string());
}

}  // namespace sial
