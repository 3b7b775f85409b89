// Lines and columns of every kind of line end.

#include <catch2/catch.hpp>

#include "compiler/source/buffer.h"

using namespace sial;

namespace {

std::pair<int, int> at(const SourceManager& sources, FileId f, std::uint32_t offset) {
  const LineColumn p = sources.position(f, offset);
  return {p.line, p.column};
}

}  // namespace

TEST_CASE("positions count lines that end in LF, CR LF and CR") {
  SourceManager sources;
  const FileId f = sources.add("mixed", "/mixed", "ab\ncd\r\ne\rfg");
  CHECK(at(sources, f, 0) == std::pair(1, 1));
  CHECK(at(sources, f, 2) == std::pair(1, 3));
  CHECK(at(sources, f, 3) == std::pair(2, 1));
  CHECK(at(sources, f, 6) == std::pair(2, 4));
  CHECK(at(sources, f, 7) == std::pair(3, 1));
  CHECK(at(sources, f, 9) == std::pair(4, 1));
  CHECK(at(sources, f, 11) == std::pair(4, 3));
  CHECK(sources.line_text(f, 1) == "ab");
  CHECK(sources.line_text(f, 2) == "cd");
  CHECK(sources.line_text(f, 3) == "e");
  CHECK(sources.line_text(f, 4) == "fg");
  CHECK(sources.line_text(f, 0).empty());
  CHECK(sources.line_text(f, 5).empty());
}

TEST_CASE("an empty file has one empty line") {
  SourceManager sources;
  const FileId f = sources.add("empty", "/empty", "");
  CHECK(at(sources, f, 0) == std::pair(1, 1));
  CHECK(sources.line_text(f, 1).empty());
}

TEST_CASE("several files keep their names and texts apart") {
  SourceManager sources;
  const FileId a = sources.add("a.sialx", "/x/a.sialx", "first"), b = sources.add("b.sialx", "/x/b.sialx", "second");
  CHECK(sources.file_count() == 2);
  CHECK(sources.name(a) == "a.sialx");
  CHECK(sources.canonical_path(b) == "/x/b.sialx");
  CHECK(sources.slice({b, 1, 3}) == "ec");
}

TEST_CASE("cover joins spans of one file and keeps the first of two") {
  const Span joined = cover({0, 5, 7}, {0, 1, 6});
  CHECK(joined.begin == 1);
  CHECK(joined.end == 7);
  CHECK(cover({}, {1, 2, 3}).file == 1);
  CHECK(cover({0, 5, 7}, {1, 1, 6}).begin == 5);
}
