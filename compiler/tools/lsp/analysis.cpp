#include "compiler/tools/lsp/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "compiler/ast/imports.h"
#include "compiler/diag/render.h"
#include "compiler/diag/table.h"
#include "compiler/sema/checked.h"
#include "runtime/core/base/printable.h"

namespace sial::lsp {
namespace {

using nlohmann::json;

json position_json(const SourceManager& sources, FileId file, std::uint32_t offset, Encoding encoding) {
  const std::string_view text = sources.text(file);
  offset = std::min(offset, static_cast<std::uint32_t>(text.size()));
  const LineColumn at = sources.position(file, offset);
  const auto column = static_cast<std::uint32_t>(at.column - 1);
  return {{"line", at.line - 1}, {"character", characters(text.substr(offset - column, column), encoding)}};
}

/// The page of a code as a file that an editor can open; empty when it cannot be written.
std::string page_uri(const DiagnosticRow& row, const std::string& folder) {
  if (folder.empty()) return {};
  const std::string path = fmt::format("{}/{}.txt", folder, row.name);
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) {
    std::filesystem::create_directories(folder, failed);
    std::ofstream out(path, std::ios::binary);
    out << explain(row);
    if (!out.flush()) return {};
  }
  return uri_of(path);
}

json diagnostic_json(const Diagnostic& d, const Analysis& analysis, const DiagnosticStyle& style) {
  const DiagnosticRow& row = row_of(d.code);
  const Span span = d.span.file < 0 ? Span{0, 0, 0} : d.span;
  std::string message = printable_name(d.message);
  if (!d.hint.empty()) message += "\nhint: " + printable_name(d.hint);
  json related = json::array();
  for (const Note& note : d.notes) {
    const std::string text = printable_name(note.message);
    if (note.span.file < 0) {
      message += "\nnote: " + text;
    } else if (!style.related) {
      const LineColumn at = analysis.sources.position(note.span.file, note.span.begin);
      message += fmt::format("\n{}:{}: {}", analysis.sources.name(note.span.file), at.line, text);
    } else {
      const std::string& path = analysis.sources.canonical_path(note.span.file);
      const auto open = analysis.open_uris.find(path);
      related.push_back({{"location",
                          {{"uri", open == analysis.open_uris.end() ? uri_of(path) : open->second},
                           {"range", range_json(analysis.sources, note.span, style.encoding)}}},
                         {"message", text}});
    }
  }
  json out = {{"range", range_json(analysis.sources, span, style.encoding)},
              {"severity", d.severity == Severity::error     ? 1
                           : d.severity == Severity::warning ? 2
                                                             : 3},
              {"code", row.name},
              {"source", "sialc"},
              {"message", message}};
  if (!related.empty()) out["relatedInformation"] = std::move(related);
  if (style.tags && row.name.starts_with("W-UNUSED")) out["tags"] = {1};
  if (const std::string page = page_uri(row, style.pages); !page.empty()) out["codeDescription"] = {{"href", page}};
  return out;
}

}  // namespace

AnalysisPtr analyse(const std::string& name, Workspace& files, const WarningOptions& warnings) {
  auto out = std::make_shared<Analysis>();
  Emitter emitter(warnings);
  LoadOptions options;
  options.include_dirs = files.include_dirs(name);
  options.buffers = &files.buffers();
  options.known = &files.known_lines();
  if (const auto compilation = load_program(out->sources, name, options, emitter))
    check(*compilation, out->sources, emitter);
  out->diagnostics = in_source_order(emitter.all());
  for (FileId f = 0; f < out->sources.file_count(); ++f) {
    const std::string& path = out->sources.canonical_path(f);
    out->files.insert(path);
    if (std::string uri = files.open_uri(path); !uri.empty()) out->open_uris[path] = std::move(uri);
  }
  for (const Diagnostic& d : out->diagnostics)
    out->import_failed = out->import_failed || d.code == Code::E_IMPORT || d.code == Code::E_FILE;
  return out;
}

json range_json(const SourceManager& sources, Span span, Encoding encoding) {
  return {{"start", position_json(sources, span.file, span.begin, encoding)},
          {"end", position_json(sources, span.file, std::max(span.end, span.begin), encoding)}};
}

json diagnostics_json(const Analysis& analysis, FileId file, const DiagnosticStyle& style) {
  json out = json::array();
  for (const Diagnostic& d : analysis.diagnostics)
    if (d.span.file == file || (d.span.file < 0 && file == 0)) out.push_back(diagnostic_json(d, analysis, style));
  return out;
}

}  // namespace sial::lsp
