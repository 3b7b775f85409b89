// The completions at the cursor, by the text before it in its line.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "compiler/sema/super_table.h"
#include "compiler/tools/lsp/features.h"
#include "runtime/core/base/number.h"

namespace sial::lsp {
namespace {

// CompletionItemKind of the protocol.
enum ItemKind { method = 2, function = 3, field = 5, variable = 6, keyword = 14, file_name = 17, constant = 21 };

constexpr std::string_view statement_words =
    "do pardo if else where section call return stop exit create delete destroy allocate deallocate get put request "
    "prepare collective execute sip_barrier server_barrier set_persistent restore_persistent assert_same "
    "broadcast_from print println gpu_on gpu_allocate gpu_free gpu_put gpu_get";
constexpr std::string_view declaration_words =
    "scalar int predefined static temp local distributed served sparse contiguous aoindex moindex moaindex mobindex "
    "laindex index subindex special proc";

class Completer {
 public:
  Completer(Context& context, FilePtr file, std::uint32_t offset)
      : context_(context), file_(std::move(file)), offset_(offset), line_(file_->text.line_of(offset)) {
    const TokenLine* tokens = file_->outline.tokens_of(line_);
    begin_ = offset;
    for (const ClassedToken& t : tokens ? tokens->tokens : std::vector<ClassedToken>()) {
      const bool word = t.kind == TokenClass::keyword || t.kind == TokenClass::name;
      if (t.begin < offset && offset <= t.end && (word || t.kind == TokenClass::string)) {
        begin_ = t.begin;  // the word that is being typed
        in_string_ = t.kind == TokenClass::string;
        break;
      }
      if (t.end <= offset) before_.push_back(t);
    }
    for (const Target& t : context_.files.visible(file_)) visible_.push_back(t);
  }

  json items() {
    if (!in_comment()) find();
    return {{"isIncomplete", false}, {"items", std::move(items_)}};
  }

 private:
  std::string word(std::size_t i) const {
    if (i >= before_.size()) return {};
    return lower_case(
        std::string_view(file_->text.bytes()).substr(before_[i].begin, before_[i].end - before_[i].begin));
  }

  bool in_comment() const {
    const std::string_view text = std::string_view(file_->text.bytes())
                                      .substr(file_->text.line_begin(line_), offset_ - file_->text.line_begin(line_));
    bool string = false;
    for (const char c : text) {
      if (c == '"') string = !string;
      if (c == '#' && !string) return true;
    }
    return false;
  }

  // ---- items
  void add(const std::string& label, ItemKind kind, const std::string& detail, const std::string& rank = "5",
           json more = json::object()) {
    if (!seen_.insert(label).second) return;
    json item = {{"label", label}, {"kind", kind}, {"sortText", rank + label}};
    if (!detail.empty()) item["detail"] = detail;
    item.update(more);
    if (!item.contains("textEdit")) {
      const std::string text = item.contains("insertText") ? item["insertText"].get<std::string>() : label;
      item["textEdit"] = {{"range", range_json(*file_, begin_, offset_, context_.encoding)}, {"newText", text}};
      item.erase("insertText");
    }
    items_.push_back(std::move(item));
  }

  void add(const Target& t, const std::string& rank = "5") {
    const Declared& d = *t.declared;
    ItemKind kind = variable;
    if (d.kind == DeclKind::proc) kind = function;
    if (d.kind == DeclKind::special) kind = method;
    if (d.kind == DeclKind::array) kind = field;
    if (d.kind == DeclKind::index || d.kind == DeclKind::subindex) kind = constant;
    std::string detail = kind_words(d);
    if (d.kind == DeclKind::array) {
      detail = d.word + " ";
      for (std::size_t k = 0; k < d.dims.size(); ++k) detail += (k == 0 ? "[" : ",") + d.dims[k];
      detail += "]";
    }
    add(d.text, kind, detail, rank);
  }

