#include "compiler/ast/build_explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/ast/build_explainer.h"
#include "compiler/ast/build_words.h"
#include "compiler/diag/table.h"

namespace sial::parsing {

int LineView::type(std::size_t i) const { return i < size() ? line_.tokens[i].type : static_cast<int>(L::NL); }

std::string LineView::text(std::size_t i) const {
  return i < size() ? std::string(sources_.slice(span(i))) : std::string();
}

Span LineView::span(std::size_t i) const {
  if (i < size()) return {file_, line_.tokens[i].begin, line_.tokens[i].end};
  return {file_, line_.tokens.back().end, line_.tokens.back().end};
}

void Explainer::explain() {
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

std::vector<std::size_t> Explainer::open_before(std::size_t i) const {
  std::vector<std::size_t> open;
  for (std::size_t k = 0; k < i && k < line_.size(); ++k) {
    if (type(k) == L::LPAREN || type(k) == L::LBRACK) open.push_back(k);
    if ((type(k) == L::RPAREN || type(k) == L::RBRACK) && !open.empty()) open.pop_back();
  }
  return open;
}

std::size_t Explainer::matching(std::size_t open) const {
  int depth = 0;
  for (std::size_t k = open; k < line_.size(); ++k) {
    if (type(k) == L::LPAREN || type(k) == L::LBRACK) ++depth;
    if ((type(k) == L::RPAREN || type(k) == L::RBRACK) && --depth == 0) return k;
  }
  return line_.size();
}

bool Explainer::keyword_as_name() {
  if (at_ == 1 && is_keyword(first_) && (is_assign(here()) || (here() == L::LBRACK && has_assignment()))) {
    return say(Code::E_KEYWORD, line_.span(0), fmt::format("`{}` is a keyword and cannot be a name", line_.lower(0)),
               fmt::format("choose another name, for example `my_{}`", line_.lower(0)));
  }
  if (at_ == 0 || !is_keyword(here()) || here() == L::SQRT || !could_be(L::IDENT)) return false;
  if (begins_line(here()) && could_be(L::NL)) return false;  // a second statement
  return say(Code::E_KEYWORD, line_.span(at_), fmt::format("`{}` is a keyword and cannot be a name", line_.lower(at_)),
             fmt::format("choose another name, for example `my_{}`", line_.lower(at_)));
}

bool Explainer::has_assignment() const {
  for (std::size_t k = 0; k < line_.size(); ++k)
    if (is_assign(type(k))) return true;
  return false;
}

bool Explainer::condition_form() {
  if (rule_ != LineRule::if_header && rule_ != LineRule::where_line) return false;
  const int t = here();
  const std::string word = line_.lower(0);
  if (t == L::IDENT) {
    const std::string name = line_.lower(at_);
    if (name == "and" || name == "or" || name == "not")
      return say(Code::E_RELATION, line_.span(at_), "conditions cannot be combined",
                 name == "and" ? fmt::format("nest a second `{}` inside the first", word) : "write two of them");
    if (name == "then")
      return say(Code::E_RELATION, line_.span(at_), "there is no `then`", "the statements follow on the next lines",
                 without(at_, at_));
  }
  if (t == L::ASSIGN)
    return say(Code::E_RELATION, line_.span(at_), "`=` assigns and does not compare", "equality is tested by `==`",
               write(at_, "=="));
  if (is_relop(t)) {
    const std::vector<std::size_t> open = open_before(at_);
    if (!open.empty() && type(open.front()) == L::LPAREN) {
      const std::size_t close = matching(open.front());
      std::string hint = "remove the parentheses";
      if (open.front() == 1 && close + 1 == line_.size())
        hint = fmt::format("write `{} {}`", word, line_.text(2, close - 1));
      return say(Code::E_RELATION, line_.span(open.front(), std::min(close, line_.size() - 1)),
                 "a comparison is not put in parentheses", hint,
                 close < line_.size() ? std::optional(exchange(open.front(), close, "remove the parentheses", "", ""))
                                      : std::nullopt);
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

bool Explainer::two_statements() {
  if (at_ == 0 || at_end() || !could_be(L::NL)) return false;
  const int t = here();
  if (t == L::WHERE && (rule_ == LineRule::do_header || rule_ == LineRule::pardo_header))
    return say(Code::E_WHERE_PLACE, line_.span(at_), "`where` stands on a line of its own", "move it to the next line",
               begin_line(at_, "  "));
  if (begins_line(t))
    return say(Code::E_LINE, line_.span(at_), fmt::format("`{}` does not belong on this line", line_.lower(at_)),
               "a statement stands on a line of its own", begin_line(at_));
  if (t != L::IDENT) return false;
  const std::size_t next = type(at_ + 1) == L::LBRACK ? matching(at_ + 1) + 1 : at_ + 1;
  if (!is_assign(type(next))) return false;
  return say(Code::E_LINE, line_.span(at_), "a second statement on one line", "a statement stands on a line of its own",
             begin_line(at_));
}

std::size_t Explainer::core() const {
  std::size_t k = 0;
  while (type(k) == L::PREDEFINED || type(k) == L::CONTIGUOUS || type(k) == L::SPARSE) ++k;
  return k;
}

bool Explainer::declaration_form() {
  const std::size_t k = core();
  const int kind = type(k), t = here();
  const std::string name = line_.text(k + 1);
  if (kind == L::SCALAR || kind == L::INT) {
    if (type(at_ - 1) == L::ASSIGN && type(k + 2) == L::ASSIGN) {
      const std::string rest = at_end() ? std::string() : line_.text(at_, line_.size() - 1);
      std::string hint = kind == L::SCALAR ? "a scalar begins with an unsigned real literal, such as 1.5"
                                           : "an int begins with an unsigned integer literal";
      std::optional<Fix> fix;
      if (kind == L::SCALAR && t == L::INTEGER && at_ + 1 == line_.size()) {
        hint = fmt::format("write {}.0", rest);
        fix = write(at_, rest + ".0");
      }
      if (t == L::MINUS)
        hint = fmt::format("declare `{} {}`, and write the statement `{} = {}`", line_.lower(k), name, name, rest);
      return say(Code::E_INITIAL, at_end() ? line_.span(at_) : line_.span(at_, line_.size() - 1),
                 kind == L::SCALAR ? "the initial value of a scalar is a real number without sign"
                                   : "the initial value of an int is an integer without sign",
                 hint, std::move(fix));
    }
    if (t == L::COMMA)
      return say(
          Code::E_SYNTAX, line_.span(at_), "one line declares one name",
          type(at_ + 1) == L::IDENT ? fmt::format("add a line `{} {}`", line_.lower(k), line_.text(at_ + 1)) : "",
          one_name_per_line(at_));
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
                 "declare the next array on the next line", one_name_per_line(at_));
  }
  if (kind == L::SUBINDEX && at_ == k + 2)
    return say(Code::E_SYNTAX, line_.span(at_), fmt::format("the parent of the subindex `{}` is missing", name),
               fmt::format("write `subindex {} of PARENT`", name));
  if (kind == L::SPECIAL && at_ > k + 2)
    return say(Code::E_SYNTAX, line_.span(at_), "the signature of a special instruction is one word",
               "write its letters without blanks, such as `rw`", joined_signature(k + 2));
  return false;
}

bool Explainer::first_word() {
  if (first_ != L::IDENT) {
    if (at_ != 0) return false;
    return say(Code::E_SYNTAX, line_.span(0), fmt::format("a statement cannot begin with {}", token_name(first_)));
  }
  if (at_ > 1 || (at_ == 1 && (is_operator(here()) || is_relop(here()) || here() == L::LPAREN))) {
    if (at_ == 1 && here() == L::EQ)
      return say(Code::E_SYNTAX, line_.span(1), "`==` compares and does not assign", "assignment is `=`",
                 write(1, "="));
    return false;
  }
  const std::string word = line_.lower(0);
  if (const ForeignWord* foreign = foreign_word(word))
    return say(foreign->code, line_.span(0), foreign->message, foreign->hint);
  std::string hint;
  std::optional<Fix> fix;
  if (const std::optional<Correction> meant = meant_keyword(line_)) {
    hint = fmt::format("did you mean `{}`?", keyword_text(meant->type));
    // The line is not well formed with it either: that may be another mistake.
    fix = offered(replace(line_.span(0, meant->tokens - 1), keyword_text(meant->type)));
  } else if (line_.size() == 1)
    hint = fmt::format("a procedure is run by `call {0}`, a super instruction by `execute {0}`", line_.text(0));
  else hint = "a statement begins with a keyword or assigns to a name";
  return say(Code::E_SYNTAX, line_.span(0), fmt::format("`{}` does not begin a statement", line_.text(0)), hint,
             std::move(fix));
}

/// `proc p()` and `call p()` without the parentheses; arguments are more than that.
std::optional<Fix> Explainer::empty_parentheses() const {
  if (here() != L::LPAREN || type(at_ + 1) != L::RPAREN || at_ + 2 != line_.size()) return {};
  return without(at_, at_ + 1);
}

/// The letters of a signature in one word.
std::optional<Fix> Explainer::joined_signature(std::size_t first) const {
  std::string letters;
  for (std::size_t i = first; i < line_.size(); ++i)
    if (type(i) == L::IDENT) letters += line_.text(i);
    else if (type(i) != L::COMMA) return {};
  if (lower_case(letters).find_first_not_of("rwu") != std::string::npos) return {};
  return replace(line_.span(first, line_.size() - 1), letters);
}

std::optional<Fix> Explainer::blanks_for_commas() const {
  Fix fix{"separate the arguments by blanks", {}};
  int depth = 0;
  for (std::size_t i = at_; i < line_.size(); ++i) {
    if (type(i) == L::LBRACK) ++depth;
    if (type(i) == L::RBRACK) --depth;
    if (type(i) == L::COMMA && depth == 0)
      fix.edits.push_back({Edit::What::replace, line_.span(i), line_.adjacent(i + 1) ? " " : ""});
  }
  return fix;
}

/// An import's file name in quotes.
std::optional<Fix> Explainer::quoted_rest() const {
  if (line_.size() < 2) return {};
  const std::string text = line_.text(1, line_.size() - 1);
  if (text.find_first_of("\"'") != std::string::npos) return {};
  return replace(line_.span(1, line_.size() - 1), "\"" + text + "\"");
}

bool Explainer::procedure_form() {
  if (first_ == L::PROC && at_ >= 2)
    return say(Code::E_PROC_FORM, line_.span(at_, line_.size() - 1), "a procedure has no arguments",
               "use the program's variables and indices", empty_parentheses());
  if (first_ == L::CALL && at_ >= 2)
    return say(Code::E_PROC_FORM, line_.span(at_, line_.size() - 1), "a procedure takes no arguments",
               "set the program's variables before the call", empty_parentheses());
  return false;
}

bool Explainer::print_form() {
  if (first_ != L::PRINT && first_ != L::PRINTLN) return false;
  const std::string word = line_.lower(0);
  if (line_.size() == 1)
    return say(Code::E_PRINT_OPERAND, line_.span(0), fmt::format("`{}` has nothing to print", word),
               "an empty line is `println \"\"`", replace(line_.span(0), word + " \"\""));
  if (!at_end() && could_be(L::NL) &&
      (here() == L::COMMA || here() == L::STRING || here() == L::IDENT || is_number(here())))
    return say(Code::E_PRINT_OPERAND, line_.span(at_), fmt::format("`{}` takes one operand", word),
               "print each value by a statement of its own");
  return false;
}

bool Explainer::execute_form() {
  if (first_ != L::EXECUTE || at_ < 2 || at_end() || !open_before(at_).empty()) return false;
  const int t = here();
  if (t == L::COMMA)
    return say(Code::E_ARG, line_.span(at_), "arguments are separated by blanks", "remove the comma",
               blanks_for_commas());
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

bool Explainer::loop_form() {
  const std::string word = line_.lower(0);
  if (rule_ == LineRule::do_header || rule_ == LineRule::pardo_header) {
    if (here() == L::ASSIGN)
      return say(Code::E_SYNTAX, line_.span(at_, line_.size() - 1), "the range of a loop is that of its index",
                 "give the range in the declaration of the index: `index k = 1:10`");
    if (here() == L::COMMA && rule_ == LineRule::do_header)
      return say(Code::E_SYNTAX, line_.span(at_), "`do` runs over one index", "nest the loops, or use `pardo`");
    if (here() == L::LPAREN)
      return say(Code::E_SYNTAX, line_.span(at_), fmt::format("the indices of `{}` are not put in parentheses", word),
                 {},
                 matching(at_) < line_.size() && at_ == 1
                     ? std::optional(exchange(at_, matching(at_), "remove the parentheses", " ", ""))
                     : std::nullopt);
    if (here() == L::IDENT && at_ > 1 && rule_ == LineRule::pardo_header)
      return say(Code::E_SYNTAX, line_.span(at_), "the indices of `pardo` are separated by commas",
                 fmt::format("write `, {}`", text_here()), replace("insert a comma", after(at_ - 1), ","));
  }
  if (at_end() && at_ == 1 && !expected_end_.empty())
    return say(Code::E_SYNTAX, line_.span(0), fmt::format("`{}` repeats the name of what it closes", word),
               fmt::format("write `{}`", expected_end_), write(0, expected_end_));
  if (rule_ == LineRule::import_line && at_ == 1)
    return say(Code::E_SYNTAX, line_.span(at_), "`import` needs the name of a file in double quotes",
               "write `import \"file.sialx\"`", quoted_rest());
  return false;
}

bool Explainer::selector_form() {
  const int t = here();
  if (t == L::LBRACK && at_ == 2 && (first_ == L::CREATE || first_ == L::DELETE || first_ == L::DESTROY))
    return say(Code::E_SELECTOR, line_.span(at_, std::min(matching(at_), line_.size() - 1)),
               fmt::format("`{}` takes a whole array, without selector", line_.lower(0)),
               fmt::format("write `{}`", line_.text(0, 1)), without(at_, std::min(matching(at_), line_.size() - 1)));
  const std::vector<std::size_t> open = open_before(at_);
  if (open.empty() || type(open.front()) != L::LBRACK || at_end()) return false;
  const std::size_t bracket = open.front();
  const bool allocation = first_ == L::ALLOCATE || first_ == L::DEALLOCATE;
  const bool contiguous = allocation && type(1) == L::CONTIGUOUS;
  if (t == L::POW)
    return say(Code::E_SELECTOR, line_.span(at_), "`**` is the power operator", "write `*,*` with a comma",
               write(at_, "*,*"));
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

void Explainer::generic() {
  const std::vector<std::size_t> open = open_before(at_);
  if (at_end() && !open.empty()) {
    const std::size_t bracket = open.back();
    const std::string closer = type(bracket) == L::LPAREN ? ")" : "]";
    if (could_be(type(bracket) == L::LPAREN ? L::RPAREN : L::RBRACK)) {
      Diagnostic& d = emitter_.report(Code::E_SYNTAX, line_.span(at_), fmt::format("`{}` is missing", closer));
      if (bracket + 1 < line_.size()) d.notes.push_back({line_.span(bracket), "this one is open"});
      std::string closers;  // of all that are open, inside out
      for (std::size_t i = open.size(); i-- > 0;) closers += type(open[i]) == L::LPAREN ? ')' : ']';
      // Where it was meant decides what is computed.
      d.fix(offered(replace(fmt::format("insert `{}`", closers), line_.span(at_), closers)));
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
  std::optional<Fix> fix;
  if (here() == L::STRING) message = "unexpected string";
  if (!expected.empty()) message += ", expected " + expected;
  if ((here() == L::RPAREN || here() == L::RBRACK) && open.empty())
    message = fmt::format("`{}` closes nothing", found), fix = offered(without(at_, at_));
  say(Code::E_SYNTAX, line_.span(at_), message, {}, std::move(fix));
}

void explain_refused_line(const LineView& line, LineRule rule, std::size_t at, const std::string& expected_end,
                          LineProbe& probe, Emitter& emitter) {
  Explainer(line, rule, at, expected_end, probe, emitter).explain();
}

}  // namespace sial::parsing
