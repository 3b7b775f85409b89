#include "compiler/sema/super_table.h"

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
