#include "runtime/core/base/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace sial {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Length of the decimal number at the front of `text`, 0 where there is none.
std::size_t number_length(std::string_view text) {
  std::size_t at = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  std::size_t digits = 0;
  for (bool point = false; at < text.size(); ++at) {
    if (is_digit(text[at])) ++digits;
    else if (text[at] == '.' && !point) point = true;
    else break;
  }
  if (digits == 0) return 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t end = at + 1;
    if (end < text.size() && (text[end] == '+' || text[end] == '-')) ++end;
    const std::size_t first = end;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end > first) return end;
  }
  return at;
}

/// Takes a text whose form number_length() has checked. Numbers below the smallest one become 0, those beyond the
/// largest one are none.
std::optional<double> value_of(std::string_view number) {
  if (number.front() == '+') number.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc::result_out_of_range) {
    value = std::strtod(std::string(number).c_str(), nullptr);
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }
  return error == std::errc() && end == number.data() + number.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<double> read_real(std::string_view token) {
  std::string with_e;
  const std::size_t star = token.find("*^");
  if (const std::size_t d = std::min(star, token.find_first_of("dD")); d != std::string_view::npos) {
    with_e = token;
    with_e.replace(d, d == star ? 2 : 1, "e");
    token = with_e;
  }
  const std::size_t length = number_length(token);
  return length > 0 && length == token.size() ? value_of(token) : std::nullopt;
}

std::optional<std::int64_t> read_integer(std::string_view token) {
  if (token.size() > 1 && token[0] == '+' && is_digit(token[1])) token.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  return error == std::errc() && end == token.data() + token.size() ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> read_integer(std::string_view token, std::int64_t min, std::int64_t max) {
  const std::optional<std::int64_t> value = read_integer(token);
  return value && *value >= min && *value <= max ? value : std::nullopt;
}

std::optional<std::uint64_t> read_hexadecimal(std::string_view token) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value, 16);
  return error == std::errc() && end == token.data() + token.size() ? std::optional(value) : std::nullopt;
}

std::optional<double> take_real(std::string_view& text) {
  const std::size_t length = number_length(text);
  if (length == 0) return std::nullopt;
  const std::optional<double> value = value_of(text.substr(0, length));
  if (value) text.remove_prefix(length);
  return value;
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view blanks = " \t\r\n\v\f";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(blanks); at != std::string_view::npos;
       at = line.find_first_not_of(blanks, at)) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace sial
