// Definitions, renaming, hovers and completion, also in programs that are half typed.

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/tools/lsp/client.h"

using namespace sial;
using nlohmann::json;
using sial::test::Client;
using sial::test::labels;

namespace {

const std::string uri = "file:///nowhere/p.sialx", defs_uri = "file:///nowhere/defs.sialx";

const std::string program =
    "sial p\n"                        // 0
    "predefined int norb\n"           // 1
    "# over basis functions\n"        // 2
    "aoindex mu = 1:norb   # rows\n"  // 3
    "aoindex nu = 1:norb\n"           // 4
    "moaindex i = 1:norb\n"           // 5
    "index k = 1:4\n"                 // 6
    "temp t[mu,nu]\n"                 // 7
    "temp m[mu,i]\n"                  // 8
    "distributed d[mu,nu]\n"          // 9
    "served s[mu,nu]\n"               // 10
    "scalar x\n"                      // 11
    "special get_my_rank w\n"         // 12
    "special eigen_calc ruw\n"        // 13
    "proc clear\n"                    // 14
    "  t[mu,nu] = 0.0\n"              // 15
    "endproc clear\n"                 // 16
    "pardo mu, nu\n"                  // 17
    "  call clear\n"                  // 18
    "  get d[mu,nu]\n"                // 19
    "  t[mu,nu] = d[mu,nu]\n"         // 20
    "  \n"                            // 21
    "endpardo mu, nu\n"               // 22
    "endsial p\n";                    // 23

bool has(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// The completion behind a line typed in the place of line 21.
std::vector<std::string> complete(Client& client, const std::string& line) {
  std::string text = program;
  const std::size_t at = text.find("  \nendpardo");
  text.replace(at, 2, line);
  client.replace(uri, text);
  return labels(client.at("completion", uri, 21, static_cast<int>(line.size())));
}

}  // namespace

TEST_CASE("a definition is found from a use") {
  Client client;
  client.open(uri, program);
  const json found = client.at("definition", uri, 20, 2)["result"];
  REQUIRE(found.size() == 1);
  CHECK(found[0]["range"]["start"] == json{{"line", 7}, {"character", 5}});
  CHECK(client.at("definition", uri, 18, 9)["result"][0]["range"]["start"]["line"] == 14);
  CHECK(client.at("definition", uri, 21, 0)["result"].empty());
}

TEST_CASE("references are the uses of a name, with the declaration where it is wanted") {
  Client client;
  client.open(uri, program);
  const json with = {{"context", {{"includeDeclaration", true}}}},
             without = {{"context", {{"includeDeclaration", false}}}};
  CHECK(client.at("references", uri, 7, 5, with)["result"].size() == 3);
  CHECK(client.at("references", uri, 7, 5, without)["result"].size() == 2);
  CHECK(client.at("documentHighlight", uri, 7, 5)["result"].size() == 3);
}

TEST_CASE("a rename changes every use and refuses what cannot be a name") {
  Client client;
  client.open(uri, program);
  const auto to = [&](int line, int character, const std::string& name) {
    return client.at("rename", uri, line, character, {{"newName", name}});
  };
  CHECK(to(7, 5, "tt")["result"]["changes"][uri].size() == 3);
  CHECK(to(0, 5, "q")["result"]["changes"][uri].size() == 2);
  CHECK(to(7, 5, "T")["result"]["changes"][uri].size() == 3);  // case only
  for (const char* bad : {"do", "Pardo", "cycle", "1a", "a b", "", "x", "d", "norb", "p", "a.b"}) {
    INFO(bad);
    CHECK(to(7, 5, bad).contains("error"));
  }
  CHECK(to(1, 16, "n")["error"]["message"].get<std::string>().find("predefined") != std::string::npos);
  CHECK(to(12, 9, "rank")["error"]["message"].get<std::string>().find("super instruction") != std::string::npos);
  CHECK(client.at("prepareRename", uri, 21, 1).contains("error"));
  CHECK(client.at("prepareRename", uri, 20, 3)["result"]["placeholder"] == "t");
}

TEST_CASE("a name is followed into imports, and renamed there") {
  Client client;
  client.open(defs_uri, "sial defs\nscalar energy\nscalar other\nendsial defs\n");
  client.open(uri, "import \"defs.sialx\"\nsial p\nscalar y\ny = energy\ny = defs.energy\nendsial p\n");
  CHECK(client.at("definition", uri, 3, 5)["result"][0]["uri"] == defs_uri);
  CHECK(client.at("definition", uri, 4, 10)["result"][0]["uri"] == defs_uri);
  CHECK(client.at("definition", uri, 4, 5)["result"][0]["range"]["start"]["line"] == 0);
  CHECK(client.at("definition", uri, 0, 10)["result"][0]["uri"] == defs_uri);
  const json changes = client.at("rename", defs_uri, 1, 8, {{"newName", "e"}})["result"]["changes"];
  CHECK(changes[uri].size() == 2);
  CHECK(changes[defs_uri].size() == 1);
  CHECK(changes[uri][1]["range"]["start"]["character"] == 9);
  CHECK(client.at("rename", defs_uri, 1, 8, {{"newName", "y"}}).contains("error"));  // of the importer
  // The name of a program that sees it.
  CHECK(client.at("rename", defs_uri, 1, 8, {{"newName", "P"}}).contains("error"));
  CHECK(client.at("rename", uri, 3, 5, {{"newName", "p"}}).contains("error"));
  CHECK(client.at("rename", uri, 4, 5, {{"newName", "base"}})["result"]["changes"][uri].size() == 1);
}

TEST_CASE("a change in an open import makes the importer's diagnostics again") {
  Client client;
  client.open(defs_uri, "sial defs\nscalar energy\nendsial defs\n");
  client.open(uri, "import \"defs.sialx\"\nsial p\nscalar y\ny = energy\nprintln y\nendsial p\n");
  CHECK(client.diagnostics(uri).empty());
  client.sent.clear();
  client.replace(defs_uri, "sial defs\nscalar power\nendsial defs\n");
  client.server().publish_pending();
  REQUIRE(client.diagnostics(uri).size() == 1);
  CHECK(client.diagnostics(uri)[0]["code"] == "E-UNDECLARED");
  client.sent.clear();
  client.close(defs_uri);
  CHECK(client.diagnostics(uri)[0]["code"] == "E-IMPORT");
}

TEST_CASE("a hover shows the declaration, its comments and the page of a super instruction") {
  Client client(test::fully_capable());
  client.open(uri, program);
  const auto text = [&](int line, int character) {
    const json found = client.at("hover", uri, line, character)["result"];
    return found.is_null() ? std::string() : found["contents"]["value"].get<std::string>();
  };
  CHECK(text(17, 6).find("aoindex mu = 1:norb\n") != std::string::npos);
  CHECK(text(17, 6).find("over basis functions\nrows") != std::string::npos);
  CHECK(text(20, 2).find("temp array of 2 dimensions") != std::string::npos);
  CHECK(text(13, 10).find("eigen_calc (super instruction)") != std::string::npos);
  CHECK(text(17, 1).empty());
}

TEST_CASE("completion knows what fits") {
  Client client;
  client.open(uri, program);
  CHECK(complete(client, "  get ") == std::vector<std::string>{"d"});
  CHECK(complete(client, "  request ") == std::vector<std::string>{"s"});
  CHECK(complete(client, "  call ") == std::vector<std::string>{"clear"});
  const auto indices = complete(client, "  do ");
  CHECK(std::set<std::string>(indices.begin(), indices.end()) == std::set<std::string>{"mu", "nu", "i", "k"});
  const auto rows = complete(client, "  t[");
  CHECK(std::set<std::string>(rows.begin(), rows.end()) == std::set<std::string>{"mu", "nu"});
  CHECK(complete(client, "  m[mu,") == std::vector<std::string>{"i"});
  const auto begin = complete(client, "  ");
  CHECK(begin.front() == "endpardo mu, nu");
  CHECK(has(begin, "pardo"));
  CHECK(has(begin, "t"));
  CHECK_FALSE(has(begin, "temp"));
  const auto specials = complete(client, "  execute ");
  CHECK(has(specials, "get_my_rank"));
  CHECK(has(specials, "compute_diis"));
  CHECK(complete(client, "  x = 1.0 # ge").empty());
  CHECK(complete(client, "  endpardo ").front() == "mu, nu");
}

TEST_CASE("the arguments of execute are shown one by one") {
  Client client;
  std::string text = program;
  text.replace(text.find("  \nendpardo"), 2, "  execute eigen_calc t[mu,nu] m");
  client.open(uri, text);
  const json help = client.at("signatureHelp", uri, 21, 22)["result"];
  CHECK(help["activeParameter"] == 0);
  CHECK(help["signatures"][0]["parameters"].size() == 3);
  CHECK(client.at("signatureHelp", uri, 21, 31)["result"]["activeParameter"] == 1);
  CHECK(client.at("signatureHelp", uri, 20, 4)["result"].is_null());
}

TEST_CASE("symbols, folding and colours of a half-typed program") {
  Client client(test::fully_capable());
  std::string text = program;
  text.replace(text.find("  \nendpardo"), 2, "  do i\n  if x <");
  client.open(uri, text);
  const json symbols = client.request("textDocument/documentSymbol", {{"textDocument", {{"uri", uri}}}})["result"];
  REQUIRE(symbols.size() == 1);
  CHECK(symbols[0]["children"].size() == 13);
  CHECK_FALSE(client.request("textDocument/foldingRange", {{"textDocument", {{"uri", uri}}}})["result"].empty());
  const json tokens =
      client.request("textDocument/semanticTokens/full", {{"textDocument", {{"uri", uri}}}})["result"]["data"];
  CHECK(tokens.size() % 5 == 0);
  CHECK(tokens.size() > 5 * 80);
  CHECK(client.request("workspace/symbol", {{"query", "CLEAR"}})["result"].size() == 1);
}

TEST_CASE("positions count units of UTF-16, or bytes where the editor offers that") {
  const std::string text =
      "sial p\nscalar x\nprintln \"\xF0\x9D\x84\x9E\xE2\x82\xAC\"  # \xC3\xA4\nx = yy\nprintln x\nendsial p\n";
  Client units;
  units.open(uri, text);
  units.change(uri,
               {{{"range", {{"start", {{"line", 2}, {"character", 13}}}, {"end", {{"line", 2}, {"character", 13}}}}},
                 {"text", " + yy"}}});
  units.server().publish_pending();
  const json found = units.diagnostics(uri);
  bool seen = false;
  for (const json& d : found) seen = seen || d["range"]["start"] == json{{"line", 2}, {"character", 16}};
  CHECK(seen);
  const json capabilities = {{"general", {{"positionEncodings", {"utf-8", "utf-16"}}}}};
  Client bytes(capabilities);
  CHECK(bytes.offers["positionEncoding"] == "utf-8");
}
