#include "compiler/ast/build_words.h"

#include <SialLexer.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "compiler/ast/build_explain.h"
#include "compiler/diag/table.h"

namespace sial::parsing {

const ForeignWord* foreign_word(std::string_view word) {
  static constexpr const char* no_else_if = "there is no `else if`";
  static constexpr const char* nest_if = "nest an `if` of its own inside the `else`, with its own `endif`";
  static constexpr const char* end_forms =
      "blocks end with `enddo`, `endpardo`, `endif`, `endproc`, `endsection` or `endsial`";
  static const std::array<ForeignWord, 25> words = {{
      {"elseif", Code::E_ELSE_IF, no_else_if, nest_if},
      {"elsif", Code::E_ELSE_IF, no_else_if, nest_if},
      {"elif", Code::E_ELSE_IF, no_else_if, nest_if},
      {"while", Code::E_SYNTAX, "there is no `while`", "loop over an index with `do`, and leave the loop with `exit`"},
      {"for", Code::E_SYNTAX, "there is no `for`", "loop over an index with `do` or `pardo`"},
      {"then", Code::E_SYNTAX, "there is no `then`", "the statements of an `if` begin on the next line"},
      {"continue", Code::E_SYNTAX, "there is no `continue`", "put the rest of the loop body into an `if`"},
      {"break", Code::E_SYNTAX, "there is no `break`", "a loop is left with `exit`", "exit"},
      {"goto", Code::E_SYNTAX, "there is no `goto`", "use loops, `if`, `exit` and procedures"},
      {"subroutine", Code::E_SYNTAX, "there is no `subroutine`", "a procedure is `proc NAME` ... `endproc NAME`",
       "proc"},
      {"function", Code::E_SYNTAX, "there is no `function`",
       "a procedure is `proc NAME` ... `endproc NAME`; it sets variables of the program"},
      {"procedure", Code::E_SYNTAX, "there is no `procedure`", "a procedure is `proc NAME` ... `endproc NAME`", "proc"},
      {"write", Code::E_SYNTAX, "there is no `write`", "use `print` or `println`", "print"},
      {"printf", Code::E_SYNTAX, "there is no `printf`", "use `print` or `println`, with one operand", "print"},
      {"real", Code::E_SYNTAX, "there is no type `real`", "floating-point variables are declared by `scalar`",
       "scalar"},
      {"double", Code::E_SYNTAX, "there is no type `double`", "floating-point variables are declared by `scalar`",
       "scalar"},
      {"float", Code::E_SYNTAX, "there is no type `float`", "floating-point variables are declared by `scalar`",
       "scalar"},
      {"integer", Code::E_SYNTAX, "there is no type `integer`", "integer variables are declared by `int`", "int"},
      {"logical", Code::E_SYNTAX, "there is no logical type", "use an `int` that is 0 or 1", "int"},
      {"array", Code::E_SYNTAX, "`array` does not begin a declaration",
       "the kinds are `temp`, `local`, `static`, `distributed` and `served`"},
      {"include", Code::E_SYNTAX, "there is no `include`", "use `import \"file.sialx\"` above the program's header"},
      {"use", Code::E_SYNTAX, "there is no `use`", "use `import \"file.sialx\"` above the program's header"},
      {"program", Code::E_SYNTAX, "there is no `program`", "a program is `sial NAME` ... `endsial NAME`", "sial"},
      {"barrier", Code::E_SYNTAX, "there is no `barrier`", "use `sip_barrier`", "sip_barrier"},
      {"end", Code::E_SYNTAX, "`end` alone closes nothing", end_forms},
  }};
  for (const ForeignWord& w : words)
    if (w.word == word) return &w;
  return nullptr;
}

const DottedOperator* dotted_operator(std::string_view word) {
  static constexpr std::array<DottedOperator, 9> operators = {{
      {"lt.", "less than is `<`", "<"},
      {"le.", "at most is `<=`", "<="},
      {"gt.", "greater than is `>`", ">"},
      {"ge.", "at least is `>=`", ">="},
      {"eq.", "equality is tested by `==`", "=="},
      {"ne.", "not equal is `!=`", "!="},
      {"and.", "nest a second `if` inside the first", ""},
      {"or.", "test the conditions in two `if`s, one behind the other", ""},
      {"not.", "use the opposite comparison", ""},
  }};
  for (const DottedOperator& op : operators)
    if (op.word == word) return &op;
  return nullptr;
}

std::optional<Correction> meant_keyword(const LineView& line) {
  if (line.type(0) != SialLexer::IDENT) return std::nullopt;
  const std::string word = line.lower(0);
  // `end do i`, `end if`: two words for one keyword.
  if (word == "end" && line.size() > 1)
    for (const auto& [type, text] : keywords())
      if (text == "end" + line.lower(1)) return Correction{type, 2};
  if (word.size() < 2 || foreign_word(word)) return std::nullopt;
  int best = word.size() <= 5 ? 2 : 3, type = 0;
  for (const auto& [candidate, text] : keywords()) {
    if (!begins_line(candidate)) continue;
    const int distance = edit_distance(word, text);
    if (distance < best) {
      best = distance;
      type = candidate;
    }
  }
  if (type == 0) return std::nullopt;
  return Correction{type, 1};
}

std::string without_exponent(std::string mantissa, int exponent) {
  if (exponent > 15 || exponent < -20) return {};
  std::size_t point = mantissa.find('.');
  if (point == std::string::npos) point = mantissa.size();
  std::string digits = mantissa;
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  int position = static_cast<int>(point) + exponent;
  if (position <= 0) {
    digits.insert(0, static_cast<std::size_t>(1 - position), '0');
    position = 1;
  }
  if (position > static_cast<int>(digits.size()))
    digits.append(static_cast<std::size_t>(position) - digits.size(), '0');
  std::string out =
      digits.substr(0, static_cast<std::size_t>(position)) + "." + digits.substr(static_cast<std::size_t>(position));
  while (out.size() > 3 && out.back() == '0' && out[out.size() - 2] != '.') out.pop_back();
  if (out.back() == '.') out += '0';
  const std::size_t first = out.find_first_not_of('0');
  return out.substr(out[first] == '.' ? first - 1 : first);
}

}  // namespace sial::parsing
