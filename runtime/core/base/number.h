#pragma once
// Numbers in texts that people write: files, options, environment variables. A token is a number as a whole or not at
// all: `1,74` and `0.7.4` are none, and neither are `nan`, `inf` and hexadecimal digits. The reader of every input uses
// these functions.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace sial {

/// A finite real number: digits with an optional sign, point and exponent; Fortran's D exponents and Mathematica's *^
/// count as E.
std::optional<double> read_real(std::string_view token);

/// A whole number in decimal digits, with an optional sign.
std::optional<std::int64_t> read_integer(std::string_view token);

/// The same within bounds that belong to it.
std::optional<std::int64_t> read_integer(std::string_view token, std::int64_t min, std::int64_t max);

/// Hexadecimal digits without sign or prefix.
std::optional<std::uint64_t> read_hexadecimal(std::string_view token);

/// The real number at the front of `text`, which loses it: what follows is a unit. No D exponents: `5d` is five days.
std::optional<double> take_real(std::string_view& text);

/// Some editors put it before the first character of a file in UTF-8.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// The parts of a line between blanks, tabs and carriage returns.
std::vector<std::string_view> words_of(std::string_view line);

}  // namespace sial
