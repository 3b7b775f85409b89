#pragma once
// Words and numbers that people bring from other languages, and near misses of keywords. Private to the parser.

#include <string>
#include <string_view>

#include "compiler/diag/diagnostic.h"

namespace sial::parsing {

struct ForeignWord {
  std::string_view word;
  Code code;
  const char* message;
  const char* hint;
  const char* replacement = "";  // the word that means the same; empty: none does
};

/// A word at the beginning of a line that other languages have; nullptr for all others.
const ForeignWord* foreign_word(std::string_view lower_case_word);

struct DottedOperator {
  std::string_view word;
  const char* hint;
  const char* replacement;  // empty: none
};

/// The replacement for a Fortran operator such as `.lt.` (given without its first dot); nullptr for all others.
const DottedOperator* dotted_operator(std::string_view word);

/// 1.25 and -3 make 0.00125; empty for exponents that would make a long number.
std::string without_exponent(std::string mantissa, int exponent);

}  // namespace sial::parsing
