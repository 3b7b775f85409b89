// The life of a server and messages that are wrong.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>

#include "compiler/tools/lsp/stdio.h"
#include "tests/unit/tools/lsp/client.h"

using namespace sial;
using nlohmann::json;

namespace {

/// What the server answers to bytes on its input, and its exit code.
std::pair<std::vector<json>, int> serve_bytes(const std::string& input) {
  int to[2] = {}, from[2] = {};
  REQUIRE(pipe(to) == 0);
  REQUIRE(pipe(from) == 0);
  std::thread writer([&] {
    for (std::size_t done = 0; done < input.size();) {
      const ssize_t n = write(to[1], input.data() + done, std::min<std::size_t>(input.size() - done, 777));
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    ::close(to[1]);
  });
  std::string output;
  std::thread reader([&] {
    char bytes[4096];
    for (ssize_t n = 0; (n = read(from[0], bytes, sizeof bytes)) > 0;)
      output.append(bytes, static_cast<std::size_t>(n));
  });
  const int code = lsp::serve(to[0], from[1], {}, {});
  ::close(from[1]);
  writer.join();
  reader.join();
  ::close(to[0]);
  ::close(from[0]);
  std::vector<json> messages;
  lsp::MessageParser parser;
  parser.feed(output);
  while (const auto body = parser.next()) messages.push_back(json::parse(body->text));
  return {messages, code};
}

json call(int id, const std::string& method, json params = json::object()) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
}
json note(const std::string& method, json params = json::object()) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}
const json start = call(1, "initialize", {{"capabilities", json::object()}});

int code_of(const json& answer) { return answer.at("error").at("code").get<int>(); }

}  // namespace

TEST_CASE("a session ends with shutdown and exit, or with the input") {
  auto [answers, code] = serve_bytes(lsp::framed(start) + lsp::framed(call(2, "shutdown")) + lsp::framed(note("exit")));
  REQUIRE(answers.size() == 2);
  CHECK(answers[1]["result"].is_null());
  CHECK(code == 0);
  CHECK(serve_bytes(lsp::framed(start) + lsp::framed(note("exit"))).second == 1);
  CHECK(serve_bytes("").second == 1);
  CHECK(serve_bytes("Content-Length: 10\r\n\r\n{}").second == 1);
}

TEST_CASE("wrong messages are answered with the error that says so") {
  using lsp::framed;
  CHECK(code_of(serve_bytes(framed(call(1, "textDocument/hover"))).first.at(0)) == lsp::error_code::not_initialized);
  CHECK(code_of(serve_bytes("Content-Length: 5\r\n\r\n{\"a\":").first.at(0)) == lsp::error_code::parse);
  CHECK(code_of(serve_bytes("Content-Length: x\r\n\r\n" + framed(start)).first.at(0)) == lsp::error_code::parse);
  CHECK(code_of(serve_bytes(framed(json::array({1}))).first.at(0)) == lsp::error_code::invalid_request);
  CHECK(code_of(serve_bytes(framed({{"id", 3}, {"method", "initialize"}})).first.at(0)) ==
        lsp::error_code::invalid_request);
  const auto [answers, code] =
      serve_bytes(framed(start) + framed(call(2, "textDocument/fly")) + framed(call(3, "textDocument/hover")) +
                  framed(call(4, "textDocument/hover", {{"textDocument", {{"uri", 7}}}})) +
                  framed(call(5, "textDocument/hover", 5)) + framed(note("textDocument/fly")) +
                  framed(note("$/setTrace")) + framed(note("textDocument/didChange", {{"textDocument", "x"}})) +
                  framed(call(6, "shutdown")) + framed(call(7, "textDocument/hover")));
  CHECK(code_of(answers.at(1)) == lsp::error_code::unknown_method);
  CHECK(code_of(answers.at(2)) == lsp::error_code::invalid_params);
  CHECK(code_of(answers.at(3)) == lsp::error_code::invalid_params);
  CHECK(code_of(answers.at(4)) == lsp::error_code::invalid_params);
  CHECK(answers.at(5)["method"] == "window/logMessage");
  CHECK(code_of(answers.at(7)) == lsp::error_code::invalid_request);
  CHECK(code == 0);
}

TEST_CASE("nesting without end is refused before it is parsed") {
  const auto nested = [](std::size_t levels, const std::string& open, const std::string& close) {
    std::string body = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"textDocument/hover\",\"params\":";
    for (std::size_t i = 0; i < levels; ++i) body += open;
    body += "1";
    for (std::size_t i = 0; i < levels; ++i) body += close;
    body += "}";
    return "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  };
  const std::string end = lsp::framed(call(3, "shutdown")) + lsp::framed(note("exit"));
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
    const auto [answers, code] = serve_bytes(lsp::framed(start) + nested(300000, open, close) + end);
    CHECK(code == 0);
    CHECK(std::count_if(answers.begin(), answers.end(), [](const json& answer) {
            return answer.contains("error") && code_of(answer) == lsp::error_code::parse;
          }) == 1);
    CHECK(code_of(serve_bytes(lsp::framed(start) + nested(900, open, close)).first.at(1)) ==
          lsp::error_code::invalid_params);
  }
  // Brackets in strings are no nesting.
  const std::string text = "\\\"" + std::string(5000, '[');
  const auto answers = serve_bytes(lsp::framed(start) + lsp::framed(call(2, "textDocument/fly", {{"a", text}}))).first;
  CHECK(code_of(answers.at(1)) == lsp::error_code::unknown_method);
}

TEST_CASE("a request that was taken back is answered as cancelled") {
  const std::string opens = lsp::framed(
      note("textDocument/didOpen",
           {{"textDocument", {{"uri", "file:///p.sialx"}, {"version", 1}, {"text", "sial p\nendsial p\n"}}}}));
  const auto [answers, code] =
      serve_bytes(lsp::framed(start) + opens +
                  lsp::framed(call(2, "textDocument/foldingRange", {{"textDocument", {{"uri", "file:///p.sialx"}}}})) +
                  lsp::framed(note("$/cancelRequest", {{"id", 2}})) + lsp::framed(note("$/cancelRequest", 3)));
  for (const json& answer : answers)
    if (answer.contains("id") && answer["id"] == 2 && answer.contains("error"))
      CHECK(code_of(answer) == lsp::error_code::cancelled);
}

TEST_CASE("a burst of changes is analysed once") {
  test::Client client;
  const std::string uri = "file:///nowhere/p.sialx";
  client.open(uri, "sial p\nendsial p\n");
  client.sent.clear();
  for (int i = 0; i < 50; ++i)
    client.change(uri,
                  {{{"range", {{"start", {{"line", 1}, {"character", 0}}}, {"end", {{"line", 1}, {"character", 0}}}}},
                    {"text", "scalar a" + std::to_string(i) + "\n"}}});
  client.server().publish_pending();
  CHECK(client.sent.size() == 1);
  CHECK(client.sent[0]["params"]["version"] == 51);
}
