#include "compiler/ast/build_probe.h"

#include <SialLexer.h>
#include <SialParser.h>
#include <antlr4-runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/ast/build_rule.h"
#include "compiler/ast/build_stop.h"

namespace sial::parsing {

using L = SialLexer;

bool begins_declaration(int type) {
  switch (type) {
    case L::SCALAR:
    case L::INT:
    case L::STATIC:
    case L::TEMP:
    case L::LOCAL:
    case L::DISTRIBUTED:
    case L::SERVED:
    case L::SPECIAL:
    case L::PREDEFINED:
    case L::CONTIGUOUS:
    case L::SPARSE:
    case L::SUBINDEX:
    case L::INDEX:
    case L::AOINDEX:
    case L::MOINDEX:
    case L::MOAINDEX:
    case L::MOBINDEX:
    case L::LAINDEX: return true;
    default: return false;
  }
}

bool begins_line(int type) { return is_keyword(type) && type != L::IN && type != L::OF && type != L::SQRT; }

LineRule rule_of_line(int first_type) {
  if (begins_declaration(first_type)) return LineRule::declaration;
  switch (first_type) {
    case L::IMPORT: return LineRule::import_line;
    case L::SIAL: return LineRule::program_header;
    case L::ENDSIAL: return LineRule::program_end;
    case L::PROC: return LineRule::proc_header;
    case L::ENDPROC: return LineRule::proc_end;
    case L::DO: return LineRule::do_header;
    case L::ENDDO: return LineRule::do_end;
    case L::PARDO: return LineRule::pardo_header;
    case L::ENDPARDO: return LineRule::pardo_end;
    case L::WHERE: return LineRule::where_line;
    case L::IF: return LineRule::if_header;
    case L::ELSE: return LineRule::else_header;
    case L::ENDIF: return LineRule::if_end;
    case L::SECTION: return LineRule::section_header;
    case L::ENDSECTION: return LineRule::section_end;
    case L::GPU_ON: return LineRule::gpu_header;
    case L::GPU_OFF: return LineRule::gpu_end;
    default: return LineRule::statement;
  }
}

antlr4::ParserRuleContext* run_rule(SialParser& p, LineRule rule) {
  switch (rule) {
    case LineRule::import_line: return p.importLine();
    case LineRule::program_header: return p.programHeader();
    case LineRule::program_end: return p.programEnd();
    case LineRule::declaration: return p.declarationLine();
    case LineRule::proc_header: return p.procHeader();
    case LineRule::proc_end: return p.procEnd();
    case LineRule::do_header: return p.doHeader();
    case LineRule::do_end: return p.doEnd();
    case LineRule::pardo_header: return p.pardoHeader();
    case LineRule::pardo_end: return p.pardoEnd();
    case LineRule::where_line: return p.whereLine();
    case LineRule::if_header: return p.ifHeader();
    case LineRule::else_header: return p.elseHeader();
    case LineRule::if_end: return p.ifEnd();
    case LineRule::section_header: return p.sectionHeader();
    case LineRule::section_end: return p.sectionEnd();
    case LineRule::gpu_header: return p.gpuHeader();
    case LineRule::gpu_end: return p.gpuEnd();
    default: return p.statementLine();
  }
}

class LineProbe::Parser {
 public:
  std::optional<std::size_t> refused_at(LineRule rule, const std::vector<Token>& tokens) {
    std::vector<std::unique_ptr<antlr4::Token>> list;
    for (const Token& t : tokens)
      list.push_back(std::make_unique<antlr4::CommonToken>(static_cast<std::size_t>(t.type)));
    antlr4::ListTokenSource source(std::move(list));
    antlr4::CommonTokenStream stream(&source);
    SialParser parser(&stream);
    parser.removeErrorListeners();
    parser.setErrorHandler(strategy_);
    try {
      run_rule(parser, rule);
    } catch (const SyntaxStop& stop) { return std::min(stop.token_index, tokens.size()); }
    const std::size_t next = parser.getCurrentToken()->getTokenIndex();
    if (next < tokens.size()) return next;
    return std::nullopt;
  }

 private:
  std::shared_ptr<StopAtError> strategy_ = std::make_shared<StopAtError>();
};

LineProbe::LineProbe(ProbeMemo* memo) : parser_(std::make_unique<Parser>()), memo_(memo ? *memo : own_memo_) {}
LineProbe::~LineProbe() = default;

std::optional<std::size_t> LineProbe::refused_at(LineRule rule, const std::vector<Token>& tokens) {
  std::string key(1, static_cast<char>(rule));
  for (const Token& t : tokens) key += static_cast<char>(t.type);
  const auto [entry, added] = memo_.try_emplace(std::move(key));
  if (added) entry->second = parser_->refused_at(rule, tokens);
  return entry->second;
}

bool LineProbe::could_follow(LineRule rule, const std::vector<Token>& tokens, std::size_t count, int type) {
  std::vector<Token> prefix(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
  if (type != L::NL) prefix.push_back({type, 0, 0});
  const std::optional<std::size_t> refused = refused_at(rule, prefix);
  return !refused || (type != L::NL && *refused > count);
}

std::string LineProbe::expected(LineRule rule, const std::vector<Token>& tokens, std::size_t count) {
  std::set<int> possible;
  std::vector<int> candidates = {
      L::RBRACK,      L::RPAREN, L::COMMA, L::COLON, L::LBRACK, L::LPAREN, L::ASSIGN,  L::PLUS_ASSIGN, L::MINUS_ASSIGN,
      L::STAR_ASSIGN, L::EQ,     L::NE,    L::LE,    L::GE,     L::LT,     L::GT,      L::PLUS,        L::MINUS,
      L::STAR,        L::SLASH,  L::CARET, L::POW,   L::IDENT,  L::DOUBLE, L::INTEGER, L::STRING,      L::NL};
  for (const auto& [type, text] : keywords()) candidates.push_back(type);
  for (const int type : candidates)
    if (could_follow(rule, tokens, count, type)) possible.insert(type);

  std::vector<std::string> words;
  const auto take = [&](std::initializer_list<int> group, const char* name) {
    if (!std::all_of(group.begin(), group.end(), [&](int t) { return possible.count(t) > 0; })) return;
    for (const int t : group) possible.erase(t);
    words.emplace_back(name);
  };
  take({L::IDENT, L::DOUBLE, L::INTEGER, L::STRING, L::LPAREN, L::MINUS, L::SQRT}, "an expression");
  take({L::ASSIGN, L::PLUS_ASSIGN, L::MINUS_ASSIGN, L::STAR_ASSIGN}, "an assignment operator");
  take({L::EQ, L::NE, L::LE, L::GE, L::LT, L::GT}, "a comparison");
  const bool operators = possible.count(L::PLUS) > 0 && possible.count(L::STAR) > 0 && possible.count(L::SLASH) > 0;
  if (operators)
    for (const int t : {L::PLUS, L::MINUS, L::STAR, L::SLASH, L::CARET, L::POW, L::LBRACK}) possible.erase(t);
  for (const int type : candidates)
    if (possible.count(type) > 0) words.push_back(token_name(type));
  if (operators) words.emplace_back("an operator");
  if (words.size() > 6) return {};
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

}  // namespace sial::parsing
