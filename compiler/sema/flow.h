#pragma once
// Forward data flow over the structured program: follows loops (to a fixed point), branches, exit, return and calls in
// the order of execution and hands every simple statement and relation to a domain together with the state that reaches
// it. The domain owns the meaning of states; the walker owns control flow. A procedure is walked once per distinct
// entry state; past a few of them entries are joined.
//
// A domain has a State (copyable, ==, `bool live`, `bool join(const State&)` which tells whether it changed) and
//   void simple(const ast::Stmt&, State&)                        a statement without a body, or the end of a section
//   void branch(const ast::Stmt&, const ast::If&, State&)        before the branches
//   void merge(const ast::Stmt&, const State& before, State& a, const State& b)
//                                                                a, which is live, becomes the state after the if; b
//                                                                may be dead
//   void iteration(const ast::Stmt& loop, State&, const State* exits)
//                                                                an iteration begins; exits: states that left before
//   void where(const ast::Stmt& loop, const ast::Relation&, State&)
//   void leave(const ast::Stmt& loop, const State& before, State&)       after the loop
//   void next(const ast::Stmt& loop, const State& before, State&)        end of one iteration
//   void departs(const ast::Stmt&, State&)                               at an exit or return
//   void returned(const ast::Stmt& call, const State& before, State&)    after a call

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/sema/checked.h"

namespace sial::sema {

template <class Domain>
class FlowWalker {
 public:
  using State = typename Domain::State;
  FlowWalker(const CheckedProgram& program, Domain& domain) : program_(program), domain_(domain) {}

  /// Walks the bodies of all modules in execution order. False: the program is so entangled that the walk was given up.
  bool run(State state) {
    for (const ast::Module* module : program_.bodies) walk(module->statements, state);
    return steps_ < max_steps;
  }

 private:
  static constexpr std::size_t max_entries =
      40;  // distinct entry states per procedure; a joined one blurs what the procedure leaves alone
  static constexpr int max_passes = 16;          // per loop; lattices are flat, so this is never reached in practice
  static constexpr long max_steps = 20'000'000;  // statements walked; real programs need a few hundred thousand
  struct Exits {
    bool any = false;
    State state{};
  };
  struct Entry {
    State entry, exit;
  };
  struct Memo {
    std::vector<Entry> entries;
    bool active = false;
  };

  void leave_through(Exits& exits, State& state) {
    if (!exits.any) exits.state = state;
    else exits.state.join(state);
    exits.any = true;
    state.live = false;
  }

  void walk(const ast::Body& body, State& state) {
    for (const ast::StmtPtr& stmt : body) {
      if (!state.live || ++steps_ >= max_steps) return;
      step(*stmt, state);
    }
  }

  void step(const ast::Stmt& stmt, State& state) {
    if (const auto* loop = std::get_if<ast::DoLoop>(&stmt.node)) {
      loop_over(stmt, pointers(loop->wheres), loop->body, state);
    } else if (const auto* sub = std::get_if<ast::SubLoop>(&stmt.node)) {
      loop_over(stmt, pointers(sub->wheres), sub->body, state);
    } else if (const auto* pardo = std::get_if<ast::PardoLoop>(&stmt.node)) {
      loop_over(stmt, program_.pardos.at(&stmt).wheres, pardo->body, state);
    } else if (const auto* branch = std::get_if<ast::If>(&stmt.node)) {
      const State before = state;
      domain_.branch(stmt, *branch, state);
      State other = state;
      walk(branch->then_body, state);
      walk(branch->else_body, other);
      if (!state.live) std::swap(state, other);
      if (!state.live) return;
      domain_.merge(stmt, before, state, other);
    } else if (const auto* section = std::get_if<ast::Section>(&stmt.node)) {
      walk(section->body, state);
      if (state.live) domain_.simple(stmt, state);  // its end is a barrier
    } else if (const auto* gpu = std::get_if<ast::GpuSection>(&stmt.node)) {
      walk(gpu->body, state);
    } else if (std::holds_alternative<ast::Exit>(stmt.node)) {
      domain_.departs(stmt, state);
      leave_through(*loop_exits_, state);
    } else if (std::holds_alternative<ast::Return>(stmt.node)) {
      domain_.departs(stmt, state);
      leave_through(*returns_, state);
    } else if (std::holds_alternative<ast::Stop>(stmt.node)) {
      state.live = false;
    } else if (const auto* call = std::get_if<ast::Call>(&stmt.node)) {
      const State before = state;
      call_proc(program_.symbol_of(call->proc), state);
      if (state.live) domain_.returned(stmt, before, state);
    } else {
      domain_.simple(stmt, state);
    }
  }

  static std::vector<const ast::Relation*> pointers(const std::vector<ast::Relation>& wheres) {
    std::vector<const ast::Relation*> result;
    for (const ast::Relation& where : wheres) result.push_back(&where);
    return result;
  }

  void loop_over(const ast::Stmt& stmt, const std::vector<const ast::Relation*>& wheres, const ast::Body& body,
                 State& state) {
    const State before = state;
    Exits exits;
    Exits* outer = loop_exits_;
    loop_exits_ = &exits;
    for (int pass = 0; pass < max_passes; ++pass) {
      State iteration = state;
      const Exits earlier = exits;
      domain_.iteration(stmt, iteration, exits.any ? &exits.state : nullptr);
      for (const ast::Relation* where : wheres) domain_.where(stmt, *where, iteration);
      walk(body, iteration);
      bool changed = false;
      if (iteration.live) {
        domain_.next(stmt, before, iteration);
        changed = state.join(iteration);
      }
      changed = changed || earlier.any != exits.any || !(earlier.state == exits.state);
      if (!changed) break;
    }
    loop_exits_ = outer;
    if (exits.any) {
      exits.state.live = true;
      state.join(exits.state);
    }
    domain_.leave(stmt, before, state);
  }

  void call_proc(const Symbol& proc, State& state) {
    Memo& memo = memos_[proc.id];
    if (memo.active) return;  // recursion adds nothing that the first pass does not see
    for (const Entry& known : memo.entries) {
      if (!(known.entry == state)) continue;
      state = known.exit;
      return;
    }
    State entry = state;
    if (memo.entries.size() >= max_entries) {
      for (const Entry& known : memo.entries) entry.join(known.entry);
      if (entry == memo.entries.back().entry) {
        state = memo.entries.back().exit;
        return;
      }
    }
    Exits returns;
    Exits *outer_returns = returns_, *outer_exits = loop_exits_;
    returns_ = &returns;
    loop_exits_ = nullptr;
    memo.active = true;
    State at_end = entry;
    walk(proc.proc->body, at_end);
    memo.active = false;
    returns_ = outer_returns;
    loop_exits_ = outer_exits;
    if (returns.any) {
      returns.state.live = true;
      if (at_end.live) at_end.join(returns.state);
      else at_end = returns.state;
    }
    memo.entries.push_back({entry, at_end});
    state = std::move(at_end);
  }

  const CheckedProgram& program_;
  Domain& domain_;
  std::unordered_map<SymbolId, Memo> memos_;
  long steps_ = 0;
  Exits* loop_exits_ = nullptr;
  Exits* returns_ = nullptr;
};

}  // namespace sial::sema
