#include "compiler/sema/patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "compiler/sema/accesses.h"
#include "compiler/sema/each_stmt.h"
#include "compiler/sema/fixes.h"

namespace sial::sema {

namespace {

// The names that stand alone on a side of `==`.
std::vector<SymbolId> equated(const CheckedProgram& program, const ast::Relation& relation) {
  std::vector<SymbolId> names;
  if (relation.op != ast::RelOp::eq) return names;
  for (const ast::Expr* side : {relation.left.get(), relation.right.get()}) {
    const ast::Expr* inner = side;
    if (const auto* cast = std::get_if<ast::Cast>(&side->node); cast && cast->type == ast::CastType::index)
      inner = cast->operand.get();
    if (const auto* name = std::get_if<ast::NameExpr>(&inner->node)) names.push_back(program.names.at(&name->name));
  }
  return names;
}

}  // namespace

bool fixes(const CheckedProgram& program, const ast::Relation& relation, SymbolId index) {
  const std::vector<SymbolId> names = equated(program, relation);
  return std::find(names.begin(), names.end(), index) != names.end();
}

std::vector<SymbolId> unmentioned(const CheckedProgram& program, const ast::Stmt& pardo,
                                  const std::vector<Label>& labels) {
  std::vector<SymbolId> result;
  for (const ast::Name& name : std::get<ast::PardoLoop>(pardo.node).indices) {
    const Symbol& index = program.symbol_of(name);
    const bool mentioned = std::any_of(labels.begin(), labels.end(), [&](const Label& label) {
      return label.index == index.id || program.symbol(label.index).parent == index.id;
    });
    const bool single =
        index.lo.symbol == no_symbol && index.hi.symbol == no_symbol && index.lo.literal == index.hi.literal;
    const auto& wheres = program.pardos.at(&pardo).wheres;
    const bool fixed =
        std::any_of(wheres.begin(), wheres.end(), [&](const ast::Relation* r) { return fixes(program, *r, index.id); });
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
  else if (const auto* loop = std::get_if<ast::DoLoop>(&stmt.node))
    std::for_each(loop->wheres.begin(), loop->wheres.end(), add);
  else if (const auto* sub = std::get_if<ast::SubLoop>(&stmt.node))
    std::for_each(sub->wheres.begin(), sub->wheres.end(), add);
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
    for (const ast::Body* body : bodies) for_each_stmt(*body, [&](const ast::Stmt& stmt) { find_compared(stmt); });
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      walk(*bodies[b], b < procs ? nullptr : bodies[b]);
      for_each_stmt(*bodies[b], [&](const ast::Stmt& stmt) { collect(stmt); });
    }
    warn_locals();
    warn_signatures();
    warn_labels();
  }

 private:
  // By array: the indices of the blocks that are read. An empty list stands for regions and whole arrays.
  using Reads = std::map<SymbolId, std::set<std::vector<SymbolId>>>;

  // Blocks that a procedure reads, its own calls included.
  const Reads& find_reads(const Symbol& proc) {
    const auto [known, added] = reads_.emplace(proc.id, Reads{});
    if (!added) return known->second;
    Reads found;
    for_each_stmt(proc.proc->body, [&](const ast::Stmt& stmt) { add_reads(stmt, found); });
    return reads_[proc.id] = std::move(found);
  }

  void add_reads(const ast::Stmt& stmt, Reads& found) {
    for (const Access& access : header_accesses(program_, stmt))
      if (access.read) found[access.array].insert(access.block ? indices_of(*access.block) : std::vector<SymbolId>{});
    if (const auto* call = std::get_if<ast::Call>(&stmt.node))
      for (const auto& [array, blocks] : find_reads(program_.symbol_of(call->proc)))
        found[array].insert(blocks.begin(), blocks.end());
  }

  // A part of a segment belongs to the block of the whole.
  std::vector<SymbolId> indices_of(const ast::Block& block) const {
    std::vector<SymbolId> list;
    for (const Label& label : labels_of(program_, block)) {
      const SymbolId parent = program_.symbol(label.index).parent;
      list.push_back(parent == no_symbol ? label.index : parent);
    }
    return list;
  }

