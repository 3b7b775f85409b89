#include "compiler/tools/format/layout.h"

#include <algorithm>
#include <map>
#include <string>

#include "compiler/tools/format/spacing.h"

namespace sial::format {
namespace {

using parsing::Token;

constexpr int indent_width = 2;
constexpr int comment_gap = 2;  // blanks between a statement and its comment, at least
constexpr int tab_width = 8;

/// One line on its way: columns count characters from 0, tabs as far as the next multiple of eight.
struct LaidLine {
  std::vector<Token> tokens;
  std::string comment;                                    // with its #, without trailing blanks; empty if there is none
  int code_column = 0, code_end = 0, comment_column = 0;  // in the text before
  int source_line = 0;

  std::string code;
  int indent = 0;
  int comment_at = 0;
  bool continues_comment = false;  // of the line above, in the same column

  bool has_code() const { return !tokens.empty(); }
  bool is_blank() const { return tokens.empty() && comment.empty(); }
  bool trails() const { return !comment.empty() && (has_code() || continues_comment); }
};

int width(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Column of a place in a line.
int column_of(std::string_view line, std::size_t offset) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  int column = line.starts_with(byte_order_mark) ? -1 : 0;
  for (const char c : line.substr(0, offset)) {
    if (c == '\t') column += tab_width - column % tab_width;
    else if ((c & 0xC0) != 0x80) ++column;
  }
  return column;
}

std::string_view without_trailing_blanks(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\f");
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

std::vector<LaidLine> read_lines(std::string_view text, const std::vector<Token>& tokens) {
  std::vector<LaidLine> lines;
  auto token = tokens.begin();
  for (const LineExtent& extent : line_extents(text)) {
    LaidLine line;
    line.source_line = static_cast<int>(lines.size()) + 1;
    const std::string_view whole = text.substr(extent.begin, extent.end - extent.begin);
    std::size_t after = 0;
    for (; token != tokens.end() && token->begin < extent.end; ++token) {
      line.tokens.push_back(*token);
      after = token->end - extent.begin;
    }
    while (token != tokens.end() && parsing::symbolic_name(token->type) == "NL" && token->begin == extent.end) ++token;
    if (line.has_code()) {
      line.code_column = column_of(whole, line.tokens.front().begin - extent.begin);
      line.code_end = column_of(whole, after);
      line.code = spaced_line(line.tokens, text);
    }
    if (const std::size_t hash = whole.find('#', after); hash != std::string_view::npos) {
      line.comment = without_trailing_blanks(whole.substr(hash));
      line.comment_column = column_of(whole, hash);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void mark_continued_comments(std::vector<LaidLine>& lines) {
  for (std::size_t i = 1; i < lines.size(); ++i)
    lines[i].continues_comment = !lines[i].has_code() && !lines[i].comment.empty() && lines[i - 1].trails() &&
                                 lines[i].comment_column == lines[i - 1].comment_column;
}

void indent_code(std::vector<LaidLine>& lines) {
  int depth = 0;
  for (LaidLine& line : lines) {
    if (!line.has_code()) continue;
    const LineKind kind = kind_of_line(line.tokens);
    if (kind == LineKind::closes) depth = std::max(0, depth - 1);
    line.indent = indent_width * std::max(0, kind == LineKind::turns ? depth - 1 : depth);
    if (kind == LineKind::opens) ++depth;
  }
}

/// A comment goes with the line below it. Above the end of a block it is inside, unless it stood no further to the
/// right than that line.
void indent_comments(std::vector<LaidLine>& lines) {
  const LaidLine* below = nullptr;
  for (std::size_t i = lines.size(); i-- > 0;) {
    LaidLine& line = lines[i];
    if (line.has_code()) {
      below = &line;
    } else if (below != nullptr) {
      const LineKind kind = kind_of_line(below->tokens);
      const bool ends_block = kind == LineKind::closes || kind == LineKind::turns;
      line.indent = below->indent + (ends_block && line.comment_column > below->code_column ? indent_width : 0);
    }
  }
}

/// Comments after statements, of lines without a blank one between, that stood in one column stay in one: theirs, or
/// further to the right where a statement needs it. One that stood close and alone stays close.
void place_comments(std::vector<LaidLine>& lines) {
  for (std::size_t begin = 0; begin < lines.size();) {
    std::size_t end = begin;
    while (end < lines.size() && !lines[end].is_blank()) ++end;
    std::map<int, std::vector<LaidLine*>> columns;
    for (std::size_t i = begin; i < end; ++i)
      if (lines[i].trails()) columns[lines[i].comment_column].push_back(&lines[i]);
    for (const auto& [column, group] : columns) {
      int needed = 0;
      for (const LaidLine* line : group)
        if (line->has_code()) needed = std::max(needed, line->indent + width(line->code) + comment_gap);
      const bool close = group.size() == 1 && column - group.front()->code_end <= comment_gap;
      for (LaidLine* line : group) line->comment_at = close ? needed : std::max(column, needed);
    }
    begin = std::max(end, begin + 1);
  }
}

std::string text_of(const LaidLine& line) {
  if (!line.has_code()) {
    const int column = line.continues_comment ? line.comment_at : line.indent;
    return line.comment.empty() ? "" : std::string(static_cast<std::size_t>(column), ' ') + line.comment;
  }
  std::string text = std::string(static_cast<std::size_t>(line.indent), ' ') + line.code;
  if (!line.comment.empty())
    text += std::string(static_cast<std::size_t>(line.comment_at - line.indent - width(line.code)), ' ') + line.comment;
  return text;
}

/// Lines in front of which a blank one is wanted: around every procedure, whose comments stay with it.
std::vector<bool> wants_blank(const std::vector<LaidLine>& lines) {
  std::vector<bool> wanted(lines.size() + 1, false);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (begins_procedure(lines[i].tokens)) {
      std::size_t first = i;
      while (first > 0 && !lines[first - 1].has_code() && !lines[first - 1].is_blank() &&
             !lines[first - 1].continues_comment)
        --first;
      wanted[first] = true;
    }
    if (ends_procedure(lines[i].tokens)) {
      std::size_t next = i + 1;
      while (next < lines.size() && lines[next].continues_comment) ++next;
      std::size_t code = next;
      while (code < lines.size() && !lines[code].has_code() && !lines[code].is_blank()) ++code;
      if (code < lines.size() && lines[code].has_code()) wanted[next] = true;
    }
  }
  return wanted;
}

}  // namespace

std::vector<LineExtent> line_extents(std::string_view text) {
  std::vector<LineExtent> out;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n' && text[i] != '\r') continue;
    out.push_back({begin, i});
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
    begin = i + 1;
  }
  if (begin < text.size()) out.push_back({begin, text.size()});
  return out;
}

std::vector<FormattedLine> lay_out(std::string_view text, const std::vector<Token>& tokens) {
  std::vector<LaidLine> lines = read_lines(text, tokens);
  mark_continued_comments(lines);
  indent_code(lines);
  indent_comments(lines);
  place_comments(lines);
  const std::vector<bool> wanted = wants_blank(lines);
  std::vector<FormattedLine> out;
  int blank_line = 0;  // one that is to come before the next that is none
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].is_blank()) {
      if (blank_line == 0) blank_line = lines[i].source_line;
      continue;
    }
    if (!out.empty() && (blank_line != 0 || wanted[i])) out.push_back({"", blank_line});
    blank_line = 0;
    out.push_back({text_of(lines[i]), lines[i].source_line});
  }
  return out;
}

}  // namespace sial::format
