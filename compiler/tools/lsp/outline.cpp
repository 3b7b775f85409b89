#include "compiler/tools/lsp/outline.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

namespace sial::lsp {
namespace {

const std::map<std::string, std::string>& closers() {
  static const std::map<std::string, std::string> words = {
      {"sial", "endsial"}, {"proc", "endproc"},       {"do", "enddo"},      {"pardo", "endpardo"},
      {"if", "endif"},     {"section", "endsection"}, {"gpu_on", "gpu_off"}};
  return words;
}

std::optional<std::string> opener_of(const std::string& closer) {
  for (const auto& [open, close] : closers())
    if (close == closer) return open;
  return std::nullopt;
}

class Reader {
 public:
  Reader(const Text& text, LineTrees& known) : text_(text) {
    for (std::vector<ClassedToken>& tokens : tokens_by_line(text.bytes(), known))
      out_.lines.push_back({text.line_of(tokens.front().begin), std::move(tokens)});
  }

  Outline read() {
    for (const TokenLine& line : out_.lines) {
      tokens_ = &line.tokens;
      line_ = line.line;
      read_line();
    }
    while (!open_.empty()) close_top(text_.line_count() - 1, false);
    for (std::size_t i = 0; i < out_.declared.size(); ++i)
      if (out_.declared[i].kind != DeclKind::program) out_.by_name.emplace(out_.declared[i].name, i);
    return std::move(out_);
  }

 private:
  std::size_t size() const { return tokens_->size(); }
  std::string word(std::size_t i) const {
    if (i >= size()) return {};
    const ClassedToken& t = (*tokens_)[i];
    return lower_case(std::string_view(text_.bytes()).substr(t.begin, t.end - t.begin));
  }
  bool is(std::size_t i, TokenClass kind) const { return i < size() && (*tokens_)[i].kind == kind; }

  void read_line() {
    const std::string first = is(0, TokenClass::keyword) ? word(0) : std::string();
    std::size_t declares = size();  // the name that this line declares
    if (first == "import") {
      if (is(1, TokenClass::string)) import();
    } else if (lsp::begins_declaration(first) || first == "proc" || first == "sial") {
      declares = declaration(first);
    }
    if (const std::optional<std::string> opener = opener_of(first)) close(*opener);
    if (closers().contains(first)) open(first);
    if (first == "else" && !open_.empty()) {
      Block& top = out_.blocks[static_cast<std::size_t>(open_.back())];
      if (top.word == "if") top.else_line = line_;
    }
    uses(first, declares);
  }

  void import() {
    const ClassedToken& t = (*tokens_)[1];
    std::string path = text_.bytes().substr(t.begin + 1, t.end - t.begin - 1);
    if (path.ends_with('"')) path.pop_back();
    out_.imports.push_back({std::move(path), t.begin, t.end, line_});
  }

  std::size_t declaration(const std::string& first) {
    Declared d;
    std::size_t i = 0;
    for (; is(i, TokenClass::keyword); ++i) {
      const std::string w = word(i);
      if (w == "predefined") d.predefined = true;
      else if (w == "contiguous") d.contiguous = true;
      else if (w == "sparse") d.sparse = true;
      else break;
    }
    d.word = is(i, TokenClass::keyword) ? word(i++) : first;
    if (!is(i, TokenClass::name)) return size();
    if (d.word == "scalar") d.kind = DeclKind::scalar;
    else if (d.word == "int") d.kind = DeclKind::int_;
    else if (d.word == "special") d.kind = DeclKind::special;
    else if (d.word == "proc") d.kind = DeclKind::proc;
    else if (d.word == "sial") d.kind = DeclKind::program;
    else if (d.word == "subindex") d.kind = DeclKind::subindex;
    else if (d.word.ends_with("index")) d.kind = DeclKind::index;
    else d.kind = DeclKind::array;
    d.begin = (*tokens_)[i].begin;
    d.end = (*tokens_)[i].end;
    d.name = word(i);
    d.text = text_.bytes().substr(d.begin, d.end - d.begin);
    d.line = d.end_line = line_;
    for (std::size_t k = i + 1; k < size(); ++k) {
      if (!is(k, TokenClass::name)) continue;
      if (d.kind == DeclKind::array) d.dims.push_back(word(k));
      else if (d.kind == DeclKind::subindex) d.parent = word(k);
      else if (d.kind == DeclKind::special && d.signature.empty()) d.signature = word(k);
    }
    if (d.kind == DeclKind::program && out_.program.empty()) out_.program = d.name;
    out_.declared.push_back(std::move(d));
    return i;
  }

