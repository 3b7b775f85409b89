#include "compiler/ast/build_cached.h"

#include <SialLexer.h>
#include <SialParser.h>
#include <antlr4-runtime.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "compiler/ast/build_rule.h"
#include "compiler/ast/build_stop.h"
#include "compiler/ast/copy.h"
#include "compiler/ast/tokens.h"

namespace sial::parsing {

/// One line, with places that count from its begin.
struct CachedLine {
  std::vector<Token> tokens;
  std::optional<LineTree> tree;  // none: not parsed yet, or refused
  bool parsed = false;
  unsigned used = 0;  // the last lex_cached that met it
};

}  // namespace sial::parsing

namespace sial {

struct LineTrees::State {
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, parsing::CachedLine, Hash, std::equal_to<>> lines;
  parsing::ProbeMemo probes;
  unsigned calls = 0;

  antlr4::ANTLRInputStream input;
  SialLexer lexer{&input};
  antlr4::CommonTokenStream stream{&lexer};
  SialParser parser{&stream};

  State() {
    lexer.removeErrorListeners();
    parser.removeErrorListeners();
    parser.setErrorHandler(std::make_shared<parsing::StopAtError>());
  }
};

LineTrees::LineTrees() : state_(std::make_unique<State>()) {}
LineTrees::~LineTrees() = default;
LineTrees::LineTrees(LineTrees&&) noexcept = default;
LineTrees& LineTrees::operator=(LineTrees&&) noexcept = default;
std::size_t LineTrees::size() const { return state_->lines.size(); }

namespace parsing {
namespace {

using L = SialLexer;

/// The same as text_for_lexer, for a line: a byte-order mark has a meaning at the begin of a file only.
std::string line_for_lexer(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) >= 0x80) c = '\x7f';
  return out;
}

std::vector<Token> lex_line(std::string_view text, LineTrees::State& state) {
  state.input.load(line_for_lexer(text));
  state.lexer.setInputStream(&state.input);
  std::vector<Token> out;
  for (;;) {
    const std::unique_ptr<antlr4::Token> t = state.lexer.nextToken();
    if (t->getType() == antlr4::Token::EOF) return out;
    out.push_back({static_cast<int>(t->getType()), static_cast<std::uint32_t>(t->getStartIndex()),
                   static_cast<std::uint32_t>(t->getStopIndex() + 1)});
  }
}

std::optional<LineTree> parse_line(std::string_view text, int first_type, LineTrees::State& state) {
  state.input.load(line_for_lexer(text));
  state.lexer.setInputStream(&state.input);
  state.stream.setTokenSource(&state.lexer);
  state.parser.setTokenStream(&state.stream);
  try {
    antlr4::ParserRuleContext* tree = run_rule(state.parser, rule_of_line(first_type));
    if (state.parser.getCurrentToken()->getType() != antlr4::Token::EOF) return std::nullopt;
    SourceManager source;
    return build_line(tree, source, source.add({}, {}, std::string(text)));
  } catch (const SyntaxStop&) { return std::nullopt; }
}

struct Refused {};

class Assembler {
 public:
  Assembler(const CachedLines& lines, std::string_view text, FileId file, ast::NodeId& next_id, LineTrees::State& state)
      : lines_(lines), text_(text), file_(file), next_id_(next_id), state_(state) {}

  BuiltModule module() {
    auto out = std::make_unique<ast::Module>();
    out->file = file_;
    while (type() == L::IMPORT) out->imports.push_back(ast::copy(*take().import, shift_));
    out->name = closing(L::SIAL).front();
    while (type() == L::PROC || begins_declaration(type())) out->declarations.push_back(declaration());
    out->statements = body();
    out->end_name = closing(L::ENDSIAL).front();
    compare({out->name}, {out->end_name});
    if (at_ < lines_.lines.size()) throw Refused{};
    return {std::move(out), agree_};
  }

