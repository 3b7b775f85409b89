#include "compiler/ast/imports.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

#include "compiler/ast/build.h"
#include "runtime/core/base/input_file.h"

namespace sial {
namespace {

namespace fs = std::filesystem;

class Loader {
 public:
  Loader(SourceManager& sources, const LoadOptions& options, Emitter& emitter)
      : sources_(sources), emitter_(emitter), options_(options), reads_files_(!options.texts) {}

  std::unique_ptr<ast::Compilation> load(const std::string& main_path) {
    std::string error;
    std::optional<std::string> text = read(main_path, error);
    if (!text) {
      emitter_.report(Code::E_FILE, {}, fmt::format("cannot read `{}`: {}", main_path, error));
      return nullptr;
    }
    const bool good = load_file(sources_.add(main_path, physical_path(main_path), std::move(*text)));
    return good && !emitter_.has_errors() ? std::move(compilation_) : nullptr;
  }

 private:
  std::optional<std::string> read(const std::string& path, std::string& error) const {
    if (options_.buffers)
      if (const auto open = options_.buffers->find(physical_path(path)); open != options_.buffers->end())
        return open->second;
    if (options_.texts) {
      if (const auto given = options_.texts->find(path); given != options_.texts->end()) return given->second;
      error = "it was not given";
    }
    return reads_files_ ? read_source_file(path, error) : std::nullopt;
  }

  bool is_file(const fs::path& path) const {
    std::error_code ignored;
    if (options_.buffers && options_.buffers->contains(physical_path(path.string()))) return true;
    if (options_.texts && options_.texts->contains(path.string())) return true;
    return reads_files_ && fs::is_regular_file(path, ignored);
  }

  struct Open {
    FileId file;
    Span import;
  };  // a file being loaded, and the import in it that is being followed

  bool load_file(FileId file) {
    File& state = files_[sources_.canonical_path(file)];
    state = {file, true, false};
    std::unique_ptr<ast::Module> module = parse_module(sources_, file, emitter_, next_id_, options_.known);
    bool good = module != nullptr;
    if (module) {
      open_.push_back({file, {}});
      for (ast::Import& import : module->imports) good = follow(import) && good;
      open_.pop_back();
    }
    if (good) compilation_->modules.push_back(std::move(module));
    File& finished = files_[sources_.canonical_path(file)];
    finished.open = false;
    finished.good = good;
    return good;
  }

  bool follow(ast::Import& import) {
    open_.back().import = import.span;
    const std::optional<fs::path> path = find(import);
    if (!path) return false;
    const auto known = files_.find(physical_path(*path));
    if (known != files_.end()) {
      import.resolved = known->second.file;
      if (known->second.open) {
        report_cycle(import, known->second.file);
        return false;
      }
      if (!known->second.good) report_failed(import, known->second.file);
      return known->second.good;
    }
    std::string error;
    std::optional<std::string> text = read(path->string(), error);
    if (!text) {
      emitter_.report(Code::E_IMPORT, import.span, fmt::format("cannot read `{}`: {}", path->string(), error));
      return false;
    }
    import.resolved = sources_.add(path->string(), physical_path(*path), std::move(*text));
    const bool good = load_file(import.resolved);
    if (!good) report_failed(import, import.resolved);
    return good;
  }

