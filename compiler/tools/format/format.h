#pragma once
// The one style of SIAL programs: `sialc format` and the language server. Text goes in, text comes out; names, strings,
// numbers and comments stay as they were written, and the program means what it meant. Nothing is read or written.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/source/buffer.h"

namespace sial::format {

/// A line of the result, without its end.
struct FormattedLine {
  std::string text;
  int source_line = 0;  // of the text before, from 1; 0 for a blank line that was put in
};

/// Lines `first` up to, not including, `last` of the text before (from 1) become `text`, which ends with a line end
/// unless it is empty.
struct LineEdit {
  int first = 1, last = 1;
  std::string text;
};

struct Formatted {
  std::vector<FormattedLine> lines;
  std::string line_end;         // "\n", "\r\n" or "\r": what most lines of the text ended with
  std::string text;             // all of it
  std::vector<LineEdit> edits;  // from the text before to `text`, in order; empty when they are equal
  int first_difference = 0;     // line of the text before, 0 when they are equal
};

/// Nothing when the file has syntax errors, which are reported.
std::optional<Formatted> format_source(const SourceManager& sources, FileId file, Emitter& emitter);

/// The edits that touch lines `first` to `last`, both included. Lines outside change only together with blank lines
/// that come or go beside them.
std::vector<LineEdit> edits_in(const Formatted& formatted, int first, int last);

/// The output of `diff -u` for the two texts; empty when they are equal. `name` stands in both header lines.
std::string unified_diff(std::string_view before, const Formatted& after, std::string_view name);

}  // namespace sial::format
