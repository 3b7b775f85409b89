// Mistakes of single signs and words, wherever in a line they stand.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "compiler/ast/build_explainer.h"
#include "compiler/ast/build_words.h"
#include "compiler/diag/table.h"

namespace sial::parsing {

// ---- how it is written instead
Fix Explainer::without(std::size_t first, std::size_t last) const {
  Span span = line_.span(first, last);
  if (first > 0) span.begin = line_.span(first - 1).end;
  return remove(fmt::format("remove `{}`", line_.text(first, last)), span);
}

Fix Explainer::exchange(std::size_t open, std::size_t close, std::string title, std::string opening,
                        std::string closing) const {
  return {std::move(title),
          {{Edit::What::replace, line_.span(open), std::move(opening)},
           {Edit::What::replace, line_.span(close), std::move(closing)}}};
}

Fix Explainer::begin_line(std::size_t i, const std::string& before) const {
  Fix fix{"begin a new line here", {}};
  // A loop or `if` may stand on the line as a whole.
  for (std::size_t k = i; k < line_.size(); ++k) {
    if (k > i && !begins_line(type(k))) continue;
    Span at = line_.span(k);
    at.end = at.begin;
    fix.edits.push_back({Edit::What::break_line, at, k == i ? before : std::string()});
  }
  return fix;
}

Fix Explainer::break_at(std::size_t separator) const {
  Span span = line_.span(separator);
  span.end = line_.span(separator + 1).begin;
  return {"begin a new line here", {{Edit::What::break_line, span}}};
}

std::optional<Fix> Explainer::one_name_per_line(std::size_t first) const {
  std::size_t name = 0;
  while (name < line_.size() && type(name) != L::IDENT) ++name;
  if (name == 0 || name >= first) return {};
  const std::string words = line_.text(0, name - 1) + " ";
  Fix fix{"declare each name on a line of its own", {}};
  int depth = 0;
  for (std::size_t i = first; i < line_.size(); ++i) {
    const int t = type(i);
    if (t == L::LBRACK) ++depth;
    else if (t == L::RBRACK) --depth;
    else if (t == L::COMMA && depth == 0) {
      if (type(i + 1) != L::IDENT) return {};
      Span span = line_.span(i);
      span.end = line_.span(i + 1).begin;
      fix.edits.push_back({Edit::What::break_line, span, words});
    } else if (t != L::IDENT && !(t == L::COMMA && depth > 0) && t != L::ASSIGN && !is_number(t)) return {};
  }
  return fix;
}

/// The rest of the line after token `i` up to blanks at its end: an empty span there.
Span Explainer::following_text(Span span) const {
  const std::string text = line_.text(at_);
  span.begin += static_cast<std::uint32_t>(text.find_last_not_of(" \t") + 1);
  span.end = span.begin;
  return span;
}

/// Double quotes for the single one here and the next one.
std::optional<Fix> Explainer::double_quotes() const {
  for (std::size_t i = at_ + 1; i < line_.size(); ++i)
    if (line_.text(i) == "'") return exchange(at_, i, "write double quotes", "\"", "\"");
  return {};
}

/// Straight quotes for all typographic ones of the line, each of which is three bytes and as many tokens.
std::optional<Fix> Explainer::typographic_quotes() const {
  Fix fix{"write straight quotes", {}};
  for (std::size_t i = at_; i + 2 < line_.size(); ++i)
    if (const std::string text = line_.text(i, i + 2); text == "\u201c" || text == "\u201d")
      fix.edits.push_back({Edit::What::replace, line_.span(i, i + 2), "\""});
  if (fix.edits.size() % 2 != 0) return {};
  return fix;
}

/// Parentheses around a unary operator at `i` and the literal or name after it; nothing for longer operands.
std::optional<Fix> Explainer::in_parentheses(std::size_t i) const {
  if (type(i + 1) != L::IDENT && !is_number(type(i + 1))) return {};
  if (type(i + 2) == L::LBRACK || type(i + 2) == L::POW) return {};
  return replace(line_.span(i, i + 1), "(" + line_.text(i, i + 1) + ")");
}

bool Explainer::unknown_character() {
  const int t = here();
  if (t == L::UNTERMINATED_STRING)
    return say(Code::E_STRING, line_.span(at_), "the string has no closing quote",
               "a string ends with `\"` on the line it began on",
               replace("close the string", following_text(line_.span(at_)), "\""));
  if (t != L::UNKNOWN) return false;
  std::size_t last = at_;
  if (static_cast<unsigned char>(text_here()[0]) >= 0x80)
    while (line_.adjacent(last + 1) && type(last + 1) == L::UNKNOWN &&
           (static_cast<unsigned char>(line_.text(last + 1)[0]) & 0xC0) == 0x80)
      ++last;
  std::string text = line_.text(at_, last);
  if ((text == "&" || text == "|") && line_.text(at_ + 1) == text && line_.adjacent(at_ + 1))
    text = line_.text(at_, ++last);
  const Span span = line_.span(at_, last);
  if (text == ";")
    return say(Code::E_OPERATOR, span, "statements are not separated by `;`",
               at_ + 1 == line_.size() ? "remove it: a statement ends with its line"
                                       : "write each statement on a line of its own",
               at_ + 1 == line_.size() ? remove("remove `;`", span) : break_at(at_));
  if (text == "!" && at_ == 0)
    return say(Code::E_OPERATOR, span, "`!` does not begin a statement", "comments begin with `#`", write(at_, "#"));
  if (text == "&" && at_ + 1 == line_.size())
    return say(Code::E_OPERATOR, span, "a statement cannot be continued on the next line",
               "use a temp or scalar for part of it");
  if (text == "&&" || text == "||" || text == "!" || text == "&" || text == "|")
    return say(Code::E_OPERATOR, span, fmt::format("there is no operator `{}`", text),
               text.find('|') != std::string::npos ? "test the conditions in two `if`s, one behind the other"
               : text == "!"                       ? "use the opposite comparison; not equal is `!=`"
                                                   : "nest a second `if` inside the first");
  if (text == "'")
    return say(Code::E_STRING, span, "strings are enclosed in double quotes", "write \"...\"", double_quotes());
  if (text == ".")
    if (const DottedOperator* op = dotted_operator(line_.lower(at_ + 1)); op && line_.adjacent(at_ + 1))
      return say(Code::E_OPERATOR, line_.span(at_, at_ + 1),
                 fmt::format("there is no operator `.{}`", line_.lower(at_ + 1)), op->hint,
                 *op->replacement ? std::optional(replace(line_.span(at_, at_ + 1), op->replacement)) : std::nullopt);
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte < 0x20 || byte == 0x7F) text = fmt::format("{:#04x}", byte);
  std::string hint;
  std::optional<Fix> fix;
  if (byte >= 0x80) hint = "letters outside ASCII are possible in comments and strings only";
  if (text == "\u2212" || text == "\u2013" || text == "\u2014") {
    hint = "the minus sign is the ASCII `-`";
    fix = replace(span, "-");
  }
  if (text == "\u201c" || text == "\u201d") {
    hint = "the quote of strings is the ASCII `\"`";
    fix = typographic_quotes();
  }
  if (text == "_") hint = "a name begins with a letter";
  if (text == "\\") hint = "there are no continuation lines";
  return say(Code::E_CHARACTER, span, fmt::format("the character `{}` has no meaning here", text), hint,
             std::move(fix));
}