  // `scope`: body of the innermost loop, or the whole main body; null where a caller may use what is fetched.
  void walk(const ast::Body& body, const ast::Body* scope) {
    const ast::Stmt* before = nullptr;
    for (const ast::StmtPtr& stmt : body) {
      if (before && std::holds_alternative<ast::Barrier>(before->node) &&
          std::holds_alternative<ast::Barrier>(stmt->node)) {
        Diagnostic& d = emitter_.report(Code::W_DOUBLE_BARRIER, stmt->span, "this barrier directly follows another one",
                                        "one of them is enough: sip_barrier and server_barrier do the same");
        d.notes.push_back({before->span, "the barrier before is here"});
        d.fix(remove_lines("remove this barrier", {stmt->span}));
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
      return std::any_of(conditions_.begin(), conditions_.end(),
                         [&](const ast::Relation* r) { return fixes(program_, *r, index); });
    });
    if (missing.empty()) return;
    std::string names;
    for (const SymbolId id : missing)
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", program_.symbol(id).text);
    const Symbol& array = program_.symbol_of(put.block.array);
    Diagnostic& d = emitter_.report(
        Code::W_PHASE_PUT_RACE, cover(put.block.array.span, put.block.indices.back().span),
        fmt::format("iterations that differ in {} write the same block of `{}`; the last one wins", names, array.text),
        put.op == ast::AssignOp::set ? "use `+=` to add up the contributions"
                                     : "name all indices of the pardo in the target");
    d.notes.push_back({pardo_->header_span, "the pardo is here"});
    if (put.op == ast::AssignOp::set) d.fix(offered(replace(put.op_span, "+=")));
  }

  void check_used(const ast::Stmt& stmt, const ast::Get& get, const ast::Body& scope) {
    const SymbolId array = program_.names.at(&get.block.array);
    const auto known = scope_reads_.find(&scope);
    if (known == scope_reads_.end()) {
      Reads found;
      for_each_stmt(scope, [&](const ast::Stmt& inner) { add_reads(inner, found); });
      scope_reads_[&scope] = std::move(found);
    }
    const auto& blocks = scope_reads_[&scope][array];
    const std::string& name = program_.symbol(array).text;
    if (blocks.empty())
      emitter_
          .report(Code::W_UNUSED_GET, stmt.span,
                  fmt::format("the fetched block of `{}` is not used before the end of this iteration", name),
                  get.request ? "remove the request, or use the block inside this loop"
                              : "remove the get, or use the block inside this loop")
          .fix(offered(remove_lines(get.request ? "remove the `request`" : "remove the `get`", {stmt.span})));
    else if (const std::vector<SymbolId> mine = indices_of(get.block);
             std::none_of(blocks.begin(), blocks.end(), [&](const auto& other) { return may_be_same(mine, other); }))
      emitter_.report(
          Code::W_UNUSED_GET, stmt.span,
          fmt::format("the fetched block `{}{}` is not used before the end of this iteration; other blocks of `{}` are",
                      name, list_text(labels_of(program_, get.block), program_.symbols), name),
          "is one of them written where this one was meant?");
  }

