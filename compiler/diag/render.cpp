#include "compiler/diag/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "compiler/diag/table.h"

namespace sial {
namespace {

constexpr std::size_t tab_width = 4;

const char* word(Severity s) {
  switch (s) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    default: return "error";
  }
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Columns that the first `bytes` bytes of a line take on the screen: tabs go to multiples of four, a UTF-8 sequence is one.
std::size_t display_width(std::string_view line, std::size_t bytes) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < bytes && i < line.size(); ++i) {
    if (line[i] == '\t')
      width += tab_width - width % tab_width;
    else if (!continues_character(line[i]))
      ++width;
  }
  return width + (bytes > line.size() ? bytes - line.size() : 0);
}

/// Length of the UTF-8 sequence that begins at `i`, 0 when it is none.
std::size_t sequence_length(std::string_view line, std::size_t i) {
  const auto c = static_cast<unsigned char>(line[i]);
  const std::size_t n = c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
  for (std::size_t k = 1; k < n; ++k)
    if (i + k >= line.size() || !continues_character(line[i + k])) return 0;
  return n;
}

/// The line as shown: tabs expanded, control bytes and bytes that are no UTF-8 replaced.
std::string shown(std::string_view line) {
  std::string out;
  std::size_t width = 0;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t n = sequence_length(line, i);
    const auto u = static_cast<unsigned char>(line[i]);
    if (line[i] == '\t') {
      const std::size_t blanks = tab_width - width % tab_width;
      out.append(blanks, ' ');
      width += blanks;
    } else {
      if (n == 0 || u < 0x20 || u == 0x7F)
        out += '?';
      else
        out += line.substr(i, n);
      ++width;
    }
    i += std::max<std::size_t>(n, 1);
  }
  return out;
}

/// Windows of very long lines: the part around the caret is enough.
constexpr std::size_t longest_shown = 160;

std::string snippet(Span span, const SourceManager& sources) {
  const LineColumn start = sources.position(span.file, span.begin);
  const std::string_view line = sources.line_text(span.file, start.line);
  const auto first = static_cast<std::size_t>(start.column - 1);
  if (line.empty()) return {};
  const std::size_t length = span.end > span.begin ? span.end - span.begin : 1;
  const std::size_t last = std::max(std::min(first + length, line.size()), first + 1);
  std::string_view part = line;
  std::size_t cut = 0;
  std::string left, right;
  if (line.size() > longest_shown) {
    cut = first > 60 ? first - 60 : 0;
    while (cut > 0 && continues_character(line[cut])) --cut;
    std::size_t end = std::min(cut + longest_shown, line.size());
    while (end < line.size() && continues_character(line[end])) ++end;
    part = line.substr(cut, end - cut);
    if (cut > 0) left = "...";
    if (end < line.size()) right = "...";
  }
  const std::size_t begin_column = display_width(part, first - cut);
  const std::size_t end_column = std::max(display_width(part, std::min(last - cut, part.size() + 1)), begin_column + 1);
  return fmt::format("    {}{}{}\n    {}^{}\n", left, shown(part), right, std::string(left.size() + begin_column, ' '),
                     std::string(end_column - begin_column - 1, '~'));
}

std::string place(Span span, const SourceManager& sources) {
  const LineColumn p = sources.position(span.file, span.begin);
  return fmt::format("{}:{}:{}: ", sources.name(span.file), p.line, p.column);
}

nlohmann::ordered_json place_json(Span span, const SourceManager& sources) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  if (span.file < 0) return out;
  const LineColumn a = sources.position(span.file, span.begin), b = sources.position(span.file, std::max(span.end, span.begin));
  out["file"] = sources.name(span.file);
  out["line"] = a.line;
  out["column"] = a.column;
  out["endLine"] = b.line;
  out["endColumn"] = b.column;
  return out;
}

}  // namespace

std::string render_text(const Diagnostic& d, const SourceManager& sources) {
  const bool placed = d.span.file >= 0;
  std::string out = placed ? place(d.span, sources) : "sialc: ";
  out += fmt::format("{}: {} [{}]\n", word(d.severity), d.message, row_of(d.code).name);
  if (placed) out += snippet(d.span, sources);
  if (!d.hint.empty()) out += fmt::format("    hint: {}\n", d.hint);
  for (const Note& note : d.notes) {
    if (note.span.file < 0) {
      out += fmt::format("    note: {}\n", note.message);
    } else {
      out += fmt::format("{}note: {}\n", place(note.span, sources), note.message) + snippet(note.span, sources);
    }
  }
  return out;
}

std::string render_json(const Diagnostic& d, const SourceManager& sources) {
  nlohmann::ordered_json out;
  out["code"] = row_of(d.code).name;
  out["severity"] = word(d.severity);
  out["message"] = d.message;
  out["hint"] = d.hint;
  out.update(place_json(d.span, sources));
  out["notes"] = nlohmann::ordered_json::array();
  for (const Note& note : d.notes) {
    nlohmann::ordered_json entry;
    entry["message"] = note.message;
    entry.update(place_json(note.span, sources));
    out["notes"].push_back(std::move(entry));
  }
  // Source text may hold bytes that are no UTF-8; they become replacement characters.
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::vector<Diagnostic> in_source_order(const std::vector<Diagnostic>& diagnostics) {
  std::vector<Diagnostic> out = diagnostics;
  std::stable_sort(out.begin(), out.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tuple(a.span.file, a.span.begin) < std::tuple(b.span.file, b.span.begin);
  });
  const auto same = [](const Diagnostic& a, const Diagnostic& b) {
    return a.code == b.code && a.span.file == b.span.file && a.span.begin == b.span.begin && a.span.end == b.span.end &&
           a.message == b.message;
  };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

std::string count_text(int errors, int warnings) {
  const auto counted = [](int n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
  if (errors > 0 && warnings > 0) return counted(errors, "error") + " and " + counted(warnings, "warning");
  if (errors > 0) return counted(errors, "error");
  return warnings > 0 ? counted(warnings, "warning") : std::string();
}

}  // namespace sial