bool Explainer::exponent() {
  if (here() != L::IDENT || at_ == 0 || !is_number(type(at_ - 1)) || !line_.adjacent(at_)) return false;
  const std::string word = line_.lower(at_);
  if ((word[0] != 'e' && word[0] != 'd') || word.find_first_not_of("0123456789", 1) != std::string::npos) {
    return say(Code::E_SYNTAX, line_.span(at_ - 1, at_),
               fmt::format("`{}` is neither a number nor a name", line_.text(at_ - 1, at_)),
               "names begin with a letter");
  }
  std::string digits = word.substr(1);
  std::size_t last = at_;
  bool negative = false;
  if (digits.empty() && (type(at_ + 1) == L::MINUS || type(at_ + 1) == L::PLUS) && type(at_ + 2) == L::INTEGER) {
    negative = type(at_ + 1) == L::MINUS;
    digits = line_.text(at_ + 2);
    last = at_ + 2;
  }
  const std::string mantissa = line_.text(at_ - 1);
  const int exponent = digits.empty() || digits.size() > 3 ? 1000 : (negative ? -1 : 1) * std::stoi(digits);
  const std::string plain = without_exponent(mantissa, exponent);
  const std::string hint = !plain.empty() ? fmt::format("write {}", plain)
                           : digits.empty()
                               ? std::string("write the digits out")
                               : fmt::format("write {} * 10.0 ** {}{}.0", mantissa, negative ? "-" : "", digits);
  return say(Code::E_EXPONENT, line_.span(at_ - 1, last), "real numbers have no exponent", hint,
             plain.empty() ? std::nullopt : std::optional(replace(line_.span(at_ - 1, last), plain)));
}

