#pragma once
// The place of the walk over a routine (a main body, or a procedure): its open loops and the indices they bind, the
// pardo around, the innermost statement list. It collects the facts that the interprocedural checks (calls.h) need.

#include <utility>
#include <vector>

#include "compiler/sema/routine.h"

namespace sial::sema {

class RoutineWalk {
 public:
  void begin(int module, SymbolId proc, const ast::Body& body) {
    routine_ = Routine{};
    routine_.module = module;
    routine_.proc = proc;
    routine_.body = &body;
  }
  /// The facts collected since begin().
  Routine end() { return std::move(routine_); }
  bool is_routine(const ast::Body& body) const { return routine_.body == &body; }

  /// Statement lists: the list around is handed back to leave_body().
  const ast::Body* enter_body(const ast::Body& body) { return std::exchange(body_, &body); }
  void leave_body(const ast::Body* outer) { body_ = outer; }

  /// Loops; `pardo` is null for serial ones.
  void open_loop(const ast::Stmt* pardo) {
    loops_.push_back({pardo != nullptr, pardo_, bound_.size()});
    if (pardo) pardo_ = pardo;
  }
  void close_loop() {
    pardo_ = loops_.back().outer_pardo;
    bound_.resize(loops_.back().bound_before);
    loops_.pop_back();
  }
  bool in_loop() const { return !loops_.empty(); }
  bool innermost_is_pardo() const { return loops_.back().pardo; }

  /// The innermost open loop binds the index.
  void bind(SymbolId index, Span span) {
    routine_.bindings.push_back({index, span});
    bound_.push_back({index, span});
  }
  /// The place where an outer loop binds the index; null where none does.
  const Span* binding(SymbolId index) const {
    for (const Binding& open : bound_)
      if (open.index == index) return &open.span;
    return nullptr;
  }

  void use_index(const ast::Name& name, SymbolId id) {
    if (!binding(id)) routine_.free_indices.push_back({id, name.span, body_});
  }
  void collective_use(const ast::Stmt& stmt, CollectiveKind kind) {
    routine_.collectives.push_back({&stmt, kind, pardo_});
  }
  void call(SymbolId proc, Span span) {
    CallSite site{proc, span, {}, pardo_};
    for (const Binding& open : bound_) site.bound.push_back(open.index);
    routine_.calls.push_back(std::move(site));
  }

 private:
  struct OpenLoop {
    bool pardo;
    const ast::Stmt* outer_pardo;
    std::size_t bound_before;
  };
  Routine routine_;
  std::vector<OpenLoop> loops_;       // of the routine being walked
  std::vector<Binding> bound_;        // indices they bind
  const ast::Stmt* pardo_ = nullptr;  // the pardo around, in this routine
  const ast::Body* body_ = nullptr;   // innermost statement list
};

}  // namespace sial::sema
