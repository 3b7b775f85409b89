#include "compiler/ast/build_explain.h"

#include <SialLexer.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/ast/build_words.h"
#include "compiler/diag/table.h"

namespace sial::parsing {

using L = SialLexer;

int LineView::type(std::size_t i) const { return i < size() ? line_.tokens[i].type : static_cast<int>(L::NL); }

std::string LineView::text(std::size_t i) const {
  return i < size() ? std::string(sources_.slice(span(i))) : std::string();
}

Span LineView::span(std::size_t i) const {
  if (i < size()) return {file_, line_.tokens[i].begin, line_.tokens[i].end};
  return {file_, line_.tokens.back().end, line_.tokens.back().end};
}

namespace {

bool is_assign(int t) { return t == L::ASSIGN || t == L::PLUS_ASSIGN || t == L::MINUS_ASSIGN || t == L::STAR_ASSIGN; }
bool is_relop(int t) { return t == L::LT || t == L::GT || t == L::LE || t == L::GE || t == L::EQ || t == L::NE; }
bool is_operator(int t) {
  return t == L::PLUS || t == L::MINUS || t == L::STAR || t == L::SLASH || t == L::CARET || t == L::POW;
}
bool is_number(int t) { return t == L::INTEGER || t == L::DOUBLE; }
bool is_index_kind(int t) {
  return t == L::INDEX || t == L::AOINDEX || t == L::MOINDEX || t == L::MOAINDEX || t == L::MOBINDEX || t == L::LAINDEX;
}
bool is_array_kind(int t) {
  return t == L::STATIC || t == L::TEMP || t == L::LOCAL || t == L::DISTRIBUTED || t == L::SERVED;
}

class Explainer {
 public:
  Explainer(const LineView& line, LineRule rule, std::size_t at, const std::string& expected_end, LineProbe& probe,
            Emitter& emitter)
      : line_(line),
        rule_(rule),
        at_(at),
        expected_end_(expected_end),
        probe_(probe),
        emitter_(emitter),
        first_(line.type(0)) {}

  void explain() {
    if (unknown_character() || exponent() || missing_operator() || reserved_word() || stacked_unary() || old_dialect())
      return;
    if (keyword_as_name() || condition_form() || two_statements()) return;
    switch (rule_) {
      case LineRule::declaration:
        if (declaration_form()) return;
        break;
      case LineRule::statement:
        if (first_word() || procedure_form() || print_form() || execute_form()) return;
        break;
      case LineRule::proc_header:
        if (procedure_form()) return;
        break;
      default:
        if (loop_form()) return;
    }
    if (selector_form()) return;
    generic();
  }

 private:
  int type(std::size_t i) const { return line_.type(i); }
  int here() const { return line_.type(at_); }
  bool at_end() const { return at_ >= line_.size(); }
  std::string text_here() const { return line_.text(at_); }
  bool could_be(int t) { return probe_.could_follow(rule_, line_.tokens(), at_, t); }
  bool say(Code code, Span span, std::string message, std::string hint = {}) {
    emitter_.report(code, span, std::move(message), std::move(hint));
    return true;
  }

  /// Open brackets and parentheses before token `i`, innermost last.
  std::vector<std::size_t> open_before(std::size_t i) const {
    std::vector<std::size_t> open;
    for (std::size_t k = 0; k < i && k < line_.size(); ++k) {
      if (type(k) == L::LPAREN || type(k) == L::LBRACK) open.push_back(k);
      if ((type(k) == L::RPAREN || type(k) == L::RBRACK) && !open.empty()) open.pop_back();
    }
    return open;
  }
  std::size_t matching(std::size_t open) const {
    int depth = 0;
    for (std::size_t k = open; k < line_.size(); ++k) {
      if (type(k) == L::LPAREN || type(k) == L::LBRACK) ++depth;
      if ((type(k) == L::RPAREN || type(k) == L::RBRACK) && --depth == 0) return k;
    }
    return line_.size();
  }