bool Explainer::operator_ending_at(std::size_t second) {
  if (second == 0 || second >= line_.size() || !line_.adjacent(second)) return false;
  const int a = type(second - 1), b = type(second);
  const Span span = line_.span(second - 1, second);
  const auto no_such = [&](std::string hint, std::optional<Fix> fix) {
    return say(Code::E_OPERATOR, span, fmt::format("there is no operator `{}`", line_.text(second - 1, second)),
               std::move(hint), std::move(fix));
  };
  const auto no_such_sign = [&](const char* hint, const char* sign) { return no_such(hint, replace(span, sign)); };
  if ((a == L::SLASH || a == L::CARET || a == L::POW) && b == L::ASSIGN && second + 1 < line_.size() && second >= 2) {
    const std::string target = line_.text(0, second - 2), op = line_.text(second - 1);
    const std::string value = line_.text(second + 1, line_.size() - 1);
    const bool simple = line_.size() == second + 2;
    if (rule_ != LineRule::statement || first_ != L::IDENT)
      return no_such("write the operation on the right side of `=`", {});
    const std::string text = fmt::format("{0} = {0} {1} {2}", target, op, simple ? value : "(" + value + ")");
    return no_such(fmt::format("write `{}`", text), write_line(text));
  }
  if (a == L::LT && b == L::GT) return no_such_sign("not equal is `!=`", "!=");
  if (a == L::ASSIGN && b == L::LT) return no_such_sign("at most is `<=`", "<=");
  if (a == L::ASSIGN && b == L::GT) return no_such_sign("at least is `>=`", ">=");
  if (a == L::COLON && b == L::ASSIGN) return no_such_sign("assignment is `=`", "=");
  if (((a == L::PLUS && b == L::PLUS) || (a == L::MINUS && b == L::MINUS)) && second + 1 == line_.size() &&
      type(0) == L::IDENT && second >= 2) {
    const std::string text = fmt::format("{} {}= 1", line_.text(0, second - 2), line_.text(second));
    return no_such(fmt::format("write `{}`", text), write_line(text));
  }
  if (a == L::SLASH && b == L::SLASH && second == 1) return no_such_sign("comments begin with `#`", "#");
  return false;
}

bool Explainer::reserved_word() {
  if (here() != L::RESERVED) return false;
  const std::string word = line_.lower(at_);
  if (at_ > 0)
    return say(Code::E_KEYWORD, line_.span(at_), fmt::format("`{}` is reserved and cannot be a name", word),
               "choose another name");
  const std::string operand = line_.size() > 1 ? line_.text(1, line_.size() - 1) : std::string("x");
  const std::string hint = word == "cycle"      ? "put the rest of the loop body into an `if`"
                           : word == "prequest" ? "use `request`"
                                                : fmt::format("write `println {}`", operand);
  return say(Code::E_RESERVED, line_.span(0), fmt::format("`{}` belongs to the old form of the language", word), hint,
             word == "prequest"                    ? std::optional(write(0, "request"))
             : word == "cycle" || line_.size() < 2 ? std::nullopt
                                                   : std::optional(write(0, "println")));
}

