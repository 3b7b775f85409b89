#include "runtime/program/session/programs.h"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <span>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/core/base/error_text.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/names.h"
#include "runtime/core/base/sha256.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/bytecode/module.h"
#include "runtime/core/bytecode/read.h"
#include "runtime/program/session/stated_names.h"

namespace sial {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

Bytes read_bytes(const std::string& path) {
  std::string problem;
  const std::string content = read_file(path, input_limit::module, problem);
  if (!problem.empty())
    throw InputError(fmt::format("cannot read the program `{}`: {}", path, problem),
                     "check the path; relative names in a job file are relative to its folder");
  const auto* p = reinterpret_cast<const std::byte*>(content.data());
  return {p, p + content.size()};
}

/// Whether the sources beside a module are not those that it was made of. False where one is missing.
bool is_outdated(const Module& module, const std::string& path) {
  const fs::path source = fs::path(path).replace_extension(".sialx");
  Sha256 hash;
  for (const std::string& file : module.files) {
    std::string problem;
    const fs::path beside =
        source.parent_path() / fs::path(file).lexically_relative(fs::path(module.files.front()).parent_path());
    hash.update(read_file((file == module.files.front() ? source : beside).string(), input_limit::source, problem));
    if (!problem.empty()) return false;
  }
  return hash.hex() != module.source_hash;
}

bool is_compiled(const std::string& path) { return fs::path(path).extension() == ".siox"; }

ExitCode not_compiled(const std::string& path) {
  return read_problem(path, input_limit::source).empty() ? exit_program_error : exit_input_error;
}

bool saves(const Module& program, std::size_t array) {
  return std::any_of(program.code.begin(), program.code.end(), [array](const Instruction& in) {
    return in.op == Opcode::set_persistent && in.a == 1 && in.b == static_cast<std::int32_t>(array);
  });
}

[[noreturn]] void fail_unknown(const std::string& name, const Programs& programs) {
  std::vector<std::string_view> known;
  std::string kind;
  for (const auto& program : programs)
    for (const ArrayRow& array : program->arrays) {
      if (array.name == name) kind = array_kind_text(array.kind);
      if (is_remote(array.kind) && std::find(known.begin(), known.end(), array.name) == known.end())
        known.push_back(array.name);
    }
  if (!kind.empty())
    throw InputError(
        fmt::format("the job saves the array `{}`, which is {}: its blocks are gone when the program ends", name, kind),
        "only static, distributed and served arrays can be saved");
  const std::vector<std::string> close = close_names(name, known);
  throw InputError(fmt::format("the job saves the array `{}`, and no program has it", name),
                   !close.empty()  ? fmt::format("did you mean `{}`?", fmt::join(close, "`, `"))
                   : known.empty() ? "no program has a distributed or served array"
                                   : fmt::format("distributed and served arrays are: {}", fmt::join(known, ", ")));
}

/// Which arrays each program is to save though it does not say so: the last one that has an array does. Static arrays
/// are among the results anyway.
std::vector<std::vector<std::string>> arrays_to_save(const Job& job, const Programs& programs) {
  std::vector<std::vector<std::string>> of_programs(programs.size());
  for (const std::string& name : job.saved_arrays) {
    bool found = false;
    for (std::size_t p = programs.size(); p-- > 0 && !found;)
      for (std::size_t a = 0; a < programs[p]->arrays.size() && !found; ++a) {
        const ArrayRow& array = programs[p]->arrays[a];
        found = array.name == name && (is_remote(array.kind) || array.kind == ArrayKind::static_);
        if (!found || !is_remote(array.kind) || saves(*programs[p], a)) continue;
        if (is_compiled(job.programs[p]))
          throw InputError(
              fmt::format("the job saves the array `{}` of `{}`, which is compiled already", name, job.programs[p]),
              fmt::format("give the source, or add `set_persistent {} \"{}\"` to it and compile again", name, name));
        of_programs[p].push_back(name);
      }
    if (!found) fail_unknown(name, programs);
  }
  return of_programs;
}

}  // namespace

ExitCode read_programs(const Job& job, const CompileFile& compile, std::ostream& err, std::vector<Bytes>& contents,
                       Programs& programs, bool results_elsewhere) {
  const auto read = [&](const std::string& path, const std::vector<std::string>& saved) {
    return is_compiled(path) ? read_bytes(path) : compile(path, job.include_dirs, saved, err);
  };
  for (const std::string& path : job.programs) {
    contents.push_back(read(path, {}));
    if (contents.back().empty()) return not_compiled(path);
    programs.push_back(std::make_shared<const Module>(read_module(contents.back(), path)));
    if (is_compiled(path) && is_outdated(*programs.back(), path))
      err << fmt::format(
          "warning: the module `{}` was compiled from other text than the sources beside it have now\n  hint: run the source, or compile it again: `sialc {}`\n",
          path, fs::path(path).replace_extension(".sialx").string());
  }
  if (job.saved_arrays.empty()) return exit_ok;
  if (job.results_path == "none" && !results_elsewhere)
    throw InputError(fmt::format("the job saves the array `{}`, and writes no results file", job.saved_arrays.front()),
                     "leave out `--save` (`arrays` under [output]), or `--results none`");
  const std::vector<std::vector<std::string>> saved = arrays_to_save(job, programs);
  for (std::size_t p = 0; p < saved.size(); ++p) {
    if (saved[p].empty()) continue;
    std::ostringstream known;  // its diagnostics have been shown
    contents[p] = compile(job.programs[p], job.include_dirs, saved[p], known);
    if (contents[p].empty()) return not_compiled(job.programs[p]);
    programs[p] = std::make_shared<const Module>(read_module(contents[p], job.programs[p]));
  }
  return exit_ok;
}

int load_programs(RankTools& tools, const CompileFile& compile, const Job& job, Programs& programs) {
  std::vector<Bytes> contents;
  int code = exit_ok;
  const Plugins* plugins = tools.options.machine.plugins;
  if (tools.is_first()) {
    try {
      code = read_programs(job, compile, tools.err, contents, programs, static_cast<bool>(tools.options.take_results));
      if (code == exit_ok) check_values(job, programs, plugins, tools.err);
    } catch (const SialError& error) {
      tools.err << error_text(error, 0, 1) << std::endl;
      code = exit_code_of(error);
    }
  }
  for (std::size_t p = 0; p < job.programs.size(); ++p) {
    std::string content;
    if (tools.is_first() && code == exit_ok)
      content.assign(reinterpret_cast<const char*>(contents[p].data()), contents[p].size());
    if (code = tools.share(code, content); code != exit_ok) return code;
    if (tools.is_first()) continue;
    programs.push_back(std::make_shared<const Module>(read_module(std::as_bytes(std::span(content)), job.programs[p])));
  }
  if (tools.is_first()) warn_of_names(job, programs, plugins, tools.err);
  return exit_ok;
}

}  // namespace sial