  template <typename Wanted>
  void add_if(const Wanted& wanted, const std::string& rank = "5") {
    for (const Target& t : visible_)
      if (wanted(*t.declared)) add(t, rank);
  }
  void arrays(std::initializer_list<std::string_view> words, const std::string& rank = "5") {
    add_if(
        [&](const Declared& d) {
          return d.kind == DeclKind::array && std::find(words.begin(), words.end(), d.word) != words.end();
        },
        rank);
  }
  void kinds(std::initializer_list<DeclKind> wanted, const std::string& rank = "5") {
    add_if([&](const Declared& d) { return std::find(wanted.begin(), wanted.end(), d.kind) != wanted.end(); }, rank);
  }
  void keywords(std::string_view words, const std::string& rank) {
    for (const std::string_view w : words_of(words)) add(std::string(w), keyword, {}, rank);
  }
  void values(const std::string& rank = "5") {
    kinds({DeclKind::scalar, DeclKind::int_, DeclKind::array}, rank);
    add("sqrt", keyword, {}, "8");
  }

  // ---- places
  void find() {
    if (before_.empty()) {
      if (!in_string_) line_begin();
      return;
    }
    if (word(0) == "import") {
      import_names();
      return;
    }
    if (in_string_ || brackets()) return;
    after(word(0));
  }

  /// Inside `A[..`: indices that fit the dimension. False where no bracket is open.
  bool brackets() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (word(i) == "[") open.push_back(i);
      if (word(i) == "]" && !open.empty()) open.pop_back();
    }
    if (open.empty()) return false;
    const std::size_t bracket = open.back();
    std::size_t dimension = 0;
    for (std::size_t i = bracket + 1; i < before_.size(); ++i)
      if (word(i) == ",") ++dimension;
    if (begins_declaration(word(0))) {
      kinds({DeclKind::index, DeclKind::subindex});
      return true;
    }
    const std::string array = bracket > 0 ? word(bracket - 1) : std::string();
    const Declared* declared = declared_as(array);
    const std::string kind =
        declared && dimension < declared->dims.size() ? index_kind(declared->dims[dimension]) : std::string();
    std::set<std::string> bound;
    for (int b = file_->outline.block_around(line_); b >= 0;
         b = file_->outline.blocks[static_cast<std::size_t>(b)].parent) {
      const Block& block = file_->outline.blocks[static_cast<std::size_t>(b)];
      if (block.word == "do" || block.word == "pardo") bound.insert(block.names.begin(), block.names.end());
    }
    for (const Target& t : visible_) {
      const Declared& d = *t.declared;
      if (d.kind != DeclKind::index && d.kind != DeclKind::subindex) continue;
      if (!kind.empty() && index_kind(d.name) != kind) continue;
      const bool as_declared = declared && dimension < declared->dims.size() && declared->dims[dimension] == d.name;
      add(t, bound.contains(d.name) ? as_declared ? "1" : "2" : as_declared ? "3" : "4");
    }
    if (word(0) == "allocate" || word(0) == "deallocate") add("*", variable, "every segment", "6");
    return true;
  }

  const Declared* declared_as(const std::string& name) const {
    for (const Target& t : visible_)
      if (t.declared->name == name) return t.declared;
    return nullptr;
  }
  /// "aoindex", ...; of a subindex that of its parent.
  std::string index_kind(const std::string& name) const {
    const Declared* d = declared_as(name);
    if (d && d->kind == DeclKind::subindex) d = declared_as(d->parent);
    return d && d->kind == DeclKind::index ? d->word : std::string();
  }

  void line_begin() {
    const int around = file_->outline.block_around(line_);
    for (int b = around; b >= 0; b = file_->outline.blocks[static_cast<std::size_t>(b)].parent) {
      const Block& block = file_->outline.blocks[static_cast<std::size_t>(b)];
      const bool innermost = b == around;
      add(closing_line(block), keyword, "ends line " + std::to_string(block.line + 1), innermost ? "1" : "7");
      if (block.word == "proc" || block.word == "sial") break;
    }
    if (around < 0 && file_->outline.program.empty()) {
      keywords("sial import", "2");
      return;
    }
    if (may_declare()) keywords(declaration_words, "4");
    keywords(statement_words, "3");
    kinds({DeclKind::array, DeclKind::scalar, DeclKind::int_}, "5");
  }

  /// Whether no statement of the program stands above.
  bool may_declare() const {
    for (const Block& block : file_->outline.blocks)
      if (block.word == "proc" && block.line < line_ && line_ < block.end_line) return false;
    for (const TokenLine& line : file_->outline.lines) {
      if (line.line >= line_) break;
      const std::string first =
          lower_case(std::string_view(file_->text.bytes())
                         .substr(line.tokens[0].begin, line.tokens[0].end - line.tokens[0].begin));
      if (begins_declaration(first) || first == "sial" || first == "import" || first == "proc" || first == "endproc")
        continue;
      const bool in_proc = std::any_of(file_->outline.blocks.begin(), file_->outline.blocks.end(), [&](const Block& b) {
        return b.word == "proc" && b.line < line.line && line.line <= b.end_line;
      });
      if (!in_proc) return false;
    }
    return true;
  }

