#include "compiler/ast/build_tokens.h"

#include <SialLexer.h>
#include <antlr4-runtime.h>
#include <fmt/format.h>

#include <cctype>
#include <map>

#include "compiler/ast/build.h"

namespace sial::parsing {

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::size_t find_invalid_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  std::size_t i = 0;
  while (i < text.size()) {
    const unsigned c = byte(i);
    if (c < 0x80) {
      ++i;
    } else if (c >= 0xC2 && c <= 0xDF && continues(i + 1)) {
      i += 2;
    } else if (c >= 0xE0 && c <= 0xEF && continues(i + 1) && continues(i + 2)) {
      if ((c == 0xE0 && byte(i + 1) < 0xA0) || (c == 0xED && byte(i + 1) > 0x9F)) return i;  // overlong; surrogate
      i += 3;
    } else if (c >= 0xF0 && c <= 0xF4 && continues(i + 1) && continues(i + 2) && continues(i + 3)) {
      if ((c == 0xF0 && byte(i + 1) < 0x90) || (c == 0xF4 && byte(i + 1) > 0x8F)) return i;
      i += 4;
    } else {
      return i;
    }
  }
  return std::string_view::npos;
}

std::string text_for_lexer(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) >= 0x80) c = '\x7f';
  if (text.starts_with("\xEF\xBB\xBF")) out.replace(0, 3, "   ");
  return out;
}

std::vector<Token> lex(std::string_view text) {
  antlr4::ANTLRInputStream input(text_for_lexer(text));
  SialLexer lexer(&input);
  lexer.removeErrorListeners();
  std::vector<Token> out;
  for (;;) {
    const std::unique_ptr<antlr4::Token> t = lexer.nextToken();
    if (t->getType() == antlr4::Token::EOF) return out;
    out.push_back({static_cast<int>(t->getType()), static_cast<std::uint32_t>(t->getStartIndex()),
                   static_cast<std::uint32_t>(t->getStopIndex() + 1)});
  }
}

std::vector<Line> split_lines(const std::vector<Token>& tokens, std::size_t text_size) {
  const auto end = static_cast<std::uint32_t>(text_size);
  std::vector<Line> lines;
  Line line;
  const auto finish = [&](Token line_end) {
    if (line.tokens.empty()) return;
    line.line_end = line_end;
    lines.push_back(std::move(line));
    line = {};
  };
  for (const Token& t : tokens) {
    if (t.type == SialLexer::NL) finish(t);
    else line.tokens.push_back(t);
  }
  finish({SialLexer::NL, end, end});
  return lines;
}

std::string symbolic_name(int type) {
  static const std::vector<std::string> names = [] {
    antlr4::ANTLRInputStream input("");
    SialLexer lexer(&input);
    std::vector<std::string> out;
    for (std::size_t i = 0; i <= lexer.getVocabulary().getMaxTokenType(); ++i)
      out.push_back(lexer.getVocabulary().getSymbolicName(i));
    return out;
  }();
  return names[static_cast<std::size_t>(type)];
}

const std::vector<std::pair<int, std::string>>& keywords() {
  static const std::vector<std::pair<int, std::string>> table = [] {
    antlr4::ANTLRInputStream input("");
    SialLexer lexer(&input);
    std::vector<std::pair<int, std::string>> out;
    for (int type = SialLexer::SIAL; type < SialLexer::RESERVED; ++type)
      out.emplace_back(type, lower_case(lexer.getVocabulary().getSymbolicName(static_cast<std::size_t>(type))));
    return out;
  }();
  return table;
}

const std::string& keyword_text(int type) {
  static const std::string none;
  if (type < SialLexer::SIAL || type >= SialLexer::RESERVED) return none;
  return keywords()[static_cast<std::size_t>(type - SialLexer::SIAL)].second;
}

std::string token_name(int type) {
  static const std::map<int, std::string> names = {{SialLexer::PLUS_ASSIGN, "`+=`"},
                                                   {SialLexer::MINUS_ASSIGN, "`-=`"},
                                                   {SialLexer::STAR_ASSIGN, "`*=`"},
                                                   {SialLexer::POW, "`**`"},
                                                   {SialLexer::EQ, "`==`"},
                                                   {SialLexer::NE, "`!=`"},
                                                   {SialLexer::LE, "`<=`"},
                                                   {SialLexer::GE, "`>=`"},
                                                   {SialLexer::LT, "`<`"},
                                                   {SialLexer::GT, "`>`"},
                                                   {SialLexer::ASSIGN, "`=`"},
                                                   {SialLexer::PLUS, "`+`"},
                                                   {SialLexer::MINUS, "`-`"},
                                                   {SialLexer::STAR, "`*`"},
                                                   {SialLexer::SLASH, "`/`"},
                                                   {SialLexer::CARET, "`^`"},
                                                   {SialLexer::LPAREN, "`(`"},
                                                   {SialLexer::RPAREN, "`)`"},
                                                   {SialLexer::LBRACK, "`[`"},
                                                   {SialLexer::RBRACK, "`]`"},
                                                   {SialLexer::COMMA, "`,`"},
                                                   {SialLexer::COLON, "`:`"},
                                                   {SialLexer::IDENT, "a name"},
                                                   {SialLexer::DOUBLE, "a real number"},
                                                   {SialLexer::INTEGER, "an integer"},
                                                   {SialLexer::STRING, "a string"},
                                                   {SialLexer::NL, "end of line"}};
  const auto found = names.find(type);
  if (found != names.end()) return found->second;
  return fmt::format("`{}`", keyword_text(type));
}

}  // namespace sial::parsing

namespace sial {

std::string print_tokens(const SourceManager& sources, FileId file) {
  std::string out;
  for (const auto& t : parsing::lex(sources.text(file))) {
    const LineColumn p = sources.position(file, t.begin);
    out += fmt::format("{}:{}\t{}", p.line, p.column, parsing::symbolic_name(t.type));
    if (t.type != SialLexer::NL) out += fmt::format("\t{}", sources.slice({file, t.begin, t.end}));
    out += "\n";
  }
  return out;
}

}  // namespace sial
