#include "compiler/sema/overwritten.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "compiler/sema/accesses.h"
#include "compiler/sema/each_stmt.h"
#include "compiler/sema/fixes.h"

namespace sial::sema {

namespace {

// One serial loop at a time. A statement counts when each iteration executes it, when its target is not named by the
// loop's index and its value depends on blocks that are, when nothing in the loop reads the target, and when the target
// was set to a number or allocated before the loop: that would never be read.
class Overwritten {
 public:
  Overwritten(const CheckedProgram& program, Emitter& emitter) : program_(program), emitter_(emitter) {}

  void run() {
    for (const SymbolId id : program_.procs) walk(program_.symbol(id).proc->body);
    for (const ast::Module* module : program_.bodies) walk(module->statements);
    check_unread();
    check_unread_in_pardos();
  }

 private:
  // Temps end with the iteration. What one statement of a pardo makes of blocks in a temp that nothing in this pardo
  // reads, and that no statement outside of pardos names, is lost.
  void check_unread_in_pardos() {
    std::vector<const ast::Stmt*> pardos;
    std::set<SymbolId> outside;
    const auto look = [&](const ast::Body& body) {
      for_each_stmt(body, [&](const ast::Stmt& stmt) {
        if (std::holds_alternative<ast::PardoLoop>(stmt.node)) pardos.push_back(&stmt);
      });
      find_outside(body, outside);
    };
    for (const SymbolId id : program_.procs) look(program_.symbol(id).proc->body);
    for (const ast::Module* module : program_.bodies) look(module->statements);
    for (const ast::Stmt* pardo : pardos) {
      const ast::Body& body = std::get<ast::PardoLoop>(pardo->node).body;
      std::set<SymbolId> read, seen;
      uses(body, read, seen);
      for_each_stmt(body, [&](const ast::Stmt& stmt) { check_unread_in(*pardo, stmt, read, outside); });
    }
  }

  void check_unread_in(const ast::Stmt& pardo, const ast::Stmt& stmt, std::set<SymbolId>& read,
                       const std::set<SymbolId>& outside) {
    if (!std::holds_alternative<ast::AssignBlock>(stmt.node) || accesses(program_, *value_of(stmt)).empty()) return;
    const Symbol& temp = program_.symbol(target_of(stmt));
    if (temp.array_kind != ast::ArrayKind::temp || temp.hidden || outside.contains(temp.id) ||
        unread_.contains(temp.id) || read.contains(temp.id))
      return;
    read.insert(temp.id);  // one message is enough
    Diagnostic& d =
        emitter_.report(Code::W_UNREAD, target_span(stmt),
                        fmt::format("nothing in this pardo reads `{}`, and temps end with the iteration", temp.text),
                        "does another name stand where it was meant?");
    d.notes.push_back({pardo.header_span, "the pardo is here"});
  }

  // Arrays that statements outside of pardos name.
  void find_outside(const ast::Body& body, std::set<SymbolId>& found) const {
    for (const ast::StmtPtr& stmt : body) {
      for (const Access& access : accesses(program_, *stmt)) found.insert(access.array);
      if (const auto* loop = std::get_if<ast::DoLoop>(&stmt->node)) {
        find_outside(loop->body, found);
      } else if (const auto* sub = std::get_if<ast::SubLoop>(&stmt->node)) {
        find_outside(sub->body, found);
      } else if (const auto* section = std::get_if<ast::Section>(&stmt->node)) {
        find_outside(section->body, found);
      } else if (const auto* gpu = std::get_if<ast::GpuSection>(&stmt->node)) {
        find_outside(gpu->body, found);
      } else if (const auto* branch = std::get_if<ast::If>(&stmt->node)) {
        find_outside(branch->then_body, found);
        find_outside(branch->else_body, found);
      }
    }
  }

  // A block or variable that is set to a value made of others, and set again by the next statement of the same body
  // that names it.
  void check_replaced(const ast::Body& body) {
    for (std::size_t at = 0; at + 1 < body.size(); ++at) {
      if (!sets(*body[at]) || !made_of_others(*value_of(*body[at]))) continue;
      const ast::Stmt* next = next_naming(body, at + 1, target_of(*body[at]));
      if (!next || !sets(*next) || target_of(*next) != target_of(*body[at])) continue;
      if (target_labels(*next) != target_labels(*body[at]) || reads(*next, target_of(*next))) continue;
      const std::string& name = program_.symbol(target_of(*next)).text;
      Diagnostic& d = emitter_.report(Code::W_REPLACED, target_span(*body[at]),
                                      fmt::format("nothing reads this value of `{}` before it is replaced", name),
                                      "does another name stand where it was meant?");
      d.notes.push_back({next->span, fmt::format("`{}` is set again here", name)});
    }
  }

