#include "compiler/tools/program/providers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "compiler/tools/facts/display_text.h"
#include "compiler/tools/facts/same_lines.h"
#include "compiler/tools/format/format.h"
#include "compiler/tools/program/hints.h"
#include "runtime/core/base/error.h"

namespace sial {
namespace {

using lsp::Analysis;
using lsp::Context;
using lsp::File;
using lsp::FilePtr;
using lsp::json;

// ---- code actions

std::string uri_of_file(Context& context, const std::string& path) {
  const std::string open = context.files.open_uri(path);
  return open.empty() ? lsp::uri_of(path) : open;
}

json workspace_edit(Context& context, const SourceManager& sources, const Fix& fix) {
  json changes = json::object();
  for (const TextEdit& edit : text_edits(fix, sources))
    changes[uri_of_file(context, sources.canonical_path(edit.span.file))].push_back(
        {{"range", lsp::range_json(sources, edit.span, context.encoding)}, {"newText", edit.text}});
  return {{"changes", std::move(changes)}};
}

/// The fixes of all diagnostics that touch the range.
json code_actions(Context& context, const FilePtr& file, const Analysis& analysis, std::uint32_t begin,
                  std::uint32_t end) {
  json actions = json::array();
  for (const Diagnostic& d : analysis.diagnostics) {
    if (d.span.file < 0 || analysis.sources.canonical_path(d.span.file) != file->path) continue;
    if (d.span.begin > end || d.span.end < begin) continue;
    for (std::size_t i = 0; i < d.fixes.size(); ++i)
      actions.push_back({{"title", d.fixes[i].title},
                         {"kind", "quickfix"},
                         {"isPreferred", i == 0 && d.fixes[i].automatic},
                         {"edit", workspace_edit(context, analysis.sources, d.fixes[i])}});
  }
  return actions;
}

// ---- formatting

/// Edits that lay out the lines first..last, from 0; none in a file with syntax errors.
json formatting(Context& context, const FilePtr& file, int first, int last) {
  SourceManager sources;
  Emitter emitter;
  const FileId id = sources.add(file->name, file->path, file->text.bytes());
  const std::optional<format::Formatted> formatted = format::format_source(sources, id, emitter);
  json edits = json::array();
  if (!formatted) return edits;
  const auto begin_of = [&](int line) {  // from 1; one after the last is the end of the text
    return line > file->text.line_count() ? static_cast<std::uint32_t>(file->text.bytes().size())
                                          : file->text.line_begin(line - 1);
  };
  for (const format::LineEdit& edit : format::edits_in(*formatted, first + 1, last + 1))
    edits.push_back({{"range", lsp::range_json(*file, begin_of(edit.first), begin_of(edit.last), context.encoding)},
                     {"newText", edit.text}});
  return edits;
}

// ---- facts

/// Declarations decide what the numbers of all lines are.
std::string declarations(const File& file) {
  std::string text;
  for (const lsp::Declared& declared : file.outline.declared)
    if (declared.kind != lsp::DeclKind::proc) text.append(file.text.line(declared.line)).push_back('\n');
  return text;
}

/// Name, time and size.
std::string state_of(const std::filesystem::path& path) {
  std::error_code ignored;
  return fmt::format("{} {} {}\n", path.string(),
                     std::filesystem::last_write_time(path, ignored).time_since_epoch().count(),
                     std::filesystem::file_size(path, ignored));
}

/// The state of what may be the program's job or the statistics of its run, the files beside it, and of `others`.
std::string files_of(const std::string& program, const std::vector<std::string>& others) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  for (const std::string& folder : folders_of_job(program)) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const fs::path extension = entry->path().extension();
      if (extension == ".toml" || extension == ".json" || extension == ".sialx")
        found.push_back(state_of(entry->path()));
    }
  }
  for (const std::string& other : others) found.push_back(state_of(other));
  std::sort(found.begin(), found.end());
  return fmt::format("{}", fmt::join(found, ""));
}

/// The facts of programs, as of the last time that they compiled. They are gathered while the editor is silent, where
/// it can be told of it.
class KnownFacts {
  static constexpr int short_program = 1000;     // lines, that take some hundredths of a second
  static constexpr int longest_program = 20000;  // lines, that take seconds: the server answers nothing meanwhile

 public:
  json inlay_hints(Context& context, const FilePtr& file, int first, int last) {
    json hints = json::array();
    const Known& known = of(context, file);
    if (!known.facts) return hints;
    const auto add = [&](int line, const std::string& label, const std::string& more) {
      if (label.empty() || line < first || line > last) return;
      const auto end = file->text.line_begin(line) + static_cast<std::uint32_t>(file->text.line(line).size());
      hints.push_back({{"position", lsp::range_json(*file, end, end, context.encoding)["start"]},
                       {"label", label},
                       {"paddingLeft", true},
                       {"tooltip", more}});
    };
    const std::vector<int> before = lines_before(known, *file);
    for (int line = std::max(first, 0); line <= last && line + 1 < static_cast<int>(before.size()); ++line)
      if (const int old = before[static_cast<std::size_t>(line) + 1]; old > 0)
        add(line, facts::inlay(*known.facts, {0, old}), facts::hover(*known.facts, {0, old}));
    if (before.empty()) return hints;
    for (const lsp::Declared& declared : file->outline.declared)
      if (declared.kind == lsp::DeclKind::array)
        add(declared.line, facts::array_inlay(*known.facts, declared.name), {});
    return hints;
  }

