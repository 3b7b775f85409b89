#include "compiler/sema/patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "compiler/sema/accesses.h"
#include "compiler/sema/each_stmt.h"

namespace sial::sema {

bool fixes(const CheckedProgram& program, const ast::Relation& relation, SymbolId index) {
  if (relation.op != ast::RelOp::eq) return false;
  for (const ast::Expr* side : {relation.left.get(), relation.right.get()}) {
    const ast::Expr* inner = side;
    if (const auto* cast = std::get_if<ast::Cast>(&side->node); cast && cast->type == ast::CastType::index) inner = cast->operand.get();
    if (const auto* name = std::get_if<ast::NameExpr>(&inner->node); name && program.names.at(&name->name) == index) return true;
  }
  return false;
}

std::vector<SymbolId> unmentioned(const CheckedProgram& program, const ast::Stmt& pardo, const std::vector<Label>& labels) {
  std::vector<SymbolId> result;
  for (const ast::Name& name : std::get<ast::PardoLoop>(pardo.node).indices) {
    const Symbol& index = program.symbol_of(name);
    const bool mentioned = std::any_of(labels.begin(), labels.end(), [&](const Label& label) {
      return label.index == index.id || program.symbol(label.index).parent == index.id;
    });
    const bool single = index.lo.symbol == no_symbol && index.hi.symbol == no_symbol && index.lo.literal == index.hi.literal;
    const auto& wheres = program.pardos.at(&pardo).wheres;
    const bool fixed = std::any_of(wheres.begin(), wheres.end(), [&](const ast::Relation* r) { return fixes(program, *r, index.id); });
    if (!mentioned && !single && !fixed) result.push_back(index.id);
  }
  return result;
}

namespace {

// Accesses of a statement and, for compound ones, of its header.
std::vector<Access> header_accesses(const CheckedProgram& program, const ast::Stmt& stmt) {
  std::vector<Access> list = accesses(program, stmt);
  const auto add = [&](const ast::Relation& relation) {
    const std::vector<Access> more = accesses(program, relation);
    list.insert(list.end(), more.begin(), more.end());
  };
  if (const auto* branch = std::get_if<ast::If>(&stmt.node)) add(branch->condition);
  else if (const auto* loop = std::get_if<ast::DoLoop>(&stmt.node)) std::for_each(loop->wheres.begin(), loop->wheres.end(), add);
  else if (const auto* sub = std::get_if<ast::SubLoop>(&stmt.node)) std::for_each(sub->wheres.begin(), sub->wheres.end(), add);
  else if (std::holds_alternative<ast::PardoLoop>(stmt.node))
    for (const ast::Relation* where : program.pardos.at(&stmt).wheres) add(*where);
  return list;
}

class Patterns {
 public:
  Patterns(const CheckedProgram& program, const CheckOptions& options, Emitter& emitter)
      : program_(program), options_(options), emitter_(emitter) {}

  void run() {
    std::vector<const ast::Body*> bodies;
    for (const Symbol& s : program_.symbols) {
      if (s.kind != SymbolKind::proc || !s.reachable) continue;
      bodies.push_back(&s.proc->body);
      find_reads(s);
    }
    const std::size_t procs = bodies.size();
    for (const ast::Module* module : program_.bodies) bodies.push_back(&module->statements);
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      walk(*bodies[b], b < procs ? nullptr : bodies[b]);
      for_each_stmt(*bodies[b], [&](const ast::Stmt& stmt) { collect(stmt); });
    }
    warn_locals();
    warn_signatures();
  }

 private:
  // Arrays whose blocks a procedure reads, its own calls included.
  const std::set<SymbolId>& find_reads(const Symbol& proc) {
    const auto [known, added] = reads_.emplace(proc.id, std::set<SymbolId>{});
    if (!added) return known->second;
    std::set<SymbolId> found;
    for_each_stmt(proc.proc->body, [&](const ast::Stmt& stmt) { add_reads(stmt, found); });
    return reads_[proc.id] = std::move(found);
  }

  void add_reads(const ast::Stmt& stmt, std::set<SymbolId>& found) {
    for (const Access& access : header_accesses(program_, stmt))
      if (access.read) found.insert(access.array);
    if (const auto* call = std::get_if<ast::Call>(&stmt.node)) {
      const std::set<SymbolId> more = find_reads(program_.symbol_of(call->proc));
      found.insert(more.begin(), more.end());
    }
  }