  bool made_of_others(const ast::Expr& value) const {
    bool found = !accesses(program_, value).empty();
    for_each_variable(program_, value, [&](SymbolId) { found = true; });
    return found;
  }

  // The statement after `from` that names the array or variable; null if none of the next 50 does, or if the way to it
  // is not straight.
  const ast::Stmt* next_naming(const ast::Body& body, std::size_t from, SymbolId id) const {
    for (std::size_t at = from; at < body.size() && at < from + 50; ++at) {
      const ast::Stmt& stmt = *body[at];
      if (compound(stmt) || leaves_or_calls(stmt)) return nullptr;
      if ((value_of(stmt) && target_of(stmt) == id) || reads(stmt, id)) return &stmt;
    }
    return nullptr;
  }

  bool reads(const ast::Stmt& stmt, SymbolId id) const {
    std::set<SymbolId> found;
    const auto in = [&](const ast::Expr& e) {
      for (const Access& access : accesses(program_, e)) found.insert(access.array);
      for_each_variable(program_, e, [&](SymbolId v) { found.insert(v); });
    };
    if (const ast::Expr* value = value_of(stmt)) {
      in(*value);
    } else {
      for (const Access& access : accesses(program_, stmt)) found.insert(access.array);
      unlisted_uses(stmt, found, in);
    }
    return found.contains(id);
  }

  static bool compound(const ast::Stmt& stmt) {
    return std::holds_alternative<ast::DoLoop>(stmt.node) || std::holds_alternative<ast::SubLoop>(stmt.node) ||
           std::holds_alternative<ast::PardoLoop>(stmt.node) || std::holds_alternative<ast::If>(stmt.node) ||
           std::holds_alternative<ast::Section>(stmt.node) || std::holds_alternative<ast::GpuSection>(stmt.node);
  }

  static bool leaves_or_calls(const ast::Stmt& stmt) {
    return std::holds_alternative<ast::Call>(stmt.node) || std::holds_alternative<ast::Exit>(stmt.node) ||
           std::holds_alternative<ast::Return>(stmt.node) || std::holds_alternative<ast::Stop>(stmt.node);
  }

  // Finds names that pardos make of fetched blocks, or sum from zero, and that nothing in the program reads: another
  // name stands where they were meant.
  void check_unread() {
    std::set<SymbolId> read, zeroed, seen;
    std::map<SymbolId, const ast::Stmt*> made;  // by array or scalar: the first such statement
    bool collects = false;
    const auto look = [&](const ast::Body& body) {
      uses(body, read, seen);
      for_each_stmt(body, [&](const ast::Stmt& stmt) {
        collects = collects || std::holds_alternative<ast::Collective>(stmt.node);
        if (sets(stmt) && accesses(program_, *value_of(stmt)).empty()) zeroed.insert(target_of(stmt));
        const auto* pardo = std::get_if<ast::PardoLoop>(&stmt.node);
        if (!pardo) return;
        for_each_stmt(pardo->body, [&](const ast::Stmt& inner) {
          if (value_of(inner) &&
              (std::holds_alternative<ast::AssignBlock>(inner.node) ? fetched(*value_of(inner)) : adds(inner)))
            made.emplace(target_of(inner), &inner);
        });
      });
    };
    for (const SymbolId id : program_.procs) look(program_.symbol(id).proc->body);
    for (const ast::Module* module : program_.bodies) look(module->statements);
    for (const Symbol& s : program_.symbols) {
      const auto found = made.find(s.id);
      if (found == made.end() || read.contains(s.id)) continue;
      const bool temp = s.kind == SymbolKind::array && s.array_kind == ast::ArrayKind::temp && !s.hidden;
      if (temp) unread_.insert(s.id);
      if (temp)
        emitter_.report(Code::W_UNUSED_GET, target_span(*found->second),
                        fmt::format("nothing in the program reads `{}`, which is made of a fetched block", s.text),
                        "does another name stand where it was meant?");
      else if (s.kind == SymbolKind::scalar && !s.predefined && zeroed.contains(s.id) && collects)
        emitter_.report(Code::W_PARTIAL_SCALAR, target_span(*found->second),
                        fmt::format("each rank adds to `{}` in a pardo, and nothing in the program reads it", s.text),
                        fmt::format("sum the shares behind the pardo: `collective {} += {}`",
                                    s.name == "total" ? "whole" : "total", s.text));
    }
  }

