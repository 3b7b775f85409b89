// The outline of a file, names of the workspace, and what an editor can fold.

#include <algorithm>

#include "compiler/tools/lsp/features.h"

namespace sial::lsp {
namespace {

// SymbolKind of the protocol.
int symbol_kind(const Declared& d) {
  switch (d.kind) {
    case DeclKind::program: return 2;   // module
    case DeclKind::proc: return 12;     // function
    case DeclKind::special: return 11;  // interface: a body elsewhere
    case DeclKind::index:
    case DeclKind::subindex: return 26;      // type parameter
    case DeclKind::array: return 18;         // array
    default: return d.predefined ? 14 : 13;  // constant, variable
  }
}

std::string detail(const Declared& d) {
  std::string out = d.predefined ? "predefined " : "";
  if (d.sparse) out += "sparse ";
  if (d.contiguous) out += "contiguous ";
  if (d.kind == DeclKind::program || d.kind == DeclKind::proc) return {};
  out += d.word;
  for (std::size_t k = 0; k < d.dims.size(); ++k) out += (k == 0 ? "[" : ",") + d.dims[k];
  if (!d.dims.empty()) out += "]";
  if (d.kind == DeclKind::subindex) out += " of " + d.parent;
  if (!d.signature.empty()) out += " " + d.signature;
  return out;
}

std::uint32_t line_end(const File& file, int line) {
  return file.text.line_begin(line) + static_cast<std::uint32_t>(file.text.line(line).size());
}

json symbol_json(Context& context, const FilePtr& file, const Declared& d) {
  if (!context.nested_symbols)
    return {{"name", d.text},
            {"kind", symbol_kind(d)},
            {"location",
             location_json(*file, file->text.line_begin(d.line), line_end(*file, d.end_line), context.encoding)}};
  return {{"name", d.text},
          {"detail", detail(d)},
          {"kind", symbol_kind(d)},
          {"range", range_json(*file, file->text.line_begin(d.line), line_end(*file, d.end_line), context.encoding)},
          {"selectionRange", range_json(*file, d.begin, d.end, context.encoding)}};
}

bool is_comment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\f");
  return first != std::string_view::npos && line[first] == '#';
}

}  // namespace

json document_symbols(Context& context, const FilePtr& file) {
  json out = json::array(), children = json::array();
  const Declared* program = file->outline.program_declared();
  for (const Declared& d : file->outline.declared)
    if (&d != program) children.push_back(symbol_json(context, file, d));
  if (!program) return children;
  json top = symbol_json(context, file, *program);
  if (!context.nested_symbols) {
    out.push_back(top);
    for (json& child : children) out.push_back(std::move(child));
    return out;
  }
  top["children"] = std::move(children);
  out.push_back(std::move(top));
  return out;
}

json workspace_symbols(Context& context, const std::string& query) {
  constexpr std::size_t most = 500;
  const std::string wanted = lower_case(query);
  json out = json::array();
  for (const FilePtr& file : context.files.all())
    for (const Declared& d : file->outline.declared) {
      if (out.size() >= most) return out;
      if (d.name.find(wanted) == std::string::npos) continue;
      out.push_back({{"name", d.text},
                     {"kind", symbol_kind(d)},
                     {"containerName", file->outline.program},
                     {"location", location_json(*file, d.begin, d.end, context.encoding)}});
    }
  return out;
}

json folding_ranges(const FilePtr& file) {
  json out = json::array();
  const auto add = [&](int first, int last, const char* kind) {
    if (last <= first) return;
    json range = {{"startLine", first}, {"endLine", last}};
    if (kind) range["kind"] = kind;
    out.push_back(std::move(range));
  };
  for (const Block& block : file->outline.blocks) {
    const int last = block.closed ? block.end_line - 1 : block.end_line;
    if (block.else_line >= 0) {
      add(block.line, block.else_line - 1, nullptr);
      add(block.else_line, last, nullptr);
    } else {
      add(block.line, last, nullptr);
    }
  }
  if (!file->outline.imports.empty())
    add(file->outline.imports.front().line, file->outline.imports.back().line, "imports");
  for (int line = 0; line < file->text.line_count(); ++line) {
    const int first = line;
    while (line < file->text.line_count() && is_comment(file->text.line(line))) ++line;
    if (line > first) add(first, line - 1, "comment");
  }
  return out;
}

}  // namespace sial::lsp
