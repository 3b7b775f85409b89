// The diagnostics of the server are those of a compiler that reads the same text for the first time: after random edits
// of the programs of the repository, and for every program as it stands.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "compiler/ast/imports.h"
#include "compiler/ast/print.h"
#include "compiler/diag/render.h"
#include "compiler/sema/checked.h"
#include "tests/unit/main/source_path.h"
#include "tests/unit/tools/lsp/client.h"

using namespace sial;
using nlohmann::json;
using sial::test::Client;

namespace {

std::vector<std::string> programs(std::initializer_list<std::string_view> folders) {
  std::vector<std::string> out;
  for (const std::string_view folder : folders)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_path(folder)))
      if (entry.path().extension() == ".sialx") out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A compilation that keeps nothing, as sialc makes it.
lsp::AnalysisPtr fresh(const std::string& path, const std::string& text) {
  auto out = std::make_shared<lsp::Analysis>();
  Emitter emitter;
  const SourceTexts buffers = {{physical_path(path), text}};
  LoadOptions options;
  options.buffers = &buffers;
  if (const auto compilation = load_program(out->sources, path, options, emitter))
    check(*compilation, out->sources, emitter);
  out->diagnostics = in_source_order(emitter.all());
  return out;
}

std::size_t resident_pages() {
  std::ifstream in("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  in >> size >> resident;
  return resident;
}

class Editing {
 public:
  Editing(unsigned seed, std::vector<std::string> paths) : random_(seed), paths_(std::move(paths)) {}

  void begin_program() {
    if (!path_.empty()) client_.close(uri_);
    path_ = paths_[below(paths_.size())];
    uri_ = lsp::uri_of(path_);
    text_ = lsp::Text(read(path_));
    client_.sent.clear();
    client_.open(uri_, text_.bytes());
  }

  void edit() {
    json changes = json::array();
    for (std::size_t n = 1 + (below(8) == 0 ? below(3) : 0); n > 0; --n) changes.push_back(change());
    client_.sent.clear();
    client_.change(uri_, changes);
    client_.server().publish_pending();
  }

  /// Empty when the server agrees with a fresh compilation.
  std::string difference() const {
    const lsp::AnalysisPtr analysis = fresh(path_, text_.bytes());
    const json expected = lsp::diagnostics_json(*analysis, 0, {lsp::Encoding::utf16, false, false, {}});
    const json got = client_.diagnostics(uri_);
    if (got == expected) return {};
    return path_ + "\nexpected " + expected.dump(1) + "\ngot " + got.dump(1) + "\ntext\n" + text_.bytes();
  }

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  std::string some_line() {
    const lsp::Text other(below(2) == 0 ? text_.bytes() : read(paths_[below(paths_.size())]));
    return std::string(other.line(static_cast<int>(below(static_cast<std::size_t>(other.line_count()))))) + "\n";
  }

  std::string some_text() {
    static const std::vector<std::string> pieces = {"[",
                                                    "]",
                                                    ",",
                                                    " ",
                                                    "\n",
                                                    "\r\n",
                                                    "\r",
                                                    "\"",
                                                    "#",
                                                    "=",
                                                    "+=",
                                                    "*",
                                                    "x",
                                                    "mu",
                                                    "1.0",
                                                    "7",
                                                    "(",
                                                    ")",
                                                    ":",
                                                    "\xC3\xA4",
                                                    "\xF0\x9D\x84\x9E",
                                                    "do i\n",
                                                    "enddo i\n",
                                                    "endif\n",
                                                    "if x < 1.0\n",
                                                    "pardo mu, nu\n",
                                                    "proc a\n",
                                                    "endproc a\n",
                                                    "sip_barrier\n",
                                                    "else\n",
                                                    "scalar zz\n",
                                                    "\t",
                                                    "\xEF\xBB\xBF",
                                                    "where i < 3\n",
                                                    "section\n",
                                                    "\x7F",
                                                    "do do\n"};
    return pieces[below(pieces.size())];
  }

  json change() {
    const auto size = static_cast<std::uint32_t>(text_.bytes().size());
    std::uint32_t begin = static_cast<std::uint32_t>(below(size + 1)), end = begin;
    std::string with;
    const int line = text_.line_of(begin);
    const auto next_line = [&] { return line + 1 < text_.line_count() ? text_.line_begin(line + 1) : size; };
    switch (below(9)) {
      case 0:
      case 1: with = some_text(); break;
      case 2: end = std::min<std::uint32_t>(size, begin + 1 + static_cast<std::uint32_t>(below(4))); break;
      case 3:  // a line less
        begin = text_.line_begin(line);
        end = next_line();
        break;
      case 4:  // the line twice
        begin = end = text_.line_begin(line);
        with = std::string(text_.line(line)) + "\n";
        break;
      case 5:
        begin = end = text_.line_begin(line);
        with = some_line();
        break;
      case 6:
        end = std::min<std::uint32_t>(size, begin + static_cast<std::uint32_t>(below(200)));
        with = below(2) == 0 ? text_.bytes().substr(begin, end - begin) : some_text();
        break;
      case 7:  // typed letter by letter elsewhere: one letter
        with = std::string(1, static_cast<char>('a' + below(26)));
        break;
      default:  // back to the program that it was
        if (below(3) != 0) {
          with = " ";
          break;
        }
        text_ = lsp::Text(read(path_));
        return {{"text", text_.bytes()}};
    }
    const lsp::Position a = text_.position(begin, lsp::Encoding::utf16), b = text_.position(end, lsp::Encoding::utf16);
    // As the server understands them: never the middle of a character.
    begin = text_.offset(a, lsp::Encoding::utf16);
    end = text_.offset(b, lsp::Encoding::utf16);
    text_.replace(begin, end, with);
    return {{"range",
             {{"start", {{"line", a.line}, {"character", a.character}}},
              {"end", {{"line", b.line}, {"character", b.character}}}}},
            {"text", with}};
  }

  std::mt19937 random_;
  std::vector<std::string> paths_;
  Client client_;
  std::string path_, uri_;
  lsp::Text text_;
};

}  // namespace

