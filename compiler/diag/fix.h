#pragma once
// Fixes: what a program can do about a diagnostic by itself. Whoever reports a mistake names the change in the terms of
// the program (this span, the line above that statement); text_edits() turns it into replacements of text, with the
// indentation and the line ends of the file, and apply_edits() makes the new text. Values; nothing here touches files.

#include <string>
#include <string_view>
#include <vector>

#include "compiler/source/buffer.h"

namespace sial {

/// One change. `text` has no line end: each edit that makes a line adds that of the file.
struct Edit {
  enum class What {
    replace,       // the span by the text; an empty span: an insertion
    line_above,    // a line with the text, above the one where the span begins
    line_below,    // below the one where it ends
    remove_lines,  // all lines that the span touches
    break_line     // the line goes on, after the text, in a new one at the beginning of the span; blanks before it go
  };
  What what = What::replace;
  Span span;
  std::string text = {};
  Span like = {};  // new lines have the indentation of the line where this begins; no file: that of `span`
};

struct Fix {
  std::string title;        // an order without full stop: "insert `get v[i,j]`"
  std::vector<Edit> edits;  // they do not overlap
  bool automatic = true;    // certain enough to be made without asking; others are offered only
};

Fix replace(Span span, std::string text);  // "write `text`"
Fix replace(std::string title, Span span, std::string text);
Fix remove(std::string title, Span span);
Fix insert_above(Span statement, std::string line);  // "insert `line`"
Fix insert_below(Span statement, std::string line);
Fix remove_lines(std::string title, std::vector<Span> statements);
/// The same fix, to be offered only.
Fix offered(Fix fix);

struct TextEdit {
  Span span;
  std::string text;
};

/// The replacements of a fix, in the order of their places.
std::vector<TextEdit> text_edits(const Fix& fix, const SourceManager& sources);

/// Whether two sets of edits change the same text, or insert at the same place.
bool overlap(const std::vector<TextEdit>& a, const std::vector<TextEdit>& b);

/// A file's text with the edits that are about it.
std::string apply_edits(std::string_view text, FileId file, std::vector<TextEdit> edits);

}  // namespace sial
