#pragma once
// Diagnostics: the road for mistakes in the user's program. Every code is one row of diagnostics.def (code, severity,
// title, explanation, example). A Diagnostic is a value; the Emitter collects them (many per run), render.h prints them
// as text or JSON.

#include <string>
#include <utility>
#include <vector>

#include "compiler/diag/fix.h"
#include "compiler/source/buffer.h"

namespace sial {

enum class Severity { note, warning, error };

enum class Code : int {
#define DIAGNOSTIC(id, code, severity, group, title, explanation, example) id,
#include "compiler/diag/diagnostics.def"
#undef DIAGNOSTIC
};

struct Note {
  Span span;
  std::string message;
};  // "declared here", "called from here"

struct Diagnostic {
  Code code;
  Severity severity = Severity::error;
  Span span;            // narrowest place; file -1: no place
  std::string message;  // lower case, no full stop, names in backticks
  std::string hint;     // what to do, or empty
  std::vector<Note> notes;
  std::vector<Fix> fixes = {};  // the likeliest first

  Diagnostic& fix(Fix fix) {
    fixes.push_back(std::move(fix));
    return *this;
  }
};

/// -W flags: a warning's group is the part after W- in lower case (W-UNUSED-ARRAY: unused-array); "phase" is a group
/// too.
struct WarningOptions {
  bool all_errors = false;                     // -Werror
  std::vector<std::string> as_error;           // -Werror=group
  std::vector<std::string> disabled, enabled;  // -Wno-group, -Wgroup
  bool none = false;                           // -w
};

class Emitter {
 public:
  explicit Emitter(WarningOptions options = {}) : options_(std::move(options)) {}
  /// Records a diagnostic with the row's severity (after -W options); a disabled warning is dropped. Returns it for
  /// notes.
  Diagnostic& report(Code code, Span span, std::string message, std::string hint = {});
  bool has_errors() const { return errors_ > 0; }
  int error_count() const { return errors_; }
  int warning_count() const { return warnings_; }
  const std::vector<Diagnostic>& all() const { return diagnostics_; }

 private:
  WarningOptions options_;
  std::vector<Diagnostic> diagnostics_;
  Diagnostic dropped_{};
  int errors_ = 0, warnings_ = 0;
};

}  // namespace sial
