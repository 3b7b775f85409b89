#include "compiler/ast/build_tree.h"

#include <SialParser.h>
#include <antlr4-runtime.h>

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "compiler/ast/build_tokens.h"
#include "runtime/core/base/check.h"

namespace sial::parsing {
namespace {

using antlr4::ParserRuleContext;
using antlr4::tree::ParseTree;
using antlr4::tree::TerminalNode;
using namespace ast;
using P = SialParser;

class TreeBuilder {
 public:
  TreeBuilder(const SourceManager& sources, FileId file, NodeId& next_id)
      : sources_(sources), file_(file), next_id_(next_id) {}

  BuiltModule build(P::CompilationUnitContext* unit) {
    auto module = std::make_unique<Module>();
    module->file = file_;
    for (ParseTree* child : unit->children)
      if (auto* line = dynamic_cast<P::ImportLineContext*>(child)) module->imports.push_back(import_line(line));
    P::ProgramContext* program = unit->program();
    module->name = name_of(program->programHeader()->IDENT());
    module->end_name = name_of(program->programEnd()->IDENT());
    compare(module->name, module->end_name);
    for (ParseTree* child : program->children)
      if (auto* d = dynamic_cast<P::DeclarationContext*>(child)) module->declarations.push_back(declaration(d));
    module->statements = body(program);
    return {std::move(module), agree_};
  }

  LineTree line(ParserRuleContext* c) {
    LineTree out;
    const auto empty_statement = [&] {
      out.statement = std::make_unique<Stmt>();
      out.statement->id = next_id_++;
      out.statement->span = out.statement->header_span = span_of(c);
      return out.statement.get();
    };
    if (auto* import = dynamic_cast<P::ImportLineContext*>(c)) {
      out.import = import_line(import);
    } else if (auto* d = dynamic_cast<P::DeclarationLineContext*>(c)) {
      out.declaration.emplace();
      out.declaration->id = next_id_++;
      out.declaration->span = span_of(c);
      declaration_line(d, *out.declaration);
    } else if (auto* s = dynamic_cast<P::StatementLineContext*>(c)) {
      simple_statement(s, *empty_statement());
    } else if (auto* header = dynamic_cast<P::DoHeaderContext*>(c)) {
      Stmt* statement = empty_statement();
      std::vector<Name> open = names_in(header);
      if (open.size() == 1) statement->node = DoLoop{std::move(open[0]), {}, {}, {}};
      else statement->node = SubLoop{std::move(open[0]), std::move(open[1]), {}, {}, {}, {}};
    } else if (auto* header = dynamic_cast<P::PardoHeaderContext*>(c)) {
      empty_statement()->node = pardo_header(header);
    } else if (auto* header = dynamic_cast<P::IfHeaderContext*>(c)) {
      Stmt* statement = empty_statement();
      If node;
      node.condition = relation(header->relation());
      statement->node = std::move(node);
    } else if (dynamic_cast<P::SectionHeaderContext*>(c)) {
      empty_statement()->node = Section{};
    } else if (dynamic_cast<P::GpuHeaderContext*>(c)) {
      empty_statement()->node = GpuSection{};
    } else if (auto* w = dynamic_cast<P::WhereLineContext*>(c)) {
      out.where = relation(w->relation());
    } else if (auto* end = dynamic_cast<P::PardoEndContext*>(c)) {
      out.names = names_in(end->indexNames());
    } else {
      out.names = names_in(c);
    }
    return out;
  }

 private:
  // ---- places and names
  Span span_of(antlr4::Token* first, antlr4::Token* last) const {
    return {file_, static_cast<std::uint32_t>(first->getStartIndex()),
            static_cast<std::uint32_t>(last->getStopIndex() + 1)};
  }
  Span span_of(ParserRuleContext* c) const { return span_of(c->start, c->stop); }
  Span span_of(TerminalNode* t) const { return span_of(t->getSymbol(), t->getSymbol()); }
  std::string text_of(Span s) const { return std::string(sources_.slice(s)); }
  std::string inner_text(Span quoted) const { return text_of({quoted.file, quoted.begin + 1, quoted.end - 1}); }

