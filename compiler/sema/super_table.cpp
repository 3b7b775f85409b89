#include "compiler/sema/super_table.h"

#include <algorithm>
#include <iterator>
#include <sstream>

namespace sial {

namespace {

struct Row { std::string_view name, signatures; };
constexpr Row rows[] = {
#define SUPER(id, name, signatures, meaning) {#name, signatures},
#include "runtime/super/super_instructions.def"
#undef SUPER
};

}  // namespace

std::optional<std::string> table_signatures(std::string_view name) {
  for (const Row& row : rows)
    if (row.name == name) return std::string(row.signatures);
  return std::nullopt;
}

bool has_element_form(std::string_view name) {
  static constexpr std::string_view forms[] = {
#define ELEMENT_FORM(name) #name,
#include "runtime/super/element_forms.def"
#undef ELEMENT_FORM
  };
  return std::find(std::begin(forms), std::end(forms), name) != std::end(forms);
}

std::string true_letters(std::string_view name, std::string_view declared) {
  std::string letters(declared);
  std::istringstream accepted(table_signatures(name).value_or(""));
  std::string first;
  for (std::string one; accepted >> one;) {
    if (one == declared) return letters;
    if (first.empty() && one.size() == declared.size()) first = one;
  }
  for (std::size_t k = 0; k < first.size(); ++k)
    if (letters[k] == 'r' && first[k] != 'r') letters[k] = 'u';
  return letters;
}

}  // namespace sial