 private:
  int type() const { return at_ < lines_.lines.size() ? lines_.lines[at_].tokens.front().type : 0; }

  /// The tree of the line reached, which is then behind us; shift_ and span_ are its place.
  const LineTree& take() {
    if (at_ >= lines_.lines.size()) throw Refused{};
    CachedLine& line = *lines_.cached[at_];
    const Line& placed = lines_.lines[at_];
    if (!std::exchange(line.parsed, true)) {
      const std::uint32_t begin = lines_.begins[at_];
      line.tree = parse_line(text_.substr(begin, placed.line_end.begin - begin), placed.tokens.front().type, state_);
    }
    if (!line.tree) throw Refused{};
    shift_ = {file_, lines_.begins[at_], next_id_};
    span_ = {file_, placed.tokens.front().begin, placed.tokens.back().end};
    next_id_ += line.tree->ids;
    ++at_;
    return *line.tree;
  }

  std::vector<ast::Name> closing(int wanted) {
    if (type() != wanted) throw Refused{};
    return ast::copy(take().names, shift_);
  }

  void compare(const std::vector<ast::Name>& opening, const std::vector<ast::Name>& end) {
    agree_ = agree_ && opening.size() == end.size();
    for (std::size_t i = 0; agree_ && i < opening.size(); ++i) agree_ = opening[i].name == end[i].name;
  }

  ast::Decl declaration() {
    if (type() != L::PROC) return ast::copy(*take().declaration, shift_);
    ast::Decl out;
    out.id = next_id_++;
    ast::ProcDecl proc;
    proc.name = closing(L::PROC).front();
    const Span header = span_;
    proc.body = body();
    proc.end_name = closing(L::ENDPROC).front();
    compare({proc.name}, {proc.end_name});
    out.span = cover(header, span_);
    out.node = std::move(proc);
    return out;
  }

  static bool begins_statement(int type) {
    switch (type) {
      case 0: return false;
      case L::DO:
      case L::PARDO:
      case L::IF:
      case L::SECTION:
      case L::GPU_ON: return true;
      default: return rule_of_line(type) == LineRule::statement;
    }
  }

  ast::Body body() {
    ast::Body out;
    while (begins_statement(type())) out.push_back(statement());
    return out;
  }

  std::vector<ast::Relation> wheres() {
    std::vector<ast::Relation> out;
    while (type() == L::WHERE) {
      const LineTree& line = take();
      out.push_back(ast::copy(*line.where, shift_));
    }
    return out;
  }

  ast::StmtPtr statement() {
    const int opener = type();
    const LineTree& line = take();
    ast::StmtPtr out = ast::copy(line.statement, shift_);
    switch (opener) {
      case L::DO:
        if (auto* loop = std::get_if<ast::DoLoop>(&out->node)) do_loop(*loop);
        else sub_loop(std::get<ast::SubLoop>(out->node));
        break;
      case L::PARDO: {
        auto& loop = std::get<ast::PardoLoop>(out->node);
        loop.wheres = wheres();
        loop.body = body();
        loop.end_indices = closing(L::ENDPARDO);
        compare(loop.indices, loop.end_indices);
        break;
      }
      case L::IF: {
        auto& branch = std::get<ast::If>(out->node);
        branch.then_body = body();
        branch.has_else = type() == L::ELSE;
        if (branch.has_else) {
          take();
          branch.else_body = body();
        }
        closing(L::ENDIF);
        break;
      }
      case L::SECTION:
        std::get<ast::Section>(out->node).body = body();
        closing(L::ENDSECTION);
        break;
      case L::GPU_ON:
        std::get<ast::GpuSection>(out->node).body = body();
        closing(L::GPU_OFF);
        break;
      default: return out;
    }
    out->span = cover(out->header_span, span_);
    return out;
  }

  void do_loop(ast::DoLoop& loop) {
    loop.wheres = wheres();
    loop.body = body();
    std::vector<ast::Name> end = closing(L::ENDDO);
    compare({loop.index}, end);
    loop.end_index = std::move(end.front());
  }

