#pragma once
// Walking a program in the order in which it runs: visit() hands every node to a function together with the path to it.
// Bodies of procedures are visited by themselves, callees before callers and the main body last; where a procedure is
// called from is in CallGraph. Templates: no copies, and passes may walk a program that they change as long as they do
// not touch a body that is being walked (change nodes in place, edit whole bodies with for_each_body).

#include <vector>

#include "compiler/ir/ir.h"

namespace sial::analysis {

/// The place of a node. `enclosing` are the loops, ifs and sections around it within its procedure, outermost first.
struct Path {
  std::int32_t proc = -1;  // -1: the main body
  std::vector<const ir::Node*> enclosing;
  bool in_where = false;  // code of a where clause of the innermost loop

  const ir::Node* innermost_loop_node() const {
    for (auto n = enclosing.rbegin(); n != enclosing.rend(); ++n)
      if (std::holds_alternative<ir::Loop>((*n)->value)) return *n;
    return nullptr;
  }
  const ir::Loop* innermost_loop() const {
    const ir::Node* n = innermost_loop_node();
    return n ? &std::get<ir::Loop>(n->value) : nullptr;
  }
  /// The pardo around the node within its procedure.
  const ir::Node* pardo() const {
    for (const ir::Node* n : enclosing)
      if (const auto* l = std::get_if<ir::Loop>(&n->value); l && l->kind == LoopKind::pardo) return n;
    return nullptr;
  }
};

/// f(node, path) before what is inside the node; after(node, path), when given, after it. Where clauses of a loop come
/// before its body.
template <class F, class After>
void visit(const ir::Body& body, Path& path, const F& f, const After& after) {
  for (const ir::Node& n : body) {
    f(n, static_cast<const Path&>(path));
    if (std::holds_alternative<ir::Instr>(n.value)) {
      after(n, static_cast<const Path&>(path));
      continue;
    }
    path.enclosing.push_back(&n);
    if (const auto* loop = std::get_if<ir::Loop>(&n.value)) {
      const bool outer = path.in_where;
      path.in_where = true;
      for (const ir::Where& w : loop->wheres) visit(w.code, path, f, after);
      path.in_where = outer;
      visit(loop->body, path, f, after);
    } else if (const auto* branch = std::get_if<ir::If>(&n.value)) {
      visit(branch->then_body, path, f, after);
      visit(branch->else_body, path, f, after);
    } else {
      visit(std::get<ir::Section>(n.value).body, path, f, after);
    }
    path.enclosing.pop_back();
    after(n, static_cast<const Path&>(path));
  }
}

template <class F>
void visit(const ir::Body& body, Path& path, const F& f) {
  visit(body, path, f, [](const ir::Node&, const Path&) {});
}

/// The whole program.
template <class F>
void visit(const ir::Program& program, const F& f) {
  for (std::size_t p = 0; p < program.procs.size(); ++p) {
    Path path{static_cast<std::int32_t>(p), {}, false};
    visit(program.procs[p].body, path, f);
  }
  Path path;
  visit(program.main, path, f);
}

/// f(instr, node) for every instruction of a body, those of where clauses and of nested bodies included; not into
/// calls.
template <class F>
void for_each_instr(const ir::Body& body, const F& f) {
  for (const ir::Node& n : body) {
    if (const auto* i = std::get_if<ir::Instr>(&n.value)) {
      f(*i, n);
    } else if (const auto* loop = std::get_if<ir::Loop>(&n.value)) {
      for (const ir::Where& w : loop->wheres) for_each_instr(w.code, f);
      for_each_instr(loop->body, f);
    } else if (const auto* branch = std::get_if<ir::If>(&n.value)) {
      for_each_instr(branch->then_body, f);
      for_each_instr(branch->else_body, f);
    } else {
      for_each_instr(std::get<ir::Section>(n.value).body, f);
    }
  }
}

/// f(body, path) for every statement list of the program, inner ones first, for passes that rewrite lists: f may change
/// the body it is given in any way. `path` holds the loops around it, whose own fields f must leave alone. Where
/// clauses are not lists.
template <class F>
void for_each_body(ir::Body& body, Path& path, const F& f) {
  for (ir::Node& n : body) {
    if (std::holds_alternative<ir::Instr>(n.value)) continue;
    path.enclosing.push_back(&n);
    if (auto* loop = std::get_if<ir::Loop>(&n.value)) {
      for_each_body(loop->body, path, f);
    } else if (auto* branch = std::get_if<ir::If>(&n.value)) {
      for_each_body(branch->then_body, path, f);
      for_each_body(branch->else_body, path, f);
    } else {
      for_each_body(std::get<ir::Section>(n.value).body, path, f);
    }
    path.enclosing.pop_back();
  }
  f(body, static_cast<const Path&>(path));
}

template <class F>
void for_each_body(ir::Program& program, const F& f) {
  for (std::size_t p = 0; p < program.procs.size(); ++p) {
    Path path{static_cast<std::int32_t>(p), {}, false};
    for_each_body(program.procs[p].body, path, f);
  }
  Path path;
  for_each_body(program.main, path, f);
}

}  // namespace sial::analysis
