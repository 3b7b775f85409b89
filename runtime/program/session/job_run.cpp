#include "runtime/program/session/job_run.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <span>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error_text.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/interp/job/saved_values.h"
#include "runtime/core/interp/job/shared_folder.h"
#include "runtime/core/job/domain.h"
#include "runtime/core/job/options.h"
#include "runtime/core/job/results.h"
#include "runtime/core/job/segments.h"
#include "runtime/core/model/earlier_results.h"
#include "runtime/program/session/numa.h"
#include "runtime/program/session/restart.h"
#include "runtime/program/session/stated_names.h"

namespace sial {
namespace {

PrintFormat print_format_of(const std::string& name) {
  if (name == "classic") return PrintFormat::classic;
  if (name == "classic-test") return PrintFormat::classic_test;
  if (name == "plain") return PrintFormat::plain;
  throw InputError(fmt::format("unknown print format `{}`", name), "known: classic, classic-test, plain");
}

/// Seconds since 1970; the environment may fix them, so that two runs can write the same file.
std::int64_t creation_time() {
  if (const char* fixed = std::getenv("SOURCE_DATE_EPOCH")) {
    std::int64_t seconds = 0;
    const char* end = fixed + std::strlen(fixed);
    if (const auto [at, error] = std::from_chars(fixed, end, seconds);
        error == std::errc() && at == end && seconds >= 0 && seconds < 253402300800)
      return seconds;
  }
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

}  // namespace

std::string JobRun::checkpoint_folder() const { return checkpoint_folder_of(job(), tools_.options.restart); }

int JobRun::prepare() {
  if (tools_.is_first())
    for (const std::string& text : stated_.warnings) tools_.err << "warning: " << printable_name(text) << std::endl;
  Programs programs;
  if (const int code = load_programs(tools_, compile_, stated_, programs); code != exit_ok) return code;
  prepared_.emplace(stated_, std::move(programs));
  prepared_->take_ranges();
  prepared_->read_arrays();
  if (tools_.is_first()) warn_of_order(job(), tools_.err);
  if (const int code = find_checkpoint(); code != exit_ok) return code;
  if (from_) prepared_->follow(*from_);
  return choose_segments_of_job();
}

/// Claims the outputs, and reads the checkpoint that the job goes on from.
int JobRun::find_checkpoint() {
  const SessionOptions& options = tools_.options;
  const std::string folder = checkpoint_folder();
  std::string index, previous;
  const auto look = [&] {
    outputs_.claim(job(), prepared_->programs(), options, tools_.err);
    if (!options.checkpoints) return;
    if (!options.restart) return look_at_checkpoint(folder, tools_.err);
    const CheckpointPair found = read_checkpoints(folder, tools_.err);
    index = to_text(found.last);
    if (found.previous) previous = to_text(*found.previous);
  };
  if (const int code = tools_.on_first(look, index); code != exit_ok || !options.restart) return code;
  from_ = checkpoint_index_from(index, folder);
  tools_.share(exit_ok, previous);
  if (previous.empty()) return exit_ok;
  before_ = checkpoint_index_from(previous, folder);
  from_ = undamaged(tools_, *from_, *before_, folder);
  return exit_ok;
}

/// On rank 0. Throws EnvironmentError where the job certainly does not get to its end.
SegmentChoice JobRun::plan() const {
  const SessionOptions& options = tools_.options;
  Transport& transport = tools_.transport;
  PlanSetting memory = plan_setting(job(), options);
  memory.ranks = transport.size();
  memory.ranks_per_node = static_cast<int>(transport.ranks_of_node(transport.node()).size());
  (options.homes_on_workers ? memory.memory_nodes : memory.servers) = options.servers;
  SavedArrays saved;
  try {
    saved = saved_arrays(job());
  } catch (const SialError&) {
    return {};  // all ranks say so when they restore
  }
  const TimeSetting time = options.time ? *options.time
                                        : TimeSetting{memory.ranks, transport.node_count(), job().keep_integrals,
                                                      speed_of_this_machine(options.kernel_options.jit_cache)};
  SegmentChoice choice = choose_segments(job(), prepared_->programs(), saved, memory, time);
  if (choice.refusal.empty() || from_) return choice;  // what is left of a continued job may need less
  throw EnvironmentError(
      choice.refusal,
      "more ranks, a larger `--memory`, or a disk for blocks with `--spill DIR`; `--dry-run` says how much is enough",
      choice.refused_at);
}

int JobRun::choose_segments_of_job() {
  SegmentChoice choice;
  std::string segments;
  const auto choose = [&] {
    choice = plan();
    segments = fmt::format("{}", fmt::join(choice.options, " "));
  };
  if (const int code = tools_.on_first(choose, segments); code != exit_ok) return code;
  predicted_ = std::move(choice.predicted);
  prepared_->choose(words_of(segments), choice.lines);
  if (tools_.is_first()) prepared_->say_choices(tools_.err);
  return exit_ok;
}

int JobRun::begin_checkpoints() {
  const SessionOptions& options = tools_.options;
  if (!options.checkpoints) return exit_ok;
  const std::string folder = checkpoint_folder();
  JobIdentity identity = identity_of(job(), prepared_->programs(), options);
  if (from_) {
    std::string nothing;
    const auto accept = [&] {
      check_restart(*from_, identity, folder, options);
      tools_.err << printable_name(
                        fmt::format("continuing from the checkpoint of {} ({})", from_->written, from_->place)) +
                        "\n"
                 << std::flush;
    };
    if (const int code = tools_.on_first(accept, nothing); code != exit_ok) return code;
  }
  checkpoints_.emplace(CheckpointOptions{folder, job().checkpoint_local, job().checkpoint_every, job().time_limit,
                                         options.stop_after, options.stop_signal, options.version},
                       tools_.transport, tools_.err, std::move(identity));
  // Refused before anything is computed. Without one of these options only a signal saves the job.
  if (job().checkpoint_every != CheckpointOptions::never || job().time_limit > 0 || options.stop_after > 0)
    check_checkpoint_folders(tools_.transport, folder, job().checkpoint_local, tools_.tag(CollectiveKind::other));
  if (auto lock = outputs_.take_checkpoint_lock()) checkpoints_->keep_lock(std::move(*lock));
  if (from_) checkpoints_->continue_from(*from_, std::move(before_));
  return exit_ok;
}

void JobRun::begin_trace() {
  if (!tools_.options.trace.empty()) {
    tools_.transport.barrier(tools_.tag(CollectiveKind::other));  // the same moment on all ranks
    trace_.emplace(tools_.options.trace_spans, tools_.transport.now());
  }
  tools_.store->monitor().set_trace(trace_ ? &*trace_ : nullptr);
}

JobRunOptions JobRun::run_options() const {
  const SessionOptions& options = tools_.options;
  const bool run_json = job().run_json_path != "none";
  JobRunOptions run;
  run.machine = options.machine;
  run.machine.look_ahead.blocks = job().look_ahead;
  run.machine.keep_integrals = job().keep_integrals;
  run.machine.print_format = print_format_of(job().print_format);
  // By line: of simulated ranks, of which there may be many, only where it is asked for.
  run.machine.profile = options.text_stats || options.explain_kernels || (run_json && !options.machine.cost_model);
  run.keep_saved = job().results_path != "none" || options.take_results;
  run.statics_of_all = static_cast<bool>(options.take_results);
  if (run_json) run.earlier_run = (std::filesystem::path(job().output_dir) / job().run_json_path).string();
  return run;
}

int JobRun::run() {
  if (const int code = prepare(); code != exit_ok) return code;
  const SessionOptions& options = tools_.options;
  Transport& transport = tools_.transport;
  BlockStore& store = *tools_.store;
  if (options.catch_stop_signals) {
    options.catch_stop_signals();
    transport.barrier(tools_.tag(CollectiveKind::other));  // a signal to all ranks finds none without its handler
  }
  if (tools_.programs_run > 0) {  // what an earlier job kept is of another molecule
    transport.barrier(tools_.tag(CollectiveKind::other));
    store.integral_cache().clear();
    transport.barrier(tools_.tag(CollectiveKind::other));
  }
  state_.phase = tools_.barriers;
  const JobRunOptions run = run_options();
  if (tools_.device) tools_.device->take_times(run.machine.profile && options.device_times);
  if (const int code = begin_checkpoints(); code != exit_ok) return code;
  begin_trace();
  const Environment environment{job().data,
                                transport,
                                store,
                                *tools_.queue,
                                *tools_.block_kernels,
                                tools_.out,
                                tools_.err,
                                state_,
                                checkpoints_ ? &*checkpoints_ : nullptr,
                                trace_ ? &*trace_ : nullptr,
                                tools_.device.get(),
                                options.device_options.direct,
                                tools_.min_block(),
                                tools_.device_messages_direct,
                                options.device_deferred_puts};
  if (!from_) restore_earlier(tools_, job(), state_);
  runner_ = std::make_unique<JobRunner>(environment, run, tools_.programs_run);
  const auto end_trace = [&] {
    store.monitor().set_trace(nullptr);
    if (trace_) runner_->write_trace(options.trace);
  };
  try {
    if (from_) runner_->restore(CheckpointFiles(*from_, checkpoints_->folder()));
    runner_->run(prepared_->programs());
  } catch (const JobStopped& stopped) {
    end_trace();
    return stopped.saved ? exit_stopped : exit_environment_error;
  }
  tools_.programs_run += static_cast<std::int32_t>(prepared_->programs().size());
  tools_.barriers = state_.phase;
  if (job().results_path != "none") write_results();
  std::optional<EnvironmentError> missing;
  if (tools_.is_first())
    missing = domain().write_files(job(), state_.saved_statics, checkpoints_ && checkpoints_->has_one());
  if (options.take_results) options.take_results(*runner_, state_, store.snapshots());
  if (job().run_json_path != "none" || options.text_stats || options.explain_kernels) write_statistics();
  end_trace();
  outputs_.say_replaced(tools_.err);
  if (missing) throw EnvironmentError(*missing);
  store.snapshots().drop_labels_except({});
  if (checkpoints_) checkpoints_->job_done();
  return exit_ok;
}

void JobRun::release_outputs() {
  if (checkpoints_) checkpoints_->release_lock();
  outputs_.release();
}

void JobRun::write_results() {
  warn_of_different_statics();
  const bool writes = tools_.is_first();
  std::optional<ResultsWriter> writer;
  if (writes) {
    writer.emplace((std::filesystem::path(job().output_dir) / job().results_path).string());
    const std::vector<ProgramDescription> descriptions = runner_->descriptions();
    SIAL_CHECK(descriptions.size() == runner_->outcomes().size(), "{} programs with {} outcomes", descriptions.size(),
               runner_->outcomes().size());
    const auto stamp = job().settings.find(OptionId::stamp);
    writer->about(tools_.options.version, creation_time(), named_segments(job().data),
                  stamp == job().settings.end() ? std::string() : stamp->second);
    domain().write_system(writer->file(), job().data);
    for (std::size_t i = 0; i < descriptions.size(); ++i) {
      const ProgramOutcome& outcome = runner_->outcomes()[i];
      writer->program(descriptions[i]);
      for (const auto& [name, value] : outcome.scalars) writer->scalar(name, value);
      for (const auto& [name, value] : outcome.ints) writer->integer(name, value);
      for (const auto& [name, array] : outcome.statics) writer->static_array(name, array);
    }
    for (const auto& [label, value] : state_.saved_scalars) writer->saved_scalar(label, value);
    for (const auto& [label, array] : state_.saved_statics) writer->saved_static(label, array);
    for (const Domain::Property& p : domain().properties(job(), state_.saved_statics))
      writer->property(p.name, p.values, p.units);
  }
  for (const auto& saved : state_.saved_remote) {
    const std::string& label = saved.first;
    const bool asked =
        std::find(job().saved_arrays.begin(), job().saved_arrays.end(), label) != job().saved_arrays.end();
    runner_->write_saved(label, asked, writes ? &*writer : nullptr);
  }
  if (writes) writer->finish();
}

void JobRun::write_statistics() {
  JobStats stats = runner_->collect_stats();
  stats.facts.numa = numa_facts(tools_, job());
  if (!tools_.is_first()) return;
  stats.facts.version = tools_.options.version;
  stats.facts.nodes = tools_.transport.node_count();
  stats.facts.servers = tools_.options.servers;
  stats.facts.options = tools_.options.facts;
  for (const auto& [id, text] : job().settings)
    if (is_recorded(option(id), true, text)) stats.facts.options.emplace_back(option(id).record.key, text);
  stats.facts.options.emplace_back("memory", std::to_string(job().memory_per_rank));
  for (std::size_t i = 0; i < predicted_.size() && predicted_.size() == stats.facts.programs.size(); ++i)
    stats.facts.programs[i].predicted_seconds = predicted_[i].seconds;
  stats.facts.machine = machine_facts();
  if (tools_.options.text_stats) print_stats(stats, tools_.err);
  if (tools_.options.explain_kernels) print_kernels(stats, tools_.err);
  if (job().run_json_path != "none")
    write_stats_json(stats, (std::filesystem::path(job().output_dir) / job().run_json_path).string());
}

void JobRun::warn_of_different_statics() {
  std::vector<std::uint64_t> mine;
  for (const auto& [label, array] : state_.saved_statics) mine.push_back(hash_of(array));
  const auto all = tools_.transport.all_gather(std::as_bytes(std::span(mine)), tools_.tag(CollectiveKind::gather));
  if (!tools_.is_first()) return;
  std::size_t i = 0;
  for (const auto& [label, array] : state_.saved_statics) {
    for (const std::vector<std::byte>& theirs : all) {
      std::uint64_t hash = 0;
      if (theirs.size() >= (i + 1) * sizeof hash) std::memcpy(&hash, &theirs[i * sizeof hash], sizeof hash);
      if (hash != mine[i]) {
        tools_.err
            << printable_name(fmt::format(
                   "warning: the saved static array \"{}\" differs between ranks; the results file takes rank 0's",
                   label))
            << std::endl;
        break;
      }
    }
    ++i;
  }
}

}  // namespace sial