  static std::string closing_line(const Block& block) { return closing_word(block.word) + names_of(block); }
  static std::string names_of(const Block& block) {
    if (block.names.empty()) return {};
    std::string out = " " + block.names.front();
    for (std::size_t i = 1; i < block.names.size(); ++i) out += (block.word == "do" ? " in " : ", ") + block.names[i];
    return out;
  }

  void after(const std::string& first) {
    const std::size_t n = before_.size();
    const std::string last = word(n - 1);
    if (first == "enddo" || first == "endpardo" || first == "endproc" || first == "endsial") {
      if (n == 1) closing_names(first.substr(3));
    } else if (begins_declaration(first)) {
      declaration(first, n);
    } else if (first == "do") {
      if (n == 1) kinds({DeclKind::index, DeclKind::subindex});
      else if (last == "in") add_if([&](const Declared& d) { return parent_of(word(1)) == d.name; });
      else if (n == 2 && !parent_of(word(1)).empty()) add("in " + parent_of(word(1)), keyword, {}, "1");
    } else if (first == "pardo") {
      if (n == 1 || last == ",") kinds({DeclKind::index, DeclKind::subindex});
    } else if (first == "call") {
      if (n == 1) kinds({DeclKind::proc});
    } else if (first == "execute") {
      if (n == 1) specials();
      else kinds({DeclKind::array, DeclKind::scalar, DeclKind::int_});
    } else if (first == "where" || first == "if") {
      kinds({DeclKind::index}, "4");
      values();
    } else if (n == 1) {
      operand(first);
    } else if (first == "print" || first == "println" || first == "put" || first == "prepare" ||
               first == "collective" || std::any_of(before_.begin(), before_.end(), [&](const ClassedToken& t) {
                 return file_->text.bytes()[t.end - 1] == '=' && t.kind == TokenClass::sign;
               })) {
      values();
    } else if (first == "allocate" || first == "deallocate") {
      if (last == "contiguous") contiguous();
    } else if (first == "broadcast_from") {
      arrays({"static"});
    }
  }

  void contiguous() {
    add_if([](const Declared& d) { return d.kind == DeclKind::array && d.contiguous; });
  }

  std::string parent_of(const std::string& name) const {
    const Declared* d = declared_as(name);
    return d && d->kind == DeclKind::subindex ? d->parent : std::string();
  }

  /// After the keyword that begins a statement.
  void operand(const std::string& first) {
    if (first == "get" || first == "put" || first == "create" || first == "delete") {
      arrays({"distributed"});
    } else if (first == "request" || first == "prepare" || first == "destroy") {
      arrays({"served"});
    } else if (first == "allocate" || first == "deallocate") {
      add("contiguous", keyword, {}, "6");
      add_if([](const Declared& d) { return d.kind == DeclKind::array && d.word == "local" && !d.contiguous; });
    } else if (first == "collective" || first == "assert_same") {
      kinds({DeclKind::scalar});
    } else if (first == "broadcast_from") {
      kinds({DeclKind::int_, DeclKind::scalar});
    } else if (first == "set_persistent" || first == "restore_persistent") {
      arrays({"static", "distributed", "served"});
      kinds({DeclKind::scalar});
    } else if (first == "print" || first == "println") {
      for (const char* name : {"norm", "max", "elements"}) add(name, function, "of a block or a static array", "6");
      kinds({DeclKind::index}, "6");
      values();
    } else if (first.starts_with("gpu_")) {
      kinds({DeclKind::array});
    } else if (before_.front().kind == TokenClass::name) {
      return;  // an operator comes
    }
  }

