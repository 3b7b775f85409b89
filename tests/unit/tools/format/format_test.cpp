// What editors use of the formatter: edits by line, and those of a range. The style itself is tested in tests/format.

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "compiler/tools/format/format.h"

using namespace sial;

namespace {

struct Result {
  explicit Result(const std::string& text) : file(sources.add("p.sialx", "p.sialx", text)) {
    formatted = format::format_source(sources, file, emitter);
  }

  SourceManager sources;
  FileId file;
  Emitter emitter;
  std::optional<format::Formatted> formatted;
};

/// Each line with its end.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    out.back() += text[i];
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))) out.emplace_back();
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

std::string apply(const std::string& text, const std::vector<format::LineEdit>& edits) {
  const std::vector<std::string> lines = lines_of(text);
  std::string out;
  int line = 1;
  for (const format::LineEdit& edit : edits) {
    CHECK(line <= edit.first);
    CHECK(edit.first <= edit.last);
    for (; line < edit.first; ++line) out += lines[static_cast<std::size_t>(line - 1)];
    out += edit.text;
    line = edit.last;
  }
  for (; line <= static_cast<int>(lines.size()); ++line) out += lines[static_cast<std::size_t>(line - 1)];
  return out;
}

const std::vector<std::string> programs = {
    "sial a\nendsial a\n",
    "sial a\nendsial a",
    "\n\n\nsial a\n\n\nscalar x\nx=1.0\n\n\n\nx =  2.0\nendsial a\n\n\n",
    "sial a\r\nscalar x\n\n\nx=1.0\r\nendsial a\r\n",
    "sial a\rscalar x\r\r\rx=1.0\rendsial a",
    "\xEF\xBB\xBFsial a\nscalar x\nproc p\nx=1.0\nendproc p\nproc q\nendproc q\nendsial a # end\n# more",
    "\xEF\xBB\xBF\n\nsial a\nendsial a\n",
    "# one\n\n\n# two\nsial a\nendsial a\n\n# three   \n",
};

}  // namespace

TEST_CASE("the edits turn the text into the result, and there are none the second time") {
  for (const std::string& text : programs) {
    const Result once(text);
    INFO(text);
    REQUIRE(once.formatted);
    CHECK(apply(text, once.formatted->edits) == once.formatted->text);
    CHECK((once.formatted->first_difference == 0) == (once.formatted->text == text));
    const Result twice(once.formatted->text);
    REQUIRE(twice.formatted);
    CHECK(twice.formatted->text == once.formatted->text);
    CHECK(twice.formatted->edits.empty());
    CHECK(format::unified_diff(once.formatted->text, *twice.formatted, "p").empty());
  }
}

TEST_CASE("edits leave lines alone that are as they should be") {
  const Result result("sial a\nscalar x\nx=1.0\nx = 2.0\nx =3.0\nx = 4.0\nendsial a\n");
  REQUIRE(result.formatted);
  const std::vector<format::LineEdit>& edits = result.formatted->edits;
  REQUIRE(edits.size() == 2);
  CHECK((edits[0].first == 3 && edits[0].last == 4 && edits[0].text == "x = 1.0\n"));
  CHECK((edits[1].first == 5 && edits[1].last == 6 && edits[1].text == "x = 3.0\n"));
  CHECK(format::edits_in(*result.formatted, 1, 2).empty());
  CHECK(format::edits_in(*result.formatted, 4, 4).empty());
  CHECK(format::edits_in(*result.formatted, 4, 9).size() == 1);
  CHECK(format::edits_in(*result.formatted, 3, 5).size() == 2);
}

TEST_CASE("a blank line that is put in belongs to the line below it") {
  const Result result("sial a\nscalar x\nproc p\nendproc p\nendsial a\n");
  REQUIRE(result.formatted);
  CHECK(format::edits_in(*result.formatted, 3, 3).size() == 1);
  CHECK(format::edits_in(*result.formatted, 1, 2).empty());
}

TEST_CASE("a range changes no line outside of it where lines go over one by one") {
  const std::string text = "sial a\nscalar x\nx=1.0\nx=2.0\nx=3.0\n\n\nx=4.0\nendsial a\n";
  const Result result(text);
  REQUIRE(result.formatted);
  const auto ranged = [&](int first, int last) {
    return ::apply(text, format::edits_in(*result.formatted, first, last));
  };
  CHECK(ranged(4, 4) == "sial a\nscalar x\nx=1.0\nx = 2.0\nx=3.0\n\n\nx=4.0\nendsial a\n");
  CHECK(ranged(1, 3) == "sial a\nscalar x\nx = 1.0\nx=2.0\nx=3.0\n\n\nx=4.0\nendsial a\n");
  CHECK(ranged(1, 99) == result.formatted->text);
}

TEST_CASE("as many lines after as before are not line by line where blank lines came and went") {
  const std::string text = "sial a\nscalar x\nproc p\nx=1.0\n\n\nx=2.0\nendproc p\nendsial a\n";
  const Result result(text);
  REQUIRE(result.formatted);
  for (int line = 1; line <= 9; ++line) {
    std::string found;
    for (const char c : ::apply(text, format::edits_in(*result.formatted, line, line)))
      if (c != '\n' && c != ' ') found += c;
    CHECK(found == "sialascalarxprocpx=1.0x=2.0endprocpendsiala");
  }
}

TEST_CASE("a file with syntax errors has no result, and its errors are reported") {
  const Result result("sial a\nscalar x\nx = = 1.0\nendsial a\n");
  CHECK(!result.formatted);
  CHECK(result.emitter.error_count() == 1);
}
