#pragma once
// An editor's questions about a place in a file, as results of the protocol. All of them work on the tokens of the
// current text (outline.h), so they answer in programs that are half typed.

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/tools/lsp/analysis.h"
#include "compiler/tools/lsp/workspace.h"

namespace sial::lsp {

using nlohmann::json;

/// Shared by the features: the files, and what the editor said it can do.
struct Context {
  Workspace files;
  Encoding encoding = Encoding::utf16;
  bool snippets = false, nested_symbols = true, markdown = true;
  bool refreshes_hints = false;  // it asks for inlay hints again when told to
};

/// A request that cannot be granted; the editor shows the message.
struct Refusal {
  std::string message;
};

json range_json(const File& file, std::uint32_t begin, std::uint32_t end, Encoding encoding);
json location_json(const File& file, std::uint32_t begin, std::uint32_t end, Encoding encoding);

// names.cpp
json definition(Context& context, const FilePtr& file, std::uint32_t offset);
json references(Context& context, const FilePtr& file, std::uint32_t offset, bool with_declaration);
json highlights(Context& context, const FilePtr& file, std::uint32_t offset);
/// Throws Refusal.
json prepare_rename(Context& context, const FilePtr& file, std::uint32_t offset);
json rename(Context& context, const FilePtr& file, std::uint32_t offset, const std::string& new_name);

// hover.cpp
json hover(Context& context, const FilePtr& file, std::uint32_t offset);
json signature_help(Context& context, const FilePtr& file, std::uint32_t offset);
/// "distributed array", "index of atomic orbitals", ...
std::string kind_words(const Declared& declared);

// completion.cpp
json completion(Context& context, const FilePtr& file, std::uint32_t offset);

// symbols.cpp
json document_symbols(Context& context, const FilePtr& file);
json workspace_symbols(Context& context, const std::string& query);
json folding_ranges(const FilePtr& file);

// colours.cpp
json semantic_legend();
/// The tokens of the lines first..last.
json semantic_tokens(Context& context, const FilePtr& file, int first, int last);

}  // namespace sial::lsp