  // `scope`: body of the innermost loop, or the whole main body; null where a caller may use what is fetched.
  void walk(const ast::Body& body, const ast::Body* scope) {
    const ast::Stmt* before = nullptr;
    for (const ast::StmtPtr& stmt : body) {
      if (before && std::holds_alternative<ast::Barrier>(before->node) && std::holds_alternative<ast::Barrier>(stmt->node)) {
        Diagnostic& d = emitter_.report(Code::W_DOUBLE_BARRIER, stmt->span, "this barrier directly follows another one",
                                        "one of them is enough: sip_barrier and server_barrier do the same");
        d.notes.push_back({before->span, "the barrier before is here"});
      }
      before = stmt.get();
      visit(*stmt, scope);
    }
  }

  void visit(const ast::Stmt& stmt, const ast::Body* scope) {
    if (const auto* loop = std::get_if<ast::DoLoop>(&stmt.node)) {
      walk(loop->body, &loop->body);
    } else if (const auto* sub = std::get_if<ast::SubLoop>(&stmt.node)) {
      walk(sub->body, &sub->body);
    } else if (const auto* pardo = std::get_if<ast::PardoLoop>(&stmt.node)) {
      const ast::Stmt* outer = pardo_;
      pardo_ = &stmt;
      walk(pardo->body, &pardo->body);
      pardo_ = outer;
    } else if (const auto* section = std::get_if<ast::Section>(&stmt.node)) {
      walk(section->body, scope);
    } else if (const auto* gpu = std::get_if<ast::GpuSection>(&stmt.node)) {
      walk(gpu->body, scope);
    } else if (const auto* branch = std::get_if<ast::If>(&stmt.node)) {
      conditions_.push_back(&branch->condition);
      walk(branch->then_body, scope);
      conditions_.pop_back();
      walk(branch->else_body, scope);
    } else if (const auto* put = std::get_if<ast::Put>(&stmt.node)) {
      check_race(*put);
    } else if (const auto* get = std::get_if<ast::Get>(&stmt.node)) {
      if (scope) check_used(stmt, *get, *scope);
    }
  }

  void check_race(const ast::Put& put) {
    if (!pardo_ || put.op == ast::AssignOp::add) return;
    std::vector<SymbolId> missing = unmentioned(program_, *pardo_, labels_of(program_, put.block));
    std::erase_if(missing, [&](SymbolId index) {
      return std::any_of(conditions_.begin(), conditions_.end(), [&](const ast::Relation* r) { return fixes(program_, *r, index); });
    });
    if (missing.empty()) return;
    std::string names;
    for (const SymbolId id : missing) names += fmt::format("{}`{}`", names.empty() ? "" : ", ", program_.symbol(id).text);
    const Symbol& array = program_.symbol_of(put.block.array);
    Diagnostic& d = emitter_.report(
        Code::W_PHASE_PUT_RACE, cover(put.block.array.span, put.block.indices.back().span),
        fmt::format("iterations that differ in {} write the same block of `{}`; the last one wins", names, array.text),
        put.op == ast::AssignOp::set ? "use `+=` to add up the contributions" : "name all indices of the pardo in the target");
    d.notes.push_back({pardo_->header_span, "the pardo is here"});
  }

  void check_used(const ast::Stmt& stmt, const ast::Get& get, const ast::Body& scope) {
    const SymbolId array = program_.names.at(&get.block.array);
    const auto known = scope_reads_.find(&scope);
    if (known == scope_reads_.end()) {
      std::set<SymbolId> found;
      for_each_stmt(scope, [&](const ast::Stmt& inner) { add_reads(inner, found); });
      scope_reads_[&scope] = std::move(found);
    }
    if (scope_reads_[&scope].count(array) > 0) return;
    emitter_.report(Code::W_UNUSED_GET, stmt.span,
                    fmt::format("the fetched block of `{}` is not used before the end of this iteration", program_.symbol(array).text),
                    get.request ? "remove the request, or use the block inside this loop" : "remove the get, or use the block inside this loop");
  }

  /// The same block or variable, as written.
  bool same(const ast::Expr& a, const ast::Expr& b) const {
    const auto *x = std::get_if<ast::BlockExpr>(&a.node), *y = std::get_if<ast::BlockExpr>(&b.node);
    return x && y && same(x->block, y->block);
  }
  bool same(const ast::Block& a, const ast::Block& b) const {
    return program_.names.at(&a.array) == program_.names.at(&b.array) && labels_of(program_, a) == labels_of(program_, b);
  }

