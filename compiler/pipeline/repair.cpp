#include "compiler/pipeline/repair.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/ast/imports.h"
#include "compiler/diag/render.h"
#include "compiler/diag/table.h"

namespace sial {
namespace {

namespace fs = std::filesystem;
using FixKey = std::tuple<Code, std::string, std::string>;  // code, file, title

/// A program as it is now: its files, and what is said about them.
struct State {
  SourceManager sources;
  Emitter emitter;
  bool parsed = false;
  explicit State(const WarningOptions& warnings) : emitter(warnings) {}
};

struct Candidate {
  const Diagnostic* diagnostic = nullptr;
  const Fix* fix = nullptr;
  std::vector<TextEdit> edits;
};

class Repairer {
 public:
  Repairer(std::string path, const CompileOptions& options, const WarningOptions& warnings)
      : path_(std::move(path)), options_(options), warnings_(warnings) {
    options_.buffers = &buffers_;
    options_.last_pass = "check";
    std::error_code ignored;
    folder_ = fs::weakly_canonical(path_, ignored).parent_path();
  }

  Repair run() {
    constexpr int max_rounds = 100;
    for (int round = 0; round < max_rounds; ++round) {
      State now(warnings_);
      look(now);
      std::vector<Candidate> wanted = candidates(now);
      if (wanted.empty()) break;
      if (try_fixes(now, wanted)) continue;
      for (const Candidate& one : wanted) {
        if (wanted.size() > 1 && try_fixes(now, {one})) break;
        refused_.insert(key(now, one));  // it does more harm than good
      }
    }
    for (const auto& [path, text] : buffers_) repair_.texts[names_.at(path)] = text;
    return std::move(repair_);
  }

 private:
  void look(State& state) const {
    const CompileResult result = compile_file(path_, options_, state.sources, state.emitter);
    state.parsed = result.times.size() > 1;
  }

  FixKey key(const State& state, const Candidate& c) const {
    return {c.diagnostic->code, state.sources.name(c.diagnostic->span.file), c.fix->title};
  }

  bool own(const State& state, FileId file) const {
    const fs::path canonical = state.sources.canonical_path(file);
    const auto [end, rest] = std::mismatch(folder_.begin(), folder_.end(), canonical.begin(), canonical.end());
    return end == folder_.end();
  }

  /// The first automatic fix of each diagnostic, as far as they leave each other alone.
  std::vector<Candidate> candidates(const State& state) {
    diagnostics_ = in_source_order(state.emitter.all());
    std::vector<Candidate> chosen;
    std::vector<TextEdit> taken;
    for (const Diagnostic& d : diagnostics_) {
      const auto fix = std::find_if(d.fixes.begin(), d.fixes.end(), [](const Fix& f) { return f.automatic; });
      if (fix == d.fixes.end() || d.span.file < 0) continue;
      Candidate c{&d, &*fix, text_edits(*fix, state.sources)};
      if (refused_.contains(key(state, c)) || overlap(taken, c.edits)) continue;
      if (!std::all_of(c.edits.begin(), c.edits.end(), [&](const TextEdit& e) { return own(state, e.span.file); })) {
        if (elsewhere_.insert(key(state, c)).second) repair_.elsewhere.push_back(described(state, c));
        continue;
      }
      taken.insert(taken.end(), c.edits.begin(), c.edits.end());
      chosen.push_back(std::move(c));
    }
    return chosen;
  }

  AppliedFix described(const State& state, const Candidate& c) const {
    const Span span = c.diagnostic->span;
    return {state.sources.name(span.file), c.fix->title, c.diagnostic->code,
            state.sources.position(span.file, span.begin).line};
  }

  /// False: more errors than before, and nothing was changed. A program that could not be read before may have any
  /// number of errors once it can.
  bool try_fixes(const State& before, const std::vector<Candidate>& fixes) {
    SourceTexts saved = buffers_;
    std::map<FileId, std::vector<TextEdit>> edits;
    for (const Candidate& c : fixes)
      for (const TextEdit& e : c.edits) edits[e.span.file].push_back(e);
    for (const auto& [file, list] : edits) {
      const std::string& path = before.sources.canonical_path(file);
      buffers_[path] = apply_edits(before.sources.text(file), file, list);
      names_.try_emplace(path, before.sources.name(file));
    }
    State after(warnings_);
    look(after);
    const bool seen_first = after.parsed && !before.parsed;
    if ((!seen_first && errors_in(after, before) > errors_in(before, before)) || (before.parsed && !after.parsed)) {
      buffers_ = std::move(saved);
      return false;
    }
    for (const Candidate& c : fixes) repair_.applied.push_back(described(before, c));
    return true;
  }

  /// Errors in files that were there before. An import is followed once its importer is well formed.
  static int errors_in(const State& state, const State& before) {
    std::set<std::string> known;
    for (FileId f = 0; f < before.sources.file_count(); ++f) known.insert(before.sources.name(f));
    int errors = 0;
    for (const Diagnostic& d : state.emitter.all())
      errors += d.severity == Severity::error && d.code != Code::E_IMPORT && d.span.file >= 0 &&
                known.contains(state.sources.name(d.span.file));
    return errors;
  }

  const std::string path_;
  CompileOptions options_;
  const WarningOptions& warnings_;
  fs::path folder_;
  Repair repair_;
  SourceTexts buffers_;                       // as changed so far, by physical path
  std::map<std::string, std::string> names_;  // of these files in the compilation
  std::vector<Diagnostic> diagnostics_;       // of the round
  std::set<FixKey> refused_, elsewhere_;
};

}  // namespace

Repair repair(const std::string& path, const CompileOptions& options, const WarningOptions& warnings) {
  return Repairer(path, options, warnings).run();
}

}  // namespace sial
