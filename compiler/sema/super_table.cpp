#include "compiler/sema/super_table.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>

namespace sial {

namespace {

struct Row {
  std::string_view name, signatures, meaning;
};
constexpr Row rows[] = {
#define SUPER(id, name, signatures, meaning) {#name, signatures, meaning},
#include "tables/super_instructions.def"
#undef SUPER
};

struct ArgumentsRow {
  std::string_view name, arguments, formula, source;
};
constexpr ArgumentsRow argument_rows[] = {
#define SUPER_ARGUMENTS(name, arguments, formula, source) {#name, arguments, formula, source},
#include "tables/super_arguments.def"
#undef SUPER_ARGUMENTS
};

constexpr bool same_names() {
  if (std::size(rows) != std::size(argument_rows)) return false;
  for (std::size_t i = 0; i < std::size(rows); ++i)
    if (rows[i].name != argument_rows[i].name) return false;
  return true;
}
static_assert(same_names(), "super_arguments.def has one row for each of super_instructions.def, in the same order");

}  // namespace

const std::vector<SuperPage>& super_pages() {
  static const std::vector<SuperPage> pages = [] {
    std::vector<SuperPage> made;
    for (std::size_t i = 0; i < std::size(rows); ++i)
      made.push_back({rows[i].name, rows[i].signatures, rows[i].meaning, argument_rules(argument_rows[i].arguments),
                      argument_rows[i].formula, argument_rows[i].source});
    return made;
  }();
  return pages;
}

const SuperPage* find_super_page(std::string_view name) {
  std::string wanted(name);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const SuperPage& page : super_pages())
    if (page.name == wanted) return &page;
  return nullptr;
}

std::optional<std::string> table_signatures(std::string_view name) {
  for (const Row& row : rows)
    if (row.name == name) return std::string(row.signatures);
  return std::nullopt;
}

bool has_element_form([[maybe_unused]] std::string_view name) {
#define ELEMENT_FORM(form) \
  if (name == #form) return true;
#include "tables/element_forms.def"
#undef ELEMENT_FORM
  return false;
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
