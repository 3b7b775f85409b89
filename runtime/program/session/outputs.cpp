#include "runtime/program/session/outputs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "runtime/core/base/names.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/base/printable.h"
#include "runtime/core/job/domain.h"
#include "runtime/program/session/restart.h"
#include "runtime/program/session/stated_names.h"

namespace sial {
namespace {

const char* const results_role = "the results file";
const char* const statistics_role = "the statistics file";
const char* const molden_role = "the Molden file";
const char* const fcidump_role = "the FCIDUMP file";
const char* const trexio_role = "the TREXIO file";
const char* const checkpoint_role = "the checkpoint's index";
const char* const trace_role = "the trace";

std::vector<NamedFile> restored_files(const Job& job) {
  std::vector<NamedFile> files;
  for (const std::string& path : job.restore_files) files.push_back({"the results to restore", path});
  return files;
}

/// Whether nothing is lost when an output replaces what is there: nothing, an empty file, something that a job may have
/// written. Pipes and devices are not replaced.
bool may_be_of_a_job(const NamedFile& file) {
  if (!special_kind(file.path).empty() || names_open_file(file.path)) return true;
  const std::string replaced = link_end(file.path);
  std::error_code ignored;
  if (std::filesystem::is_symlink(replaced, ignored))
    return true;  // of another user: the link goes, what it leads to stays
  std::ifstream in(replaced, std::ios::binary);
  std::array<char, 8> head{};
  in.read(head.data(), head.size());
  const std::string_view found(head.data(), static_cast<std::size_t>(in.gcount()));
  if (found.empty()) return true;
  if (file.role == results_role || file.role == trexio_role) return found == "\x89HDF\r\n\x1a\n";
  if (file.role == molden_role) return found == "[Molden ";
  if (file.role == fcidump_role) return found.starts_with("&FCI");
  return file.role != statistics_role || found.front() == '{';
}

/// Throws EnvironmentError when the file could not be written now, InputError when it is no output of a job.
void check_output(const NamedFile& file) {
  if (const std::string link = foreign_folder(file.path); !link.empty())
    throw EnvironmentError(
        fmt::format("cannot write `{}`: the folder `{}` is a link that another user made", file.path, link),
        "remove the link, or choose another folder with `--output-dir`");
  std::string problem = write_problem(file.path);
  // Results are put in the place of an earlier file, when they are complete.
  if (const std::string_view kind = special_kind(file.path);
      problem.empty() && file.role == results_role && !kind.empty())
    problem = fmt::format("it is {}", kind);
  if (problem.empty() && file.role == results_role && written_in_place(file.path))
    problem = "its folder may not be written";
  if (!problem.empty())
    throw EnvironmentError(
        fmt::format("cannot write `{}`: {}", file.path, problem),
        "choose another folder with `--output-dir`, or write nothing with `--results none --run-json none`");
  if (!may_be_of_a_job(file))
    throw InputError(
        fmt::format("{} would replace `{}`, which no job has written", file.role, file.path),
        fmt::format("give it another name with `{}`, or remove the file", file.role == results_role   ? "--results"
                                                                          : file.role == molden_role  ? "--molden"
                                                                          : file.role == fcidump_role ? "--fcidump"
                                                                          : file.role == trexio_role  ? "--trexio"
                                                                                                      : "--run-json"));
}

}  // namespace

std::vector<NamedFile> input_files(const Job& job, std::span<const std::shared_ptr<const Module>> programs) {
  std::vector<NamedFile> inputs;
  const auto add = [&](const char* role, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) inputs.push_back({role, path});
  };
  if (!job.file.empty()) add("the job file", {job.file});
  if (!job.batch_file.empty()) add("the batch file", {job.batch_file});
  add("the program", job.programs);
  for (const auto& program : programs) add("the source", program->files);
  add("the data file", job.data_files);
  add("the plugin", job.plugins);
  return inputs;
}

void JobOutputs::claim(const Job& job, std::span<const std::shared_ptr<const Module>> programs,
                       const SessionOptions& options, std::ostream& err) {
  const std::filesystem::path folder = job.output_dir;
  const std::string checkpoint =
      (std::filesystem::path(checkpoint_folder_of(job, options.restart)) / checkpoint_index_name).string();
  std::vector<NamedFile> outputs;
  if (job.results_path != "none") outputs.push_back({results_role, (folder / job.results_path).string()});
  if (job.run_json_path != "none") outputs.push_back({statistics_role, (folder / job.run_json_path).string()});
  if (job.molden_path != "none") outputs.push_back({molden_role, (folder / job.molden_path).string()});
  if (job.fcidump_path != "none") outputs.push_back({fcidump_role, (folder / job.fcidump_path).string()});
  if (job.trexio_path != "none" && !is_trexio_text(job.trexio_path))  // a folder
    outputs.push_back({trexio_role, (folder / job.trexio_path).string()});
  if (!options.trace.empty()) outputs.push_back({trace_role, options.trace});
  if (options.checkpoints && job.checkpoint_every >= 0) outputs.push_back({checkpoint_role, checkpoint});
  check_gradient_scalar(job, programs);
  domain().check_files(job, programs);
  check_distinct(outputs, input_files(job, programs));
  // Results may replace those that they start from: they hold what was saved there.
  for (const NamedFile& output : outputs)
    if (output.role != results_role) check_distinct(std::span(&output, 1), restored_files(job));
  for (const NamedFile& output : outputs) check_output(output);
  lock(outputs, err);
  if (std::error_code ignored; options.restart && !checkpoint_lock_ && std::filesystem::exists(checkpoint, ignored))
    checkpoint_lock_.emplace(checkpoint, checkpoint_remedy);
}

/// Two jobs that replace each other's files both lose: the second one ends here, while nothing is computed yet.
void JobOutputs::lock(std::span<const NamedFile> outputs, std::ostream& err) {
  std::string problem;
  replaced_.clear();
  for (const NamedFile& output : outputs) {
    if (!special_kind(output.path).empty() || names_open_file(output.path)) continue;  // written into, not replaced
    if (std::error_code ignored; output.role != checkpoint_role && std::filesystem::exists(output.path, ignored))
      replaced_.push_back(std::filesystem::path(output.path).lexically_normal().string());
    const bool is_checkpoint = output.role == checkpoint_role;
    OutputLock held(output.path,
                    is_checkpoint ? checkpoint_remedy
                    : output.role == trace_role
                        ? "wait until it has ended, or give this job another file with `--trace`"
                        : "wait until it has ended, or give this job a folder of its own with `--output-dir`");
    if (!held.problem().empty()) problem = fmt::format("`{}` cannot be locked: {}", output.path, held.problem());
    if (is_checkpoint) checkpoint_lock_.emplace(std::move(held));
    else locks_.push_back(std::move(held));
  }
  if (!problem.empty())
    err << fmt::format(
               "warning: {}; nothing keeps another job from writing the same files meanwhile\n  hint: give each job a folder of its own with `--output-dir`",
               problem)
        << std::endl;
}

void JobOutputs::say_replaced(std::ostream& err) const {
  if (replaced_.empty()) return;
  std::string names;
  for (const std::string& path : replaced_) names += fmt::format("{}`{}`", names.empty() ? "" : ", ", path);
  err << printable_name(fmt::format("note: replaced {} of an earlier run", names)) << std::endl;
}

std::optional<OutputLock> JobOutputs::take_checkpoint_lock() {
  std::optional<OutputLock> taken = std::move(checkpoint_lock_);
  checkpoint_lock_.reset();
  return taken;
}

void JobOutputs::release() {
  checkpoint_lock_.reset();
  locks_.clear();
}

}  // namespace sial