  Name name_of(TerminalNode* t) const {
    const Span span = span_of(t);
    std::string text = text_of(span);
    return {lower_case(text), text, span};
  }
  std::vector<Name> names_in(ParserRuleContext* c) const {
    std::vector<Name> out;
    for (ParseTree* child : c->children)
      if (TerminalNode* t = terminal(child, P::IDENT)) out.push_back(name_of(t));
    return out;
  }
  static TerminalNode* terminal(ParseTree* node) { return dynamic_cast<TerminalNode*>(node); }
  static TerminalNode* terminal(ParseTree* node, std::size_t type) {
    TerminalNode* t = terminal(node);
    return t && t->getSymbol()->getType() == type ? t : nullptr;
  }
  static std::size_t type_of(ParseTree* node) { return terminal(node)->getSymbol()->getType(); }

  void compare(const Name& opening, const Name& closing) { agree_ = agree_ && opening.name == closing.name; }

  // ---- numbers
  std::int64_t integer(TerminalNode* t) const {
    const std::string text = text_of(span_of(t));
    std::int64_t value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    // Beyond 64 bits the value only has to stay out of the range of ints, which the checker reports.
    return result.ec == std::errc() ? value : std::numeric_limits<std::int64_t>::max();
  }
  double real(TerminalNode* t) const { return real_value(text_of(span_of(t))); }

  // ---- declarations
  Import import_line(P::ImportLineContext* c) const {
    const Span span = span_of(c->STRING());
    return {inner_text(span), span, -1};
  }

  Modifiers modifiers(ParserRuleContext* c) const {
    Modifiers out;
    for (ParseTree* child : c->children)
      if (auto* m = dynamic_cast<P::ModifierContext*>(child)) {
        out.span = out.span.file < 0 ? span_of(m) : cover(out.span, span_of(m));
        if (m->PREDEFINED()) out.predefined = true;
        if (m->CONTIGUOUS()) out.contiguous = true;
        if (m->SPARSE()) out.sparse = true;
      }
    return out;
  }

  Decl declaration(P::DeclarationContext* c) {
    Decl out;
    out.id = next_id_++;
    out.span = span_of(c);
    if (auto* proc = c->procedure()) {
      ProcDecl p{name_of(proc->procHeader()->IDENT()), {}, name_of(proc->procEnd()->IDENT())};
      compare(p.name, p.end_name);
      p.body = body(proc);
      out.node = std::move(p);
      return out;
    }
    declaration_line(c->declarationLine(), out);
    return out;
  }

  void declaration_line(P::DeclarationLineContext* line, Decl& out) const {
    if (auto* s = line->scalarDecl()) {
      ScalarDecl d{modifiers(s), name_of(s->IDENT()), std::nullopt};
      if (s->DOUBLE()) d.initial = real(s->DOUBLE());
      out.node = std::move(d);
    } else if (auto* n = line->intDecl()) {
      IntDecl d{modifiers(n), name_of(n->IDENT()), std::nullopt};
      if (n->INTEGER()) d.initial = integer(n->INTEGER());
      out.node = std::move(d);
    } else if (auto* i = line->indexDecl()) {
      out.node = IndexDecl{modifiers(i), index_kind(i->indexKind()), name_of(i->IDENT()), bound(i->rangeBound(0)),
                           bound(i->rangeBound(1))};
    } else if (auto* sub = line->subindexDecl()) {
      out.node = SubindexDecl{name_of(sub->IDENT(0)), name_of(sub->IDENT(1))};
    } else if (auto* a = line->arrayDecl()) {
      std::vector<Name> names = names_in(a);
      ArrayDecl d{modifiers(a), array_kind(a->arrayKind()), std::move(names.front()), {}};
      d.dims.assign(std::make_move_iterator(names.begin() + 1), std::make_move_iterator(names.end()));
      out.node = std::move(d);
    } else {
      std::vector<Name> names = names_in(line->specialDecl());
      SpecialDecl d{std::move(names.front()), std::nullopt};
      if (names.size() > 1) d.signature = std::move(names[1]);
      out.node = std::move(d);
    }
  }