  bool fetched(const ast::Expr& value) const {
    const std::vector<Access> list = accesses(program_, value);
    return std::any_of(list.begin(), list.end(),
                       [&](const Access& access) { return program_.symbol(access.array).remote(); });
  }

  static bool adds(const ast::Stmt& stmt) {
    const auto* name = std::get_if<ast::AssignName>(&stmt.node);
    return name && (name->op == ast::AssignOp::add || name->op == ast::AssignOp::subtract);
  }

  struct Loop {
    const ast::Stmt* stmt = nullptr;
    const ast::Body* body = nullptr;
    SymbolId index = no_symbol;
  };

  // `before_`: what the statements before the one at hand have allocated or set to a number, in this body and those
  // around it.
  void walk(const ast::Body& body) {
    check_replaced(body);
    std::vector<SymbolId> mine;
    const auto note = [&](SymbolId id) {
      if (before_.insert(id).second) mine.push_back(id);
    };
    for (const ast::StmtPtr& stmt : body) {
      if (const auto* loop = std::get_if<ast::DoLoop>(&stmt->node)) {
        check_loop({stmt.get(), &loop->body, program_.names.at(&loop->index)}, loop->wheres);
        walk(loop->body);
      } else if (const auto* sub = std::get_if<ast::SubLoop>(&stmt->node)) {
        check_loop({stmt.get(), &sub->body, program_.names.at(&sub->index)}, sub->wheres);
        walk(sub->body);
      } else if (const auto* pardo = std::get_if<ast::PardoLoop>(&stmt->node)) {
        walk(pardo->body);
      } else if (const auto* section = std::get_if<ast::Section>(&stmt->node)) {
        walk(section->body);
      } else if (const auto* gpu = std::get_if<ast::GpuSection>(&stmt->node)) {
        walk(gpu->body);
      } else if (const auto* branch = std::get_if<ast::If>(&stmt->node)) {
        walk(branch->then_body);
        walk(branch->else_body);
      } else if (const auto* allocate = std::get_if<ast::Allocate>(&stmt->node); allocate && !allocate->deallocate) {
        note(program_.names.at(&allocate->array));
      } else if (sets(*stmt) && accesses(program_, *value_of(*stmt)).empty()) {
        note(target_of(*stmt));
      }
    }
    for (const SymbolId id : mine) before_.erase(id);
  }

  void check_loop(const Loop& loop, const std::vector<ast::Relation>& wheres) {
    if (one_iteration(loop.index) || picks(wheres)) return;
    std::vector<const ast::Stmt*> always;
    collect(*loop.body, always);
    if (always.empty() || leaves(*loop.body)) return;
    find_varying(loop);
    std::vector<const ast::Stmt*> lost;
    for (const ast::Stmt* stmt : always)
      if (may_be_lost(loop, *stmt)) lost.push_back(stmt);
    if (lost.empty()) return;
    std::set<SymbolId> read, seen;
    uses(*loop.body, read, seen);
    std::map<SymbolId, int> assignments;
    for_each_stmt(*loop.body, [&](const ast::Stmt& stmt) {
      if (std::holds_alternative<ast::AssignName>(stmt.node)) ++assignments[target_of(stmt)];
    });
    for (const ast::Stmt* stmt : lost) {
      // A scalar that is set in several places of a loop is scratch, whatever becomes of it.
      const SymbolId target = target_of(*stmt);
      if (!read.contains(target) && assignments[target] <= 1) report(loop, *stmt);
    }
  }

  // Finds names that the loop sets to values of blocks that its index names, or to values of names that vary so.
  void find_varying(const Loop& loop) {
    varying_.clear();
    std::map<SymbolId, std::vector<SymbolId>> made_of;  // by operand: what is made of it
    std::vector<SymbolId> next;
    const auto vary = [&](SymbolId id) {
      if (varying_.insert(id).second) next.push_back(id);
    };
    for_each_stmt(*loop.body, [&](const ast::Stmt& stmt) {
      const ast::Expr* value = value_of(stmt);
      if (!value) return;
      const SymbolId target = target_of(stmt);
      for (const Access& access : accesses(program_, *value)) {
        made_of[access.array].push_back(target);
        if (access.block && names_it(*access.block, loop.index)) vary(target);
      }
      for_each_variable(program_, *value, [&](SymbolId v) { made_of[v].push_back(target); });
    });
    while (!next.empty()) {
      const SymbolId id = next.back();
      next.pop_back();
      for (const SymbolId target : made_of[id]) vary(target);
    }
  }

