// Definitions, references and renaming.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "compiler/ast/build.h"
#include "compiler/tools/lsp/features.h"

namespace sial::lsp {
namespace {

/// Arrays that fragment pragmas look for by these names.
bool named_by_pragmas(const std::string& name) {
  return name == "elst_dist" || name == "rcut_dist" || name == "swao_frag" || name == "swmoa_frag";
}

const ImportLine* import_at(const File& file, std::uint32_t offset) {
  for (const ImportLine& import : file.outline.imports)
    if (import.begin <= offset && offset <= import.end) return &import;
  return nullptr;
}

std::vector<Target> targets_at(Context& context, const FilePtr& file, std::uint32_t offset) {
  const auto place = context.files.named_at(*file, offset);
  return place ? context.files.resolve(file, *place) : std::vector<Target>();
}

/// The one declaration that is renamed, after all that forbids it.
Target renamed_target(Context& context, const FilePtr& file, std::uint32_t offset) {
  const std::vector<Target> found = targets_at(context, file, offset);
  if (found.empty()) throw Refusal{"there is no declared name here"};
  if (found.size() > 1) throw Refusal{"the name is declared by more than one imported file"};
  const Declared& d = *found.front().declared;
  if (d.predefined) throw Refusal{fmt::format("`{}` is predefined: the job gives its value by this name", d.text)};
  if (d.kind == DeclKind::special) throw Refusal{fmt::format("`{}` is the name of a super instruction", d.text)};
  if (d.kind == DeclKind::array && named_by_pragmas(d.name))
    throw Refusal{fmt::format("fragment pragmas find `{}` by this name", d.text)};
  return found.front();
}

void check_new_name(const std::string& name) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const bool good = !name.empty() && letter(name.front()) && std::all_of(name.begin(), name.end(), [&](char c) {
    return c == '_' || letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
  if (!good) throw Refusal{fmt::format("`{}` is no name: names are a letter, then letters, digits and `_`", name)};
  if (name.size() > max_name_length) throw Refusal{fmt::format("a name has at most {} characters", max_name_length)};
  if (is_reserved_word(name)) throw Refusal{fmt::format("`{}` is a keyword", name)};
}

/// Finds places where the new name would mean something else than now, or hide or repeat a declaration.
void check_clashes(Context& context, const Target& target, const std::string& lower) {
  std::vector<FilePtr> files = context.files.importers(*target.file);
  files.insert(files.begin(), target.file);
  for (const FilePtr& file : files) {
    for (const Target& other : context.files.resolve(file, lower))
      if (other.declared != target.declared)
        throw Refusal{fmt::format("`{}` is declared already: {}:{}", other.declared->text, other.file->name,
                                  other.declared->line + 1)};
    if (target.declared->kind == DeclKind::program)
      for (const FilePtr& other : context.files.imports(*file))
        if (other->outline.program == lower)
          throw Refusal{fmt::format("`{}` is the name of the program {}", lower, other->name)};
    if (file->outline.program == lower)
      throw Refusal{fmt::format("`{}` is the name of the program {}", lower, file->name)};
  }
}

}  // namespace

json range_json(const File& file, std::uint32_t begin, std::uint32_t end, Encoding encoding) {
  const Position a = file.text.position(begin, encoding), b = file.text.position(end, encoding);
  return {{"start", {{"line", a.line}, {"character", a.character}}},
          {"end", {{"line", b.line}, {"character", b.character}}}};
}

json location_json(const File& file, std::uint32_t begin, std::uint32_t end, Encoding encoding) {
  return {{"uri", file.uri}, {"range", range_json(file, begin, end, encoding)}};
}

json definition(Context& context, const FilePtr& file, std::uint32_t offset) {
  json out = json::array();
  if (const ImportLine* import = import_at(*file, offset)) {
    if (const FilePtr found = context.files.imported(*file, *import))
      out.push_back(location_json(*found, 0, 0, context.encoding));
    return out;
  }
  for (const Target& t : targets_at(context, file, offset))
    out.push_back(location_json(*t.file, t.declared->begin, t.declared->end, context.encoding));
  return out;
}

json references(Context& context, const FilePtr& file, std::uint32_t offset, bool with_declaration) {
  json out = json::array();
  for (const Target& t : targets_at(context, file, offset))
    for (const Use& use : context.files.uses(t))
      if (with_declaration || !use.declares)
        out.push_back(location_json(*use.file, use.begin, use.end, context.encoding));
  return out;
}

json highlights(Context& context, const FilePtr& file, std::uint32_t offset) {
  json out = json::array();
  for (const Target& t : targets_at(context, file, offset))
    for (const Use& use : context.files.uses_in(file, t))
      out.push_back(
          {{"range", range_json(*use.file, use.begin, use.end, context.encoding)}, {"kind", use.declares ? 1 : 2}});
  return out;
}

json prepare_rename(Context& context, const FilePtr& file, std::uint32_t offset) {
  const auto place = context.files.named_at(*file, offset);
  renamed_target(context, file, offset);
  return {{"range", range_json(*file, place->begin, place->end, context.encoding)},
          {"placeholder", file->text.bytes().substr(place->begin, place->end - place->begin)}};
}

json rename(Context& context, const FilePtr& file, std::uint32_t offset, const std::string& new_name) {
  const Target target = renamed_target(context, file, offset);
  check_new_name(new_name);
  if (const std::string lower = lower_case(new_name); lower != target.declared->name)
    check_clashes(context, target, lower);
  std::map<std::string, json> edits;
  for (const Use& use : context.files.uses(target))
    edits.try_emplace(use.file->uri, json::array())
        .first->second.push_back(
            {{"range", range_json(*use.file, use.begin, use.end, context.encoding)}, {"newText", new_name}});
  return {{"changes", edits}};
}

}  // namespace sial::lsp
