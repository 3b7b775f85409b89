#pragma once
// The text of a file as editors address it: by lines and characters, which count bytes or units of UTF-16 as agreed
// with the editor. Lines end with LF, CR or CRLF, as for the compiler. Places beyond a line or the text mean its end.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sial::lsp {

enum class Encoding { utf8, utf16, utf32 };

struct Position {
  int line = 0, character = 0;  // from 0
};

/// The number of characters in the bytes of a part of a line.
int characters(std::string_view bytes, Encoding encoding);

class Text {
 public:
  explicit Text(std::string bytes = {});

  const std::string& bytes() const { return bytes_; }
  int line_count() const { return static_cast<int>(starts_.size()); }
  int line_of(std::uint32_t offset) const;
  std::uint32_t line_begin(int line) const { return starts_[static_cast<std::size_t>(line)]; }
  std::string_view line(int number) const;  // without its end
  Position position(std::uint32_t offset, Encoding encoding) const;
  std::uint32_t offset(Position position, Encoding encoding) const;
  /// Puts other bytes in the place of [begin, end).
  void replace(std::uint32_t begin, std::uint32_t end, std::string_view with);

 private:
  void find_lines();

  std::string bytes_;
  std::vector<std::uint32_t> starts_;
};

/// Path of a `file:` URI; other URIs as they are.
std::string path_of(std::string_view uri);
std::string uri_of(std::string_view path);

std::string lower_case(std::string_view text);

}  // namespace sial::lsp
