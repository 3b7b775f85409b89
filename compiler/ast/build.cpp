#include "compiler/ast/build.h"

#include <SialLexer.h>
#include <SialParser.h>
#include <antlr4-runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/ast/build_cached.h"
#include "compiler/ast/build_lines.h"
#include "compiler/ast/build_stop.h"
#include "compiler/ast/build_tokens.h"
#include "compiler/ast/build_tree.h"
#include "runtime/core/base/module_limits.h"

namespace sial {
namespace {

using parsing::Line;
using parsing::Token;

bool is_operator(int type) {
  switch (type) {
    case SialLexer::PLUS:
    case SialLexer::MINUS:
    case SialLexer::STAR:
    case SialLexer::SLASH:
    case SialLexer::CARET:
    case SialLexer::POW:
    case SialLexer::SQRT:
    case SialLexer::LPAREN: return true;
    default: return false;
  }
}

/// Nothing may recurse deeper than the limits, the grammar's own parser included, so this looks at tokens only.
bool nesting_is_fine(const std::vector<Line>& lines, FileId file, Emitter& emitter) {
  int statements = 0;
  for (const Line& line : lines) {
    const Token& first = line.tokens.front();
    switch (first.type) {
      case SialLexer::DO:
      case SialLexer::PARDO:
      case SialLexer::IF:
      case SialLexer::SECTION:
      case SialLexer::GPU_ON:
      case SialLexer::PROC: ++statements; break;
      case SialLexer::ENDDO:
      case SialLexer::ENDPARDO:
      case SialLexer::ENDIF:
      case SialLexer::ENDSECTION:
      case SialLexer::GPU_OFF:
      case SialLexer::ENDPROC: statements = std::max(0, statements - 1); break;
      default: break;
    }
    if (statements > max_nesting) {
      emitter.report(Code::E_NESTING, {file, first.begin, first.end},
                     fmt::format("statements are nested more than {} levels deep", max_nesting),
                     "move inner loops to a procedure, or check that every loop above has its end");
      return false;
    }
    int depth = 0, operators = 0;
    for (const Token& t : line.tokens) {
      if (t.type == SialLexer::LPAREN) ++depth;
      if (t.type == SialLexer::RPAREN) --depth;
      if (is_operator(t.type)) ++operators;
      if (depth > max_nesting) {
        emitter.report(Code::E_NESTING, {file, t.begin, t.end},
                       fmt::format("parentheses are nested more than {} levels deep", max_nesting),
                       "compute parts of the expression into scalars first");
        return false;
      }
      if (operators > max_operators_per_line) {
        emitter.report(Code::E_NESTING, {file, t.begin, t.end},
                       fmt::format("more than {} operators and parentheses in one line", max_operators_per_line),
                       "compute parts of the expression into scalars first");
        return false;
      }
    }
  }
  return true;
}

/// The remedy for a file that is no UTF-8.
std::string what_instead(std::string_view text) {
  if (text.size() > 8 && text.substr(4, 4) == "SIOX")
    return "this is a compiled module: give it to sialrun, or sialc its source";
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return "convert the file with `iconv -f utf16 -t utf8`";
  if (std::count(text.begin(), text.end(), '\0') > 0) return "this is no text: is it the right file?";
  return "convert the file, for example with `iconv -f latin1 -t utf8`";
}

/// Names and numbers that later stages could not hold.
void check_sizes(const std::vector<Line>& lines, const SourceManager& sources, FileId file, Emitter& emitter) {
  for (const Line& line : lines)
    for (const Token& t : line.tokens) {
      const Span span{file, t.begin, t.end};
      if (t.type == SialLexer::IDENT && t.end - t.begin > max_name_length)
        emitter.report(
            Code::E_NAME_LENGTH, span,
            fmt::format("the name has {} characters; at most {} are possible", t.end - t.begin, max_name_length),
            "choose a shorter one");
      if (t.type == SialLexer::STRING && t.end - t.begin > max_module_text)
        emitter.report(
            Code::E_STRING, span,
            fmt::format("the string has {} bytes; at most {} are possible", t.end - t.begin, max_module_text),
            "print it in parts");
      if (t.type == SialLexer::DOUBLE && !std::isfinite(parsing::real_value(sources.slice(span))))
        emitter.report(Code::E_REAL_RANGE, span, "the number is too large for a scalar",
                       "the largest is about 1.797e308");
    }
}

/// `x.y` names an entity of a module; further dots have no meaning.
void check_dots(const std::vector<Line>& lines, const SourceManager& sources, FileId file, Emitter& emitter) {
  for (const Line& line : lines)
    for (const Token& t : line.tokens) {
      const bool dotted_operator = t.begin > 0 && sources.text(file)[t.begin - 1] == '.';  // `.lt.`
      if (t.type != SialLexer::IDENT || dotted_operator) continue;
      const std::string_view text = sources.slice({file, t.begin, t.end});
      const auto dots = std::count(text.begin(), text.end(), '.');
      if (dots == 0 || (dots == 1 && text.back() != '.')) continue;
      const std::string message = dots > 1 ? fmt::format("the name `{}` has {} dots", text, dots)
                                           : fmt::format("the name `{}` ends with a dot", text);
      emitter.report(Code::E_NAME_DOTS, {file, t.begin, t.end}, message,
                     "a dot only separates a module from its name, as in `defs.norb`");
    }
}

/// The file by the grammar's first rule; no module, and the offset, where that stops.
parsing::BuiltModule parse_whole(const SourceManager& sources, FileId file, ast::NodeId& next_id,
                                 std::uint32_t& stopped_at) {
  antlr4::ANTLRInputStream input(parsing::text_for_lexer(sources.text(file)));
  SialLexer lexer(&input);
  lexer.removeErrorListeners();
  antlr4::CommonTokenStream stream(&lexer);
  SialParser parser(&stream);
  parser.removeErrorListeners();
  parser.setErrorHandler(std::make_shared<parsing::StopAtError>());
  try {
    return parsing::build_tree(parser.compilationUnit(), sources, file, next_id);
  } catch (const parsing::SyntaxStop& stop) {
    stopped_at = std::min(stopped_at, static_cast<std::uint32_t>(stop.offset));
    return {};
  }
}

}  // namespace

std::unique_ptr<ast::Module> parse_module(const SourceManager& sources, FileId file, Emitter& emitter,
                                          ast::NodeId& next_id, LineTrees* known) {
  const std::string_view text = sources.text(file);
  const int errors_before = emitter.error_count();
  if (const std::size_t bad = parsing::find_invalid_utf8(text); bad != std::string_view::npos) {
    const auto at = static_cast<std::uint32_t>(bad);
    emitter.report(
        Code::E_UTF8, {file, at, at + 1},
        fmt::format("the byte {:#04x} at offset {} is not UTF-8", static_cast<unsigned char>(text[bad]), bad),
        what_instead(text));
    return nullptr;
  }
  parsing::CachedLines cached;
  if (known) cached = parsing::lex_cached(text, *known);
  else cached.lines = parsing::split_lines(parsing::lex(text), text.size());
  const std::vector<Line>& lines = cached.lines;
  if (!nesting_is_fine(lines, file, emitter)) return nullptr;
  check_dots(lines, sources, file, emitter);
  check_sizes(lines, sources, file, emitter);

  parsing::BuiltModule built;
  auto stopped_at = static_cast<std::uint32_t>(text.size());
  if (known) built = parsing::build_from_lines(cached, text, file, next_id, *known);
  else built = parse_whole(sources, file, next_id, stopped_at);
  if (!built.module || !built.end_names_agree) {
    const int before = emitter.error_count();
    parsing::diagnose_lines(lines, sources, file, emitter, known ? &parsing::probe_memo(*known) : nullptr);
    // What the line reader does not see must not pass: the grammar decides.
    if (emitter.error_count() == before) {
      if (known) parse_whole(sources, file, next_id, stopped_at);
      emitter.report(Code::E_SYNTAX, {file, stopped_at, stopped_at}, "this cannot stand here");
    }
  }
  if (emitter.error_count() > errors_before) return nullptr;
  return std::move(built.module);
}

}  // namespace sial
