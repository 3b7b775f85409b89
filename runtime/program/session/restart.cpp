#include "runtime/program/session/restart.h"

#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "runtime/core/base/names.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/job/domain.h"
#include "runtime/core/job/results.h"
#include "runtime/core/job/segments.h"
#include "runtime/core/model/earlier_results.h"

namespace sial {
namespace {

/// Of the folder or the index in it.
std::string checkpoint_folder(const std::string& path) {
  const std::filesystem::path p(path);
  if (p.filename() != checkpoint_index_name) return path;
  return p.has_parent_path() ? p.parent_path().string() : ".";
}

void warn_of_damage(const std::string& problem, const CheckpointIndex& previous, std::ostream& err) {
  err << printable(fmt::format("warning: {}; the one before it is used, of {} ({})", problem, previous.written,
                               previous.place))
      << std::endl;
}

}  // namespace

std::string checkpoint_folder_of(const Job& job, const std::optional<std::string>& restart) {
  if (restart && !restart->empty()) return checkpoint_folder(*restart);
  return (std::filesystem::path(job.output_dir) / job.checkpoint_dir).lexically_normal().string();
}

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

void look_at_checkpoint(const std::string& folder, std::ostream& err) {
  const std::string path = (std::filesystem::path(folder) / checkpoint_index_name).string();
  std::string found;
  try {
    if (std::error_code ignored; !std::filesystem::exists(path, ignored)) return;
    found = read_checkpoint_index(folder);
  } catch (const SialError&) { return; }  // one that cannot be read is replaced, as a damaged one
  if (!is_checkpoint_index(found))
    throw InputError(fmt::format("`{}` is no index of a checkpoint, and a checkpoint would replace it", path),
                     "choose another folder with `--checkpoint-dir`");
  try {
    const CheckpointIndex index = checkpoint_index_from(found, path);
    err << printable(fmt::format(
               "note: `{}` holds the checkpoint of a job that did not reach its end ({}, {}); the first one of this run replaces it\n"
               "  hint: `--restart` continues that job",
               folder, index.written, index.place))
        << std::endl;
  } catch (const SialError&) {
    // A damaged checkpoint is replaced.
  }
}

CheckpointIndex undamaged(RankTools& tools, const CheckpointIndex& last, const CheckpointIndex& previous,
                          const std::string& folder) {
  Transport& transport = tools.transport;
  const CheckpointFiles files(last, folder);
  std::string problem;
  for (auto f = static_cast<std::size_t>(transport.rank()); f < files.count() && problem.empty();
       f += static_cast<std::size_t>(transport.size()))
    problem = files.problem_of(f);
  for (const auto& theirs : transport.all_gather(std::as_bytes(std::span(problem)), tools.tag(CollectiveKind::gather)))
    if (problem.empty()) problem.assign(reinterpret_cast<const char*>(theirs.data()), theirs.size());
  if (problem.empty()) return last;
  if (tools.is_first()) warn_of_damage(problem, previous, tools.err);
  return previous;
}

/// What a job leaves to us depends on ranks, memory and machine, and what the checkpoint holds on what was chosen then.
/// Orbitals to begin with were read by its first run only.
std::vector<std::string> follow_checkpoint(const CheckpointIndex& index, Job& job) {
  const std::vector<std::string> segments = domain().earlier_segments(job, segments_of(index.job));
  for (const std::string name : {"keep_quartets", "guess_orbitals"})
    if (const auto had = index.job.ints.find(name); had != index.job.ints.end() && !job.stated_values.contains(name))
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

void restore_earlier(RankTools& tools, const Job& job, RankState& state) {
  Transport& transport = tools.transport;
  BlockStore& store = *tools.store;
  for (const std::string& path : job.restore_files) {
    ResultsReader reader(path);
    if (tools.is_first())
      if (const std::string difference = domain().difference(reader.file(), job.data); !difference.empty())
        tools.err
            << printable(fmt::format(
                   "warning: the results to restore are those of another molecule: {}\n  hint: what is restored from `{}` is a first guess here, not a result",
                   difference, path))
            << std::endl;
    if (const std::string options = segment_options(reader.segments(), named_segments(job.data)); !options.empty())
      state.restored_segments = options;
    for (const auto& [label, value] : reader.saved_scalars()) state.saved_scalars[label] = value;
    for (auto& [label, array] : reader.saved_statics()) state.saved_statics[label] = std::move(array);
    for (const std::string& label : reader.saved_arrays()) {
      state.saved_remote[label] = reader.layout(label);
      store.snapshots().load_label(label);  // which may have no block
      // Every rank reads its share of the blocks.
      const std::vector<BlockIndex> blocks = reader.blocks(label);
      for (std::size_t i = static_cast<std::size_t>(transport.rank()); i < blocks.size();
           i += static_cast<std::size_t>(transport.size()))
        store.snapshots().load_saved_block(label, blocks[i], reader.block(label, blocks[i]));
    }
  }
  for (const auto& [label, array] : job.saved_before) state.saved_statics[label] = array;
  for (const auto& [label, array] : job.saved_blocks_before) {
    state.saved_remote[label] = array->layout;
    store.snapshots().load_label(label);
    for (const auto& [block, values] : array->blocks) store.snapshots().load_saved_block(label, block, values);
  }
  if (!job.restore_files.empty() || !job.saved_blocks_before.empty())
    store.synchronization().barrier({tools.programs_run, -1});
}

}  // namespace sial
