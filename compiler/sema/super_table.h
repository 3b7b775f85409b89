#pragma once
// Signatures of the runtime's super instructions, read from its table at compile time: the compiler knows what the bodies
// expect without linking them.

#include <optional>
#include <string>
#include <string_view>

namespace sial {

/// Letter strings accepted for a lower-case name, blank separated ("-": no arguments); nullopt when the table has no such row.
std::optional<std::string> table_signatures(std::string_view name);

/// Whether it works on its first argument element by element, in a form that the runtime can run in one pass with others.
bool has_element_form(std::string_view name);

/// The declared letters of a super instruction with every `r` that it is known to write made a `u`: a signature that fits no row of the
/// table is only warned of, but plans must not believe it.
std::string true_letters(std::string_view name, std::string_view declared);

}  // namespace sial
