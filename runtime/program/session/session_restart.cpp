// What a session goes on from: a checkpoint of the same job, and results of earlier jobs.

#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "runtime/core/base/names.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/job/domain.h"
#include "runtime/core/job/results.h"
#include "runtime/core/job/segments.h"
#include "runtime/core/model/earlier_results.h"
#include "runtime/program/session/session.h"

namespace sial {
namespace {

void warn_of_damage(const std::string& problem, const CheckpointIndex& previous, std::ostream& err) {
  err << printable(fmt::format("warning: {}; the one before it is used, of {} ({})", problem, previous.written,
                               previous.place))
      << std::endl;
}

}  // namespace

CheckpointPair read_checkpoints(const std::string& folder, std::ostream& err) {
  std::optional<CheckpointIndex> earlier = read_previous_index(folder);
  try {
    CheckpointPair found;
    found.last = checkpoint_index_from(read_checkpoint_index(folder),
                                       (std::filesystem::path(folder) / checkpoint_index_name).string());
    if (earlier && earlier->serial < found.last.serial) found.previous = std::move(earlier);
    return found;
  } catch (const SialError& error) {
    if (!earlier) throw;
    warn_of_damage(error.what(), *earlier, err);
  }
  return {std::move(*earlier), {}};
}

/// On rank 0: the text of the index to go on from, and of the one before it. Without `--restart` none is read, and what
/// lies in the folder is said or refused.
int Session::read_checkpoint(const std::string& folder, std::string& text, std::string& previous) {
  const std::string path = (std::filesystem::path(folder) / checkpoint_index_name).string();
  if (options_.restart) {
    try {
      const CheckpointPair found = read_checkpoints(folder, err_);
      text = to_text(found.last);
      if (found.previous) previous = to_text(*found.previous);
    } catch (const SialError& error) {
      err_ << error_text(error, 0, 1) << std::endl;
      return exit_input_error;
    }
    return exit_ok;
  }
  try {
    if (std::error_code ignored; std::filesystem::exists(path, ignored)) {
      const std::string found = read_checkpoint_index(folder);
      if (!is_checkpoint_index(found)) {
        err_
            << printable(fmt::format(
                   "error: `{}` is no index of a checkpoint, and a checkpoint would replace it\n  hint: choose another folder with `--checkpoint-dir`",
                   path))
            << std::endl;
        return exit_input_error;
      }
      const CheckpointIndex index = checkpoint_index_from(found, path);
      err_
          << printable(fmt::format(
                 "note: `{}` holds the checkpoint of a job that did not reach its end ({}, {}); the first one of this run replaces it\n"
                 "  hint: `--restart` continues that job",
                 folder, index.written, index.place))
          << std::endl;
    }
  } catch (const SialError&) {
    // A damaged checkpoint is replaced.
  }
  return exit_ok;
}

/// Collective: the last checkpoint, if all its files are what they were, or the one before it.
CheckpointIndex Session::undamaged(const CheckpointIndex& last, const CheckpointIndex& previous,
                                   const std::string& folder) {
  const CheckpointFiles files(last, folder);
  std::string problem;
  for (auto f = static_cast<std::size_t>(transport_.rank()); f < files.count() && problem.empty();
       f += static_cast<std::size_t>(transport_.size()))
    problem = files.problem_of(f);
  for (const auto& theirs : transport_.all_gather(std::as_bytes(std::span(problem)), tag(CollectiveKind::gather)))
    if (problem.empty()) problem.assign(reinterpret_cast<const char*>(theirs.data()), theirs.size());
  if (problem.empty()) return last;
  if (transport_.rank() == 0) warn_of_damage(problem, previous, err_);
  return previous;
}

int Session::accept_checkpoint(const CheckpointIndex& index, const JobIdentity& identity, const std::string& folder) {
  int code = exit_ok;
  if (transport_.rank() == 0) {
    try {
      check_restart(index, identity, folder, options_);
      err_ << printable_name(fmt::format("continuing from the checkpoint of {} ({})", index.written, index.place)) +
                  "\n"
           << std::flush;
    } catch (const SialError& error) {
      err_ << error_text(error, 0, 1) << std::endl;
      code = exit_input_error;
    }
  }
  std::string nothing;
  return share(code, nothing);
}

/// What a job leaves to us depends on ranks, memory and machine, and what the checkpoint holds on what was chosen then.
/// Orbitals to begin with were read by its first run only.
std::vector<std::string> follow_checkpoint(const CheckpointIndex& index, Job& job) {
  const std::vector<std::string> segments = domain().earlier_segments(job, segments_of(index.job));
  for (const std::string name : {"keep_quartets", "guess_orbitals"})
    if (const auto had = index.job.ints.find(name); had != index.job.ints.end() && !job.given_values.contains(name))
      apply_set(job, name + "=" + had->second);
  for (const std::string& option : segments) apply_segments(job, option);
  if (segments.empty()) return {};
  return {earlier_segments_line(segments, fmt::format("the checkpoint of {}", printable_name(index.written)))};
}

JobIdentity identity_of(const Job& job, std::span<const std::shared_ptr<const Module>> programs,
                        const SessionOptions& options) {
  JobIdentity identity = identity_of(job.data, job.programs, programs);
  identity.domain = domain().identity(job.data);
  if (options.machine.plugins) identity.plugins = options.machine.plugins->files();
  return identity;
}

void check_restart(const CheckpointIndex& index, const JobIdentity& identity, const std::string& folder,
                   const SessionOptions& options) {
  const std::string path = (std::filesystem::path(folder) / checkpoint_index_name).string();
  const char* hint = "restart with what the checkpoint was made with, or start the job again without `--restart`";
  const std::string what = fmt::format("the checkpoint `{}` of {}", path, index.written);
  if (!options.restart_id.empty() && options.restart_id != index.job_id)
    throw InputError(fmt::format("{} is that of job `{}`, not of `{}`", what, index.job_id, options.restart_id),
                     "name the folder of the other job's checkpoint with `--restart`");
  if (index.version != options.version)
    throw InputError(
        fmt::format("{} was written by sialrun {}, and this is sialrun {}", what, index.version, options.version),
        hint);
  if (const std::string differs = difference(index.job, identity); !differs.empty()) {
    const std::string segments = differs.starts_with("the segments")
                                     ? segment_options(segments_of(index.job), segments_of(identity))
                                     : std::string();
    throw InputError(
        fmt::format("{} does not belong to this job: {}", what, differs),
        segments.empty()
            ? hint
            : fmt::format(
                  "add the segments of the checkpoint to the command line (those that are left automatic follow it): `{}`",
                  segments));
  }
  if (index.files.empty() || index.program < 0 || static_cast<std::size_t>(index.program) >= identity.programs.size())
    throw InputError(what + " names no program to go on with", hint);
}

void Session::restore_earlier(const Job& job) {
  for (const std::string& path : job.restore_files) {
    ResultsReader reader(path);
    if (transport_.rank() == 0)
      if (const std::string difference = domain().difference(reader.file(), job.data); !difference.empty())
        err_
            << printable(fmt::format(
                   "warning: the results to restore are those of another molecule: {}\n  hint: what is restored from `{}` is a first guess here, not a result",
                   difference, path))
            << std::endl;
    if (const std::string options = segment_options(reader.segments(), named_segments(job.data)); !options.empty())
      state_->restored_segments = options;
    for (const auto& [label, value] : reader.saved_scalars()) state_->saved_scalars[label] = value;
    for (auto& [label, array] : reader.saved_statics()) state_->saved_statics[label] = std::move(array);
    for (const std::string& label : reader.saved_arrays()) {
      state_->saved_remote[label] = reader.layout(label);
      store_->snapshots().load_label(label);  // which may have no block
      // Every rank reads its share of the blocks.
      const std::vector<BlockIndex> blocks = reader.blocks(label);
      for (std::size_t i = static_cast<std::size_t>(transport_.rank()); i < blocks.size();
           i += static_cast<std::size_t>(transport_.size()))
        store_->snapshots().load_saved_block(label, blocks[i], reader.block(label, blocks[i]));
    }
  }
  for (const auto& [label, array] : job.saved_before) state_->saved_statics[label] = array;
  for (const auto& [label, array] : job.saved_blocks_before) {
    state_->saved_remote[label] = array->layout;
    store_->snapshots().load_label(label);
    for (const auto& [block, values] : array->blocks) store_->snapshots().load_saved_block(label, block, values);
  }
  if (!job.restore_files.empty() || !job.saved_blocks_before.empty())
    store_->synchronization().barrier({sequence_, -1});
}

}  // namespace sial
