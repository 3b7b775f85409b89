#include "compiler/tools/lsp/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/core/base/printable.h"

namespace sial::lsp {
namespace {

json member(const json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? json(nullptr) : *found;
}

bool flag(const json& object, std::initializer_list<const char*> path) {
  json at = object;
  for (const char* name : path) at = member(at, name);
  return at.is_boolean() && at.get<bool>();
}

bool lists(const json& array, const std::string& word) {
  return array.is_array() && std::find(array.begin(), array.end(), json(word)) != array.end();
}

Position position_of(const json& p) {
  // Editors write "the end of the line" as the largest number of their own.
  const auto number = [](const json& n) {
    if (!n.is_number_integer()) throw std::invalid_argument("a position is two whole numbers");
    return static_cast<int>(std::clamp<std::int64_t>(n.get<std::int64_t>(), 0, 1 << 30));
  };
  return {number(p.at("line")), number(p.at("character"))};
}

std::string uri_in(const json& params) { return params.at("textDocument").at("uri").get<std::string>(); }

int version_in(const json& params) {
  const json version = member(params.at("textDocument"), "version");
  return version.is_number_integer() ? version.get<int>() : 0;
}

}  // namespace

Server::Server(Settings settings, Providers providers, std::function<void(const json&)> send)
    : settings_(std::move(settings)), providers_(std::move(providers)), send_(std::move(send)) {
  context_.files.set_include_dirs(settings_.include_dirs);
  if (providers_.job_include_dirs) context_.files.set_job_include_dirs(providers_.job_include_dirs);
}

// ---- messages

const std::map<std::string, Server::Handler>& Server::requests() {
  static const std::map<std::string, Handler> table = {
      {"initialize", &Server::initialize},
      {"shutdown", &Server::shutdown},
      {"textDocument/definition", &Server::on_definition},
      {"textDocument/declaration", &Server::on_definition},
      {"textDocument/references", &Server::on_references},
      {"textDocument/documentHighlight", &Server::on_highlight},
      {"textDocument/prepareRename", &Server::on_prepare_rename},
      {"textDocument/rename", &Server::on_rename},
      {"textDocument/hover", &Server::on_hover},
      {"textDocument/signatureHelp", &Server::on_signature},
      {"textDocument/completion", &Server::on_completion},
      {"textDocument/documentSymbol", &Server::on_symbols},
      {"workspace/symbol", &Server::on_workspace_symbols},
      {"textDocument/foldingRange", &Server::on_folding},
      {"textDocument/semanticTokens/full", &Server::on_tokens},
      {"textDocument/semanticTokens/range", &Server::on_tokens_range},
      {"textDocument/codeAction", &Server::on_code_actions},
      {"textDocument/inlayHint", &Server::on_inlay_hints},
      {"textDocument/formatting", &Server::on_formatting},
      {"textDocument/rangeFormatting", &Server::on_range_formatting},
  };
  return table;
}

const std::map<std::string, Server::NoteHandler>& Server::notifications() {
  static const std::map<std::string, NoteHandler> table = {
      {"initialized", &Server::initialized},
      {"exit", &Server::exit},
      {"textDocument/didOpen", &Server::did_open},
      {"textDocument/didChange", &Server::did_change},
      {"textDocument/didClose", &Server::did_close},
      {"textDocument/didSave", &Server::did_save},
      {"workspace/didChangeWatchedFiles", &Server::did_change_files},
      {"workspace/didChangeWorkspaceFolders", &Server::did_change_folders},
      {"workspace/didChangeConfiguration", &Server::ignored},
  };
  return table;
}

void Server::receive(const json& message) {
  const json id = member(message, "id");
  const json method = member(message, "method");
  if (!message.is_object() || member(message, "jsonrpc") != json("2.0")) {
    fail(id.is_string() || id.is_number_integer() ? id : json(nullptr), error_code::invalid_request,
         "a message is an object with \"jsonrpc\": \"2.0\"");
    return;
  }
  if (!method.is_string()) {
    if (message.contains("result") || message.contains("error")) return;  // an answer
    fail(id, error_code::invalid_request, "the message has no method");
    return;
  }
  const json params = member(message, "params");
  if (!message.contains("id")) notification(method.get<std::string>(), params);
  else if (id.is_string() || id.is_number_integer()) request(id, method.get<std::string>(), params);
  else fail(nullptr, error_code::invalid_request, "the id is neither a string nor a whole number");
}

void Server::request(const json& id, const std::string& method, const json& params) {
  const auto handler = requests().find(method);
  if (shut_down_) {
    fail(id, error_code::invalid_request, "the server has been shut down");
  } else if (!initialized_ && method != "initialize") {
    fail(id, error_code::not_initialized, "the first request is `initialize`");
  } else if (handler == requests().end()) {
    fail(id, error_code::unknown_method, fmt::format("there is no method `{}`", printable_name(method)));
  } else {
    try {
      reply(id, (this->*handler->second)(params));
    } catch (const Refusal& refusal) {
      fail(id, error_code::request_failed, refusal.message);
    } catch (const json::exception& e) {
      fail(id, error_code::invalid_params, e.what());
    } catch (const std::invalid_argument& e) {
      fail(id, error_code::invalid_params, e.what());
    } catch (const std::exception& e) { fail(id, error_code::internal, e.what()); }
  }
}

void Server::notification(const std::string& method, const json& params) {
  const auto handler = notifications().find(method);
  if (handler == notifications().end()) return;
  if (method != "exit" && (!initialized_ || shut_down_)) return;
  try {
    (this->*handler->second)(params);
  } catch (const std::exception& e) {  // a notification has no answer
    log(fmt::format("{}: {}", method, e.what()));
  }
}

void Server::log(const std::string& message) {
  send_({{"jsonrpc", "2.0"}, {"method", "window/logMessage"}, {"params", {{"type", 1}, {"message", message}}}});
}

void Server::reply(const json& id, json result) {
  send_({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

void Server::fail(const json& id, int code, const std::string& message) {
  send_({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}});
}

void Server::refuse_cancelled(const json& id) { fail(id, error_code::cancelled, "the request was cancelled"); }

void Server::refuse_malformed(const std::string& why) { fail(nullptr, error_code::parse, why); }

// ---- life

json Server::initialize(const json& params) {
  if (initialized_) throw Refusal{"`initialize` was received before"};
  initialized_ = true;
  const json client = member(params, "capabilities");
  const json text = member(client, "textDocument");
  const json offered = member(member(client, "general"), "positionEncodings");
  if (lists(offered, "utf-8")) context_.encoding = Encoding::utf8;
  else if (lists(offered, "utf-32") && !lists(offered, "utf-16")) context_.encoding = Encoding::utf32;
  style_.encoding = context_.encoding;
  context_.snippets = flag(text, {"completion", "completionItem", "snippetSupport"});
  context_.nested_symbols = flag(text, {"documentSymbol", "hierarchicalDocumentSymbolSupport"});
  context_.refreshes_hints = flag(client, {"workspace", "inlayHint", "refreshSupport"});
  context_.markdown = lists(member(member(text, "hover"), "contentFormat"), "markdown");
  style_.related = flag(text, {"publishDiagnostics", "relatedInformation"});
  style_.tags = member(text, "publishDiagnostics").contains("tagSupport");
  if (flag(text, {"publishDiagnostics", "codeDescriptionSupport"})) style_.pages = settings_.pages;
  if (const json folders = member(params, "workspaceFolders"); folders.is_array())
    for (const json& folder : folders) folders_.push_back(path_of(folder.at("uri").get<std::string>()));
  else if (const json root = member(params, "rootUri"); root.is_string())
    folders_.push_back(path_of(root.get<std::string>()));
  context_.files.set_folders(folders_);
  const json options = member(params, "initializationOptions");
  if (const json dirs = member(options, "includeDirs"); dirs.is_array()) {
    std::vector<std::string> all = settings_.include_dirs;
    for (const json& dir : dirs)
      if (dir.is_string()) all.push_back(dir.get<std::string>());
    context_.files.set_include_dirs(all);
  }
  json offers = {{"positionEncoding", context_.encoding == Encoding::utf8    ? "utf-8"
                                      : context_.encoding == Encoding::utf16 ? "utf-16"
                                                                             : "utf-32"},
                 {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", {{"includeText", false}}}}},
                 {"definitionProvider", true},
                 {"declarationProvider", true},
                 {"referencesProvider", true},
                 {"documentHighlightProvider", true},
                 {"hoverProvider", true},
                 {"documentSymbolProvider", true},
                 {"workspaceSymbolProvider", true},
                 {"foldingRangeProvider", true},
                 {"completionProvider", {{"triggerCharacters", {" ", "[", ",", "\""}}}},
                 {"signatureHelpProvider", {{"triggerCharacters", {" "}}}},
                 {"semanticTokensProvider", {{"legend", semantic_legend()}, {"full", true}, {"range", true}}},
                 {"workspace", {{"workspaceFolders", {{"supported", true}, {"changeNotifications", true}}}}}};
  offers["renameProvider"] = flag(text, {"rename", "prepareSupport"}) ? json{{"prepareProvider", true}} : json(true);
  if (providers_.code_actions) offers["codeActionProvider"] = {{"codeActionKinds", {"quickfix"}}};
  if (providers_.inlay_hints) offers["inlayHintProvider"] = true;
  if (providers_.formatting) offers["documentFormattingProvider"] = offers["documentRangeFormattingProvider"] = true;
  return {{"capabilities", offers}, {"serverInfo", {{"name", "sialc"}, {"version", settings_.version}}}};
}

json Server::shutdown(const json&) {
  shut_down_ = true;
  stale_.clear();
  return nullptr;
}

void Server::initialized(const json&) {}
void Server::ignored(const json&) {}
void Server::exit(const json&) { finished_ = true; }

// ---- documents

void Server::did_open(const json& params) {
  const std::string uri = uri_in(params);
  context_.files.open(uri, params.at("textDocument").at("text").get<std::string>(), version_in(params));
  stale_.insert(uri);
  changed_.insert(uri);
  make_stale(context_.files.path(uri));
}

void Server::did_change(const json& params) {
  const std::string uri = uri_in(params);
  Text* text = context_.files.buffer(uri);
  if (!text) throw std::invalid_argument(fmt::format("{} is not open", uri));
  Text next = *text;  // all changes or none
  for (const json& change : params.at("contentChanges")) {
    const auto& with = change.at("text").get_ref<const std::string&>();
    const json range = member(change, "range");
    if (range.is_null()) {
      next = Text(with);
      continue;
    }
    const std::uint32_t begin = next.offset(position_of(range.at("start")), context_.encoding);
    next.replace(begin, next.offset(position_of(range.at("end")), context_.encoding), with);
  }
  *text = std::move(next);
  context_.files.changed(uri, version_in(params));
  stale_.insert(uri);
  changed_.insert(uri);
  make_stale(context_.files.path(uri));
}

void Server::did_close(const json& params) {
  const std::string uri = uri_in(params);
  if (!context_.files.is_open(uri)) return;
  const std::string path = context_.files.path(uri);
  context_.files.close(uri);
  analyses_.erase(uri);
  stale_.erase(uri);
  make_stale(path);
  changed_.insert(uri);
  publish_pending();
}

void Server::did_save(const json& params) {
  const std::string uri = uri_in(params);
  if (context_.files.is_open(uri)) make_stale(context_.files.path(uri));
  look_for_jobs();
}

void Server::did_change_files(const json& params) {
  for (const json& change : params.at("changes"))
    make_stale(physical_path(path_of(change.at("uri").get<std::string>())));
  look_for_jobs();
}

void Server::did_change_folders(const json& params) {
  const json event = params.at("event");
  for (const json& folder : member(event, "removed"))
    std::erase(folders_, path_of(folder.at("uri").get<std::string>()));
  for (const json& folder : member(event, "added")) folders_.push_back(path_of(folder.at("uri").get<std::string>()));
  context_.files.set_folders(folders_);
}

/// Programs that read this file, or that may find an import now.
void Server::make_stale(const std::string& path) {
  for (const auto& [uri, analysis] : analyses_)
    if (analysis->import_failed || analysis->files.contains(path)) stale_.insert(uri);
}

/// Programs whose job names other folders than before, or that have one now.
void Server::look_for_jobs() {
  for (std::string& uri : context_.files.look_for_jobs()) stale_.insert(std::move(uri));
}

void Server::idle() {
  if (!initialized_ || shut_down_) return;
  look_for_jobs();
  if (has_pending()) publish_pending();
  if (!providers_.idle || !providers_.idle(context_) || !context_.refreshes_hints) return;
  send_({{"jsonrpc", "2.0"},
         {"id", fmt::format("sialc-{}", ++requests_sent_)},
         {"method", "workspace/inlayHint/refresh"}});
}

void Server::publish_pending() {
  std::set<std::string> touched = std::exchange(changed_, {});  // URIs to publish
  const std::set<std::string> answered = touched;
  const auto touch = [&](const Analysis& analysis) {
    for (const std::string& path : analysis.files) {
      const std::string open = context_.files.open_uri(path);
      touched.insert(open.empty() ? uri_of(path) : open);
    }
  };
  for (const std::string& uri : std::exchange(stale_, {})) {
    if (!context_.files.is_open(uri)) continue;
    AnalysisPtr& analysis = analyses_[uri];
    if (analysis) touch(*analysis);
    try {
      analysis = analyse(path_of(uri), context_.files, settings_.warnings);
    } catch (const std::exception& e) {  // the file system fails
      log(fmt::format("{}: {}", path_of(uri), e.what()));
      analysis = std::make_shared<Analysis>();
    }
    touch(*analysis);
  }
  for (const auto& [uri, diagnostics] : published_)
    if (!diagnostics.empty() && !touched.contains(uri)) {
      bool known = false;
      for (const auto& [root, analysis] : analyses_)
        known = known || analysis->files.contains(physical_path(path_of(uri)));
      if (!known) touched.insert(uri);
    }
  for (const std::string& uri : touched) publish(uri, answered.contains(uri));
}

/// Publishes the diagnostics of all open programs about a file, each once.
void Server::publish(const std::string& uri, bool always) {
  const bool open = context_.files.is_open(uri);
  const std::string path = open ? context_.files.path(uri) : physical_path(path_of(uri));
  json all = json::array();
  const auto take = [&](const Analysis& analysis) {
    for (FileId f = 0; f < analysis.sources.file_count(); ++f) {
      if (analysis.sources.canonical_path(f) != path) continue;
      for (json& d : diagnostics_json(analysis, f, style_))
        if (std::find(all.begin(), all.end(), d) == all.end()) all.push_back(std::move(d));
    }
  };
  if (const auto own = analyses_.find(uri); own != analyses_.end()) take(*own->second);
  for (const auto& [root, analysis] : analyses_)
    if (root != uri) take(*analysis);
  json& shown = published_.try_emplace(uri, json::array()).first->second;
  if (!always && shown == all) return;
  json params = {{"uri", uri}, {"diagnostics", all}};
  if (open) params["version"] = context_.files.version(uri);
  if (all.empty() && !open) published_.erase(uri);
  else shown = std::move(all);
  send_({{"jsonrpc", "2.0"}, {"method", "textDocument/publishDiagnostics"}, {"params", std::move(params)}});
}

// ---- requests

FilePtr Server::file_of(const json& params) {
  FilePtr file = context_.files.file_of_uri(uri_in(params));
  if (!file) throw std::invalid_argument(fmt::format("there is no file {}", uri_in(params)));
  return file;
}

std::uint32_t Server::offset_of(const File& file, const json& position) const {
  return file.text.offset(position_of(position), context_.encoding);
}

AnalysisPtr Server::analysis_of(const File& file) {
  if (has_pending()) publish_pending();
  const auto found = analyses_.find(file.uri);
  return found == analyses_.end() ? analyse(file.name, context_.files, settings_.warnings) : found->second;
}

json Server::on_definition(const json& params) {
  const FilePtr file = file_of(params);
  return definition(context_, file, offset_of(*file, params.at("position")));
}

json Server::on_references(const json& params) {
  const FilePtr file = file_of(params);
  return references(context_, file, offset_of(*file, params.at("position")),
                    flag(params, {"context", "includeDeclaration"}));
}

json Server::on_highlight(const json& params) {
  const FilePtr file = file_of(params);
  return highlights(context_, file, offset_of(*file, params.at("position")));
}

json Server::on_prepare_rename(const json& params) {
  const FilePtr file = file_of(params);
  return prepare_rename(context_, file, offset_of(*file, params.at("position")));
}

json Server::on_rename(const json& params) {
  const FilePtr file = file_of(params);
  return rename(context_, file, offset_of(*file, params.at("position")), params.at("newName").get<std::string>());
}

json Server::on_hover(const json& params) {
  const FilePtr file = file_of(params);
  const std::uint32_t offset = offset_of(*file, params.at("position"));
  json out = hover(context_, file, offset);
  if (!providers_.hover_facts) return out;
  const std::string facts = providers_.hover_facts(context_, file, offset);
  if (facts.empty()) return out;
  if (out.is_null()) out = {{"contents", {{"kind", context_.markdown ? "markdown" : "plaintext"}, {"value", ""}}}};
  std::string value = out["contents"]["value"].get<std::string>();
  out["contents"]["value"] = value.empty() ? facts : value + "\n" + facts;
  return out;
}

json Server::on_signature(const json& params) {
  const FilePtr file = file_of(params);
  return signature_help(context_, file, offset_of(*file, params.at("position")));
}

json Server::on_completion(const json& params) {
  const FilePtr file = file_of(params);
  return completion(context_, file, offset_of(*file, params.at("position")));
}

json Server::on_symbols(const json& params) { return document_symbols(context_, file_of(params)); }

json Server::on_workspace_symbols(const json& params) {
  return workspace_symbols(context_, params.at("query").get<std::string>());
}

json Server::on_folding(const json& params) { return folding_ranges(file_of(params)); }

json Server::on_tokens(const json& params) {
  const FilePtr file = file_of(params);
  return semantic_tokens(context_, file, 0, file->text.line_count());
}

json Server::on_tokens_range(const json& params) {
  const FilePtr file = file_of(params);
  const json& range = params.at("range");
  return semantic_tokens(context_, file, position_of(range.at("start")).line, position_of(range.at("end")).line);
}

json Server::on_code_actions(const json& params) {
  if (!providers_.code_actions) return json::array();
  const FilePtr file = file_of(params);
  const json& range = params.at("range");
  return providers_.code_actions(context_, file, *analysis_of(*file), offset_of(*file, range.at("start")),
                                 offset_of(*file, range.at("end")));
}

json Server::on_inlay_hints(const json& params) {
  if (!providers_.inlay_hints) return json::array();
  const FilePtr file = file_of(params);
  const json& range = params.at("range");
  return providers_.inlay_hints(context_, file, position_of(range.at("start")).line, position_of(range.at("end")).line);
}

json Server::on_formatting(const json& params) {
  if (!providers_.formatting) throw Refusal{"this sialc cannot format"};
  const FilePtr file = file_of(params);
  return providers_.formatting(context_, file, 0, file->text.line_count());
}

json Server::on_range_formatting(const json& params) {
  if (!providers_.formatting) throw Refusal{"this sialc cannot format"};
  const json& range = params.at("range");
  const Position end = position_of(range.at("end"));
  // A selection of whole lines ends where the next one begins.
  const int last = end.character == 0 && end.line > position_of(range.at("start")).line ? end.line - 1 : end.line;
  return providers_.formatting(context_, file_of(params), position_of(range.at("start")).line, last);
}

}  // namespace sial::lsp
