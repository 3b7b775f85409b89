#include "compiler/diag/fix.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace sial {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool ends_line(char c) { return c == '\n' || c == '\r'; }

std::size_t line_begin(std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  while (at > 0 && !ends_line(text[at - 1])) --at;
  return at;
}
/// The line's end, before its line break.
std::size_t line_end(std::string_view text, std::size_t at) {
  while (at < text.size() && !ends_line(text[at])) ++at;
  return at;
}
std::size_t after_break(std::string_view text, std::size_t end) {
  if (end >= text.size()) return text.size();
  return end + (text.substr(end, 2) == "\r\n" ? 2 : 1);
}

std::string indentation(std::string_view text, std::size_t at) {
  const std::size_t begin = line_begin(text, at);
  std::size_t end = begin;
  while (end < text.size() && is_blank(text[end])) ++end;
  return std::string(text.substr(begin, end - begin));
}

/// The first line break of a file, which the others are like.
std::string break_of(std::string_view text) {
  const std::size_t end = line_end(text, 0);
  if (end == text.size()) return "\n";
  return std::string(text.substr(end, after_break(text, end) - end));
}

TextEdit text_edit(const Edit& edit, const SourceManager& sources) {
  const std::string_view text = sources.text(edit.span.file);
  const FileId file = edit.span.file;
  const auto span = [&](std::size_t begin, std::size_t end) {
    return Span{file, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  };
  const std::string line_break = break_of(text);
  const std::string indent =
      edit.like.file == file ? indentation(text, edit.like.begin) : indentation(text, edit.span.begin);
  switch (edit.what) {
    case Edit::What::line_above: {
      const std::size_t at = line_begin(text, edit.span.begin);
      return {span(at, at), indent + edit.text + line_break};
    }
    case Edit::What::line_below: {
      const std::size_t end = line_end(text, edit.span.end), at = after_break(text, end);
      if (at == end) return {span(at, at), line_break + indent + edit.text};  // the last line has no break
      return {span(at, at), indent + edit.text + line_break};
    }
    case Edit::What::remove_lines:
      return {span(line_begin(text, edit.span.begin), after_break(text, line_end(text, edit.span.end))), ""};
    case Edit::What::break_line: {
      std::size_t begin = edit.span.begin;
      while (begin > 0 && is_blank(text[begin - 1])) --begin;
      return {span(begin, edit.span.end), line_break + indent + edit.text};
    }
    case Edit::What::replace: break;
  }
  return {edit.span, edit.text};
}

bool before(const TextEdit& a, const TextEdit& b) {
  return std::tuple(a.span.file, a.span.begin, a.span.end) < std::tuple(b.span.file, b.span.begin, b.span.end);
}

}  // namespace

Fix replace(Span span, std::string text) {
  std::string title = fmt::format("write `{}`", text);
  return replace(std::move(title), span, std::move(text));
}
Fix replace(std::string title, Span span, std::string text) {
  return {std::move(title), {{Edit::What::replace, span, std::move(text)}}};
}
Fix remove(std::string title, Span span) { return replace(std::move(title), span, ""); }

Fix insert_above(Span statement, std::string line) {
  std::string title = fmt::format("insert `{}`", line);
  return {std::move(title), {{Edit::What::line_above, statement, std::move(line)}}};
}
Fix insert_below(Span statement, std::string line) {
  std::string title = fmt::format("insert `{}`", line);
  return {std::move(title), {{Edit::What::line_below, statement, std::move(line)}}};
}

Fix remove_lines(std::string title, std::vector<Span> statements) {
  Fix fix{std::move(title), {}};
  for (const Span statement : statements) fix.edits.push_back({Edit::What::remove_lines, statement});
  return fix;
}

Fix offered(Fix fix) {
  fix.automatic = false;
  return fix;
}

std::vector<TextEdit> text_edits(const Fix& fix, const SourceManager& sources) {
  std::vector<TextEdit> edits;
  edits.reserve(fix.edits.size());
  for (const Edit& edit : fix.edits)
    if (edit.span.file >= 0) edits.push_back(text_edit(edit, sources));
  std::stable_sort(edits.begin(), edits.end(), before);
  return edits;
}

bool overlap(const std::vector<TextEdit>& a, const std::vector<TextEdit>& b) {
  return std::any_of(a.begin(), a.end(), [&](const TextEdit& x) {
    return std::any_of(b.begin(), b.end(), [&](const TextEdit& y) {
      if (x.span.file != y.span.file) return false;
      // Touching edits count: one may lean on what the other takes away.
      return x.span.begin <= y.span.end && y.span.begin <= x.span.end;
    });
  });
}

std::string apply_edits(std::string_view text, FileId file, std::vector<TextEdit> edits) {
  std::stable_sort(edits.begin(), edits.end(), before);
  std::string out;
  std::size_t at = 0;
  for (const TextEdit& edit : edits) {
    if (edit.span.file != file || edit.span.begin < at || edit.span.end > text.size()) continue;
    out.append(text.substr(at, edit.span.begin - at)).append(edit.text);
    at = edit.span.end;
  }
  return out.append(text.substr(at));
}

}  // namespace sial
