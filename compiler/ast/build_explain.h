#pragma once
// Says what is wrong with one line that the grammar refuses: known mistakes first, then what could have stood there.
// Private to the parser.

#include <string>

#include "compiler/ast/build_probe.h"
#include "compiler/diag/diagnostic.h"

namespace sial::parsing {

/// A line with access to its text.
class LineView {
 public:
  LineView(const Line& line, const SourceManager& sources, FileId file) : line_(line), sources_(sources), file_(file) {}

  std::size_t size() const { return line_.tokens.size(); }
  const std::vector<Token>& tokens() const { return line_.tokens; }
  int type(std::size_t i) const;  // NL after the last token
  std::string text(std::size_t i) const;
  std::string lower(std::size_t i) const { return lower_case(text(i)); }
  Span span(std::size_t i) const;  // after the last token: an empty span after it
  Span span(std::size_t first, std::size_t last) const { return cover(span(first), span(last)); }
  Span whole() const { return span(0, size() - 1); }
  /// Source text of tokens first..last.
  std::string text(std::size_t first, std::size_t last) const { return std::string(sources_.slice(span(first, last))); }
  /// No blank between token i-1 and token i.
  bool adjacent(std::size_t i) const { return i > 0 && i < size() && line_.tokens[i - 1].end == line_.tokens[i].begin; }

 private:
  const Line& line_;
  const SourceManager& sources_;
  FileId file_;
};

/// Reports one error for a line that `rule` refuses at token `at`. `expected_end`: the closing line the innermost open
/// block needs ("enddo i"), for closers that are incomplete.
void explain_refused_line(const LineView& line, LineRule rule, std::size_t at, const std::string& expected_end,
                          LineProbe& probe, Emitter& emitter);

/// The keyword that an unknown first word may have been meant as (`endo` → enddo; also `end do`), with the number of
/// tokens it stands for; nullopt when none is near.
struct Correction {
  int type;
  std::size_t tokens;
};
std::optional<Correction> meant_keyword(const LineView& line);

}  // namespace sial::parsing
