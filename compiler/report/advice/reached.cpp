#include "compiler/report/advice/reached.h"

#include <fmt/format.h>

#include <algorithm>

namespace sial::report {
namespace {

std::string last_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// The text of a line, without blanks around it; empty: not known.
std::string text_of(const JobProgram& program, const std::string& file, int line) {
  const auto source = program.texts.find(file);
  if (source == program.texts.end()) return {};
  std::size_t begin = 0;
  for (int n = 1; n < line; ++n) {
    begin = source->second.find('\n', begin);
    if (begin == std::string::npos) return {};
    ++begin;
  }
  std::string text = source->second.substr(begin, source->second.find('\n', begin) - begin);
  text.erase(0, std::min(text.find_first_not_of(" \t"), text.size()));
  text.erase(text.find_last_not_of(" \t\r") + 1);
  return text;
}

/// The file of a program in another run of it, where it may have another name.
std::string file_in(const JobProgram& other, const JobProgram& own, const std::string& file) {
  const auto place = std::find(own.run.files.begin(), own.run.files.end(), file);
  if (place != own.run.files.end() && own.run.files.size() == other.run.files.size())
    return other.run.files[static_cast<std::size_t>(place - own.run.files.begin())];
  for (const CostLine& line : other.run.lines)
    if (last_name(line.file) == last_name(file)) return line.file;
  return file;
}

/// By the number in the file, or by what lines say where that is given.
std::optional<double> time_of(const Job& job, const std::string& name, const std::string& file, int number,
                              const std::string& text) {
  const JobProgram* program = job.find(name);
  std::optional<double> seconds;
  if (!program) return seconds;
  for (const CostLine& line : program->run.lines)
    if (text.empty() ? line.line == number && line.file == file : text_of(*program, line.file, line.line) == text)
      seconds = seconds.value_or(0) + line.seconds / job.ranks;
  return seconds;
}

bool declared_so(const Job& job, const Redeclaration& change) {
  const JobProgram* program = job.find(change.program);
  if (!program || !program->module) return false;
  for (const ArrayRow& array : program->module->arrays) {
    if (array.name != change.array) continue;
    std::string text = array.name + "[";
    for (const IndexId dim : array.dims)
      text += (text.back() == '[' ? "" : ",") + program->module->indices[dim.at()].name;
    return text + "]" == change.to;
  }
  return false;
}

}  // namespace

std::vector<Reached> reached_of(const Job& before, const JobAdvice& advice, const Job& after,
                                const JobAdvice& advice_after) {
  std::vector<Reached> result;
  for (const Advice& a : advice.advice) {
    Reached r{a, false, 0, {}};
    const JobProgram* program = before.find(a.at.program);
    const std::string text = a.kind == "declaration" || !program ? "" : text_of(*program, a.at.file, a.at.line);
    if (a.kind == "declaration")
      r.followed = std::all_of(a.redeclarations.begin(), a.redeclarations.end(),
                               [&](const Redeclaration& change) { return declared_so(after, change); });
    else
      r.followed = std::none_of(advice_after.advice.begin(), advice_after.advice.end(), [&](const Advice& later) {
        const JobProgram* now = after.find(later.at.program);
        return later.kind == a.kind && later.at.program == a.at.program && now &&
               (text.empty() ? later.at.line == a.at.line : text_of(*now, later.at.file, later.at.line) == text);
      });
    for (const LineOfProgram& line : a.lines) {
      r.before += time_of(before, line.program, line.file, line.line, text).value_or(0);
      const JobProgram *was = before.find(line.program), *is = after.find(line.program);
      if (!was || !is) continue;
      if (const auto seconds = time_of(after, line.program, file_in(*is, *was, line.file), line.line, text))
        r.after = r.after.value_or(0) + *seconds;
    }
    result.push_back(std::move(r));
  }
  return result;
}

}  // namespace sial::report
