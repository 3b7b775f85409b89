#pragma once
// Lines with their indentation, comments and blank lines. Private to the formatter.

#include <string_view>
#include <vector>

#include "compiler/ast/build_tokens.h"
#include "compiler/tools/format/format.h"

namespace sial::format {

/// The begin and end of the lines of a text: [begin, end) without the line end, whichever of LF, CRLF and CR it is.
struct LineExtent {
  std::size_t begin = 0, end = 0;
};
std::vector<LineExtent> line_extents(std::string_view text);

/// The lines of a text that the grammar accepts. `tokens`: those of parsing::lex.
std::vector<FormattedLine> lay_out(std::string_view text, const std::vector<parsing::Token>& tokens);

}  // namespace sial::format
