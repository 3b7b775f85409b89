#include "compiler/sema/super_table.h"

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

}  // namespace sial
