#pragma once
// The language server as a value that takes messages and sends messages: it knows nothing of streams. Requests are
// answered at once, in the order in which they come; diagnostics are made by `publish_pending`, once for any number of
// changes. Further features (code actions, inlay hints, formatting) plug in as Providers.

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/tools/lsp/analysis.h"
#include "compiler/tools/lsp/features.h"

namespace sial::lsp {

/// The additions of other components. Empty functions are not offered to the editor. All get the file as it is now.
struct Providers {
  /// Code actions for a range of bytes.
  std::function<json(Context&, const FilePtr&, const Analysis&, std::uint32_t begin, std::uint32_t end)> code_actions;
  /// Inlay hints of the lines first..last.
  std::function<json(Context&, const FilePtr&, int first, int last)> inlay_hints;
  /// Lines of Markdown that a hover shows beside what it says anyway.
  std::function<std::string(Context&, const FilePtr&, std::uint32_t offset)> hover_facts;
  /// Edits that lay out the lines first..last in the one style; none in a file with syntax errors.
  std::function<json(Context&, const FilePtr&, int first, int last)> formatting;
  /// Folders where the imports of a program are searched before others: those that its job names.
  std::function<std::vector<std::string>(const std::string& program)> job_include_dirs;
  /// Work for while the editor is silent; whether inlay hints are others now.
  std::function<bool(Context&)> idle;
};

/// Codes of errors, as JSON-RPC and the protocol number them.
namespace error_code {
inline constexpr int parse = -32700, invalid_request = -32600, unknown_method = -32601, invalid_params = -32602,
                     internal = -32603, not_initialized = -32002, cancelled = -32800, request_failed = -32803;
}

class Server {
 public:
  struct Settings {
    std::vector<std::string> include_dirs;
    WarningOptions warnings;
    std::string version;
    std::string pages;  // folder for pages of diagnostics; empty: none
  };
  Server(Settings settings, Providers providers, std::function<void(const json&)> send);

  /// One message. Never throws: what is wrong with it is answered.
  void receive(const json& message);
  /// A request that the editor took back before it was answered.
  void refuse_cancelled(const json& id);
  /// A body that is no JSON.
  void refuse_malformed(const std::string& why);
  /// Makes and publishes the diagnostics that changes have made old.
  void publish_pending();
  bool has_pending() const { return !stale_.empty(); }
  /// To be called when nothing has come for a moment, and now and then while nothing comes.
  void idle();

  bool finished() const { return finished_; }
  /// After `finished`, or at the end of the input.
  int exit_code() const { return shut_down_ ? 0 : 1; }

 private:
  using Handler = json (Server::*)(const json& params);
  using NoteHandler = void (Server::*)(const json& params);
  static const std::map<std::string, Handler>& requests();
  static const std::map<std::string, NoteHandler>& notifications();

  void request(const json& id, const std::string& method, const json& params);
  void notification(const std::string& method, const json& params);
  void reply(const json& id, json result);
  void fail(const json& id, int code, const std::string& message);
  void log(const std::string& message);

  // ---- life
  json initialize(const json& params);
  json shutdown(const json& params);
  void initialized(const json& params);
  void exit(const json& params);
  void ignored(const json& params);

  // ---- documents
  void did_open(const json& params);
  void did_change(const json& params);
  void did_close(const json& params);
  void did_save(const json& params);
  void did_change_files(const json& params);
  void did_change_folders(const json& params);
  void make_stale(const std::string& path);
  void look_for_jobs();
  void publish(const std::string& uri, bool always);

  // ---- requests about a place or a file
  FilePtr file_of(const json& params);
  std::uint32_t offset_of(const File& file, const json& position) const;
  AnalysisPtr analysis_of(const File& file);
  json on_definition(const json& params);
  json on_references(const json& params);
  json on_highlight(const json& params);
  json on_prepare_rename(const json& params);
  json on_rename(const json& params);
  json on_hover(const json& params);
  json on_signature(const json& params);
  json on_completion(const json& params);
  json on_symbols(const json& params);
  json on_workspace_symbols(const json& params);
  json on_folding(const json& params);
  json on_tokens(const json& params);
  json on_tokens_range(const json& params);
  json on_code_actions(const json& params);
  json on_inlay_hints(const json& params);
  json on_formatting(const json& params);
  json on_range_formatting(const json& params);

  Settings settings_;
  Providers providers_;
  std::function<void(const json&)> send_;
  Context context_;
  DiagnosticStyle style_;
  bool initialized_ = false, shut_down_ = false, finished_ = false;
  std::map<std::string, AnalysisPtr> analyses_;  // by URI of an open program
  std::set<std::string> stale_;                  // URIs of open programs
  std::set<std::string> changed_;                // URIs whose diagnostics the editor waits for
  std::map<std::string, json> published_;        // by URI: what the editor shows
  std::vector<std::string> folders_;
  int requests_sent_ = 0;
};

}  // namespace sial::lsp