TEST_CASE("a program put together from lines that are known is the program that the grammar finds") {
  LineTrees known;
  int good = 0;
  for (const std::string& path : programs({"examples", "tests"})) {
    INFO(path);
    std::string trees[3], messages[3];
    for (int round = 0; round < 3; ++round) {  // fresh, lines new to it, lines known
      SourceManager sources;
      Emitter emitter;
      LoadOptions options;
      if (round > 0) options.known = &known;
      const auto compilation = load_program(sources, path, options, emitter);
      if (compilation) trees[round] = ast_to_json(*compilation, sources);
      for (const Diagnostic& d : emitter.all()) messages[round] += render_json(d, sources);
    }
    good += trees[0].empty() ? 0 : 1;
    REQUIRE(trees[1] == trees[0]);
    REQUIRE(trees[2] == trees[0]);
    REQUIRE(messages[1] == messages[0]);
    REQUIRE(messages[2] == messages[0]);
  }
  CHECK(good > 100);
}

TEST_CASE("after every one of many random edits the diagnostics are those of a fresh compilation") {
  // The number of edits: 5,000 for a thorough run.
  const char* wanted = std::getenv("SIALX_LSP_EDITS");
  const int edits = wanted ? std::atoi(wanted) : 2000;
  Editing editing(20261128, programs({"examples", "tests/lang"}));
  std::size_t after_some = 0;
  for (int n = 0; n < edits; ++n) {
    if (n % 25 == 0) editing.begin_program();
    editing.edit();
    const std::string difference = editing.difference();
    if (!difference.empty()) FAIL("after edit " << n << "\n" << difference);
    if (n == 500) after_some = resident_pages();
  }
  if (edits >= 5000) WARN("pages of memory after 500 edits " << after_some << ", after all " << resident_pages());
}