  RangeBound bound(P::RangeBoundContext* c) const {
    RangeBound out;
    out.span = span_of(c);
    out.negative = c->MINUS() != nullptr;
    if (c->INTEGER()) out.literal = integer(c->INTEGER());
    else out.name = name_of(c->IDENT());
    return out;
  }

  static ast::IndexKind index_kind(P::IndexKindContext* c) {
    switch (type_of(c->children.front())) {
      case P::AOINDEX: return IndexKind::ao;
      case P::MOINDEX: return IndexKind::mo;
      case P::MOAINDEX: return IndexKind::moa;
      case P::MOBINDEX: return IndexKind::mob;
      case P::LAINDEX: return IndexKind::la;
      default: return IndexKind::simple;
    }
  }
  static ast::ArrayKind array_kind(P::ArrayKindContext* c) {
    switch (type_of(c->children.front())) {
      case P::STATIC: return ArrayKind::static_;
      case P::LOCAL: return ArrayKind::local;
      case P::DISTRIBUTED: return ArrayKind::distributed;
      case P::SERVED: return ArrayKind::served;
      default: return ArrayKind::temp;
    }
  }

  // ---- statements
  /// The statements that are direct children, in order.
  Body body(ParserRuleContext* c) {
    Body out;
    for (ParseTree* child : c->children)
      if (auto* s = dynamic_cast<P::StatementContext*>(child)) out.push_back(statement(s));
    return out;
  }
  std::vector<Relation> wheres(ParserRuleContext* c) {
    std::vector<Relation> out;
    for (ParseTree* child : c->children)
      if (auto* w = dynamic_cast<P::WhereLineContext*>(child)) out.push_back(relation(w->relation()));
    return out;
  }

  StmtPtr statement(P::StatementContext* c) {
    auto out = std::make_unique<Stmt>();
    out->id = next_id_++;
    out->span = out->header_span = span_of(c);
    if (auto* line = c->statementLine()) {
      simple_statement(line, *out);
    } else if (auto* d = c->doLoop()) {
      out->header_span = span_of(d->doHeader());
      do_loop(d, *out);
    } else if (auto* p = c->pardoLoop()) {
      out->header_span = span_of(p->pardoHeader());
      pardo_loop(p, *out);
    } else if (auto* i = c->ifStatement()) {
      out->header_span = span_of(i->ifHeader());
      If node;
      node.condition = relation(i->ifHeader()->relation());
      node.then_body = body(i->thenPart());
      node.has_else = i->elsePart() != nullptr;
      if (node.has_else) node.else_body = body(i->elsePart());
      out->node = std::move(node);
    } else if (auto* s = c->section()) {
      out->header_span = span_of(s->sectionHeader());
      out->node = Section{body(s)};
    } else {
      out->header_span = span_of(c->gpuSection()->gpuHeader());
      out->node = GpuSection{body(c->gpuSection())};
    }
    return out;
  }

  void do_loop(P::DoLoopContext* c, Stmt& out) {
    std::vector<Name> open = names_in(c->doHeader()), close = names_in(c->doEnd());
    compare(open, close);
    if (open.size() == 1) {
      DoLoop loop{std::move(open[0]), wheres(c), {}, std::move(close[0])};
      loop.body = body(c);
      out.node = std::move(loop);
    } else {
      SubLoop loop{std::move(open[0]), std::move(open[1]), wheres(c), {}, std::move(close[0]), {}};
      if (close.size() > 1) loop.end_parent = std::move(close[1]);
      loop.body = body(c);
      out.node = std::move(loop);
    }
  }

  PardoLoop pardo_header(P::PardoHeaderContext* c) const {
    PardoLoop loop;
    loop.indices = names_in(c->indexNames());
    if (TerminalNode* pragma = c->STRING()) {
      loop.pragma_span = span_of(pragma);
      loop.pragma = inner_text(loop.pragma_span);
    }
    return loop;
  }

