#include "compiler/tools/format/spacing.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "runtime/core/base/number.h"

namespace sial::format {
namespace {

using parsing::Token;

enum class Kind {
  word,       // keywords, names, numbers, strings
  cast_word,  // int, scalar, index: a keyword, and a type between parentheses
  name,
  root,  // sqrt
  additive,
  multiplicative,
  relation,
  assignment,
  left_parenthesis,
  right_parenthesis,
  left_bracket,
  right_bracket,
  comma,
  colon,
  number,
  text,
};

Kind kind_named(const std::string& name) {
  static const std::map<std::string_view, Kind> kinds = [] {
    std::map<std::string_view, Kind> all;
    for (const auto& [kind, names] : {std::pair{Kind::additive, "PLUS MINUS"},
                                      {Kind::multiplicative, "STAR SLASH CARET POW"},
                                      {Kind::relation, "EQ NE LE GE LT GT"},
                                      {Kind::assignment, "ASSIGN PLUS_ASSIGN MINUS_ASSIGN STAR_ASSIGN"},
                                      {Kind::left_parenthesis, "LPAREN"},
                                      {Kind::right_parenthesis, "RPAREN"},
                                      {Kind::left_bracket, "LBRACK"},
                                      {Kind::right_bracket, "RBRACK"},
                                      {Kind::comma, "COMMA"},
                                      {Kind::colon, "COLON"},
                                      {Kind::name, "IDENT"},
                                      {Kind::number, "DOUBLE INTEGER"},
                                      {Kind::text, "STRING"},
                                      {Kind::root, "SQRT"},
                                      {Kind::cast_word, "INT SCALAR INDEX"}})
      for (const std::string_view token : words_of(names)) all.emplace(token, kind);
    return all;
  }();
  const auto found = kinds.find(name);
  return found == kinds.end() ? Kind::word : found->second;
}

Kind kind_of(const Token& token) {
  static const std::map<int, Kind> table = [] {
    std::map<int, Kind> out;
    for (const auto& [type, text] : parsing::keywords()) out.emplace(type, kind_named(parsing::symbolic_name(type)));
    return out;
  }();
  const auto found = table.find(token.type);
  return found != table.end() ? found->second : kind_named(parsing::symbolic_name(token.type));
}

bool is_word(Kind kind) {
  return kind == Kind::word || kind == Kind::cast_word || kind == Kind::root || kind == Kind::name ||
         kind == Kind::number || kind == Kind::text;
}

/// Whether a sign after this one belongs to what follows it.
bool expects_operand(Kind before) {
  switch (before) {
    case Kind::name:
    case Kind::number:
    case Kind::text:
    case Kind::right_parenthesis:
    case Kind::right_bracket: return false;
    default: return true;
  }
}

/// The tokens of a line and what stands around them.
class Spacer {
 public:
  Spacer(const std::vector<Token>& tokens, std::string_view text) : tokens_(tokens), text_(text) {
    for (const Token& token : tokens) kinds_.push_back(kind_of(token));
  }

  std::string line() {
    std::string out;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (kinds_[i] == Kind::right_bracket) --brackets_;
      if (i > 0 && blank_before(i)) out += ' ';
      const std::string_view written = text_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
      out += parsing::is_keyword(tokens_[i].type) ? parsing::keyword_text(tokens_[i].type) : std::string(written);
      if (kinds_[i] == Kind::left_bracket) ++brackets_;
    }
    return out;
  }

 private:
  bool is_sign(std::size_t i) const {
    return kinds_[i] == Kind::additive && i > 0 && (expects_operand(kinds_[i - 1]) || ends_cast(i - 1));
  }

  bool ends_cast(std::size_t i) const {
    return i >= 2 && kinds_[i] == Kind::right_parenthesis && kinds_[i - 1] == Kind::cast_word &&
           kinds_[i - 2] == Kind::left_parenthesis;
  }

  bool blank_before(std::size_t i) const {
    const Kind before = kinds_[i - 1], kind = kinds_[i];
    if (is_word(before) && is_word(kind)) return true;
    if (ends_cast(i - 1) || is_sign(i - 1)) return false;
    switch (kind) {
      case Kind::comma:
      case Kind::colon:
      case Kind::right_parenthesis:
      case Kind::right_bracket:
      case Kind::left_bracket:
      case Kind::multiplicative: return false;
      default: break;
    }
    switch (before) {
      case Kind::colon:
      case Kind::left_parenthesis:
      case Kind::left_bracket:
      case Kind::multiplicative: return false;
      default: break;
    }
    if (brackets_ > 0) return false;
    // `norm(t[p,q])`, `sqrt(x + y)`
    return !(kind == Kind::left_parenthesis && (before == Kind::name || before == Kind::root));
  }

  const std::vector<Token>& tokens_;
  std::string_view text_;
  std::vector<Kind> kinds_;
  int brackets_ = 0;
};

bool first_is_one_of(const std::vector<Token>& tokens, std::initializer_list<std::string_view> words) {
  return !tokens.empty() &&
         std::find(words.begin(), words.end(), parsing::keyword_text(tokens.front().type)) != words.end();
}

}  // namespace

LineKind kind_of_line(const std::vector<Token>& tokens) {
  if (first_is_one_of(tokens, {"proc", "do", "pardo", "if", "section", "gpu_on"})) return LineKind::opens;
  if (first_is_one_of(tokens, {"endproc", "enddo", "endpardo", "endif", "endsection", "gpu_off"}))
    return LineKind::closes;
  return first_is_one_of(tokens, {"else"}) ? LineKind::turns : LineKind::plain;
}

bool begins_procedure(const std::vector<Token>& tokens) { return first_is_one_of(tokens, {"proc"}); }
bool ends_procedure(const std::vector<Token>& tokens) { return first_is_one_of(tokens, {"endproc"}); }

std::string spaced_line(const std::vector<Token>& tokens, std::string_view text) { return Spacer(tokens, text).line(); }

}  // namespace sial::format
