// What a diagnostic looks like: carets below tabs, UTF-8 and long lines; JSON that any reader can parse.

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "compiler/diag/render.h"

using namespace sial;

namespace {

std::string text_of(const std::string& source, std::uint32_t begin, std::uint32_t end) {
  SourceManager sources;
  const FileId f = sources.add("p.sialx", "/p.sialx", source);
  return render_text({Code::E_TYPE, Severity::error, {f, begin, end}, "wrong", "do better", {}}, sources);
}

}  // namespace

TEST_CASE("the caret stands below the span") {
  CHECK(text_of("a = b\nx = 2*y\n", 10, 13) ==
        "p.sialx:2:5: error: wrong [E-TYPE]\n"
        "    x = 2*y\n"
        "        ^~~\n"
        "    hint: do better\n");
}

TEST_CASE("tabs are expanded and UTF-8 letters are one column wide") {
  CHECK(text_of("\tx = \"\u00e9\u00e9\"\ty", 12, 13) ==
        "p.sialx:1:13: error: wrong [E-TYPE]\n"
        "        x = \"\u00e9\u00e9\"    y\n"
        "                    ^\n"
        "    hint: do better\n");
}

TEST_CASE("bytes that cannot be shown are shown as numbers") {
  const std::string text = text_of("x\xe9y\x01z", 4, 5);
  CHECK(text.find("    x\\xE9y\\x01z\n              ^\n") != std::string::npos);
}

TEST_CASE("spans end at the end of the line and are never empty") {
  CHECK(text_of("abc\ndef\n", 1, 7).find("    abc\n     ^~\n") != std::string::npos);
  CHECK(text_of("abc\n", 3, 3).find("    abc\n       ^\n") != std::string::npos);
  CHECK(text_of("\n", 0, 0) == "p.sialx:1:1: error: wrong [E-TYPE]\n    hint: do better\n");
}

TEST_CASE("long lines are shown around the caret") {
  const std::string text = text_of(std::string(500, 'a') + "B" + std::string(500, 'c'), 500, 501);
  const std::size_t line = text.find('\n') + 1, caret_line = text.find('\n', line) + 1;
  CHECK(caret_line - line < 200);
  CHECK(text[line + text.find('^') - caret_line] == 'B');
}

TEST_CASE("notes come with their own places, or without any") {
  SourceManager sources;
  const FileId f = sources.add("p.sialx", "/p.sialx", "int n\nint n\n");
  const Diagnostic d{
      Code::E_DUP, Severity::error, {f, 10, 11}, "`n` twice", "", {{{f, 4, 5}, "first here"}, {{}, "no place"}}};
  CHECK(render_text(d, sources) ==
        "p.sialx:2:5: error: `n` twice [E-DUP]\n"
        "    int n\n"
        "        ^\n"
        "p.sialx:1:5: note: first here\n"
        "    int n\n"
        "        ^\n"
        "    note: no place\n");
}

TEST_CASE("a diagnostic without a place names the program") {
  const SourceManager sources;
  CHECK(render_text({Code::E_FILE, Severity::error, {}, "cannot read", "", {}}, sources) ==
        "sialc: error: cannot read [E-FILE]\n");
}

TEST_CASE("JSON has one object per line with ends exclusive") {
  SourceManager sources;
  const FileId f = sources.add("p.sialx", "/p.sialx", "x = \"\xff\"\ny = 1\n");
  const std::string line = render_json(
      {Code::W_UNUSED_SCALAR, Severity::warning, {f, 8, 9}, "say \"no\"", "h", {{{f, 0, 1}, "n"}}}, sources);
  CHECK(std::count(line.begin(), line.end(), '\n') == 1);
  const auto j = nlohmann::json::parse(line);
  CHECK(j["code"] == "W-UNUSED-SCALAR");
  CHECK(j["severity"] == "warning");
  CHECK(j["message"] == "say \"no\"");
  CHECK(j["hint"] == "h");
  CHECK(j["file"] == "p.sialx");
  CHECK(j["line"] == 2);
  CHECK(j["column"] == 1);
  CHECK(j["endLine"] == 2);
  CHECK(j["endColumn"] == 2);
  CHECK(j["notes"][0]["line"] == 1);
  const auto nowhere =
      nlohmann::json::parse(render_json({Code::E_FILE, Severity::error, {}, "m\xff", "", {}}, sources));
  CHECK(!nowhere.contains("line"));
}

TEST_CASE("diagnostics are shown in the order of their places, repetitions once") {
  const auto at = [](std::uint32_t begin, const char* message) {
    return Diagnostic{Code::E_TYPE, Severity::error, {0, begin, begin + 1}, message, "", {}};
  };
  const auto ordered = in_source_order({at(9, "c"), at(2, "b"), at(9, "c"), at(2, "b2"), at(0, "a")});
  REQUIRE(ordered.size() == 4);
  CHECK(ordered[0].message == "a");
  CHECK(ordered[1].message == "b");
  CHECK(ordered[2].message == "b2");
  CHECK(ordered[3].message == "c");
}

TEST_CASE("counts are words") {
  CHECK(count_text(0, 0).empty());
  CHECK(count_text(1, 0) == "1 error");
  CHECK(count_text(2, 1) == "2 errors and 1 warning");
  CHECK(count_text(0, 3) == "3 warnings");
}

TEST_CASE("of a warning that is repeated the first fifty are shown") {
  SourceManager sources;
  const FileId f = sources.add("p.sialx", "/p.sialx", std::string(200, 'x'));
  std::vector<Diagnostic> all;
  for (std::uint32_t i = 0; i < 53; ++i)
    all.push_back({Code::W_ASSIGN_PREDEF, Severity::warning, {f, i, i + 1}, "again", {}, {}});
  for (std::uint32_t i = 0; i < 60; ++i) all.push_back({Code::E_TYPE, Severity::error, {f, i, i + 1}, "wrong", {}, {}});
  const std::string text = render_list(all, sources);
  const auto count = [&text](std::string_view part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
  CHECK(count("warning: again") == 50);
  CHECK(count("error: wrong") == 60);
  CHECK(text.ends_with(
      "sialc: note: and 3 more of [W-ASSIGN-PREDEF]\n    hint: `sialc -Wno-assign-predef` shows none of them, `sialc --error-format=json` all\n"));
  all.resize(50);
  CHECK(render_list(all, sources).find("more of") == std::string::npos);
}