  void pardo_loop(P::PardoLoopContext* c, Stmt& out) {
    PardoLoop loop = pardo_header(c->pardoHeader());
    loop.end_indices = names_in(c->pardoEnd()->indexNames());
    compare(loop.indices, loop.end_indices);
    loop.wheres = wheres(c);
    loop.body = body(c);
    out.node = std::move(loop);
  }

  void compare(const std::vector<Name>& opening, const std::vector<Name>& closing) {
    agree_ = agree_ && opening.size() == closing.size();
    for (std::size_t i = 0; agree_ && i < opening.size(); ++i) compare(opening[i], closing[i]);
  }

  void simple_statement(P::StatementLineContext* c, Stmt& out) {
    if (auto* s = dynamic_cast<P::AssignNameContext*>(c)) {
      out.node = AssignName{name_of(s->IDENT()), op(s->assignOp()), expr(s->expr()), span_of(s->assignOp())};
    } else if (auto* s = dynamic_cast<P::AssignBlockContext*>(c)) {
      out.node = AssignBlock{block(s->block()), op(s->assignOp()), expr(s->expr()), span_of(s->assignOp())};
    } else if (auto* s = dynamic_cast<P::AssignRegionContext*>(c)) {
      Region target = region(s->region());
      out.node = AssignRegion{std::move(target), op(s->assignOp()), expr(s->expr()), span_of(s->assignOp())};
    } else if (auto* s = dynamic_cast<P::GetStatementContext*>(c)) {
      out.node = Get{s->REQUEST() != nullptr, block(s->block())};
    } else if (auto* s = dynamic_cast<P::PutStatementContext*>(c)) {
      out.node =
          Put{s->PREPARE() != nullptr, block(s->block()), op(s->assignOp()), expr(s->expr()), span_of(s->assignOp())};
    } else if (auto* s = dynamic_cast<P::ExecuteStatementContext*>(c)) {
      Execute node{name_of(s->IDENT()), {}};
      for (P::ArgumentContext* a : s->argument()) node.args.push_back(argument(a));
      out.node = std::move(node);
    } else if (auto* s = dynamic_cast<P::CallStatementContext*>(c)) {
      out.node = Call{name_of(s->IDENT())};
    } else if (auto* s = dynamic_cast<P::PrintStatementContext*>(c)) {
      out.node = Print{s->PRINTLN() != nullptr, expr(s->expr())};
    } else if (auto* s = dynamic_cast<P::InspectStatementContext*>(c)) {
      Inspect node{s->PRINTLN() != nullptr, name_of(s->IDENT()), inspected(s->inspected()), {}};
      for (P::ExprContext* e : s->expr()) node.options.push_back(expr(e));
      out.node = std::move(node);
    } else if (auto* s = dynamic_cast<P::AllocateStatementContext*>(c)) {
      Allocate node{s->DEALLOCATE() != nullptr, name_of(s->IDENT()), std::nullopt};
      if (s->wildcardSelector()) node.selector = wildcard_selector(s->wildcardSelector());
      out.node = std::move(node);
    } else if (auto* s = dynamic_cast<P::AllocateRegionStatementContext*>(c)) {
      out.node = AllocateRegion{s->DEALLOCATE() != nullptr, region(s->region())};
    } else if (auto* s = dynamic_cast<P::BarrierStatementContext*>(c)) {
      out.node = Barrier{s->SERVER_BARRIER() != nullptr};
    } else if (auto* s = dynamic_cast<P::CollectiveStatementContext*>(c)) {
      out.node = Collective{name_of(s->IDENT()), op(s->assignOp()), expr(s->expr()), span_of(s->assignOp())};
    } else if (auto* s = dynamic_cast<P::PersistentStatementContext*>(c)) {
      const Span label = span_of(s->STRING());
      out.node = Persistent{s->RESTORE_PERSISTENT() != nullptr, name_of(s->IDENT()), inner_text(label), label};
    } else if (auto* s = dynamic_cast<P::CreateStatementContext*>(c)) {
      out.node = Create{name_of(s->IDENT())};
    } else if (auto* s = dynamic_cast<P::DeleteStatementContext*>(c)) {
      out.node = Delete{s->DESTROY() != nullptr, name_of(s->IDENT())};
    } else if (auto* s = dynamic_cast<P::AssertSameStatementContext*>(c)) {
      out.node = AssertSame{name_of(s->IDENT())};
    } else if (auto* s = dynamic_cast<P::BroadcastStatementContext*>(c)) {
      out.node = Broadcast{primary(s->primary()), name_of(s->IDENT())};
    } else if (auto* s = dynamic_cast<P::GpuStatementContext*>(c)) {
      out.node = GpuOp{gpu_op(type_of(s->children.front())), argument(s->argument())};
    } else if (dynamic_cast<P::ReturnStatementContext*>(c)) {
      out.node = Return{};
    } else if (dynamic_cast<P::StopStatementContext*>(c)) {
      out.node = Stop{};
    } else {
      SIAL_CHECK(dynamic_cast<P::ExitStatementContext*>(c), "a statement of the grammar has no AST");
      out.node = Exit{};
    }
  }

