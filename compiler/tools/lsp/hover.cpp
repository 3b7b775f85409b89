// The text about a name: its declaration, its comment, the page of a super instruction; and the arguments of `execute`.

#include <fmt/format.h>

#include <sstream>

#include "compiler/sema/super_table.h"
#include "compiler/tools/lsp/features.h"

namespace sial::lsp {
namespace {

std::string index_kind_words(const std::string& word) {
  if (word == "aoindex") return "segments of atomic orbitals";
  if (word == "moindex") return "segments of molecular orbitals, closed-shell";
  if (word == "moaindex") return "segments of molecular orbitals, alpha";
  if (word == "mobindex") return "segments of molecular orbitals, beta";
  if (word == "laindex") return "segments of another kind";
  return "simple index: plain numbers";
}

/// The line of a declaration without its comment and surrounding blanks.
std::string as_written(const File& file, const Declared& d) {
  const TokenLine* line = file.outline.tokens_of(d.line);
  if (!line) return d.text;
  const std::uint32_t begin = line->tokens.front().begin, end = line->tokens.back().end;
  return file.text.bytes().substr(begin, end - begin);
}

std::string fenced(const std::string& text, const char* language, bool markdown) {
  return markdown ? fmt::format("```{}\n{}\n```\n", language, text) : text + "\n";
}

std::string page_text(const SuperPage& page, bool markdown) { return fenced(explain_super(page), "text", markdown); }

std::string target_text(Context& context, const FilePtr& asked_in, const Target& t) {
  const Declared& d = *t.declared;
  std::string out = fenced(as_written(*t.file, d), "sial", context.markdown);
  out += kind_words(d);
  if (t.file->path != asked_in->path) out += fmt::format(", declared in {}:{}", t.file->name, d.line + 1);
  out += "\n";
  if (d.kind == DeclKind::array)
    for (std::size_t k = 0; k < d.dims.size(); ++k) {
      bool seen = false;
      for (std::size_t before = 0; before < k; ++before) seen = seen || d.dims[before] == d.dims[k];
      if (seen) continue;
      for (const Target& index : context.files.resolve(t.file, d.dims[k]))
        out += fmt::format("\n{}", fenced(as_written(*index.file, *index.declared), "sial", context.markdown));
    }
  const std::string comment = comment_at(t.file->text, d.line);
  if (!comment.empty()) out += "\n" + comment + "\n";
  return out;
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word == "-" ? "" : word);
  return out;
}

const char* letter_words(char letter) {
  return letter == 'r' ? "read" : letter == 'w' ? "written; filled with zero before" : "read and written";
}

json signature_json(const std::string& name, const std::string& letters, const SuperPage* page, bool markdown) {
  std::string label = "execute " + name;
  json parameters = json::array();
  for (std::size_t k = 0; k < letters.size(); ++k) {
    const ArgumentRule* rule = page && k < page->arguments.size() ? &page->arguments[k] : nullptr;
    std::string shown = rule ? rule->name : fmt::format("argument{}", k + 1);
    if (rule && !rule->scalar && !rule->dimensions.empty()) shown += fmt::format("[{}]", rule->dimensions);
    const std::size_t begin = label.size() + 1;
    label += " " + shown;
    std::string text = letter_words(letters[k]);
    if (rule && !rule->text.empty()) text += ": " + rule->text;
    parameters.push_back({{"label", {begin, label.size()}}, {"documentation", text}});
  }
  json out = {{"label", label}, {"parameters", parameters}};
  if (page) out["documentation"] = {{"kind", markdown ? "markdown" : "plaintext"}, {"value", page->meaning}};
  return out;
}

}  // namespace

std::string kind_words(const Declared& d) {
  const std::string by_job = d.predefined ? ", given by the job" : "";
  switch (d.kind) {
    case DeclKind::program: return "program";
    case DeclKind::scalar: return "scalar" + by_job;
    case DeclKind::int_: return "int" + by_job;
    case DeclKind::index: return index_kind_words(d.word);
    case DeclKind::subindex: return fmt::format("subindex: subsegments of the segments of `{}`", d.parent);
    case DeclKind::special: return "super instruction";
    case DeclKind::proc: return "procedure";
    default:
      return fmt::format("{}{}{} array of {} dimension{}{}", d.sparse ? "sparse " : "",
                         d.contiguous ? "contiguous " : "", d.word, d.dims.size(), d.dims.size() == 1 ? "" : "s",
                         by_job);
  }
}

json hover(Context& context, const FilePtr& file, std::uint32_t offset) {
  const auto place = context.files.named_at(*file, offset);
  if (!place) return nullptr;
  std::string text;
  const SuperPage* page = nullptr;
  const TokenLine* line = file->outline.tokens_of(place->use->line);
  const std::vector<Target> found = context.files.resolve(file, *place);
  for (const Target& t : found) {
    if (t.declared->kind == DeclKind::special) page = find_super_page(t.declared->name);
    text += (text.empty() ? "" : "\n") + target_text(context, file, t);
  }
  if (found.empty() && line) {
    const ClassedToken& first = line->tokens.front();
    const std::string word =
        lower_case(std::string_view(file->text.bytes()).substr(first.begin, first.end - first.begin));
    if (word == "execute" || word == "special") page = find_super_page(place->use->name);
  }
  if (page) text += (text.empty() ? "" : "\n") + page_text(*page, context.markdown);
  if (text.empty()) return nullptr;
  return {{"contents", {{"kind", context.markdown ? "markdown" : "plaintext"}, {"value", text}}},
          {"range", range_json(*file, place->begin, place->end, context.encoding)}};
}

json signature_help(Context& context, const FilePtr& file, std::uint32_t offset) {
  const TokenLine* line = file->outline.tokens_of(file->text.line_of(offset));
  if (!line || line->tokens.size() < 2) return nullptr;
  const auto word = [&](std::size_t i) {
    const ClassedToken& t = line->tokens[i];
    return lower_case(std::string_view(file->text.bytes()).substr(t.begin, t.end - t.begin));
  };
  if (word(0) != "execute" || line->tokens[1].kind != TokenClass::name || offset <= line->tokens[1].end) return nullptr;
  int depth = 0, arguments = 0;
  bool inside = false;  // the cursor is in or just after an argument
  for (std::size_t i = 2; i < line->tokens.size() && line->tokens[i].begin < offset; ++i) {
    const ClassedToken& t = line->tokens[i];
    if (depth == 0 && (t.kind == TokenClass::name || t.kind == TokenClass::number)) ++arguments;
    if (word(i) == "[") ++depth;
    if (word(i) == "]") --depth;
    inside = depth > 0 || t.end >= offset;
  }
  const int active = inside ? std::max(arguments - 1, 0) : arguments;
  const std::string name = word(1);
  const SuperPage* page = find_super_page(name);
  std::vector<std::string> signatures;
  for (const Target& t : context.files.resolve(file, name))
    if (t.declared->kind == DeclKind::special) signatures.push_back(t.declared->signature);
  if (signatures.empty() && page) signatures = words_of(page->signatures);
  if (signatures.empty()) return nullptr;
  json list = json::array();
  for (const std::string& letters : signatures) list.push_back(signature_json(name, letters, page, context.markdown));
  return {{"signatures", list}, {"activeSignature", 0}, {"activeParameter", active}};
}

}  // namespace sial::lsp
