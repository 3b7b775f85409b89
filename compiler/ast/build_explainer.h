#pragma once
// The one who says what is wrong with a line that the grammar refuses. Each member looks for one sort of mistake,
// reports it and returns true, or returns false. Private to the parser; build_explain.h is the way in.

#include <SialLexer.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ast/build_explain.h"
#include "compiler/ast/build_words.h"
#include "compiler/diag/fix.h"

namespace sial::parsing {

using L = SialLexer;

inline bool is_assign(int t) {
  return t == L::ASSIGN || t == L::PLUS_ASSIGN || t == L::MINUS_ASSIGN || t == L::STAR_ASSIGN;
}
inline bool is_relop(int t) { return t == L::LT || t == L::GT || t == L::LE || t == L::GE || t == L::EQ || t == L::NE; }
inline bool is_operator(int t) {
  return t == L::PLUS || t == L::MINUS || t == L::STAR || t == L::SLASH || t == L::CARET || t == L::POW;
}
inline bool is_number(int t) { return t == L::INTEGER || t == L::DOUBLE; }
inline bool is_index_kind(int t) {
  return t == L::INDEX || t == L::AOINDEX || t == L::MOINDEX || t == L::MOAINDEX || t == L::MOBINDEX || t == L::LAINDEX;
}
inline bool is_array_kind(int t) {
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

  void explain();

 private:
  int type(std::size_t i) const { return line_.type(i); }
  int here() const { return line_.type(at_); }
  bool at_end() const { return at_ >= line_.size(); }
  std::string text_here() const { return line_.text(at_); }
  bool could_be(int t) { return probe_.could_follow(rule_, line_.tokens(), at_, t); }
  bool say(Code code, Span span, std::string message, std::string hint = {}, std::optional<Fix> fix = {}) {
    Diagnostic& d = emitter_.report(code, span, std::move(message), std::move(hint));
    if (fix) d.fix(std::move(*fix));
    return true;
  }
  /// The token `i` written otherwise.
  Fix write(std::size_t i, std::string text) const { return replace(line_.span(i), std::move(text)); }
  /// The whole line written otherwise.
  Fix write_line(std::string text) const { return replace(line_.whole(), std::move(text)); }
  /// Without the tokens first..last and the blanks before them.
  Fix without(std::size_t first, std::size_t last) const;
  /// Other signs for an opening token and the one that closes it.
  Fix exchange(std::size_t open, std::size_t close, std::string title, std::string opening, std::string closing) const;
  /// Token `i` begins the next line, after `before`; keywords after it that begin lines do so as well.
  Fix begin_line(std::size_t i, const std::string& before = {}) const;
  /// Each comma outside of brackets after token `first` begins a line with the words before the first name; nothing
  /// where something else than names and dimensions is separated.
  std::optional<Fix> one_name_per_line(std::size_t first) const;
  /// The separator goes, and what follows it begins the next line.
  Fix break_at(std::size_t separator) const;
  Span following_text(Span span) const;
  std::optional<Fix> double_quotes() const;
  std::optional<Fix> typographic_quotes() const;
  std::optional<Fix> in_parentheses(std::size_t i) const;
  std::optional<Fix> empty_parentheses() const;
  std::optional<Fix> joined_signature(std::size_t first) const;
  std::optional<Fix> blanks_for_commas() const;
  std::optional<Fix> quoted_rest() const;
  /// The place after a token.
  Span after(std::size_t i) const {
    Span span = line_.span(i);
    span.begin = span.end;
    return span;
  }

  /// Open brackets and parentheses before token `i`, innermost last.
  std::vector<std::size_t> open_before(std::size_t i) const;
  std::size_t matching(std::size_t open) const;

  bool unknown_character();
  bool exponent();
  /// Operators of other languages, spelt with tokens of this one; the refused token is the first or the second half.
  bool missing_operator() { return operator_ending_at(at_) || operator_ending_at(at_ + 1); }
  bool operator_ending_at(std::size_t second);

  bool reserved_word();

  bool stacked_unary();

  bool old_dialect();

  bool keyword_as_name();
  bool has_assignment() const;

  bool condition_form();

  bool two_statements();

  // ---- declarations
  std::size_t core() const;
  bool is_array_declaration() const { return is_array_kind(type(core())); }
  bool range_has_begun() const { return is_index_kind(type(core())) && at_ > core() + 2; }

  bool declaration_form();

  // ---- statements
  /// The line begins with a name and is no assignment.
  bool first_word();

  bool procedure_form();

  bool print_form();

  bool execute_form();

  // ---- headers and ends of blocks
  bool loop_form();

  // ---- selectors
  bool selector_form();

  void generic();

  const LineView& line_;
  const LineRule rule_;
  const std::size_t at_;
  const std::string& expected_end_;
  LineProbe& probe_;
  Emitter& emitter_;
  const int first_;
};

}  // namespace sial::parsing