  static AssignOp op(P::AssignOpContext* c) {
    switch (type_of(c->children.front())) {
      case P::PLUS_ASSIGN: return AssignOp::add;
      case P::MINUS_ASSIGN: return AssignOp::subtract;
      case P::STAR_ASSIGN: return AssignOp::multiply;
      default: return AssignOp::set;
    }
  }
  static GpuOpKind gpu_op(std::size_t type) {
    switch (type) {
      case P::GPU_FREE: return GpuOpKind::free;
      case P::GPU_PUT: return GpuOpKind::put;
      case P::GPU_GET: return GpuOpKind::get;
      default: return GpuOpKind::allocate;
    }
  }

  std::vector<WildcardIndex> wildcard_selector(P::WildcardSelectorContext* c) const {
    std::vector<WildcardIndex> out;
    for (P::WildcardIndexContext* w : c->wildcardIndex()) {
      WildcardIndex entry{std::nullopt, span_of(w)};
      if (w->IDENT()) entry.index = name_of(w->IDENT());
      out.push_back(std::move(entry));
    }
    return out;
  }

  Arg argument(P::ArgumentContext* c) {
    Arg out{span_of(c), Name{}};
    if (c->region()) out.node = region(c->region());
    else if (c->block()) out.node = block(c->block());
    else if (c->DOUBLE()) out.node = RealLit{real(c->DOUBLE()), text_of(out.span)};
    else if (c->INTEGER()) out.node = IntLit{integer(c->INTEGER())};
    else out.node = name_of(c->IDENT());
    return out;
  }

  Arg inspected(P::InspectedContext* c) {
    Arg out{span_of(c), Name{}};
    if (c->region()) out.node = region(c->region());
    else if (c->block()) out.node = block(c->block());
    else out.node = name_of(c->IDENT());
    return out;
  }

  // ---- blocks and expressions
  Block block(P::BlockContext* c) const {
    Block out{name_of(c->IDENT()), {}};
    for (P::BlockIndexContext* i : c->blockIndex())
      out.indices.push_back({name_of(i->IDENT()), i->INDEX() != nullptr, span_of(i)});
    return out;
  }
  Region region(P::RegionContext* c) {
    Region out{name_of(c->IDENT()), {}};
    for (P::SegmentRangeContext* r : c->segmentRange()) {
      ExprPtr lo = expr(r->expr(0));
      out.ranges.push_back({std::move(lo), expr(r->expr(1))});
    }
    return out;
  }

  Relation relation(P::RelationContext* c) {
    Relation out;
    out.left = expr(c->expr(0));
    out.right = expr(c->expr(1));
    out.span = span_of(c);
    out.op_span = span_of(c->relationOp());
    switch (type_of(c->relationOp()->children.front())) {
      case P::LT: out.op = RelOp::lt; break;
      case P::GT: out.op = RelOp::gt; break;
      case P::LE: out.op = RelOp::le; break;
      case P::GE: out.op = RelOp::ge; break;
      case P::NE: out.op = RelOp::ne; break;
      default: out.op = RelOp::eq;
    }
    return out;
  }