bool Explainer::stacked_unary() {
  const int t = here();
  if (at_ == 0) return false;
  const int before = type(at_ - 1);
  const bool after_unary = before == L::MINUS || before == L::SQRT;
  if (after_unary && (t == L::MINUS || t == L::SQRT)) {
    const std::string name = before == L::MINUS ? "-" : "sqrt";
    return say(Code::E_UNARY, line_.span(at_ - 1, at_),
               fmt::format("`{}` cannot be applied to `{}`", name, text_here()),
               fmt::format("use parentheses: `{}({} ...)`", name, text_here()), in_parentheses(at_));
  }
  if ((t == L::INT || t == L::SCALAR || t == L::INDEX) && before == L::LPAREN && at_ >= 2 &&
      (type(at_ - 2) == L::MINUS || type(at_ - 2) == L::SQRT)) {
    const std::string name = line_.lower(at_ - 2);
    return say(Code::E_UNARY, line_.span(at_ - 2, type(at_ + 1) == L::RPAREN ? at_ + 1 : at_),
               fmt::format("`{}` cannot be applied to a cast", name),
               fmt::format("use parentheses: `{}(({}) ...)`", name, line_.lower(at_)));
  }
  const bool operand_expected =
      is_assign(before) || is_operator(before) || is_relop(before) || before == L::LPAREN || before == L::COMMA;
  if (t == L::PLUS && operand_expected)
    return say(Code::E_UNARY, line_.span(at_), "there is no unary `+`", "leave it out",
               is_assign(before) ? offered(remove("remove `+`", line_.span(at_)))  // of a `+=`?
                                 : remove("remove `+`", line_.span(at_)));
  return false;
}

bool Explainer::old_dialect() {
  const int t = here();
  const bool in_range = rule_ == LineRule::declaration && !is_array_declaration() && t == L::COMMA;
  if (in_range && at_ > 0 && range_has_begun())
    return say(Code::E_OLD_DIALECT, line_.span(at_), "a range is written with a colon",
               at_ + 1 < line_.size()
                   ? fmt::format("write `{}:{}`", line_.text(at_ - 1), line_.text(at_ + 1, line_.size() - 1))
                   : "",
               write(at_, ":"));
  if (t == L::LPAREN && at_ > 0 && type(at_ - 1) == L::IDENT &&
      (rule_ == LineRule::declaration || rule_ == LineRule::statement || rule_ == LineRule::if_header ||
       rule_ == LineRule::where_line)) {
    if (first_ == L::CALL || (first_ == L::EXECUTE && at_ == 2)) return false;
    const std::size_t close = matching(at_);
    std::string hint = "write the indices in brackets";
    if (close < line_.size() && close > at_ + 1)
      hint = fmt::format("write `{}[{}]`", line_.text(at_ - 1), line_.text(at_ + 1, close - 1));
    return say(Code::E_OLD_DIALECT, line_.span(at_, std::min(close, line_.size() - 1)),
               "indices are written in brackets, not in parentheses", hint,
               close < line_.size() ? std::optional(exchange(at_, close, "write brackets", "[", "]")) : std::nullopt);
  }
  const bool barrier = first_ == L::SIP_BARRIER || first_ == L::SERVER_BARRIER;
  if (t == L::IDENT && barrier && at_ == 1)
    return say(Code::E_OLD_DIALECT, line_.span(at_, line_.size() - 1), fmt::format("`{}` stands alone", line_.lower(0)),
               "remove the names behind it: a barrier is for everything", without(at_, line_.size() - 1));
  if ((first_ == L::GET || first_ == L::REQUEST) && t == L::IDENT && at_ > 1)
    return say(Code::E_OLD_DIALECT, line_.span(at_, line_.size() - 1),
               fmt::format("`{}` takes one block and nothing else", line_.lower(0)), "remove what follows the block",
               without(at_, line_.size() - 1));
  return false;
}

}  // namespace sial::parsing
