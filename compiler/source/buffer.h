#pragma once
// Source text. A SourceManager owns every file of a compilation; a Span names a range of bytes in one of them. Lines
// and columns are computed on demand (column = 1 + bytes from the line start, tabs count one).

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace sial {

using FileId = std::int32_t;

struct Span {
  FileId file = -1;
  std::uint32_t begin = 0, end = 0;  // byte offsets, end exclusive
};

/// Smallest span covering both (same file).
Span cover(Span a, Span b);

struct LineColumn {
  int line = 1, column = 1;
};

class SourceManager {
 public:
  /// Adds a file's text under the name used in messages; `canonical_path` identifies the physical file.
  FileId add(std::string name, std::string canonical_path, std::string text);
  const std::string& name(FileId f) const { return files_[f].name; }
  const std::string& canonical_path(FileId f) const { return files_[f].canonical_path; }
  std::string_view text(FileId f) const { return files_[f].text; }
  int file_count() const { return static_cast<int>(files_.size()); }
  LineColumn position(FileId f, std::uint32_t offset) const;
  std::string_view line_text(FileId f, int line) const;  // without the line end (LF, CR or CRLF)
  std::string_view slice(Span s) const { return text(s.file).substr(s.begin, s.end - s.begin); }

 private:
  struct File {
    std::string name, canonical_path, text;
    std::vector<std::uint32_t> line_starts;
  };
  std::deque<File> files_;
};

}  // namespace sial