  void sub_loop(ast::SubLoop& loop) {
    loop.wheres = wheres();
    loop.body = body();
    std::vector<ast::Name> end = closing(L::ENDDO);
    compare({loop.index, loop.parent}, end);
    loop.end_index = std::move(end.front());
    if (end.size() > 1) loop.end_parent = std::move(end[1]);
  }

  const CachedLines& lines_;
  std::string_view text_;
  FileId file_;
  ast::NodeId& next_id_;
  LineTrees::State& state_;
  std::size_t at_ = 0;
  ast::Shift shift_;
  Span span_;
  bool agree_ = true;
};

/// Lines that have not been met for some time are dropped when they are the most.
void evict(LineTrees::State& state, std::size_t in_file) {
  if (state.lines.size() > 4 * in_file + 4000)
    std::erase_if(state.lines, [&](const auto& entry) { return entry.second.used + 16 < state.calls; });
  if (state.probes.size() > 20000) state.probes.clear();
}

}  // namespace

CachedLines lex_cached(std::string_view text, LineTrees& trees) {
  LineTrees::State& state = trees.state();
  ++state.calls;
  CachedLines out;
  std::size_t begin = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    std::size_t next = std::min(end + 1, text.size());
    if (text.substr(end, 2) == "\r\n") ++next;
    const std::string_view line = text.substr(begin, end - begin);
    auto known = state.lines.find(line);
    if (known == state.lines.end()) {
      known = state.lines.emplace(std::string(line), CachedLine{}).first;
      known->second.tokens = lex_line(line, state);
    }
    known->second.used = state.calls;
    if (!known->second.tokens.empty()) {
      Line placed;
      placed.tokens = known->second.tokens;
      const auto shift = static_cast<std::uint32_t>(begin);
      for (Token& t : placed.tokens) {
        t.begin += shift;
        t.end += shift;
      }
      placed.line_end = {L::NL, static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(next)};
      out.lines.push_back(std::move(placed));
      out.cached.push_back(&known->second);
      out.begins.push_back(shift);
    }
    begin = next;
  }
  evict(state, out.lines.size());
  return out;
}

BuiltModule build_from_lines(const CachedLines& lines, std::string_view text, FileId file, ast::NodeId& next_id,
                             LineTrees& trees) {
  const ast::NodeId first_id = next_id;
  try {
    return Assembler(lines, text, file, next_id, trees.state()).module();
  } catch (const Refused&) {
    next_id = first_id;
    return {};
  }
}

ProbeMemo& probe_memo(LineTrees& trees) { return trees.state().probes; }

namespace {

TokenClass class_of(int type) {
  if (is_keyword(type) || type == L::RESERVED) return TokenClass::keyword;
  switch (type) {
    case L::IDENT: return TokenClass::name;
    case L::INTEGER:
    case L::DOUBLE: return TokenClass::number;
    case L::STRING:
    case L::UNTERMINATED_STRING: return TokenClass::string;
    case L::UNKNOWN: return TokenClass::unknown;
    default: return TokenClass::sign;
  }
}

}  // namespace
}  // namespace parsing

std::vector<std::vector<ClassedToken>> tokens_by_line(std::string_view text, LineTrees& known) {
  std::vector<std::vector<ClassedToken>> out;
  for (const parsing::Line& line : parsing::lex_cached(text, known).lines) {
    std::vector<ClassedToken>& tokens = out.emplace_back();
    tokens.reserve(line.tokens.size());
    for (const parsing::Token& t : line.tokens) tokens.push_back({parsing::class_of(t.type), t.begin, t.end});
  }
  return out;
}

bool is_reserved_word(std::string_view lower) {
  LineTrees trees;
  const auto lines = tokens_by_line(lower, trees);
  return lines.size() == 1 && lines.front().size() == 1 && lines.front().front().kind == TokenClass::keyword;
}

}  // namespace sial
