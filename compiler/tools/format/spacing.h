#pragma once
// The tokens of one line with the blanks of the style between them. Private to the formatter.

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ast/build_tokens.h"

namespace sial::format {

/// The effect of a line on the indentation.
enum class LineKind { plain, opens, closes, turns };  // `turns`: else
LineKind kind_of_line(const std::vector<parsing::Token>& tokens);
bool begins_procedure(const std::vector<parsing::Token>& tokens);
bool ends_procedure(const std::vector<parsing::Token>& tokens);

/// Keywords in lower case, names as written, without indentation.
std::string spaced_line(const std::vector<parsing::Token>& tokens, std::string_view text);

}  // namespace sial::format
