#include "compiler/source/buffer.h"

#include <algorithm>
#include <utility>

namespace sial {

Span cover(Span a, Span b) {
  if (a.file < 0) return b;
  if (b.file < 0 || b.file != a.file) return a;
  return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

FileId SourceManager::add(std::string name, std::string canonical_path, std::string text) {
  File file{std::move(name), std::move(canonical_path), std::move(text), {0}};
  const std::string& t = file.text;
  for (std::size_t i = 0; i < t.size(); ++i) {
    const bool carriage_return_alone = t[i] == '\r' && !(i + 1 < t.size() && t[i + 1] == '\n');
    if (t[i] == '\n' || carriage_return_alone) file.line_starts.push_back(static_cast<std::uint32_t>(i + 1));
  }
  files_.push_back(std::move(file));
  return static_cast<FileId>(files_.size()) - 1;
}

LineColumn SourceManager::position(FileId f, std::uint32_t offset) const {
  const auto& starts = files_[static_cast<std::size_t>(f)].line_starts;
  const auto after = std::upper_bound(starts.begin(), starts.end(), offset);
  const auto line = static_cast<int>(after - starts.begin());
  return {line, static_cast<int>(offset - *(after - 1)) + 1};
}

std::string_view SourceManager::line_text(FileId f, int line) const {
  const File& file = files_[static_cast<std::size_t>(f)];
  const auto n = static_cast<int>(file.line_starts.size());
  if (line < 1 || line > n) return {};
  const std::size_t begin = file.line_starts[static_cast<std::size_t>(line - 1)];
  const std::size_t end = line < n ? file.line_starts[static_cast<std::size_t>(line)] : file.text.size();
  std::string_view text = std::string_view(file.text).substr(begin, end - begin);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

}  // namespace sial
