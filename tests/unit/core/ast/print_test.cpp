// The printed forms of the tree: the text parses again to itself, the JSON has the documented fields.

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "compiler/ast/print.h"
#include "tests/unit/core/ast/parsed.h"

using namespace sial;
using namespace sial::test;

namespace {

const char* const body =
    "proc q\n  x = -(x + y)*sqrt x\nendproc q\n"
    "do i\nwhere i <= j\n  do ii in i\n    exit\n  enddo ii in i\nenddo i\npardo i, j \"Frag{i}{a}\"\n  get g[i,j]\n  request h[i,j]\n"
    "  put g[i,j] += a[i,j]*lo[j,i]\n  prepare h[i,j] = 2.0\nendpardo i, j\nsection\nendsection\ngpu_on\n  gpu_free a[i,j]\ngpu_off\n"
    "if x != y\n  call q\nelse\n  return\nendif\nallocate lo[i,*]\ndeallocate lo\nallocate contiguous cl[1:2,i:i+1]\ncollective x += y\n"
    "broadcast_from (n+1) s\nset_persistent x \"label\"\nexecute f1 a[i,j] x 3.0 2 cl[1:2,i:i]\ncreate g\ndestroy h\nsip_barrier\nassert_same x\n"
    "a[i,j] = a[(index)i,j]\ncl[1:2,1:2] = 42.0\nx = (scalar)n ** -2.0\nn -= 1\nprintln \"# text\"\nprint x\nstop\n";

ast::Compilation compilation_of(Parsed& parsed) {
  ast::Compilation out;
  out.modules.push_back(std::move(parsed.module));
  return out;
}

/// The text form without places and the module line, with ends added: a program again.
std::string without_places(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (line.rfind("module", 0) != 0)
      out += line.substr(std::min<std::size_t>(line.size(), line.find(' ') + 1)).substr(0) + "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace

TEST_CASE("the text form shows every statement") {
  Parsed parsed(program(body));
  INFO(parsed.text());
  REQUIRE(parsed.module);
  const ast::Compilation c = compilation_of(parsed);
  const std::string text = without_places(print_ast(c, parsed.sources));
  for (const char* line : {"predefined int norb",
                           "aoindex i = 1:norb",
                           "subindex ii of i",
                           "contiguous local cl[i,j]",
                           "special f1 r",
                           "proc q",
                           "x = -(x + y) * sqrt x",
                           "do i",
                           "where i <= j",
                           "do ii in i",
                           "pardo i, j \"Frag{i}{a}\"",
                           "request h[i,j]",
                           "put g[i,j] += a[i,j] * lo[j,i]",
                           "prepare h[i,j] = 2.0",
                           "section",
                           "gpu_on",
                           "gpu_free a[i,j]",
                           "if x != y",
                           "else",
                           "call q",
                           "return",
                           "allocate lo[i,*]",
                           "deallocate lo",
                           "allocate contiguous cl[1:2,i:i + 1]",
                           "collective x += y",
                           "broadcast_from (n + 1) s",
                           "set_persistent x \"label\"",
                           "execute f1 a[i,j] x 3.0 2 cl[1:2,i:i]",
                           "create g",
                           "destroy h",
                           "sip_barrier",
                           "assert_same x",
                           "a[i,j] = a[(index)i,j]",
                           "cl[1:2,1:2] = 42.0",
                           "x = (scalar)n ** -2.0",
                           "n -= 1",
                           "println \"# text\"",
                           "print x",
                           "stop",
                           "exit"})
    CHECK(text.find(std::string(" ") + line + "\n") != std::string::npos);
}

TEST_CASE("the JSON form has the documented fields") {
  Parsed parsed(program(body));
  REQUIRE(parsed.module);
  const ast::Compilation c = compilation_of(parsed);
  const auto j = nlohmann::json::parse(ast_to_json(c, parsed.sources));
  const auto& m = j["modules"][0];
  CHECK(m["name"] == "p");
  CHECK(m["file"] == "p.sialx");
  CHECK(m["declarations"][1]["kind"] == "IndexDecl");
  CHECK(m["declarations"][1]["hi"] == "norb");
  CHECK(m["declarations"][1]["lo"] == 1);
  CHECK(m["declarations"][7]["contiguous"] == true);
  CHECK(m["declarations"][7]["dims"] == nlohmann::json({"i", "j"}));
  CHECK(m["declarations"][14]["kind"] == "ProcDecl");
  const auto& s = m["statements"];
  CHECK(s[0]["kind"] == "DoLoop");
  CHECK(s[0]["line"] == body_line + 3);
  CHECK(s[0]["column"] == 1);
  CHECK(s[0]["wheres"][0]["op"] == "<=");
  CHECK(s[0]["body"][0]["kind"] == "SubLoop");
  CHECK(s[0]["body"][0]["body"][0]["kind"] == "Exit");
  CHECK(s[1]["pragma"] == "Frag{i}{a}");
  const auto& put = s[1]["body"][2];
  CHECK(put["kind"] == "Put");
  CHECK(put["op"] == "+=");
  CHECK(put["value"]["kind"] == "Binary");
  CHECK(put["value"]["right"]["kind"] == "Block");
  CHECK(put["value"]["right"]["indices"][0]["name"] == "j");
  CHECK(s[4]["has_else"] == true);
  CHECK(s[5]["selector"] == nlohmann::json({"i", "*"}));
  CHECK(s[6]["selector"].is_null());
  CHECK(s[7]["region"]["ranges"][1]["hi"]["op"] == "+");
  const auto& args = s[11]["args"];
  const char* kinds[] = {"Block", "Name", "RealLit", "IntLit", "Region"};
  for (std::size_t i = 0; i < 5; ++i) CHECK(args[i]["kind"] == kinds[i]);
  for (const auto& statement : s)
    CHECK((statement.contains("kind") && statement.contains("line") && statement.contains("column")));
}

TEST_CASE("tokens are listed with their places") {
  SourceManager sources;
  const FileId f = sources.add("t", "/t", "x = 1.5 # c\n\"s\"");
  CHECK(print_tokens(sources, f) == "1:1\tIDENT\tx\n1:3\tASSIGN\t=\n1:5\tDOUBLE\t1.5\n1:12\tNL\n2:1\tSTRING\t\"s\"\n");
}