  bool may_be_lost(const Loop& loop, const ast::Stmt& stmt) const {
    if (reported_.contains(&stmt) || !before_.contains(target_of(stmt))) return false;
    for (const Label& label : target_labels(stmt))
      if (label.index == loop.index || program_.symbol(label.index).parent == loop.index) return false;
    return depends(*value_of(stmt), loop.index);
  }

  void report(const Loop& loop, const ast::Stmt& stmt) {
    reported_.insert(&stmt);
    const Symbol& symbol = program_.symbol(target_of(stmt));
    const Symbol& index = program_.symbol(loop.index);
    Diagnostic& d = emitter_.report(
        Code::W_OVERWRITTEN, target_span(stmt),
        fmt::format(
            "each iteration of `do {}` replaces `{}`, and nothing in the loop reads it: only the last value is left",
            index.text, symbol.text),
        fmt::format("`+=` sums over `{}`, with `{}` set to 0.0 before the loop", index.text, symbol.text));
    d.notes.push_back({loop.stmt->header_span, "the loop is here"});
    if (const Span op = op_span(stmt); op.file >= 0) d.fix(offered(replace(op, "+=")));
  }

  // Statements that each iteration executes, with those of loops inside.
  void collect(const ast::Body& body, std::vector<const ast::Stmt*>& found) const {
    for (const ast::StmtPtr& stmt : body) {
      if (const auto* loop = std::get_if<ast::DoLoop>(&stmt->node)) {
        if (!picks(loop->wheres)) collect(loop->body, found);
      } else if (const auto* sub = std::get_if<ast::SubLoop>(&stmt->node)) {
        if (!picks(sub->wheres)) collect(sub->body, found);
      } else if (sets(*stmt)) {
        found.push_back(stmt.get());
      }
    }
  }

  static bool sets(const ast::Stmt& stmt) {
    if (const auto* block = std::get_if<ast::AssignBlock>(&stmt.node)) return block->op == ast::AssignOp::set;
    if (const auto* name = std::get_if<ast::AssignName>(&stmt.node)) return name->op == ast::AssignOp::set;
    return false;
  }

  static const ast::Expr* value_of(const ast::Stmt& stmt) {
    if (const auto* block = std::get_if<ast::AssignBlock>(&stmt.node)) return block->value.get();
    if (const auto* name = std::get_if<ast::AssignName>(&stmt.node)) return name->value.get();
    return nullptr;
  }

  SymbolId target_of(const ast::Stmt& stmt) const {
    if (const auto* block = std::get_if<ast::AssignBlock>(&stmt.node)) return program_.names.at(&block->target.array);
    return program_.names.at(&std::get<ast::AssignName>(stmt.node).target);
  }

  std::vector<Label> target_labels(const ast::Stmt& stmt) const {
    if (const auto* block = std::get_if<ast::AssignBlock>(&stmt.node)) return labels_of(program_, block->target);
    return {};
  }

  static Span op_span(const ast::Stmt& stmt) {
    if (const auto* name = std::get_if<ast::AssignName>(&stmt.node)) return name->op_span;
    if (const auto* block = std::get_if<ast::AssignBlock>(&stmt.node)) return block->op_span;
    return {};
  }

  static Span target_span(const ast::Stmt& stmt) {
    if (const auto* block = std::get_if<ast::AssignBlock>(&stmt.node))
      return cover(block->target.array.span, block->target.indices.back().span);
    return std::get<ast::AssignName>(stmt.node).target.span;
  }

  bool one_iteration(SymbolId id) const {
    const Symbol& index = program_.symbol(id);
    return index.kind == SymbolKind::index && index.lo.symbol == no_symbol && index.hi.symbol == no_symbol &&
           index.lo.literal == index.hi.literal;
  }

  // A clause with `==` may pick one iteration.
  static bool picks(const std::vector<ast::Relation>& wheres) {
    return std::any_of(wheres.begin(), wheres.end(),
                       [](const ast::Relation& where) { return where.op == ast::RelOp::eq; });
  }

  static bool leaves(const ast::Body& body) {
    bool found = false;
    for_each_stmt(body, [&](const ast::Stmt& stmt) {
      found = found || std::holds_alternative<ast::Exit>(stmt.node) || std::holds_alternative<ast::Return>(stmt.node) ||
              std::holds_alternative<ast::Stop>(stmt.node);
    });
    return found;
  }

