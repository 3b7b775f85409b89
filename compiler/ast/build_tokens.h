#pragma once
// Tokens of one file as plain values with byte offsets, and what people call them. For the parser and the formatter.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/source/buffer.h"

namespace sial::parsing {

struct Token {
  int type = 0;  // a token type of the generated lexer
  std::uint32_t begin = 0, end = 0;
};

/// Tokens of one line, without the line end. Never empty.
struct Line {
  std::vector<Token> tokens;
  Token line_end;  // the NL token, or the end of the file
};

/// The text with every byte that is not ASCII, and a byte-order mark, replaced by one that no token contains outside
/// comments and strings: the lexer's positions are then byte offsets.
std::string text_for_lexer(std::string_view text);

std::vector<Token> lex(std::string_view text);
std::vector<Line> split_lines(const std::vector<Token>& tokens, std::size_t text_size);

/// `enddo`, "a name", "end of line", `]`: what to call a kind of token in a message.
std::string token_name(int type);
std::string symbolic_name(int type);

/// Keyword spelling, or empty for other kinds.
const std::string& keyword_text(int type);
const std::vector<std::pair<int, std::string>>& keywords();
inline bool is_keyword(int type) { return !keyword_text(type).empty(); }

std::string lower_case(std::string_view text);

/// Offset of the first byte that is not part of valid UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace sial::parsing
