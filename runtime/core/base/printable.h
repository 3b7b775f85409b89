#pragma once
// Names and contents of files as messages show them. A terminal obeys control characters, also those of Unicode that
// turn the direction of a text, so none of a name may reach it.

#include <cstddef>
#include <string>
#include <string_view>

namespace sial {

/// Length of the UTF-8 sequence that begins at `at`, 0 when there is none: overlong forms, surrogates and cut sequences
/// are none.
std::size_t utf8_length(std::string_view text, std::size_t at);

/// Whether a control character begins at `at`: of C0, DEL, of C1, or one of Unicode that turns the direction of what
/// follows, begins a line or is not seen.
bool is_control(std::string_view text, std::size_t at);

/// `text` with control characters (except line feeds) and bytes that are no UTF-8 as \xNN. Tabs stay.
std::string printable(std::string_view text);

/// The same for a name within a line of a message: line feeds, too, are shown as \x0A.
std::string printable_name(std::string_view name);

}  // namespace sial
