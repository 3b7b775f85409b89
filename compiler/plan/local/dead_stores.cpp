#include "compiler/plan/local/dead_stores.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/plan/local/local.h"
#include "runtime/core/base/fault_injection.h"

// Why it is right. Block arithmetic on a temp has no effect but the value it leaves. Liveness says that on no path this
// value is read: neither in this iteration, nor in a later one, after the loop, in a procedure or after a call, nor
// listed by a super instruction that shows which blocks exist. Reading a temp that does not exist is a read too, so the
// error of a program that reads what it never wrote stays an error. Errors of the statement itself stay by `expect`:
// operands that do not exist, a target of += or *= that does not. Whether a remote block exists is known when it is
// used, not when it is got: statements that read one stay. References that may leave their declaration are left alone,
// as are super instructions (their bodies may do anything) and statements that match operands by position, which check
// shapes.

namespace sial::plan {
namespace {

bool arithmetic(const ir::Instr& i) {
  if (i.op == Opcode::block_copy) return same_labels(*block_of(i, 0), *block_of(i, 1));
  return has(i.op, op::elementwise) || op_cost(i.op) == OpCost::product;
}

bool reads_remote(const Local& l, const ir::Instr& i) {
  const std::vector<const ir::Block*> blocks = analysis::blocks_of(i);
  return std::any_of(blocks.begin(), blocks.end(),
                     [&](const ir::Block* b) { return analysis::is_remote_array(l.program(), b->array); });
}

bool drop_in_body(Local& l, ir::Body& body, const analysis::Path& path) {
  bool changed = false;
  ir::Body result;
  for (ir::Node& n : body) {
    const ir::Instr* i = instr_of(n);
    const ir::Block* target = i != nullptr ? block_of(*i, 0) : nullptr;
    if (target == nullptr || l.kind(*target) != ArrayKind::temp || !arithmetic(*i) || reads_remote(l, *i) ||
        !l.in_range(*target) || (!l.dead_after(n, 0) && !fault_enabled(Fault::dead_store_needed))) {
      result.push_back(std::move(n));
      continue;
    }
    l.remark(RemarkKind::passed, "store-dropped", n, path, *target,
             fmt::format("nobody reads what is assigned to {} here", l.text(*target)), "remove the statement");
    for (std::size_t k = 0; k < i->operands.size(); ++k)
      if (const ir::Block* b = block_of(*i, k); b != nullptr && (k > 0 || b->intent == Intent::update))
        l.expect(result, n, k, false);
    changed = true;
  }
  body = std::move(result);
  return changed;
}

}  // namespace

void drop_dead_stores(ir::Program& program, Plan& plan) { rewrite_bodies(program, plan, "dead-stores", drop_in_body); }

}  // namespace sial::plan
