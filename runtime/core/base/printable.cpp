#include "runtime/core/base/printable.h"

#include <algorithm>
#include <array>

namespace sial {
namespace {

std::string shown(std::string_view text, bool line_feeds) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0 || (is_control(text, at) && text[at] != '\t' && !(text[at] == '\n' && line_feeds))) {
      const std::size_t bytes = length == 0 ? 1 : length;
      for (std::size_t i = at; i < at + bytes; ++i) {
        const auto b = static_cast<unsigned char>(text[i]);
        out += "\\x";
        out += digits[b >> 4];
        out += digits[b & 15];
      }
    } else {
      out += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return out;
}

}  // namespace

bool is_control(std::string_view text, std::size_t at) {
  constexpr std::array<std::string_view, 3> single = {"\xD8\x9C", "\xE2\x80\x8B",
                                                      "\xEF\xBB\xBF"};  // U+061C, 200B, FEFF
  const std::string_view c = text.substr(at, utf8_length(text, at));
  if (c.size() == 1) return static_cast<unsigned char>(c[0]) < 0x20 || c[0] == 0x7F;
  if (c.size() == 2 && c < "\xC2\xA0") return true;
  // U+200E and 200F, 2028 to 202E, 2060 to 206F: directions, lines, and what is not seen.
  const auto within = [&](std::string_view first, std::string_view last) {
    return c.size() == 3 && c >= first && c <= last;
  };
  return within("\xE2\x80\x8E", "\xE2\x80\x8F") || within("\xE2\x80\xA8", "\xE2\x80\xAE") ||
         within("\xE2\x81\xA0", "\xE2\x81\xAF") || std::ranges::find(single, c) != single.end();
}

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool beyond = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
  return overlong || beyond ? 0 : length;
}

std::string printable(std::string_view text) { return shown(text, true); }
std::string printable_name(std::string_view name) { return shown(name, false); }

}  // namespace sial