  void check_same(const ast::Stmt& stmt) {
    const auto* assign = std::get_if<ast::AssignBlock>(&stmt.node);
    if (!assign) return;
    const auto* copy = std::get_if<ast::BlockExpr>(&assign->value->node);
    const auto* binary = std::get_if<ast::Binary>(&assign->value->node);
    if (copy && assign->op == ast::AssignOp::set && same(assign->target, copy->block))
      emitter_.report(Code::W_SAME_OPERANDS, assign->value->span, fmt::format("the block of `{}` is copied onto itself", copy->block.array.text), "another array is probably meant on the right");
    if (binary && (binary->op == ast::BinaryOp::add || binary->op == ast::BinaryOp::subtract) && same(*binary->left, *binary->right))
      emitter_.report(Code::W_SAME_OPERANDS, binary->right->span, fmt::format("both operands of `{}` are the same block", binary->op == ast::BinaryOp::add ? "+" : "-"),
                      binary->op == ast::BinaryOp::add ? "another block is probably meant; a multiple is written `2.0*a[..]`" : "another block is probably meant; zeros are written `= 0.0`");
  }

  void collect(const ast::Stmt& stmt) {
    check_same(stmt);
    if (const auto* allocate = std::get_if<ast::Allocate>(&stmt.node); allocate && !allocate->deallocate)
      filled_.insert(program_.names.at(&allocate->array));
    if (const auto* region = std::get_if<ast::AllocateRegion>(&stmt.node); region && !region->deallocate)
      filled_.insert(program_.names.at(&region->region.array));
    if (const auto* persistent = std::get_if<ast::Persistent>(&stmt.node); persistent && persistent->restore) written_.insert(program_.names.at(&persistent->item));
    if (const auto* broadcast = std::get_if<ast::Broadcast>(&stmt.node)) written_.insert(program_.names.at(&broadcast->array));
    if (const auto* execute = std::get_if<ast::Execute>(&stmt.node)) executed_.insert(program_.names.at(&execute->special));
    for (const Access& access : header_accesses(program_, stmt)) {
      if (access.write && !access.read) filled_.insert(access.array);
      if (access.write) written_.insert(access.array);
      if (access.read) first_read_.emplace(access.array, access.span);
    }
  }

  void warn_locals() {
    for (const auto& [array, span] : first_read_) {
      const Symbol& s = program_.symbol(array);
      if (s.array_kind == ast::ArrayKind::static_ && !s.predefined && !s.hidden && written_.count(array) == 0) {
        Diagnostic& d = emitter_.report(Code::W_STATIC_UNSET, span, fmt::format("nothing in the program sets `{}`: it holds zeros", s.text),
                                        fmt::format("`restore_persistent {0} \"...\"` gets what an earlier program saved, `predefined static` what the job gives", s.text));
        d.notes.push_back({s.span, fmt::format("`{}` is declared here", s.text)});
      }
      if (s.array_kind != ast::ArrayKind::local || filled_.count(array) > 0) continue;
      Diagnostic& d = emitter_.report(Code::W_LOCAL_UNSET, span, fmt::format("no block of the local `{}` is ever allocated or written", s.text),
                                      s.contiguous ? "allocate the region first: `allocate contiguous`" : "allocate it first, which fills it with zero");
      d.notes.push_back({s.span, fmt::format("`{}` is declared here", s.text)});
    }
  }

  void warn_signatures() {
    if (!options_.super_signatures) return;
    for (const SymbolId id : executed_) {
      const Symbol& special = program_.symbol(id);
      const std::optional<std::string> accepted = options_.super_signatures(special.name);
      if (!accepted) continue;  // an instruction of the user's own, or a mistake that the run will name
      std::istringstream words(*accepted);
      bool fits = false;
      for (std::string word; words >> word;) fits = fits || word == special.signature || (word == "-" && special.signature.empty());
      if (fits) continue;
      emitter_.report(Code::W_SIGNATURE, special.span,
                      fmt::format("`{}` is declared with the signature `{}`; the super instruction takes `{}`", special.text,
                                  special.signature.empty() ? "-" : special.signature, *accepted),
                      "the declaration decides what happens to the arguments: r reads, w fills with zero first, u updates");
    }
  }

  const CheckedProgram& program_;
  const CheckOptions& options_;
  Emitter& emitter_;
  std::map<SymbolId, std::set<SymbolId>> reads_;
  std::map<const ast::Body*, std::set<SymbolId>> scope_reads_;
  std::map<SymbolId, Span> first_read_;
  std::set<SymbolId> filled_, written_, executed_;
  std::vector<const ast::Relation*> conditions_;
  const ast::Stmt* pardo_ = nullptr;
};

}  // namespace

void warn_patterns(const CheckedProgram& program, const CheckOptions& options, Emitter& emitter) {
  Patterns(program, options, emitter).run();
}

}  // namespace sial::sema
