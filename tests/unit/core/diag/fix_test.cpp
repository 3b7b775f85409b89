#include "compiler/diag/fix.h"

#include <catch2/catch.hpp>

#include <string>

using namespace sial;

namespace {

std::string fixed(const std::string& text, const Fix& fix) {
  SourceManager sources;
  const FileId file = sources.add("p.sialx", "/p.sialx", text);
  return apply_edits(sources.text(file), file, text_edits(fix, sources));
}

Span at(const std::string& text, const std::string& part) {
  const auto begin = static_cast<std::uint32_t>(text.find(part));
  return {0, begin, begin + static_cast<std::uint32_t>(part.size())};
}

}  // namespace

TEST_CASE("text is replaced, inserted and removed") {
  const std::string text = "x = 2\n";
  CHECK(fixed(text, replace(at(text, "2"), "2.0")) == "x = 2.0\n");
  CHECK(fixed(text, replace("insert", {0, 5, 5}, ".0")) == "x = 2.0\n");
  CHECK(fixed(text, remove("remove", at(text, " = 2"))) == "x\n");
  CHECK(replace(at(text, "2"), "2.0").title == "write `2.0`");
}

TEST_CASE("new lines have the indentation and the line ends of the file") {
  const std::string unix_text = "do i\n  x = a[i]\nenddo i";
  CHECK(fixed(unix_text, insert_above(at(unix_text, "a[i]"), "get a[i]")) == "do i\n  get a[i]\n  x = a[i]\nenddo i");
  CHECK(fixed(unix_text, insert_below(at(unix_text, "x ="), "y = 1")) == "do i\n  x = a[i]\n  y = 1\nenddo i");
  CHECK(fixed(unix_text, insert_below(at(unix_text, "enddo i"), "z")) == "do i\n  x = a[i]\nenddo i\nz");
  const std::string other = "do i\r\n\tx = a[i]\r\nenddo i\r\n";
  CHECK(fixed(other, insert_above(at(other, "x"), "get a[i]")) == "do i\r\n\tget a[i]\r\n\tx = a[i]\r\nenddo i\r\n");
  CHECK(fixed(other, insert_below(at(other, "enddo i"), "y")) == "do i\r\n\tx = a[i]\r\nenddo i\r\ny\r\n");
}

TEST_CASE("lines are removed with their ends, and begun with the blanks before them gone") {
  const std::string text = "a\r\n  b  # why\r\nc  d";
  CHECK(fixed(text, remove_lines("remove", {at(text, "b")})) == "a\r\nc  d");
  CHECK(fixed(text, Fix{"break", {{Edit::What::break_line, {0, 18, 18}, ""}}}) == "a\r\n  b  # why\r\nc\r\nd");
}

TEST_CASE("fixes that touch are kept apart") {
  const std::string text = "a\nb\nc\n";
  SourceManager sources;
  sources.add("p.sialx", "/p.sialx", text);
  const auto edits = [&](const Fix& fix) { return text_edits(fix, sources); };
  CHECK(overlap(edits(remove_lines("", {at(text, "a")})), edits(insert_above(at(text, "b"), "x"))));
  CHECK(overlap(edits(insert_above(at(text, "b"), "x")), edits(insert_above(at(text, "b"), "y"))));
  CHECK(!overlap(edits(replace(at(text, "a"), "x")), edits(replace(at(text, "c"), "x"))));
}
