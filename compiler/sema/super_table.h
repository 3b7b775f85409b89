#pragma once
// Signatures of the runtime's super instructions, read from its table at compile time: the compiler knows what the
// bodies expect without linking them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/base/argument_rules.h"

namespace sial {

/// All that the table says of one super instruction.
struct SuperPage {
  std::string_view name, signatures, meaning;
  std::vector<ArgumentRule> arguments;
  std::string_view formula, source;
};

/// In the order of the table.
const std::vector<SuperPage>& super_pages();
/// By name, any case; nullptr when the table has no such row.
const SuperPage* find_super_page(std::string_view name);
/// Text of `sialc --explain NAME`, and of `--list-instructions`.
std::string explain_super(const SuperPage& page);
std::string list_super_instructions();
/// Names that resemble `name`, or that it is a part of, best first.
std::vector<std::string> similar_super_instructions(std::string_view name);

/// Letter strings accepted for a lower-case name, blank separated ("-": no arguments); nullopt when the table has no
/// such row.
std::optional<std::string> table_signatures(std::string_view name);

/// Whether it works on its first argument element by element, in a form that the runtime can run in one pass with
/// others.
bool has_element_form(std::string_view name);

/// The declared letters of a super instruction with every `r` that it is known to write made a `u`: a signature that
/// fits no row of the table is only warned of, but plans must not believe it.
std::string true_letters(std::string_view name, std::string_view declared);

}  // namespace sial