  template <typename Node>
  ExprPtr make(Span span, Node node) {
    auto out = std::make_unique<Expr>();
    out->id = next_id_++;
    out->span = span;
    out->node = std::move(node);
    return out;
  }

  static BinaryOp binary_op(std::size_t type) {
    switch (type) {
      case P::PLUS: return BinaryOp::add;
      case P::MINUS: return BinaryOp::subtract;
      case P::STAR: return BinaryOp::multiply;
      case P::SLASH: return BinaryOp::divide;
      case P::CARET: return BinaryOp::tensor;
      default: return BinaryOp::power;
    }
  }

  /// operand (operator operand)*, left associative.
  ExprPtr chain(ParserRuleContext* c) {
    ExprPtr left = operand(c->children[0]);
    for (std::size_t i = 1; i + 1 < c->children.size(); i += 2) {
      const Span op_span = span_of(terminal(c->children[i]));
      ExprPtr right = operand(c->children[i + 1]);
      const Span span = cover(left->span, right->span);
      left = make(span, Binary{binary_op(type_of(c->children[i])), std::move(left), std::move(right), op_span});
    }
    return left;
  }
  ExprPtr operand(ParseTree* node) {
    if (auto* t = dynamic_cast<P::TermContext*>(node)) return chain(t);
    if (auto* p = dynamic_cast<P::PowerContext*>(node)) return chain(p);
    return cast(dynamic_cast<P::CastExprContext*>(node));
  }
  ExprPtr expr(P::ExprContext* c) { return chain(c); }

  ExprPtr cast(P::CastExprContext* c) {
    if (c->unary()) return unary(c->unary());
    const CastType type = c->INT() ? CastType::int_ : c->SCALAR() ? CastType::scalar : CastType::index;
    return make(span_of(c), Cast{type, cast(c->castExpr())});
  }
  ExprPtr unary(P::UnaryContext* c) {
    if (c->MINUS()) return make(span_of(c), Unary{UnaryOp::negate, primary(c->primary())});
    if (c->SQRT()) return make(span_of(c), Unary{UnaryOp::sqrt, primary(c->primary())});
    return primary(c->primary());
  }
  ExprPtr primary(P::PrimaryContext* c) {
    const Span span = span_of(c);
    if (auto* p = dynamic_cast<P::ParenthesisContext*>(c)) return make(span, Paren{expr(p->expr())});
    if (auto* n = dynamic_cast<P::IntLiteralContext*>(c)) return make(span, IntLit{integer(n->INTEGER())});
    if (auto* r = dynamic_cast<P::RealLiteralContext*>(c)) return make(span, RealLit{real(r->DOUBLE()), text_of(span)});
    if (dynamic_cast<P::StringLiteralContext*>(c)) return make(span, StringLit{inner_text(span)});
    if (auto* b = dynamic_cast<P::BlockOperandContext*>(c)) return make(span, BlockExpr{block(b->block())});
    if (auto* r = dynamic_cast<P::RegionOperandContext*>(c)) return make(span, RegionExpr{region(r->region())});
    return make(span, NameExpr{name_of(dynamic_cast<P::NameOperandContext*>(c)->IDENT())});
  }

  const SourceManager& sources_;
  FileId file_;
  NodeId& next_id_;
  bool agree_ = true;
};

}  // namespace

double real_value(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  // Out of range leaves the value as it was, whichever end of the range it is.
  return result.ec == std::errc() ? value : std::strtod(std::string(text).c_str(), nullptr);
}

BuiltModule build_tree(antlr4::ParserRuleContext* unit, const SourceManager& sources, FileId file,
                       ast::NodeId& next_id) {
  return TreeBuilder(sources, file, next_id).build(dynamic_cast<P::CompilationUnitContext*>(unit));
}

LineTree build_line(antlr4::ParserRuleContext* line, const SourceManager& sources, FileId file) {
  ast::NodeId ids = 0;
  LineTree out = TreeBuilder(sources, file, ids).line(line);
  out.ids = ids;
  return out;
}

}  // namespace sial::parsing