  bool names_it(const ast::Block& block, SymbolId index) const {
    const std::vector<Label> labels = labels_of(program_, block);
    return std::any_of(labels.begin(), labels.end(), [&](const Label& label) { return label.index == index; });
  }

  // A value of blocks that the index names, or of one that was made of such. A number made of the index itself may well
  // be wanted of the last iteration.
  bool depends(const ast::Expr& value, SymbolId index) const {
    for (const Access& access : accesses(program_, value)) {
      if (varying_.contains(access.array) || (access.block && names_it(*access.block, index))) return true;
    }
    bool found = false;
    for_each_variable(program_, value, [&](SymbolId v) { found = found || varying_.contains(v); });
    return found;
  }

  // Names that the statements and the procedures they call use, but for the targets of assignments.
  void uses(const ast::Body& body, std::set<SymbolId>& found, std::set<SymbolId>& seen) const {
    const auto in = [&](const ast::Expr& e) {
      for (const Access& access : accesses(program_, e)) found.insert(access.array);
      for_each_variable(program_, e, [&](SymbolId v) { found.insert(v); });
    };
    for_each_stmt(body, [&](const ast::Stmt& stmt) {
      if (const ast::Expr* value = value_of(stmt)) return in(*value);
      for (const Access& access : accesses(program_, stmt)) found.insert(access.array);
      if (const auto* call = std::get_if<ast::Call>(&stmt.node)) {
        const Symbol& proc = program_.symbol_of(call->proc);
        if (seen.insert(proc.id).second) uses(proc.proc->body, found, seen);
      } else {
        unlisted_uses(stmt, found, in);
      }
    });
  }

  // Uses that no access tells of: scalars, and arrays by their names.
  template <class F>
  void unlisted_uses(const ast::Stmt& stmt, std::set<SymbolId>& found, F&& in) const {
    const auto add = [&](const ast::Name& name) { found.insert(program_.names.at(&name)); };
    const auto relations = [&](const std::vector<ast::Relation>& list) {
      for (const ast::Relation& relation : list) {
        in(*relation.left);
        in(*relation.right);
      }
    };
    if (const auto* branch = std::get_if<ast::If>(&stmt.node)) {
      in(*branch->condition.left);
      in(*branch->condition.right);
    } else if (const auto* loop = std::get_if<ast::DoLoop>(&stmt.node)) {
      relations(loop->wheres);
    } else if (const auto* sub = std::get_if<ast::SubLoop>(&stmt.node)) {
      relations(sub->wheres);
    } else if (const auto* pardo = std::get_if<ast::PardoLoop>(&stmt.node)) {
      relations(pardo->wheres);
    } else if (const auto* region = std::get_if<ast::AssignRegion>(&stmt.node)) {
      in(*region->value);
    } else if (const auto* put = std::get_if<ast::Put>(&stmt.node)) {
      in(*put->value);
    } else if (const auto* collective = std::get_if<ast::Collective>(&stmt.node)) {
      in(*collective->value);
      add(collective->target);
    } else if (const auto* same = std::get_if<ast::AssertSame>(&stmt.node)) {
      add(same->scalar);
    } else if (const auto* broadcast = std::get_if<ast::Broadcast>(&stmt.node)) {
      in(*broadcast->source);
    } else if (const auto* print = std::get_if<ast::Print>(&stmt.node)) {
      in(*print->value);
    } else if (const auto* persistent = std::get_if<ast::Persistent>(&stmt.node)) {
      add(persistent->item);
    } else if (const auto* allocate = std::get_if<ast::Allocate>(&stmt.node)) {
      add(allocate->array);
    } else if (const auto* part = std::get_if<ast::AllocateRegion>(&stmt.node)) {
      add(part->region.array);
    } else if (const auto* execute = std::get_if<ast::Execute>(&stmt.node)) {
      for (const ast::Arg& arg : execute->args)
        if (const auto* name = std::get_if<ast::Name>(&arg.node)) add(*name);
    }
  }

  const CheckedProgram& program_;
  Emitter& emitter_;
  std::set<SymbolId> before_;
  std::set<SymbolId> varying_;  // of the loop at hand: set to values of blocks that its index names
  std::set<const ast::Stmt*> reported_;
  std::set<SymbolId> unread_;  // temps that nothing in the program reads
};

}  // namespace

void warn_overwritten(const CheckedProgram& program, Emitter& emitter) { Overwritten(program, emitter).run(); }

}  // namespace sial::sema
