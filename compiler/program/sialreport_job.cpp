#include "compiler/program/sialreport_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "compiler/pipeline/pipeline.h"
#include "compiler/program/sialreport_costs.h"
#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/sha256.h"
#include "runtime/core/bytecode/read.h"

namespace sial {
namespace {

namespace fs = std::filesystem;
using report::Job;
using report::JobProgram;

std::optional<std::string> contents(const std::string& path) {
  std::string problem, text = read_file(path, input_limit::source, problem);
  return problem.empty() ? std::optional(std::move(text)) : std::nullopt;
}

std::optional<Module> compiled(const std::string& main, const SourceTexts& texts, int optimisation,
                               const std::vector<std::string>& saved) {
  CompileOptions options;
  options.saved = saved;
  options.optimisation = optimisation;
  options.texts = &texts;
  SourceManager sources;
  Emitter emitter;
  return compile_file(main, options, sources, emitter).module;
}

/// Finds what belongs to one program of the run.
class Finder {
 public:
  Finder(JobProgram& program, std::vector<std::string> folders) : p_(program), folders_(std::move(folders)) {}

  void run(const std::string& given) {
    if (!given.empty()) take(given);
    if (!p_.module) find_module();
    if (!find_texts()) {
      if (!p_.module)
        p_.problem = fmt::format(
            "neither a module nor the sources of program `{}` as they ran were found (-I names folders)", p_.name);
      return;
    }
    if (!p_.module) p_.module = compiled(main_file(), p_.texts, p_.run.optimisation, p_.run.kept);
    p_.unoptimized = compiled(main_file(), p_.texts, 0, p_.run.kept);
    if (!p_.module) p_.problem = fmt::format("the sources of program `{}` do not compile with this version", p_.name);
  }

 private:
  const std::string& main_file() const { return files().front(); }
  const std::vector<std::string>& files() const {
    return p_.run.files.empty() && p_.module ? p_.module->files : p_.run.files;
  }

  /// A module of this program, of these sources and this level.
  void take(const std::string& path) {
    try {
      Module module = read_module_file(path);
      if (module.program == p_.name && module.source_hash == p_.run.source_hash &&
          module.optimisation == p_.run.optimisation && module.kept == p_.run.kept)
        p_.module = std::move(module);
    } catch (const SialError&) {
      return;  // not the one that is searched
    }
  }

  void find_module() {
    std::error_code ignored;
    std::vector<std::string> names{p_.name + ".siox"};
    if (!p_.run.files.empty()) names.push_back(fs::path(p_.run.files.front()).stem().string() + ".siox");
    for (const std::string& folder : folders_)
      for (const std::string& name : names)
        if (const fs::path path = fs::path(folder) / name; !p_.module && fs::is_regular_file(path, ignored))
          take(path.string());
  }

  /// The texts with the run's hash: those that it kept, or those of the files as they are now.
  bool find_texts() {
    if (files().empty()) return guess_files();
    if (p_.run.sources.size() == files().size() && accept(p_.run.sources)) return true;
    std::vector<std::vector<std::string>> candidates{{}};
    for (const std::string& folder : folders_) candidates.push_back({folder});
    for (const std::vector<std::string>& where : candidates) {
      std::vector<std::string> texts;
      for (const std::string& file : files())
        if (const auto text = first_text(file, where)) texts.push_back(*text);
      if (texts.size() == files().size() && accept(texts)) return true;
    }
    return false;
  }

  std::optional<std::string> first_text(const std::string& file, const std::vector<std::string>& where) const {
    if (where.empty()) return contents(file);
    for (const std::string& folder : where) {
      // An absolute name would lead away from the folder.
      if (auto text = fs::path(file).is_relative() ? contents((fs::path(folder) / file).string()) : std::nullopt)
        return text;
      if (auto text = contents((fs::path(folder) / fs::path(file).filename()).string())) return text;
    }
    return {};
  }

  bool accept(const std::vector<std::string>& texts) {
    Sha256 hash;
    for (const std::string& text : texts) hash.update(text);
    if (hash.hex() != p_.run.source_hash) return false;
    for (std::size_t f = 0; f < texts.size(); ++f) p_.texts[files()[f]] = texts[f];
    return true;
  }

  /// Runs of older versions name only the files of lines that cost something: one of them is the program, the disk has
  /// the others.
  bool guess_files() {
    std::vector<std::string> seen;
    for (const report::CostLine& line : p_.run.lines) {
      if (std::find(seen.begin(), seen.end(), line.file) != seen.end()) continue;
      seen.push_back(line.file);
      CompileOptions options;
      options.optimisation = p_.run.optimisation;
      SourceManager sources;
      Emitter emitter;
      CompileResult result = compile_file(line.file, options, sources, emitter);
      if (!result.module || result.module->source_hash != p_.run.source_hash) continue;
      p_.module = std::move(result.module);
      for (FileId f = 0; f < sources.file_count(); ++f) p_.texts[sources.name(f)] = std::string(sources.text(f));
      return true;
    }
    return false;
  }

  JobProgram& p_;
  const std::vector<std::string> folders_;
};

/// The job's modules with other declarations; each program is compiled once for the same changes.
class Recompiler {
 public:
  explicit Recompiler(const Job& job) : job_(job), known_(job.programs.size()) {}

  std::vector<Module> operator()(const std::vector<report::Redeclaration>& changes) {
    std::vector<Module> modules;
    for (std::size_t p = 0; p < job_.programs.size(); ++p) {
      const std::optional<Module>& module = with(p, changes);
      if (!module) return {};
      modules.push_back(*module);
    }
    return modules;
  }

 private:
  const std::optional<Module>& with(std::size_t p, const std::vector<report::Redeclaration>& changes) {
    const JobProgram& program = job_.programs[p];
    std::vector<report::Redeclaration> own;
    std::string key;
    for (const report::Redeclaration& change : changes)
      if (change.program == program.name) own.push_back(change), key += change.to + ";";
    if (own.empty()) return program.module;
    if (const auto found = known_[p].find(key); found != known_[p].end()) return found->second;
    return known_[p][key] = compile(program, own);
  }

  static std::optional<Module> compile(const JobProgram& program, const std::vector<report::Redeclaration>& changes) {
    SourceTexts texts;
    for (const auto& [name, text] : program.texts) {
      std::optional<std::string> changed = report::redeclared(text, changes);
      if (!changed) return {};
      texts[name] = std::move(*changed);
    }
    return compiled(program.module->files.front(), texts, program.module->optimisation, program.module->kept);
  }

  const Job& job_;
  std::vector<std::map<std::string, std::optional<Module>>> known_;
};

}  // namespace

Job load_job(const std::string& run_json, const std::string& given, const std::vector<std::string>& folders) {
  Job job = report::read_job(run_json);
  for (JobProgram& program : job.programs) {
    std::vector<std::string> where = folders;
    const auto add = [&](const fs::path& file) {
      const std::string folder = file.parent_path().empty() ? "." : file.parent_path().string();
      if (std::find(where.begin(), where.end(), folder) == where.end()) where.push_back(folder);
    };
    if (!given.empty()) add(given);
    add(run_json);
    for (const std::string& file : program.run.files) add(file);
    Finder(program, where).run(given);
  }
  return job;
}

report::JobAdvice advise(const Job& job) {
  const KernelOrderCosts costs;
  Recompiler recompiler(job);
  return report::advise(job, costs,
                        [&](const std::vector<report::Redeclaration>& changes) { return recompiler(changes); });
}

}  // namespace sial