  bool unknown_character() {
    const int t = here();
    if (t == L::UNTERMINATED_STRING)
      return say(Code::E_STRING, line_.span(at_), "the string has no closing quote",
                 "a string ends with `\"` on the line it began on");
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
                                         : "write each statement on a line of its own");
    if (text == "!" && at_ == 0)
      return say(Code::E_OPERATOR, span, "`!` does not begin a statement", "comments begin with `#`");
    if (text == "&" && at_ + 1 == line_.size())
      return say(Code::E_OPERATOR, span, "a statement cannot be continued on the next line",
                 "use a temp or scalar for part of it");
    if (text == "&&" || text == "||" || text == "!" || text == "&" || text == "|")
      return say(Code::E_OPERATOR, span, fmt::format("there is no operator `{}`", text),
                 text.find('|') != std::string::npos ? "test the conditions in two `if`s, one behind the other"
                 : text == "!"                       ? "use the opposite comparison; not equal is `!=`"
                                                     : "nest a second `if` inside the first");
    if (text == "'") return say(Code::E_STRING, span, "strings are enclosed in double quotes", "write \"...\"");
    if (text == ".")
      if (const char* op = dotted_operator(line_.lower(at_ + 1)); op && line_.adjacent(at_ + 1))
        return say(Code::E_OPERATOR, line_.span(at_, at_ + 1),
                   fmt::format("there is no operator `.{}`", line_.lower(at_ + 1)), op);
    const auto byte = static_cast<unsigned char>(text[0]);
    if (byte < 0x20 || byte == 0x7F) text = fmt::format("{:#04x}", byte);
    std::string hint;
    if (byte >= 0x80) hint = "letters outside ASCII are possible in comments and strings only";
    if (text == "\u2212" || text == "\u2013" || text == "\u2014") hint = "the minus sign is the ASCII `-`";
    if (text == "\u201c" || text == "\u201d") hint = "the quote of strings is the ASCII `\"`";
    if (text == "_") hint = "a name begins with a letter";
    if (text == "\\") hint = "there are no continuation lines";
    return say(Code::E_CHARACTER, span, fmt::format("the character `{}` has no meaning here", text), hint);
  }

  bool exponent() {
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
    return say(Code::E_EXPONENT, line_.span(at_ - 1, last), "real numbers have no exponent", hint);
  }

  /// Operators of other languages, spelt with tokens of this one; the refused token is the first or the second half.
  bool missing_operator() { return operator_ending_at(at_) || operator_ending_at(at_ + 1); }
  bool operator_ending_at(std::size_t second) {
    if (second == 0 || second >= line_.size() || !line_.adjacent(second)) return false;
    const int a = type(second - 1), b = type(second);
    const Span span = line_.span(second - 1, second);
    const auto no_such = [&](std::string hint) {
      return say(Code::E_OPERATOR, span, fmt::format("there is no operator `{}`", line_.text(second - 1, second)),
                 std::move(hint));
    };
    if ((a == L::SLASH || a == L::CARET || a == L::POW) && b == L::ASSIGN && second + 1 < line_.size() && second >= 2) {
      const std::string target = line_.text(0, second - 2), op = line_.text(second - 1);
      const std::string value = line_.text(second + 1, line_.size() - 1);
      const bool simple = line_.size() == second + 2;
      return no_such(rule_ == LineRule::statement && first_ == L::IDENT
                         ? fmt::format("write `{0} = {0} {1} {2}`", target, op, simple ? value : "(" + value + ")")
                         : "write the operation on the right side of `=`");
    }
    if (a == L::LT && b == L::GT) return no_such("not equal is `!=`");
    if (a == L::ASSIGN && b == L::LT) return no_such("at most is `<=`");
    if (a == L::ASSIGN && b == L::GT) return no_such("at least is `>=`");
    if (a == L::COLON && b == L::ASSIGN) return no_such("assignment is `=`");
    if (((a == L::PLUS && b == L::PLUS) || (a == L::MINUS && b == L::MINUS)) && second + 1 == line_.size() &&
        type(0) == L::IDENT)
      return no_such(fmt::format("write `{} {}= 1`", line_.text(0, second - 2), line_.text(second)));
    if (a == L::SLASH && b == L::SLASH && second == 1) return no_such("comments begin with `#`");
    return false;
  }