  std::string hover(Context& context, const FilePtr& file, std::uint32_t offset) {
    const Known& known = of(context, file);
    if (!known.facts) return {};
    const std::vector<int> before = lines_before(known, *file);
    const int line = file->text.line_of(offset) + 1;
    if (before.empty()) return {};
    std::string text;
    if (const auto place = context.files.named_at(*file, offset); place && place->use && !place->qualifier)
      text = facts::array_hover(*known.facts, place->use->name);
    if (const int old = line < static_cast<int>(before.size()) ? before[static_cast<std::size_t>(line)] : 0; old > 0)
      if (const std::string more = facts::hover(*known.facts, {0, old}); !more.empty())
        text += (text.empty() ? "" : "\n\n") + more;
    if (text.empty() || !context.markdown) return text;
    return "```text\n" + text + "\n```";
  }

  /// Gathers what was asked for and is old; whether anything changed.
  bool idle(Context& context) {
    bool changed = false;
    for (auto& [uri, known] : known_) {
      const FilePtr file = context.files.file_of_uri(uri);
      if (file && context.files.is_open(uri) && file->text.line_count() <= longest_program &&
          is_old(*file, known, context))
        changed |= gather(context, file, known);
    }
    return changed;
  }

 private:
  struct Known {
    std::shared_ptr<const facts::Facts> facts;  // null: it has not compiled yet
    FilePtr file;                               // whose facts they are
    // When this was last tried:
    SourceTexts buffers;
    std::vector<std::string> others;  // files that were read or looked for, also in other folders
    std::string files;
    std::string shown;  // all texts
  };

  static bool is_old(const File& file, const Known& known, Context& context) {
    return known.buffers != context.files.buffers() || known.files != files_of(file.name, known.others);
  }

  /// Of an editor that cannot be told later, short programs are gathered at once.
  const Known& of(Context& context, const FilePtr& file) {
    Known& known = known_[file->uri];
    if (!context.refreshes_hints && file->text.line_count() < short_program && is_old(*file, known, context))
      gather(context, file, known);
    return known;
  }

  static bool gather(Context& context, const FilePtr& file, Known& known) {
    known.buffers = context.files.buffers();
    const std::string beside = files_of(file->name, {});
    known.others.clear();
    SourceManager sources;
    Emitter emitter;
    HintRequest request;
    request.path = file->name;
    request.options.include_dirs = context.files.include_dirs();  // and those of the job
    request.options.buffers = &known.buffers;
    request.looked_for = &known.others;
    try {
      if (std::optional<facts::Facts> facts = hints_of(request, sources, emitter)) {
        known.facts = std::make_shared<const facts::Facts>(std::move(*facts));
        known.file = file;
      }
    } catch (const SialError&) {
      known.facts = nullptr;  // a file that cannot be read: its diagnostics say so
    }
    for (FileId f = 0; f < sources.file_count(); ++f) known.others.push_back(sources.canonical_path(f));
    known.files = files_of(file->name, known.others);
    // Files that have changed meanwhile are looked at again.
    if (files_of(file->name, {}) != beside) known.files.clear();
    std::string shown = known.facts ? hints_text(*known.facts, true) : std::string();
    const bool changed = shown != known.shown;
    known.shown = std::move(shown);
    return changed;
  }

  /// For each line of the file, from 1, that of the text whose facts are known; 0: none that these belong to.
  static std::vector<int> lines_before(const Known& known, const File& now) {
    if (known.file->text.bytes() != now.text.bytes() && declarations(*known.file) != declarations(now)) return {};
    return facts::same_lines(known.file->text.bytes(), now.text.bytes());
  }

  std::map<std::string, Known> known_;  // by URI
};

}  // namespace

lsp::Providers language_providers() {
  lsp::Providers providers;
  const auto known = std::make_shared<KnownFacts>();
  providers.code_actions = code_actions;
  providers.formatting = formatting;
  providers.inlay_hints = [known](Context& context, const FilePtr& file, int first, int last) {
    return known->inlay_hints(context, file, first, last);
  };
  providers.hover_facts = [known](Context& context, const FilePtr& file, std::uint32_t offset) {
    return known->hover(context, file, offset);
  };
  providers.job_include_dirs = job_include_dirs;
  providers.idle = [known](Context& context) { return known->idle(context); };
  return providers;
}

}  // namespace sial
