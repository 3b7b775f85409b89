#pragma once
// The tokens of a text as far as an editor tells them apart. There are tokens in any text, also where the grammar finds
// no program.

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/ast/line_trees.h"

namespace sial {

enum class TokenClass { keyword, name, number, string, sign, unknown };

struct ClassedToken {
  TokenClass kind = TokenClass::unknown;
  std::uint32_t begin = 0, end = 0;  // bytes
};

/// The tokens of each line that has any; line ends, blanks and comments are no tokens.
std::vector<std::vector<ClassedToken>> tokens_by_line(std::string_view text, LineTrees& known);

/// Whether a word is reserved and can be no name.
bool is_reserved_word(std::string_view word);

}  // namespace sial
