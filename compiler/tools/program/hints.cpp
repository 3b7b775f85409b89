#include "compiler/tools/program/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "compiler/ast/imports.h"
#include "compiler/tools/facts/display_text.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/base/sha256.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/program/job/job_file.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

bool names_program(const std::vector<std::string>& programs, const std::string& program) {
  return std::any_of(programs.begin(), programs.end(),
                     [&](const std::string& name) { return same_file(name, program); });
}

/// Job files beside the program that mention its name, the newest first.
std::vector<fs::path> possible_job_files(const std::string& program) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  const std::string name = fs::path(program).filename().string(),
                    own_name = fs::path(physical_path(program)).filename().string();
  for (const std::string& folder : folders_of_job(program)) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->path().extension() != ".toml") continue;
      std::error_code ignored;
      std::string problem;
      const std::string text = read_file(entry->path().string(), input_limit::source, problem);
      if (problem.empty() && (text.find(name) != std::string::npos || text.find(own_name) != std::string::npos))
        found.emplace_back(fs::last_write_time(entry->path(), ignored), entry->path());
    }
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  std::vector<fs::path> paths;
  paths.reserve(found.size());
  for (auto& [time, path] : found) paths.push_back(std::move(path));
  return paths;
}

template <class Values>
report::JobValues named(const Values& job) {
  report::JobValues values{job.ints, job.scalars, {}};
  for (const auto& [name, kind] : segment_kinds)
    if (const auto extents = job.segments.find(kind); extents != job.segments.end())
      values.segments[name] = extents->second;
  return values;
}

facts::Numbers numbers_of(const Job& job) { return {named(job.data), fs::path(job.file).filename().string()}; }

/// The job, with its mistakes among the notes unless the user named it.
std::optional<Job> find_job(const HintRequest& request, std::vector<std::string>& notes) {
  if (!request.job_file.empty()) return read_job_file(request.job_file);
  std::string problem;  // of the newest one; the others are history
  for (const fs::path& path : possible_job_files(request.path)) {
    try {
      Job job = read_job_file(path.string());
      if (!names_program(job.programs, request.path)) continue;
      if (!problem.empty()) notes.push_back(problem);
      return job;
    } catch (const SialError& error) {
      if (problem.empty()) problem = fmt::format("{}: {}", path.filename().string(), error.what());
    }
  }
  if (!problem.empty()) notes.push_back(problem);
  return {};
}

/// The newest file that has a run of the program, among those that such a run may have left.
std::optional<report::Run> find_run(const HintRequest& request, const std::optional<Job>& job,
                                    const std::string& program, std::vector<std::string>& notes) {
  if (!request.run_file.empty()) return report::read_run(request.run_file, program);
  std::vector<fs::path> places;
  for (const std::string& folder : folders_of_job(request.path)) places.push_back(fs::path(folder) / "run.json");
  if (job && job->run_json_path != "none") places.push_back(fs::path(job->output_dir) / job->run_json_path);
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  for (const fs::path& path : places) {
    if (request.looked_for) request.looked_for->push_back(path.string());
    std::error_code error;
    const auto same = [&](const auto& other) { return same_file(other.second.string(), path.string()); };
    if (fs::is_regular_file(path, error) && std::none_of(found.begin(), found.end(), same))
      found.emplace_back(fs::last_write_time(path, error), path);
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  for (const auto& [time, path] : found) {
    try {
      return report::read_run(path.string(), program);
    } catch (const SialError& error) { notes.emplace_back(error.what()); }
  }
  return {};
}

}  // namespace

report::JobValues values_of(const analysis::Job& job) { return named(job); }

std::string find_job_file(const std::string& program) {
  HintRequest request;
  request.path = program;
  std::vector<std::string> ignored;
  const std::optional<Job> job = find_job(request, ignored);
  return job ? job->file : std::string();
}

std::vector<std::string> folders_of_job(const std::string& program) {
  std::vector<std::string> folders;
  for (const std::string& file : {program, physical_path(program)}) {
    const std::string folder = fs::path(file).has_parent_path() ? fs::path(file).parent_path().string() : ".";
    if (std::error_code ignored; folders.empty() || !fs::equivalent(folder, folders.front(), ignored))
      folders.push_back(folder);
  }
  return folders;
}

std::vector<std::string> job_include_dirs(const std::string& program) {
  for (const fs::path& path : possible_job_files(program)) {
    try {
      const JobImports job = read_job_imports(path.string());
      if (names_program(job.programs, program)) return job.include_dirs;
    } catch (const SialError&) { continue; }  // no TOML; the notes of hints say so
  }
  return {};
}

std::optional<facts::Facts> hints_of(const HintRequest& request, SourceManager& sources, Emitter& emitter) {
  CompileOptions options = request.options;
  options.keep_ir = true;
  const std::vector<std::string> of_job =
      request.job_file.empty() ? job_include_dirs(request.path) : read_job_imports(request.job_file).include_dirs;
  options.include_dirs.insert(options.include_dirs.begin(), of_job.begin(), of_job.end());
  CompileResult compiled = compile_file(request.path, options, sources, emitter);
  if (!compiled.module || !compiled.unoptimized) return {};
  std::vector<std::string> notes;
  std::optional<Job> job;
  if (!request.job) job = find_job(request, notes);
  facts::Input input{*compiled.module, *compiled.unoptimized, {}, compiled.module->source_hash};
  for (FileId f = 0; f < sources.file_count(); ++f) input.texts.emplace_back(sources.text(f));
  if (request.job) input.numbers = facts::Numbers{*request.job, "the command line"};
  else if (job) input.numbers = numbers_of(*job);
  input.max_steps = request.max_steps;
  input.run = find_run(request, job, compiled.module->program, notes);
  facts::Facts facts = facts::gather(std::move(input));
  facts.notes.insert(facts.notes.begin(), notes.begin(), notes.end());
  return facts;
}

std::string hints_text(const facts::Facts& facts, bool long_texts) {
  std::string out;
  const auto add = [&](const std::string& place, const std::string& text) {
    if (text.empty()) return;
    if (!long_texts) {
      out += fmt::format("{}: {}\n", place, text);
      return;
    }
    out += place + ":\n    ";
    for (const char c : text) out += c == '\n' ? std::string("\n    ") : std::string(1, c);
    out += '\n';
  };
  for (const std::string& note : facts.notes) out += fmt::format("note: {}\n", note);
  for (const auto& [key, line] : facts.lines) {
    std::string place = fmt::format("{}", key.second);
    if (key.first > 0)
      place = fs::path(facts.report.files[static_cast<std::size_t>(key.first)]).filename().string() + ":" + place;
    add(place, long_texts ? facts::hover(facts, key) : facts::inlay(facts, key));
  }
  for (const auto& [name, array] : facts.arrays)
    add(array.name, long_texts ? facts::array_hover(facts, name) : facts::array_inlay(facts, name));
  return out;
}

}  // namespace sial