  bool reserved_word() {
    if (here() != L::RESERVED) return false;
    const std::string word = line_.lower(at_);
    if (at_ > 0)
      return say(Code::E_KEYWORD, line_.span(at_), fmt::format("`{}` is reserved and cannot be a name", word),
                 "choose another name");
    const std::string operand = line_.size() > 1 ? line_.text(1, line_.size() - 1) : std::string("x");
    const std::string hint = word == "cycle"      ? "put the rest of the loop body into an `if`"
                             : word == "prequest" ? "use `request`"
                                                  : fmt::format("write `println {}`", operand);
    return say(Code::E_RESERVED, line_.span(0), fmt::format("`{}` belongs to the old form of the language", word),
               hint);
  }

  bool stacked_unary() {
    const int t = here();
    if (at_ == 0) return false;
    const int before = type(at_ - 1);
    const bool after_unary = before == L::MINUS || before == L::SQRT;
    if (after_unary && (t == L::MINUS || t == L::SQRT)) {
      const std::string name = before == L::MINUS ? "-" : "sqrt";
      return say(Code::E_UNARY, line_.span(at_ - 1, at_),
                 fmt::format("`{}` cannot be applied to `{}`", name, text_here()),
                 fmt::format("use parentheses: `{}({} ...)`", name, text_here()));
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
      return say(Code::E_UNARY, line_.span(at_), "there is no unary `+`", "leave it out");
    return false;
  }

  bool old_dialect() {
    const int t = here();
    const bool in_range = rule_ == LineRule::declaration && !is_array_declaration() && t == L::COMMA;
    if (in_range && at_ > 0 && range_has_begun())
      return say(Code::E_OLD_DIALECT, line_.span(at_), "a range is written with a colon",
                 at_ + 1 < line_.size()
                     ? fmt::format("write `{}:{}`", line_.text(at_ - 1), line_.text(at_ + 1, line_.size() - 1))
                     : "");
    if (t == L::LPAREN && at_ > 0 && type(at_ - 1) == L::IDENT &&
        (rule_ == LineRule::declaration || rule_ == LineRule::statement || rule_ == LineRule::if_header ||
         rule_ == LineRule::where_line)) {
      if (first_ == L::CALL || (first_ == L::EXECUTE && at_ == 2)) return false;
      const std::size_t close = matching(at_);
      std::string hint = "write the indices in brackets";
      if (close < line_.size() && close > at_ + 1)
        hint = fmt::format("write `{}[{}]`", line_.text(at_ - 1), line_.text(at_ + 1, close - 1));
      return say(Code::E_OLD_DIALECT, line_.span(at_, std::min(close, line_.size() - 1)),
                 "indices are written in brackets, not in parentheses", hint);
    }
    const bool barrier = first_ == L::SIP_BARRIER || first_ == L::SERVER_BARRIER;
    if (t == L::IDENT && barrier && at_ == 1)
      return say(Code::E_OLD_DIALECT, line_.span(at_, line_.size() - 1),
                 fmt::format("`{}` stands alone", line_.lower(0)),
                 "remove the names behind it: a barrier is for everything");
    if ((first_ == L::GET || first_ == L::REQUEST) && t == L::IDENT && at_ > 1)
      return say(Code::E_OLD_DIALECT, line_.span(at_, line_.size() - 1),
                 fmt::format("`{}` takes one block and nothing else", line_.lower(0)), "remove what follows the block");
    return false;
  }

  bool keyword_as_name() {
    if (at_ == 1 && is_keyword(first_) && (is_assign(here()) || (here() == L::LBRACK && has_assignment()))) {
      return say(Code::E_KEYWORD, line_.span(0), fmt::format("`{}` is a keyword and cannot be a name", line_.lower(0)),
                 fmt::format("choose another name, for example `my_{}`", line_.lower(0)));
    }
    if (at_ == 0 || !is_keyword(here()) || here() == L::SQRT || !could_be(L::IDENT)) return false;
    if (begins_line(here()) && could_be(L::NL)) return false;  // a second statement
    return say(Code::E_KEYWORD, line_.span(at_),
               fmt::format("`{}` is a keyword and cannot be a name", line_.lower(at_)),
               fmt::format("choose another name, for example `my_{}`", line_.lower(at_)));
  }
  bool has_assignment() const {
    for (std::size_t k = 0; k < line_.size(); ++k)
      if (is_assign(type(k))) return true;
    return false;
  }

  bool condition_form() {
    if (rule_ != LineRule::if_header && rule_ != LineRule::where_line) return false;
    const int t = here();
    const std::string word = line_.lower(0);
    if (t == L::IDENT) {
      const std::string name = line_.lower(at_);
      if (name == "and" || name == "or" || name == "not")
        return say(Code::E_RELATION, line_.span(at_), "conditions cannot be combined",
                   name == "and" ? fmt::format("nest a second `{}` inside the first", word) : "write two of them");
      if (name == "then")
        return say(Code::E_RELATION, line_.span(at_), "there is no `then`", "the statements follow on the next lines");
    }
    if (t == L::ASSIGN)
      return say(Code::E_RELATION, line_.span(at_), "`=` assigns and does not compare", "equality is tested by `==`");
    if (is_relop(t)) {
      const std::vector<std::size_t> open = open_before(at_);
      if (!open.empty() && type(open.front()) == L::LPAREN) {
        const std::size_t close = matching(open.front());
        std::string hint = "remove the parentheses";
        if (open.front() == 1 && close + 1 == line_.size())
          hint = fmt::format("write `{} {}`", word, line_.text(2, close - 1));
        return say(Code::E_RELATION, line_.span(open.front(), std::min(close, line_.size() - 1)),
                   "a comparison is not put in parentheses", hint);
      }
      return say(Code::E_RELATION, line_.span(at_), "only one comparison is possible in a condition",
                 "nest a second `if` inside the first");
    }
    if (at_end() && line_.size() == 1)
      return say(Code::E_RELATION, line_.span(at_), fmt::format("`{}` needs a condition", word));
    if (at_end() && open_before(at_).empty() && could_be(L::EQ))
      return say(Code::E_RELATION, line_.span(1, line_.size() - 1), "the condition compares nothing",
                 fmt::format("write a comparison, for example `{} {} == 1`", word, line_.text(1, line_.size() - 1)));
    return false;
  }

  bool two_statements() {
    if (at_ == 0 || at_end() || !could_be(L::NL)) return false;
    const int t = here();
    if (t == L::WHERE && (rule_ == LineRule::do_header || rule_ == LineRule::pardo_header))
      return say(Code::E_WHERE_PLACE, line_.span(at_), "`where` stands on a line of its own",
                 "move it to the next line");
    if (begins_line(t))
      return say(Code::E_LINE, line_.span(at_), fmt::format("`{}` does not belong on this line", line_.lower(at_)),
                 "a statement stands on a line of its own");
    if (t != L::IDENT) return false;
    const std::size_t next = type(at_ + 1) == L::LBRACK ? matching(at_ + 1) + 1 : at_ + 1;
    if (!is_assign(type(next))) return false;
    return say(Code::E_LINE, line_.span(at_), "a second statement on one line",
               "a statement stands on a line of its own");
  }

  // ---- declarations
  std::size_t core() const {
    std::size_t k = 0;
    while (type(k) == L::PREDEFINED || type(k) == L::CONTIGUOUS || type(k) == L::SPARSE) ++k;
    return k;
  }
  bool is_array_declaration() const { return is_array_kind(type(core())); }
  bool range_has_begun() const { return is_index_kind(type(core())) && at_ > core() + 2; }

  bool declaration_form() {
    const std::size_t k = core();
    const int kind = type(k), t = here();
    const std::string name = line_.text(k + 1);
    if (kind == L::SCALAR || kind == L::INT) {
      if (type(at_ - 1) == L::ASSIGN && type(k + 2) == L::ASSIGN) {
        const std::string rest = at_end() ? std::string() : line_.text(at_, line_.size() - 1);
        std::string hint = kind == L::SCALAR ? "a scalar begins with an unsigned real literal, such as 1.5"
                                             : "an int begins with an unsigned integer literal";
        if (kind == L::SCALAR && t == L::INTEGER && at_ + 1 == line_.size()) hint = fmt::format("write {}.0", rest);
        if (t == L::MINUS)
          hint = fmt::format("declare `{} {}`, and write the statement `{} = {}`", line_.lower(k), name, name, rest);
        return say(Code::E_INITIAL, at_end() ? line_.span(at_) : line_.span(at_, line_.size() - 1),
                   kind == L::SCALAR ? "the initial value of a scalar is a real number without sign"
                                     : "the initial value of an int is an integer without sign",
                   hint);
      }
      if (t == L::COMMA)
        return say(
            Code::E_SYNTAX, line_.span(at_), "one line declares one name",
            type(at_ + 1) == L::IDENT ? fmt::format("add a line `{} {}`", line_.lower(k), line_.text(at_ + 1)) : "");
      if (is_operator(t) && type(k + 2) == L::ASSIGN)
        return say(Code::E_INITIAL, line_.span(k + 3, line_.size() - 1), "an initial value is one literal",
                   "assign expressions in a statement");
    }
    if (is_index_kind(kind) && at_ > k + 2) {
      if (t == L::DOUBLE || is_operator(t) || t == L::LPAREN || t == L::COLON || at_end() || t == L::IDENT ||
          t == L::INTEGER)
        return say(Code::E_RANGE_FORM, line_.span(at_),
                   is_operator(t) ? "a bound of a range is no expression" : "a range is LOW:HIGH",
                   "each bound is an integer, a negated integer or a predefined int");
    }
    if (is_index_kind(kind) && at_ == k + 2 && at_end())
      return say(Code::E_RANGE_FORM, line_.span(at_), fmt::format("the index `{}` has no range", name),
                 fmt::format("write `{} {} = 1:n`", line_.lower(k), name));
    if (is_array_kind(kind)) {
      const std::vector<std::size_t> open = open_before(at_);
      if (at_ == k + 2 && t != L::IDENT)
        return say(Code::E_DIMENSION, line_.span(at_), fmt::format("the array `{}` has no dimensions", name),
                   fmt::format("name its indices: `{} {}[i,j]`", line_.lower(k), name));
      if (!open.empty() && !at_end() &&
          (is_number(t) || t == L::STAR || t == L::COLON || is_operator(t) || t == L::LPAREN || t == L::STRING))
        return say(Code::E_DIMENSION, line_.span(at_), "a dimension is the name of an index",
                   "declare an index with the range that is meant, and use its name");
      if (!open.empty() && (t == L::COMMA || t == L::RBRACK))
        return say(Code::E_DIMENSION, line_.span(at_), "the name of an index is missing here");
      if (t == L::COMMA && open.empty())
        return say(Code::E_SYNTAX, line_.span(at_), "one line declares one array",
                   "declare the next array on the next line");
    }
    if (kind == L::SUBINDEX && at_ == k + 2)
      return say(Code::E_SYNTAX, line_.span(at_), fmt::format("the parent of the subindex `{}` is missing", name),
                 fmt::format("write `subindex {} of PARENT`", name));
    if (kind == L::SPECIAL && at_ > k + 2)
      return say(Code::E_SYNTAX, line_.span(at_), "the signature of a special instruction is one word",
                 "write its letters without blanks, such as `rw`");
    return false;
  }

  // ---- statements
  /// The line begins with a name and is no assignment.
  bool first_word() {
    if (first_ != L::IDENT) {
      if (at_ != 0) return false;
      return say(Code::E_SYNTAX, line_.span(0), fmt::format("a statement cannot begin with {}", token_name(first_)));
    }
    if (at_ > 1 || (at_ == 1 && (is_operator(here()) || is_relop(here()) || here() == L::LPAREN))) {
      if (at_ == 1 && here() == L::EQ)
        return say(Code::E_SYNTAX, line_.span(1), "`==` compares and does not assign", "assignment is `=`");
      return false;
    }
    const std::string word = line_.lower(0);
    if (const ForeignWord* foreign = foreign_word(word))
      return say(foreign->code, line_.span(0), foreign->message, foreign->hint);
    std::string hint;
    if (const std::optional<Correction> meant = meant_keyword(line_))
      hint = fmt::format("did you mean `{}`?", keyword_text(meant->type));
    else if (line_.size() == 1)
      hint = fmt::format("a procedure is run by `call {0}`, a super instruction by `execute {0}`", line_.text(0));
    else hint = "a statement begins with a keyword or assigns to a name";
    return say(Code::E_SYNTAX, line_.span(0), fmt::format("`{}` does not begin a statement", line_.text(0)), hint);
  }

  bool procedure_form() {
    if (first_ == L::PROC && at_ >= 2)
      return say(Code::E_PROC_FORM, line_.span(at_, line_.size() - 1), "a procedure has no arguments",
                 "use the program's variables and indices");
    if (first_ == L::CALL && at_ >= 2)
      return say(Code::E_PROC_FORM, line_.span(at_, line_.size() - 1), "a procedure takes no arguments",
                 "set the program's variables before the call");
    return false;
  }

  bool print_form() {
    if (first_ != L::PRINT && first_ != L::PRINTLN) return false;
    const std::string word = line_.lower(0);
    if (line_.size() == 1)
      return say(Code::E_PRINT_OPERAND, line_.span(0), fmt::format("`{}` has nothing to print", word),
                 "an empty line is `println \"\"`");
    if (!at_end() && could_be(L::NL) &&
        (here() == L::COMMA || here() == L::STRING || here() == L::IDENT || is_number(here())))
      return say(Code::E_PRINT_OPERAND, line_.span(at_), fmt::format("`{}` takes one operand", word),
                 "print each value by a statement of its own");
    return false;
  }

  bool execute_form() {
    if (first_ != L::EXECUTE || at_ < 2 || at_end() || !open_before(at_).empty()) return false;
    const int t = here();
    if (t == L::COMMA)
      return say(Code::E_ARG, line_.span(at_), "arguments are separated by blanks", "remove the comma");
    if (t == L::STRING)
      return say(Code::E_ARG, line_.span(at_), "a string cannot be an argument",
                 "arguments are blocks, scalars, static arrays and real numbers");
    if (t == L::MINUS && is_number(type(at_ + 1)))
      return say(Code::E_ARG, line_.span(at_, at_ + 1), "a signed number cannot be an argument",
                 "assign it to a scalar and pass that");
    if (is_operator(t))
      return say(Code::E_ARG, line_.span(at_), "an expression cannot be an argument",
                 "assign it to a scalar and pass that");
    if (t == L::LPAREN)
      return say(Code::E_ARG, line_.span(at_), "arguments are not put in parentheses", "separate them by blanks");
    return false;
  }

  // ---- headers and ends of blocks
  bool loop_form() {
    const std::string word = line_.lower(0);
    if (rule_ == LineRule::do_header || rule_ == LineRule::pardo_header) {
      if (here() == L::ASSIGN)
        return say(Code::E_SYNTAX, line_.span(at_, line_.size() - 1), "the range of a loop is that of its index",
                   "give the range in the declaration of the index: `index k = 1:10`");
      if (here() == L::COMMA && rule_ == LineRule::do_header)
        return say(Code::E_SYNTAX, line_.span(at_), "`do` runs over one index", "nest the loops, or use `pardo`");
      if (here() == L::LPAREN)
        return say(Code::E_SYNTAX, line_.span(at_),
                   fmt::format("the indices of `{}` are not put in parentheses", word));
      if (here() == L::IDENT && at_ > 1 && rule_ == LineRule::pardo_header)
        return say(Code::E_SYNTAX, line_.span(at_), "the indices of `pardo` are separated by commas",
                   fmt::format("write `, {}`", text_here()));
    }
    if (at_end() && at_ == 1 && !expected_end_.empty())
      return say(Code::E_SYNTAX, line_.span(0), fmt::format("`{}` repeats the name of what it closes", word),
                 fmt::format("write `{}`", expected_end_));
    if (rule_ == LineRule::import_line && at_ == 1)
      return say(Code::E_SYNTAX, line_.span(at_), "`import` needs the name of a file in double quotes",
                 "write `import \"file.sialx\"`");
    return false;
  }

  // ---- selectors
  bool selector_form() {
    const int t = here();
    if (t == L::LBRACK && at_ == 2 && (first_ == L::CREATE || first_ == L::DELETE || first_ == L::DESTROY))
      return say(Code::E_SELECTOR, line_.span(at_, std::min(matching(at_), line_.size() - 1)),
                 fmt::format("`{}` takes a whole array, without selector", line_.lower(0)),
                 fmt::format("write `{}`", line_.text(0, 1)));
    const std::vector<std::size_t> open = open_before(at_);
    if (open.empty() || type(open.front()) != L::LBRACK || at_end()) return false;
    const std::size_t bracket = open.front();
    const bool allocation = first_ == L::ALLOCATE || first_ == L::DEALLOCATE;
    const bool contiguous = allocation && type(1) == L::CONTIGUOUS;
    if (t == L::POW)
      return say(Code::E_SELECTOR, line_.span(at_), "`**` is the power operator", "write `*,*` with a comma");
    if (t == L::STAR && contiguous)
      return say(Code::E_SELECTOR, line_.span(at_), "a contiguous region needs a range in every dimension",
                 "write LOW:HIGH, such as `1:n`");
    if (t == L::STAR && !allocation && (type(at_ - 1) == L::LBRACK || type(at_ - 1) == L::COMMA))
      return say(Code::E_SELECTOR, line_.span(at_), "`*` is possible in `allocate` and `deallocate` only",
                 "name an index");
    if (allocation && !contiguous)
      return say(Code::E_SELECTOR, line_.span(at_), fmt::format("`{}` selects by index names and `*`", line_.lower(0)),
                 "ranges are for `contiguous` arrays: `allocate contiguous a[1:2,1:3]`");
    if (open.size() > 1) return false;
    if (t != L::COMMA && t != L::RBRACK && t != L::COLON && !is_operator(t) && !is_number(t) && t != L::LPAREN)
      return false;
    std::size_t begin = at_ > bracket + 1 && (t == L::COMMA || t == L::RBRACK) ? at_ - 1 : at_, end = begin;
    while (begin > bracket + 1 && type(begin - 1) != L::COMMA) --begin;
    while (end + 1 < line_.size() && type(end + 1) != L::COMMA && type(end + 1) != L::RBRACK) ++end;
    bool ranges = false;
    for (std::size_t k = bracket; k < std::min(matching(bracket), line_.size()); ++k)
      ranges = ranges || type(k) == L::COLON;
    if (begin == at_ && (t == L::COMMA || t == L::RBRACK))
      return say(Code::E_SELECTOR, line_.span(at_), "an index name is missing here");
    if (ranges)
      return say(Code::E_SELECTOR, line_.span(begin, end), "index names and ranges cannot be mixed in one selector",
                 "write every entry of a region as a range; the one segment of i is `i:i`");
    return say(Code::E_SELECTOR, line_.span(begin, end), "a block is selected by names of indices",
               "numbers and expressions are possible in regions of contiguous arrays only, as LOW:HIGH");
  }

  void generic() {
    const std::vector<std::size_t> open = open_before(at_);
    if (at_end() && !open.empty()) {
      const std::size_t bracket = open.back();
      const std::string closer = type(bracket) == L::LPAREN ? ")" : "]";
      if (could_be(type(bracket) == L::LPAREN ? L::RPAREN : L::RBRACK)) {
        Diagnostic& d = emitter_.report(Code::E_SYNTAX, line_.span(at_), fmt::format("`{}` is missing", closer));
        if (bracket + 1 < line_.size()) d.notes.push_back({line_.span(bracket), "this one is open"});
        return;
      }
    }
    const std::string expected = probe_.expected(rule_, line_.tokens(), at_);
    if (at_end()) {
      say(Code::E_SYNTAX, line_.span(at_),
          expected.empty() ? "the line ends too early" : fmt::format("the line ends too early: expected {}", expected));
      return;
    }
    const std::string found = is_keyword(here()) ? line_.lower(at_) : text_here();
    std::string message = fmt::format("unexpected `{}`", found);
    if (here() == L::STRING) message = "unexpected string";
    if (!expected.empty()) message += ", expected " + expected;
    if ((here() == L::RPAREN || here() == L::RBRACK) && open.empty())
      message = fmt::format("`{}` closes nothing", found);
    say(Code::E_SYNTAX, line_.span(at_), message);
  }

  const LineView& line_;
  const LineRule rule_;
  const std::size_t at_;
  const std::string& expected_end_;
  LineProbe& probe_;
  Emitter& emitter_;
  const int first_;
};

}  // namespace

void explain_refused_line(const LineView& line, LineRule rule, std::size_t at, const std::string& expected_end,
                          LineProbe& probe, Emitter& emitter) {
  Explainer(line, rule, at, expected_end, probe, emitter).explain();
}

}  // namespace sial::parsing
