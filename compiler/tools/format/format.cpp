#include "compiler/tools/format/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>

#include "compiler/ast/ast.h"
#include "compiler/ast/build.h"
#include "compiler/ast/build_tokens.h"
#include "compiler/tools/format/layout.h"
#include "runtime/core/base/check.h"

namespace sial::format {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// The end of most lines; LF where that is undecided.
std::string usual_line_end(std::string_view text) {
  std::ptrdiff_t lf = 0, crlf = 0, cr = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') ++lf;
    if (text[i] != '\r') continue;
    if (i + 1 < text.size() && text[i + 1] == '\n') {
      ++crlf;
      ++i;
    } else {
      ++cr;
    }
  }
  if (crlf > lf && crlf >= cr) return "\r\n";
  return cr > lf ? "\r" : "\n";
}

/// Tokens without line ends, and comments: what must be the same before and after.
std::vector<std::string> essence(std::string_view text) {
  std::vector<std::string> out;
  const std::vector<parsing::Token> tokens = parsing::lex(text);
  auto token = tokens.begin();
  for (const LineExtent& extent : line_extents(text)) {
    std::size_t after = extent.begin;
    for (; token != tokens.end() && token->begin < extent.end; ++token) {
      const std::string_view written = text.substr(token->begin, token->end - token->begin);
      out.push_back(parsing::is_keyword(token->type) ? parsing::keyword_text(token->type) : std::string(written));
      after = token->end;
    }
    if (after > extent.begin) out.emplace_back("\n");
    while (token != tokens.end() && token->begin == extent.end) ++token;
    const std::size_t hash = text.substr(0, extent.end).find('#', after);
    if (hash == std::string_view::npos) continue;
    const std::string_view comment = text.substr(hash, extent.end - hash);
    out.emplace_back(comment.substr(0, comment.find_last_not_of(" \t\f") + 1));
  }
  return out;
}

/// Runs of lines that change, from the places the lines of the result had.
std::vector<LineEdit> find_edits(std::string_view text, const Formatted& after) {
  const std::vector<LineExtent> before = line_extents(text);
  std::vector<LineEdit> edits;
  LineEdit open;
  bool is_open = false;
  int next = 1;  // first line of the text before that is not dealt with
  const auto begin_edit = [&] {
    if (!is_open) open = {next, next, ""};
    is_open = true;
  };
  const auto end_edit = [&] {
    if (is_open) edits.push_back(std::move(open));
    is_open = false;
  };
  for (const FormattedLine& line : after.lines) {
    const std::string whole = line.text + after.line_end;
    if (line.source_line == 0) {
      begin_edit();
      open.text += whole;
      continue;
    }
    if (next < line.source_line) {  // blank lines that go
      begin_edit();
      next = open.last = line.source_line;
    }
    const LineExtent& extent = before[static_cast<std::size_t>(line.source_line - 1)];
    const std::size_t end = static_cast<std::size_t>(line.source_line) < before.size()
                                ? before[static_cast<std::size_t>(line.source_line)].begin
                                : text.size();
    if (text.substr(extent.begin, end - extent.begin) == whole) {
      end_edit();
    } else {
      begin_edit();
      open.text += whole;
      open.last = line.source_line + 1;
    }
    next = line.source_line + 1;
  }
  if (next <= static_cast<int>(before.size())) {
    begin_edit();
    open.last = static_cast<int>(before.size()) + 1;
  }
  end_edit();
  return edits;
}

int count_lines(std::string_view text, std::string_view line_end) {
  int count = 0;
  for (std::size_t at = text.find(line_end); at != std::string_view::npos;
       at = text.find(line_end, at + line_end.size()))
    ++count;
  return count;
}

}  // namespace

std::optional<Formatted> format_source(const SourceManager& sources, FileId file, Emitter& emitter) {
  ast::NodeId next_id{};
  if (!parse_module(sources, file, emitter, next_id)) return std::nullopt;
  Formatted out;
  const std::string_view text = sources.text(file);
  out.line_end = usual_line_end(text);
  out.lines = lay_out(text, parsing::lex(text));
  if (text.starts_with(byte_order_mark)) out.lines.front().text.insert(0, byte_order_mark);
  for (const FormattedLine& line : out.lines) out.text += line.text + out.line_end;
  SIAL_CHECK(essence(text) == essence(out.text), "formatting would change the program");
  out.edits = find_edits(text, out);
  if (!out.edits.empty()) out.first_difference = out.edits.front().first;
  return out;
}

std::vector<LineEdit> edits_in(const Formatted& formatted, int first, int last) {
  std::map<int, const FormattedLine*> by_source;
  for (const FormattedLine& line : formatted.lines)
    if (line.source_line > 0) by_source.emplace(line.source_line, &line);
  const auto stays = [&](int line) { return by_source.contains(line); };
  std::vector<LineEdit> out;
  for (const LineEdit& edit : formatted.edits) {
    if (edit.first > last || std::max(edit.first, edit.last - 1) < first) continue;
    bool line_by_line = count_lines(edit.text, formatted.line_end) == edit.last - edit.first;
    for (int line = edit.first; line < edit.last && line_by_line; ++line) line_by_line = stays(line);
    if (!line_by_line) {
      out.push_back(edit);
      continue;
    }
    for (int line = std::max(edit.first, first); line < edit.last && line <= last; ++line)
      out.push_back({line, line + 1, by_source.at(line)->text + formatted.line_end});
  }
  return out;
}

std::string unified_diff(std::string_view before, const Formatted& after, std::string_view name) {
  constexpr int context = 3;
  if (after.edits.empty()) return {};
  const std::vector<LineExtent> extents = line_extents(before);
  const int count = static_cast<int>(extents.size());
  const auto old_line = [&](int line, char mark) {
    const LineExtent& extent = extents[static_cast<std::size_t>(line - 1)];
    const std::size_t end = line < count ? extents[static_cast<std::size_t>(line)].begin : before.size();
    std::string out = mark + std::string(before.substr(extent.begin, end - extent.begin));
    if (end == extent.end) out += "\n\\ No newline at end of file\n";
    return out;
  };
  std::string out = fmt::format("--- {}\n+++ {}\n", name, name);
  int shift = 0;  // lines that the result has more, so far
  for (std::size_t i = 0; i < after.edits.size();) {
    std::size_t end = i + 1;
    while (end < after.edits.size() && after.edits[end].first - after.edits[end - 1].last <= 2 * context) ++end;
    const int first = std::max(1, after.edits[i].first - context);
    const int last = std::min(count + 1, after.edits[end - 1].last + context);
    std::string body;
    int line = first, added = 0, removed = 0;
    for (; i < end; ++i) {
      const LineEdit& edit = after.edits[i];
      while (line < edit.first) body += old_line(line++, ' ');
      removed += edit.last - line;
      while (line < edit.last) body += old_line(line++, '-');
      for (std::string_view rest = edit.text; !rest.empty();) {
        const std::size_t size = rest.find(after.line_end) + after.line_end.size();
        body += '+' + std::string(rest.substr(0, size));
        rest.remove_prefix(size);
      }
      added += count_lines(edit.text, after.line_end);
    }
    while (line < last) body += old_line(line++, ' ');
    const int old_size = last - first, new_size = old_size + added - removed;
    out += fmt::format("@@ -{},{} +{},{} @@\n{}", old_size == 0 ? first - 1 : first, old_size,
                       new_size == 0 ? first + shift - 1 : first + shift, new_size, body);
    shift += added - removed;
  }
  return out;
}

}  // namespace sial::format