  void closing_names(const std::string& opener) {
    const std::vector<Block>& blocks = file_->outline.blocks;
    for (const Block& block : blocks)
      if (block.word == opener && block.closed && block.end_line == line_) add_names(block, "1");
    for (int b = file_->outline.block_around(line_); b >= 0; b = blocks[static_cast<std::size_t>(b)].parent)
      if (blocks[static_cast<std::size_t>(b)].word == opener) add_names(blocks[static_cast<std::size_t>(b)], "2");
  }
  void add_names(const Block& block, const std::string& rank) {
    if (const std::string names = names_of(block); !names.empty())
      add(names.substr(1), variable, "begins in line " + std::to_string(block.line + 1), rank);
  }

  void declaration(const std::string& first, std::size_t n) {
    const std::string last = word(n - 1);
    if (first == "special") {
      if (n == 1)
        for (const SuperPage& page : super_pages()) {
          std::istringstream in{std::string(page.signatures)};
          std::string letters;
          in >> letters;
          const std::string name(page.name);
          add(name, method, std::string(page.meaning), "5",
              {{"insertText", letters == "-" ? name : name + " " + letters}});
        }
    } else if (last == "of") {
      kinds({DeclKind::index});
    } else if (last == "=" || last == ":") {
      add_if([](const Declared& d) { return d.kind == DeclKind::int_ && d.predefined; });
    } else if (last == "predefined") {
      keywords("int scalar static distributed served sparse", "3");
    } else if (last == "sparse") {
      keywords("distributed served", "3");
    } else if (last == "contiguous") {
      keywords("local", "3");
    }
  }

  void specials() {
    for (const Target& t : visible_) {
      if (t.declared->kind != DeclKind::special) continue;
      const SuperPage* page = find_super_page(t.declared->name);
      add(t.declared->text, method, page ? arguments(*page, t.declared->signature) : t.declared->signature, "3",
          page ? json{{"documentation", std::string(page->meaning)}} : json::object());
    }
    // Completes names that are not declared yet, with their declarations.
    const Declared* last = nullptr;
    for (const Declared& d : file_->outline.declared)
      if (d.kind != DeclKind::proc && (!last || d.line > last->line)) last = &d;
    if (!last) return;
    const std::uint32_t end =
        file_->text.line_begin(last->line) + static_cast<std::uint32_t>(file_->text.line(last->line).size());
    for (const SuperPage& page : super_pages()) {
      std::istringstream in{std::string(page.signatures)};
      std::string letters;
      in >> letters;
      if (letters == "-") letters.clear();
      const std::string declares = fmt::format("\nspecial {}{}{}", page.name, letters.empty() ? "" : " ", letters);
      add(std::string(page.name), method, arguments(page, letters), "6",
          {{"documentation", fmt::format("{}\n\nDeclares it, too.", page.meaning)},
           {"additionalTextEdits",
            {{{"range", range_json(*file_, end, end, context_.encoding)}, {"newText", declares}}}}});
    }
  }

  static std::string arguments(const SuperPage& page, const std::string& letters) {
    std::string out;
    for (std::size_t k = 0; k < letters.size(); ++k)
      out += (k == 0 ? "" : " ") + (k < page.arguments.size() ? page.arguments[k].name : std::string(1, letters[k]));
    return out;
  }

  void import_names() {
    namespace fs = std::filesystem;
    if (!in_string_) return;
    const std::string_view typed =
        std::string_view(file_->text.bytes()).substr(begin_ + 1, offset_ > begin_ ? offset_ - begin_ - 1 : 0);
    begin_ += 1;
    const std::size_t slash = typed.rfind('/');
    const std::string folder(slash == std::string_view::npos ? "" : typed.substr(0, slash + 1));
    std::error_code failed;
    std::size_t count = 0;
    const fs::path beside = fs::path(file_->path).parent_path() / folder;
    for (fs::directory_iterator it(beside, failed), end; !failed && it != end && count < 500; it.increment(failed))
      if (it->path().extension() == ".sialx" && it->path() != fs::path(file_->path)) {
        ++count;
        add(folder + it->path().filename().string(), file_name, {});
      }
  }

  Context& context_;
  FilePtr file_;
  std::uint32_t offset_;
  int line_;
  std::uint32_t begin_ = 0;           // of the word that is typed
  std::vector<ClassedToken> before_;  // tokens of the line before it
  bool in_string_ = false;
  std::vector<Target> visible_;
  std::set<std::string> seen_;
  json items_ = json::array();
};

}  // namespace

json completion(Context& context, const FilePtr& file, std::uint32_t offset) {
  return Completer(context, file, offset).items();
}

}  // namespace sial::lsp
