// Semantic tokens: what every word is, as the declarations say.

#include <algorithm>
#include <array>
#include <unordered_map>

#include "compiler/tools/lsp/features.h"

namespace sial::lsp {
namespace {

enum TokenType {
  type_keyword,
  type_variable,
  type_index,
  type_array,
  type_proc,
  type_special,
  type_program,
  type_number,
  type_string,
  type_sign,
  type_comment
};
constexpr std::array token_types = {"keyword",   "variable", "parameter", "property", "function", "method",
                                    "namespace", "number",   "string",    "operator", "comment"};
enum Modifier { declaration = 1, read_only = 2, static_ = 4 };
constexpr std::array token_modifiers = {"declaration", "readonly", "static"};

int type_of(const Declared& d) {
  switch (d.kind) {
    case DeclKind::index:
    case DeclKind::subindex: return type_index;
    case DeclKind::array: return type_array;
    case DeclKind::proc: return type_proc;
    case DeclKind::special: return type_special;
    case DeclKind::program: return type_program;
    default: return type_variable;
  }
}

class Colours {
 public:
  Colours(Context& context, const FilePtr& file) : encoding_(context.encoding), file_(*file) {
    for (const Target& t : context.files.visible(file)) names_.emplace(t.declared->name, t.declared);
    for (const FilePtr& other : context.files.imports(*file)) programs_[other->outline.program] = other;
    programs_[file->outline.program] = file;
  }

  json data(int first, int last) {
    auto line = std::lower_bound(file_.outline.lines.begin(), file_.outline.lines.end(), first,
                                 [](const TokenLine& l, int n) { return l.line < n; });
    auto use = std::lower_bound(file_.outline.uses.begin(), file_.outline.uses.end(), first,
                                [](const NameUse& u, int n) { return u.line < n; });
    for (int n = first; n <= last && n < file_.text.line_count(); ++n) {
      std::uint32_t end = file_.text.line_begin(n);
      if (line != file_.outline.lines.end() && line->line == n) {
        for (const ClassedToken& t : line->tokens) {
          end = t.end;
          if (t.kind == TokenClass::name) {
            while (use != file_.outline.uses.end() && use->end < t.end) ++use;
            const bool known = use != file_.outline.uses.end() && use->end == t.end;
            name(t, known ? &*use : nullptr);
          } else if (t.kind != TokenClass::unknown) {
            add(t.begin, t.end, plain_type(t), 0);
          }
        }
        ++line;
      }
      const std::uint32_t line_end = file_.text.line_begin(n) + static_cast<std::uint32_t>(file_.text.line(n).size());
      const std::size_t hash = file_.text.bytes().find('#', end);
      if (hash < line_end) add(static_cast<std::uint32_t>(hash), line_end, type_comment, 0);
    }
    return std::move(data_);
  }

 private:
  static int plain_type(const ClassedToken& t) {
    switch (t.kind) {
      case TokenClass::keyword: return type_keyword;
      case TokenClass::number: return type_number;
      case TokenClass::string: return type_string;
      default: return type_sign;
    }
  }

  void name(const ClassedToken& t, const NameUse* use) {
    if (!use) {  // letters of a super instruction, or `norm`
      add(t.begin, t.end, type_keyword, 0);
      return;
    }
    const Declared* d = nullptr;
    if (use->qualifier.empty()) {
      const auto found = names_.find(use->name);
      if (found != names_.end()) d = found->second;
      if (!d && use->name == file_.outline.program) d = file_.outline.program_declared();
    } else {
      const auto program = programs_.find(use->qualifier);
      if (program != programs_.end()) {
        add(use->qualifier_begin, use->qualifier_end, type_program, 0);
        d = program->second->outline.find(use->name);
      }
    }
    if (!d) return;
    int modifiers = use->declares ? declaration : 0;
    if (d->predefined) modifiers |= read_only;
    if (d->word == "static") modifiers |= static_;
    add(use->begin, use->end, type_of(*d), modifiers);
  }

  void add(std::uint32_t begin, std::uint32_t end, int type, int modifiers) {
    const Position at = file_.text.position(begin, encoding_);
    const int length = characters(std::string_view(file_.text.bytes()).substr(begin, end - begin), encoding_);
    data_.push_back(at.line - last_.line);
    data_.push_back(at.line == last_.line ? at.character - last_.character : at.character);
    data_.push_back(length);
    data_.push_back(type);
    data_.push_back(modifiers);
    last_ = at;
  }

  Encoding encoding_;
  const File& file_;
  std::unordered_map<std::string, const Declared*> names_;
  std::unordered_map<std::string, FilePtr> programs_;
  Position last_;
  json data_ = json::array();
};

}  // namespace

json semantic_legend() { return {{"tokenTypes", token_types}, {"tokenModifiers", token_modifiers}}; }

json semantic_tokens(Context& context, const FilePtr& file, int first, int last) {
  return {{"data", Colours(context, file).data(std::max(first, 0), last)}};
}

}  // namespace sial::lsp
