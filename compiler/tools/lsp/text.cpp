#include "compiler/tools/lsp/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace sial::lsp {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Units of a character that begins with this byte.
int units(char first, Encoding encoding) {
  return encoding == Encoding::utf16 && static_cast<unsigned char>(first) >= 0xF0 ? 2 : 1;
}

}  // namespace

int characters(std::string_view bytes, Encoding encoding) {
  if (encoding == Encoding::utf8) return static_cast<int>(bytes.size());
  int out = 0;
  for (const char c : bytes)
    if (!continues(c)) out += units(c, encoding);
  return out;
}

Text::Text(std::string bytes) : bytes_(std::move(bytes)) { find_lines(); }

void Text::find_lines() {
  starts_.assign(1, 0);
  for (std::size_t i = bytes_.find_first_of("\r\n"); i != std::string::npos; i = bytes_.find_first_of("\r\n", i + 1)) {
    if (bytes_[i] == '\r' && i + 1 < bytes_.size() && bytes_[i + 1] == '\n') ++i;
    starts_.push_back(static_cast<std::uint32_t>(i + 1));
  }
}

int Text::line_of(std::uint32_t offset) const {
  return static_cast<int>(std::upper_bound(starts_.begin(), starts_.end(), offset) - starts_.begin()) - 1;
}

std::string_view Text::line(int number) const {
  if (number < 0 || number >= line_count()) return {};
  const std::size_t begin = line_begin(number);
  const std::size_t end = number + 1 < line_count() ? line_begin(number + 1) : bytes_.size();
  std::string_view out = std::string_view(bytes_).substr(begin, end - begin);
  while (!out.empty() && (out.back() == '\n' || out.back() == '\r')) out.remove_suffix(1);
  return out;
}

Position Text::position(std::uint32_t offset, Encoding encoding) const {
  const auto at = std::min(static_cast<std::size_t>(offset), bytes_.size());
  const int number = line_of(static_cast<std::uint32_t>(at));
  const std::size_t begin = line_begin(number);
  return {number, characters(std::string_view(bytes_).substr(begin, at - begin), encoding)};
}

std::uint32_t Text::offset(Position position, Encoding encoding) const {
  if (position.line < 0) return 0;
  if (position.line >= line_count()) return static_cast<std::uint32_t>(bytes_.size());
  const std::string_view text = line(position.line);
  std::size_t i = 0;
  if (encoding == Encoding::utf8) {
    i = std::min(static_cast<std::size_t>(std::max(position.character, 0)), text.size());
    while (i > 0 && i < text.size() && continues(text[i])) --i;
  } else {
    for (int left = position.character; left > 0 && i < text.size();) {
      left -= units(text[i], encoding);
      if (left < 0) break;  // the middle of a pair
      for (++i; i < text.size() && continues(text[i]);) ++i;
    }
  }
  return line_begin(position.line) + static_cast<std::uint32_t>(i);
}

void Text::replace(std::uint32_t begin, std::uint32_t end, std::string_view with) {
  begin = std::min(begin, static_cast<std::uint32_t>(bytes_.size()));
  end = std::clamp(end, begin, static_cast<std::uint32_t>(bytes_.size()));
  bytes_.replace(begin, end - begin, with);
  find_lines();
}

std::string path_of(std::string_view uri) {
  constexpr std::string_view scheme = "file://";
  if (!uri.starts_with(scheme)) return std::string(uri);
  std::string_view rest = uri.substr(scheme.size());
  rest.remove_prefix(std::min(rest.find('/'), rest.size()));  // the host
  std::string out;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    unsigned value = 0;
    if (rest[i] == '%' && i + 2 < rest.size()) {
      const auto read = std::from_chars(rest.data() + i + 1, rest.data() + i + 3, value, 16);
      if (read.ec == std::errc() && read.ptr == rest.data() + i + 3) {
        out += static_cast<char>(value);
        i += 2;
        continue;
      }
    }
    out += rest[i];
  }
  return out;
}

std::string uri_of(std::string_view path) {
  if (!path.starts_with('/')) return std::string(path);
  std::string out = "file://";
  for (const char c : path) {
    if (std::isalnum(static_cast<unsigned char>(c)) || std::string_view("/-._~").find(c) != std::string_view::npos)
      out += c;
    else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace sial::lsp
