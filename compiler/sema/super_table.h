#pragma once
// Signatures of the runtime's super instructions, read from its table at compile time: the compiler knows what the bodies
// expect without linking them.

#include <optional>
#include <string>
#include <string_view>

namespace sial {

/// Letter strings accepted for a lower-case name, blank separated ("-": no arguments); nullopt when the table has no such row.
std::optional<std::string> table_signatures(std::string_view name);

}  // namespace sial