  // Different indices may name one segment where conditions of the program compare both with `==`.
  bool may_be_same(const std::vector<SymbolId>& a, const std::vector<SymbolId>& b) const {
    return b.empty() || std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](SymbolId x, SymbolId y) {
             return x == y || (compared_.contains(x) && compared_.contains(y));
           });
  }

  // Indices that a condition of this program compares with `==`.
  void find_compared(const ast::Stmt& stmt) {
    const auto add = [&](const ast::Relation& relation) {
      for (const SymbolId id : equated(program_, relation)) compared_.insert(id);
    };
    if (const auto* branch = std::get_if<ast::If>(&stmt.node)) add(branch->condition);
    else if (const auto* loop = std::get_if<ast::DoLoop>(&stmt.node))
      std::for_each(loop->wheres.begin(), loop->wheres.end(), add);
    else if (const auto* sub = std::get_if<ast::SubLoop>(&stmt.node))
      std::for_each(sub->wheres.begin(), sub->wheres.end(), add);
    else if (std::holds_alternative<ast::PardoLoop>(stmt.node))
      for (const ast::Relation* where : program_.pardos.at(&stmt).wheres) add(*where);
  }

  /// The same block or variable, as written.
  bool same(const ast::Expr& a, const ast::Expr& b) const {
    const auto *x = std::get_if<ast::BlockExpr>(&a.node), *y = std::get_if<ast::BlockExpr>(&b.node);
    return x && y && same(x->block, y->block);
  }
  bool same(const ast::Block& a, const ast::Block& b) const {
    return program_.names.at(&a.array) == program_.names.at(&b.array) &&
           labels_of(program_, a) == labels_of(program_, b);
  }

  void check_same(const ast::Stmt& stmt) {
    if (const auto* execute = std::get_if<ast::Execute>(&stmt.node)) return check_same_arguments(*execute);
    if (const auto* name = std::get_if<ast::AssignName>(&stmt.node)) return check_same_terms(*name->value);
    const auto* assign = std::get_if<ast::AssignBlock>(&stmt.node);
    if (!assign) return;
    const auto* copy = std::get_if<ast::BlockExpr>(&assign->value->node);
    const auto* binary = std::get_if<ast::Binary>(&assign->value->node);
    if (copy && assign->op == ast::AssignOp::set && same(assign->target, copy->block))
      emitter_.report(Code::W_SAME_OPERANDS, assign->value->span,
                      fmt::format("the block of `{}` is copied onto itself", copy->block.array.text),
                      "another array is probably meant on the right");
    if (binary && (binary->op == ast::BinaryOp::add || binary->op == ast::BinaryOp::subtract) &&
        same(*binary->left, *binary->right))
      emitter_.report(
          Code::W_SAME_OPERANDS, binary->right->span,
          fmt::format("both operands of `{}` are the same block", binary->op == ast::BinaryOp::add ? "+" : "-"),
          binary->op == ast::BinaryOp::add ? "another block is probably meant; a multiple is written `2.0*a[..]`"
                                           : "another block is probably meant; zeros are written `= 0.0`");
  }

  // One variable twice among the terms of a sum, x + y + y.
  void check_same_terms(const ast::Expr& value) {
    std::set<SymbolId> seen;
    const auto term = [&](const ast::Expr& e) {
      const auto* name = std::get_if<ast::NameExpr>(&e.node);
      if (!name || program_.symbol_of(name->name).kind == SymbolKind::index ||
          seen.insert(program_.names.at(&name->name)).second)
        return;
      emitter_.report(
          Code::W_SAME_OPERANDS, e.span, fmt::format("`{}` stands twice in this sum", name->name.text),
          fmt::format("another variable is probably meant; a multiple is written `2.0*{}`", name->name.text));
    };
    const ast::Expr* rest = &value;
    const auto* sum = std::get_if<ast::Binary>(&rest->node);
    for (; sum && (sum->op == ast::BinaryOp::add || sum->op == ast::BinaryOp::subtract);
         sum = std::get_if<ast::Binary>(&rest->node)) {
      term(*sum->right);
      rest = sum->left.get();
    }
    term(*rest);
  }

  // A block or array that a super instruction changes, given to it once more.
  void check_same_arguments(const ast::Execute& execute) {
    const std::string& letters = program_.symbol_of(execute.special).signature;
    for (std::size_t second = 1; second < execute.args.size(); ++second)
      for (std::size_t first = 0; first < second; ++first) {
        if (letters[first] == 'r' && letters[second] == 'r') continue;
        const std::string text = same_text(execute.args[first], execute.args[second]);
        if (text.empty()) continue;
        emitter_.report(Code::W_SAME_OPERANDS, execute.args[second].span,
                        fmt::format("`{}` is argument {} as well as argument {} of `{}`, which changes it", text,
                                    first + 1, second + 1, execute.special.text),
                        "another array is probably meant");
        return;
      }
  }
  std::string same_text(const ast::Arg& a, const ast::Arg& b) const {
    const auto *x = std::get_if<ast::Block>(&a.node), *y = std::get_if<ast::Block>(&b.node);
    if (x && y && same(*x, *y)) return x->array.text + list_text(labels_of(program_, *x), program_.symbols);
    const auto *whole_x = std::get_if<ast::Name>(&a.node), *whole_y = std::get_if<ast::Name>(&b.node);
    if (whole_x && whole_y && program_.symbol_of(*whole_x).kind == SymbolKind::array &&
        program_.names.at(whole_x) == program_.names.at(whole_y))
      return whole_x->text;
    return {};
  }

  void collect(const ast::Stmt& stmt) {
    check_same(stmt);
    if (const auto* allocate = std::get_if<ast::Allocate>(&stmt.node); allocate && !allocate->deallocate)
      filled_.insert(program_.names.at(&allocate->array));
    if (const auto* region = std::get_if<ast::AllocateRegion>(&stmt.node); region && !region->deallocate)
      filled_.insert(program_.names.at(&region->region.array));
    if (const auto* persistent = std::get_if<ast::Persistent>(&stmt.node); persistent && persistent->restore)
      written_.insert(program_.names.at(&persistent->item));
    if (const auto* persistent = std::get_if<ast::Persistent>(&stmt.node)) {
      saved_.insert(program_.names.at(&persistent->item));
      if (!persistent->restore) saves_.push_back(persistent);
    }
    if (const auto* broadcast = std::get_if<ast::Broadcast>(&stmt.node))
      written_.insert(program_.names.at(&broadcast->array));
    if (const auto* execute = std::get_if<ast::Execute>(&stmt.node))
      executed_.insert(program_.names.at(&execute->special));
    for (const Access& access : header_accesses(program_, stmt)) {
      if (access.write && !access.read) filled_.insert(access.array);
      if (access.write) written_.insert(access.array);
      if (access.read) first_read_.emplace(access.array, access.span);
    }
  }

  // A label that is the name of another item which this program makes itself and does not save.
  void warn_labels() {
    for (const ast::Persistent* save : saves_) {
      const Symbol& item = program_.symbol_of(save->item);
      if (item.text == save->label) continue;
      for (const Symbol& other : program_.symbols) {
        if (other.text != save->label || other.kind != item.kind || other.hidden || saved_.contains(other.id)) continue;
        if (item.kind == SymbolKind::array && other.remote() != item.remote()) continue;
        Diagnostic& d = emitter_.report(
            Code::W_LABEL, save->item.span,
            fmt::format("`{}` is saved under the name of `{}`, which is not saved", item.text, other.text),
            "is it the right one? Later programs find it under this label");
        d.notes.push_back({other.span, fmt::format("`{}` is declared here", other.text)});
        d.fix(offered(replace(save->label_span, "\"" + item.text + "\"")));
        break;
      }
    }
  }

  void warn_locals() {
    for (const auto& [array, span] : first_read_) {
      const Symbol& s = program_.symbol(array);
      if (s.array_kind == ast::ArrayKind::static_ && !s.predefined && !s.hidden && written_.count(array) == 0) {
        Diagnostic& d = emitter_.report(
            Code::W_STATIC_UNSET, span, fmt::format("nothing in the program sets `{}`: it holds zeros", s.text),
            fmt::format(
                "`restore_persistent {0} \"...\"` gets what an earlier program saved, `predefined static` what the job gives",
                s.text));
        d.notes.push_back({s.span, fmt::format("`{}` is declared here", s.text)});
      }
      if (s.array_kind != ast::ArrayKind::local || filled_.count(array) > 0) continue;
      Diagnostic& d = emitter_.report(Code::W_LOCAL_UNSET, span,
                                      fmt::format("no block of the local `{}` is ever allocated or written", s.text),
                                      s.contiguous ? "allocate the region first: `allocate contiguous`"
                                                   : "allocate it first, which fills it with zero");
      const ast::Body& main = program_.compilation->modules.back()->statements;
      if (!s.contiguous && !main.empty()) {
        std::string stars = "*";
        for (std::size_t i = 1; i < s.dims.size(); ++i) stars += ",*";
        d.fix(offered(insert_above(main.front()->header_span, fmt::format("allocate {}[{}]", s.text, stars))));
      }
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
      for (std::string word; words >> word;)
        fits = fits || word == special.signature || (word == "-" && special.signature.empty());
      if (fits) continue;
      Diagnostic& d = emitter_.report(
          Code::W_SIGNATURE, special.span,
          fmt::format("`{}` is declared with the signature `{}`; the super instruction takes `{}`", special.text,
                      special.signature.empty() ? "-" : special.signature, *accepted),
          "the declaration decides what happens to the arguments: r reads, w fills with zero first, u updates");
      const auto* declared = special.decl ? std::get_if<ast::SpecialDecl>(&special.decl->node) : nullptr;
      // Another number of arguments would be an error at each call.
      if (declared && declared->signature && accepted->find(' ') == std::string::npos &&
          accepted->size() == special.signature.size())
        d.fix(offered(replace(declared->signature->span, *accepted)));
    }
  }

  const CheckedProgram& program_;
  const CheckOptions& options_;
  Emitter& emitter_;
  std::map<SymbolId, Reads> reads_;
  std::map<const ast::Body*, Reads> scope_reads_;
  std::set<SymbolId> compared_;
  std::map<SymbolId, Span> first_read_;
  std::set<SymbolId> filled_, written_, executed_;
  std::set<SymbolId> saved_;  // saved or restored under any label
  std::vector<const ast::Persistent*> saves_;
  std::vector<const ast::Relation*> conditions_;
  const ast::Stmt* pardo_ = nullptr;
};

}  // namespace

void warn_patterns(const CheckedProgram& program, const CheckOptions& options, Emitter& emitter) {
  Patterns(program, options, emitter).run();
}

}  // namespace sial::sema