  std::optional<fs::path> find(const ast::Import& import) {
    const fs::path wanted = import.path;
    std::error_code ignored;
    if (is_file(wanted)) return wanted;
    const std::vector<std::string> searched =
        import_folders(import.path, sources_.name(open_.back().file), options_.include_dirs);
    for (const std::string& folder : searched) {
      const fs::path candidate = folder == "." ? wanted : folder / wanted;
      if (is_file(candidate)) return candidate;
    }
    if (options_.texts)  // found along folders that only the first compilation knew
      for (const auto& [name, text] : *options_.texts)
        if (name.ends_with("/" + import.path)) return name;
    if (fs::is_directory(wanted, ignored)) {
      emitter_.report(Code::E_FILE, import.span, fmt::format("`{}` is a directory", import.path), "name a file in it");
      return std::nullopt;
    }
    std::string hint = "name its directory with -I, or in the environment variable SIALPATH";
    Diagnostic& d =
        emitter_.report(Code::E_IMPORT, import.span, fmt::format("the file `{}` is not found", import.path), hint);
    std::string list;
    for (const std::string& directory : searched) {
      const std::string name = fmt::format("`{}`", directory);
      if (directory != "." && list.find(name) == std::string::npos) list += (list.empty() ? "" : ", ") + name;
    }
    if (!searched.empty())
      d.notes.push_back({{}, "searched in the working directory" + (list.empty() ? "" : ", " + list)});
    return std::nullopt;
  }

  void report_cycle(const ast::Import& import, FileId again) {
    std::string chain;
    std::size_t first = 0;
    while (open_[first].file != again) ++first;
    for (std::size_t i = first; i < open_.size(); ++i)
      chain += fmt::format("`{}` imports ", sources_.name(open_[i].file));
    chain += fmt::format("`{}`", sources_.name(again));
    Diagnostic& d =
        emitter_.report(Code::E_IMPORT_CYCLE, import.span,
                        open_.size() - first == 1 ? "the file imports itself" : "the imports form a circle: " + chain,
                        "move the common declarations to a file of their own");
    for (std::size_t i = first; i + 1 < open_.size(); ++i) d.notes.push_back({open_[i].import, "through this import"});
  }

  void report_failed(const ast::Import& import, FileId file) {
    // A file that fails because it is part of a circle has been explained where the circle closes.
    for (const Diagnostic& d : emitter_.all())
      if (d.code == Code::E_IMPORT_CYCLE) return;
    emitter_.report(Code::E_IMPORT, import.span, fmt::format("the imported file `{}` has errors", sources_.name(file)));
  }

  struct File {
    FileId file = -1;
    bool open = false, good = false;
  };

  SourceManager& sources_;
  Emitter& emitter_;
  const LoadOptions& options_;
  const bool reads_files_;  // the disk's
  std::unique_ptr<ast::Compilation> compilation_ = std::make_unique<ast::Compilation>();
  std::map<std::string, File> files_;  // by canonical path
  std::vector<Open> open_;
  ast::NodeId next_id_ = 1;
};

}  // namespace

std::string physical_path(const std::string& path) {
  std::error_code failed;
  const fs::path out = fs::weakly_canonical(path, failed);
  return failed ? path : out.string();
}

std::vector<std::string> import_folders(const std::string& path, const std::string& importer,
                                        const std::vector<std::string>& include_dirs) {
  std::vector<std::string> out;
  if (fs::path(path).is_absolute()) return out;
  const fs::path own = fs::path(importer).parent_path();
  std::error_code ignored;
  out.push_back(own.empty() ? "." : own.string());
  if (fs::is_symlink(importer, ignored)) out.push_back(fs::path(physical_path(importer)).parent_path().string());
  out.insert(out.end(), include_dirs.begin(), include_dirs.end());
  const char* list = std::getenv("SIALPATH");
  std::string_view rest = list ? list : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::optional<std::string> read_source_file(const std::string& path, std::string& error) {
  std::string text = read_file(path, input_limit::source, error);
  return error.empty() ? std::optional(std::move(text)) : std::nullopt;
}

std::unique_ptr<ast::Compilation> load_compilation(SourceManager& sources, const std::string& main_path,
                                                   const std::vector<std::string>& include_dirs, Emitter& emitter) {
  LoadOptions options;
  options.include_dirs = include_dirs;
  return load_program(sources, main_path, options, emitter);
}

std::unique_ptr<ast::Compilation> load_program(SourceManager& sources, const std::string& main_path,
                                               const LoadOptions& options, Emitter& emitter) {
  return Loader(sources, options, emitter).load(main_path);
}

}  // namespace sial
