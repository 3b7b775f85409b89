#include "compiler/diag/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "compiler/diag/table.h"
#include "runtime/core/base/json.h"
#include "runtime/core/base/printable.h"

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

/// A line on the screen: tabs go to multiples of four, control characters and bytes that are no UTF-8 are shown as
/// numbers.
struct Shown {
  std::string text;
  std::size_t width = 0;            // in columns; a UTF-8 sequence is one
  std::vector<std::size_t> column;  // where each byte of the line begins, and one after the last
};

Shown shown(std::string_view line) {
  Shown out;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t n = std::max<std::size_t>(utf8_length(line, i), 1);
    const std::string text =
        line[i] == '\t' ? std::string(tab_width - out.width % tab_width, ' ') : printable_name(line.substr(i, n));
    out.column.insert(out.column.end(), n, out.width);
    out.width += text == line.substr(i, n) ? 1 : text.size();
    out.text += text;
    i += n;
  }
  out.column.push_back(out.width);
  return out;
}

/// Columns before a byte; those after the end of the line are one each.
std::size_t column_of(const Shown& line, std::size_t byte) {
  const std::size_t end = line.column.size() - 1;
  return byte <= end ? line.column[byte] : line.width + (byte - end);
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
  const Shown line_shown = shown(part);
  const std::size_t begin_column = column_of(line_shown, first - cut);
  // A span that ends within a sequence covers it.
  std::size_t end = std::min(last - cut, part.size() + 1);
  while (end > 0 && end < part.size() && line_shown.column[end] == line_shown.column[end - 1]) ++end;
  const std::size_t end_column = std::max(column_of(line_shown, end), begin_column + 1);
  return fmt::format("    {}{}{}\n    {}^{}\n", left, line_shown.text, right,
                     std::string(left.size() + begin_column, ' '), std::string(end_column - begin_column - 1, '~'));
}

std::string place(Span span, const SourceManager& sources) {
  const LineColumn p = sources.position(span.file, span.begin);
  return fmt::format("{}:{}:{}: ", printable_name(sources.name(span.file)), p.line, p.column);
}

/// Control characters that JSON leaves as they are, as its escapes; they stand only in texts.
std::string printable_json(std::string_view json) {
  std::string out;
  for (std::size_t i = 0, length = 1; i < json.size(); i += length) {
    length = std::max<std::size_t>(utf8_length(json, i), 1);
    if (json[i] == '\n' || !is_control(json, i)) {
      out += json.substr(i, length);
      continue;
    }
    unsigned code = static_cast<unsigned char>(json[i]) & (0xFFu >> (length == 1 ? 0 : length + 1));
    for (std::size_t k = 1; k < length; ++k) code = code << 6 | (static_cast<unsigned char>(json[i + k]) & 0x3F);
    out += fmt::format("\\u{:04x}", code);
  }
  return out;
}

Json place_json(Span span, const SourceManager& sources) {
  Json out = Json::object();
  if (span.file < 0) return out;
  const LineColumn a = sources.position(span.file, span.begin),
                   b = sources.position(span.file, std::max(span.end, span.begin));
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
  out += fmt::format("{}: {} [{}]\n", word(d.severity), printable_name(d.message), row_of(d.code).name);
  if (placed) out += snippet(d.span, sources);
  if (!d.hint.empty()) out += fmt::format("    hint: {}\n", printable_name(d.hint));
  for (const Note& note : d.notes) {
    if (note.span.file < 0) {
      out += fmt::format("    note: {}\n", printable_name(note.message));
    } else {
      out += fmt::format("{}note: {}\n", place(note.span, sources), printable_name(note.message)) +
             snippet(note.span, sources);
    }
  }
  return out;
}

std::string render_json(const Diagnostic& d, const SourceManager& sources) {
  Json out;
  out["code"] = row_of(d.code).name;
  out["severity"] = word(d.severity);
  out["message"] = d.message;
  out["hint"] = d.hint;
  out.update(place_json(d.span, sources));
  out["notes"] = Json::array();
  for (const Note& note : d.notes) {
    Json entry;
    entry["message"] = note.message;
    entry.update(place_json(note.span, sources));
    out["notes"].push_back(std::move(entry));
  }
  out["fixes"] = Json::array();
  for (const Fix& fix : d.fixes) {
    Json entry;
    entry["title"] = fix.title;
    entry["automatic"] = fix.automatic;
    entry["edits"] = Json::array();
    for (const TextEdit& edit : text_edits(fix, sources)) {
      Json change = place_json(edit.span, sources);
      change["text"] = edit.text;
      entry["edits"].push_back(std::move(change));
    }
    out["fixes"].push_back(std::move(entry));
  }
  // Source text may hold bytes that are no UTF-8; they become replacement characters.
  return printable_json(json_text(out, -1)) + "\n";
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

std::string render_list(const std::vector<Diagnostic>& diagnostics, const SourceManager& sources) {
  constexpr int most = 50;
  std::string out;
  std::map<Code, int> seen;
  for (const Diagnostic& d : in_source_order(diagnostics))
    if (d.severity != Severity::warning || ++seen[d.code] <= most) out += render_text(d, sources);
  for (const auto& [code, n] : seen)
    if (n > most) {
      std::string group(row_of(code).name.substr(2));  // W-UNUSED-ARRAY: unused-array
      for (char& c : group) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      out += fmt::format(
          "sialc: note: and {} more of [{}]\n    hint: `sialc -Wno-{}` shows none of them, `sialc --error-format=json` all\n",
          n - most, row_of(code).name, group);
    }
  return out;
}

std::string count_text(int errors, int warnings) {
  const auto counted = [](int n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
  if (errors > 0 && warnings > 0) return counted(errors, "error") + " and " + counted(warnings, "warning");
  if (errors > 0) return counted(errors, "error");
  return warnings > 0 ? counted(warnings, "warning") : std::string();
}

}  // namespace sial