  void uses(const std::string& first, std::size_t declares) {
    for (std::size_t i = 0; i < size(); ++i) {
      if (!is(i, TokenClass::name)) continue;
      if (first == "special" && i > declares) continue;  // its letters
      // `print norm(...)`
      if (i == 1 && (first == "print" || first == "println") && word(2) == "(") continue;
      const ClassedToken& t = (*tokens_)[i];
      NameUse use;
      use.begin = t.begin;
      use.end = t.end;
      use.line = line_;
      use.name = word(i);
      use.declares = i == declares;
      if (const std::size_t dot = use.name.find('.'); dot != std::string::npos) {
        use.qualifier = use.name.substr(0, dot);
        use.qualifier_begin = t.begin;
        use.qualifier_end = t.begin + static_cast<std::uint32_t>(dot);
        use.begin = use.qualifier_end + 1;
        use.name.erase(0, dot + 1);
      }
      out_.uses.push_back(std::move(use));
    }
  }

  void open(const std::string& opener) {
    Block block;
    block.word = opener;
    for (std::size_t i = 1; i < size() && opener != "if"; ++i)
      if (is(i, TokenClass::name)) block.names.push_back(word(i));
    block.line = block.end_line = line_;
    block.parent = open_.empty() ? -1 : open_.back();
    open_.push_back(static_cast<int>(out_.blocks.size()));
    out_.blocks.push_back(std::move(block));
  }

  void close(const std::string& opener) {
    std::vector<std::string> names;
    for (std::size_t i = 1; i < size(); ++i)
      if (is(i, TokenClass::name)) names.push_back(word(i));
    const auto find = [&](bool by_name) {
      for (std::size_t k = open_.size(); k-- > 0;) {
        const Block& block = out_.blocks[static_cast<std::size_t>(open_[k])];
        if (block.word == opener && (!by_name || block.names == names)) return k;
        const bool wall = block.word == "sial" || block.word == "proc";
        if (wall && opener != "sial" && opener != "proc") break;
      }
      return open_.size();
    };
    std::size_t found = find(true);
    if (found == open_.size()) found = find(false);
    if (found == open_.size()) return;
    while (open_.size() > found + 1) close_top(line_ - 1, false);
    close_top(line_, true);
  }

  void close_top(int line, bool closed) {
    Block& block = out_.blocks[static_cast<std::size_t>(open_.back())];
    block.end_line = std::max(line, block.line);
    block.closed = closed;
    open_.pop_back();
    if (block.word != "proc" && block.word != "sial") return;
    for (Declared& d : out_.declared)
      if (d.line == block.line) d.end_line = block.end_line;
  }

  const Text& text_;
  Outline out_;
  const std::vector<ClassedToken>* tokens_ = nullptr;
  int line_ = 0;
  std::vector<int> open_;
};

/// The text after `#` in a line, or nullopt. A `#` within a string begins no comment.
std::optional<std::string> comment_in(std::string_view line, bool whole_line) {
  bool in_string = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') in_string = !in_string;
    if (line[i] == '#' && !in_string) {
      std::string_view rest = line.substr(i);
      while (rest.starts_with('#')) rest.remove_prefix(1);
      if (rest.starts_with(' ')) rest.remove_prefix(1);
      return std::string(rest);
    }
    if (whole_line && line[i] != ' ' && line[i] != '\t' && line[i] != '\f') return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

const Declared* Outline::find(const std::string& name) const {
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : &declared[found->second];
}

const Declared* Outline::program_declared() const {
  for (const Declared& d : declared)
    if (d.kind == DeclKind::program) return &d;
  return nullptr;
}

const TokenLine* Outline::tokens_of(int line) const {
  const auto found =
      std::lower_bound(lines.begin(), lines.end(), line, [](const TokenLine& l, int n) { return l.line < n; });
  return found != lines.end() && found->line == line ? &*found : nullptr;
}

int Outline::block_around(int line) const {
  int found = -1;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].line >= line) break;
    if (blocks[i].end_line > line || (!blocks[i].closed && blocks[i].end_line >= line)) found = static_cast<int>(i);
  }
  return found;
}

Outline outline_of(const Text& text, LineTrees& known) { return Reader(text, known).read(); }

std::string comment_at(const Text& text, int line) {
  std::string out;
  int first = line;
  while (first > 0 && comment_in(text.line(first - 1), true)) --first;
  for (int k = first; k < line; ++k) out += *comment_in(text.line(k), true) + "\n";
  if (const std::optional<std::string> after = comment_in(text.line(line), false)) out += *after + "\n";
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

std::string closing_word(const std::string& word) {
  const auto found = closers().find(word);
  return found == closers().end() ? std::string() : found->second;
}

bool begins_declaration(const std::string& keyword) {
  static const std::set<std::string> words = {
      "scalar", "int",        "static",   "temp",  "local",   "distributed", "served",   "special",  "predefined",
      "sparse", "contiguous", "subindex", "index", "aoindex", "moindex",     "moaindex", "mobindex", "laindex"};
  return words.contains(keyword);
}

}  // namespace sial::lsp
