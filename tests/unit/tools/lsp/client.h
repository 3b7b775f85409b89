#pragma once
// A client of the language server in this process: sends requests, keeps what the server sends.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compiler/tools/lsp/server.h"

namespace sial::test {

using nlohmann::json;

class Client {
 public:
  explicit Client(json capabilities = json::object(), json options = json::object())
      : server_({}, {}, [this](const json& m) { sent.push_back(m); }) {
    json params = {{"capabilities", std::move(capabilities)}, {"processId", nullptr}, {"rootUri", nullptr}};
    params.update(options);
    offers = request("initialize", params)["result"]["capabilities"];
    notify("initialized", json::object());
  }

  json request(const std::string& method, json params) {
    server_.receive({{"jsonrpc", "2.0"}, {"id", ++last_id_}, {"method", method}, {"params", std::move(params)}});
    for (auto m = sent.rbegin(); m != sent.rend(); ++m)
      if (m->contains("id") && (*m)["id"] == last_id_) return *m;
    return nullptr;
  }
  json result(const std::string& method, json params) { return request(method, std::move(params)).at("result"); }
  void notify(const std::string& method, json params) {
    server_.receive({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
  }
  lsp::Server& server() { return server_; }

  // ---- documents
  void open(const std::string& uri, const std::string& text) {
    notify("textDocument/didOpen",
           {{"textDocument", {{"uri", uri}, {"languageId", "sial"}, {"version", ++version_}, {"text", text}}}});
    server_.publish_pending();
  }
  void replace(const std::string& uri, const std::string& text) { change(uri, {{{"text", text}}}); }
  void change(const std::string& uri, json changes) {
    notify("textDocument/didChange",
           {{"textDocument", {{"uri", uri}, {"version", ++version_}}}, {"contentChanges", std::move(changes)}});
  }
  void close(const std::string& uri) { notify("textDocument/didClose", {{"textDocument", {{"uri", uri}}}}); }
  /// The diagnostics that were published last for a file; null when there were none since `sent` was cleared.
  json diagnostics(const std::string& uri) const {
    for (auto m = sent.rbegin(); m != sent.rend(); ++m)
      if (m->contains("method") && (*m)["method"] == "textDocument/publishDiagnostics" && (*m)["params"]["uri"] == uri)
        return (*m)["params"]["diagnostics"];
    return nullptr;
  }
  json at(const std::string& method, const std::string& uri, int line, int character, json more = json::object()) {
    json params = {{"textDocument", {{"uri", uri}}}, {"position", {{"line", line}, {"character", character}}}};
    params.update(more);
    return request("textDocument/" + method, std::move(params));
  }

  std::vector<json> sent;
  json offers;

 private:
  lsp::Server server_;
  int last_id_ = 0, version_ = 0;
};

/// What the items of a completion are called.
inline std::vector<std::string> labels(const json& completion) {
  std::vector<std::string> out;
  for (const json& item : completion.at("result").at("items")) out.push_back(item.at("label").get<std::string>());
  return out;
}

inline json fully_capable() {
  return {{"textDocument",
           {{"publishDiagnostics", {{"relatedInformation", true}, {"tagSupport", {{"valueSet", {1}}}}}},
            {"documentSymbol", {{"hierarchicalDocumentSymbolSupport", true}}},
            {"rename", {{"prepareSupport", true}}},
            {"hover", {{"contentFormat", {"markdown", "plaintext"}}}}}}};
}

}  // namespace sial::test
